//! Reservations: a request for a charging window in an area, which is confirmed later with a station and a connector.
//!
//! pending → confirmed → completed | expired | cancelled; pending → failed | cancelled. While it is confirmed at the station of a
//! charging network, [`outward`] keeps the EVSE free there.

mod assignment;
pub mod outward;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use self::assignment::{Assignment, MatchFilter, MatchRefusals, MatchSummary};
use self::outward::{OutwardReservation, RefusedEvse};
use super::body::RequestBody;
use super::charging_station::Point;
use super::check_size;
use super::driver::Driver;
use super::event_type::EventType;
use super::stored::{Object, Stored};
use super::transaction::{Movement, Transaction, TransactionStatus, TransactionType};
use super::vehicle::{ConnectorType, Vehicle};
use crate::error::{Code, Error, Result};
use crate::fields::metadata::{Metadata, MetadataChange};
use crate::fields::patch::{Change, Patch};
use crate::id::{Id, Kind};
use crate::models::transaction::PaymentOutcome;
use crate::money::Currency;
use crate::time::{DAY, HOUR, MINUTE, Timestamp};
use crate::window::Window;

/// How long before `ideal_start` the first attempt to confirm is made, in milliseconds.
pub const LEAD: i64 = 30 * MINUTE;
/// The time between two attempts to confirm, in milliseconds.
pub const RETRY: i64 = 5 * MINUTE;
/// How long after its start a confirmed reservation waits for the vehicle, in milliseconds.
pub const GRACE: i64 = 15 * MINUTE;
/// How far ahead a window may start.
const HORIZON: i64 = 90 * DAY;
/// How long after `ideal_end` a window may end at the latest.
const LATEST: i64 = 7 * DAY;
const SHORTEST: i64 = 15 * MINUTE;
const LONGEST: i64 = 24 * HOUR;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reservation {
    pub id: Id,
    pub object: Kind,
    pub cancellation_policy: CancellationPolicy,
    /// The session that fulfils the reservation; null until the vehicle has started charging.
    #[serde(default)]
    #[schema(required)]
    pub charging_session: Option<Id>,
    /// The station; null until one is assigned.
    pub charging_station: Option<Id>,
    pub confirmed_at: Option<Timestamp>,
    /// The connector within the station; null until one is assigned.
    #[serde(default)]
    pub connector: Option<String>,
    pub connector_type: Vec<ConnectorType>,
    pub created: Timestamp,
    pub currency: Currency,
    pub driver: Id,
    pub earliest_start: Option<Timestamp>,
    pub failed_reason: Option<FailedReason>,
    /// How much of `reservation_fee` is due, in minor units of `currency`. All of it from the confirmation on; nothing before,
    /// nor after a failure or a free cancellation. Once the reservation is over, it is charged to `payment_method`.
    #[serde(default)]
    pub fee_due: i64,
    pub ideal_end: Timestamp,
    pub ideal_start: Timestamp,
    pub latest_end: Option<Timestamp>,
    pub location: Area,
    /// The result of the last attempt to confirm: how many stations were in the radius, and why they were refused.
    pub match_summary: Option<MatchSummary>,
    pub metadata: Metadata,
    pub payment_method: Option<Id>,
    /// Minor units of `currency`, fixed at creation.
    pub reservation_fee: i64,
    pub reserved_end: Option<Timestamp>,
    pub reserved_start: Option<Timestamp>,
    pub status: ReservationStatus,
    pub updated: Timestamp,
    pub vehicle: Id,
}

impl Object for Reservation {
    type Internal = ReservationInternal;

    const KIND: Kind = Kind::Reservation;

    fn id(&self) -> &Id {
        &self.id
    }
}

/// The internal state of a reservation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReservationInternal {
    /// When the reservation has to be processed next.
    #[serde(rename = "next")]
    pub next_action_at: Option<Timestamp>,
    /// The vehicle's plug when the reservation was made: what updates of `connector_type` are held against.
    pub charging_standard: ConnectorType,
    /// The vehicle's fleet.
    #[serde(default)]
    pub fleet: Option<Id>,
    /// The EVSE of the reserved connector, whose calendar the reservation is in; none before it is confirmed, and in rows of
    /// earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evse: Option<String>,
    /// Whether the reserved connector is out of order, so that the next action is to find another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaiting_rematch: bool,
    /// The reservation as the network of the station knows it; none for a station without a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outward: Option<OutwardReservation>,
    /// The EVSEs that their networks have refused to keep free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_evses: Vec<RefusedEvse>,
    /// When the reservation ended, if its fee is due since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee_due_since: Option<Timestamp>,
    /// The fee, once it is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee_paid: Option<PaidFee>,
    /// The invoice that claimed the fee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice: Option<Id>,
}

/// A fee that has been paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidFee {
    /// When it became due.
    pub since: Timestamp,
    /// Minor units of the reservation's currency.
    pub amount: i64,
}

/// The fee of a reservation that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fee {
    /// When it became due: at the end of the reservation.
    pub since: Timestamp,
    /// Minor units of the reservation's currency.
    pub amount: i64,
    /// What of `amount` is paid.
    pub paid: i64,
}

