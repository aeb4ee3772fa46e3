//! The transitions of a confirmed reservation at the network of its station, whose states are in [`super::outward`].

use super::outward::{OutwardReservation, OutwardState, PATIENCE, RefusedEvse};
use super::{Reservation, ReservationStatus};
use crate::id::Id;
use crate::models::action::Action;
use crate::models::stored::Stored;
use crate::time::Timestamp;

impl Stored<Reservation> {
    /// The outward reservation, while the reservation waits for its vehicle.
    pub fn outward(&self) -> Option<&OutwardReservation> {
        let waits = self.object.status == ReservationStatus::Confirmed
            && !self.internal.awaiting_rematch
            && self.internal.next_action_at.is_some();
        self.internal.outward.as_ref().filter(|_| waits)
    }

    /// What the network has to be asked to cancel now that the row is no longer as it was `before`.
    pub fn to_cancel<'a>(
        &self,
        before: &'a Self,
        now: Timestamp,
    ) -> Option<&'a OutwardReservation> {
        let outward = before.internal.outward.as_ref()?;
        let was_open = before.object.status == ReservationStatus::Confirmed;
        let is_open = self.object.status == ReservationStatus::Confirmed;
        let is_same = self
            .internal
            .outward
            .as_ref()
            .is_some_and(|one| one.id == outward.id);
        let ends = was_open && outward.is_sent() && outward.expires > now && !(is_open && is_same);
        ends.then_some(outward)
    }

    /// Whether RESERVE_NOW is to be sent now.
    pub fn is_outward_due(&self, now: Timestamp) -> bool {
        let outward = self.outward();
        self.is_due(Action::ReserveAtNetwork, now)
            && outward.is_some_and(|one| one.state == OutwardState::Due)
    }

    /// Records that RESERVE_NOW is about to be sent.
    pub fn begin_outward(&mut self, now: Timestamp) {
        let until = now.plus(PATIENCE);
        let command = None;
        self.set_outward(OutwardState::Sent { command, until }, now);
    }

    /// Records the command whose result is waited for.
    pub fn await_outward(&mut self, command: Id, now: Timestamp) {
        let until = match self.internal.outward.as_ref().map(|one| &one.state) {
            Some(OutwardState::Sent { until, .. }) => *until,
            _ => now.plus(PATIENCE),
        };
        let command = Some(command);
        self.set_outward(OutwardState::Sent { command, until }, now);
    }

    /// Records that the network keeps the EVSE free. What is left is to see whether the vehicle comes.
    pub fn accept_outward(&mut self, command: Option<Id>, now: Timestamp) {
        self.set_outward(OutwardState::Accepted { command }, now);
    }

    fn set_outward(&mut self, state: OutwardState, now: Timestamp) {
        if let Some(outward) = &mut self.internal.outward {
            outward.state = state;
            self.internal.next_action_at = Some(outward.next_action_at(now));
        }
    }

    /// Records that the network does not keep the EVSE free: the reservation is matched again now, without that EVSE.
    pub fn refuse_outward(&mut self, now: Timestamp) {
        let Some(outward) = self.internal.outward.take() else {
            return;
        };
        let refused = RefusedEvse {
            station: outward.station,
            evse: outward.evse,
        };
        if !self.internal.refused_evses.contains(&refused) {
            self.internal.refused_evses.push(refused);
        }
        self.internal.awaiting_rematch = true;
        self.internal.next_action_at = Some(now);
    }

    /// Whether a network has refused to keep the reserved EVSE free.
    pub fn is_refused(&self) -> bool {
        let refused = self.internal.refused_evses.iter();
        refused.clone().any(|one| {
            self.object.charging_station.as_ref() == Some(&one.station)
                && self.internal.evse.as_deref() == Some(one.evse.as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::outward::{AHEAD, GRACE};
    use super::super::tests::confirmed_at_network;
    use super::*;
    use crate::id::Kind;
    use crate::time::{SECOND, millis, minutes, seconds};

    fn command(number: u128) -> Id {
        Id::from_number(Kind::NetworkCommand, number)
    }

    #[test]
    fn a_reservation_is_sent_fifteen_minutes_before_its_start_or_at_once() {
        let (row, start) = confirmed_at_network(minutes(60));
        let due = start.plus(-AHEAD);
        assert_eq!(row.internal.next_action_at, Some(due));
        assert!(!row.is_outward_due(due.plus(millis(-1))) && row.is_outward_due(due));
        let outward = row.outward().unwrap();
        assert_eq!(outward.id.len(), 32);
        assert_eq!(outward.expires, start.plus(GRACE));
        let (row, start) = confirmed_at_network(minutes(5));
        assert!(row.is_outward_due(start.plus(minutes(-5))));
    }

    #[test]
    fn a_result_is_waited_for_once_and_then_the_vehicle_is() {
        let (mut row, start) = confirmed_at_network(minutes(10));
        let now = start.plus(minutes(-10));
        row.begin_outward(now);
        let until = now.plus(PATIENCE);
        assert_eq!(row.internal.next_action_at, Some(until));
        // It is sent once, even if nobody has noted the response.
        assert!(!row.is_outward_due(now) && !row.is_outward_due(until));
        row.await_outward(command(1), now.plus(SECOND));
        assert_eq!(row.internal.next_action_at, Some(until));
        assert!(!row.is_outward_due(now.plus(SECOND)));
        row.accept_outward(Some(command(1)), now.plus(seconds(2)));
        assert_eq!(row.internal.next_action_at, Some(start.plus(GRACE)));
    }

    #[test]
    fn an_evse_that_is_refused_is_given_up() {
        let (mut row, start) = confirmed_at_network(minutes(10));
        let now = start.plus(minutes(-10));
        let before = row.clone();
        row.begin_outward(now);
        let sent = row.clone();
        row.refuse_outward(now);
        assert!(row.is_refused() && row.internal.awaiting_rematch && row.outward().is_none());
        assert_eq!(row.internal.next_action_at, Some(now));
        assert!(row.to_cancel(&before, now).is_none());
        let cancelled = row.to_cancel(&sent, now).map(|one| one.id.as_str());
        assert_eq!(cancelled, sent.outward().map(|one| one.id.as_str()));
        // The network does so by itself when it has expired.
        assert!(row.to_cancel(&sent, start.plus(GRACE)).is_none());
        row.refuse_outward(now);
        assert_eq!(row.internal.refused_evses.len(), 1);
    }

    #[test]
    fn whatever_ends_a_reservation_cancels_it_at_the_network() {
        let (mut row, start) = confirmed_at_network(minutes(10));
        let now = start.plus(minutes(-10));
        row.begin_outward(now);
        row.accept_outward(None, now);
        let before = row.clone();
        assert!(row.to_cancel(&before, now).is_none());
        row.fulfil(&Id::from_number(Kind::ChargingSession, 1));
        assert!(row.to_cancel(&before, now).is_none() && row.outward().is_none());
        let charging = row.clone();
        row.complete(now);
        assert!(row.to_cancel(&charging, now).is_some());
        let mut row = before.clone();
        row.cancel(now).unwrap();
        assert!(row.to_cancel(&before, now).is_some());
        let over = row.clone();
        assert!(row.to_cancel(&over, now).is_none());
    }
}
