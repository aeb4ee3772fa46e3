//! The operator's state, and the events at its EVSEs.
//!
//! - **partner**: the eMSP that has registered, with its token and endpoints.
//! - **outbox**: the requests that have to be sent to the partner, in order. Every change that the partner has to receive adds one.
//!   A request is sent once: OCPI messages are not queued for a partner that cannot be reached; the partner pulls what it has missed.
//! - **events**: what happens at a later moment of the clock, such as the charge point's response to a command a second later.
//!
//! Everything here is decided without I/O: [`State::catch_up`] brings the state to a moment, and the program sends the outbox.
//! An EVSE is AVAILABLE, RESERVED, CHARGING or OUTOFORDER. A vehicle that is plugged in without a session leaves it AVAILABLE:
//! OCPI has no status for that.

pub mod command;
pub mod evse;

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::charge::{Authorization, Charge, Vehicle};
use crate::demo;
use crate::party::{COUNTRY_CODE, PARTY_ID};
use crate::time::{plus_millis, text};

/// The time until a charge point responds to a command, and from then until a session begins, in milliseconds.
const RESPONSE: i64 = 1_000;
const BEGINNING: i64 = 1_000;

/// The number of lines of the log that are kept.
const LOG: usize = 200;

/// The eMSP that is connected.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Partner {
    /// The token with which the eMSP is called.
    pub token: String,
    pub versions_url: String,
    pub country_code: String,
    pub party_id: String,
    /// `Endpoint` objects of its version details.
    pub endpoints: Vec<Value>,
}

impl Partner {
    /// The URL of a module's interface at the eMSP.
    pub fn endpoint(&self, module: &str, role: &str) -> Option<&str> {
        let mut endpoints = self.endpoints.iter();
        let found =
            endpoints.find(|endpoint| endpoint["identifier"] == module && endpoint["role"] == role);
        found
            .and_then(|endpoint| endpoint["url"].as_str())
            .map(|url| url.trim_end_matches('/'))
    }
}

/// A request to the eMSP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outgoing {
    /// PATCH of an EVSE's status.
    EvseStatus {
        location: String,
        evse: String,
        status: String,
        last_updated: Timestamp,
    },
    /// PUT of the whole session, or PATCH with the changes.
    Session { id: String, patch: Option<Value> },
    /// POST of a CDR.
    Cdr { id: String },
    /// POST of a `CommandResult` to the `response_url`.
    CommandResult { url: String, result: String },
    /// GET of all tokens.
    PullTokens,
}

/// An event that happens later.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Event {
    /// The charge point's response to a command reaches the operator, who forwards it.
    Result { url: String, result: String },
    /// A session begins.
    Begin {
        evse: String,
        authorization: Authorization,
    },
    /// A session is stopped by a command.
    Stop { session: String },
    /// The tokens of the eMSP are pulled.
    PullTokens,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reservation {
    pub id: String,
    pub evse: String,
    /// An OCPI `CdrToken`.
    pub token: Value,
    pub expires: Timestamp,
}

/// A line of the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    pub at: String,
    pub text: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    pub locations: Vec<Value>,
    pub tariffs: Vec<Value>,
    /// OCPI Tokens of the eMSP.
    pub tokens: Vec<Value>,
    /// The vehicles that are plugged in, by EVSE.
    pub vehicles: BTreeMap<String, Vehicle>,
    pub reservations: Vec<Reservation>,
    /// Sessions that run, and those that have ended.
    pub charges: Vec<Charge>,
    pub cdrs: Vec<Value>,
    pub partner: Option<Partner>,
    /// The token with which an eMSP may register.
    pub token_a: String,
    /// The token with which the registered eMSP calls.
    pub token_c: Option<String>,
    pub outbox: VecDeque<Outgoing>,
    pub events: Vec<(Timestamp, Event)>,
    pub log: VecDeque<Line>,
    /// The lines of the log that have not been printed yet.
    #[serde(skip)]
    pub unprinted: Vec<Line>,
    /// The number of sessions so far.
    pub count: u64,
    /// The port that was sent to the eMSP.
    pub port: u16,
}

