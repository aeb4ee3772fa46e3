use std::collections::BTreeMap;

use super::request::NewCreditNote;
use super::*;
use crate::adjustment::Adjustment;
use kernel::Timestamp;
use serde_json::{Value, json};

fn now() -> Timestamp {
    Timestamp::parse("2026-04-01T00:00:00Z").unwrap()
}

/// Returns a final invoice with one line for each of these rates, of which `paid` was paid before.
fn invoice(rates: &[(i64, i64, &str)], paid: i64, status: &str) -> Stored<Invoice> {
    let sum = |of: fn(&(i64, i64, &str)) -> i64| rates.iter().map(of).sum::<i64>();
    let (net, tax) = (sum(|rate| rate.0), sum(|rate| rate.1));
    let taxes: Vec<Value> = rates
        .iter()
        .map(|(net, tax, percent)| {
            json!({"country": "NL", "tax_percent": percent, "category": "S", "net": net, "tax": tax})
        })
        .collect();
    let lines: Vec<Value> = taxes.iter().enumerate().map(|(place, tax)| {
        let gross = tax["net"].as_i64().unwrap() + tax["tax"].as_i64().unwrap();
        json!({"id": Id::from_number(Kind::LineItem, place as u128), "amount": gross, "description": "D", "energy_wh": 1,
            "free": false, "net": tax["net"], "quantity": 1, "tax": tax["tax"], "taxes": [tax],
            "type": "energy_session", "unit_amount": gross})
    }).collect();
    let due = net + tax - paid;
    let number = (status != "draft").then_some("2026-1");
    let json = json!({"id": Id::from_number(Kind::Invoice, 1), "object": "invoice", "amount_due": due, "amount_paid": paid,
        "created": now(), "currency": "eur", "due_date": now(), "line_items": lines, "line_items_has_more": false,
        "metadata": {}, "number": number, "period_end": now(), "period_start": now(), "status": status,
        "totals": {"net": net, "tax": tax, "gross": net + tax, "paid": paid, "credited": 0, "refunded": 0, "due": due,
            "by_rate": taxes}});
    Stored::new(serde_json::from_value(json).unwrap())
}

fn amount(invoice: &mut Stored<Invoice>, amount: i64) -> Result<Stored<CreditNote>> {
    let credit = Credit::of_amount(CreditNoteType::Manual, invoice.credit_of(amount)?, None);
    CreditNote::issue(invoice, credit, "CN2026-1".to_owned(), now())
}

fn lines(invoice: &mut Stored<Invoice>, requested: &Value) -> Result<Stored<CreditNote>> {
    let body = json!({"invoice": invoice.object.id, "lines": requested});
    let new: NewCreditNote = serde_json::from_value(body).unwrap();
    new.check()?;
    let known = invoice.object.line_items.iter();
    let known: BTreeMap<_, _> = known.map(|line| (line.id.clone(), line.clone())).collect();
    let credit = new.credit(invoice, &known)?;
    CreditNote::issue(invoice, credit, "CN2026-1".to_owned(), now())
}

fn line(number: u128, amount: Option<i64>) -> Value {
    json!({"line_item": Id::from_number(Kind::LineItem, number), "amount": amount})
}

/// Returns a pseudorandom number and advances the seed.
fn dice(seed: &mut u64) -> i64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    i64::try_from(*seed >> 33).unwrap()
}

#[test]
fn parts_of_an_invoice_add_up_to_it_rate_by_rate() {
    for seed in 1..=300 {
        let mut seed = seed;
        let percents = ["0", "5.5", "7", "19", "21"];
        let rates: Vec<(i64, i64, &str)> = percents[..1 + dice(&mut seed) as usize % 5]
            .iter()
            .map(|percent| {
                let net = dice(&mut seed) % 100_000 + 1;
                let hundredths = (percent.parse::<f64>().unwrap() * 100.0) as i64;
                (net, (net * hundredths + 5_000) / 10_000, *percent)
            })
            .collect();
        let mut invoice = invoice(&rates, 0, "open");
        let whole = invoice.object.totals.clone();
        let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        while invoice.creditable() > 0 {
            let left = invoice.creditable();
            let part = 1 + dice(&mut seed) % left;
            // The last part is the rest.
            let part = if left < whole.gross / 8 { left } else { part };
            let note = amount(&mut invoice, part).unwrap().object;
            assert_eq!((note.amount, note.totals.gross), (part, part));
            for tax in &note.totals.by_rate {
                let sum = sums
                    .entry(tax.tax_percent.decimal().to_string())
                    .or_default();
                *sum = (sum.0 + tax.net, sum.1 + tax.tax);
            }
        }
        for tax in &whole.by_rate {
            let sum = sums[&tax.tax_percent.decimal().to_string()];
            assert_eq!(sum, (tax.net, tax.tax));
        }
        assert_eq!(
            (invoice.object.amount_due, invoice.object.totals.credited),
            (0, whole.gross)
        );
    }
}

