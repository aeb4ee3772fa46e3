//! Vehicle telemetry: the last readings of a vehicle, one record per vehicle.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::charging;
use super::policy::Degrees;
use super::stored::Object;
use super::vehicle::Vehicle;
use kernel::fields::patch::{Change, Patch};
use kernel::fields::text::Text;
use kernel::time::DAY;
use kernel::{Error, Id, Kind, Result, SignedDuration, Timestamp};

/// The time for which the level of a battery is used after it was read. An older level counts as unknown.
pub const LEVEL_AGE: SignedDuration = DAY;

/// The level that is assumed for a vehicle whose level is unknown, in percent.
pub const UNKNOWN_LEVEL: f64 = 20.0;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VehicleTelemetry {
    pub id: Id,
    pub object: Kind,
    /// Last reading of the battery; null if there is none.
    pub battery: Option<Battery>,
    pub created: Timestamp,
    /// Version of the vehicle's software; null if it is unknown.
    pub firmware_version: Option<Text<256>>,
    /// Last position; null if there is none.
    pub location: Option<Position>,
    /// Last reading of the odometer; null if there is none.
    pub odometer: Option<Odometer>,
    pub updated: Timestamp,
    /// Id of the vehicle.
    pub vehicle: Id,
}

impl Object for VehicleTelemetry {
    /// The site whose plan is computed again because of the last reading.
    type Internal = Option<Id>;

    const KIND: Kind = Kind::VehicleTelemetry;

