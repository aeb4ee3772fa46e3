//! The transitions of a confirmed reservation at the network of its station, whose states are in [`super::outward`].

use super::outward::{OutwardReservation, OutwardState, RESULT_TIMEOUT, RefusedEvse};
use super::{Reservation, ReservationState, Step};
use crate::action::Action;
use crate::stored::Stored;
use kernel::{Id, Timestamp};

impl Stored<Reservation> {
    /// Returns the outward reservation, while the reservation waits for its vehicle. It is kept while another connector is searched because
    /// the reserved one is out of order or does not fit: this one may be used again.
    pub fn outward(&self) -> Option<&OutwardReservation> {
        match &self.object.state {
            ReservationState::Confirmed {
                reserved,
                step: Step::Arrival | Step::Rematch { .. },
            } => reserved.outward.as_ref(),
            _ => None,
        }
    }

    /// Returns the outward reservation that the network has to cancel, because this reservation has changed since `before`: the station,
    /// and the id at its network.
    pub fn to_cancel<'a>(&self, before: &'a Self, now: Timestamp) -> Option<(&'a Id, &'a str)> {
        let confirmed = |state: &'_ ReservationState| match state {
            ReservationState::Confirmed { reserved, .. } => {
                Some(reserved.outward.as_ref()?.id.clone())
            }
            _ => None,
        };
        let ReservationState::Confirmed { reserved, .. } = &before.object.state else {
            return None;
        };
        let outward = reserved.outward.as_ref()?;
        let is_kept = confirmed(&self.object.state).as_ref() == Some(&outward.id);
        let ends = outward.is_sent() && reserved.expires() > now && !is_kept;
        ends.then_some((&reserved.station, outward.id.as_str()))
    }

    /// Checks whether RESERVE_NOW is to be sent now.
    pub fn is_outward_due(&self, now: Timestamp) -> bool {
        self.is_due(Action::ReserveAtNetwork, now)
            && self.outward().is_some_and(|outward| !outward.is_sent())
    }

    /// Records that RESERVE_NOW is about to be sent.
    pub fn begin_outward(&mut self, now: Timestamp) {
        let until = now.plus(RESULT_TIMEOUT);
        let command = None;
        self.set_outward(OutwardState::Sent { command, until });
    }

    /// Records the command whose result is expected.
    pub fn await_outward(&mut self, command: Id, now: Timestamp) {
        let until = match self.outward().map(|outward| &outward.state) {
            Some(OutwardState::Sent { until, .. }) => *until,
            _ => now.plus(RESULT_TIMEOUT),
        };
        let command = Some(command);
        self.set_outward(OutwardState::Sent { command, until });
    }

    /// Records that the network keeps the EVSE free. From now on the reservation waits for the vehicle.
    pub fn accept_outward(&mut self, command: Option<Id>) {
        self.set_outward(OutwardState::Accepted { command });
    }

    fn set_outward(&mut self, state: OutwardState) {
        let reserved = self.object.state.reserved_mut();
        if let Some(outward) = reserved.and_then(|reserved| reserved.outward.as_mut()) {
            outward.state = state;
        }
    }

    /// Records that the network does not keep the EVSE free: the reservation is matched again now, without that EVSE.
    pub fn refuse_outward(&mut self, now: Timestamp) {
        let reserved = self.object.state.reserved();
        if reserved.is_some_and(|reserved| reserved.outward.is_some()) {
            self.give_up_evse(false, now);
        }
    }

    /// Records that another vehicle does not leave the reserved EVSE: the reservation is matched again now, without that EVSE. Returns
    /// whether anything changed. `by_tenant` says whether the other vehicle is the tenant's own.
    pub fn await_rematch(
        &mut self,
        station: &Id,
        evse: &str,
        by_tenant: bool,
        now: Timestamp,
    ) -> bool {
        let is_there = match &self.object.state {
            ReservationState::Confirmed {
                reserved,
                step: Step::Arrival,
            } => reserved.station == *station && reserved.evse.eq_ignore_ascii_case(evse),
            _ => false,
        };
        if is_there {
            self.give_up_evse(by_tenant, now);
        }
        is_there
    }

    /// Waits for the vehicle again, because the session that fulfilled the reservation is invalid. After the start of the window, no fee is
    /// due if the vehicle does not charge. If the session was at another EVSE, the reserved one was released: after the start the
    /// reservation expires, and before it another EVSE is searched. Returns whether the session fulfilled the reservation.
    pub fn lose_session(&mut self, session: &Id, evse: &str, now: Timestamp) -> bool {
        let ReservationState::Confirmed { reserved, step } = &mut self.object.state else {
            return false;
        };
        if !matches!(step, Step::Charging { session: charging } if charging == session) {
            return false;
        }
        *step = Step::Arrival;
        let is_elsewhere = !reserved.evse.eq_ignore_ascii_case(evse);
        if reserved.window.from <= now {
            reserved.was_lost = true;
            if is_elsewhere {
                self.expire(now);
                return true;
            }
            let is_over = reserved.expires() <= now;
            // RESERVE_NOW would be too late.
            reserved.outward = reserved.outward.take().filter(|outward| {
                !is_over || matches!(outward.state, OutwardState::Accepted { .. })
            });
        } else if is_elsewhere {
            self.give_up_evse(false, now);
        }
        true
    }

    fn give_up_evse(&mut self, by_tenant: bool, now: Timestamp) {
        let ReservationState::Confirmed { reserved, step } = &mut self.object.state else {
            return;
        };
        reserved.outward = None;
        let (station, evse) = (&reserved.station, &reserved.evse);
        let mut refused = reserved.refused_evses.iter();
        if !refused.any(|refused| refused.is(station, evse)) {
            reserved.refused_evses.push(RefusedEvse {
                station: station.clone(),
                evse: evse.clone(),
            });
        }
        *step = Step::Rematch {
            next_attempt: now,
            by_tenant,
        };
    }

    /// Checks whether the reserved EVSE is not kept free for the reservation.
    pub fn is_refused(&self) -> bool {
        let reserved = self.object.state.reserved();
        reserved.is_some_and(|reserved| reserved.is_refused())
    }
}

