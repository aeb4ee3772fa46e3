//! What the edge has to know about a route before its handler runs.

use std::time::Duration;

use crate::models::api_key::{Resource, Scope};

/// The time a request usually has, so that a hung table is answered within 3 seconds.
pub const PATIENCE: Duration = Duration::from_millis(2_500);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    Get,
    Post,
    Delete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// A route: its function's name, where it answers, and what a caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The name of the function and of its sample event.
    pub name: &'static str,
    pub method: Method,
    /// `/v1/fleets/{id}`
    pub path: &'static str,
    pub scope: Scope,
    /// The query names it understands; any other is refused.
    pub query: &'static [&'static str],
    /// How long a request may take.
    pub patience: Duration,
}

impl Route {
    /// A route that shows something.
    pub const fn get(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self {
            name,
            method: Method::Get,
            path,
            scope: Scope::Read(resource),
            query: &[],
            patience: PATIENCE,
        }
    }

    /// A route that shows a list; give its filters with [`Route::filtered`].
    pub const fn list(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self {
            name,
            method: Method::Get,
            path,
            scope: Scope::Read(resource),
            query: &["limit", "page"],
            patience: PATIENCE,
        }
    }

    /// A route that makes or changes something.
    pub const fn post(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self {
            name,
            method: Method::Post,
            path,
            scope: Scope::Write(resource),
            query: &[],
            patience: PATIENCE,
        }
    }

    /// A route that removes something.
    pub const fn delete(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self {
            name,
            method: Method::Delete,
            path,
            scope: Scope::Write(resource),
            query: &[],
            patience: PATIENCE,
        }
    }

    /// The same with more time, for work that grows with what there is. A hung table is still noticed in good time: every
    /// call to it has a limit of its own.
    #[must_use]
    pub const fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same with these query names, `limit` and `page` among them.
    #[must_use]
    pub const fn filtered(mut self, query: &'static [&'static str]) -> Self {
        self.query = query;
        self
    }
}
