//! The common setup of the tests of sessions, reservations and charge cards: a station of the operator, and a driver with a vehicle.
//!
//! Queues process messages in the background, and the service sends requests to the operator. Therefore results have no fixed time: a
//! test waits for a condition ([`Scene::until`]), and calls [`Scene::settle`] before it checks that something is unchanged.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use network::{Cpo, Runner};
use ocpi_kit::VersionNumber;
use ocpi_kit::testkit::sample;
use ocpi_kit::transport::Patch;
use ocpi_kit::v2_3_0::cdrs::Cdr;
use ocpi_kit::v2_3_0::commands::{Command, CommandResultType};
use ocpi_kit::v2_3_0::locations::Location;
use ocpi_kit::v2_3_0::sessions::Session;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::connected;

/// The maximum number of checks of a condition. The clock moves by a second between two checks.
const LOOKS: usize = 30;

pub const SESSIONS: &str = "/v1/charging_sessions";

/// The object with changed members.
pub fn with<T: Serialize + DeserializeOwned>(object: &T, change: Value) -> T {
    let mut json = serde_json::to_value(object).expect("JSON");
    for (name, value) in change.as_object().expect("an object") {
        json[name] = value.clone();
    }
    serde_json::from_value(json).expect("the same kind of object")
}

/// A price with 10 % VAT, in cents without it.
fn price(cents: i32) -> Value {
    let (net, tax) = (f64::from(cents) / 100.0, f64::from(cents / 10) / 100.0);
    json!({"before_taxes": net, "taxes": [{"name": "VAT", "amount": tax}]})
}

/// The location `LOC1` with two free EVSEs, `3256` and `3257`, which can be reserved and have a Type 2 connector at 0.25 EUR per kWh.
fn location() -> Location {
    let location = sample::location("LOC1").expect("a location");
    let mut evse = serde_json::to_value(&location.evses[0]).expect("JSON");
    evse["status"] = json!("AVAILABLE");
    evse["capabilities"] = json!(["REMOTE_START_STOP_CAPABLE", "RESERVABLE", "RFID_READER"]);
    evse["connectors"][0]["standard"] = json!("IEC_62196_T2");
    evse["connectors"][0]["tariff_ids"] = json!(["T1"]);
    // High enough that the 12 kWh of a CDR can have flowed within two minutes.
    evse["connectors"][0]["max_electric_power"] = json!(400_000);
    let mut second = evse.clone();
    second["uid"] = json!("3257");
    second["evse_id"] = json!("BE*BEC*E041503002");
    let change = json!({"evses": [evse, second], "opening_times": {"twentyfourseven": true}});
    with(&location, change)
}

/// A command that the operator has received, and its body.
#[derive(Debug)]
pub struct Asked {
    pub command: Command,
    pub body: Value,
}

impl Asked {
    pub fn of(command: Command) -> Self {
        let body = match &command {
            Command::StartSession(body) => serde_json::to_value(body),
            Command::StopSession(body) => serde_json::to_value(body),
            Command::ReserveNow(body) => serde_json::to_value(body),
            Command::CancelReservation(body) => serde_json::to_value(body),
            other => panic!("no such command is sent: {other:?}"),
        };
        let body = body.expect("JSON");
        Self { command, body }
    }
}

pub struct Scene {
    pub runner: Runner,
    pub cpo: Cpo,
    pub driver: Value,
    pub vehicle: Value,
    station: Value,
}

impl Scene {
    pub async fn new(version: VersionNumber) -> Self {
        let (runner, cpo) = connected(version).await;
        let tariff = sample::tariff("T1", "0.25").expect("a tariff");
        cpo.objects().tariffs.put(tariff);
        cpo.objects().locations.put(location());
        runner.pull().await;
        let mut stations = runner.stations().await;
        stations.retain(|station| station["network"]["party_id"] == "TNM");
        let station = stations.pop().expect("a station");
        let create =
            async |path: &str, body: Value| runner.post(path, body).await.ok()["id"].clone();
        let address = json!({"city": "Gent", "country": "BE", "line1": "1", "postal_code": "9000"});
        let fleet = json!({"name": "Vans", "email": "ops@fleet.example", "address": address});
        let fleet = create("/v1/fleets", fleet).await;
        let driver = json!({"name": "Ada", "email": "ada@fleet.example"});
        let driver = create("/v1/drivers", driver).await;
        let attach = format!("/v1/drivers/{}/attach", text(&driver));
        runner.post(&attach, json!({"fleet": fleet})).await.ok();
        let vehicle = json!({"fleet": fleet, "registration_plate": "AB12 CDE", "vin": "V1", "battery_capacity": 60_000,
            "charging_standard": "Type2"});
        let vehicle = create("/v1/vehicles", vehicle).await;
        Self {
            runner,
            cpo,
            driver,
            vehicle,
            station,
        }
    }

