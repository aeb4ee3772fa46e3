//! The plan of a site: when each vehicle charges until its next departure.
//!
//! A *charge* is the energy that a vehicle still needs until its next departure within 48 hours. Slots begin at quarter-hours and at
//! departures, so that all powers are constant in each. The planner divides the metered Wh among them. Energy that has flowed is
//! accounted for at the end of a slot, and whenever the site is planned again; a part of a slot counts in proportion to its time.
//!
//! If a departure moves beyond the horizon, or another one is inserted before it, its charge waits: what was charged for the departure
//! counts when the charge is planned again.
//!
//! Levels that vehicles report replace those of the plan if they differ by more than 3 points: a smaller difference is noise.
//!
//! The power of direct current falls as the level rises. At first a vehicle has its full power in every slot. Then its flows are rolled
//! forward along its curve: where the battery takes less than planned, its power is lowered, and the plan is made again, at most five
//! times. What the battery would not take in the end is not planned: it is missing.
//!
//! Alternating current flows with at least 6 A or not at all. The best plan is changed so that as few flows as possible are below that;
//! the view shows the cost of this change, and the flows that remain below.

use std::collections::BTreeSet;

use planner::{Demand, Depot, Plan, Slot};

use super::charge::{
    Charge, Execution, PlanInputs, ShortageReason, SiteVehicle, TOLERANCE, energy, power,
};
use super::limits::Limits;
use super::series::SLOT;
use super::{
    LimitType, MOST_VEHICLES, PlanSummary, ShortDeparture, Site, SiteOptimize, SitePlanReason,
};
use crate::charging::battery::Battery;
use crate::departure::{Departure, DepartureOutcome};
use crate::event_type::EventType;
use crate::stored::Stored;
use kernel::id::Id;
use kernel::time::{DAY, SignedDuration, Timestamp, hours, whole_millis};
use kernel::window::Window;

/// The length of time that a plan covers.
pub const HORIZON: SignedDuration = hours(48);

/// The maximum number of times that a plan is made again because batteries take less than planned at their levels then.
const TIGHTENED: usize = 5;

/// The maximum number of short departures in the summary.
const NAMED: usize = 100;

/// A plan from a moment on.
#[derive(Debug, Clone)]
pub struct Planned {
    pub charges: Vec<Charge>,
    /// The charges that wait.
    waiting: Vec<Charge>,
    /// The departures that are over.
    pub ended: Vec<(Charge, DepartureOutcome)>,
    pub changes: Vec<SitePlanReason>,
    pub(super) windows: Vec<Window>,
    pub(super) depot: Depot,
    pub(super) plan: Plan,
    /// The best plan if vehicles could charge with any power.
    pub(super) best: Plan,
    /// The power in W in each window that is not planned.
    pub(super) fixed: Vec<u64>,
    pub(super) prices: Vec<Option<(i64, bool)>>,
}

/// Returns the windows between a moment and the last departure: quarter-hours, divided at departures.
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

/// The result of planning: the windows, the depot, the plan, the best plan if vehicles could charge with any power, and the power in W in
/// each window that is not planned.
struct Optimum {
    windows: Vec<Window>,
    depot: Depot,
    plan: Plan,
    best: Plan,
    fixed: Vec<u64>,
}

