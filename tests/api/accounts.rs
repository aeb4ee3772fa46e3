//! `/v1/accounts`.

use kernel::Mode;
use serde_json::{Value, json};
use tests::{TestApp, assert_has, cases, id_of, path_of};

fn child() -> Value {
    json!({"email": "ops@child.example", "name": "Child", "type": "business", "default_currency": "eur"})
}

#[tokio::test]
async fn a_new_account_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let account = app.alice.post_ok("/v1/accounts", child()).await;
    let now = &account["created"];
    let want = json!({"id": id_of(&account), "object": "account", "billing_details": {"bic": null, "billing_address": null,
        "electronic_address": null, "iban": null, "invoice_prefix": null, "legal_name": null, "payment_terms_days": null,
        "reservation_fee_tax_percent": null, "timezone": null, "vat_id": null},
        "business_type": null, "contact": {"email": "ops@child.example", "name": "Child", "phone": null}, "created": now,
        "default_currency": "eur", "description": null, "email": "ops@child.example", "metadata": {},
        "metric_system": "metric", "name": "Child", "plan": "professional",
        "preferences": {"billing_cycle": "monthly", "default_currency": "eur", "default_payment_method": null,
            "notifications": true, "report_frequency": "weekly", "reporting_enabled": true, "searchable_metadata": []},
        "registration_number": null, "status": "active", "type": "business", "updated": now, "wallet_balance": 0});
    assert_eq!(account, want);
    assert_eq!(app.alice.get_ok(&path_of(id_of(&account))).await, want);
    for name in ["email", "name", "type"] {
        let mut body = child();
        body.as_object_mut().expect("an object").remove(name);
        app.alice
            .post("/v1/accounts", body)
            .await
            .expect_error(400, None, name);
    }
}

#[tokio::test]
async fn an_account_sees_and_changes_itself_and_its_children() {
    let app = TestApp::start().await;
    let own = app.alice.account.clone().expect("an account").to_string();
    let account = app.alice.create("/v1/accounts", child()).await;
    let sibling = app.alice.create("/v1/accounts", child()).await;
    assert_eq!(
        app.alice.get("/v1/accounts").await.ids(),
        [sibling, account.clone()]
    );
    let change = json!({"description": "Ours", "contact": {"phone": "1"}, "business_type": "company",
        "billing_details": {"billing_address": {"line1": "1", "city": "Bonn", "postal_code": "53111", "country": "DE"}}});
    for id in [&own, &account] {
        let changed = app.alice.post_ok(&path_of(&id), change.clone()).await;
        assert_has!(changed, {"description": "Ours", "/contact/phone": "1"});
        assert_has!(changed["billing_details"]["billing_address"], {"city": "Bonn"});
        assert_eq!(app.alice.get_ok(&path_of(&id)).await, changed);
    }
    let bob = app.other_account(Mode::Test).await;
    let foreign = bob.get(&path_of(&account)).await;
    foreign.expect_error(404, "account_not_found", "account");
    assert!(bob.get("/v1/accounts").await.ids().is_empty());
}

#[tokio::test]
async fn a_suspended_or_closed_child_is_not_changed() {
    let app = TestApp::start().await;
    let account = app.alice.create("/v1/accounts", child()).await;
    let (path, change) = (path_of(&account), json!({"description": "Ours"}));
    for (status, error) in [
        ("suspended", (403, "authentication_error", None, None)),
        (
            "closed",
            (
                404,
                "invalid_request_error",
                Some("account_not_found"),
                Some("account"),
            ),
        ),
    ] {
        app.set_account_status(&account.as_str().into(), status)
            .await;
        let before = app.alice.get_ok(&path).await;
        let refused = app.alice.post(&path, change.clone()).await;
        assert_eq!(refused.error(), error, "{status}");
        assert_eq!(app.alice.get_ok(&path).await, before);
    }
    app.set_account_status(&account.as_str().into(), "active")
        .await;
    assert_has!(app.alice.post_ok(&path, change).await, {"description": "Ours"});
}

#[tokio::test]
async fn default_currencies_come_from_the_account_fleet_and_driver() {
    let app = TestApp::start().await;
    let own = app.alice.account.clone().expect("an account");
    app.alice
        .post_ok(&path_of(&own), json!({"default_currency": "eur"}))
        .await;
    let crew = app.crew(&app.alice).await;
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    assert_has!(app.alice.get_ok(&fleet).await["preferences"], {"default_currency": "eur"});
    let currency = async || {
        app.alice
            .post_ok("/v1/reservations", app.reservation(&crew, 60))
            .await["currency"]
            .clone()
    };
    app.alice
        .post_ok(&fleet, json!({"preferences": {"default_currency": "gbp"}}))
        .await;
    assert_eq!(currency().await, "gbp");
    let driver = format!("/v1/drivers/{}", crew.driver);
    app.alice
        .post_ok(&driver, json!({"preferences": {"currency": "jpy"}}))
        .await;
    assert_eq!(currency().await, "jpy");
    app.drain().await;
}

