//! Tests of sessions beside reservations: the reserved vehicle arrives, early or elsewhere, or another one is in its place.

use kernel::Mode;
use serde_json::{Value, json};
use tests::{Crew, Receiver, TestApp, assert_has, id_of, with};

use super::{CONFLICT, PATH, path, read_battery, reservation_here, start, stop};

/// A station with a single connector.
fn one_connector() -> Value {
    json!({"connectors": [{"id": "1", "power": 22.0, "status": "available", "type": "Type2"}]})
}

#[tokio::test]
async fn a_parked_vehicle_stays_and_the_reservation_is_matched_again() {
    for has_other in [false, true] {
        let app = TestApp::start().await;
        let bob = app.other_account(Mode::Test).await;
        let (crew, rival) = (app.crew(&app.alice).await, app.crew(&bob).await);
        let station = app.station(one_connector()).await;
        read_battery(&app, &crew.vehicle, 100.0).await;
        let session = start(&app, &crew, &station).await;
        app.advance(600).await;
        // The vehicle is full, and the reservation is matched half an hour before its window.
        let body = reservation_here(&app, &rival, 40);
        let created = bob.post_ok("/v1/reservations", body).await;
        let reservation = format!("/v1/reservations/{}", id_of(&created));
        app.advance(11 * 60).await;
        assert_has!(bob.get_ok(&reservation).await, {"status": "confirmed", "charging_station": station});
        let place = json!({"location": {"latitude": 10.001, "longitude": 10.0}});
        let other = if has_other {
            Some(app.station(with(one_connector(), place)).await)
        } else {
            None
        };
        app.advance(31 * 60).await;
        let parked = app.alice.get_ok(&path(&session)).await;
        assert_has!(parked, {"status": "active", "ends_by_reason": "maximum_duration"});
        let after = bob.get_ok(&reservation).await;
        let events = bob.get_ok("/v1/events?limit=100").await;
        let events = events["data"].as_array().expect("events").iter();
        let events = events.filter(|event| event["data"]["object"]["id"] == after["id"]);
        let events: Vec<_> = events.map(|event| &event["type"]).collect();
        if has_other {
            assert_has!(after, {"status": "confirmed", "charging_station": other});
            assert_eq!(events[0], "reservation.reassigned");
        } else {
            assert_has!(after, {"status": "failed", "failed_reason": "station_unavailable"});
            assert_eq!(events[0], "reservation.failed");
            assert_eq!(events[1], "reservation.unassigned");
        }
        app.advance(24 * 3600).await;
        let ended = app.alice.get_ok(&path(&session)).await;
        assert_eq!(ended["status"], "completed");
    }
}

#[tokio::test]
async fn a_reservation_keeps_others_off_every_connector_of_its_evse() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let only_a = Value::from(tests::cables().as_array().expect("cables")[..2].to_vec());
    let station = app.station(json!({"connectors": only_a})).await;
    let body = reservation_here(&app, &crew, 60);
    let reservation = app.alice.create("/v1/reservations", body).await;
    app.advance(62 * 60).await;
    let reservation = format!("/v1/reservations/{reservation}");
    assert_has!(app.alice.get_ok(&reservation).await, {"status": "confirmed", "connector": "1"});
    for connector in ["1", "2"] {
        let body = with(
            app.session(&rival, &station),
            json!({"connector": connector}),
        );
        let refused = app.alice.post(PATH, body).await;
        refused.expect_error(409, CONFLICT, "connector");
    }
    assert!(app.alice.get(PATH).await.ids().is_empty());
    // The vehicle with the reservation may use either cable.
    let body = with(app.session(&crew, &station), json!({"connector": "2"}));
    let session = app.alice.post_ok(PATH, body).await;
    stop(&app, &session).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "completed");
    // The calendar is empty again.
    app.alice.post_ok(PATH, app.session(&rival, &station)).await;
    app.drain().await;
}

/// A reservation at the depot, confirmed.
async fn confirmed(app: &TestApp, crew: &Crew, minutes: i64) -> (String, Value) {
    let body = reservation_here(app, crew, minutes);
    let id = app.alice.create("/v1/reservations", body).await;
    let path = format!("/v1/reservations/{id}");
    app.drain().await;
    if minutes > 30 {
        app.advance(u32::try_from((minutes - 30) * 60).expect("a time") + 1)
            .await;
    }
    let reservation = app.alice.get_ok(&path).await;
    assert_eq!(reservation["status"], "confirmed", "{reservation}");
    (path, reservation)
}

