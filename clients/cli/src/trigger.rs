//! `fleet trigger`: makes an event happen in test mode by creating the objects that lead to it, as an integration would.

use std::time::Duration;

use clap::ArgMatches;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::Request;
use crate::commands::CATALOG;
use crate::context::Context;
use crate::failure::Failure;
use crate::local::{move_clock, spinner};
use crate::output::{self, Form};
use crate::time::written;

/// An event that the command can make happen.
pub struct Event {
    /// Its type.
    pub name: &'static str,
    /// Whether the clock of the local runner has to be moved.
    pub moves_clock: bool,
    /// What the command does for it.
    pub about: &'static str,
}

const fn event(name: &'static str, about: &'static str) -> Event {
    Event {
        name,
        moves_clock: false,
        about,
    }
}

const fn later(name: &'static str, about: &'static str) -> Event {
    Event {
        name,
        moves_clock: true,
        about,
    }
}

/// The events that the command can make happen, in alphabetical order.
pub static EVENTS: &[Event] = &[
    event(
        "charging_session.completed",
        "starts a session and stops it",
    ),
    event(
        "charging_session.started",
        "starts a session at a free connector",
    ),
    event("driver.attached", "attaches a new driver to a new fleet"),
    event("driver.created", "creates a driver"),
    event("driver.deleted", "creates a driver and deletes it"),
    event(
        "driver.detached",
        "attaches a new driver to a new fleet and detaches it",
    ),
    event(
        "driver.updated",
        "creates a driver and changes its phone number",
    ),
    event("fleet.created", "creates a fleet"),
    event("fleet.deleted", "creates a fleet and deletes it"),
    event(
        "fleet.updated",
        "creates a fleet and changes its description",
    ),
    later(
        "invoice.created",
        "charges for 20 minutes and creates an invoice",
    ),
    later(
        "invoice.finalized",
        "charges for 20 minutes, creates an invoice and finalizes it",
    ),
    later(
        "invoice.overdue",
        "finalizes an invoice and moves the clock beyond its due date",
    ),
    later("invoice.paid", "finalizes an invoice and pays it"),
    later(
        "invoice.payment_failed",
        "finalizes an invoice and pays it with a card that is declined",
    ),
    later("invoice.voided", "finalizes an invoice and voids it"),
    event(
        "ping",
        "creates a webhook endpoint at the local runner's inbox and tests it",
    ),
    event("policy.created", "creates a policy"),
    event("policy.deleted", "creates a policy and deletes it"),
    event("policy.updated", "creates a policy and makes it inactive"),
    event("report.succeeded", "creates a report"),
    event(
        "reservation.cancelled",
        "creates a reservation and cancels it",
    ),
    later(
        "reservation.completed",
        "charges within a confirmed reservation",
    ),
    event(
        "reservation.confirmed",
        "creates a reservation that begins in ten minutes",
    ),
    event("reservation.created", "creates a reservation"),
    later("reservation.expired", "lets a confirmed reservation pass"),
    event(
        "reservation.updated",
        "creates a reservation and changes its end",
    ),
    later(
        "service.failed",
        "charges for 20 minutes, to be paid with a card that is declined",
    ),
    later(
        "service.refunded",
        "charges for 20 minutes, paid with a card, and refunds it",
    ),
    later(
        "service.succeeded",
        "charges for 20 minutes, paid with a card",
    ),
    event("vehicle.created", "creates a vehicle"),
    event("vehicle.deleted", "creates a vehicle and deletes it"),
    event("vehicle.updated", "creates a vehicle and changes its plate"),
];

/// How long the command waits for the event.
const PATIENCE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(300);

/// How long sessions charge, in seconds, where the clock is moved.
const CHARGE: u32 = 20 * 60;

