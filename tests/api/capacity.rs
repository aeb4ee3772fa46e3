//! Limits on what requests consume of the table.

use table::keys::is_list_of_keys;
use table::shown::Shows;
use tests::capacity::{ABOVE_BUDGET, measure};
use tests::recorder::Recorder;
use tests::{Receiver, TestApp, fleet};
use web::{Method, Route};

/// The largest number of calls, read units and write units of a route, for the kinds of routes that have a budget.
fn budget(route: &Route) -> Option<(usize, f64, f64)> {
    match (route.method, route.shows, route.name) {
        (_, _, "create-reservation") => Some((1, 0.0, 8.0)),
        (_, _, "create-fleet" | "create-driver" | "create-policy") => Some((1, 0.0, 6.0)),
        (_, _, name) if name.starts_with("update-") => Some((2, 1.0, 8.0)),
        (Method::Get, Shows::Object(_), _) => Some((1, 0.5, 0.0)),
        // A list of keys needs a second call for the items.
        (Method::Get, Shows::Page(kind), _) if is_list_of_keys(kind) => Some((2, f64::MAX, 0.0)),
        (Method::Get, Shows::Page(_) | Shows::Parts { .. }, _) => Some((1, f64::MAX, 0.0)),
        _ => None,
    }
}

#[tokio::test]
async fn every_route_is_within_its_budget_or_listed_as_an_exception() {
    let mut misplaced = Vec::new();
    for measured in measure().await {
        let (calls, reads, writes) = (measured.calls(), measured.reads(), measured.writes());
        let name = measured.route.name;
        if let Some(most) = budget(&measured.route) {
            let within = calls <= most.0 && reads <= most.1 && writes <= most.2;
            let listed = ABOVE_BUDGET.iter().any(|(listed, _)| *listed == name);
            if within == listed {
                misplaced.push(format!("{name}: {calls} calls, {reads} RCU, {writes} WCU"));
            }
        }
    }
    assert!(
        misplaced.is_empty(),
        "above the budget and not listed, or listed and within the budget: {misplaced:#?}"
    );
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
