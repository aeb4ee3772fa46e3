//! `/v1/transactions`.

use kernel::time::minutes;
use serde_json::{Value, json};
use tests::{Crew, TestApp, assert_has, driver, fleet, id_of, path_of, with};

use crate::books::own;

#[tokio::test]
async fn a_transaction_has_every_field_of_the_specification() {
    let (app, crew) = TestApp::with_crew().await;
    let of = json!({"driver": crew.driver, "fleet": crew.fleet, "vehicle": crew.vehicle});
    let id = app.transaction(&app.alice, of).await;
    let path = format!("/v1/transactions/{id}");
    let shown = app.alice.get_ok(&path).await;
    let want = json!({"id": id, "object": "transaction", "amount": 1250, "amount_refunded": 0, "charge": null,
        "charging_session": null, "credit_note": null, "destination": null, "failed_reason": null, "invoice": null, "reason": null, "reservation": null,
        "created": shown["created"], "currency": "usd", "description": "Charging", "driver": crew.driver,
        "fleet": crew.fleet, "payment_method": null, "status": "succeeded", "type": "charge", "vehicle": crew.vehicle});
    assert_eq!(shown, want);
    assert!(id.starts_with("txn_"));
    let unknown = app.alice.get("/v1/transactions/txn_1").await;
    unknown.expect_error(404, "transaction_not_found", "transaction");
    app.drain().await;
}

#[tokio::test]
async fn the_list_is_filtered_by_driver_fleet_status_and_type() {
    let (app, crew) = TestApp::with_crew().await;
    let of = |driver: &str, fleet: Value| json!({"driver": driver, "fleet": fleet});
    let loner = app.alice.create("/v1/drivers", driver()).await;
    let make = async |movement: Value| app.transaction(&app.alice, movement).await;
    let first = make(of(&crew.driver, json!(crew.fleet))).await;
    let second = make(of(&loner, Value::Null)).await;
    let third = make(json!({"fleet": crew.fleet})).await;
    let (driver, fleet) = (&crew.driver, &crew.fleet);
    for (query, want) in [
        (String::new(), vec![&third, &second, &first]),
        (format!("?driver={driver}"), vec![&first]),
        (format!("?driver={loner}"), vec![&second]),
        (format!("?fleet={fleet}"), vec![&third, &first]),
        (format!("?fleet={fleet}&status=succeeded"), vec![&first]),
        (format!("?driver={driver}&fleet={fleet}"), vec![&first]),
        ("?status=failed".into(), vec![&third]),
        ("?status=pending".into(), vec![]),
        ("?type=charge".into(), vec![&third, &second, &first]),
        ("?type=refund".into(), vec![]),
    ] {
        let listed = app.alice.get(&format!("/v1/transactions{query}")).await;
        let want: Vec<String> = want.into_iter().cloned().collect();
        assert_eq!(listed.expect(200).ids(), want, "{query}");
    }
    assert_eq!(
        app.alice.walk("/v1/transactions?limit=1").await,
        [third, second, first]
    );
    app.drain().await;
}

#[tokio::test]
async fn a_driver_and_a_fleet_that_do_not_belong_together_are_404() {
    let (app, crew) = TestApp::with_crew().await;
    let other = app.alice.create("/v1/fleets", fleet()).await;
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
        get(query.into()).await.expect_error(400, None, param);
    }
    app.drain().await;
}

/// A session that was charged to its payment method, and the transaction of the charge.
pub async fn charged(app: &TestApp, crew: &Crew, method: &str) -> (String, Value) {
    let station = app.station(json!({})).await;
    let body = with(
        app.session(crew, &station),
        json!({"payment_method": method}),
    );
    let session = app.alice.create("/v1/charging_sessions", body).await;
    app.advance(1800).await;
    let path = format!("/v1/charging_sessions/{session}/stop");
    app.alice.post_ok(&path, json!({})).await;
    app.drain().await;
    let path = format!("/v1/transactions?charging_session={session}");
    let listed = app.alice.get_ok(&path).await;
    (session, listed["data"][0].clone())
}

