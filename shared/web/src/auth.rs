//! Authentication: the bearer key, the account in which it may act, and a cache that avoids most reads of the table.
//!
//! A key is valid only while its account and every account above that are open, so authentication needs the items of the key, of its
//! account, and of the accounts above. The key contains its account, so the first two are one call. A parent never changes, so the others
//! follow one by one: one call for each level. All of them are cached for a minute. So a revocation and a change of an account's status are
//! effective on every instance after a minute at most, including keys created within that minute, and most requests read nothing. No data
//! is copied from accounts to keys, so no key can be missed.

use axum::http::{HeaderMap, header};

use kernel::cache::TtlCache;
use kernel::time::seconds;
use kernel::version::CURRENT;
use kernel::{Error, Id, Kind, Result, SignedDuration, Tenant, Timestamp};
use models::account::AccountStatus;
use models::api_key::{ActingKey, Rights, Secret};
use models::{Account, ApiKey, Stored};
use table::Store;

/// The time for which a key or an account is cached: a minute, less the possible age of the data when it is read again.
const BELIEVED: SignedDuration = seconds(58);

/// The maximum number of entries of the cache.
const MAX_ENTRIES: usize = 10_000;

/// The maximum number of accounts above one another that authentication follows. Accounts of this service nest less deeply.
const MAX_LINEAGE: usize = 32;

/// The header with which a parent acts inside a child: it contains the child's account.
pub const ACT_IN: &str = "service-account";

/// The sender of a request.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The account the request acts in, and the key's mode.
    pub tenant: Tenant,
    pub key: ActingKey,
    /// The account the request acts in, its parent, the parent's parent, and so on, each in the key's mode.
    pub lineage: Vec<Tenant>,
    /// Whether one of these accounts is suspended: the request may only read.
    pub suspended: bool,
    /// The version of the account the request acts in.
    pub version: String,
    /// Whether `Service-Account` names an account that is neither the key's own nor its child: the response is a 404, once it is
    /// established that the path exists.
    pub account_mismatch: bool,
}

/// The data of an account that authentication needs.
#[derive(Debug, Clone)]
struct KnownAccount {
    parent: Option<Id>,
    status: AccountStatus,
    version: String,
}

impl From<&Stored<Account>> for KnownAccount {
    fn from(account: &Stored<Account>) -> Self {
        let version = account.internal.version.clone();
        Self {
            parent: account.internal.parent.clone(),
            status: account.object.status,
            version: version.unwrap_or_else(|| CURRENT.to_owned()),
        }
    }
}

/// An account and the accounts above it.
struct Lineage {
    tenants: Vec<Tenant>,
    /// The strictest status among them.
    status: AccountStatus,
}

/// Cached keys and accounts; the keys by the hashes of their secrets. Keys that do not exist are in a cache of their own, so that attempts
/// with invalid keys do not evict valid ones.
pub struct KeyRing {
    keys: TtlCache<String, Stored<ApiKey>>,
    unknown_keys: TtlCache<String, ()>,
    accounts: TtlCache<Id, KnownAccount>,
}

impl Default for KeyRing {
    fn default() -> Self {
        Self {
            keys: TtlCache::new(BELIEVED, MAX_ENTRIES),
            unknown_keys: TtlCache::new(BELIEVED, MAX_ENTRIES),
            accounts: TtlCache::new(BELIEVED, MAX_ENTRIES),
        }
    }
}

/// Authenticates a request.
///
/// # Errors
/// 401 for a key that is missing, malformed, unknown, expired or revoked, or whose account, or an account above that, is
/// closed.
pub async fn authenticate(
    store: &Store,
    keys: &KeyRing,
    headers: &HeaderMap,
    now: Timestamp,
) -> Result<Principal> {
    let (secret, own) = sent_key(headers)?;
    let acts_in = headers.get(ACT_IN);
    let acts_in = acts_in.map(|account| Id::from(account.to_str().unwrap_or_default()));
    principal(store, keys, &own, &secret.hash(), acts_in, now).await
}