impl Default for ReservationInternal {
    fn default() -> Self {
        Self {
            next_action_at: None,
            charging_standard: ConnectorType::Type2,
            fleet: None,
            evse: None,
            awaiting_rematch: false,
            outward: None,
            refused_evses: Vec::new(),
            fee_due_since: None,
            fee_paid: None,
            invoice: None,
        }
    }
}

#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::IntoStaticStr,
    strum::EnumString,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReservationStatus {
    Pending,
    Confirmed,
    Completed,
    Cancelled,
    Failed,
    Expired,
}

impl ReservationStatus {
    /// Whether the reservation is pending or confirmed.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Confirmed)
    }

    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailedReason {
    NoAvailableConnectors,
    PaymentFailed,
    PolicyBlocked,
    DriverUnavailable,
    VehicleUnavailable,
    StationUnavailable,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancellationPolicy {
    #[serde(rename = "type")]
    pub kind: CancellationType,
    /// Seconds before the start.
    pub free_until_before: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancellationType {
    FreeCancellation,
    NonRefundable,
}

/// The circle in which a station is searched.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Area {
    pub latitude: f64,
    pub longitude: f64,
    /// Metres.
    pub radius: u32,
}

/// What an attempt to confirm reads besides the reservation: its driver, vehicle, fleet and area. A message carries it, so that
/// the attempt reads them at the same time as the reservation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReservationRequest {
    pub driver: Id,
    pub vehicle: Id,
    pub fleet: Option<Id>,
    pub location: Area,
}

/// The body of `POST /v1/reservations`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReservation {
    pub driver: Id,
    pub vehicle: Id,
    /// In the future, at most 90 days ahead.
    pub ideal_start: Timestamp,
    /// 15 minutes to 24 hours after `ideal_start`.
    pub ideal_end: Timestamp,
    pub connector_type: Vec<ConnectorType>,
    pub location: Area,
    #[serde(default)]
    pub payment_method: Option<Id>,
    /// At or before `ideal_start`.
    #[serde(default)]
    pub earliest_start: Option<Timestamp>,
    /// At or after `ideal_end`, at most 7 days after it.
    #[serde(default)]
    pub latest_end: Option<Timestamp>,
    #[serde(default)]
    pub metadata: MetadataChange,
}

impl RequestBody for NewReservation {
    const INVALID: Option<Code> = Some(Code::ReservationInvalidInput);
}

/// The body of `POST /v1/reservations/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservationChange {
    #[serde(default)]
    pub ideal_start: Change<Timestamp>,
    #[serde(default)]
    pub ideal_end: Change<Timestamp>,
    #[serde(default)]
    pub connector_type: Change<Vec<ConnectorType>>,
    #[serde(default)]
    pub location: Change<Area>,
    #[serde(default)]
    pub earliest_start: Patch<Timestamp>,
    /// At or after `ideal_end`, at most 7 days after it.
    #[serde(default)]
    pub latest_end: Patch<Timestamp>,
    #[serde(default)]
    pub metadata: MetadataChange,
}

impl RequestBody for ReservationChange {
    const INVALID: Option<Code> = Some(Code::ReservationInvalidInput);
}

/// The price of a reservation, which is fixed at its creation.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub currency: Currency,
    /// Minor units.
    pub fee: i64,
}

impl NewReservation {
    /// Checks the rules that depend on the body alone.
    ///
    /// # Errors
    /// `reservation_invalid_input` with the field at fault.
    pub fn check(&self, now: Timestamp) -> Result<()> {
        check_start(self.ideal_start, now)?;
        check_window(
            self.ideal_start,
            self.ideal_end,
            self.earliest_start,
            self.latest_end,
        )?;
        self.location.check()?;
        check_types(&self.connector_type)
    }
}

impl Reservation {
    /// A new, pending reservation.
    ///
    /// # Errors
    /// `reservation_invalid_input` with the field at fault.
    pub fn new(
        new: NewReservation,
        driver: &Driver,
        vehicle: &Vehicle,
        terms: Terms,
        now: Timestamp,
    ) -> Result<Stored<Self>> {
        if !driver.is_active() {
            return Err(invalid("driver", "the driver is not active"));
        }
        if !vehicle.is_active() {
            return Err(invalid("vehicle", "the vehicle is not active"));
        }
        if !driver.may_drive(vehicle) {
            return Err(invalid(
                "driver",
                "the driver is neither one of the vehicle's nor in its fleet",
            ));
        }
        let reservation = Self {
            id: Id::new(Kind::Reservation, now),
            object: Kind::Reservation,
            cancellation_policy: CancellationPolicy {
                kind: CancellationType::FreeCancellation,
                free_until_before: 1800,
            },
            charging_session: None,
            charging_station: None,
            confirmed_at: None,
            connector: None,
            connector_type: new.connector_type,
            created: now,
            currency: terms.currency,
            driver: new.driver,
            earliest_start: new.earliest_start,
            failed_reason: None,
            fee_due: 0,
            ideal_end: new.ideal_end,
            ideal_start: new.ideal_start,
            latest_end: new.latest_end,
            location: new.location,
            match_summary: None,
            metadata: Metadata::new(new.metadata)?,
            payment_method: new.payment_method,
            reservation_fee: terms.fee,
            reserved_end: None,
            reserved_start: None,
            status: ReservationStatus::Pending,
            updated: now,
            vehicle: new.vehicle,
        };
        check_start(reservation.ideal_start, now)?;
        reservation.check(vehicle.charging_standard)?;
        check_size(&reservation).map_err(coded)?;
        let internal = ReservationInternal {
            next_action_at: Some(reservation.first_attempt(now)),
            charging_standard: vehicle.charging_standard,
            fleet: Some(vehicle.fleet.clone()),
            ..ReservationInternal::default()
        };
        Ok(Stored::with_internal(reservation, internal).recording(EventType::ReservationCreated))
    }

