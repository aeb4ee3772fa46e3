//! Tests of credits and corrections of a CDR: lines of a draft, credit notes, and refunds of what was charged.

use std::collections::BTreeMap;

use kernel::time::days;
use serde_json::{Value, json};
use tests::{assert_has, each, id_of, path_of};

use crate::invoices::many_sessions_with;

use super::prices::add_price;
use super::{Scene, adjustment, energy};

/// A credit of the first CDR, with an amount in cents.
async fn credited(scene: &Scene, theirs: &Value, cents: i64) {
    let gross = cents as f64 / 100.0;
    let credit = json!({"id": "C1-X", "credit": true, "credit_reference_id": "C1",
        "total_cost": {"excl_vat": -gross / 1.21, "incl_vat": -gross}});
    scene.bill(&scene.cdr(theirs, credit)).await;
    scene.app.drain().await;
}

/// Bills a session again, by a CDR with this id and these amounts without and with tax.
async fn correct(scene: &Scene, theirs: &Value, id: &str, (net, gross): (f64, f64)) {
    scene.app.advance(60).await;
    let cost = json!({"id": id, "total_cost": {"excl_vat": net, "incl_vat": gross}, "last_updated": scene.app.now()});
    scene.bill(&scene.cdr(theirs, cost)).await;
    scene.app.drain().await;
}

/// A final invoice of everything until now.
async fn finalize(scene: &Scene) -> Value {
    let (draft, _) = scene.invoice().await;
    scene
        .post(&format!("{}/finalize", path_of(id_of(&draft))), json!({}))
        .await
}

/// An invoice of everything until now that was finalized and paid.
async fn paid(scene: &Scene) -> Value {
    let path = path_of(id_of(&finalize(scene).await));
    let method = scene.app.payment_method("tok_success", json!({})).await;
    let body = json!({"payment_method": method});
    let paid = scene.post(&format!("{path}/pay"), body).await;
    scene.app.drain().await;
    paid
}

#[tokio::test]
async fn a_credit_is_a_line_of_the_draft_that_bills_its_session() {
    let scene = Scene::new().await;
    let session = scene.active().await;
    let (session, theirs) = session;
    scene.app.advance(3600).await;
    scene.bill(&scene.cdr(&theirs, json!({}))).await;
    let (draft, _) = scene.invoice().await;
    credited(&scene, &theirs, 968).await;
    let path = path_of(id_of(&draft));
    let shown = scene.get(&path).await;
    assert_eq!(shown["amount_due"], 0);
    assert_eq!(each(&shown["line_items"], "amount"), json!([-968, 968]));
    assert_eq!(scene.get("/v1/credit_notes").await["data"], json!([]));
    // It is on the next invoice together with its session. If it covers the whole amount, the session is paid.
    scene.app.alice.delete_ok(&path).await;
    let (both, lines) = scene.invoice().await;
    assert_eq!(lines, [energy(968), adjustment(-968)]);
    let finalize = format!("{}/finalize", path_of(id_of(&both)));
    let paid = scene.app.alice.post(&finalize, json!({})).await.expect(200);
    assert_eq!(paid.body["status"], "paid");
    scene.app.drain().await;
    assert_has!(scene.shown(&session).await, {"amount_due": 0, "amount_paid": 968});
}

#[tokio::test]
async fn a_credit_of_a_final_invoice_is_a_credit_note() {
    let scene = Scene::new().await;
    let (_, theirs) = scene.billed().await;
    let path = path_of(id_of(&finalize(&scene).await));
    credited(&scene, &theirs, 242).await;
    let shown = scene.get(&path).await;
    assert_has!(shown, {"amount_due": 726, "/totals/credited": 242});
    let notes = scene.get("/v1/credit_notes").await;
    let note = &notes["data"][0];
    assert_has!(note, {"type": "network", "amount": 242, "/totals/net": 200});
    assert_eq!(note["lines"][0]["line_item"], shown["line_items"][0]["id"]);
    assert_eq!(scene.invoice().await.1, []);
    // A second invoice of the session has the credit as well.
    scene.post(&format!("{path}/void"), json!({})).await;
    assert_eq!(scene.invoice().await.1, [energy(968), adjustment(-242)]);
    assert_eq!(scene.app.alice.get("/v1/credit_notes").await.ids().len(), 2);
}