#[test]
fn an_amount_is_shared_in_proportion_and_its_tax_is_nearest() {
    // A third of 11.90 at 19 % and 1.07 at 7 %: 3.9666 and 0.3566 of 4.32.
    let mut invoice = invoice(&[(1000, 190, "19"), (100, 7, "7")], 0, "open");
    let note = amount(&mut invoice, 432).unwrap().object;
    let parts: Vec<(i64, i64)> = note
        .totals
        .by_rate
        .iter()
        .map(|tax| (tax.net, tax.tax))
        .collect();
    // 396 / 1.19 = 332.8 and 36 / 1.07 = 33.6
    assert_eq!(parts, [(333, 63), (34, 2)]);
}

#[test]
fn a_credit_is_set_off_and_the_rest_is_refunded() {
    let mut invoice = invoice(&[(1000, 190, "19")], 500, "open");
    let note = amount(&mut invoice, 400).unwrap().object;
    assert_eq!((note.totals.credited, note.totals.refunded), (400, 0));
    assert_eq!(
        (invoice.object.amount_due, invoice.object.status.as_str()),
        (290, "open")
    );
    let note = amount(&mut invoice, 390).unwrap().object;
    assert_eq!((note.totals.credited, note.totals.refunded), (290, 100));
    let object = &invoice.object;
    assert_eq!((object.amount_due, object.status.as_str()), (0, "paid"));
    assert!(invoice.internal.sessions_unpaid);
    let totals = &object.totals;
    assert_eq!(totals.due + totals.paid + totals.credited, 1190);
    // Only 400 are left to credit.
    assert!(amount(&mut invoice, 401).is_err());
    assert!(amount(&mut invoice, 400).is_ok());
    assert!(amount(&mut invoice, 1).is_err());
}

#[test]
fn lines_are_credited_once_at_their_rates() {
    let mut invoice = invoice(&[(1000, 190, "19"), (100, 7, "7")], 0, "open");
    let note = lines(&mut invoice, &json!([line(1, Some(50))]))
        .unwrap()
        .object;
    let tax = &note.totals.by_rate[0];
    assert_eq!(
        (tax.tax_percent.decimal().to_string(), tax.net, tax.tax),
        ("7".into(), 47, 3)
    );
    let before = invoice.clone();
    for wrong in [
        json!([line(1, Some(58))]),
        json!([line(0, None), line(0, None)]),
        json!([line(7, None)]),
        json!([]),
    ] {
        assert!(lines(&mut invoice, &wrong).is_err(), "{wrong}");
        assert_eq!(invoice, before);
    }
    let note = lines(&mut invoice, &json!([line(1, None), line(0, None)]))
        .unwrap()
        .object;
    assert_eq!((note.amount, note.lines.len()), (57 + 1190, 2));
    assert_eq!(invoice.object.amount_due, 0);
    assert!(lines(&mut invoice, &json!([line(0, None)])).is_err());
}

#[test]
fn a_line_is_not_credited_beyond_what_is_left_of_its_rate() {
    let mut invoice = invoice(&[(1000, 190, "19"), (100, 7, "7")], 0, "open");
    amount(&mut invoice, 1297 / 2).unwrap();
    assert!(lines(&mut invoice, &json!([line(1, Some(107))])).is_err());
    assert!(lines(&mut invoice.clone(), &json!([line(1, Some(53))])).is_ok());
    let rest = lines(&mut invoice, &json!([line(1, None)])).unwrap();
    assert_eq!(rest.object.amount, 54);
}

#[test]
fn a_void_invoice_is_credited_as_a_whole() {
    let mut invoice = invoice(&[(1000, 190, "19")], 500, "open");
    amount(&mut invoice, 100).unwrap();
    let left = invoice.credit_of(invoice.creditable()).unwrap();
    invoice.void().unwrap();
    let credit = Credit::of_amount(CreditNoteType::Void, left, None);
    let note = CreditNote::issue(&mut invoice, credit, "CN2026-2".to_owned(), now())
        .unwrap()
        .object;
    assert_eq!(note.amount, 1090);
    // The amount paid before stays with its sessions.
    assert_eq!((note.totals.credited, note.totals.refunded), (590, 0));
    assert_eq!(
        (invoice.object.amount_due, invoice.object.totals.credited),
        (0, 690)
    );
    assert!(amount(&mut invoice, 1).is_err());
}

