//! A confirmed reservation at the network that operates its station.
//!
//! Terms. A reservation is *sent outward* by the command RESERVE_NOW, 15 minutes before its start, or at once if it is confirmed later. The
//! network keeps the EVSE free until 15 minutes after the start. Every assignment of a station has an id of its own at the network, so that
//! a message about an earlier assignment cannot be mistaken for one about a later assignment.
//!
//! Life cycle: due → sent → accepted. If the network refuses, if its result does not arrive within 60 seconds, or if it cancels a
//! reservation that it has accepted, the outward reservation ends: the reservation is matched again, without that EVSE.
//!
//! Invariants. The state is written before the command is sent. If the assignment ends after that (by a cancellation, a rematch, a failure,
//! a session at another EVSE, or an early end of the session), the state shows that it was sent, and the relay sends CANCEL_RESERVATION.
//!
//! Crashes. A command is sent at most once. If a process dies after it has written the state and before it has noted the response, the
//! result of the reservation is lost. If a message is lost, the sweeper finds the reservation by its next action.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::assignment::Assignment;
use crate::charging_session::network::Billed;
use kernel::time::{MINUTE, minutes};
use kernel::{Id, SignedDuration, Timestamp};

/// The time between sending RESERVE_NOW and the start of the reservation.
pub(super) const AHEAD: SignedDuration = minutes(15);

/// How long after its start a confirmed reservation waits for the vehicle.
pub const GRACE: SignedDuration = minutes(15);

/// The maximum time to wait for the result of RESERVE_NOW.
pub(super) const RESULT_TIMEOUT: SignedDuration = MINUTE;

/// The amounts that a network has billed for an unused reservation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedReservation {
    pub cdrs: Vec<Billed>,
    /// The sum of the adjustments of the fee, in minor units.
    pub adjusted: i64,
}

/// A reservation at the network of its station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutwardReservation {
    /// The network's id of the reservation: 32 hexadecimal digits.
    pub id: String,
    pub state: OutwardState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutwardState {
    /// RESERVE_NOW is to be sent at this time.
    Due { at: Timestamp },
    /// RESERVE_NOW was sent, or is about to be. The result counts as lost after `until`.
    Sent {
        /// The command, as soon as its response is noted.
        command: Option<Id>,
        until: Timestamp,
    },
    /// The network keeps the EVSE free. `command` is the one whose result confirmed this.
    Accepted { command: Option<Id> },
}

/// An EVSE that a network has refused to keep free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedEvse {
    pub station: Id,
    pub evse: String,
}

impl RefusedEvse {
    /// Checks whether this is the EVSE of a station with a uid, which is compared without regard to case.
    pub fn is(&self, station: &Id, evse: &str) -> bool {
        self.station == *station && self.evse.eq_ignore_ascii_case(evse)
    }
}

impl OutwardReservation {
    pub(super) fn of(reservation: &Id, assignment: &Assignment, now: Timestamp) -> Self {
        let Assignment { station, evse, .. } = assignment;
        let seed = format!("{reservation} {station} {evse} {now}");
        let digest = Sha256::digest(seed);
        let at = assignment.window.from.plus(-AHEAD).max(now);
        Self {
            id: hex::encode(&digest[..16]),
            state: OutwardState::Due { at },
        }
    }

    /// Returns the command RESERVE_NOW to which the network has responded.
    pub fn command(&self) -> Option<&Id> {
        match &self.state {
            OutwardState::Due { .. } => None,
            OutwardState::Sent { command, .. } | OutwardState::Accepted { command } => {
                command.as_ref()
            }
        }
    }

    /// Checks whether the network may be keeping the EVSE free.
    pub(super) fn is_sent(&self) -> bool {
        !matches!(self.state, OutwardState::Due { .. })
    }
}
