//! Charging sessions: a vehicle on a connector, from plug-in until it is unplugged.
//!
//! Life cycle: pending → active → completed | cancelled | failed. A session at a network's station is pending until the network reports
//! that it has begun ([`network`]); a simulated one is active at once. An active session first charges. When the battery is full it stays
//! active without energy (it *parks*): the connector stays occupied, and PARKING_TIME is counted, until the vehicle is
//! unplugged. In test mode unplugging is simulated: `stop` unplugs, and the service unplugs when `session_limit` is reached, when the
//! station closes, when the vehicle is reserved elsewhere, 24 hours after the start, and when the connector is reserved for another
//! vehicle if that reservation existed at the start. The earliest of these moments that is known so far is shown as `ends_by`. A
//! reservation that is made later does not end the session: the reservation is matched again.
//!
//! Terms:
//! - The *hold* is the time that is booked in the calendars of the connector and the vehicle for the session. It reaches from the
//!   start to `Simulated::held_until`, at a network's station to the end of `AtNetwork::hold`: at first to the moment at
//!   which charging ends. Then it is extended by at most 20 minutes at a time, so that the connector can be reserved for later.
//! - *Charging time* is the time until the limit is reached or the battery is full; the rest is *parking time*.
//!
//! Invariants: holds never overlap other sessions or reservations of the connector. Energy, times and cost of a simulated active
//! session are functions of its item and the time (`Stored::<ChargingSession>::live`); they are stored when the session ends. Those of a
//! session at a network's station are what the network has reported. The lines of a cost add up to its total.
//!
//! Crashes: each transition that is due at a moment is done by one conditional transaction. If the trigger for a moment is lost, the
//! sweeper finds the item by its next action, and the session ends, or its hold is extended, as of the moment that was due.
//!
//! This module contains the fields, and the transitions that depend only on them. The start of a session, the energy of a simulated
//! session and the effects of a network's reports are in [`crate::charging::session`].

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use super::action::Action;
use super::body::RequestBody;
use super::charging_station::Price;
use super::stored::{Object, Stored, is_default};
use super::transaction::{
    Movement, PaymentOutcome, Transaction, TransactionStatus, TransactionType,
};
use crate::operation::Operation;
use kernel::fields::address::Country;
use kernel::fields::text::ZoneName;
use kernel::{Code, Currency, Error, Id, Kind, Mode, Money, Timestamp, Window};

mod cost;
pub mod network;
mod network_transitions;
pub mod profile;
pub mod review;
mod state;
mod view;

pub use self::cost::{CostSource, PriceCheck, SessionCost, SessionCostLine};
pub use self::network::NetworkSession;
use self::network::Total;
pub use self::state::{
    Charged, EndReason, EndsBy, FinalPrice, Operator, SessionFailedReason, SessionState,
    SessionStatus, Settlement, Simulated, Start,
};

/// A session as it is stored. It is serialized in the form that clients see (`view`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct ChargingSession {
    pub id: Id,
    pub charging_station: Id,
    /// The connector within the station.
    pub connector: String,
    pub country: Country,
    pub created: Timestamp,
    pub currency: Currency,
    pub driver: Id,
    pub fleet: Id,
    /// The invoice that bills the session. If that invoice was voided or its draft deleted, the next one replaces it.
    pub invoice: Option<Id>,
    pub payment_method: Option<Id>,
    /// kW at which the vehicle charges: the most that connector and vehicle have in common.
    pub power: f64,
    /// The reservation that the session fulfils.
    pub reservation: Option<Id>,
    /// Wh at which the session stops by itself.
    pub session_limit: Option<u32>,
    /// When the session began; while it is pending, when it was requested.
    pub session_started: Timestamp,
    #[serde(default, skip_serializing_if = "is_default")]
    pub started_by: StartedBy,
    pub state: SessionState,
    pub updated: Timestamp,
    pub vehicle: Id,
}

impl Object for ChargingSession {
    type Internal = SessionInternal;

    const KIND: Kind = Kind::ChargingSession;

    fn id(&self) -> &Id {
        &self.id
    }

    fn stored<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let session = &stored.object;
        let (created, started) = (session.created, session.session_started);
        session.state.next_action(created, started)
    }
}

