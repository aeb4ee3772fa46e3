//! What requests take from the table, as AWS bills it.

use std::fmt::Write as _;

use serde_json::json;
use shared::http::{Method, Route, Shows};
use shared::origin::Mode;
use tests::recorder::{Call, Recorder};
use tests::samples::prepared;
use tests::{Receiver, TestApp};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/capacity.md");

const HEAD: &str = "# What each request takes from the table

Calls and capacity units of each route for its sample event, of an account that has little else, with a key that is known to the
instance. Writes count their indexes and, in transactions, twice. `UPDATE_CAPACITY=1 cargo test --workspace --test api capacity`
measures them anew, and the same test fails while they are not as this file says.

Authentication adds to that: once a minute an instance reads a key and its account again, with one BatchGetItem of 2 RCU, and each
account above with a GetItem of 1 RCU; so it learns of revoked keys and suspended accounts. The request rate of an account, and that
of each account above it, is written once (1 WCU) for as many requests as are allowed in a fifth of a second, and only while
requests are fast.

| Route | Function | Calls | RCU | WCU |
|---|---|---|---|---|
";

const FOOT: &str = "
The budget: to retrieve is one call and 0.5 RCU, to list one Query, to create simply one call and 6 WCU, to reserve one transaction of
8 WCU, to update two calls. Above it, each for a reason:

";

/// Calls by their actions, read units and write units.
struct Taken {
    calls: Vec<Call>,
}

impl Taken {
    fn reads(&self) -> f64 {
        let reads = self.calls.iter().filter(|call| call.is_read());
        reads.map(|call| call.units).sum::<f64>().abs()
    }

    fn writes(&self) -> f64 {
        let writes = self.calls.iter().filter(|call| !call.is_read());
        writes.map(|call| call.units).sum::<f64>().abs()
    }

