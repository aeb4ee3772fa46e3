//! Tokens: the OCPI view of what a driver identifies with at a charging station. This service is their owner and sends them.

use serde::{Deserialize, Serialize};

use super::party::{PartyId, PartyStatus, Role};
use super::reader::{optional_moment, text};
use crate::time::Timestamp;

/// A token, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    #[serde(flatten)]
    pub owner: PartyId,
    /// Unique together with the type, and case-insensitive.
    pub uid: String,
    #[serde(rename = "type")]
    pub kind: TokenType,
    pub contract_id: String,
    /// Tokens with the same group may end each other's sessions and use each other's reservations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visual_number: Option<String>,
    /// The company that issued the card.
    pub issuer: String,
    pub valid: bool,
    pub whitelist: Whitelist,
    pub last_updated: Timestamp,
}

#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumString,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum TokenType {
    /// Stands for one session.
    AdHocUser,
    /// Stands for a driver who uses an app.
    AppUser,
    Rfid,
}

impl TokenType {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// Whether an operator may let the token charge without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Whitelist {
    /// It never asks.
    Always,
    /// It may ask, and need not.
    Allowed,
    /// It asks, and need not when this service cannot be reached.
    AllowedOffline,
    /// It always asks.
    Never,
}

/// Where a driver wants to charge, in a request for an authorization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationReferences {
    #[serde(deserialize_with = "text")]
    pub location_id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evse_uids: Vec<String>,
}

/// The answer to a request for an authorization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuthorizationInfo {
    pub allowed: AllowedType,
    pub token: Token,
    /// Where charging is allowed; only if the request names a location and charging is allowed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationReferences>,
    /// Comes back in the session and its CDR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_reference: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AllowedType {
    Allowed,
    Blocked,
    Expired,
    NoCredit,
    NotAllowed,
}

/// The preferences of a driver, which an operator that supports smart charging takes into account (OCPI 2.2.1-d2, "ChargingPreferences").
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargingPreferences {
    pub profile_type: ProfileType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure_time: Option<Timestamp>,
    /// kWh
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_need: Option<f64>,
    /// Whether the vehicle's battery may be discharged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discharge_allowed: Option<bool>,
}

/// What matters most to a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProfileType {
    Cheap,
    Fast,
    Green,
    Regular,
}

/// What a hub reports about a party that is connected to it. A party has one for each of its roles.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_the_shape_of_the_standard() {
        let token = Token {
            owner: PartyId::new("DE", "TNM").unwrap(),
            uid: "bdf21bce".into(),
            kind: TokenType::AppUser,
            contract_id: "DE8ACC12E46L89".into(),
            group_id: None,
            visual_number: None,
            issuer: "TheNewMotion".into(),
            valid: true,
            whitelist: Whitelist::Allowed,
            last_updated: Timestamp::parse("2018-12-10T17:16:15Z").unwrap(),
        };
        let want = serde_json::json!({"country_code": "DE", "party_id": "TNM", "uid": "bdf21bce", "type": "APP_USER",
            "contract_id": "DE8ACC12E46L89", "issuer": "TheNewMotion", "valid": true, "whitelist": "ALLOWED",
            "last_updated": "2018-12-10T17:16:15.000Z"});
        assert_eq!(serde_json::to_value(&token).unwrap(), want);
        assert_eq!(serde_json::from_value::<Token>(want).unwrap(), token);
        assert_eq!(TokenType::from_name("RFID"), Some(TokenType::Rfid));
        assert_eq!(TokenType::from_name("rfid"), None);
    }
}
