//! Requests about tokens: authorizations, preferences, and a hub's reports about the parties that send them.

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

/// The preferences of a driver, which an operator that supports smart charging takes into account (OCPI 2.2.1-d2, "ChargingPreferences").
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
