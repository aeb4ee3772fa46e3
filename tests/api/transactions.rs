//! `/v1/transactions`.

use kernel::time::minutes;
use serde_json::{Value, json};
use tests::{Crew, TestApp, driver, fleet, with};

#[tokio::test]
async fn a_transaction_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let of = json!({"driver": crew.driver, "fleet": crew.fleet, "vehicle": crew.vehicle});
    let id = app.transaction(&app.alice, of).await;
    let path = format!("/v1/transactions/{id}");
    let shown = app.alice.get(&path).await.expect(200).body;
    let want = json!({"id": id, "object": "transaction", "amount": 1250, "amount_refunded": 0, "charge": null,
        "charging_session": null, "credit_note": null, "destination": null, "failed_reason": null, "invoice": null, "reason": null, "reservation": null,
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

/// A session that was charged to its payment method, and the transaction of the charge.
async fn charged(app: &TestApp, crew: &Crew, method: &str) -> (String, Value) {
    let station = app.station(json!({})).await;
    let body = with(
        app.session(crew, &station),
        json!({"payment_method": method}),
    );
    let session = app.alice.post("/v1/charging_sessions", body).await.id();
    app.advance(1800).await;
    let path = format!("/v1/charging_sessions/{session}/stop");
    app.alice.post(&path, json!({})).await.expect(200);
    app.drain().await;
    let path = format!("/v1/transactions?charging_session={session}");
    let listed = app.alice.get(&path).await.expect(200).body;
    (session, listed["data"][0].clone())
}

#[tokio::test]
async fn parts_of_a_charge_are_refunded_and_session_invoice_and_report_say_so() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let gbp = json!({"preferences": {"default_currency": "gbp"}});
    let of_fleet = format!("/v1/fleets/{}", crew.fleet);
    app.alice.post(&of_fleet, gbp).await.expect(200);
    let body = json!({"type": "card", "token": "tok_success", "fleet": crew.fleet});
    let card = app.alice.post("/v1/payment_methods", body).await.id();
    let (session, charge) = charged(&app, &crew, &card).await;
    let whole = charge["amount"].as_i64().expect("an amount");
    assert!(charge["type"] == "charge" && whole > 3, "{charge}");
    let window = json!({"period_start": app.in_minutes(-120), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let invoice = app
        .alice
        .post("/v1/invoices", window.clone())
        .await
        .expect(200)
        .id();
    let path = format!("/v1/transactions/{}", charge["id"].as_str().expect("an id"));
    let refund = async |body: Value| app.alice.post(&format!("{path}/refund"), body).await;
    let too_much = refund(json!({"amount": whole + 1})).await;
    too_much.expect_error(400, None, Some("amount"));
    refund(json!({"amount": 0}))
        .await
        .expect_error(400, None, Some("amount"));
    let third = whole / 3;
    let made = refund(json!({"amount": third, "reason": "Cable was broken"})).await;
    let made = made.expect(200).body;
    let shown = json!([
        made["amount"],
        made["charge"],
        made["reason"],
        made["destination"],
        made["charging_session"]
    ]);
    assert_eq!(
        shown,
        json!([third, charge["id"], "Cable was broken", "original", session])
    );
    // What is pending counts already.
    let left = whole - third;
    refund(json!({"amount": left + 1}))
        .await
        .expect_error(400, None, Some("amount"));
    app.drain().await;
    let get = async |path: String| app.alice.get(&path).await.expect(200).body;
    assert_eq!(get(path.clone()).await["amount_refunded"], json!(third));
    let of_session = get(format!("/v1/charging_sessions/{session}")).await;
    let amounts = (
        &of_session["amount_refunded"],
        &of_session["amount_paid"],
        &of_session["amount_due"],
    );
    assert_eq!(amounts, (&json!(third), &json!(whole), &json!(0)));
    let totals = get(format!("/v1/invoices/{invoice}")).await["totals"].clone();
    assert_eq!(
        (&totals["refunded"], &totals["paid"]),
        (&json!(third), &json!(whole))
    );
    // The rest goes to the wallet of the card's owner.
    let made = refund(json!({"destination": "wallet"}))
        .await
        .expect(200)
        .body;
    assert_eq!(
        (&made["amount"], &made["destination"]),
        (&json!(left), &json!("wallet"))
    );
    app.drain().await;
    assert_eq!(get(of_fleet.clone()).await["wallet_balance"], json!(left));
    let again = refund(json!({})).await;
    again.expect_error(409, None, Some("transaction"));
    let totals = get(format!("/v1/invoices/{invoice}")).await["totals"].clone();
    assert_eq!(totals["refunded"], json!(whole));
    // An invoice that is drafted later shows what was refunded before.
    app.alice
        .delete(&format!("/v1/invoices/{invoice}"))
        .await
        .expect(200);
    let later = app
        .alice
        .post("/v1/invoices", window)
        .await
        .expect(200)
        .body;
    assert_eq!(later["totals"]["refunded"], json!(whole));
    let parameters = json!({"type": "cost_analysis", "period_start": app.in_minutes(-120), "period_end": app.in_minutes(1),
        "group_by": "vehicle", "format": "json"});
    let body = json!({"fleet": crew.fleet, "parameters": parameters});
    let report = app.alice.post("/v1/reports", body).await.id();
    app.drain().await;
    let sums = get(format!("/v1/reports/{report}")).await["totals"][0].clone();
    assert_eq!(
        (&sums["refunded"], &sums["paid"]),
        (&json!(whole), &json!(whole))
    );
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
    unknown.expect_error(404, Some("invoice_not_found"), Some("invoice"));
}

#[tokio::test]
async fn a_refund_that_fails_says_why_and_can_be_requested_again() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let of_fleet = format!("/v1/fleets/{}", crew.fleet);
    let currency = async |currency: &str| {
        let body = json!({"preferences": {"default_currency": currency}});
        app.alice.post(&of_fleet, body).await.expect(200);
    };
    currency("gbp").await;
    let body = json!({"type": "card", "token": "tok_success", "fleet": crew.fleet});
    let card = app.alice.post("/v1/payment_methods", body).await.id();
    let (session, charge) = charged(&app, &crew, &card).await;
    let path = format!("/v1/transactions/{}", charge["id"].as_str().expect("an id"));
    let refund = async |body: Value| app.alice.post(&format!("{path}/refund"), body).await;
    let pending = refund(json!({"amount": 5, "destination": "wallet"}))
        .await
        .expect(200)
        .id();
    // The wallet is empty, so it may change its currency before the money arrives.
    currency("eur").await;
    app.drain().await;
    let failed = app
        .alice
        .get(&format!("/v1/transactions/{pending}"))
        .await
        .expect(200)
        .body;
    assert_eq!(
        (&failed["status"], &failed["failed_reason"]),
        (&json!("failed"), &json!("currency_not_supported")),
        "{failed}"
    );
    let session = async || {
        app.alice
            .get(&format!("/v1/charging_sessions/{session}"))
            .await
            .body
    };
    assert_eq!(session().await["amount_refunded"], 0);
    let refused = refund(json!({"amount": 5, "destination": "wallet"})).await;
    refused.expect_error(409, None, Some("destination"));
    let whole = refund(json!({})).await.expect(200).body;
    assert_eq!(whole["amount"], charge["amount"]);
    app.drain().await;
    assert_eq!(session().await["amount_refunded"], charge["amount"]);
}

#[tokio::test]
async fn what_names_no_payment_method_is_paid_with_a_default() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let crew = app.crew(&app.alice).await;
    let method = async |owner: Value| {
        let body = with(json!({"type": "card", "token": "tok_success"}), owner);
        app.alice
            .post("/v1/payment_methods", body)
            .await
            .expect(200)
            .id()
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
        let path = format!(
            "/v1/reservations/{}/cancel",
            reserved["id"].as_str().expect("an id")
        );
        app.alice.post(&path, json!({})).await.expect(200);
        let started = app
            .alice
            .post("/v1/charging_sessions", app.session(&crew, &station))
            .await;
        let started = started.expect(200).body;
        assert_eq!(started["payment_method"], json!(want), "{started}");
        let path = format!(
            "/v1/charging_sessions/{}/stop",
            started["id"].as_str().expect("an id")
        );
        app.alice.post(&path, json!({})).await.expect(200);
        app.drain().await;
    };
    expect(None).await;
    for (path, method) in [
        (format!("/v1/accounts/{account}"), &of_account),
        (format!("/v1/fleets/{}", crew.fleet), &of_fleet),
        (format!("/v1/drivers/{}", crew.driver), &of_driver),
    ] {
        let body = json!({"preferences": {"default_payment_method": method}});
        app.alice.post(&path, body).await.expect(200);
        expect(Some(method)).await;
    }
}
