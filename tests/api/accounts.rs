//! `/v1/accounts`.

use serde_json::{Value, json};
use shared::origin::Mode;
use tests::TestApp;

fn child() -> Value {
    json!({"email": "ops@child.example", "name": "Child", "type": "business", "default_currency": "eur"})
}

#[tokio::test]
async fn a_new_account_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let made = app.alice.post("/v1/accounts", child()).await.expect(200);
    let now = &made.body["created"];
    let want = json!({"id": made.id(), "object": "account", "billing_details": {"billing_address": null},
        "business_type": null, "contact": {"email": "ops@child.example", "name": "Child", "phone": null}, "created": now,
        "default_currency": "eur", "description": null, "email": "ops@child.example", "metadata": {},
        "metric_system": "metric", "name": "Child", "plan": "professional",
        "preferences": {"billing_cycle": "monthly", "default_currency": "eur", "default_payment_method": null,
            "notifications": true, "report_frequency": "weekly", "reporting_enabled": true},
        "registration_number": null, "status": "active", "type": "business", "updated": now, "wallet_balance": 0});
    assert_eq!(made.body, want);
    assert_eq!(
        app.alice
            .get(&format!("/v1/accounts/{}", made.id()))
            .await
            .body,
        want
    );
    for name in ["email", "name", "type"] {
        let mut body = child();
        body.as_object_mut().expect("an object").remove(name);
        assert_eq!(
            app.alice.post("/v1/accounts", body).await.error(),
            (400, "invalid_request_error", None, Some(name))
        );
    }
}

#[tokio::test]
async fn an_account_sees_and_changes_itself_and_its_children() {
    let app = TestApp::start().await;
    let own = app.alice.account.clone().expect("an account").to_string();
    let one = app.alice.post("/v1/accounts", child()).await.id();
    let two = app.alice.post("/v1/accounts", child()).await.id();
    assert_eq!(
        app.alice.get("/v1/accounts").await.ids(),
        [two, one.clone()]
    );
    let change = json!({"description": "Ours", "contact": {"phone": "1"}, "business_type": "company",
        "billing_details": {"billing_address": {"line1": "1", "city": "Bonn", "postal_code": "53111", "country": "DE"}}});
    for id in [&own, &one] {
        let changed = app
            .alice
            .post(&format!("/v1/accounts/{id}"), change.clone())
            .await
            .expect(200)
            .body;
        assert_eq!(
            (&changed["description"], &changed["contact"]["phone"]),
            (&json!("Ours"), &json!("1"))
        );
        assert_eq!(
            changed["billing_details"]["billing_address"]["city"],
            "Bonn"
        );
        assert_eq!(
            app.alice.get(&format!("/v1/accounts/{id}")).await.body,
            changed
        );
    }
    let bob = app.other_account(Mode::Test).await;
    let foreign = bob.get(&format!("/v1/accounts/{one}")).await;
    assert_eq!(
        foreign.error(),
        (
            404,
            "invalid_request_error",
            Some("account_not_found"),
            Some("account")
        )
    );
    assert!(bob.get("/v1/accounts").await.ids().is_empty());
}

#[tokio::test]
async fn a_fleet_takes_its_currency_from_the_account_and_a_reservation_from_the_fleet() {
    let app = TestApp::start().await;
    let own = app.alice.account.clone().expect("an account");
    app.alice
        .post(
            &format!("/v1/accounts/{own}"),
            json!({"default_currency": "eur"}),
        )
        .await
        .expect(200);
    let crew = app.crew(&app.alice).await;
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    assert_eq!(
        app.alice.get(&fleet).await.body["preferences"]["default_currency"],
        "eur"
    );
    let currency = async || {
        app.alice
            .post("/v1/reservations", app.reservation(&crew, 60))
            .await
            .expect(200)
            .body["currency"]
            .clone()
    };
    app.alice
        .post(&fleet, json!({"preferences": {"default_currency": "gbp"}}))
        .await
        .expect(200);
    assert_eq!(currency().await, "gbp");
    let driver = format!("/v1/drivers/{}", crew.driver);
    app.alice
        .post(&driver, json!({"preferences": {"currency": "jpy"}}))
        .await
        .expect(200);
    assert_eq!(currency().await, "jpy");
    app.drain().await;
}
