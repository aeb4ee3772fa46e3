//! The origin of a read or write: the tenant, the moment, and the request that causes it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::scope::Rights;
use crate::time::Timestamp;

/// Whether keys, objects and events are for tests or for real use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Mode {
    Test,
    Live,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn is_live(self) -> bool {
        self == Self::Live
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An account in one mode. Every item belongs to exactly one tenant, except those of stations and accounts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tenant {
    pub account: Id,
    pub mode: Mode,
}

impl Tenant {
    pub fn new(account: Id, mode: Mode) -> Self {
        Self { account, mode }
    }
}

/// An idempotency key and the fingerprint of the request with it.
#[derive(Debug, Clone)]
pub struct Idempotency {
    pub key: String,
    /// SHA-256 of method, path, body and version, in hexadecimal.
    pub fingerprint: String,
    /// The rights of the request's key. The scopes that the request required are stored with its response, which is shown only to keys that
    /// have them.
    pub rights: Rights,
}

/// The tenant, the time and the request of a write. Background work has no request.
#[derive(Debug, Clone)]
pub struct Origin {
    pub tenant: Tenant,
    pub now: Timestamp,
    pub request: Option<Id>,
    pub idempotency: Option<Idempotency>,
    /// The condition that the object in the path of the request has to meet for the request to change it.
    pub precondition: Option<Precondition>,
    /// Whether nothing is written, because the request is a dry run.
    pub dry_run: bool,
}

/// The versions of an object that a request may change: its header `If-Match`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precondition {
    pub id: Id,
    pub versions: Vec<u64>,
}

impl Origin {
    /// Returns the origin of background work, which has no request: a confirmation, a delivery, a sweep.
    pub fn background(tenant: Tenant, now: Timestamp) -> Self {
        Self {
            tenant,
            now,
            request: None,
            idempotency: None,
            precondition: None,
            dry_run: false,
        }
    }
}
