//! Replays of webhook endpoints: missed and failed deliveries are repeated, in order, and no others.

use std::time::Duration;

use kernel::Mode;
use serde_json::{Value, json};
use tests::{Receiver, TestApp, assert_has, cases, fleet, header, path_of};

use crate::webhook_breakers::objects;

/// Creates fleets one after another. Returns their ids.
async fn fleets(app: &TestApp, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(app.alice.create("/v1/fleets", fleet()).await);
        app.advance(1).await;
    }
    ids
}

async fn replay(app: &TestApp, path: &str, body: Value) -> Value {
    let started = app.alice.post(&format!("{path}/replay"), body).await;
    assert_has!(started.expect(200).body, {"status": "running", "delivered": 0});
    app.drain().await;
    app.alice.get_ok(&format!("{path}/replay")).await
}

#[tokio::test]
async fn what_was_missed_while_disabled_is_replayed_in_order() {
    let app = TestApp::with_clock().await;
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let path = receiver.hook(&app.alice, json!({})).await;
    other.hook(&app.alice, json!({})).await;
    fleets(&app, 2).await;
    let off = json!({"status": "disabled"});
    app.alice.post_ok(&path, off).await;
    app.advance(10).await;
    let missed = fleets(&app, 12).await;
    let too_soon = json!({"from": app.in_minutes(-5)});
    let refused = app.alice.post(&format!("{path}/replay"), too_soon).await;
    refused.expect_error(409, None, None);
    let on = json!({"status": "enabled"});
    let enabled = app.alice.post_ok(&path, on).await;
    assert_eq!(receiver.received().len(), 2);
    let from = enabled["missed_since"].as_str().expect("a moment");
    let done = replay(&app, &path, json!({"from": from})).await;
    assert_has!(done, {"status": "succeeded", "delivered": 12, "failed": 0});
    assert!(done["finished_at"].is_string() && done["position"] == done["until"]);
    // Ten are sent at the same time, so that neighbours may overtake one another, but not those of the next ten.
    let arrived = objects(&receiver, 2);
    let (mut first, mut sent) = (arrived[..10].to_vec(), missed[..10].to_vec());
    first.sort();
    sent.sort();
    assert_eq!(first, sent);
    assert_eq!(arrived.len(), 12);
    let marks = receiver.received();
    let marks: Vec<_> = marks
        .iter()
        .map(|delivery| header(delivery, "webhook-redelivery"))
        .collect();
    assert_eq!((marks[1], marks[2]), ("", "true"));
    // The other endpoint received everything at first, and nothing again.
    assert_eq!(other.received().len(), 14);
    assert_eq!(app.alice.get_ok(&path).await["missed_since"], Value::Null);
    let again = replay(&app, &path, json!({"from": from})).await;
    assert_eq!(again["delivered"], 0, "all of them are acknowledged by now");
    let all = replay(&app, &path, json!({"from": from, "only_failed": false})).await;
    assert_eq!(
        (&all["delivered"], receiver.received().len()),
        (&json!(12), 26)
    );
    let events = app.alice.get_ok("/v1/events?limit=100").await["data"].clone();
    for event in events.as_array().expect("events") {
        assert_eq!(event["pending_webhooks"], 0, "{event}");
    }
    let line = app.alice.get(&format!("{path}/deliveries?limit=1")).await;
    assert_eq!(line.body["data"][0]["redelivery"], true);
}

#[tokio::test]
async fn events_about_one_object_are_replayed_one_after_another() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = receiver
        .hook(
            &app.alice,
            json!({"enabled_events": ["fleet.created", "fleet.updated"]}),
        )
        .await;
    let id = fleets(&app, 1).await.remove(0);
    for number in 0..7 {
        let change = json!({"name": format!("Fleet {number}")});
        let fleet = format!("/v1/fleets/{id}");
        app.alice.post_ok(&fleet, change).await;
        app.advance(1).await;
    }
    let before: Vec<Value> = receiver
        .received()
        .into_iter()
        .map(|delivery| delivery.event)
        .collect();
    assert_eq!(before.len(), 8);
    let body = json!({"from": app.in_minutes(-10), "only_failed": false});
    assert_eq!(replay(&app, &path, body).await["delivered"], 8);
    let ids = |events: &[Value]| {
        events
            .iter()
            .map(|event| event["id"].clone())
            .collect::<Vec<_>>()
    };
    let after: Vec<Value> = receiver
        .received()
        .into_iter()
        .map(|delivery| delivery.event)
        .collect();
    let mut want = ids(&before);
    want.sort_by_key(Value::to_string);
    assert_eq!(
        ids(&after[8..]),
        want,
        "in the order of the events, whose ids sort by time"
    );
    let body =
        json!({"from": app.in_minutes(-10), "only_failed": false, "types": ["fleet.created"]});
    assert_eq!(replay(&app, &path, body).await["delivered"], 1);
}

