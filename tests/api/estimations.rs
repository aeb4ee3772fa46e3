//! `/v1/estimations`.

use serde_json::json;
use tests::{TestApp, with};

const PATH: &str = "/v1/estimations";

#[tokio::test]
async fn an_estimation_tells_what_charging_takes_and_costs() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let body = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 75});
    let made = app.alice.post(PATH, body).await.expect(200);
    let created = shared::Timestamp::parse(made.body["created"].as_str().expect("a time"));
    let until = created.map(|at| at.plus_seconds(3600).to_string());
    // 33 kWh at 22 kW.
    let want = json!({
        "id": made.id(), "object": "estimation", "battery_level": 20, "battery_target_level": 75,
        "charging_station": station, "created": made.body["created"], "currency": "gbp",
        "cost_breakdown": [{"type": "ENERGY", "description": "Energy", "quantity": 33, "unit": "kWh", "unit_price": 45,
            "tax_percent": "20", "cost": 1485}],
        "policy": {"allowed": true, "policy": null, "rule": null}, "estimated_duration": 5400, "estimated_energy_kwh": 33, "estimated_total_cost": 1485,
        "valid_until": until.expect("a time"), "vehicle": crew.vehicle,
    });
    assert_eq!(made.body, want);
    assert!(made.id().starts_with("est_"));
    // It stays to be looked at after its prices have lapsed.
    app.advance(2 * 3600).await;
    let path = format!("{PATH}/{}", made.id());
    assert_eq!(app.alice.get(&path).await.expect(200).body, want);
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_named() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let good = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 75});
    for (change, param) in [
        (json!({"battery_level": "full"}), "battery_level"),
        (json!({"battery_level": 101}), "battery_level"),
        (json!({"battery_target_level": 0}), "battery_target_level"),
        (json!({"battery_target_level": 20}), "battery_target_level"),
        (json!({"currency": "eur"}), "currency"),
        (json!({"currency": "money"}), "currency"),
    ] {
        let answer = app
            .alice
            .post(PATH, with(good.clone(), change.clone()))
            .await;
        let code = Some("estimation_validation_error");
        let want = (400, "invalid_request_error", code, Some(param));
        assert_eq!(answer.error(), want, "{change}");
    }
    for (change, code, param) in [
        (
            json!({"charging_station": "chst_1"}),
            "charging_station_not_found",
            "charging_station",
        ),
        (json!({"vehicle": "veh_1"}), "vehicle_not_found", "vehicle"),
    ] {
        let answer = app.alice.post(PATH, with(good.clone(), change)).await;
        assert_eq!(
            answer.error(),
            (404, "invalid_request_error", Some(code), Some(param))
        );
    }
    let ccs = with(
        tests::vehicle(&crew.fleet),
        json!({"charging_standard": "CCS"}),
    );
    let ccs = app.alice.post("/v1/vehicles", ccs).await.id();
    let answer = app
        .alice
        .post(PATH, with(good, json!({"vehicle": ccs})))
        .await;
    assert_eq!(answer.error().3, Some("charging_station"));
    app.drain().await;
}

#[tokio::test]
async fn an_unknown_estimation_is_404() {
    let app = TestApp::start().await;
    let answer = app.alice.get(&format!("{PATH}/est_1")).await;
    let code = Some("estimation_not_found");
    assert_eq!(
        answer.error(),
        (404, "invalid_request_error", code, Some("estimation"))
    );
}

#[tokio::test]
async fn an_estimation_says_whether_policies_allow_it() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let rules = json!({"name": "Others only", "rules": {"denied_operators": ["Voltway"]}});
    let policy = app.alice.post("/v1/policies", rules).await.id();
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    app.alice
        .post(&vehicle, json!({"policy_ids": [policy]}))
        .await
        .expect(200);
    let body = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 75});
    let made = app.alice.post(PATH, body).await.expect(200);
    let verdict = json!({"allowed": false, "policy": policy, "rule": "denied_operators"});
    assert_eq!(made.body["policy"], verdict);
    app.drain().await;
}