#[tokio::test]
async fn the_currency_of_an_account_and_of_its_preferences_is_one() {
    let app = TestApp::start().await;
    let preferred = json!({"preferences": {"default_currency": "gbp"}});
    let both = json!({"default_currency": "gbp", "/preferences/default_currency": "gbp"});
    let mut new = child();
    new.as_object_mut()
        .map(|new| new.remove("default_currency"));
    let created = app
        .alice
        .post_ok("/v1/accounts", tests::with(new, preferred.clone()))
        .await;
    tests::check_members(&created, both.clone());
    let own = path_of(&app.alice.account.clone().expect("an account"));
    let changed = app.alice.post_ok(&own, preferred).await;
    tests::check_members(&changed, both);
    let other = json!({"default_currency": "eur", "preferences": {"default_currency": "gbp"}});
    for path in [own.as_str(), "/v1/accounts"] {
        let body = tests::with(child(), other.clone());
        let body = if path == own { other.clone() } else { body };
        let refused = app.alice.post(path, body).await;
        refused.expect_error(400, None, "preferences.default_currency");
    }
    let changed = app
        .alice
        .post_ok(&own, json!({"default_currency": "jpy"}))
        .await;
    let both = json!({"default_currency": "jpy", "/preferences/default_currency": "jpy"});
    tests::check_members(&changed, both);
}

#[tokio::test]
async fn what_is_wrong_in_a_new_account_is_named() {
    let app = TestApp::start().await;
    for (change, param) in cases! {
        {"type": "club"} => "type",
        {"email": "nobody"} => "email",
        {"name": " "} => "name",
        {"default_currency": "EUR"} => "default_currency",
        {"plan": "gold"} => "plan",
        {"metric_system": "international_system"} => "metric_system",
        {"preferences": {"reporting_enabled": 1}} => "preferences.reporting_enabled",
        {"wallet_balance": 1} => "wallet_balance",
        {"status": "active"} => "status",
    } {
        let answer = app
            .alice
            .post("/v1/accounts", tests::with(child(), change))
            .await;
        answer.expect_error(400, None, param);
    }
    let method = json!({"preferences": {"default_payment_method": "pm_1"}});
    let unknown = app
        .alice
        .post("/v1/accounts", tests::with(child(), method))
        .await;
    assert_eq!(unknown.error().2, Some("payment_method_not_found"));
    assert!(app.alice.get("/v1/accounts").await.ids().is_empty());
}

#[tokio::test]
async fn an_update_keeps_what_it_leaves_out_and_null_clears() {
    let app = TestApp::start().await;
    let id = app.alice.create("/v1/accounts", child()).await;
    let path = format!("/v1/accounts/{id}");
    let full = json!({"description": "Ours", "registration_number": "HRB 1", "business_type": "company",
        "contact": {"phone": "1"}, "metadata": {"a": "1", "b": "2"}, "plan": "free", "metric_system": "imperial",
        "preferences": {"notifications": false}});
    let before = app.alice.post_ok(&path, full).await;
    let change = json!({"description": null, "registration_number": null, "business_type": null,
        "contact": {"phone": null}, "metadata": {"a": null, "c": "3"}, "preferences": {"report_frequency": "never"}});
    let after = app.alice.post_ok(&path, change).await;
    let mut want = before.clone();
    want["description"] = Value::Null;
    want["registration_number"] = Value::Null;
    want["business_type"] = Value::Null;
    want["contact"]["phone"] = Value::Null;
    want["metadata"] = json!({"b": "2", "c": "3"});
    want["preferences"]["report_frequency"] = json!("never");
    want["updated"] = after["updated"].clone();
    assert_eq!(after, want);
    assert_eq!(before["preferences"]["notifications"], false);
    assert_eq!(app.alice.get_ok(&path).await, want);
    for name in ["name", "email", "plan", "contact", "default_currency"] {
        let cleared = app.alice.post(&path, json!({name: null})).await;
        assert_eq!(cleared.error().3, Some(name));
    }
}

#[tokio::test]
async fn a_key_finds_its_account_and_what_it_may_do() {
    let app = TestApp::start().await;
    let shown = app.alice.get_ok("/v1/account").await;
    let path = format!("/v1/accounts/{}", id_of(&shown));
    let mut account = app.alice.get_ok(&path).await;
    account["key"] = json!({"expires_at": null, "livemode": false, "scopes": ["*"]});
    assert_eq!(shown, account);
    let scopes = ["accounts:read", "fleets:write"];
    let restricted = app.restricted(&app.alice, &scopes).await;
    let shown = restricted.get_ok("/v1/account").await;
    assert_eq!(shown["key"]["scopes"], json!(scopes));
    let child = app.child_of(&app.alice).await;
    app.child_of(&app.alice).await;
    let shown = child.get_ok("/v1/account").await;
    assert_eq!(
        Some(id_of(&shown)),
        child.account.as_ref().map(kernel::Id::as_str)
    );
    child.get_ok(&path_of(id_of(&shown))).await;
    // It lists neither its parent nor its sibling.
    assert!(child.get("/v1/accounts").await.ids().is_empty());
    app.drain().await;
}