fn optimum(site: &Site, inputs: &PlanInputs, charges: &[Charge], from: Timestamp) -> Optimum {
    let windows = windows(charges, from);
    let forced = charges.iter().map(|charge| {
        let vehicle = inputs.vehicle(charge)?;
        vehicle.forced(Some(charge), &windows)
    });
    let forced: Vec<Option<Vec<u32>>> = forced.collect();
    let fixed = fixed(site, inputs, charges, &windows);
    let mut demands: Vec<Demand> = charges
        .iter()
        .map(|charge| demand(charge, inputs, &windows, from))
        .collect();
    let planned = charges.iter().zip(&forced);
    let planned: Vec<&Charge> = planned
        .filter_map(|(charge, forced)| forced.is_none().then_some(charge))
        .collect();
    let of_planned = demands.iter().zip(&forced);
    let of_planned = of_planned.filter(|(_, forced)| forced.is_none());
    let mut depot = Depot {
        slots: slots(site, inputs, &windows, &forced, &fixed),
        demands: of_planned.map(|(demand, _)| demand.clone()).collect(),
    };
    let best = best(&mut depot, &planned, inputs, &windows);
    let pairs = planned.iter().zip(&depot.demands);
    let least = pairs.map(|(charge, demand)| {
        let vehicle = inputs.vehicle(charge);
        vehicle.map_or_else(Vec::new, |vehicle| {
            vehicle.least(inputs.offered(vehicle), &windows, &demand.power)
        })
    });
    let least: Vec<Vec<u32>> = least.collect();
    let steady = depot.steady(&best, &least, TOLERANCE).plan;
    let of_planned = demands.iter_mut().zip(&forced);
    let of_planned = of_planned.filter(|(_, forced)| forced.is_none());
    for ((demand, _), lowered) in of_planned.zip(std::mem::take(&mut depot.demands)) {
        *demand = lowered;
    }
    let executable = |plan: Plan| {
        let mut flows = plan.flows.into_iter();
        let pairs = charges.iter().zip(&demands).zip(&forced);
        let flows = pairs.map(|((charge, demand), forced)| match forced {
            Some(forced) => served(demand, forced),
            None => {
                let flows = flows.next().unwrap_or_default();
                taken(charge, inputs, offered(charge, inputs), &windows, &flows)
            }
        });
        Plan {
            flows: flows.collect(),
        }
    };
    let (plan, best) = (executable(steady), executable(best));
    depot.demands = demands;
    Optimum {
        windows,
        depot,
        plan,
        best,
        fixed,
    }
}

/// Returns the best plan of a depot. Lowers the energy of its demands to what the batteries take at their levels then.
fn best(depot: &mut Depot, charges: &[&Charge], inputs: &PlanInputs, windows: &[Window]) -> Plan {
    let powers = depot.demands.iter().map(|demand| demand.power.clone());
    let full: Vec<Vec<u32>> = powers.collect();
    let mut best = depot.plan();
    for round in 1..=TIGHTENED {
        let mut is_tightened = false;
        for (place, charge) in charges.iter().enumerate() {
            let demand = &mut depot.demands[place];
            if !tighten(charge, inputs, windows, &best.flows[place], demand) {
                continue;
            }
            is_tightened = true;
            if round == TIGHTENED {
                // The flows of a charge at once: a battery that is less full takes at least as much.
                let offered = offered(charge, inputs);
                demand.power = taken(charge, inputs, offered, windows, &full[place]);
            }
        }
        if !is_tightened {
            break;
        }
        best = depot.plan();
    }
    best
}

/// Returns the maximum Wh of direct current that a battery takes in each window if it charges with these flows: the power falls as the level
/// rises. With `carries`, what does not fit into a window flows as soon as it can. None for a constant power.
fn path(
    charge: &Charge,
    inputs: &PlanInputs,
    offered: u32,
    windows: &[Window],
    flows: &[u32],
    carries: bool,
) -> Option<Vec<u32>> {
    let vehicle = inputs.vehicle(charge)?;
    let battery = Battery::of(&vehicle.vehicle);
    battery.charge(offered, None).taper()?;
    let (mut level, mut carried) = (charge.level, 0);
    let most = windows.iter().zip(flows).map(|(window, flow)| {
        let length = window.until.since(window.from);
        let most = battery.charge(offered, Some(level)).energy_within(length);
        let wanted = flow.saturating_add(carried);
        let flow = wanted.min(most);
        carried = if carries { wanted - flow } else { 0 };
        level += battery.share_of(flow);
        most
    });
    Some(most.collect())
}

/// Returns the power in W that the connectors of the site offer to the vehicle of a charge.
fn offered(charge: &Charge, inputs: &PlanInputs) -> u32 {
    let vehicle = inputs.vehicle(charge);
    vehicle.map_or(0, |vehicle| inputs.offered(vehicle))
}

/// Lowers the energy of windows in which a battery takes less than these flows, and of those to which the rest would have to move. Returns
/// whether it has lowered any noticeably.
fn tighten(
    charge: &Charge,
    inputs: &PlanInputs,
    windows: &[Window],
    flows: &[u32],
    demand: &mut Demand,
) -> bool {
    let offered = offered(charge, inputs);
    let Some(most) = path(charge, inputs, offered, windows, flows, true) else {
        return false;
    };
    let exceeded = flows.iter().zip(&most);
    let Some(first) = exceeded.clone().position(|(flow, most)| flow > most) else {
        return false;
    };
    let is_noticeable = exceeded
        .clone()
        .any(|(flow, most)| *flow > most + TOLERANCE);
    for (power, most) in demand.power.iter_mut().zip(&most).skip(first) {
        *power = (*most).min(*power);
    }
    is_noticeable
}