    fn check(&self, standard: ConnectorType) -> Result<()> {
        check_window(
            self.ideal_start,
            self.ideal_end,
            self.earliest_start,
            self.latest_end,
        )?;
        self.location.check()?;
        check_types(&self.connector_type)?;
        if !self.connector_type.contains(&standard) {
            return Err(invalid(
                "connector_type",
                "must include the vehicle's charging_standard",
            ));
        }
        Ok(())
    }

    fn first_attempt(&self, now: Timestamp) -> Timestamp {
        self.ideal_start.plus_millis(-LEAD).max(now)
    }

    /// The last moment an attempt to confirm makes sense. It lies at most 7 days after `ideal_start`, also for a reservation
    /// that an earlier release stored with a later `latest_end`: at one attempt every 5 minutes from 30 minutes before
    /// `ideal_start` on, that bounds the number of attempts at 2,023.
    fn last_attempt(&self) -> Timestamp {
        let length = self.ideal_end.millis_since(self.ideal_start);
        let latest_start = self.latest_end.map(|end| end.plus_millis(-length));
        self.ideal_start
            .max(latest_start.unwrap_or(self.ideal_start))
            .min(self.ideal_start.plus_millis(LATEST))
    }

    /// Whether cancelling is free: before the reservation is confirmed, and until `free_until_before` seconds before the start.
    fn is_free_to_cancel(&self, now: Timestamp) -> bool {
        let CancellationPolicy {
            kind,
            free_until_before,
        } = self.cancellation_policy;
        let Some(start) = self.reserved_start else {
            return true;
        };
        let last = start.plus_seconds(-i64::from(free_until_before));
        kind == CancellationType::FreeCancellation && now <= last
    }

    /// Whether a connector of this station is reserved.
    pub fn is_for(&self, station: &Id) -> bool {
        self.status == ReservationStatus::Confirmed
            && self.charging_station.as_ref() == Some(station)
    }

    /// What a charge of the fee is called.
    pub fn fee_description(&self) -> String {
        format!("Fee of reservation {}", self.id)
    }
}

impl Stored<Reservation> {
    /// Applies an update to a pending reservation; what the body leaves out stays.
    ///
    /// # Errors
    /// `reservation_update_invalid_state` unless pending; `reservation_invalid_input` with the field at fault.
    pub fn update(&mut self, change: ReservationChange, now: Timestamp) -> Result<()> {
        if self.object.status != ReservationStatus::Pending {
            return Err(Code::ReservationUpdateInvalidState
                .because("Only a pending reservation can be updated."));
        }
        let ReservationChange {
            ideal_start,
            ideal_end,
            connector_type,
            location,
            earliest_start,
            latest_end,
            metadata,
        } = change;
        let window_moves = ideal_start != Change::Keep || ideal_end != Change::Keep;
        ideal_start.apply(&mut self.object.ideal_start);
        ideal_end.apply(&mut self.object.ideal_end);
        connector_type.apply(&mut self.object.connector_type);
        location.apply(&mut self.object.location);
        earliest_start.apply(&mut self.object.earliest_start);
        latest_end.apply(&mut self.object.latest_end);
        self.object.metadata.merge(metadata)?;
        if window_moves {
            check_start(self.object.ideal_start, now)?;
            self.internal.next_action_at = Some(self.object.first_attempt(now));
        }
        self.object.check(self.internal.charging_standard)?;
        self.object.updated = now;
        self.record(EventType::ReservationUpdated);
        check_size(&self.object).map_err(coded)
    }

    /// Confirms a pending reservation on a connector, or moves a confirmed one to another connector or window. It expires if
    /// the vehicle has not arrived 15 minutes after the start of the window.
    pub fn confirm(&mut self, assignment: &Assignment, summary: MatchSummary, now: Timestamp) {
        if self.object.status == ReservationStatus::Confirmed {
            self.record(EventType::ReservationReassigned);
        } else {
            self.record(EventType::ReservationConfirmed);
            self.object.status = ReservationStatus::Confirmed;
            self.object.confirmed_at = Some(now);
            self.object.fee_due = self.object.reservation_fee;
        }
        self.object.charging_station = Some(assignment.station.clone());
        self.object.reserved_start = Some(assignment.window.from);
        self.object.reserved_end = Some(assignment.window.until);
        self.object.match_summary = Some(summary);
        self.object.updated = now;
        self.object.connector = Some(assignment.connector.clone());
        self.internal.evse = Some(assignment.evse.clone());
        self.internal.awaiting_rematch = false;
        let outward = OutwardReservation::of(&self.object, assignment, now);
        self.internal.outward = assignment.is_of_network.then_some(outward);
        self.internal.next_action_at = self.next_step(now);
    }

