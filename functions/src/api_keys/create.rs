//! `POST /v1/api_keys`: creates a key of the caller's account and mode. Its secret is shown in this response only and is not stored: the
//! response to a repetition with the same `Idempotency-Key` is the key without `secret`. If the first response was lost, delete the key and
//! create another one with a new `Idempotency-Key`. The new key has at most the scopes of the key that creates it, and expires no later: a
//! key that expires has to name an `expires_at`. A key that was revoked or has expired creates nothing, not even within the minute in which
//! it may still be accepted for other requests.

use crate::Request;
use kernel::{Error, Reply};
use models::api_key::{NewApiKey, Resource};
use models::{ApiKey, Stored};
use web::{Body, Conditional, Route};

pub const ROUTE: Route = Route::post("create-api-key", "/v1/api_keys", Resource::ApiKeys)
    .sometimes_requiring(&[Conditional {
        scope: "<every scope of the new key>",
        when: "always: no key creates a key that may do more than itself",
    }]);

pub async fn handle(request: Request, Body(new): Body<NewApiKey>) -> Result<Reply<ApiKey>, Error> {
    let (key, internal) = ApiKey::new(
        new,
        request.tenant(),
        Some(&request.key),
        &request.default_version,
        request.now(),
    )?;
    let response = request.respond(&key)?;
    let stored = ApiKey {
        secret: None,
        ..key
    };
    let response = response.remembered_as(request.respond(&stored)?);
    let mut tx = request.begin();
    tx.create(&mut Stored::with_internal(stored, internal))?;
    tx.check_key(&request.key, request.now());
    tx.commit(response).await
}
