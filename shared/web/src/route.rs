//! The data of a route that the edge needs before the handler runs.

use std::fmt;
use std::time::Duration;

use crate::deployment::{Deployment, Need};
use kernel::Code;
use models::api_key::{Resource, Scope};
use table::access::Items;
use table::shown::Shows;

/// The usual time limit of a request: if the table does not respond, the client receives an error within 3 seconds.
pub const TIME_LIMIT: Duration = Duration::from_millis(2_500);

/// The time limit of a request that charges: longer than the payment provider takes to respond or to time out, shorter than the 29 seconds
/// after which API Gateway and Lambda end the request.
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

/// A route: the name of its function, its method and path, and the scopes that a key needs.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The name of the function and of its sample event.
    pub name: &'static str,
    pub method: Method,
    /// `/v1/fleets/{id}`
    pub path: &'static str,
    /// The scope of the resource. A key always needs it.
    pub scope: Scope,
    /// Further scopes that a key always needs.
    pub also: &'static [Scope],
    /// Further scopes that a key needs for some requests, or for parts of some responses.
    pub sometimes: &'static [Conditional],
    /// The names of the query parameters that its handler reads; any other is refused.
    pub query: fn() -> Vec<&'static str>,
    /// The type that its handler's response shows.
    pub shows: Shows,
    /// The error codes of the route, besides those of its body and of the object in its path.
    pub refuses: &'static [Code],
    /// The time limit of a request.
    pub patience: Duration,
    /// Its `writes` do not include the items of the kind that it shows; see [`Route::writes`].
    pub deployment: Deployment,
    /// Whether a request charges a payment method.
    pub charges: bool,
    /// Whether a request may be a dry run, with [`DRY_RUN`] in the query.
    pub allows_dry_run: bool,
}

/// The query parameter of a dry run.
pub const DRY_RUN: &str = "dry_run";

/// A scope that a key needs for some requests to a route. The handler checks it; this is its description in the OpenAPI document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conditional {
    /// `payment_methods:write`, or `<resource>:read` if the resource depends on the request.
    pub scope: &'static str,
    /// The condition under which it is needed, and the effect of its absence.
    pub when: &'static str,
}

/// The scope for a request that names the payment method to be charged.
pub const CHARGES_IF_NAMED: Conditional = Conditional {
    scope: "payment_methods:write",
    when: "the body names a payment_method",
};

/// The scope for a request that sets or removes a default payment method, which sessions and fees are charged to without naming it.
pub const CHARGES_BY_DEFAULT: Conditional = Conditional {
    scope: "payment_methods:write",
    when: "the body sets or removes a default_payment_method",
};

/// As API Gateway and the sample events write it: `GET /v1/fleets`.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method.as_str(), self.path)
    }
}

impl Route {
    /// `query` and `shows` are derived from the handler; they are set where a handler is added to a route.
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
            patience: TIME_LIMIT,
            deployment: Deployment::of_request(),
            charges: false,
            allows_dry_run: matches!(method, Method::Delete),
        }
    }

    /// Returns a route that reads objects.
    pub const fn get(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self::new(name, Method::Get, path, Scope::Read(resource), resource)
    }

    /// Returns a route that creates or changes an object.
    pub const fn post(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self::new(name, Method::Post, path, Scope::Write(resource), resource)
    }

    /// Returns a route that computes a response from a body, and changes nothing.
    pub const fn search(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self::new(name, Method::Post, path, Scope::Read(resource), resource)
    }

    /// Returns a route that deletes an object.
    pub const fn delete(name: &'static str, path: &'static str, resource: Resource) -> Self {
        Self::new(name, Method::Delete, path, Scope::Write(resource), resource)
    }

    /// Returns whether requests to the route only read. Then they need no idempotency key, and suspended accounts may send them.
    pub fn only_reads(&self) -> bool {
        matches!(self.scope, Scope::Read(_))
    }

    /// Returns every scope that a key needs for any request to the route.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> + use<> {
        std::iter::once(self.scope).chain(self.also.iter().copied())
    }

    /// Adds scopes that a key always needs.
    #[must_use]
    pub const fn requiring(mut self, scopes: &'static [Scope]) -> Self {
        self.also = scopes;
        self
    }

    /// Adds scopes that a key needs for some requests.
    #[must_use]
    pub const fn sometimes_requiring(mut self, conditional: &'static [Conditional]) -> Self {
        self.sometimes = conditional;
        self
    }

    /// Adds error codes.
    #[must_use]
    pub const fn refusing(mut self, codes: &'static [Code]) -> Self {
        self.refuses = codes;
        self
    }

    /// Sets a longer time limit, for work that grows with the amount of data. A table that does not respond is still noticed in time,
    /// because every call to it has a limit of its own.
    #[must_use]
    pub const fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Declares that the route charges a payment method: its time limit includes the payment provider's response.
    #[must_use]
    pub const fn charging(mut self) -> Self {
        self.charges = true;
        self.patience = CHARGE_PATIENCE;
        self
    }

    /// Declares that requests to the route may be dry runs. All of its writes are those of a unit of work.
    #[must_use]
    pub const fn allowing_dry_run(mut self) -> Self {
        self.allows_dry_run = true;
        self
    }

    /// Adds permission to write these items, besides those of the kind that it shows.
    #[must_use]
    pub const fn writing(mut self, items: &'static [Items]) -> Self {
        self.deployment = self.deployment.writing(items);
        self
    }

    /// Adds these permissions.
    #[must_use]
    pub const fn needing(mut self, needs: &'static [Need]) -> Self {
        self.deployment = self.deployment.needing(needs);
        self
    }

    /// Declares that reads run concurrently.
    #[must_use]
    pub const fn reading_side_by_side(mut self) -> Self {
        self.deployment = self.deployment.reading_side_by_side();
        self
    }

    /// Sets the memory of its function, in megabytes.
    #[must_use]
    pub const fn memory(mut self, megabytes: u32) -> Self {
        self.deployment = self.deployment.memory(megabytes);
        self
    }

    /// Sets the time-out of its function, in seconds.
    #[must_use]
    pub const fn timeout(mut self, seconds: u32) -> Self {
        self.deployment = self.deployment.timeout(seconds);
        self
    }

    /// Returns the items that its function may write: none if it only reads. A route that changes an object writes the object that it shows
    /// and the stored response of its idempotency key.
    pub fn writes(&self) -> Vec<Items> {
        if self.only_reads() {
            return Vec::new();
        }
        let own = std::iter::once(Items::Of(self.shows.kind()));
        let further = self.deployment.writes.iter().copied();
        own.chain(further).chain([Items::Idempotency]).collect()
    }

    /// Returns the resource in its path: `fleets`.
    pub fn resource(&self) -> &'static str {
        match self.path.split('/').nth(2).unwrap_or_default() {
            "account" => Resource::Accounts.as_str(),
            resource => resource,
        }
    }

    /// Returns whether a request may name the version of the object in its path that it changes. This is so for updates and deletions of
    /// objects whose versions clients see.
    pub fn accepts_if_match(&self) -> bool {
        let is_of_object =
            self.path.split('/').nth(3) == Some("{id}") && self.path.ends_with("/{id}");
        is_of_object && !self.only_reads() && self.resource() != Resource::ApiKeys.as_str()
    }
}
