//! Tests of the fee of an unused reservation: ours, or that of the network's CDR.

use kernel::Window;
use kernel::time::{days, minutes};
use serde_json::{Value, json};
use tests::platform::{Connected, fixture};
use tests::{assert_has, with};

use super::{RESERVE, Stage, reserved_for};
use crate::books::{own, seller};

/// A reservation that the network keeps, and whose vehicle does not come.
async fn kept(fee: i64) -> Stage {
    let stage = reserved_for(fee).await;
    stage.until(15).await;
    stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
    stage
}

/// A reservation that the network keeps, whose vehicle has not come, and whose fee is charged to a card.
async fn kept_with_card(fee: i64) -> Stage {
    let mut stage = reserved_for(fee).await;
    let method = stage.app.payment_method("tok_success", json!({})).await;
    stage.cancel().await;
    stage.reserve_with(json!({"payment_method": method})).await;
    stage.until(15).await;
    stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
    stage.app.advance(31 * 60).await;
    stage
}

/// The CDR of the reservation, for 5.00 EUR in all.
async fn cdr(stage: &Stage, change: Value) -> Value {
    let currency = stage.reservation().await["currency"].clone();
    let currency = currency.as_str().expect("a currency").to_uppercase();
    let command = stage.sent(RESERVE).pop().expect("a command").body;
    let mut location = fixture("cdr")["cdr_location"].clone();
    for name in ["evse_uid", "evse_id", "connector_id"] {
        location[name] = json!("#NA");
    }
    let now = stage.app.now();
    let cdr = json!({"id": "R1", "session_id": null, "start_date_time": now, "end_date_time": now,
        "cdr_location": location, "authorization_reference": command["authorization_reference"],
        "auth_method": "COMMAND", "charging_periods": [], "tariffs": [], "currency": currency, "total_energy": 0, "total_time": 0,
        "total_cost": {"excl_vat": 4.13, "incl_vat": 5.0},
        "total_reservation_cost": {"excl_vat": 4.13, "incl_vat": 5.0}, "last_updated": now});
    let token = &command["token"];
    let token = json!({"cdr_token": {"uid": token["uid"], "type": token["type"], "contract_id": token["contract_id"],
        "country_code": token["country_code"], "party_id": token["party_id"]}});
    with(with(with(fixture("cdr"), cdr), token), change)
}

async fn bill(stage: &Stage, change: Value) -> Value {
    let cdr = cdr(stage, change).await;
    send_cdr(stage, &cdr).await;
    cdr
}

async fn send_cdr(stage: &Stage, cdr: &Value) {
    let answer = stage.cpo.send("POST", "/cdrs", Some(cdr)).await;
    assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
    stage.app.drain().await;
}

/// The types and amounts of the lines of an invoice of everything that was not invoiced.
async fn invoiced(stage: &Stage) -> Vec<(String, i64)> {
    let lines = lines(stage).await;
    let line = |line: &Value| {
        assert_eq!(line["reservation"], stage.path["/v1/reservations/".len()..]);
        let kind = line["type"].as_str().expect("a type").to_owned();
        (kind, line["amount"].as_i64().expect("an amount"))
    };
    lines.iter().map(line).collect()
}

/// The lines of an invoice of everything that was not invoiced, the oldest first.
async fn lines(stage: &Stage) -> Vec<Value> {
    stage.app.advance(1).await;
    let now = stage.app.now();
    let currency = stage.reservation().await["currency"].clone();
    let body =
        json!({"period_start": now.plus(days(-30)), "period_end": now, "currency": currency});
    let invoice = stage.app.alice.post("/v1/invoices", body).await;
    let lines = invoice.expect(200).body["line_items"].clone();
    let lines = lines.as_array().expect("lines").iter().rev();
    lines.cloned().collect()
}

async fn set_seller(stage: &Stage) {
    let client = &stage.app.alice;
    let details = json!({"billing_details": seller(), "registration_number": "HRB 1"});
    client.post_ok(&own(client), details).await;
}

async fn unmatched(stage: &Stage) -> usize {
    let listed = tests::platform::manage(&stage.app, json!({"action": "list_unmatched"})).await;
    listed.expect("a list")["data"]
        .as_array()
        .map_or(0, Vec::len)
}

fn fee(amount: i64) -> (String, i64) {
    ("reservation_fee".into(), amount)
}

