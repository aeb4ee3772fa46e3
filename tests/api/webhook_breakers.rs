//! Circuit breakers of webhook endpoints: a failing endpoint is probed, its pending deliveries are sent in the order of their age, and
//! other endpoints are not delayed.

use std::time::Duration;

use kernel::{Mode, Timestamp};
use serde_json::{Value, json};
use tests::{Client, Receiver, TestApp, fleet};

/// A service whose clock can be moved, and two receivers.
pub async fn with_receivers() -> (TestApp, Receiver, Receiver) {
    let app = TestApp::with_clock().await;
    (app, Receiver::start().await, Receiver::start().await)
}

/// Creates an endpoint that is sent at most this number of events of new fleets per second, and then a number of fleets. Returns the path
/// of the endpoint.
async fn limited(most: u32, count: usize) -> (TestApp, Receiver, String) {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = receiver
        .hook(&app.alice, json!({"max_per_second": most}))
        .await;
    for _ in 0..count {
        app.alice.post_ok("/v1/fleets", fleet()).await;
    }
    app.drain().await;
    (app, receiver, path)
}

/// Creates fleets one after another. Returns their ids.
async fn fleets(app: &TestApp, client: &Client, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(client.create("/v1/fleets", fleet()).await);
        app.drain().await;
    }
    ids
}

/// The ids of the objects whose events a receiver has received, in order, from this one on.
pub fn objects(receiver: &Receiver, from: usize) -> Vec<String> {
    let received = receiver.received();
    let id = |event: &Value| event["data"]["object"]["id"].as_str().map(str::to_owned);
    let ids = received[from..]
        .iter()
        .filter_map(|delivery| id(&delivery.event));
    ids.collect()
}

/// The number of pending deliveries of the events of new fleets.
async fn pending(client: &Client) -> u64 {
    let events = client.get("/v1/events?type=fleet.created&limit=100").await;
    let events = events.expect(200).body["data"].clone();
    let events = events.as_array().expect("events").iter();
    events
        .filter_map(|event| event["pending_webhooks"].as_u64())
        .sum()
}

#[tokio::test]
async fn held_deliveries_are_sent_in_order_of_age_after_recovery() {
    let (app, receiver, other) = with_receivers().await;
    let bob = app.other_account(Mode::Test).await;
    // With a limited rate the deliveries are sent one at a time, so that their order is that of the arrivals.
    receiver
        .hook(&app.alice, json!({"max_per_second": 1000}))
        .await;
    other.hook(&bob, json!({})).await;
    receiver.answer(&[500; 100]);
    let mut all = fleets(&app, &app.alice, 5).await;
    assert_eq!(receiver.received().len(), 5);
    all.extend(fleets(&app, &app.alice, 12).await);
    assert!(receiver.received().len() <= 7, "the others wait");
    assert_eq!(pending(&app.alice).await, 17);
    // An hour later it was probed a few times.
    app.advance(3600).await;
    let probes = receiver.received().len();
    assert!((9..=18).contains(&probes), "{probes} attempts");
    assert_eq!(pending(&app.alice).await, 17);
    // In the meantime, another account's endpoint is sent everything at once.
    fleets(&app, &bob, 3).await;
    assert_eq!(other.received().len(), 3);
    receiver.recover();
    // The attempts of probes that are not due yet when the endpoint recovers follow later.
    app.advance(24 * 3600).await;
    assert_eq!(pending(&app.alice).await, 0);
    let mut arrived = objects(&receiver, probes);
    arrived.sort_by_key(|id| all.iter().position(|element| element == id));
    assert_eq!(arrived, all, "each of them once");
    let probed = objects(&receiver, 0)[..probes].to_vec();
    let mut waited = objects(&receiver, probes);
    waited.retain(|id| !probed.contains(id));
    assert!(waited.len() >= 5 && waited.is_sorted(), "{waited:?}");
    // From now on everything is sent at once.
    let count = receiver.received().len();
    let next = fleets(&app, &app.alice, 1).await;
    assert_eq!(objects(&receiver, count), next);
}

#[tokio::test]
async fn a_hanging_endpoint_delays_nobody_else_and_loses_nothing() {
    let (app, hanging, healthy) = with_receivers().await;
    hanging.hook(&app.alice, json!({})).await;
    healthy.hook(&app.alice, json!({})).await;
    hanging.hang();
    let created = (0..8).map(|_| app.alice.post("/v1/fleets", fleet()));
    for response in futures::future::join_all(created).await {
        response.expect(200);
    }
    app.drain().await;
    assert_eq!(healthy.received().len(), 8);
    assert_eq!(pending(&app.alice).await, 8);
    let begun = std::time::Instant::now();
    fleets(&app, &app.alice, 4).await;
    assert!(
        begun.elapsed().as_secs() < 15,
        "none of them is attempted where it hangs"
    );
    assert_eq!(healthy.received().len(), 12);
    hanging.recover();
    app.advance(20 * 60).await;
    assert_eq!(pending(&app.alice).await, 0);
    let mut arrived = objects(&hanging, 0);
    arrived.sort();
    arrived.dedup();
    assert_eq!(arrived.len(), 12);
}

