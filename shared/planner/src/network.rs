//! The network of a depot: vehicle → slot → site, and the costs that express the aims.

use crate::simplex::{Network, UNLIMITED};
use crate::{Depot, Plan};

const SITE: u32 = 0;

/// The costs of a unit of flow for each aim. One unit of an aim costs more than the later aims can differ on any cycle of the network, so
/// that a plan of least cost is best in the order of the aims.
struct Weights {
    unserved_minimum: i128,
    unserved: i128,
    above_threshold: i128,
    /// For each slot by which the minimum is later.
    late_minimum: i128,
    price: i128,
    lowest_price: i64,
    /// Prices are divided by two to this power. It is 0 unless prices differ by almost all of an `i64` and there are thousands of slots.
    price_shift: u32,
}

impl Weights {
    /// Returns the weights, which are below 2^120, so that no potential overflows.
    fn new(depot: &Depot) -> Self {
        // A cycle visits each slot and the site at most once, and passes six arcs at most of the vehicle between two of them.
        let visits = depot.slots.len().min(depot.demands.len()) as i128 + 1;
        let (steps, slots): (i128, i128) = (6 * visits, depot.slots.len() as i128);
        let prices = || depot.demands.iter().flat_map(|demand| depot.prices(demand));
        let lowest_price = prices().min().unwrap_or_default();
        let spread = i128::from(prices().max().unwrap_or_default()) - i128::from(lowest_price);
        let weights = |price_shift: u32| {
            let late = steps * slots;
            let price = late + 1;
            let late = late + (steps * ((spread >> price_shift) + 1)).checked_mul(price)?;
            let late_minimum = late + 1;
            let late = late + (steps * slots).checked_mul(late_minimum)?;
            // A cycle passes the site once, and so two of its arcs.
            let above_threshold = late.checked_add(1)?;
            let unserved = above_threshold.checked_mul(4)?;
            let unserved_minimum = unserved.checked_mul(4)?;
            (unserved_minimum < 1 << 120).then_some(Self {
                unserved_minimum,
                unserved,
                above_threshold,
                late_minimum,
                price,
                lowest_price,
                price_shift,
            })
        };
        // Without prices, millions of slots fit.
        #[allow(clippy::expect_used)]
        (0..=64)
            .find_map(weights)
            .expect("a depot that fits in memory")
    }
}

/// The network of a depot, and the arcs of its flows.
struct Builder<'a> {
    depot: &'a Depot,
    weights: Weights,
    network: Network,
    /// The node of each slot that has any capacity.
    slots: Vec<Option<u32>>,
    /// Vehicle, slot and arc.
    flows: Vec<(usize, usize, u32)>,
}

impl Depot {
    /// Returns the best plan, in the order of the aims.
    pub fn plan(&self) -> Plan {
        // The order of the vehicles is always the same, whatever the order of the input is.
        let mut order: Vec<usize> = (0..self.demands.len()).collect();
        order.sort_by(|left, right| self.demands[*left].cmp(&self.demands[*right]));
        let mut builder = Builder {
            depot: self,
            weights: Weights::new(self),
            network: Network::new(),
            slots: Vec::new(),
            flows: Vec::new(),
        };
        builder.add_slots();
        for vehicle in order {
            builder.add_vehicle(vehicle);
        }
        builder.network.solve();
        let mut flows = vec![vec![0; self.slots.len()]; self.demands.len()];
        for (vehicle, slot, arc) in builder.flows {
            // The arc carries at most the power, which is a u32.
            flows[vehicle][slot] = u32::try_from(builder.network.flow(arc)).unwrap_or(u32::MAX);
        }
        Plan { flows }
    }
}

impl Builder<'_> {
    fn add_slots(&mut self) {
        for slot in &self.depot.slots {
            let capacity = i64::try_from(slot.capacity).map_or(UNLIMITED, |it| it.min(UNLIMITED));
            let threshold = i64::try_from(slot.threshold).map_or(capacity, |it| it.min(capacity));
            let above = self.weights.above_threshold;
            let node = if capacity == 0 {
                None
            } else if threshold == 0 {
                Some(self.network.node(SITE, capacity, 0, above).0)
            } else {
                let (node, _) = self.network.node(SITE, threshold, 0, 0);
                if threshold < capacity {
                    self.network.arc(node, SITE, capacity - threshold, above);
                }
                Some(node)
            };
            self.slots.push(node);
        }
    }

    fn add_vehicle(&mut self, vehicle: usize) {
        let demand = &self.depot.demands[vehicle];
        let minimum = demand.minimum.min(demand.need);
        let rest = demand.need - minimum;
        let Weights {
            unserved,
            unserved_minimum,
            late_minimum,
            price,
            lowest_price,
            price_shift,
            ..
        } = self.weights;
        let mut supply = |supply: u32, cost| {
            let mut node = || self.network.node(SITE, UNLIMITED, supply.into(), cost);
            (supply > 0).then(|| node().0)
        };
        let minimum = supply(minimum, unserved + unserved_minimum);
        let rest = supply(rest, unserved);
        let prices = self.depot.prices(demand);
        for (slot, (power, of_slot)) in demand.power.iter().zip(prices).enumerate() {
            let power = i64::from((*power).min(demand.need));
            let Some(Some(node)) = self.slots.get(slot).filter(|_| power > 0) else {
                continue;
            };
            let late = slot as i128;
            let of_minimum = late * late_minimum;
            let cost =
                ((i128::from(of_slot) - i128::from(lowest_price)) >> price_shift) * price + late;
            let arc = match (minimum, rest) {
                (Some(minimum), Some(rest)) => {
                    // The power is shared, so both flow through one node.
                    let (hub, arc) = self.network.hub(*node, power, cost);
                    self.network.arc(minimum, hub, UNLIMITED, of_minimum);
                    self.network.arc(rest, hub, UNLIMITED, 0);
                    arc
                }
                (Some(minimum), None) => {
                    let cost = cost + of_minimum;
                    self.network.arc(minimum, *node, power, cost)
                }
                (None, Some(rest)) => self.network.arc(rest, *node, power, cost),
                (None, None) => return,
            };
            self.flows.push((vehicle, slot, arc));
        }
    }
}
