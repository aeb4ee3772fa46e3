//! Payments by Stripe: against a server with scripted responses, and with `--include-ignored` against `localstripe`:
//! `python3 -m venv target/tools/localstripe && target/tools/localstripe/bin/pip install localstripe==1.15.10`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use functions::stream::sweep;
use functions::stripe::Stripe;
use kernel::{Currency, Error, Id, Mode, Money, Origin};
use models::parts::Parts;
use models::ports::payments::{Charge, ChargeResult, Payments, Providers, Refund, Simulated};
use models::transaction::PaymentOutcome;
use serde_json::{Value, json};
use table::wallets::Wallet;
use tests::localstripe::LocalStripe;
use tests::{Receiver, TestApp, assert_has, path_of, with};

/// The requests that Stripe has received, and its next responses.
#[derive(Default)]
struct Desk {
    requests: Vec<String>,
    keys: Vec<String>,
    answers: VecDeque<(u16, Value)>,
}

struct Fake {
    stripe: Arc<Stripe>,
    desk: Arc<Mutex<Desk>>,
}

impl Fake {
    async fn start(answers: &[(u16, Value)]) -> Self {
        let desk = Arc::new(Mutex::new(Desk {
            answers: answers.iter().cloned().collect(),
            ..Desk::default()
        }));
        let router = Router::new().fallback(answer).with_state(desk.clone());
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let stripe = Stripe::new(url, "sk_live_1").within(Duration::from_millis(500));
        let stripe = Arc::new(stripe);
        Self { stripe, desk }
    }

    /// The service with this Stripe in live mode, and another provider in test mode.
    async fn service(&self, test: Arc<dyn Payments>) -> TestApp {
        let providers = Providers::new(test, Some(self.stripe.clone()));
        TestApp::start_with(|options| options.payments = providers).await
    }

    /// Sets the next responses, and discards earlier ones.
    fn answer_next(&self, answers: &[(u16, Value)]) {
        let mut desk = self.desk.lock().expect("the desk");
        desk.answers = answers.iter().cloned().collect();
    }

    fn requests(&self) -> Vec<String> {
        self.desk.lock().expect("the desk").requests.clone()
    }

    fn keys(&self) -> Vec<String> {
        self.desk.lock().expect("the desk").keys.clone()
    }
}

async fn answer(State(desk): State<Arc<Mutex<Desk>>>, request: Request) -> (StatusCode, String) {
    assert_eq!(request.headers()["authorization"], "Bearer sk_live_1");
    let line = format!("{} {}", request.method(), request.uri());
    let key = request.headers().get("idempotency-key").cloned();
    let body = axum::body::to_bytes(request.into_body(), 10_000).await;
    let body = String::from_utf8(body.expect("a body").to_vec()).expect("text");
    let next = {
        let mut desk = desk.lock().expect("the desk");
        desk.requests
            .push(format!("{line} {body}").trim_end().to_owned());
        desk.keys
            .extend(key.and_then(|key| key.to_str().ok().map(str::to_owned)));
        desk.answers.pop_front()
    };
    match next {
        // No response at all.
        None => std::future::pending().await,
        Some((status, body)) => (
            StatusCode::from_u16(status).expect("a status"),
            body.to_string(),
        ),
    }
}

fn charge(amount: i64, currency: &str) -> Charge {
    Charge {
        key: "key-1".into(),
        token: "pm_1".into(),
        customer: None,
        amount: Money::new(amount, Currency::from_code(currency).expect("a currency")),
        description: "Invoice 1".into(),
        key_expired: false,
    }
}

fn method() -> (u16, Value) {
    let card = json!({"brand": "visa", "exp_month": 5, "exp_year": 2031, "fingerprint": "f", "last4": "4242"});
    (
        200,
        json!({"id": "pm_1", "card": card, "customer": "cus_1"}),
    )
}

fn intent(status: &str) -> (u16, Value) {
    (200, json!({"id": "pi_1", "status": status}))
}

/// The result of a search or a list.
fn list(data: Value) -> (u16, Value) {
    (200, json!({"data": data}))
}

