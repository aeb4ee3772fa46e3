//! The best plan of the charges of a site.
//!
//! The power of direct current falls as the level rises. At first a vehicle has its full power in every slot. Then its flows are rolled
//! forward along its curve: where the battery takes less than planned, its power is lowered, and the plan is made again, at most five
//! times. What the battery would not take in the end is not planned: it is missing.
//!
//! Alternating current flows with at least 6 A or not at all. The best plan is changed so that as few flows as possible are below that;
//! the view shows the cost of this change, and the flows that remain below.

use std::collections::BTreeSet;

use planner::{Demand, Depot, Plan, Slot};

use super::charge::{Charge, Execution, PlanInputs, SiteVehicle, TOLERANCE, energy, power};
use super::limits::Limits;
use super::series::SLOT;
use super::{LimitType, Site, SiteOptimize};
use crate::charging::battery::Battery;
use kernel::time::{Timestamp, whole_millis};
use kernel::window::Window;

/// The maximum number of times that a plan is made again because batteries take less than planned at their levels then.
const TIGHTENED: usize = 5;

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

/// The result of planning: the windows, the depot, the plan, the best plan if vehicles could charge with any power, and the power in W in
/// each window that is not planned.
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
    let best = best(&mut depot, &planned, inputs, &windows);
    let least = least(&planned, &depot, inputs, &windows);
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
