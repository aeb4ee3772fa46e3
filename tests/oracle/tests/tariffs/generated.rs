//! Generated tariffs and sessions.

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::{Value, json};

/// A session in the terms of the run files.
#[derive(Debug, Clone)]
pub struct Session {
    pub zone: String,
    pub start: DateTime<Utc>,
    pub end: DateTime<Utc>,
    /// In kW.
    pub power: Decimal,
    /// In kWh.
    pub energy: Decimal,
}

fn any_restrictions() -> impl Strategy<Value = Value> {
    let time = || (0u32..24, (0u32..20).prop_map(|three| three * 3));
    let duration = || proptest::option::weighted(0.2, 1u32..200);
    let energy = || proptest::option::weighted(0.2, 1u32..12);
    let days = proptest::sample::subsequence(
        vec![
            "MONDAY",
            "TUESDAY",
            "WEDNESDAY",
            "THURSDAY",
            "FRIDAY",
            "SATURDAY",
            "SUNDAY",
        ],
        0..7,
    );
    let date = || proptest::option::weighted(0.2, 0u32..7);
    let times = (time(), time()).prop_filter("a time at all", |(start, end)| {
        start != end && *end != (0, 0)
    });
    let times = proptest::option::weighted(0.3, times);
    (
        times,
        duration(),
        duration(),
        energy(),
        energy(),
        proptest::option::weighted(0.3, days),
        date(),
        date(),
    )
        .prop_map(|(times, min, max, least, most, days, first, last)| {
            let mut all = serde_json::Map::new();
            let mut put = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    all.insert(name.to_owned(), value);
                }
            };
            let clock = |(hour, minute)| json!(format!("{hour:02}:{minute:02}"));
            put("start_time", times.map(|(start, _)| clock(start)));
            put("end_time", times.map(|(_, end)| clock(end)));
            put("min_duration", min.map(|threes| json!(threes * 180)));
            put("max_duration", max.map(|threes| json!(threes * 180)));
            put("min_kwh", least.map(|kwh| json!(kwh * 15)));
            put("max_kwh", most.map(|kwh| json!(kwh * 15)));
            put(
                "day_of_week",
                days.filter(|days| !days.is_empty()).map(|days| json!(days)),
            );
            put(
                "start_date",
                first.map(|day| json!(format!("2026-03-{:02}", 26 + day % 6))),
            );
            put(
                "end_date",
                last.map(|day| json!(format!("2026-03-{:02}", 26 + day % 6))),
            );
            Value::Object(all)
        })
}

pub fn any_tariff(restricted: bool, limited: bool) -> impl Strategy<Value = Value> {
    let kind = proptest::sample::select(vec!["ENERGY", "TIME", "PARKING_TIME", "FLAT"]);
    let step = proptest::sample::select(vec![1u32, 60, 300, 900, 1000]);
    let vat = proptest::option::of(0u32..3000);
    // The crate compares limits without tax first, and has none if no price holds; the standard compares both.
    let vat = vat.prop_map(move |vat| if limited { Some(2000) } else { vat });
    let restrictions = proptest::option::weighted(0.7, any_restrictions());
    let element = (kind, 0u32..100_000, step, vat, restrictions);
    let currency = proptest::sample::select(vec!["EUR", "JPY", "KWD"]);
    let limits = (1i64..4, 4i64..200);
    (currency, proptest::collection::vec(element, 1..7), limits).prop_map(move |(currency, elements, limits)| {
        let elements: Vec<_> = elements
            .into_iter()
            .map(|(kind, price, step, vat, restrictions)| {
                let component = json!({"type": kind, "price": f64::from(price) / 1000.0, "step_size": step});
                let mut component = component;
                if let Some(vat) = vat {
                    component["vat"] = json!(f64::from(vat) / 100.0);
                }
                let mut element = json!({"price_components": [component]});
                if let Some(restrictions) = restrictions.filter(|all| restricted && all.as_object().is_some_and(|all| !all.is_empty())) {
                    element["restrictions"] = restrictions;
                }
                element
            })
            .collect();
        let mut tariff = json!({"currency": currency, "elements": elements, "id": "TEST", "country_code": "NL", "party_id": "TDR",
            "last_updated": "2020-01-01T00:00:00Z"});
        if limited {
            let limit = |net: i64| json!({"excl_vat": net, "incl_vat": net * 12 / 10});
            let start = json!({"price_components": [{"type": "FLAT", "price": 0.5, "vat": 20, "step_size": 1}]});
            tariff["elements"].as_array_mut().expect("elements").push(start);
            tariff["min_price"] = limit(limits.0 * 5);
            tariff["max_price"] = limit(limits.1 * 5);
        }
        tariff
    })
}

/// Sessions begin, change and end at multiples of three minutes, so that a record contains exactly how long everything took.
pub const GRID: i64 = 3;

pub fn any_session() -> impl Strategy<Value = Session> {
    let power = proptest::sample::select(vec![20u32, 60, 100, 300]);
    // Around the night in which the clocks go forward in Amsterdam.
    let start = 0i64..5 * 24 * 20;
    (start, power, 1i64..200, 0i64..200).prop_map(|(start, power, charging, parking)| {
        let start = DateTime::from_timestamp(1_774_483_200 + start * GRID * 60, 0).expect("a time");
        let minutes = |count| chrono::TimeDelta::minutes(count * GRID);
        Session {
            zone: "Europe/Amsterdam".into(),
            start,
            end: start + minutes(charging + parking),
            power: power.into(),
            energy: Decimal::from(power) * Decimal::from(charging) / Decimal::from(20),
        }
    })
}