    /// What an attempt to confirm reads besides the reservation.
    pub fn request(&self) -> ReservationRequest {
        ReservationRequest {
            driver: self.object.driver.clone(),
            vehicle: self.object.vehicle.clone(),
            fleet: self.internal.fleet.clone(),
            location: self.object.location,
        }
    }

    /// Records an attempt that found no connector: the next one follows in 5 minutes, or the reservation fails if it is too
    /// late or another attempt cannot succeed. For a confirmed reservation the reason is always `station_unavailable`, because
    /// its connector is out of order.
    pub fn record_failed_attempt(
        &mut self,
        reason: FailedReason,
        summary: Option<MatchSummary>,
        now: Timestamp,
    ) {
        let confirmed = self.object.status == ReservationStatus::Confirmed;
        let hopeless = matches!(
            reason,
            FailedReason::DriverUnavailable | FailedReason::VehicleUnavailable
        );
        let next = self.next_attempt(now);
        self.object.match_summary = summary.or(self.object.match_summary.take());
        self.object.updated = now;
        self.internal.awaiting_rematch = confirmed;
        if !hopeless && next <= self.object.last_attempt() {
            self.internal.next_action_at = Some(next);
            return;
        }
        self.object.status = ReservationStatus::Failed;
        self.object.failed_reason = Some(match confirmed {
            true => FailedReason::StationUnavailable,
            false => reason,
        });
        self.object.fee_due = 0;
        self.internal.next_action_at = None;
        self.record(EventType::ReservationFailed);
    }

    /// When the next attempt is made: 5 minutes after this one was due, so that attempts keep their schedule however late each
    /// of them is made.
    fn next_attempt(&self, now: Timestamp) -> Timestamp {
        let due = self.internal.next_action_at.filter(|due| *due <= now);
        let next = due.unwrap_or(now).plus_millis(RETRY);
        match next > now {
            true => next,
            false => now.plus_millis(RETRY),
        }
    }

    /// The window that is reserved, until it starts or the vehicle arrives; after its start only while the reservation awaits
    /// a rematch.
    pub fn reserved_window(&self, now: Timestamp) -> Option<Window> {
        let window = Window {
            from: self.object.reserved_start?,
            until: self.object.reserved_end?,
        };
        let waits = self.object.status == ReservationStatus::Confirmed
            && self.internal.next_action_at.is_some();
        (waits && (self.internal.awaiting_rematch || window.from > now)).then_some(window)
    }

    /// Requests another connector if one of these is reserved: the next attempt is due now. Returns whether anything changed.
    pub fn request_rematch(&mut self, station: &Id, connectors: &[String], now: Timestamp) -> bool {
        let reserved = self.reserved_window(now).is_some() && self.object.is_for(station);
        let connector = self.object.connector.as_ref();
        let lost = connector.is_some_and(|connector| connectors.contains(connector));
        if !reserved || !lost || self.internal.awaiting_rematch {
            return false;
        }
        self.internal.awaiting_rematch = true;
        self.internal.next_action_at = Some(now);
        true
    }

    /// Keeps the reserved connector, because it is in order again.
    pub fn reinstate(&mut self, now: Timestamp) {
        self.internal.awaiting_rematch = false;
        self.internal.next_action_at = self.next_step(now);
    }

    /// When something is to be done about a reserved connector: its network has to be told, or the vehicle has not come.
    fn next_step(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.internal.outward {
            Some(outward) => Some(outward.next_action_at(now)),
            None => self.expires_at(),
        }
    }

