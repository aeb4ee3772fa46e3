//! `POST /v1/credit_notes`, and other ways in which a final invoice is credited.

use std::collections::BTreeSet;

use futures::future::join_all;
use kernel::time::hours;
use kernel::{Id, Kind, Window};
use serde_json::{Value, json};
use tests::records::Records;
use tests::stage::{Outside, Stage};
use tests::{
    Client, Crew, TestApp, TestResponse, assert_contains, assert_has, cases, id_of, path_of, with,
};

use crate::books::{buyer, finalized, own, seller};
use crate::invoices::{many_sessions_with, no_show};
use crate::transactions::charged;

/// A fleet with a completed session for each of these amounts, and the final invoice for them.
async fn invoiced(app: &TestApp, amounts: &[i64]) -> (Crew, Value) {
    let account = json!({"billing_details": seller(), "registration_number": "HRB 1"});
    app.alice.post_ok(&own(&app.alice), account).await;
    let crew = app.crew(&app.alice).await;
    let body = json!({"billing_details": buyer()});
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    app.alice.post_ok(&fleet, body).await;
    for amount in amounts {
        app.completed_session(&crew, json!({"amount_due": amount}))
            .await;
    }
    let invoice = finalized(&app.alice, window(app, &crew)).await;
    (crew, invoice)
}

fn window(app: &TestApp, crew: &Crew) -> Value {
    json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet})
}

async fn card(client: &Client, crew: &Crew) -> String {
    let body = json!({"type": "card", "token": "tok_success", "fleet": crew.fleet});
    client.create("/v1/payment_methods", body).await
}

async fn pay(client: &Client, crew: &Crew, invoice: &Value) -> Value {
    let method = card(client, crew).await;
    let path = format!("{}/pay", path(invoice));
    let body = json!({"payment_method": method});
    client.post_ok(&path, body).await
}

fn path(invoice: &Value) -> String {
    format!("/v1/invoices/{}", id_of(invoice))
}

async fn credit(client: &Client, invoice: &Value, body: Value) -> TestResponse {
    let body = with(json!({"invoice": invoice["id"]}), body);
    client.post("/v1/credit_notes", body).await
}

async fn shown(client: &Client, invoice: &Value) -> Value {
    client.get_ok(&path(invoice)).await
}

/// Checks the amounts that an invoice and its credit notes always have in common.
async fn agree(client: &Client, invoice: &Value) -> Value {
    let invoice = shown(client, invoice).await;
    let totals = &invoice["totals"];
    let amount = |name: &str| totals[name].as_i64().expect("an amount");
    assert_eq!(
        amount("due") + amount("paid") + amount("credited"),
        amount("gross"),
        "{invoice}"
    );
    assert_eq!(invoice["amount_due"], totals["due"]);
    let list = format!("/v1/credit_notes?invoice={}", id_of(&invoice));
    let notes = client.get_ok(&list).await;
    let notes = notes["data"].as_array().expect("a list").clone();
    let sum = |of: &dyn Fn(&Value) -> i64| notes.iter().map(of).sum::<i64>();
    let of = |note: &Value, name: &str| note["totals"][name].as_i64().expect("an amount");
    assert_eq!(
        sum(&|note| of(note, "credited")),
        amount("credited"),
        "{invoice}"
    );
    assert!(
        sum(&|note| of(note, "gross")) <= amount("gross"),
        "{invoice}"
    );
    for note in &notes {
        let rates = note["totals"]["by_rate"].as_array().expect("rates").iter();
        let rates = rates
            .map(|rate| rate["net"].as_i64().expect("net") + rate["tax"].as_i64().expect("tax"));
        assert_eq!(rates.sum::<i64>(), of(note, "gross"), "{note}");
    }
    invoice
}

async fn refunds(client: &Client, note: &str) -> Vec<Value> {
    let list = client.get("/v1/transactions?type=refund&limit=100").await;
    let list = list.expect(200).body;
    let list = list["data"].as_array().expect("a list").clone();
    list.into_iter()
        .filter(|refund| refund["credit_note"] == note)
        .collect()
}