/// How a session was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartedBy {
    /// With a request to this API.
    #[default]
    Api,
    /// With a charge card at the charging point.
    Card,
}

/// The stored data of a session that does not change with its state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionInternal {
    /// The EVSE of the connector, whose calendar the session is in.
    pub evse: String,
    /// The connector's prices in the session's currency when the session began.
    pub pricing: Vec<Price>,
    /// The station's time zone, in which the restrictions of its prices are stated.
    pub zone: Option<ZoneName>,
    /// The names of driver, vehicle and station when the session started.
    pub names: Names,
    /// Metres that the vehicle's odometer showed when the session started, by its last reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odometer: Option<i64>,
    /// Set where a charging network operates the station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<NetworkSession>>,
    /// Whether the reservation that the session fulfils names the same payment method. It is open as long as the session is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shares_method: bool,
}

/// The names of a session's parties, for people who read invoices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    pub driver: String,
    pub registration_plate: String,
    pub station: String,
}

/// The body of `POST /v1/charging_sessions`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewChargingSession {
    /// Id of the charging station at which the vehicle is plugged in.
    pub charging_station: Id,
    /// The id of a connector of the station, of the vehicle's `charging_standard`. Its EVSE must be free: a vehicle at another
    /// connector of the same EVSE makes it occupied.
    pub connector: String,
    /// One of the vehicle's drivers, or attached to its fleet.
    pub driver: Id,
    /// Id of the vehicle that is charged.
    pub vehicle: Id,
    /// Payment method that is charged when the session ends. Default: the `preferences.default_payment_method` of the driver, else of the
    /// fleet, else of the account; without any, the session is billed by an invoice.
    pub payment_method: Option<Id>,
    /// Wh at which the session ends and the vehicle is unplugged, at least 1. If it is omitted, a session for a reservation by need ends
    /// when the need is met. If there is no limit, or it exceeds what the battery can store, the vehicle stays plugged in when its battery
    /// is full, and PARKING_TIME is counted from then. `ends_by` in the response is the latest time at which the session ends: when the
    /// station closes, when the connector is reserved for another vehicle by then, or after 24 hours. A reservation that another vehicle
    /// makes later does not end the session: it is matched again if the vehicle is still plugged in.
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub session_limit: Option<NonZeroU32>,
}

impl RequestBody for NewChargingSession {}

impl ChargingSession {
    pub fn status(&self) -> SessionStatus {
        self.state.status()
    }

    /// Returns the charged energy in Wh.
    pub fn energy(&self) -> i64 {
        self.state.charged().energy
    }

    /// Returns the cost of the session, in minor units of its currency.
    pub fn total(&self) -> Total {
        let cost = self.state.cost();
        cost.map_or_else(Total::default, |cost| cost.total)
    }

    /// Returns whether the session costs nothing itself, because its price is an adjustment.
    pub fn is_billed_by_adjustment(&self) -> bool {
        let price = self.state.final_price();
        self.total().gross == 0 && price.is_some_and(|price| price.adjusted.gross != 0)
    }

    /// Returns the paid part of the total.
    pub fn amount_paid(&self) -> i64 {
        self.state.cost().map_or(0, |cost| cost.paid)
    }

    /// Returns the refunded part of the paid amount.
    pub fn amount_refunded(&self) -> i64 {
        self.state.cost().map_or(0, |cost| cost.refunded)
    }

    /// Returns the unpaid part of the total.
    pub fn amount_due(&self) -> i64 {
        self.state.cost().map_or(0, SessionCost::due)
    }

    /// Returns the power in W at which the vehicle charges.
    pub fn watts(&self) -> u32 {
        (self.power * 1000.0).round() as u32
    }

    /// Checks whether the charge to the payment method is in flight.
    pub fn is_charging_payment(&self) -> bool {
        let price = self.state.final_price();
        price.is_some_and(|price| price.is_charging)
    }

    /// Returns the time since which its amount is due: the moment at which the price became final.
    pub fn due_since(&self) -> Timestamp {
        let price = self.state.final_price();
        price.map_or(self.created, |price| price.at)
    }

