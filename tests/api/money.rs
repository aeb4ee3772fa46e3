//! Money in the whole service: recurring payments, the invoices of sessions, and refunds.

use functions::fleets::bill::BillFleet;
use functions::job::Job as _;
use functions::jobs;
use std::collections::BTreeMap;

use functions::stream::sweep;
use kernel::time::minutes;
use kernel::{Id, Timestamp};
use models::Fleet;
use serde_json::{Value, json};
use tests::{Crew, Receiver, TestApp, TestResponse, assert_has, id_of, path_of, with};

async fn act(app: &TestApp, id: &str, verb: &str, body: Value) -> TestResponse {
    app.alice
        .post(&format!("/v1/invoices/{id}/{verb}"), body)
        .await
}

async fn list(app: &TestApp, path: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut next = Some(format!("{path}?limit=100"));
    while let Some(url) = next {
        let page = app.alice.get_ok(&url).await;
        objects.extend(page["data"].as_array().expect("a list").clone());
        next = page["next_page_url"].as_str().map(str::to_owned);
    }
    objects
}

/// An open invoice of everything that ended within the last hour.
async fn open(app: &TestApp) -> String {
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let id = app.alice.create("/v1/invoices", window).await;
    act(app, &id, "finalize", json!({})).await.expect(200);
    id
}

async fn money_of(app: &TestApp, session: &str) -> (i64, i64) {
    let shown = app.alice.get_ok(&path_of(&session)).await;
    let part = |name: &str| shown[name].as_i64().expect("an amount");
    (part("amount_due"), part("amount_paid"))
}

#[tokio::test]
async fn nothing_is_due_on_the_sessions_of_a_paid_invoice() {
    let app = TestApp::start().await;
    let receiver = Receiver::subscribed(&app.alice, &["service.succeeded", "service.failed"]).await;
    let crew = app.crew(&app.alice).await;
    let unpaid = app.completed_session(&crew, json!({})).await;
    let in_part = app
        .completed_session(&crew, json!({"amount_due": 190, "amount_paid": 1000}))
        .await;
    let id = open(&app).await;
    assert_eq!(money_of(&app, &unpaid).await, (1190, 0));
    let poor = app.payment_method("tok_declined", json!({})).await;
    act(&app, &id, "pay", json!({"payment_method": poor}))
        .await
        .expect(402);
    app.drain().await;
    assert_eq!(money_of(&app, &unpaid).await, (1190, 0));
    let card = app.payment_method("tok_success", json!({})).await;
    act(&app, &id, "pay", json!({"payment_method": card}))
        .await
        .expect(200);
    app.drain().await;
    for session in [&unpaid, &in_part] {
        assert_eq!(money_of(&app, session).await, (0, 1190));
    }
    assert_eq!(receiver.types(), ["service.failed", "service.succeeded"]);
    assert_has!(receiver.received()[1].event["data"]["object"].clone(), {"amount": 1380, "type": "charge"});
}

#[tokio::test]
async fn sessions_are_due_after_their_invoice_is_voided() {
    let (app, crew) = TestApp::with_crew().await;
    let mut sessions = Vec::new();
    for _ in 0..120 {
        sessions.push(app.completed_session(&crew, json!({})).await);
    }
    let voided = open(&app).await;
    act(&app, &voided, "void", json!({})).await.expect(200);
    app.drain().await;
    assert_eq!(money_of(&app, &sessions[0]).await, (1190, 0));
    let id = open(&app).await;
    let card = app.payment_method("tok_success", json!({})).await;
    act(&app, &id, "pay", json!({"payment_method": card}))
        .await
        .expect(200);
    app.running().lose_triggers().await.expect("lost");
    assert_eq!(money_of(&app, &sessions[119]).await, (1190, 0));
    app.advance(3 * 60).await;
    sweep::handle(app.app()).await.expect("a sweep");
    app.drain().await;
    for session in [&sessions[0], &sessions[60], &sessions[119]] {
        assert_eq!(money_of(&app, session).await, (0, 1190));
    }
}

