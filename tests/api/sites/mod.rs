//! Sites: their limits, prices and departures, and the plan that makes every vehicle ready.

mod departures;
mod limits;
mod plan;
mod prices;
mod replan;

use serde_json::{Value, json};
use tests::{TestApp, fleet, vehicle, with};

/// A depot with a limit in W, and vans at 20 % that need a level at a moment. Returns the paths of the site and of the vehicles.
async fn depot(app: &TestApp, power: u32, vans: usize, departure: &Value) -> (String, Vec<String>) {
    let limits = json!([{"type": "capacity", "power_w": power}]);
    let body = json!({"name": "Depot", "time_zone": "UTC", "limits": limits});
    let site = app.alice.create("/v1/sites", body).await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let mut paths = Vec::new();
    for _ in 0..vans {
        paths.push(van(app, &site, &fleet, departure).await);
    }
    app.drain().await;
    (format!("/v1/sites/{site}"), paths)
}

/// A van at a site, at 20 %, that needs a level at a moment. Returns its path.
async fn van(app: &TestApp, site: &str, fleet: &str, departure: &Value) -> String {
    let body = with(
        vehicle(fleet),
        json!({"site": site, "max_ac_power": 11_000}),
    );
    let id = app.alice.create("/v1/vehicles", body).await;
    let path = format!("/v1/vehicles/{id}");
    let level = json!({"battery": {"level": 20}});
    app.alice.post_ok(&format!("{path}/telemetry"), level).await;
    let departures = json!({"departures": [departure]});
    let path_of_departures = format!("{path}/departures");
    app.alice.post_ok(&path_of_departures, departures).await;
    path
}