#[tokio::test]
async fn a_credit_is_taken_off_what_is_due() {
    let app = TestApp::start().await;
    let (crew, invoice) = invoiced(&app, &[1190, 1190]).await;
    let body = json!({"amount": 595, "reason": "The connector was slow"});
    let note = credit(&app.alice, &invoice, body).await.expect(200);
    let year = invoice["number"].as_str().expect("a number")[2..6].to_owned();
    let rate =
        json!([{"country": "GB", "tax_percent": "19", "category": "S", "net": 500, "tax": 95}]);
    let line = json!({"amount": 595, "description": "The connector was slow", "line_item": null, "net": 500, "tax": 95,
        "taxes": rate});
    let totals = json!({"net": 500, "tax": 95, "gross": 595, "credited": 595, "refunded": 0, "by_rate": rate});
    let want = json!({"id": note.id(), "object": "credit_note", "amount": 595, "buyer": invoice["buyer"],
        "created": note.body["created"], "currency": "usd", "fleet": crew.fleet, "invoice": invoice["id"],
        "invoice_number": invoice["number"], "line_item": null, "lines": [line], "number": format!("R-CN{year}-1"),
        "reason": "The connector was slow", "seller": invoice["seller"], "totals": totals, "type": "manual"});
    assert_eq!(note.body, want);
    let path = format!("/v1/credit_notes/{}", note.id());
    assert_eq!(app.alice.get_ok(&path).await, want);
    assert_has!(agree(&app.alice, &invoice).await, {"status": "open", "amount_due": 1785});
    // Lists, and the event.
    let created = note.body["created"].as_str().expect("a time");
    for (query, found) in [
        (format!("fleet={}", crew.fleet), 1),
        (format!("invoice={}", id_of(&invoice)), 1),
        (format!("created[lt]={created}"), 0),
        (String::new(), 1),
    ] {
        let listed = app.alice.get(&format!("/v1/credit_notes?{query}")).await;
        assert_eq!(listed.expect(200).ids().len(), found, "{query}");
    }
    app.drain().await;
    let events = app.alice.get("/v1/events?type=credit_note.created").await;
    assert_eq!(events.expect(200).body["data"][0]["data"]["object"], want);
    // The rest is paid, and so is the whole invoice.
    let paid = pay(&app.alice, &crew, &invoice).await;
    assert_has!(paid, {"status": "paid", "amount_paid": 1785});
    agree(&app.alice, &invoice).await;
    let parameters = json!({"type": "cost_analysis", "period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    app.advance(120).await;
    let body = json!({"fleet": crew.fleet, "parameters": parameters});
    let report = app.alice.create("/v1/reports", body).await;
    app.drain().await;
    let report = app.alice.get_ok(&path_of(&report)).await;
    let sums = &report["totals"][0];
    let found = ["gross", "paid", "due", "credited", "refunded"].map(|name| sums[name].as_i64());
    assert_eq!(found, [2380, 1785, 0, 595, 0].map(Some), "{report}");
}

#[tokio::test]
async fn what_was_paid_is_refunded_to_the_card_and_the_wallet() {
    let app = TestApp::start().await;
    let (crew, invoice) = invoiced(&app, &[1190]).await;
    pay(&app.alice, &crew, &invoice).await;
    app.drain().await;
    let note = credit(&app.alice, &invoice, json!({"amount": 400}))
        .await
        .expect(200);
    assert_eq!(note.body["totals"]["refunded"], 400);
    app.drain().await;
    let refund = refunds(&app.alice, &note.id()).await.remove(0);
    assert_has!(refund, {"amount": 400, "status": "succeeded", "destination": "original", "invoice": invoice["id"]});
    let body = json!({"amount": 300, "destination": "wallet"});
    let note = credit(&app.alice, &invoice, body).await.expect(200);
    app.drain().await;
    let refund = refunds(&app.alice, &note.id()).await.remove(0);
    assert_has!(refund, {"amount": 300, "status": "succeeded", "destination": "wallet", "invoice": invoice["id"]});
    let charge = refund["charge"].as_str().expect("a charge").to_owned();
    let fleet = app.alice.get(&path_of(&crew.fleet)).await;
    assert_eq!(fleet.body["wallet_balance"], 300);
    let after = agree(&app.alice, &invoice).await;
    let totals = &after["totals"];
    assert_has!(totals, {"paid": 1190, "refunded": 700, "credited": 0});
    // Refunds of credit notes create no other credit notes, and no more than the rest can be credited.
    let list = format!("/v1/credit_notes?invoice={}", id_of(&invoice));
    assert_eq!(app.alice.get(&list).await.ids().len(), 2);
    let more = credit(&app.alice, &invoice, json!({"amount": 491})).await;
    more.expect_error(400, None, "amount");
    // The amount that the wallet has returned is not refunded to the card.
    let last = credit(&app.alice, &invoice, json!({"amount": 490}))
        .await
        .expect(200);
    app.drain().await;
    assert_has!(refunds(&app.alice, &last.id()).await[0], {"destination": "original"});
    assert_has!(agree(&app.alice, &invoice).await["totals"], {"refunded": 1190});
    // Nothing is left of the charge, although the wallet has received a part of it.
    assert_has!(app.alice.get_ok(&path_of(&charge)).await, {"amount_refunded": 1190});
    let again = format!("/v1/transactions/{charge}/refund");
    let again = app.alice.post(&again, json!({})).await;
    again.expect_error(409, None, "transaction");
}

/// A fleet in pounds with a session that was charged to its card. Returns the fleet and the charge.
async fn prepaid() -> (TestApp, Crew, Value) {
    let (app, crew) = TestApp::with_crew().await;
    let gbp = json!({"preferences": {"default_currency": "gbp"}});
    app.alice.post_ok(&path_of(&crew.fleet), gbp).await;
    let method = card(&app.alice, &crew).await;
    let (_, charge) = charged(&app, &crew, &method).await;
    (app, crew, charge)
}

async fn refund(client: &Client, charge: &Value, body: Value) {
    let path = format!("/v1/transactions/{}/refund", id_of(charge));
    client.post_ok(&path, body).await;
}

fn long_window(app: &TestApp, crew: &Crew) -> Value {
    with(
        window(app, crew),
        json!({"period_start": app.in_minutes(-24 * 60)}),
    )
}

#[tokio::test]
async fn a_credit_note_refunds_nothing_that_was_refunded() {
    let (app, crew, charge) = prepaid().await;
    refund(&app.alice, &charge, json!({})).await;
    app.drain().await;
    let invoice = finalized(&app.alice, long_window(&app, &crew)).await;
    let amount = &charge["amount"];
    assert_has!(invoice, {"status": "paid", "/totals/paid": amount, "/totals/refunded": amount});
    let line = json!({"lines": [{"line_item": invoice["line_items"][0]["id"]}]});
    let note = credit(&app.alice, &invoice, line).await.expect(200);
    assert_has!(note.body, {"amount": amount, "/totals/credited": 0, "/totals/refunded": 0});
    app.drain().await;
    assert!(refunds(&app.alice, &note.id()).await.is_empty());
    let fleet = app.alice.get_ok(&path_of(&crew.fleet)).await;
    assert_eq!(fleet["wallet_balance"], 0);
    assert_has!(agree(&app.alice, &invoice).await["totals"], {"refunded": amount});
}

#[tokio::test]
async fn no_credit_note_while_a_refund_decides_what_is_left() {
    let (app, crew, charge) = prepaid().await;
    let invoice = finalized(&app.alice, long_window(&app, &crew)).await;
    let whole = charge["amount"].as_i64().expect("an amount");
    refund(&app.alice, &charge, json!({"amount": 5})).await;
    let before = shown(&app.alice, &invoice).await;
    let refused = credit(&app.alice, &invoice, json!({"amount": whole})).await;
    refused.expect_error(409, None, "invoice");
    assert_eq!(shown(&app.alice, &invoice).await, before);
    app.drain().await;
    let refused = credit(&app.alice, &invoice, json!({"amount": whole})).await;
    refused.expect_error(400, None, "amount");
    let rest = json!({"amount": whole - 5});
    let note = credit(&app.alice, &invoice, rest).await.expect(200);
    assert_has!(note.body, {"/totals/refunded": whole - 5});
    app.drain().await;
    assert_has!(agree(&app.alice, &invoice).await["totals"], {"refunded": whole});
}

#[tokio::test]
async fn the_charge_of_an_old_line_is_refunded() {
    let (app, crew, charge) = prepaid().await;
    app.advance(3 * 60 * 60).await;
    for _ in 0..60 {
        app.completed_session(&crew, json!({"currency": "gbp", "amount_due": 10}))
            .await;
    }
    let invoice = finalized(&app.alice, long_window(&app, &crew)).await;
    let lines = invoice["line_items"].as_array().expect("lines");
    assert_eq!(
        lines.last().map(|line| &line["amount"]),
        Some(&charge["amount"])
    );
    let note = credit(&app.alice, &invoice, json!({"amount": 603}))
        .await
        .expect(200);
    assert_has!(note.body, {"/totals/credited": 600, "/totals/refunded": 3});
    app.drain().await;
    let refunds = refunds(&app.alice, &note.id()).await;
    let charges: Vec<&Value> = refunds.iter().map(|refund| &refund["charge"]).collect();
    assert_eq!(charges, [&charge["id"]]);
}

#[tokio::test]
async fn the_credit_of_a_fee_is_refunded_to_its_card() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let crew = app.crew(&app.alice).await;
    let method = app.payment_method("tok_success", json!({})).await;
    let reservation = no_show(&app, &crew, Some(&method)).await;
    let list = "/v1/transactions?type=charge&limit=1";
    let charge = app.alice.get_ok(list).await["data"][0].clone();
    assert_has!(charge, {"reservation": reservation, "amount": 300});
    let body = with(
        long_window(&app, &crew),
        json!({"currency": charge["currency"]}),
    );
    let invoice = finalized(&app.alice, body).await;
    let line = json!({"lines": [{"line_item": invoice["line_items"][0]["id"], "amount": 200}]});
    let note = credit(&app.alice, &invoice, line).await.expect(200);
    app.drain().await;
    let refund = refunds(&app.alice, &note.id()).await.remove(0);
    assert_has!(refund, {"amount": 200, "charge": charge["id"], "destination": "original", "status": "succeeded"});
    assert_has!(agree(&app.alice, &invoice).await["totals"], {"refunded": 200});
}

#[tokio::test]
async fn a_refund_of_the_payment_of_an_invoice_is_a_credit_note() {
    let app = TestApp::start().await;
    let (crew, invoice) = invoiced(&app, &[1190]).await;
    pay(&app.alice, &crew, &invoice).await;
    let id = id_of(&invoice);
    let list = format!("/v1/transactions?invoice={id}&type=charge");
    let charge = app.alice.get(&list).await.expect(200).ids().remove(0);
    let refund = format!("/v1/transactions/{charge}/refund");
    let body = json!({"amount": 397, "reason": "A third"});
    let refund = app.alice.create(&refund, body).await;
    app.drain().await;
    let refund = app.alice.get_ok(&path_of(&refund)).await;
    let note = refund["credit_note"].as_str().expect("a credit note");
    let note = app.alice.get_ok(&path_of(&note)).await;
    // 397 / 1.19 = 333.6
    let totals = &note["totals"];
    let found = ["net", "tax", "credited", "refunded"].map(|name| totals[name].as_i64());
    assert_eq!(found, [334, 63, 0, 397].map(Some), "{note}");
    assert_has!(note, {"type": "refund", "reason": "A third"});
    assert_eq!(agree(&app.alice, &invoice).await["totals"]["refunded"], 397);
}

#[tokio::test]
async fn a_refund_of_a_session_credits_its_line_at_its_rates() {
    let (app, crew) = TestApp::with_crew().await;
    let account = json!({"billing_details": seller(), "registration_number": "HRB 1"});
    app.alice.post_ok(&own(&app.alice), account).await;
    let method = card(&app.alice, &crew).await;
    let (session, charge) = charged(&app, &crew, &method).await;
    app.completed_session(&crew, json!({"amount_due": 1190, "currency": "gbp"}))
        .await;
    let window = with(window(&app, &crew), json!({"currency": "gbp"}));
    let invoice = finalized(&app.alice, window).await;
    let lines = invoice["line_items"].as_array().expect("lines");
    let mut lines = lines.iter();
    let line = lines.find(|line| line["charging_session"] == session);
    let line = line.expect("the line of the session");
    let whole = charge["amount"].as_i64().expect("an amount");
    for amount in [1, whole - 1] {
        let refund = format!("{}/refund", path_of(id_of(&charge)));
        app.alice.post_ok(&refund, json!({"amount": amount})).await;
        app.drain().await;
    }
    let invoice = agree(&app.alice, &invoice).await;
    assert_has!(invoice, {"amount_due": 1190, "/totals/credited": 0, "/totals/refunded": whole});
    let list = format!("/v1/credit_notes?invoice={}", id_of(&invoice));
    let notes = app.alice.get_ok(&list).await;
    let notes = notes["data"].as_array().expect("a list");
    let of_line = notes.iter().map(|note| &note["lines"][0]);
    assert!(of_line.clone().all(|part| part["line_item"] == line["id"]));
    for name in ["net", "tax"] {
        let sum: i64 = of_line.clone().filter_map(|part| part[name].as_i64()).sum();
        assert_eq!(sum, line[name], "{notes:?}");
    }
    let again = credit(
        &app.alice,
        &invoice,
        json!({"lines": [{"line_item": line["id"]}]}),
    )
    .await;
    again.expect_error(400, None, "lines[0].amount");
}

#[tokio::test]
async fn lines_are_credited_and_more_than_is_left_is_refused() {
    let app = TestApp::start().await;
    let (_, invoice) = invoiced(&app, &[1190, 595]).await;
    let lines = invoice["line_items"].as_array().expect("lines");
    let line = |amount: i64| {
        let mut lines = lines.iter();
        lines.find(|line| line["amount"] == amount).expect("a line")["id"].clone()
    };
    let before = shown(&app.alice, &invoice).await;
    for (body, param) in cases! {
        {} => "amount",
        {"amount": 0} => "amount",
        {"amount": 1786} => "amount",
        {"amount": 1, "lines": [{"line_item": line(595)}]} => "amount",
        {"lines": []} => "lines",
        {"lines": [{"line_item": "li_1"}]} => "lines[0].line_item",
        {"lines": [{"line_item": line(595), "amount": 596}]} => "lines[0].amount",
        {"lines": [{"line_item": line(595)}, {"line_item": line(595)}]} => "lines[1].line_item",
        {"amount": 1, "why": "x"} => "why",
    } {
        let refused = credit(&app.alice, &invoice, body).await;
        refused.expect_error(400, None, param);
    }
    assert_eq!(shown(&app.alice, &invoice).await, before);
    let body =
        json!({"lines": [{"line_item": line(1190), "amount": 119}, {"line_item": line(595)}]});
    let note = credit(&app.alice, &invoice, body).await.expect(200).body;
    assert_has!(note, {"amount": 714, "/lines/1/line_item": line(595)});
    let lines = json!({"lines": [{"line_item": line(595)}]});
    let again = credit(&app.alice, &invoice, lines).await;
    again.expect_error(400, None, "lines[0].amount");
    agree(&app.alice, &invoice).await;
    let unknown = json!({"invoice": "inv_1", "amount": 1});
    let unknown = app.alice.post("/v1/credit_notes", unknown).await;
    unknown.expect_error(404, "invoice_not_found", "invoice");
    app.drain().await;
}

#[tokio::test]
async fn the_rest_of_a_line_is_at_most_what_its_rate_has_left() {
    let app = TestApp::start().await;
    // The two lines have different rates, and two thirds of the amount are credited at the rate of the first.
    let (_, invoice) = invoiced(&app, &[1190, 595]).await;
    credit(&app.alice, &invoice, json!({"amount": 1000}))
        .await
        .expect(200);
    let lines = invoice["line_items"].as_array().expect("lines");
    let line = lines.iter().find(|line| line["amount"] == 1190);
    let line = &line.expect("a line")["id"];
    let more = json!({"lines": [{"line_item": line, "amount": 524}]});
    let refused = credit(&app.alice, &invoice, more).await;
    assert_contains(&refused.body["message"], "at most 523");
    refused.expect_error(400, None, "lines[0].amount");
    let rest = json!({"lines": [{"line_item": line}]});
    let note = credit(&app.alice, &invoice, rest).await.expect(200);
    assert_eq!(note.body["amount"], 523);
    assert_has!(agree(&app.alice, &invoice).await, {"status": "open", "amount_due": 262});
    app.drain().await;
}

#[tokio::test]
async fn a_credit_to_a_wallet_of_another_currency_takes_no_number() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let session = json!({"currency": "eur", "amount_due": 1190});
    app.completed_session(&crew, session).await;
    let euros = with(window(&app, &crew), json!({"currency": "eur"}));
    let invoice = finalized(&app.alice, euros).await;
    pay(&app.alice, &crew, &invoice).await;
    app.drain().await;
    let gbp = json!({"preferences": {"default_currency": "gbp"}});
    app.alice.post_ok(&path_of(&crew.fleet), gbp).await;
    let currency = async |code: &str| {
        let body = json!({"default_currency": code});
        app.alice.post_ok(&own(&app.alice), body).await;
    };
    currency("usd").await;
    let to_wallet = json!({"amount": 100, "destination": "wallet"});
    let refused = credit(&app.alice, &invoice, to_wallet.clone()).await;
    refused.expect_error(409, None, "destination");
    currency("eur").await;
    let note = credit(&app.alice, &invoice, to_wallet).await.expect(200);
    let number = note.body["number"].as_str().expect("a number");
    assert!(number.ends_with("-1"), "{number}");
    app.drain().await;
    assert_has!(refunds(&app.alice, &note.id()).await[0], {"status": "succeeded"});
    assert_has!(app.alice.get_ok(&own(&app.alice)).await, {"wallet_balance": 100});
}