/// A refund of Stripe, made under this key of ours.
fn given(status: &str, key: &str) -> Value {
    json!({"id": "re_1", "status": status, "failure_reason": "lost", "metadata": {"refund_key": key}})
}

fn fault(status: u16, error: Value) -> (u16, Value) {
    (status, json!({"error": error}))
}

#[tokio::test]
async fn a_charge_is_one_confirmed_intent_under_our_key() {
    let fake = Fake::start(&[method(), intent("succeeded")]).await;
    let outcome = fake.stripe.charge(&charge(1190, "eur")).await;
    let succeeded = ChargeResult {
        outcome: PaymentOutcome::Succeeded,
        reference: Some("pi_1".into()),
    };
    assert_eq!(outcome.expect("an outcome"), succeeded);
    let want = "POST /v1/payment_intents amount=1190&currency=eur&payment_method=pm_1&confirm=true&off_session=true\
                &metadata%5Bcharge_key%5D=key-1&metadata%5Bdescription%5D=Invoice+1&customer=cus_1";
    assert_eq!(fake.requests(), ["GET /v1/payment_methods/pm_1", want]);
    assert_eq!(fake.keys(), ["key-1"]);
}

#[tokio::test]
async fn what_is_refused_is_a_decline_with_the_providers_word() {
    let card_error = |code, decline: Option<&str>| {
        fault(
            402,
            json!({"type": "card_error", "code": code, "decline_code": decline}),
        )
    };
    let failed = json!({"id": "pi_1", "status": "requires_payment_method", "last_payment_error": {"code": "debit_not_authorized"}});
    for (answers, want) in [
        (
            vec![card_error("card_declined", Some("insufficient_funds"))],
            "insufficient_funds",
        ),
        (vec![card_error("expired_card", None)], "expired_card"),
        (vec![fault(402, json!({}))], "card_declined"),
        (
            vec![fault(404, json!({"code": "resource_missing"}))],
            "resource_missing",
        ),
        (
            vec![fault(400, json!({"code": "amount_too_small"}))],
            "amount_too_small",
        ),
        (vec![(200, failed)], "debit_not_authorized"),
        (
            vec![
                intent("requires_action"),
                intent("requires_action"),
                intent("canceled"),
            ],
            "authentication_required",
        ),
        (
            vec![fault(400, json!({"type": "invalid_request_error"}))],
            "invalid_request_error",
        ),
        (vec![fault(400, json!({}))], "invalid_request"),
    ] {
        let answers: Vec<_> = [method()].into_iter().chain(answers).collect();
        let fake = Fake::start(&answers).await;
        let outcome = fake.stripe.charge(&charge(1190, "eur")).await;
        assert_eq!(
            outcome.expect("an outcome").outcome,
            PaymentOutcome::Declined(want.into()),
            "{answers:?}"
        );
    }
}

#[tokio::test]
async fn what_is_no_clear_answer_is_an_error_and_no_decline() {
    for (answers, status) in [
        (vec![], 503),
        (vec![fault(500, json!({})), (200, json!({"data": []}))], 503),
        (vec![fault(500, json!({})), fault(500, json!({}))], 503),
        (vec![fault(429, json!({"code": "rate_limit"}))], 503),
        (vec![fault(409, json!({"type": "idempotency_error"}))], 503),
        (vec![(200, json!("not an intent"))], 503),
        (vec![intent("processing"), intent("processing")], 503),
        (vec![fault(401, json!({}))], 500),
        (vec![fault(400, json!({"type": "idempotency_error"}))], 500),
    ] {
        let answers: Vec<_> = [method()].into_iter().chain(answers).collect();
        let fake = Fake::start(&answers).await;
        let outcome = fake.stripe.charge(&charge(1190, "eur")).await;
        assert_eq!(
            web::errors::status(outcome.expect_err("unknown").class()),
            status,
            "{answers:?}"
        );
    }
    let nobody = Stripe::new("http://127.0.0.1:1", "sk_live_1");
    assert_eq!(
        nobody
            .charge(&charge(1, "eur"))
            .await
            .expect_err("unknown")
            .class(),
        kernel::error::ErrorClass::Unavailable
    );
}

