//! The port of charging networks, which start and stop charging at a station and keep an EVSE free.
//!
//! A response contains the status of a command so far. A pending command is followed by a result, which the network sends later
//! (`SentCommand` of the table), or by nothing: the sender of the command waits for its result until a deadline, and decides then. An
//! adapter never sends a command a second time, because the first one may have had its effect.
//!
//! `functions/src/networks/operator.rs` chooses the adapter of a station: a simulation, which accepts everything at once, for stations
//! without a network in test mode; otherwise the protocol of its network, which is OCPI. An adapter translates commands into its protocol,
//! and responses and results into the words of this file, in which they are stored.

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use serde::{Deserialize, Serialize};

use crate::charging_session::profile::PowerProfile;
use crate::network::{EvseId, ObjectId};
use crate::token::Token;
use kernel::{Error, Id, Result, Tenant, Timestamp};

/// The operator of charging stations.
pub trait Network: Send + Sync {
    /// Sends a command for a charging session or a reservation.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached. Errors at the network are returned in the status.
    fn send<'a>(
        &'a self,
        subject: &'a Subject,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandStatus>>;

    /// Sends the preferences of the driver of a charging session that the network has reported. Returns the network's response in its own
    /// words, such as `ACCEPTED` or `NOT_POSSIBLE`. A network does not take preferences unless its adapter implements this.
    ///
    /// # Errors
    /// 400 if the network does not take preferences, or refuses them; 409 if the session at the network is no longer that of the subject;
    /// 503 if the network cannot be reached.
    fn set_preferences<'a>(
        &'a self,
        _: &'a Subject,
        _session: &'a ObjectId,
        _: &'a ChargingPreferences,
    ) -> BoxFuture<'a, Result<String>> {
        ready(Err(no_preferences())).boxed()
    }

    /// Returns whether the network passes charging profiles on to its stations.
    fn supports_profiles(&self) -> bool {
        false
    }
}

/// The error of a network that does not take the preferences of drivers.
pub fn no_preferences() -> Error {
    Error::malformed("The network does not take charging preferences.")
}

/// A command to the operator of a station.
#[derive(Debug, Clone)]
pub enum Command {
    /// Starts a charging session.
    Start {
        place: Place,
        /// The token to which the network bills the session.
        token: Token,
    },
    /// Ends a charging session that the network has reported.
    Stop { session: ObjectId },
    /// Keeps an EVSE free for a token.
    Reserve {
        place: Place,
        /// The token that may be used to charge there in the meantime.
        token: Token,
        /// The id of the reservation at the network: at most 36 characters. A second request with the same id replaces the first.
        reservation_id: String,
        expires: Timestamp,
    },
    /// Ends a reservation at the network.
    Cancel { reservation_id: String },
    /// Sets the maximum power of a charging session that the network has reported.
    SetProfile {
        session: ObjectId,
        profile: PowerProfile,
    },
    /// Clears the maximum power of a charging session that the network has reported.
    ClearProfile { session: ObjectId },
}

impl Command {
    /// Returns the session at the network that the command is for.
    pub fn session(&self) -> Option<&ObjectId> {
        match self {
            Self::Stop { session }
            | Self::SetProfile { session, .. }
            | Self::ClearProfile { session } => Some(session),
            Self::Start { .. } | Self::Reserve { .. } | Self::Cancel { .. } => None,
        }
    }
}

/// The kinds of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    Start,
    Stop,
    Reserve,
    Cancel,
    SetProfile,
    ClearProfile,
}

/// The operator's response to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandResponse {
    /// The command was passed on to the station, whose result follows.
    Accepted,
    Rejected(Rejection),
}

/// The station's result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandResult {
    Accepted,
    /// The station has not responded in time. It may still carry out the command.
    TimedOut,
    /// The station does not keep the EVSE free any more, although it had accepted the reservation.
    ReservationEnded,
    /// Another vehicle is connected.
    Occupied,
    OutOfOrder,
    Failed,
    NotSupported,
    Rejected,
    /// The station does not have that reservation.
    UnknownReservation,
    /// The station does not have a profile for the session, or its result cannot be interpreted.
    Unknown,
}

/// The status of a command so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandStatus {
    /// It was carried out.
    Accepted,
    /// It was not carried out, and will not be, according to the network.
    Rejected(Rejection),
    /// The station's result follows, or is lost. `command` is the id under which it is stored, and `until` the moment after which the
    /// network does not expect it any more. The command may have its effect in any case.
    Pending { command: Id, until: Timestamp },
}

/// The network's response so far to the request to keep an EVSE free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReserveOutcome {
    /// There is none, or the station has not responded in time: it may still keep the EVSE free.
    Open,
    Kept,
    /// It does not keep the EVSE free, or no longer does.
    Refused,
}

/// The reason why a command was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// The network refuses it.
    Refused,
    /// The session or the reservation is unknown to the network.
    Unknown,
    /// The network does not offer it, for this station or at all.
    NotSupported,
    /// The network has responded with an error.
    Failed,
    /// It was not sent: the network is not connected.
    NotSent,
}

/// The object that a command is about: a charging session or a reservation of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub tenant: Tenant,
    pub id: Id,
}

impl Subject {
    pub fn new(tenant: Tenant, id: Id) -> Self {
        Self { tenant, id }
    }
}

/// The place where a command is to be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub evse: EvseId,
    /// The connector within the EVSE.
    pub connector: Option<String>,
}

/// The preferences of a driver, which an operator that supports smart charging takes into account. Its JSON is that of OCPI 2.2.1-d2,
/// "ChargingPreferences".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargingPreferences {
    pub profile_type: ProfileType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub departure_time: Option<Timestamp>,
    /// kWh
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_need: Option<f64>,
    /// Whether the vehicle's battery may be discharged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discharge_allowed: Option<bool>,
}

/// The priority of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProfileType {
    Cheap,
    Fast,
    Green,
    Regular,
}