fn adjustment(amount: i64) -> (String, i64) {
    ("adjustment".into(), amount)
}

#[tokio::test]
async fn the_larger_of_both_fees_is_billed_once() {
    for (own, theirs) in [(0, 500), (300, 500), (800, 800)] {
        let stage = kept(own).await;
        stage.app.advance(31 * 60).await;
        let billed = bill(&stage, json!({})).await;
        send_cdr(&stage, &billed).await;
        let reservation = stage.reservation().await;
        assert_has!(reservation, {"status": "expired", "fee_due": theirs});
        assert_eq!(reservation["reservation_fee"], own);
        assert_eq!(unmatched(&stage).await, 0);
        assert_eq!(invoiced(&stage).await, [fee(theirs)]);
        assert_eq!(invoiced(&stage).await, []);
    }
}

#[tokio::test]
async fn a_cdr_that_comes_before_the_end_counts_at_the_end() {
    let stage = kept(300).await;
    stage.app.advance(28 * 60).await;
    bill(&stage, json!({})).await;
    assert_has!(stage.reservation().await, {"status": "confirmed", "fee_due": 300});
    stage.app.advance(3 * 60).await;
    assert_eq!(invoiced(&stage).await, [fee(500)]);
}

#[tokio::test]
async fn after_an_invoice_the_difference_is_an_adjustment() {
    let stage = kept(300).await;
    stage.app.advance(31 * 60).await;
    assert_eq!(invoiced(&stage).await, [fee(300)]);
    let billed = bill(&stage, json!({})).await;
    assert_eq!(invoiced(&stage).await, [adjustment(200)]);
    send_cdr(&stage, &billed).await;
    assert_eq!(invoiced(&stage).await, []);
    // A credit returns the amount that the network billed beyond our own fee.
    let credit = json!({"id": "R1-C", "credit": true, "credit_reference_id": "R1", "authorization_reference": null,
        "total_cost": {"excl_vat": -4.13, "incl_vat": -5.0},
        "total_reservation_cost": {"excl_vat": -4.13, "incl_vat": -5.0}});
    bill(&stage, credit).await;
    let tenant = stage.app.alice.tenant();
    let (store, now) = (&stage.app.app().store, stage.app.now());
    let today = Window {
        from: now.plus(days(-1)),
        until: now.plus(minutes(1)),
    };
    let adjustments = store.adjustments_within(&tenant, today, now);
    let adjustments = adjustments.await.expect("the table");
    let mut amounts: Vec<i64> = adjustments
        .iter()
        .map(|adjustment| adjustment.object.line.amount)
        .collect();
    amounts.sort_unstable();
    assert_eq!((amounts, unmatched(&stage).await), (vec![-200, 200], 0));
}

#[tokio::test]
async fn a_fee_that_only_the_network_bills_includes_tax() {
    let stage = kept(0).await;
    set_seller(&stage).await;
    stage.app.advance(31 * 60).await;
    bill(&stage, json!({})).await;
    let line = lines(&stage).await.remove(0);
    let tax =
        json!([{"country": "DE", "tax_percent": "19", "category": "S", "net": 420, "tax": 80}]);
    assert_has!(line, {"type": "reservation_fee", "amount": 500, "taxes": tax});
}

#[tokio::test]
async fn the_adjustment_of_a_fee_is_taxed_in_the_country_of_the_fee() {
    let stage = kept(300).await;
    set_seller(&stage).await;
    stage.app.advance(31 * 60).await;
    let fee = lines(&stage).await.remove(0);
    bill(&stage, json!({})).await;
    let adjustment = lines(&stage).await.remove(0);
    for (line, amount) in [(fee, 300), (adjustment, 200)] {
        assert_has!(line, {"amount": amount, "/taxes/0/country": "DE"});
    }
}

#[tokio::test]
async fn a_fee_that_only_the_network_bills_is_in_its_currency() {
    let stage = kept(0).await;
    stage.app.advance(31 * 60).await;
    bill(&stage, json!({"currency": "CHF"})).await;
    assert_has!(stage.reservation().await, {"currency": "chf", "fee_due": 500});
    assert_eq!(unmatched(&stage).await, 0);
    assert_eq!(invoiced(&stage).await, [fee(500)]);
    // Then the amounts of the reservation are in that currency.
    bill(&stage, json!({"id": "R2", "currency": "USD"})).await;
    assert_eq!(unmatched(&stage).await, 1);
}

