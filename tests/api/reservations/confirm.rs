//! Tests of the confirmation, half an hour before the window: which EVSE is matched, and why none is.

use std::sync::Arc;

use functions::job::Job as _;
use functions::jobs;
use functions::reservations::confirm::ConfirmReservation;
use kernel::Id;
use kernel::time::minutes;
use models::Reservation;
use serde_json::{Value, json};
use tests::clock::Hand;
use tests::meter::{Call, Meter, in_a_row};
use tests::{TestApp, assert_has, id_of, path_of, with};

use super::{confirmed_at_one_station, events, lonely, of_two_plugs, reserve, reserve_here};

#[tokio::test]
async fn a_reservation_is_confirmed_half_an_hour_before_its_window() {
    let (app, crew) = TestApp::with_crew().await;
    let body = app.reservation(&crew, 120);
    let reservation = app.alice.post_ok("/v1/reservations", body).await;
    assert_eq!(reservation["status"], "pending");
    let path = format!("/v1/reservations/{}", id_of(&reservation));
    app.advance(89 * 60).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "pending");
    app.advance(2 * 60).await;
    let confirmed = app.alice.get_ok(&path).await;
    assert_has!(confirmed, {"status": "confirmed", "reserved_start": reservation["ideal_start"],
        "reserved_end": reservation["ideal_end"]});
    assert!(confirmed["confirmed_at"].is_string());
    let station = confirmed["charging_station"].as_str().expect("a station");
    app.alice.get_ok(&path_of(&station)).await;
}

#[tokio::test]
async fn a_vehicle_that_does_not_come_loses_its_reservation() {
    let (app, crew) = TestApp::with_crew().await;
    let id = reserve(&app, &crew, 60).await;
    app.advance(74 * 60).await;
    let path = format!("/v1/reservations/{id}");
    assert_eq!(app.alice.get_ok(&path).await["status"], "confirmed");
    app.advance(2 * 60).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "expired");
}

#[tokio::test]
async fn where_there_is_nothing_the_reservation_fails_and_says_why() {
    let (app, crew) = TestApp::with_crew().await;
    let nowhere = json!({"location": {"latitude": 0.0, "longitude": 0.0, "radius": 100_000}});
    let body = with(app.reservation(&crew, 60), nowhere);
    let id = app.alice.create("/v1/reservations", body).await;
    app.advance(59 * 60).await;
    let path = format!("/v1/reservations/{id}");
    assert_has!(app.alice.get_ok(&path).await, {"status": "pending", "/match_summary/stations_in_radius": 0});
    app.advance(5 * 60).await;
    let failed = app.alice.get_ok(&path).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "no_available_connectors"});
}

#[tokio::test]
async fn a_suspended_driver_fails_the_reservation_at_first_attempt() {
    let (app, crew) = TestApp::with_crew().await;
    let id = reserve(&app, &crew, 60).await;
    app.alice
        .post_ok(&path_of(&crew.driver), json!({"status": "suspended"}))
        .await;
    app.advance(31 * 60).await;
    let failed = app.alice.get_ok(&path_of(&id)).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "driver_unavailable"});
}

#[tokio::test]
async fn a_driver_who_left_the_fleet_fails_the_reservation() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({})).await;
    let id = reserve(&app, &crew, 60).await;
    let detach = format!("/v1/drivers/{}/detach", crew.driver);
    app.alice
        .post_ok(&detach, json!({"fleet": crew.fleet}))
        .await;
    app.advance(31 * 60).await;
    let failed = app.alice.get_ok(&path_of(&id)).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "driver_unavailable"});
}

