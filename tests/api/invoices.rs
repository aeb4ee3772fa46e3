//! `/v1/invoices`, with finalize, pay and void.

use std::collections::HashSet;

use kernel::origin::Idempotency;
use kernel::{Currency, Id, Kind, Origin};
use models::{Invoice, PaymentMethod, Stored};
use serde_json::{Value, json};
use table::UnitOfWork;

use kernel::time::{days, hours, millis, minutes};
use table::list::PageRequest;
use tests::{
    Client, Crew, Receiver, TestApp, assert_has, cases, each, fleet, id_of, path_of, with,
};

/// The window that ends now.
fn window(app: &TestApp) -> Value {
    json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)})
}

/// Creates a draft of a fleet's unbilled amounts, with the window that ends now.
async fn draft(app: &TestApp, crew: &Crew) -> String {
    let body = with(window(app), json!({"fleet": crew.fleet}));
    app.alice.create("/v1/invoices", body).await
}

async fn act(client: &Client, id: &str, verb: &str, body: Value) -> tests::TestResponse {
    client
        .post(&format!("/v1/invoices/{id}/{verb}"), body)
        .await
}

/// Performs an action on an invoice, which has to succeed. Returns the invoice.
async fn done(client: &Client, id: &str, verb: &str, body: Value) -> Value {
    act(client, id, verb, body).await.expect(200).body
}

/// The ids of the sessions on an invoice.
fn sessions(invoice: &Value) -> Vec<&str> {
    let lines = invoice["line_items"].as_array().expect("lines").iter();
    lines
        .map(|line| line["charging_session"].as_str().expect("an id"))
        .collect()
}

#[tokio::test]
async fn a_draft_has_a_line_per_session_and_every_specified_field() {
    let (app, crew) = TestApp::with_crew().await;
    let session = app.completed_session(&crew, json!({})).await;
    let body = with(
        window(&app),
        json!({"fleet": crew.fleet, "description": "Memo", "metadata": {"k": "v"}}),
    );
    let invoice = app.alice.post_ok("/v1/invoices", body.clone()).await;
    let shown = app.alice.get_ok(&path_of(&session)).await;
    assert_eq!(shown["invoice"], id_of(&invoice));
    assert_has!(invoice["line_items"][0], {"charging_session": session, "charging_station": shown["charging_station"],
        "driver": crew.driver, "ended": shown["session_ended"], "id": session.replace("cs_", "li_"),
        "started": shown["session_started"], "vehicle": crew.vehicle});
    let created = kernel::Timestamp::parse(invoice["created"].as_str().expect("a time"));
    let due = created.expect("a time").plus(days(30));
    assert_has!(invoice, {"due_date": due, "fleet": crew.fleet, "period_end": body["period_end"], "period_start": body["period_start"]});
    app.snapshot("invoice_draft", &invoice);
    let path = path_of(id_of(&invoice));
    assert_eq!(app.alice.get_ok(&path).await, invoice);
    let lines = app.alice.get_ok(&format!("{path}/line_items")).await;
    assert_eq!(lines["data"], invoice["line_items"]);
    app.drain().await;
}

/// A reservation whose vehicle did not come, with this payment method for its fee.
pub async fn no_show(app: &TestApp, crew: &Crew, method: Option<&str>) -> String {
    let body = with(app.reservation(crew, 60), json!({"payment_method": method}));
    let id = app.alice.create("/v1/reservations", body).await;
    app.drain().await;
    app.advance(90 * 60).await;
    app.drain().await;
    id
}

