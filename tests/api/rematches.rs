//! Confirmed reservations whose station changes.

use aws_sdk_dynamodb::types::AttributeValue;
use functions::stream::relay;
use kernel::{Id, Mode};
use models::charging::calendar::CalendarOwner;
use serde_json::{Value, json};
use table::keys::Key;
use tests::player::Player;
use tests::{Crew, TestApp, assert_has, id_of, path_of, with};

use crate::reservations::{confirmed_at_one_station, events, lonely};

/// The availability of a station with opening hours and exceptional closings.
pub fn availability(hours: Value, closings: Value) -> Value {
    json!({"connectors_available": 2, "connectors_total": 2, "range": [], "opening_hours": hours,
        "exceptional_closings": closings})
}

/// A closing of a station that is open round the clock.
pub fn closing(from: &Value, until: &Value) -> Value {
    json!({"availability": availability(json!([]), json!([{"from": from, "until": until}]))})
}

/// A station that is open from 11:00 to 14:00 in its time zone, or never.
fn with_hours(zone: &str, is_open: bool) -> Value {
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let days = days.iter().filter(|_| is_open);
    let hours: Value = days
        .map(|day| json!({"day": day, "from": "11:00", "until": "14:00"}))
        .collect();
    let capabilities = json!({"24_7_access": false, "amenities": [], "payment_methods": [],
        "requires_membership": false, "reservable": true});
    json!({"availability": availability(hours, json!([])), "capabilities": capabilities, "timezone": zone})
}

#[tokio::test]
async fn a_station_that_closes_in_the_window_loses_the_reservation() {
    // The window lasts from noon to 13:00 UTC.
    for change in [
        None,
        Some(with_hours("UTC", false)),
        Some(with_hours("Asia/Tokyo", true)),
    ] {
        let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
        let (path, station, reservation) = confirmed_at_one_station(&app, 120).await;
        app.change_station(&station, with_hours("UTC", true)).await;
        app.drain().await;
        assert_eq!(app.alice.get_ok(&path).await, reservation);
        let (start, end) = (&reservation["reserved_start"], &reservation["reserved_end"]);
        let change = change.unwrap_or_else(|| closing(start, end));
        app.change_station(&station, change).await;
        app.drain().await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "pending", "charging_station": null, "fee_due": 0});
        app.advance(60 * 60).await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "failed", "failed_reason": "station_unavailable",
            "fee_due": 0, "/match_summary/refused/closed": 1});
        let kinds = ["created", "confirmed", "unassigned", "failed"];
        assert_eq!(events(&app, &path).await, kinds);
    }
}

#[tokio::test]
async fn a_closing_before_or_after_the_window_leaves_the_reservation() {
    let app = TestApp::start().await;
    let (path, station, reservation) = confirmed_at_one_station(&app, 120).await;
    let (start, end) = (&reservation["reserved_start"], &reservation["reserved_end"]);
    for change in [
        closing(&json!(app.in_minutes(1)), start),
        closing(end, &json!(app.in_minutes(600))),
    ] {
        app.change_station(&station, change).await;
        app.drain().await;
        assert_eq!(app.alice.get_ok(&path).await, reservation);
    }
}

#[tokio::test]
async fn a_closing_does_not_move_a_reservation_that_is_charging() {
    let app = TestApp::start().await;
    let (path, station, reservation) = confirmed_at_one_station(&app, 60).await;
    app.advance(20 * 60).await;
    let session = json!({"charging_station": station, "connector": reservation["connector"],
        "driver": reservation["driver"], "vehicle": reservation["vehicle"]});
    let session = app.alice.post_ok("/v1/charging_sessions", session).await;
    let (start, end) = (&reservation["reserved_start"], &reservation["reserved_end"]);
    app.change_station(&station, closing(start, end)).await;
    app.drain().await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "charging_station": station,
        "charging_session": id_of(&session)});
    assert_eq!(events(&app, &path).await, ["created", "confirmed"]);
}

