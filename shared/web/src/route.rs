//! What the edge has to know about a route before its handler runs.

use std::fmt;
use std::time::Duration;

use crate::deployment::{Deployment, Need};
use kernel::error::Code;
use models::api_key::{Resource, Scope};
use table::access::Rows;
use table::shown::Shows;

/// The time a request usually has, so that a hung table is answered within 3 seconds.
pub const PATIENCE: Duration = Duration::from_millis(2_500);

/// The time a request that charges has: longer than the payment provider takes to answer or to time out, shorter than the 29
/// seconds after which API Gateway and Lambda end the request.
pub const CHARGE_PATIENCE: Duration = Duration::from_secs(28);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Method {
    Get,
    Post,
    Delete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A route: its function's name, where it answers, and what a caller needs.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The name of the function and of its sample event.
    pub name: &'static str,
    pub method: Method,
    /// `/v1/fleets/{id}`
    pub path: &'static str,
    /// The scope of the resource. A key needs it always.
    pub scope: Scope,
    /// Further scopes that a key needs always.
    pub also: &'static [Scope],
    /// Further scopes that a key needs for some requests, or for some of what they show.
    pub sometimes: &'static [Conditional],
    /// The query names that its handler reads; any other is refused.
    pub query: fn() -> Vec<&'static str>,
    /// What its handler's reply shows.
    pub shows: Shows,
    /// The codes it may refuse with, besides those of its body and of the object in its path.
    pub refuses: &'static [Code],
    /// How long a request may take.
    pub patience: Duration,
    /// Its `writes` are those besides the rows of the kind that it shows; see [`Route::writes`].
    pub deployment: Deployment,
    /// Whether a request charges a payment method.
    pub charges: bool,
    /// Whether a request may ask what it would do, with [`DRY_RUN`] in the query.
    pub can_rehearse: bool,
}

/// The query name by which a request asks what it would do.
pub const DRY_RUN: &str = "dry_run";

/// A scope that a key needs for some requests to a route. The handler checks it; this is what the interface's document says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conditional {
    /// `payment_methods:write`, or `<resource>:read` where the resource depends on the request.
    pub scope: &'static str,
    /// When it is needed, and what happens without it.
    pub when: &'static str,
}

/// A request that names the payment method to be charged.
pub const CHARGES_IF_NAMED: Conditional = Conditional {
    scope: "payment_methods:write",
    when: "the body names a payment_method",
};

/// As API Gateway and the sample events name it: `GET /v1/fleets`.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.as_str(), self.path)
    }
}

impl Route {
    /// `query` and `shows` follow from the handler; they are set where a route gets one.
    const fn new(
        name: &'static str,
        method: Method,
        path: &'static str,
        scope: Scope,
        resource: Resource,
    ) -> Self {
        Self {
            name,
            method,
            path,
            scope,
            also: &[],
            sometimes: &[],
            query: Vec::new,
            shows: Shows::Object(resource.kind()),
            refuses: &[],
            patience: PATIENCE,
            deployment: Deployment::of_request(),
            charges: false,
            can_rehearse: matches!(method, Method::Delete),
        }
    }

    /// A route that shows something.
    pub const fn get(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self::new(name, Method::Get, path, Scope::Read(resource), resource)
    }

    /// A route that makes or changes something.
    pub const fn post(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self::new(name, Method::Post, path, Scope::Write(resource), resource)
    }

    /// A route that answers what a body asks, and changes nothing.
    pub const fn search(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self::new(name, Method::Post, path, Scope::Read(resource), resource)
    }

    /// A route that removes something.
    pub const fn delete(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self::new(name, Method::Delete, path, Scope::Write(resource), resource)
    }

    /// Whether requests to the route only read. Then they need no idempotency key, and suspended accounts may send them.
    pub fn only_reads(&self) -> bool {
        matches!(self.scope, Scope::Read(_))
    }

    /// Every scope that a key needs for any request to the route.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> + use<> {
        std::iter::once(self.scope).chain(self.also.iter().copied())
    }

    /// The same with further scopes that a key needs always.
    #[must_use]
    pub const fn requiring(mut self, scopes: &'static [Scope]) -> Self {
        self.also = scopes;
        self
    }

    /// The same with further scopes that a key needs for some requests.
    #[must_use]
    pub const fn sometimes_requiring(mut self, conditional: &'static [Conditional]) -> Self {
        self.sometimes = conditional;
        self
    }

    /// The same with these codes among its refusals.
    #[must_use]
    pub const fn refusing(mut self, codes: &'static [Code]) -> Self {
        self.refuses = codes;
        self
    }

    /// The same with more time, for work that grows with what there is. A hung table is still noticed in good time: every
    /// call to it has a limit of its own.
    #[must_use]
    pub const fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same for a route that charges a payment method: it waits for the payment provider.
    #[must_use]
    pub const fn charging(mut self) -> Self {
        self.charges = true;
        self.patience = CHARGE_PATIENCE;
        self
    }

    /// The same for a route whose requests may ask what they would do. All of its writes are those of a unit of work.
    #[must_use]
    pub const fn rehearsable(mut self) -> Self {
        self.can_rehearse = true;
        self
    }

    /// The same with permission to write these rows, besides those of the kind that it shows.
    #[must_use]
    pub const fn writing(mut self, rows: &'static [Rows]) -> Self {
        self.deployment = self.deployment.writing(rows);
        self
    }

    /// The same with permission for these.
    #[must_use]
    pub const fn needing(mut self, needs: &'static [Need]) -> Self {
        self.deployment = self.deployment.needing(needs);
        self
    }

    /// The same with reads that run side by side.
    #[must_use]
    pub const fn reading_side_by_side(mut self) -> Self {
        self.deployment = self.deployment.reading_side_by_side();
        self
    }

    /// The same with this much memory, in megabytes.
    #[must_use]
    pub const fn memory(mut self, megabytes: u32) -> Self {
        self.deployment = self.deployment.memory(megabytes);
        self
    }

    /// The same with this time-out of its function, in seconds.
    #[must_use]
    pub const fn timeout(mut self, seconds: u32) -> Self {
        self.deployment = self.deployment.timeout(seconds);
        self
    }

    /// The rows that its function may write: none if it only reads. A route that changes something writes the object it shows
    /// and the response that is kept for its idempotency key.
    pub fn writes(&self) -> Vec<Rows> {
        if self.only_reads() {
            return Vec::new();
        }
        let own = std::iter::once(Rows::Of(self.shows.kind()));
        let further = self.deployment.writes.iter().copied();
        own.chain(further).chain([Rows::Idempotency]).collect()
    }

    /// The resource in its path: `fleets`.
    pub fn resource(&self) -> &'static str {
        match self.path.split('/').nth(2).unwrap_or_default() {
            "account" => Resource::Accounts.as_str(),
            resource => resource,
        }
    }

    /// Whether a request may name the version of the object in its path that it changes: updates and deletions of what has versions
    /// that clients see.
    pub fn takes_if_match(&self) -> bool {
        let is_of_object =
            self.path.split('/').nth(3) == Some("{id}") && self.path.ends_with("/{id}");
        is_of_object && !self.only_reads() && self.resource() != Resource::ApiKeys.as_str()
    }
}