/// Rivals for the same connectors: as many reservations as vehicles, in one street with few connectors.
#[tokio::test]
async fn no_connector_and_no_vehicle_is_ever_booked_twice() {
    let app = TestApp::with_demo_stations().await;
    let crew = app.crew(&app.alice).await;
    let mut body = app.reservation(&crew, 60);
    body["location"]["radius"] = json!(2500);
    let mut ids = Vec::new();
    for _ in 0..12 {
        let vehicle = tests::vehicle(&crew.fleet);
        let vehicle = app.alice.create("/v1/vehicles", vehicle).await;
        // Each vehicle sends two requests for the same hour, of which at most one can be confirmed.
        for _ in 0..2 {
            let body = with(body.clone(), json!({"vehicle": vehicle}));
            ids.push(app.alice.create("/v1/reservations", body).await);
        }
    }
    app.advance(31 * 60).await;
    let mut held = Vec::new();
    for id in &ids {
        let id = kernel::Id::from(id.as_str());
        let tenant = app.alice.tenant();
        let reservation = app.app().store.load::<Reservation>(&tenant, &id).await;
        let reservation = reservation.expect("an item");
        if reservation.object.status() == models::reservation::ReservationStatus::Confirmed {
            let reserved = reservation.object.state.reserved().expect("a connector");
            held.push((
                format!("{}/{}", reserved.station, reserved.connector),
                reservation.object.vehicle.to_string(),
            ));
        }
    }
    let connectors: std::collections::HashSet<_> =
        held.iter().map(|(connector, _)| connector).collect();
    let vehicles: std::collections::HashSet<_> = held.iter().map(|(_, vehicle)| vehicle).collect();
    assert!(
        held.len() >= 2,
        "too few were confirmed to prove anything: {held:?}"
    );
    assert_eq!(connectors.len(), held.len(), "{held:?}");
    assert_eq!(vehicles.len(), held.len(), "{held:?}");
}

#[tokio::test]
async fn an_evse_is_reserved_for_one_vehicle_at_a_time() {
    let app = TestApp::start().await;
    app.station_with_cables(json!({})).await;
    let mut paths = Vec::new();
    for _ in 0..3 {
        let crew = app.crew(&app.alice).await;
        let id = reserve_here(&app, &crew, 20).await;
        paths.push(format!("/v1/reservations/{id}"));
        app.drain().await;
    }
    let mut reservations = Vec::new();
    for path in &paths {
        reservations.push(app.alice.get_ok(path).await);
    }
    assert_has!(json!(reservations), {"/0/connector": "1", "/1/connector": "3", "/2/status": "pending",
        "/2/match_summary/refused/booked": 1});
    // When the first is cancelled, every cable of its EVSE is free.
    let cancel = format!("{}/cancel", paths[0]);
    app.alice.post_ok(&cancel, json!({})).await;
    app.advance(6 * 60).await;
    assert_has!(app.alice.get_ok(&paths[2]).await, {"status": "confirmed", "connector": "1"});
}

#[tokio::test]
async fn only_the_reservable_evse_of_a_station_is_booked() {
    let app = TestApp::start().await;
    let mut connectors = tests::cables();
    for place in [0, 1] {
        connectors[place]["reservable"] = json!(false);
    }
    let station = app.station(json!({"connectors": connectors.clone()})).await;
    let crew = app.crew(&app.alice).await;
    let reserve = async || {
        let id = reserve_here(&app, &crew, 20).await;
        app.drain().await;
        format!("/v1/reservations/{id}")
    };
    let path = reserve().await;
    assert_has!(app.alice.get_ok(&path).await, {"charging_station": station, "connector": "3"});
    app.alice
        .post_ok(&format!("{path}/cancel"), json!({}))
        .await;
    connectors[2]["type"] = json!("CCS");
    app.change_station(&station, json!({"connectors": connectors}))
        .await;
    let path = reserve().await;
    let none = app.alice.get_ok(&path).await;
    assert_has!(none, {"status": "pending", "connector": null});
    assert_eq!(none["match_summary"]["refused"]["connector_type"], 1);
    app.alice
        .post_ok(&format!("{path}/cancel"), json!({}))
        .await;
}

