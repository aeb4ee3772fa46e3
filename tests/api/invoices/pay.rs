//! Tests of `POST /v1/invoices/{id}/pay`, and of what a paid invoice means for its sessions.

use serde_json::{Value, json};
use tests::{Receiver, TestApp, assert_has, path_of};

use super::{act, done, draft, open, window};

#[tokio::test]
async fn an_open_invoice_is_paid_once() {
    let app = TestApp::start().await;
    let receiver = Receiver::subscribed(&app.alice, &["*"]).await;
    let crew = app.crew(&app.alice).await;
    app.completed_session(&crew, json!({})).await;
    let method = app.payment_method("tok_success", json!({})).await;
    let id = draft(&app, &crew).await;
    let pay = async || act(&app.alice, &id, "pay", json!({"payment_method": method})).await;
    let refused = pay().await;
    refused.expect_error(409, "invoice_payment_invalid_state", None);
    done(&app.alice, &id, "finalize", json!({})).await;
    let again = act(&app.alice, &id, "finalize", json!({})).await;
    again.expect_error(409, "invoice_finalize_invalid_state", None);
    let paid = pay().await.expect(200).body;
    assert_has!(paid, {"status": "paid", "amount_due": 0});
    assert_has!(paid, {"amount_paid": 1190, "payment_method": method});
    assert!(paid["paid_at"].is_string());
    let refused = pay().await;
    refused.expect_error(409, "invoice_payment_invalid_state", None);
    let refused = act(&app.alice, &id, "void", json!({})).await;
    refused.expect_error(409, "invoice_void_invalid_state", None);
    app.drain().await;
    let types = receiver.types();
    let of_invoices: Vec<_> = types
        .iter()
        .filter(|name| name.starts_with("invoice."))
        .collect();
    assert_eq!(of_invoices.len(), 3, "{of_invoices:?}");
    for name in ["invoice.created", "invoice.finalized", "invoice.paid"] {
        assert!(types.iter().any(|kind| kind == name), "{name}: {types:?}");
    }
    let charges = app.transactions(&app.alice).await;
    assert_eq!(charges.len(), 1);
    assert_eq!(
        (charges[0].amount, charges[0].fleet.as_ref()),
        (1190, Some(&crew.fleet.into()))
    );
}

#[tokio::test]
async fn the_accounts_default_payment_method_pays_the_invoice() {
    let (app, crew) = TestApp::with_crew().await;
    let id = open(&app, &crew).await;
    let pay = async |body: Value| act(&app.alice, &id, "pay", body).await;
    let invalid = Some("invoice_validation_error");
    let param = Some("payment_method");
    pay(json!({})).await.expect_error(400, invalid, param);
    let unknown = pay(json!({"payment_method": "pm_1"})).await;
    unknown.expect_error(404, "payment_method_not_found", param);
    let stranger = app.crew(&app.alice).await;
    for owner in [
        json!({"driver": crew.driver}),
        json!({"fleet": stranger.fleet}),
    ] {
        let method = app.payment_method("tok_success", owner).await;
        let refused = pay(json!({"payment_method": method})).await;
        refused.expect_error(400, "payment_method_scope_invalid", param);
    }
    let method = app.payment_method("tok_success", json!({})).await;
    let account = path_of(&app.alice.tenant().account);
    let preferred = json!({"preferences": {"default_payment_method": method}});
    app.alice.post_ok(&account, preferred).await;
    let paid = pay(json!({})).await.expect(200).body;
    assert_eq!(paid["payment_method"], json!(method));
    app.drain().await;
}