#[tokio::test]
async fn a_credit_on_a_draft_is_a_line() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let draft = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    let body = json!({"amount": 595, "reason": "Half"});
    let note = credit(&app.alice, &draft, body).await.expect(200).body;
    assert_has!(note, {"number": null, "/totals/credited": 0});
    let after = agree(&app.alice, &draft).await;
    let line = &after["line_items"][0];
    assert_has!(line, {"id": note["line_item"], "type": "adjustment", "amount": -595, "net": -500, "description": "Half"});
    assert_has!(after, {"amount_due": 595, "/totals/tax": 95});
    let more = credit(&app.alice, &draft, json!({"amount": 596})).await;
    more.expect_error(400, None, "amount");
    let document = format!("/v1/credit_notes/{}/document", id_of(&note));
    app.alice
        .get(&document)
        .await
        .expect_error(409, None, "credit_note");
    // If this draft is deleted, another draft has the credit.
    app.alice.delete_ok(&path(&draft)).await;
    let second = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    assert_eq!(
        (
            &second["amount_due"],
            second["line_items"].as_array().map(Vec::len)
        ),
        (&json!(595), Some(2))
    );
    let names = async |invoice: &Value| {
        app.drain().await;
        let shown = app.alice.get_ok(&path_of(id_of(&note))).await;
        assert_eq!(shown, with(note.clone(), json!({"invoice": invoice["id"]})));
        let list = format!("/v1/credit_notes?invoice={}", id_of(invoice));
        assert_eq!(app.alice.walk(&list).await, [id_of(&note)]);
    };
    names(&second).await;
    // The invoice after a void one has the credit as well.
    for verb in ["finalize", "void"] {
        let path = format!("{}/{verb}", path(&second));
        app.alice.post_ok(&path, json!({})).await;
    }
    let third = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    names(&third).await;
}