    /// When a confirmed reservation expires unless the vehicle has come.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let start = self.object.reserved_start?;
        Some(start.plus_millis(GRACE))
    }

    /// Cancels a pending or confirmed reservation. The fee stays due when that is no longer free.
    ///
    /// # Errors
    /// `reservation_cancel_invalid_state` in any other state; `reservation_invalid_state` while the vehicle charges on it.
    pub fn cancel(&mut self, now: Timestamp) -> Result<()> {
        if !matches!(
            self.object.status,
            ReservationStatus::Pending | ReservationStatus::Confirmed
        ) {
            let message = "Only a pending or confirmed reservation can be cancelled.";
            return Err(Code::ReservationCancelInvalidState.because(message));
        }
        if self.object.status == ReservationStatus::Confirmed
            && self.internal.next_action_at.is_none()
        {
            let message = "The vehicle is charging on this reservation: stop the session instead.";
            return Err(Code::ReservationInvalidState.because(message));
        }
        if self.object.is_free_to_cancel(now) {
            self.object.fee_due = 0;
        }
        self.object.status = ReservationStatus::Cancelled;
        self.object.updated = now;
        self.record(EventType::ReservationCancelled);
        self.schedule_fee_charge(now);
        Ok(())
    }

    /// Records that this session fulfils the reservation. The reservation stays confirmed until the session ends.
    pub fn fulfil(&mut self, session: &Id) {
        self.object.charging_session = Some(session.clone());
        self.internal.next_action_at = None;
    }

    /// Completes a confirmed reservation, because the session that fulfils it has ended.
    pub fn complete(&mut self, now: Timestamp) {
        self.object.status = ReservationStatus::Completed;
        self.object.updated = now;
        self.record(EventType::ReservationCompleted);
        self.schedule_fee_charge(now);
    }

    /// Ends a confirmed reservation whose vehicle has not arrived in time.
    pub fn expire(&mut self, now: Timestamp) {
        self.object.status = ReservationStatus::Expired;
        self.object.updated = now;
        self.record(EventType::ReservationExpired);
        self.schedule_fee_charge(now);
    }

    /// Schedules the charge of a fee that is due at the end, if the reservation has a payment method. Otherwise, and if the
    /// charge is declined, the fee is billed by an invoice.
    fn schedule_fee_charge(&mut self, now: Timestamp) {
        let due = self.object.fee_due > 0;
        self.internal.fee_due_since = due.then_some(now);
        self.internal.next_action_at = (due && self.object.payment_method.is_some()).then_some(now);
    }

    /// Whether the charge of a fee that was due before `until` is still in flight, so that it cannot be billed yet.
    pub fn is_unsettled(&self, until: Timestamp) -> bool {
        self.internal.next_action_at.is_some()
            && self
                .internal
                .fee_due_since
                .is_some_and(|since| since < until)
    }

    /// Records that the fee was paid. Returns whether anything was due.
    pub fn mark_fee_paid(&mut self, now: Timestamp) -> bool {
        let since = self.internal.fee_due_since.take();
        let amount = std::mem::take(&mut self.object.fee_due);
        if amount == 0 {
            return false;
        }
        self.internal.fee_paid = since.map(|since| PaidFee { since, amount });
        self.object.updated = now;
        true
    }

    /// The fee, if the reservation is over and has one that was not waived.
    pub fn fee(&self) -> Option<Fee> {
        let due = self.internal.fee_due_since.map(|since| Fee {
            since,
            amount: self.object.fee_due,
            paid: 0,
        });
        let paid = self.internal.fee_paid.map(|PaidFee { since, amount }| Fee {
            since,
            amount,
            paid: amount,
        });
        due.or(paid)
    }

    /// Whether the charge of the fee is due now.
    pub fn is_fee_charge_due(&self, now: Timestamp) -> bool {
        let over = matches!(
            self.object.status,
            ReservationStatus::Cancelled
                | ReservationStatus::Completed
                | ReservationStatus::Expired
        );
        over && self.internal.next_action_at.is_some_and(|due| due <= now)
    }

    /// Records the outcome of the charge of the fee, and returns its transaction. A fee whose charge was declined stays due.
    pub fn settle_fee(&mut self, outcome: &PaymentOutcome, now: Timestamp) -> Transaction {
        let movement = Movement {
            kind: TransactionType::Charge,
            amount: self.object.fee_due,
            currency: self.object.currency,
            description: self.object.fee_description(),
            payment_method: self.object.payment_method.clone(),
            driver: Some(self.object.driver.clone()),
            fleet: self.internal.fleet.clone(),
            vehicle: Some(self.object.vehicle.clone()),
            charging_session: None,
        };
        self.internal.next_action_at = None;
        if *outcome == PaymentOutcome::Succeeded {
            self.mark_fee_paid(now);
            return Transaction::new(movement, TransactionStatus::Succeeded, now);
        }
        Transaction::new(movement, TransactionStatus::Failed, now)
    }
}

impl Area {
    pub fn center(&self) -> Point {
        Point {
            latitude: self.latitude,
            longitude: self.longitude,
        }
    }

    fn check(&self) -> Result<()> {
        if !(-90.0..=90.0).contains(&self.latitude) {
            return Err(invalid("location.latitude", "must lie between -90 and 90"));
        }
        if !(-180.0..=180.0).contains(&self.longitude) {
            return Err(invalid(
                "location.longitude",
                "must lie between -180 and 180",
            ));
        }
        if !(1..=100_000).contains(&self.radius) {
            return Err(invalid(
                "location.radius",
                "must lie between 1 and 100000 metres",
            ));
        }
        Ok(())
    }
}

fn check_start(start: Timestamp, now: Timestamp) -> Result<()> {
    if start <= now {
        return Err(invalid("ideal_start", "must be in the future"));
    }
    if start.millis_since(now) > HORIZON {
        return Err(invalid("ideal_start", "must be at most 90 days ahead"));
    }
    Ok(())
}

