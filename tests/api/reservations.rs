//! `/v1/reservations`, from creation to confirmation.

use functions::job::Job as _;
use functions::jobs;
use functions::reservations::confirm::ConfirmReservation;
use std::sync::Arc;

use futures::future::join_all;

use kernel::time::{DAY, minutes, whole_millis};
use kernel::{Id, Mode, Origin};
use models::charging::calendar::{CalendarOwner, Entry};
use models::{ChargingStation, Reservation};
use serde_json::{Value, json};
use tests::clock::Hand;
use tests::meter::{Call, Meter, in_a_row};
use tests::player::Player;
use tests::{Crew, Receiver, TestApp, assert_has, cases, id_of, path_of, with};

/// Creates a reservation in the area of the demo stations. Returns its id.
async fn reserve(app: &TestApp, crew: &Crew, minutes: i64) -> String {
    let body = app.reservation(crew, minutes);
    app.alice.create("/v1/reservations", body).await
}

/// Creates a reservation in the area that has only the stations of the test. Returns its id.
async fn reserve_here(app: &TestApp, crew: &Crew, minutes: i64) -> String {
    let here = json!({"location": lonely()});
    let body = with(app.reservation(crew, minutes), here);
    app.alice.create("/v1/reservations", body).await
}

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
async fn a_new_reservation_has_every_field_of_the_specification() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(
        app.reservation(&crew, 120),
        json!({"metadata": {"shift": "night"}}),
    );
    let reservation = app.alice.post_ok("/v1/reservations", body.clone()).await;
    assert_has!(reservation, {"driver": crew.driver, "ideal_end": body["ideal_end"], "ideal_start": body["ideal_start"],
        "updated": reservation["created"], "vehicle": crew.vehicle});
    app.snapshot("reservation_new", &reservation);
    app.drain().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_named() {
    let (app, crew) = TestApp::with_crew().await;
    let good = app.reservation(&crew, 120);

    for (change, param) in cases! {
        {"ideal_start": "soon"} => "ideal_start",
        {"ideal_start": app.in_minutes(-1)} => "ideal_start",
        {"ideal_end": app.in_minutes(121)} => "ideal_end",
        {"earliest_start": app.in_minutes(125)} => "earliest_start",
        {"latest_end": app.in_minutes(170)} => "latest_end",
        {"latest_end": app.in_minutes(180 + 7 * 24 * 60 + 1)} => "latest_end",
        {"latest_end": "2999-01-01T00:00:00Z"} => "latest_end",
        {"location": {"latitude": 1, "longitude": 1, "radius": 0}} => "location.radius",
        {"location": {"latitude": 1, "longitude": 1}} => "location.radius",
        {"location": [1, 1, 1]} => "location",
        {"connector_type": ["CCS"]} => "connector_type",
        {"connector_type": ["Type2", "Tesla"]} => "connector_type[1]",
        {"metadata": {"k": 1}} => "metadata.k",
    } {
        let body = with(good.clone(), change);
        let answer = app.alice.post("/v1/reservations", body).await;
        answer.expect_error(400, "reservation_invalid_input", param);
    }
    for (change, (status, code, param)) in cases! {
        {"x": 1} => (400, None, "x"),
        {"driver": "drv_1"} => (404, Some("driver_not_found"), "driver"),
        {"vehicle": crew.driver} => (404, Some("vehicle_not_found"), "vehicle"),
    } {
        let body = with(good.clone(), change);
        let answer = app.alice.post("/v1/reservations", body).await;
        answer.expect_error(status, code, param);
    }
    app.drain().await;
}