    fn actions(&self) -> String {
        let mut counted: Vec<(&str, usize)> = Vec::new();
        for call in &self.calls {
            match counted
                .iter_mut()
                .find(|(action, _)| *action == call.action)
            {
                Some((_, count)) => *count += 1,
                None => counted.push((&call.action, 1)),
            }
        }
        let shown = counted.iter().map(|(action, count)| match count {
            1 => (*action).to_owned(),
            count => format!("{count} {action}"),
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

/// What a request takes of an account of its own.
async fn taken(
    app: &mut TestApp,
    recorder: &Recorder,
    receiver: &Receiver,
    route: &Route,
) -> Taken {
    app.alice = app.other_account(Mode::Test).await;
    let event = prepared(app, receiver, route.name).await;
    let headers: Vec<(&str, &str)> = event["headers"]
        .as_object()
        .expect("headers")
        .iter()
        .filter(|(name, _)| *name != "host")
        .map(|(name, value)| (name.as_str(), value.as_str().expect("a header")))
        .collect();
    let (path, query) = (&event["rawPath"], &event["rawQueryString"]);
    let query = query.as_str().filter(|query| !query.is_empty());
    let path = path.as_str().expect("a path").to_owned();
    let path = query.map_or(path.clone(), |query| format!("{path}?{query}"));
    let body = event["body"].as_str().map(str::to_owned);
    recorder.take();
    let answer = app
        .anon
        .send(route.method.as_str(), &path, body, &headers)
        .await;
    let calls = recorder.take();
    assert_eq!(answer.status, 200, "{}: {}", route.name, answer.text);
    Taken { calls }
}

/// How many calls, read units and write units a route may take, where that was settled beforehand.
fn budget(route: &Route) -> Option<(usize, f64, f64)> {
    match (route.method, route.shows, route.name) {
        (_, _, "create-reservation") => Some((1, 0.0, 8.0)),
        (_, _, "create-fleet" | "create-driver" | "create-policy") => Some((1, 0.0, 6.0)),
        (_, _, name) if name.starts_with("update-") => Some((2, 1.0, 8.0)),
        (Method::Get, Shows::Object(_), _) => Some((1, 0.5, 0.0)),
        (Method::Get, Shows::Page(_) | Shows::Lines, _) => Some((1, f64::MAX, 0.0)),
        _ => None,
    }
}

/// The routes that take more, each with what for.
const DEARER: &[(&str, &str)] = &[
    (
        "retrieve-account",
        "one consistent read: its balance is money",
    ),
    (
        "list-charging-sessions",
        "the driver or fleet of the filter is read, to tell an unknown one",
    ),
    (
        "retrieve-charging-station",
        "the calendars of its connectors say which are free",
    ),
    (
        "create-driver",
        "the account is read for what a driver takes over from it",
    ),
    (
        "create-fleet",
        "the account is read for what a fleet takes over from it",
    ),
    (
        "list-payment-methods",
        "the owner of the filter is read, to tell an unknown one",
    ),
    (
        "create-reservation",
        "driver, vehicle and fleet are read before the one transaction",
    ),
    (
        "list-transactions",
        "the owner of the filter is read, to tell an unknown one",
    ),
    (
        "retrieve-vehicle-telemetry",
        "the vehicle is read, to tell an unknown one from one without readings",
    ),
    (
        "update-vehicle-telemetry",
        "the vehicle is read besides its telemetry",
    ),
    (
        "list-webhook-endpoint-deliveries",
        "the endpoint is read, to tell an unknown one",
    ),
];

#[tokio::test]
async fn every_route_takes_what_the_file_says_and_no_more_than_its_budget() {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let mut app = TestApp::start_with(|options| options.store = Some(url)).await;
    let receiver = Receiver::start().await;
    let (mut made, mut astray) = (HEAD.to_owned(), Vec::new());
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let taken = taken(&mut app, &recorder, &receiver, &route).await;
        let (calls, reads, writes) = (taken.calls.len(), taken.reads(), taken.writes());
        if let Some(most) = budget(&route) {
            let within = calls <= most.0 && reads <= most.1 && writes <= most.2;
            let known = DEARER.iter().any(|(name, _)| *name == route.name);
            if within == known {
                astray.push(format!(
                    "{}: {calls} calls, {reads} RCU, {writes} WCU",
                    route.name
                ));
            }
        }
        writeln!(
            made,
            "| `{} {}` | {} | {} | {reads} | {writes} |",
            route.method.as_str(),
            route.path,
            route.name,
            taken.actions()
        )
        .expect("a line");
    }
    app.drain().await;
    made.push_str(FOOT);
    for (name, cause) in DEARER {
        writeln!(made, "- `{name}`: {cause}.").expect("a line");
    }
    if std::env::var_os("UPDATE_CAPACITY").is_some() {
        std::fs::write(FILE, &made).expect("the file is written");
    }
    assert!(
        astray.is_empty(),
        "above its budget, or no longer: {astray:#?}"
    );
    let checked_in = std::fs::read_to_string(FILE).expect("the file");
    assert!(
        made == checked_in,
        "requests take other calls or units: run UPDATE_CAPACITY=1 cargo test --workspace --test api capacity, and look at \
         the difference"
    );
}

#[tokio::test]
async fn a_delivery_takes_two_calls() {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let app = TestApp::start_with(|options| options.store = Some(url)).await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": ["ping"]});
    let endpoint = app.alice.post("/v1/webhook_endpoints", hook).await.id();
    let test = format!("/v1/webhook_endpoints/{endpoint}/test");
    // The first reads the endpoint as well, which is believed for some seconds.
    for _ in 0..2 {
        app.alice.post(&test, json!({})).await.expect(200);
        recorder.take();
        app.drain().await;
    }
    let delivering: Vec<Call> = recorder
        .take()
        .into_iter()
        .filter(|call| call.writes().iter().any(|(_, key)| key.contains(&endpoint)))
        .collect();
    assert_eq!(receiver.received().len(), 2);
    assert!(delivering.len() <= 2, "{delivering:#?}");
}
