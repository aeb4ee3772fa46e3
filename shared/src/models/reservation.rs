//! Reservations: a wish for a charging window in an area, later confirmed with a station and a connector.
//!
//! pending → confirmed → completed | expired | cancelled; pending → failed | cancelled.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::charging_station::Point;
use super::check_size;
use super::driver::Driver;
use super::metadata::{Metadata, MetadataChange};
use super::patch::{Change, Patch};
use super::stored::Object;
use super::transaction::{Movement, Transaction, TransactionStatus, TransactionType};
use super::vehicle::{ConnectorType, Vehicle};
use crate::charging::calendar::Window;
use crate::charging::matching::{Assignment, MatchSummary};
use crate::charging::search::Circle;
use crate::error::{Code, Error, Result};
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::ports::payments::PaymentOutcome;
use crate::time::{DAY, HOUR, MINUTE, Timestamp};

/// How long before the preferred window the first attempt to confirm is made.
pub const LEAD: i64 = 30 * MINUTE;
/// The time between two attempts to confirm.
pub const RETRY: i64 = 5 * MINUTE;
/// How long after its start a confirmed reservation waits for the vehicle.
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
    /// What of `reservation_fee` is owed, in minor units of `currency`. All of it from the confirmation on; nothing before,
    /// nor after a failure or a free cancellation. Once the reservation is over, it is charged to `payment_method`.
    #[serde(default)]
    pub fee_due: i64,
    pub ideal_end: Timestamp,
    pub ideal_start: Timestamp,
    pub latest_end: Option<Timestamp>,
    pub location: Area,
    /// What the last attempt to confirm saw: how many stations were in the radius, and what refused them.
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

/// What the reservation's row keeps to itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReservationInternal {
    /// When the service has to look at the reservation again.
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
    /// The promised connector is out of order: when the reservation is due, another is sought.
    #[serde(default)]
    pub displaced: bool,
    /// Since when the reservation is over and its fee is owed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed_since: Option<Timestamp>,
    /// The fee, once it is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee_paid: Option<PaidFee>,
    /// The invoice that claimed the fee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invoice: Option<Id>,
}

/// A fee that was owed and is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidFee {
    /// Since when it was owed.
    pub since: Timestamp,
    /// Minor units of the reservation's currency.
    pub amount: i64,
}

/// The fee of a reservation that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fee {
    /// Since when it is owed: when the reservation was over.
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
            displaced: false,
            owed_since: None,
            fee_paid: None,
            invoice: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReservationStatus {
    Pending,
    Confirmed,
    Completed,
    Cancelled,
    Failed,
    Expired,
}

impl ReservationStatus {
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Pending,
            Self::Confirmed,
            Self::Completed,
            Self::Cancelled,
            Self::Failed,
            Self::Expired,
        ]
        .into_iter()
        .find(|status| status.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Confirmed => "confirmed",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
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

/// The circle in which a station is sought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Area {
    pub latitude: f64,
    pub longitude: f64,
    /// Metres.
    pub radius: u32,
}

/// Who asks, and where: what an attempt to confirm has to read besides the reservation, and can read along with it when
/// its message tells.
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

/// What a reservation costs, settled at its creation and never recomputed.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub currency: Currency,
    /// Minor units.
    pub fee: i64,
}

