//! Properties of plans, and plans of tiny depots compared with all possible ones.

mod depots;

use depots::{check, depots};
use planner::{Aims, Demand, Depot, Plan, Slot};
use proptest::prelude::*;
use proptest::sample::Index;

/// Returns the aims of the best of all plans, found by trying every flow of every vehicle in every slot.
fn best_of_all(depot: &Depot) -> Aims {
    let mut best = None;
    let mut plan = Plan {
        flows: vec![vec![0; depot.slots.len()]; depot.demands.len()],
    };
    try_from(depot, &mut plan, 0, &mut best);
    best.expect("the empty plan is possible")
}

fn try_from(depot: &Depot, plan: &mut Plan, cell: usize, best: &mut Option<Aims>) {
    let slots = depot.slots.len();
    let (vehicle, slot) = (cell / slots, cell % slots);
    let Some(demand) = depot.demands.get(vehicle) else {
        let aims = depot.aims(plan);
        *best = Some(best.map_or(aims, |best| best.min(aims)));
        return;
    };
    let taken: u32 = plan.flows[vehicle].iter().sum();
    let load: u64 = plan.flows.iter().map(|flows| u64::from(flows[slot])).sum();
    let room = u32::try_from(depot.slots[slot].capacity - load).expect("a small capacity");
    for flow in 0..=demand.power[slot].min(demand.need - taken).min(room) {
        plan.flows[vehicle][slot] = flow;
        try_from(depot, plan, cell + 1, best);
    }
    plan.flows[vehicle][slot] = 0;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn tiny_plans_are_the_best_of_all(depot in depots(3, 3, 4)) {
        let plan = depot.plan();
        check(&depot, &plan);
        prop_assert_eq!(depot.aims(&plan), best_of_all(&depot));
    }

    #[test]
    fn plans_of_one_vehicle_are_the_best_of_all(depot in depots(1, 6, 9)) {
        prop_assert_eq!(depot.aims(&depot.plan()), best_of_all(&depot));
    }

    #[test]
    fn no_limit_is_exceeded(depot in depots(30, 20, 50_000)) {
        check(&depot, &depot.plan());
    }

    #[test]
    fn the_order_of_demands_does_not_matter(
        (depot, order) in depots(12, 8, 60).prop_flat_map(|depot| {
            let order = Just((0..depot.demands.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(depot), order)
        }),
    ) {
        let plan = depot.plan();
        let shuffled = Depot {
            slots: depot.slots.clone(),
            demands: order.iter().map(|vehicle| depot.demands[*vehicle].clone()).collect(),
        };
        let flows: Vec<_> = order.iter().map(|vehicle| plan.flows[*vehicle].clone()).collect();
        prop_assert_eq!(shuffled.plan().flows, flows);
    }

    #[test]
    fn more_capacity_is_never_worse(depot in depots(12, 8, 60), slot: Index, more in 1..50u64) {
        let less = depot.aims(&depot.plan());
        let mut depot = depot;
        let slot = slot.index(depot.slots.len());
        depot.slots[slot].capacity += more;
        let with_capacity = depot.aims(&depot.plan());
        prop_assert!(with_capacity <= less);
        depot.slots[slot].threshold += more;
        let with_both = depot.aims(&depot.plan());
        prop_assert!(with_both <= with_capacity);
    }

    #[test]
    fn more_capacity_without_thresholds_never_costs_more(
        depot in depots(12, 8, 60),
        slot: Index,
        more in 1..50u64,
    ) {
        let mut depot = depot;
        for slot in &mut depot.slots {
            slot.threshold = u64::MAX;
        }
        for demand in &mut depot.demands {
            demand.minimum = 0;
        }
        let less = depot.aims(&depot.plan());
        let slot = slot.index(depot.slots.len());
        depot.slots[slot].capacity += more;
        let aims = depot.aims(&depot.plan());
        prop_assert!(aims.unserved <= less.unserved);
        prop_assert!(aims.unserved < less.unserved || aims.price <= less.price);
    }
}

#[test]
fn empty_depots_have_empty_plans() {
    assert_eq!(Depot::default().plan(), Plan::default());
    let demand = Demand {
        key: "a".to_owned(),
        power: Vec::new(),
        need: 5,
        minimum: 9,
        prices: None,
    };
    let depot = Depot {
        slots: Vec::new(),
        demands: vec![demand],
    };
    assert_eq!(depot.plan().flows, [vec![0; 0]]);
}

#[test]
fn the_largest_numbers_are_planned() {
    let slot = |price| Slot {
        capacity: u64::MAX,
        threshold: u64::MAX,
        price,
    };
    let demand = |key: &str, minimum| Demand {
        key: key.to_owned(),
        power: vec![u32::MAX; 3],
        need: u32::MAX,
        minimum,
        prices: None,
    };
    let depot = Depot {
        slots: vec![slot(i64::MAX), slot(i64::MIN), slot(0)],
        demands: vec![demand("a", 0), demand("b", 1)],
    };
    let flows = [vec![0, u32::MAX, 0], vec![1, u32::MAX - 1, 0]];
    assert_eq!(depot.plan().flows, flows);
}

/// The number of slots and the differences of the prices are so large that the prices are rounded.
#[test]
fn a_thousand_slots_and_extreme_prices_are_planned() {
    let prices = [i64::MAX, i64::MIN, i64::MIN / 2, i64::MAX / 2];
    let slots = prices.iter().cycle().take(1_000).map(|price| Slot {
        capacity: 10,
        threshold: 5,
        price: *price,
    });
    let demands = (0..300).map(|key| Demand {
        key: format!("{key:03}"),
        power: vec![7; 1_000],
        need: 12,
        minimum: 0,
        prices: None,
    });
    let depot = Depot {
        slots: slots.collect(),
        demands: demands.collect(),
    };
    let plan = depot.plan();
    check(&depot, &plan);
    let aims = depot.aims(&plan);
    assert_eq!((aims.unserved, aims.above_threshold), (0, 0));
    let price = i128::from(i64::MIN) * 1_250
        + i128::from(i64::MIN / 2) * 1_250
        + i128::from(i64::MAX / 2) * 1_100;
    assert_eq!(aims.price, price);
}