    fn id(&self) -> &Id {
        &self.id
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Battery {
    /// Capacity of the battery in Wh.
    pub capacity: u32,
    /// State of charge in percent.
    pub level: f64,
    /// Distance that the vehicle can still cover, in metres; null if it is unknown.
    pub range: Option<u32>,
    /// Status of the battery.
    pub status: BatteryStatus,
    /// Temperature of the battery in °C; null if it is unknown.
    pub temperature: Option<f64>,
    /// Time at which the reading arrived.
    pub updated: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatteryStatus {
    Charging,
    Discharging,
    Idle,
    Full,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Position {
    /// Degrees north of the equator; south is below zero.
    pub latitude: f64,
    /// Degrees east of Greenwich; west is below zero.
    pub longitude: f64,
    /// Time at which the reading arrived.
    pub updated: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Odometer {
    /// Unit of `value`.
    pub unit: OdometerUnit,
    /// Time at which the reading arrived.
    pub updated: Timestamp,
    /// Distance that the vehicle has covered, in `unit`.
    pub value: f64,
}

impl Battery {
    /// Checks whether the level of this reading differs from that of an earlier one. An earlier reading that was too old to be used differs.
    pub fn differs_from(&self, earlier: &Self) -> bool {
        self.level != earlier.level || self.updated.since(earlier.updated) > LEVEL_AGE
    }
}

impl Odometer {
    /// Returns the reading in whole metres. A mile has 1,609.344 metres.
    pub fn metres(&self) -> i64 {
        let of_unit = match self.unit {
            OdometerUnit::Kilometres => 1_000.0,
            OdometerUnit::Miles => 1_609.344,
        };
        (self.value * of_unit).round() as i64
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum OdometerUnit {
    #[serde(rename = "KMS")]
    Kilometres,
    #[serde(rename = "MILES")]
    Miles,
}

/// The body of `POST /v1/vehicles/{id}/telemetry`: a complete or partial reading.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Reading of the battery. It replaces the previous one as a whole.
    #[serde(default)]
    pub battery: Change<BatteryReading>,
    /// Version of the vehicle's software. Null removes it.
    #[serde(default)]
    pub firmware_version: Patch<Text<256>>,
    /// Position of the vehicle. It replaces the previous one.
    #[serde(default)]
    pub location: Change<PositionReading>,
    /// Reading of the odometer. It replaces the previous one.
    #[serde(default)]
    pub odometer: Change<OdometerReading>,
}

impl RequestBody for Reading {}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatteryReading {
    /// Capacity of the battery in Wh. Default: that of the vehicle.
    pub capacity: Option<u32>,
    /// State of charge in percent, 0 to 100.
    #[schema(minimum = 0, maximum = 100)]
    pub level: f64,
    /// Distance in metres that the vehicle can still cover. Null or omitted: unknown.
    pub range: Option<u32>,
    /// Status of the battery. Default `unknown`.
    pub status: Option<BatteryStatus>,
    /// Temperature of the battery in °C, -100 to 200. Null or omitted: unknown.
    #[schema(minimum = -100, maximum = 200)]
    pub temperature: Option<f64>,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PositionReading {
    /// Degrees north of the equator, -90 to 90.
    #[schema(value_type = Degrees<90>)]
    pub latitude: f64,
    /// Degrees east of Greenwich, -180 to 180.
    #[schema(value_type = Degrees<180>)]
    pub longitude: f64,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OdometerReading {
    /// Unit of `value`.
    pub unit: OdometerUnit,
    /// Distance that the vehicle has covered, in `unit`: 0 to 100,000,000.
    #[schema(minimum = 0, maximum = 100_000_000)]
    pub value: f64,
}

impl VehicleTelemetry {
    /// Returns the record of a vehicle before its first reading.
    pub fn of(vehicle: &Vehicle, now: Timestamp) -> Self {
        Self {
            id: vehicle.telemetry.clone(),
            object: Kind::VehicleTelemetry,
            battery: None,
            created: now,
            firmware_version: None,
            location: None,
            odometer: None,
            updated: now,
            vehicle: vehicle.id.clone(),
        }
    }

    /// Returns the last level in percent; None if there is none, or if it was read too long ago.
    pub fn recent_level(&self, now: Timestamp) -> Option<f64> {
        let battery = self.battery.as_ref();
        let recent = battery.filter(|battery| now.since(battery.updated) <= LEVEL_AGE);
        recent.map(|battery| battery.level)
    }

    /// Sets the level to which a simulated session has charged the vehicle since `started`, by its metered Wh. Returns whether it did: no
    /// level is set for a vehicle that never reported one, or has reported another one since.
    pub fn charge_by(
        &mut self,
        energy: u32,
        vehicle: &Vehicle,
        started: Timestamp,
        now: Timestamp,
    ) -> bool {
        let mut read = self.battery.iter();
        if energy == 0 || !read.any(|battery| battery.updated <= started) {
            return false;
        }
        let level = self.recent_level(started).unwrap_or(UNKNOWN_LEVEL);
        let level = level + charging::battery::Battery::of(vehicle).share_of(energy);
        self.charge_to(level.min(100.0), vehicle, now);
        if let Some(battery) = self
            .battery
            .as_mut()
            .filter(|battery| battery.level < 100.0)
        {
            battery.status = BatteryStatus::Idle;
        }
        true
    }

    /// Sets the level that the simulation of charging has reached, in percent.
    pub fn charge_to(&mut self, level: f64, vehicle: &Vehicle, now: Timestamp) {
        let battery = self.battery.take();
        self.battery = Some(Battery {
            capacity: battery
                .as_ref()
                .map_or(vehicle.battery_capacity, |battery| battery.capacity),
            level,
            range: None,
            status: if level < 100.0 {
                BatteryStatus::Charging
            } else {
                BatteryStatus::Full
            },
            temperature: battery.and_then(|battery| battery.temperature),
            updated: now,
        });
        self.updated = now;
    }

    /// Applies a reading. Omitted fields keep the values of earlier readings.
    ///
    /// # Errors
    /// 400 for impossible values: a level outside 0 to 100, coordinates outside their ranges, a negative odometer reading.
    pub fn read(&mut self, reading: Reading, vehicle: &Vehicle, now: Timestamp) -> Result<()> {
        let Reading {
            battery,
            firmware_version,
            location,
            odometer,
        } = reading;
        let within = |param: &str, value: f64, low: f64, high: f64| {
            let message = || format!("must lie between {low} and {high}");
            if (low..=high).contains(&value) {
                Ok(value)
            } else {
                Err(Error::invalid(param, message()))
            }
        };
        if let Change::Set(BatteryReading {
            capacity,
            level,
            range,
            status,
            temperature,
        }) = battery
        {
            let temperature = temperature
                .map(|value| within("battery.temperature", value, -100.0, 200.0))
                .transpose()?;
            self.battery = Some(Battery {
                capacity: capacity.unwrap_or(vehicle.battery_capacity),
                level: within("battery.level", level, 0.0, 100.0)?,
                range,
                status: status.unwrap_or(BatteryStatus::Unknown),
                temperature,
                updated: now,
            });
        }
        firmware_version.apply(&mut self.firmware_version);
        if let Change::Set(PositionReading {
            latitude,
            longitude,
        }) = location
        {
            self.location = Some(Position {
                latitude: within("location.latitude", latitude, -90.0, 90.0)?,
                longitude: within("location.longitude", longitude, -180.0, 180.0)?,
                updated: now,
            });
        }
        if let Change::Set(OdometerReading { unit, value }) = odometer {
            let value = within("odometer.value", value, 0.0, 100_000_000.0)?;
            self.odometer = Some(Odometer {
                unit,
                updated: now,
                value,
            });
        }
        self.updated = now;
        Ok(())
    }
}
