//! Charging sessions: a vehicle on a connector, from plug-in until it is unplugged.
//!
//! Life cycle: pending → active → completed | cancelled | failed. A session at a network's station is pending until the network reports
//! that it has begun ([`network`]); a simulated one is active at once. An active session first charges. When the battery is full it stays
//! active without energy (it *parks*): the connector stays occupied, and PARKING_TIME is counted, until the vehicle is
//! unplugged. In test mode unplugging is simulated: `stop` unplugs, and the service unplugs when `session_limit` is reached,
//! when the station closes, when the connector is reserved for another vehicle or the vehicle elsewhere, and 24 hours after
//! the start. The earliest of these moments that is known so far is shown as `ends_by`.
//!
//! Terms:
//! - The *hold* is the time that the calendars of the connector and the vehicle keep for the session. It reaches from the
//!   start to `SessionInternal::next_action_at`, at a network's station to the end of `NetworkSession::hold`: at first to the moment at
//!   which charging ends. Then it is extended by at most 20 minutes at a time, so that the connector can be reserved for later.
//! - *Charging time* is the time until the limit is reached or the battery is full; the rest is *parking time*.
//!
//! Invariants: holds never overlap other sessions or reservations of the connector. Energy, times and cost of a simulated active
//! session are functions of its row and the time (`Stored::<ChargingSession>::live`); they are stored when the session ends. Those of a
//! session at a network's station are what the network has reported. `net`
//! plus `tax` is the gross amount, `amount_due` plus `amount_paid` is the gross amount, and the lines of `cost_breakdown`
//! add up to all three.
//!
//! Crashes: whatever a moment demands is done by one conditional transaction. When the trigger for a moment is lost, the
//! sweeper finds the row by `next_action_at`, and the session ends, or its hold is extended, as of the moment that was due.
//!
//! This module has the fields and the transitions that need nothing else. Starting a session, what a simulated one has charged, and what
//! follows from the reports of a network are in [`crate::charging::session`].

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::action::Action;
use super::body::RequestBody;
use super::charging_station::{Price, PriceType};
use super::stored::{Object, Stored};
use super::transaction::{PaymentOutcome, Transaction, TransactionStatus, TransactionType};
use crate::error::{Code, Error};
use crate::fields::address::Country;
use crate::fields::text::ZoneName;
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::operation::Operation;
use crate::origin::Mode;
use crate::time::Timestamp;
use crate::window::Window;

pub mod network;
mod network_transitions;
pub mod review;

