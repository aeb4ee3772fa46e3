//! API keys: `sk_test_…` may do everything in its mode, `rk_test_…` what its scopes say.
//!
//! A key is `<sk|rk>_<mode>_` + the account's 32 hexadecimal digits + 32 random ones + the CRC-32 of all that as 8 digits.
//! It names its account, so that the key's record can be found without an index, and a typing error is refused without
//! any read. Only its SHA-256 is stored.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::Distinct;
use crate::error::{Error, Result};
pub use crate::id::Resource;
use crate::id::{Id, Kind};
use crate::origin::{Mode, Tenant};
use crate::time::{HOUR, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApiKey {
    pub id: Id,
    pub object: Kind,
    pub created: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// The last four characters of the secret.
    pub last4: String,
    /// To the hour.
    pub last_used: Option<Timestamp>,
    pub livemode: bool,
    /// `*` alone is full access.
    pub scopes: Vec<Scope>,
    /// Present on creation only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeyPrivate {
    /// SHA-256 of the secret, in hexadecimal.
    pub hash: String,
    /// The account's default version: what requests with this key have that ask for none.
    #[serde(default)]
    pub version: Option<String>,
}

/// The body of `POST /v1/api_keys`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewApiKey {
    /// What a restricted key may do; without it the key has full access.
    #[serde(default)]
    pub scopes: Option<Distinct<Scope>>,
    /// In the future.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// `*`, `<resource>:read` or `<resource>:write`; writing includes reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    Everything,
    Read(Resource),
    Write(Resource),
}

impl Scope {
    /// Every scope there is.
    pub fn every() -> impl Iterator<Item = Scope> {
        let of = |resource: &Resource| [Self::Read(*resource), Self::Write(*resource)];
        std::iter::once(Self::Everything).chain(Resource::ALL.iter().flat_map(of))
    }

    /// The resource the scope is about.
    pub fn resource(self) -> Option<Resource> {
        match self {
            Self::Everything => None,
            Self::Read(resource) | Self::Write(resource) => Some(resource),
        }
    }

