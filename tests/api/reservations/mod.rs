//! `/v1/reservations`, from creation to confirmation.

mod cancel;
mod confirm;
mod create;
mod list;
mod met_need;
mod reassign;
mod update;

use serde_json::{Value, json};
use tests::{Crew, TestApp, assert_has, with};

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

/// An area with only the stations of the test.
pub fn lonely() -> Value {
    json!({"latitude": 10.0, "longitude": 10.0, "radius": 20_000})
}

/// An isolated station, and a reservation confirmed on it half an hour before its window.
pub async fn confirmed_at_one_station(app: &TestApp, minutes: i64) -> (String, String, Value) {
    let crew = app.crew(&app.alice).await;
    let first = app.station(json!({})).await;
    let id = reserve_here(app, &crew, minutes).await;
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