#[tokio::test]
async fn nothing_is_due_for_a_connector_that_was_lost_in_its_window() {
    for cancels in [true, false] {
        let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
        let (path, station, _) = confirmed_at_one_station(&app, 60).await;
        app.advance(31 * 60).await;
        for status in ["maintenance", "active"] {
            app.change_station(&station, json!({"status": status}))
                .await;
            app.drain().await;
        }
        assert_eq!(app.alice.get_ok(&path).await["status"], "confirmed");
        let status = if cancels {
            let cancel = format!("{path}/cancel");
            app.alice.post_ok(&cancel, json!({})).await;
            "cancelled"
        } else {
            app.advance(20 * 60).await;
            "expired"
        };
        assert_has!(app.alice.get_ok(&path).await, {"status": status, "charging_station": station, "fee_due": 0});
    }
}

/// A reservation with a fee whose vehicle has got another plug too late to cancel free of charge, at a station with two connectors: its
/// path, the station and the reservation.
async fn kept_for_its_fee(app: &TestApp) -> (String, String, Value) {
    let (path, station, _) = confirmed_at_one_station(app, 60).await;
    app.advance(12 * 60).await;
    let reservation = app.alice.get_ok(&path).await;
    change_plug(app, &reservation, "CHAdeMO").await;
    let kept = app.alice.get_ok(&path).await;
    assert_has!(kept, {"status": "confirmed", "charging_station": station, "fee_due": 300});
    (path, station, kept)
}

async fn change_plug(app: &TestApp, reservation: &Value, plug: &str) {
    let vehicle = path_of(reservation["vehicle"].as_str().expect("an id"));
    let change = json!({"charging_standard": plug});
    app.alice.post_ok(&vehicle, change).await;
    app.drain().await;
}

/// The status of a new reservation in the window of another one, at the same station.
async fn status_of_rival(app: &TestApp, crew: &Crew, reservation: &Value) -> Value {
    let window = json!({"location": lonely(), "ideal_start": reservation["reserved_start"],
        "ideal_end": reservation["reserved_end"]});
    let body = with(app.reservation(crew, 60), window);
    let rival = app.alice.create("/v1/reservations", body).await;
    app.drain().await;
    app.alice.get_ok(&path_of(&rival)).await["status"].clone()
}

#[tokio::test]
async fn a_reservation_kept_for_its_fee_keeps_its_time() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let (path, _, kept) = kept_for_its_fee(&app).await;
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let crew = app.crew(&app.alice).await;
        statuses.push(status_of_rival(&app, &crew, &kept).await);
    }
    assert_eq!(statuses, ["confirmed", "pending"]);
    change_plug(&app, &kept, "Type2").await;
    app.advance(5 * 60).await;
    let text = |name: &str| kept[name].as_str().expect("an id").to_owned();
    let own = Crew {
        driver: text("driver"),
        vehicle: text("vehicle"),
        fleet: String::new(),
    };
    assert_eq!(status_of_rival(&app, &own, &kept).await, "pending");
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "connector": kept["connector"]});
    app.advance(13 * 60).await;
    let session = json!({"charging_station": kept["charging_station"], "connector": kept["connector"],
        "driver": kept["driver"], "vehicle": kept["vehicle"]});
    let session = app.alice.post_ok("/v1/charging_sessions", session).await;
    assert_eq!(session["reservation"], kept["id"]);
    assert_eq!(events(&app, &path).await, ["created", "confirmed"]);
}

#[tokio::test]
async fn a_kept_reservation_is_free_if_its_connector_breaks() {
    for minutes in [0, 14, 18] {
        let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
        let (path, station, _) = kept_for_its_fee(&app).await;
        app.advance(minutes * 60).await;
        app.change_station(&station, json!({"status": "maintenance"}))
            .await;
        app.drain().await;
        app.advance(40 * 60).await;
        let shown = app.alice.get_ok(&path).await;
        assert_has!(shown, {"fee_due": 0});
        let status = if minutes < 17 { "failed" } else { "expired" };
        assert_eq!(shown["status"], status);
    }
}

#[tokio::test]
async fn the_same_station_is_reserved_for_another_time() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let station = app.station(json!({})).await;
    let change = json!({"location": lonely(), "latest_end": app.in_minutes(240)});
    let body = with(app.reservation(&crew, 60), change);
    let id = app.alice.create("/v1/reservations", body).await;
    app.advance(31 * 60).await;
    let path = format!("/v1/reservations/{id}");
    let reservation = app.alice.get_ok(&path).await;
    let (start, end) = (&reservation["reserved_start"], &reservation["reserved_end"]);
    app.change_station(&station, closing(start, end)).await;
    app.drain().await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "charging_station": station,
        "reserved_start": end});
    assert_eq!(
        events(&app, &path).await,
        ["created", "confirmed", "reassigned"]
    );
}

