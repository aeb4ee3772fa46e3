//! Webhook endpoints with `fleets`: they are sent the events of these fleets only.

use kernel::Mode;
use serde_json::{Value, json};
use tests::{Client, Receiver, TestApp, assert_has, fleet, id_of, vehicle};

/// Creates an endpoint for all events of these fleets. Returns its path.
async fn hook(client: &Client, receiver: &Receiver, fleets: &[&str]) -> String {
    let body = json!({"url": receiver.url, "enabled_events": ["*"], "fleets": fleets});
    let endpoint = client.post_ok("/v1/webhook_endpoints", body).await;
    assert_eq!(endpoint["fleets"], json!(fleets));
    format!("/v1/webhook_endpoints/{}", id_of(&endpoint))
}

fn sorted(mut types: Vec<String>) -> Vec<String> {
    types.sort();
    types.dedup();
    types
}

#[tokio::test]
async fn an_endpoint_is_sent_the_events_of_its_fleets_only() {
    let app = TestApp::with_clock().await;
    let (ours, theirs, all) = (
        Receiver::start().await,
        Receiver::start().await,
        Receiver::start().await,
    );
    let alice = &app.alice;
    let crew = app.crew(alice).await;
    let other = alice.create("/v1/fleets", fleet()).await;
    app.drain().await;
    hook(alice, &ours, &[&crew.fleet]).await;
    hook(alice, &theirs, &[&other]).await;
    hook(alice, &all, &[]).await;
    let name = json!({"name": "Late shift"});
    for path in [
        format!("/v1/fleets/{}", crew.fleet),
        format!("/v1/drivers/{}", crew.driver),
    ] {
        alice.post_ok(&path, name.clone()).await;
    }
    let plate = json!({"registration_plate": "AB12 CDF"});
    let path = format!("/v1/vehicles/{}", crew.vehicle);
    alice.post_ok(&path, plate).await;
    let station = app.station(json!({})).await;
    let session = app.session(&crew, &station);
    let session = alice.post("/v1/charging_sessions", session).await;
    app.advance(600).await;
    let stop = format!("/v1/charging_sessions/{}/stop", session.expect(200).id());
    alice.post_ok(&stop, json!({})).await;
    app.drain().await;
    let invoice = json!({"fleet": crew.fleet, "period_start": app.in_minutes(-60), "period_end": app.in_minutes(60)});
    alice.post_ok("/v1/invoices", invoice).await;
    let reservation = app.reservation(&crew, 120);
    alice.post_ok("/v1/reservations", reservation).await;
    alice
        .post_ok("/v1/policies", json!({"name": "Free", "rules": {}}))
        .await;
    app.drain().await;
    app.advance(95 * 60).await;
    let whole = sorted(all.types());
    for kind in [
        "charging_session.completed",
        "driver.updated",
        "fleet.updated",
        "invoice.created",
        "policy.created",
        "reservation.confirmed",
        "reservation.created",
        "vehicle.updated",
    ] {
        assert!(
            whole.iter().any(|event_type| event_type == kind),
            "{kind}: {whole:?}"
        );
    }
    let mut want = whole.clone();
    want.retain(|kind| kind != "policy.created");
    assert_eq!(sorted(ours.types()), want);
    assert_eq!(theirs.types(), Vec::<String>::new());
    // A fleet is notified when a driver joins it, and when it leaves.
    let path = format!("/v1/drivers/{}", crew.driver);
    let body = json!({"fleet": other});
    for verb in ["attach", "detach"] {
        let done = alice.post(&format!("{path}/{verb}"), body.clone()).await;
        done.expect(200);
    }
    app.drain().await;
    assert_eq!(
        sorted(theirs.types()),
        ["driver.attached", "driver.detached"]
    );
}

#[tokio::test]
async fn redelivery_and_replay_send_events_of_the_fleets_only() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    let alice = &app.alice;
    let ours = alice.create("/v1/fleets", fleet()).await;
    let other = alice.create("/v1/fleets", fleet()).await;
    app.advance(1).await;
    let path = hook(alice, &receiver, &[&ours]).await;
    let body = json!({"from": app.in_minutes(-10), "only_failed": false});
    alice.post_ok(&format!("{path}/replay"), body).await;
    app.drain().await;
    assert_has!(alice.get_ok(&format!("{path}/replay")).await, {"status": "succeeded", "delivered": 1});
    let of = |id: &Value| {
        receiver
            .received()
            .iter()
            .filter(|delivery| delivery.event["data"]["object"]["id"] == *id)
            .count()
    };
    assert_eq!((of(&json!(ours)), of(&json!(other))), (1, 0));
    for event in alice.get("/v1/events?type=fleet.created").await.ids() {
        let path = format!("/v1/events/{event}/redeliver");
        alice.post_ok(&path, json!({})).await;
    }
    app.drain().await;
    assert_eq!((of(&json!(ours)), of(&json!(other))), (2, 0));
    // Without a filter it receives both again.
    alice.post_ok(&path, json!({"fleets": []})).await;
    for event in alice.get("/v1/events?type=fleet.created").await.ids() {
        let path = format!("/v1/events/{event}/redeliver");
        alice.post_ok(&path, json!({})).await;
    }
    app.drain().await;
    assert_eq!((of(&json!(ours)), of(&json!(other))), (3, 1));
}

#[tokio::test]
async fn only_fleets_of_the_account_can_be_named() {
    let app = TestApp::start().await;
    let bob = app.other_account(Mode::Test).await;
    let strange = bob.create("/v1/fleets", fleet()).await;
    let own = app.alice.create("/v1/fleets", fleet()).await;
    let driver = app.alice.create("/v1/drivers", tests::driver()).await;
    let car = app.alice.create("/v1/vehicles", vehicle(&own)).await;
    let hook = |fleets: Value| json!({"url": "https://fleet.example/hook", "enabled_events": ["*"], "fleets": fleets});
    let endpoint = app
        .alice
        .post("/v1/webhook_endpoints", hook(json!([own])))
        .await;
    let path = format!("/v1/webhook_endpoints/{}", endpoint.id());
    for unknown in [&strange, &driver, &car] {
        let created = app
            .alice
            .post("/v1/webhook_endpoints", hook(json!([own, unknown])))
            .await;
        created.expect_error(404, "fleet_not_found", "fleets");
        let updated = app.alice.post(&path, json!({"fleets": [unknown]})).await;
        updated.expect_error(404, "fleet_not_found", "fleets");
    }
    let many: Vec<String> = (0..101).map(|number| format!("fl_{number}")).collect();
    for wrong in [json!(many), json!([own, own]), json!(null), json!(own)] {
        let refused = app.alice.post(&path, json!({"fleets": wrong})).await;
        refused.expect_error(400, None, "fleets");
    }
    assert_eq!(
        app.alice.get_ok(&path).await["fleets"],
        endpoint.body["fleets"]
    );
}