    /// Returns the id of the transaction that charges the payment method, if there is or will be a charge. It is derived from the
    /// session, so that a repeated charge is recorded once.
    pub fn charge_id(&self) -> Id {
        Id::derived(Kind::Transaction, self.due_since(), self.id.as_str())
    }

    /// Records that the session was paid. Returns whether anything was due.
    pub fn mark_paid(&mut self, now: Timestamp) -> bool {
        let cost = self.state.figures_mut().map(|(_, cost)| cost);
        let Some(cost) = cost.filter(|cost| cost.due() != 0) else {
            return false;
        };
        cost.paid = cost.total.gross;
        self.updated = now;
        true
    }

    /// Records that this part of the paid amount was refunded.
    pub fn count_refund(&mut self, amount: i64, now: Timestamp) {
        if let Some((_, cost)) = self.state.figures_mut() {
            cost.refunded += amount;
            self.updated = now;
        }
    }

    /// Returns the description of a charge for the session.
    pub fn description(&self) -> String {
        format!("Charging session {}", self.id)
    }
}

impl Stored<ChargingSession> {
    /// Returns how the session's station is operated.
    pub fn operation(&self, mode: Mode) -> Operation {
        Operation::of(mode, self.internal.network.is_some())
    }

    /// Returns the time that is booked in the calendars for the session.
    pub fn window(&self) -> Window {
        let from = self.object.session_started;
        if let Some(simulated) = self.object.state.simulated() {
            let until = simulated.held_until;
            return Window { from, until };
        }
        self.object.state.hold().unwrap_or(Window::moment(from))
    }

    /// Waives the charge for an ended session, because no network operates its station.
    pub fn waive(&mut self, now: Timestamp) {
        if let Some((_, cost)) = self.object.state.figures_mut() {
            *cost = SessionCost::nothing(cost.source);
        }
        self.object.updated = now;
        self.leave_to_invoice();
    }

    /// Lets an invoice bill the session, instead of a charge to its payment method.
    pub fn leave_to_invoice(&mut self) {
        if let Some(price) = self.object.state.final_price_mut() {
            price.is_charging = false;
        }
    }

    /// Records the outcome of the charge for an ended session, and returns its transaction, whose time is the moment at which the price
    /// became final. A session whose charge was declined is billed by an invoice.
    pub fn settle(&mut self, outcome: &PaymentOutcome, now: Timestamp) -> Transaction {
        let due_since = self.object.due_since();
        let id = self.object.charge_id();
        let session = &self.object;
        let movement = Movement {
            kind: TransactionType::Charge,
            amount: Money::new(session.amount_due(), session.currency),
            description: session.description(),
            payment_method: session.payment_method.clone(),
            driver: Some(session.driver.clone()),
            fleet: Some(session.fleet.clone()),
            vehicle: Some(session.vehicle.clone()),
            charging_session: Some(session.id.clone()),
        };
        let status = if *outcome == PaymentOutcome::Succeeded {
            self.object.mark_paid(now);
            TransactionStatus::Succeeded
        } else {
            TransactionStatus::Failed
        };
        self.object.updated = now;
        self.leave_to_invoice();
        Transaction {
            id,
            ..Transaction::new(movement, status, due_since)
        }
    }

    /// Returns the time by which the session belongs to a billing period: its end. At a network's station it is the moment at which the
    /// price became final, if that is later, because the invoice of the period in which the session ended may have been made by then.
    /// None while it is unknown.
    pub fn billed_at(&self) -> Option<Timestamp> {
        let ended = self.object.state.ended()?;
        if self.internal.network.is_none() {
            return Some(ended);
        }
        let price = self.object.state.final_price()?;
        Some(price.at.max(ended))
    }

    /// Checks whether a session of a billing period before `until` has work left, so that its amount due is not final yet.
    pub fn is_unsettled(&self, until: Timestamp) -> bool {
        let simulated = self.object.state.simulated();
        let ends = simulated.map(|simulated| simulated.held_until);
        let charged = || {
            self.billed_at()
                .filter(|_| self.object.is_charging_payment())
        };
        ends.or_else(charged).is_some_and(|moment| moment < until)
    }
}

/// Returns the error for a transition that the status does not allow.
pub fn wrong_state(message: &'static str) -> Error {
    Code::ChargingSessionStateConflict.because(message)
}