#[tokio::test]
async fn the_credit_of_a_draft_stays_with_its_past_period() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({"session_ended": app.in_minutes(-9)}))
        .await;
    let past = with(
        window(&app, &crew),
        json!({"period_end": app.in_minutes(-5)}),
    );
    let draft = app.alice.post_ok("/v1/invoices", past.clone()).await;
    credit(&app.alice, &draft, json!({"amount": 100}))
        .await
        .expect(200);
    let due = app.alice.get_ok(&path(&draft)).await["amount_due"].clone();
    // The credit is younger than the period, and the next invoice of the period has it nevertheless.
    app.alice.delete_ok(&path(&draft)).await;
    let second = app.alice.post_ok("/v1/invoices", past.clone()).await;
    assert_eq!(second["amount_due"], due);
    let verb = |verb: &str| format!("{}/{verb}", path(&second));
    app.alice.post_ok(&verb("finalize"), json!({})).await;
    app.alice.post_ok(&verb("void"), json!({})).await;
    let third = app.alice.post_ok("/v1/invoices", past).await;
    assert_eq!(third["amount_due"], due);
    app.drain().await;
}

#[tokio::test]
async fn invoices_read_no_adjustments_of_paid_ones() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let draft = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    for _ in 0..3 {
        let body = json!({"amount": 100});
        credit(&app.alice, &draft, body).await.expect(200);
    }
    app.alice.delete_ok(&path(&draft)).await;
    let invoice = finalized(&app.alice, window(&app, &crew)).await;
    assert_has!(invoice, {"amount_due": 890});
    let (store, tenant) = (&app.app().store, app.alice.tenant());
    let open = async || {
        let found = store.open_adjustments(&tenant).await;
        found.expect("the table").len()
    };
    app.drain().await;
    assert_eq!(open().await, 3);
    pay(&app.alice, &crew, &invoice).await;
    app.drain().await;
    assert_eq!(open().await, 0);
    let next = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    assert_eq!(next["line_items"], json!([]));
    let hour = Window {
        from: app.now().plus(hours(-1)),
        until: app.now().plus(hours(1)),
    };
    let all = store.adjustments_within(&tenant, hour, app.now()).await;
    assert_eq!(all.expect("the table").len(), 3);
}