#[tokio::test]
async fn live_events_of_an_ordered_endpoint_wait_for_its_replay() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let body = json!({"url": receiver.url, "enabled_events": ["fleet.created", "fleet.updated"],
        "ordered": true, "max_per_second": 4});
    let path = app.alice.create("/v1/webhook_endpoints", body).await;
    let path = format!("/v1/webhook_endpoints/{path}");
    let id = fleets(&app, 1).await.remove(0);
    let rename = async |name: &str| {
        let change = json!({"name": name});
        let fleet = format!("/v1/fleets/{id}");
        app.alice.post_ok(&fleet, change).await;
    };
    for name in ["Two", "Three", "Four"] {
        rename(name).await;
        app.advance(1).await;
    }
    let body = json!({"from": app.in_minutes(-10), "only_failed": false});
    let started = app.alice.post(&format!("{path}/replay"), body).await;
    started.expect(200);
    // The replay takes most of a second, because of the endpoint's rate limit.
    let live = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        rename("Five").await;
        app.drain().await;
    };
    tokio::join!(app.drain(), live);
    app.advance(15).await;
    let received = receiver.received();
    let numbers: Vec<u64> = received
        .iter()
        .filter_map(|delivery| delivery.event["sequence"].as_u64())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 1, 2, 3, 4, 5]);
    assert_eq!(header(&received[8], "webhook-redelivery"), "");
}

#[tokio::test]
async fn what_a_breaker_holds_does_not_overtake_a_replay() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let body = json!({"url": receiver.url, "enabled_events": ["fleet.created", "fleet.updated"], "ordered": true});
    let path = app.alice.create("/v1/webhook_endpoints", body).await;
    let path = format!("/v1/webhook_endpoints/{path}");
    let id = fleets(&app, 1).await.remove(0);
    receiver.answer(&[500; 5]);
    // The last event is held before the replay begins.
    fleets(&app, 6).await;
    let failed = receiver.received().len();
    let body = json!({"from": app.in_minutes(-10), "types": ["fleet.created", "fleet.updated"], "only_failed": false});
    let started = app.alice.post(&format!("{path}/replay"), body).await;
    started.expect(200);
    let change = json!({"name": "Two"});
    app.alice.post_ok(&format!("/v1/fleets/{id}"), change).await;
    for _ in 0..20 {
        app.advance(60).await;
    }
    let done = app.alice.get_ok(&format!("{path}/replay")).await;
    assert_has!(done, {"status": "succeeded"});
    let received = receiver.received();
    let of_first = received[failed..]
        .iter()
        .filter(|delivery| delivery.event["data"]["object"]["id"] == *id);
    let numbers: Vec<_> = of_first
        .map(|delivery| delivery.event["sequence"].as_u64().expect("a number"))
        .collect();
    assert_eq!(numbers, [1, 2]);
}

#[tokio::test]
async fn a_replay_resends_failed_deliveries_and_retries_new_failures() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = receiver.hook(&app.alice, json!({})).await;
    let limit = json!({"max_per_second": 1000});
    app.alice.post_ok(&path, limit).await;
    receiver.answer(&[200, 410]);
    let ids = fleets(&app, 2).await;
    app.alice.post_ok(&path, json!({"status": "enabled"})).await;
    assert_eq!(receiver.received().len(), 2);
    receiver.answer(&[500]);
    let from = app.in_minutes(-60);
    assert_has!(replay(&app, &path, json!({"from": from})).await, {"delivered": 0, "failed": 1});
    app.advance(10).await;
    assert_eq!(objects(&receiver, 2), [ids[1].clone(), ids[1].clone()]);
    let received = receiver.received();
    assert_eq!(header(&received[3], "webhook-redelivery"), "true");
    let event = header(&received[3], "webhook-id");
    let lines = app
        .alice
        .get(&format!("/v1/events/{event}/deliveries"))
        .await;
    let attempts: Vec<_> = lines.body["data"]
        .as_array()
        .expect("lines")
        .iter()
        .map(|line| line["attempt"].clone())
        .collect();
    assert_eq!(attempts, [3, 2, 1]);
    let shown = app.alice.get(&path_of(&event)).await;
    assert_eq!(shown.body["pending_webhooks"], 0);
}

#[tokio::test]
async fn a_replay_probes_an_endpoint_for_which_nothing_is_held() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let path = receiver.hook(&app.alice, json!({})).await;
    let from = app.in_minutes(-60);
    receiver.answer(&[500; 10]);
    let ids = fleets(&app, 1).await;
    app.advance(4 * 24 * 3600).await;
    assert_eq!(receiver.received().len(), 10, "all attempts were made");
    // The first attempt of the replay is the probe; that attempt is repeated as any other.
    receiver.answer(&[500]);
    assert_has!(replay(&app, &path, json!({"from": from})).await, {"status": "running", "failed": 1});
    for _ in 0..5 {
        app.advance(60).await;
    }
    let done = app.alice.get(&format!("{path}/replay")).await;
    assert_has!(done.expect(200).body, {"status": "succeeded", "delivered": 0, "failed": 1});
    assert_eq!(objects(&receiver, 11), ids);
}

