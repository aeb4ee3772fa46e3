//! `/v1/charging_sessions`, from plug-in to the end of the charge.

mod charge;
mod concurrency;
mod create;
mod list;
mod payment;
mod reservation;

use serde_json::{Value, json};
use tests::{Crew, TestApp, id_of, path_of, with};

const PATH: &str = "/v1/charging_sessions";

async fn start(app: &TestApp, crew: &Crew, station: &str) -> Value {
    start_with(app, crew, station, json!({})).await
}

async fn start_with(app: &TestApp, crew: &Crew, station: &str, change: Value) -> Value {
    let body = with(app.session(crew, station), change);
    app.alice.post_ok(PATH, body).await
}

async fn stop(app: &TestApp, session: &Value) -> Value {
    let path = format!("{}/stop", path(session));
    app.alice.post_ok(&path, json!({})).await
}

fn path(session: &Value) -> String {
    path_of(id_of(session))
}

/// The body of a reservation at the depot.
fn reservation_here(app: &TestApp, crew: &Crew, minutes: i64) -> Value {
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    with(app.reservation(crew, minutes), area)
}

/// The status of a station's first connector, and how many are available.
async fn connector(app: &TestApp, station: &str) -> Value {
    let station = app.alice.get_ok(&path_of(station)).await;
    let status = &station["connectors"][0]["status"];
    json!([status, station["availability"]["connectors_available"]])
}

async fn read_battery(app: &TestApp, vehicle: &str, level: f64) {
    let path = format!("/v1/vehicles/{vehicle}/telemetry");
    let reading = json!({"battery": {"level": level}});
    app.alice.post_ok(&path, reading).await;
}

const CONFLICT: Option<&str> = Some("charging_session_conflict");

/// The path of the app card of a driver.
pub async fn app_card(app: &TestApp, crew: &Crew) -> String {
    app.drain().await;
    let list = format!("/v1/charge_cards?driver={}", crew.driver);
    path_of(&app.alice.get(&list).await.ids()[0])
}