#[tokio::test]
async fn partial_refunds_appear_in_session_invoice_and_report() {
    let (app, crew) = TestApp::with_crew().await;
    let gbp = json!({"preferences": {"default_currency": "gbp"}});
    let of_fleet = format!("/v1/fleets/{}", crew.fleet);
    app.alice.post_ok(&of_fleet, gbp).await;
    let body = json!({"type": "card", "token": "tok_success", "fleet": crew.fleet});
    let card = app.alice.create("/v1/payment_methods", body).await;
    let (session, charge) = charged(&app, &crew, &card).await;
    let whole = charge["amount"].as_i64().expect("an amount");
    assert!(charge["type"] == "charge" && whole > 3, "{charge}");
    let window = json!({"period_start": app.in_minutes(-120), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let invoice = app.alice.create("/v1/invoices", window.clone()).await;
    let path = format!("/v1/transactions/{}", id_of(&charge));
    let refund = async |body: Value| app.alice.post(&format!("{path}/refund"), body).await;
    let too_much = refund(json!({"amount": whole + 1})).await;
    too_much.expect_error(400, None, "amount");
    refund(json!({"amount": 0}))
        .await
        .expect_error(400, None, "amount");
    let third = whole / 3;
    let created = refund(json!({"amount": third, "reason": "Cable was broken"})).await;
    let created = created.expect(200).body;
    let shown = json!([
        created["amount"],
        created["charge"],
        created["reason"],
        created["destination"],
        created["charging_session"]
    ]);
    assert_eq!(
        shown,
        json!([third, charge["id"], "Cable was broken", "original", session])
    );
    // A pending refund counts already.
    let left = whole - third;
    refund(json!({"amount": left + 1}))
        .await
        .expect_error(400, None, "amount");
    app.drain().await;
    let get = async |path: String| app.alice.get_ok(&path).await;
    assert_eq!(get(path.clone()).await["amount_refunded"], json!(third));
    let of_session = get(format!("/v1/charging_sessions/{session}")).await;
    let amounts = (
        &of_session["amount_refunded"],
        &of_session["amount_paid"],
        &of_session["amount_due"],
    );
    assert_eq!(amounts, (&json!(third), &json!(whole), &json!(0)));
    let totals = get(format!("/v1/invoices/{invoice}")).await["totals"].clone();
    assert_has!(totals, {"refunded": third, "paid": whole});
    // The rest is refunded to the wallet of the card's owner.
    let created = refund(json!({"destination": "wallet"}))
        .await
        .expect(200)
        .body;
    assert_has!(created, {"amount": left, "destination": "wallet"});
    app.drain().await;
    assert_eq!(get(of_fleet.clone()).await["wallet_balance"], json!(left));
    let again = refund(json!({})).await;
    again.expect_error(409, None, "transaction");
    let totals = get(format!("/v1/invoices/{invoice}")).await["totals"].clone();
    assert_eq!(totals["refunded"], json!(whole));
    // An invoice that is drafted later shows the earlier refund.
    app.alice.delete_ok(&path_of(&invoice)).await;
    let later = app.alice.post_ok("/v1/invoices", window).await;
    assert_eq!(later["totals"]["refunded"], json!(whole));
    let parameters = json!({"type": "cost_analysis", "period_start": app.in_minutes(-120), "period_end": app.in_minutes(1),
        "group_by": "vehicle", "format": "json"});
    let body = json!({"fleet": crew.fleet, "parameters": parameters});
    let report = app.alice.create("/v1/reports", body).await;
    app.drain().await;
    let sums = get(format!("/v1/reports/{report}")).await["totals"][0].clone();
    assert_has!(sums, {"refunded": whole, "paid": whole});
    // Charge and refunds are found by their session, by time and by type.
    let listed = app
        .alice
        .get(&format!("/v1/transactions?charging_session={session}"))
        .await;
    assert_eq!(listed.ids().len(), 3);
    let listed = app
        .alice
        .get(&format!(
            "/v1/transactions?charging_session={session}&type=refund"
        ))
        .await;
    assert_eq!(listed.ids().len(), 2);
    let from = |at: kernel::Timestamp| at.to_string();
    let since = from(app.now().plus(minutes(-1)));
    let listed = app
        .alice
        .get(&format!("/v1/transactions?created[lt]={since}"))
        .await;
    assert!(listed.ids().is_empty(), "{:?}", listed.ids());
    let listed = app
        .alice
        .get(&format!("/v1/transactions?created[gte]={since}"))
        .await;
    assert_eq!(listed.ids().len(), 3);
    let unknown = app.alice.get("/v1/transactions?invoice=inv_1").await;
    unknown.expect_error(404, "invoice_not_found", "invoice");
}

#[tokio::test]
async fn a_refund_that_fails_says_why_and_can_be_requested_again() {
    let (app, crew) = TestApp::with_crew().await;
    let of_fleet = format!("/v1/fleets/{}", crew.fleet);
    let currency = async |currency: &str| {
        let body = json!({"preferences": {"default_currency": currency}});
        app.alice.post_ok(&of_fleet, body).await;
    };
    currency("gbp").await;
    let body = json!({"type": "card", "token": "tok_success", "fleet": crew.fleet});
    let card = app.alice.create("/v1/payment_methods", body).await;
    let (session, charge) = charged(&app, &crew, &card).await;
    let path = format!("/v1/transactions/{}", id_of(&charge));
    let refund = async |body: Value| app.alice.post(&format!("{path}/refund"), body).await;
    let pending = refund(json!({"amount": 5, "destination": "wallet"}))
        .await
        .expect(200)
        .id();
    // The wallet is empty, so it may change its currency before the money arrives.
    currency("eur").await;
    app.drain().await;
    let failed = app.alice.get_ok(&path_of(&pending)).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "currency_not_supported"});
    let session = async || app.alice.get_ok(&path_of(&session)).await;
    assert_eq!(session().await["amount_refunded"], 0);
    let refused = refund(json!({"amount": 5, "destination": "wallet"})).await;
    refused.expect_error(409, None, "destination");
    let whole = refund(json!({})).await.expect(200).body;
    assert_eq!(whole["amount"], charge["amount"]);
    app.drain().await;
    assert_eq!(session().await["amount_refunded"], charge["amount"]);
}

