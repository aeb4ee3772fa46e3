//! `/v1/transactions`.

use serde_json::{Value, json};
use tests::{TestApp, driver, fleet};

#[tokio::test]
async fn a_transaction_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let of = json!({"driver": crew.driver, "fleet": crew.fleet, "vehicle": crew.vehicle});
    let id = app.transaction(&app.alice, of).await;
    let path = format!("/v1/transactions/{id}");
    let shown = app.alice.get(&path).await.expect(200).body;
    let want = json!({"id": id, "object": "transaction", "amount": 1250, "charging_session": null,
        "created": shown["created"], "currency": "usd", "description": "Charging", "driver": crew.driver,
        "fleet": crew.fleet, "payment_method": null, "status": "succeeded", "type": "charge", "vehicle": crew.vehicle});
    assert_eq!(shown, want);
    assert!(id.starts_with("txn_"));
    let unknown = app.alice.get("/v1/transactions/txn_1").await;
    unknown.expect_error(404, Some("transaction_not_found"), Some("transaction"));
    app.drain().await;
}

#[tokio::test]
async fn the_list_is_filtered_by_driver_fleet_status_and_type() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let of = |driver: &str, fleet: Value| json!({"driver": driver, "fleet": fleet});
    let loner = app.alice.post("/v1/drivers", driver()).await.id();
    let make = async |movement: Value| app.transaction(&app.alice, movement).await;
    let one = make(of(&crew.driver, json!(crew.fleet))).await;
    let two = make(of(&loner, Value::Null)).await;
    let three = make(json!({"fleet": crew.fleet})).await;
    let (driver, fleet) = (&crew.driver, &crew.fleet);
    for (query, want) in [
        (String::new(), vec![&three, &two, &one]),
        (format!("?driver={driver}"), vec![&one]),
        (format!("?driver={loner}"), vec![&two]),
        (format!("?fleet={fleet}"), vec![&three, &one]),
        (format!("?fleet={fleet}&status=succeeded"), vec![&one]),
        (format!("?driver={driver}&fleet={fleet}"), vec![&one]),
        ("?status=failed".into(), vec![&three]),
        ("?status=pending".into(), vec![]),
        ("?type=charge".into(), vec![&three, &two, &one]),
        ("?type=refund".into(), vec![]),
    ] {
        let listed = app.alice.get(&format!("/v1/transactions{query}")).await;
        let want: Vec<String> = want.into_iter().cloned().collect();
        assert_eq!(listed.expect(200).ids(), want, "{query}");
    }
    assert_eq!(
        app.alice.walk("/v1/transactions?limit=1").await,
        [three, two, one]
    );
    app.drain().await;
}

#[tokio::test]
async fn a_driver_and_a_fleet_that_do_not_belong_together_are_404() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let other = app.alice.post("/v1/fleets", fleet()).await.id();
    let get = async |query: String| app.alice.get(&format!("/v1/transactions?{query}")).await;
    let answer = get(format!("driver={}&fleet={other}", crew.driver)).await;
    let not_found = |code, param| (404, "invalid_request_error", Some(code), Some(param));
    assert_eq!(
        answer.error(),
        not_found("driver_or_fleet_not_found", "driver")
    );
    let answer = get("driver=drv_1".into()).await;
    assert_eq!(answer.error(), not_found("driver_not_found", "driver"));
    let answer = get("fleet=flt_1".into()).await;
    assert_eq!(answer.error(), not_found("fleet_not_found", "fleet"));
    for (query, param) in [("status=done", "status"), ("type=gift", "type")] {
        let answer = get(query.into()).await;
        answer.expect_error(400, None, Some(param));
    }
    app.drain().await;
}