#[tokio::test]
async fn a_charge_that_ended_in_an_error_of_stripe_is_sought() {
    let found = |status: &str| (200, json!({"data": [{"id": "pi_1", "status": status}]}));
    for (status, want) in [
        ("succeeded", PaymentOutcome::Succeeded),
        (
            "requires_payment_method",
            PaymentOutcome::Declined("card_declined".into()),
        ),
        (
            "canceled",
            PaymentOutcome::Declined("authentication_required".into()),
        ),
    ] {
        // The search shows an older state.
        let answers = [
            method(),
            fault(500, json!({})),
            found("processing"),
            intent(status),
        ];
        let fake = Fake::start(&answers).await;
        let outcome = fake.stripe.charge(&charge(1190, "eur")).await;
        assert_eq!(outcome.expect("an outcome").outcome, want);
        let search =
            "GET /v1/payment_intents/search?query=metadata%5B%27charge_key%27%5D%3A%27key-1%27";
        assert_eq!(
            fake.requests()[2..],
            [search, "GET /v1/payment_intents/pi_1"]
        );
        assert_eq!(fake.keys(), ["key-1"], "nothing was charged again");
    }
}

#[tokio::test]
async fn a_charge_under_way_is_looked_at_again_when_it_is_repeated() {
    let processing = || intent("processing");
    let fake = Fake::start(&[
        method(),
        processing(),
        processing(),
        method(),
        processing(),
        intent("succeeded"),
    ])
    .await;
    assert!(fake.stripe.charge(&charge(1190, "eur")).await.is_err());
    let outcome = fake.stripe.charge(&charge(1190, "eur")).await;
    let outcome = outcome.expect("an outcome").outcome;
    assert_eq!(outcome, PaymentOutcome::Succeeded);
    assert_eq!(fake.keys(), ["key-1", "key-1"]);
}

#[tokio::test]
async fn amounts_are_counted_as_stripe_counts_them() {
    for (ours, currency, want) in [
        (1190, "eur", Some(1190)),
        (1190, "jpy", Some(1190)),
        (1190, "isk", Some(119_000)),
        (1190, "ugx", Some(119_000)),
        (1190, "mga", Some(12)),
        (5124, "kwd", Some(5120)),
        (5125, "kwd", Some(5130)),
        (4, "kwd", None),
    ] {
        let fake = Fake::start(&[method(), intent("succeeded")]).await;
        let outcome = fake
            .stripe
            .charge(&charge(ours, currency))
            .await
            .expect("an outcome")
            .outcome;
        match want {
            None => assert_eq!(outcome, PaymentOutcome::Declined("amount_too_small".into())),
            Some(want) => assert!(
                fake.requests()[1].contains(&format!("amount={want}&")),
                "{currency}"
            ),
        }
    }
}

#[tokio::test]
async fn a_refund_finds_the_charge_by_its_key() {
    let found = (
        200,
        json!({"data": [{"id": "pi_1", "status": "succeeded"}]}),
    );
    let refund = Refund {
        key: "key-2".into(),
        charge: "key-1".into(),
        reference: None,
        amount: Money::new(1190, Currency::USD),
        is_partial: false,
        parts: Parts::of(1190),
        is_last: true,
        key_expired: false,
    };
    let fake = Fake::start(&[
        found.clone(),
        (200, json!({"id": "re_1", "status": "succeeded"})),
    ])
    .await;
    let outcome = fake.stripe.refund(&refund).await;
    assert_eq!(outcome.expect("an outcome"), PaymentOutcome::Succeeded);
    let sent = "POST /v1/refunds payment_intent=pi_1&metadata%5Brefund_key%5D=key-2";
    assert_eq!(fake.requests()[1], sent);
    assert_eq!(fake.keys(), ["key-2"]);
    let fake = Fake::start(&[
        found.clone(),
        (
            200,
            json!({"id": "re_1", "status": "failed", "failure_reason": "expired_or_canceled_card"}),
        ),
    ])
    .await;
    let want = PaymentOutcome::Declined("expired_or_canceled_card".into());
    assert_eq!(fake.stripe.refund(&refund).await.expect("an outcome"), want);
    let before = fault(400, json!({"code": "charge_already_refunded"}));
    for (refunds, want) in [
        (json!([]), PaymentOutcome::Succeeded),
        (
            json!([given("failed", "key-2")]),
            PaymentOutcome::Declined("lost".into()),
        ),
    ] {
        let fake = Fake::start(&[found.clone(), before.clone(), list(refunds)]).await;
        let outcome = fake.stripe.refund(&refund).await;
        assert_eq!(outcome.expect("an outcome"), want);
        let listed = "GET /v1/refunds?payment_intent=pi_1&limit=100";
        assert_eq!(fake.requests()[2..], [listed]);
    }
    let fake = Fake::start(&[(200, json!({"data": []}))]).await;
    assert_eq!(
        fake.stripe
            .refund(&refund)
            .await
            .expect_err("not yet")
            .class(),
        kernel::error::ErrorClass::Unavailable
    );
}

