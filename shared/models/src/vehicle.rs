//! Vehicles: each belongs to one fleet and may name its drivers.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::event_type::EventType;
use super::search::SearchField;
use super::stored::{Object, Stored};
use super::{Distinct, check_size, sized};
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::patch::{Change, Patch};
use kernel::fields::text::{Memo, Text};
use kernel::time::DAY;
use kernel::{Error, Id, Kind, Result, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Vehicle {
    pub id: Id,
    pub object: Kind,
    /// Usable capacity of the battery in Wh.
    pub battery_capacity: u32,
    /// Power in W that the battery accepts from direct current at each state of charge. Null: 2 W per Wh of `battery_capacity` up to 55 %,
    /// falling to 0.35 W at 80 % and to 0.15 W at 100 %.
    #[schema(value_type = Option<Vec<CurvePoint>>, required)]
    pub charging_curve: Option<ChargingCurve>,
    /// Percentage of the metered energy that does not reach the battery. Null: 10 for Type2, 6 for CCS and CHAdeMO.
    #[schema(required)]
    pub charging_loss: Option<Loss>,
    /// Plug of the vehicle.
    pub charging_standard: ConnectorType,
    pub created: Timestamp,
    /// Ids of the drivers who may use the vehicle.
    pub drivers: Vec<Id>,
    /// Id of the fleet that the vehicle belongs to.
    pub fleet: Id,
    /// Make, model and year.
    pub information: Information,
    /// Maximum power in W with alternating current. Null: 11,000 W.
    #[schema(value_type = Option<u32>, required)]
    pub max_ac_power: Option<NonZeroU32>,
    /// Maximum power in W with direct current. Null: limited by `charging_curve` only.
    #[schema(value_type = Option<u32>, required)]
    pub max_dc_power: Option<NonZeroU32>,
    pub metadata: Metadata,
    /// Ids of the policies that the vehicle's reservations and sessions have to fulfil, besides those of the fleet and the driver.
    pub policy_ids: Vec<Id>,
    /// Registration plate, which invoices and reports show.
    pub registration_plate: Text<64>,
    /// The site at which the vehicle charges for its departures.
    #[schema(required)]
    pub site: Option<Id>,
    /// Whether the vehicle can be charged and have reservations.
    pub status: VehicleStatus,
    /// The id of the vehicle's one telemetry record.
    pub telemetry: Id,
    pub updated: Timestamp,
    /// Vehicle identification number.
    pub vin: Text<64>,
    /// Probable mistakes in the body. Present only in the response to the creation, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10)]
    pub warnings: Vec<Warning>,
}

/// A member of a body that is accepted although it is probably a mistake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// Kind of the mistake.
    pub code: WarningCode,
    /// Description of the unusual value.
    #[schema(max_length = 256)]
    pub message: String,
    /// The member as a path.
    #[schema(max_length = 64)]
    pub param: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// The vehicle identification number does not conform to ISO 3779.
    VinUnusual,
}

/// The length of a vehicle identification number in characters (ISO 3779).
const VIN_LENGTH: usize = 17;

/// Checks whether a text can be a vehicle identification number: 17 letters and digits, without I, O and Q (ISO 3779).
fn is_vin(text: &str) -> bool {
    let is_of_alphabet =
        |c: u8| c.is_ascii_alphanumeric() && !b"IOQ".contains(&c.to_ascii_uppercase());
    text.len() == VIN_LENGTH && text.bytes().all(is_of_alphabet)
}

impl Object for Vehicle {
    type Internal = VehicleInternal;

    const KIND: Kind = Kind::Vehicle;

    fn id(&self) -> &Id {
        &self.id
    }

    fn names(&self) -> Vec<(SearchField, &str)> {
        vec![
            (
                SearchField::RegistrationPlate,
                self.registration_plate.as_str(),
            ),
            (SearchField::Vin, self.vin.as_str()),
        ]
    }

    fn searchable_metadata(&self) -> Option<&Metadata> {
        Some(&self.metadata)
    }
}

/// The internal state of a vehicle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VehicleInternal {
    /// The times at which reservations of the vehicle were cancelled free of charge only because their connectors were reserved late: those
    /// within the last day, at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_cancellations: Vec<Timestamp>,
}

/// The number of late cancellations of a vehicle within a day that are free of charge.
const LATE_CANCELLATIONS: usize = 3;

/// The plugs that are matched.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    ToSchema,
    strum::EnumString,
)]
pub enum ConnectorType {
    #[serde(rename = "CHAdeMO")]
    #[strum(serialize = "CHAdeMO")]
    Chademo,
    #[serde(rename = "CCS")]
    #[strum(serialize = "CCS")]
    Ccs,
    Type2,
}

