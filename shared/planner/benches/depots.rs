//! `cargo bench -p planner --bench depots` measures the time and the peak memory (Linux) of a plan for 500 vehicles and 96 slots, and how
//! much more the same vehicles pay, or miss, if each is planned alone, one after the other. `VEHICLES` and `SLOTS` set other numbers. The
//! figures are for comparing one change with another on one machine; nothing is asserted.
#![allow(clippy::print_stdout, clippy::expect_used)]

use std::fs::read_to_string;
use std::time::Instant;

use planner::{Demand, Depot, Plan, Slot};

/// Numbers that are the same in each run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Returns vehicles of 11 and 22 kW in slots of 15 minutes. The limit is so low that `load` percent of it are needed.
fn depot(own_prices: bool, minima: bool, away: bool, load: u64) -> Depot {
    let (vehicles, slots) = (number("VEHICLES", 500), number("SLOTS", 96));
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let demands = (0..vehicles).map(|vehicle| {
        let power = [2_750, 5_500][vehicle % 2];
        let arrival = if away {
            numbers.below(slots as u64 / 3)
        } else {
            0
        };
        let departure = slots as u64
            - if away {
                numbers.below(slots as u64 / 3)
            } else {
                0
            };
        let need = 10_000 + numbers.below(40_000) as u32;
        let minimum = if minima { need / 4 } else { 0 };
        let prices = (0..slots).map(|_| 1_000 + numbers.below(3_000) as i64);
        Demand {
            key: format!("{vehicle:05}"),
            power: (0..slots as u64)
                .map(|slot| {
                    if (arrival..departure).contains(&slot) {
                        power
                    } else {
                        0
                    }
                })
                .collect(),
            need,
            minimum,
            prices: own_prices.then(|| prices.collect()),
        }
    });
    let demands: Vec<Demand> = demands.collect();
    let needed: u64 = demands.iter().map(|demand| u64::from(demand.need)).sum();
    let capacity = needed * 100 / load / slots as u64;
    let slots = (0..slots).map(|_| Slot {
        capacity,
        threshold: capacity * 4 / 5,
        price: 1_000 + numbers.below(3_000) as i64,
    });
    Depot {
        slots: slots.collect(),
        demands,
    }
}

/// Plans each vehicle alone, in the capacity that the vehicles before it have left.
fn one_by_one(depot: &Depot) -> Plan {
    let mut left = Depot {
        slots: depot.slots.clone(),
        demands: Vec::new(),
    };
    let flows = depot.demands.iter().map(|demand| {
        left.demands = vec![demand.clone()];
        let flows = left.plan().flows.remove(0);
        for (slot, flow) in left.slots.iter_mut().zip(&flows) {
            slot.capacity -= u64::from(*flow);
            slot.threshold = slot.threshold.saturating_sub(u64::from(*flow));
        }
        flows
    });
    Plan {
        flows: flows.collect(),
    }
}

/// Measures the pass after the plan, for chargers with at least 6 A on one phase.
fn steady(depot: &Depot, plan: &Plan) {
    let minima = vec![vec![345; depot.slots.len()]; depot.demands.len()];
    let started = Instant::now();
    let steady = depot.steady(plan, &minima, 20);
    println!(
        "  steady     {}, {} Wh below the minimum instead of {}, {} starts instead of {}, {:.1?}",
        describe(depot, &steady.plan),
        steady.unserved,
        small(plan),
        starts(&steady.plan),
        starts(plan),
        started.elapsed()
    );
}

fn small(plan: &Plan) -> u32 {
    plan.flows
        .iter()
        .flatten()
        .filter(|flow| **flow < 345)
        .sum()
}

fn starts(plan: &Plan) -> usize {
    let starts = |flows: &Vec<u32>| {
        let mut pairs = flows
            .windows(2)
            .filter(|pair| pair[0] == 0 && pair[1] > 0)
            .count();
        pairs += usize::from(flows[0] > 0);
        pairs
    };
    plan.flows.iter().map(starts).sum()
}

fn describe(depot: &Depot, plan: &Plan) -> String {
    let aims = depot.aims(plan);
    format!(
        "{:8} Wh unserved, {:8} Wh above thresholds, price {}",
        aims.unserved, aims.above_threshold, aims.price
    )
}

fn main() {
    for own_prices in [false, true] {
        for minima in [false, true] {
            for away in [false, true] {
                for load in [40, 75, 120] {
                    let depot = depot(own_prices, minima, away, load);
                    let started = Instant::now();
                    let plan = depot.plan();
                    let took = started.elapsed();
                    println!(
                        "{}, {}, {}, {load:3} % of the limit needed: {took:8.1?}",
                        if own_prices {
                            "prices per vehicle"
                        } else {
                            "one price series  "
                        },
                        if minima { "minima   " } else { "no minima" },
                        if away { "windows   " } else { "all slots " },
                    );
                    println!("  together   {}", describe(&depot, &plan));
                    println!("  one by one {}", describe(&depot, &one_by_one(&depot)));
                    steady(&depot, &plan);
                }
            }
        }
    }
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("peak memory: {}", peak.unwrap_or("unknown").trim());
}
