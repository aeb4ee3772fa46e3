//! The passes after the exact plan: their changes, and whether the reported gaps are correct.

mod depots;

use depots::{check, depots};
use planner::{Demand, Depot, Plan, Slot};
use proptest::collection::vec;
use proptest::prelude::*;

/// A battery that accepts `full` Wh in a slot at first, and less after `knee` Wh: a line to 0 at `size` Wh.
#[derive(Debug, Clone, Copy)]
struct Battery {
    full: u32,
    knee: u32,
    size: u32,
}

impl Battery {
    fn accepts(&self, taken: u32) -> u32 {
        if taken < self.knee {
            return self.full;
        }
        let left = u64::from(self.size.saturating_sub(taken));
        let accepted = u64::from(self.full) * left / u64::from((self.size - self.knee).max(1));
        u32::try_from(accepted).expect("less than the full power")
    }
}

/// Depots whose needs are mostly within their batteries.
fn tapering() -> impl Strategy<Value = (Depot, Vec<Battery>)> {
    depots(15, 24, 40_000).prop_flat_map(|depot| {
        let battery = (500..9_000u32, 0..40_000u32, 0..30_000u32);
        let battery = battery.prop_map(|(full, knee, taper)| Battery {
            full,
            knee,
            size: knee + taper,
        });
        let batteries = vec(battery, depot.demands.len());
        (Just(depot), batteries)
    })
}

/// Executes a plan, a slot at a time for all vehicles.
fn execute(depot: &Depot, batteries: &[Battery], plan: &Plan) -> Plan {
    let mut taken = vec![Vec::new(); depot.demands.len()];
    for slot in 0..depot.slots.len() {
        for (vehicle, battery) in batteries.iter().enumerate() {
            let accepted = battery.accepts(taken[vehicle].iter().sum());
            taken[vehicle].push(accepted.min(plan.flows[vehicle][slot]));
        }
    }
    Plan { flows: taken }
}

fn flat(capacity: u64, slots: usize) -> Vec<Slot> {
    let slot = Slot {
        capacity,
        threshold: capacity,
        price: 1,
    };
    vec![slot; slots]
}

