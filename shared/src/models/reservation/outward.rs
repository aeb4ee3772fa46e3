//! A confirmed reservation at the network that operates its station.
//!
//! Terms. A reservation is *sent outward* by the command RESERVE_NOW, 15 minutes before its start, or at once if it is confirmed
//! later. The network keeps the EVSE free until 15 minutes after the start. Every assignment of a station has an id of its own there,
//! so that nothing that is said about an earlier assignment is taken for a later one.
//!
//! Life cycle: due → sent → accepted. A network that refuses, or whose result does not arrive within 60 seconds, ends it: the
//! reservation is matched again, without that EVSE. So does one that cancels a reservation that it has accepted.
//!
//! Invariants. The state is written before the command is sent. So whatever ends the assignment after that (a cancellation, a rematch, a
//! failure, an early end of the session) finds it sent, and the relay sends CANCEL_RESERVATION.
//!
//! Crashes. A command is sent at most once. A process that dies between writing the state and noting the response leaves a
//! reservation whose result is lost. If a message is lost, the sweeper finds the reservation by its next action.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Assignment, GRACE, Reservation, ReservationStatus};
use crate::id::Id;
use crate::models::stored::Stored;
use crate::time::{MINUTE, Timestamp};

/// How long before its start a reservation is sent, in milliseconds.
const AHEAD: i64 = 15 * MINUTE;

/// How long the result of RESERVE_NOW is waited for, in milliseconds.
const PATIENCE: i64 = MINUTE;

/// A reservation at the network of its station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutwardReservation {
    /// What the network calls it: 32 hexadecimal digits.
    pub id: String,
    pub station: Id,
    pub evse: String,
    /// Until when the network keeps the EVSE free.
    pub expires: Timestamp,
    pub state: OutwardState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutwardState {
    /// To be sent at the next action.
    Due,
    /// Sent, or about to be. The result is lost after `until`.
    Sent {
        /// The command, once its response is noted.
        command: Option<Id>,
        until: Timestamp,
    },
    /// The EVSE is kept free. `command` is the one whose result said so.
    Accepted { command: Option<Id> },
}

/// An EVSE that a network has refused to keep free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedEvse {
    pub station: Id,
    pub evse: String,
}

impl OutwardReservation {
    pub(super) fn of(reservation: &Reservation, assignment: &Assignment, now: Timestamp) -> Self {
        let Assignment { station, evse, .. } = assignment;
        let seed = format!("{} {station} {evse} {now}", reservation.id);
        let digest = Sha256::digest(seed);
        Self {
            id: hex::encode(&digest[..16]),
            station: station.clone(),
            evse: evse.clone(),
            expires: assignment.window.from.plus_millis(GRACE),
            state: OutwardState::Due,
        }
    }

    /// Whether the network may keep the EVSE free.
    fn is_sent(&self) -> bool {
        self.state != OutwardState::Due
    }

    /// When the next step is to be taken.
    pub(super) fn next_action_at(&self, now: Timestamp) -> Timestamp {
        let start = self.expires.plus_millis(-GRACE);
        match &self.state {
            OutwardState::Due => start.plus_millis(-AHEAD).max(now),
            OutwardState::Sent { until, .. } => *until,
            OutwardState::Accepted { .. } => self.expires,
        }
    }
}

impl Stored<Reservation> {
    /// The outward reservation, while the reservation waits for its vehicle.
    pub fn outward(&self) -> Option<&OutwardReservation> {
        let waits = self.object.status == ReservationStatus::Confirmed
            && !self.internal.awaiting_rematch
            && self.internal.next_action_at.is_some();
        self.internal.outward.as_ref().filter(|_| waits)
    }

    /// What the network has to be told to cancel now that the row is no longer as it was `before`.
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
        let due = self.internal.next_action_at.is_some_and(|due| due <= now);
        let mut outward = self.outward().into_iter();
        due && outward.any(|one| one.state == OutwardState::Due)
    }

    /// Records that RESERVE_NOW is about to be sent.
    pub fn begin_outward(&mut self, now: Timestamp) {
        let until = now.plus_millis(PATIENCE);
        let command = None;
        self.set_outward(OutwardState::Sent { command, until }, now);
    }

    /// Records the command whose result is waited for.
    pub fn await_outward(&mut self, command: Id, now: Timestamp) {
        let until = match self.internal.outward.as_ref().map(|one| &one.state) {
            Some(OutwardState::Sent { until, .. }) => *until,
            _ => now.plus_millis(PATIENCE),
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
    use super::super::tests::confirmed_at_network;
    use super::*;
    use crate::id::Kind;
    use crate::time::SECOND;

    fn command(number: u128) -> Id {
        Id::from_number(Kind::NetworkCommand, number)
    }

    #[test]
    fn a_reservation_is_sent_fifteen_minutes_before_its_start_or_at_once() {
        let (row, start) = confirmed_at_network(60 * MINUTE);
        let due = start.plus_millis(-AHEAD);
        assert_eq!(row.internal.next_action_at, Some(due));
        assert!(!row.is_outward_due(due.plus_millis(-1)) && row.is_outward_due(due));
        let outward = row.outward().unwrap();
        assert_eq!(outward.id.len(), 32);
        assert_eq!(outward.expires, start.plus_millis(GRACE));
        let (row, start) = confirmed_at_network(5 * MINUTE);
        assert!(row.is_outward_due(start.plus_millis(-5 * MINUTE)));
    }

    #[test]
    fn a_result_is_waited_for_once_and_then_the_vehicle_is() {
        let (mut row, start) = confirmed_at_network(10 * MINUTE);
        let now = start.plus_millis(-10 * MINUTE);
        row.begin_outward(now);
        let until = Some(now.plus_millis(PATIENCE));
        assert_eq!(row.internal.next_action_at, until);
        // It is sent once, even if nobody has noted the response.
        assert!(!row.is_outward_due(now) && !row.is_outward_due(until.unwrap()));
        row.await_outward(command(1), now.plus_millis(SECOND));
        assert_eq!(row.internal.next_action_at, until);
        assert!(!row.is_outward_due(now.plus_millis(SECOND)));
        row.accept_outward(Some(command(1)), now.plus_millis(2 * SECOND));
        assert_eq!(row.internal.next_action_at, Some(start.plus_millis(GRACE)));
    }

    #[test]
    fn an_evse_that_is_refused_is_given_up() {
        let (mut row, start) = confirmed_at_network(10 * MINUTE);
        let now = start.plus_millis(-10 * MINUTE);
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
        assert!(row.to_cancel(&sent, start.plus_millis(GRACE)).is_none());
        row.refuse_outward(now);
        assert_eq!(row.internal.refused_evses.len(), 1);
    }

    #[test]
    fn whatever_ends_a_reservation_cancels_it_at_the_network() {
        let (mut row, start) = confirmed_at_network(10 * MINUTE);
        let now = start.plus_millis(-10 * MINUTE);
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