#[tokio::test]
async fn a_line_of_a_draft_is_credited_once() {
    let (app, crew) = TestApp::with_crew().await;
    for _ in 0..3 {
        app.completed_session(&crew, json!({})).await;
    }
    let draft = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    let line = json!({"lines": [{"line_item": draft["line_items"][0]["id"]}]});
    let again = async |invoice: &Value| {
        let refused = credit(&app.alice, invoice, line.clone()).await;
        refused.expect_error(400, None, "lines[0].amount");
        assert_eq!(shown(&app.alice, invoice).await["amount_due"], 2380);
    };
    credit(&app.alice, &draft, line.clone()).await.expect(200);
    again(&draft).await;
    // The next draft and its final invoice have the same line and the same credit.
    app.alice.delete_ok(&path(&draft)).await;
    let second = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    again(&second).await;
    let finalize = format!("{}/finalize", path(&second));
    app.alice.post_ok(&finalize, json!({})).await;
    again(&second).await;
    app.drain().await;
}

#[tokio::test]
async fn a_draft_with_many_lines_takes_further_ones() {
    let (app, crew) = TestApp::with_crew().await;
    for _ in 0..98 {
        app.completed_session(&crew, json!({})).await;
    }
    let draft = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    assert_eq!(draft["line_items_has_more"], false);
    for _ in 0..4 {
        credit(&app.alice, &draft, json!({"amount": 10}))
            .await
            .expect(200);
    }
    assert_has!(shown(&app.alice, &draft).await, {"line_items_has_more": true, "amount_due": 98 * 1190 - 40});
    let lines = app
        .alice
        .walk(&format!("{}/line_items", path(&draft)))
        .await;
    assert_eq!(lines.into_iter().collect::<BTreeSet<_>>().len(), 102);
    app.drain().await;
}

