//! `POST /v1/credit_notes` and what else credits a final invoice.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::records::Records;
use tests::stage::{Outside, Stage};
use tests::{Client, Crew, TestApp, TestResponse, with};

use crate::books::{buyer, finalized, own, seller};

/// A fleet with a completed session for each of these amounts, and the final invoice of them.
async fn invoiced(app: &TestApp, amounts: &[i64]) -> (Crew, Value) {
    let account = json!({"billing_details": seller(), "registration_number": "HRB 1"});
    app.alice.post(&own(&app.alice), account).await.expect(200);
    let crew = app.crew(&app.alice).await;
    let body = json!({"billing_details": buyer()});
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    app.alice.post(&fleet, body).await.expect(200);
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
    client.post("/v1/payment_methods", body).await.id()
}

async fn pay(client: &Client, crew: &Crew, invoice: &Value) -> Value {
    let method = card(client, crew).await;
    let path = format!("{}/pay", path(invoice));
    let body = json!({"payment_method": method});
    client.post(&path, body).await.expect(200).body
}

fn path(invoice: &Value) -> String {
    format!("/v1/invoices/{}", invoice["id"].as_str().expect("an id"))
}

async fn credit(client: &Client, invoice: &Value, body: Value) -> TestResponse {
    let body = with(json!({"invoice": invoice["id"]}), body);
    client.post("/v1/credit_notes", body).await
}

async fn shown(client: &Client, invoice: &Value) -> Value {
    client.get(&path(invoice)).await.expect(200).body
}

