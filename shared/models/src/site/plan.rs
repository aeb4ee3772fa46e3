//! The plan of a site: when each vehicle charges until its next departure.
//!
//! A *charge* is what a vehicle still needs until its next departure within 48 hours. Slots begin at quarter-hours and at departures, so
//! that all powers are constant in each. The planner divides the metered Wh among them. What flows is accounted for at the end of a
//! slot, and whenever the site is planned again; a part of a slot counts in proportion to its time.
//!
//! Levels that vehicles report replace those of the plan if they differ by more than 3 points: less is noise. A battery whose power
//! depends on its level counts with the average power until it has what it needs.

use std::collections::BTreeSet;

use planner::{Demand, Depot, Plan, Slot};
use serde::Serialize;
use utoipa::ToSchema;

use super::charge::{Charge, PlanInputs, ShortageReason, TOLERANCE, energy, minor_units, power};
use super::series::SLOT;
use super::{LimitType, PlanSummary, ShortDeparture, Site, SitePlanReason};
use crate::charging::battery::Battery;
use crate::charging::policies::spans;
use crate::departure::DepartureOutcome;
use crate::event_type::EventType;
use crate::stored::Stored;
use kernel::id::Id;
use kernel::money::Currency;
use kernel::time::{SignedDuration, Timestamp, hours, whole_millis};
use kernel::window::Window;

/// How far a plan reaches.
pub const HORIZON: SignedDuration = hours(48);

/// How many vehicles are planned together.
pub const MOST_VEHICLES: usize = 500;

/// How many short departures the summary names.
const NAMED: usize = 100;

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
    let mut before = settle(site, inputs, now);
    let mut changes = site.internal.changed.clone();
    for charge in &mut before {
        let next = inputs.vehicle(charge).and_then(|one| one.next.as_ref());
        let moved = next.filter(|one| one.id == charge.departure && one.at != charge.at);
        if let Some(departure) = moved {
            charge.at = departure.at;
            changes.push(SitePlanReason::Departures);
        }
    }
    let (ended, mut kept): (Vec<_>, Vec<_>) = before.into_iter().partition(|one| one.at <= now);
    let currency = site.object.currency;
    let outcome = |charge: Charge| {
        let outcome = charge.outcome(inputs, currency);
        (charge, outcome)
    };
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