/// The transaction that charges a session to the wallet of a driver or a fleet. The wallet is empty afterwards.
async fn charged_to_wallet(app: &TestApp, crew: &Crew, owner: (&str, &str)) -> Value {
    let (kind, id) = owner;
    let wallet = json!({"type": "wallet", kind: id});
    let wallet = app.alice.create("/v1/payment_methods", wallet).await;
    let card = json!({"type": "card", "token": "tok_success"});
    let card = app.alice.create("/v1/payment_methods", card).await;
    let top_up = json!({"amount": 9_999_999, "payment_method": card});
    let path = format!("/v1/{kind}s/{id}/top_up");
    app.alice.post_ok(&path, top_up).await;
    let listed = app.alice.get_ok("/v1/transactions?limit=1").await;
    let (_, charge) = charged(app, crew, &wallet).await;
    let path = format!("{}/refund", path_of(id_of(&listed["data"][0])));
    app.alice.post_ok(&path, json!({})).await;
    app.drain().await;
    charge
}

#[tokio::test]
async fn a_refund_to_a_lost_wallet_goes_to_another_one() {
    for kind in ["driver", "fleet"] {
        let (app, crew) = TestApp::with_crew().await;
        let of_fleet = path_of(&crew.fleet);
        let fleet_in = |code: &str| json!({"preferences": {"default_currency": code}});
        app.alice.post_ok(&of_fleet, fleet_in("gbp")).await;
        let in_pounds = json!({"preferences": {"currency": "gbp"}});
        app.alice.post_ok(&path_of(&crew.driver), in_pounds).await;
        let owner = match kind {
            "driver" => &crew.driver,
            _ => &crew.fleet,
        };
        let charge = charged_to_wallet(&app, &crew, (kind, owner)).await;
        let window = json!({"period_start": app.in_minutes(-120), "period_end": app.in_minutes(1), "fleet": crew.fleet});
        let invoice = app.alice.create("/v1/invoices", window).await;
        let finalize = format!("/v1/invoices/{invoice}/finalize");
        app.alice.post_ok(&finalize, json!({})).await;
        let receiver = if kind == "driver" {
            app.alice.delete_ok(&path_of(&crew.driver)).await;
            of_fleet
        } else {
            app.alice.post_ok(&of_fleet, fleet_in("eur")).await;
            let pounds = json!({"default_currency": "gbp"});
            app.alice.post_ok(&own(&app.alice), pounds).await;
            own(&app.alice)
        };
        let whole = charge["amount"].as_i64().expect("an amount");
        let path = format!("{}/refund", path_of(id_of(&charge)));
        let ended = async |refund: &str| {
            app.drain().await;
            let ended = app.alice.get_ok(&path_of(refund)).await;
            assert_has!(ended, {"status": "succeeded", "failed_reason": null, "destination": "wallet"});
        };
        let original = app.alice.create(&path, json!({"amount": 3})).await;
        ended(&original).await;
        let to_wallet = json!({"amount": 4, "destination": "wallet"});
        let to_wallet = app.alice.create(&path, to_wallet).await;
        ended(&to_wallet).await;
        let rest = json!({"invoice": invoice, "amount": whole - 7});
        let note = app.alice.create("/v1/credit_notes", rest).await;
        app.drain().await;
        let refunds = app.alice.get_ok("/v1/transactions?limit=1").await;
        let refund = &refunds["data"][0];
        assert_has!(refund, {"credit_note": note, "amount": whole - 7});
        ended(id_of(refund)).await;
        let receiver = app.alice.get_ok(&receiver).await;
        assert_eq!(receiver["wallet_balance"], whole, "{kind}");
        let charge = app.alice.get_ok(&path_of(id_of(&charge))).await;
        assert_eq!(charge["amount_refunded"], whole, "{kind}");
    }
}