/// The net amount and the tax at each rate, of all invoices less all credit notes.
async fn taxes_of_documents(scene: &Scene) -> BTreeMap<String, (i64, i64)> {
    let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for (path, sign) in [("/v1/invoices", 1), ("/v1/credit_notes", -1)] {
        let documents = scene.get(path).await;
        for document in documents["data"].as_array().expect("a list") {
            let rates = document["totals"]["by_rate"].as_array();
            for rate in rates.expect("rates") {
                let amount = |name: &str| sign * rate[name].as_i64().expect("an amount");
                let percent = rate["tax_percent"].as_str().expect("a rate");
                let sum = sums.entry(percent.to_owned()).or_default();
                *sum = (sum.0 + amount("net"), sum.1 + amount("tax"));
            }
        }
    }
    sums.retain(|_, sum| *sum != (0, 0));
    sums
}

#[tokio::test]
async fn a_correction_of_the_tax_is_billed_at_both_rates() {
    // The invoice is final before the first correction, after it, or never.
    let finalized = [0, 1, 9].into_iter();
    for (final_after, is_charged) in finalized.flat_map(|after| [(after, false), (after, true)]) {
        let scene = Scene::new().await;
        let theirs = if is_charged {
            scene.charged().await.1
        } else {
            scene.billed().await.1
        };
        let (draft, _) = scene.invoice().await;
        let finalize = format!("{}/finalize", path_of(id_of(&draft)));
        let taxed = ("21".to_owned(), (800, 168));
        let untaxed = ("0".to_owned(), (800, 0));
        for (done, (id, gross, expected)) in [
            ("C2", 8.0, &untaxed),
            ("C3", 9.68, &taxed),
            ("C4", 8.0, &untaxed),
            ("C5", 9.68, &taxed),
        ]
        .into_iter()
        .enumerate()
        {
            if done == final_after {
                scene.post(&finalize, json!({})).await;
            }
            correct(&scene, &theirs, id, (8.0, gross)).await;
            scene.invoice().await;
            let expected = BTreeMap::from([expected.clone()]);
            let sums = taxes_of_documents(&scene).await;
            assert_eq!(sums, expected, "{id} {final_after} {is_charged}");
        }
    }
}

#[tokio::test]
async fn a_credit_is_applied_where_its_rate_was_billed() {
    // The second invoice is final before the credit, or a draft.
    for is_final in [true, false] {
        let scene = Scene::new().await;
        let parking = json!({"type": "PARKING_TIME", "price": 2.0, "vat": 10.0, "step_size": 1});
        add_price(&scene, parking).await;
        let (_, theirs) = scene.billed().await;
        let first = finalize(&scene).await;
        // An hour of parking is billed in addition, and then credited: half of it, and the rest.
        correct(&scene, &theirs, "C2", (10.0, 9.68 + 2.2)).await;
        let second = if is_final {
            finalize(&scene).await
        } else {
            scene.invoice().await.0
        };
        let billed = BTreeMap::from([("10".to_owned(), (200, 20)), ("21".to_owned(), (800, 168))]);
        assert_eq!(taxes_of_documents(&scene).await, billed);
        correct(&scene, &theirs, "C3", (9.0, 9.68 + 1.1)).await;
        correct(&scene, &theirs, "C4", (8.0, 9.68)).await;
        let left = BTreeMap::from([("21".to_owned(), (800, 168))]);
        assert_eq!(taxes_of_documents(&scene).await, left);
        let shown = async |invoice: &Value| scene.get(&path_of(id_of(invoice))).await;
        assert_has!(shown(&first).await, {"amount_due": 968, "/totals/credited": 0});
        let credited = if is_final { 220 } else { 0 };
        assert_has!(shown(&second).await, {"amount_due": 0, "/totals/credited": credited});
    }
}

#[tokio::test]
async fn a_credit_on_a_draft_counts_against_its_line() {
    let scene = Scene::new().await;
    let (_, theirs) = scene.billed().await;
    correct(&scene, &theirs, "C2", (9.0, 10.89)).await;
    let (draft, _) = scene.invoice().await;
    correct(&scene, &theirs, "C3", (7.0, 8.47)).await;
    let draft = scene.get(&path_of(id_of(&draft))).await;
    assert_eq!(
        each(&draft["line_items"], "amount"),
        json!([-242, 121, 968])
    );
    let path = path_of(id_of(&draft));
    let invoice = scene.post(&format!("{path}/finalize"), json!({})).await;
    let credit = |amount: i64| {
        let line = json!({"line_item": invoice["line_items"][2]["id"], "amount": amount});
        json!({"invoice": id_of(&invoice), "lines": [line]})
    };
    let refused = scene.app.alice.post("/v1/credit_notes", credit(727)).await;
    refused.expect_error(400, None, "lines[0].amount");
    scene.post("/v1/credit_notes", credit(726)).await;
}

