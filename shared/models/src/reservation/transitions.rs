//! The transitions of a reservation. Each checks the state, changes the object and its internal state, and records its event.

use std::mem;

use super::assignment::{Assignment, MatchSummary};
use super::limits::coded;
use super::outward::{OutwardReservation, UnusedReservation};
use super::request::{ReservationChange, ReservationRequest, check_start};
use super::{
    FailedReason, FeeState, RETRY, Reservation, ReservationState, ReservationStatus, Reserved,
    Step, Unassigned, first_attempt,
};
use crate::check_size;
use crate::event_type::EventType;
use crate::stored::Stored;
use crate::vehicle::ConnectorType;
use kernel::fields::patch::Change;
use kernel::time::{HOUR, MINUTE};
use kernel::{Code, Id, Result, SignedDuration, Timestamp, Window};

impl Stored<Reservation> {
    /// Applies an update to a pending reservation. Omitted fields keep their values.
    ///
    /// # Errors
    /// `reservation_update_invalid_state` unless pending; `reservation_invalid_input` with the field at fault.
    pub fn update(&mut self, change: ReservationChange, now: Timestamp) -> Result<()> {
        let unchanged = self.clone();
        let window = |reservation: &Reservation| (reservation.ideal_start, reservation.ideal_end);
        let before = window(&self.object);
        let has_other_plugs = change.connector_type.set().is_some();
        if self.object.status() != ReservationStatus::Pending {
            return Err(Code::ReservationUpdateInvalidState
                .because("Only a pending reservation can be updated."));
        }
        if self.object.need.is_some() || change.need.set().is_some() {
            change.check_no_window()?;
        }
        let ReservationChange {
            ideal_start,
            ideal_end,
            connector_type,
            location,
            earliest_start,
            latest_end,
            need,
            metadata,
        } = change;
        if let Change::Set(need) = need
            && self.object.need.as_deref() != Some(&need)
        {
            need.check(now)?;
            let sought = need.sought(now);
            (self.object.ideal_start, self.object.ideal_end) = (sought.from, sought.until);
            self.object.earliest_start = need.earliest_start.or(Some(sought.from));
            self.object.latest_end = Some(need.ready_by);
            self.object.need = Some(Box::new(need));
        }
        ideal_start.apply(&mut self.object.ideal_start);
        ideal_end.apply(&mut self.object.ideal_end);
        connector_type.apply(&mut self.object.connector_type);
        location.apply(&mut self.object.location);
        earliest_start.apply(&mut self.object.earliest_start);
        latest_end.apply(&mut self.object.latest_end);
        self.object.metadata.merge(metadata)?;
        if self.object.need.is_none() && window(&self.object) != before {
            check_start(self.object.ideal_start, now)?;
            let first = first_attempt(self.object.ideal_start, now);
            if let ReservationState::Pending { next_attempt, .. } = &mut self.object.state {
                *next_attempt = first;
            }
        }
        self.object.check()?;
        if has_other_plugs {
            self.object.check_plug(self.internal.charging_standard)?;
        }
        if *self == unchanged {
            return Ok(());
        }
        self.object.updated = now;
        self.record(EventType::ReservationUpdated);
        check_size(&self.object).map_err(coded)
    }