fn demand(key: &str, power: Vec<u32>, need: u32) -> Demand {
    Demand {
        key: key.to_owned(),
        power,
        need,
        minimum: 0,
        prices: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_tapering_plan_flows_as_reported((depot, batteries) in tapering()) {
        let tapered = depot.plan_tapering(|vehicle, taken| batteries[vehicle].accepts(taken));
        check(&depot, &tapered.plan);
        prop_assert_eq!(&execute(&depot, &batteries, &tapered.plan), &tapered.taken);
        for ((planned, taken), gap) in tapered.plan.flows.iter().zip(&tapered.taken.flows).zip(&tapered.gaps) {
            prop_assert_eq!(planned.iter().sum::<u32>() - taken.iter().sum::<u32>(), *gap);
        }
        // It is no worse than the plan that ignores the taper.
        let ignorant = execute(&depot, &batteries, &depot.plan());
        prop_assert!(depot.aims(&tapered.taken) <= depot.aims(&ignorant));
    }

    #[test]
    fn without_a_taper_the_plan_is_the_exact_one(depot in depots(12, 12, 500)) {
        let tapered = depot.plan_tapering(|_, _| u32::MAX);
        prop_assert_eq!(&tapered.plan, &depot.plan());
        prop_assert_eq!(tapered.plan, tapered.taken);
        prop_assert!(tapered.gaps.iter().all(|gap| *gap == 0));
    }

    #[test]
    fn a_steady_plan_keeps_limits_and_energy_and_reports_its_gap(
        (depot, minima) in depots(15, 16, 900).prop_flat_map(|depot| {
            let minima = vec(vec(0..60u32, depot.slots.len()), depot.demands.len());
            (Just(depot), minima)
        }),
    ) {
        let plan = depot.plan();
        let steady = depot.steady(&plan, &minima, 0);
        check(&depot, &steady.plan);
        let (before, after) = (depot.aims(&plan), depot.aims(&steady.plan));
        for (before, after) in plan.flows.iter().zip(&steady.plan.flows) {
            prop_assert_eq!(before.iter().sum::<u32>(), after.iter().sum::<u32>());
        }
        prop_assert!(after.above_threshold <= before.above_threshold);
        if small(&plan, &minima).is_empty() {
            prop_assert!(after.late_minimum <= before.late_minimum && after.price <= before.price);
        }
        prop_assert_eq!(steady.price, after.price - before.price);
        prop_assert_eq!(steady.unserved, small(&steady.plan, &minima).iter().sum::<u64>());
        prop_assert!(small(&steady.plan, &minima).len() <= small(&plan, &minima).len());
    }

    #[test]
    fn where_there_is_room_no_flow_is_below_the_minimum(
        needs in vec(0..20_000u32, 1..20),
        power in 2_760..5_500u32,
    ) {
        let minimum = 1_380;
        let needs: Vec<u32> = needs.into_iter().map(|need| need + minimum).collect();
        let demands = (0..).zip(&needs).map(|(key, need)| demand(&format!("{key}"), vec![power; 24], *need));
        let depot = Depot { slots: flat(1_000_000, 24), demands: demands.collect() };
        let steady = depot.steady(&depot.plan(), &vec![vec![minimum; 24]; needs.len()], 0);
        prop_assert_eq!((steady.price, steady.unserved), (0, 0));
        prop_assert_eq!(depot.aims(&steady.plan).unserved, 0);
        for flows in &steady.plan.flows {
            prop_assert!(starts(flows) == 1, "{flows:?}");
        }
    }
}

/// Returns the Wh of each flow that is below the minimum.
fn small(plan: &Plan, minima: &[Vec<u32>]) -> Vec<u64> {
    let flows = plan.flows.iter().flatten();
    let pairs = flows.zip(minima.iter().flatten());
    let small = pairs.filter(|(flow, minimum)| **flow > 0 && flow < minimum);
    small.map(|(flow, _)| u64::from(*flow)).collect()
}

fn starts(flows: &[u32]) -> usize {
    (0..flows.len())
        .filter(|slot| flows[*slot] > 0 && (*slot == 0 || flows[slot - 1] == 0))
        .count()
}

#[test]
fn a_taper_moves_the_rest_to_a_later_slot() {
    let depot = Depot {
        slots: flat(100, 4),
        demands: vec![demand("a", vec![10; 4], 18)],
    };
    let tapered = depot.plan_tapering(|_, taken| if taken < 10 { 10 } else { 3 });
    assert_eq!(tapered.plan.flows, [[10, 3, 3, 2]]);
    assert_eq!((tapered.gaps, tapered.taken), (vec![0], tapered.plan));
}

#[test]
fn a_need_beyond_the_battery_is_a_gap_or_unserved() {
    let depot = Depot {
        slots: flat(100, 3),
        demands: vec![demand("a", vec![10; 3], 30)],
    };
    let tapered = depot.plan_tapering(|_, taken| 15 - taken.min(15));
    assert_eq!(tapered.taken.flows, [[10, 5, 0]]);
    assert_eq!(depot.demands[0].unserved(&tapered.taken.flows[0]), 15);
}

#[test]
fn a_small_flow_is_raised_with_energy_of_its_neighbour() {
    let depot = Depot {
        slots: flat(100, 3),
        demands: vec![demand("a", vec![10; 3], 22)],
    };
    let plan = depot.plan();
    assert_eq!(plan.flows, [[10, 10, 2]]);
    let steady = depot.steady(&plan, &[vec![6; 3]], 0);
    assert_eq!(steady.plan.flows, [[10, 6, 6]]);
    assert_eq!((steady.price, steady.unserved), (0, 0));
}

#[test]
fn what_is_negligible_stays() {
    let depot = Depot {
        slots: flat(100, 3),
        demands: vec![demand("a", vec![10; 3], 22)],
    };
    let plan = depot.plan();
    let steady = depot.steady(&plan, &[vec![6; 3]], 2);
    assert_eq!((steady.plan, steady.unserved), (plan, 2));
}

#[test]
fn two_vehicles_exchange_energy_where_the_limit_is_full() {
    let depot = Depot {
        slots: flat(12, 2),
        demands: vec![demand("a", vec![10; 2], 12), demand("b", vec![10; 2], 12)],
    };
    let plan = Plan {
        flows: vec![vec![10, 2], vec![2, 10]],
    };
    let steady = depot.steady(&plan, &[vec![6; 2], vec![6; 2]], 0);
    assert_eq!(steady.plan.flows, [[6, 6], [6, 6]]);
    assert_eq!((steady.price, steady.unserved), (0, 0));
}

#[test]
fn what_cannot_be_raised_is_reported() {
    let depot = Depot {
        slots: flat(100, 2),
        demands: vec![demand("a", vec![10, 0], 4)],
    };
    let plan = depot.plan();
    let steady = depot.steady(&plan, &[vec![6; 2]], 0);
    assert_eq!((steady.plan, steady.price, steady.unserved), (plan, 0, 4));
}

#[test]
fn runs_are_not_joined_where_the_minimum_would_come_later() {
    let mut depot = Depot {
        slots: flat(100, 4),
        demands: vec![demand("a", vec![10, 0, 10, 10], 16)],
    };
    depot.demands[0].minimum = 8;
    depot.slots[0].price = 2;
    let plan = depot.plan();
    assert_eq!(plan.flows, [[8, 0, 8, 0]]);
    assert_eq!(depot.steady(&plan, &[vec![6; 4]], 0).plan, plan);
}

#[test]
fn runs_are_joined_where_that_costs_nothing() {
    let depot = Depot {
        slots: flat(100, 5),
        demands: vec![demand("a", vec![10; 5], 30)],
    };
    let plan = Plan {
        flows: vec![vec![10, 0, 10, 0, 10]],
    };
    let steady = depot.steady(&plan, &[vec![6; 5]], 0);
    assert_eq!(
        steady
            .plan
            .flows
            .iter()
            .map(|flows| starts(flows))
            .collect::<Vec<_>>(),
        [1]
    );
    assert_eq!(steady.price, 0);
}
