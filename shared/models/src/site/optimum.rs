//! The best plan of the charges of a site.
//!
//! The power of direct current falls as the level rises. At first a vehicle has its full power in every slot. Then its flows are rolled
//! forward along its curve: where the battery takes less than planned, its power is lowered, and the plan is made again, at most four
//! times. A vehicle whose battery would not take the last plan either is planned by itself, until what its battery does not take in a slot
//! fits into later ones, or with the powers of a charge at once; the best of these plans counts. What the battery would not take in the
//! end is not planned: it is missing.
//!
//! Alternating current flows with at least 6 A or not at all. The best plan is changed so that as few flows as possible are below that;
//! the view shows the cost in comparison with the best plan for full power at every level, and the flows that remain below.

use std::collections::BTreeSet;

use planner::{Aims, Demand, Depot, Plan, Slot};

use super::charge::{Charge, TOLERANCE, energy, power};
use super::inputs::{Execution, PlanInputs, SiteVehicle};
use super::limits::Limits;
use super::series::SLOT;
use super::{LimitType, Site, SiteOptimize};
use crate::charging::battery::Battery;
use kernel::time::whole_millis;
use kernel::{Timestamp, Window};

/// The maximum number of times that a plan is made again because batteries take less than planned at their levels then.
const TIGHTENED: usize = 4;

/// The maximum number of times that the flows of a single vehicle are planned again for this reason.
const FITTED: usize = 12;