    /// Confirms a pending reservation on a connector, or moves a confirmed one to another connector or window. The reservation expires if
    /// the vehicle has not arrived 15 minutes after the start of the window. Cancelling is free during `late_free` from now on, whatever
    /// `free_until_before` is, but not after the start. If the tenant has caused the move, cancelling is free only for as long as before.
    pub fn confirm(
        &mut self,
        assignment: &Assignment,
        summary: MatchSummary,
        late_free: SignedDuration,
        now: Timestamp,
    ) {
        let start = assignment.window.from;
        let late = now.plus(late_free).min(start);
        let is_later = late_free > SignedDuration::ZERO && late > self.object.free_before(start);
        let before = self.object.state.reserved();
        let late_free_until = if self.is_lost_by_tenant() {
            let before = before.and_then(|before| before.late_free_until);
            before.map(|until| until.min(start))
        } else {
            is_later.then_some(late)
        };
        let event = if before.is_some() {
            EventType::ReservationReassigned
        } else {
            EventType::ReservationConfirmed
        };
        let outward = OutwardReservation::of(&self.object.id, assignment, now);
        let reserved = Reserved {
            station: assignment.station.clone(),
            evse: assignment.evse.clone(),
            connector: assignment.connector.clone(),
            window: assignment.window,
            confirmed_at: before.map_or(now, |before| before.confirmed_at),
            late_free_until,
            outward: assignment.is_of_network.then_some(outward),
            refused_evses: self.object.refused_evses().to_vec(),
            unused: UnusedReservation::default(),
            kept_until: None,
            was_lost: false,
        };
        self.object.state = ReservationState::Confirmed {
            reserved,
            step: Step::Arrival,
        };
        self.object.match_summary = Some(summary);
        self.object.updated = now;
        self.record(event);
    }

    /// Returns the objects that an attempt to confirm reads besides the reservation.
    pub fn request(&self) -> ReservationRequest {
        ReservationRequest {
            driver: self.object.driver.clone(),
            vehicle: self.object.vehicle.clone(),
            fleet: self.internal.fleet.clone(),
            location: self.object.location,
        }
    }

    /// Records an attempt that found no connector. The next attempt follows in 5 minutes, in an hour if there is nothing to charge now, or
    /// the reservation fails if it is too late or another attempt cannot succeed. A confirmed reservation, whose connector is lost, is pending again. If a reservation that has lost
    /// its connector finds no other one, the reason is `station_unavailable`. One that is not free to cancel, and whose vehicle has got
    /// another plug, keeps its connector.
    pub fn record_failed_attempt(
        &mut self,
        reason: FailedReason,
        summary: Option<MatchSummary>,
        now: Timestamp,
    ) {
        let hopeless = matches!(
            reason,
            FailedReason::DriverUnavailable | FailedReason::VehicleUnavailable
        );
        let mut next_attempt = self.next_attempt(now);
        if self.object.is_kept_for_its_fee(now) {
            return self.keep_for_its_fee(next_attempt);
        }
        let last_attempt = self.object.last_attempt();
        if reason == FailedReason::Other {
            // When the level of the battery falls, the reservation is planned again at once.
            next_attempt = now.plus(HOUR).min(last_attempt.plus(-MINUTE));
        }
        let is_last = hopeless || next_attempt > last_attempt || next_attempt <= now;
        let earlier = self.object.match_summary.take().filter(|_| !hopeless);
        self.object.match_summary = summary.or(earlier);
        self.object.updated = now;
        let is_confirmed = self.object.status() == ReservationStatus::Confirmed;
        let unassigned = match &self.object.state {
            ReservationState::Pending { unassigned, .. } => unassigned.clone(),
            state => state.reserved().map(|reserved| Unassigned {
                refused_evses: reserved.refused_evses.clone(),
            }),
        };
        if is_last {
            let reason = match (reason, unassigned) {
                (FailedReason::NoAvailableConnectors, Some(_)) => FailedReason::StationUnavailable,
                (reason, _) => reason,
            };
            self.object.state = ReservationState::Failed { reason };
            self.record(EventType::ReservationFailed);
        } else {
            self.object.state = ReservationState::Pending {
                next_attempt,
                unassigned,
            };
            if is_confirmed {
                self.record(EventType::ReservationUnassigned);
            }
        }
    }

    /// Keeps the reserved connector. Another one is searched until the window starts.
    fn keep_for_its_fee(&mut self, next_attempt: Timestamp) {
        if let ReservationState::Confirmed { reserved, step } = &mut self.object.state {
            *step = if next_attempt < reserved.window.from {
                Step::Rematch {
                    next_attempt,
                    by_tenant: true,
                }
            } else {
                Step::Arrival
            };
        }
    }

    /// Ends an open reservation without a fee, because its driver or vehicle was deleted. Returns false if it has ended, and while the
    /// vehicle charges: then it is completed with the session.
    pub fn fail(&mut self, reason: FailedReason, now: Timestamp) -> bool {
        if !self.object.status().is_open() || self.object.state.session().is_some() {
            return false;
        }
        self.object.state = ReservationState::Failed { reason };
        self.object.updated = now;
        self.record(EventType::ReservationFailed);
        true
    }