#[tokio::test]
async fn a_token_stands_for_a_card_or_for_none() {
    let fake = Fake::start(&[method(), fault(404, json!({"code": "resource_missing"}))]).await;
    let known = fake.stripe.method("pm_1").await;
    let known = known.expect("an answer").expect("a method");
    assert_eq!(known.customer.as_deref(), Some("cus_1"));
    assert_eq!(known.exclusive, ["cus_1", "pm_1"]);
    let card = known.card.expect("a card");
    assert_eq!(
        (card.brand.as_str(), card.exp_month, card.last4.as_str()),
        ("visa", 5, "4242")
    );
    assert!(
        fake.stripe
            .method("tok_1/../x")
            .await
            .expect("an answer")
            .is_none()
    );
    assert_eq!(fake.requests()[1], "GET /v1/payment_methods/tok_1%2F..%2Fx");
}

#[tokio::test]
async fn a_charge_uses_the_customer_of_its_payment_method() {
    let fake = Fake::start(&[intent("succeeded")]).await;
    let charge = Charge {
        customer: Some("cus_7".into()),
        ..charge(1190, "eur")
    };
    fake.stripe.charge(&charge).await.expect("an outcome");
    let requests = fake.requests();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].ends_with("&customer=cus_7"), "{requests:?}");
}

#[tokio::test]
async fn a_charge_with_an_expired_key_is_searched_for_in_stripe_first() {
    let found = |data: Value| (200, json!({"data": data}));
    let late = Charge {
        key_expired: true,
        ..charge(1190, "eur")
    };
    let read = (200, json!({"id": "pi_9", "status": "succeeded"}));
    let answer = found(json!([{"id": "pi_9", "status": "processing"}]));
    let fake = Fake::start(&[answer, read]).await;
    let result = fake.stripe.charge(&late).await.expect("an outcome");
    assert_eq!(result.reference.as_deref(), Some("pi_9"));
    assert_eq!(result.outcome, PaymentOutcome::Succeeded);
    assert_eq!(fake.requests()[1..], ["GET /v1/payment_intents/pi_9"]);
    assert!(fake.keys().is_empty(), "nothing was charged again");
    let fake = Fake::start(&[found(json!([])), method(), intent("succeeded")]).await;
    let result = fake.stripe.charge(&late).await.expect("an outcome");
    assert_eq!(result.reference.as_deref(), Some("pi_1"));
    assert_eq!(fake.keys(), ["key-1"]);
}

#[tokio::test]
async fn a_refund_with_the_id_of_its_charge_does_not_search() {
    let fake = Fake::start(&[(200, json!({"id": "re_1", "status": "succeeded"}))]).await;
    let refund = Refund {
        key: "key-2".into(),
        charge: "key-1".into(),
        reference: Some("pi_4".into()),
        amount: Money::new(1190, Currency::USD),
        is_partial: false,
        parts: Parts::of(1190),
        is_last: true,
        key_expired: false,
    };
    let outcome = fake.stripe.refund(&refund).await;
    assert_eq!(outcome.expect("an outcome"), PaymentOutcome::Succeeded);
    let sent = "POST /v1/refunds payment_intent=pi_4&metadata%5Brefund_key%5D=key-2";
    assert_eq!(fake.requests(), [sent]);
}