#[tokio::test]
async fn what_names_no_payment_method_is_paid_with_a_default() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let crew = app.crew(&app.alice).await;
    let method = async |owner: Value| {
        let body = with(json!({"type": "card", "token": "tok_success"}), owner);
        app.alice.create("/v1/payment_methods", body).await
    };
    let of_account = method(json!({})).await;
    let of_fleet = method(json!({"fleet": crew.fleet})).await;
    let of_driver = method(json!({"driver": crew.driver})).await;
    let account = app.alice.account.clone().expect("an account");
    let station = app.station(json!({})).await;
    let expect = async |want: Option<&String>| {
        let reserved = app
            .alice
            .post("/v1/reservations", app.reservation(&crew, 60))
            .await;
        let reserved = reserved.expect(200).body;
        assert_eq!(reserved["payment_method"], json!(want), "{reserved}");
        let path = format!("/v1/reservations/{}/cancel", id_of(&reserved));
        app.alice.post_ok(&path, json!({})).await;
        let started = app
            .alice
            .post("/v1/charging_sessions", app.session(&crew, &station))
            .await;
        let started = started.expect(200).body;
        assert_eq!(started["payment_method"], json!(want), "{started}");
        let path = format!("/v1/charging_sessions/{}/stop", id_of(&started));
        app.alice.post_ok(&path, json!({})).await;
        app.drain().await;
    };
    expect(None).await;
    for (path, method) in [
        (format!("/v1/accounts/{account}"), &of_account),
        (format!("/v1/fleets/{}", crew.fleet), &of_fleet),
        (format!("/v1/drivers/{}", crew.driver), &of_driver),
    ] {
        let body = json!({"preferences": {"default_payment_method": method}});
        app.alice.post_ok(&path, body).await;
        expect(Some(method)).await;
    }
}
