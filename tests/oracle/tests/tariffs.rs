//! Our prices agree with those of the crate `ocpi-tariffs`: on every run file it ships, and on generated tariffs.

use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use jiff::tz::TimeZone;
use ocpi_tariffs::price::TariffSource;
use ocpi_tariffs::{Version, cdr, tariff};
use proptest::prelude::*;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde_json::{Value, json};
use shared::Timestamp;
use shared::charging::tariff::{Cost, Course, Usage, cost};
use shared::models::charging_station::{Price, PriceType};
use shared::money::Currency;

/// A session as the run files describe it.
#[derive(Debug, Clone)]
struct Session {
    zone: String,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
    /// kW
    power: Decimal,
    /// kWh
    energy: Decimal,
}

fn decimal(value: &Value) -> Decimal {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    text.parse().expect("a decimal number")
}

/// The prices of an OCPI tariff, in the order of its elements.
fn prices(tariff: &Value) -> Vec<Price> {
    let currency = tariff["currency"]
        .as_str()
        .expect("a currency")
        .to_lowercase();
    let exponent = Currency::from_code(&currency)
        .expect("a currency")
        .exponent();
    let minor = |value: &Value| decimal(value) * Decimal::from(10u32.pow(exponent.into()));
    let mut prices = Vec::new();
    for element in tariff["elements"].as_array().expect("elements") {
        for component in element["price_components"].as_array().expect("components") {
            let kind = component["type"].as_str().expect("a type");
            // SESSION_TIME is in no standard; the crate ignores it as well.
            if kind == "SESSION_TIME" {
                continue;
            }
            let exact = minor(&component["price"]);
            let vat = component.get("vat").filter(|vat| !vat.is_null());
            prices.push(json!({
                "currency": currency, "price": exact.round().to_i64(), "price_decimal": exact.to_string(),
                "step_size": component["step_size"].as_u64(), "tax": if vat.is_some() { "vat" } else { "none" },
                "tax_included": false, "tax_percent": vat.map_or("0".into(), |vat| decimal(vat).to_string()), "type": kind,
                "restrictions": restrictions(&element["restrictions"]),
            }));
        }
    }
    for (name, kind) in [("min_price", "MIN_PRICE"), ("max_price", "MAX_PRICE")] {
        // A bare number is no price limit of this version.
        let Some(limit) = tariff.get(name).filter(|limit| limit.is_object()) else {
            continue;
        };
        let (net, gross) = (minor(&limit["excl_vat"]), minor(&limit["incl_vat"]));
        let percent = (gross / net - Decimal::ONE) * Decimal::ONE_HUNDRED;
        prices.push(json!({"currency": currency, "price": net.round().to_i64(), "price_decimal": net.to_string(),
            "step_size": 1, "tax": "vat", "tax_included": false, "tax_percent": percent.to_string(), "type": kind}));
    }
    serde_json::from_value(prices.into()).expect("prices")
}

fn restrictions(given: &Value) -> Value {
    let Some(given) = given.as_object() else {
        return Value::Null;
    };
    let mut ours = serde_json::Map::new();
    for (name, value) in given {
        let thousandfold = || (decimal(value) * Decimal::ONE_THOUSAND).to_u32();
        let (name, value) = match name.as_str() {
            "min_kwh" => ("min_energy", json!(thousandfold())),
            "max_kwh" => ("max_energy", json!(thousandfold())),
            "min_power" | "max_power" => (name.as_str(), json!(thousandfold())),
            "day_of_week" => {
                let days = value.as_array().expect("days").iter();
                let days = days.map(|day| day.as_str().expect("a day")[..3].to_lowercase());
                ("day_of_week", days.collect())
            }
            _ => (name.as_str(), value.clone()),
        };
        ours.insert(name.to_owned(), value);
    }
    Value::Object(ours)
}

/// What we ask for.
fn ours(tariff: &Value, session: &Session) -> Cost {
    let pricing = prices(tariff);
    let lasts = (session.end - session.start).num_milliseconds();
    let full = (session.energy / session.power * Decimal::from(3_600_000)).round();
    let charging = full.to_i64().expect("milliseconds").min(lasts);
    let energy = match full <= lasts.into() {
        true => session.energy * Decimal::ONE_THOUSAND,
        false => session.power * Decimal::from(lasts) / Decimal::from(3_600),
    };
    let course = Course {
        began: Timestamp::from_unix_millis(session.start.timestamp_millis()),
        zone: &TimeZone::get(&session.zone).expect("a zone"),
        usage: Usage {
            energy: energy.round().to_u64().expect("Wh"),
            charging: charging.unsigned_abs(),
            parking: (lasts - charging).unsigned_abs(),
        },
    };
    let code = tariff["currency"]
        .as_str()
        .expect("a currency")
        .to_lowercase();
    cost(
        &pricing,
        Currency::from_code(&code).expect("a currency"),
        course,
    )
}

