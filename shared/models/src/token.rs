//! Tokens: the form in which charging networks receive charge cards. This service owns the tokens and sends them in the form of OCPI
//! 2.2.1-d2, "Token".

use serde::{Deserialize, Serialize};

use super::network::PartyId;
use kernel::Timestamp;

/// The identification of a driver at a charging station.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visual_number: Option<String>,
    /// The company that issued the card.
    pub issuer: String,
    pub valid: bool,
    pub whitelist: Whitelist,
    pub last_updated: Timestamp,
}

/// A token, or a group of tokens, for which an operator publishes a location that it does not publish for all (OCPI 2.2.1-d2,
/// "PublishTokenType").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishToken {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<TokenType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visual_number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
}

impl PublishToken {
    /// Returns whether it names the token: by its uid and type, its visual number and issuer, or its group.
    pub fn names(&self, token: &Token) -> bool {
        fn is(named: Option<&String>, text: &str) -> bool {
            named.is_some_and(|named| named.eq_ignore_ascii_case(text))
        }
        let is_uid = is(self.uid.as_ref(), &token.uid) && self.kind == Some(token.kind);
        let number = token.visual_number.as_ref();
        let is_number = number.is_some_and(|number| is(self.visual_number.as_ref(), number))
            && is(self.issuer.as_ref(), &token.issuer);
        let group = token.group_id.as_ref();
        is_uid || is_number || group.is_some_and(|group| is(self.group_id.as_ref(), group))
    }

    /// Returns whether no text has more than 64 characters, the longest that OCPI defines for these members.
    pub fn is_short(&self) -> bool {
        let texts = [&self.uid, &self.visual_number, &self.issuer, &self.group_id];
        texts.into_iter().flatten().all(|text| text.len() <= 64)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum TokenType {
    /// A token for one session.
    AdHocUser,
    /// A token for a driver who uses an app.
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

/// Whether an operator may allow charging with the token without an authorization request to this service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Whitelist {
    /// The operator never requests an authorization.
    Always,
    /// The operator may request an authorization, but does not have to.
    Allowed,
    /// The operator requests an authorization, except if this service cannot be reached.
    AllowedOffline,
    /// The operator always requests an authorization.
    Never,
}

/// The response to a network that requests the authorization of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AllowedType {
    Allowed,
    Blocked,
    Expired,
    NoCredit,
    NotAllowed,
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
