//! Tests of refunds: whole, partial, pending, failed and repeated.

use kernel::{Currency, Error, Id, Money, Origin};
use models::parts::Parts;
use models::ports::payments::{Payments, Refund};
use models::transaction::PaymentOutcome;
use serde_json::json;
use table::wallets::Wallet;
use tests::{TestApp, assert_has, path_of, with};

use super::{Fake, charge, fault, given, intent, list, method};

/// The refund of a whole charge whose PaymentIntent is known.
fn whole() -> Refund {
    Refund {
        key: "key-2".into(),
        charge: "key-1".into(),
        reference: Some("pi_4".into()),
        amount: Money::new(1190, Currency::USD),
        is_partial: false,
        parts: Parts::of(1190),
        is_last: true,
        key_expired: false,
    }
}

#[tokio::test]
async fn a_refund_finds_the_charge_by_its_key() {
    let found = (
        200,
        json!({"data": [{"id": "pi_1", "status": "succeeded"}]}),
    );
    let refund = Refund {
        reference: None,
        ..whole()
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
async fn a_refund_with_the_id_of_its_charge_does_not_search() {
    let fake = Fake::start(&[(200, json!({"id": "re_1", "status": "succeeded"}))]).await;
    let refund = whole();
    let outcome = fake.stripe.refund(&refund).await;
    assert_eq!(outcome.expect("an outcome"), PaymentOutcome::Succeeded);
    let sent = "POST /v1/refunds payment_intent=pi_4&metadata%5Brefund_key%5D=key-2";
    assert_eq!(fake.requests(), [sent]);
}

#[tokio::test]
async fn a_partial_refund_is_issued_once_even_with_an_expired_key() {
    let part = Refund {
        amount: Money::new(397, Currency::USD),
        is_partial: true,
        parts: Parts::of(397),
        is_last: false,
        ..whole()
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
    let refund = whole();
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
                amount: Money::new(*ours, kwd),
                is_partial: true,
                parts,
                is_last,
                ..whole()
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
