//! The requests that lead to events about drivers, charge cards, sites and webhooks, and to those that follow from the examples of the document.

use std::sync::atomic::Ordering;

use jiff::{SignedDuration, Timestamp};
use regex_lite::{Captures, Regex};
use serde_json::{Value, json};

use super::events::{operation_of, operation_on};
use super::receiver::Receiver;
use super::wait::wait_for;
use crate::catalog::Operation;
use crate::client::Request;
use crate::context::Context;
use crate::failure::Failure;
use crate::local::move_clock;
use crate::time::written;

/// The number of consecutive failures after which the service considers an endpoint failing.
const FAILURES: usize = 5;

/// The requests that lead to an event.
pub struct Stage<'a> {
    pub context: &'a Context,
    /// The ids of the objects that were created.
    pub created: Vec<String>,
    /// The receiver of an event about webhooks, until the event has arrived.
    pub receiver: Option<Receiver>,
}

/// A fleet with a driver and a vehicle.
pub struct Crew {
    pub fleet: String,
    pub driver: String,
    pub vehicle: String,
}

/// The plug of the vehicles.
pub const STANDARD: &str = "Type2";

impl<'a> Stage<'a> {
    /// Creates a stage without objects.
    pub fn new(context: &'a Context) -> Self {
        Self {
            context,
            created: Vec::new(),
            receiver: None,
        }
    }

    /// Sends the requests that lead to an event. Returns the id of the object that the event concerns.
    pub async fn act(&mut self, name: &str) -> Result<String, Failure> {
        match name {
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
            "batch.completed" => {
                let body = json!({"operation": "create_driver", "bodies": [driver()]});
                self.create("batches", body).await
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
            name if name.starts_with("charge_card.") => self.charge_card(name).await,
            "site.plan_changed" => self.site().await,
            "credit_note.created" => {
                let invoice = self.invoice("invoice.finalized").await?;
                self.create("credit_notes", json!({"invoice": invoice, "amount": 1}))
                    .await
            }
            "reservation.need_short" | "reservation.replanned" => self.need(name).await,
            name if name.starts_with("webhook_") => self.webhook(name).await,
            "charging_session.updated" => self.payment(name).await,
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
            "invoice.updated" | "invoice.deleted" => self.by_example(name).await,
            name if name.starts_with("invoice.") => self.invoice(name).await,
            _ => self.by_example(name).await,
        }
    }

    /// Creates an object with the example of the document, and updates or deletes it if the event reports that.
    async fn by_example(&mut self, name: &str) -> Result<String, Failure> {
        let (kind, operation) = operation_of(name).ok_or_else(no_such_event)?;
        let create = operation_on("create", kind).ok_or_else(no_such_event)?;
        let object = self.send_example(create, "").await?;
        let id = object["id"].as_str().unwrap_or_default().to_owned();
        self.created.push(id.clone());
        if operation.id != create.id {
            self.send_example(operation, &id).await?;
        }
        Ok(id)
    }

    /// Sends the request of an operation with the example of its body, in which fleets, drivers and vehicles are replaced by those of
    /// a crew.
    async fn send_example(&mut self, operation: &Operation, id: &str) -> Result<Value, Failure> {
        let example = operation
            .body
            .as_ref()
            .and_then(|body| body.example.clone());
        let mut body = example.unwrap_or_default();
        if body["name"].is_string() {
            body["name"] = "Triggered by fleet".into();
        }
        let ids = Regex::new("(flt|drv|veh)_[0-9a-f]{32}").map_err(Failure::local)?;
        let mut text = body.to_string();
        if ids.is_match(&text) {
            let crew = self.crew().await?;
            let own = |found: &Captures<'_>| match &found[1] {
                "flt" => crew.fleet.clone(),
                "drv" => crew.driver.clone(),
                _ => crew.vehicle.clone(),
            };
            text = ids.replace_all(&text, own).into_owned();
        }
        let request = Request {
            method: operation.method.clone(),
            path: operation.path.replace("{id}", id),
            body: serde_json::from_str(&text).ok(),
            ..Request::default()
        };
        Ok(self.context.client.send(&request).await?.body)
    }

    pub async fn post(&self, path: &str, body: Value) -> Result<Value, Failure> {
        let response = self.context.client.send(&Request::post(path, body)).await?;
        Ok(response.body)
    }