/// Run files that expect something else than the standard says, what we ask for in all, and why.
const STANDS: &[(&str, &str, &str)] = &[
    (
        "AC-0008/test_run_with_many_day_parking_costs.json",
        "40.27",
        "bills the night between the two windows it names",
    ),
    (
        "AC-0010/test_run_avoid_parking_costs.json",
        "14.00",
        "takes 24 kW for at least 9999 kW",
    ),
    (
        "AC-0010/test_run_almost_avoid_parking_costs.json",
        "25.00",
        "takes 24 kW for at least 9999 kW",
    ),
    ("DC-0006/test_run.json", "39.34", HOURS),
    ("DC-0011/test_run_no_parking_cost.json", "22.92", HOURS),
    ("DC-0011/test_run_with_parking_cost.json", "33.42", HOURS),
    ("DC-0013/test_run.json", "47.00", HOURS),
    ("DC-0015/test_run.json", "32.07", HOURS),
];
const HOURS: &str = "whole minutes become a minute more when hours with four digits are rounded up";

/// What a kind of price makes together, in major units.
fn sum(
    cost: &Cost,
    kind: Option<PriceType>,
    exponent: u8,
    part: fn(&shared::charging::tariff::Line) -> i64,
) -> Decimal {
    let lines = cost.lines.iter();
    let sum = lines
        .filter(|line| kind.is_none_or(|kind| line.kind == kind))
        .map(part)
        .sum::<i64>();
    Decimal::new(sum, exponent.into())
}

fn folder() -> PathBuf {
    let answer = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo answers");
    let metadata: Value = serde_json::from_slice(&answer.stdout).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages
        .iter()
        .find(|package| package["name"] == "ocpi-tariffs");
    let manifest = package.expect("the crate")["manifest_path"]
        .as_str()
        .expect("a path");
    Path::new(manifest).with_file_name("test_data")
}