#[test]
fn a_draft_takes_a_credit_as_a_line_of_at_most_what_is_due() {
    let mut invoice = invoice(&[(1000, 190, "19")], 500, "draft");
    assert!(invoice.credit_of(691).is_err());
    let taxes = invoice.credit_of(690).unwrap();
    let credit = Credit::of_amount(CreditNoteType::Manual, taxes, None);
    assert!(CreditNote::issue(&mut invoice.clone(), credit.clone(), String::new(), now()).is_err());
    let adjustment = Adjustment::on_draft(
        &invoice.object.id,
        None,
        invoice.object.currency,
        credit.describe(),
        &credit.by_rate(),
        credit.by_line(),
        now(),
    );
    invoice.add_line(&adjustment.object.line, 0, 0);
    let totals = &invoice.object.totals;
    assert_eq!((totals.gross, totals.due, totals.paid), (500, 0, 500));
    assert_eq!(totals.net + totals.tax, totals.gross);
    assert_eq!(crate::invoice::gross(&totals.by_rate), 500);
}

#[test]
fn a_refund_that_failed_is_covered_by_its_credit_note() {
    let mut invoice = invoice(&[(1000, 190, "19")], 1190, "paid");
    let note = amount(&mut invoice, 300).unwrap().object;
    assert_eq!(note.totals.refunded, 300);
    invoice.note_unrefunded(300);
    assert_eq!(
        (invoice.cover_refund(200), invoice.cover_refund(150)),
        (0, 50)
    );
}

#[test]
fn the_501st_line_is_credited_as_an_amount() {
    let mut invoice = invoice(&[(1000, 190, "19"), (500, 95, "19")], 0, "open");
    lines(&mut invoice, &json!([line(0, Some(100))])).unwrap();
    let noted = invoice.internal.credits.lines.values().next().cloned();
    let noted = noted.expect("the taxes of a line");
    for number in 2..501 {
        let id = Id::from_number(Kind::LineItem, number);
        invoice.internal.credits.lines.insert(id, noted.clone());
    }
    let refused = lines(&mut invoice, &json!([line(1, Some(100))])).unwrap_err();
    assert!(
        refused.to_string().contains("credit an amount"),
        "{refused}"
    );
    // A line that was credited in part before can still be credited, and so can an amount.
    lines(&mut invoice, &json!([line(0, Some(100))])).unwrap();
    amount(&mut invoice, 100).unwrap();
    assert_eq!(invoice.object.totals.credited, 300);
}

#[test]
fn a_credit_note_is_divided_exactly_among_fleets() {
    let fleet = |number| Id::from_number(Kind::Fleet, number);
    let of_line = |number, fleet| (Id::from_number(Kind::LineItem, number), fleet);
    let rates = [(100, 0, "0"), (100, 0, "0"), (100, 0, "0")];
    // 240 of 300 are paid, so that 60 are deducted from the amount due, and 40 are refunded.
    let mut invoice = invoice(&rates, 240, "open");
    let requested = json!([line(0, Some(33)), line(1, Some(33)), line(2, Some(34))]);
    let note = lines(&mut invoice, &requested).unwrap().object;
    assert_eq!(note.totals.credited, 60);
    let fleets = [of_line(0, fleet(1)), of_line(2, fleet(2))].into();
    let parts = note.clone().by_fleet(&fleets);
    let found: Vec<_> = parts
        .iter()
        .map(|part| (part.fleet.clone(), part.totals.credited))
        .collect();
    assert_eq!(
        found,
        [(None, 20), (Some(fleet(1)), 19), (Some(fleet(2)), 21)]
    );
    // A refund of the first line's own payment has returned it.
    let first = Id::from_number(Kind::LineItem, 0);
    let returned = |line: &Id| if *line == first { 33 } else { 0 };
    let parts = note.divide(40, &fleets, returned);
    let parts: Vec<_> = parts.into_values().collect();
    assert_eq!(parts, [19, 0, 21]);
    assert_eq!(note.divide(40, &fleets, |_| 34), [(None, 40)].into());
    let of_fleet = CreditNote {
        fleet: Some(fleet(3)),
        ..note
    };
    assert_eq!(of_fleet.clone().by_fleet(&fleets), [of_fleet]);
}
