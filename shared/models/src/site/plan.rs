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

use std::collections::BTreeSet;

use planner::{Depot, Plan};

use super::charge::{Charge, ShortageReason, TOLERANCE};
use super::inputs::{PlanInputs, SiteSession, SiteVehicle};
use super::optimum::{Optimum, offered, optimum, powers, powers_at, taken, windows};
use super::{MOST_VEHICLES, PlanSummary, ShortDeparture, Site, SitePlanReason};
use crate::departure::{Departure, DepartureOutcome};
use crate::event_type::EventType;
use crate::stored::Stored;
use kernel::time::{DAY, hours};
use kernel::{Id, SignedDuration, Timestamp, Window};

/// The length of time that a plan covers.
pub const HORIZON: SignedDuration = hours(48);

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
    /// The best plan of the same energy if vehicles could charge with any power at any level.
    pub(super) best: Plan,
    /// The power in W in each window that is not planned.
    pub(super) fixed: Vec<u64>,
    pub(super) prices: Vec<Option<(i64, bool)>>,
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
    let (ended, kept): (Vec<_>, Vec<_>) = before.into_iter().partition(|charge| charge.at <= now);
    let since = site.internal.settled_at.unwrap_or(now);
    let ended = ended_at(ended, &mut waiting, inputs, since, now);
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
        let is_rebased = std::mem::take(&mut charge.is_rebased);
        // The prices before yesterday are not read.
        if (charge.delivered == 0 || is_rebased) && charge.first_planned > now.plus(-DAY) {
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

/// Accounts for the charges of departures that are over. Adds those of departures that have passed before they were ever planned, or planned
/// again.
fn ended_at(
    mut ended: Vec<Charge>,
    waiting: &mut Vec<Charge>,
    inputs: &PlanInputs,
    since: Timestamp,
    now: Timestamp,
) -> Vec<Charge> {
    for vehicle in &inputs.vehicles {
        let over = vehicle.next().filter(|next| next.at <= now);
        let missed = over.filter(|next| ended.iter().all(|charge| charge.departure != next.id));
        ended.extend(missed.map(|departure| {
            let mut charge = vehicle.charge(departure, None, now);
            if let Some(before) = take(waiting, &departure.id) {
                charge.resume(before, departure);
            }
            charge
        }));
    }
    for charge in &mut ended {
        if let Some(vehicle) = inputs.vehicle(charge) {
            charge.meter(vehicle, inputs, Some(since));
        }
    }
    ended
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

/// Returns the cost of charging the whole need at once at full power, from the time of the first plan on.
fn immediate(charge: &Charge, inputs: &PlanInputs) -> i64 {
    let vehicle = inputs.vehicle(charge);
    let whole = vehicle.map(|vehicle| charge.undelivered(vehicle));
    let charge = whole.as_ref().unwrap_or(charge);
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
        let missing = unserved.saturating_add(self.charges[place].excess);
        if missing > TOLERANCE { missing } else { 0 }
    }

    pub(super) fn limited_by(&self, place: usize, inputs: &PlanInputs) -> Option<ShortageReason> {
        let (demand, charge) = (&self.depot.demands[place], &self.charges[place]);
        if self.short_by(place) == 0 {
            return None;
        }
        if charge.excess > 0 && demand.unserved(&self.plan.flows[place]) <= TOLERANCE {
            return Some(ShortageReason::Battery);
        }
        let suffices = |offered: u32, tolerance: u32| {
            let powers = powers_at(offered, charge, inputs, &self.windows);
            let most = taken(charge, inputs, offered, &self.windows, &powers);
            let most: u64 = most.into_iter().map(u64::from).sum();
            most + u64::from(tolerance) >= u64::from(demand.need)
        };
        Some(if suffices(offered(charge, inputs), TOLERANCE) {
            if self.reaches_capacity(place, inputs) {
                ShortageReason::Limit
            } else {
                ShortageReason::Time
            }
        } else if suffices(u32::MAX, 0) {
            ShortageReason::Power
        } else {
            ShortageReason::Time
        })
    }

    /// Checks whether the vehicles use the whole capacity of a slot in which this one could charge with more power.
    fn reaches_capacity(&self, place: usize, inputs: &PlanInputs) -> bool {
        let is_planned = |charge: &Charge| {
            let session = inputs.vehicle(charge).and_then(SiteVehicle::session);
            session.is_none_or(SiteSession::is_limited)
        };
        let charges = self.charges.iter().zip(&self.plan.flows);
        let planned = charges.filter(|(charge, _)| is_planned(charge));
        let planned: Vec<&Vec<u32>> = planned.map(|(_, flows)| flows).collect();
        let (charge, flows) = (&self.charges[place], &self.plan.flows[place]);
        let powers = powers_at(offered(charge, inputs), charge, inputs, &self.windows);
        let mut slots = self.depot.slots.iter().enumerate();
        slots.any(|(slot, limit)| {
            let load: u64 = planned.iter().map(|flows| u64::from(flows[slot])).sum();
            flows[slot] < powers[slot] && load + u64::from(TOLERANCE) >= limit.capacity
        })
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
    /// within the horizon; and when a capacity limit begins to hold.
    fn next_action_at(
        &self,
        site: &Site,
        inputs: &PlanInputs,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let slot = self.windows.first().map(|window| window.until);
        let planned = slot.or_else(|| {
            let departures = inputs.vehicles.iter().filter_map(SiteVehicle::next);
            departures
                .map(|departure| departure.at.plus(-HORIZON))
                .min()
        });
        planned
            .into_iter()
            .chain(inputs.next_limit(site, now))
            .min()
    }
}

impl Stored<Site> {
    /// Puts a plan into force. Returns whether anything has to be written: what has changed, what was due, when the site is planned again, or
    /// that departures of which the summary says that they lack energy are over.
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
        let next_action_at = planned.next_action_at(&self.object, inputs, now);
        let known = self.internal.next_action_at;
        let is_in_force = known == next_action_at && known.is_none_or(|at| at > now);
        if changes.is_empty() && is_in_force && planned.ended.is_empty() && over.is_empty() {
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
