//! `/v1/drivers`, with attach and detach.

use serde_json::{Value, json};
use tests::{TestApp, driver, fleet, with};

#[tokio::test]
async fn a_new_driver_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let made = app.alice.post("/v1/drivers", driver()).await.expect(200);
    let now = &made.body["created"];
    let want = json!({"id": made.id(), "object": "driver", "created": now, "email": "ada@fleet.example", "fleets": [],
        "license_number": null, "metadata": {}, "name": "Ada Byron", "phone": null, "policy_ids": [],
        "preferences": {"charging_speed": "any", "currency": "usd", "default_payment_method": null, "max_price_per_kwh": null,
            "notifications": true, "preferred_charging_stations": [], "preferred_cpos": []},
        "status": "active", "updated": now, "vehicles": [], "wallet_balance": 0});
    assert_eq!(made.body, want);
    assert_eq!(
        app.alice
            .get(&format!("/v1/drivers/{}", made.id()))
            .await
            .body,
        want
    );
    assert!(made.id().starts_with("drv_"));
}

#[tokio::test]
async fn an_update_changes_what_it_names_and_null_clears() {
    let app = TestApp::start().await;
    let station = app
        .alice
        .get("/v1/charging_stations?limit=1")
        .await
        .ids()
        .remove(0);
    let full = json!({"phone": "1", "license_number": "L1", "preferences": {"charging_speed": "fast", "currency": "gbp",
        "max_price_per_kwh": 55, "preferred_charging_stations": [station], "preferred_cpos": ["Voltway"]}});
    let made = app
        .alice
        .post("/v1/drivers", with(driver(), full))
        .await
        .expect(200);
    let path = format!("/v1/drivers/{}", made.id());
    let change =
        json!({"phone": null, "preferences": {"max_price_per_kwh": null, "preferred_cpos": []}});
    let changed = app.alice.post(&path, change).await.expect(200).body;
    let preferences = json!({"charging_speed": "fast", "currency": "gbp", "default_payment_method": null,
        "max_price_per_kwh": null, "notifications": true, "preferred_charging_stations": [station], "preferred_cpos": []});
    assert_eq!(
        (&changed["phone"], &changed["license_number"]),
        (&Value::Null, &json!("L1"))
    );
    assert_eq!(changed["preferences"], preferences);
    for (wrong, param) in [
        (
            json!({"preferences": {"charging_speed": "warp"}}),
            "preferences.charging_speed",
        ),
        (
            json!({"preferences": {"max_price_per_kwh": -1}}),
            "preferences.max_price_per_kwh",
        ),
        (json!({"status": "gone"}), "status"),
        (json!({"email": null}), "email"),
        (json!({"fleets": []}), "fleets"),
    ] {
        assert_eq!(
            app.alice.post(&path, wrong.clone()).await.error().3,
            Some(param),
            "{wrong}"
        );
    }
    let unknown = json!({"preferences": {"preferred_charging_stations": ["chst_1"]}});
    assert_eq!(
        app.alice.post(&path, unknown).await.error().2,
        Some("charging_station_not_found")
    );
}

#[tokio::test]
async fn attaching_and_detaching_conflict_when_there_is_nothing_to_do() {
    let app = TestApp::start().await;
    let (one, two) = (
        app.alice.post("/v1/fleets", fleet()).await.id(),
        app.alice.post("/v1/fleets", fleet()).await.id(),
    );
    let id = app.alice.post("/v1/drivers", driver()).await.id();
    let act = async |verb: &str, fleet: &str| {
        app.alice
            .post(&format!("/v1/drivers/{id}/{verb}"), json!({"fleet": fleet}))
            .await
    };
    let conflict = (
        409,
        "invalid_request_error",
        Some("driver_fleet_conflict"),
        Some("fleet"),
    );
    assert_eq!(act("detach", &one).await.error(), conflict);
    assert_eq!(
        act("attach", &one).await.expect(200).body["fleets"],
        json!([one])
    );
    assert_eq!(act("attach", &one).await.error(), conflict);
    assert_eq!(
        act("attach", &two).await.expect(200).body["fleets"],
        json!([one, two])
    );
    assert_eq!(
        act("detach", &one).await.expect(200).body["fleets"],
        json!([two])
    );
    assert_eq!(
        act("attach", "flt_1").await.error().2,
        Some("fleet_not_found")
    );
    app.alice
        .post(&format!("/v1/fleets/{one}"), json!({"status": "suspended"}))
        .await
        .expect(200);
    assert_eq!(act("attach", &one).await.error(), conflict);
    let body = app
        .alice
        .post(&format!("/v1/drivers/{id}/attach"), json!({}))
        .await;
    assert_eq!(
        body.error(),
        (400, "invalid_request_error", None, Some("fleet"))
    );
}

#[tokio::test]
async fn the_list_is_filtered_by_fleet_and_status() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let alone = app.alice.post("/v1/drivers", driver()).await.id();
    assert_eq!(
        app.alice.get("/v1/drivers").await.ids(),
        [alone.clone(), crew.driver.clone()]
    );
    assert_eq!(
        app.alice
            .get(&format!("/v1/drivers?fleet={}", crew.fleet))
            .await
            .ids(),
        std::slice::from_ref(&crew.driver)
    );
    app.alice
        .post(
            &format!("/v1/drivers/{}", crew.driver),
            json!({"status": "suspended"}),
        )
        .await
        .expect(200);
    assert_eq!(
        app.alice.get("/v1/drivers?status=active").await.ids(),
        [alone]
    );
    assert!(
        app.alice
            .get(&format!("/v1/drivers?fleet={}&status=active", crew.fleet))
            .await
            .ids()
            .is_empty()
    );
    assert_eq!(
        app.alice.get("/v1/drivers?fleet=flt_1").await.error().2,
        Some("fleet_not_found")
    );
}
