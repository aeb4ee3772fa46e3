//! The requests that lead to events about reservations, sessions, payments and invoices.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::stage::{Crew, STANDARD, Stage};
use super::wait::{INTERVAL, PATIENCE};
use crate::client::Request;
use crate::failure::Failure;
use crate::local::move_clock;
use crate::time::written;

/// The duration of sessions, in seconds, if the clock is moved.
const CHARGE: u32 = 20 * 60;

/// A free connector.
pub struct Plug {
    station: String,
    connector: String,
    /// `latitude` and `longitude`.
    location: Value,
}

/// An area of the Atlantic that has no stations.
fn nowhere() -> Value {
    json!({"latitude": 0, "longitude": -30})
}

fn session_path(id: &str) -> String {
    format!("/v1/charging_sessions/{id}")
}

impl Stage<'_> {
    async fn card(&mut self, token: &str) -> Result<String, Failure> {
        self.create("payment_methods", json!({"type": "card", "token": token}))
            .await
    }

    /// Charges a session of 20 minutes, which is paid with a card when it ends. Returns the id of the transaction.
    pub async fn payment(&mut self, name: &str) -> Result<String, Failure> {
        let crew = self.crew().await?;
        let card = self
            .card(if name == "service.failed" {
                "tok_declined"
            } else {
                "tok_success"
            })
            .await?;
        let session = self.start_anywhere(&crew, Some(&card)).await?;
        move_clock(self.context, CHARGE).await?;
        self.stop(&session).await?;
        let transaction = self.transaction_of(&card).await?;
        if matches!(name, "service.refunded" | "charging_session.updated") {
            // The refund is a transaction of its own.
            let refund = self
                .post(&format!("/v1/transactions/{transaction}/refund"), json!({}))
                .await?;
            return Ok(match name {
                "service.refunded" => refund["id"].as_str().unwrap_or_default().to_owned(),
                _ => session,
            });
        }
        Ok(transaction)
    }

    /// Waits for the transaction that charged a card.
    async fn transaction_of(&self, card: &str) -> Result<String, Failure> {
        let end = Instant::now() + PATIENCE;
        let request = Request::get("/v1/transactions").with("limit", "100");
        while Instant::now() < end {
            let page = self.context.client.send(&request).await?.body;
            let mut transactions = page["data"].as_array().into_iter().flatten();
            let found = transactions.find(|transaction| transaction["payment_method"] == card);
            if let Some(id) = found.and_then(|transaction| transaction["id"].as_str()) {
                return Ok(id.to_owned());
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Err(Failure::Local(format!(
            "no transaction charged {card} within {PATIENCE:?}"
        )))
    }

    /// The free connectors with the vehicles' plug at stations that can be reserved and are always open, one of each station.
    async fn free_plugs(&self) -> Result<Vec<Plug>, Failure> {
        let request = Request::get("/v1/charging_stations")
            .with("available", "true")
            .with("reservable", "true")
            .with("connector_type[]", STANDARD)
            .with("limit", "100");
        let page = self.context.client.send(&request).await?.body;
        let stations = page["data"].as_array().into_iter().flatten();
        let open = stations.filter(|station| station["capabilities"]["24_7_access"] == true);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let plugs = open.filter_map(|station| {
            let mut connectors = station["connectors"].as_array().into_iter().flatten();
            let connector = connectors.find(|connector| {
                connector["type"] == STANDARD && connector["status"] == "available"
            })?;
            Some(Plug {
                station: text(&station["id"]),
                connector: text(&connector["id"]),
                location: station["location"].clone(),
            })
        });
        let plugs: Vec<Plug> = plugs.collect();
        if plugs.is_empty() {
            Err(Failure::Local(format!(
                "no station has a free {STANDARD} connector; load stations first"
            )))
        } else {
            Ok(plugs)
        }
    }

    /// Starts a session at the first connector that is not needed for a reservation.
    pub async fn start_anywhere(
        &mut self,
        crew: &Crew,
        card: Option<&str>,
    ) -> Result<String, Failure> {
        let mut refused = Failure::local("no station has a free connector");
        for plug in self.free_plugs().await? {
            match self.start(crew, &plug, card).await {
                Err(Failure::Refused(refusal))
                    if refusal.member("code") == Some("charging_session_conflict") =>
                {
                    refused = Failure::Refused(refusal);
                }
                started => return started,
            }
        }
        Err(refused)
    }

    async fn start(
        &mut self,
        crew: &Crew,
        plug: &Plug,
        card: Option<&str>,
    ) -> Result<String, Failure> {
        let mut body = json!({"charging_station": plug.station, "connector": plug.connector, "driver": crew.driver,
            "vehicle": crew.vehicle});
        if let Some(card) = card {
            body["payment_method"] = card.into();
        }
        let id = self.create("charging_sessions", body).await?;
        // A charging network starts it some time after the request.
        let is_active = |session: &Value| session["status"] == "active";
        self.wait_until(&session_path(&id), &["pending"], is_active)
            .await?;
        Ok(id)
    }

    /// Stops a session, unless it has ended already, for example because its connector is reserved for another vehicle.
    pub async fn stop(&self, session: &str) -> Result<(), Failure> {
        let path = format!("{}/stop", session_path(session));
        match self.post(&path, json!({})).await {
            Err(Failure::Refused(refusal))
                if refusal.member("code") == Some("charging_session_state_conflict") =>
            {
                Ok(())
            }
            stopped => stopped.map(drop),
        }
    }

    pub async fn reservation(&mut self, name: &str) -> Result<String, Failure> {
        let crew = self.crew().await?;
        let mut area = match name {
            "reservation.failed" => nowhere(),
            _ => self.free_plugs().await?.swap_remove(0).location,
        };
        area["radius"] = 5_000.into();
        // Reservations are confirmed about 30 minutes before they begin, so one that begins sooner is confirmed at once.
        let minutes = match name {
            "reservation.created" | "reservation.updated" | "reservation.cancelled" => 24 * 60,
            _ => 10,
        };
        let now = self.context.client.now().await?;
        let in_minutes = |minutes| written(now + SignedDuration::from_mins(minutes));
        let body = json!({"driver": crew.driver, "vehicle": crew.vehicle, "connector_type": [STANDARD], "location": area,
            "ideal_start": in_minutes(minutes), "ideal_end": in_minutes(minutes + 60)});
        let id = self.create("reservations", body).await?;
        let path = format!("/v1/reservations/{id}");
        match name {
            "reservation.updated" => {
                self.post(&path, json!({"ideal_end": in_minutes(minutes + 90)}))
                    .await?;
            }
            "reservation.cancelled" => {
                self.post(&format!("{path}/cancel"), json!({})).await?;
            }
            "reservation.failed" => {
                move_clock(self.context, 2 * 3_600).await?;
            }
            "reservation.expired" => {
                self.confirmed(&path).await?;
                move_clock(self.context, 2 * 3_600).await?;
            }
            "reservation.completed" => {
                let reservation = self.confirmed(&path).await?;
                let text = |name: &str| reservation[name].as_str().unwrap_or_default().to_owned();
                let plug = Plug {
                    station: text("charging_station"),
                    connector: text("connector"),
                    location: Value::Null,
                };
                let begin = text("reserved_start").parse::<Timestamp>().unwrap_or(now);
                let wait = begin.as_second() - self.context.client.now().await?.as_second();
                if wait > 0 {
                    move_clock(self.context, u32::try_from(wait).unwrap_or_default() + 1).await?;
                }
                let session = self.start(&crew, &plug, None).await?;
                move_clock(self.context, CHARGE).await?;
                self.stop(&session).await?;
            }
            _ => {}
        }
        Ok(id)
    }

    /// Creates a reservation for the energy that a vehicle needs.
    pub async fn need(&mut self, name: &str) -> Result<String, Failure> {
        let crew = self.crew().await?;
        let mut area = match name {
            "reservation.need_short" => nowhere(),
            _ => self.free_plugs().await?.swap_remove(0).location,
        };
        area["radius"] = 5_000.into();
        let now = self.context.client.now().await?;
        let in_hours = |hours| written(now + SignedDuration::from_hours(hours));
        // A block that begins at once is confirmed at once, and could not be planned again.
        let need = |energy: u32| json!({"energy_wh": energy, "earliest_start": in_hours(12), "ready_by": in_hours(24)});
        let body = json!({"driver": crew.driver, "vehicle": crew.vehicle, "connector_type": [STANDARD], "location": area,
            "need": need(10_000)});
        let id = self.create("reservations", body).await?;
        if name == "reservation.replanned" {
            let body = json!({"need": need(20_000)});
            self.post(&format!("/v1/reservations/{id}"), body).await?;
        }
        Ok(id)
    }

    /// Waits until a reservation is confirmed, and returns it.
    async fn confirmed(&self, path: &str) -> Result<Value, Failure> {
        let is_confirmed = |reservation: &Value| reservation["status"] == "confirmed";
        self.wait_until(path, &["pending"], is_confirmed).await
    }

    /// Waits until a condition is true of the object at a path, and returns the object. Fails as soon as the object has none of these
    /// statuses.
    async fn wait_until(
        &self,
        path: &str,
        statuses: &[&str],
        is_reached: impl Fn(&Value) -> bool,
    ) -> Result<Value, Failure> {
        let end = Instant::now() + PATIENCE;
        loop {
            let object = self.context.client.send(&Request::get(path)).await?.body;
            if is_reached(&object) {
                return Ok(object);
            }
            let status = object["status"].as_str().unwrap_or("?");
            if !statuses.contains(&status) || Instant::now() > end {
                return Err(Failure::Local(format!("{path} is {status}")));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Creates an invoice of a session of 20 minutes.
    pub async fn invoice(&mut self, name: &str) -> Result<String, Failure> {
        let begin = self.context.client.now().await?;
        let crew = self.crew().await?;
        let session = self.start_anywhere(&crew, None).await?;
        move_clock(self.context, CHARGE).await?;
        self.stop(&session).await?;
        // A charging network reports the price some time after the end.
        let has_price =
            |session: &Value| session["status"] == "completed" && !session["cost_source"].is_null();
        let session = self
            .wait_until(&session_path(&session), &["active", "completed"], has_price)
            .await?;
        let end = self.context.client.now().await?;
        let hour = SignedDuration::from_hours(1);
        let body = json!({"fleet": crew.fleet, "period_start": written(begin - hour), "period_end": written(end + hour),
            "currency": session["currency"], "description": "Triggered invoice"});
        let id = self.create("invoices", body).await?;
        let path = format!("/v1/invoices/{id}");
        if name == "invoice.created" {
            return Ok(id);
        }
        let open = self.post(&format!("{path}/finalize"), json!({})).await?;
        match name {
            "invoice.voided" => {
                self.post(&format!("{path}/void"), json!({})).await?;
            }
            "invoice.paid" => {
                let card = self.card("tok_success").await?;
                self.post(&format!("{path}/pay"), json!({"payment_method": card}))
                    .await?;
            }
            "invoice.payment_failed" => {
                let card = self.card("tok_declined").await?;
                let paid = self
                    .post(&format!("{path}/pay"), json!({"payment_method": card}))
                    .await;
                match paid {
                    Err(Failure::Refused(refusal)) if refusal.status == 402 => {}
                    other => {
                        other?;
                    }
                }
            }
            "invoice.overdue" => {
                let due = open["due_date"]
                    .as_str()
                    .and_then(|due| due.parse::<Timestamp>().ok());
                let due = due.ok_or_else(|| Failure::local("the invoice has no due date"))?;
                let wait = due.as_second() - self.context.client.now().await?.as_second() + 3_600;
                move_clock(self.context, u32::try_from(wait).unwrap_or_default()).await?;
            }
            _ => {}
        }
        Ok(id)
    }
}
