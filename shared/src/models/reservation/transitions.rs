//! The transitions of a reservation. Each checks the state, changes the object and its internal state, and records its event.

use super::assignment::{Assignment, MatchSummary};
use super::outward::OutwardReservation;
use super::request::{ReservationChange, ReservationRequest, check_start, coded};
use super::{FailedReason, Fee, GRACE, PaidFee, RETRY, Reservation, ReservationStatus};
use crate::error::{Code, Result};
use crate::fields::patch::Change;
use crate::id::Id;
use crate::models::check_size;
use crate::models::event_type::EventType;
use crate::models::stored::Stored;
use crate::models::transaction::{
    Movement, PaymentOutcome, Transaction, TransactionStatus, TransactionType,
};
use crate::money::Money;
use crate::time::Timestamp;
use crate::window::Window;

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
        let outward = OutwardReservation::of(&self.object.id, assignment, now);
        self.internal.outward = assignment.is_of_network.then_some(outward);
        self.internal.unused = None;
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
        let next = due.unwrap_or(now).plus(RETRY);
        match next > now {
            true => next,
            false => now.plus(RETRY),
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

    /// When something is to be done about a reserved connector: its network has to be asked, or the vehicle has not come.
    fn next_step(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.internal.outward {
            Some(outward) => Some(outward.next_action_at(now)),
            None => self.expires_at(),
        }
    }

    /// When a confirmed reservation expires unless the vehicle has come.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let start = self.object.reserved_start?;
        Some(start.plus(GRACE))
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
        self.internal.is_fee_waived = self.object.is_free_to_cancel(now);
        self.object.fee_due = match self.internal.is_fee_waived {
            true => 0,
            false => self.unused_fee(),
        };
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
        self.object.fee_due = self.unused_fee();
        self.object.updated = now;
        self.record(EventType::ReservationExpired);
        self.schedule_fee_charge(now);
    }

    /// Schedules the charge of a fee that is due at the end, if the reservation has a payment method. Otherwise, and if the
    /// charge is declined, the fee is billed by an invoice.
    pub(super) fn schedule_fee_charge(&mut self, now: Timestamp) {
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

    /// Records the outcome of the charge of the fee, and returns its transaction. A fee whose charge was declined stays due.
    pub fn settle_fee(&mut self, outcome: &PaymentOutcome, now: Timestamp) -> Transaction {
        let movement = Movement {
            kind: TransactionType::Charge,
            amount: Money::new(self.object.fee_due, self.object.currency),
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