/// Runs the command.
///
/// # Errors
/// The key is one of live mode, the event needs the clock to be moved and that is not permitted, or a request fails.
pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    if matches.get_flag("list") {
        return list(context);
    }
    let name = matches
        .get_one::<String>("event")
        .map_or("", String::as_str);
    let event = EVENTS.iter().find(|event| event.name == name);
    let event = event.ok_or_else(|| Failure::local("no such event"))?;
    context.needs_key()?;
    let key = context
        .client
        .settings
        .api_key
        .as_deref()
        .unwrap_or_default();
    if !key.contains("_test_") {
        return Err(Failure::local(
            "events are triggered in test mode only: this is not a test key",
        ));
    }
    if event.moves_clock && !matches.get_flag("advance-clock") {
        return Err(Failure::Local(format!(
            "{name} needs the local runner's clock to be moved; permit it with --advance-clock"
        )));
    }
    let begin = context.client.now().await?;
    let bar = spinner(context, &format!("making {name} happen"));
    let mut stage = Stage {
        context,
        created: Vec::new(),
    };
    let happened = async {
        let object = stage.act(name).await?;
        wait_for(context, name, &object, begin).await
    };
    let happened = happened.await;
    bar.finish_and_clear();
    let left = stage.created.join(" ");
    let event = happened.inspect_err(|_| {
        if !left.is_empty() {
            context.note(&format!("Created before the failure: {left}"));
        }
    })?;
    context.note(&format!("Created for it: {left}"));
    match &context.form {
        Form::Text { .. } => {
            let text = |name: &str| event[name].as_str().unwrap_or("?");
            output::print(&format!(
                "{}\t{}\t{}",
                text("id"),
                text("type"),
                text("created")
            ))
        }
        form => form.object(&event),
    }
}

/// Lists the events that can be triggered, and the others.
fn list(context: &Context) -> Result<(), Failure> {
    let known = |name: &String| EVENTS.iter().find(|event| event.name == name);
    let rows: Vec<Value> = CATALOG
        .event_types
        .iter()
        .map(|name| match known(name) {
            Some(event) => json!({"type": name, "triggers": true, "needs_clock": event.moves_clock, "does": event.about}),
            None => json!({"type": name, "triggers": false, "needs_clock": false,
                "does": "cannot be made happen through the API alone"}),
        })
        .collect();
    match &context.form {
        Form::Text { .. } => rows.iter().try_for_each(|row| {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            let clock = match row["needs_clock"] == true {
                true => " (--advance-clock)",
                false => "",
            };
            let sign = if row["triggers"] == true { " " } else { "-" };
            output::print(&format!(
                "{sign} {:<28} {}{clock}",
                text("type"),
                text("does")
            ))
        }),
        form => form.list(&rows),
    }
}