    /// Creates an object and returns its id.
    pub async fn create(&mut self, resource: &str, body: Value) -> Result<String, Failure> {
        let object = self.post(&format!("/v1/{resource}"), body).await?;
        let id = object["id"].as_str().unwrap_or_default().to_owned();
        self.created.push(id.clone());
        Ok(id)
    }

    pub async fn change(&self, resource: &str, id: &str, body: Value) -> Result<String, Failure> {
        self.post(&format!("/v1/{resource}/{id}"), body).await?;
        Ok(id.to_owned())
    }

    pub async fn delete(&self, resource: &str, id: &str) -> Result<String, Failure> {
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
        self.create("drivers", driver()).await
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

    pub async fn crew(&mut self) -> Result<Crew, Failure> {
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

    /// Creates a webhook endpoint for the inbox of the local runner.
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

    /// Creates a charge card with a random number for a driver.
    async fn charge_card(&mut self, name: &str) -> Result<String, Failure> {
        let driver = self.driver().await?;
        let uid = format!("04{:012X}", fastrand::u64(..1 << 48));
        let body = json!({"driver": driver, "uid": uid});
        let id = self.create("charge_cards", body).await?;
        match name {
            "charge_card.updated" => {
                self.change("charge_cards", &id, json!({"status": "blocked"}))
                    .await
            }
            "charge_card.deleted" => self.delete("charge_cards", &id).await,
            _ => Ok(id),
        }
    }

    /// Creates a site whose plan changes because a vehicle cannot be ready for its departure.
    async fn site(&mut self) -> Result<String, Failure> {
        let limits = json!([{"type": "capacity", "power_w": 11_000}]);
        let body =
            json!({"name": "Triggered site", "time_zone": "Europe/London", "limits": limits});
        let id = self.create("sites", body).await?;
        let vehicle = self.crew().await?.vehicle;
        self.change("vehicles", &vehicle, json!({"site": id}))
            .await?;
        let path = format!("/v1/vehicles/{vehicle}");
        let level = json!({"battery": {"level": 10}});
        self.post(&format!("{path}/telemetry"), level).await?;
        let soon = self.context.client.now().await? + SignedDuration::from_hours(1);
        let departure = json!({"at": written(soon), "target_level": 100});
        let departures = json!({"departures": [departure]});
        self.post(&format!("{path}/departures"), departures).await?;
        Ok(id)
    }

    /// Triggers an event about a webhook endpoint or a delivery. Its deliveries go to a receiver in this process.
    async fn webhook(&mut self, name: &str) -> Result<String, Failure> {
        if !self.context.client.is_loopback() {
            return Err(Failure::Local(format!(
                "{name} needs a service on this machine, whose deliveries a receiver of this command can answer"
            )));
        }
        let status = match name {
            "webhook_endpoint.disabled" => 410,
            _ => 500,
        };
        let receiver = Receiver::start(status).await?;
        let types = ["driver.created", "ping"];
        let body =
            json!({"url": receiver.url(), "enabled_events": types, "description": "Triggered"});
        let receiver = self.receiver.insert(receiver);
        let answers = receiver.answers();
        let id = self.create("webhook_endpoints", body).await?;
        if name == "webhook_delivery.exhausted" {
            self.driver().await?;
            // The wait is divided into steps that are shorter than the time-out of a request.
            for _ in 0..16 {
                move_clock(self.context, 6 * 3_600).await?;
            }
            // The event shows the last attempt, whose id is not known in advance.
            return Ok(String::new());
        }
        let deliveries = if status == 410 { 1 } else { FAILURES };
        for _ in 0..deliveries {
            self.driver().await?;
        }
        if name == "webhook_endpoint.recovered" {
            let failing = self.about(&id, "webhook_endpoint.failing");
            failing.await?;
            answers.store(200, Ordering::Relaxed);
            move_clock(self.context, 3_600).await?;
        }
        Ok(id)
    }

    /// Waits for another event about an object.
    async fn about(&self, id: &str, name: &str) -> Result<Value, Failure> {
        wait_for(self.context, name, id, Timestamp::UNIX_EPOCH).await
    }
}

fn no_such_event() -> Failure {
    Failure::local("no such event")
}

/// The body of a driver.
fn driver() -> Value {
    json!({"name": "Triggered driver", "email": "triggered@fleet.example"})
}