/// Returns the windows between a moment and the last departure: quarter-hours, divided at departures.
pub(super) fn windows(charges: &[Charge], from: Timestamp) -> Vec<Window> {
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

/// The result of planning: the windows, the depot, the plan, the best plan of the same energy if vehicles could charge with any power at
/// any level, and the power in W in each window that is not planned.
pub(super) struct Optimum {
    pub(super) windows: Vec<Window>,
    pub(super) depot: Depot,
    pub(super) plan: Plan,
    pub(super) best: Plan,
    pub(super) fixed: Vec<u64>,
}

pub(super) fn optimum(
    site: &Site,
    inputs: &PlanInputs,
    charges: &[Charge],
    from: Timestamp,
) -> Optimum {
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
    let full = depot.clone();
    let first = depot.plan();
    let best = best(&mut depot, first.clone(), &planned, inputs, &windows);
    let steady = steady(&depot, &best, &planned, inputs, &windows);
    let plan = executable(&steady, &planned, inputs, &windows);
    let best = relaxed(full, first, &plan);
    let of_planned = demands.iter_mut().zip(&forced);
    let of_planned = of_planned.filter(|(_, forced)| forced.is_none());
    for ((demand, _), lowered) in of_planned.zip(std::mem::take(&mut depot.demands)) {
        *demand = lowered;
    }
    let whole = |plan: Plan| {
        let mut flows = plan.flows.into_iter();
        let flows = demands.iter().zip(&forced).map(|(demand, forced)| {
            let forced = forced.as_ref().map(|forced| served(demand, forced));
            forced.unwrap_or_else(|| flows.next().unwrap_or_default())
        });
        Plan {
            flows: flows.collect(),
        }
    };
    let (plan, best) = (whole(plan), whole(best));
    depot.demands = demands;
    Optimum {
        windows,
        depot,
        plan,
        best,
        fixed,
    }
}

/// Returns the least Wh of each charge in each window in which it charges at all.
fn least(
    charges: &[&Charge],
    depot: &Depot,
    inputs: &PlanInputs,
    windows: &[Window],
) -> Vec<Vec<u32>> {
    let pairs = charges.iter().zip(&depot.demands);
    let least = pairs.map(|(charge, demand)| {
        let vehicle = inputs.vehicle(charge);
        vehicle.map_or_else(Vec::new, |vehicle| {
            vehicle.least(inputs.offered(vehicle), windows, &demand.power)
        })
    });
    least.collect()
}

/// Returns the best plan of a depot, which has this plan for full powers. Lowers the energy of its demands to what the batteries take at
/// their levels then.
fn best(
    depot: &mut Depot,
    mut best: Plan,
    charges: &[&Charge],
    inputs: &PlanInputs,
    windows: &[Window],
) -> Plan {
    let at_once = depot.demands.iter().zip(charges).map(|(demand, charge)| {
        let offered = offered(charge, inputs);
        taken(charge, inputs, offered, windows, &demand.power)
    });
    let at_once: Vec<Vec<u32>> = at_once.collect();
    for _ in 0..TIGHTENED {
        let mut is_tightened = false;
        for (place, charge) in charges.iter().enumerate() {
            let demand = &mut depot.demands[place];
            is_tightened |= tighten(charge, inputs, windows, &best.flows[place], demand);
        }
        if !is_tightened {
            break;
        }
        best = depot.plan();
    }
    complete(depot, best, &at_once, charges, inputs, windows)
}

/// Returns the plan if the batteries take it. Otherwise those vehicles whose battery takes noticeably less are planned one by one, or with
/// the powers of a charge at once, if one of these plans is better.
fn complete(
    depot: &mut Depot,
    best: Plan,
    at_once: &[Vec<u32>],
    charges: &[&Charge],
    inputs: &PlanInputs,
    windows: &[Window],
) -> Plan {
    let lacks = |place: &usize| {
        let (demand, charge) = (&depot.demands[*place], charges[*place]);
        let offered = offered(charge, inputs);
        let flows = taken(charge, inputs, offered, windows, &best.flows[*place]);
        let possible = demand.need - demand.unserved(&at_once[*place]);
        sum(&flows) + u64::from(TOLERANCE) < possible.into()
    };
    let direct = (0..charges.len()).filter(|place| is_direct(charges[*place], inputs));
    let lacking: Vec<usize> = direct.filter(lacks).collect();
    if lacking.is_empty() {
        return best;
    }
    let (mut fitted, mut immediate) = (depot.clone(), depot.clone());
    let mut plan = best.clone();
    for place in lacking {
        // The flows of a charge at once: a battery that is less full takes at least as much.
        let at_once = &at_once[place];
        immediate.demands[place].power.clone_from(at_once);
        let fitted = &mut fitted.demands[place].power;
        match fit(depot, &plan, place, charges[place], inputs, windows) {
            Some(flows) => {
                fitted.clone_from(&flows);
                plan.flows[place] = flows;
            }
            None => fitted.clone_from(at_once),
        }
    }
    let candidates = [fitted, immediate].map(|depot| {
        let plan = depot.plan();
        (depot, plan)
    });
    let aims = |(depot, plan): &(Depot, Plan)| {
        noticeable_aims(depot, &executable(plan, charges, inputs, windows))
    };
    let mut chosen = (depot.clone(), best);
    for candidate in candidates {
        if aims(&candidate) < aims(&chosen) {
            chosen = candidate;
        }
    }
    *depot = chosen.0;
    chosen.1
}

/// Returns flows of a vehicle that its battery takes and that serve its whole need, in the room that the others leave; None if none are
/// found.
fn fit(
    depot: &Depot,
    others: &Plan,
    place: usize,
    charge: &Charge,
    inputs: &PlanInputs,
    windows: &[Window],
) -> Option<Vec<u32>> {
    let loads = depot.loads(others).into_iter().zip(&others.flows[place]);
    let loads = loads.map(|(load, own)| load - u64::from(*own));
    let slots = depot.slots.iter().zip(loads).map(|(slot, load)| Slot {
        capacity: slot.capacity.saturating_sub(load),
        threshold: slot.threshold.saturating_sub(load),
        ..*slot
    });
    let mut own = Depot {
        slots: slots.collect(),
        demands: vec![depot.demands[place].clone()],
    };
    for _ in 0..FITTED {
        let plan = own.plan();
        let (flows, demand) = (&plan.flows[0], &mut own.demands[0]);
        if demand.unserved(flows) > TOLERANCE {
            return None;
        }
        let carried = carried(charge, inputs, windows, flows);
        if sum(&carried) + u64::from(TOLERANCE) >= demand.need.into() {
            return Some(carried);
        }
        tighten(charge, inputs, windows, flows, demand);
    }
    None
}

fn sum(flows: &[u32]) -> u64 {
    flows.iter().copied().map(u64::from).sum()
}

/// Returns the values of a plan for each aim, except that unserved energy counts only where it is noticeable.
fn noticeable_aims(depot: &Depot, plan: &Plan) -> Aims {
    let mut aims = depot.aims(plan);
    (aims.unserved_minimum, aims.unserved) = (0, 0);
    let noticeable = |unserved: u64| {
        if unserved > TOLERANCE.into() {
            unserved
        } else {
            0
        }
    };
    for (demand, flows) in depot.demands.iter().zip(&plan.flows) {
        let minimum = u64::from(demand.minimum).saturating_sub(sum(flows));
        aims.unserved_minimum += noticeable(minimum);
        aims.unserved += noticeable(demand.unserved(flows).into());
    }
    aims
}

/// Changes a plan so that as few flows as possible are below the minimum of their vehicle.
fn steady(
    depot: &Depot,
    best: &Plan,
    charges: &[&Charge],
    inputs: &PlanInputs,
    windows: &[Window],
) -> Plan {
    let least = least(charges, depot, inputs, windows);
    let steady = depot.steady(best, &least, TOLERANCE).plan;
    let energies = |plan: &Plan| {
        let plan = executable(plan, charges, inputs, windows);
        plan.flows.into_iter().map(|flows| sum(&flows))
    };
    if energies(&steady)
        .zip(energies(best))
        .all(|(new, old)| new >= old)
    {
        return steady;
    }
    // Direct current has moved to where the battery takes less: it stays where it was.
    let mut fixed = depot.clone();
    let planned = fixed.demands.iter_mut().zip(charges).zip(&best.flows);
    for ((demand, _), flows) in planned.filter(|((_, charge), _)| is_direct(charge, inputs)) {
        demand.power.clone_from(flows);
    }
    fixed.steady(best, &least, TOLERANCE).plan
}

/// Returns the part of a plan that the batteries take.
fn executable(plan: &Plan, charges: &[&Charge], inputs: &PlanInputs, windows: &[Window]) -> Plan {
    let flows = charges.iter().zip(&plan.flows);
    let flows =
        flows.map(|(charge, flows)| taken(charge, inputs, offered(charge, inputs), windows, flows));
    Plan {
        flows: flows.collect(),
    }
}

/// Returns the best plan of the energy of another one for full powers. `first` is the best plan of the whole need.
fn relaxed(mut full: Depot, first: Plan, plan: &Plan) -> Plan {
    let mut has_less = false;
    let flows = first.flows.iter().zip(&plan.flows);
    for (demand, (first, flows)) in full.demands.iter_mut().zip(flows) {
        has_less |= sum(flows) + u64::from(TOLERANCE) < sum(first);
        demand.need -= demand.unserved(flows);
        demand.minimum = demand.minimum.min(demand.need);
    }
    if has_less { full.plan() } else { first }
}

/// Checks whether a vehicle charges with direct current, so that its power depends on the level.
fn is_direct(charge: &Charge, inputs: &PlanInputs) -> bool {
    path(charge, inputs, 0, &[], &[], false).is_some()
}

/// Returns the maximum Wh of direct current that a battery takes in each window if it charges with these flows, and the Wh that it does:
/// the power falls as the level rises. With `carries`, what does not fit into a window flows as soon as it can. None for a constant power.
fn path(
    charge: &Charge,
    inputs: &PlanInputs,
    offered: u32,
    windows: &[Window],
    flows: &[u32],
    carries: bool,
) -> Option<Vec<(u32, u32)>> {
    let vehicle = inputs.vehicle(charge)?;
    let battery = Battery::of(&vehicle.vehicle);
    battery.charge(offered, None).taper()?;
    let (mut level, mut carried) = (charge.level, 0);
    let path = windows.iter().zip(flows).map(|(window, flow)| {
        let length = window.until.since(window.from);
        let most = battery.charge(offered, Some(level)).energy_within(length);
        let wanted = flow.saturating_add(carried);
        let flow = wanted.min(most);
        carried = if carries { wanted - flow } else { 0 };
        level += battery.share_of(flow);
        (most, flow)
    });
    Some(path.collect())
}

/// Returns the Wh that flow in each window until the departure if those that do not fit into a window flow as soon as they can.
fn carried(charge: &Charge, inputs: &PlanInputs, windows: &[Window], flows: &[u32]) -> Vec<u32> {
    let there = windows
        .iter()
        .take_while(|window| window.until <= charge.at);
    let there = &windows[..there.count()];
    let path = path(charge, inputs, offered(charge, inputs), there, flows, true);
    let mut carried: Vec<u32> = path.into_iter().flatten().map(|(_, flow)| flow).collect();
    carried.resize(windows.len(), 0);
    carried
}

/// Returns the power in W that the connectors of the site offer to the vehicle of a charge.
pub(super) fn offered(charge: &Charge, inputs: &PlanInputs) -> u32 {
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
    let most: Vec<u32> = most.into_iter().map(|(most, _)| most).collect();
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
pub(super) fn taken(
    charge: &Charge,
    inputs: &PlanInputs,
    offered: u32,
    windows: &[Window],
    flows: &[u32],
) -> Vec<u32> {
    match path(charge, inputs, offered, windows, flows, false) {
        Some(path) => path.into_iter().map(|(_, flow)| flow).collect(),
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
    let session = inputs.vehicle(charge).and_then(SiteVehicle::session);
    let assumed = session.map_or(0, |session| session.assumed(from));
    Demand {
        key: charge.departure.to_string(),
        power: powers_at(offered(charge, inputs), charge, inputs, windows),
        need: charge.need.saturating_sub(assumed),
        minimum: charge.minimum.saturating_sub(assumed),
        prices: None,
    }
}

/// Returns the Wh that a charge can have in each window at connectors that offer this power in W, if the battery takes full power at every
/// level.
pub(super) fn powers_at(
    offered: u32,
    charge: &Charge,
    inputs: &PlanInputs,
    windows: &[Window],
) -> Vec<u32> {
    let vehicle = inputs.vehicle(charge);
    let power = vehicle.map_or(0, |vehicle| vehicle.power(offered, charge));
    let mut powers = powers(power, charge, windows);
    // A vehicle that is not plugged in leaves the power of the present slot to others. When its session begins, the site is planned again.
    let is_plugged_in = vehicle.is_some_and(|vehicle| vehicle.session().is_some());
    let is_elsewhere = vehicle.is_some_and(|vehicle| vehicle.session_elsewhere().is_some());
    if is_elsewhere || inputs.execution == Execution::Profiles && !is_plugged_in {
        powers.iter_mut().take(1).for_each(|power| *power = 0);
    }
    powers
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
pub(super) fn powers(power: u32, charge: &Charge, windows: &[Window]) -> Vec<u32> {
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