#[tokio::test]
async fn an_invoice_with_long_lines_can_be_updated() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let draft = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    let body = json!({"amount": 1, "reason": "\u{1d11e}".repeat(1_000)});
    for _ in 0..32 {
        credit(&app.alice, &draft, body.clone()).await.expect(200);
    }
    let draft = agree(&app.alice, &draft).await;
    assert_has!(draft, {"line_items_has_more": true, "amount_due": 1190 - 32});
    let list = format!("{}/line_items", path(&draft));
    let lines = app.alice.walk(&list).await;
    let shown = draft["line_items"].as_array().expect("lines").iter();
    let shown: Vec<String> = shown.map(|line| id_of(line).to_owned()).collect();
    assert!((1..33).contains(&shown.len()), "{}", shown.len());
    assert_eq!((lines.len(), &lines[..shown.len()]), (33, &shown[..]));
    let finalize = format!("{}/finalize", path(&draft));
    app.alice.post_ok(&finalize, json!({})).await;
    let change =
        json!({"description": "Late", "due_date": app.in_minutes(60), "metadata": {"order": "7"}});
    let updated = app.alice.post_ok(&path(&draft), change).await;
    assert_has!(updated, {"status": "open", "description": "Late", "/metadata/order": "7"});
    assert_eq!(app.alice.walk(&list).await, lines);
    app.drain().await;
}

