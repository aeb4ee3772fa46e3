//! Tests of payments without a response, or with a search that Stripe refuses: they are retried later under the same key.

use functions::charging_sessions::settle::SettleSession;
use functions::job::Job as _;
use functions::stream::sweep;
use kernel::Id;
use serde_json::json;
use tests::{Receiver, TestApp, assert_has, id_of, path_of, with};

use super::{Fake, fault, intent, list, method};

/// The path of an open invoice of 1190, and a payment method.
async fn open_invoice(app: &TestApp) -> (String, String) {
    let crew = app.crew(&app.alice).await;
    app.completed_session(&crew, json!({})).await;
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let id = app.alice.create("/v1/invoices", window).await;
    let path = format!("/v1/invoices/{id}");
    let finalized = app.alice.post(&format!("{path}/finalize"), json!({})).await;
    finalized.expect(200);
    let card = app.payment_method("pm_1", json!({})).await;
    (path, card)
}

#[tokio::test]
async fn a_payment_without_a_response_is_retried_under_the_same_key() {
    // Amounts due are easier to set up in test mode. The demo of an embedded table has a card as well.
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let receiver = Receiver::subscribed(
        &app.alice,
        &["service.succeeded", "service.failed", "invoice.paid"],
    )
    .await;
    let (path, card) = open_invoice(&app).await;
    let pay = async || {
        let body = json!({"payment_method": card});
        app.alice.post(&format!("{path}/pay"), body).await
    };
    fake.answer_next(&[
        method(),
        fault(
            402,
            json!({"code": "card_declined", "decline_code": "stolen_card"}),
        ),
    ]);
    assert_eq!(pay().await.expect(402).body["decline_code"], "stolen_card");
    fake.answer_next(&[method()]);
    pay().await.expect(503);
    assert_has!(app.alice.get_ok(&path).await, {"status": "open", "amount_due": 1190});
    fake.answer_next(&[method(), intent("succeeded")]);
    app.advance(3 * 60).await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "paid", "amount_due": 0});
    let keys = fake.keys();
    assert_eq!(keys.len(), 3);
    assert!(keys[0] != keys[1] && keys[1] == keys[2], "{keys:?}");
    // The last two have the same time: either may come first.
    let mut types = receiver.types();
    types[1..].sort();
    assert_eq!(
        types,
        ["service.failed", "invoice.paid", "service.succeeded"]
    );
}

#[tokio::test]
async fn a_repeated_pay_returns_the_result_of_its_payment() {
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let (path, card) = open_invoice(&app).await;
    let pay_path = format!("{path}/pay");
    let body = json!({"payment_method": card}).to_string();
    let pay = async |key: &str| {
        let headers = [("idempotency-key", key)];
        let body = Some(body.clone());
        app.alice.send("POST", &pay_path, body, &headers).await
    };
    // The second request joins the payment that the first one has begun.
    for key in ["begun", "joined"] {
        fake.answer_next(&[method()]);
        pay(key).await.expect(503);
    }
    assert_has!(app.alice.get_ok(&path).await, {"status": "open", "amount_due": 1190});
    // The payment ends before the request is repeated.
    let declined = json!({"code": "card_declined", "decline_code": "stolen_card"});
    fake.answer_next(&[method(), fault(402, declined)]);
    app.advance(3 * 60).await;
    let requests = fake.requests().len();
    for key in ["begun", "joined", "joined"] {
        let answer = pay(key).await.expect(402);
        assert_eq!(answer.body["decline_code"], "stolen_card");
    }
    assert_eq!(fake.requests().len(), requests, "nothing was charged again");
    let keys = fake.keys();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[tokio::test]
async fn a_payment_that_is_not_decided_is_tried_every_hour() {
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let (path, card) = open_invoice(&app).await;
    let pay = json!({"payment_method": card});
    let unclear = app.alice.post(&format!("{path}/pay"), pay).await;
    let transaction = unclear.expect(503).body["transaction"].clone();
    let top_up = json!({"amount": 500, "payment_method": card});
    let own = format!(
        "/v1/accounts/{}/top_up",
        app.alice.account.clone().expect("an account")
    );
    app.alice.post(&own, top_up).await.expect(503);
    // The first request of each try ends it.
    fake.answer_next(&vec![fault(500, json!({})); 500]);
    app.advance(2 * 3600).await;
    sweep::handle(app.app()).await.expect("a sweep");
    app.drain().await;
    let before = fake.requests().len();
    app.advance(10 * 3600).await;
    let tries = fake.requests().len() - before;
    assert!(
        (18..=22).contains(&tries),
        "{tries} requests for two payments in ten hours"
    );
    fake.answer_next(&[method(), intent("succeeded"), method(), intent("succeeded")]);
    app.advance(3600).await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "paid", "amount_due": 0});
    let transaction = path_of(transaction.as_str().expect("an id"));
    assert_has!(app.alice.get_ok(&transaction).await, {"status": "succeeded"});
}

#[tokio::test]
async fn a_refused_search_leaves_an_invoice_open_and_is_repeated() {
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let (path, card) = open_invoice(&app).await;
    let failed = fault(500, json!({}));
    let refused = fault(400, json!({"type": "invalid_request_error"}));
    fake.answer_next(&[method(), failed.clone(), refused]);
    let body = json!({"payment_method": card});
    let unclear = app.alice.post(&format!("{path}/pay"), body).await;
    let unclear = unclear.expect(503);
    assert_has!(app.alice.get_ok(&path).await, {"status": "open", "amount_due": 1190});
    let transaction = path_of(unclear.body["transaction"].as_str().expect("an id"));
    assert_has!(app.alice.get_ok(&transaction).await, {"status": "pending"});
    let found = list(json!([{"id": "pi_1", "status": "processing"}]));
    fake.answer_next(&[method(), failed, found, intent("succeeded")]);
    app.advance(3 * 60).await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "paid", "amount_due": 0});
    assert_has!(app.alice.get_ok(&transaction).await, {"status": "succeeded"});
    let requests = fake.requests();
    let searches = |line: &&String| line.contains("/search?");
    assert_eq!(requests.iter().filter(searches).count(), 2);
    let keys = fake.keys();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
}

