//! Our prices agree with those of the crate `ocpi-tariffs`: on every run file it ships, and on generated tariffs.

use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use jiff::tz::TimeZone;
use ocpi_tariffs::{Version, cdr, generate, tariff};
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
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse().expect("a decimal number")
}

/// The prices of an OCPI tariff, in the order of its elements.
fn prices(tariff: &Value) -> Vec<Price> {
    let currency = tariff["currency"].as_str().expect("a currency").to_lowercase();
    let exponent = Currency::from_code(&currency).expect("a currency").exponent();
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
    let code = tariff["currency"].as_str().expect("a currency").to_lowercase();
    cost(&pricing, Currency::from_code(&code).expect("a currency"), course)
}

/// What a kind of price makes together, in major units.
fn sum(cost: &Cost, kind: Option<PriceType>, exponent: u8, part: fn(&shared::charging::tariff::Line) -> i64) -> Decimal {
    let lines = cost.lines.iter();
    let sum = lines.filter(|line| kind.is_none_or(|kind| line.kind == kind)).map(part).sum::<i64>();
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
    let package = packages.iter().find(|package| package["name"] == "ocpi-tariffs");
    let manifest = package.expect("the crate")["manifest_path"].as_str().expect("a path");
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
            let moment = |name: &str| input[name].as_str().expect("a time").parse().expect("a time");
            let session = Session {
                zone: input["timezone"].as_str().expect("a zone").to_owned(),
                start: moment("start_date_time"),
                end: moment("end_date_time"),
                power: decimal(&input["max_power_supply_kw"]),
                energy: decimal(&input["requested_kwh"]),
            };
            let cost = ours(&tariff, &session);
            for (name, kind) in [
                ("total_cost", None),
                ("total_energy_cost", Some(PriceType::Energy)),
                ("total_idle_cost", Some(PriceType::ParkingTime)),
            ] {
                let wanted = &expect[name]["value"];
                let lines = Decimal::new(5, 3) * Decimal::from(cost.lines.len());
                let tolerance = expect[name].get("tolerance").map_or(Decimal::ZERO, decimal) + lines;
                for (tax, part) in [
                    ("excl_vat", (|line| line.net) as fn(&shared::charging::tariff::Line) -> i64),
                    ("incl_vat", |line| line.gross),
                ] {
                    let want = wanted.get(tax).filter(|want| !want.is_null()).map_or(Decimal::ZERO, decimal);
                    let have = sum(&cost, kind, 2, part);
                    if (want - have).abs() > tolerance {
                        wrong.push(format!("{}: {name} {tax}: want {want}, have {have}", path.display()));
                    }
                }
            }
        }
    }
    assert!(runs >= 99, "{runs}");
    assert!(wrong.is_empty(), "{} of {runs} runs:\n{}", wrong.len(), wrong.join("\n"));
}

fn any_restrictions() -> impl Strategy<Value = Value> {
    let time = || proptest::option::weighted(0.3, (0u32..24, 0u32..60).prop_filter("no end of day", |at| *at != (0, 0)));
    let duration = || proptest::option::weighted(0.2, 1u32..600);
    let energy = || proptest::option::weighted(0.2, 1u32..200);
    let days = proptest::sample::subsequence(
        vec!["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"],
        0..7,
    );
    let date = || proptest::option::weighted(0.2, 0u32..7);
    let times = (time(), time()).prop_filter("a time at all", |(start, end)| start.is_none() || start != end);
    (times, duration(), duration(), energy(), energy(), proptest::option::weighted(0.3, days), date(), date()).prop_map(
        |((start, end), min, max, least, most, days, first, last)| {
            let mut all = serde_json::Map::new();
            let mut put = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    all.insert(name.to_owned(), value);
                }
            };
            let clock = |(hour, minute)| json!(format!("{hour:02}:{minute:02}"));
            put("start_time", start.map(clock));
            put("end_time", end.map(clock));
            put("min_duration", min.map(|minutes| json!(minutes * 60)));
            put("max_duration", max.map(|minutes| json!(minutes * 60)));
            put("min_kwh", least.map(|kwh| json!(kwh)));
            put("max_kwh", most.map(|kwh| json!(kwh)));
            put("day_of_week", days.filter(|days| !days.is_empty()).map(|days| json!(days)));
            put("start_date", first.map(|day| json!(format!("2026-03-{:02}", 26 + day % 6))));
            put("end_date", last.map(|day| json!(format!("2026-03-{:02}", 26 + day % 6))));
            Value::Object(all)
        },
    )
}

