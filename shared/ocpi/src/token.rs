//! Requests about tokens: authorizations, and a hub's reports about the parties that send them.

use serde::{Deserialize, Serialize};

use super::party::{PartyId, PartyStatus, Role};
use super::reader::{optional_moment, text};
use kernel::Timestamp;
use models::token::{AllowedType, Token};

/// The place where a driver wants to charge, in a request for an authorization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationReferences {
    #[serde(deserialize_with = "text")]
    pub location_id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evse_uids: Vec<String>,
}

/// The response to a request for an authorization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuthorizationInfo {
    pub allowed: AllowedType,
    pub token: Token,
    /// The permitted place; only if the request names a location and charging is allowed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationReferences>,
    /// The operator repeats it in the session and its CDR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_reference: Option<String>,
}

/// A hub's report about a party that is connected to it. A party has one for each of its roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientInfo {
    #[serde(flatten)]
    pub party: PartyId,
    pub role: Role,
    pub status: PartyStatus,
    #[serde(
        default,
        deserialize_with = "optional_moment",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_updated: Option<Timestamp>,
}