    /// Returns the time of the next attempt: 5 minutes after this one was due, so that attempts keep their schedule even if each of them is
    /// made late.
    fn next_attempt(&self, now: Timestamp) -> Timestamp {
        let due = self.next_action_at().filter(|due| *due <= now);
        let next = due.unwrap_or(now).plus(RETRY);
        if next > now { next } else { now.plus(RETRY) }
    }

    /// Returns the reserved window until it starts or the vehicle arrives. After its start it is returned only while the reservation awaits
    /// a rematch.
    pub fn reserved_window(&self, now: Timestamp) -> Option<Window> {
        let ReservationState::Confirmed { reserved, step } = &self.object.state else {
            return None;
        };
        let waits = match step {
            Step::Arrival => reserved.window.from > now,
            Step::Rematch { .. } => true,
            Step::Charging { .. } => false,
        };
        waits.then_some(reserved.window)
    }

    /// Requests another connector or window if what is reserved at the station is lost. The next attempt is due now. After the start of the
    /// window it is only noted, so that no fee is due. Returns whether anything changed.
    pub fn request_rematch(
        &mut self,
        station: &Id,
        is_lost: impl Fn(&Reserved) -> bool,
        now: Timestamp,
    ) -> bool {
        match &mut self.object.state {
            ReservationState::Confirmed { reserved, step }
                if reserved.station == *station && !reserved.was_lost && is_lost(reserved) =>
            {
                match step {
                    Step::Arrival if reserved.window.from <= now => reserved.was_lost = true,
                    Step::Arrival
                    | Step::Rematch {
                        by_tenant: true, ..
                    } => {
                        *step = Step::Rematch {
                            next_attempt: now,
                            by_tenant: false,
                        };
                    }
                    Step::Rematch { .. } | Step::Charging { .. } => return false,
                }
                true
            }
            _ => false,
        }
    }

    /// Notes that the network or the charging point has refused a session at the reserved EVSE after the start of the window, so that no
    /// fee is due if the vehicle does not charge. Returns whether that is new.
    pub fn refuse_session(&mut self, evse: &str, now: Timestamp) -> bool {
        match &mut self.object.state {
            ReservationState::Confirmed {
                reserved,
                step: Step::Arrival,
            } if reserved.window.from <= now && reserved.evse.eq_ignore_ascii_case(evse) => {
                !mem::replace(&mut reserved.was_lost, true)
            }
            _ => false,
        }
    }

    /// Sets the vehicle's plug for which a connector is searched.
    pub fn match_plug(&mut self, plug: ConnectorType) {
        self.internal.charging_standard = plug;
    }

    /// Requests another connector for a confirmed reservation whose vehicle has this plug now, if the reserved one was chosen for another
    /// plug. The next attempt is due now. Returns whether anything changed.
    pub fn request_rematch_for_plug(&mut self, plug: ConnectorType, now: Timestamp) -> bool {
        let ReservationState::Confirmed { reserved, step } = &mut self.object.state else {
            return false;
        };
        if self.internal.charging_standard == plug {
            return false;
        }
        match step {
            Step::Arrival if reserved.window.from > now => {
                *step = Step::Rematch {
                    next_attempt: now,
                    by_tenant: true,
                };
            }
            // The attempt that is due searches for this plug.
            Step::Rematch { .. } => {}
            Step::Arrival | Step::Charging { .. } => return false,
        }
        self.internal.charging_standard = plug;
        true
    }

    /// Checks whether another connector is searched for a confirmed reservation.
    pub fn is_awaiting_rematch(&self) -> bool {
        matches!(
            self.object.state,
            ReservationState::Confirmed {
                step: Step::Rematch { .. },
                ..
            }
        )
    }

    /// Checks whether another connector is searched because of the station or its network.
    pub fn is_lost_by_station(&self) -> bool {
        self.is_awaiting_rematch() && !self.is_lost_by_tenant()
    }

