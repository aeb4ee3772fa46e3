//! Charging sessions: a vehicle on a connector, from plug-in until it is unplugged.
//!
//! Life cycle: pending → active → completed | cancelled | failed. A session at a network's station is pending until the network reports
//! that it has begun ([`network`]); a simulated one is active at once. An active session first charges. When the battery is full it stays
//! active without energy (it *parks*): the connector stays occupied, and PARKING_TIME is counted, until the vehicle is
//! unplugged. In test mode unplugging is simulated: `stop` unplugs, and the service unplugs when `session_limit` is reached,
//! when the station closes, when the vehicle is reserved elsewhere, 24 hours after the start, and when the connector is reserved for
//! another vehicle if that was known at the start. The earliest of these moments that is known so far is shown as `ends_by`. A vehicle
//! does not leave for a reservation that is made later: that one is matched again.
//!
//! Terms:
//! - The *hold* is the time that the calendars of the connector and the vehicle keep for the session. It reaches from the
//!   start to `Simulated::held_until`, at a network's station to the end of `AtNetwork::hold`: at first to the moment at
//!   which charging ends. Then it is extended by at most 20 minutes at a time, so that the connector can be reserved for later.
//! - *Charging time* is the time until the limit is reached or the battery is full; the rest is *parking time*.
//!
//! Invariants: holds never overlap other sessions or reservations of the connector. Energy, times and cost of a simulated active
//! session are functions of its item and the time (`Stored::<ChargingSession>::live`); they are stored when the session ends. Those of a
//! session at a network's station are what the network has reported. The lines of a cost add up to its total.
//!
//! Crashes: whatever a moment demands is done by one conditional transaction. When the trigger for a moment is lost, the
//! sweeper finds the item by its next action, and the session ends, or its hold is extended, as of the moment that was due.
//!
//! This module has the fields and the transitions that need nothing else. Starting a session, what a simulated one has charged, and what
//! follows from the reports of a network are in [`crate::charging::session`].

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
use kernel::error::{Code, Error};
use kernel::fields::address::Country;
use kernel::fields::text::ZoneName;
use kernel::id::{Id, Kind};
use kernel::money::{Currency, Money};
use kernel::origin::Mode;
use kernel::time::Timestamp;
use kernel::window::Window;

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

/// A session as it is stored. It is serialized as clients see it (`view`).
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
    /// The invoice that has claimed the session. If it was voided or its draft deleted, the next one takes its place.
    pub invoice: Option<Id>,
    pub payment_method: Option<Id>,
    /// kW at which the vehicle charges: the most that connector and vehicle have in common.
    pub power: f64,
    /// The reservation that the session fulfils.
    pub reservation: Option<Id>,
    /// Wh at which the session stops by itself.
    pub session_limit: Option<u32>,
    /// When the session began; while it is pending, when it was asked for.
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

/// What is stored with a session and does not change with its state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionInternal {
    /// The EVSE of the connector, whose calendar the session is in.
    pub evse: String,
    /// The connector's prices in the session's currency when the session began.
    pub pricing: Vec<Price>,
    /// The station's time zone, which the restrictions of its prices mean.
    pub zone: Option<ZoneName>,
    /// What driver, vehicle and station were called when the session started.
    pub names: Names,
    /// Metres that the vehicle's odometer showed when the session started, by its last reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odometer: Option<i64>,
    /// Set where a charging network operates the station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<NetworkSession>>,
    /// Whether the reservation that it fulfils names the same payment method. It is open as long as the session is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shares_method: bool,
}

/// What the parties of a session are called, for people who read invoices.
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
    /// What the session is paid with when it ends. Default: the `preferences.default_payment_method` of the driver, else of the fleet,
    /// else of the account; without any the session waits for an invoice.
    #[serde(default)]
    pub payment_method: Option<Id>,
    /// Wh at which the session ends and the vehicle is unplugged, at least 1. Without one, or with one that the battery does
    /// not hold, the vehicle stays plugged in when its battery is full, and PARKING_TIME is counted from then. The answer
    /// says in `ends_by` when the session ends at the latest: when the station closes, when the connector is reserved for
    /// another vehicle by then, or after 24 hours. A reservation that another vehicle makes later does not end the session: it is
    /// matched again if the vehicle is still plugged in.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub session_limit: Option<NonZeroU32>,
}

impl RequestBody for NewChargingSession {}

impl ChargingSession {
    pub fn status(&self) -> SessionStatus {
        self.state.status()
    }

    /// Wh
    pub fn energy(&self) -> i64 {
        self.state.charged().energy
    }

    /// What the session costs, in minor units of its currency.
    pub fn total(&self) -> Total {
        let cost = self.state.cost();
        cost.map_or_else(Total::default, |cost| cost.total)
    }

    /// What of the total is paid.
    pub fn amount_paid(&self) -> i64 {
        self.state.cost().map_or(0, |cost| cost.paid)
    }

    /// What of the paid amount was refunded.
    pub fn amount_refunded(&self) -> i64 {
        self.state.cost().map_or(0, |cost| cost.refunded)
    }

    /// What of the total is not yet paid.
    pub fn amount_due(&self) -> i64 {
        self.state.cost().map_or(0, SessionCost::due)
    }

    /// W at which the vehicle charges.
    pub fn watts(&self) -> u32 {
        (self.power * 1000.0).round() as u32
    }

    /// Whether the charge to the payment method is in flight.
    pub fn is_charging_payment(&self) -> bool {
        let price = self.state.final_price();
        price.is_some_and(|price| price.is_charging)
    }

    /// Since when its amount is due: the moment at which the price became final.
    pub fn due_since(&self) -> Timestamp {
        let price = self.state.final_price();
        price.map_or(self.created, |price| price.at)
    }

    /// The id of the transaction that charges the payment method, if that is done or will be. It follows from the session, so that a charge
    /// that is repeated is recorded once.
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

    /// Records that so much of the paid amount was refunded.
    pub fn count_refund(&mut self, amount: i64, now: Timestamp) {
        if let Some((_, cost)) = self.state.figures_mut() {
            cost.refunded += amount;
            self.updated = now;
        }
    }

    /// What a charge for the session is called.
    pub fn description(&self) -> String {
        format!("Charging session {}", self.id)
    }
}

impl Stored<ChargingSession> {
    /// What operates the session's station.
    pub fn operation(&self, mode: Mode) -> Operation {
        Operation::of(mode, self.internal.network.is_some())
    }

    /// The time that the calendars keep for the session.
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

    /// Has an invoice bill the session, in place of a charge to its payment method.
    pub fn leave_to_invoice(&mut self) {
        if let Some(price) = self.object.state.final_price_mut() {
            price.is_charging = false;
        }
    }

    /// Records the outcome of the charge for an ended session, and returns its transaction, which bears the moment at which the price became
    /// final. A session whose charge was declined is billed by an invoice.
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

    /// The moment by which the session belongs to a billing period: its end. At a network's station it is the moment at which the price
    /// became final, if that is later, because the invoice of the period in which the session ended may have been made by then. None
    /// while it is not known.
    pub fn billed_at(&self) -> Option<Timestamp> {
        let ended = self.object.state.ended()?;
        if self.internal.network.is_none() {
            return Some(ended);
        }
        let price = self.object.state.final_price()?;
        Some(price.at.max(ended))
    }

    /// Whether a session that belongs to a billing period before `until` has work left, so that its amount due is not final yet.
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

/// The refusal of a transition that the status does not allow.
pub fn wrong_state(message: &'static str) -> Error {
    Code::ChargingSessionStateConflict.because(message)
}
