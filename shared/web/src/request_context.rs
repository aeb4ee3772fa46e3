//! The context of an authenticated request. A request has a [`RequestContext`] only if its key has the route's scopes.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::Serialize;
use serde_json::json;

use super::errors::Rejection;
use kernel::{Deleted, Error, Id, Origin, Reply, Response, Result, Tenant, Timestamp};
use models::Stored;
use models::api_key::{ActingKey, Resource, Scope};
use models::stored::Object;

/// An authenticated and authorized request.
#[derive(Debug, Clone)]
pub struct RequestContext {
    pub origin: Origin,
    /// The key of the request.
    pub key: ActingKey,
    /// The account the request acts in and the accounts above it.
    pub lineage: Vec<Tenant>,
    /// The version of the account, for requests that name none.
    pub default_version: String,
    /// The address that the client uses: `https://api.example.com`.
    pub base_url: String,
}

impl RequestContext {
    pub fn tenant(&self) -> &Tenant {
        &self.origin.tenant
    }

    pub fn now(&self) -> Timestamp {
        self.origin.now
    }

    /// Checks that the request may charge a payment method, if it names one.
    ///
    /// # Errors
    /// 403 `authentication_error` if the key lacks `payment_methods:write`.
    pub fn check_charge(&self, payment_method: Option<&Id>) -> Result<()> {
        match payment_method {
            Some(_) => self
                .key
                .require(Scope::Write(Resource::PaymentMethods))
                .map_err(|error| error.at(kernel::Kind::PaymentMethod.name())),
            None => Ok(()),
        }
    }

    /// Returns the response that shows an object.
    ///
    /// # Errors
    /// `Internal` if the object has no JSON representation.
    pub fn respond<T: Serialize>(&self, object: &T) -> Result<Reply<T>> {
        serde_json::to_vec(object)
            .map(|body| Response::ok(body).into())
            .map_err(Error::internal)
    }

    /// Returns the response that shows an object as it was read, with its version.
    ///
    /// # Errors
    /// `Internal` if the object has no JSON representation.
    pub fn show<T: Object>(&self, stored: &Stored<T>) -> Result<Reply<T>> {
        Ok(self
            .respond(&stored.object)?
            .at_version(T::shown_version(stored)))
    }

    /// Returns the response that shows an object after its one write in this request, with the version that it has then.
    ///
    /// # Errors
    /// `Internal` if the object has no JSON representation.
    pub fn changed<T: Object>(&self, stored: &Stored<T>) -> Result<Reply<T>> {
        Ok(self
            .respond(&stored.object)?
            .at_version(T::shown_version(stored) + 1))
    }

    /// Returns the response that shows an object after an update, which writes it unless it is as it was `before`.
    ///
    /// # Errors
    /// `Internal` if the object has no JSON representation.
    pub fn updated<T: Object>(&self, before: &Stored<T>, stored: &Stored<T>) -> Result<Reply<T>>
    where
        Stored<T>: PartialEq,
    {
        self.updated_as(before, stored, &stored.object)
    }

    /// Returns the response to such an update that shows more than the object.
    ///
    /// # Errors
    /// `Internal` if the response has no JSON representation.
    pub fn updated_as<T: Object, R: Serialize>(
        &self,
        before: &Stored<T>,
        stored: &Stored<T>,
        shown: &R,
    ) -> Result<Reply<R>>
    where
        Stored<T>: PartialEq,
    {
        let writes = u64::from(before != stored);
        let version = T::shown_version(stored) + writes;
        Ok(self.respond(shown)?.at_version(version))
    }

    /// Returns the response to a request that is refused but has an effect, such as a declined payment and its transaction: both are
    /// committed together.
    pub fn error_response(&self, error: &Error) -> Response {
        let request = self.origin.request.clone();
        let request = request.unwrap_or_else(|| Id::new(kernel::Kind::Request, self.now()));
        super::errors::answer(error, &request, &self.base_url)
    }

    /// Returns the response to the deletion of an object.
    ///
    /// # Errors
    /// `Internal` if the response has no JSON representation.
    pub fn deleted<T: Object>(&self, id: &Id) -> Result<Reply<Deleted<T>>> {
        let deleted = json!({"id": id, "object": T::KIND.name(), "deleted": true});
        self.respond(&deleted)
            .map(|reply| Response::from(reply).into())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        let context = parts.extensions.get::<RequestContext>().cloned();
        context.ok_or_else(|| Error::internal("a handler outside the edge").into())
    }
}

/// The `{id}` of the path, as it was sent.
pub struct PathId(pub Id);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejection> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        // An id that is not UTF-8 names no object: the handler responds with 404.
        let id = path.map_or_else(|_| String::new(), |Path(id)| id);
        Ok(Self(Id::from(id)))
    }
}
