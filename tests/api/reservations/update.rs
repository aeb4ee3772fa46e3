//! Tests of `POST /v1/reservations/{id}`: changes before the confirmation.

use functions::job::Job as _;
use functions::reservations::confirm::ConfirmReservation;
use futures::future::join_all;
use kernel::Id;
use serde_json::json;
use tests::{TestApp, assert_has, cases, path_of, with};

use super::{reserve, reserve_here};

#[tokio::test]
async fn only_a_pending_reservation_is_updated() {
    let (app, crew) = TestApp::with_crew().await;
    let id = reserve(&app, &crew, 120).await;
    let path = format!("/v1/reservations/{id}");
    let change = json!({"ideal_start": app.in_minutes(200), "ideal_end": app.in_minutes(260),
        "latest_end": app.in_minutes(300), "metadata": {"a": "b"}});
    let changed = app.alice.post_ok(&path, change.clone()).await;
    assert_has!(changed, {"ideal_start": change["ideal_start"], "latest_end": change["latest_end"]});
    let cleared = json!({"latest_end": null});
    assert_has!(app.alice.post_ok(&path, cleared).await, {"latest_end": null});
    // The first attempt has moved with the window.
    app.advance(95 * 60).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "pending");
    app.advance(80 * 60).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "confirmed");
    let refused = app.alice.post(&path, json!({})).await;
    refused.expect_error(409, "reservation_update_invalid_state", None);
}

#[tokio::test]
async fn an_invalid_update_is_400_in_every_status() {
    let (app, crew) = TestApp::with_crew().await;
    let path = path_of(&reserve(&app, &crew, 120).await);
    let (start, end) = (app.in_minutes(200), app.in_minutes(260));
    let need = json!({"energy_wh": 1000, "ready_by": app.in_minutes(600)});
    let unready = json!({"energy_wh": 1000, "ready_by": app.in_minutes(-1)});
    let invalid = cases! {
        {"connector_type": []} => "connector_type",
        {"connector_type": ["Type2", "Type2"]} => "connector_type",
        {"location": {"latitude": 1, "longitude": 1, "radius": 0}} => "location.radius",
        {"ideal_start": end, "ideal_end": start} => "ideal_end",
        {"ideal_start": start, "ideal_end": end, "latest_end": start} => "latest_end",
        {"need": need, "ideal_start": start} => "ideal_start",
        {"need": unready} => "need.ready_by",
    };
    for status in ["pending", "cancelled"] {
        assert_eq!(app.alice.get_ok(&path).await["status"], status);
        for (change, param) in invalid.clone() {
            let refused = app.alice.post(&path, change).await;
            refused.expect_error(400, "reservation_invalid_input", param);
        }
        let cancel = format!("{path}/cancel");
        app.alice.post(&cancel, json!({})).await;
    }
    app.drain().await;
}

#[tokio::test]
async fn an_update_that_a_policy_forbids_changes_nothing() {
    let (app, crew) = TestApp::with_crew().await;
    let station = app.station(json!({})).await;
    let operator = app.alice.get_ok(&path_of(&station)).await["operator"].clone();
    let path = path_of(&reserve_here(&app, &crew, 120).await);
    let center = json!({"latitude": 10, "longitude": 10});
    let here = json!({"center": center, "name": "Here", "radius_meters": 30_000});
    let elsewhere = json!({"location": {"latitude": 51.5, "longitude": -0.1, "radius": 5_000}});
    let later = json!({"latest_end": app.in_minutes(400)});
    let need = json!({"need": {"energy_wh": 9_000, "ready_by": app.in_minutes(600)}});
    for (rule, value, change) in [
        ("geofences", json!([here]), elsewhere.clone()),
        ("geofences", json!([here]), with(need, elsewhere)),
        ("denied_operators", json!([operator]), later),
    ] {
        let policy = json!({"name": "Depot", "mode": "enforcement", "rules": {rule: value}});
        let policy = app.alice.create("/v1/policies", policy).await;
        let fleet = json!({"policy_ids": [policy]});
        app.alice.post_ok(&path_of(&crew.fleet), fleet).await;
        let before = app.alice.get_ok(&path).await;
        let refused = app.alice.post(&path, change).await;
        refused.expect_error(403, "policy_blocked", None);
        assert_has!(refused.body, {"policy": policy, "rule": rule});
        assert_eq!(app.alice.get_ok(&path).await, before);
        // The metadata may be changed whatever the policies are.
        let metadata = json!({"metadata": {"policy": policy}});
        app.alice.post_ok(&path, metadata).await;
    }
}

