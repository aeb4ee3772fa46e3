//! What the plan of a site depends on, and what a vehicle still needs until its next departure.

use std::collections::HashMap;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::series::{SLOT, SiteDay, SiteSeries, value_at};
use crate::charging::battery::{Battery, MILLIS_PER_HOUR};
use crate::charging_station::{ChargingStation, PriceType};
use crate::departure::{Departure, DepartureOutcome};
use crate::vehicle::{ConnectorType, Vehicle};
use crate::vehicle_telemetry::VehicleTelemetry;
use kernel::id::Id;
use kernel::money::Currency;
use kernel::origin::Mode;
use kernel::time::{Timestamp, whole_millis};
use kernel::window::Window;

/// A level that differs by less points from the plan is noise, and so are so many Wh.
const NOISE: f64 = 3.0;
pub(super) const TOLERANCE: u32 = 20;

/// The level that is assumed of a vehicle without telemetry, in percent.
const UNKNOWN_LEVEL: f64 = 20.0;

/// What a vehicle still needs until its next departure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    pub vehicle: Id,
    pub departure: Id,
    pub at: Timestamp,
    /// Metered Wh that are still needed, and those of them that come first.
    pub(super) need: u32,
    pub(super) minimum: u32,
    /// Metered Wh, and their price in millionths of a minor unit.
    pub(super) delivered: u32,
    pub(super) cost: i64,
    pub(super) carbon: i64,
    /// What charging at once costs, in millionths of a minor unit.
    pub(super) immediate: i64,
    /// Percent.
    pub level: f64,
    /// When the level was reported that the charge is based on.
    based: Timestamp,
    /// Metered Wh in the rest of the slot.
    pub(super) flow: u32,
}

/// A vehicle of the site.
#[derive(Debug, Clone)]
pub struct SiteVehicle {
    pub vehicle: Vehicle,
    pub next: Option<Departure>,
    pub telemetry: Option<VehicleTelemetry>,
    /// Whether the vehicle has reported its last level, and no simulation.
    pub has_reported: bool,
}

/// What a plan depends on besides the site.
#[derive(Debug, Clone)]
pub struct PlanInputs {
    pub mode: Mode,
    pub vehicles: Vec<SiteVehicle>,
    pub days: Vec<SiteDay>,
    /// The price of the stations where the site has no prices, in thousandths of a minor unit per kWh.
    pub tariff: Option<i64>,
    /// W of the strongest connector in order of each type; 0 if none is in order.
    pub offered: HashMap<ConnectorType, u32>,
    /// Reserved connectors: the time, and the W of the connector.
    pub reserved: Vec<(Window, u32)>,
}

/// Why a vehicle will not have what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShortageReason {
    /// The vehicle cannot take so much until its departure.
    Time,
    /// The limits of the site, or what is reserved there.
    Limit,
    /// The connectors of the site are too weak, or out of order.
    Power,
}

impl SiteVehicle {
    fn level(&self) -> f64 {
        let battery = self.telemetry.as_ref().and_then(|one| one.battery.as_ref());
        battery.map_or(UNKNOWN_LEVEL, |battery| battery.level)
    }

    /// When the vehicle has reported its level, if it was not simulated.
    fn reported(&self) -> Option<Timestamp> {
        let battery = self.telemetry.as_ref().and_then(|one| one.battery.as_ref());
        battery.filter(|_| self.has_reported).map(|one| one.updated)
    }

    pub(super) fn charge(&self, departure: &Departure, now: Timestamp) -> Charge {
        let battery = Battery::of(&self.vehicle);
        let level = self.level();
        let until = |target| battery.energy_between(Some(level), target);
        let target = departure.target_level.map_or(0, until);
        let need = departure.energy_wh.unwrap_or(target);
        Charge {
            vehicle: self.vehicle.id.clone(),
            departure: departure.id.clone(),
            at: departure.at,
            need,
            minimum: departure.min_level.map_or(0, until).min(need),
            delivered: 0,
            cost: 0,
            carbon: 0,
            immediate: 0,
            level,
            based: self.reported().unwrap_or(now),
            flow: 0,
        }
    }

    /// The constant power in W with which the vehicle counts at a connector that offers so many W.
    pub(super) fn power(&self, offered: u32, charge: &Charge) -> u32 {
        let curve = Battery::of(&self.vehicle).charge(offered, Some(charge.level));
        let millis = match (curve.taper(), charge.need) {
            (Some(_), need @ 1..) => curve.time_until(need).map(whole_millis),
            _ => return curve.power,
        };
        let millis = millis.unwrap_or_default().max(1).unsigned_abs();
        let average = u64::from(charge.need) * MILLIS_PER_HOUR / millis;
        u32::try_from(average).unwrap_or(u32::MAX).min(curve.power)
    }
}

/// The price of energy of the first of the stations with one in this currency, in thousandths of a minor unit per kWh, with tax.
pub fn tariff(stations: &[ChargingStation], currency: Currency) -> Option<i64> {
    let mut prices = stations.iter().flat_map(|station| &station.pricing);
    let price = prices.find(|one| one.kind == PriceType::Energy && one.currency == currency)?;
    (price.gross() * Decimal::ONE_THOUSAND).round().to_i64()
}

