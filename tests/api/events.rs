//! `/v1/events`: what happened, to what, by which request.

use serde_json::{Value, json};
use tests::{TestApp, fleet, with};

#[tokio::test]
async fn a_change_is_an_event_that_tells_what_was_before() {
    let app = TestApp::start().await;
    let made = app.alice.post("/v1/fleets", fleet()).await;
    let path = format!("/v1/fleets/{}", made.id());
    let change = json!({"name": "Day shift", "metadata": {"k": "v"}}).to_string();
    let changed = app
        .alice
        .send("POST", &path, Some(change), &[("idempotency-key", "n")])
        .await
        .expect(200);
    app.drain().await;
    let events = app.alice.get("/v1/events").await.expect(200).body["data"].clone();
    let (updated, created) = (&events[0], &events[1]);
    // A whole number is stored as one.
    let shown = with(
        changed.body.clone(),
        json!({"total_energy_consumed_kwh": 0}),
    );
    let want = json!({"id": updated["id"], "object": "event", "account": app.alice.account, "api_version": "2026-03-01",
        "created": changed.body["updated"], "livemode": false, "pending_webhooks": 0, "type": "fleet.updated",
        "request": {"id": changed.header("service-request-id"), "idempotency_key": "n"},
        "data": {"object": shown, "previous_attributes":
            {"name": "Night shift", "metadata": {"k": null}, "updated": made.body["updated"]}}});
    assert_eq!(*updated, want);
    assert_eq!(
        (&created["type"], &created["data"]),
        (
            &json!("fleet.created"),
            &json!({"object": with(made.body.clone(), json!({"total_energy_consumed_kwh": 0}))})
        )
    );
    assert_eq!(created["request"]["idempotency_key"], Value::Null);
    let id = updated["id"].as_str().expect("an id");
    assert_eq!(app.alice.get(&format!("/v1/events/{id}")).await.body, want);
}

#[tokio::test]
async fn a_fleet_is_not_said_to_change_when_it_only_counts() {
    let app = TestApp::start().await;
    app.crew(&app.alice).await;
    app.drain().await;
    let events = app.alice.get("/v1/events?limit=100").await.expect(200).body["data"].clone();
    let mut types: Vec<_> = events
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    types.reverse();
    assert_eq!(
        types,
        [
            "fleet.created",
            "driver.created",
            "driver.attached",
            "vehicle.created"
        ]
    );
}

#[tokio::test]
async fn events_are_found_by_type_and_time() {
    let app = TestApp::start().await;
    app.alice.post("/v1/fleets", fleet()).await.expect(200);
    app.drain().await;
    app.advance(3600).await;
    let between = app.in_minutes(-30);
    app.crew(&app.alice).await;
    app.drain().await;
    let count = async |query: &str| {
        app.alice
            .get(&format!("/v1/events?{query}"))
            .await
            .expect(200)
            .ids()
            .len()
    };
    assert_eq!(count("type=fleet.created").await, 2);
    assert_eq!(
        count(&format!("type=fleet.created&created[gte]={between}")).await,
        1
    );
    assert_eq!(count(&format!("created[lt]={between}")).await, 1);
    assert_eq!(
        count(&format!("created[gt]={between}&created[lte]={between}")).await,
        0
    );
    let first = app
        .alice
        .get(&format!("/v1/events?created[lte]={between}"))
        .await
        .body["data"][0]
        .clone();
    let at = first["created"].as_str().expect("a time");
    assert_eq!(
        count(&format!("created[gte]={at}&created[lte]={at}")).await,
        1
    );
    assert_eq!(count(&format!("created[lt]={at}")).await, 0);
    let wrong = app.alice.get("/v1/events?created[gte]=yesterday").await;
    assert_eq!(
        wrong.error(),
        (400, "invalid_request_error", None, Some("created[gte]"))
    );
    let wrong = app.alice.get("/v1/events?type=fleet.exploded").await;
    assert_eq!(
        wrong.error(),
        (400, "invalid_request_error", None, Some("type"))
    );
}
