//! `cargo bench --workspace --bench reports`: measures how many sessions per second are written to a report, and in how much memory,
//! from the responses of the table to the file. The table is the embedded one, except for the sessions: a server in front of it
//! generates those of a year, page by page, and its work is included in the figures. The benchmark fails when the process needs more
//! than 128 MB.
#![allow(clippy::print_stdout, clippy::expect_used)]

use std::fmt::Write as _;
use std::time::Instant;

use aws_sdk_dynamodb::Client;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use functions::app::{App, Ports};
use functions::job::Job as _;
use functions::reports::generate::GenerateReport;
use kernel::time::seconds;
use kernel::{Id, Kind, Mode, Tenant, Timestamp};
use local::{Options, Running};
use serde_json::{Value, json};
use table::{Store, client};

const SESSIONS: u64 = 1_000_000;
const VEHICLES: u64 = 1_000;
const DRIVERS: u64 = 1_500;
/// The number of sessions in a page of DynamoDB, which holds a megabyte.
const PAGE: u64 = 900;
/// In kilobytes.
const MOST: u64 = 128 * 1024;

fn main() {
    // `cargo test` runs benches once, without this argument.
    let bench = std::env::args().any(|arg| arg == "--bench");
    let sessions = if bench { SESSIONS } else { 2 * PAGE };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let running = start().await;
        let app = in_front_of(&running, sessions).await;
        for (kind, group_by) in [
            ("charging_summary", None),
            ("cost_analysis", Some("driver")),
            ("usage_breakdown", Some("vehicle")),
            ("carbon", Some("vehicle")),
        ] {
            measure(&running, &app, sessions, kind, group_by).await;
        }
        running.stop().await;
    });
    let most = peak();
    println!("peak memory of the process  {most} kB");
    assert!(!bench || most <= MOST, "that is too much");
}

async fn start() -> Running {
    let options = Options {
        by_hand: true,
        ..Options::in_memory()
    };
    Running::start(options).await.expect("the service starts")
}

/// The same service on a table with `sessions` sessions.
async fn in_front_of(running: &Running, sessions: u64) -> App {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    // A second installation fails and changes nothing.
    drop(rustls::crypto::ring::default_provider().install_default());
    let behind = reqwest::Client::builder().no_proxy().build();
    let table = Table {
        behind: behind.expect("a client"),
        url: running.store_url.clone(),
        sessions,
    };
    let router = Router::new().fallback(answer).with_state(table);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut settings = client::tuned(&functions::aws::config(), 1);
    settings.set_endpoint_url(Some(url));
    let store = Store::new(Client::from_conf(settings.build()), running.table.clone());
    let parts = &running.app;
    App::new(
        Ports {
            store,
            ..parts.ports.clone()
        },
        parts.settings.clone(),
    )
}

#[derive(Clone)]
struct Table {
    behind: reqwest::Client,
    url: String,
    sessions: u64,
}

async fn answer(
    State(table): State<Table>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Vec<u8>) {
    let query: Value = serde_json::from_slice(&body).unwrap_or_default();
    let low = query["ExpressionAttributeValues"][":low"]["S"].as_str();
    if low.is_some_and(|low| Id::from(low).is(Kind::ChargingSession)) {
        let start = query["ExclusiveStartKey"]["pk"]["S"].as_str();
        let start = start.map_or(0, |text| text.parse().expect("a number"));
        return (StatusCode::OK, page(start, table.sessions));
    }
    let mut request = table.behind.post(&table.url).body(body);
    for name in [
        "x-amz-target",
        "x-amz-date",
        "content-type",
        "authorization",
    ] {
        if let Some(value) = headers.get(name) {
            request = request.header(name, value);
        }
    }
    let answer = request.send().await.expect("an answer");
    let status = answer.status();
    (status, answer.bytes().await.expect("a body").to_vec())
}