/// Waits until an event of that type about that object is listed.
async fn wait_for(
    context: &Context,
    name: &str,
    object: &str,
    begin: Timestamp,
) -> Result<Value, Failure> {
    let request = Request::get("/v1/events")
        .with("type", name)
        .with("created[gte]", written(begin))
        .with("limit", "100");
    let end = Instant::now() + PATIENCE;
    loop {
        let page = context.client.send(&request).await?.body;
        let mut events = page["data"].as_array().into_iter().flatten();
        if let Some(event) = events.find(|event| is_about(event, object)) {
            return Ok(event.clone());
        }
        if Instant::now() > end {
            return Err(Failure::Local(format!(
                "no {name} about {object} within {PATIENCE:?}"
            )));
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Whether an event is about an object. That of a test delivery is about nothing that has an id.
fn is_about(event: &Value, object: &str) -> bool {
    object.is_empty() || event["data"]["object"]["id"] == object
}

/// The requests that lead to an event.
struct Stage<'a> {
    context: &'a Context,
    /// The ids of what was created.
    created: Vec<String>,
}

/// A fleet with a driver and a vehicle.
struct Crew {
    fleet: String,
    driver: String,
    vehicle: String,
}

/// A free connector.
struct Plug {
    station: String,
    connector: String,
    /// `latitude` and `longitude`.
    location: Value,
}

/// The plug of the vehicles.
const STANDARD: &str = "Type2";

impl Stage<'_> {
    /// Sends the requests that lead to an event. Returns the id of the object that it is about.
    async fn act(&mut self, name: &str) -> Result<String, Failure> {
        match name {
            "fleet.created" => self.fleet().await,
            "fleet.updated" => {
                let id = self.fleet().await?;
                self.change("fleets", &id, json!({"description": "Triggered"}))
                    .await
            }
            "fleet.deleted" => {
                let id = self.fleet().await?;
                self.delete("fleets", &id).await
            }
            "driver.created" => self.driver().await,
            "driver.updated" => {
                let id = self.driver().await?;
                self.change("drivers", &id, json!({"phone": "+44 20 7946 0000"}))
                    .await
            }
            "driver.deleted" => {
                let id = self.driver().await?;
                self.delete("drivers", &id).await
            }
            "driver.attached" => Ok(self.attached().await?.1),
            "driver.detached" => {
                let (fleet, driver) = self.attached().await?;
                self.post(
                    &format!("/v1/drivers/{driver}/detach"),
                    json!({"fleet": fleet}),
                )
                .await?;
                Ok(driver)
            }
            "vehicle.created" => Ok(self.crew().await?.vehicle),
            "vehicle.updated" => {
                let id = self.crew().await?.vehicle;
                self.change("vehicles", &id, json!({"registration_plate": "TR 2"}))
                    .await
            }
            "vehicle.deleted" => {
                let id = self.crew().await?.vehicle;
                self.delete("vehicles", &id).await
            }
            "policy.created" => self.policy().await,
            "policy.updated" => {
                let id = self.policy().await?;
                self.change("policies", &id, json!({"status": "inactive"}))
                    .await
            }
            "policy.deleted" => {
                let id = self.policy().await?;
                self.delete("policies", &id).await
            }
            "report.succeeded" => self.create("reports", json!({})).await,
            "ping" => {
                let id = self.endpoint().await?;
                let event = self
                    .post(&format!("/v1/webhook_endpoints/{id}/test"), json!({}))
                    .await?;
                let about = event["data"]["object"]["id"].as_str();
                Ok(about.unwrap_or_default().to_owned())
            }
            name if name.starts_with("service.") => self.payment(name).await,
            name if name.starts_with("charging_session.") => {
                let crew = self.crew().await?;
                let session = self.start_anywhere(&crew, None).await?;
                if name.ends_with(".completed") {
                    self.stop(&session).await?;
                }
                Ok(session)
            }
            name if name.starts_with("reservation.") => self.reservation(name).await,
            name if name.starts_with("invoice.") => self.invoice(name).await,
            _ => Err(Failure::local("no such event")),
        }
    }

    async fn post(&self, path: &str, body: Value) -> Result<Value, Failure> {
        let response = self.context.client.send(&Request::post(path, body)).await?;
        Ok(response.body)
    }

    /// Creates an object and returns its id.
    async fn create(&mut self, resource: &str, body: Value) -> Result<String, Failure> {
        let made = self.post(&format!("/v1/{resource}"), body).await?;
        let id = made["id"].as_str().unwrap_or_default().to_owned();
        self.created.push(id.clone());
        Ok(id)
    }

    async fn change(&self, resource: &str, id: &str, body: Value) -> Result<String, Failure> {
        self.post(&format!("/v1/{resource}/{id}"), body).await?;
        Ok(id.to_owned())
    }

    async fn delete(&self, resource: &str, id: &str) -> Result<String, Failure> {
        let request = Request {
            method: "DELETE".into(),
            path: format!("/v1/{resource}/{id}"),
            ..Request::default()
        };
        self.context.client.send(&request).await?;
        Ok(id.to_owned())
    }

    async fn fleet(&mut self) -> Result<String, Failure> {
        let address = json!({"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"});
        let body = json!({"name": "Triggered fleet", "email": "triggered@fleet.example", "address": address});
        self.create("fleets", body).await
    }

    async fn driver(&mut self) -> Result<String, Failure> {
        let body = json!({"name": "Triggered driver", "email": "triggered@fleet.example"});
        self.create("drivers", body).await
    }

    async fn attached(&mut self) -> Result<(String, String), Failure> {
        let (fleet, driver) = (self.fleet().await?, self.driver().await?);
        self.post(
            &format!("/v1/drivers/{driver}/attach"),
            json!({"fleet": fleet}),
        )
        .await?;
        Ok((fleet, driver))
    }

    async fn crew(&mut self) -> Result<Crew, Failure> {
        let (fleet, driver) = self.attached().await?;
        let vin = format!("TRIGGERED{:08}", fastrand::u32(..100_000_000));
        let body = json!({"fleet": fleet, "registration_plate": "TR 1", "vin": vin, "battery_capacity": 60_000,
            "charging_standard": STANDARD});
        let vehicle = self.create("vehicles", body).await?;
        Ok(Crew {
            fleet,
            driver,
            vehicle,
        })
    }

    async fn policy(&mut self) -> Result<String, Failure> {
        let body = json!({"name": "Triggered policy", "rules": {"denied_operators": ["Nobody"]}});
        self.create("policies", body).await
    }

    /// A webhook endpoint at the inbox of the local runner.
    async fn endpoint(&mut self) -> Result<String, Failure> {
        let client = &self.context.client;
        let inbox = client
            .settings
            .base_url
            .join("/_local/inbox")
            .map_err(Failure::local)?;
        crate::local::send(self.context, &Request::get("/_local/inbox")).await?;
        let body =
            json!({"url": inbox.as_str(), "enabled_events": ["ping"], "description": "Triggered"});
        self.create("webhook_endpoints", body).await
    }

    async fn card(&mut self, token: &str) -> Result<String, Failure> {
        self.create("payment_methods", json!({"type": "card", "token": token}))
            .await
    }

    /// A session of 20 minutes that is paid with a card when it ends. Returns the id of the transaction.
    async fn payment(&mut self, name: &str) -> Result<String, Failure> {
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
        if name == "service.refunded" {
            // The refund is a transaction of its own.
            let refund = self
                .post(&format!("/v1/transactions/{transaction}/refund"), json!({}))
                .await?;
            return Ok(refund["id"].as_str().unwrap_or_default().to_owned());
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
            let found = transactions.find(|one| one["payment_method"] == card);
            if let Some(id) = found.and_then(|one| one["id"].as_str()) {
                return Ok(id.to_owned());
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Err(Failure::Local(format!(
            "no transaction charged {card} within {PATIENCE:?}"
        )))
    }

    /// The free connectors of the vehicles' plug at stations that can be reserved and are always open, one of each station.
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
            let connector =
                connectors.find(|one| one["type"] == STANDARD && one["status"] == "available")?;
            Some(Plug {
                station: text(&station["id"]),
                connector: text(&connector["id"]),
                location: station["location"].clone(),
            })
        });
        let plugs: Vec<Plug> = plugs.collect();
        match plugs.is_empty() {
            false => Ok(plugs),
            true => Err(Failure::Local(format!(
                "no station has a free {STANDARD} connector; load stations first"
            ))),
        }
    }

    /// Starts a session at the first connector that no reservation needs.
    async fn start_anywhere(&mut self, crew: &Crew, card: Option<&str>) -> Result<String, Failure> {
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
        self.create("charging_sessions", body).await
    }

    /// Stops a session, unless it has ended by itself, as when its connector is reserved for another vehicle.
    async fn stop(&self, session: &str) -> Result<(), Failure> {
        let path = format!("/v1/charging_sessions/{session}/stop");
        match self.post(&path, json!({})).await {
            Err(Failure::Refused(refusal))
                if refusal.member("code") == Some("charging_session_state_conflict") =>
            {
                Ok(())
            }
            stopped => stopped.map(drop),
        }
    }

    async fn reservation(&mut self, name: &str) -> Result<String, Failure> {
        let crew = self.crew().await?;
        let mut area = self.free_plugs().await?.swap_remove(0).location;
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

    /// Waits until a reservation is confirmed, and returns it.
    async fn confirmed(&self, path: &str) -> Result<Value, Failure> {
        let end = Instant::now() + PATIENCE;
        loop {
            let reservation = self.context.client.send(&Request::get(path)).await?.body;
            match reservation["status"].as_str() {
                Some("confirmed") => return Ok(reservation),
                Some("pending") if Instant::now() < end => tokio::time::sleep(INTERVAL).await,
                status => {
                    let status = status.unwrap_or("?");
                    return Err(Failure::Local(format!(
                        "the reservation is {status} instead of confirmed"
                    )));
                }
            }
        }
    }

    /// An invoice of a session of 20 minutes.
    async fn invoice(&mut self, name: &str) -> Result<String, Failure> {
        let begin = self.context.client.now().await?;
        let crew = self.crew().await?;
        let session = self.start_anywhere(&crew, None).await?;
        move_clock(self.context, CHARGE).await?;
        self.stop(&session).await?;
        let session = self
            .context
            .client
            .send(&Request::get(format!("/v1/charging_sessions/{session}")))
            .await?;
        let end = self.context.client.now().await?;
        let hour = SignedDuration::from_hours(1);
        let body = json!({"fleet": crew.fleet, "period_start": written(begin - hour), "period_end": written(end + hour),
            "currency": session.body["currency"], "description": "Triggered invoice"});
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_that_can_be_triggered_is_one_of_the_document() {
        for event in EVENTS {
            assert!(
                CATALOG.event_types.iter().any(|name| name == event.name),
                "{}",
                event.name
            );
        }
        assert!(EVENTS.is_sorted_by_key(|event| event.name));
    }
}