#[tokio::test]
async fn an_attempt_is_repeated_if_its_reservation_is_updated() {
    let app = TestApp::start().await;
    app.station(json!({"status": "inactive"})).await;
    let tenant = app.alice.tenant();
    for _ in 0..20 {
        let crew = app.crew(&app.alice).await;
        let id = reserve_here(&app, &crew, 20).await;
        let path = path_of(&id);
        let attempt = ConfirmReservation {
            tenant: tenant.clone(),
            reservation: Id::from(id.as_str()),
            request: None,
        };
        let update = async |number: i32| {
            let change = json!({"metadata": {"number": number.to_string()}});
            app.alice.post(&path, change).await
        };
        let updates = join_all((0..4).map(update));
        let (attempted, _) = tokio::join!(attempt.run(app.app()), updates);
        attempted.expect("an attempt");
        let refused = app.alice.get_ok(&path).await["match_summary"]["refused"].clone();
        assert_eq!(refused["not_reservable"], 1, "{refused}");
    }
    app.drain().await;
}

#[tokio::test]
async fn an_update_is_checked_for_what_it_changes_and_warned_of() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({})).await;
    let path = path_of(&reserve_here(&app, &crew, 120).await);
    let center = json!({"latitude": 10, "longitude": 10});
    let here = json!([{"center": center, "name": "Here", "radius_meters": 30_000}]);
    let apply = async |mode: &str| {
        let policy = json!({"name": "Depot", "mode": mode, "rules": {"geofences": here}});
        let policy = app.alice.create("/v1/policies", policy).await;
        let fleet = json!({"policy_ids": [policy]});
        app.alice.post_ok(&path_of(&crew.fleet), fleet).await;
        policy
    };
    let policy = apply("suggestion").await;
    let elsewhere = json!({"location": {"latitude": 51.5, "longitude": -0.1, "radius": 5_000}});
    let moved = app.alice.post_ok(&path, elsewhere).await;
    assert_has!(moved["policy_warnings"][0], {"policy": policy, "rule": "geofences"});
    // A body with the search as it is changes only the rest.
    apply("enforcement").await;
    let same = json!({"location": moved["location"], "ideal_start": moved["ideal_start"],
        "connector_type": moved["connector_type"], "metadata": {"a": "b"}});
    let changed = app.alice.post_ok(&path, same).await;
    assert_has!(changed, {"metadata": {"a": "b"}, "policy_warnings": []});
}

#[tokio::test]
async fn the_same_need_changes_nothing() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({})).await;
    let need = json!({"energy_wh": 9_000, "ready_by": app.in_minutes(600), "earliest_start": app.in_minutes(300)});
    let body = json!({"driver": crew.driver, "vehicle": crew.vehicle, "connector_type": ["Type2"],
        "location": {"latitude": 10, "longitude": 10, "radius": 5_000}, "need": need});
    let reservation = app.alice.post("/v1/reservations", body).await.expect(200);
    let path = path_of(&reservation.id());
    let before = app.alice.get(&path).await;
    app.advance(60).await;
    app.alice.post_ok(&path, json!({"need": need})).await;
    let after = app.alice.get(&path).await;
    assert_eq!(
        (after.header("etag"), &after.body),
        (before.header("etag"), &before.body)
    );
}