/// Returns the part of these flows that the battery takes.
fn taken(
    charge: &Charge,
    inputs: &PlanInputs,
    offered: u32,
    windows: &[Window],
    flows: &[u32],
) -> Vec<u32> {
    match path(charge, inputs, offered, windows, flows, false) {
        Some(most) => flows
            .iter()
            .zip(&most)
            .map(|(flow, most)| *flow.min(most))
            .collect(),
        None => flows.to_vec(),
    }
}

/// Returns the Wh that can be planned in each window by the limits of the site, and their weights.
fn slots(
    site: &Site,
    inputs: &PlanInputs,
    windows: &[Window],
    forced: &[Option<Vec<u32>>],
    fixed: &[u64],
) -> Vec<Slot> {
    let (Some(first), Some(last)) = (windows.first(), windows.last()) else {
        return Vec::new();
    };
    let whole = Window {
        from: first.from,
        until: last.until,
    };
    let limits = Limits::of(site, &whole);
    let weights = weights(site, inputs, windows);
    let slots = windows.iter().enumerate().map(|(place, window)| {
        let limit = |kind| {
            let lowest = limits.lowest(kind, window, fixed[place]);
            let forced = forced.iter().flatten();
            let forced: u64 = forced.map(|flows| u64::from(flows[place])).sum();
            lowest.map(|power| energy(power, window).saturating_sub(forced))
        };
        let capacity = limit(LimitType::Capacity).unwrap_or(u64::from(u32::MAX));
        Slot {
            capacity,
            threshold: limit(LimitType::Cost).unwrap_or(capacity).min(capacity),
            price: weights[place],
        }
    });
    slots.collect()
}

/// Returns the Wh that a charge still needs, without those that are assumed to have flowed until `from`.
fn demand(charge: &Charge, inputs: &PlanInputs, windows: &[Window], from: Timestamp) -> Demand {
    let vehicle = inputs.vehicle(charge);
    let power = vehicle.map_or(0, |vehicle| vehicle.power(inputs.offered(vehicle), charge));
    let session = vehicle.and_then(SiteVehicle::session);
    let assumed = session.map_or(0, |session| session.assumed(from));
    let mut power = powers(power, charge, windows);
    // A vehicle that is not plugged in leaves the power of the present slot to others. When its session begins, the site is planned again.
    if inputs.execution == Execution::Profiles && session.is_none() {
        power.iter_mut().take(1).for_each(|power| *power = 0);
    }
    Demand {
        key: charge.departure.to_string(),
        power,
        need: charge.need.saturating_sub(assumed),
        minimum: charge.minimum.saturating_sub(assumed),
        prices: None,
    }
}

/// Returns the weight of a Wh of each window in the aim of the site: its price, or its carbon dioxide; where that is unknown, the highest
/// known one.
fn weights(site: &Site, inputs: &PlanInputs, windows: &[Window]) -> Vec<i64> {
    let carbon = |window: &Window| inputs.carbon(window.from);
    let price = |window: &Window| inputs.price(window.from).map(|(price, _)| price);
    let most_carbon = windows.iter().filter_map(carbon).max();
    let most = windows.iter().filter_map(price).max().unwrap_or_default();
    let weight = |window: &Window| match (site.optimize, most_carbon) {
        (SiteOptimize::Carbon, Some(most)) => carbon(window).unwrap_or(most),
        _ => price(window).unwrap_or(most),
    };
    windows.iter().map(weight).collect()
}

/// Returns the part of the Wh that a vehicle charges regardless of the plan that serves its need.
fn served(demand: &Demand, forced: &[u32]) -> Vec<u32> {
    let mut left = demand.need;
    let flows = forced.iter().zip(&demand.power).map(|(flow, power)| {
        let flow = left.min(*flow).min(*power);
        left -= flow;
        flow
    });
    flows.collect()
}