fn check_window(
    start: Timestamp,
    end: Timestamp,
    earliest_start: Option<Timestamp>,
    latest_end: Option<Timestamp>,
) -> Result<()> {
    let length = end.millis_since(start);
    if length <= 0 {
        return Err(invalid("ideal_end", "must be after ideal_start"));
    }
    if !(SHORTEST..=LONGEST).contains(&length) {
        return Err(invalid(
            "ideal_end",
            "the window must last 15 minutes to 24 hours",
        ));
    }
    if earliest_start.is_some_and(|at| at > start) {
        return Err(invalid("earliest_start", "must not be after ideal_start"));
    }
    if latest_end.is_some_and(|at| at < end) {
        return Err(invalid("latest_end", "must not be before ideal_end"));
    }
    if latest_end.is_some_and(|at| at.millis_since(end) > LATEST) {
        let message = "must be at most 7 days after ideal_end";
        return Err(invalid("latest_end", message));
    }
    Ok(())
}

fn check_types(types: &[ConnectorType]) -> Result<()> {
    if types.is_empty() || types.len() > 3 {
        return Err(invalid(
            "connector_type",
            "must name one to three connector types",
        ));
    }
    let repeated = types
        .iter()
        .enumerate()
        .any(|(n, kind)| types[..n].contains(kind));
    if repeated {
        return Err(invalid(
            "connector_type",
            "must not name the same type twice",
        ));
    }
    Ok(())
}

fn coded(error: Error) -> Error {
    error.coded(Some(Code::ReservationInvalidInput))
}