#[tokio::test]
async fn no_fee_is_due_if_the_account_may_start_no_session() {
    for (status, due) in [("active", 300), ("suspended", 0), ("closed", 0)] {
        let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
        let (path, _, _) = confirmed_at_one_station(&app, 60).await;
        let account = app.alice.tenant().account;
        app.set_account_status(&account, status).await;
        app.advance(60 * 60).await;
        app.set_account_status(&account, "active").await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "expired", "fee_due": due});
    }
}

#[tokio::test]
async fn an_unreadable_calendar_does_not_prevent_other_rematches() {
    let app = TestApp::start().await;
    let station = Id::from(app.station(json!({})).await.as_str());
    let mut reservations = Vec::new();
    for _ in 0..2 {
        let crew = app.crew(&app.alice).await;
        let body = with(app.reservation(&crew, 60), json!({"location": lonely()}));
        let id = app.alice.create("/v1/reservations", body).await;
        reservations.push(format!("/v1/reservations/{id}"));
    }
    app.advance(31 * 60).await;
    let calendar = |connector: &Value| {
        let owner = CalendarOwner::evse(&station, connector.as_str().expect("a connector"));
        let (mode, day) = (Mode::Test, app.now().utc_date());
        let key = Key::Calendar {
            mode,
            owner: &owner,
            day,
        };
        let (pk, sk) = key.pair();
        let key = [
            ("pk".to_owned(), AttributeValue::S(pk)),
            ("sk".to_owned(), AttributeValue::S(sk)),
        ];
        std::collections::HashMap::from(key)
    };
    let first = app.alice.get_ok(&reservations[0]).await;
    let key = calendar(&first["connector"]);
    let (table, name) = (tests::golden::table(&app), &app.running().table);
    let read = table
        .get_item()
        .table_name(name)
        .set_key(Some(key.clone()))
        .send();
    let readable = read.await.expect("the table").item.expect("a calendar");
    let put = async |item| {
        let put = table
            .put_item()
            .table_name(name)
            .set_item(Some(item))
            .send();
        put.await.expect("an item");
    };
    let mut unreadable = readable.clone();
    unreadable.insert("calendar".into(), AttributeValue::S("?".into()));
    put(unreadable).await;

    let mut player = Player::on(&app).await;
    player.settle().await;
    let maintenance = json!({"status": "maintenance"});
    app.change_station(&station.to_string(), maintenance).await;
    let changes = player.changes().await;
    let change = changes
        .iter()
        .find(|change| change.key().0.contains(station.as_str()));
    let change = change.expect("the station");
    let pending = async || {
        let mut shown = Vec::new();
        for path in &reservations {
            shown.push(app.alice.get_ok(path).await["status"] == "pending");
        }
        shown
    };
    relay::handle(&player.app, change)
        .await
        .expect_err("a calendar");
    player.settle().await;
    assert_eq!(pending().await, [false, true]);
    // It is relayed again until it can be.
    put(readable).await;
    relay::handle(&player.app, change)
        .await
        .expect("it is relayed");
    player.settle().await;
    assert_eq!(pending().await, [true, true]);
}

/// A station where a kWh costs this many cents, with changes.
fn priced(price: i64, change: Value) -> Value {
    let price = json!({"currency": "usd", "price": price, "step_size": 1, "tax": "vat", "tax_included": true,
        "tax_percent": "20", "type": "ENERGY"});
    with(json!({"pricing": [price]}), change)
}

/// Assigns a policy with these rules to the vehicle.
async fn restrict(app: &TestApp, vehicle: &str, rules: Value) {
    let policy = json!({"name": "Rules", "rules": rules});
    let policy = app.alice.create("/v1/policies", policy).await;
    let change = json!({"policy_ids": [policy]});
    app.alice.post_ok(&path_of(vehicle), change).await;
    app.drain().await;
}