/// Returns the power in W in each window that is not planned: reserved connectors, sessions that are not planned or are to start, and
/// those whose first profile is not in force.
fn fixed(site: &Site, inputs: &PlanInputs, charges: &[Charge], windows: &[Window]) -> Vec<u64> {
    let Some(now) = windows.first().map(|first| first.from) else {
        return Vec::new();
    };
    let is_planned = |vehicle: &&SiteVehicle| {
        let mut charges = charges.iter();
        charges.any(|charge| charge.vehicle == vehicle.vehicle.id)
    };
    let others = inputs
        .vehicles
        .iter()
        .filter(|vehicle| !is_planned(vehicle));
    let others: Vec<Vec<u32>> = others
        .filter_map(|vehicle| vehicle.forced(None, windows))
        .collect();
    let starting = |window: &Window| {
        let planned = inputs.vehicles.iter().filter(is_planned);
        planned
            .map(|vehicle| vehicle.starting(now, window))
            .sum::<u64>()
    };
    let of_window = |(place, window): (usize, &Window)| {
        let others = others.iter().map(|flows| u64::from(flows[place])).sum();
        let starting = starting(window) + inputs.kept(site, now, window);
        inputs.reserved(window) + power(others, window) + starting
    };
    windows.iter().enumerate().map(of_window).collect()
}

/// Returns the Wh that a vehicle can charge in each window until it departs.
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