/// Some of the sessions, spread over the year, the vehicles and the drivers.
fn page(start: u64, sessions: u64) -> Vec<u8> {
    let end = (start + PAGE).min(sessions);
    let first = Timestamp::parse("2026-01-01T00:00:00Z").expect("a time");
    let id = |kind: Kind, number: u64| Id::from_number(kind, number.into());
    let (fleet, station) = (id(Kind::Fleet, 1), id(Kind::ChargingStation, 1));
    let mut text = String::from("{\"Items\":[");
    for number in start..end {
        let comma = if number == start { "" } else { "," };
        let began = first.plus(seconds(i64::try_from(number).expect("few") * 30));
        let ended = began.plus(seconds(1800));
        let session = id(Kind::ChargingSession, number);
        let driver = id(Kind::Driver, number % DRIVERS);
        let vehicle = id(Kind::Vehicle, number % VEHICLES);
        write!(
            text,
            r#"{comma}{{"version":{{"N":"3"}},"object":{{"M":{{"id":{{"S":"{session}"}},"charging_station":{{"S":"{station}"}},"connector":{{"S":"1"}},"country":{{"S":"GB"}},"created":{{"S":"{began}"}},"currency":{{"S":"eur"}},"driver":{{"S":"{driver}"}},"fleet":{{"S":"{fleet}"}},"power":{{"N":"22"}},"session_started":{{"S":"{began}"}},"started_by":{{"S":"api"}},"state":{{"M":{{"status":{{"S":"completed"}},"ended":{{"S":"{ended}"}},"charged":{{"M":{{"energy":{{"N":"30007"}}}}}},"cost":{{"M":{{"total":{{"M":{{"net":{{"N":"1000"}},"gross":{{"N":"1190"}}}}}},"source":{{"S":"tariff"}}}}}},"settlement":{{"M":{{"final":{{"M":{{"at":{{"S":"{ended}"}}}}}}}}}}}}}},"updated":{{"S":"{ended}"}},"vehicle":{{"S":"{vehicle}"}}}}}},"internal":{{"NULL":true}}}}"#
        )
        .expect("text");
    }
    if end < sessions {
        write!(
            text,
            r##"],"LastEvaluatedKey":{{"pk":{{"S":"{end}"}},"sk":{{"S":"#"}}}}}}"##
        )
    } else {
        write!(text, "]}}")
    }
    .expect("text");
    text.into_bytes()
}

async fn measure(running: &Running, app: &App, sessions: u64, kind: &str, group_by: Option<&str>) {
    let client = reqwest::Client::builder().no_proxy().build();
    let client = client.expect("a client");
    let parameters = json!({"type": kind, "group_by": group_by, "format": "json",
        "period_start": "2026-01-01T00:00:00Z", "period_end": "2027-01-01T00:00:00Z"});
    let request = client.post(format!("{}/v1/reports", running.base_url));
    let request = request
        .bearer_auth(&running.api_key)
        .json(&json!({"parameters": parameters}));
    let report: Value = request
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    let id = report["id"].as_str().expect("an id");
    let job = GenerateReport {
        tenant: Tenant::new(running.account.clone(), Mode::Test),
        report: Id::from(id),
    };
    let started = Instant::now();
    job.run(app).await.expect("the work is done");
    let took = started.elapsed();
    let path = format!("{}/v1/reports/{id}", running.base_url);
    let request = client.get(path).bearer_auth(&running.api_key);
    let shown: Value = request
        .send()
        .await
        .expect("an answer")
        .json()
        .await
        .expect("JSON");
    let url = shown["url"].as_str().unwrap_or_else(|| panic!("{shown}"));
    let file = client.get(url).send().await.expect("an answer");
    let lines: Vec<Value> = file.json().await.expect("objects");
    let counted: u64 = lines
        .iter()
        .filter_map(|line| line["sessions"].as_u64())
        .sum();
    assert_eq!(counted, sessions);
    println!(
        "{kind:<18} by {:<8} {:>10.0} sessions/s {:>6} rows",
        group_by.unwrap_or("all"),
        sessions as f64 / took.as_secs_f64(),
        lines.len()
    );
}

/// The peak memory in kilobytes; 0 if the system does not report it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.map_or(0, |number| number.parse().expect("a number"))
}
