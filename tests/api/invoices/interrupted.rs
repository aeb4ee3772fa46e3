//! Tests of requests that ended early: what they began is finished once.

use kernel::origin::Idempotency;
use kernel::{Currency, Id, Kind, Origin};
use models::{Invoice, PaymentMethod, Stored};
use serde_json::{Value, json};
use table::UnitOfWork;
use tests::{TestApp, assert_has};

use super::{act, many_sessions, open, window};

/// The origin of a request to create an invoice.
fn origin(app: &TestApp, request: u128, key: Option<&str>) -> Origin {
    let idempotency = key.map(|key| Idempotency {
        key: key.to_owned(),
        fingerprint: "f".into(),
        rights: Default::default(),
    });
    Origin {
        request: Some(Id::from_number(Kind::Request, request)),
        idempotency,
        ..Origin::background(app.alice.tenant(), app.now())
    }
}

/// Claims sessions for an invoice like a request that is interrupted before it writes the invoice. Returns the part of its work that
/// is not committed yet.
async fn interrupted<'a>(app: &'a TestApp, origin: &'a Origin, body: &Value) -> UnitOfWork<'a> {
    let store = &app.app().store;
    let new = serde_json::from_value(body.clone()).expect("a body");
    let collected = store
        .collect(origin, &new, Currency::USD, None)
        .await
        .expect("sessions");
    let mut rest = store.begin(origin);
    rest.claim_billed(&collected).await.expect("claims");
    rest
}

#[tokio::test]
async fn sessions_claimed_by_an_interrupted_request_are_billed_once() {
    let (app, crew) = TestApp::with_crew().await;
    many_sessions(&app, &crew, 120).await;
    let body = window(&app);
    let origin = origin(&app, 1, None);
    let rest = interrupted(&app, &origin, &body).await;
    // While the invoice may still be created, no other invoice contains the sessions.
    assert_eq!(
        app.alice.post("/v1/invoices", body.clone()).await.status,
        503
    );
    app.advance(41).await;
    let invoice = app.alice.post_ok("/v1/invoices", body).await;
    assert_eq!(invoice["amount_due"], 120 * 1190);
    // If the first request continues, it cannot be committed.
    let late = rest.commit_without_response().await;
    assert!(matches!(late, Err(kernel::Error::Contended)), "{late:?}");
    app.drain().await;
}

#[tokio::test]
async fn a_repeated_request_goes_on_where_the_first_was_cut_short() {
    let (app, crew) = TestApp::with_crew().await;
    many_sessions(&app, &crew, 120).await;
    let body = window(&app);
    let first = origin(&app, 1, Some("k"));
    drop(interrupted(&app, &first, &body).await);
    let store = &app.app().store;
    let new = serde_json::from_value(body.clone()).expect("a body");
    let (before, another) = (
        first.now,
        Origin {
            request: Some(Id::from_number(Kind::Request, 2)),
            ..first
        },
    );
    let in_flight = store.collect(&another, &new, Currency::USD, None).await;
    assert_eq!(
        in_flight.expect_err("in flight").class(),
        kernel::error::ErrorClass::Conflict
    );
    app.advance(41).await;
    let later = Origin {
        now: app.now(),
        ..another
    };
    let collected = store
        .collect(&later, &new, Currency::USD, None)
        .await
        .expect("sessions");
    assert_eq!((collected.begun, collected.billed.len()), (before, 120));
    let mut rest = store.begin(&later);
    rest.claim_billed(&collected).await.expect("claims");
    rest.commit_without_response()
        .await
        .expect("the claims are complete");
    app.drain().await;
}

/// Begins a payment like a request that ends after its attempt was written.
async fn begin(app: &TestApp, id: &str, method: &str) {
    let (store, tenant) = (&app.app().store, app.alice.tenant());
    let invoice = store.load::<Invoice>(&tenant, &Id::from(id)).await;
    let method = store
        .load::<PaymentMethod>(&tenant, &Id::from(method))
        .await;
    let (mut invoice, method) = (invoice.expect("an item"), method.expect("a method"));
    let transaction = invoice.begin_payment(method.object, method.internal, app.now());
    let mut transaction = Stored::new(transaction);
    let origin = Origin::background(tenant, app.now());
    let mut tx = store.begin(&origin);
    tx.save(&mut invoice).expect("a change");
    tx.create(&mut transaction).expect("a pending transaction");
    tx.commit_without_response().await.expect("an attempt");
}

#[tokio::test]
async fn an_interrupted_payment_is_resumed_before_another_starts() {
    let (app, crew) = TestApp::with_crew().await;
    let good = app.payment_method("tok_success", json!({})).await;
    let poor = app.payment_method("tok_declined", json!({})).await;
    for (first, second, transactions, pays) in [
        (&good, &poor, 1, &good),
        (&poor, &good, 2, &good),
        (&good, &good, 1, &good),
    ] {
        let id = open(&app, &crew).await;
        // The attempt has its transaction, pending, from the beginning.
        let before = app.transactions(&app.alice).await.len();
        begin(&app, &id, first).await;
        assert_eq!(act(&app.alice, &id, "void", json!({})).await.status, 409);
        let paid = act(&app.alice, &id, "pay", json!({"payment_method": second})).await;
        assert_has!(paid.expect(200).body, {"status": "paid", "payment_method": pays});
        assert_eq!(
            app.transactions(&app.alice).await.len() - before,
            transactions
        );
    }
    app.drain().await;
}

#[tokio::test]
async fn a_payment_that_is_not_repeated_is_finished_by_the_service() {
    let (app, crew) = TestApp::with_crew().await;
    let method = app.payment_method("tok_success", json!({})).await;
    let id = open(&app, &crew).await;
    begin(&app, &id, &method).await;
    app.drain().await;
    let path = format!("/v1/invoices/{id}");
    assert_eq!(app.alice.get_ok(&path).await["status"], "open");
    app.advance(61).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "paid");
    assert_eq!(app.transactions(&app.alice).await.len(), 1);
    app.advance(31 * 86_400).await;
    let overdue = app.alice.get("/v1/events?type=invoice.overdue").await;
    assert!(overdue.ids().is_empty());
}