#[tokio::test]
async fn a_credit_after_500_lines_is_of_the_whole_invoice() {
    let scene = Scene::new().await;
    let (_, theirs) = scene.billed().await;
    let final_invoice = finalize(&scene).await;
    // As if 500 other lines had been credited.
    let (store, tenant) = (&scene.app.app().store, scene.app.alice.tenant());
    let id = kernel::Id::from(id_of(&final_invoice));
    let invoice = store.load::<models::invoice::Invoice>(&tenant, &id).await;
    let mut invoice = invoice.expect("the invoice");
    for number in 0..500 {
        let line = kernel::Id::from_number(kernel::Kind::LineItem, number);
        invoice.internal.credits.lines.insert(line, Vec::new());
    }
    let origin = kernel::Origin::background(tenant, scene.app.now());
    store.save(&origin, &mut invoice).await.expect("a change");
    credited(&scene, &theirs, 242).await;
    let notes = scene.app.alice.get("/v1/credit_notes").await;
    let note = &notes.expect(200).body["data"][0];
    assert_has!(note, {"type": "network", "amount": 242, "/lines/0/line_item": null});
    let line = json!([{"line_item": final_invoice["line_items"][0]["id"]}]);
    let body = json!({"invoice": id, "lines": line});
    let refused = scene.app.alice.post("/v1/credit_notes", body).await;
    refused.expect_error(409, None, "invoice");
}

#[tokio::test]
async fn a_credit_applies_to_a_line_that_an_invoice_does_not_show() {
    let scene = Scene::new().await;
    let (session, theirs) = scene.billed().await;
    // Their lines are newer.
    scene.app.advance(3 * 3600).await;
    let (app, crew) = (&scene.app, &scene.crew);
    many_sessions_with(app, crew, 104, json!({"currency": "eur"})).await;
    let invoice = finalize(&scene).await;
    assert_eq!(invoice["line_items_has_more"], true);
    let shown = each(&invoice["line_items"], "charging_session");
    assert!(!shown.as_array().expect("lines").contains(&session["id"]));
    credited(&scene, &theirs, 242).await;
    let notes = scene.get("/v1/credit_notes").await;
    let line = id_of(&session).replace("cs_", "li_");
    assert_has!(notes["data"][0], {"type": "network", "amount": 242, "/lines/0/line_item": line});
}

#[tokio::test]
async fn a_credit_of_a_paid_invoice_is_refunded() {
    let scene = Scene::new().await;
    let (_, theirs) = scene.billed().await;
    let path = path_of(id_of(&paid(&scene).await));
    credited(&scene, &theirs, 242).await;
    let shown = scene.get(&path).await;
    let totals = &shown["totals"];
    let found = ["paid", "credited", "refunded", "due"].map(|name| totals[name].as_i64());
    assert_eq!(found, [968, 0, 242, 0].map(Some));
    // No other invoice will bill the adjustment.
    let (store, tenant) = (&scene.app.app().store, scene.app.alice.tenant());
    let open = store.open_adjustments(&tenant).await.expect("the table");
    assert_eq!(open, []);
}

#[tokio::test]
async fn a_credit_of_a_session_that_was_charged_is_returned() {
    let scene = Scene::new().await;
    let (session, theirs, method) = scene.charged().await;
    credited(&scene, &theirs, 242).await;
    let id = id_of(&session);
    let list = format!("/v1/transactions?charging_session={id}&type=adjustment");
    let returned = scene.get(&list).await["data"][0].clone();
    assert_has!(returned, {"amount": 242, "status": "succeeded", "payment_method": method});
    let (invoice, lines) = scene.invoice().await;
    assert_eq!(lines, [energy(968), adjustment(-242)]);
    let totals = &invoice["totals"];
    let found = ["gross", "paid", "refunded", "due"].map(|name| totals[name].as_i64());
    assert_eq!(found, [726, 726, 0, 0].map(Some));
    // A second credit, after the invoice was finalized.
    let finalize = format!("{}/finalize", path_of(id_of(&invoice)));
    scene.post(&finalize, json!({})).await;
    let more = json!({"id": "C1-Y", "credit": true, "credit_reference_id": "C1",
        "total_cost": {"excl_vat": -1.0, "incl_vat": -1.21}});
    scene.bill(&scene.cdr(&theirs, more)).await;
    scene.app.drain().await;
    let shown = scene.get(&path_of(id_of(&invoice))).await;
    assert_eq!(shown["totals"]["refunded"], 121);
}