#[tokio::test]
async fn a_partial_refund_is_issued_once_even_with_an_expired_key() {
    let part = Refund {
        key: "key-2".into(),
        charge: "key-1".into(),
        reference: Some("pi_4".into()),
        amount: Money::new(397, Currency::USD),
        is_partial: true,
        parts: Parts::of(397),
        is_last: false,
        key_expired: false,
    };
    let sent = "POST /v1/refunds payment_intent=pi_4&amount=397&metadata%5Brefund_key%5D=key-2";
    let fake = Fake::start(&[(200, json!({"id": "re_1", "status": "succeeded"}))]).await;
    let outcome = fake.stripe.refund(&part).await;
    assert_eq!(outcome.expect("an outcome"), PaymentOutcome::Succeeded);
    assert_eq!(fake.requests(), [sent]);
    assert_eq!(fake.keys(), ["key-2"]);
    // Stripe may have deleted the key: the refund is searched for by its metadata.
    let late = Refund {
        key_expired: true,
        ..part.clone()
    };
    let refunds = |key: &str| list(json!([given("failed", key)]));
    let fake = Fake::start(&[refunds("key-2")]).await;
    let outcome = fake.stripe.refund(&late).await.expect("an outcome");
    assert_eq!(outcome, PaymentOutcome::Declined("lost".into()));
    assert_eq!(fake.requests().len(), 1);
    let made = (200, given("succeeded", "key-2"));
    let fake = Fake::start(&[refunds("key-3"), made]).await;
    let outcome = fake.stripe.refund(&late).await.expect("an outcome");
    assert_eq!(outcome, PaymentOutcome::Succeeded);
    assert_eq!(fake.requests()[1], sent);
    // Other parts may have been refunded before, so this refund was not made by this request.
    let before = fault(400, json!({"code": "charge_already_refunded"}));
    let fake = Fake::start(&[before, refunds("key-3")]).await;
    let outcome = fake.stripe.refund(&part).await.expect("an outcome");
    assert_eq!(
        outcome,
        PaymentOutcome::Declined("charge_already_refunded".into())
    );
}

#[tokio::test]
async fn a_pending_refund_is_unclear_until_it_is_final() {
    let refund = Refund {
        key: "key-2".into(),
        charge: "key-1".into(),
        reference: Some("pi_4".into()),
        amount: Money::new(1190, Currency::USD),
        is_partial: false,
        parts: Parts::of(1190),
        is_last: true,
        key_expired: false,
    };
    let answer = |status| (200, given(status, "key-2"));
    for (status, want) in [
        ("pending", None),
        ("succeeded", Some(PaymentOutcome::Succeeded)),
        ("failed", Some(PaymentOutcome::Declined("lost".into()))),
    ] {
        let fake = Fake::start(&[answer("pending"), answer(status)]).await;
        let outcome = fake.stripe.refund(&refund).await;
        match want {
            Some(want) => assert_eq!(outcome.expect("an outcome"), want),
            None => assert_eq!(
                outcome.expect_err("unknown").class(),
                kernel::error::ErrorClass::Unavailable
            ),
        }
        assert_eq!(fake.requests()[1..], ["GET /v1/refunds/re_1"]);
        assert_eq!(fake.keys(), ["key-2"]);
    }
}

#[tokio::test]
async fn a_refused_search_makes_no_second_intent() {
    let late = Charge {
        key_expired: true,
        ..charge(1190, "eur")
    };
    let refusal = fault(400, json!({"type": "invalid_request_error"}));
    let fake = Fake::start(&[refusal, method(), intent("succeeded")]).await;
    let outcome = fake.stripe.charge(&late).await;
    assert_eq!(
        outcome.expect_err("unknown").class(),
        kernel::error::ErrorClass::Unavailable
    );
    assert_eq!(fake.requests().len(), 1);
    assert!(fake.keys().is_empty(), "nothing was charged");
}

