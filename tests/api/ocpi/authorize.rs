//! Tests of the real-time authorization of a token: by its card, policies, prices and money.

use serde_json::{Value, json};
use tests::platform::{Connected, fixture};
use tests::{Crew, TestApp, assert_has, cases};

use super::recorded;
use super::tokens::{card, change};

pub(super) async fn authorize(cpo: &Connected, uid: &str, place: Option<&Value>) -> Value {
    let path = format!("/tokens/{uid}/authorize");
    let answer = cpo.expect("POST", &path, place, (200, 1000)).await;
    answer.body["data"].clone()
}

#[tokio::test]
async fn a_card_is_authorized_as_it_is_at_that_moment() {
    let (app, cpo) = Connected::start().await;
    let crew = app.crew(&app.alice).await;
    // The pull that follows the exchange of credentials ends before the location is pushed.
    app.drain().await;
    cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
        .await;
    let until = app.in_minutes(60);
    let (path, uid) = card(&app, &crew, json!({"valid_until": until})).await;
    let place = json!({"location_id": "AMS-1", "evse_uids": ["E1", "E2"]});
    let answer = authorize(&cpo, &uid.to_lowercase(), Some(&place)).await;
    assert_eq!(answer["allowed"], "ALLOWED");
    // The vehicle has no plug for the second one.
    assert_has!(answer, {"location": {"location_id": "AMS-1", "evse_uids": ["E1"]}, "/token/uid": uid});
    let reference = answer["authorization_reference"].as_str();
    assert!(reference.is_some_and(|text| (1..=36).contains(&text.len())));
    for body in [None, Some(json!({})), Some(Value::Null)] {
        let answer = authorize(&cpo, &uid, body.as_ref()).await;
        assert_eq!(answer["allowed"], "ALLOWED", "{body:?}");
        assert!(answer.get("location").is_none());
    }
    // A location that this service does not have is no reason for a refusal.
    let unknown = json!({"location_id": "NOWHERE"});
    let answer = authorize(&cpo, &uid, Some(&unknown)).await;
    assert_eq!(
        (&answer["allowed"], answer.get("location")),
        (&json!("ALLOWED"), None)
    );
    for off in ["blocked", "lost"] {
        // The consequences of the change are not awaited.
        app.alice.post_ok(&path, json!({"status": off})).await;
        let answer = authorize(&cpo, &uid, Some(&place)).await;
        assert_has!(answer, {"allowed": "BLOCKED", "/token/valid": false});
        assert!(
            answer.get("location").is_none() && answer.get("authorization_reference").is_none()
        );
    }
    change(&app, &path, json!({"status": "active"})).await;
    let driver = format!("/v1/drivers/{}", crew.driver);
    for (path, status) in [
        (driver, "suspended"),
        (format!("/v1/vehicles/{}", crew.vehicle), "inactive"),
        (format!("/v1/fleets/{}", crew.fleet), "suspended"),
    ] {
        change(&app, &path, json!({"status": status})).await;
        let answer = authorize(&cpo, &uid, Some(&place)).await;
        assert_eq!(answer["allowed"], "BLOCKED", "{path}");
        change(&app, &path, json!({"status": "active"})).await;
    }
    app.advance(60 * 60).await;
    let answer = authorize(&cpo, &uid, Some(&place)).await;
    assert_eq!(answer["allowed"], "EXPIRED");
    assert_eq!(app.alice.get_ok(&path).await["status"], "expired");
    for path in [
        "/tokens/unknown/authorize".to_owned(),
        format!("/tokens/{}/authorize", "0".repeat(5_000)),
        "/tokens/%00/authorize".to_owned(),
        format!("/tokens/{uid}/authorize?type=APP_USER"),
    ] {
        cpo.expect("POST", &path, None, (404, 2004)).await;
    }
    let path = format!("/tokens/{uid}/authorize?type=PAPER");
    cpo.expect("POST", &path, None, (200, 2001)).await;
    let path = format!("/tokens/{uid}/authorize");
    let wrong = json!({"evse_uids": ["E1"]});
    cpo.expect("POST", &path, Some(&wrong), (200, 2001)).await;
}

#[tokio::test]
async fn only_evses_of_the_station_are_looked_up() {
    let (_table, app, recorder) = recorded().await;
    let cpo = Connected::to(&app).await;
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
        .await;
    let (_, uid) = card(&app, &crew, json!({})).await;
    let others = (0..5_000).map(|number| format!("X{number}"));
    let named: Vec<String> = ["e1", "E2", "E1"]
        .map(str::to_owned)
        .into_iter()
        .chain(others)
        .collect();
    recorder.take();
    let place = json!({"location_id": "AMS-1", "evse_uids": named});
    let answer = authorize(&cpo, &uid, Some(&place)).await;
    assert_has!(answer, {"allowed": "ALLOWED", "/location/evse_uids": ["e1"]});
    let calls = recorder.take().len();
    assert!(calls < 40, "{calls}");
    let elsewhere = json!({"location_id": "AMS-1", "evse_uids": ["X1"]});
    let answer = authorize(&cpo, &uid, Some(&elsewhere)).await;
    assert_eq!(answer["allowed"], "NOT_ALLOWED");
}