pub use network::NetworkSession;
use review::Review;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargingSession {
    pub id: Id,
    pub object: Kind,
    /// Minor units of `currency` not yet paid; live while the session is active.
    pub amount_due: i64,
    /// Minor units of `currency`.
    pub amount_paid: i64,
    /// When the vehicle stopped drawing energy, because the battery was full, `session_limit` was reached or the session
    /// ended; null while it charges. PARKING_TIME counts from here to `session_ended`.
    #[serde(default)]
    #[schema(required)]
    pub charging_ended: Option<Timestamp>,
    pub charging_station: Id,
    /// The connector within the station.
    pub connector: String,
    /// What `amount_due` plus `amount_paid` is made of: one line for each price that applied, live while the session is
    /// active. The `gross` of the lines add up to `amount_due` plus `amount_paid`, their `net` to `net` and their `tax` to
    /// `tax`. Empty where the price is unknown.
    #[serde(default)]
    #[schema(required)]
    pub cost_breakdown: Vec<SessionCostLine>,
    /// Where the amounts come from; null where there are none, and in sessions of earlier releases. At a network's station the amounts
    /// are final when they come from a CDR, and three days after the end of the session without one.
    #[serde(default)]
    #[schema(required)]
    pub cost_source: Option<CostSource>,
    pub country: Country,
    pub created: Timestamp,
    pub currency: Currency,
    pub driver: Id,
    /// When the session ends at the latest, by what is known so far. It can end earlier: by `stop`, or because the connector
    /// is reserved meanwhile for a time after charging has ended.
    #[serde(default)]
    #[schema(required)]
    pub ends_by: Option<Timestamp>,
    /// Why it ends then.
    #[serde(default)]
    #[schema(required)]
    pub ends_by_reason: Option<EndReason>,
    /// Wh; live while the session is active. At a network's station it is what the network has reported.
    pub energy_consumed: i64,
    /// Why a session at a network's station failed.
    #[serde(default)]
    #[schema(required)]
    pub failed_reason: Option<SessionFailedReason>,
    pub fleet: Id,
    /// The invoice that bills the session; null before there is one. If that invoice was voided or its draft deleted, it
    /// bills the session no longer, and the next invoice of the session takes its place here.
    #[serde(default)]
    #[schema(required)]
    pub invoice: Option<Id>,
    /// Minor units of `currency` without tax; live while the session is active.
    #[serde(default)]
    #[schema(required)]
    pub net: i64,
    pub payment_method: Option<Id>,
    /// kW at which the vehicle charges: the most that connector and vehicle have in common.
    #[serde(default)]
    #[schema(required)]
    pub power: f64,
    /// The price that a network bills compared with the price by the tariff that the station had when the session began; null where
    /// the network has billed nothing, and where the tariff is not known.
    #[serde(default)]
    #[schema(required)]
    pub price_check: Option<PriceCheck>,
    /// The reservation that the session fulfils.
    #[serde(default)]
    #[schema(required)]
    pub reservation: Option<Id>,
    /// Set while a price of the charging network waits for a decision, because it is not plausible. If the price was final before, only
    /// the difference waits. Else the amounts of the session are those of `review.ours` meanwhile, no invoice has the session, and nothing
    /// is charged for it.
    #[serde(default)]
    #[schema(required)]
    pub review: Option<Review>,
    /// Null while pending or active.
    pub session_ended: Option<Timestamp>,
    /// Wh at which the session stops by itself.
    pub session_limit: Option<u32>,
    /// When the session began; while it is pending, when it was asked for.
    pub session_started: Timestamp,
    /// Set while the session is active and its charging network has not reported on it for 24 hours after it was asked to stop it.
    /// `POST /v1/charging_sessions/{id}/end` ends such a session.
    #[serde(default)]
    #[schema(required)]
    pub stalled_at: Option<Timestamp>,
    #[serde(default)]
    #[schema(required)]
    pub started_by: StartedBy,
    pub status: SessionStatus,
    /// Minor units of tax in `currency`; live while the session is active.
    #[serde(default)]
    #[schema(required)]
    pub tax: i64,
    pub updated: Timestamp,
    pub vehicle: Id,
}

impl Object for ChargingSession {
    type Internal = SessionInternal;

    const KIND: Kind = Kind::ChargingSession;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.next_action_at;
        let Some(network) = &stored.internal.network else {
            let is_over = stored.object.status == SessionStatus::Completed;
            let action = if is_over {
                Action::SettleSession
            } else {
                Action::StopSession
            };
            return at.map(|at| (at, action));
        };
        if stored.object.status == SessionStatus::Completed
            && network.final_at.is_some()
            && let Some(at) = at
        {
            return Some((at, Action::SettleSession));
        }
        let pending = network.pending_price.as_ref();
        let repeat_at = pending.and_then(|pending| pending.repeat_at);
        let next = at.into_iter().chain(repeat_at).min();
        next.map(|at| (at, Action::OperateSession))
    }
}

/// The cost of a session at one of its prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionCostLine {
    #[serde(rename = "type")]
    pub kind: PriceType,
    #[schema(example = "Energy")]
    pub description: String,
    /// A decimal number of `unit`, rounded up to the price's `step_size`. Times have six digits after the point at most.
    #[schema(example = "11.01")]
    pub quantity: String,
    /// `kWh`, `hour` or `session`.
    #[schema(example = "kWh")]
    pub unit: String,
    /// Minor units of the session's currency for one `unit`, a decimal number, with tax if `tax_included`.
    #[schema(example = "45")]
    pub unit_price: String,
    /// Whether `unit_price` includes the tax.
    #[schema(example = true)]
    pub tax_included: bool,
    /// A decimal number of percent.
    #[schema(example = "20")]
    pub tax_percent: String,
    /// Minor units without tax.
    #[schema(example = 413)]
    pub net: i64,
    /// Minor units of tax: `gross` less `net`.
    #[schema(example = 82)]
    pub tax: i64,
    /// Minor units with tax, rounded half away from zero.
    #[schema(example = 495)]
    pub gross: i64,
}