#[tokio::test]
async fn disabling_or_deleting_an_endpoint_discards_held_deliveries() {
    let app = TestApp::with_clock().await;
    for ends_deleted in [false, true] {
        let receiver = Receiver::start().await;
        let path = receiver.hook(&app.alice, json!({})).await;
        receiver.answer(&[500; 100]);
        let begun = app.now();
        fleets(&app, &app.alice, 9).await;
        assert_eq!(pending(&app.alice).await, 9);
        if ends_deleted {
            app.alice.delete_ok(&path).await;
        } else {
            let off = json!({"status": "disabled"});
            let off = app.alice.post_ok(&path, off).await;
            let since = off["missed_since"].as_str().map(Timestamp::parse);
            let since = since.expect("a moment").expect("a moment");
            assert!(
                since >= begun && Some(since.to_string().as_str()) < off["disabled_at"].as_str()
            );
        }
        app.advance(3600).await;
        assert_eq!(pending(&app.alice).await, 0);
        let received = receiver.received().len();
        assert!(received < 9, "{received}");
    }
}

#[tokio::test]
async fn an_endpoint_is_sent_no_more_per_second_than_it_takes() {
    let (app, receiver, path) = limited(2, 8).await;
    app.advance(10).await;
    assert_eq!(receiver.received().len(), 8);
    let log = app.alice.get(&format!("{path}/deliveries?limit=100")).await;
    let log = log.expect(200).body["data"].clone();
    let created = |line: &Value| {
        let moment = line["created"].as_str().map(Timestamp::parse);
        moment.expect("a moment").expect("a moment").unix_millis()
    };
    let mut moments: Vec<i64> = log.as_array().expect("lines").iter().map(created).collect();
    moments.sort_unstable();
    let begin_to_end = moments[7] - moments[0];
    assert!(begin_to_end >= 7 * 500 - 100, "{moments:?}");
    let off = json!({"max_per_second": null});
    let shown = app.alice.post_ok(&path, off).await;
    assert_eq!(shown["max_per_second"], Value::Null);
}

#[tokio::test]
async fn a_release_follows_changes_of_its_endpoint() {
    let app = TestApp::with_clock().await;
    for is_disabled in [false, true] {
        let (receiver, other) = (Receiver::start().await, Receiver::start().await);
        let path = receiver
            .hook(&app.alice, json!({"max_per_second": 4}))
            .await;
        receiver.answer(&[500; 100]);
        fleets(&app, &app.alice, 17).await;
        receiver.recover();
        let failed = receiver.received().len();
        let on = json!({"status": "enabled"});
        app.alice.post_ok(&path, on).await;
        let changed = async {
            while receiver.received().len() < failed + 3 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let change = if is_disabled {
                json!({"status": "disabled"})
            } else {
                json!({"url": other.url})
            };
            app.alice.post_ok(&path, change).await;
            receiver.received().len()
        };
        let ((), before) = tokio::join!(app.drain(), changed);
        let after = receiver.received().len() - before;
        assert!(after <= 1, "{after} requests after the change");
        assert_eq!(other.received().is_empty(), is_disabled);
        app.alice.delete_ok(&path).await;
    }
}

#[tokio::test]
async fn a_higher_limit_applies_to_events_that_wait_as_well() {
    let (app, receiver, path) = limited(1, 80).await;
    let faster = json!({"max_per_second": 1000});
    app.alice.post_ok(&path, faster).await;
    let next = fleets(&app, &app.alice, 1).await.remove(0);
    assert!(objects(&receiver, 0).contains(&next), "it does not wait");
    assert!(receiver.received().len() < 40);
    app.advance(35).await;
    assert_eq!(receiver.received().len(), 81);
}

#[tokio::test]
async fn an_endpoint_without_success_for_120_hours_is_disabled() {
    let (app, receiver, other) = with_receivers().await;
    let path = receiver.hook(&app.alice, json!({})).await;
    other
        .subscribe(&app.alice, &["webhook_endpoint.disabled"])
        .await;
    receiver.answer(&[500; 100]);
    fleets(&app, &app.alice, 1).await;
    // The last of the ten attempts is made after about 76 hours.
    app.advance(119 * 3600).await;
    let shown = app.alice.get_ok(&path).await;
    assert_eq!(
        (&shown["status"], receiver.received().len()),
        (&json!("enabled"), 10)
    );
    app.advance(2 * 3600).await;
    let shown = app.alice.get_ok(&path).await;
    assert_eq!(shown["disabled_reason"], "failing");
    let created = app.alice.get_ok("/v1/events?type=fleet.created").await;
    assert_eq!(shown["missed_since"], created["data"][0]["created"]);
    assert_eq!(other.types(), ["webhook_endpoint.disabled"]);
    assert_eq!(receiver.received().len(), 10);
}

#[tokio::test]
async fn an_endpoint_enabled_while_it_fails_has_recovered_later() {
    let app = TestApp::start().await;
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let path = receiver.hook(&app.alice, json!({})).await;
    let about = ["webhook_endpoint.failing", "webhook_endpoint.recovered"];
    other.subscribe(&app.alice, &about).await;
    receiver.answer(&[500; 5]);
    fleets(&app, &app.alice, 6).await;
    assert_eq!(other.types(), about[..1]);
    let on = json!({"status": "enabled"});
    app.alice.post_ok(&path, on).await;
    app.drain().await;
    fleets(&app, &app.alice, 2).await;
    assert_eq!(other.types(), about);
}