/// The Wh of a power in W in a window, rounded down.
pub(super) fn energy(power: u64, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(0);
    power.saturating_mul(millis.unsigned_abs()) / MILLIS_PER_HOUR
}

/// The average power in W of so many Wh in a window, rounded up.
pub(super) fn power(energy: u64, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(1);
    (energy * MILLIS_PER_HOUR).div_ceil(millis.unsigned_abs())
}

impl PlanInputs {
    /// Whether the vehicles follow the plan.
    pub fn is_enforced(&self) -> bool {
        self.mode == Mode::Test
    }

    pub(super) fn vehicle(&self, charge: &Charge) -> Option<&SiteVehicle> {
        let mut all = self.vehicles.iter();
        all.find(|one| one.vehicle.id == charge.vehicle)
    }

    pub(super) fn price(&self, at: Timestamp) -> Option<(i64, bool)> {
        let known = value_at(&self.days, SiteSeries::Prices, at);
        known.or_else(|| self.tariff.map(|tariff| (tariff, false)))
    }

    pub(super) fn carbon(&self, at: Timestamp) -> Option<i64> {
        value_at(&self.days, SiteSeries::Carbon, at).map(|(value, _)| value)
    }

    pub(super) fn reserved(&self, window: &Window) -> u64 {
        let overlapping = self.reserved.iter().filter(|(one, _)| one.overlaps(window));
        overlapping.map(|(_, power)| u64::from(*power)).sum()
    }

    pub(super) fn offered(&self, vehicle: &SiteVehicle) -> u32 {
        let plug = vehicle.vehicle.charging_standard;
        self.offered.get(&plug).copied().unwrap_or(u32::MAX)
    }
}

impl Charge {
    /// Accounts for metered Wh at a moment.
    fn take(&mut self, energy: u32, inputs: &PlanInputs, at: Timestamp) {
        let energy = energy.min(self.need);
        self.need -= energy;
        self.minimum = self.minimum.saturating_sub(energy);
        self.delivered += energy;
        let price = inputs.price(at).map_or(0, |(price, _)| price);
        self.cost += i64::from(energy) * price;
        self.carbon += i64::from(energy) * inputs.carbon(at).unwrap_or_default();
        if let Some(vehicle) = inputs.vehicle(self) {
            let share = Battery::of(&vehicle.vehicle).share_of(energy);
            self.level = (self.level + share).min(100.0);
        }
    }

    /// Accounts for the part of the flow of a window until a moment.
    pub(super) fn settle(&mut self, window: &Window, now: Timestamp, inputs: &PlanInputs) {
        let length = whole_millis(window.until.since(window.from)).max(1);
        let elapsed = whole_millis(now.min(window.until).since(window.from)).clamp(0, length);
        let energy = u64::from(self.flow) * elapsed.unsigned_abs() / length.unsigned_abs();
        let energy = u32::try_from(energy).unwrap_or(u32::MAX);
        self.flow -= energy;
        self.take(energy, inputs, window.from);
    }

    /// Takes in what the vehicle has reported since. Returns whether that differs from the plan.
    pub(super) fn rebase(
        &mut self,
        vehicle: &SiteVehicle,
        departure: &Departure,
        is_enforced: bool,
    ) -> bool {
        let Some(reported) = vehicle.reported().filter(|at| *at > self.based) else {
            return false;
        };
        self.based = reported;
        let level = vehicle.level();
        if (level - self.level).abs() <= NOISE {
            return false;
        }
        let battery = Battery::of(&vehicle.vehicle);
        let risen = battery.energy_between(Some(self.level), level);
        self.level = level;
        match departure.target_level {
            Some(target) => self.need = battery.energy_between(Some(level), target),
            None if !is_enforced => self.need = self.need.saturating_sub(risen),
            None => {}
        }
        let minimum = departure.min_level.unwrap_or_default();
        self.minimum = battery.energy_between(Some(level), minimum).min(self.need);
        true
    }

    pub(super) fn outcome(&self, inputs: &PlanInputs, currency: Currency) -> DepartureOutcome {
        let capacity = inputs.vehicle(self).map(|one| one.vehicle.battery_capacity);
        // Where the vehicles do not follow the plan, the last level that counts is at most 3 points old.
        let tolerance = match inputs.is_enforced() {
            true => TOLERANCE,
            false => capacity.unwrap_or_default() / 25,
        };
        let is_short = self.need > tolerance;
        let priced = inputs.is_enforced() && inputs.price(self.at.plus(-SLOT)).is_some();
        DepartureOutcome {
            short_by_wh: if is_short { self.need } else { 0 },
            energy_wh: inputs.is_enforced().then_some(self.delivered),
            cost: priced.then(|| minor_units(self.cost)),
            cost_if_immediate: priced.then(|| minor_units(self.immediate)),
            currency,
        }
    }
}

/// Millionths in whole units, rounded half away from zero.
pub(super) fn minor_units(millionths: i64) -> i64 {
    let half = 500_000 * millionths.signum();
    millionths.saturating_add(half) / 1_000_000
}