#[tokio::test]
async fn partial_refunds_add_up_to_the_rounded_charge() {
    // Each charge with the amounts of its refunds, and those of the requests to Stripe.
    let cases: [(i64, &[(i64, i64)]); 5] = [
        (5125, &[(2562, 2560), (2563, 2570)]),
        (5125, &[(2565, 2570), (2560, 2560)]),
        (5125, &[(6, 10), (5119, 5120)]),
        (5125, &[(4, 0)]),
        (5124, &[(5121, 5120), (3, 0)]),
    ];
    let kwd = Currency::from_code("kwd").expect("a currency");
    for (charged, parts) in cases {
        let mut left = Parts::of(charged);
        for (ours, theirs) in parts {
            let parts = left.take(*ours);
            let is_last = left.total() == 0;
            let refund = Refund {
                key: "key-2".into(),
                charge: "key-1".into(),
                reference: Some("pi_4".into()),
                amount: Money::new(*ours, kwd),
                is_partial: true,
                parts,
                is_last,
                key_expired: false,
            };
            let fake = Fake::start(&[(200, given("succeeded", "key-2"))]).await;
            let outcome = fake.stripe.refund(&refund).await.expect("an outcome");
            let requests = fake.requests();
            if *theirs > 0 {
                assert!(requests[0].contains(&format!("&amount={theirs}&")));
            } else {
                assert!(requests.is_empty(), "{requests:?}");
            }
            if *theirs > 0 || is_last {
                assert_eq!(outcome, PaymentOutcome::Succeeded);
            } else {
                assert_eq!(outcome, PaymentOutcome::Declined("amount_too_small".into()));
            }
        }
    }
}

/// A fleet with a wallet in dinars, and the path of its top-up of 30 fils.
async fn top_up_in_dinars(fake: &Fake, app: &TestApp) -> (String, String) {
    let body = with(
        tests::fleet(),
        json!({"preferences": {"default_currency": "kwd"}}),
    );
    let fleet = path_of(&app.alice.create("/v1/fleets", body).await);
    let card = app.payment_method("pm_1", json!({})).await;
    fake.answer_next(&[method(), intent("succeeded")]);
    let body = json!({"amount": 30, "payment_method": card});
    app.alice.post_ok(&format!("{fleet}/top_up"), body).await;
    let latest = app.alice.get_ok("/v1/transactions?limit=1").await;
    let top_up = path_of(latest["data"][0]["id"].as_str().expect("an id"));
    (fleet, top_up)
}

#[tokio::test]
async fn a_failed_partial_refund_is_repeated_for_the_rest() {
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let (fleet, top_up) = top_up_in_dinars(&fake, &app).await;
    // Stripe rounds each end of a part: 0, 13, 26 and 30 are 0, 10, 30 and 30.
    for (amount, outcome, theirs) in [
        (13, "failed", Some(10)),
        (13, "succeeded", Some(10)),
        (13, "succeeded", Some(20)),
        (4, "succeeded", None),
    ] {
        fake.answer_next(&[(200, given(outcome, "key-2"))]);
        let requests = fake.requests().len();
        let path = format!("{top_up}/refund");
        let refund = app.alice.create(&path, json!({"amount": amount})).await;
        app.drain().await;
        let refund = app.alice.get_ok(&path_of(&refund)).await;
        assert_eq!(refund["status"], outcome);
        let sent = &fake.requests()[requests..];
        match theirs {
            Some(theirs) => assert!(sent[0].contains(&format!("&amount={theirs}&"))),
            None => assert!(sent.is_empty(), "{sent:?}"),
        }
    }
    assert_eq!(app.alice.get_ok(&top_up).await["amount_refunded"], 30);
    assert_eq!(app.alice.get_ok(&fleet).await["wallet_balance"], 0);
}