impl ConnectorType {
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VehicleStatus {
    #[default]
    Active,
    Inactive,
    Retired,
}

/// Make, model and year; each is "" if it is not set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Information {
    /// Manufacturer; "" if it is not set.
    pub make: Memo<256>,
    /// Model; "" if it is not set.
    pub model: Memo<256>,
    /// Model year; "" if it is not set.
    pub year: Memo<16>,
}

#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InformationChange {
    /// Manufacturer. "" removes it.
    #[serde(default)]
    pub make: Change<Memo<256>>,
    /// Model. "" removes it.
    #[serde(default)]
    pub model: Change<Memo<256>>,
    /// Model year. "" removes it.
    #[serde(default)]
    pub year: Change<Memo<16>>,
}

/// A point of a charging curve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CurvePoint {
    /// State of charge in percent.
    #[schema(maximum = 100)]
    pub level: u8,
    /// Power in W.
    #[schema(minimum = 1)]
    pub power_w: u32,
}

/// The maximum number of points of a charging curve.
const MAX_CURVE_POINTS: usize = 16;

/// The power that a battery accepts at each state of charge. It is interpolated linearly between two points, and constant before the first
/// and after the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<CurvePoint>", into = "Vec<CurvePoint>")]
pub struct ChargingCurve {
    points: [CurvePoint; MAX_CURVE_POINTS],
    length: usize,
}

impl ChargingCurve {
    /// Returns the default curve of a battery of which only the capacity in Wh is known: 2 C up to 55 %, 0.35 C at 80 % and 0.15 C at 100
    /// %.
    pub fn usual(capacity: u32) -> Self {
        let mut points = [CurvePoint::default(); MAX_CURVE_POINTS];
        let usual = [(55, 200), (80, 35), (100, 15)];
        for (point, (level, percent)) in points.iter_mut().zip(usual) {
            let power = u64::from(capacity) * percent / 100;
            let power_w = u32::try_from(power).unwrap_or(u32::MAX).max(1);
            *point = CurvePoint { level, power_w };
        }
        Self {
            points,
            length: usual.len(),
        }
    }

    fn points(&self) -> &[CurvePoint] {
        &self.points[..self.length]
    }

    /// Returns the highest power, in W.
    pub fn highest(&self) -> u32 {
        let powers = self.points().iter().map(|point| point.power_w);
        powers.max().unwrap_or_default()
    }

    /// Returns the power in W in the middle between a whole percent and the next one, rounded down.
    pub fn within(&self, percent: u32) -> u32 {
        // Positions are in halves of a percent.
        let at = 2 * i64::from(percent) + 1;
        let points = self.points();
        let level = |point: &CurvePoint| 2 * i64::from(point.level);
        let next = points.partition_point(|point| level(point) < at);
        let (before, after) = match (next.checked_sub(1), points.get(next)) {
            (Some(before), Some(after)) => (&points[before], after),
            (Some(only), None) => return points[only].power_w,
            (None, only) => return only.map_or(0, |only| only.power_w),
        };
        let (low, high) = (i64::from(before.power_w), i64::from(after.power_w));
        let share = (high - low) * (at - level(before));
        let power = low + share.div_euclid(level(after) - level(before));
        u32::try_from(power).unwrap_or_default()
    }
}

impl TryFrom<Vec<CurvePoint>> for ChargingCurve {
    type Error = &'static str;

    fn try_from(given: Vec<CurvePoint>) -> std::result::Result<Self, Self::Error> {
        if !(1..=MAX_CURVE_POINTS).contains(&given.len()) {
            return Err("must have 1 to 16 points");
        }
        if given
            .iter()
            .any(|point| point.level > 100 || point.power_w == 0)
        {
            return Err("must have levels of at most 100 and powers of at least 1");
        }
        if !given.is_sorted_by(|previous, next| previous.level < next.level) {
            return Err("must have each level once, the lowest first");
        }
        let mut points = [CurvePoint::default(); MAX_CURVE_POINTS];
        points[..given.len()].copy_from_slice(&given);
        Ok(Self {
            points,
            length: given.len(),
        })
    }
}

impl From<ChargingCurve> for Vec<CurvePoint> {
    fn from(curve: ChargingCurve) -> Self {
        curve.points().to_vec()
    }
}

/// The percentage of the metered energy that does not reach the battery, 0 to 50.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "u8")]
#[schema(value_type = u8, minimum = 0, maximum = 50)]
pub struct Loss(u8);

impl TryFrom<u8> for Loss {
    type Error = &'static str;

    fn try_from(percent: u8) -> std::result::Result<Self, &'static str> {
        match percent {
            0..=50 => Ok(Self(percent)),
            _ => Err("must be a whole number from 0 to 50"),
        }
    }
}

impl Loss {
    /// The losses of alternating and of direct current, if the vehicle's `charging_loss` is not set.
    pub const AC: Self = Self(10);
    pub const DC: Self = Self(6);