/// Returns the sender for a key: the key of an account with that hash, which may act in another account.
///
/// # Errors
/// As for [`authenticate`].
pub async fn principal(
    store: &Store,
    keys: &KeyRing,
    own: &Tenant,
    hash: &str,
    acts_in: Option<Id>,
    now: Timestamp,
) -> Result<Principal> {
    let key = keys.key(store, own, hash, now).await?;
    let key = key.filter(|key| !key.object.is_expired(now));
    let key = key.ok_or_else(|| {
        Error::unauthenticated("This API key does not exist, has expired or was revoked.")
    })?;
    let lineage = keys.lineage(store, own, now).await?;
    if lineage.status == AccountStatus::Closed {
        return Err(Error::unauthenticated(
            "The account of this API key is closed.",
        ));
    }
    let mut principal = Principal {
        tenant: own.clone(),
        key: ActingKey {
            account: own.account.clone(),
            hash: key.internal.hash,
            rights: Rights::of(key.object.scopes),
            expires_at: key.object.expires_at,
        },
        lineage: lineage.tenants,
        suspended: lineage.status == AccountStatus::Suspended,
        version: key.internal.version.unwrap_or_else(|| CURRENT.to_owned()),
        account_mismatch: false,
    };
    if let Some(account) = acts_in {
        act_in(store, keys, &mut principal, account, now).await?;
    }
    Ok(principal)
}

impl Principal {
    /// Checks that the account that the request acts in exists and may be changed.
    ///
    /// # Errors
    /// 403 if the account or an account above it is suspended; 404 if the key may not act in it.
    pub fn may_write(&self) -> Result<()> {
        if self.suspended {
            return Err(Error::suspended());
        }
        self.may_read()
    }

    /// Checks that the account that the request acts in exists.
    ///
    /// # Errors
    /// 404 if the key may not act in it.
    pub fn may_read(&self) -> Result<()> {
        if self.account_mismatch {
            Err(Error::not_found(Kind::Account).at("Service-Account"))
        } else {
            Ok(())
        }
    }
}

/// Makes a request act in the account that `Service-Account` names: the key's own, or a child of it that is not closed.
async fn act_in(
    store: &Store,
    keys: &KeyRing,
    principal: &mut Principal,
    id: Id,
    now: Timestamp,
) -> Result<()> {
    let own = principal.tenant.account.clone();
    let known = if id.is(Kind::Account) {
        let account = keys.account(store, &principal.tenant, &id, now);
        account.await?
    } else {
        None
    };
    let is_child = |known: &KnownAccount| {
        known.parent.as_ref() == Some(&own) && known.status != AccountStatus::Closed
    };
    let Some(known) = known.filter(|known| id == own || is_child(known)) else {
        principal.account_mismatch = true;
        return Ok(());
    };
    principal.version = known.version;
    if id != own {
        principal.suspended |= known.status == AccountStatus::Suspended;
        principal.tenant.account = id;
        principal.lineage.insert(0, principal.tenant.clone());
    }
    Ok(())
}

/// Returns the key of a request, and the tenant that the key names. Reads nothing from the table.
///
/// # Errors
/// 401 for a key that is missing or has a typing error.
pub fn sent_key(headers: &HeaderMap) -> Result<(Secret, Tenant)> {
    let header = headers.get(header::AUTHORIZATION).ok_or_else(|| {
        Error::unauthenticated("No API key: send the header Authorization: Bearer <API_KEY>.")
    })?;
    let key = header
        .to_str()
        .ok()
        .and_then(bearer)
        .and_then(Secret::parse);
    key.ok_or_else(|| Error::unauthenticated("This is not an API key, or it has a typing error."))
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, key) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

impl KeyRing {
    /// Returns whether a request has a key that was read within the last minute and is valid.
    pub fn has_valid_key(&self, headers: &HeaderMap, now: Timestamp) -> bool {
        let key = sent_key(headers).ok();
        let key = key.and_then(|(secret, _)| self.keys.get(&secret.hash(), now));
        key.is_some_and(|key| !key.object.is_expired(now))
    }