#[tokio::test]
async fn voiding_makes_a_credit_note_of_all_that_is_left() {
    let app = TestApp::start().await;
    let (crew, invoice) = invoiced(&app, &[1190]).await;
    credit(&app.alice, &invoice, json!({"amount": 190}))
        .await
        .expect(200);
    let void = app
        .alice
        .post_ok(&format!("{}/void", path(&invoice)), json!({}))
        .await;
    assert_has!(void, {"status": "void", "amount_due": 0});
    agree(&app.alice, &invoice).await;
    let list = format!("/v1/credit_notes?invoice={}", id_of(&invoice));
    assert_has!(app.alice.get_ok(&list).await["data"][0], {"type": "void", "amount": 1000});
    credit(&app.alice, &invoice, json!({"amount": 1}))
        .await
        .expect_error(400, None, "amount");
    let again = app.alice.post_ok("/v1/invoices", window(&app, &crew)).await;
    assert_eq!(again["amount_due"], 1190);
    app.drain().await;
}

#[tokio::test]
async fn credits_at_once_are_never_more_than_the_invoice() {
    let app = TestApp::start().await;
    let (_, invoice) = invoiced(&app, &[1190]).await;
    let credits = (0..12).map(|_| credit(&app.alice, &invoice, json!({"amount": 170})));
    let given = join_all(credits).await;
    let given: Vec<_> = given
        .iter()
        .filter(|response| response.status == 200)
        .collect();
    assert_eq!(given.len(), 7);
    let sequence = |response: &&TestResponse| {
        let number = response.body["number"].as_str().expect("a number");
        let (_, sequence) = number.rsplit_once('-').expect("a sequence");
        sequence.parse().expect("a number")
    };
    let numbers: BTreeSet<u64> = given.iter().map(sequence).collect();
    assert_eq!(numbers, (1..=7).collect());
    assert_has!(agree(&app.alice, &invoice).await, {"amount_due": 0, "status": "paid"});
    app.drain().await;
}

#[tokio::test]
async fn refunds_and_credits_at_once_return_a_charge_once() {
    let app = TestApp::start().await;
    let (crew, invoice) = invoiced(&app, &[1190]).await;
    pay(&app.alice, &crew, &invoice).await;
    let list = format!("/v1/transactions?invoice={}&type=charge", id_of(&invoice));
    let charge = app.alice.get(&list).await.expect(200).ids().remove(0);
    let refund = format!("/v1/transactions/{charge}/refund");
    let client = &app.alice;
    let requests = (0..12).map(async |place| match place % 2 {
        0 => client.post(&refund, json!({"amount": 400})).await,
        _ => credit(client, &invoice, json!({"amount": 500})).await,
    });
    let responses = join_all(requests).await;
    let known = |one: &TestResponse| matches!(one.status, 200 | 400 | 409 | 503);
    assert!(responses.iter().all(known), "{responses:?}");
    assert!(responses.iter().any(|one| one.status == 200));
    app.drain().await;
    let refunded = async || {
        let page = client
            .get_ok("/v1/transactions?type=refund&limit=100")
            .await;
        let refunds = page["data"].as_array().expect("a list").clone();
        let amounts = refunds.iter().filter(|one| one["status"] == "succeeded");
        let sum: i64 = amounts.filter_map(|one| one["amount"].as_i64()).sum();
        assert_has!(agree(client, &invoice).await["totals"], {"refunded": sum});
        sum
    };
    let once = refunded().await;
    assert!((400..1190).contains(&once), "{once}");
    let rest = json!({"amount": 1190 - once});
    credit(client, &invoice, rest).await.expect(200);
    app.drain().await;
    assert_eq!(refunded().await, 1190);
}

#[tokio::test]
async fn a_crash_leaves_no_credit_half_done() {
    for seed in 1..=3 {
        let app = TestApp::start().await;
        let mut records = Records::of(&app).await;
        let (crew, invoice) = invoiced(&app, &[1190, 1190]).await;
        pay(&app.alice, &crew, &invoice).await;
        let stage = Stage::new(&app, &app.alice, Outside::of(&app), seed, app.now());
        let credits = (0..6).map(async |place: u64| {
            let body = json!({"invoice": invoice["id"], "amount": 300});
            let key = format!("credit {place}");
            stage.post_with("/v1/credit_notes", body, &key).await
        });
        let ended = join_all(credits).await;
        assert!(ended.iter().all(|(status, _)| *status == 200), "{ended:?}");
        stage.settle(&mut records).await;
        // The messages of refunds may be lost: the sweep sends them again.
        for _ in 0..5 {
            stage.pass(5);
            stage.sweep().await;
            stage.settle(&mut records).await;
        }
        let after = agree(&app.alice, &invoice).await;
        assert_eq!(after["totals"]["refunded"], 1800, "seed {seed}: {after}");
        let notes = app.alice.get_ok("/v1/credit_notes").await;
        let notes = notes["data"].as_array().expect("a list").iter();
        let numbers = notes.map(|note| note["number"].as_str().expect("a number"));
        let numbers: BTreeSet<&str> = numbers.collect();

        assert_eq!(numbers.len(), 6, "seed {seed}");
        assert!(
            numbers.iter().any(|number| number.ends_with("-6")),
            "seed {seed}: {numbers:?}"
        );
    }
}