#[tokio::test]
async fn a_refused_search_leaves_an_old_top_up_pending() {
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let fleet = path_of(&app.alice.create("/v1/fleets", tests::fleet()).await);
    let card = app.payment_method("pm_1", json!({})).await;
    fake.answer_next(&[method()]);
    let body = json!({"amount": 500, "payment_method": card});
    let unclear = app.alice.post(&format!("{fleet}/top_up"), body).await;
    let unclear = unclear.expect(503);
    let transaction = path_of(unclear.body["transaction"].as_str().expect("an id"));
    assert_eq!(fake.keys().len(), 1);
    let answer_all = |answer| fake.answer_next(&vec![answer; 2_000]);
    answer_all(fault(409, json!({})));
    app.advance(23 * 60 * 60).await;
    // From now on Stripe may have forgotten the key, so the charge is searched for.
    answer_all(fault(400, json!({"type": "invalid_request_error"})));
    let requests = fake.requests().len();
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    let searches = fake.requests().split_off(requests);
    assert!(!searches.is_empty());
    for line in searches {
        assert!(line.contains("/search?"), "{line}");
    }
    assert_has!(app.alice.get_ok(&transaction).await, {"status": "pending"});
    assert_eq!(app.alice.get_ok(&fleet).await["wallet_balance"], 0);
    fake.answer_next(&[list(json!([])), method(), intent("succeeded")]);
    app.advance(60 * 60).await;
    assert_has!(app.alice.get_ok(&transaction).await, {"status": "succeeded"});
    assert_eq!(app.alice.get_ok(&fleet).await["wallet_balance"], 500);
    let charges = fake.requests();
    let charges = charges
        .iter()
        .filter(|line| line.starts_with("POST /v1/payment_intents "));
    let keys = fake.keys();
    assert_eq!(charges.count(), keys.len());
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[tokio::test]
async fn a_debit_requested_again_after_a_day_is_one_charge() {
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let fleet = path_of(&app.alice.create("/v1/fleets", tests::fleet()).await);
    let card = app.payment_method("pm_1", json!({})).await;
    let path = format!("{fleet}/top_up");
    let send = async || {
        let body = json!({"amount": 500, "payment_method": card}).to_string();
        let headers = [("idempotency-key", "order-4711")];
        app.alice.send("POST", &path, Some(body), &headers).await
    };
    let undecided = intent("processing");
    fake.answer_next(&[method(), undecided.clone(), undecided.clone()]);
    let transaction = send().await.expect(503).body["transaction"].clone();
    for hours in [25, 4 * 24] {
        fake.answer_next(&vec![fault(409, json!({})); 2_000]);
        app.advance(hours * 3600).await;
        let found = list(json!([{"id": "pi_1", "status": "processing"}]));
        fake.answer_next(&[found, undecided.clone()]);
        assert_eq!(send().await.expect(503).body["transaction"], transaction);
    }
    let found = list(json!([{"id": "pi_1", "status": "processing"}]));
    fake.answer_next(&[found, intent("succeeded")]);
    sweep::handle(app.app()).await.expect("a sweep");
    app.drain().await;
    assert_eq!(app.alice.get_ok(&fleet).await["wallet_balance"], 500);
    let requests = fake.requests().len();
    for _ in 0..2 {
        let answer = send().await.expect(200);
        assert_eq!(answer.body["wallet_balance"], 500);
    }
    assert_eq!(fake.requests().len(), requests);
    assert_eq!(fake.keys().len(), 1);
    assert_eq!(app.alice.walk("/v1/transactions").await.len(), 1);
}

#[tokio::test]
async fn two_messages_at_once_charge_a_session_once() {
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let card = app.payment_method("pm_1", json!({})).await;
    let session = with(
        app.session(&crew, &station),
        json!({"payment_method": card}),
    );
    let path = path_of(&app.alice.create("/v1/charging_sessions", session).await);
    app.advance(600).await;
    let ended = app.alice.post_ok(&format!("{path}/stop"), json!({})).await;
    app.running().lose_triggers().await.expect("lost");
    let settle = || {
        let session = Id::from(id_of(&ended));
        let tenant = app.alice.tenant();
        SettleSession { tenant, session }.run(app.app())
    };
    // The same response for both requests of a charge, whose order is not known: that of the payment method, and that of the charge.
    let answer = |status: &str| (200, with(method().1, intent(status).1));
    fake.answer_next(&vec![answer("processing"); 10]);
    let undecided = tokio::join!(settle(), settle());
    assert!(undecided.0.is_err() && undecided.1.is_err());
    fake.answer_next(&vec![answer("succeeded"); 10]);
    let decided = tokio::join!(settle(), settle());
    assert!(decided.0.is_ok() || decided.1.is_ok(), "{decided:?}");
    app.drain().await;
    let keys = fake.keys();
    assert!(keys.len() >= 3, "{keys:?}");
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let due = &ended["amount_due"];
    assert_has!(app.alice.get_ok(&path).await, {"amount_due": 0, "amount_paid": due});
    let charges = app.alice.walk("/v1/transactions").await;
    assert_eq!(charges.len(), 1);
}