#[tokio::test]
async fn a_session_of_the_reserved_vehicle_completes_the_reservation() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let types = [
        "charging_session.started",
        "charging_session.completed",
        "reservation.completed",
        "reservation.expired",
    ];
    receiver.subscribe(&app.alice, &types).await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station(one_connector()).await;
    let (reservation, _) = confirmed(&app, &crew, 20).await;
    // Another vehicle may use the connector until then, and has to leave it.
    let interim = start(&app, &rival, &station).await;
    app.advance(20 * 60).await;
    let left = app.alice.get_ok(&path(&interim)).await;
    assert_eq!(left["status"], "completed");
    let refused = app.alice.post(PATH, app.session(&rival, &station)).await;
    refused.expect_error(409, CONFLICT, "connector");
    let session = start(&app, &crew, &station).await;
    // Neither the end of the grace period nor that of the window ends it.
    app.advance(70 * 60).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "confirmed");
    assert_eq!(app.alice.get_ok(&path(&session)).await["status"], "active");
    stop(&app, &session).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "completed");
    app.drain().await;
    let mut types = receiver.types();
    types.sort();
    let want = [
        "charging_session.completed",
        "charging_session.completed",
        "charging_session.started",
        "charging_session.started",
        "reservation.completed",
    ];
    assert_eq!(types, want);
    // The time is free again.
    start(&app, &rival, &station).await;
    app.drain().await;
}

#[tokio::test]
async fn a_vehicle_that_comes_half_an_hour_early_has_come() {
    let (app, crew, station) = TestApp::with_station().await;
    let (reservation, _) = confirmed(&app, &crew, 29).await;
    // The other connector of the station can be used.
    let body = with(
        app.session(&crew, &station),
        json!({"connector": "2", "session_limit": 11_000}),
    );
    let session = app.alice.post_ok(PATH, body).await;
    assert_has!(session, {"reservation": tests::id_of(&app.alice.get_ok(&reservation).await), "ends_by_reason": "session_limit"});
    app.advance(59 * 60).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "completed");
}

#[tokio::test]
async fn a_vehicle_at_another_evse_frees_the_reserved_one() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station(json!({})).await;
    let (path, reserved) = confirmed(&app, &crew, 20).await;
    app.advance(21 * 60).await;
    let at = |crew: &Crew, connector: &Value| {
        with(app.session(crew, &station), json!({"connector": connector}))
    };
    let other = json!(if reserved["connector"] == "1" {
        "2"
    } else {
        "1"
    });
    let session = app.alice.post_ok(PATH, at(&crew, &other)).await;
    assert_eq!(session["reservation"], reserved["id"]);
    // The reserved EVSE is free for others, and the other one is not.
    let taken = app.alice.post(PATH, at(&rival, &other)).await;
    taken.expect_error(409, CONFLICT, "connector");
    let theirs = app
        .alice
        .post_ok(PATH, at(&rival, &reserved["connector"]))
        .await;
    stop(&app, &session).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "completed");
    // The end of the session has released nothing of the others.
    let third = app.crew(&app.alice).await;
    let taken = app
        .alice
        .post(PATH, at(&third, &reserved["connector"]))
        .await;
    taken.expect_error(409, CONFLICT, "connector");
    app.alice.post_ok(PATH, at(&third, &other)).await;
    stop(&app, &theirs).await;
    app.drain().await;
}

#[tokio::test]
async fn an_early_vehicle_that_must_leave_keeps_its_reservation() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station(json!({})).await;
    let (own, reserved) = confirmed(&app, &crew, 28).await;
    let (_, other) = confirmed(&app, &rival, 20).await;
    let connector = json!({"connector": other["connector"]});
    let early = with(app.session(&crew, &station), connector);
    let early = app.alice.post_ok(PATH, early).await;
    assert_has!(early, {"reservation": null, "ends_by_reason": "reservation"});
    app.advance(28 * 60).await;
    // The rival's EVSE was left in time, and its own is still reserved.
    let ended = app.alice.get_ok(&path(&early)).await;
    assert_eq!(ended["status"], "completed");
    let connector = json!({"connector": reserved["connector"]});
    let session = with(app.session(&crew, &station), connector);
    let session = app.alice.post_ok(PATH, session).await;
    assert_eq!(session["reservation"], reserved["id"]);
    stop(&app, &session).await;
    assert_eq!(app.alice.get_ok(&own).await["status"], "completed");
}

#[tokio::test]
async fn a_session_elsewhere_leaves_the_reservation_to_expire() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({})).await;
    let (reservation, _) = confirmed(&app, &crew, 10).await;
    let elsewhere = app
        .station(json!({"location": {"latitude": 20.0, "longitude": 20.0}}))
        .await;
    app.advance(11 * 60).await;
    start(&app, &crew, &elsewhere).await;
    app.advance(15 * 60).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "expired");
}

#[tokio::test]
async fn a_connector_is_not_reserved_while_it_charges() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station(one_connector()).await;
    let session = start(&app, &crew, &station).await;
    let body = reservation_here(&app, &rival, 30);
    let id = app.alice.create("/v1/reservations", body).await;
    app.drain().await;
    let reservation = format!("/v1/reservations/{id}");
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "pending");
    // The connector is free early, and the next attempt finds it.
    stop(&app, &session).await;
    app.advance(6 * 60).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "confirmed");
}