#[tokio::test]
async fn a_short_delay_nearby_wins_over_a_station_far_away() {
    let app = TestApp::start().await;
    let only = json!([{"id": "1", "power": 22.0, "status": "available", "type": "Type2"}]);
    let nearby = app.station(json!({"connectors": only})).await;
    // 25 km away, in time for the preferred window.
    let far = json!({"location": {"latitude": 10.225, "longitude": 10.0}});
    app.station(far).await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let wide = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 50_000}});
    let until = json!({"ideal_end": app.in_minutes(40)});
    let first = with(with(app.reservation(&crew, 10), wide.clone()), until);
    app.alice.post_ok("/v1/reservations", first).await;
    app.drain().await;
    let slack = json!({"latest_end": app.in_minutes(25 + 60 + 90)});
    let body = with(with(app.reservation(&other, 25), wide), slack);
    let id = app.alice.create("/v1/reservations", body).await;
    app.drain().await;
    let reservation = app.alice.get_ok(&path_of(&id)).await;
    // 15 minutes are 150 points, 25 kilometres are 250.
    assert_has!(reservation, {"status": "confirmed", "charging_station": nearby});
    let minutes = |name: &str| {
        let at = kernel::Timestamp::parse(reservation[name].as_str().expect("a time"));
        at.expect("a time").unix_millis() / 60_000
    };
    assert_eq!(minutes("reserved_start") - minutes("ideal_start"), 15);
}

#[tokio::test]
async fn driver_preferences_and_availability_outweigh_distance() {
    let (app, crew) = TestApp::with_crew().await;
    let connector = |power: f64, status: &str| json!([{"id": "1", "power": power, "status": status, "type": "Type2"}]);
    let place = |latitude: f64| json!({"latitude": latitude, "longitude": 10.0});
    let nearby = app
        .station(json!({"connectors": connector(22.0, "occupied")}))
        .await;
    let quick = app
        .station(json!({"connectors": connector(50.0, "available"), "location": place(10.03)}))
        .await;
    let liked = app
        .station(json!({"connectors": connector(22.0, "available"), "location": place(10.1)}))
        .await;
    let body = with(app.reservation(&crew, 20), json!({"location": lonely()}));
    let driver = format!("/v1/drivers/{}", crew.driver);
    for (preferences, want) in [
        // 33 points of distance against 50 for being busy now.
        (json!({}), &quick),
        (json!({"charging_speed": "slow"}), &nearby),
        (json!({"charging_speed": "fast"}), &quick),
        (json!({"preferred_charging_stations": [liked]}), &liked),
    ] {
        app.alice
            .post_ok(&driver, json!({"preferences": preferences}))
            .await;
        let id = app.alice.create("/v1/reservations", body.clone()).await;
        app.drain().await;
        let path = format!("/v1/reservations/{id}");
        let reservation = app.alice.get_ok(&path).await;
        assert_eq!(reservation["charging_station"], **want, "{preferences}");
        let cancelled = app.alice.post(&format!("{path}/cancel"), json!({})).await;
        assert_eq!(cancelled.expect(200).body["fee_due"], 0);
    }
    app.drain().await;
}

#[tokio::test]
async fn a_summary_adds_up() {
    let app = TestApp::with_demo_stations().await;
    let crew = app.crew(&app.alice).await;
    let body = app.reservation(&crew, 60);
    let id = app.alice.create("/v1/reservations", body).await;
    app.advance(31 * 60).await;
    let reservation = app.alice.get_ok(&path_of(&id)).await;
    let summary = &reservation["match_summary"];
    let refused = summary["refused"].as_object().expect("counts");
    let refused: u64 = refused.values().filter_map(Value::as_u64).sum();
    let path = "/v1/charging_stations?latitude=51.507&longitude=-0.128&radius=8000";
    let nearby = app.alice.walk(path).await.len() as u64;
    assert_eq!(summary["stations_in_radius"], nearby);
    assert_eq!(reservation["status"], "confirmed");
    assert!(refused > 0 && refused < nearby, "{summary}");
}