#[tokio::test]
async fn a_charge_is_given_back_once_to_where_it_came_from() {
    let app = TestApp::start().await;
    let receiver = Receiver::subscribed(&app.alice, &["service.refunded"]).await;
    let crew = app.crew(&app.alice).await;
    let card = app
        .alice
        .create(
            "/v1/payment_methods",
            json!({"type": "card", "token": "tok_success"}),
        )
        .await;
    let wallet = app
        .alice
        .create(
            "/v1/payment_methods",
            json!({"type": "wallet", "fleet": crew.fleet}),
        )
        .await;
    let top_up = format!("/v1/fleets/{}/top_up", crew.fleet);
    app.alice
        .post_ok(&top_up, json!({"amount": 1500, "payment_method": card}))
        .await;
    let balance = async || {
        let fleet = app.alice.get(&path_of(&crew.fleet)).await;
        fleet.body["wallet_balance"].as_i64().expect("a balance")
    };
    let refund = async |id: &str| {
        app.alice
            .post(&format!("/v1/transactions/{id}/refund"), json!({}))
            .await
    };
    let session = app.completed_session(&crew, json!({})).await;
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let id = app.alice.create("/v1/invoices", window).await;
    act(&app, &id, "finalize", json!({})).await.expect(200);
    act(&app, &id, "pay", json!({"payment_method": wallet}))
        .await
        .expect(200);
    assert_eq!(balance().await, 310);
    let charge = app.alice.get("/v1/transactions").await.ids().remove(0);
    let given = refund(&charge).await.expect(200).body;
    assert_has!(given, {"type": "refund", "status": "pending", "amount": 1190});
    refund(&charge).await.expect_error(409, None, "transaction");
    app.drain().await;
    assert_eq!(balance().await, 1500);
    let given = id_of(&given);
    let shown = app.alice.get_ok(&path_of(&given)).await;
    assert_eq!(shown["status"], "succeeded");
    refund(given).await.expect_error(409, None, "transaction");
    assert_eq!(receiver.types(), ["service.refunded"]);
    // Paid amounts stay paid: nothing is billed again.
    assert_eq!(money_of(&app, &session).await, (0, 1190));
    assert_eq!(app.alice.get_ok(&path_of(&id)).await["status"], "paid");
}

/// Returns the end of a fleet's billing period, and moves the time to 15 minutes after it.
async fn turn_over(app: &TestApp, crew: &Crew) -> Timestamp {
    let tenant = app.alice.tenant();
    let fleet = app
        .app()
        .store
        .load::<Fleet>(&tenant, &Id::from(crew.fleet.as_str()))
        .await
        .expect("a fleet");
    let due = fleet.next_action_at().expect("a period");
    let seconds = due.since(app.now()).as_secs() + 1;
    app.advance(u32::try_from(seconds).expect("some time"))
        .await;
    due.plus(minutes(-15))
}

#[tokio::test]
async fn a_cycle_ends_with_a_draft_per_currency_finalized_a_day_later() {
    let (app, crew) = TestApp::with_crew().await;
    let path = format!("/v1/fleets/{}", crew.fleet);
    let change =
        json!({"timezone": "Europe/Amsterdam", "preferences": {"report_frequency": "never"}});
    app.alice.post_ok(&path, change).await;
    let end = {
        let fleet = app.alice.get_ok(&path).await;
        assert_eq!(fleet["preferences"]["billing_cycle"], "monthly");
        app.completed_session(&crew, json!({})).await;
        app.completed_session(&crew, json!({"currency": "gbp", "amount_due": 500}))
            .await;
        turn_over(&app, &crew).await
    };
    app.drain().await;
    let drafts = list(&app, "/v1/invoices").await;
    let amounts: BTreeMap<_, _> = drafts
        .iter()
        .map(|draft| {
            (
                draft["currency"].as_str().expect("a currency"),
                draft["amount_due"].clone(),
            )
        })
        .collect();
    assert_eq!(
        amounts,
        BTreeMap::from([("gbp", json!(500)), ("usd", json!(1190))])
    );
    for draft in &drafts {
        assert_has!(draft, {"status": "draft", "fleet": crew.fleet});
        assert_eq!(draft["period_end"], json!(end));
    }
    app.alice.assert_found_by_created("/v1/invoices").await;
    // The message may come twice, and the next period adds nothing.
    let tenant = app.alice.tenant();
    let message = BillFleet {
        tenant,
        fleet: crew.fleet.as_str().into(),
    }
    .message()
    .expect("a message");
    jobs::work(app.app(), &message)
        .await
        .expect("nothing to do");
    app.advance(86_400 + 60).await;
    app.drain().await;
    let opened = list(&app, "/v1/invoices").await;
    assert!(
        opened.iter().all(|invoice| invoice["status"] == "open"),
        "{opened:?}"
    );
    turn_over(&app, &crew).await;
    app.drain().await;
    assert_eq!(list(&app, "/v1/invoices").await.len(), 2);
}

