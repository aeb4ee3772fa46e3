//! The information that an account receives about its webhook endpoints: operational events, the health of an endpoint, and the time
//! since which it missed events.

use serde_json::{Value, json};
use tests::{Receiver, TestApp, assert_has, fleet};

const OPERATIONAL: [&str; 4] = [
    "webhook_delivery.exhausted",
    "webhook_endpoint.disabled",
    "webhook_endpoint.failing",
    "webhook_endpoint.recovered",
];

async fn new_fleet(app: &TestApp) {
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
}

#[tokio::test]
async fn other_endpoints_are_told_of_failing_exhausted_and_recovered() {
    let app = TestApp::with_clock().await;
    let (failing, other) = (Receiver::start().await, Receiver::start().await);
    let path = failing
        .hook(&app.alice, json!({"enabled_events": ["*"]}))
        .await;
    other
        .hook(&app.alice, json!({"enabled_events": OPERATIONAL}))
        .await;
    failing.answer(&[500; 10]);
    new_fleet(&app).await;
    app.advance(4 * 24 * 3600).await;
    assert_eq!(failing.received().len(), 10);
    let told = ["webhook_endpoint.failing", "webhook_delivery.exhausted"];
    assert_eq!(other.types(), told);
    let endpoint = path.rsplit('/').next().expect("an id");
    let events = other.received();
    assert_eq!(events[0].event["data"]["object"]["id"], endpoint);
    let last = app.alice.get(&format!("{path}/deliveries?limit=1")).await;
    let last = last.expect(200).body["data"][0].clone();
    assert_eq!(events[1].event["data"]["object"], last);
    assert_has!(last, {"attempt": 10, "next_attempt": null});
    // The next event is the probe that succeeds.
    new_fleet(&app).await;
    app.advance(60).await;
    assert_eq!(
        other.types().last().map(String::as_str),
        Some(OPERATIONAL[3])
    );
    assert_eq!(other.types().len(), 3);
    // The endpoint receives no events about itself.
    assert!(failing.types().iter().all(|kind| kind == "fleet.created"));
    assert_eq!(app.alice.get_ok(&path).await["missed_since"], Value::Null);
}

#[tokio::test]
async fn failing_operational_events_do_not_multiply() {
    let app = TestApp::with_clock().await;
    let receivers = [Receiver::start().await, Receiver::start().await];
    for receiver in &receivers {
        receiver.answer(&[500; 500]);
        receiver
            .hook(&app.alice, json!({"enabled_events": ["*"]}))
            .await;
    }
    new_fleet(&app).await;
    app.advance(12 * 24 * 3600).await;
    let events = app.alice.get("/v1/events?limit=100").await.expect(200);
    let count = |kind: &str| {
        let all = events.body["data"].as_array().expect("events").iter();
        all.filter(|event| event["type"] == kind).count()
    };
    // One for each endpoint: for the delivery of the fleet's event, and none for the deliveries of these events.
    assert_eq!(count("webhook_delivery.exhausted"), 2);
    assert_eq!(count("webhook_endpoint.failing"), 2);
    assert!(count("webhook_endpoint.disabled") <= 2);
    let sum: usize = receivers
        .iter()
        .map(|receiver| receiver.received().len())
        .sum();
    assert!(sum <= 100, "{sum} attempts");
}

#[tokio::test]
async fn health_follows_from_the_attempts_of_the_last_day() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = receiver.hook(&app.alice, json!({})).await;
    let health = async || app.alice.get_ok(&path).await["health"].clone();
    let none = json!({"attempts": 0, "last_failure": null, "p50_ms": null, "p95_ms": null, "success_rate": null});
    assert_eq!(health().await, none);
    receiver.answer(&[200, 503, 200]);
    for _ in 0..2 {
        new_fleet(&app).await;
    }
    app.advance(10).await;
    new_fleet(&app).await;
    let shown = health().await;
    assert_has!(shown, {"attempts": 4, "success_rate": 0.75});
    let line = app
        .alice
        .get(&format!("{path}/deliveries?status=failed"))
        .await;
    let line = line.expect(200).body["data"][0].clone();
    let reason = "The receiver responded with status 503.";
    let failure = json!({"at": line["created"], "reason": reason, "status": 503});
    assert_eq!(shown["last_failure"], failure);
    assert!(shown["p50_ms"].as_u64() <= shown["p95_ms"].as_u64());
    // In lists it is omitted.
    let list = app.alice.get_ok("/v1/webhook_endpoints").await;
    assert_eq!(list["data"][0]["health"], Value::Null);
    app.advance(25 * 3600).await;
    assert_eq!(health().await, none);
}

