//! The plan of a site: when each vehicle charges until its next departure.
//!
//! A *charge* is what a vehicle still needs until its next departure within 48 hours. Slots begin at quarter-hours and at departures, so
//! that all powers are constant in each. The planner divides the metered Wh among them. What flows is accounted for at the end of a
//! slot, and whenever the site is planned again; a part of a slot counts in proportion to its time.
//!
//! Levels that vehicles report replace those of the plan if they differ by more than 3 points: less is noise. A battery whose power
//! depends on its level counts with the average power until it has what it needs.

use std::collections::{BTreeSet, HashMap};

use planner::{Demand, Depot, Plan, Slot};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::series::{SLOT, value_at};
use super::{LimitType, PlanSummary, ShortDeparture, Site, SiteDay, SitePlanReason, SiteSeries};
use crate::charging::battery::{Battery, MILLIS_PER_HOUR};
use crate::charging::policies::spans;
use crate::charging_station::{ChargingStation, PriceType};
use crate::departure::{Departure, DepartureOutcome};
use crate::event_type::EventType;
use crate::stored::Stored;
use crate::vehicle::{ConnectorType, Vehicle};
use crate::vehicle_telemetry::VehicleTelemetry;
use kernel::id::Id;
use kernel::money::Currency;
use kernel::origin::Mode;
use kernel::time::{SignedDuration, Timestamp, hours, whole_millis};
use kernel::window::Window;

/// How far a plan reaches.
pub const HORIZON: SignedDuration = hours(48);

/// How many vehicles are planned together.
pub const MOST_VEHICLES: usize = 500;

/// A level that differs by less points from the plan is noise, and so are so many Wh.
const NOISE: f64 = 3.0;
const TOLERANCE: u32 = 20;

/// The level that is assumed of a vehicle without telemetry, in percent.
const UNKNOWN_LEVEL: f64 = 20.0;

/// How many short departures the summary names.
const NAMED: usize = 100;

/// What a vehicle still needs until its next departure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    pub vehicle: Id,
    pub departure: Id,
    pub at: Timestamp,
    /// Metered Wh that are still needed, and those of them that come first.
    need: u32,
    minimum: u32,
    /// Metered Wh, and their price in millionths of a minor unit.
    delivered: u32,
    cost: i64,
    carbon: i64,
    /// What charging at once costs, in millionths of a minor unit.
    immediate: i64,
    /// Percent.
    pub level: f64,
    /// When the level was reported that the charge is based on.
    based: Timestamp,
    /// Metered Wh in the rest of the slot.
    flow: u32,
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
    /// W of the strongest connector of each type.
    pub offered: HashMap<ConnectorType, u32>,
    /// Reserved connectors: the time, and the W of the connector.
    pub reserved: Vec<(Window, u32)>,
}

/// A plan from a moment on.
#[derive(Debug, Clone)]
pub struct Planned {
    pub charges: Vec<Charge>,
    /// The departures that are over.
    pub ended: Vec<(Charge, DepartureOutcome)>,
    pub changes: Vec<SitePlanReason>,
    windows: Vec<Window>,
    depot: Depot,
    plan: Plan,
    prices: Vec<Option<(i64, bool)>>,
}

