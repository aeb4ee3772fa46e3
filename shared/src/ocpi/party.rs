//! Parties and roles: who takes part in roaming.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A party: an ISO 3166-1 alpha-2 country code and a party id of three characters (ISO 15118). Both are case-insensitive and
/// kept in capitals.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "RawPartyId")]
pub struct PartyId {
    country_code: String,
    party_id: String,
}

#[derive(Deserialize)]
struct RawPartyId {
    country_code: String,
    party_id: String,
}

impl TryFrom<RawPartyId> for PartyId {
    type Error = String;

    fn try_from(raw: RawPartyId) -> Result<Self, String> {
        Self::new(&raw.country_code, &raw.party_id)
    }
}

impl PartyId {
    /// Reads the two parts, in capitals or not.
    ///
    /// # Errors
    /// The country code is not two letters, or the party id is not three letters or digits.
    pub fn new(country_code: &str, party_id: &str) -> Result<Self, String> {
        let (country, party) = (country_code.trim(), party_id.trim());
        if country.len() != 2 || !country.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err("country_code: expected two letters".into());
        }
        if party.len() != 3 || !party.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err("party_id: expected three letters or digits".into());
        }
        Ok(Self {
            country_code: country.to_ascii_uppercase(),
            party_id: party.to_ascii_uppercase(),
        })
    }

    /// Reads `hub_party_id` of OCPI 2.3.0, which is the two parts without anything between them.
    ///
    /// # Errors
    /// The text is not a country code and a party id.
    pub fn from_joined(text: &str) -> Result<Self, String> {
        match text.trim().split_at_checked(2) {
            Some((country, party)) => Self::new(country, party),
            None => Err("hub_party_id: expected five characters".into()),
        }
    }

    pub fn country_code(&self) -> &str {
        &self.country_code
    }

    pub fn party_id(&self) -> &str {
        &self.party_id
    }
}

impl fmt::Display for PartyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}*{}", self.country_code, self.party_id)
    }
}

/// What a party does. Roles that this service has no use for are `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Role {
    /// Operates charging stations.
    Cpo,
    /// Serves drivers, as this service does.
    Emsp,
    /// Passes messages on between parties.
    Hub,
    #[serde(other)]
    Other,
}

/// Whether a party can be reached, as its hub reports it (OCPI 2.2.1-d2, "ConnectionStatus"). A status that is not in the standard counts as
/// `OFFLINE`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PartyStatus {
    #[default]
    Connected,
    Planned,
    Suspended,
    #[serde(other)]
    Offline,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_is_the_same_in_capitals_or_not() {
        let party = PartyId::new("nl", "tNm").unwrap();
        assert_eq!(party, PartyId::new("NL", "TNM").unwrap());
        assert_eq!(party, PartyId::from_joined("NLtnm").unwrap());
        assert_eq!(party.to_string(), "NL*TNM");
        for (country, id) in [("N", "TNM"), ("N1", "TNM"), ("NL", "TN"), ("NL", "T*M")] {
            assert!(PartyId::new(country, id).is_err(), "{country} {id}");
        }
        assert!(PartyId::from_joined("NLTNMX").is_err() && PartyId::from_joined("ü").is_err());
    }

    #[test]
    fn an_unknown_role_is_read() {
        let read = |text: &str| serde_json::from_str::<Role>(text).unwrap();
        assert_eq!(read("\"CPO\""), Role::Cpo);
        assert_eq!(read("\"SCSP\""), Role::Other);
    }
}