#[tokio::test]
async fn a_credit_note_has_documents() {
    let app = TestApp::start().await;
    let (_, invoice) = invoiced(&app, &[1190]).await;
    let half = json!({"amount": 595, "reason": "Half"});
    let note = credit(&app.alice, &invoice, half).await.expect(200);
    app.drain().await;
    let number = note.body["number"].as_str().expect("a number").to_owned();
    let account = app.alice.account.clone().expect("an account");
    let folder = format!("documents/{account}/test/{}/{number}", note.id());
    let mut kept = app.app().files.list(&folder).await.expect("the keys");
    kept.sort();
    let want = ["-cii.xml", "-ubl.xml", ".pdf"].map(|ending| format!("{folder}{ending}"));
    assert_eq!(kept, want);
    let document = async |format: &str| {
        let path = format!("/v1/credit_notes/{}/document?format={format}", note.id());
        let redirect = app.alice.get(&path).await.expect(302);
        let location = redirect.headers["location"]
            .to_str()
            .expect("an address")
            .to_owned();
        app.anon.get(&location).await.expect(200).text
    };
    let ubl = document("ubl").await;
    let number = invoice["number"].as_str().expect("a number");
    for part in ["<CreditNote ", ">381<", number, ">5.95<", ">0.95<", "Half"] {
        assert!(ubl.contains(part), "{part}: {ubl}");
    }
    let cii = document("cii").await;
    assert!(cii.contains("<ram:TypeCode>381</ram:TypeCode>"));
    assert!(document("pdf").await.starts_with("%PDF-"));
}

/// The final invoice of a fleet with 105 sessions with changed members. It shows only the newest 100 lines.
async fn long_invoice(app: &TestApp, change: Value) -> (Crew, Value) {
    let crew = app.crew(&app.alice).await;
    many_sessions_with(app, &crew, 105, change).await;
    let invoice = finalized(&app.alice, window(app, &crew)).await;
    assert_eq!(invoice["line_items_has_more"], true);
    (crew, invoice)
}

#[tokio::test]
async fn a_line_that_an_invoice_does_not_show_is_credited() {
    let app = TestApp::start().await;
    let (_, invoice) = long_invoice(&app, json!({})).await;
    let lines = format!("{}/line_items?limit=100", path(&invoice));
    let oldest = app.alice.walk(&lines).await.pop().expect("a line");
    let body = json!({"lines": [{"line_item": oldest}]});
    let note = credit(&app.alice, &invoice, body).await.expect(200);
    assert_has!(note.body, {"amount": 1190, "/lines/0/line_item": oldest});
    assert_has!(agree(&app.alice, &invoice).await, {"amount_due": 104 * 1190});
    app.drain().await;
}

#[tokio::test]
async fn an_amount_of_a_long_invoice_of_paid_sessions_is_refunded() {
    let app = TestApp::start().await;
    let paid = json!({"amount_due": 0, "amount_paid": 1190});
    let (crew, invoice) = long_invoice(&app, paid).await;
    assert_has!(invoice, {"status": "paid", "/totals/paid": 105 * 1190});
    let note = credit(&app.alice, &invoice, json!({"amount": 500})).await;
    assert_has!(note.expect(200).body, {"/totals/refunded": 500});
    app.drain().await;
    // The payments were made outside the service.
    let fleet = app.alice.get_ok(&path_of(&crew.fleet)).await;
    assert_eq!(fleet["wallet_balance"], 500);
    agree(&app.alice, &invoice).await;
}

#[tokio::test]
async fn a_refund_credits_a_line_that_an_invoice_does_not_show() {
    let (app, crew) = TestApp::with_crew().await;
    let method = card(&app.alice, &crew).await;
    let (session, charge) = charged(&app, &crew, &method).await;
    app.advance(3 * 60 * 60).await;
    many_sessions_with(&app, &crew, 105, json!({"currency": "gbp"})).await;
    let period = json!({"period_start": app.in_minutes(-300), "currency": "gbp"});
    let invoice = finalized(&app.alice, with(window(&app, &crew), period)).await;
    assert_eq!(invoice["line_items_has_more"], true);
    let refund = format!("{}/refund", path_of(id_of(&charge)));
    let refund = app.alice.create(&refund, json!({})).await;
    app.drain().await;
    let refund = app.alice.get_ok(&path_of(&refund)).await;
    let note = refund["credit_note"].as_str().expect("a credit note");
    let note = app.alice.get_ok(&path_of(note)).await;
    let line = Id::from(session.as_str()).as_kind(Kind::LineItem);
    assert_has!(note, {"amount": charge["amount"], "/lines/0/line_item": line});
    assert_eq!(note["lines"].as_array().map(Vec::len), Some(1));
}