    pub async fn now(&self) -> Timestamp {
        let clock = self.runner.get("/_local/clock").await.ok();
        text(&clock["now"]).parse().expect("a time")
    }

    /// Waits until `look` returns a value.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        for _ in 0..LOOKS {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.runner.advance(1).await;
        }
        panic!("{what}: not within {LOOKS} seconds");
    }

    /// Waits until everything that is due has been processed.
    pub async fn settle(&self) {
        for _ in 0..3 {
            self.runner.advance(1).await;
        }
    }

    /// Waits until an object has these members. Returns the object.
    pub async fn shows(&self, path: &str, want: Value) -> Value {
        let want = want.as_object().expect("an object").clone();
        let mut shown = Value::Null;
        for _ in 0..LOOKS {
            shown = self.runner.get(path).await.ok();
            if want.iter().all(|(name, value)| shown[name] == *value) {
                return shown;
            }
            self.runner.advance(1).await;
        }
        panic!("{path}: {want:?} is not so within {LOOKS} seconds: {shown:#}");
    }

    /// Waits until the operator has received this number of commands of a kind. Returns the last one.
    pub async fn command(&self, kind: &str, count: usize) -> Asked {
        let what = format!("{kind} number {count}");
        let command = self.until(&what, async || {
            self.received(kind).into_iter().nth(count - 1)
        });
        Asked::of(command.await)
    }

    /// The commands of a kind that the operator has received.
    pub fn received(&self, kind: &str) -> Vec<Command> {
        let mut commands = self.cpo.commands();
        commands.retain(|command| command.command_type().as_str() == kind);
        commands
    }

    pub async fn result(&self, command: &Asked, result: CommandResultType) {
        let sent = self.cpo.result(&command.command, result).await;
        sent.expect("an answer");
    }

    /// The types of the events about objects of a kind, oldest first.
    pub async fn events(&self, kind: &str) -> Vec<String> {
        let page = self.runner.get("/v1/events?limit=100").await.ok();
        let events = page["data"].as_array().expect("events").iter().rev();
        let types = events.map(|event| text(&event["type"]).to_owned());
        types
            .filter_map(|name| Some(name.strip_prefix(kind)?.strip_prefix('.')?.to_owned()))
            .collect()
    }

    /// The unmatched objects of networks: module and id.
    pub async fn unmatched(&self) -> Vec<(String, String)> {
        let listed = self.runner.operate("list_unmatched", json!({})).await.ok();
        let listed = listed["data"].as_array().expect("objects").iter();
        let listed = listed.map(|object| (text(&object["module"]), text(&object["object"]["id"])));
        listed
            .map(|(module, id)| (module.to_owned(), id.to_owned()))
            .collect()
    }
}

/// Charging sessions.
impl Scene {
    /// Starts a session at the first EVSE. Returns its path.
    pub async fn start(&self) -> String {
        self.start_at(&json!("3256-1")).await
    }

    /// Starts a session at a connector. Returns its path.
    pub async fn start_at(&self, connector: &Value) -> String {
        let body = json!({"charging_station": self.station["id"], "connector": connector, "driver": self.driver,
            "vehicle": self.vehicle});
        let session = self.runner.post(SESSIONS, body).await.ok();
        assert_eq!(session["status"], "pending");
        format!("{SESSIONS}/{}", text(&session["id"]))
    }

    pub async fn stop(&self, session: &str) {
        let stop = format!("{session}/stop");
        let stopped = self.runner.post(&stop, json!({})).await.ok();
        assert_eq!(stopped["status"], "active");
    }

    /// The operator's session of a START_SESSION: it begins now.
    pub async fn theirs(&self, id: &str, command: &Asked) -> Session {
        let reference = command.body["authorization_reference"].clone();
        let session = self.theirs_of(id, &command.body["token"]).await;
        with(
            &session,
            json!({"auth_method": "COMMAND", "authorization_reference": reference}),
        )
    }

    /// The operator's session of a token that was used at the first EVSE: it begins now.
    pub async fn theirs_of(&self, id: &str, token: &Value) -> Session {
        let now = self.now().await.to_string();
        let token = json!({"country_code": token["country_code"], "party_id": token["party_id"], "uid": token["uid"],
            "type": token["type"], "contract_id": token["contract_id"]});
        let session = sample::session(id).expect("a session");
        let change = json!({"start_date_time": now, "kwh": 0, "cdr_token": token, "status": "ACTIVE",
            "charging_periods": [], "last_updated": now});
        with(&session, change)
    }