#[tokio::test]
async fn a_driver_of_another_fleet_cannot_reserve() {
    let (app, crew) = TestApp::with_crew().await;
    let stranger = app.alice.create("/v1/drivers", tests::driver()).await;
    let body = with(app.reservation(&crew, 120), json!({"driver": stranger}));
    let answer = app.alice.post("/v1/reservations", body).await;
    assert_eq!(answer.error().2, Some("reservation_invalid_input"));
    app.drain().await;
}

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
async fn cancelling_gives_the_time_back() {
    let (app, crew) = TestApp::with_crew().await;
    let body = app.reservation(&crew, 40);
    let first = app.alice.create("/v1/reservations", body.clone()).await;
    app.advance(15 * 60).await;
    let first = format!("/v1/reservations/{first}");
    let station = app.alice.get_ok(&first).await["charging_station"].clone();
    let cancel = format!("{first}/cancel");
    let cancelled = app.alice.post_ok(&cancel, json!({})).await;
    assert_eq!(cancelled["status"], "cancelled");
    let again = app.alice.post(&cancel, json!({})).await;
    assert_eq!(again.error().2, Some("reservation_cancel_invalid_state"));
    // The same vehicle at the same time, which is only possible if nothing of the first reservation remains.
    let second = app.alice.create("/v1/reservations", body).await;
    app.advance(60).await;
    let second = app.alice.get_ok(&path_of(&second)).await;
    assert_has!(second, {"status": "confirmed", "charging_station": station});
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

#[tokio::test]
async fn a_fleet_that_is_not_active_reserves_nothing() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({})).await;
    let id = reserve(&app, &crew, 60).await;
    for status in ["suspended", "archived"] {
        let fleet = format!("/v1/fleets/{}", crew.fleet);
        app.alice.post_ok(&fleet, json!({"status": status})).await;
        let body = app.reservation(&crew, 60);
        for path in ["/v1/reservations", "/v1/reservations/candidates"] {
            let refused = app.alice.post(path, body.clone()).await;
            refused.expect_error(400, Some("reservation_invalid_input"), "vehicle");
        }
    }
    app.advance(31 * 60).await;
    let failed = app.alice.get_ok(&path_of(&id)).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "vehicle_unavailable"});
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
async fn a_reservation_whose_evse_breaks_moves_to_another_evse() {
    let app = TestApp::start().await;
    let station = app.station_with_cables(json!({})).await;
    let crew = app.crew(&app.alice).await;
    let id = reserve_here(&app, &crew, 20).await;
    app.drain().await;
    let path = format!("/v1/reservations/{id}");
    assert_eq!(app.alice.get_ok(&path).await["connector"], "1");
    let mut broken = tests::cables();
    for place in [0, 1] {
        broken[place]["status"] = json!("faulted");
    }
    app.change_station(&station, json!({"connectors": broken}))
        .await;
    app.drain().await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "connector": "3"});
    // The EVSE of the moved reservation is free again: another reservation gets it once it works.
    app.change_station(&station, json!({"connectors": tests::cables()}))
        .await;
    let other = app.crew(&app.alice).await;
    let id = reserve_here(&app, &other, 20).await;
    app.drain().await;
    let other = app.alice.get_ok(&path_of(&id)).await;
    assert_has!(other, {"status": "confirmed", "connector": "1"});
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
async fn lists_are_filtered_by_driver_vehicle_and_status() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let first = reserve(&app, &crew, 120).await;
    let second = reserve(&app, &other, 120).await;
    app.alice
        .post_ok(&format!("/v1/reservations/{first}/cancel"), json!({}))
        .await;
    let (driver, vehicle) = (&crew.driver, &other.vehicle);
    for (query, listed) in [
        (String::new(), vec![&second, &first]),
        (format!("?driver={driver}"), vec![&first]),
        (format!("?vehicle={vehicle}"), vec![&second]),
        ("?status=pending".into(), vec![&second]),
        (format!("?driver={driver}&status=cancelled"), vec![&first]),
        (format!("?driver={driver}&vehicle={vehicle}"), vec![]),
    ] {
        let page = app.alice.get(&format!("/v1/reservations{query}")).await;
        assert_eq!(page.ids().iter().collect::<Vec<_>>(), listed, "{query}");
    }
    let wrong = app.alice.get("/v1/reservations?status=lost").await;
    wrong.expect_error(400, None, "status");
    let nobody = app.alice.get("/v1/reservations?driver=drv_1").await;
    assert_eq!(nobody.error().2, Some("driver_not_found"));
    app.drain().await;
}