#[tokio::test]
async fn a_late_attempt_keeps_the_match_summary_of_the_previous_one() {
    let app = TestApp::start().await;
    let (_, station, reservation) = confirmed_at_one_station(&app, 60).await;
    let only = json!([{"id": reservation["connector"], "power": 22.0, "status": "available", "type": "Type2"}]);
    app.change_station(&station, json!({"connectors": only}))
        .await;
    let crew = app.crew(&app.alice).await;
    let window = json!({"location": lonely(), "ideal_start": reservation["ideal_start"], "ideal_end": reservation["ideal_end"]});
    let body = with(app.reservation(&crew, 60), window);
    let id = app.alice.create("/v1/reservations", body).await;
    app.drain().await;
    let path = format!("/v1/reservations/{id}");
    let waiting = app.alice.get_ok(&path).await;
    assert_eq!(waiting["match_summary"]["refused"]["booked"], 1);

    let late = Arc::new(Hand::at(app.now().plus(minutes(40))));
    let late = app.app_with(app.app().store.clone(), late);
    let tenant = app.alice.tenant();
    let message = ConfirmReservation {
        tenant,
        reservation: Id::from(id.as_str()),
        request: None,
    }
    .message()
    .expect("a message");
    jobs::work(&late, &message).await.expect("an attempt");
    assert_has!(app.alice.get_ok(&path).await, {"failed_reason": "no_available_connectors",
        "match_summary": waiting["match_summary"]});
    app.drain().await;
}

#[tokio::test]
async fn a_plug_changed_before_the_confirmation_is_matched() {
    let app = TestApp::start().await;
    let (path, vehicle) = of_two_plugs(&app).await;
    let change = json!({"charging_standard": "CCS"});
    app.alice.post_ok(&vehicle, change).await;
    let plugs = async |plugs: Value| {
        let change = json!({"connector_type": plugs});
        app.alice.post(&path, change).await
    };
    let refused = plugs(json!(["Type2"])).await;
    assert_eq!(refused.error().0, 400, "{}", refused.text);
    plugs(json!(["CCS"])).await.expect(200);
    app.advance(91 * 60).await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "connector": "2"});
    assert_eq!(
        events(&app, &path).await,
        ["created", "updated", "confirmed"]
    );
}

#[tokio::test]
async fn confirming_needs_three_sequential_reads_before_the_write() {
    let (app, crew) = TestApp::with_crew().await;
    for n in 0..12 {
        let latitude = 10.0 + f64::from(n) * 0.004;
        app.station(json!({"location": {"latitude": latitude, "longitude": 10.0}}))
            .await;
    }
    let rules = json!({"name": "P", "rules": {"denied_operators": ["Nobody"]}});
    let policy = app.alice.create("/v1/policies", rules).await;
    for path in [
        format!("/v1/fleets/{}", crew.fleet),
        format!("/v1/drivers/{}", crew.driver),
    ] {
        let change = json!({"policy_ids": [policy]});
        app.alice.post_ok(&path, change).await;
    }
    let place = json!({"latitude": 10.02, "longitude": 10.0, "radius": 6000});
    let body = with(
        app.reservation(&crew, 20),
        json!({"location": place, "latest_end": app.in_minutes(26 * 60)}),
    );
    let id = app.alice.create("/v1/reservations", body).await;
    let id = Id::from(id.as_str());
    let tenant = app.alice.tenant();
    let reservation = app.app().store.load::<Reservation>(&tenant, &id);
    let reservation = reservation.await.expect("the reservation");
    let message = ConfirmReservation {
        tenant,
        reservation: id.clone(),
        request: Some(Box::new(reservation.request())),
    }
    .message()
    .expect("a message");
    let meter = Meter::default();
    let store = meter.store(&app.running().store_url, &app.running().table);
    let metered = app.app_with(store, app.app().clock.clone());
    jobs::work(&metered, &message).await.expect("an attempt");
    let calls = meter.take();
    let booked = |call: &Call| call.operation == "TransactWriteItems";
    let before = calls.iter().position(booked).expect("it is booked");
    assert_eq!(in_a_row(&calls[..before]), 3, "{calls:#?}");
    app.drain().await;
}