    /// Sends a session in its current state, with this change. Returns it.
    pub async fn report(&self, theirs: &Session, change: Value) -> Session {
        let updated = json!({"last_updated": self.now().await.to_string()});
        let sent = with(&with(theirs, updated), change);
        let (emsp, party) = (self.cpo.emsp(), Cpo::party());
        let client = self.cpo.session(&emsp);
        let answer = client.sessions_receiver().put_session(&party, &sent).await;
        answer.expect("an answer");
        sent
    }

    /// Sends the changes of a session until now.
    pub async fn patch(&self, id: &str, mut change: Value) {
        change["last_updated"] = json!(self.now().await.to_string());
        let (emsp, patch) = (self.cpo.emsp(), Patch::<Value>::from_value(change));
        let client = self.cpo.session(&emsp).sessions_receiver();
        let party = Cpo::party();
        let answer = client.patch(&party, id, &patch).await;
        answer.expect("an answer");
    }

    /// Reports that a session has ended now.
    pub async fn complete(&self, theirs: &Session, kwh: u32, cents: i32) {
        let now = self.now().await.to_string();
        let end = json!({"status": "COMPLETED", "kwh": kwh, "end_date_time": now, "total_cost": price(cents)});
        self.report(theirs, end).await;
    }

    /// The CDR of a session that ends now: 12 kWh for 3.00 EUR and VAT, by the tariff.
    pub async fn cdr(&self, id: &str, theirs: &Session) -> Cdr {
        let now = self.now().await;
        let theirs = serde_json::to_value(theirs).expect("JSON");
        let began: Timestamp = text(&theirs["start_date_time"]).parse().expect("a time");
        let hours = now.duration_since(began).as_secs_f64() / 3600.0;
        let hours = (hours * 10_000.0).round() / 10_000.0;
        let period = json!({"start_date_time": theirs["start_date_time"], "tariff_id": "T1",
            "dimensions": [{"type": "ENERGY", "volume": 12}, {"type": "TIME", "volume": hours}]});
        let cdr = sample::cdr(id).expect("a CDR");
        let change = json!({"session_id": theirs["id"], "cdr_token": theirs["cdr_token"],
            "auth_method": theirs["auth_method"], "authorization_reference": theirs["authorization_reference"],
            "start_date_time": theirs["start_date_time"], "end_date_time": now.to_string(), "charging_periods": [period],
            "total_cost": price(300), "total_energy": 12, "total_time": hours, "last_updated": now.to_string()});
        with(&cdr, change)
    }

    pub async fn bill(&self, cdr: &Cdr) {
        let emsp = self.cpo.emsp();
        let answer = self.cpo.session(&emsp).cdrs().post(cdr).await;
        answer.expect("an answer");
    }

    /// Starts a session that the operator reports as active.
    pub async fn active(&self, id: &str) -> (String, Session) {
        let count = self.received("START_SESSION").len() + 1;
        let session = self.start().await;
        let command = self.command("START_SESSION", count).await;
        self.result(&command, CommandResultType::Accepted).await;
        let theirs = self.theirs(id, &command).await;
        let theirs = self.report(&theirs, json!({})).await;
        self.shows(&session, json!({"status": "active"})).await;
        (session, theirs)
    }

    /// Ends a session after half an hour, and bills it with the CDR `id`.
    pub async fn ended(&self, session: &str, theirs: &Session, id: &str) -> Cdr {
        self.runner.advance(1800).await;
        self.complete(theirs, 12, 300).await;
        let cdr = self.cdr(id, theirs).await;
        self.bill(&cdr).await;
        let billed = json!({"status": "completed", "cost_source": "cdr", "amount_due": 330});
        self.shows(session, billed).await;
        cdr
    }

    /// Creates an invoice of everything that was not invoiced. Returns the invoice, and the type and amount of its lines in the order
    /// of time.
    pub async fn invoice(&self) -> (Value, Vec<(String, i64)>) {
        self.settle().await;
        let now = self.now().await;
        let since = now - SignedDuration::from_hours(30 * 24);
        let body = json!({"period_start": since.to_string(), "period_end": now.to_string(), "currency": "eur"});
        let invoice = self.runner.post("/v1/invoices", body).await.ok();
        let lines = invoice["line_items"].as_array().expect("lines").iter();
        let lines = lines.rev().map(|line| {
            let amount = line["amount"].as_i64().expect("an amount");
            (text(&line["type"]).to_owned(), amount)
        });
        let lines = lines.collect();
        (invoice, lines)
    }
}

pub fn energy(gross: i64) -> (String, i64) {
    ("energy_session".into(), gross)
}

#[track_caller]
pub fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
