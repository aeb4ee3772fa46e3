//! Checks that each session, fee and adjustment is on one valid invoice, and that the lines add up.

use std::collections::BTreeMap;

use models::{Adjustment, Stored};
use serde_json::{Value, json};

use crate::{World, amount};

impl World {
    /// Checks that a session, a fee or an adjustment is on one valid invoice, and that the lines add up.
    pub(super) fn check_invoices(
        &self,
        sessions: &[Value],
        fees: &[Value],
        adjustments: &[Stored<Adjustment>],
        invoices: &[Value],
    ) {
        let seed = self.stage.seed;
        for adjustment in adjustments {
            let waits = adjustment.internal.apply_at;
            assert_eq!(
                waits, None,
                "seed {seed}: {:?} is not given",
                adjustment.object
            );
            let internal = &adjustment.internal;
            let billed_by = json!(internal.invoice);
            let mut paid = invoices
                .iter()
                .filter(|invoice| invoice["status"] == "paid");
            let is_paid = paid.any(|invoice| invoice["id"] == billed_by);
            assert_eq!(
                internal.invoice_paid, is_paid,
                "seed {seed}: {adjustment:?}"
            );
        }
        // A credit note is not a line, unless its invoice is void.
        let is_line = |adjustment: &&Stored<Adjustment>| {
            let counts = |invoice: &Value| {
                invoice["status"] != "void" && invoice["id"] == json!(adjustment.internal.invoice)
            };
            !adjustment.is_credit_note() || !invoices.iter().any(counts)
        };
        let mut waiting: BTreeMap<&str, &Adjustment> = adjustments
            .iter()
            .filter(is_line)
            .map(|adjustment| (adjustment.object.line.id.as_str(), &adjustment.object))
            .collect();
        let by_id: BTreeMap<_, _> = sessions
            .iter()
            .chain(fees)
            .map(|bill| (bill["id"].to_string(), bill))
            .collect();
        let mut billed = BTreeMap::new();
        for invoice in invoices
            .iter()
            .filter(|invoice| invoice["status"] != "void")
        {
            let lines = invoice["line_items"].as_array().expect("lines");
            assert_eq!(invoice["line_items_has_more"], false);
            let total: i64 = lines.iter().map(|line| amount(line, "amount")).sum();
            let totals = &invoice["totals"];
            let whole = amount(invoice, "amount_due") + amount(invoice, "amount_paid");
            let credited = amount(totals, "credited");
            assert_eq!(total, whole + credited, "seed {seed}: {invoice}");
            self.check_totals_of(invoice, lines);
            assert!(amount(invoice, "amount_due") >= 0, "seed {seed}: {invoice}");
            for line in lines {
                if line["type"] == "adjustment" {
                    let id = line["id"].as_str().expect("an id");
                    let adjustment = waiting.remove(id);
                    let adjustment =
                        adjustment.unwrap_or_else(|| panic!("seed {seed}: twice: {line}"));
                    assert_eq!(amount(line, "amount"), adjustment.line.amount);
                    assert_eq!(invoice["currency"], adjustment.currency.as_str());
                    continue;
                }
                let what = match line["type"].as_str() {
                    Some("reservation_fee") => &line["reservation"],
                    _ => &line["charging_session"],
                };
                let bill = by_id[&what.to_string()];
                let before = billed.insert(bill["id"].to_string(), &invoice["status"]);
                assert_eq!(before, None, "seed {seed}: {bill} is billed twice");
                let gross = amount(bill, "amount_due") + amount(bill, "amount_paid");
                assert!(gross >= 0, "seed {seed}: {bill}");
                assert_eq!(amount(line, "amount"), gross, "seed {seed}: {line}");
                assert_eq!(amount(line, "net") + amount(line, "tax"), gross);
            }
        }
        for bill in sessions.iter().chain(fees) {
            let open = match billed.get(&bill["id"].to_string()) {
                Some(status) => **status != "paid",
                None => false,
            };
            // Everything was billed or paid at the end, and everything that is on no open invoice is paid.
            let due = amount(bill, "amount_due");
            let goes_on = bill["status"] == "active";
            let waits = !bill["review"].is_null() && bill["invoice"].is_null();
            assert!(!waits || !billed.contains_key(&bill["id"].to_string()));
            let may_be_due = open || goes_on || waits;
            assert!(due == 0 || may_be_due, "seed {seed}: {bill}");
        }
        // Only credits are left, for an invoice that is large enough for them.
        let mut sums: BTreeMap<_, i64> = BTreeMap::new();
        for adjustment in waiting.into_values() {
            *sums
                .entry(adjustment.line.charging_session.clone())
                .or_default() += adjustment.line.amount;
        }
        for (session, sum) in sums {
            assert!(sum < 0, "seed {seed}: {sum} of {session:?} is not billed");
        }
    }
}
