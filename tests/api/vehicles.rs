//! `/v1/vehicles`.

use serde_json::json;
use shared::origin::Mode;
use tests::{TestApp, vehicle, with};

#[tokio::test]
async fn a_new_vehicle_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let body = with(
        vehicle(&crew.fleet),
        json!({"drivers": [crew.driver], "information": {"make": "Example"}}),
    );
    let made = app.alice.post("/v1/vehicles", body).await.expect(200);
    let now = &made.body["created"];
    let want = json!({"id": made.id(), "object": "vehicle", "battery_capacity": 60000, "charging_standard": "Type2",
        "created": now, "drivers": [crew.driver], "fleet": crew.fleet,
        "information": {"make": "Example", "model": "", "year": ""}, "metadata": {}, "policy_ids": [],
        "registration_plate": "AB12 CDE", "status": "active", "telemetry": made.body["telemetry"], "updated": now,
        "vin": "WVWZZZ1KZAW000001"});
    assert_eq!(made.body, want);
    assert!(
        made.id().starts_with("veh_")
            && made.body["telemetry"]
                .as_str()
                .is_some_and(|id| id.starts_with("vtel_"))
    );
    assert_eq!(
        app.alice
            .get(&format!("/v1/vehicles/{}", made.id()))
            .await
            .body,
        want
    );
    let driver = app
        .alice
        .get(&format!("/v1/drivers/{}", crew.driver))
        .await
        .body;
    assert_eq!(driver["vehicles"], json!([made.id()]));
}

#[tokio::test]
async fn owners_must_exist_and_be_the_callers() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let bob = app.other_account(Mode::Test).await;
    let theirs = app.crew(&bob).await;
    let unknown = |param| {
        (
            404,
            "invalid_request_error",
            Some("vehicle_owner_not_found"),
            Some(param),
        )
    };
    for fleet in ["flt_1", theirs.fleet.as_str(), crew.driver.as_str()] {
        assert_eq!(
            app.alice.post("/v1/vehicles", vehicle(fleet)).await.error(),
            unknown("fleet"),
            "{fleet}"
        );
    }
    for driver in ["drv_1", theirs.driver.as_str()] {
        let body = with(vehicle(&crew.fleet), json!({"drivers": [driver]}));
        assert_eq!(
            app.alice.post("/v1/vehicles", body).await.error(),
            unknown("drivers"),
            "{driver}"
        );
    }
    let fleet = app
        .alice
        .get(&format!("/v1/fleets/{}", crew.fleet))
        .await
        .body;
    assert_eq!(
        fleet["total_vehicles"], 1,
        "what was refused is not counted"
    );
    app.alice
        .post(
            &format!("/v1/fleets/{}", crew.fleet),
            json!({"status": "suspended"}),
        )
        .await
        .expect(200);
    assert_eq!(
        app.alice
            .post("/v1/vehicles", vehicle(&crew.fleet))
            .await
            .error(),
        unknown("fleet")
    );
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_named() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    for (change, param) in [
        (json!({"battery_capacity": 0}), "battery_capacity"),
        (json!({"battery_capacity": 1.5}), "battery_capacity"),
        (json!({"charging_standard": "Tesla"}), "charging_standard"),
        (json!({"vin": ""}), "vin"),
        (json!({"drivers": [crew.driver, crew.driver]}), "drivers"),
        (
            json!({"information": {"colour": "red"}}),
            "information.colour",
        ),
    ] {
        let answer = app
            .alice
            .post("/v1/vehicles", with(vehicle(&crew.fleet), change.clone()))
            .await;
        assert_eq!(
            answer.error(),
            (400, "invalid_request_error", None, Some(param)),
            "{change}"
        );
    }
    for name in [
        "fleet",
        "registration_plate",
        "vin",
        "battery_capacity",
        "charging_standard",
    ] {
        let mut body = vehicle(&crew.fleet);
        body.as_object_mut().expect("an object").remove(name);
        assert_eq!(
            app.alice.post("/v1/vehicles", body).await.error().3,
            Some(name)
        );
    }
}

#[tokio::test]
async fn information_is_merged_key_by_key() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let path = format!("/v1/vehicles/{}", crew.vehicle);
    app.alice
        .post(&path, json!({"information": {"make": "A", "year": "2026"}}))
        .await
        .expect(200);
    let changed = app
        .alice
        .post(
            &path,
            json!({"information": {"model": "B", "year": ""}, "status": "inactive"}),
        )
        .await;
    assert_eq!(
        changed.body["information"],
        json!({"make": "A", "model": "B", "year": ""})
    );
    assert_eq!(changed.body["status"], "inactive");
}

#[tokio::test]
async fn the_list_is_filtered_by_fleet_driver_and_status() {
    let app = TestApp::start().await;
    let (one, two) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let body = with(vehicle(&two.fleet), json!({"drivers": [one.driver]}));
    let shared = app.alice.post("/v1/vehicles", body).await.id();
    let list = async |query: String| {
        app.alice
            .get(&format!("/v1/vehicles{query}"))
            .await
            .expect(200)
            .ids()
    };
    assert_eq!(
        list(String::new()).await,
        [shared.clone(), two.vehicle.clone(), one.vehicle.clone()]
    );
    assert_eq!(
        list(format!("?fleet={}", two.fleet)).await,
        [shared.clone(), two.vehicle.clone()]
    );
    assert_eq!(
        list(format!("?driver={}", one.driver)).await,
        std::slice::from_ref(&shared)
    );
    assert!(
        list(format!("?driver={}&fleet={}", one.driver, one.fleet))
            .await
            .is_empty()
    );
    app.alice
        .post(
            &format!("/v1/vehicles/{}", two.vehicle),
            json!({"status": "retired"}),
        )
        .await
        .expect(200);
    assert_eq!(
        list(format!("?fleet={}&status=active", two.fleet)).await,
        [shared]
    );
    assert_eq!(
        app.alice.get("/v1/vehicles?driver=drv_1").await.error().2,
        Some("driver_not_found")
    );
    assert_eq!(
        app.alice.get("/v1/vehicles?fleet=flt_1").await.error().2,
        Some("fleet_not_found")
    );
}