/// What an invoice and its credit notes always agree on.
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
    let list = format!(
        "/v1/credit_notes?invoice={}",
        invoice["id"].as_str().expect("an id")
    );
    let notes = client.get(&list).await.expect(200).body;
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
    let list = list.expect(200).body["data"]
        .as_array()
        .expect("a list")
        .clone();
    list.into_iter()
        .filter(|one| one["credit_note"] == note)
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
    assert_eq!(app.alice.get(&path).await.expect(200).body, want);
    let after = agree(&app.alice, &invoice).await;
    assert_eq!(
        (&after["status"], &after["amount_due"]),
        (&json!("open"), &json!(1785))
    );
    // Lists, and the event.
    for (query, found) in [
        (format!("fleet={}", crew.fleet), 1),
        (
            format!("invoice={}", invoice["id"].as_str().expect("an id")),
            1,
        ),
        (
            format!(
                "created[lt]={}",
                note.body["created"].as_str().expect("a time")
            ),
            0,
        ),
        (String::new(), 1),
    ] {
        let listed = app.alice.get(&format!("/v1/credit_notes?{query}")).await;
        assert_eq!(listed.expect(200).ids().len(), found, "{query}");
    }
    app.drain().await;
    let events = app.alice.get("/v1/events?type=credit_note.created").await;
    assert_eq!(events.expect(200).body["data"][0]["data"]["object"], want);
    // The rest is paid, and the whole is.
    let paid = pay(&app.alice, &crew, &invoice).await;
    assert_eq!(
        (&paid["status"], &paid["amount_paid"]),
        (&json!("paid"), &json!(1785))
    );
    agree(&app.alice, &invoice).await;
    let parameters = json!({"type": "cost_analysis", "period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    app.advance(120).await;
    let body = json!({"fleet": crew.fleet, "parameters": parameters});
    let report = app.alice.post("/v1/reports", body).await.expect(200).id();
    app.drain().await;
    let report = app.alice.get(&format!("/v1/reports/{report}")).await.body;
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
    let found = (
        &refund["amount"],
        &refund["status"],
        &refund["destination"],
        &refund["invoice"],
    );
    assert_eq!(
        found,
        (
            &json!(400),
            &json!("succeeded"),
            &json!("original"),
            &invoice["id"]
        )
    );
    let body = json!({"amount": 300, "destination": "wallet"});
    let note = credit(&app.alice, &invoice, body).await.expect(200);
    app.drain().await;
    let refund = refunds(&app.alice, &note.id()).await.remove(0);
    assert_eq!(
        (&refund["charge"], &refund["status"]),
        (&Value::Null, &json!("succeeded"))
    );
    let fleet = app.alice.get(&format!("/v1/fleets/{}", crew.fleet)).await;
    assert_eq!(fleet.body["wallet_balance"], 300);
    let after = agree(&app.alice, &invoice).await;
    let totals = &after["totals"];
    assert_eq!(
        (&totals["paid"], &totals["refunded"], &totals["credited"]),
        (&json!(1190), &json!(700), &json!(0))
    );
    // Refunds of credit notes lead to no other, and no more than the rest is credited.
    let list = format!(
        "/v1/credit_notes?invoice={}",
        invoice["id"].as_str().expect("an id")
    );
    assert_eq!(app.alice.get(&list).await.ids().len(), 2);
    let more = credit(&app.alice, &invoice, json!({"amount": 491})).await;
    more.expect_error(400, None, Some("amount"));
    // What the wallet has returned, the card is not charged back for.
    let last = credit(&app.alice, &invoice, json!({"amount": 490}))
        .await
        .expect(200);
    app.drain().await;
    assert_eq!(
        refunds(&app.alice, &last.id()).await[0]["destination"],
        "original"
    );
    assert_eq!(
        agree(&app.alice, &invoice).await["totals"]["refunded"],
        1190
    );
}

#[tokio::test]
async fn a_refund_of_a_session_on_a_final_invoice_is_a_credit_note() {
    let app = TestApp::start().await;
    let (crew, invoice) = invoiced(&app, &[1190]).await;
    pay(&app.alice, &crew, &invoice).await;
    let id = invoice["id"].as_str().expect("an id");
    let list = format!("/v1/transactions?invoice={id}&type=charge");
    let charge = app.alice.get(&list).await.expect(200).ids().remove(0);
    let refund = format!("/v1/transactions/{charge}/refund");
    let body = json!({"amount": 397, "reason": "A third"});
    let refund = app.alice.post(&refund, body).await.expect(200).id();
    app.drain().await;
    let refund = app
        .alice
        .get(&format!("/v1/transactions/{refund}"))
        .await
        .body;
    let note = refund["credit_note"].as_str().expect("a credit note");
    let note = app
        .alice
        .get(&format!("/v1/credit_notes/{note}"))
        .await
        .body;
    // 397 / 1.19 = 333.6
    let totals = &note["totals"];
    let found = ["net", "tax", "credited", "refunded"].map(|name| totals[name].as_i64());
    assert_eq!(found, [334, 63, 0, 397].map(Some), "{note}");
    assert_eq!(
        (&note["type"], &note["reason"]),
        (&json!("refund"), &json!("A third"))
    );
    assert_eq!(agree(&app.alice, &invoice).await["totals"]["refunded"], 397);
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
    for (body, param) in [
        (json!({}), "amount"),
        (json!({"amount": 0}), "amount"),
        (json!({"amount": 1786}), "amount"),
        (
            json!({"amount": 1, "lines": [{"line_item": line(595)}]}),
            "amount",
        ),
        (json!({"lines": []}), "lines"),
        (
            json!({"lines": [{"line_item": "li_1"}]}),
            "lines[0].line_item",
        ),
        (
            json!({"lines": [{"line_item": line(595), "amount": 596}]}),
            "lines[0].amount",
        ),
        (
            json!({"lines": [{"line_item": line(595)}, {"line_item": line(595)}]}),
            "lines[1].line_item",
        ),
        (json!({"amount": 1, "why": "x"}), "why"),
    ] {
        let refused = credit(&app.alice, &invoice, body).await;
        refused.expect_error(400, None, Some(param));
    }
    assert_eq!(shown(&app.alice, &invoice).await, before);
    let body =
        json!({"lines": [{"line_item": line(1190), "amount": 119}, {"line_item": line(595)}]});
    let note = credit(&app.alice, &invoice, body).await.expect(200).body;
    assert_eq!(note["amount"], 714);
    assert_eq!(note["lines"][1]["line_item"], line(595));
    let again = credit(
        &app.alice,
        &invoice,
        json!({"lines": [{"line_item": line(595)}]}),
    )
    .await;
    again.expect_error(400, None, Some("lines[0].amount"));
    agree(&app.alice, &invoice).await;
    let unknown = json!({"invoice": "inv_1", "amount": 1});
    let unknown = app.alice.post("/v1/credit_notes", unknown).await;
    unknown.expect_error(404, Some("invoice_not_found"), Some("invoice"));
    app.drain().await;
}

#[tokio::test]
async fn a_credit_on_a_draft_is_a_line() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    app.completed_session(&crew, json!({})).await;
    let draft = app
        .alice
        .post("/v1/invoices", window(&app, &crew))
        .await
        .expect(200)
        .body;
    let body = json!({"amount": 595, "reason": "Half"});
    let note = credit(&app.alice, &draft, body).await.expect(200).body;
    assert_eq!(
        (&note["number"], &note["totals"]["credited"]),
        (&Value::Null, &json!(0))
    );
    let after = agree(&app.alice, &draft).await;
    let line = &after["line_items"][0];
    let found = (
        &line["id"],
        &line["type"],
        &line["amount"],
        &line["net"],
        &line["description"],
    );
    assert_eq!(
        found,
        (
            &note["line_item"],
            &json!("adjustment"),
            &json!(-595),
            &json!(-500),
            &json!("Half")
        )
    );
    assert_eq!(
        (&after["amount_due"], &after["totals"]["tax"]),
        (&json!(595), &json!(95))
    );
    let more = credit(&app.alice, &draft, json!({"amount": 596})).await;
    more.expect_error(400, None, Some("amount"));
    let document = format!(
        "/v1/credit_notes/{}/document",
        note["id"].as_str().expect("an id")
    );
    app.alice
        .get(&document)
        .await
        .expect_error(409, None, Some("credit_note"));
    // Another draft has the credit, too, if this one is deleted.
    app.alice.delete(&path(&draft)).await.expect(200);
    let second = app
        .alice
        .post("/v1/invoices", window(&app, &crew))
        .await
        .expect(200)
        .body;
    assert_eq!(
        (
            &second["amount_due"],
            second["line_items"].as_array().map(Vec::len)
        ),
        (&json!(595), Some(2))
    );
    app.drain().await;
}

