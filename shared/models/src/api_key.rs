//! API keys: a key `sk_test_…` has full access in its mode, a key `rk_test_…` has the permissions of its scopes.
//!
//! A key is `<sk|rk>_<mode>_`, followed by the account's 32 hexadecimal digits, 32 random ones, and the CRC-32 of all that as 8 digits. It
//! contains the id of its account, so that its record is found without an index, and a typing error is refused without any read. Only its
//! SHA-256 is stored.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::NonEmpty;
use super::body::RequestBody;
use super::stored::Object;
pub use kernel::id::Resource;
pub use kernel::scope::{Rights, Scope};
use kernel::time::HOUR;
use kernel::{Error, Id, Kind, Mode, Result, Tenant, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApiKey {
    pub id: Id,
    pub object: Kind,
    pub created: Timestamp,
    /// Time from which the key is refused; null if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// The last four characters of the secret.
    pub last4: String,
    /// When the key was last used, accurate to the hour.
    pub last_used: Option<Timestamp>,
    /// Whether the key works in live mode; otherwise in test mode.
    pub livemode: bool,
    /// Permissions of the key. `*` alone is full access.
    pub scopes: Vec<Scope>,
    /// The key itself. Present in the response to the creation only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl Object for ApiKey {
    type Internal = ApiKeyInternal;

    const KIND: Kind = Kind::ApiKey;

    fn id(&self) -> &Id {
        &self.id
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeyInternal {
    /// SHA-256 of the secret, in hexadecimal.
    pub hash: String,
    /// The account's default version, which applies to requests with this key that do not name a version.
    pub version: Option<String>,
}

/// The body of `POST /v1/api_keys`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewApiKey {
    /// Permissions of a restricted key; without them the key has full access. A key can grant only scopes that it has itself.
    pub scopes: Option<NonEmpty<Scope>>,
    /// Time from which the key is refused, in the future. A key that expires can create only keys that expire no later than itself.
    pub expires_at: Option<Timestamp>,
}

impl RequestBody for NewApiKey {}

/// The key with which a request was sent: its location in the table, and its permissions.
#[derive(Debug, Clone)]
pub struct ActingKey {
    /// The account that the key belongs to. A request may act in a child of this account.
    pub account: Id,
    /// SHA-256 of the secret, in hexadecimal.
    pub hash: String,
    pub rights: Rights,
    pub expires_at: Option<Timestamp>,
}

impl ActingKey {
    pub fn covers(&self, scope: Scope) -> bool {
        self.rights.covers(scope)
    }

    /// Checks whether the key may read objects of a kind.
    pub fn may_read(&self, kind: Kind) -> bool {
        Resource::of(kind).is_some_and(|resource| self.covers(Scope::Read(resource)))
    }

    /// # Errors
    /// 403 `authentication_error` if the key lacks the scope.
    pub fn require(&self, scope: Scope) -> Result<()> {
        self.rights.require(scope)
    }

    /// # Errors
    /// 403 `authentication_error` if the key may not read objects of that kind.
    pub fn require_read(&self, kind: Kind) -> Result<()> {
        match Resource::of(kind) {
            Some(resource) => self.require(Scope::Read(resource)),
            None => Err(Error::internal(format!("no scope covers {kind:?}"))),
        }
    }

    /// Checks whether the key is valid for at least as long as a key with that expiry.
    fn outlives(&self, expires_at: Option<Timestamp>) -> bool {
        match (self.expires_at, expires_at) {
            (None, _) => true,
            (Some(own), Some(other)) => other <= own,
            (Some(_), None) => false,
        }
    }
}

impl ApiKey {
    /// Returns a new key with its secret. `acting` is the key that creates it; an operator creates a key without one.
    ///
    /// # Errors
    /// 400 for an expiry in the past; 403 `authentication_error` for a scope that the acting key
    /// lacks, or if the new key would be valid for longer than the acting key.
    pub fn new(
        new: NewApiKey,
        tenant: &Tenant,
        acting: Option<&ActingKey>,
        version: &str,
        now: Timestamp,
    ) -> Result<(Self, ApiKeyInternal)> {
        let scopes = match new.scopes {
            None => vec![Scope::Everything],
            Some(scopes) => scopes.into(),
        };
        if let Some(acting) = acting {
            for scope in &scopes {
                acting.require(*scope).map_err(|error| error.at("scopes"))?;
            }
        }
        if new.expires_at.is_some_and(|at| at <= now) {
            return Err(Error::invalid("expires_at", "must be in the future"));
        }
        if acting.is_some_and(|acting| !acting.outlives(new.expires_at)) {
            let message = "This key expires, so it cannot make a key that is valid for longer than itself: set expires_at to \
                 its own expires_at at the latest.";
            return Err(Error::not_permitted(message).at("expires_at"));
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
            ApiKeyInternal {
                hash: secret.hash(),
                version: Some(version.to_owned()),
            },
        ))
    }

    /// Checks that a key may delete this one. A key with full access may delete any; every key may delete itself.
    ///
    /// # Errors
    /// 403 `authentication_error` if this key has a scope that the acting key lacks, or is valid for longer.
    pub fn check_delete(&self, acting: &ActingKey) -> Result<()> {
        for scope in &self.scopes {
            acting.require(*scope).map_err(|_| {
                let message = "This key cannot delete a key that has scopes which it lacks itself.";
                Error::not_permitted(message)
            })?;
        }
        if !acting.covers(Scope::Everything) && !acting.outlives(self.expires_at) {
            let message =
                "This key expires, so it cannot delete a key that is valid for longer than itself.";
            return Err(Error::not_permitted(message));
        }
        Ok(())
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Checks whether `last_used` is at least an hour old.
    pub fn is_use_worth_noting(&self, now: Timestamp) -> bool {
        self.last_used.is_none_or(|at| now.since(at) >= HOUR)
    }
}

/// The text of a key. Its `Debug` output does not contain the text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Generates a secret of the tenant for a full or a restricted key.
    ///
    /// # Errors
    /// `Internal` if the system's source of randomness fails.
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

    /// Parses a secret and returns it with the tenant that it names; none if the text is not a valid key. It does not access the table.
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
            .then(|| (Self(text.to_owned()), Tenant::new(account, mode)))
    }

    /// Returns the stored form of the secret: its SHA-256, in hexadecimal.
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
        Tenant::new(Id::from_number(Kind::Account, 7), Mode::Test)
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
    fn a_key_cannot_grant_more_than_it_holds() {
        let now = Timestamp::from_unix_millis(0);
        let acting = ActingKey {
            account: tenant().account,
            hash: String::new(),
            rights: Rights::of(vec![Scope::Write(Resource::Fleets)]),
            expires_at: None,
        };
        let asking = |scopes: Option<Vec<Scope>>| {
            let body = serde_json::json!({"scopes": scopes});
            ApiKey::new(
                serde_json::from_value(body).unwrap(),
                &tenant(),
                Some(&acting),
                "2026-03-01",
                now,
            )
        };
        assert!(asking(Some(vec![Scope::Read(Resource::Fleets)])).is_ok());
        assert_eq!(
            asking(Some(vec![Scope::Read(Resource::Drivers)]))
                .unwrap_err()
                .class(),
            kernel::error::ErrorClass::Forbidden
        );
        assert_eq!(
            asking(None).unwrap_err().class(),
            kernel::error::ErrorClass::Forbidden
        );
        let none = serde_json::json!({"scopes": []});
        assert!(serde_json::from_value::<NewApiKey>(none).is_err());
    }

    #[test]
    fn a_key_cannot_create_or_delete_a_longer_lived_key() {
        let at = Timestamp::from_unix_millis;
        let scopes = vec![Scope::Read(Resource::Fleets)];
        let acting = |expires_at, scopes: &[Scope]| ActingKey {
            account: tenant().account,
            hash: String::new(),
            rights: Rights::of(scopes.to_vec()),
            expires_at,
        };
        let created = |acting: &ActingKey, expires_at: Option<Timestamp>| {
            let body = serde_json::json!({"scopes": ["fleets:read"], "expires_at": expires_at});
            let new = serde_json::from_value(body).unwrap();
            ApiKey::new(new, &tenant(), Some(acting), "2026-03-01", at(0))
        };
        let (expiring, lasting) = (acting(Some(at(5)), &scopes), acting(None, &scopes));
        for (expires_at, may) in [(Some(at(5)), true), (Some(at(6)), false), (None, false)] {
            assert_eq!(created(&expiring, expires_at).is_ok(), may);
            let (key, _) = created(&lasting, expires_at).unwrap();
            assert_eq!(key.check_delete(&expiring).is_ok(), may);
            key.check_delete(&lasting).unwrap();
            let full = acting(Some(at(1)), &[Scope::Everything]);
            key.check_delete(&full).unwrap();
        }
        let other = acting(None, &[Scope::Write(Resource::Drivers)]);
        let (key, _) = created(&lasting, None).unwrap();
        assert_eq!(
            key.check_delete(&other).unwrap_err().class(),
            kernel::error::ErrorClass::Forbidden
        );
    }
}