impl State {
    /// The demo network in its initial state.
    pub fn demo(now: Timestamp) -> Self {
        Self {
            locations: demo::locations(now),
            tariffs: demo::tariffs(now),
            ..Self::default()
        }
    }

    /// The objects of a module that has a list.
    pub fn list(&self, module: &str) -> Option<Vec<Value>> {
        Some(match module {
            "locations" => self.locations.clone(),
            "tariffs" => self.tariffs.clone(),
            "sessions" => self.charges.iter().map(Charge::session).collect(),
            "cdrs" => self.cdrs.clone(),
            _ => return None,
        })
    }

    /// Stores an eMSP as the connected one. Its tokens are pulled a little later, because its token can be used for that only when the
    /// exchange of credentials has ended at its side as well.
    pub fn connect(&mut self, partner: Partner, now: Timestamp) {
        self.partner = Some(partner);
        self.events
            .push((plus_millis(now, RESPONSE), Event::PullTokens));
    }

    /// Adds a line to the log.
    pub fn note(&mut self, now: Timestamp, text: impl Into<String>) {
        let line = Line {
            at: crate::time::text(now),
            text: text.into(),
        };
        self.unprinted.push(line.clone());
        self.log.push_back(line);
        if self.log.len() > LOG {
            self.log.pop_front();
        }
    }

    fn push(&mut self, outgoing: Outgoing) {
        if self.partner.is_some() {
            self.outbox.push_back(outgoing);
        }
    }

    pub fn location(&self, id: &str) -> Option<&Value> {
        self.locations
            .iter()
            .find(|location| same(&location["id"], id))
    }

    /// The EVSE with that uid, and the id of its location.
    pub fn evse(&self, uid: &str) -> Option<(&Value, &Value)> {
        self.locations.iter().find_map(|location| {
            let mut evses = location["evses"].as_array()?.iter();
            evses
                .find(|evse| same(&evse["uid"], uid))
                .map(|evse| (location, evse))
        })
    }

    fn status(&self, evse: &str) -> &str {
        self.evse(evse)
            .and_then(|(_, evse)| evse["status"].as_str())
            .unwrap_or("UNKNOWN")
    }

    fn set_status(&mut self, uid: &str, status: &str, now: Timestamp) {
        for location in &mut self.locations {
            let id = location["id"].as_str().unwrap_or_default().to_owned();
            let Some(evses) = location["evses"].as_array_mut() else {
                continue;
            };
            let Some(evse) = evses.iter_mut().find(|evse| same(&evse["uid"], uid)) else {
                continue;
            };
            if evse["status"] == status {
                return;
            }
            evse["status"] = json!(status);
            evse["last_updated"] = json!(text(now));
            location["last_updated"] = json!(text(now));
            self.push(Outgoing::EvseStatus {
                location: id,
                evse: uid.to_owned(),
                status: status.to_owned(),
                last_updated: now,
            });
            return;
        }
    }

    /// The session that runs at an EVSE.
    pub fn running_at(&self, evse: &str) -> Option<&Charge> {
        self.charges
            .iter()
            .find(|charge| charge.evse == evse && charge.ended.is_none())
    }

    pub fn charge(&self, id: &str) -> Option<&Charge> {
        self.charges
            .iter()
            .find(|charge| charge.id.eq_ignore_ascii_case(id))
    }

    pub fn charge_mut(&mut self, id: &str) -> Option<&mut Charge> {
        self.charges
            .iter_mut()
            .find(|charge| charge.id.eq_ignore_ascii_case(id))
    }

    /// The token of the eMSP with that uid and type.
    pub fn token(&self, uid: &str, kind: &str) -> Option<&Value> {
        self.tokens
            .iter()
            .find(|token| same(&token["uid"], uid) && token["type"] == kind)
    }

    /// Whether two tokens belong to the same card, or to the same group of cards.
    fn same_card(&self, first: &Value, other: &Value) -> bool {
        let group = |token: &Value| {
            let kind = token["type"].as_str()?;
            let known = self.token(token["uid"].as_str()?, kind)?;
            known["group_id"].as_str().map(str::to_lowercase)
        };
        let is_same = upper(&first["uid"]) == upper(&other["uid"]);
        is_same || group(first).is_some_and(|group_id| group(other) == Some(group_id))
    }