#[tokio::test]
async fn lists_are_filtered_by_the_time_of_creation() {
    let (app, crew) = TestApp::with_crew().await;
    let mut reservations = Vec::new();
    for _ in 0..3 {
        let body = app.reservation(&crew, 24 * 60);
        let reservation = app.alice.post("/v1/reservations", body).await;
        reservations.push((
            reservation.id(),
            reservation.body["created"]
                .as_str()
                .expect("a time")
                .to_owned(),
        ));
        app.advance(60).await;
    }
    let [(first, _), (second, at), (third, _)] = <[_; 3]>::try_from(reservations).expect("three");
    let vehicle = &crew.vehicle;
    for (query, listed) in [
        (format!("created[gte]={at}"), vec![&third, &second]),
        (format!("created[gt]={at}"), vec![&third]),
        (format!("created[lte]={at}"), vec![&second, &first]),
        (format!("created[lt]={at}&status=pending"), vec![&first]),
        (format!("created[lt]={at}&vehicle={vehicle}"), vec![&first]),
        (format!("created[lte]={at}&limit=1"), vec![&second]),
    ] {
        let page = app.alice.get(&format!("/v1/reservations?{query}")).await;
        assert_eq!(page.ids().iter().collect::<Vec<_>>(), listed, "{query}");
    }
    // The filter is part of the page's URL.
    let pages = format!("/v1/reservations?created[lte]={at}&limit=1");
    assert_eq!(app.alice.walk(&pages).await.len(), 2);
    let wrong = app.alice.get("/v1/reservations?created[gte]=today").await;
    wrong.expect_error(400, None, "created[gte]");
}