#[tokio::test]
async fn a_due_reservation_fee_is_a_line_of_exactly_one_invoice() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let crew = app.crew(&app.alice).await;
    let other = app.crew(&app.alice).await;
    let good = app.payment_method("tok_success", json!({})).await;
    let poor = app.payment_method("tok_declined", json!({})).await;
    let before = app.now();
    let unpaid = no_show(&app, &crew, None).await;
    let declined = no_show(&app, &crew, Some(&poor)).await;
    let charged = no_show(&app, &crew, Some(&good)).await;
    let elsewhere = no_show(&app, &other, None).await;
    let session = app.completed_session(&crew, json!({})).await;
    let fee_due = async |id: &str| {
        let path = format!("/v1/reservations/{id}");
        app.alice.get_ok(&path).await["fee_due"].clone()
    };
    let body =
        json!({"period_start": before, "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let make = async || app.alice.post("/v1/invoices", body.clone()).await;
    let invoice = make().await;
    let id = invoice.id();
    let shown = async |id: &str| {
        let path = format!("/v1/reservations/{id}");
        app.alice.get_ok(&path).await
    };
    let fee = async |id: &str| {
        let reservation = shown(id).await;
        let station = reservation["charging_station"].as_str().expect("a station");
        let station = app.alice.get_ok(&path_of(station)).await["name"].clone();
        let moment = |name: &str| reservation[name].as_str().expect("a time").to_owned();
        let (from, until) = (moment("reserved_start"), moment("reserved_end"));
        let description = format!(
            "AB12 CDE, Ada Byron: Reservation, not used at {}, connector {}, {} {} to {} (Europe/London)",
            station.as_str().expect("a name"),
            reservation["connector"].as_str().expect("a connector"),
            &from[..10],
            &from[11..16],
            &until[11..16]
        );
        let tax =
            json!({"category": "Z", "country": null, "net": 300, "tax": 0, "tax_percent": "0"});
        json!({"id": id.replace("res_", "li_"), "amount": 300, "charging_session": null,
            "charging_station": reservation["charging_station"], "connector": reservation["connector"],
            "description": description, "driver": reservation["driver"], "driver_name": "Ada Byron",
            "duration_seconds": 3600, "ended": reservation["reserved_end"], "energy_wh": 0, "free": false, "net": 300,
            "price_check": null, "price_per_kwh": null, "quantity": 1, "registration_plate": "AB12 CDE", "reservation": id,
            "started": reservation["reserved_start"], "station_name": station, "tax": 0, "taxes": [tax], "type": "reservation_fee",
            "unit_amount": 300, "vehicle": reservation["vehicle"]})
    };
    let lines = invoice.body["line_items"]
        .as_array()
        .expect("lines")
        .clone();
    // The session began two hours ago, between the reservations.
    let fees = lines.iter().filter(|line| line["type"] != "energy_session");
    let fees: Vec<_> = fees.cloned().collect();
    // Fees that were charged before are on the invoice as paid, like sessions.
    for (found, reservation) in fees.iter().zip([&charged, &declined, &unpaid]) {
        assert_eq!(*found, fee(reservation).await);
    }
    assert_eq!((fees.len(), lines.len()), (3, 4));
    assert_has!(invoice.body, {"amount_due": 1190 + 600, "amount_paid": 300});
    let listed = format!("{}/line_items", path_of(&id));
    assert_eq!(app.alice.get_ok(&listed).await["data"], json!(lines));
    // They are on no other invoice until this one is void.
    assert_eq!(make().await.body["line_items"], json!([]));
    done(&app.alice, &id, "finalize", json!({})).await;
    done(&app.alice, &id, "void", json!({})).await;
    assert_eq!(fee_due(&unpaid).await, 300);
    let id = make().await.id();
    done(&app.alice, &id, "finalize", json!({})).await;
    let paid = act(&app.alice, &id, "pay", json!({"payment_method": good})).await;
    assert_eq!(paid.expect(200).body["amount_paid"], 1190 + 900);
    app.drain().await;
    assert_eq!(fee_due(&unpaid).await, 0);
    assert_eq!(fee_due(&declined).await, 0);
    let session = app.alice.get(&path_of(&session)).await;
    assert_eq!(session.expect(200).body["amount_due"], 0);
    assert_eq!(make().await.body["line_items"], json!([]));
    // The account's own invoice includes the other fleet's fee.
    assert_eq!(fee_due(&elsewhere).await, 300);
    let whole = with(body.clone(), json!({"fleet": null}));
    let whole = app.alice.post_ok("/v1/invoices", whole).await;
    assert_eq!(whole["line_items"], json!([fee(&elsewhere).await]));
    // A fee that was due before the window is not on an invoice of the window.
    let late = json!({"period_start": app.now(), "period_end": app.in_minutes(1)});
    let late = app.alice.post_ok("/v1/invoices", late).await;
    assert_eq!(late["line_items"], json!([]));
}

#[tokio::test]
async fn what_a_body_gets_wrong_is_an_invoice_validation_error() {
    let app = TestApp::start().await;
    let day = |day: &str| format!("2026-{day}T00:00:00Z");
    for (change, param) in cases! {
        {"period_end": day("01-01")} => "period_end",
        {"period_end": day("01-01"), "period_start": day("01-02")} => "period_end",
        {"period_end": "2027-01-02T00:00:00.001Z"} => "period_end",
        {"period_start": "yesterday"} => "period_start",
        {"currency": "EUR"} => "currency",
        {"description": "d".repeat(1001)} => "description",
        {"metadata": []} => "metadata",
    } {
        let body = json!({"period_start": day("01-01"), "period_end": day("02-01")});
        let answer = app.alice.post("/v1/invoices", with(body, change)).await;
        answer.expect_error(400, "invoice_validation_error", param);
    }
    let missing = json!({"period_start": day("01-01")});
    let missing = app.alice.post("/v1/invoices", missing).await;
    assert_eq!(missing.error().3, Some("period_end"));
    let unknown = with(window(&app), json!({"amount_due": 1}));
    let unknown = app.alice.post("/v1/invoices", unknown).await;
    unknown.expect_error(400, None, "amount_due");
    let stranger = app.other_account(kernel::Mode::Test).await;
    let theirs = stranger.create("/v1/fleets", fleet()).await;
    for id in ["flt_1", &theirs] {
        let body = with(window(&app), json!({"fleet": id}));
        let answer = app.alice.post("/v1/invoices", body).await;
        answer.expect_error(404, "fleet_not_found", "fleet");
    }
    app.drain().await;
}

#[tokio::test]
async fn an_invoice_bills_sessions_of_its_period_currency_and_fleet() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let now = app.now();
    let (start, end) = (now.plus(hours(-1)), now.plus(minutes(-1)));
    let session = async |crew: &Crew, change: Value| app.completed_session(crew, change).await;
    let first = session(&crew, json!({"session_ended": start})).await;
    let last = session(&crew, json!({"session_ended": end.plus(millis(-1))})).await;
    session(&crew, json!({"session_ended": start.plus(millis(-1))})).await;
    session(&crew, json!({"session_ended": end})).await;
    let euros = session(&crew, json!({"session_ended": start, "currency": "eur"})).await;
    session(&crew, json!({"session_ended": start, "status": "failed"})).await;
    session(&crew, json!({"session_ended": null, "status": "active"})).await;
    let elsewhere = session(&other, json!({"session_ended": start})).await;
    let body = json!({"period_start": start, "period_end": end});
    let draft = async |change: Value| {
        let body = with(body.clone(), change);
        app.alice.post_ok("/v1/invoices", body).await
    };
    let of_fleet = draft(json!({"fleet": crew.fleet})).await;
    let billed: HashSet<&str> = sessions(&of_fleet).into_iter().collect();
    assert_eq!(billed, HashSet::from([first.as_str(), last.as_str()]));
    assert_has!(of_fleet, {"amount_due": 2380, "currency": "usd"});
    let in_euros = draft(json!({"currency": "eur"})).await;
    assert_eq!(in_euros["fleet"], Value::Null);
    assert_eq!(sessions(&in_euros), [euros]);
    let of_account = draft(json!({})).await;
    assert_eq!(sessions(&of_account), [elsewhere]);
    assert_eq!(draft(json!({})).await["line_items"], json!([]));
    let path = format!("/v1/fleets/{}", crew.fleet);
    let pounds = json!({"preferences": {"default_currency": "gbp"}});
    app.alice.post_ok(&path, pounds).await;
    assert_eq!(draft(json!({"fleet": crew.fleet})).await["currency"], "gbp");
    app.drain().await;
}

