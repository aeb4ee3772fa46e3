//! Our prices agree with those of the crate `ocpi-tariffs`, on every run file it ships and on generated tariffs, and with those
//! of the tool `ocpi`.

mod generated;
mod ocpi_kit;

use std::path::{Path, PathBuf};
use std::process::Command;

use chrono_tz::Tz;
use generated::{GRID, Session, any_session, any_tariff};
use jiff::tz::TimeZone;
use kernel::{Currency, Timestamp};
use models::charging::tariff::{Cost, Course, Usage, cost};
use models::charging_station::{Price, PriceType};
use ocpi_tariffs::price::TariffSource;
use ocpi_tariffs::{Version, cdr, tariff};
use proptest::prelude::*;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use serde_json::{Value, json};

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
            // SESSION_TIME is not part of a standard; the crate ignores it as well.
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
        // In this version, a bare number is not a price limit.
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

/// The cost that the service computes.
fn ours(tariff: &Value, session: &Session) -> Cost {
    let pricing = prices(tariff);
    let lasts = (session.end - session.start).num_milliseconds();
    let full = (session.energy / session.power * Decimal::from(3_600_000)).round();
    let charging = full.to_i64().expect("milliseconds").min(lasts);
    let energy = if full <= lasts.into() {
        session.energy * Decimal::ONE_THOUSAND
    } else {
        session.power * Decimal::from(lasts) / Decimal::from(3_600)
    };
    let course = Course {
        began: Timestamp::from_unix_millis(session.start.timestamp_millis()),
        zone: &TimeZone::get(&session.zone).expect("a zone"),
        usage: Usage {
            energy: energy.round().to_u64().expect("Wh"),
            charging: charging.unsigned_abs(),
            parking: (lasts - charging).unsigned_abs(),
        },
        segments: &[],
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

/// Run files whose expected result differs from the standard, the service's total, and the reason.
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

/// The sum of one kind of price, in major units.
fn sum(
    cost: &Cost,
    kind: Option<PriceType>,
    exponent: u8,
    part: fn(&models::charging::tariff::Line) -> i64,
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
                let expected = &expect[name]["value"];
                let lines = Decimal::new(5, 3) * Decimal::from(cost.lines.len());
                let tolerance =
                    expect[name].get("tolerance").map_or(Decimal::ZERO, decimal) + lines;
                for (tax, part) in [
                    (
                        "excl_vat",
                        (|line| line.net) as fn(&models::charging::tariff::Line) -> i64,
                    ),
                    ("incl_vat", |line| line.gross),
                ] {
                    let want = expected
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

/// The record of a session, divided finely enough for every restriction.
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
        // Half of the smallest unit for each of the service's lines, and the rounding of the crate itself.
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