#[tokio::test]
async fn parts_are_refunded_exactly_after_one_before_them_fails() {
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let (_, top_up) = top_up_in_dinars(&fake, &app).await;
    let path = format!("{top_up}/refund");
    let begin = async || {
        let refund = app.alice.create(&path, json!({"amount": 15})).await;
        path_of(&refund)
    };
    let status = async |refund: &str| app.alice.get_ok(refund).await["status"].clone();
    let answer = |status| (200, given(status, "key-2"));
    fake.answer_next(&[answer("pending"), answer("pending")]);
    let first = begin().await;
    app.drain().await;
    fake.answer_next(&[answer("succeeded")]);
    let second = begin().await;
    app.drain().await;
    assert_eq!(status(&second).await, "succeeded");
    assert_eq!(status(&first).await, "pending");
    fake.answer_next(&[answer("failed")]);
    app.advance(60 * 60).await;
    assert_eq!(status(&first).await, "failed");
    fake.answer_next(&[answer("succeeded")]);
    let again = begin().await;
    app.drain().await;
    assert_eq!(status(&again).await, "succeeded");
    // Stripe rounds 15 to 20. The failed part is repeated with the same amount, so that 30 were refunded.
    let requests = fake.requests();
    let amounts: Vec<&str> = requests
        .iter()
        .filter(|line| line.starts_with("POST /v1/refunds"))
        .filter_map(|line| line.split_once("&amount=")?.1.split('&').next())
        .collect();
    assert_eq!(amounts, ["20", "10", "20", "20"]);
    assert_eq!(app.alice.get_ok(&top_up).await["amount_refunded"], 30);
}

#[tokio::test]
async fn a_customer_of_stripe_serves_one_account() {
    let known = |token: &str, customer: Option<&str>| {
        let (_, mut body) = method();
        body["id"] = json!(token);
        body["customer"] = json!(customer);
        (200, body)
    };
    let fake = Fake::start(&[]).await;
    let app = fake.service(Arc::new(Simulated)).await;
    let owner = app.other_account(Mode::Live).await;
    let stranger = app.other_account(Mode::Live).await;
    let register = async |client: &tests::Client, token: &str, customer: Option<&str>| {
        fake.answer_next(&[known(token, customer)]);
        let body = json!({"type": "card", "token": token});
        client.post("/v1/payment_methods", body).await
    };
    let refused = (
        400,
        "invalid_request_error",
        Some("payment_method_invalid_input"),
        Some("token"),
    );
    register(&owner, "pm_1", Some("cus_1")).await.expect(200);
    // Neither the same token nor another token of the same customer is accepted.
    for token in ["pm_1", "pm_2"] {
        let answer = register(&stranger, token, Some("cus_1")).await;
        assert_eq!(answer.error(), refused, "{token}");
    }
    assert!(stranger.get("/v1/payment_methods").await.ids().is_empty());
    register(&owner, "pm_2", Some("cus_1")).await.expect(200);
    // A token without a customer is bound individually.
    register(&owner, "pm_3", None).await.expect(200);
    let answer = register(&stranger, "pm_3", Some("cus_2")).await;
    assert_eq!(answer.error(), refused);
    // A refused request left nothing behind, and the customer still belongs to the account when its methods are deleted.
    register(&stranger, "pm_4", Some("cus_2")).await.expect(200);
    for id in owner.get("/v1/payment_methods").await.ids() {
        let path = format!("/v1/payment_methods/{id}");
        owner.delete_ok(&path).await;
    }
    let answer = register(&stranger, "pm_1", Some("cus_1")).await;
    assert_eq!(answer.error(), refused);
}

#[tokio::test]
async fn concurrent_registrations_of_one_customer_succeed_once() {
    let fake = Fake::start(&[]).await;
    let app = fake.service(Arc::new(Simulated)).await;
    let clients = [
        app.other_account(Mode::Live).await,
        app.other_account(Mode::Live).await,
    ];
    for round in 0..4 {
        fake.answer_next(&[method(), method()]);
        let token = format!("pm_{round}");
        let register = |client: tests::Client, token: String| async move {
            let body = json!({"type": "card", "token": token});
            client.post("/v1/payment_methods", body).await.status
        };
        let (first, second) = tokio::join!(
            register(clients[0].clone(), token.clone()),
            register(clients[1].clone(), token)
        );
        let mut statuses = [first, second];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 400]);
    }
}