#[tokio::test]
async fn what_was_paid_before_has_its_line_and_is_not_due_again() {
    let (app, crew) = TestApp::with_crew().await;
    let paid = json!({"amount_due": 0, "amount_paid": 1190});
    app.completed_session(&crew, paid).await;
    app.completed_session(&crew, json!({})).await;
    let id = draft(&app, &crew).await;
    let path = format!("/v1/invoices/{id}");
    let shown = app.alice.get_ok(&path).await;
    assert_has!(shown, {"amount_due": 1190, "amount_paid": 1190});
    assert_eq!(sessions(&shown).len(), 2);
    app.drain().await;
}

#[tokio::test]
async fn a_session_is_on_one_invoice_until_that_is_voided_or_deleted() {
    let (app, crew) = TestApp::with_crew().await;
    let session = app.completed_session(&crew, json!({})).await;
    let shown = async |id: String| app.alice.get_ok(&path_of(&id)).await;
    let first = draft(&app, &crew).await;
    assert_eq!(sessions(&shown(first.clone()).await), [session.as_str()]);
    let empty = draft(&app, &crew).await;
    assert!(sessions(&shown(empty).await).is_empty());

    let deleted = app.alice.delete_ok(&path_of(&first)).await;
    let want = json!({"id": first, "object": "invoice", "deleted": true});
    assert_eq!(deleted, want);
    let second = draft(&app, &crew).await;
    assert_eq!(sessions(&shown(second.clone()).await), [session.as_str()]);

    done(&app.alice, &second, "finalize", json!({})).await;
    let refused = app.alice.delete(&path_of(&second)).await;
    refused.expect_error(409, None, "invoice");
    let voided = done(&app.alice, &second, "void", json!({})).await;
    assert_eq!(voided["status"], "void");
    assert_eq!(sessions(&voided), [session.as_str()]);
    let third = draft(&app, &crew).await;
    assert_eq!(sessions(&shown(third).await), [session.as_str()]);
    app.drain().await;
}

