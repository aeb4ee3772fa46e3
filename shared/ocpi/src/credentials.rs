//! Credentials: the tokens that platforms authenticate with, and the object that the handshake exchanges.
//!
//! Terms of the standard: a platform registers with token A, this service sends token B to the platform that registered, and that platform
//! sends token C to this service from then on. If this service registers with another platform, the roles are exchanged. Here a token is
//! either *own* (this service has issued it and checks it) or *foreign* (another platform has issued it and this service sends it).

use std::fmt;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::party::{PartyId, Role};
use kernel::{Error, Mode, Result};

/// The maximum length of a token, in characters.
const MAX_TOKEN: usize = 64;

/// The maximum number of roles of a platform. Its parties are claimed in one transaction, which has at most 100 writes.
pub const MAX_ROLES: usize = 90;

/// A credentials token. Its debug output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct CredentialsToken(String);

impl CredentialsToken {
    /// Issues a token for a platform: `ocpi_<mode>_`, 40 random hexadecimal digits, and the CRC-32 of all that as 8 digits, so that a token
    /// with a typing error is refused without reading the table.
    ///
    /// # Errors
    /// `Internal` if the system's source of randomness fails.
    pub fn issue(mode: Mode) -> Result<Self> {
        let mut random = [0; 20];
        getrandom::fill(&mut random).map_err(|error| Error::internal(error.to_string()))?;
        let text = format!("{PREFIX}{mode}_{}", hex::encode(random));
        Ok(Self(format!(
            "{text}{:08x}",
            crc32fast::hash(text.as_bytes())
        )))
    }

    /// Reads a token that another platform has issued.
    ///
    /// # Errors
    /// The token is not 1 to 64 printable ASCII characters without blanks.
    pub fn foreign(text: &str) -> Result<Self, String> {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if printable && (1..=MAX_TOKEN).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err("token: expected 1 to 64 printable characters without blanks".into())
        }
    }

    /// Reads an own token from the header `Authorization`: `Token` and the token in Base64. Some platforms do not encode it, and the
    /// example of the standard has a line break inside the encoding; both are accepted. Returns `None` if this cannot be an own token.
    pub fn own(header: &str) -> Option<(Mode, Self)> {
        let (scheme, sent) = header.trim().split_once(' ')?;
        let sent = sent.trim();
        if !scheme.eq_ignore_ascii_case("token") {
            return None;
        }
        let decoded = LENIENT.decode(sent).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        let decoded = decoded.as_deref().and_then(|text| Self::check(text.trim()));
        decoded.or_else(|| Self::check(sent))
    }

    fn check(text: &str) -> Option<(Mode, Self)> {
        let (mode, _) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let (body, checksum) = text.split_at_checked(text.len().checked_sub(8)?)?;
        let intact = format!("{:08x}", crc32fast::hash(body.as_bytes())) == checksum;
        let mode = mode.parse().ok().filter(|_| intact)?;
        Some((mode, Self(text.to_owned())))
    }

    /// Returns the value of the header `Authorization` with this token.
    pub fn header(&self) -> String {
        format!("Token {}", STANDARD.encode(&self.0))
    }

    /// Returns the SHA-256 of the token in hexadecimal, by which its item is found.
    pub fn hash(&self) -> String {
        hex::encode(Sha256::digest(&self.0))
    }

    /// Returns the token itself, to send it or to encrypt it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

const PREFIX: &str = "ocpi_";

/// Base64 with or without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl fmt::Debug for CredentialsToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// The credentials object.
#[derive(Clone, Serialize, Deserialize)]
pub struct Credentials {
    pub token: String,
    /// The address of the platform's versions endpoint.
    pub url: String,
    /// The hub of the platform (OCPI 2.3.0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_party_id: Option<String>,
    pub roles: Vec<CredentialsRole>,
}

/// A party on the platform.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CredentialsRole {
    pub role: Role,
    #[serde(flatten)]
    pub party: PartyId,
    pub business_details: BusinessDetails,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BusinessDetails {
    pub name: String,
}

