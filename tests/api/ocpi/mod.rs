//! The interfaces that charging networks call, and the requests to them: one module per OCPI module, and one for operators.

mod authorize;
mod cdrs;
mod commands;
mod credentials;
mod edge;
mod examples;
mod hub_client_info;
mod interrupted_pulls;
mod location_limits;
mod locations;
mod manage_networks;
mod samples;
mod sessions;
mod sync;
mod tariffs;
mod tokens;
mod versions;

use serde_json::Value;
use tests::platform::send_expecting;
use tests::recorder::Recorder;
use tests::{TestApp, TestResponse};

async fn get_expecting(app: &TestApp, token: &str, path: &str, code: (u16, i64)) -> TestResponse {
    send_expecting(app, token, "GET", path, None, code).await
}

/// The service that has the table, and a service whose calls of the table are recorded.
async fn recorded() -> (TestApp, TestApp, Recorder) {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let app = TestApp::start_with(|options| options.store = Some(url)).await;
    (table, app, recorder)
}

/// The station that the location of the fixture becomes.
async fn station(app: &TestApp) -> Value {
    let path = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500";
    let page = app.alice.get_ok(path).await;
    assert_eq!(page["data"].as_array().map(Vec::len), Some(1), "{page}");
    page["data"][0].clone()
}