#[tokio::test]
async fn a_credit_after_the_period_is_billed_with_its_session() {
    let scene = Scene::new().await;
    let (_, theirs, _) = scene.charged().await;
    scene.app.advance(1).await;
    let end = scene.app.now();
    scene.app.advance(3600).await;
    credited(&scene, &theirs, 968).await;
    let body = json!({"period_start": end.plus(days(-30)), "period_end": end, "currency": "eur"});
    let invoice = scene.post("/v1/invoices", body.clone()).await;
    let totals = ["gross", "paid", "refunded", "due"].map(|name| &invoice["totals"][name]);
    assert_eq!(totals, [0, 0, 0, 0]);
    assert_eq!(each(&invoice["line_items"], "amount"), json!([-968, 968]));
    assert_eq!(scene.invoice().await.1, []);
}

#[tokio::test]
async fn credits_return_no_more_than_was_charged() {
    let scene = Scene::new().await;
    let (session, theirs, _) = scene.charged().await;
    let (draft, _) = scene.invoice().await;
    credited(&scene, &theirs, 968).await;
    // A corrected price is due; its credit has nothing to return, and leaves the draft as it is.
    for cdr in [
        json!({"id": "C2", "total_cost": {"excl_vat": 7.0, "incl_vat": 8.47}}),
        json!({"id": "C2-X", "credit": true, "credit_reference_id": "C2",
            "total_cost": {"excl_vat": -7.0, "incl_vat": -8.47}}),
    ] {
        scene.bill(&scene.cdr(&theirs, cdr)).await;
        scene.app.drain().await;
    }
    let list = format!(
        "/v1/transactions?charging_session={}&type=adjustment",
        id_of(&session)
    );
    assert_eq!(
        each(&scene.get(&list).await["data"], "amount"),
        json!([968])
    );
    let totals = scene.get(&path_of(id_of(&draft))).await["totals"].clone();
    assert_has!(totals, {"gross": 0, "paid": 0, "due": 0});
    let (next, lines) = scene.invoice().await;
    assert_eq!(lines, [adjustment(847), adjustment(-847)]);
    assert_has!(next, {"/totals/gross": 0, "/totals/paid": 0, "amount_due": 0});
}

