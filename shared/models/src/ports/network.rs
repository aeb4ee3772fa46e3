//! The port of charging networks, which start and stop charging at a station and keep an EVSE free.
//!
//! A response contains the status of a command so far. A pending command is followed by a result, which the network sends later
//! (`SentCommand` of the table), or by nothing: the sender of the command waits for its result until a deadline, and decides then. An
//! adapter never sends a command a second time, because the first one may have had its effect.
//!
//! `functions/src/networks/operator.rs` chooses the adapter of a station: a simulation, which accepts everything at once, for stations
//! without a network in test mode; otherwise the protocol of its network, which is OCPI.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::charging_session::profile::PowerProfile;
use crate::network::{EvseId, ObjectId};
use crate::token::Token;
use kernel::{Id, Result, Tenant, Timestamp};

/// The operator of charging stations.
pub trait Network: Send + Sync {
    /// Starts a charging session.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached. Errors at the network are returned in the status.
    fn start<'a>(&'a self, request: &'a StartRequest) -> BoxFuture<'a, Result<CommandStatus>>;

    /// Ends a charging session that the network has reported.
    ///
    /// # Errors
    /// As [`Network::start`].
    fn stop<'a>(&'a self, request: &'a StopRequest) -> BoxFuture<'a, Result<CommandStatus>>;

    /// Keeps an EVSE free for a token, until a moment.
    ///
    /// # Errors
    /// As [`Network::start`].
    fn reserve<'a>(&'a self, request: &'a ReserveRequest) -> BoxFuture<'a, Result<CommandStatus>>;

    /// Ends a reservation at the network.
    ///
    /// # Errors
    /// As [`Network::start`].
    fn cancel<'a>(&'a self, request: &'a CancelRequest) -> BoxFuture<'a, Result<CommandStatus>>;

    /// Sets the maximum power of a charging session that the network has reported, or clears it.
    ///
    /// # Errors
    /// As [`Network::start`].
    fn set_profile<'a>(
        &'a self,
        request: &'a ProfileRequest,
    ) -> BoxFuture<'a, Result<CommandStatus>>;
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

#[derive(Debug, Clone)]
pub struct StartRequest {
    /// The charging session.
    pub subject: Subject,
    pub place: Place,
    /// The token to which the network bills the session.
    pub token: Token,
}

#[derive(Debug, Clone)]
pub struct StopRequest {
    /// The charging session.
    pub subject: Subject,
    /// The session at the network.
    pub session: ObjectId,
}

#[derive(Debug, Clone)]
pub struct ProfileRequest {
    /// The charging session.
    pub subject: Subject,
    /// The session at the network.
    pub session: ObjectId,
    /// None clears the profile.
    pub profile: Option<PowerProfile>,
}

#[derive(Debug, Clone)]
pub struct ReserveRequest {
    /// The reservation.
    pub subject: Subject,
    pub place: Place,
    /// The token that may be used to charge there in the meantime.
    pub token: Token,
    /// The id of the reservation at the network: at most 36 characters. A second request with the same id replaces the first.
    pub reservation_id: String,
    pub expires: Timestamp,
}

#[derive(Debug, Clone)]
pub struct CancelRequest {
    /// The reservation.
    pub subject: Subject,
    pub reservation_id: String,
}
