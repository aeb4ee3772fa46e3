//! Tests of confirmed reservations whose EVSE, station or plug is no longer there.

use kernel::time::{DAY, whole_millis};
use kernel::{Id, Mode, Origin};
use models::ChargingStation;
use models::charging::calendar::{CalendarOwner, Entry};
use serde_json::{Value, json};
use tests::{Receiver, TestApp, assert_has, path_of, with};

use super::{confirmed_at_one_station, events, lonely, of_two_plugs, reserve_here};

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
