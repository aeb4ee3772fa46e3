//! Plans for chargers that have a lowest power and should switch seldom.
//!
//! IEC 61851-1 has no current between 0 and 6 A, so a flow has a minimum. A flow below it is *small*. The pass changes a plan step by step.
//! First it raises or empties each small flow, with energy of other slots of the same vehicle, or in exchange with another vehicle. It
//! makes the steps that cost nothing, and only then the cheapest others: a step that costs takes room that free ones need, and is needless
//! after some of them. Then it moves whole runs (consecutive slots with flow) of vehicles that have minima into others if that costs
//! nothing.
//!
//! Every step keeps the energy of each vehicle and makes no flow small. No load grows beyond the capacity, nor beyond the threshold if it
//! was not beyond it before. The cheapest way is the one that delays minima least, and of these the one with the least price; runs are
//! moved only if no minimum is later. Each step of the first part leaves fewer small flows, each of the second fewer runs.

use std::cmp::Reverse;
use std::ops::Range;

use crate::{Depot, Plan};

/// A plan with few small flows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Steady {
    pub plan: Plan,
    /// The price in addition to that of the original plan.
    pub price: i128,
    /// The Wh of flows that are still small. They stay unserved unless the charger switches within a slot.
    pub unserved: u64,
}

/// Changes of flows, each with vehicle, slot and Wh. No cell occurs twice.
type Changes = Vec<(usize, usize, i64)>;

struct Pass<'a> {
    depot: &'a Depot,
    /// The minimum of each vehicle's flows in each slot.
    minima: &'a [Vec<u32>],
    /// The Wh up to which no step is made for a flow.
    negligible: i64,
    prices: Vec<Vec<i64>>,
    flows: Vec<Vec<i64>>,
    /// The Wh by which the load of each slot may grow.
    room: Vec<i64>,
}

impl Depot {
    /// Changes a plan so that each flow is 0 or at least the vehicle's minimum, if that is possible by steps of this pass. `minima` are in
    /// Wh, for each demand and slot. No step is made for a flow of at most `negligible` Wh.
    pub fn steady(&self, plan: &Plan, minima: &[Vec<u32>], negligible: u32) -> Steady {
        let loads = self.loads(plan).into_iter().zip(&self.slots);
        let room = loads.map(|(load, slot)| {
            let limit = slot.threshold.max(load).min(slot.capacity);
            i64::try_from(limit.saturating_sub(load)).unwrap_or(i64::MAX)
        });
        let wide = |flows: &Vec<u32>| flows.iter().copied().map(i64::from).collect();
        let demands = self.demands.iter();
        let mut pass = Pass {
            depot: self,
            minima,
            negligible: negligible.into(),
            prices: demands
                .map(|demand| self.prices(demand).collect())
                .collect(),
            flows: plan.flows.iter().map(wide).collect(),
            room: room.collect(),
        };
        let mut order: Vec<usize> = (0..self.demands.len()).collect();
        order.sort_by(|left, right| self.demands[*left].cmp(&self.demands[*right]));
        for may_cost in [false, true] {
            for vehicle in &order {
                pass.fix(*vehicle, &order, may_cost);
            }
        }
        // A vehicle without minima may charge in as many runs as it likes.
        let switches = |vehicle: &usize| {
            minima
                .get(*vehicle)
                .is_some_and(|least| least.iter().any(|least| *least > 0))
        };
        for vehicle in order.into_iter().filter(switches) {
            pass.join_runs(vehicle);
        }
        pass.finish(plan)
    }
}

