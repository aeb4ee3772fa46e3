//! The time and the peak memory of the plan of the largest site: 500 vehicles that charge with direct current, for 48 hours. Their power
//! falls as they charge, so that the plan is made again up to five times. It prints figures and checks nothing:
//! `cargo test --profile bench --package models --test site_scale -- --ignored --nocapture`

mod depot;

use std::collections::HashMap;
use std::fs::read_to_string;
use std::time::Instant;

use kernel::time::{hours, minutes};
use kernel::{Kind, Timestamp};
use models::Vehicle;
use models::departure::Departure;
use models::site::inputs::{Execution, PlanInputs};
use models::site::plan::plan;
use models::site::{MOST_VEHICLES, NewPrices, SiteDay};
use models::vehicle::ConnectorType;
use serde_json::json;

use depot::{id, parked};

fn start() -> Timestamp {
    Timestamp::parse("2027-01-15T00:00:00Z").expect("a time")
}

fn vehicle(place: usize) -> Vehicle {
    let capacity = 50_000 + 1_000 * (place * 7 % 40);
    let own = json!({"battery_capacity": capacity, "charging_standard": "CCS"});
    depot::vehicle(place, start(), own)
}

/// A departure at the end of the horizon, or for a third of the vehicles up to a day earlier.
fn departure(place: usize) -> Departure {
    let earlier = if place.is_multiple_of(3) {
        place % 97
    } else {
        0
    };
    let at = start()
        .plus(hours(48))
        .plus(-minutes(15) * i32::try_from(earlier).expect("a number"));
    let own = json!({"min_level": 30 + place % 30, "target_level": 95});
    depot::departure(place, &id(Kind::Vehicle, place), at, start(), own)
}

/// The prices of a day, different in each quarter-hour.
fn prices(day: i64) -> SiteDay {
    let midnight = start().plus(hours(24 * day));
    let prices = (0..96).map(|quarter| {
        let price = 10 + (quarter * 37 + day * 11) % 29;
        json!({"from": midnight.plus(minutes(15 * quarter)), "price_per_kwh": price})
    });
    let new = json!({"prices": prices.collect::<Vec<_>>()});
    let new: NewPrices = serde_json::from_value(new).expect("prices");
    let mut day = SiteDay::of(&id(Kind::Site, 0), midnight);
    new.check(&id(Kind::Site, 0))
        .expect("prices")
        .apply(&mut day);
    day
}

/// Seconds of the processor that this thread has used (Linux).
fn processor() -> f64 {
    let stat = read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|text| text.parse().ok());
    nanos.map_or(0.0, |nanos: f64| nanos / 1e9)
}

#[test]
#[ignore = "it prints figures"]
fn the_largest_site() {
    // W per vehicle: the limit is above or below what all need.
    for (offered, each) in [
        (150_000, 1_400),
        (22_000, 1_800),
        (22_000, 1_400),
        (22_000, 1_000),
        (11_000, 1_400),
        (11_000, 1_000),
    ] {
        let limits = json!([{"type": "capacity", "power_w": each * MOST_VEHICLES}, {"type": "cost", "power_w": each * MOST_VEHICLES * 4 / 5}]);
        let site = depot::site(json!({"limits": limits}), start());
        let vehicles =
            (0..MOST_VEHICLES).map(|place| parked(vehicle(place), vec![departure(place)]));
        let inputs = PlanInputs {
            days: [0, 1].map(prices).to_vec(),
            offered: Some(HashMap::from([(ConnectorType::Ccs, offered)])),
            ..depot::inputs(Execution::Simulation, vehicles.collect())
        };
        let (started, used) = (Instant::now(), processor());
        let planned = plan(&site, &inputs, start());
        let (took, used) = (started.elapsed(), processor() - used);
        let view = planned.view(&site.object, &inputs, start());
        let short: u32 = view
            .vehicles
            .iter()
            .map(|vehicle| vehicle.short_by_wh)
            .sum();
        println!(
            "{offered} W, limit {each} W per vehicle: {took:.1?}, {used:.1} s of a processor, {short} Wh short"
        );
    }
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("peak memory: {}", peak.unwrap_or("unknown").trim());
}