fn any_tariff(restricted: bool) -> impl Strategy<Value = Value> {
    let kind = proptest::sample::select(vec!["ENERGY", "TIME", "PARKING_TIME", "FLAT"]);
    let step = proptest::sample::select(vec![1u32, 60, 300, 900, 1000]);
    let vat = proptest::option::of(0u32..3000);
    let restrictions = proptest::option::weighted(if restricted { 0.7 } else { 0.0 }, any_restrictions());
    let element = (kind, 0u32..100_000, step, vat, restrictions);
    let currency = proptest::sample::select(vec!["EUR", "JPY", "KWD"]);
    (currency, proptest::collection::vec(element, 1..7)).prop_map(|(currency, elements)| {
        let elements: Vec<_> = elements
            .into_iter()
            .map(|(kind, price, step, vat, restrictions)| {
                let component = json!({"type": kind, "price": f64::from(price) / 1000.0, "step_size": step});
                let mut component = component;
                if let Some(vat) = vat {
                    component["vat"] = json!(f64::from(vat) / 100.0);
                }
                let mut element = json!({"price_components": [component]});
                if let Some(restrictions) = restrictions.filter(|all| all.as_object().is_some_and(|all| !all.is_empty())) {
                    element["restrictions"] = restrictions;
                }
                element
            })
            .collect();
        json!({"currency": currency, "elements": elements, "id": "TEST", "country_code": "NL", "party_id": "TDR",
            "last_updated": "2020-01-01T00:00:00Z"})
    })
}

fn any_session() -> impl Strategy<Value = Session> {
    let power = proptest::sample::select(vec![6u32, 12, 24, 60, 150]);
    // Around the night in which the clocks are put forward in Amsterdam.
    let start = 0i64..5 * 24 * 60;
    (start, power, 1i64..600, 0i64..600).prop_map(|(start, power, charging, parking)| {
        let start = DateTime::from_timestamp(1_774_483_200 + start * 60, 0).expect("a time");
        let minutes = |minutes| chrono::TimeDelta::minutes(minutes);
        Session {
            zone: "Europe/Amsterdam".into(),
            start,
            end: start + minutes(charging + parking),
            power: power.into(),
            energy: Decimal::from(power) * Decimal::from(charging) / Decimal::from(60),
        }
    })
}

fn agree(tariff: &Value, session: &Session) -> Result<(), TestCaseError> {
    let text = tariff.to_string();
    let parsed = tariff::parse_with_version(&text, Version::V221).expect("a tariff").tariff;
    let config = generate::Config {
        timezone: session.zone.parse::<Tz>().expect("a zone"),
        start_date_time: session.start,
        end_date_time: session.end,
        max_current_supply_amp: Decimal::from(1000),
        requested_kwh: session.energy,
        max_power_supply_kw: session.power,
    };
    let theirs = cdr::generate_from_tariff(&parsed, &config).expect("a record");
    let theirs = theirs.into_parts().0.partial_cdr;
    let ours = ours(tariff, session);
    let code = tariff["currency"].as_str().expect("a currency").to_lowercase();
    let exponent = Currency::from_code(&code).expect("a currency").exponent();
    for (kind, want) in [
        (PriceType::Energy, theirs.total_energy_cost),
        (PriceType::Time, theirs.total_charging_duration_cost),
        (PriceType::ParkingTime, theirs.total_idle_duration_cost),
        (PriceType::Flat, theirs.total_fixed_cost),
    ] {
        let lines = ours.lines.iter().filter(|line| line.kind == kind).count();
        let tolerance = Decimal::new(5 * i64::try_from(lines).expect("few"), u32::from(exponent) + 1) + Decimal::new(2, 4);
        let want = want.unwrap_or_default();
        let (net, gross) = (Decimal::from(want.excl_vat), want.incl_vat.map_or(Decimal::ZERO, Decimal::from));
        let have = sum(&ours, Some(kind), exponent, |line| line.net);
        prop_assert!((net - have).abs() <= tolerance, "{kind:?} without tax: theirs {net}, ours {have}: {ours:#?}");
        let have = sum(&ours, Some(kind), exponent, |line| line.gross);
        prop_assert!((gross - have).abs() <= tolerance, "{kind:?} with tax: theirs {gross}, ours {have}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn plain_tariffs_agree(tariff in any_tariff(false), session in any_session()) {
        agree(&tariff, &session)?;
    }

    #[test]
    fn restricted_tariffs_agree(tariff in any_tariff(true), session in any_session()) {
        agree(&tariff, &session)?;
    }
}
