//! Plans depots: reads one per line as JSON ({slots: [[capacity, threshold, price]], demands: [{power, need, minimum, prices}]}), and
//! writes the flows of each as a line.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::stdin;

use planner::{Demand, Depot, Slot};
use serde_json::{Value, from_value, json};

fn main() -> Result<(), Box<dyn Error>> {
    for line in stdin().lines() {
        println!(
            "{}",
            json!(read(serde_json::from_str(&line?)?)?.plan().flows)
        );
    }
    Ok(())
}

fn read(mut depot: Value) -> serde_json::Result<Depot> {
    let slots: Vec<(u64, u64, i64)> = from_value(depot["slots"].take())?;
    let slots = slots.into_iter().map(|(capacity, threshold, price)| Slot {
        capacity,
        threshold,
        price,
    });
    let demands: Vec<Value> = from_value(depot["demands"].take())?;
    let demands = demands.into_iter().enumerate().map(|(key, mut demand)| {
        Ok(Demand {
            key: format!("{key:05}"),
            power: from_value(demand["power"].take())?,
            need: from_value(demand["need"].take())?,
            minimum: from_value(demand["minimum"].take())?,
            prices: from_value(demand["prices"].take())?,
        })
    });
    Ok(Depot {
        slots: slots.collect(),
        demands: demands.collect::<serde_json::Result<_>>()?,
    })
}
