//! Limits on what requests consume of the table.

use table::keys::is_list_of_keys;
use table::shown::Shows;
use tests::bill::whole_reservation;
use tests::capacity::{ABOVE_BUDGET, measure};
use tests::recorder::Recorder;
use tests::{Receiver, TestApp, fleet};
use web::{Method, Route};

/// The largest number of calls, read units and write units of a route that is not in [`ABOVE_BUDGET`].
fn budget(route: &Route) -> (usize, f64, f64) {
    match (route.method, route.shows) {
        // A list of keys needs a second call for the items.
        (Method::Get, Shows::Page(kind)) if is_list_of_keys(kind) => (2, 1.5, 0.0),
        (Method::Get, _) => (1, 0.5, 0.0),
        (Method::Delete, _) => (2, 1.0, 8.0),
        (Method::Post, _) if route.name.starts_with("create-") => (1, 0.0, 6.0),
        (Method::Post, _) if route.name.starts_with("update-") => (2, 1.0, 5.0),
        (Method::Post, _) => (2, 1.0, 6.0),
    }
}

#[tokio::test]
async fn every_route_is_within_its_budget_or_its_exception() {
    let mut misplaced = Vec::new();
    for measured in measure().await {
        let (calls, reads, writes) = (measured.calls(), measured.reads(), measured.writes());
        let is_within =
            |most: (usize, f64, f64)| calls <= most.0 && reads <= most.1 && writes <= most.2;
        let name = measured.route.name;
        let mut exceptions = ABOVE_BUDGET.iter();
        let exception = exceptions.find(|(listed, ..)| *listed == name);
        let is_due = is_within(budget(&measured.route));
        let is_right = match exception {
            Some((_, calls, reads, writes, _)) => !is_due && is_within((*calls, *reads, *writes)),
            None => is_due,
        };
        if !is_right {
            misplaced.push(format!("{name}: {calls} calls, {reads} RCU, {writes} WCU"));
        }
    }
    assert!(
        misplaced.is_empty(),
        "above the budget or the exception, or an exception within the budget: {misplaced:#?}"
    );
    let known = |name: &str| {
        functions::endpoints()
            .iter()
            .any(|endpoint| endpoint.route.name == name)
    };
    assert!(ABOVE_BUDGET.iter().all(|(name, ..)| known(name)));
}

/// The largest number of calls, read units and write units of one run of a job or of the relay, for a whole reservation.
const OF_JOBS: &[(&str, f64, f64, f64)] = &[
    ("relay-stream", 1.5, 0.5, 1.25),
    ("deliver-webhook", 4.0, 1.0, 2.0),
    ("confirm-reservation", 11.0, 10.0, 8.0),
    ("settle-session", 4.0, 2.0, 5.0),
];

#[tokio::test]
async fn a_whole_reservation_and_its_jobs_are_within_budget() {
    let whole = whole_reservation().await;
    let lines = whole.functions.iter();
    let dollars = lines.map(|line| line.cost().total()).sum::<f64>() + whole.egress_cost();
    assert!(dollars <= 64.0, "{dollars} dollars per million");
    for (name, calls, reads, writes) in OF_JOBS {
        let mut lines = whole.functions.iter();
        let line = lines.find(|line| line.function == *name).expect("a job");
        for (took, most) in [
            (line.calls, calls),
            (line.reads, reads),
            (line.writes, writes),
        ] {
            assert!(took <= most * line.runs, "{line:?}");
        }
    }
}

#[tokio::test]
async fn a_delivery_takes_at_most_two_write_units() {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let app = TestApp::start_with(|options| options.store = Some(url)).await;
    let receiver = Receiver::start().await;
    let mut units = Vec::new();
    for subscribed in [false, true] {
        if subscribed {
            receiver.subscribe(&app.alice, &["fleet.created"]).await;
            app.drain().await;
        }
        app.alice.post_ok("/v1/fleets", fleet()).await;
        recorder.take();
        app.drain().await;
        let calls = recorder.take();
        let writes = calls.iter().filter(|call| !call.is_read());
        units.push(writes.map(|call| call.units).sum::<f64>());
    }
    assert_eq!(receiver.received().len(), 1);
    let [without, with] = units[..] else {
        panic!("two measurements: {units:?}");
    };
    assert!(
        with - without <= 2.0,
        "{with} with a delivery, {without} without"
    );
}
