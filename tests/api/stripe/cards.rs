//! Tests of payment methods: tokens, and customers of Stripe that belong to one account.

use std::sync::Arc;

use kernel::Mode;
use models::ports::payments::{Payments, Simulated};
use serde_json::json;

use super::{Fake, fault, method};

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
