//! Checks that the paid amounts, the transactions, the payments at the provider and the wallet agree.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Books, World, amount};

impl World {
    /// Checks that the paid amounts of sessions and reservations, the transactions, the payments at the provider and the balance of
    /// the wallet agree.
    pub(super) async fn check_transactions(
        &self,
        sessions: &[Value],
        fees: &[Value],
        books: &Books<'_>,
        credited: i64,
    ) -> i64 {
        let seed = self.stage.seed;
        let Books {
            invoices,
            transactions,
            ..
        } = books;
        let done = transactions
            .iter()
            .filter(|transaction| transaction["status"] != "failed");
        let done: Vec<&Value> = done.collect();
        for transaction in &done {
            assert_eq!(
                transaction["status"], "succeeded",
                "seed {seed}: {transaction}"
            );
        }
        let sum = |keep: &dyn Fn(&Value) -> bool| -> i64 {
            let kept = done.iter().filter(|transaction| keep(transaction));
            kept.map(|transaction| amount(transaction, "amount")).sum()
        };
        let charge = |transaction: &Value| transaction["type"] == "charge";
        let by_wallet =
            |transaction: &Value| transaction["payment_method"] == json!(self.methods[2]);
        let bills = sessions.iter().chain(fees);
        let paid: i64 = bills.map(|bill| amount(bill, "amount_paid")).sum();
        // The credits of a paid invoice, and the amounts that credits of networks returned before, were not charged with it.
        let paid_invoices = || {
            invoices
                .iter()
                .filter(|invoice| invoice["status"] == "paid")
        };
        let lines = paid_invoices().filter_map(|invoice| invoice["line_items"].as_array());
        let lines = lines.flatten().filter(|line| line["type"] == "adjustment");
        let settled: BTreeMap<&str, i64> = books
            .adjustments
            .iter()
            .map(|adjustment| (adjustment.object.line.id.as_str(), adjustment.internal.paid))
            .collect();
        let before = |line: &Value| settled[line["id"].as_str().expect("an id")];
        let adjusted: i64 = lines
            .map(|line| amount(line, "amount") - before(line))
            .sum();
        let off: i64 = paid_invoices()
            .map(|invoice| amount(&invoice["totals"], "credited"))
            .sum();
        let charged = sum(&charge);
        assert_eq!(
            paid + adjusted - off,
            charged,
            "seed {seed}: paid and charged"
        );
        let (taken, given) = self.taken();
        let by_card = sum(&|transaction| charge(transaction) && !by_wallet(transaction));
        assert_eq!(taken, by_card, "seed {seed}: taken and sent");
        let to_wallet =
            |transaction: &Value| transaction["destination"] == "wallet" || by_wallet(transaction);
        let of_fleet = |transaction: &Value| {
            let id = transaction["id"].as_str().expect("an id");
            books.to_fleet.contains(id)
        };
        let back = sum(&|transaction| !charge(transaction) && !to_wallet(transaction));
        assert_eq!(given, back, "seed {seed}: refunded and sent");
        let fleet = self.stage.get(&format!("/v1/fleets/{}", self.fleet)).await;
        let came = credited
            + sum(&|transaction| {
                !charge(transaction) && to_wallet(transaction) && of_fleet(transaction)
            });
        let went = sum(&|transaction| charge(transaction) && by_wallet(transaction));
        let holds = amount(&fleet, "wallet_balance");
        assert_eq!(holds, came - went, "seed {seed}: the wallet");
        // Every refund belongs to a charge. The refunds of a charge never exceed the charge, and equal the amounts that charge, session and
        // invoice show.
        for transaction in done.iter().filter(|transaction| !charge(transaction)) {
            assert!(
                !transaction["charge"].is_null(),
                "seed {seed}: {transaction}"
            );
        }
        for transaction in done.iter().filter(|transaction| charge(transaction)) {
            let refunded = sum(&|other| other["charge"] == transaction["id"]);
            assert!(
                refunded <= amount(transaction, "amount"),
                "seed {seed}: {transaction}"
            );
            assert_eq!(
                amount(transaction, "amount_refunded"),
                refunded,
                "seed {seed}: {transaction}"
            );
        }
        for session in sessions {
            let refund = |other: &Value| other["type"] == "refund";
            let refunded =
                sum(&|other| refund(other) && other["charging_session"] == session["id"]);
            assert_eq!(
                amount(session, "amount_refunded"),
                refunded,
                "seed {seed}: {session}"
            );
        }
        for invoice in invoices
            .iter()
            .filter(|invoice| invoice["status"] != "void")
        {
            let lines = invoice["line_items"].as_array().expect("lines");
            let bills = |name: &str, id: &Value| {
                lines.iter().any(|line| {
                    let own = match name {
                        "charging_session" => line["type"] == "energy_session",
                        _ => line["type"] == "reservation_fee",
                    };
                    own && !id.is_null() && line[name] == *id
                })
            };
            let refunded = sum(&|transaction| {
                let own = transaction["invoice"] == invoice["id"]
                    || bills("charging_session", &transaction["charging_session"])
                    || bills("reservation", &transaction["reservation"]);
                transaction["type"] == "refund" && own
            });
            let credits = books.adjustments.iter().filter(|adjustment| {
                let line = json!(adjustment.object.line.id);
                lines.iter().any(|other| other["id"] == line)
            });
            let settled: i64 = credits.map(|credit| credit.internal.refunded).sum();
            let shown = amount(&invoice["totals"], "refunded");
            assert_eq!(shown, refunded + settled, "seed {seed}: {invoice}");
            let paid = amount(&invoice["totals"], "paid");
            assert!(shown <= paid, "seed {seed}: {invoice}");
        }
        paid
    }

    /// The amounts that the provider charged and refunded, besides top-ups.
    fn taken(&self) -> (i64, i64) {
        let books = self.till.books();
        let others = books.charges.iter().filter(|(_, record)| {
            record.succeeded() && record.charge.description != "Wallet top-up"
        });
        others.fold((0, 0), |(taken, given), (key, record)| {
            let refunded = books.refunded(key);
            (taken + record.charge.amount.amount, given + refunded)
        })
    }
}
