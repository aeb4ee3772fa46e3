//! Steps of the simulation about charging and its payment: sessions, reservations, invoices, refunds and credits.

use kernel::time::{MINUTE, minutes};
use serde_json::{Value, json};

use crate::World;

impl World {
    pub(super) async fn start(&mut self) {
        let place = self.stage.dice.below(2) as usize;
        let method = self.method();
        let body = json!({"charging_station": self.station, "connector": (["1", "2"][place]), "driver": self.driver,
            "vehicle": self.vehicles[place], "payment_method": method});
        self.stage.post("/v1/charging_sessions", body).await;
    }

    /// Creates a reservation. Usually the vehicle does not come, and the fee is due.
    pub(super) async fn reserve(&mut self) {
        let method = self.method();
        let soon = |count: i64| self.stage.app.now().plus(minutes(count));
        let body = json!({"driver": self.driver, "vehicle": self.stage.one_of(&self.vehicles), "connector_type": ["Type2"],
            "ideal_start": soon(40), "ideal_end": soon(70), "payment_method": method,
            "location": {"latitude": 10.0, "longitude": 10.0, "radius": 500}});
        let (status, reservation) = self.stage.post("/v1/reservations", body).await;
        assert_eq!(status, 200, "seed {}: {reservation}", self.stage.seed);
    }

    pub(super) async fn stop(&mut self) {
        if let Some(id) = self.any("charging_sessions").await {
            let path = format!("/v1/charging_sessions/{id}/stop");
            self.stage.post(&path, json!({})).await;
        }
    }

    /// Creates an invoice of everything so far, usually in the fleet's currency.
    pub(super) async fn invoice(&mut self) -> (u16, Value) {
        let until = self.stage.app.now().plus(MINUTE);
        let currency = if self.stage.dice.percent(30) {
            self.stage.one_of(&self.networks[0].currencies)
        } else {
            None
        };
        let body = json!({"period_start": self.began, "period_end": until, "fleet": self.fleet, "currency": currency});
        self.stage.post("/v1/invoices", body).await
    }

    pub(super) async fn pay(&mut self) {
        let method = self.stage.one_of(&self.methods);
        self.act("invoices", "pay", json!({"payment_method": method}))
            .await;
    }

    /// Refunds a charge, or a part of it, to its source or to a wallet, or the top-ups of the fleet.
    pub(super) async fn refund(&mut self) {
        if self.stage.dice.percent(40) {
            let path = format!("/v1/fleets/{}", self.fleet);
            self.empty_wallet(&path).await;
        }
        let mut body = json!({});
        if self.stage.dice.percent(60) {
            body["amount"] = json!(1 + self.stage.dice.below(400));
        }
        if self.stage.dice.percent(30) {
            body["destination"] = json!("wallet");
        }
        self.act("transactions", "refund", body).await;
    }

    /// Credits an amount or a line of an invoice.
    pub(super) async fn credit(&mut self) {
        let Some(id) = self.any("invoices").await else {
            return;
        };
        let mut body = json!({"invoice": id});
        let invoice = self.stage.get(&format!("/v1/invoices/{id}")).await;
        let lines = invoice["line_items"].as_array();
        let lines: Vec<&Value> = lines.into_iter().flatten().collect();
        match self.stage.one_of(&lines) {
            Some(line) if self.stage.dice.percent(40) => {
                body["lines"] = json!([{"line_item": line["id"]}]);
            }
            _ => body["amount"] = json!(1 + self.stage.dice.below(600)),
        }
        if self.stage.dice.percent(30) {
            body["destination"] = json!("wallet");
        }
        self.stage.post("/v1/credit_notes", body).await;
    }

    pub(super) async fn delete(&mut self) {
        if let Some(id) = self.any("invoices").await {
            self.stage.delete(&format!("/v1/invoices/{id}")).await;
        }
    }
}