    /// Stores a token. Returns true if there was none with its uid and type.
    pub fn put_token(&mut self, token: Value) -> bool {
        let key = |token: &Value| (upper(&token["uid"]), token["type"].clone());
        match self
            .tokens
            .iter_mut()
            .find(|known| key(known) == key(&token))
        {
            Some(known) => {
                *known = token;
                false
            }
            None => {
                self.tokens.push(token);
                true
            }
        }
    }

    /// The moment of the next scheduled event.
    pub fn next(&self) -> Option<Timestamp> {
        let events = self.events.iter().map(|(at, _)| *at);
        let reservations = self
            .reservations
            .iter()
            .map(|reservation| reservation.expires);
        let running = self.charges.iter().filter(|charge| charge.ended.is_none());
        events
            .chain(reservations)
            .chain(running.map(Charge::next_report))
            .min()
    }

    /// Does everything that is due, each at its own moment. Returns false if nothing was due.
    pub fn catch_up(&mut self, now: Timestamp) -> bool {
        let mut any = false;
        while let Some(at) = self.next().filter(|at| *at <= now) {
            any = true;
            if let Some(place) = self.events.iter().position(|(due, _)| *due <= at) {
                let (_, event) = self.events.remove(place);
                self.happen(event, at);
            } else if let Some(place) = self
                .reservations
                .iter()
                .position(|reservation| reservation.expires <= at)
            {
                let expired = self.reservations.remove(place);
                self.note(at, format!("reservation {} has expired", expired.id));
                self.set_free(&expired.evse, at);
            } else {
                let due = self
                    .charges
                    .iter()
                    .find(|charge| charge.ended.is_none() && charge.next_report() <= at);
                let Some(id) = due.map(|charge| charge.id.clone()) else {
                    break;
                };
                self.report(&id, at);
            }
        }
        any
    }

    fn happen(&mut self, event: Event, now: Timestamp) {
        match event {
            Event::Result { url, result } => self.push(Outgoing::CommandResult { url, result }),
            Event::Begin {
                evse,
                authorization,
            } => drop(self.begin(&evse, authorization, now)),
            Event::Stop { session } => self.end(&session, now),
            Event::PullTokens => self.push(Outgoing::PullTokens),
        }
    }

    /// Adds the changes of a session to the outbox.
    fn report(&mut self, id: &str, now: Timestamp) {
        let Some(charge) = self.charge_mut(id) else {
            return;
        };
        let new = charge.report(now);
        charge.last_updated = now;
        let patch = charge.acknowledged.then(|| charge.patch(&new));
        let id = charge.id.clone();
        self.push(Outgoing::Session { id, patch });
    }

    /// Begins a session at an EVSE. If no vehicle is plugged in, one of usual size is plugged in.
    ///
    /// # Errors
    /// The EVSE is unknown, in use or out of order, or reserved for another card. The text says which.
    pub fn begin(
        &mut self,
        uid: &str,
        authorization: Authorization,
        now: Timestamp,
    ) -> Result<String, String> {
        let (location, evse) = self
            .evse(uid)
            .ok_or_else(|| format!("EVSE {uid} is unknown"))?;
        let connector = evse["connectors"][0].clone();
        let zone = location["time_zone"].as_str().unwrap_or("UTC").to_owned();
        let location = id_of(location);
        let uid = evse["uid"].as_str().unwrap_or_default().to_owned();
        let refused = |why: &str| Err(format!("EVSE {uid} {why}"));
        let reserved = self.reservations.iter().position(|held| held.evse == uid);
        let is_ours =
            |place: usize| self.same_card(&self.reservations[place].token, &authorization.token);
        match self.status(&uid) {
            "CHARGING" => return refused("is in use"),
            "OUTOFORDER" => return refused("is out of order"),
            "RESERVED" if !reserved.is_some_and(is_ours) => {
                return refused("is reserved for another card");
            }
            _ => {}
        }
        if let Some(place) = reserved {
            self.reservations.remove(place);
        }
        let mut tariffs = self.tariffs.iter();
        let tariff = tariffs.find(|tariff| tariff["id"] == connector["tariff_ids"][0]);
        let tariff = tariff.cloned().unwrap_or(Value::Null);
        let vehicle = *self.vehicles.entry(uid.clone()).or_default();
        let power = connector["max_electric_power"].as_u64().unwrap_or(1);
        self.count += 1;
        let id = format!("S{}", self.count);
        self.charges.push(Charge {
            id: id.clone(),
            location,
            evse: uid.clone(),
            connector: connector["id"].as_str().unwrap_or_default().to_owned(),
            authorization,
            tariff,
            time_zone: zone,
            began: now,
            power: power.min(vehicle.power),
            needs: vehicle.needs,
            limits: Vec::new(),
            periods: Vec::new(),
            acknowledged: false,
            ended: None,
            last_updated: now,
        });
        self.note(now, format!("session {id} begins at {uid}"));
        self.set_status(&uid, "CHARGING", now);
        self.push(Outgoing::Session {
            id: id.clone(),
            patch: None,
        });
        Ok(id)
    }

