//! Scopes: the permissions of a key, and the scopes that a request required.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::id::Resource;

/// `*`, `<resource>:read` or `<resource>:write`; writing includes reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    Everything,
    Read(Resource),
    Write(Resource),
}

impl Scope {
    /// Returns every scope.
    pub fn every() -> impl Iterator<Item = Scope> {
        let of = |resource: &Resource| [Self::Read(*resource), Self::Write(*resource)];
        std::iter::once(Self::Everything).chain(Resource::ALL.iter().flat_map(of))
    }

    /// Returns the resource of the scope.
    pub fn resource(self) -> Option<Resource> {
        match self {
            Self::Everything => None,
            Self::Read(resource) | Self::Write(resource) => Some(resource),
        }
    }

    /// Returns whether this scope includes the other.
    pub fn covers(self, other: Scope) -> bool {
        match (self, other) {
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

/// The scopes of a request's key, and those that the request required besides the scopes of its route. Clones share the recorded scopes.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    held: Vec<Scope>,
    needed: Arc<Mutex<BTreeSet<Scope>>>,
}

impl Rights {
    /// Returns the rights of a key with these scopes.
    pub fn of(held: Vec<Scope>) -> Self {
        Self {
            held,
            needed: Arc::default(),
        }
    }

    /// Returns the scopes of the key.
    pub fn held(&self) -> &[Scope] {
        &self.held
    }

    pub fn covers(&self, scope: Scope) -> bool {
        self.held.iter().any(|held| held.covers(scope))
    }

    /// Checks a scope without recording it.
    ///
    /// # Errors
    /// 403 `authentication_error` if the key lacks the scope.
    pub fn check(&self, scope: Scope) -> Result<()> {
        if self.covers(scope) {
            Ok(())
        } else {
            Err(Error::missing_scope(&scope.to_string()))
        }
    }

    /// Checks a scope, and records that the request requires it: a repetition of the request with the same `Idempotency-Key` requires it as
    /// well.
    ///
    /// # Errors
    /// 403 `authentication_error` if the key lacks the scope.
    pub fn require(&self, scope: Scope) -> Result<()> {
        self.check(scope)?;
        let mut needed = self.needed.lock().unwrap_or_else(PoisonError::into_inner);
        needed.insert(scope);
        Ok(())
    }

    /// Returns the scopes that the request has required so far.
    pub fn needed(&self) -> Vec<Scope> {
        let needed = self.needed.lock().unwrap_or_else(PoisonError::into_inner);
        needed.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_read_as_they_are_written() {
        for scope in Scope::every() {
            assert_eq!(Scope::try_from(scope.to_string()), Ok(scope));
        }
        assert!(Scope::try_from("fleets".to_owned()).is_err());
        assert!(!Scope::Read(Resource::Fleets).covers(Scope::Write(Resource::Fleets)));
    }

    #[test]
    fn a_scope_is_needed_once_it_was_required_with_success() {
        let rights = Rights::of(vec![Scope::Write(Resource::Fleets)]);
        let clone = rights.clone();
        clone.check(Scope::Write(Resource::Fleets)).unwrap();
        assert!(clone.require(Scope::Read(Resource::Drivers)).is_err());
        assert_eq!(rights.needed(), []);
        clone.require(Scope::Read(Resource::Fleets)).unwrap();
        assert_eq!(rights.needed(), [Scope::Read(Resource::Fleets)]);
    }
}
