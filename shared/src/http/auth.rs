//! Authentication: the bearer key, the account it may act in, and a cache that spares the table most of the looking up.

use std::collections::HashMap;
use std::sync::Mutex;

use axum::http::{HeaderMap, header};

use crate::app::App;
use crate::error::{Error, Result};
use crate::http::version::CURRENT;
use crate::id::{Id, Kind};
use crate::models::account::{Account, AccountStatus};
use crate::models::api_key::{ApiKey, Scope, Secret};
use crate::origin::Tenant;
use crate::store::row::Row;
use crate::time::{MINUTE, Timestamp};

/// How long a key or an account is believed to be as it was, in milliseconds. A revocation holds after that at the latest.
const BELIEVED: i64 = MINUTE;

/// How many entries are remembered.
const MAX_ENTRIES: usize = 10_000;

/// The header by which a parent acts inside a child.
const ACT_IN: &str = "service-account";

/// Who a request is from.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The account the request acts in, and the key's mode.
    pub tenant: Tenant,
    pub scopes: Vec<Scope>,
    /// The version of the account the request acts in.
    pub version: String,
    /// Whether `Service-Account` names an account that is neither the key's own nor its child: a 404, once it is known that
    /// the path exists.
    pub astray: bool,
}

/// What was read, with when.
type Known<K, V> = HashMap<K, (Timestamp, V)>;

/// Keys and accounts as they were read.
#[derive(Default)]
pub struct KeyRing {
    keys: Mutex<Known<String, Option<Row<ApiKey>>>>,
    accounts: Mutex<Known<(Tenant, Id), Row<Account>>>,
}

/// Authenticates a request.
///
/// # Errors
/// 401 for a key that is missing, malformed, unknown, expired or revoked.
pub async fn authenticate(app: &App, headers: &HeaderMap, now: Timestamp) -> Result<Principal> {
    let header = headers.get(header::AUTHORIZATION).ok_or_else(|| {
        Error::unauthenticated("No API key: send the header Authorization: Bearer <API_KEY>.")
    })?;
    let key = header
        .to_str()
        .ok()
        .and_then(bearer)
        .and_then(Secret::parse);
    let (secret, own) = key.ok_or_else(|| {
        Error::unauthenticated("This is not an API key, or it has a typing error.")
    })?;
    let key = app.keys.key(app, &own, &secret, now).await?;
    let key = key.filter(|key| !key.object.is_expired(now));
    let key = key.ok_or_else(|| {
        Error::unauthenticated("This API key does not exist, has expired or was revoked.")
    })?;
    let mut principal = Principal {
        tenant: own.clone(),
        scopes: key.object.scopes,
        version: key.private.version.unwrap_or_else(|| CURRENT.to_owned()),
        astray: false,
    };
    let Some(header) = headers.get(ACT_IN) else {
        return Ok(principal);
    };
    let account = Id::from(header.to_str().unwrap_or_default());
    match app.keys.account(app, &own, &account, now).await {
        Ok(row) => {
            principal.tenant.account = account;
            principal.version = row.private.version.unwrap_or_else(|| CURRENT.to_owned());
        }
        Err(Error::Refused(_)) => principal.astray = true,
        Err(error) => return Err(error),
    }
    Ok(principal)
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, key) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

impl KeyRing {
    async fn key(
        &self,
        app: &App,
        tenant: &Tenant,
        secret: &Secret,
        now: Timestamp,
    ) -> Result<Option<Row<ApiKey>>> {
        let hash = secret.hash();
        if let Some(known) = remembered(&self.keys, &hash, now) {
            return Ok(known);
        }
        let key = app.store.api_key(tenant, secret).await?;
        if key
            .as_ref()
            .is_some_and(|key| key.object.is_use_worth_noting(now))
            && let Err(error) = app.store.note_use(tenant, secret, now).await
        {
            // The hour of last use is a courtesy: the request goes on without it.
            tracing::warn!(account.id = %tenant.account, %error, "the use of a key was not noted");
        }
        remember(&self.keys, hash, key.clone(), now);
        Ok(key)
    }

    /// The version of an account, for what nobody asked a version of.
    ///
    /// # Errors
    /// The table's.
    pub async fn version(&self, app: &App, tenant: &Tenant, now: Timestamp) -> Result<String> {
        match self.account(app, tenant, &tenant.account, now).await {
            Ok(account) => Ok(account
                .private
                .version
                .unwrap_or_else(|| CURRENT.to_owned())),
            Err(Error::Refused(_)) => Ok(CURRENT.to_owned()),
            Err(error) => Err(error),
        }
    }

    /// The account, if the caller may act in it and it is active.
    async fn account(
        &self,
        app: &App,
        caller: &Tenant,
        id: &Id,
        now: Timestamp,
    ) -> Result<Row<Account>> {
        let place = (caller.clone(), id.clone());
        let account = match remembered(&self.accounts, &place, now) {
            Some(account) => account,
            None => {
                let account = app.store.account(caller, id).await?;
                remember(&self.accounts, place, account.clone(), now);
                account
            }
        };
        if account.object.status == AccountStatus::Active {
            Ok(account)
        } else {
            Err(Error::not_found(Kind::Account))
        }
    }
}

fn remembered<K: std::hash::Hash + Eq, V: Clone>(
    entries: &Mutex<Known<K, V>>,
    key: &K,
    now: Timestamp,
) -> Option<V> {
    let entries = entries
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let (since, value) = entries.get(key)?;
    (0..BELIEVED)
        .contains(&now.millis_since(*since))
        .then(|| value.clone())
}

fn remember<K: std::hash::Hash + Eq, V>(
    entries: &Mutex<Known<K, V>>,
    key: K,
    value: V,
    now: Timestamp,
) {
    let mut entries = entries
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if entries.len() >= MAX_ENTRIES {
        entries.retain(|_, (since, _)| now.millis_since(*since) < BELIEVED);
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
    }
    entries.insert(key, (now, value));
}