/// Why a session ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// `session_limit` is reached.
    SessionLimit,
    /// The station closes.
    StationClosing,
    /// The connector is reserved for another vehicle, or this vehicle is reserved elsewhere.
    Reservation,
    /// A session lasts 24 hours at most.
    MaximumDuration,
}

/// Where the amounts of a session come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// A charge detail record, with which the network bills the session.
    Cdr,
    /// What the network has reported of the session, without having billed it.
    NetworkSession,
    /// The tariff of the station. After a review, where the tariff is not known, the price per kWh that the service assumes.
    Tariff,
    /// None: the price is unknown, because the station has no prices, or none that held when the session began. The session
    /// costs 0, and is not free of charge.
    Unknown,
}

impl CostSource {
    /// The source of amounts by the station's tariff, or of those of 0 where it is not known what a session costs.
    pub fn of_tariff(is_known: bool) -> Self {
        if is_known {
            Self::Tariff
        } else {
            Self::Unknown
        }
    }
}

/// Why a session at a network's station failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionFailedReason {
    /// The network refused to start it.
    NetworkRejected,
    /// The network did not say within five minutes that it has begun.
    NetworkTimeout,
    /// The charging point accepted the start, and no vehicle began to charge within five minutes.
    NotPluggedIn,
    /// The charging point is out of order.
    OutOfOrder,
    Other,
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

/// Two prices of a session, with tax, in minor units of its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PriceCheck {
    /// What the network bills.
    #[schema(example = 495)]
    pub network: i64,
    /// What the station's tariff amounts to.
    #[schema(example = 495)]
    pub ours: i64,
    /// `network` less `ours`.
    #[schema(example = 0)]
    pub difference: i64,
}

impl PriceCheck {
    pub fn new(network: i64, ours: i64) -> Self {
        Self {
            network,
            ours,
            difference: network.saturating_sub(ours),
        }
    }

    /// Whether the prices differ by more than rounding explains: by more than one minor unit.
    pub fn is_mismatch(&self) -> bool {
        self.difference.unsigned_abs() > 1
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It was asked for at a network's station, and the network has not said that it has begun.
    Pending,
    Active,
    Completed,
    Cancelled,
    Failed,
}

impl SessionStatus {
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Active,
        Self::Completed,
        Self::Cancelled,
        Self::Failed,
    ];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether the session has not ended.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Active)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

/// The internal state of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionInternal {
    /// The non-void invoice the session is on.
    pub invoice: Option<Id>,
    /// The reservation the session fulfils.
    pub reservation: Option<Id>,
    /// The EVSE of the connector, whose calendar the session is in; none in rows of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evse: Option<String>,
    /// The connector's prices in the session's currency when the session began.
    pub pricing: Vec<Price>,
    /// The station's time zone, which the restrictions of its prices mean.
    #[serde(default)]
    pub zone: Option<ZoneName>,
    /// W the connector and the vehicle agreed on.
    pub power: u32,
    /// Wh at which the vehicle stops charging: the session's limit or a full battery.
    #[serde(default)]
    pub most_energy: u32,
    /// Whether the vehicle stays plugged in when it has stopped charging. Sessions that were started before parking was
    /// simulated end then, and so do those that reach their limit.
    #[serde(default)]
    pub parks: bool,
    /// Minor units without tax, once the session has ended.
    pub net: i64,
    /// Minor units of tax, once the session has ended.
    pub tax: i64,
    /// When the session has to be processed next. While a simulated one is active: the end of its hold. After the end: since
    /// when its charge is to be taken; until that is settled no invoice may have it. For one at a network's station see
    /// [`NetworkSession`].
    #[serde(rename = "next")]
    pub next_action_at: Option<Timestamp>,
    /// What driver, vehicle and station were called when the session started.
    #[serde(default)]
    pub names: Names,
    /// Set where a charging network operates the station.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<NetworkSession>>,
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
    pub charging_station: Id,
    /// The id of a connector of the station, of the vehicle's `charging_standard`. Its EVSE must be free: a vehicle at another
    /// connector of the same EVSE makes it occupied.
    pub connector: String,
    /// One of the vehicle's drivers, or attached to its fleet.
    pub driver: Id,
    pub vehicle: Id,
    /// What the session is paid with when it ends; without one it waits for an invoice.
    #[serde(default)]
    pub payment_method: Option<Id>,
    /// Wh at which the session ends and the vehicle is unplugged, at least 1. Without one, or with one that the battery does
    /// not hold, the vehicle stays plugged in when its battery is full, and PARKING_TIME is counted from then. The answer
    /// says in `ends_by` when the session ends at the latest: when the station closes, when the connector is reserved for
    /// another vehicle, or after 24 hours.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub session_limit: Option<NonZeroU32>,
}