/// An area with only the stations of the test.
pub fn lonely() -> Value {
    json!({"latitude": 10.0, "longitude": 10.0, "radius": 20_000})
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
async fn an_attempt_whose_reservation_is_updated_meanwhile_is_repeated() {
    let app = TestApp::start().await;
    app.station(json!({"status": "inactive"})).await;
    let tenant = app.alice.tenant();
    for _ in 0..20 {
        let crew = app.crew(&app.alice).await;
        let body = with(app.reservation(&crew, 20), json!({"location": lonely()}));
        let id = app.alice.create("/v1/reservations", body).await;
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

/// An isolated station, and a reservation confirmed on it half an hour before its window.
pub async fn confirmed_at_one_station(app: &TestApp, minutes: i64) -> (String, String, Value) {
    let crew = app.crew(&app.alice).await;
    let first = app.station(json!({})).await;
    let body = with(
        app.reservation(&crew, minutes),
        json!({"location": lonely()}),
    );
    let id = app.alice.create("/v1/reservations", body).await;
    app.advance(u32::try_from(minutes - 29).expect("later") * 60)
        .await;
    let path = format!("/v1/reservations/{id}");
    let reservation = app.alice.get_ok(&path).await;
    assert_has!(reservation, {"status": "confirmed", "charging_station": first});
    (path, first, reservation)
}

/// The events of an object, as the last words of their types, oldest first.
pub async fn events(app: &TestApp, path: &str) -> Vec<String> {
    let id = path.rsplit('/').next();
    let page = app.alice.get_ok("/v1/events?limit=100").await;
    let events = page["data"].as_array().expect("events").iter().rev();
    let events = events.filter(|event| event["data"]["object"]["id"].as_str() == id);
    let kinds = events.filter_map(|event| event["type"].as_str()?.split('.').next_back());
    kinds.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_reservation_whose_connector_breaks_moves_to_another() {
    let app = TestApp::start().await;
    let (path, first, reservation) = confirmed_at_one_station(&app, 60).await;
    let elsewhere = json!({"location": {"latitude": 10.05, "longitude": 10.0}});
    let second = app.station(elsewhere).await;
    // The connectors next to it are fine: only the reserved one counts.
    let connector = |id: &str, status: &str| json!({"id": id, "power": 22.0, "status": status, "type": "Type2"});
    let other_broken = json!([connector("1", "available"), connector("2", "faulted")]);
    app.change_station(&first, json!({"connectors": other_broken}))
        .await;
    app.drain().await;
    assert_eq!(app.alice.get_ok(&path).await, reservation);
    let broken = json!([connector("1", "faulted"), connector("2", "faulted")]);
    app.change_station(&first, json!({"connectors": broken}))
        .await;
    app.drain().await;
    let moved = app.alice.get_ok(&path).await;
    assert_has!(moved, {"status": "confirmed", "charging_station": second});
    for same in ["reserved_start", "reserved_end", "confirmed_at"] {
        assert_eq!(moved[same], reservation[same], "{same}");
    }
    let kinds = ["created", "confirmed", "reassigned"];
    assert_eq!(events(&app, &path).await, kinds);
    // Its previous connector is free again, and its current one is not.
    app.change_station(&first, json!({})).await;
    app.drain().await;
    let ranges = async |station: &str| {
        let shown = app.alice.get(&path_of(&station)).await;
        shown.body["availability"]["range"].as_array().map(Vec::len)
    };
    assert_eq!(ranges(&first).await, Some(1));
    let only_one = json!([connector("1", "available")]);
    let change =
        json!({"connectors": only_one, "location": {"latitude": 10.05, "longitude": 10.0}});
    app.change_station(&second, change).await;
    assert_eq!(ranges(&second).await, Some(2));
    app.drain().await;
}

#[tokio::test]
async fn a_reservation_rematched_over_midnight_leaves_no_old_entries() {
    let app = TestApp::start().await;
    let day = whole_millis(DAY);
    // Its hour ends a little before midnight, however slow the machine is.
    let evening = (day - app.now().unix_millis() % day) / 1000 + 22 * 3600 - 300;
    app.advance(u32::try_from(evening).expect("later")).await;
    let crew = app.crew(&app.alice).await;
    let station = app.station(json!({})).await;
    let body = with(
        app.reservation(&crew, 60),
        json!({"location": lonely(), "latest_end": app.in_minutes(240)}),
    );
    let id = app.alice.create("/v1/reservations", body).await;
    let path = format!("/v1/reservations/{id}");
    app.advance(31 * 60).await;
    let reservation = app.alice.get_ok(&path).await;
    assert_eq!(reservation["status"], "confirmed");
    app.change_station(&station, json!({"status": "maintenance"}))
        .await;
    app.advance(95 * 60).await;
    app.change_station(&station, json!({})).await;
    app.advance(6 * 60).await;
    let moved = app.alice.get_ok(&path).await;
    assert_eq!(moved["status"], "confirmed");
    let kinds = ["created", "confirmed", "unassigned", "confirmed"];
    assert_eq!(events(&app, &path).await, kinds);
    let day_of = |shown: &Value| shown["reserved_start"].as_str().expect("a time")[..10].to_owned();
    assert!(day_of(&reservation) < day_of(&moved), "{moved}");
    // The calendars do not contain the previous assignment any more.
    let connector = reservation["connector"].as_str().expect("a connector");
    let owner = CalendarOwner::evse(&Id::from(station.as_str()), connector);
    assert_eq!(entries_of(&app, &owner, &reservation).await, []);
}

/// The entries of a calendar on the days of a reservation's earlier window.
async fn entries_of(app: &TestApp, owner: &CalendarOwner, reservation: &Value) -> Vec<Entry> {
    let window = |name: &str| kernel::Timestamp::parse(reservation[name].as_str().expect("a time"));
    let reserved = kernel::window::Window {
        from: window("reserved_start").expect("a time"),
        until: window("reserved_end").expect("a time"),
    };
    let pages = reserved.utc_days().map(|day| (owner.clone(), day));
    let calendars = app.app().store.calendars(Mode::Test, pages.collect()).await;
    calendars.expect("calendars").entries(owner)
}

/// The number of entries in the calendars of the EVSE and the vehicle of an earlier assignment.
async fn calendars_of(app: &TestApp, reservation: &Value) -> usize {
    let text = |name: &str| reservation[name].as_str().expect("a text").to_owned();
    let station = Id::from(text("charging_station"));
    let evse = CalendarOwner::evse(&station, &text("connector"));
    let vehicle = CalendarOwner::Vehicle(Id::from(text("vehicle")));
    entries_of(app, &evse, reservation).await.len()
        + entries_of(app, &vehicle, reservation).await.len()
}

#[tokio::test]
async fn unpublishing_a_reserved_station_sends_reservation_unassigned() {
    let app = TestApp::start().await;
    let receiver = Receiver::subscribed(&app.alice, &["reservation.unassigned"]).await;
    let (path, station, reservation) = confirmed_at_one_station(&app, 120).await;
    assert_eq!(calendars_of(&app, &reservation).await, 2);
    let tenant = app.alice.tenant();
    let origin = Origin::background(tenant.clone(), app.now());
    let store = &app.app().store;
    let publish = async |published: bool| {
        let id = Id::from(station.as_str());
        let stored = store.load::<ChargingStation>(&tenant, &id).await;
        let mut stored = stored.expect("the station");
        stored.internal.published = published;
        let mut tx = store.begin(&origin);
        tx.put_station(&stored).expect("a write");
        tx.commit_without_response().await.expect("it is written");
        app.drain().await;
    };
    publish(false).await;
    let received = receiver.received();
    let [unassigned] = &received[..] else {
        panic!("one delivery: {received:?}");
    };
    let object = &unassigned.event["data"]["object"];
    let shown = app.alice.get_ok(&path).await;
    let place = json!({"location": shown["location"]});
    assert_eq!(with(object.clone(), place), shown);
    assert_has!(object, {"status": "pending", "charging_station": null});
    assert_eq!(calendars_of(&app, &reservation).await, 0);
    // It is published again, and found by the next attempt.
    publish(true).await;
    app.advance(5 * 60).await;
    let again = app.alice.get_ok(&path).await;
    assert_eq!(again["charging_station"], reservation["charging_station"]);
    let kinds = ["created", "confirmed", "unassigned", "confirmed"];
    assert_eq!(events(&app, &path).await, kinds);
}

#[tokio::test]
async fn a_reserved_connector_with_another_plug_is_lost() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let (path, station, _) = confirmed_at_one_station(&app, 120).await;
    let connector =
        |plug: &str| json!([{"id": "1", "power": 22.0, "status": "available", "type": plug}]);
    let change = json!({"connectors": connector("CCS"), "location": lonely()});
    app.change_station(&station, change).await;
    app.drain().await;
    let lost = app.alice.get_ok(&path).await;
    assert_has!(lost, {"status": "pending", "charging_station": null});
    app.advance(6 * 60 * 60).await;
    assert_has!(app.alice.get_ok(&path).await, {
        "status": "failed", "failed_reason": "station_unavailable", "fee_due": 0});
    let kinds = ["created", "confirmed", "unassigned", "failed"];
    assert_eq!(events(&app, &path).await, kinds);
}

/// A reservation that accepts two plugs, in two hours, at the only station, whose connector `1` is Type2 and `2` is CCS: its path and the
/// vehicle's.
async fn of_two_plugs(app: &TestApp) -> (String, String) {
    let crew = app.crew(&app.alice).await;
    let connector = |id: &str, plug: &str| json!({"id": id, "power": 22.0, "status": "available", "type": plug});
    let connectors = json!([connector("1", "Type2"), connector("2", "CCS")]);
    app.station(json!({"connectors": connectors})).await;
    let change = json!({"connector_type": ["Type2", "CCS"], "location": lonely()});
    let body = with(app.reservation(&crew, 120), change);
    let id = app.alice.create("/v1/reservations", body).await;
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    (format!("/v1/reservations/{id}"), vehicle)
}

#[tokio::test]
async fn a_vehicle_with_another_plug_gets_another_connector() {
    let app = TestApp::start().await;
    let (path, vehicle) = of_two_plugs(&app).await;
    app.advance(91 * 60).await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "connector": "1"});
    let change = async |plug: &str| {
        let change = json!({"charging_standard": plug});
        app.alice.post_ok(&vehicle, change).await;
        app.drain().await;
        app.alice.get_ok(&path).await
    };
    assert_has!(change("CCS").await, {"status": "confirmed", "connector": "2"});
    assert_has!(change("CHAdeMO").await, {"status": "pending", "connector": null});
    let metadata = json!({"metadata": {"bay": "7"}});
    app.alice.post_ok(&path, metadata).await;
    app.drain().await;
    let kinds = [
        "created",
        "confirmed",
        "reassigned",
        "unassigned",
        "updated",
    ];
    assert_eq!(events(&app, &path).await, kinds);
}

#[tokio::test]
async fn another_plug_does_not_avoid_the_fee_of_a_late_cancellation() {
    for is_cancelled in [true, false] {
        let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
        let (path, vehicle) = of_two_plugs(&app).await;
        app.advance(102 * 60).await;
        let change = json!({"charging_standard": "CHAdeMO"});
        app.alice.post_ok(&vehicle, change).await;
        app.drain().await;
        let kept = json!({"status": "confirmed", "connector": "1", "fee_due": 300});
        for _ in 0..2 {
            let shown = app.alice.get_ok(&path).await;
            assert_eq!(with(shown.clone(), kept.clone()), shown);
            app.advance(5 * 60).await;
        }
        let status = if is_cancelled {
            let cancel = format!("{path}/cancel");
            app.alice.post_ok(&cancel, json!({})).await;
            "cancelled"
        } else {
            app.advance(30 * 60).await;
            "expired"
        };
        assert_has!(app.alice.get_ok(&path).await, {"status": status, "fee_due": 300});
    }
}

#[tokio::test]
async fn a_plug_that_changes_before_the_confirmation_is_the_one_matched() {
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
async fn a_price_cap_is_in_the_currency_of_the_reservation() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let price = json!({"currency": "gbp", "price": 30, "step_size": 1, "tax": "vat", "tax_included": true,
        "tax_percent": "20", "type": "ENERGY"});
    app.station(json!({"pricing": [price]})).await;
    let change = json!({"preferences": {"default_currency": "gbp"}});
    app.alice.post_ok(&path_of(&crew.fleet), change).await;
    let confirmed = async |preferences: Value| {
        let change = json!({"preferences": preferences});
        app.alice.post_ok(&path_of(&crew.driver), change).await;
        let body = with(app.reservation(&crew, 20), json!({"location": lonely()}));
        let id = app.alice.create("/v1/reservations", body).await;
        app.advance(21 * 60).await;
        let shown = app.alice.get_ok(&path_of(&id)).await;
        app.alice
            .post(&format!("{}/cancel", path_of(&id)), json!({}))
            .await;
        (shown["currency"] == "gbp", shown["status"] == "confirmed")
    };
    assert_eq!(
        confirmed(json!({"max_price_per_kwh": 31})).await,
        (true, true)
    );
    assert_eq!(
        confirmed(json!({"max_price_per_kwh": 29})).await,
        (true, false)
    );
}

#[tokio::test]
async fn cancelling_is_free_ten_minutes_after_a_late_confirmation() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let crew = app.crew(&app.alice).await;
    app.station(json!({})).await;
    let body = with(app.reservation(&crew, 20), json!({"location": lonely()}));
    let confirm = async || {
        let reservation = app.alice.post("/v1/reservations", body.clone()).await;
        let path = format!("/v1/reservations/{}", reservation.expect(200).id());
        app.drain().await;
        let confirmed = app.alice.get_ok(&path).await;
        assert_eq!(confirmed["status"], "confirmed");
        let time = |name: &str| {
            let text = confirmed[name].as_str().expect("a time");
            kernel::Timestamp::parse(text).expect("a time")
        };
        let free = time("free_cancellation_until").since(time("confirmed_at"));
        (path, free)
    };
    let cancel = async |path: &str| {
        let cancel = format!("{path}/cancel");
        let cancelled = app.alice.post_ok(&cancel, json!({})).await;
        app.drain().await;
        cancelled["fee_due"].clone()
    };
    for _ in 0..3 {
        let (path, free) = confirm().await;
        assert_eq!(free, minutes(10));
        assert_eq!(cancel(&path).await, 0);
    }
    // The vehicle has used up its late cancellations: cancelling is free until half an hour before the start, which has passed.
    let (path, free) = confirm().await;
    assert!(free < minutes(0), "{free}");
    assert_eq!(cancel(&path).await, 300);
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    let shown = app.alice.get_ok(&vehicle).await;
    assert_eq!(shown["updated"], shown["created"]);
}