/// Creates an endpoint that is sent four requests per second, and replays twelve events at it. In the meantime the endpoint is changed,
/// after some of the requests. Returns the path of the endpoint, the replay, and the number of requests before the change and after it.
async fn changed_while_replaying(
    app: &TestApp,
    receiver: &Receiver,
    change: Value,
) -> (String, Value, usize, usize) {
    fleets(app, 12).await;
    let path = receiver.hook(&app.alice, json!({})).await;
    let limit = json!({"max_per_second": 4});
    app.alice.post_ok(&path, limit).await;
    let body = json!({"from": app.in_minutes(-5)});
    app.alice.post_ok(&format!("{path}/replay"), body).await;
    let changed = async {
        while receiver.received().len() < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        app.alice.post_ok(&path, change).await;
        receiver.received().len()
    };
    let ((), before) = tokio::join!(app.drain(), changed);
    let replay = app.alice.get_ok(&format!("{path}/replay")).await;
    let after = receiver.received().len() - before;
    (path, replay, before, after)
}

#[tokio::test]
async fn a_replay_follows_changes_of_its_endpoint() {
    let app = TestApp::with_clock().await;
    let (receiver, other) = (Receiver::start().await, Receiver::start().await);
    let change = json!({"url": other.url});
    let (path, done, before, after) = changed_while_replaying(&app, &receiver, change).await;
    assert_has!(done, {"status": "succeeded", "delivered": 12});
    assert!(after <= 1, "{after} requests to the old URL");
    assert_eq!(before + after + other.received().len(), 12);
    app.alice.delete_ok(&path).await;
    let receiver = Receiver::start().await;
    let off = json!({"status": "disabled"});
    let (_, ended, before, after) = changed_while_replaying(&app, &receiver, off).await;
    assert_has!(ended, {"status": "failed", "failed_reason": "endpoint_disabled"});
    assert!(after <= 1, "{after} requests after it was disabled");
    let delivered = ended["delivered"].as_u64().expect("a number") as usize;
    assert!((before..=before + after).contains(&delivered), "{ended}");
}

#[tokio::test]
async fn a_replay_waits_once_its_endpoint_fails() {
    let app = TestApp::with_clock().await;
    let ids = fleets(&app, 30).await;
    let receiver = Receiver::start().await;
    let path = receiver.hook(&app.alice, json!({})).await;
    receiver.answer(&[500; 100]);
    let body = json!({"from": app.in_minutes(-60)});
    let waiting = replay(&app, &path, body).await;
    assert_has!(waiting, {"status": "running", "delivered": 0, "failed": 10});
    assert_eq!(receiver.received().len(), 10);
    receiver.recover();
    for _ in 0..15 {
        app.advance(60).await;
    }
    let done = app.alice.get_ok(&format!("{path}/replay")).await;
    assert_has!(done, {"status": "succeeded", "delivered": 20, "failed": 10});
    let received = receiver.received();
    let mut acknowledged: Vec<_> = received
        .iter()
        .filter(|delivery| delivery.status == 200)
        .filter_map(|delivery| delivery.event["data"]["object"]["id"].as_str())
        .collect();
    acknowledged.sort_unstable();
    assert_eq!(acknowledged, ids, "each of them once");
}

#[tokio::test]
async fn a_replay_ends_when_its_endpoint_is_disabled_and_is_alone() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let path = receiver.hook(&app.alice, json!({})).await;
    let bob = app.other_account(Mode::Test).await;
    let replay = format!("{path}/replay");
    let none = app.alice.get(&replay).await;
    none.expect_error(404, "webhook_replay_not_found", "webhook_replay");
    for (wrong, param) in cases! {
        {} => "from",
        {"from": "yesterday"} => "from",
        {"from": app.in_minutes(5)} => "from",
        {"from": app.in_minutes(-5), "until": app.in_minutes(-6)} => "until",
        {"from": app.in_minutes(-5), "types": []} => "types",
        {"from": app.in_minutes(-5), "types": ["fleet.exploded"]} => "types[0]",
        {"from": app.in_minutes(-5), "types": ["fleet.created", "fleet.updated"]} => "types",
        {"from": app.in_minutes(-5), "all": true} => "all",
    } {
        let refused = app.alice.post(&replay, wrong.clone()).await;
        assert_eq!(
            (refused.status, refused.error().3),
            (400, Some(param)),
            "{wrong}"
        );
    }
    let body = json!({"from": app.in_minutes(-5)});
    let strange = bob.post(&replay, body.clone()).await;
    strange.expect_error(404, "webhook_endpoint_not_found", "webhook_endpoint");
    fleets(&app, 1).await;
    app.running().lose_triggers().await.expect("lost");
    let rival = app.alice.post(&replay, body.clone());
    let (response, other) = tokio::join!(app.alice.post(&replay, body.clone()), rival);
    let mut statuses = [response.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    app.alice
        .post_ok(&path, json!({"status": "disabled"}))
        .await;
    app.drain().await;
    let shown = app.alice.get_ok(&replay).await;
    let ended = ["failed", "succeeded"].map(Value::from);
    assert!(ended.contains(&shown["status"]), "{shown}");
}