impl NewReservation {
    /// Checks what can be told from the body alone.
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
    ) -> Result<(Self, ReservationInternal)> {
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
        Ok((reservation, internal))
    }

    /// Applies an update to a pending reservation; what the body leaves out stays.
    ///
    /// # Errors
    /// `reservation_update_invalid_state` unless pending; `reservation_invalid_input` with the field at fault.
    pub fn update(
        &mut self,
        change: ReservationChange,
        internal: &mut ReservationInternal,
        now: Timestamp,
    ) -> Result<()> {
        if self.status != ReservationStatus::Pending {
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
        ideal_start.apply(&mut self.ideal_start);
        ideal_end.apply(&mut self.ideal_end);
        connector_type.apply(&mut self.connector_type);
        location.apply(&mut self.location);
        earliest_start.apply(&mut self.earliest_start);
        latest_end.apply(&mut self.latest_end);
        self.metadata.merge(metadata)?;
        if window_moves {
            check_start(self.ideal_start, now)?;
            internal.next_action_at = Some(self.first_attempt(now));
        }
        self.check(internal.charging_standard)?;
        self.updated = now;
        check_size(self).map_err(coded)
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

    /// Confirms the reservation on a connector. Until the vehicle comes, it is looked at again when the grace ends.
    pub fn confirm(
        &mut self,
        assignment: &Assignment,
        summary: MatchSummary,
        internal: &mut ReservationInternal,
        now: Timestamp,
    ) {
        self.status = ReservationStatus::Confirmed;
        self.confirmed_at = Some(now);
        self.fee_due = self.reservation_fee;
        self.assign(assignment, summary, internal, now);
    }

    /// Moves a confirmed reservation to another connector, or another time.
    pub fn assign(
        &mut self,
        assignment: &Assignment,
        summary: MatchSummary,
        internal: &mut ReservationInternal,
        now: Timestamp,
    ) {
        self.charging_station = Some(assignment.station.clone());
        self.reserved_start = Some(assignment.window.from);
        self.reserved_end = Some(assignment.window.until);
        self.match_summary = Some(summary);
        self.updated = now;
        self.connector = Some(assignment.connector.clone());
        internal.evse = Some(assignment.evse.clone());
        internal.displaced = false;
        internal.next_action_at = Some(assignment.window.from.plus_millis(GRACE));
    }

    pub fn wish(&self, internal: &ReservationInternal) -> ReservationRequest {
        ReservationRequest {
            driver: self.driver.clone(),
            vehicle: self.vehicle.clone(),
            fleet: internal.fleet.clone(),
            location: self.location,
        }
    }

    /// Notes an attempt that found nothing: another follows in 5 minutes, or the reservation fails when it is too late
    /// or trying again is pointless. A confirmed reservation has lost its connector, whatever keeps it from another.
    pub fn miss(
        &mut self,
        reason: FailedReason,
        summary: Option<MatchSummary>,
        internal: &mut ReservationInternal,
        now: Timestamp,
    ) {
        let confirmed = self.status == ReservationStatus::Confirmed;
        let hopeless = matches!(
            reason,
            FailedReason::DriverUnavailable | FailedReason::VehicleUnavailable
        );
        let next = next_attempt(internal, now);
        self.match_summary = summary.or(self.match_summary.take());
        self.updated = now;
        internal.displaced = confirmed;
        if !hopeless && next <= self.last_attempt() {
            internal.next_action_at = Some(next);
            return;
        }
        self.status = ReservationStatus::Failed;
        self.failed_reason = Some(match confirmed {
            true => FailedReason::StationUnavailable,
            false => reason,
        });
        self.fee_due = 0;
        internal.next_action_at = None;
    }

    /// The window it is promised, until that begins and the vehicle comes, or longer where the connector is out of order.
    pub fn promised(&self, internal: &ReservationInternal, now: Timestamp) -> Option<Window> {
        let window = Window {
            from: self.reserved_start?,
            until: self.reserved_end?,
        };
        let waits =
            self.status == ReservationStatus::Confirmed && internal.next_action_at.is_some();
        (waits && (internal.displaced || window.from > now)).then_some(window)
    }

    /// Has another connector sought at once if it is promised one of these. Says whether anything changed.
    pub fn displace(
        &self,
        internal: &mut ReservationInternal,
        station: &Id,
        connectors: &[String],
        now: Timestamp,
    ) -> bool {
        let promised = self.promised(internal, now).is_some() && self.is_for(station);
        let connector = self.connector.as_ref();
        let lost = connector.is_some_and(|connector| connectors.contains(connector));
        if !promised || !lost || internal.displaced {
            return false;
        }
        internal.displaced = true;
        internal.next_action_at = Some(now);
        true
    }

    /// The promised connector is in order again.
    pub fn keep(&self, internal: &mut ReservationInternal) {
        internal.displaced = false;
        internal.next_action_at = self.reserved_start.map(|start| start.plus_millis(GRACE));
    }

    /// Whether cancelling costs nothing: until so many seconds before the start, and as long as nothing is promised.
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

    /// Cancels a pending or confirmed reservation. The fee stays due when that is no longer free.
    ///
    /// # Errors
    /// `reservation_cancel_invalid_state` in any other state; `reservation_invalid_state` while the vehicle charges on it.
    pub fn cancel(&mut self, internal: &mut ReservationInternal, now: Timestamp) -> Result<()> {
        if !matches!(
            self.status,
            ReservationStatus::Pending | ReservationStatus::Confirmed
        ) {
            let message = "Only a pending or confirmed reservation can be cancelled.";
            return Err(Code::ReservationCancelInvalidState.because(message));
        }
        if self.status == ReservationStatus::Confirmed && internal.next_action_at.is_none() {
            let message = "The vehicle is charging on this reservation: stop the session instead.";
            return Err(Code::ReservationInvalidState.because(message));
        }
        if self.is_free_to_cancel(now) {
            self.fee_due = 0;
        }
        self.status = ReservationStatus::Cancelled;
        self.updated = now;
        self.ask_for_fee(internal, now);
        Ok(())
    }

    /// Whether the reservation promises a connector of this station.
    pub fn is_for(&self, station: &Id) -> bool {
        self.status == ReservationStatus::Confirmed
            && self.charging_station.as_ref() == Some(station)
    }

    /// The vehicle has come and charges: the reservation neither expires nor waits for anything but the end of the session.
    pub fn arrive(&mut self, internal: &mut ReservationInternal, session: &Id) {
        self.charging_session = Some(session.clone());
        internal.next_action_at = None;
    }

    /// The session for which a confirmed reservation was made has ended.
    pub fn complete(&mut self, internal: &mut ReservationInternal, now: Timestamp) {
        self.status = ReservationStatus::Completed;
        self.updated = now;
        self.ask_for_fee(internal, now);
    }

    /// Gives a confirmed reservation up whose vehicle did not come.
    pub fn expire(&mut self, internal: &mut ReservationInternal, now: Timestamp) {
        self.status = ReservationStatus::Expired;
        self.updated = now;
        self.ask_for_fee(internal, now);
    }

    /// Has the fee charged that is owed at the end, where there is something to charge it to. Otherwise, and when the charge
    /// is declined, it waits for an invoice.
    fn ask_for_fee(&self, internal: &mut ReservationInternal, now: Timestamp) {
        let owed = self.fee_due > 0;
        internal.owed_since = owed.then_some(now);
        internal.next_action_at = (owed && self.payment_method.is_some()).then_some(now);
    }

    /// Whether the charge of a fee that was owed before that moment is still under way: an invoice would come too early.
    pub fn is_unsettled(&self, internal: &ReservationInternal, until: Timestamp) -> bool {
        internal.next_action_at.is_some() && internal.owed_since.is_some_and(|since| since < until)
    }

    /// The invoice that bills the fee was paid. Says whether there was anything left to pay.
    pub fn pay_off(&mut self, internal: &mut ReservationInternal, now: Timestamp) -> bool {
        let since = internal.owed_since.take();
        let amount = std::mem::take(&mut self.fee_due);
        if amount == 0 {
            return false;
        }
        internal.fee_paid = since.map(|since| PaidFee { since, amount });
        self.updated = now;
        true
    }

    /// The fee, if the reservation is over and has one that was not waived.
    pub fn fee(&self, internal: &ReservationInternal) -> Option<Fee> {
        let owed = internal.owed_since.map(|since| Fee {
            since,
            amount: self.fee_due,
            paid: 0,
        });
        let paid = internal.fee_paid.map(|PaidFee { since, amount }| Fee {
            since,
            amount,
            paid: amount,
        });
        owed.or(paid)
    }

    /// Whether the fee is to be charged now.
    pub fn owes_fee(&self, internal: &ReservationInternal, now: Timestamp) -> bool {
        let over = matches!(
            self.status,
            ReservationStatus::Cancelled
                | ReservationStatus::Completed
                | ReservationStatus::Expired
        );
        over && internal.next_action_at.is_some_and(|due| due <= now)
    }

    /// Writes down how the charge of the fee ended, and gives the transaction that tells of it. A fee that was declined stays
    /// due.
    pub fn settle_fee(
        &mut self,
        internal: &mut ReservationInternal,
        outcome: &PaymentOutcome,
        now: Timestamp,
    ) -> Transaction {
        let movement = Movement {
            kind: TransactionType::Charge,
            amount: self.fee_due,
            currency: self.currency,
            description: self.fee_description(),
            payment_method: self.payment_method.clone(),
            driver: Some(self.driver.clone()),
            fleet: internal.fleet.clone(),
            vehicle: Some(self.vehicle.clone()),
            charging_session: None,
        };
        internal.next_action_at = None;
        if *outcome == PaymentOutcome::Succeeded {
            self.pay_off(internal, now);
            return Transaction::new(movement, TransactionStatus::Succeeded, now);
        }
        Transaction::new(movement, TransactionStatus::Failed, now)
    }

    /// What a charge of the fee is called.
    pub fn fee_description(&self) -> String {
        format!("Fee of reservation {}", self.id)
    }
}

impl Area {
    pub fn center(&self) -> Point {
        Point {
            latitude: self.latitude,
            longitude: self.longitude,
        }
    }

    pub fn circle(&self) -> Circle {
        Circle {
            center: self.center(),
            meters: self.radius,
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

/// Counted from when this attempt was due, so that attempts keep to their grid however late each is made.
fn next_attempt(internal: &ReservationInternal, now: Timestamp) -> Timestamp {
    let due = internal
        .next_action_at
        .filter(|due| *due <= now)
        .unwrap_or(now);
    let next = due.plus_millis(RETRY);
    match next > now {
        true => next,
        false => now.plus_millis(RETRY),
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
        let (mut driver, _) =
            Driver::new(serde_json::from_value(driver).unwrap(), &account, now()).unwrap();
        let fleet = Id::new(Kind::Fleet, now());
        let vehicle = json!({"fleet": fleet, "registration_plate": "AB12 CDE", "vin": "V1", "battery_capacity": 60000,
            "charging_standard": "Type2"});
        let vehicle = Vehicle::new(serde_json::from_value(vehicle).unwrap(), now()).unwrap();
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

    fn reserve(change: Value) -> Result<(Reservation, ReservationInternal)> {
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

    fn param(result: Result<(Reservation, ReservationInternal)>) -> String {
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
        let (reservation, internal) = reserve(json!({})).unwrap();
        assert_eq!(reservation.status, ReservationStatus::Pending);
        assert_eq!(internal.next_action_at, Some(at("2026-03-01T09:30:00Z")));
        let (_, internal) = reserve(json!({"ideal_start": "2026-03-01T08:10:00Z"})).unwrap();
        assert_eq!(internal.next_action_at, Some(now()));
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
        let (mut reservation, mut internal) =
            reserve(json!({"latest_end": "2026-03-01T11:07:00Z"})).unwrap();
        let mut moments = Vec::new();
        while let Some(due) = internal.next_action_at {
            moments.push(due.to_string()[11..16].to_owned());
            reservation.miss(
                FailedReason::NoAvailableConnectors,
                None,
                &mut internal,
                due,
            );
        }
        assert_eq!(
            moments,
            [
                "09:30", "09:35", "09:40", "09:45", "09:50", "09:55", "10:00", "10:05"
            ]
        );
        assert_eq!(reservation.status, ReservationStatus::Failed);
        assert_eq!(
            reservation.failed_reason,
            Some(FailedReason::NoAvailableConnectors)
        );
    }

    #[test]
    fn at_most_2023_attempts_are_made_whatever_latest_end_was_stored() {
        let (mut widest, mut internal) =
            reserve(json!({"latest_end": "2026-03-08T11:00:00Z"})).unwrap();
        let attempts = |one: &mut Reservation, internal: &mut ReservationInternal| {
            let mut attempts = 0;
            while let Some(due) = internal.next_action_at {
                one.miss(FailedReason::NoAvailableConnectors, None, internal, due);
                attempts += 1;
                assert!(attempts < 10_000, "attempts go on without end");
            }
            assert_eq!(one.status, ReservationStatus::Failed);
            attempts
        };
        let mut older = (widest.clone(), internal.clone());
        older.0.latest_end = Some(at("2036-03-01T11:00:00Z"));
        assert_eq!(attempts(&mut widest, &mut internal), 2_023);
        assert_eq!(attempts(&mut older.0, &mut older.1), 2_023);
    }

    #[test]
    fn an_update_keeps_latest_end_within_seven_days() {
        let (mut reservation, mut internal) = reserve(json!({})).unwrap();
        let before = reservation.clone();
        for late in [
            json!({"latest_end": "2026-03-08T11:00:00.001Z"}),
            json!({"latest_end": "2026-03-08T12:00:00Z", "ideal_end": "2026-03-01T10:30:00Z"}),
        ] {
            let mut changed = before.clone();
            let change = serde_json::from_value(late.clone()).unwrap();
            let refused = changed.update(change, &mut internal.clone(), now());
            assert_eq!(
                param(refused.map(|()| (before.clone(), internal.clone()))),
                "latest_end",
                "{late}"
            );
        }
        let change = serde_json::from_value(json!({"latest_end": "2026-03-08T11:00:00Z"})).unwrap();
        reservation.update(change, &mut internal, now()).unwrap();
        assert_eq!(reservation.latest_end, Some(at("2026-03-08T11:00:00Z")));
    }

    #[test]
    fn a_driver_who_left_fails_the_reservation_at_once() {
        let (mut reservation, mut internal) = reserve(json!({})).unwrap();
        reservation.miss(
            FailedReason::DriverUnavailable,
            None,
            &mut internal,
            at("2026-03-01T09:30:00Z"),
        );
        assert_eq!(reservation.status, ReservationStatus::Failed);
        assert_eq!(internal.next_action_at, None);
    }

    #[test]
    fn only_pending_is_updated_and_only_pending_or_confirmed_is_cancelled() {
        let (mut reservation, mut internal) = reserve(json!({})).unwrap();
        let change = || -> ReservationChange {
            serde_json::from_value(json!({"metadata": {"k": "v"}})).unwrap()
        };
        reservation.update(change(), &mut internal, now()).unwrap();
        let assignment = Assignment {
            station: Id::from_number(Kind::ChargingStation, 1),
            evse: "1".into(),
            connector: "1".into(),
            window: Window {
                from: reservation.ideal_start,
                until: reservation.ideal_end,
            },
        };
        reservation.confirm(&assignment, MatchSummary::default(), &mut internal, now());
        assert_eq!(internal.next_action_at, Some(at("2026-03-01T10:15:00Z")));
        let refused = reservation
            .update(change(), &mut internal, now())
            .unwrap_err();
        assert!(refused.is(Code::ReservationUpdateInvalidState));
        reservation.cancel(&mut internal, now()).unwrap();
        assert_eq!(internal.next_action_at, None);
        assert!(
            reservation
                .cancel(&mut internal, now())
                .unwrap_err()
                .is(Code::ReservationCancelInvalidState)
        );
    }

    #[test]
    fn moving_the_window_moves_the_attempt() {
        let (mut reservation, mut internal) = reserve(json!({})).unwrap();
        let change =
            json!({"ideal_start": "2026-03-01T12:00:00Z", "ideal_end": "2026-03-01T13:00:00Z"});
        reservation
            .update(
                serde_json::from_value(change).unwrap(),
                &mut internal,
                now(),
            )
            .unwrap();
        assert_eq!(internal.next_action_at, Some(at("2026-03-01T11:30:00Z")));
        let change = serde_json::from_value(json!({"connector_type": ["CCS"]})).unwrap();
        assert!(reservation.update(change, &mut internal, now()).is_err());
    }

    #[test]
    fn cancelling_is_free_until_half_an_hour_before_and_while_nothing_is_promised() {
        let (mut reservation, internal) = reserve(json!({})).unwrap();
        reservation.reservation_fee = 300;
        let assignment = Assignment {
            station: Id::from_number(Kind::ChargingStation, 1),
            evse: "1".into(),
            connector: "1".into(),
            window: Window {
                from: at("2026-03-01T11:00:00Z"),
                until: at("2026-03-01T12:00:00Z"),
            },
        };
        let summary = MatchSummary::default;
        let owed = |mut reservation: Reservation, now: &str| {
            let mut internal = internal.clone();
            reservation.cancel(&mut internal, at(now)).unwrap();
            reservation.fee_due
        };
        assert_eq!(owed(reservation.clone(), "2026-03-01T09:59:00Z"), 0);
        reservation.confirm(&assignment, summary(), &mut internal.clone(), now());
        assert_eq!(reservation.fee_due, 300);
        assert_eq!(owed(reservation.clone(), "2026-03-01T10:30:00Z"), 0);
        assert_eq!(owed(reservation.clone(), "2026-03-01T10:30:00.001Z"), 300);
        reservation.cancellation_policy.kind = CancellationType::NonRefundable;
        assert_eq!(owed(reservation, "2026-03-01T09:00:00Z"), 300);
    }

    #[test]
    fn a_connector_that_breaks_is_replaced_while_there_is_slack_or_the_reservation_fails() {
        let (mut reservation, mut internal) =
            reserve(json!({"latest_end": "2026-03-01T11:10:00Z"})).unwrap();
        reservation.reservation_fee = 300;
        let assignment = Assignment {
            station: Id::from_number(Kind::ChargingStation, 1),
            evse: "1".into(),
            connector: "1".into(),
            window: Window {
                from: reservation.ideal_start,
                until: reservation.ideal_end,
            },
        };
        let at_half_past_nine = at("2026-03-01T09:30:00Z");
        reservation.confirm(
            &assignment,
            MatchSummary::default(),
            &mut internal,
            at_half_past_nine,
        );
        let now = at("2026-03-01T09:52:00Z");
        let lost = ["1".to_owned()];
        let station = Id::from_number(Kind::ChargingStation, 2);
        assert!(!reservation.displace(&mut internal, &station, &lost, now));
        assert!(!reservation.displace(&mut internal, &assignment.station, &["2".into()], now));
        assert!(reservation.displace(&mut internal, &assignment.station, &lost, now));
        assert!(!reservation.displace(&mut internal, &assignment.station, &lost, now));
        let mut moments = Vec::new();
        while let Some(due) = internal.next_action_at {
            assert!(reservation.promised(&internal, due).is_some());
            moments.push(due.to_string()[11..16].to_owned());
            reservation.miss(
                FailedReason::NoAvailableConnectors,
                None,
                &mut internal,
                due,
            );
        }
        assert_eq!(moments, ["09:52", "09:57", "10:02", "10:07"]);
        assert_eq!(
            (reservation.failed_reason, reservation.fee_due),
            (Some(FailedReason::StationUnavailable), 0)
        );
    }
}