impl RequestBody for NewChargingSession {}
impl ChargingSession {
    /// Records that the session was paid. Returns whether anything was due.
    pub fn mark_paid(&mut self, now: Timestamp) -> bool {
        if self.amount_due == 0 {
            return false;
        }
        self.amount_paid += self.amount_due;
        self.amount_due = 0;
        self.updated = now;
        true
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

    /// The time that the session has taken, or will at most.
    pub fn window(&self) -> Window {
        let started = self.object.session_started;
        if let Some(network) = &self.internal.network {
            return network.hold.unwrap_or(Window {
                from: started,
                until: started,
            });
        }
        let ends = self.object.session_ended.or(self.internal.next_action_at);
        Window {
            from: started,
            until: ends.unwrap_or(started),
        }
    }

    /// Waives the charge for an ended session, because no network operates its station.
    pub fn waive(&mut self, now: Timestamp) {
        self.object.amount_due = 0;
        self.object.updated = now;
        self.internal.next_action_at = None;
    }

    /// Records the outcome of the charge for an ended session, and returns its transaction. A session whose charge was
    /// declined is billed by an invoice.
    pub fn settle(&mut self, outcome: &PaymentOutcome, now: Timestamp) -> Transaction {
        let amount = self.object.amount_due;
        let status = match outcome {
            PaymentOutcome::Succeeded => TransactionStatus::Succeeded,
            PaymentOutcome::Declined(_) => TransactionStatus::Failed,
        };
        if *outcome == PaymentOutcome::Succeeded {
            self.object.amount_paid += amount;
            self.object.amount_due = 0;
        }
        self.object.updated = now;
        self.internal.next_action_at = None;
        Transaction {
            id: Id::new(Kind::Transaction, now),
            object: Kind::Transaction,
            amount,
            charging_session: Some(self.object.id.clone()),
            created: now,
            currency: self.object.currency,
            description: self.object.description(),
            driver: Some(self.object.driver.clone()),
            fleet: Some(self.object.fleet.clone()),
            payment_method: self.object.payment_method.clone(),
            status,
            kind: TransactionType::Charge,
            vehicle: Some(self.object.vehicle.clone()),
        }
    }

    /// The moment by which the session belongs to a billing period: its end. At a network's station it is the moment at which the price
    /// became final, if that is later, because the invoice of the period in which the session ended may have been made by then. None
    /// while it is not known.
    pub fn billed_at(&self) -> Option<Timestamp> {
        let ended = self.object.session_ended?;
        match &self.internal.network {
            None => Some(ended),
            Some(network) => network.final_at.map(|moment| moment.max(ended)),
        }
    }

    /// Whether a session that belongs to a billing period before `until` has work left, so that its amount due is not final yet.
    pub fn is_unsettled(&self, until: Timestamp) -> bool {
        let belongs = match &self.internal.network {
            None => self.object.session_ended.or(self.internal.next_action_at),
            Some(_) => self.billed_at(),
        };
        self.internal.next_action_at.is_some() && belongs.is_some_and(|moment| moment < until)
    }
}

/// The refusal of a transition that the status does not allow.
pub fn wrong_state(message: &'static str) -> Error {
    Code::ChargingSessionStateConflict.because(message)
}