#[tokio::test]
async fn in_live_mode_a_card_is_what_stripe_says_it_is() {
    let fake = Fake::start(&[method(), fault(404, json!({"code": "resource_missing"}))]).await;
    let app = fake.service(Arc::new(Simulated)).await;
    let live = app.other_account(Mode::Live).await;
    let body = |token: &str| json!({"type": "card", "token": token});
    let card = live.post("/v1/payment_methods", body("pm_1")).await;
    assert_eq!(card.expect(200).body["card"]["last4"], "4242");
    let unknown = live.post("/v1/payment_methods", body("pm_2")).await;
    unknown.expect_error(400, "payment_method_invalid_input", "token");
    let simulated = live.post("/v1/payment_methods", body("tok_success")).await;
    simulated.expect_error(400, "payment_method_invalid_input", "token");
    assert_eq!(fake.requests().len(), 2);
}

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
async fn a_wallet_is_emptied_of_a_rest_that_stripe_rounds_to_zero() {
    let fake = Fake::start(&[method()]).await;
    let app = fake.service(fake.stripe.clone()).await;
    let kwd = json!({"preferences": {"default_currency": "kwd"}});
    let fleet = app.alice.create("/v1/fleets", with(tests::fleet(), kwd));
    let fleet = fleet.await;
    let path = path_of(&fleet);
    let card = app.payment_method("pm_1", json!({})).await;
    fake.answer_next(&[method(), intent("succeeded")]);
    let top_up = json!({"amount": 100, "payment_method": card});
    app.alice.post_ok(&format!("{path}/top_up"), top_up).await;
    let top_up = app.alice.get("/v1/transactions").await.ids().remove(0);
    let origin = Origin::background(app.alice.tenant(), app.now());
    let mut tx = app.app().store.begin(&origin);
    let (id, spent) = (Id::from(fleet.as_str()), charge(97, "kwd").amount);
    tx.debit(Wallet::Fleet(&id), spent, Error::Contended);
    tx.commit_without_response().await.expect("money is spent");
    let requests = fake.requests().len();
    for (amount, status, balance) in [(2, "failed", 3), (3, "succeeded", 0)] {
        let refund = format!("{}/refund", path_of(&top_up));
        let refund = app.alice.post_ok(&refund, json!({"amount": amount}));
        let refund = refund.await;
        app.drain().await;
        let refund = path_of(refund["id"].as_str().expect("an id"));
        assert_has!(app.alice.get_ok(&refund).await, {"status": status, "amount": amount});
        assert_eq!(app.alice.get_ok(&path).await["wallet_balance"], balance);
    }
    assert_eq!(fake.requests().len(), requests);
    app.alice.delete_ok(&path).await;
}

#[tokio::test]
#[ignore = "needs localstripe"]
async fn localstripe_takes_money_and_declines() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let server = LocalStripe::start().await;
    let stripe = Stripe::new(&server.url, "sk_test_1");
    let good = server.card("4242424242424242").await;
    let bad = server.card("4000000000000341").await;
    let secured = server.card("4000002500003155").await;
    let charge = |token: &str| Charge {
        token: token.to_owned(),
        ..charge(1190, "eur")
    };
    let declined = |why: &str| PaymentOutcome::Declined(why.to_owned());
    for (token, want) in [
        (good.as_str(), PaymentOutcome::Succeeded),
        (&bad, declined("card_declined")),
        (&secured, declined("authentication_required")),
    ] {
        let outcome = stripe.charge(&charge(token)).await;
        assert_eq!(outcome.expect("an outcome").outcome, want, "{token}");
    }
    let known = stripe.method(&good).await;
    let card = known.expect("an answer").expect("a method").card;
    let card = card.expect("a card");
    assert_eq!((card.exp_year, card.last4.as_str()), (2031, "4242"));
    assert!(
        stripe
            .method("pm_unknown")
            .await
            .expect("an answer")
            .is_none()
    );
}
