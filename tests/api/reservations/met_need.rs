//! Tests of needs that are met already, when a vehicle has nothing to charge.

use serde_json::{Value, json};
use tests::{Crew, TestApp, assert_has, with};

use super::lonely;

/// A reservation of a vehicle that reports this level, at the only station: the reservation, and its path.
async fn needed(app: &TestApp, crew: &Crew, level: i64, need: Value) -> (Value, String) {
    app.station(json!({})).await;
    report(app, crew, level).await;
    let need = with(json!({"ready_by": app.in_minutes(180)}), need);
    let body = json!({"driver": crew.driver, "vehicle": crew.vehicle, "connector_type": ["Type2"],
        "location": lonely(), "need": need});
    let reservation = app.alice.post("/v1/reservations", body).await.expect(200);
    let path = format!("/v1/reservations/{}", reservation.id());
    (reservation.body, path)
}

async fn report(app: &TestApp, crew: &Crew, level: i64) {
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let level = json!({"battery": {"level": level}});
    app.alice.post_ok(&telemetry, level).await;
    app.drain().await;
}

#[tokio::test]
async fn a_need_that_is_met_books_nothing_until_the_level_falls() {
    let (app, crew) = TestApp::with_crew().await;
    let (reservation, path) = needed(&app, &crew, 85, json!({"target_level": 80})).await;
    assert_has!(reservation["charging_plan"], {"status": "feasible", "energy_wh": 0, "from": null, "short_by_wh": 0});
    app.advance(1800).await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "pending", "charging_station": null});
    let waiting = app.alice.get(&path).await;
    app.advance(1500).await;
    assert_eq!(
        app.alice.get(&path).await.header("etag"),
        waiting.header("etag")
    );
    report(&app, &crew, 60).await;
    app.advance(600).await;
    let confirmed = app.alice.get_ok(&path).await;
    assert_has!(confirmed, {"status": "confirmed", "/charging_plan/status": "feasible"});
    assert!(confirmed["charging_plan"]["energy_wh"].as_i64() > Some(10_000));
}

#[tokio::test]
async fn a_full_vehicle_gets_no_connector_for_a_need() {
    let (app, crew) = TestApp::with_crew().await;
    let (reservation, path) = needed(&app, &crew, 100, json!({"energy_wh": 9_000})).await;
    assert_has!(reservation["charging_plan"], {"status": "short", "limited_by": "battery", "energy_wh": 0, "from": null});
    app.advance(3 * 3600).await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "failed", "failed_reason": "other"});
}
