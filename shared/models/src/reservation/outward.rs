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

use super::assignment::Assignment;
use crate::charging_session::network::Billed;
use kernel::id::Id;
use kernel::time::{MINUTE, SignedDuration, Timestamp, minutes};

/// How long before its start a reservation is sent.
pub(super) const AHEAD: SignedDuration = minutes(15);

/// How long after its start a confirmed reservation waits for the vehicle.
pub const GRACE: SignedDuration = minutes(15);

/// How long the result of RESERVE_NOW is waited for.
pub(super) const PATIENCE: SignedDuration = MINUTE;

/// What a network has billed for not using a reservation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedReservation {
    pub cdrs: Vec<Billed>,
    /// What adjustments add to the fee, in minor units.
    pub adjusted: i64,
}

/// A reservation at the network of its station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutwardReservation {
    /// What the network calls it: 32 hexadecimal digits.
    pub id: String,
    pub state: OutwardState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutwardState {
    /// To be sent.
    Due { at: Timestamp },
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

    /// The RESERVE_NOW that the network has responded to.
    pub fn command(&self) -> Option<&Id> {
        match &self.state {
            OutwardState::Due { .. } => None,
            OutwardState::Sent { command, .. } | OutwardState::Accepted { command } => {
                command.as_ref()
            }
        }
    }

    /// Whether the network may keep the EVSE free.
    pub(super) fn is_sent(&self) -> bool {
        !matches!(self.state, OutwardState::Due { .. })
    }
}