#[tokio::test]
async fn an_update_and_a_deletion_of_an_invoice_are_events() {
    let (app, crew) = TestApp::with_crew().await;
    let receiver = Receiver::subscribed(&app.alice, &["invoice.updated", "invoice.deleted"]).await;
    let first = path_of(&draft(&app, &crew).await);
    app.alice
        .post_ok(&first, json!({"description": "March"}))
        .await;
    app.drain().await;
    let refused = app.alice.post(&first, json!({"description": 5})).await;
    refused.expect_error(400, "invoice_validation_error", "description");
    app.alice.delete_ok(&first).await;
    app.drain().await;
    assert_eq!(receiver.types(), ["invoice.updated", "invoice.deleted"]);
    let received = receiver.received();
    let [updated, deleted] = &received[..] else {
        panic!("two deliveries: {received:?}")
    };
    let changes = json!({"description": null});
    assert_has!(updated.event, {"/data/object/description": "March", "/data/previous_attributes": changes});
    assert_has!(deleted.event, {"/data/object/description": "March", "/data/object/status": "draft"});
    // The sequence of an invoice has no gaps.
    let sequence = |event: &Value| event["sequence"].as_u64();
    assert_eq!(
        (sequence(&updated.event), sequence(&deleted.event)),
        (Some(2), Some(3))
    );
    // Finalizing is not an update, and what is refused is no event.
    let second = draft(&app, &crew).await;
    done(&app.alice, &second, "finalize", json!({})).await;
    app.alice.delete(&path_of(&second)).await.expect(409);
    app.drain().await;
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn of_many_invoices_at_once_one_gets_the_session() {
    let (app, crew) = TestApp::with_crew().await;
    for _ in 0..5 {
        app.completed_session(&crew, json!({})).await;
    }
    let body = with(window(&app), json!({"fleet": crew.fleet}));
    let requests = (0..8).map(|_| {
        let (client, body) = (app.alice.clone(), body.clone());
        tokio::spawn(async move { client.post("/v1/invoices", body).await })
    });
    let mut lines = 0;
    for request in requests.collect::<Vec<_>>() {
        let answer = request.await.expect("an answer");
        assert!(matches!(answer.status, 200 | 503), "{}", answer.text);
        if answer.status == 200 {
            lines += sessions(&answer.body).len();
        }
    }
    assert_eq!(lines, 5);
    app.drain().await;
}

#[tokio::test]
async fn an_invoice_is_updated_while_it_is_a_draft_or_open() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let id = draft(&app, &crew).await;
    let path = format!("/v1/invoices/{id}");
    let due = app.in_minutes(5);
    let change = json!({"description": "Memo", "due_date": due, "metadata": {"a": "1"}});
    assert_has!(app.alice.post_ok(&path, change).await, {"description": "Memo", "due_date": due});
    done(&app.alice, &id, "finalize", json!({})).await;
    let change = json!({"description": null, "metadata": {"a": null, "b": "2"}});
    let changed = app.alice.post_ok(&path, change).await;
    assert_has!(changed, {"description": null, "metadata": {"b": "2"}});
    assert_has!(changed, {"due_date": due, "status": "open"});
    for (wrong, param) in [
        (json!({"due_date": "soon"}), "due_date"),
        (json!({"due_date": null}), "due_date"),
        (json!({"metadata": {"k": 1}}), "metadata.k"),
    ] {
        let answer = app.alice.post(&path, wrong).await;
        answer.expect_error(400, "invoice_validation_error", param);
    }
    done(&app.alice, &id, "void", json!({})).await;
    let refused = app.alice.post(&path, json!({"description": "Late"})).await;
    refused.expect_error(409, "invoice_update_invalid_state", None);
    app.drain().await;
}

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
    app.completed_session(&crew, json!({})).await;
    let id = draft(&app, &crew).await;
    done(&app.alice, &id, "finalize", json!({})).await;
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
    app.completed_session(&crew, json!({})).await;
    let id = draft(&app, &crew).await;
    done(&app.alice, &id, "finalize", json!({})).await;
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
    app.completed_session(&crew, json!({})).await;
    let id = draft(&app, &crew).await;
    done(&app.alice, &id, "finalize", json!({})).await;
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
async fn invoices_are_filtered_by_fleet_and_status_including_overdue() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    app.completed_session(&crew, json!({})).await;
    let (open, theirs) = (draft(&app, &crew).await, draft(&app, &other).await);
    done(&app.alice, &open, "finalize", json!({})).await;
    let list = async |query: String| app.alice.get(&format!("/v1/invoices{query}")).await;
    assert_eq!(
        list(String::new()).await.ids(),
        [theirs.clone(), open.clone()]
    );
    assert_eq!(
        list(format!("?fleet={}", crew.fleet)).await.ids(),
        std::slice::from_ref(&open)
    );
    assert_eq!(list("?status=draft".into()).await.ids(), [theirs]);
    assert_eq!(
        list("?status=open".into()).await.ids(),
        std::slice::from_ref(&open)
    );
    assert!(list("?status=overdue".into()).await.ids().is_empty());
    let due = json!({"due_date": app.in_minutes(-1)});
    app.alice.post_ok(&path_of(&open), due).await;
    let overdue = list("?status=overdue".into()).await;
    assert_eq!(
        (overdue.ids(), &overdue.body["data"][0]["status"]),
        (vec![open], &json!("open"))
    );
    assert_eq!(
        list("?fleet=flt_1".into()).await.error().2,
        Some("fleet_not_found")
    );
    assert_eq!(list("?status=late".into()).await.error().3, Some("status"));
    app.drain().await;
}