/// `GET /v1/sites/{id}/plan`
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SitePlan {
    /// Currency of prices and costs.
    pub currency: Currency,
    /// Whether the vehicles follow the plan.
    pub enforced: bool,
    /// Why they do not.
    #[schema(required)]
    pub not_enforced_because: Option<NotEnforced>,
    /// When the plan was made.
    pub planned_at: Timestamp,
    /// From this moment on the prices are those of the same hours of a day before; null if all are known.
    #[schema(required)]
    pub prices_assumed_from: Option<Timestamp>,
    /// The revision of the plan in force; 0 before the first.
    pub revision: u32,
    /// Id of the site.
    pub site: Id,
    /// In the order of time: quarter-hours, divided where a vehicle departs.
    pub slots: Vec<PlanSlot>,
    /// In the order of their departures.
    pub vehicles: Vec<PlannedVehicle>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotEnforced {
    /// The stations of the site take no charging profiles.
    NoChargingProfiles,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PlanSlot {
    /// g of CO2 per kWh; null if it is unknown.
    #[schema(required)]
    pub carbon_g_per_kwh: Option<f64>,
    /// W that are exceeded only to meet a need: the lowest cost limit, less the reserved power; null without one.
    #[schema(required)]
    pub cost_limit_w: Option<u64>,
    /// Begin of the slot.
    pub from: Timestamp,
    /// W that are never exceeded: the lowest capacity limit, less the reserved power; null without one.
    #[schema(required)]
    pub limit_w: Option<u64>,
    /// W of all vehicles of the plan together, on average.
    pub load_w: u64,
    /// Minor units; null if it is unknown.
    #[schema(required)]
    pub price_per_kwh: Option<f64>,
    /// W of the reserved connectors of the site's stations.
    pub reserved_w: u64,
    /// End of the slot.
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PlannedVehicle {
    /// g of CO2 of all energy; null if it is unknown.
    #[schema(required)]
    pub carbon_g: Option<i64>,
    /// What all energy costs, in minor units; null without prices.
    #[schema(required)]
    pub cost: Option<i64>,
    /// What charging at once at full power would cost, in minor units; null without prices.
    #[schema(required)]
    pub cost_if_immediate: Option<i64>,
    /// When the vehicle departs.
    pub departs_at: Timestamp,
    /// Id of the departure.
    pub departure: Id,
    /// Metered Wh that were delivered so far.
    pub delivered_wh: u32,
    /// Metered Wh that are still to be delivered.
    pub energy_wh: u32,
    /// When the last energy flows; null if none does.
    #[schema(required)]
    pub finish: Option<Timestamp>,
    /// How many Wh less may flow than the battery would take, because its power counts as constant: at most this.
    pub gap_wh: u32,
    /// Percent.
    pub level: f64,
    /// Why energy will be missing; null if none will.
    #[schema(required)]
    pub limited_by: Option<ShortageReason>,
    /// W in each slot.
    pub loads_w: Vec<u32>,
    /// Metered Wh that will be missing.
    pub short_by_wh: u32,
    /// Whether the vehicle will have what it needs.
    pub status: VehiclePlanStatus,
    /// Id of the vehicle.
    pub vehicle: Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VehiclePlanStatus {
    Feasible,
    Short,
}

/// Why a vehicle will not have what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShortageReason {
    /// The vehicle cannot take so much until its departure.
    Time,
    /// The limits of the site, or what is reserved there.
    Limit,
    /// The connectors of the site are too weak.
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

    fn charge(&self, departure: &Departure, now: Timestamp) -> Charge {
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
    fn power(&self, offered: u32, charge: &Charge) -> u32 {
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
fn energy(power: u64, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(0);
    power.saturating_mul(millis.unsigned_abs()) / MILLIS_PER_HOUR
}

/// The average power in W of so many Wh in a window, rounded up.
fn power(energy: u64, window: &Window) -> u64 {
    let millis = whole_millis(window.until.since(window.from)).max(1);
    (energy * MILLIS_PER_HOUR).div_ceil(millis.unsigned_abs())
}

impl PlanInputs {
    /// Whether the vehicles follow the plan.
    pub fn is_enforced(&self) -> bool {
        self.mode == Mode::Test
    }

    fn vehicle(&self, charge: &Charge) -> Option<&SiteVehicle> {
        let mut all = self.vehicles.iter();
        all.find(|one| one.vehicle.id == charge.vehicle)
    }

    fn price(&self, at: Timestamp) -> Option<(i64, bool)> {
        let known = value_at(&self.days, SiteSeries::Prices, at);
        known.or_else(|| self.tariff.map(|tariff| (tariff, false)))
    }

    fn carbon(&self, at: Timestamp) -> Option<i64> {
        value_at(&self.days, SiteSeries::Carbon, at).map(|(value, _)| value)
    }

    fn reserved(&self, window: &Window) -> u64 {
        let overlapping = self.reserved.iter().filter(|(one, _)| one.overlaps(window));
        overlapping.map(|(_, power)| u64::from(*power)).sum()
    }

    fn offered(&self, vehicle: &SiteVehicle) -> u32 {
        let plug = vehicle.vehicle.charging_standard;
        self.offered.get(&plug).copied().unwrap_or(u32::MAX)
    }
}

/// The windows between a moment and the last departure: quarter-hours, divided at departures.
fn windows(charges: &[Charge], from: Timestamp) -> Vec<Window> {
    let Some(last) = charges.iter().map(|charge| charge.at).max() else {
        return Vec::new();
    };
    let step = whole_millis(SLOT);
    let (first, end) = (from.unix_millis(), last.unix_millis());
    let quarter = first - first.rem_euclid(step) + step;
    let quarters = (quarter..end).step_by(usize::try_from(step).unwrap_or(1));
    let departures = charges.iter().map(|charge| charge.at.unix_millis());
    let departures = departures.filter(|at| *at > first);
    let bounds: BTreeSet<i64> = quarters.chain(departures).collect();
    let mut from = from;
    let window = |until: i64| {
        let until = Timestamp::from_unix_millis(until);
        let window = Window { from, until };
        from = until;
        window
    };
    bounds.into_iter().map(window).collect()
}

/// The lowest limits of each window in W, before what is reserved.
struct Limits {
    spans: Vec<(LimitType, u32, Option<Vec<Window>>)>,
}

impl Limits {
    fn of(site: &Site, reach: &Window) -> Self {
        let zone = site.time_zone.rules();
        let limits = site.limits.iter().map(|limit| {
            let always = limit.time_windows.is_empty();
            let spans = (!always).then(|| spans(&limit.time_windows, reach, &zone));
            (limit.kind, limit.power_w, spans)
        });
        Self {
            spans: limits.collect(),
        }
    }

    fn lowest(&self, kind: LimitType, window: &Window, reserved: u64) -> Option<u64> {
        let holds = |spans: &Option<Vec<Window>>| match spans {
            None => true,
            Some(spans) => spans.iter().any(|span| span.overlaps(window)),
        };
        let all = self.spans.iter();
        let lowest = all
            .filter(|(one, _, spans)| *one == kind && holds(spans))
            .map(|(_, power, _)| *power)
            .min()?;
        Some(u64::from(lowest).saturating_sub(reserved))
    }
}

/// What is planned: the windows, the depot and the plan.
fn optimum(
    site: &Site,
    inputs: &PlanInputs,
    charges: &[Charge],
    from: Timestamp,
) -> (Vec<Window>, Depot, Plan) {
    let windows = windows(charges, from);
    let until = windows.last().map_or(from, |last| last.until);
    let limits = Limits::of(site, &Window { from, until });
    let slots = windows.iter().map(|window| {
        let reserved = inputs.reserved(window);
        let limit = |kind| {
            let lowest = limits.lowest(kind, window, reserved);
            lowest.map(|power| energy(power, window))
        };
        let capacity = limit(LimitType::Capacity).unwrap_or(u64::from(u32::MAX));
        Slot {
            capacity,
            threshold: limit(LimitType::Cost).unwrap_or(capacity).min(capacity),
            price: inputs.price(window.from).map_or(0, |(price, _)| price),
        }
    });
    let demands = charges.iter().map(|charge| {
        let vehicle = inputs.vehicle(charge);
        let power = vehicle.map_or(0, |one| one.power(inputs.offered(one), charge));
        Demand {
            key: charge.departure.to_string(),
            power: powers(power, charge, &windows),
            need: charge.need,
            minimum: charge.minimum,
            prices: None,
        }
    });
    let depot = Depot {
        slots: slots.collect(),
        demands: demands.collect(),
    };
    let plan = depot.plan();
    (windows, depot, plan)
}

/// The Wh that a vehicle can take in each window until it departs.
fn powers(power: u32, charge: &Charge, windows: &[Window]) -> Vec<u32> {
    let of_window = |window: &Window| {
        let is_there = window.until <= charge.at;
        let energy = energy(u64::from(power), window);
        if is_there {
            u32::try_from(energy).unwrap_or(u32::MAX)
        } else {
            0
        }
    };
    windows.iter().map(of_window).collect()
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
    fn settle(&mut self, window: &Window, now: Timestamp, inputs: &PlanInputs) {
        let length = whole_millis(window.until.since(window.from)).max(1);
        let elapsed = whole_millis(now.min(window.until).since(window.from)).clamp(0, length);
        let energy = u64::from(self.flow) * elapsed.unsigned_abs() / length.unsigned_abs();
        let energy = u32::try_from(energy).unwrap_or(u32::MAX);
        self.flow -= energy;
        self.take(energy, inputs, window.from);
    }

    /// Takes in what the vehicle has reported since. Returns whether that differs from the plan.
    fn rebase(&mut self, vehicle: &SiteVehicle, departure: &Departure, is_enforced: bool) -> bool {
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

    fn outcome(&self, inputs: &PlanInputs, currency: Currency) -> DepartureOutcome {
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
fn minor_units(millionths: i64) -> i64 {
    let half = 500_000 * millionths.signum();
    millionths.saturating_add(half) / 1_000_000
}

/// Brings the charges of the plan in force to a moment.
fn settle(site: &Stored<Site>, inputs: &PlanInputs, now: Timestamp) -> Vec<Charge> {
    let mut charges = site.internal.charges.clone();
    let Some(settled) = site.internal.settled_at.filter(|at| *at < now) else {
        return charges;
    };
    if !inputs.is_enforced() {
        return charges;
    }
    let Some(current) = windows(&charges, settled).first().copied() else {
        return charges;
    };
    for charge in &mut charges {
        charge.settle(&current, now, inputs);
    }
    if current.until >= now {
        return charges;
    }
    // The runs at the ends of the slots since then are missing: what they would have planned has flowed.
    let (windows, _, plan) = optimum(&site.object, inputs, &charges, current.until);
    for (place, window) in windows.iter().enumerate() {
        for (charge, flows) in charges.iter_mut().zip(&plan.flows) {
            charge.flow = flows[place];
            charge.settle(window, now, inputs);
        }
    }
    charges
}

/// Plans a site at a moment: accounts for the time since the plan in force, takes in what has changed, and finds the best plan.
pub fn plan(site: &Stored<Site>, inputs: &PlanInputs, now: Timestamp) -> Planned {
    let before = settle(site, inputs, now);
    let (ended, mut kept): (Vec<_>, Vec<_>) = before.into_iter().partition(|one| one.at <= now);
    let currency = site.object.currency;
    let outcome = |charge: Charge| {
        let outcome = charge.outcome(inputs, currency);
        (charge, outcome)
    };
    let mut changes = site.internal.changed.clone();
    let mut charges = Vec::new();
    for vehicle in &inputs.vehicles {
        let next = vehicle.next.as_ref();
        let near = next.filter(|one| one.at > now && one.at.since(now) <= HORIZON);
        let Some(departure) = near else {
            continue;
        };
        let known = kept.iter().position(|one| one.departure == departure.id);
        match known.map(|place| kept.swap_remove(place)) {
            Some(mut charge) => {
                if charge.rebase(vehicle, departure, inputs.is_enforced()) {
                    changes.push(SitePlanReason::Telemetry);
                }
                charges.push(charge);
            }
            None => {
                changes.push(SitePlanReason::Departures);
                charges.push(vehicle.charge(departure, now));
            }
        }
    }
    if !kept.is_empty() {
        changes.push(SitePlanReason::Departures);
    }
    changes.sort_by_key(|change| *change as u8);
    changes.dedup();
    charges.sort_by(|a, b| (a.at, &a.departure).cmp(&(b.at, &b.departure)));
    let (windows, depot, plan) = optimum(&site.object, inputs, &charges, now);
    for ((charge, flows), demand) in charges.iter_mut().zip(&plan.flows).zip(&depot.demands) {
        charge.flow = flows.first().copied().unwrap_or_default();
        if charge.delivered == 0 {
            charge.immediate = immediate(demand, &depot);
        }
    }
    Planned {
        charges,
        ended: ended.into_iter().map(outcome).collect(),
        changes,
        prices: windows.iter().map(|one| inputs.price(one.from)).collect(),
        windows,
        depot,
        plan,
    }
}

/// What charging at once at full power costs.
fn immediate(demand: &Demand, depot: &Depot) -> i64 {
    let mut left = demand.need;
    let slots = demand.power.iter().zip(&depot.slots);
    let costs = slots.map(|(power, slot)| {
        let flow = left.min(*power);
        left -= flow;
        i64::from(flow) * slot.price
    });
    costs.sum()
}

impl Planned {
    /// The Wh that a vehicle will miss.
    fn short_by(&self, place: usize) -> u32 {
        let unserved = self.depot.demands[place].unserved(&self.plan.flows[place]);
        if unserved > TOLERANCE { unserved } else { 0 }
    }

    fn limited_by(&self, place: usize, inputs: &PlanInputs) -> Option<ShortageReason> {
        let (demand, charge) = (&self.depot.demands[place], &self.charges[place]);
        let most = |powers: &[u32]| powers.iter().copied().map(u64::from).sum::<u64>();
        if self.short_by(place) == 0 {
            return None;
        }
        if most(&demand.power) + u64::from(TOLERANCE) >= u64::from(demand.need) {
            return Some(ShortageReason::Limit);
        }
        let own = inputs
            .vehicle(charge)
            .map_or(0, |one| one.power(u32::MAX, charge));
        match most(&powers(own, charge, &self.windows)) >= u64::from(demand.need) {
            true => Some(ShortageReason::Power),
            false => Some(ShortageReason::Time),
        }
    }

    /// The departures that will not have what they need, the greatest shortage first.
    fn short(&self, inputs: &PlanInputs) -> Vec<ShortDeparture> {
        let all = self.charges.iter().enumerate();
        let short = all.filter_map(|(place, charge)| {
            Some(ShortDeparture {
                at: charge.at,
                departure: charge.departure.clone(),
                limited_by: self.limited_by(place, inputs)?,
                short_by_wh: self.short_by(place),
                vehicle: charge.vehicle.clone(),
            })
        });
        let mut short: Vec<ShortDeparture> = short.collect();
        short.sort_by(|a, b| (b.short_by_wh, &a.vehicle).cmp(&(a.short_by_wh, &b.vehicle)));
        short.truncate(NAMED);
        short
    }

    /// When the site is planned again without a change: at the end of the slot, or when the next departure comes near.
    fn next_action_at(&self, inputs: &PlanInputs) -> Option<Timestamp> {
        let slot = self.windows.first().map(|window| window.until);
        slot.or_else(|| {
            let departures = inputs.vehicles.iter().filter_map(|one| one.next.as_ref());
            departures.map(|one| one.at.plus(-HORIZON)).min()
        })
    }

    /// The plan as it is shown.
    pub fn view(&self, site: &Site, inputs: &PlanInputs, now: Timestamp) -> SitePlan {
        let reach = |end: &Window| Window {
            from: now,
            until: end.until,
        };
        let limits = self
            .windows
            .last()
            .map(reach)
            .map(|reach| Limits::of(site, &reach));
        let slots = self.windows.iter().enumerate().map(|(place, window)| {
            let reserved = inputs.reserved(window);
            let limit = |kind| limits.as_ref()?.lowest(kind, window, reserved);
            let flows = self.plan.flows.iter().map(|flows| u64::from(flows[place]));
            let price = self.prices[place];
            PlanSlot {
                carbon_g_per_kwh: inputs
                    .carbon(window.from)
                    .map(|value| value as f64 / 1000.0),
                cost_limit_w: limit(LimitType::Cost),
                from: window.from,
                limit_w: limit(LimitType::Capacity),
                load_w: power(flows.sum(), window),
                price_per_kwh: price.map(|(price, _)| price as f64 / 1000.0),
                reserved_w: reserved,
                until: window.until,
            }
        });
        let is_assumed = |place: &usize| self.prices[*place].is_some_and(|(_, assumed)| assumed);
        let assumed = (0..self.windows.len()).find(is_assumed);
        let vehicles = (0..self.charges.len()).map(|place| self.vehicle(place, inputs));
        SitePlan {
            currency: site.currency,
            enforced: inputs.is_enforced(),
            not_enforced_because: (!inputs.is_enforced())
                .then_some(NotEnforced::NoChargingProfiles),
            planned_at: now,
            prices_assumed_from: assumed.map(|place| self.windows[place].from),
            revision: site.plan.as_ref().map_or(0, |plan| plan.revision),
            site: site.id.clone(),
            slots: slots.collect(),
            vehicles: vehicles.collect(),
        }
    }

    fn vehicle(&self, place: usize, inputs: &PlanInputs) -> PlannedVehicle {
        let (charge, flows) = (&self.charges[place], &self.plan.flows[place]);
        let demand = &self.depot.demands[place];
        let is_priced = self.prices.iter().all(Option::is_some);
        let planned = i64::try_from(self.depot.cost_of(demand, flows)).unwrap_or(i64::MAX);
        let carbons = flows.iter().zip(&self.windows).map(|(flow, window)| {
            let carbon = inputs.carbon(window.from)?;
            Some(i64::from(*flow) * carbon)
        });
        let carbon: Option<i64> = carbons.sum();
        let last = flows.iter().rposition(|flow| *flow > 0);
        let short_by_wh = self.short_by(place);
        let gap = inputs.vehicle(charge).map_or(0, |one| {
            let offered = inputs.offered(one);
            let curve = Battery::of(&one.vehicle).charge(offered, Some(charge.level));
            let energy = curve.energy_within(charge.at.since(self.windows[0].from));
            let average: u64 = demand.power.iter().copied().map(u64::from).sum();
            energy
                .min(demand.need)
                .saturating_sub(u32::try_from(average).unwrap_or(u32::MAX))
        });
        PlannedVehicle {
            carbon_g: carbon.map(|carbon| minor_units(charge.carbon + carbon)),
            cost: is_priced.then(|| minor_units(charge.cost + planned)),
            cost_if_immediate: is_priced.then(|| minor_units(charge.immediate)),
            departs_at: charge.at,
            departure: charge.departure.clone(),
            delivered_wh: charge.delivered,
            energy_wh: flows.iter().sum(),
            finish: last.map(|place| self.windows[place].until),
            gap_wh: gap,
            level: charge.level,
            limited_by: self.limited_by(place, inputs),
            loads_w: flows
                .iter()
                .zip(&self.windows)
                .map(|(flow, window)| {
                    u32::try_from(power(u64::from(*flow), window)).unwrap_or(u32::MAX)
                })
                .collect(),
            short_by_wh,
            status: match short_by_wh {
                0 => VehiclePlanStatus::Feasible,
                _ => VehiclePlanStatus::Short,
            },
            vehicle: charge.vehicle.clone(),
        }
    }
}

impl Stored<Site> {
    /// Puts a plan into force. Returns whether anything is to be written.
    pub fn put_into_force(
        &mut self,
        planned: &Planned,
        inputs: &PlanInputs,
        now: Timestamp,
    ) -> bool {
        let short = planned.short(inputs);
        let before = self.object.plan.as_ref();
        let ids = |short: &[ShortDeparture]| -> BTreeSet<Id> {
            short.iter().map(|one| one.departure.clone()).collect()
        };
        // A departure that is over is short no more: that is no change.
        let is_ahead = |one: &&ShortDeparture| one.at > now;
        let was: Vec<ShortDeparture> = before.map_or_else(Vec::new, |plan| {
            plan.short.iter().filter(is_ahead).cloned().collect()
        });
        let mut changes = planned.changes.clone();
        if ids(&was) != ids(&short) {
            changes.push(SitePlanReason::Shortage);
        }
        let next_action_at = planned.next_action_at(inputs);
        let is_due = self.internal.next_action_at.is_some_and(|at| at <= now);
        if changes.is_empty() && !is_due && planned.ended.is_empty() {
            return false;
        }
        if !changes.is_empty() {
            self.object.plan = Some(PlanSummary {
                changed_because: changes,
                planned_at: now,
                revision: before.map_or(0, |plan| plan.revision) + 1,
                short,
            });
            self.record(EventType::SitePlanChanged);
        }
        self.internal.changed.clear();
        self.internal.charges.clone_from(&planned.charges);
        self.internal.settled_at = Some(now);
        self.internal.next_action_at = next_action_at;
        true
    }
}