#[tokio::test]
async fn a_credit_also_returns_what_an_adjustment_billed() {
    let (scene, _, theirs) = Scene::charging().await;
    scene.complete(&theirs).await;
    scene.pass(3 * 86_400).await;
    let first = paid(&scene).await;
    assert_eq!(first["amount_paid"], 968);
    let cost = json!({"total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
    scene.bill(&scene.cdr(&theirs, cost)).await;
    let second = paid(&scene).await;
    assert_eq!(second["amount_paid"], 121);
    credited(&scene, &theirs, 1089).await;
    for (invoice, amount) in [(&first, 968), (&second, 121)] {
        let shown = scene.get(&path_of(id_of(invoice))).await;
        assert_eq!(shown["totals"]["refunded"], amount);
        let notes = format!("/v1/credit_notes?invoice={}", id_of(invoice));
        let note = scene.get(&notes).await["data"][0].clone();
        let line = &invoice["line_items"][0]["id"];
        assert_has!(note, {"type": "network", "amount": amount, "/lines/0/line_item": line});
    }
    assert_eq!(scene.invoice().await.1, []);
}

#[tokio::test]
async fn a_credit_of_an_adjustment_on_a_draft_is_a_line_of_it() {
    let (scene, _, theirs) = Scene::charging().await;
    scene.complete(&theirs).await;
    scene.pass(3 * 86_400).await;
    let first = paid(&scene).await;
    let cost = json!({"total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
    scene.bill(&scene.cdr(&theirs, cost)).await;
    let (draft, lines) = scene.invoice().await;
    assert_eq!(lines, [adjustment(121)]);
    credited(&scene, &theirs, 1089).await;
    let shown = scene.get(&path_of(id_of(&first))).await;
    assert_eq!(shown["totals"]["refunded"], 968);
    let shown = scene.get(&path_of(id_of(&draft))).await;
    assert_eq!(each(&shown["line_items"], "amount"), json!([-121, 121]));
    assert_has!(shown, {"amount_due": 0, "/totals/gross": 0});
    assert_eq!(scene.invoice().await.1, []);
}

#[tokio::test]
async fn a_credit_returns_nothing_that_was_refunded() {
    let scene = Scene::new().await;
    let (session, theirs, _) = scene.charged().await;
    let list = format!("/v1/transactions?charging_session={}", id_of(&session));
    let charge = scene.get(&list).await["data"][0].clone();
    let refund = format!("{}/refund", path_of(id_of(&charge)));
    scene.post(&refund, json!({"amount": 700})).await;
    scene.app.drain().await;
    credited(&scene, &theirs, 968).await;
    // The refund settles its part of the credit; only the rest is returned.
    let charge = scene.get(&path_of(id_of(&charge))).await;
    assert_eq!(charge["amount_refunded"], 968);
    let adjusted = format!("{list}&type=adjustment");
    let adjusted = scene.get(&adjusted).await["data"].clone();
    assert_eq!(each(&adjusted, "amount"), json!([268]));
    let (invoice, lines) = scene.invoice().await;
    assert_eq!(lines, [energy(968), adjustment(-968)]);
    assert_has!(invoice, {"/totals/paid": 0, "/totals/refunded": 0, "amount_due": 0});
}

/// Refunds a part of the only charge.
async fn refund(scene: &Scene, amount: i64) -> Value {
    let charges = scene.get("/v1/transactions?type=charge").await;
    let charge = charges["data"].as_array().and_then(|list| {
        let mut charges = list.iter();
        charges.find(|charge| !charge["charging_session"].is_null())
    });
    let refund = format!("{}/refund", path_of(id_of(charge.expect("a charge"))));
    let refund = scene.post(&refund, json!({"amount": amount})).await;
    scene.app.drain().await;
    scene.get(&path_of(id_of(&refund))).await
}

#[tokio::test]
async fn a_credit_of_a_refunded_amount_counts_once() {
    let scene = Scene::new().await;
    let (_, theirs, _) = scene.charged().await;
    let (draft, _) = scene.invoice().await;
    let path = path_of(id_of(&draft));
    refund(&scene, 300).await;
    credited(&scene, &theirs, 242).await;
    let adjusted = scene.get("/v1/transactions?type=adjustment").await;
    assert_eq!(adjusted["data"], json!([]));
    let shown = scene.get(&path).await;
    assert_has!(shown["totals"], {"gross": 726, "paid": 726, "refunded": 58, "due": 0});
    assert_has!(scene.cost_analysis().await, {"gross": 726, "paid": 726, "refunded": 58});
    // The next draft has the same amounts.
    scene.app.alice.delete_ok(&path).await;
    let (draft, _) = scene.invoice().await;
    assert_eq!(draft["totals"], shown["totals"]);
    refund(&scene, 668).await;
    let shown = scene.get(&path_of(id_of(&draft))).await;
    assert_has!(shown["totals"], {"paid": 726, "refunded": 726});
    assert_has!(scene.cost_analysis().await, {"paid": 726, "refunded": 726});
}

#[tokio::test]
async fn a_refund_returns_a_credit_that_could_not_be_returned() {
    let scene = Scene::new().await;
    let driver = path_of(&scene.crew.driver);
    let currency = async |code: &str| {
        let preferences = json!({"preferences": {"currency": code}});
        scene.post(&driver, preferences).await
    };
    currency("eur").await;
    let card = scene.app.payment_method("tok_success", json!({})).await;
    let top_up = json!({"amount": 968, "payment_method": card});
    scene.post(&format!("{driver}/top_up"), top_up).await;
    let wallet = json!({"type": "wallet", "driver": scene.crew.driver});
    let wallet = scene.app.alice.create("/v1/payment_methods", wallet).await;
    let (_, theirs) = scene.charged_to(&wallet).await;
    currency("usd").await;
    credited(&scene, &theirs, 242).await;
    let adjusted = scene.get("/v1/transactions?type=adjustment").await;
    assert_has!(adjusted["data"][0], {"amount": 242, "status": "failed"});
    let path = path_of(id_of(&finalize(&scene).await));
    let totals = async || scene.get(&path).await["totals"].clone();
    assert_has!(totals().await, {"gross": 726, "paid": 726, "refunded": 0});
    currency("eur").await;
    // The first refunds return the credit, and no credit note is needed for that.
    for (amount, refunded) in [(200, 0), (100, 58), (668, 726)] {
        let refund = refund(&scene, amount).await;
        assert_has!(refund, {"status": "succeeded"});
        assert_eq!(refund["credit_note"].is_null(), refunded == 0);
        assert_has!(totals().await, {"paid": 726, "refunded": refunded, "due": 0});
        assert_has!(scene.cost_analysis().await, {"paid": 726, "refunded": refunded, "due": 0});
    }
    let notes = scene.get("/v1/credit_notes").await;
    assert_eq!(each(&notes["data"], "amount"), json!([668, 58]));
    assert_eq!(scene.get(&driver).await["wallet_balance"], 968);
}
