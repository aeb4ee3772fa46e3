//! Random depots.
#![allow(dead_code)] // Each test has its part.

use planner::{Demand, Depot, Plan, Slot};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Depots of up to `vehicles` and `slots`, with needs of up to `need` Wh. Prices are few, so that many are equal.
pub fn depots(vehicles: usize, slots: usize, need: u32) -> impl Strategy<Value = Depot> {
    (1..=vehicles, 1..=slots).prop_flat_map(move |(vehicles, slots)| {
        let most = u64::from(need) * vehicles as u64 / slots as u64 + 1;
        let slot = (0..=most, 0..=most, -2..4i64).prop_map(|(capacity, threshold, price)| Slot {
            capacity,
            threshold,
            price,
        });
        let power = prop_oneof![1 => Just(0), 4 => 0..=need * 2 / slots as u32 + 1];
        let demand = (
            vec(power, slots),
            0..=need,
            0..=need,
            option::weighted(0.3, vec(-2..4i64, slots)),
        );
        (vec(slot, slots), vec(demand, vehicles)).prop_map(|(slots, demands)| Depot {
            slots,
            demands: (0..)
                .zip(demands)
                .map(|(key, (power, need, minimum, prices))| Demand {
                    key: format!("vehicle-{key}"),
                    power,
                    need,
                    minimum: minimum.min(need),
                    prices,
                })
                .collect(),
        })
    })
}

/// Checks the limits of every plan: no power, need or capacity is exceeded.
pub fn check(depot: &Depot, plan: &Plan) {
    assert_eq!(plan.flows.len(), depot.demands.len());
    for (demand, flows) in depot.demands.iter().zip(&plan.flows) {
        assert_eq!(flows.len(), depot.slots.len());
        assert!(
            flows
                .iter()
                .zip(&demand.power)
                .all(|(flow, power)| flow <= power)
        );
        assert!(flows.iter().sum::<u32>() <= demand.need);
    }
    let loads = depot.loads(plan).into_iter().zip(&depot.slots);
    for (load, slot) in loads {
        assert!(load <= slot.capacity);
    }
}
