//! The end of a simulation: everything is stopped, billed, paid, credited and refunded once.

use std::collections::BTreeSet;

use kernel::time::{MINUTE, days};
use serde_json::{Value, json};
use tests::records::Records;

use crate::{World, amount};

impl World {
    /// Ends every session and reservation, waits until all work is done, and bills and pays the rest.
    pub(super) async fn close(&mut self, records: &mut Records) {
        for session in self.all("charging_sessions").await {
            if session["status"] == "active" {
                let id = session["id"].as_str().expect("an id");
                let path = format!("/v1/charging_sessions/{id}/stop");
                self.stage.post(&path, json!({})).await;
            }
        }
        self.outlast_network(records).await;
        // The last reservation begins in 40 minutes, and waits for 15.
        self.rest(records).await;
        self.charge_unpaid().await;
        self.rest(records).await;
        let mut currencies: BTreeSet<String> = BTreeSet::from([self.currency.to_owned()]);
        for session in self.all("charging_sessions").await {
            currencies.insert(session["currency"].as_str().expect("a currency").to_owned());
        }
        for currency in currencies {
            self.bill_weeks(&currency).await;
        }
        self.rest(records).await;
        self.credit_by_network().await;
        self.rest(records).await;
    }

    /// Creates a session that an invoice bills, so that one is due in every simulation.
    async fn charge_unpaid(&mut self) {
        let body = json!({"charging_station": self.station, "connector": "1", "driver": self.driver, "vehicle": self.vehicles[0]});
        let session = self.post("/v1/charging_sessions", body).await;
        self.stage.pass(20);
        let id = session["id"].as_str().expect("an id");
        self.post(&format!("/v1/charging_sessions/{id}/stop"), json!({}))
            .await;
    }

    /// Makes a network credit a part of a session whose invoice is paid.
    async fn credit_by_network(&mut self) {
        let invoices = self.all("invoices").await;
        let paid = invoices
            .iter()
            .filter(|invoice| invoice["status"] == "paid");
        let paid: Vec<&Value> = paid.map(|invoice| &invoice["id"]).collect();
        let mut sessions = self.all("charging_sessions").await;
        sessions.retain(|session| paid.contains(&&session["invoice"]));
        for network in &mut self.networks {
            if network.credit_one_of(&self.stage, &sessions).await {
                return;
            }
        }
    }

    /// Finalizes and voids the draft of a week, and issues it again with a credit of the smallest possible amount.
    async fn void_and_credit(&mut self, draft: Value, again: &Value) -> Value {
        let path =
            |invoice: &Value| format!("/v1/invoices/{}", invoice["id"].as_str().expect("an id"));
        self.post(&format!("{}/finalize", path(&draft)), json!({}))
            .await;
        self.post(&format!("{}/void", path(&draft)), json!({}))
            .await;
        let draft = self.post("/v1/invoices", again.clone()).await;
        self.post(&format!("{}/finalize", path(&draft)), json!({}))
            .await;
        let body = json!({"invoice": draft["id"], "amount": 1});
        self.post("/v1/credit_notes", body).await;
        self.stage.get(&path(&draft)).await
    }

    /// Refunds the smallest possible amount of the payment of an invoice.
    async fn refund_a_unit(&mut self, invoice: &Value) {
        let id = invoice["id"].as_str().expect("an id");
        let charges = format!("/v1/transactions?invoice={id}&type=charge&status=succeeded");
        let charges = self.stage.get(&charges).await;
        let charge = charges["data"][0]["id"].as_str().expect("a charge");
        let path = format!("/v1/transactions/{charge}/refund");
        self.post(&path, json!({"amount": 1})).await;
    }

    /// Waits until the network has finished its actions, and until the three days have passed after which a session is billed without
    /// a CDR.
    async fn outlast_network(&mut self, records: &mut Records) {
        let mut quiet = 0;
        for round in 0.. {
            self.stage.settle(records).await;
            if self.stage.is_lossy() && round % 2 == 1 {
                self.stage.sweep().await;
            }
            if quiet > 4 {
                return;
            }
            self.stage.pass(24 * 60);
            self.act_at_networks().await;
            let now = self.stage.app.now();
            let is_busy = self.networks.iter().any(|network| network.is_busy(now));
            quiet = if is_busy { 0 } else { quiet + 1 };
        }
    }

    /// Bills each week separately, and pays. The first invoice with an amount due is voided, billed again, credited and refunded, so
    /// that every simulation has each kind of credit note.
    async fn bill_weeks(&mut self, currency: &str) {
        let end = self.stage.app.now().plus(MINUTE);
        let mut from = self.began;
        let mut is_credited = false;
        while from < end {
            let until = from.plus(days(7)).min(end);
            let body = json!({"period_start": from, "period_end": until, "fleet": self.fleet, "currency": currency});
            from = until;
            let mut invoice = self.post("/v1/invoices", body.clone()).await;
            if invoice["line_items"] == json!([]) {
                continue;
            }
            let credits = !is_credited && amount(&invoice, "amount_due") > 1;
            if credits {
                invoice = self.void_and_credit(invoice, &body).await;
                is_credited = true;
            }
            let path = format!("/v1/invoices/{}", invoice["id"].as_str().expect("an id"));
            let finalize = format!("{path}/finalize");
            let open = if credits {
                invoice
            } else {
                self.stage.post(&finalize, json!({})).await.1
            };
            if open["status"] == "open" {
                let body = json!({"payment_method": self.methods[0]});
                let (status, paid) = self.stage.post(&format!("{path}/pay"), body).await;
                assert_eq!((status, &paid["status"]), (200, &json!("paid")), "{paid}");
                if credits {
                    self.refund_a_unit(&paid).await;
                }
            }
        }
    }
}