#[tokio::test]
async fn late_first_attempts_are_listed_at_their_own_times() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    for _ in 0..3 {
        new_fleet(&app).await;
    }
    app.advance(3 * 24 * 3600).await;
    let path = receiver.hook(&app.alice, json!({})).await;
    let replay = json!({"from": app.in_minutes(-4 * 24 * 60)});
    app.alice.post_ok(&format!("{path}/replay"), replay).await;
    app.drain().await;
    new_fleet(&app).await;
    assert_eq!(receiver.received().len(), 4);
    let listed = async |path: String| app.alice.get(&path).await.ids().len();
    let hour_ago = app.in_minutes(-60);
    assert_eq!(
        listed(format!("{path}/deliveries?created[gte]={hour_ago}")).await,
        4
    );
    assert_eq!(
        listed(format!("{path}/deliveries?created[lt]={hour_ago}")).await,
        0
    );
    assert_eq!(app.alice.get_ok(&path).await["health"]["attempts"], 4);
    for delivery in receiver.received() {
        let event = tests::header(&delivery, "webhook-id");
        assert_eq!(listed(format!("/v1/events/{event}/deliveries")).await, 1);
    }
}

#[tokio::test]
async fn an_endpoint_is_not_sent_what_it_no_longer_selects() {
    let app = TestApp::with_clock().await;
    let (receiver, new) = (Receiver::start().await, Receiver::start().await);
    let path = receiver
        .hook(&app.alice, json!({"enabled_events": ["*"]}))
        .await;
    receiver.answer(&[500; 9]);
    for _ in 0..30 {
        new_fleet(&app).await;
    }
    let change = json!({"url": new.url, "enabled_events": ["driver.created"]});
    app.alice.post_ok(&path, change).await;
    app.alice.post_ok("/v1/drivers", tests::driver()).await;
    // Held events that it no longer selects do not delay the probe.
    app.advance(20 * 60).await;
    assert_eq!(new.types(), ["driver.created"]);
    app.advance(4 * 24 * 3600).await;
    assert_eq!(new.types(), ["driver.created"]);
    let events = app.alice.get_ok("/v1/events?type=fleet.created").await;
    for event in events["data"].as_array().expect("events") {
        assert_eq!(event["pending_webhooks"], 0);
    }
    let log = app.alice.get_ok(&format!("{path}/deliveries")).await;
    assert_has!(log["data"][0], {"status": "failed", "response_status": null,
        "response": "the endpoint no longer receives such events"});
    let shown = app.alice.get_ok(&path).await;
    assert_has!(shown, {"status": "enabled", "missed_since": null});
}

#[tokio::test]
async fn health_looks_at_no_more_than_a_hundred_attempts() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let path = receiver.hook(&app.alice, json!({})).await;
    for _ in 0..14 {
        let requests = (0..10).map(|_| app.alice.post("/v1/fleets", fleet()));
        futures::future::join_all(requests).await;
        app.drain().await;
    }
    assert_eq!(receiver.received().len(), 140);
    let shown = app.alice.get_ok(&path).await["health"].clone();
    let attempts = shown["attempts"].as_u64().expect("a number");
    assert!((60..=100).contains(&attempts), "{shown}");
    assert_eq!(shown["success_rate"], 1.0);
}

#[tokio::test]
async fn a_replay_from_missed_since_on_misses_nothing() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = receiver.hook(&app.alice, json!({})).await;
    // The first delivery waits for its next attempt when the endpoint is disabled; the second is acknowledged in between.
    receiver.answer(&[500, 200]);
    new_fleet(&app).await;
    new_fleet(&app).await;
    let refused = receiver.received()[0].event["id"].clone();
    let off = json!({"status": "disabled"});
    app.alice.post_ok(&path, off).await;
    app.advance(600).await;
    new_fleet(&app).await;
    let on = json!({"status": "enabled"});
    let shown = app.alice.post_ok(&path, on).await;
    assert_eq!(receiver.received().len(), 2);
    let body = json!({"from": shown["missed_since"]});
    let replay = format!("{path}/replay");
    app.alice.post_ok(&replay, body).await;
    app.drain().await;
    let done = app.alice.get_ok(&replay).await;
    assert_eq!(done["delivered"], 2, "{done}");
    let ids: Vec<_> = receiver
        .received()
        .iter()
        .map(|delivery| delivery.event["id"].clone())
        .collect();
    assert!(ids[2..].contains(&refused));
    assert_eq!(app.alice.get_ok(&path).await["missed_since"], Value::Null);
}

#[tokio::test]
async fn an_event_after_enabling_is_not_given_up() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = receiver.hook(&app.alice, json!({})).await;
    receiver.answer(&[500]);
    new_fleet(&app).await;
    let off = json!({"status": "disabled"});
    app.alice.post_ok(&path, off).await;
    // The worker gives up due deliveries, and caches for a moment that the endpoint is disabled.
    app.advance(7).await;
    assert_eq!(receiver.received().len(), 1);
    let on = json!({"status": "enabled"});
    app.alice.post_ok(&path, on).await;
    new_fleet(&app).await;
    let events = app.alice.get("/v1/events?type=fleet.created").await;
    let received: Vec<_> = receiver
        .received()
        .iter()
        .map(|delivery| delivery.event["id"].clone())
        .collect();
    assert!(received.contains(&events.body["data"][0]["id"]));
}
