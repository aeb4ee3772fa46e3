//! `cargo bench --bench reports`: how many sessions a second a report adds up, and in how much memory. The sessions are fed
//! in directly, a page of rows at a time as the store gives them: reading them from a table is not what is measured.
#![allow(clippy::print_stdout, clippy::expect_used)]

use std::collections::HashMap;
use std::time::Instant;

use serde_json::json;
use shared::charging::summary::Summary;
use shared::models::charging_session::{ChargingSession, SessionPrivate};
use shared::models::report::ReportFile;
use shared::time::SECOND;
use shared::{Id, Kind, Timestamp};

const SESSIONS: u64 = 1_000_000;
const VEHICLES: u64 = 1_000;
const DRIVERS: u64 = 1_500;
const PAGE: u64 = 1_000;

fn main() {
    // Asked for by `cargo test`, which runs benches once.
    let sessions = if std::env::args().any(|arg| arg == "--bench") {
        SESSIONS
    } else {
        1_000
    };
    for kind in [
        "charging_summary",
        "cost_analysis",
        "usage_breakdown",
        "fleet_efficiency",
    ] {
        for group_by in [None, Some("vehicle"), Some("driver")] {
            measure(sessions, kind, group_by);
        }
    }
    println!("peak memory of the process               {:>12}", peak());
}

fn measure(sessions: u64, kind: &str, group_by: Option<&str>) {
    let parameters = json!({"type": kind, "period_start": "2026-01-01T00:00:00Z", "period_end": "2027-01-01T00:00:00Z",
        "filters": {}, "group_by": group_by, "format": "csv"});
    let mut summary = Summary::new(serde_json::from_value(parameters).expect("parameters"));
    let template = template();
    let mut adding = std::time::Duration::ZERO;
    for page in 0..sessions.div_ceil(PAGE) {
        let rows: Vec<_> = (page * PAGE..((page + 1) * PAGE).min(sessions))
            .map(|number| session(&template, number))
            .collect();
        let started = Instant::now();
        for (session, private) in &rows {
            summary.add(session, private);
        }
        adding += started.elapsed();
    }
    let started = Instant::now();
    let content = summary.file(&HashMap::new()).expect("a file");
    let file = ReportFile::of("report.csv".into(), &content);
    let took = adding + started.elapsed();
    let rate = sessions as f64 / took.as_secs_f64();
    let group = group_by.unwrap_or("all");
    println!(
        "{kind:<18} by {group:<8} {rate:>12.0} sessions/s {:>9} bytes {:>12}",
        file.size,
        now()
    );
}

fn template() -> ChargingSession {
    let at = "2026-03-01T08:00:00Z";
    let json = json!({"id": Id::from_number(Kind::ChargingSession, 1), "object": "charging_session", "amount_due": 1190,
        "amount_paid": 0, "charging_station": Id::from_number(Kind::ChargingStation, 1), "connector": "1", "country": "GB",
        "created": at, "currency": "eur", "driver": Id::from_number(Kind::Driver, 1), "energy_consumed": 30_007,
        "fleet": Id::from_number(Kind::Fleet, 1), "payment_method": null, "session_ended": at, "session_limit": null,
        "session_started": at, "status": "completed", "updated": at, "vehicle": Id::from_number(Kind::Vehicle, 1)});
    serde_json::from_value(json).expect("a session")
}

/// One of many sessions, spread over the year, the vehicles and the drivers.
fn session(template: &ChargingSession, number: u64) -> (ChargingSession, SessionPrivate) {
    let first = Timestamp::parse("2026-01-01T00:00:00Z").expect("a time");
    let started = first.plus_millis(i64::try_from(number).expect("few") * 30 * SECOND);
    let session = ChargingSession {
        vehicle: Id::from_number(Kind::Vehicle, u128::from(number % VEHICLES)),
        driver: Id::from_number(Kind::Driver, u128::from(number % DRIVERS)),
        session_started: started,
        session_ended: Some(started.plus_millis(1800 * SECOND)),
        ..template.clone()
    };
    let private = SessionPrivate {
        net: 1000,
        tax: 190,
        ..SessionPrivate::default()
    };
    (session, private)
}

fn status(name: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or("not known here").trim().to_owned()
}

fn peak() -> String {
    status("VmHWM:")
}

fn now() -> String {
    status("VmRSS:")
}
