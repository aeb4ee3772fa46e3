//! Checks that the cost analysis has the same amounts as the invoices and adjustments.

use std::collections::BTreeMap;

use kernel::time::MINUTE;
use serde_json::{Value, json};
use tests::records::Records;

use crate::{World, amount};

impl World {
    /// Checks that the cost analysis of the fleet has the same amounts as all invoices that are not void together with the adjustments
    /// that wait for one, for every grouping.
    pub(super) async fn check_report(&mut self, records: &mut Records) {
        let seed = self.stage.seed;
        let invoices = self.all("invoices").await;
        let mut want: BTreeMap<String, BTreeMap<&str, i64>> = BTreeMap::new();
        for invoice in invoices
            .iter()
            .filter(|invoice| invoice["status"] != "void")
        {
            let currency = invoice["currency"].as_str().expect("a currency");
            let sums = want.entry(currency.to_owned()).or_default();
            let mut add = |name, more: i64| *sums.entry(name).or_default() += more;
            add("paid", amount(invoice, "amount_paid"));
            add("due", amount(invoice, "amount_due"));
            add("credited", amount(&invoice["totals"], "credited"));
            for line in invoice["line_items"].as_array().expect("lines") {
                add("net", amount(line, "net"));
                add("tax", amount(line, "tax"));
                add("gross", amount(line, "amount"));
                match line["type"].as_str() {
                    Some("reservation_fee") => add("reservation_fees", 1),
                    Some("adjustment") => add("adjustments", 1),
                    _ => {}
                }
            }
        }
        // Adjustments that are not on an invoice are in the report.
        let counting = |id: &kernel::Id| {
            let is_it =
                |invoice: &&Value| invoice["id"] == json!(id) && invoice["status"] != "void";
            invoices.iter().any(|invoice| is_it(&invoice))
        };
        for adjustment in self.adjustments().await {
            let billed_by = adjustment.internal.invoice.as_ref();
            let is_elsewhere = json!(adjustment.object.fleet) != json!(self.fleet);
            if is_elsewhere {
                continue;
            }
            let line = &adjustment.object.line;
            let sums = want.entry(adjustment.object.currency.as_str().to_owned());
            let sums = sums.or_default();
            // A refund that has settled a credit does not count as a refund.
            *sums.entry("refunded").or_default() += adjustment.internal.refunded;
            if billed_by.is_some_and(counting) {
                continue;
            }
            let waiting = [
                ("net", line.net),
                ("tax", line.tax),
                ("gross", line.amount),
                ("due", line.amount - adjustment.internal.paid),
                ("paid", adjustment.internal.paid),
                ("adjustments", 1),
            ];
            for (name, more) in waiting {
                *sums.entry(name).or_default() += more;
            }
        }
        // The same holds for sessions whose price is under review and was never final, with our own price.
        for session in self.all("charging_sessions").await {
            if session["review"].is_null() || !session["invoice"].is_null() {
                continue;
            }
            let currency = session["currency"].as_str().expect("a currency");
            let sums = want.entry(currency.to_owned()).or_default();
            let due = amount(&session, "amount_due");
            let (net, tax) = (amount(&session, "net"), amount(&session, "tax"));
            for (name, more) in [("net", net), ("tax", tax), ("gross", due), ("due", due)] {
                *sums.entry(name).or_default() += more;
            }
        }
        for transaction in self.all("transactions").await {
            let subjects = ["charging_session", "reservation", "invoice"];
            let is_of_payment = subjects.iter().any(|name| !transaction[*name].is_null());
            let succeeded = transaction["type"] == "refund" && transaction["status"] == "succeeded";
            // A refund of a top-up is no refund of a payment.
            if succeeded && is_of_payment {
                let currency = transaction["currency"].as_str().expect("a currency");
                let sums = want.entry(currency.to_owned()).or_default();
                *sums.entry("refunded").or_default() += amount(&transaction, "amount");
            }
        }
        for sums in want.values_mut() {
            sums.retain(|_, sum| *sum != 0);
        }
        want.retain(|_, sums| !sums.is_empty());
        let until = self.stage.app.now().plus(MINUTE);
        let mut groupings = vec![None, Some("vehicle"), Some("session")];
        // A report whose worker fails too often has failed, and its message says that it can be requested again.
        for _ in 0..3 {
            let mut requested = Vec::new();
            for group_by in &groupings {
                let parameters = json!({"type": "cost_analysis", "period_start": self.began, "period_end": until,
                    "group_by": group_by});
                let body = json!({"fleet": self.fleet, "parameters": parameters});
                requested.push((*group_by, self.stage.make("/v1/reports", body).await));
            }
            self.rest(records).await;
            for (group_by, id) in requested {
                let report = self.stage.get(&format!("/v1/reports/{id}")).await;
                if report["status"] == "succeeded" {
                    groupings.retain(|grouping| *grouping != group_by);
                    assert_eq!(sums_of(&report), want, "seed {seed}: {group_by:?}");
                }
            }
            if groupings.is_empty() {
                return;
            }
        }
        panic!("seed {seed}: no report by {groupings:?}");
    }
}

/// The sums of a report in each currency, without zeros.
fn sums_of(report: &Value) -> BTreeMap<String, BTreeMap<&'static str, i64>> {
    let mut found = BTreeMap::new();
    for totals in report["totals"].as_array().expect("totals") {
        let names = [
            "net",
            "tax",
            "gross",
            "paid",
            "due",
            "reservation_fees",
            "adjustments",
            "refunded",
            "credited",
        ];
        let sums = names.map(|name| (name, amount(totals, name))).into_iter();
        let sums: BTreeMap<&str, i64> = sums.filter(|(_, sum)| *sum != 0).collect();
        let currency = totals["currency"].as_str().expect("a currency").to_owned();
        let before = (!sums.is_empty()).then(|| found.insert(currency, sums));
        assert_eq!(before.flatten(), None, "{report}");
    }
    found
}