impl Credentials {
    /// Checks the members that can be checked without calling the platform: 1 to 90 roles, none of which has the party `own`, which is that
    /// of this service. Returns the token.
    ///
    /// # Errors
    /// The problem, as a status message.
    pub fn check(&self, own: &PartyId) -> Result<CredentialsToken, String> {
        if !(1..=MAX_ROLES).contains(&self.roles.len()) {
            let count = self.roles.len();
            return Err(format!("roles: expected 1 to {MAX_ROLES}, not {count}"));
        }
        let hub = self.hub_party_id.as_deref().map(PartyId::from_joined);
        let hub = hub.transpose()?;
        let mut parties = self.roles.iter().map(|role| &role.party).chain(&hub);
        if parties.any(|party| party == own) {
            return Err(format!("roles: {own} is the party of this service"));
        }
        CredentialsToken::foreign(&self.token)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("token", &"[redacted]")
            .field("url", &self.url)
            .field("roles", &self.roles)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_token_is_read_from_the_header_encoded_or_not() {
        let token = CredentialsToken::issue(Mode::Live).unwrap();
        assert!(token.expose().len() <= MAX_TOKEN);
        let text = token.expose();
        let encoded = STANDARD.encode(text);
        for header in [
            token.header(),
            format!("token {}", encoded.trim_end_matches('=')),
            format!("Token {}", STANDARD.encode(format!("{text}\n"))),
            format!("Token {text}"),
        ] {
            let (mode, read) = CredentialsToken::own(&header).unwrap();
            assert_eq!((mode, &read), (Mode::Live, &token), "{header}");
        }
    }

    #[test]
    fn invalid_credentials_tokens_are_refused_without_a_table_read() {
        let token = CredentialsToken::issue(Mode::Test).unwrap();
        let text = token.expose();
        let last = if text.ends_with('0') { "1" } else { "0" };
        let mistyped = format!("{}{last}", &text[..text.len() - 1]);
        for header in [
            String::new(),
            "Token".into(),
            "Token ".into(),
            format!("Bearer {text}"),
            format!("Token {mistyped}"),
            format!("Token {}", STANDARD.encode(&mistyped)),
            format!(
                "Token {}",
                STANDARD.encode("ocpi-kit-conformance-not-a-real-token")
            ),
            format!("Token {}", STANDARD.encode([0xff, 0xfe])),
            "Token ocpi_test_".into(),
            "Token ocpi_é".into(),
        ] {
            assert!(CredentialsToken::own(&header).is_none(), "{header}");
        }
    }

    #[test]
    fn a_token_is_not_shown_when_it_is_printed() {
        let token = CredentialsToken::issue(Mode::Test).unwrap();
        assert_eq!(format!("{token:?}"), "[redacted]");
        let credentials = Credentials {
            token: "secret-b".into(),
            url: "https://cpo.example/versions".into(),
            hub_party_id: None,
            roles: Vec::new(),
        };
        assert!(!format!("{credentials:?}").contains("secret-b"));
    }

    #[test]
    fn foreign_tokens_are_printable() {
        assert!(CredentialsToken::foreign("ebf3b399-779f-4497-9b9d-ac6ad3cc44d2").is_ok());
        for bad in ["", "a b", "a\n", "ü", &"x".repeat(65)] {
            assert!(CredentialsToken::foreign(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn credentials_keep_the_shape_of_the_standard() {
        let sent = serde_json::json!({"token": "t", "url": "https://cpo.example/versions", "roles": [{"role": "CPO",
            "party_id": "exa", "country_code": "nl", "business_details": {"name": "Example", "website": "https://x.example"}}]});
        let read: Credentials = serde_json::from_value(sent).unwrap();
        assert!(read.check(&PartyId::new("GB", "FCS").unwrap()).is_ok());
        let refused = read.check(&PartyId::new("NL", "EXA").unwrap());
        assert!(refused.unwrap_err().contains("NL*EXA"));
        let shown = serde_json::to_value(&read).unwrap();
        let want = serde_json::json!({"role": "CPO", "party_id": "EXA", "country_code": "NL",
            "business_details": {"name": "Example"}});
        assert_eq!(shown["roles"][0], want);
    }
}
