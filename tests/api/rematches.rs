//! Confirmed reservations whose station changes.

use serde_json::{Value, json};
use tests::{TestApp, assert_has, id_of, with};

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