    /// Ends a session, unplugs the vehicle and issues the CDR. A session that has ended stays as it is.
    pub fn end(&mut self, id: &str, now: Timestamp) {
        let Some(charge) = self.charge_mut(id).filter(|charge| charge.ended.is_none()) else {
            return;
        };
        charge.report(now);
        charge.ended = Some(now);
        charge.last_updated = now;
        let charge = charge.clone();
        let place = self.place(&charge);
        let cdr = charge.cdr(&place);
        self.note(
            now,
            format!(
                "session {} has ended: {} kWh, {} {}",
                charge.id,
                cdr["total_energy"],
                cdr["total_cost"]["incl_vat"],
                charge.tariff["currency"].as_str().unwrap_or_default()
            ),
        );
        self.vehicles.remove(&charge.evse);
        self.push(Outgoing::Session {
            id: charge.id.clone(),
            patch: None,
        });
        if self.status(&charge.evse) == "CHARGING" {
            self.set_free(&charge.evse, now);
        }
        let id = cdr["id"].as_str().unwrap_or_default().to_owned();
        self.cdrs.push(cdr);
        self.push(Outgoing::Cdr { id });
    }

    /// The `cdr_location` of a session.
    fn place(&self, charge: &Charge) -> Value {
        let Some((location, evse)) = self.evse(&charge.evse) else {
            return Value::Null;
        };
        let connector = &evse["connectors"][0];
        json!({"id": location["id"], "name": location["name"], "address": location["address"], "city": location["city"],
            "postal_code": location["postal_code"], "country": location["country"], "coordinates": location["coordinates"],
            "evse_uid": evse["uid"], "evse_id": evse["evse_id"], "connector_id": connector["id"],
            "connector_standard": connector["standard"], "connector_format": connector["format"],
            "connector_power_type": connector["power_type"]})
    }

    fn set_free(&mut self, evse: &str, now: Timestamp) {
        let reserved = self
            .reservations
            .iter()
            .any(|reservation| reservation.evse == evse);
        let free = matches!(self.status(evse), "CHARGING" | "RESERVED");
        if free {
            self.set_status(evse, if reserved { "RESERVED" } else { "AVAILABLE" }, now);
        }
    }
}

/// Whether an id equals `id`. Ids of OCPI are compared without regard to case.
pub fn same(value: &Value, id: &str) -> bool {
    value
        .as_str()
        .is_some_and(|value| value.eq_ignore_ascii_case(id))
}

fn upper(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_ascii_uppercase()
}

fn id_of(object: &Value) -> String {
    object["id"].as_str().unwrap_or_default().to_owned()
}

/// The `CdrToken` of an OCPI Token.
pub fn cdr_token(token: &Value) -> Value {
    json!({"country_code": token["country_code"], "party_id": token["party_id"], "uid": token["uid"], "type": token["type"],
        "contract_id": token["contract_id"]})
}

/// Whether the owner of an object in a path of OCPI is this party.
pub fn is_ours(country_code: &str, party_id: &str) -> bool {
    country_code.eq_ignore_ascii_case(COUNTRY_CODE) && party_id.eq_ignore_ascii_case(PARTY_ID)
}