    /// Whether holding this scope is enough where the other is asked for.
    pub fn covers(self, wanted: Scope) -> bool {
        match (self, wanted) {
            (Self::Everything, _) => true,
            (Self::Write(mine), Self::Read(theirs) | Self::Write(theirs)) => mine == theirs,
            (Self::Read(mine), Self::Read(theirs)) => mine == theirs,
            _ => false,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("*"),
            Self::Read(resource) => write!(f, "{}:read", resource.as_str()),
            Self::Write(resource) => write!(f, "{}:write", resource.as_str()),
        }
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

impl TryFrom<String> for Scope {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        Self::every()
            .find(|scope| scope.to_string() == text)
            .ok_or("expected *, <resource>:read or <resource>:write")
    }
}

impl ApiKey {
    /// A new key, with its secret.
    ///
    /// # Errors
    /// 400 for an expiry in the past or an empty list of scopes, 403 for a scope the maker does not hold.
    pub fn new(
        new: NewApiKey,
        tenant: &Tenant,
        held: &[Scope],
        version: &str,
        now: Timestamp,
    ) -> Result<(Self, ApiKeyPrivate)> {
        let scopes = match new.scopes {
            None => vec![Scope::Everything],
            Some(scopes) if scopes.is_empty() => {
                return Err(Error::invalid("scopes", "must not be empty"));
            }
            Some(scopes) => scopes.into(),
        };
        if let Some(lacking) = scopes
            .iter()
            .find(|scope| !held.iter().any(|mine| mine.covers(**scope)))
        {
            return Err(Error::missing_scope(&lacking.to_string()));
        }
        if new.expires_at.is_some_and(|at| at <= now) {
            return Err(Error::invalid("expires_at", "must be in the future"));
        }
        let secret = Secret::generate(tenant, scopes.contains(&Scope::Everything))?;
        let key = Self {
            id: Id::new(Kind::ApiKey, now),
            object: Kind::ApiKey,
            created: now,
            expires_at: new.expires_at,
            last4: secret.0[secret.0.len() - 4..].to_owned(),
            last_used: None,
            livemode: tenant.mode.is_live(),
            scopes,
            secret: Some(secret.0.clone()),
        };
        Ok((
            key,
            ApiKeyPrivate {
                hash: secret.hash(),
                version: Some(version.to_owned()),
            },
        ))
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Whether `last_used` is an hour behind.
    pub fn is_use_worth_noting(&self, now: Timestamp) -> bool {
        self.last_used.is_none_or(|at| now.millis_since(at) >= HOUR)
    }
}

/// The text of a key. It does not show itself when printed for debugging.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// A new secret of the tenant, full or restricted.
    ///
    /// # Errors
    /// The system's source of randomness failed.
    pub fn generate(tenant: &Tenant, full: bool) -> Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| Error::internal(error.to_string()))?;
        let account = tenant
            .account
            .number(Kind::Account)
            .ok_or_else(|| Error::internal("a tenant without an account"))?;
        let kind = if full { "sk" } else { "rk" };
        let text = format!(
            "{kind}_{}_{account:032x}{}",
            tenant.mode,
            hex::encode(random)
        );
        let check = crc32fast::hash(text.as_bytes());
        Ok(Self(format!("{text}{check:08x}")))
    }

    /// The secret and the tenant it names, when the text is one without a typing error. Reads nothing.
    pub fn parse(text: &str) -> Option<(Self, Tenant)> {
        let rest = text
            .strip_prefix("sk_")
            .or_else(|| text.strip_prefix("rk_"))?;
        let (mode, digits) = rest.split_once('_')?;
        let mode: Mode = mode.parse().ok()?;
        if digits.len() != 72 || !digits.is_ascii() {
            return None;
        }
        let (body, check) = text.split_at(text.len() - 8);
        if format!("{:08x}", crc32fast::hash(body.as_bytes())) != check {
            return None;
        }
        let account = Id::from(format!("{}{}", Kind::Account.prefix(), &digits[..32]));
        account
            .is(Kind::Account)
            .then(|| (Self(text.to_owned()), Tenant { account, mode }))
    }

    /// What is stored of it: SHA-256, in hexadecimal.
    pub fn hash(&self) -> String {
        hex::encode(Sha256::digest(self.0.as_bytes()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant() -> Tenant {
        Tenant {
            account: Id::from_number(Kind::Account, 7),
            mode: Mode::Test,
        }
    }

    #[test]
    fn a_secret_names_its_tenant_and_notices_typing_errors() {
        let secret = Secret::generate(&tenant(), true).unwrap();
        assert!(
            secret
                .0
                .starts_with("sk_test_00000000000000000000000000000007")
        );
        assert_eq!(Secret::parse(&secret.0), Some((secret.clone(), tenant())));
        for at in 0..secret.0.len() {
            let mut wrong = secret.0.clone().into_bytes();
            wrong[at] = if wrong[at] == b'1' { b'2' } else { b'1' };
            assert_eq!(
                Secret::parse(&String::from_utf8(wrong).unwrap()),
                None,
                "at {at}"
            );
        }
        assert_eq!(format!("{secret:?}"), "[redacted]");
    }

    #[test]
    fn nobody_hands_out_more_than_they_hold() {
        let now = Timestamp::from_unix_millis(0);
        let held = [Scope::Write(Resource::Fleets)];
        let asking = |scopes: Option<Vec<Scope>>| {
            let body = serde_json::json!({"scopes": scopes});
            ApiKey::new(
                serde_json::from_value(body).unwrap(),
                &tenant(),
                &held,
                "2026-03-01",
                now,
            )
        };
        assert!(asking(Some(vec![Scope::Read(Resource::Fleets)])).is_ok());
        assert_eq!(
            asking(Some(vec![Scope::Read(Resource::Drivers)]))
                .unwrap_err()
                .status(),
            403
        );
        assert_eq!(asking(None).unwrap_err().status(), 403);
        assert_eq!(asking(Some(vec![])).unwrap_err().status(), 400);
    }

    #[test]
    fn scopes_read_as_they_are_written() {
        for scope in Scope::every() {
            assert_eq!(Scope::try_from(scope.to_string()), Ok(scope));
        }
        assert!(Scope::try_from("fleets".to_owned()).is_err());
        assert!(!Scope::Read(Resource::Fleets).covers(Scope::Write(Resource::Fleets)));
    }
}