#[tokio::test]
async fn a_draft_with_many_lines_takes_further_ones() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    for _ in 0..98 {
        app.completed_session(&crew, json!({})).await;
    }
    let draft = app
        .alice
        .post("/v1/invoices", window(&app, &crew))
        .await
        .expect(200)
        .body;
    assert_eq!(draft["line_items_has_more"], false);
    for _ in 0..4 {
        credit(&app.alice, &draft, json!({"amount": 10}))
            .await
            .expect(200);
    }
    let after = shown(&app.alice, &draft).await;
    assert_eq!(
        (&after["line_items_has_more"], &after["amount_due"]),
        (&json!(true), &json!(98 * 1190 - 40))
    );
    let lines = app
        .alice
        .walk(&format!("{}/line_items", path(&draft)))
        .await;
    assert_eq!(lines.into_iter().collect::<BTreeSet<_>>().len(), 102);
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
        .post(&format!("{}/void", path(&invoice)), json!({}))
        .await
        .expect(200)
        .body;
    assert_eq!(
        (&void["status"], &void["amount_due"]),
        (&json!("void"), &json!(0))
    );
    agree(&app.alice, &invoice).await;
    let list = format!(
        "/v1/credit_notes?invoice={}",
        invoice["id"].as_str().expect("an id")
    );
    let note = app.alice.get(&list).await.body["data"][0].clone();
    assert_eq!(
        (&note["type"], &note["amount"]),
        (&json!("void"), &json!(1000))
    );
    credit(&app.alice, &invoice, json!({"amount": 1}))
        .await
        .expect_error(400, None, Some("amount"));
    let again = app
        .alice
        .post("/v1/invoices", window(&app, &crew))
        .await
        .expect(200)
        .body;
    assert_eq!(again["amount_due"], 1190);
    app.drain().await;
}

#[tokio::test]
async fn credits_at_once_are_never_more_than_the_invoice() {
    let app = TestApp::start().await;
    let (_, invoice) = invoiced(&app, &[1190]).await;
    let credits = (0..12).map(|_| credit(&app.alice, &invoice, json!({"amount": 170})));
    let given = join_all(credits).await;
    let given: Vec<_> = given.iter().filter(|one| one.status == 200).collect();
    assert_eq!(given.len(), 7);
    let numbers: BTreeSet<u64> = given
        .iter()
        .map(|one| {
            let number = one.body["number"].as_str().expect("a number");
            number
                .rsplit('-')
                .next()
                .expect("a sequence")
                .parse()
                .expect("a number")
        })
        .collect();
    assert_eq!(numbers, (1..=7).collect());
    let after = agree(&app.alice, &invoice).await;
    assert_eq!(
        (&after["amount_due"], &after["status"]),
        (&json!(0), &json!("paid"))
    );
    app.drain().await;
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
        let notes = app.alice.get("/v1/credit_notes").await.expect(200).body;
        let numbers: BTreeSet<String> = notes["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|note| note["number"].as_str().expect("a number").to_owned())
            .collect();
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
    let note = credit(
        &app.alice,
        &invoice,
        json!({"amount": 595, "reason": "Half"}),
    )
    .await
    .expect(200);
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
    assert!(
        document("cii")
            .await
            .contains("<ram:TypeCode>381</ram:TypeCode>")
    );
    assert!(document("pdf").await.starts_with("%PDF-"));
}
