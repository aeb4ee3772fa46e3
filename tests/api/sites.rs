//! Sites: their limits, prices and departures, and the plan that has every vehicle ready.

use serde_json::{Value, json};
use tests::{TestApp, fleet, vehicle, with};

/// A depot with a limit in W, and vans at 20 % that need a level at a moment. Gives the paths of the site and of the vehicles.
async fn depot(app: &TestApp, power: u32, vans: usize, departure: &Value) -> (String, Vec<String>) {
    let limits = json!([{"type": "capacity", "power_w": power}]);
    let body = json!({"name": "Depot", "time_zone": "UTC", "limits": limits});
    let site = app.alice.post("/v1/sites", body).await.expect(200).id();
    let fleet = app.alice.post("/v1/fleets", fleet()).await.id();
    let mut paths = Vec::new();
    for _ in 0..vans {
        let body = with(
            vehicle(&fleet),
            json!({"site": site, "max_ac_power": 11_000}),
        );
        let id = app.alice.post("/v1/vehicles", body).await.expect(200).id();
        let path = format!("/v1/vehicles/{id}");
        let level = json!({"battery": {"level": 20}});
        app.alice
            .post(&format!("{path}/telemetry"), level)
            .await
            .expect(200);
        let departures = json!({"departures": [departure]});
        let path_of_departures = format!("{path}/departures");
        app.alice
            .post(&path_of_departures, departures)
            .await
            .expect(200);
        paths.push(path);
    }
    app.drain().await;
    (format!("/v1/sites/{site}"), paths)
}

#[tokio::test]
async fn twelve_vans_behind_60_kw_are_ready_in_the_morning() {
    let app = TestApp::start().await;
    app.needs("a clock that can be moved");
    let departure = json!({"at": app.in_minutes(10 * 60), "target_level": 80});
    let (site, vans) = depot(&app, 60_000, 12, &departure).await;
    let plan = app
        .alice
        .get(&format!("{site}/plan"))
        .await
        .expect(200)
        .body;
    for slot in plan["slots"].as_array().expect("slots") {
        assert!(slot["load_w"].as_u64() <= Some(60_000), "{slot}");
    }
    for van in plan["vehicles"].as_array().expect("vehicles") {
        assert_eq!(
            (&van["status"], &van["short_by_wh"]),
            (&json!("feasible"), &json!(0))
        );
    }
    app.advance(10 * 60 * 60 + 60).await;
    for van in &vans {
        let over = app
            .alice
            .get(&format!("{van}/departures"))
            .await
            .expect(200)
            .body;
        let over = &over["departures"][0];
        assert_eq!(over["status"], "completed", "{over}");
        let level = app
            .alice
            .get(&format!("{van}/telemetry"))
            .await
            .expect(200)
            .body;
        let level = level["battery"]["level"].as_f64().expect("a level");
        assert!((79.9..80.1).contains(&level), "{level}");
    }
}

#[tokio::test]
async fn a_limit_that_is_cut_at_night_holds_and_says_who_is_short() {
    let app = TestApp::start().await;
    app.needs("a clock that can be moved");
    let departure = json!({"at": app.in_minutes(8 * 60), "target_level": 80});
    let (site, _) = depot(&app, 60_000, 12, &departure).await;
    app.advance(4 * 60 * 60).await;
    let limits = json!({"limits": [{"type": "capacity", "power_w": 30_000}]});
    app.alice.post(&site, limits).await.expect(200);
    app.drain().await;
    let plan = app
        .alice
        .get(&format!("{site}/plan"))
        .await
        .expect(200)
        .body;
    for slot in plan["slots"].as_array().expect("slots") {
        assert!(slot["load_w"].as_u64() <= Some(30_000), "{slot}");
    }
    let shown = app.alice.get(&site).await.expect(200).body;
    assert!(
        !shown["plan"]["short"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
    let events = app.alice.get("/v1/events?type=site.plan_changed").await;
    assert!(!events.expect(200).ids().is_empty());
    let revision = shown["plan"]["revision"].clone();
    app.advance(30 * 60).await;
    let later = app.alice.get(&site).await.expect(200).body;
    assert_eq!(later["plan"]["revision"], revision);
}

#[tokio::test]
async fn departures_of_a_vehicle_without_a_site_are_refused() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let path = format!("/v1/vehicles/{}/departures", crew.vehicle);
    let body = json!({"departures": [{"at": app.in_minutes(60), "target_level": 80}]});
    let refused = app.alice.post(&path, body).await;
    assert_eq!(
        refused.error(),
        (409, "invalid_request_error", None, Some("site"))
    );
    let none = app.alice.get(&path).await.expect(200).body;
    assert_eq!(none["departures"], json!([]));
}
