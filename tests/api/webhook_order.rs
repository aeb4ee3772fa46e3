//! Endpoints with `ordered`: the events of one object arrive in their order, one at a time, regardless of failures in between.

use kernel::Mode;
use serde_json::{Value, json};
use tests::{Client, Receiver, TestApp, fleet, header, id_of, path_of, with};

/// Creates an ordered endpoint for the events of fleets. Returns its path.
async fn hook(client: &Client, receiver: &Receiver, events: &[&str]) -> String {
    let body = json!({"url": receiver.url, "enabled_events": events, "ordered": true});
    let endpoint = client.post_ok("/v1/webhook_endpoints", body).await;
    assert_eq!(endpoint["ordered"], true);
    format!("/v1/webhook_endpoints/{}", id_of(&endpoint))
}

const FLEETS: [&str; 3] = ["fleet.created", "fleet.updated", "fleet.deleted"];

async fn rename(client: &Client, id: &str, name: &str) {
    let path = format!("/v1/fleets/{id}");
    client.post_ok(&path, json!({"name": name})).await;
}

/// The numbers of the events about an object in the requests to a receiver, beginning with this one, with its responses.
fn numbers(receiver: &Receiver, from: usize, id: &str) -> Vec<(u64, u16)> {
    let received = receiver.received();
    let of_object = |event: &Value| event["data"]["object"]["id"] == id;
    let received = received[from..]
        .iter()
        .filter(|delivery| of_object(&delivery.event));
    received
        .map(|delivery| {
            (
                delivery.event["sequence"].as_u64().expect("a number"),
                delivery.status,
            )
        })
        .collect()
}

#[tokio::test]
async fn an_event_waits_for_those_before_it_of_its_object() {
    let app = TestApp::with_clock().await;
    let (receiver, plain) = (Receiver::start().await, Receiver::start().await);
    hook(&app.alice, &receiver, &FLEETS).await;
    let unordered = json!({"url": plain.url, "enabled_events": FLEETS});
    let endpoint = app.alice.post("/v1/webhook_endpoints", unordered).await;
    assert_eq!(endpoint.body["ordered"], false);
    receiver.answer(&[500, 500, 200]);
    let first = app.alice.create("/v1/fleets", fleet()).await;
    app.drain().await;
    rename(&app.alice, &first, "Day shift").await;
    rename(&app.alice, &first, "Late shift").await;
    app.drain().await;
    // The retry after five seconds fails, too.
    app.advance(10).await;
    let other = app.alice.create("/v1/fleets", fleet()).await;
    app.drain().await;
    assert_eq!(numbers(&receiver, 0, &first), [(1, 500), (1, 500)]);
    assert_eq!(
        numbers(&receiver, 0, &other),
        [(1, 200)],
        "it does not wait"
    );
    assert_eq!(
        numbers(&plain, 0, &first).len(),
        3,
        "nor does another endpoint"
    );
    app.advance(600).await;
    let all = [(1, 500), (1, 500), (1, 200), (2, 200), (3, 200)];
    assert_eq!(numbers(&receiver, 0, &first), all);
    app.alice.delete_ok(&path_of(&first)).await;
    app.drain().await;
    assert_eq!(numbers(&receiver, 5 + 1, &first), [(4, 200)]);
    let events = app.alice.get("/v1/events?limit=100").await.expect(200);
    let events = events.body["data"].as_array().expect("events").clone();
    assert!(events.iter().all(|event| event["pending_webhooks"] == 0));
}

#[tokio::test]
async fn the_last_attempt_of_an_event_lets_the_next_one_go() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = hook(&app.alice, &receiver, &FLEETS).await;
    receiver.answer(&[500, 500]);
    let id = app.alice.create("/v1/fleets", fleet()).await;
    app.drain().await;
    // The third attempt follows after about five minutes.
    app.advance(10).await;
    rename(&app.alice, &id, "Day shift").await;
    app.drain().await;
    assert_eq!(numbers(&receiver, 0, &id), [(1, 500), (1, 500)]);
    // Disabling the endpoint makes the next attempt of both the last one; the third event is not delivered at all.
    app.alice
        .post_ok(&path, json!({"status": "disabled"}))
        .await;
    rename(&app.alice, &id, "Late shift").await;
    app.drain().await;
    app.advance(3600).await;
    app.alice.post_ok(&path, json!({"status": "enabled"})).await;
    rename(&app.alice, &id, "Night shift").await;
    app.drain().await;
    assert_eq!(numbers(&receiver, 2, &id), [(4, 200)]);
    // A replay is outside the order.
    let body = json!({"from": "2020-01-01T00:00:00Z"});
    app.alice.post_ok(&format!("{path}/replay"), body).await;
    app.drain().await;
    assert_eq!(numbers(&receiver, 3, &id), [(1, 200), (2, 200), (3, 200)]);
    let marked = receiver.received()[3..].to_vec();
    assert!(
        marked
            .iter()
            .all(|delivery| header(delivery, "webhook-redelivery") == "true")
    );
    rename(&app.alice, &id, "Early shift").await;
    app.drain().await;
    assert_eq!(numbers(&receiver, 6, &id), [(5, 200)]);
}

#[tokio::test]
async fn an_event_that_waits_can_be_sent_at_once() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    hook(&app.alice, &receiver, &FLEETS).await;
    receiver.answer(&[500, 500]);
    let id = app.alice.create("/v1/fleets", fleet()).await;
    app.drain().await;
    // The third attempt follows after about five minutes.
    app.advance(10).await;
    rename(&app.alice, &id, "Day shift").await;
    rename(&app.alice, &id, "Late shift").await;
    app.drain().await;
    let list = app.alice.get_ok("/v1/events?type=fleet.updated").await;
    let second = &list["data"][1];
    assert_eq!(second["sequence"], 2);
    let resend = format!("/v1/events/{}/redeliver", id_of(second));
    app.alice.post_ok(&resend, json!({})).await;
    app.drain().await;
    assert_eq!(numbers(&receiver, 0, &id), [(1, 500), (1, 500), (2, 200)]);
    app.advance(600).await;
    let rest = [(1, 200), (3, 200)];
    assert_eq!(numbers(&receiver, 3, &id), rest, "2 is not sent again");
}

#[tokio::test]
async fn events_that_an_endpoint_does_not_want_hold_nothing_up() {
    let app = TestApp::with_clock().await;
    let bob = app.other_account(Mode::Test).await;
    let (receiver, theirs) = (Receiver::start().await, Receiver::start().await);
    let older = app.alice.create("/v1/fleets", fleet()).await;
    app.advance(60).await;
    hook(&app.alice, &receiver, &["fleet.updated", "fleet.deleted"]).await;
    hook(&bob, &theirs, &FLEETS).await;
    app.advance(60).await;
    let newer = app
        .alice
        .create("/v1/fleets", with(fleet(), json!({"name": "New"})))
        .await;
    for id in [&older, &newer] {
        rename(&app.alice, id, "Day shift").await;
        rename(&app.alice, id, "Late shift").await;
        app.drain().await;
        assert_eq!(numbers(&receiver, 0, id), [(2, 200), (3, 200)]);
    }
    assert!(theirs.received().is_empty());
}

#[tokio::test]
async fn an_unwanted_event_sends_the_lost_one_before_it() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    hook(&app.alice, &receiver, &["fleet.created"]).await;
    let id = app.alice.create("/v1/fleets", fleet()).await;
    app.running().lose_messages().await.expect("lost");
    rename(&app.alice, &id, "Day shift").await;
    app.drain().await;
    assert_eq!(numbers(&receiver, 0, &id), [(1, 200)]);
}
