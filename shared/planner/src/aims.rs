//! The quality of a plan.

use crate::{Demand, Depot, Plan};

/// The values of a plan for each aim, in the order of the aims: the plan with the lesser values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Aims {
    /// Wh
    pub unserved_minimum: u64,
    /// Wh, the unserved minimum included
    pub unserved: u64,
    /// Wh
    pub above_threshold: u64,
    /// The Wh of the minima, each times the index of its slot.
    pub late_minimum: u128,
    /// In the unit of the prices.
    pub price: i128,
    /// All Wh, each times the index of its slot.
    pub late: u128,
}

impl Depot {
    /// Returns the values of a plan for each aim.
    pub fn aims(&self, plan: &Plan) -> Aims {
        let mut aims = Aims {
            above_threshold: self.above_threshold(plan),
            price: self.cost(plan),
            ..Aims::default()
        };
        for (demand, flows) in self.demands.iter().zip(&plan.flows) {
            let mut minimum = demand.minimum.min(demand.need);
            for (slot, flow) in (0..).zip(flows) {
                let of_minimum = minimum.min(*flow);
                minimum -= of_minimum;
                aims.late_minimum += slot * u128::from(of_minimum);
                aims.late += slot * u128::from(*flow);
            }
            aims.unserved_minimum += u64::from(minimum);
            aims.unserved += u64::from(demand.unserved(flows));
        }
        aims
    }

    /// Returns the Wh that all vehicles together consume in each slot.
    pub fn loads(&self, plan: &Plan) -> Vec<u64> {
        let mut loads = vec![0; self.slots.len()];
        for flows in &plan.flows {
            for (load, flow) in loads.iter_mut().zip(flows) {
                *load += u64::from(*flow);
            }
        }
        loads
    }

    /// Returns the price of a plan, in the unit of the prices.
    pub fn cost(&self, plan: &Plan) -> i128 {
        let demands = self.demands.iter().zip(&plan.flows);
        let costs = demands.map(|(demand, flows)| self.cost_of(demand, flows));
        costs.sum()
    }

    /// Returns the price of one vehicle's energy.
    pub fn cost_of(&self, demand: &Demand, flows: &[u32]) -> i128 {
        let costs = flows.iter().zip(self.prices(demand));
        costs
            .map(|(flow, price)| i128::from(*flow) * i128::from(price))
            .sum()
    }

    /// Returns the price of a Wh in each slot for one vehicle.
    pub(crate) fn prices(&self, demand: &Demand) -> impl Iterator<Item = i64> {
        let own = demand.prices.as_deref().unwrap_or_default();
        let slots = self.slots.iter().enumerate();
        slots.map(|(index, slot)| own.get(index).copied().unwrap_or(slot.price))
    }

    fn above_threshold(&self, plan: &Plan) -> u64 {
        let loads = self.loads(plan).into_iter().zip(&self.slots);
        loads
            .map(|(load, slot)| load.saturating_sub(slot.threshold))
            .sum()
    }
}

impl Demand {
    /// Returns the Wh of the need that a plan does not serve.
    pub fn unserved(&self, flows: &[u32]) -> u32 {
        let served: u64 = flows.iter().copied().map(u64::from).sum();
        let unserved = u64::from(self.need).saturating_sub(served);
        u32::try_from(unserved).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slot;

    #[test]
    fn aims_of_a_plan_by_hand() {
        let slots = [(5, 3, 2), (9, 4, -1), (9, 9, 7)].map(|(capacity, threshold, price)| Slot {
            capacity,
            threshold,
            price,
        });
        let demand = |key: &str, need, minimum, prices| Demand {
            key: key.to_owned(),
            power: vec![4; 3],
            need,
            minimum,
            prices,
        };
        let depot = Depot {
            slots: slots.to_vec(),
            demands: vec![
                demand("a", 10, 3, None),
                demand("b", 6, 6, Some(vec![10, 20, 30])),
            ],
        };
        let plan = Plan {
            flows: vec![vec![2, 4, 1], vec![3, 1, 0]],
        };
        assert_eq!(depot.loads(&plan), [5, 5, 1]);
        assert_eq!(depot.cost_of(&depot.demands[0], &plan.flows[0]), 7);
        let expected = Aims {
            unserved_minimum: 2,
            unserved: 3 + 2,
            above_threshold: 2 + 1,
            late_minimum: 1 + 1,
            price: 7 + 50,
            late: 4 + 2 + 1,
        };
        assert_eq!(depot.aims(&plan), expected);
    }
}