    /// Checks whether another connector is searched because a vehicle of the same tenant occupies the reserved one, or the reservation's
    /// vehicle has another plug.
    fn is_lost_by_tenant(&self) -> bool {
        matches!(
            self.object.state,
            ReservationState::Confirmed {
                step: Step::Rematch {
                    by_tenant: true,
                    ..
                },
                ..
            }
        )
    }

    /// Keeps the reserved connector, because it can be used again. Returns false if no other one was searched.
    pub fn reinstate(&mut self) -> bool {
        match &mut self.object.state {
            ReservationState::Confirmed {
                step: step @ Step::Rematch { .. },
                ..
            } => {
                *step = Step::Arrival;
                true
            }
            _ => false,
        }
    }

    /// Cancels a pending or confirmed reservation. The fee remains due if cancelling is no longer free.
    ///
    /// # Errors
    /// `reservation_cancel_invalid_state` in any other state; `reservation_invalid_state` while the vehicle charges on it.
    pub fn cancel(&mut self, now: Timestamp) -> Result<()> {
        if !self.object.status().is_open() {
            let message = "Only a pending or confirmed reservation can be cancelled.";
            return Err(Code::ReservationCancelInvalidState.because(message));
        }
        if self.object.state.session().is_some() {
            let message = "The vehicle is charging on this reservation: stop the session instead.";
            return Err(Code::ReservationInvalidState.because(message));
        }
        let fee = if self.object.is_free_to_cancel(now) {
            FeeState::Waived
        } else {
            self.fee_from(self.unused_fee(), now)
        };
        let reserved = self.object.state.reserved().cloned();
        self.object.state = ReservationState::Cancelled { reserved, fee };
        self.object.updated = now;
        self.record(EventType::ReservationCancelled);
        Ok(())
    }

    /// Records that this session fulfils the reservation, which stays confirmed until the session ends. If the vehicle charges at another
    /// EVSE, the network does not have to keep the reserved one free any longer.
    pub fn fulfil(&mut self, session: &Id, evse: &str) {
        if let ReservationState::Confirmed { reserved, step } = &mut self.object.state {
            if !reserved.evse.eq_ignore_ascii_case(evse) {
                reserved.outward = None;
            }
            let session = session.clone();
            *step = Step::Charging { session };
        }
    }

    /// Completes a confirmed reservation, because the session that fulfils it has ended.
    pub fn complete(&mut self, session: &Id, now: Timestamp) {
        let fee = self.fee_from(self.object.reservation_fee, now);
        let session = session.clone();
        self.end_confirmed(EventType::ReservationCompleted, now, |reserved| {
            ReservationState::Completed {
                reserved,
                session,
                fee,
            }
        });
    }

    /// Keeps a confirmed reservation for another minute, and at least until it would expire, because its session was requested and has not
    /// begun. While another connector is searched, only the next attempt is put off by that minute.
    pub fn await_session(&mut self, now: Timestamp) {
        if let ReservationState::Confirmed { reserved, step } = &mut self.object.state {
            let until = now.plus(MINUTE);
            match step {
                Step::Rematch { next_attempt, .. } => *next_attempt = until,
                Step::Arrival | Step::Charging { .. } => {
                    reserved.kept_until = Some(until.max(reserved.expires()));
                }
            }
        }
    }

    /// Ends a confirmed reservation whose vehicle has not arrived in time.
    pub fn expire(&mut self, now: Timestamp) {
        let reserved = self.object.state.reserved();
        let fee = match reserved {
            Some(reserved) if reserved.was_lost => FeeState::Waived,
            _ => self.fee_from(self.unused_fee(), now),
        };
        self.end_confirmed(EventType::ReservationExpired, now, |reserved| {
            ReservationState::Expired { reserved, fee }
        });
    }

    fn end_confirmed(
        &mut self,
        event: EventType,
        now: Timestamp,
        end: impl FnOnce(Reserved) -> ReservationState,
    ) {
        if let ReservationState::Confirmed { reserved, .. } = &self.object.state {
            self.object.state = end(reserved.clone());
            self.object.updated = now;
            self.record(event);
        }
    }
}