#[tokio::test]
async fn a_reservation_fails_without_fee_when_its_station_closes() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let (path, station, reservation) = confirmed_at_one_station(&app, 60).await;
    assert_eq!(reservation["fee_due"], 300);
    app.change_station(&station, json!({"status": "maintenance"}))
        .await;
    app.drain().await;
    // Another station may become free before the window begins.
    let waiting = app.alice.get_ok(&path).await;
    let mut want = reservation.clone();
    for cleared in [
        "charging_station",
        "confirmed_at",
        "connector",
        "free_cancellation_until",
        "reserved_end",
        "reserved_start",
    ] {
        assert!(!want[cleared].take().is_null(), "{cleared}");
    }
    for changed in ["match_summary", "updated"] {
        want[changed] = waiting[changed].clone();
    }
    let pending = json!({"status": "pending", "fee_due": 0});
    assert_eq!(waiting, with(want, pending));
    assert_eq!(calendars_of(&app, &reservation).await, 0);
    app.advance(31 * 60).await;
    let failed = app.alice.get_ok(&path).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "station_unavailable", "fee_due": 0});
    let kinds = ["created", "confirmed", "unassigned", "failed"];
    assert_eq!(events(&app, &path).await, kinds);
    assert_eq!(failed["match_summary"]["refused"]["not_reservable"], 1);
}