#[tokio::test]
async fn a_declined_payment_leaves_the_invoice_open() {
    let (app, crew) = TestApp::with_crew().await;
    let id = open(&app, &crew).await;
    let poor = app
        .payment_method("tok_insufficient_funds", json!({}))
        .await;
    let body = json!({"payment_method": poor}).to_string();
    let path = format!("/v1/invoices/{id}/pay");
    let key = [("idempotency-key", "one")];
    let declined = app
        .alice
        .send("POST", &path, Some(body.clone()), &key)
        .await;
    declined.expect_error(402, "payment_authorization_failed", "payment_method");
    assert_eq!(declined.body["decline_code"], "insufficient_funds");
    let repeated = app.alice.send("POST", &path, Some(body), &key).await;
    assert_eq!((repeated.status, &repeated.body), (402, &declined.body));
    assert_eq!(repeated.header("idempotent-replayed"), "true");
    assert_eq!(app.transactions(&app.alice).await.len(), 1);
    assert_has!(app.alice.get_ok(&path_of(&id)).await, {"status": "open", "amount_paid": null});
    let good = app
        .payment_method("tok_success", json!({"fleet": crew.fleet}))
        .await;
    done(&app.alice, &id, "pay", json!({"payment_method": good})).await;
    let transactions = app.transactions(&app.alice).await;
    let statuses: Vec<_> = transactions
        .iter()
        .map(|transaction| transaction.status.as_str())
        .collect();
    assert_eq!(statuses, ["succeeded", "failed"]);
    app.drain().await;
    let events = app
        .alice
        .get("/v1/events?type=invoice.payment_failed")
        .await;
    assert_eq!(events.ids().len(), 1);
}

#[tokio::test]
async fn of_many_payments_at_once_one_goes_through() {
    let (app, crew) = TestApp::with_crew().await;
    let id = open(&app, &crew).await;
    let method = app.payment_method("tok_success", json!({})).await;
    let requests = (0..8).map(|_| {
        let (client, id, body) = (
            app.alice.clone(),
            id.clone(),
            json!({"payment_method": method}),
        );
        tokio::spawn(async move { act(&client, &id, "pay", body).await })
    });
    let mut paid = 0;
    for request in requests.collect::<Vec<_>>() {
        let answer = request.await.expect("an answer");
        assert!(matches!(answer.status, 200 | 409 | 503), "{}", answer.text);
        paid += usize::from(answer.status == 200);
    }
    assert_eq!(paid, 1);
    assert_eq!(app.transactions(&app.alice).await.len(), 1);
    app.drain().await;
}

#[tokio::test]
async fn an_invoice_of_nothing_is_paid_when_it_is_finalized() {
    let (app, crew) = TestApp::with_crew().await;
    let id = draft(&app, &crew).await;
    let done = done(&app.alice, &id, "finalize", json!({})).await;
    assert_has!(done, {"status": "paid", "amount_due": 0});
    assert!(done["paid_at"].is_string());
    app.drain().await;
    let events = app.alice.get("/v1/events?type=invoice.paid").await;
    assert_eq!(events.ids().len(), 1);
}

#[tokio::test]
async fn the_sessions_of_a_paid_invoice_are_paid() {
    let (app, crew) = TestApp::with_crew().await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(app.completed_session(&crew, json!({})).await);
    }
    let paid_before = json!({"amount_due": 0, "amount_paid": 1190});
    sessions.push(app.completed_session(&crew, paid_before).await);
    let id = app.alice.create("/v1/invoices", window(&app)).await;
    let open = done(&app.alice, &id, "finalize", json!({})).await;
    assert_has!(open, {"amount_due": 3570, "amount_paid": 1190});
    let card = app.payment_method("tok_success", json!({})).await;
    done(&app.alice, &id, "pay", json!({"payment_method": card})).await;
    // The message that updates the sessions is lost; the sweeper finds them.
    app.running().lose_triggers().await.expect("lost");
    app.advance(180).await;
    let due = async |id: &str| {
        let session = app.alice.get_ok(&path_of(&id)).await;
        (
            session["amount_due"].clone(),
            session["amount_paid"].clone(),
        )
    };
    assert_eq!(due(&sessions[0]).await, (json!(1190), json!(0)));
    functions::stream::sweep::handle(app.app())
        .await
        .expect("a sweep");
    app.drain().await;
    for id in &sessions {
        assert_eq!(due(id).await, (json!(0), json!(1190)));
    }
    let swept = functions::stream::sweep::handle(app.app()).await;
    assert_eq!(swept.expect("a sweep"), 0);
}