impl Pass<'_> {
    fn minimum(&self, vehicle: usize, slot: usize) -> i64 {
        let minimum = self.minima.get(vehicle).and_then(|minima| minima.get(slot));
        minimum.copied().unwrap_or_default().into()
    }

    fn is_small(&self, vehicle: usize, slot: usize, flow: i64) -> bool {
        0 < flow && flow < self.minimum(vehicle, slot)
    }

    /// Returns how much more a vehicle could consume in a slot.
    fn spare(&self, vehicle: usize, slot: usize) -> i64 {
        let power = self.depot.demands[vehicle].power.get(slot).copied();
        let spare = i64::from(power.unwrap_or_default()) - self.flows[vehicle][slot];
        spare.min(self.room[slot])
    }

    /// Ends each small flow of a vehicle in the cheapest way; without `may_cost`, only if that costs nothing.
    fn fix(&mut self, vehicle: usize, others: &[usize], may_cost: bool) {
        for slot in 0..self.room.len() {
            let flow = self.flows[vehicle][slot];
            if flow <= self.negligible || !self.is_small(vehicle, slot, flow) {
                continue;
            }
            let alone = self.alone(vehicle, slot);
            let others = others.iter().filter(|other| **other != vehicle);
            let mut exchanges = others.map(|other| self.exchange(vehicle, slot, *other));
            let step = if may_cost {
                self.cheapest(alone.chain(exchanges.flatten()))
            } else {
                // Exchanges are many: the first vehicle with one that costs nothing counts.
                let is_free = |changes: &Changes| self.is_free(changes);
                let alone = self.cheapest(alone.filter(is_free));
                alone.or_else(|| exchanges.find_map(|ways| self.cheapest(ways.filter(is_free))))
            };
            if let Some(changes) = step {
                self.apply(&changes);
            }
        }
    }

    fn cheapest(&self, ways: impl Iterator<Item = Changes>) -> Option<Changes> {
        ways.min_by_key(|changes| self.worth(changes))
    }

    /// Returns the ways to end a small flow with energy of the same vehicle: move it to slots with flow, raise it, or raise another slot
    /// with it.
    fn alone(&self, vehicle: usize, small: usize) -> impl Iterator<Item = Changes> {
        let others = (0..self.room.len()).filter(move |slot| {
            *slot == small || self.flows[vehicle][*slot] == 0 && self.spare(vehicle, *slot) > 0
        });
        // The energy comes from the small flow and from the most expensive and latest others.
        let flows = &self.flows[vehicle];
        let mut givers: Vec<usize> = (0..flows.len()).filter(|slot| flows[*slot] > 0).collect();
        givers.sort_by_key(|slot| Reverse((*slot == small, self.prices[vehicle][*slot], *slot)));
        let raised = others.filter_map(move |slot| self.raise(vehicle, slot, &givers));
        let ways = raised.chain(self.clear(vehicle, small..small + 1));
        ways.filter(|changes| self.is_allowed(changes))
    }

    /// Raises a slot to the minimum, with the energy of others.
    fn raise(&self, vehicle: usize, raised: usize, givers: &[usize]) -> Option<Changes> {
        let flows = &self.flows[vehicle];
        let mut missing = self.minimum(vehicle, raised) - flows[raised];
        let mut changes = vec![(vehicle, raised, missing)];
        for slot in givers.iter().copied().filter(|slot| *slot != raised) {
            let given = if flows[slot] <= missing {
                flows[slot]
            } else {
                missing.min((flows[slot] - self.minimum(vehicle, slot)).max(0))
            };
            if given > 0 {
                changes.push((vehicle, slot, -given));
                missing -= given;
            }
        }
        (missing == 0).then_some(changes)
    }

    /// Moves the energy of consecutive slots to the cheapest slots that have flow, or that are next to such slots.
    fn clear(&self, vehicle: usize, cleared: Range<usize>) -> Option<Changes> {
        let mut flows = self.flows[vehicle].clone();
        let mut left: i64 = flows[cleared.clone()].iter().sum();
        flows[cleared.clone()].fill(0);
        while left > 0 {
            let beside = |slot: usize| {
                slot > 0 && flows[slot - 1] > 0 || flows.get(slot + 1).is_some_and(|flow| *flow > 0)
            };
            let amount = |slot: usize| {
                let added = flows[slot] - self.flows[vehicle][slot];
                left.min(self.spare(vehicle, slot) - added)
            };
            let open = (0..flows.len()).filter(|slot| {
                let flowing = flows[*slot] > 0 || beside(*slot);
                let amount = amount(*slot);
                let enough = !self.is_small(vehicle, *slot, flows[*slot] + amount);
                !cleared.contains(slot) && flowing && amount > 0 && enough
            });
            let best =
                open.min_by_key(|slot| (self.prices[vehicle][*slot], flows[*slot] == 0, *slot))?;
            let amount = amount(best);
            flows[best] += amount;
            left -= amount;
        }
        let pairs = flows.iter().zip(&self.flows[vehicle]).enumerate();
        let changes = pairs.filter(|(_, (new, old))| new != old);
        Some(
            changes
                .map(|(slot, (new, old))| (vehicle, slot, new - old))
                .collect(),
        )
    }

    /// Returns the ways to end a small flow by exchanging energy with another vehicle in another slot, with amounts that empty a flow or
    /// leave the minimum of it. All loads stay the same.
    fn exchange(
        &self,
        vehicle: usize,
        small: usize,
        other: usize,
    ) -> impl Iterator<Item = Changes> {
        let flow = self.flows[vehicle][small];
        let slots = (0..self.room.len()).filter(move |slot| {
            // The other vehicle gives energy in one of the slots; in the other slot the vehicle gives some, or takes the whole small flow.
            let other_gives = self.flows[other][small] > 0 || self.flows[other][*slot] >= flow;
            let may_change = self.flows[vehicle][*slot] > 0 || flow >= self.minimum(vehicle, *slot);
            *slot != small && other_gives && may_change
        });
        slots.flat_map(move |slot| {
            let cells = [
                (vehicle, small, 1),
                (other, slot, 1),
                (other, small, -1),
                (vehicle, slot, -1),
            ];
            let amounts = cells.into_iter().flat_map(|(of, at, sign)| {
                let flow = self.flows[of][at];
                [self.minimum(of, at) - flow, -flow].map(|change| sign * change)
            });
            let amounts = amounts.filter(|amount| *amount != 0);
            let ways =
                amounts.map(move |amount| cells.map(|(of, at, sign)| (of, at, sign * amount)));
            ways.filter(|changes| self.are_flows_allowed(changes))
                .map(|changes| changes.to_vec())
        })
    }

    /// Moves runs of a vehicle into its others, those of the least energy first, while that costs nothing. One in the present slot stays:
    /// the plan of each next slot would put it off again.
    fn join_runs(&mut self, vehicle: usize) {
        loop {
            let mut runs = runs_of(&self.flows[vehicle]);
            let count = runs.len();
            runs.sort_by_key(|run| self.flows[vehicle][run.clone()].iter().sum::<i64>());
            let mut movable = runs.into_iter().filter(|run| run.start > 0);
            let moved = movable.find_map(|run| {
                let changes = self.clear(vehicle, run)?;
                let (late_minimum, price, runs, _) = self.worth(&changes);
                (late_minimum <= 0 && price <= 0 && runs < count && self.is_allowed(&changes))
                    .then_some(changes)
            });
            let Some(changes) = moved else { return };
            self.apply(&changes);
        }
    }

    fn is_allowed(&self, changes: &Changes) -> bool {
        let mut growth = changes.iter();
        self.are_flows_allowed(changes)
            && growth.all(|(_, slot, _)| {
                let of_slot = changes.iter().filter(|(_, other, _)| other == slot);
                of_slot.map(|(_, _, change)| change).sum::<i64>() <= self.room[*slot]
            })
    }

    /// Returns whether every changed flow is within the power, and not small.
    fn are_flows_allowed(&self, changes: &[(usize, usize, i64)]) -> bool {
        changes.iter().all(|(vehicle, slot, change)| {
            let flow = self.flows[*vehicle][*slot] + change;
            let power = self.depot.demands[*vehicle].power.get(*slot).copied();
            0 <= flow
                && flow <= power.unwrap_or_default().into()
                && !self.is_small(*vehicle, *slot, flow)
        })
    }

    /// Returns the costs of changes: later minima, the price, then the runs and the time.
    fn worth(&self, changes: &Changes) -> (i128, i128, usize, i128) {
        let late = changes
            .iter()
            .map(|(_, slot, change)| i128::from(*change) * *slot as i128);
        let changed = self.changed(changes);
        let runs = changed.iter().map(|(_, flows)| starts(flows));
        (
            self.delay(&changed),
            self.price(changes),
            runs.sum(),
            late.sum(),
        )
    }

    fn is_free(&self, changes: &Changes) -> bool {
        self.price(changes) <= 0 && self.delay(&self.changed(changes)) <= 0
    }

    fn price(&self, changes: &Changes) -> i128 {
        let prices = changes.iter().map(|(vehicle, slot, change)| {
            i128::from(*change) * i128::from(self.prices[*vehicle][*slot])
        });
        prices.sum()
    }

    /// Returns by how much new flows of vehicles delay their minima.
    fn delay(&self, changed: &[(usize, Vec<i64>)]) -> i128 {
        let late = changed.iter().map(|(vehicle, flows)| {
            self.late_minimum(*vehicle, flows) - self.late_minimum(*vehicle, &self.flows[*vehicle])
        });
        late.sum()
    }

    /// Returns the vehicles that changes concern, with their new flows.
    fn changed(&self, changes: &Changes) -> Vec<(usize, Vec<i64>)> {
        let mut changed: Vec<(usize, Vec<i64>)> = Vec::new();
        for (vehicle, slot, change) in changes {
            let place = changed.iter().position(|(known, _)| known == vehicle);
            let place = place.unwrap_or_else(|| {
                changed.push((*vehicle, self.flows[*vehicle].clone()));
                changed.len() - 1
            });
            changed[place].1[*slot] += change;
        }
        changed
    }

    /// Returns the Wh of the minimum of a vehicle's need, each times the index of its slot.
    fn late_minimum(&self, vehicle: usize, flows: &[i64]) -> i128 {
        let mut missing = i64::from(self.depot.demands[vehicle].minimum);
        let slots = (0..).zip(flows).map_while(|(slot, flow)| {
            let of_minimum = missing.min(*flow);
            missing -= of_minimum;
            (missing > 0 || of_minimum > 0).then(|| slot * i128::from(of_minimum))
        });
        slots.sum()
    }

    fn apply(&mut self, changes: &Changes) {
        for (vehicle, slot, change) in changes {
            self.flows[*vehicle][*slot] += change;
            self.room[*slot] -= change;
        }
    }

    fn finish(self, before: &Plan) -> Steady {
        let narrow = |flow: &i64| u32::try_from(*flow).unwrap_or(u32::MAX);
        let flows = self
            .flows
            .iter()
            .map(|flows| flows.iter().map(narrow).collect());
        let plan = Plan {
            flows: flows.collect(),
        };
        let mut unserved = 0;
        for (vehicle, flows) in self.flows.iter().enumerate() {
            let slots = flows.iter().enumerate();
            let small = slots.filter(|(slot, flow)| self.is_small(vehicle, *slot, **flow));
            unserved += small.map(|(_, flow)| flow).sum::<i64>().unsigned_abs();
        }
        Steady {
            price: self.depot.cost(&plan) - self.depot.cost(before),
            unserved,
            plan,
        }
    }
}

/// Returns the number of runs.
fn starts(flows: &[i64]) -> usize {
    let is_start = |slot: &usize| flows[*slot] > 0 && (*slot == 0 || flows[*slot - 1] == 0);
    (0..flows.len()).filter(is_start).count()
}

/// Returns the runs of consecutive slots with flow.
fn runs_of(flows: &[i64]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (slot, flow) in flows.iter().enumerate() {
        match runs.last_mut() {
            _ if *flow == 0 => {}
            Some(run) if run.end == slot => run.end += 1,
            _ => runs.push(slot..slot + 1),
        }
    }
    runs
}
