//! Tests of charges: one PaymentIntent under one key, declines, errors, and amounts as Stripe counts them.

use functions::stripe::Stripe;
use models::ports::payments::{Charge, ChargeResult, Payments};
use models::transaction::PaymentOutcome;
use serde_json::{Value, json};
use tests::localstripe::LocalStripe;

use super::{Fake, charge, fault, intent, method};

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