    /// Returns the percentage that reaches the battery.
    pub fn kept(self) -> u64 {
        u64::from(100 - self.0)
    }

    pub fn of_direct_current() -> Self {
        Self::DC
    }

    pub fn is_of_direct_current(&self) -> bool {
        *self == Self::DC
    }
}

/// The maximum number of drivers of a vehicle: all of them are updated in the transaction that creates it.
pub const MAX_DRIVERS: usize = 90;

/// The capacity of a battery in Wh, so large at most that the energies and powers that follow from it fit into 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct Capacity(u32);

impl TryFrom<u32> for Capacity {
    type Error = &'static str;

    fn try_from(capacity: u32) -> Result<Self, &'static str> {
        match capacity {
            1..=100_000_000 => Ok(Self(capacity)),
            _ => Err("must be a whole number from 1 to 100000000"),
        }
    }
}

/// The body of `POST /v1/vehicles`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVehicle {
    /// Id of the fleet that the vehicle belongs to.
    pub fleet: Id,
    /// Registration plate, which invoices and reports show.
    pub registration_plate: Text<64>,
    /// Vehicle identification number.
    pub vin: Text<64>,
    /// Usable capacity of the battery in Wh, 1 to 100,000,000.
    #[schema(value_type = u32, minimum = 1, maximum = 100_000_000)]
    pub battery_capacity: Capacity,
    /// Power in W that the battery accepts from direct current at each state of charge: 1 to 16 points, the lowest level first. The power
    /// is interpolated linearly between two points. Default: 2 W per Wh of `battery_capacity` up to 55 %, falling to 0.35 W at 80 % and to
    /// 0.15 W at 100 %.
    #[schema(value_type = Option<Vec<CurvePoint>>, min_items = 1, max_items = 16)]
    pub charging_curve: Option<ChargingCurve>,
    /// Percentage of the metered energy that does not reach the battery, a whole number from 0 to 50. Default: 10 for Type2, 6 for CCS and
    /// CHAdeMO.
    pub charging_loss: Option<Loss>,
    /// Plug of the vehicle.
    pub charging_standard: ConnectorType,
    /// Ids of the drivers who may use the vehicle, at most 90.
    #[schema(value_type = Option<Vec<Id>>, max_items = 90)]
    pub drivers: Option<Distinct<Id>>,
    /// Make, model and year.
    pub information: Option<InformationChange>,
    /// Maximum power in W with alternating current. Default: 11,000 W.
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_ac_power: Option<NonZeroU32>,
    /// Maximum power in W with direct current. Default: limited by `charging_curve` only.
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_dc_power: Option<NonZeroU32>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Ids of the policies that the vehicle's reservations and sessions have to fulfil, besides those of the fleet and the driver.
    pub policy_ids: Option<Distinct<Id>>,
    /// The site at which the vehicle charges for its departures.
    pub site: Option<Id>,
}

impl RequestBody for NewVehicle {}

/// The body of `POST /v1/vehicles/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VehicleChange {
    /// Usable capacity of the battery in Wh.
    #[serde(default)]
    #[schema(value_type = u32, minimum = 1, maximum = 100_000_000)]
    pub battery_capacity: Change<Capacity>,
    /// Power in W that the battery accepts from direct current at each state of charge. Null removes it.
    #[serde(default)]
    #[schema(value_type = Option<Vec<CurvePoint>>, min_items = 1, max_items = 16)]
    pub charging_curve: Patch<ChargingCurve>,
    /// Percentage of the metered energy that does not reach the battery. Null removes it.
    #[serde(default)]
    #[schema(value_type = Option<Loss>)]
    pub charging_loss: Patch<Loss>,
    /// Plug of the vehicle. Confirmed reservations whose connector does not fit any more get another one, or are pending again.
    #[serde(default)]
    pub charging_standard: Change<ConnectorType>,
    /// Make, model and year, changed member by member.
    #[serde(default)]
    pub information: Change<InformationChange>,
    /// Maximum power in W with alternating current. Null removes it.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_ac_power: Patch<NonZeroU32>,
    /// Maximum power in W with direct current. Null removes it.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_dc_power: Patch<NonZeroU32>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Ids of the policies of the vehicle. The list replaces the present one.
    #[serde(default)]
    pub policy_ids: Change<Distinct<Id>>,
    /// Registration plate, which invoices and reports show.
    #[serde(default)]
    pub registration_plate: Change<Text<64>>,
    /// The site at which the vehicle charges for its departures. Another site, or null, removes the departures that are ahead.
    #[serde(default)]
    pub site: Patch<Id>,
    /// Whether the vehicle can be charged and have reservations.
    #[serde(default)]
    pub status: Change<VehicleStatus>,
}

impl RequestBody for VehicleChange {}