#[cfg(test)]
mod tests {
    use super::super::outward::{AHEAD, GRACE};
    use super::super::tests::confirmed_at_network;
    use super::*;
    use kernel::Kind;
    use kernel::time::{SECOND, millis, minutes};

    fn command(number: u128) -> Id {
        Id::from_number(Kind::NetworkCommand, number)
    }

    #[test]
    fn reserve_now_is_due_15_minutes_before_start_or_immediately() {
        let (reservation, start) = confirmed_at_network(minutes(60));
        let due = start.plus(-AHEAD);
        assert_eq!(reservation.next_action_at(), Some(due));
        assert!(
            !reservation.is_outward_due(due.plus(millis(-1))) && reservation.is_outward_due(due)
        );
        let outward = reservation.outward().unwrap();
        assert_eq!(outward.id.len(), 32);
        let reserved = reservation.object.state.reserved().unwrap();
        assert_eq!(reserved.expires(), start.plus(GRACE));
        let (reservation, start) = confirmed_at_network(minutes(5));
        assert!(reservation.is_outward_due(start.plus(minutes(-5))));
    }

    #[test]
    fn a_result_is_waited_for_once_and_then_the_vehicle_is() {
        let (mut reservation, start) = confirmed_at_network(minutes(10));
        let now = start.plus(minutes(-10));
        reservation.begin_outward(now);
        let until = now.plus(RESULT_TIMEOUT);
        assert_eq!(reservation.next_action_at(), Some(until));
        // The command is sent only once, even if its response was not noted.
        assert!(!reservation.is_outward_due(now) && !reservation.is_outward_due(until));
        reservation.await_outward(command(1), now.plus(SECOND));
        assert_eq!(reservation.next_action_at(), Some(until));
        assert!(!reservation.is_outward_due(now.plus(SECOND)));
        reservation.accept_outward(Some(command(1)));
        assert_eq!(reservation.next_action_at(), Some(start.plus(GRACE)));
    }