/// Updates the charges of the plan in force to a moment.
fn settle(site: &Stored<Site>, inputs: &PlanInputs, now: Timestamp) -> Vec<Charge> {
    let mut charges = site.internal.charges.clone();
    let Some(settled) = site.internal.settled_at.filter(|at| *at < now) else {
        return charges;
    };
    if !inputs.is_simulated() {
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
    // The runs at the ends of the slots since then are missing: the energy that they would have planned is assumed to have flowed.
    let Optimum { windows, plan, .. } = optimum(&site.object, inputs, &charges, current.until);
    for (place, window) in windows.iter().enumerate() {
        for (charge, flows) in charges.iter_mut().zip(&plan.flows) {
            charge.flow = flows[place];
            charge.settle(window, now, inputs);
        }
    }
    charges
}

/// Plans a site at a moment: accounts for the time since the plan in force, applies the changes since then, and finds the best plan.
pub fn plan(site: &Stored<Site>, inputs: &PlanInputs, now: Timestamp) -> Planned {
    let mut before = settle(site, inputs, now);
    let mut changes = site.internal.changed.clone();
    let mut waiting = site.internal.waiting.clone();
    let has_moved = |charge: &mut Charge| {
        let vehicle = inputs.vehicle(charge);
        let departure = vehicle.and_then(|vehicle| vehicle.departure(&charge.departure));
        let at = departure.map_or(charge.at, |departure| departure.at);
        std::mem::replace(&mut charge.at, at) != at
    };
    for charge in &mut before {
        if has_moved(charge) {
            changes.push(SitePlanReason::Departures);
        }
    }
    let (mut ended, kept): (Vec<_>, Vec<_>) =
        before.into_iter().partition(|charge| charge.at <= now);
    // A departure may pass before it was ever planned, or planned again.
    for vehicle in &inputs.vehicles {
        let over = vehicle.next().filter(|next| next.at <= now);
        let missed = over.filter(|next| ended.iter().all(|charge| charge.departure != next.id));
        ended.extend(missed.map(|departure| {
            let mut charge = vehicle.charge(departure, None, now);
            if let Some(before) = take(&mut waiting, &departure.id) {
                charge.resume(before, departure);
            }
            charge
        }));
    }
    let since = site.internal.settled_at.unwrap_or(now);
    for charge in &mut ended {
        if let Some(vehicle) = inputs.vehicle(charge) {
            charge.meter(vehicle, inputs, Some(since));
        }
    }
    let currency = site.object.currency;
    let outcome = |charge: Charge| {
        let outcome = charge.outcome(inputs, currency);
        (charge, outcome)
    };
    let (mut charges, waiting) = continued(kept, waiting, inputs, since, now, &mut changes);
    changes.sort_by_key(|change| *change as u8);
    changes.dedup();
    let Optimum {
        windows,
        depot,
        plan,
        best,
        fixed,
    } = optimum(&site.object, inputs, &charges, now);
    for (charge, flows) in charges.iter_mut().zip(&plan.flows) {
        charge.flow = flows.first().copied().unwrap_or_default();
        // The prices before yesterday are not read.
        if charge.delivered == 0 && charge.first_planned > now.plus(-DAY) {
            charge.immediate = immediate(charge, inputs);
        }
    }
    let prices = windows.iter().map(|window| inputs.price(window.from));
    Planned {
        charges,
        waiting,
        ended: ended.into_iter().map(outcome).collect(),
        changes,
        prices: prices.collect(),
        windows,
        depot,
        plan,
        best,
        fixed,
    }
}

/// Removes the charge for a departure from a list.
fn take(charges: &mut Vec<Charge>, departure: &Id) -> Option<Charge> {
    let place = charges
        .iter()
        .position(|charge| charge.departure == *departure)?;
    Some(charges.swap_remove(place))
}

/// Returns the charges of the departures within the horizon, in their order: those of the plan in force with the changes since then, and
/// new ones. Also returns those that wait. Adds the reasons for which the charges differ to `changes`.
fn continued(
    mut kept: Vec<Charge>,
    mut waiting: Vec<Charge>,
    inputs: &PlanInputs,
    since: Timestamp,
    now: Timestamp,
    changes: &mut Vec<SitePlanReason>,
) -> (Vec<Charge>, Vec<Charge>) {
    let (mut charges, mut waits) = (Vec::new(), Vec::new());
    for vehicle in &inputs.vehicles {
        let id = &vehicle.vehicle.id;
        let next = vehicle.next().filter(|next| next.at > now);
        let is_upcoming = next.is_some_and(|next| next.at.since(now) <= HORIZON);
        let place = kept.iter().position(|charge| charge.vehicle == *id);
        let planned = place.map(|place| kept.swap_remove(place));
        let was_planned = planned.as_ref().map(|charge| charge.departure.clone());
        let own = waiting.extract_if(.., |charge| charge.vehicle == *id);
        let mut own: Vec<Charge> = own.collect();
        // At most one charge is accounted for: the energy of a session counts once.
        let place = own.iter().position(|charge| !charge.is_later);
        let present = planned.or_else(|| place.map(|place| own.swap_remove(place)));
        let continued = continued_of(vehicle, next, present, own, inputs, since, now);
        if was_planned.as_ref() != next.filter(|_| is_upcoming).map(|next| &next.id) {
            changes.push(SitePlanReason::Departures);
        } else if was_planned.is_some() {
            changes.extend(continued.is_metered.then_some(SitePlanReason::Sessions));
            changes.extend(continued.is_rebased.then_some(SitePlanReason::Telemetry));
        }
        waits.extend(continued.later);
        let list = if is_upcoming {
            &mut charges
        } else {
            &mut waits
        };
        list.extend(continued.next);
    }
    if !kept.is_empty() {
        changes.push(SitePlanReason::Departures);
    }
    let is_scheduled = |charge: &Charge| {
        let vehicle = inputs.vehicle(charge);
        vehicle.is_some_and(|vehicle| vehicle.departure(&charge.departure).is_some())
    };
    waits.retain(|charge| charge.has_begun() && is_scheduled(charge));
    for all in [&mut charges, &mut waits] {
        all.sort_by(|a, b| (a.at, &a.departure).cmp(&(b.at, &b.departure)));
    }
    // The item of a site has at most 400 KB.
    waits.truncate(MOST_VEHICLES);
    (charges, waits)
}

/// The charges of a vehicle.
struct Continued {
    /// The charge for the next departure.
    next: Option<Charge>,
    later: Vec<Charge>,
    /// Whether the session of the present charge, or the level of its vehicle, differs from the plan.
    is_metered: bool,
    is_rebased: bool,
}

/// Accounts for the present charge of a vehicle, and returns the one for its next departure: the present one, or one that begins where that
/// one ends. `waiting` are the others of the vehicle.
fn continued_of(
    vehicle: &SiteVehicle,
    next: Option<&Departure>,
    mut present: Option<Charge>,
    mut waiting: Vec<Charge>,
    inputs: &PlanInputs,
    since: Timestamp,
    now: Timestamp,
) -> Continued {
    let (mut is_metered, mut is_rebased, mut continues) = (false, false, false);
    if let Some(charge) = &mut present {
        is_metered = charge.meter(vehicle, inputs, Some(since));
        if let Some(departure) = next.filter(|next| next.id == charge.departure) {
            is_rebased = charge.rebase(vehicle, departure, inputs.is_simulated(), now);
            continues = true;
        }
    }
    let next = match next {
        Some(_) if continues => present.take(),
        Some(departure) => {
            let mut charge = vehicle.charge(departure, present.as_ref(), now);
            if let Some(before) = take(&mut waiting, &departure.id) {
                charge.resume(before, departure);
            }
            charge.meter(vehicle, inputs, None);
            Some(charge)
        }
        None => None,
    };
    waiting.extend(present);
    Continued {
        next,
        later: waiting.into_iter().map(Charge::later).collect(),
        is_metered,
        is_rebased,
    }
}

/// Returns the cost of charging at once at full power, from the time of the first plan on.
fn immediate(charge: &Charge, inputs: &PlanInputs) -> i64 {
    let vehicle = inputs.vehicle(charge);
    let power = vehicle.map_or(0, |vehicle| vehicle.power(inputs.offered(vehicle), charge));
    let windows = windows(std::slice::from_ref(charge), charge.first_planned);
    let prices = windows.iter().map(|window| inputs.price(window.from));
    let known = prices.flatten().map(|(price, _)| price).max();
    let price = |window: &Window| {
        let price = inputs.price(window.from).map(|(price, _)| price);
        price.or(known).unwrap_or_default()
    };
    let mut left = charge.need;
    let most = powers(power, charge, &windows);
    let most = taken(charge, inputs, offered(charge, inputs), &windows, &most).into_iter();
    let costs = most.zip(&windows).map(|(most, window)| {
        let flow = left.min(most);
        left -= flow;
        i64::from(flow).saturating_mul(price(window))
    });
    costs.fold(0, i64::saturating_add)
}

impl Planned {
    /// Returns the Wh that a vehicle will lack.
    pub(super) fn short_by(&self, place: usize) -> u32 {
        let unserved = self.depot.demands[place].unserved(&self.plan.flows[place]);
        if unserved > TOLERANCE { unserved } else { 0 }
    }

    pub(super) fn limited_by(&self, place: usize, inputs: &PlanInputs) -> Option<ShortageReason> {
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
            .map_or(0, |vehicle| vehicle.power(u32::MAX, charge));
        let own = powers(own, charge, &self.windows);
        let own = taken(charge, inputs, u32::MAX, &self.windows, &own);
        if most(&own) >= u64::from(demand.need) {
            Some(ShortageReason::Power)
        } else {
            Some(ShortageReason::Time)
        }
    }

    /// Returns the departures that will lack energy, the greatest shortage first.
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

    /// Returns the time at which the site is planned again without a change: at the end of the slot, or when the next departure comes
    /// within the horizon.
    fn next_action_at(&self, inputs: &PlanInputs) -> Option<Timestamp> {
        let slot = self.windows.first().map(|window| window.until);
        slot.or_else(|| {
            let departures = inputs.vehicles.iter().filter_map(SiteVehicle::next);
            departures
                .map(|departure| departure.at.plus(-HORIZON))
                .min()
        })
    }
}

impl Stored<Site> {
    /// Puts a plan into force. Returns whether anything has to be written: what has changed, what was due, or that departures of which the
    /// summary says that they lack energy are over.
    pub fn put_into_force(
        &mut self,
        planned: &Planned,
        inputs: &PlanInputs,
        now: Timestamp,
    ) -> bool {
        let short = planned.short(inputs);
        let before = self.object.plan.as_ref();
        let ids = |short: &[ShortDeparture]| -> BTreeSet<Id> {
            short
                .iter()
                .map(|shortage| shortage.departure.clone())
                .collect()
        };
        // A departure that is over no longer lacks energy: that is no change.
        let all = before.map_or_else(Vec::new, |plan| plan.short.clone());
        let (was, over): (Vec<_>, Vec<_>) = all.into_iter().partition(|shortage| shortage.at > now);
        let mut changes = planned.changes.clone();
        if ids(&was) != ids(&short) {
            changes.push(SitePlanReason::Shortage);
        }
        let next_action_at = planned.next_action_at(inputs);
        let is_due = self.internal.next_action_at.is_some_and(|at| at <= now);
        if changes.is_empty() && !is_due && planned.ended.is_empty() && over.is_empty() {
            return false;
        }
        if changes.is_empty() {
            if let Some(plan) = &mut self.object.plan {
                plan.short = was;
            }
        } else {
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
        self.internal.waiting.clone_from(&planned.waiting);
        self.internal.settled_at = Some(now);
        self.internal.next_action_at = next_action_at;
        true
    }
}