/// A reservation under these rules that is confirmed at the only station, where a kWh costs 40 cents, half an hour before its window: its
/// path, the station and the vehicle.
async fn confirmed_under(app: &TestApp, rules: Option<Value>) -> (String, String, String) {
    let crew = app.crew(&app.alice).await;
    let station = app.station(priced(40, json!({}))).await;
    if let Some(rules) = rules {
        restrict(app, &crew.vehicle, rules).await;
    }
    let body = with(app.reservation(&crew, 60), json!({"location": lonely()}));
    let id = app.alice.create("/v1/reservations", body).await;
    app.advance(31 * 60).await;
    let path = path_of(&id);
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "charging_station": station, "fee_due": 300});
    (path, station, crew.vehicle)
}

async fn with_fee() -> TestApp {
    TestApp::start_with(|options| options.reservation_fee = 300).await
}

/// Rules, if there are any, a change of the station that makes it unusable under them, and the reason of the failure.
fn refused_changes() -> [(Option<Value>, Value, &'static str); 4] {
    let cap = json!({"max_price_per_kwh": 60});
    let place = |latitude: f64| json!({"location": {"latitude": latitude, "longitude": 10.0}});
    let fence = json!({"name": "Depot", "center": {"latitude": 10.0, "longitude": 10.0}, "radius_meters": 5000});
    let fence = json!({"geofences": [fence]});
    let denied = json!({"denied_operators": ["Dear"]});
    [
        (Some(cap), priced(90, json!({})), "policy_blocked"),
        (Some(fence), priced(40, place(10.1)), "policy_blocked"),
        (
            Some(denied),
            priced(40, json!({"operator": "Dear"})),
            "policy_blocked",
        ),
        (None, priced(40, place(11.0)), "station_unavailable"),
    ]
}

#[tokio::test]
async fn a_station_that_rules_refuse_after_a_change_is_lost() {
    for (rules, change, reason) in refused_changes() {
        let app = with_fee().await;
        let (path, station, _) = confirmed_under(&app, rules).await;
        app.change_station(&station, change).await;
        app.drain().await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "pending", "charging_station": null, "fee_due": 0});
        app.advance(60 * 60).await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "failed", "failed_reason": reason, "fee_due": 0});
        let kinds = ["created", "confirmed", "unassigned", "failed"];
        assert_eq!(events(&app, &path).await, kinds);
    }
}

#[tokio::test]
async fn a_station_that_rules_refuse_in_the_window_is_free() {
    for (rules, change, _) in refused_changes() {
        let app = with_fee().await;
        let (path, station, _) = confirmed_under(&app, rules).await;
        app.advance(31 * 60).await;
        app.change_station(&station, change).await;
        app.drain().await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "charging_station": station});
        app.advance(20 * 60).await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "expired", "fee_due": 0});
    }
}

#[tokio::test]
async fn a_station_above_the_cap_is_replaced_by_a_cheaper_one() {
    let app = with_fee().await;
    let (path, first, _) = confirmed_under(&app, Some(json!({"max_price_per_kwh": 60}))).await;
    let second = app.station(priced(50, json!({}))).await;
    // A price that the policy allows moves nothing.
    app.change_station(&first, priced(55, json!({}))).await;
    app.drain().await;
    assert_has!(app.alice.get_ok(&path).await, {"charging_station": first});
    app.change_station(&first, priced(90, json!({}))).await;
    app.drain().await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "charging_station": second});
    app.change_station(&first, priced(10, json!({}))).await;
    app.drain().await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "charging_station": second});
    let kinds = ["created", "confirmed", "reassigned"];
    assert_eq!(events(&app, &path).await, kinds);
}

#[tokio::test]
async fn a_policy_that_follows_the_match_saves_no_fee() {
    // The station becomes dearer under a cap that was too low for it before or just high enough, becomes cheaper, or breaks nothing.
    for (cap, price) in [(30, 45), (40, 45), (30, 35), (30, 40)] {
        let app = with_fee().await;
        let (path, station, vehicle) = confirmed_under(&app, None).await;
        restrict(&app, &vehicle, json!({"max_price_per_kwh": cap})).await;
        let change = priced(price, json!({"name": "Renamed"}));
        app.change_station(&station, change).await;
        app.drain().await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "charging_station": station, "fee_due": 300});
        app.advance(32 * 60).await;
        app.change_station(&station, priced(50, json!({}))).await;
        app.advance(20 * 60).await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "expired", "fee_due": 300});
        assert_eq!(
            events(&app, &path).await,
            ["created", "confirmed", "expired"]
        );
    }
}
