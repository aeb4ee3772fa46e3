//! The pass after the exact plan: its changes, and whether the reported gap is correct.

mod depots;

use depots::{check, depots};
use planner::{Demand, Depot, Plan, Slot};
use proptest::collection::vec;
use proptest::prelude::*;

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
fn all_needs_that_fit_into_a_cheap_hour_are_served_in_it() {
    for (limit, needs) in [
        (15_000, vec![7_400, 7_600]),
        (15_000, vec![7_000, 8_000]),
        (14_000, vec![5_000, 9_000]),
        (14_000, vec![6_500, 7_500]),
        (25_000, vec![9_000, 8_000, 8_000]),
        (20_000, vec![7_000, 7_000, 6_000]),
    ] {
        let mut slots = flat(limit / 4, 12);
        slots[4..].iter_mut().for_each(|slot| slot.price = 4);
        let demands = (0..).zip(&needs);
        let demands = demands.map(|(key, need)| demand(&format!("{key}"), vec![2_750; 12], *need));
        let demands = demands.collect();
        let depot = Depot { slots, demands };
        let steady = depot.steady(&depot.plan(), &vec![vec![1_035; 12]; needs.len()], 20);
        let cost = i128::from(needs.iter().sum::<u32>());
        assert_eq!(
            (depot.cost(&steady.plan), steady.unserved),
            (cost, 0),
            "{limit} {needs:?}"
        );
    }
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