    async fn key(
        &self,
        store: &Store,
        tenant: &Tenant,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<Stored<ApiKey>>> {
        if let Some(known) = self.keys.get(hash, now) {
            return Ok(Some(known));
        }
        if self.unknown_keys.get(hash, now).is_some() {
            return Ok(None);
        }
        // A key that is not in the cache of this instance may have been created just now.
        let is_new = !self.keys.holds(hash);
        let (key, account) = store.api_key(tenant, hash, is_new).await?;
        if let Some(account) = account {
            let known = KnownAccount::from(&account);
            self.accounts.insert(tenant.account.clone(), known, now);
        }
        if key
            .as_ref()
            .is_some_and(|key| key.object.is_use_worth_noting(now))
            && let Err(error) = store.note_use(tenant, hash, now).await
        {
            // The hour of last use is not essential: the request continues without it.
            tracing::warn!(account.id = %tenant.account, %error, "the use of a key was not noted");
        }
        match &key {
            Some(key) => self.keys.insert(hash.to_owned(), key.clone(), now),
            None => self.unknown_keys.insert(hash.to_owned(), (), now),
        }
        Ok(key)
    }

    /// Returns the API version of an account, for requests that name none.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn version(&self, store: &Store, tenant: &Tenant, now: Timestamp) -> Result<String> {
        let account = self.account(store, tenant, &tenant.account, now).await?;
        Ok(account.map_or_else(|| CURRENT.to_owned(), |account| account.version))
    }

    /// Returns whether an account with that id exists: an erased account does not.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn has_account(
        &self,
        store: &Store,
        tenant: &Tenant,
        now: Timestamp,
    ) -> Result<bool> {
        let account = self.account(store, tenant, &tenant.account, now).await?;
        Ok(account.is_some())
    }

    /// Caches an account whose status was changed, so that the change is effective at once on this instance.
    pub fn learn_account(&self, account: &Stored<Account>, now: Timestamp) {
        let (id, known) = (account.object.id.clone(), KnownAccount::from(account));
        self.accounts.insert(id, known, now);
    }

    /// Removes an erased account from the cache.
    pub fn forget_account(&self, id: &Id) {
        self.accounts.remove(id);
    }

    /// Records that a key was revoked, so that this instance refuses it at once.
    pub fn revoke_key(&self, hash: &str, now: Timestamp) {
        self.keys.remove(hash);
        self.unknown_keys.insert(hash.to_owned(), (), now);
    }

    /// Returns an account and the accounts above it.
    ///
    /// # Errors
    /// 401 if one of them does not exist.
    async fn lineage(&self, store: &Store, tenant: &Tenant, now: Timestamp) -> Result<Lineage> {
        let (mut tenants, mut status) = (Vec::new(), AccountStatus::Active);
        let mut next = Some(tenant.account.clone());
        while let Some(id) = next
            && tenants.len() < MAX_LINEAGE
        {
            let account = self.account(store, tenant, &id, now).await?;
            let account = account.ok_or_else(|| {
                Error::unauthenticated("The account of this API key does not exist.")
            })?;
            status = status.max(account.status);
            next = account.parent;
            tenants.push(Tenant::new(id, tenant.mode));
        }
        Ok(Lineage { tenants, status })
    }

    async fn account(
        &self,
        store: &Store,
        context: &Tenant,
        id: &Id,
        now: Timestamp,
    ) -> Result<Option<KnownAccount>> {
        if let Some(known) = self.accounts.get(id, now) {
            return Ok(Some(known));
        }
        let Some(account) = store.find_lately::<Account>(context, id).await? else {
            return Ok(None);
        };
        let known = KnownAccount::from(&account);
        self.accounts.insert(id.clone(), known.clone(), now);
        Ok(Some(known))
    }
}