/// A network that has pushed a location, and a crew with a card. Returns the uid of the card.
async fn card_at_location() -> (TestApp, Connected, Crew, String) {
    let (app, cpo) = Connected::start().await;
    let crew = app.crew(&app.alice).await;
    // The pull that follows the exchange of credentials ends before the location is pushed.
    app.drain().await;
    cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
        .await;
    let (_, uid) = card(&app, &crew, json!({})).await;
    (app, cpo, crew, uid)
}

#[tokio::test]
async fn policies_and_money_decide_where_a_card_may_be_used() {
    let (app, cpo, crew, uid) = card_at_location().await;
    let place = json!({"location_id": "AMS-1", "evse_uids": ["E1"]});
    let driver = format!("/v1/drivers/{}", crew.driver);
    let far =
        json!({"center": {"latitude": 0.0, "longitude": 0.0}, "name": "F", "radius_meters": 1});
    for (rules, allowed) in cases! {
        {"denied_operators": ["Example Operator"]} => "NOT_ALLOWED",
        {"allowed_operators": ["Example Operator"]} => "ALLOWED",
        {"geofences": [far]} => "NOT_ALLOWED",
    } {
        let body = json!({"name": "P", "rules": rules});
        let policy = app.alice.create("/v1/policies", body).await;
        change(&app, &driver, json!({"policy_ids": [policy]})).await;
        let answer = authorize(&cpo, &uid, Some(&place)).await;
        assert_eq!(answer["allowed"], allowed, "{rules}");
        // Without a location there is too little information.
        let path = format!("/tokens/{uid}/authorize");
        cpo.expect("POST", &path, None, (200, 2002)).await;
        let nowhere = json!({"location_id": "NOWHERE"});
        cpo.expect("POST", &path, Some(&nowhere), (200, 2003)).await;
    }
    change(&app, &driver, json!({"policy_ids": []})).await;
    let wallet = json!({"type": "wallet", "driver": crew.driver});
    let wallet = app.alice.create("/v1/payment_methods", wallet).await;
    let preferred = json!({"preferences": {"default_payment_method": wallet}});
    change(&app, &driver, preferred).await;
    let answer = authorize(&cpo, &uid, Some(&place)).await;
    assert_eq!(answer["allowed"], "NO_CREDIT");
    assert_eq!(authorize(&cpo, &uid, None).await["allowed"], "NO_CREDIT");
    let method = app.payment_method("tok_success", json!({})).await;
    let top_up = json!({"amount": 500, "payment_method": method});
    app.alice.post_ok(&format!("{driver}/top_up"), top_up).await;
    let answer = authorize(&cpo, &uid, Some(&place)).await;
    assert_eq!(answer["allowed"], "ALLOWED");
    // A vehicle that charges elsewhere cannot charge here.
    let depot = app.station(json!({})).await;
    let body = app.session(&crew, &depot);
    app.alice.post_ok("/v1/charging_sessions", body).await;
    let answer = authorize(&cpo, &uid, Some(&place)).await;
    assert_eq!(answer["allowed"], "NOT_ALLOWED");
    app.drain().await;
}

#[tokio::test]
async fn the_default_method_of_the_account_decides_as_well() {
    let (app, cpo, _, uid) = card_at_location().await;
    let place = json!({"location_id": "AMS-1", "evse_uids": ["E1"]});
    let wallet = json!({"type": "wallet"});
    let wallet = app.alice.create("/v1/payment_methods", wallet).await;
    let preferred = json!({"preferences": {"default_payment_method": wallet}});
    change(&app, &crate::books::own(&app.alice), preferred).await;
    for place in [Some(&place), None] {
        let answer = authorize(&cpo, &uid, place).await;
        assert_eq!(answer["allowed"], "NO_CREDIT");
    }
    app.drain().await;
}

#[tokio::test]
async fn a_price_cap_holds_when_a_card_is_authorized() {
    let (app, cpo, crew, uid) = card_at_location().await;
    let place = json!({"location_id": "AMS-1", "evse_uids": ["E1"]});
    let rules = json!({"name": "P", "rules": {"max_price_per_kwh": 48}});
    let policy = app.alice.create("/v1/policies", rules).await;
    let driver = format!("/v1/drivers/{}", crew.driver);
    let euros = json!({"policy_ids": [policy], "preferences": {"currency": "eur"}});
    change(&app, &driver, euros).await;
    let allowed = async || authorize(&cpo, &uid, Some(&place)).await["allowed"].clone();
    // Without the tariff the price is unknown, which test mode allows.
    assert_eq!(allowed().await, "ALLOWED");
    cpo.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
    app.drain().await;
    // 40 cents and 21 % tax.
    assert_eq!(allowed().await, "NOT_ALLOWED");
    let path = format!("/v1/policies/{policy}");
    let cap = json!({"rules": {"max_price_per_kwh": 48.4}});
    change(&app, &path, cap).await;
    assert_eq!(allowed().await, "ALLOWED");
    app.drain().await;
}