fn read(path: &Path) -> Value {
    let mut text = std::fs::read_to_string(path).expect("a file");
    json_strip_comments::strip(&mut text).expect("comments");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_run_file_agrees() {
    let mut runs = 0;
    let mut wrong = Vec::new();
    for tariff in std::fs::read_dir(folder().join("popular")).expect("the run files") {
        let folder = tariff.expect("a folder").path();
        let tariff = read(&folder.join("tariff.json"));
        for file in std::fs::read_dir(&folder).expect("a folder") {
            let path = file.expect("a file").path();
            if path.file_name().is_some_and(|name| name == "tariff.json") {
                continue;
            }
            runs += 1;
            let run = read(&path);
            let (input, expect) = (&run["input"], &run["expect"]);
            let moment = |name: &str| {
                input[name]
                    .as_str()
                    .expect("a time")
                    .parse()
                    .expect("a time")
            };
            let session = Session {
                zone: input["timezone"].as_str().expect("a zone").to_owned(),
                start: moment("start_date_time"),
                end: moment("end_date_time"),
                power: decimal(&input["max_power_supply_kw"]),
                energy: decimal(&input["requested_kwh"]),
            };
            let cost = ours(&tariff, &session);
            let stands = STANDS.iter().find(|(name, ..)| path.ends_with(name));
            if let Some((name, want, why)) = stands {
                assert_eq!(
                    sum(&cost, None, 2, |line| line.gross).to_string(),
                    *want,
                    "{name}: {why}"
                );
                continue;
            }
            for (name, kind) in [
                ("total_cost", None),
                ("total_energy_cost", Some(PriceType::Energy)),
                ("total_idle_cost", Some(PriceType::ParkingTime)),
            ] {
                let wanted = &expect[name]["value"];
                let lines = Decimal::new(5, 3) * Decimal::from(cost.lines.len());
                let tolerance =
                    expect[name].get("tolerance").map_or(Decimal::ZERO, decimal) + lines;
                for (tax, part) in [
                    (
                        "excl_vat",
                        (|line| line.net) as fn(&shared::charging::tariff::Line) -> i64,
                    ),
                    ("incl_vat", |line| line.gross),
                ] {
                    let want = wanted
                        .get(tax)
                        .filter(|want| !want.is_null())
                        .map_or(Decimal::ZERO, decimal);
                    let have = sum(&cost, kind, 2, part);
                    if (want - have).abs() > tolerance {
                        wrong.push(format!(
                            "{}: {name} {tax}: want {want}, have {have}",
                            path.display()
                        ));
                    }
                }
            }
        }
    }
    assert!(runs >= 99, "{runs}");
    assert!(
        wrong.is_empty(),
        "{} of {runs} runs:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
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

fn any_tariff(restricted: bool, limited: bool) -> impl Strategy<Value = Value> {
    let kind = proptest::sample::select(vec!["ENERGY", "TIME", "PARKING_TIME", "FLAT"]);
    let step = proptest::sample::select(vec![1u32, 60, 300, 900, 1000]);
    let vat = proptest::option::of(0u32..3000);
    // The crate weighs limits without tax first, and knows none where no price holds; the standard weighs both.
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

/// Sessions that begin, change and end at full three minutes, so that a record says exactly how long everything took.
const GRID: i64 = 3;

fn any_session() -> impl Strategy<Value = Session> {
    let power = proptest::sample::select(vec![20u32, 60, 100, 300]);
    // Around the night in which the clocks are put forward in Amsterdam.
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

/// The record of a session, cut finely enough for every restriction.
fn record(session: &Session) -> Value {
    let step = session.power / Decimal::from(20);
    let mut left = session.energy;
    let mut at = session.start;
    let mut periods = Vec::new();
    while at < session.end {
        let dimensions = if left.is_zero() {
            json!([{"type": "PARKING_TIME", "volume": 0.05}])
        } else {
            left -= step;
            json!([{"type": "ENERGY", "volume": step.to_f64()}, {"type": "TIME", "volume": 0.05}])
        };
        periods.push(json!({"start_date_time": at.to_rfc3339(), "dimensions": dimensions}));
        at += chrono::TimeDelta::minutes(GRID);
    }
    let nothing = json!({"excl_vat": 0, "incl_vat": 0});
    json!({"country_code": "NL", "party_id": "TDR", "start_date_time": session.start.to_rfc3339(),
        "end_date_time": session.end.to_rfc3339(), "currency": "EUR", "tariffs": [], "cdr_location": {"country": "NLD"},
        "charging_periods": periods, "total_cost": nothing, "total_time": 1.0, "total_energy": 1.0,
        "last_updated": "2026-04-01T00:00:00Z"})
}

fn agree(tariff: &Value, session: &Session) -> Result<(), TestCaseError> {
    let (tariff_text, record) = (tariff.to_string(), record(session).to_string());
    let parsed = tariff::parse_with_version(&tariff_text, Version::V221)
        .expect("a tariff")
        .tariff;
    let record = cdr::parse_with_version(&record, Version::V221)
        .expect("a record")
        .cdr;
    let zone = session.zone.parse::<Tz>().expect("a zone");
    let theirs = cdr::price(&record, TariffSource::single(parsed), zone)
        .expect("a price")
        .into_parts()
        .0;
    let ours = ours(tariff, session);
    let code = tariff["currency"]
        .as_str()
        .expect("a currency")
        .to_lowercase();
    let exponent = Currency::from_code(&code).expect("a currency").exponent();
    for (kind, want) in [
        (None, theirs.total_cost.calculated),
        (Some(PriceType::Energy), theirs.total_energy_cost.calculated),
        (
            Some(PriceType::Time),
            theirs.total_charging_time_cost.calculated,
        ),
        (
            Some(PriceType::ParkingTime),
            theirs.total_idle_cost.calculated,
        ),
        (Some(PriceType::Flat), theirs.total_fixed_cost.calculated),
    ] {
        // Half of the smallest unit for each of our lines, and what they round themselves.
        let lines = ours
            .lines
            .iter()
            .filter(|line| kind.is_none_or(|kind| line.kind == kind))
            .count();
        let half = Decimal::new(5, u32::from(exponent) + 1);
        let tolerance = half * Decimal::from(lines) + Decimal::new(2, 4);
        let want = want.unwrap_or_default();
        let (net, gross) = (
            Decimal::from(want.excl_vat),
            want.incl_vat.map_or(Decimal::ZERO, Decimal::from),
        );
        let have = sum(&ours, kind, exponent, |line| line.net);
        prop_assert!(
            (net - have).abs() <= tolerance,
            "{kind:?} without tax: theirs {net}, ours {have}: {ours:#?}"
        );
        let have = sum(&ours, kind, exponent, |line| line.gross);
        prop_assert!(
            (gross - have).abs() <= tolerance,
            "{kind:?} with tax: theirs {gross}, ours {have}: {ours:#?}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plain_tariffs_agree(tariff in any_tariff(false, false), session in any_session()) {
        agree(&tariff, &session)?;
    }

    #[test]
    fn restricted_tariffs_agree(tariff in any_tariff(true, false), session in any_session()) {
        agree(&tariff, &session)?;
    }

    #[test]
    fn limited_tariffs_agree(tariff in any_tariff(true, true), session in any_session()) {
        agree(&tariff, &session)?;
    }
}