fn invalid(param: &str, message: &'static str) -> Error {
    Code::ReservationInvalidInput.because(message).at(param)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::account::Account;
    use crate::models::fleet::FleetStatus;
    use serde_json::{Value, json};

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn now() -> Timestamp {
        at("2026-03-01T08:00:00Z")
    }

    fn pair() -> (Driver, Vehicle) {
        let account = json!({"email": "a@b.example", "name": "A", "type": "business"});
        let account = Account::new(serde_json::from_value(account).unwrap(), now()).unwrap();
        let driver = json!({"name": "Ada", "email": "ada@b.example"});
        let driver = Driver::new(serde_json::from_value(driver).unwrap(), &account, now()).unwrap();
        let mut driver = driver.object;
        let fleet = Id::new(Kind::Fleet, now());
        let vehicle = json!({"fleet": fleet, "registration_plate": "AB12 CDE", "vin": "V1", "battery_capacity": 60000,
            "charging_standard": "Type2"});
        let vehicle = Vehicle::new(serde_json::from_value(vehicle).unwrap(), now()).unwrap();
        let vehicle = vehicle.object;
        driver.fleets.push(fleet);
        (driver, vehicle)
    }

    fn body(change: Value) -> Value {
        let (driver, vehicle) = ("drv", "veh");
        let mut body = json!({"driver": driver, "vehicle": vehicle, "ideal_start": "2026-03-01T10:00:00Z",
            "ideal_end": "2026-03-01T11:00:00Z", "connector_type": ["Type2"],
            "location": {"latitude": 51.5, "longitude": 0.0, "radius": 1000}});
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        body
    }

    fn reserve(change: Value) -> Result<Stored<Reservation>> {
        let (driver, vehicle) = pair();
        let terms = Terms {
            currency: Currency::USD,
            fee: 0,
        };
        Reservation::new(
            serde_json::from_value(body(change)).unwrap(),
            &driver,
            &vehicle,
            terms,
            now(),
        )
    }

    /// A reservation that is confirmed at the station of a network so many milliseconds before its start, and that start.
    pub(super) fn confirmed_at_network(before: i64) -> (Stored<Reservation>, Timestamp) {
        let mut row = reserve(json!({})).unwrap();
        let start = row.object.ideal_start;
        let assignment = Assignment {
            station: Id::from_number(Kind::ChargingStation, 1),
            evse: "E1".into(),
            connector: "E1-1".into(),
            is_of_network: true,
            window: Window {
                from: start,
                until: row.object.ideal_end,
            },
        };
        row.confirm(
            &assignment,
            MatchSummary::default(),
            start.plus_millis(-before),
        );
        (row, start)
    }

    fn param(result: Result<Stored<Reservation>>) -> String {
        match result.unwrap_err() {
            Error::Client(refusal) => {
                assert_eq!(refusal.code, Some(Code::ReservationInvalidInput));
                refusal.param.unwrap()
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_first_attempt_is_half_an_hour_before_the_window_or_at_once() {
        let reservation = reserve(json!({})).unwrap();
        assert_eq!(reservation.object.status, ReservationStatus::Pending);
        assert_eq!(
            reservation.internal.next_action_at,
            Some(at("2026-03-01T09:30:00Z"))
        );
        let soon = reserve(json!({"ideal_start": "2026-03-01T08:10:00Z"})).unwrap();
        assert_eq!(soon.internal.next_action_at, Some(now()));
    }

    #[test]
    fn what_breaks_a_rule_is_named() {
        for (change, want) in [
            (json!({"ideal_end": "2026-03-01T10:00:00Z"}), "ideal_end"),
            (json!({"ideal_end": "2026-03-01T10:14:59Z"}), "ideal_end"),
            (json!({"ideal_end": "2026-03-02T10:00:01Z"}), "ideal_end"),
            (
                json!({"ideal_start": "2026-03-01T08:00:00Z"}),
                "ideal_start",
            ),
            (
                json!({"ideal_start": "2026-05-30T08:00:01Z", "ideal_end": "2026-05-30T09:00:01Z"}),
                "ideal_start",
            ),
            (
                json!({"earliest_start": "2026-03-01T10:00:01Z"}),
                "earliest_start",
            ),
            (json!({"latest_end": "2026-03-01T10:59:59Z"}), "latest_end"),
            (
                json!({"latest_end": "2026-03-08T11:00:00.001Z"}),
                "latest_end",
            ),
            (json!({"latest_end": "9999-03-08T11:00:00Z"}), "latest_end"),
            (
                json!({"location": {"latitude": 90.1, "longitude": 0.0, "radius": 1}}),
                "location.latitude",
            ),
            (
                json!({"location": {"latitude": 0, "longitude": -180.5, "radius": 1}}),
                "location.longitude",
            ),
            (
                json!({"location": {"latitude": 0, "longitude": 0, "radius": 0}}),
                "location.radius",
            ),
            (
                json!({"location": {"latitude": 0, "longitude": 0, "radius": 100_001}}),
                "location.radius",
            ),
            (json!({"connector_type": []}), "connector_type"),
            (json!({"connector_type": ["CCS"]}), "connector_type"),
        ] {
            assert_eq!(param(reserve(change.clone())), want, "{change}");
        }
    }

    #[test]
    fn driver_and_vehicle_must_be_active_and_belong_together() {
        let terms = Terms {
            currency: Currency::USD,
            fee: 0,
        };
        let reserve = |driver: &Driver, vehicle: &Vehicle| {
            Reservation::new(
                serde_json::from_value(body(json!({}))).unwrap(),
                driver,
                vehicle,
                terms,
                now(),
            )
        };
        let (mut driver, mut vehicle) = pair();
        driver.status = FleetStatus::Suspended;
        assert_eq!(param(reserve(&driver, &vehicle)), "driver");
        driver.status = FleetStatus::Active;
        driver.fleets.clear();
        assert_eq!(param(reserve(&driver, &vehicle)), "driver");
        vehicle.drivers.push(driver.id.clone());
        assert!(reserve(&driver, &vehicle).is_ok());
        vehicle.status = crate::models::vehicle::VehicleStatus::Retired;
        assert_eq!(param(reserve(&driver, &vehicle)), "vehicle");
    }

    #[test]
    fn attempts_go_on_every_five_minutes_until_it_is_too_late() {
        let mut reservation = reserve(json!({"latest_end": "2026-03-01T11:07:00Z"})).unwrap();
        let mut moments = Vec::new();
        while let Some(due) = reservation.internal.next_action_at {
            moments.push(due.to_string()[11..16].to_owned());
            reservation.record_failed_attempt(FailedReason::NoAvailableConnectors, None, due);
        }
        assert_eq!(
            moments,
            [
                "09:30", "09:35", "09:40", "09:45", "09:50", "09:55", "10:00", "10:05"
            ]
        );
        assert_eq!(reservation.object.status, ReservationStatus::Failed);
        assert_eq!(
            reservation.object.failed_reason,
            Some(FailedReason::NoAvailableConnectors)
        );
    }

    #[test]
    fn at_most_2023_attempts_are_made_whatever_latest_end_was_stored() {
        let mut widest = reserve(json!({"latest_end": "2026-03-08T11:00:00Z"})).unwrap();
        let attempts = |one: &mut Stored<Reservation>| {
            let mut attempts = 0;
            while let Some(due) = one.internal.next_action_at {
                one.record_failed_attempt(FailedReason::NoAvailableConnectors, None, due);
                attempts += 1;
                assert!(attempts < 10_000, "attempts go on without end");
            }
            assert_eq!(one.object.status, ReservationStatus::Failed);
            attempts
        };
        let mut older = widest.clone();
        older.object.latest_end = Some(at("2036-03-01T11:00:00Z"));
        assert_eq!(attempts(&mut widest), 2_023);
        assert_eq!(attempts(&mut older), 2_023);
    }

    #[test]
    fn an_update_keeps_latest_end_within_seven_days() {
        let mut reservation = reserve(json!({})).unwrap();
        let before = reservation.clone();
        for late in [
            json!({"latest_end": "2026-03-08T11:00:00.001Z"}),
            json!({"latest_end": "2026-03-08T12:00:00Z", "ideal_end": "2026-03-01T10:30:00Z"}),
        ] {
            let mut changed = before.clone();
            let change = serde_json::from_value(late.clone()).unwrap();
            let refused = changed.update(change, now());
            assert_eq!(
                param(refused.map(|()| before.clone())),
                "latest_end",
                "{late}"
            );
        }
        let change = serde_json::from_value(json!({"latest_end": "2026-03-08T11:00:00Z"})).unwrap();
        reservation.update(change, now()).unwrap();
        assert_eq!(
            reservation.object.latest_end,
            Some(at("2026-03-08T11:00:00Z"))
        );
    }

    #[test]
    fn a_driver_who_left_fails_the_reservation_at_once() {
        let mut reservation = reserve(json!({})).unwrap();
        reservation.record_failed_attempt(
            FailedReason::DriverUnavailable,
            None,
            at("2026-03-01T09:30:00Z"),
        );
        assert_eq!(reservation.object.status, ReservationStatus::Failed);
        assert_eq!(reservation.internal.next_action_at, None);
    }

    #[test]
    fn only_pending_is_updated_and_only_pending_or_confirmed_is_cancelled() {
        let mut reservation = reserve(json!({})).unwrap();
        let change = || -> ReservationChange {
            serde_json::from_value(json!({"metadata": {"k": "v"}})).unwrap()
        };
        reservation.update(change(), now()).unwrap();
        let assignment = Assignment {
            station: Id::from_number(Kind::ChargingStation, 1),
            evse: "1".into(),
            connector: "1".into(),
            is_of_network: false,
            window: Window {
                from: reservation.object.ideal_start,
                until: reservation.object.ideal_end,
            },
        };
        reservation.confirm(&assignment, MatchSummary::default(), now());
        assert_eq!(
            reservation.internal.next_action_at,
            Some(at("2026-03-01T10:15:00Z"))
        );
        let refused = reservation.update(change(), now()).unwrap_err();
        assert!(refused.is(Code::ReservationUpdateInvalidState));
        reservation.cancel(now()).unwrap();
        assert_eq!(reservation.internal.next_action_at, None);
        assert!(
            reservation
                .cancel(now())
                .unwrap_err()
                .is(Code::ReservationCancelInvalidState)
        );
    }

    #[test]
    fn moving_the_window_moves_the_attempt() {
        let mut reservation = reserve(json!({})).unwrap();
        let change =
            json!({"ideal_start": "2026-03-01T12:00:00Z", "ideal_end": "2026-03-01T13:00:00Z"});
        reservation
            .update(serde_json::from_value(change).unwrap(), now())
            .unwrap();
        assert_eq!(
            reservation.internal.next_action_at,
            Some(at("2026-03-01T11:30:00Z"))
        );
        let change = serde_json::from_value(json!({"connector_type": ["CCS"]})).unwrap();
        assert!(reservation.update(change, now()).is_err());
    }

    #[test]
    fn cancelling_is_free_until_half_an_hour_before_and_while_nothing_is_promised() {
        let mut reservation = reserve(json!({})).unwrap();
        reservation.object.reservation_fee = 300;
        let assignment = Assignment {
            station: Id::from_number(Kind::ChargingStation, 1),
            evse: "1".into(),
            connector: "1".into(),
            is_of_network: false,
            window: Window {
                from: at("2026-03-01T11:00:00Z"),
                until: at("2026-03-01T12:00:00Z"),
            },
        };
        let summary = MatchSummary::default;
        let fee_due = |mut reservation: Stored<Reservation>, now: &str| {
            reservation.cancel(at(now)).unwrap();
            reservation.object.fee_due
        };
        assert_eq!(fee_due(reservation.clone(), "2026-03-01T09:59:00Z"), 0);
        reservation.confirm(&assignment, summary(), now());
        assert_eq!(reservation.object.fee_due, 300);
        assert_eq!(fee_due(reservation.clone(), "2026-03-01T10:30:00Z"), 0);
        assert_eq!(
            fee_due(reservation.clone(), "2026-03-01T10:30:00.001Z"),
            300
        );
        reservation.object.cancellation_policy.kind = CancellationType::NonRefundable;
        assert_eq!(fee_due(reservation, "2026-03-01T09:00:00Z"), 300);
    }

    #[test]
    fn a_connector_that_breaks_is_replaced_while_there_is_slack_or_the_reservation_fails() {
        let mut reservation = reserve(json!({"latest_end": "2026-03-01T11:10:00Z"})).unwrap();
        reservation.object.reservation_fee = 300;
        let assignment = Assignment {
            station: Id::from_number(Kind::ChargingStation, 1),
            evse: "1".into(),
            connector: "1".into(),
            is_of_network: false,
            window: Window {
                from: reservation.object.ideal_start,
                until: reservation.object.ideal_end,
            },
        };
        let at_half_past_nine = at("2026-03-01T09:30:00Z");
        reservation.confirm(&assignment, MatchSummary::default(), at_half_past_nine);
        let now = at("2026-03-01T09:52:00Z");
        let lost = ["1".to_owned()];
        let station = Id::from_number(Kind::ChargingStation, 2);
        assert!(!reservation.request_rematch(&station, &lost, now));
        assert!(!reservation.request_rematch(&assignment.station, &["2".into()], now));
        assert!(reservation.request_rematch(&assignment.station, &lost, now));
        assert!(!reservation.request_rematch(&assignment.station, &lost, now));
        let mut moments = Vec::new();
        while let Some(due) = reservation.internal.next_action_at {
            assert!(reservation.reserved_window(due).is_some());
            moments.push(due.to_string()[11..16].to_owned());
            reservation.record_failed_attempt(FailedReason::NoAvailableConnectors, None, due);
        }
        assert_eq!(moments, ["09:52", "09:57", "10:02", "10:07"]);
        assert_eq!(
            (reservation.object.failed_reason, reservation.object.fee_due),
            (Some(FailedReason::StationUnavailable), 0)
        );
    }
}