#[tokio::test]
async fn a_repeated_request_makes_no_second_invoice() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let body = window(&app).to_string();
    let key = [("idempotency-key", "one")];
    let mut answers = Vec::new();
    for _ in 0..2 {
        let response = app
            .alice
            .send("POST", "/v1/invoices", Some(body.clone()), &key)
            .await;
        answers.push(response.expect(200));
    }
    assert_eq!(answers[0].body, answers[1].body);
    assert_eq!(app.alice.get("/v1/invoices").await.ids().len(), 1);
    app.drain().await;
}

/// Writes this number of completed sessions of a crew.
async fn many_sessions(app: &TestApp, crew: &Crew, count: usize) {
    for batch in (0..count).collect::<Vec<_>>().chunks(16) {
        let sessions = batch.iter().map(|_| app.completed_session(crew, json!({})));
        futures::future::join_all(sessions).await;
    }
}

#[tokio::test]
async fn an_invoice_embeds_100_lines_and_paginates_all_of_them() {
    let (app, crew) = TestApp::with_crew().await;
    many_sessions(&app, &crew, 230).await;
    let response = app.alice.post("/v1/invoices", window(&app)).await;
    let path = format!("/v1/invoices/{}", response.id());
    assert_has!(response.body, {"amount_due": 230 * 1190, "line_items_has_more": true});
    assert_eq!(sessions(&response.body).len(), 100);
    let mut seen = Vec::new();
    let mut next = Some(format!("{path}/line_items?limit=100"));
    while let Some(url) = next {
        let page = app.alice.get_ok(&url).await;
        seen.extend(page["data"].as_array().expect("lines").clone());
        next = page["next_page_url"].as_str().map(str::to_owned);
    }
    let amounts: i64 = seen.iter().filter_map(|line| line["amount"].as_i64()).sum();
    assert_eq!((seen.len(), amounts), (230, 230 * 1190));
    assert_eq!(json!(seen[..100]), response.body["line_items"]);
    // None of them is billed twice. The deletion of an invoice releases all of them and leaves no line behind.
    let stored = async || {
        let invoice = serde_json::from_value(response.body.clone()).expect("an invoice");
        let (tenant, all) = (app.alice.tenant(), PageRequest::first(1000));
        let found = app.app().store.lines(&tenant, &invoice, &all).await;
        found.expect("lines").items.len()
    };
    assert_eq!(stored().await, 230);
    let empty = app.alice.post_ok("/v1/invoices", window(&app)).await;
    assert_eq!(empty["line_items"], json!([]));
    app.alice.delete_ok(&path).await;
    app.drain().await;
    assert_eq!(stored().await, 0);
    let again = app.alice.post_ok("/v1/invoices", window(&app)).await;
    assert_eq!(again["amount_due"], 230 * 1190);
    app.drain().await;
}

