//! `/v1/estimations`.

use kernel::time::{DAY, HOUR, days};
use serde_json::json;
use tests::{TestApp, cases, id_of, with};

const PATH: &str = "/v1/estimations";

#[tokio::test]
async fn an_estimation_has_the_duration_and_the_cost() {
    let (app, crew, station) = TestApp::with_station().await;
    let body = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 69.5});
    let estimation = app.alice.post_ok(PATH, body).await;
    let created = kernel::Timestamp::parse(estimation["created"].as_str().expect("a time"));
    let until = created.map(|at| at.plus(HOUR).to_string());
    // 29.7 kWh in the battery are 33 kWh at the meter, at 22 kW.
    let want = json!({
        "id": id_of(&estimation), "object": "estimation", "battery_level": 20, "battery_target_level": 69.5,
        "charging_station": station, "connector": "1", "created": estimation["created"], "currency": "gbp",
        "start": estimation["created"],
        "cost_breakdown": [{"type": "ENERGY", "description": "Energy", "quantity": 33, "unit": "kWh", "unit_price": 45,
            "tax_percent": "20", "cost": 1485}],
        "policy": {"allowed": true, "policy": null, "rule": null}, "estimated_duration": 5400, "estimated_energy_kwh": 33, "estimated_total_cost": 1485,
        "valid_until": until.expect("a time"), "vehicle": crew.vehicle,
    });
    assert_eq!(estimation, want);
    assert!(id_of(&estimation).starts_with("est_"));
    // It can still be retrieved after its prices have expired.
    app.advance(2 * 3600).await;
    let path = format!("{PATH}/{}", id_of(&estimation));
    assert_eq!(app.alice.get_ok(&path).await, want);
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_named() {
    let (app, crew, station) = TestApp::with_station().await;
    let good = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 69.5});
    for (change, param) in [
        (json!({"connector": "9"}), "connector"),
        (json!({"start": app.in_minutes(-1)}), "start"),
        (json!({"start": "tonight"}), "start"),
        (json!({"battery_level": "full"}), "battery_level"),
        (json!({"battery_level": 101}), "battery_level"),
        (json!({"battery_target_level": 0}), "battery_target_level"),
        (json!({"battery_target_level": 20}), "battery_target_level"),
        (json!({"currency": "eur"}), "currency"),
        (json!({"currency": "money"}), "currency"),
    ] {
        let answer = app.alice.post(PATH, with(good.clone(), change)).await;
        answer.expect_error(400, "estimation_validation_error", param);
    }
    for (change, (code, param)) in cases! {
        {"charging_station": "chst_1"} => ("charging_station_not_found", "charging_station"),
        {"vehicle": "veh_1"} => ("vehicle_not_found", "vehicle"),
    } {
        let answer = app.alice.post(PATH, with(good.clone(), change)).await;
        answer.expect_error(404, code, param);
    }
    let ccs = with(
        tests::vehicle(&crew.fleet),
        json!({"charging_standard": "CCS"}),
    );
    let ccs = app.alice.create("/v1/vehicles", ccs).await;
    let answer = app
        .alice
        .post(PATH, with(good, json!({"vehicle": ccs})))
        .await;
    assert_eq!(answer.error().3, Some("charging_station"));
    app.drain().await;
}

#[tokio::test]
async fn an_estimation_says_whether_policies_allow_it() {
    let (app, crew, station) = TestApp::with_station().await;
    let rules = json!({"name": "Others only", "rules": {"denied_operators": ["Voltway"]}});
    let policy = app.alice.create("/v1/policies", rules).await;
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    app.alice
        .post_ok(&vehicle, json!({"policy_ids": [policy]}))
        .await;
    let body = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 69.5});
    let estimation = app.alice.post_ok(PATH, body).await;
    let verdict = json!({"allowed": false, "policy": policy, "rule": "denied_operators"});
    assert_eq!(estimation["policy"], verdict);
    app.drain().await;
}

#[tokio::test]
async fn a_price_cap_of_an_estimation_is_in_the_currency_of_a_start() {
    let (app, crew, station) = TestApp::with_station().await;
    let rules = json!({"name": "Cap", "rules": {"max_price_per_kwh": 100}});
    let policy = app.alice.create("/v1/policies", rules).await;
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    app.alice
        .post_ok(&vehicle, json!({"policy_ids": [policy]}))
        .await;
    let body = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 69.5});
    // The station has prices in pounds, and the cap of a fleet with dollars cannot be compared with them.
    let estimation = app.alice.post_ok(PATH, body.clone()).await;
    let verdict = json!({"allowed": false, "policy": policy, "rule": "max_price_per_kwh"});
    assert_eq!(estimation["policy"], verdict);
    let session = app.session(&crew, &station);
    let refused = app.alice.post("/v1/charging_sessions", session).await;
    assert_eq!(refused.expect(403).body["rule"], "max_price_per_kwh");
    let pounds = with(body, json!({"currency": "gbp"}));
    let estimation = app.alice.post_ok(PATH, pounds).await;
    assert_eq!(estimation["policy"]["allowed"], true);
    app.drain().await;
}

#[tokio::test]
async fn an_estimation_uses_the_requested_connector_and_start() {
    let (app, crew) = TestApp::with_crew().await;
    let connector = |id: &str, power: f64| json!({"id": id, "power": power, "status": "available", "type": "Type2"});
    let price = |price: i64, hours: serde_json::Value| {
        json!({"currency": "gbp", "price": price, "step_size": 1, "tax": "vat", "tax_included": true, "tax_percent": "20",
            "type": "ENERGY", "restrictions": hours})
    };
    // From the day after tomorrow on, electricity is cheaper.
    let later = app.now().plus(days(2));
    let date = later.to_string()[..10].to_owned();
    let pricing = json!([price(15, json!({"start_date": date})), price(45, json!({}))]);
    let connectors = json!([connector("1", 22.0), connector("2", 11.0)]);
    let station = json!({"connectors": connectors, "pricing": pricing});
    let station = app.station(station).await;
    let body = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 69.5});
    let estimate = async |change| {
        let estimation = app.alice.post(PATH, with(body.clone(), change)).await;
        let estimation = estimation.expect(200).body;
        ["estimated_duration", "estimated_total_cost"]
            .map(|name| estimation[name].as_i64().expect("a number"))
    };
    assert_eq!(estimate(json!({})).await, [5400, 1485]);
    assert_eq!(estimate(json!({"connector": "2"})).await, [10_800, 1485]);
    let both = json!({"connector": "2", "start": later.plus(DAY)});
    assert_eq!(estimate(both).await, [10_800, 495]);
    app.drain().await;
}