#[tokio::test]
async fn a_report_is_generated_only_for_periods_with_sessions() {
    let (app, crew) = TestApp::with_crew().await;
    let path = format!("/v1/fleets/{}", crew.fleet);
    let change = json!({"preferences": {"report_frequency": "daily", "billing_cycle": "yearly"}});
    app.alice.post_ok(&path, change).await;
    app.completed_session(&crew, json!({})).await;
    // A session that ended a moment ago may have ended yesterday.
    for _ in 0..2 {
        turn_over(&app, &crew).await;
        app.drain().await;
    }
    let reports = list(&app, "/v1/reports").await;
    assert!(reports.len() <= 1, "{reports:?}");
    for report in &reports {
        assert_has!(report, {"status": "succeeded", "fleet": crew.fleet});
        assert_eq!(report["parameters"]["group_by"], "vehicle");
    }
    app.alice.assert_found_by_created("/v1/reports").await;
    turn_over(&app, &crew).await;
    app.drain().await;
    assert_eq!(list(&app, "/v1/reports").await.len(), reports.len());
}

#[tokio::test]
async fn a_reservation_fee_is_charged_once_after_the_reservation_ends() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let receiver = Receiver::subscribed(&app.alice, &["service.succeeded", "service.failed"]).await;
    let crew = app.crew(&app.alice).await;
    let good = app.payment_method("tok_success", json!({})).await;
    let poor = app.payment_method("tok_declined", json!({})).await;
    for (method, minutes, cancelled, due, event_type) in [
        // The vehicle does not come.
        (&good, 60, false, 0, Some("service.succeeded")),
        (&poor, 60, false, 300, Some("service.failed")),
        // Too late for a free cancellation, and early enough to cancel.
        (&good, 20, true, 0, Some("service.succeeded")),
        (&good, 60, true, 0, None),
    ] {
        let body = with(
            app.reservation(&crew, minutes),
            json!({"payment_method": method}),
        );
        let id = app.alice.create("/v1/reservations", body).await;
        app.drain().await;
        let path = format!("/v1/reservations/{id}");
        let before = receiver.received().len();
        if cancelled {
            // For ten minutes after its confirmation a reservation is cancelled free.
            app.advance(if minutes < 30 { 11 * 60 } else { 0 }).await;
            let cancel = app.alice.post(&format!("{path}/cancel"), json!({})).await;
            cancel.expect(200);
        }
        app.advance(90 * 60).await;
        sweep::handle(app.app()).await.expect("a sweep");
        app.drain().await;
        let shown = app.alice.get_ok(&path).await;
        assert_eq!(shown["fee_due"], due, "{shown}");
        let received = receiver.received();
        let types: Vec<_> = received[before..]
            .iter()
            .map(|delivery| delivery.event["type"].as_str().expect("a type"))
            .collect();
        assert_eq!(types, Vec::from_iter(event_type), "{shown}");
        for delivery in &received[before..] {
            let object = &delivery.event["data"]["object"];
            assert_has!(object, {"amount": 300, "fleet": crew.fleet});
        }
    }
}