#[tokio::test]
async fn long_lines_that_an_invoice_does_not_show_are_listed() {
    let (app, crew) = TestApp::with_crew().await;
    let long = json!({"connector": "7".repeat(3_000)});
    for _ in 0..40 {
        app.completed_session(&crew, long.clone()).await;
    }
    let invoice = app.alice.post_ok("/v1/invoices", window(&app)).await;
    assert_has!(invoice, {"amount_due": 40 * 1190, "line_items_has_more": true});
    let path = format!(
        "/v1/invoices/{}/line_items",
        invoice["id"].as_str().expect("an id")
    );
    let lines = app.alice.walk(&path).await;
    assert_eq!(lines.len(), 40);
    let shown = invoice["line_items"].as_array().expect("lines").len();
    assert!((1..40).contains(&shown));
    assert_eq!(json!(lines[..shown]), each(&invoice["line_items"], "id"));
    app.drain().await;
}

#[tokio::test]
#[ignore = "takes 20 seconds"]
async fn an_invoice_of_ten_thousand_sessions_is_made_in_one_request() {
    let (app, crew) = TestApp::with_crew().await;
    many_sessions(&app, &crew, 10_000).await;
    let invoice = app.alice.post_ok("/v1/invoices", window(&app)).await;
    assert_eq!(invoice["amount_due"], 10_000 * 1190);
    app.drain().await;
}

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
        app.completed_session(&crew, json!({})).await;
        let id = draft(&app, &crew).await;
        done(&app.alice, &id, "finalize", json!({})).await;
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
    app.completed_session(&crew, json!({})).await;
    let id = draft(&app, &crew).await;
    done(&app.alice, &id, "finalize", json!({})).await;
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