    #[test]
    fn an_evse_that_is_refused_is_given_up() {
        let (mut reservation, start) = confirmed_at_network(minutes(10));
        let now = start.plus(minutes(-10));
        let before = reservation.clone();
        reservation.begin_outward(now);
        let sent = reservation.clone();
        reservation.refuse_outward(now);
        assert!(reservation.is_refused() && reservation.outward().is_none());
        assert_eq!(reservation.next_action_at(), Some(now));
        assert!(reservation.to_cancel(&before, now).is_none());
        assert!(reservation.is_due(Action::ConfirmReservation, now));
        let cancelled = reservation.to_cancel(&sent, now).map(|(_, id)| id);
        assert_eq!(cancelled, sent.outward().map(|outward| outward.id.as_str()));
        // The network cancels the reservation itself when it has expired.
        assert!(reservation.to_cancel(&sent, start.plus(GRACE)).is_none());
        reservation.refuse_outward(now);
        assert_eq!(reservation.object.refused_evses().len(), 1);
    }

    #[test]
    fn an_invalid_session_leaves_the_reservation_as_unused() {
        let (reservation, start) = confirmed_at_network(minutes(10));
        let evse = reservation.object.state.reserved().unwrap().evse.clone();
        let session = Id::from_number(Kind::ChargingSession, 1);
        for (after, is_lost, due) in [(-5, false, -10), (5, true, -10), (15, true, 15)] {
            let mut reservation = reservation.clone();
            reservation.fulfil(&session, &evse);
            let other = Id::from_number(Kind::ChargingSession, 2);
            let now = start.plus(minutes(after));
            assert!(!reservation.lose_session(&other, &evse, now));
            assert!(reservation.lose_session(&session, &evse, now));
            assert!(!reservation.lose_session(&session, &evse, now));
            let reserved = reservation.object.state.reserved().unwrap();
            assert_eq!(reserved.was_lost, is_lost);
            let due = start.plus(minutes(due));
            assert_eq!(reservation.next_action_at(), Some(due));
        }
        let mut elsewhere = reservation;
        elsewhere.fulfil(&session, "another");
        assert!(elsewhere.lose_session(&session, "another", start.plus(minutes(-5))));
        assert!(elsewhere.is_awaiting_rematch() && elsewhere.is_refused());
    }

    #[test]
    fn whatever_ends_a_reservation_cancels_it_at_the_network() {
        let (mut reservation, start) = confirmed_at_network(minutes(10));
        let now = start.plus(minutes(-10));
        reservation.begin_outward(now);
        reservation.accept_outward(None);
        let before = reservation.clone();
        assert!(reservation.to_cancel(&before, now).is_none());
        let session = Id::from_number(Kind::ChargingSession, 1);
        let mut elsewhere = reservation.clone();
        elsewhere.fulfil(&session, "another");
        assert!(elsewhere.to_cancel(&before, now).is_some());
        let evse = reservation.object.state.reserved().unwrap().evse.clone();
        reservation.fulfil(&session, &evse);
        assert!(reservation.to_cancel(&before, now).is_none() && reservation.outward().is_none());
        let charging = reservation.clone();
        reservation.complete(&session, now);
        assert!(reservation.to_cancel(&charging, now).is_some());
        let mut reservation = before.clone();
        reservation.cancel(now).unwrap();
        assert!(reservation.to_cancel(&before, now).is_some());
        let over = reservation.clone();
        assert!(reservation.to_cancel(&over, now).is_none());
    }
}