impl Vehicle {
    /// Returns a new, active vehicle with a telemetry record of its own.
    ///
    /// # Errors
    /// 400 if metadata or a list exceeds its limits.
    pub fn new(new: NewVehicle, now: Timestamp) -> Result<Stored<Self>> {
        let drivers = Vec::from(new.drivers.unwrap_or_default());
        if drivers.len() > MAX_DRIVERS {
            return Err(Error::invalid(
                "drivers",
                format!("must have at most {MAX_DRIVERS} entries"),
            ));
        }
        let mut information = Information::default();
        information.change(new.information.unwrap_or_default());
        let vehicle = sized(Self {
            id: Id::new(Kind::Vehicle, now),
            object: Kind::Vehicle,
            battery_capacity: new.battery_capacity.0,
            charging_curve: new.charging_curve,
            charging_loss: new.charging_loss,
            charging_standard: new.charging_standard,
            created: now,
            drivers,
            fleet: new.fleet,
            information,
            max_ac_power: new.max_ac_power,
            max_dc_power: new.max_dc_power,
            metadata: Metadata::new(new.metadata)?,
            policy_ids: new.policy_ids.unwrap_or_default().into(),
            registration_plate: new.registration_plate,
            site: new.site,
            status: VehicleStatus::Active,
            telemetry: Id::new(Kind::VehicleTelemetry, now),
            updated: now,
            vin: new.vin,
            warnings: Vec::new(),
        })?;
        Ok(Stored::new(vehicle).recording(EventType::VehicleCreated))
    }

    /// Returns the vehicle with warnings about probable mistakes.
    #[must_use]
    pub fn warned(mut self) -> Self {
        if !is_vin(self.vin.as_str()) {
            self.warnings.push(Warning {
                code: WarningCode::VinUnusual,
                message:
                    "A vehicle identification number has 17 letters and digits, without I, O and Q."
                        .into(),
                param: "vin".into(),
            });
        }
        self
    }

    pub fn is_active(&self) -> bool {
        self.status == VehicleStatus::Active
    }
}

impl Stored<Vehicle> {
    /// Removes a driver who was deleted or has left the fleet from the vehicle's list.
    pub fn forget_driver(&mut self, driver: &Id, now: Timestamp) {
        self.object.drivers.retain(|id| id != driver);
        self.object.updated = now;
        self.record(EventType::VehicleUpdated);
    }

    /// Applies an update. Omitted fields and omitted members of `information` keep their values.
    ///
    /// # Errors
    /// 400 if metadata or a list exceeds its limits.
    pub fn update(&mut self, change: VehicleChange, now: Timestamp) -> Result<()> {
        let unchanged = self.clone();
        let VehicleChange {
            battery_capacity,
            charging_curve,
            charging_loss,
            charging_standard,
            information,
            max_ac_power,
            max_dc_power,
            metadata,
            policy_ids,
            registration_plate,
            site,
            status,
        } = change;
        if let Change::Set(capacity) = battery_capacity {
            self.object.battery_capacity = capacity.0;
        }
        charging_curve.apply(&mut self.object.charging_curve);
        charging_loss.apply(&mut self.object.charging_loss);
        charging_standard.apply(&mut self.object.charging_standard);
        max_ac_power.apply(&mut self.object.max_ac_power);
        max_dc_power.apply(&mut self.object.max_dc_power);
        if let Change::Set(information) = information {
            self.object.information.change(information);
        }
        self.object.metadata.merge(metadata)?;
        if let Change::Set(ids) = policy_ids {
            self.object.policy_ids = ids.into();
        }
        registration_plate.apply(&mut self.object.registration_plate);
        site.apply(&mut self.object.site);
        status.apply(&mut self.object.status);
        if *self == unchanged {
            return Ok(());
        }
        self.object.updated = now;
        self.record(EventType::VehicleUpdated);
        check_size(&self.object)
    }

    /// Checks whether the vehicle may still cancel reservations late and free of charge.
    pub fn may_cancel_late(&self, now: Timestamp) -> bool {
        let all = self.internal.late_cancellations.iter();
        all.filter(|at| now.since(**at) < DAY).count() < LATE_CANCELLATIONS
    }

    /// Records that a reservation of the vehicle was cancelled late and free of charge.
    pub fn record_late_cancellation(&mut self, now: Timestamp) {
        let all = &mut self.internal.late_cancellations;
        all.retain(|at| now.since(*at) < DAY);
        all.push(now);
        let excess = all.len().saturating_sub(LATE_CANCELLATIONS);
        all.drain(..excess);
    }

    /// Records that the vehicle is deleted.
    pub fn delete(&mut self) {
        self.record(EventType::VehicleDeleted);
    }
}

impl Information {
    fn change(&mut self, change: InformationChange) {
        let InformationChange { make, model, year } = change;
        make.apply(&mut self.make);
        model.apply(&mut self.model);
        year.apply(&mut self.year);
    }
}