#[tokio::test]
async fn an_open_invoice_past_its_due_date_sends_one_event() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let id = draft(&app, &crew).await;
    done(&app.alice, &id, "finalize", json!({})).await;
    let overdue_events = async || {
        app.alice
            .get("/v1/events?type=invoice.overdue")
            .await
            .ids()
            .len()
    };
    app.advance(30 * 86_400 - 60).await;
    assert_eq!(overdue_events().await, 0);
    app.advance(120).await;
    assert_eq!(overdue_events().await, 1);
    let overdue = app.alice.get("/v1/invoices?status=overdue").await;
    assert_eq!(overdue.ids(), std::slice::from_ref(&id));
    let change = json!({"due_date": app.in_minutes(10)});
    app.alice.post_ok(&path_of(&id), change).await;
    app.advance(11 * 60).await;
    assert_eq!(overdue_events().await, 2);
    app.advance(86_400).await;
    assert_eq!(overdue_events().await, 2);
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
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let invoice = app.alice.create("/v1/invoices", window).await;
    let path = format!("/v1/invoices/{invoice}");
    let finalize = format!("{path}/finalize");
    let open = app.alice.post_ok(&finalize, json!({})).await;
    assert_has!(open, {"amount_due": 3570, "amount_paid": 1190});
    let card = app.payment_method("tok_success", json!({})).await;
    let pay = json!({"payment_method": card});
    app.alice.post_ok(&format!("{path}/pay"), pay).await;
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

#[tokio::test]
async fn a_session_of_unknown_price_is_not_called_free() {
    let (app, crew) = TestApp::with_crew().await;
    let reservations_only = json!([{"currency": "usd", "price": 90, "step_size": 1, "tax": "vat", "tax_included": true,
        "tax_percent": "20", "type": "ENERGY", "restrictions": {"reservation": "RESERVATION"}}]);
    let ended = json!([{"currency": "usd", "price": 90, "step_size": 1, "tax": "vat", "tax_included": true,
        "tax_percent": "20", "type": "ENERGY", "restrictions": {"end_date_time": app.in_minutes(-1)}}]);
    for pricing in [json!([]), reservations_only, ended] {
        let station = app.station(json!({"pricing": pricing})).await;
        let session = app.session(&crew, &station);
        let started = app.alice.post("/v1/charging_sessions", session).await;
        let started = started.expect(200);
        assert_eq!(started.body["cost_source"], "unknown");
        app.advance(600).await;
        let path = format!("/v1/charging_sessions/{}/stop", started.id());
        let stopped = app.alice.post_ok(&path, json!({})).await;
        assert_has!(stopped, {"cost_source": "unknown", "amount_due": 0});
    }
    let id = draft(&app, &crew).await;
    let lines = app.alice.get_ok(&path_of(&id)).await["line_items"].clone();
    let lines = lines.as_array().expect("lines");
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert_eq!([&line["amount"], &line["free"]], [&json!(0), &json!(false)]);
        let description = line["description"].as_str().expect("a text");
        assert!(description.ends_with(", price unknown"), "{description}");
    }
}