#[tokio::test]
async fn the_fleet_of_the_last_reservation_is_read_with_the_driver() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let card = json!({"type": "card", "token": "tok_success"});
    let method = app.alice.create("/v1/payment_methods", card).await;
    app.drain().await;
    for (second, expected) in [(&crew, [3, 2]), (&other, [3, 3])] {
        let mut player = Player::on(&app).await;
        player.stay_busy(&app);
        for (crew, calls) in [&crew, second].into_iter().zip(expected) {
            let body = with(app.reservation(crew, 60), json!({"payment_method": method}));
            let path = "/v1/reservations";
            player
                .send("create-reservation", path, &app.alice, body)
                .await;
            assert_eq!(player.take()[0].1.calls, calls);
        }
    }
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

#[tokio::test]
async fn the_list_of_a_fleet_is_that_of_its_vehicles() {
    let app = TestApp::start().await;
    let (first_crew, second_crew) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let reserve = async |crew: &tests::Crew| {
        let body = app.reservation(crew, 120);
        app.alice.create("/v1/reservations", body).await
    };
    let (first, second) = (reserve(&first_crew).await, reserve(&second_crew).await);
    let list = async |query: String| {
        let path = format!("/v1/reservations?{query}");
        app.alice.get(&path).await.expect(200).ids()
    };
    let of_fleet = format!("fleet={}", first_crew.fleet);
    assert_eq!(list(of_fleet.clone()).await, [first.as_str()]);
    assert_eq!(list(format!("fleet={}", second_crew.fleet)).await, [second]);
    let by_driver = format!("{of_fleet}&driver={}", first_crew.driver);
    assert_eq!(list(by_driver).await, [first.as_str()]);
    let of_other = format!("{of_fleet}&vehicle={}", second_crew.vehicle);
    assert_eq!(list(of_other).await, [""; 0]);
    let cancel = format!("/v1/reservations/{first}/cancel");
    app.alice.post_ok(&cancel, json!({})).await;
    assert_eq!(list(format!("{of_fleet}&status=cancelled")).await, [first]);
    let unknown = app.alice.get("/v1/reservations?fleet=flt_x").await;
    unknown.expect_error(404, "fleet_not_found", "fleet");
    app.drain().await;
}