#[tokio::test]
async fn a_credit_before_the_invoice_leaves_our_own_fee() {
    for own in [0, 300] {
        let stage = kept(own).await;
        stage.app.advance(31 * 60).await;
        bill(&stage, json!({})).await;
        let credit = json!({"id": "R1-C", "credit": true, "credit_reference_id": "r1",
            "total_cost": {"excl_vat": -4.13, "incl_vat": -5.0}, "total_reservation_cost": null});
        bill(&stage, credit).await;
        assert_eq!(stage.reservation().await["fee_due"], own);
        let want = if own == 0 { vec![] } else { vec![fee(own)] };
        assert_eq!(invoiced(&stage).await, want);
    }
}

#[tokio::test]
async fn an_implausible_amount_is_listed_and_not_billed() {
    for own in [0, 300] {
        let stage = kept(own).await;
        stage.app.advance(31 * 60).await;
        let absurd = json!({"excl_vat": 4_000_000, "incl_vat": 4_800_000});
        let costs = json!({"total_cost": absurd, "total_reservation_cost": absurd});
        bill(&stage, costs).await;
        assert_has!(stage.reservation().await, {"status": "expired", "fee_due": own});
        assert_eq!(unmatched(&stage).await, 1);
        bill(&stage, json!({"id": "R2"})).await;
        assert_eq!(invoiced(&stage).await, [fee(500)]);
        assert_eq!(unmatched(&stage).await, 1);
    }
}

#[tokio::test]
async fn a_late_cancellation_costs_what_the_network_bills() {
    let stage = kept(0).await;
    stage.cancel().await;
    bill(&stage, json!({})).await;
    assert_eq!(stage.reservation().await["status"], "cancelled");
    assert_eq!(invoiced(&stage).await, [fee(500)]);
}

#[tokio::test]
async fn what_is_not_due_is_listed_for_operators() {
    // The network has cancelled the reservation, and the other EVSE is refused.
    let stage = kept(300).await;
    let first = cdr(&stage, json!({})).await;
    stage.respond("REJECTED");
    stage
        .result(&stage.sent(RESERVE)[0], "CANCELED_RESERVATION")
        .await;
    stage.app.advance(40 * 60).await;
    assert_eq!(stage.reservation().await["status"], "failed");
    let answer = stage.cpo.send("POST", "/cdrs", Some(&first)).await;
    assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
    stage.app.drain().await;
    assert_eq!(
        (invoiced(&stage).await, unmatched(&stage).await),
        (vec![], 1)
    );

    // Another network names the command, and another currency is billed.
    let stage = kept(300).await;
    let other = Connected::with(&stage.app, |script| {
        script.roles[0]["party_id"] = json!("RIV");
    });
    let other = other.await;
    stage.app.advance(31 * 60).await;
    let foreign = cdr(&stage, json!({"party_id": "RIV"})).await;
    let answer = other.send("POST", "/cdrs", Some(&foreign)).await;
    assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
    bill(&stage, json!({"id": "R2", "currency": "CHF"})).await;
    bill(
        &stage,
        json!({"id": "R3", "authorization_reference": "cmd_1"}),
    )
    .await;
    assert_eq!(unmatched(&stage).await, 3);
    assert_eq!(invoiced(&stage).await, [fee(300)]);
}

#[tokio::test]
async fn a_fee_that_was_charged_is_adjusted() {
    let stage = kept_with_card(300).await;
    assert_eq!(stage.reservation().await["fee_due"], 0);
    bill(&stage, json!({})).await;
    assert_eq!(stage.reservation().await["fee_due"], 0);
    let lines = invoiced(&stage).await;
    assert_eq!(lines, [fee(300), adjustment(200)]);
}

#[tokio::test]
async fn a_fee_that_only_the_network_asks_for_is_charged() {
    let stage = kept_with_card(0).await;
    bill(&stage, json!({})).await;
    let charges = stage.app.alice.get_ok("/v1/transactions").await;
    let charge = &charges["data"][0];
    assert_eq!(
        (&charge["amount"], &charge["status"], &charges["data"][1]),
        (&json!(500), &json!("succeeded"), &Value::Null)
    );
}
