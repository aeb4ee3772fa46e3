//! `POST /v1/api_keys`: creates a key of the caller's account and mode. Its secret is shown in this answer alone, and not when the
//! request is repeated. The new key has at most the scopes of the key that creates it, and expires no later: a key that
//! expires has to name an `expires_at`. A key that was revoked or has expired creates nothing, not even within the minute for
//! which it may still be accepted elsewhere.

use axum::extract::State;
use shared::http::{Body, Caller, Conditional, Route};
use shared::models::api_key::{ApiKey, NewApiKey, Resource};
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post("create-api-key", "/v1/api_keys", Resource::ApiKeys)
    .sometimes_requiring(&[Conditional {
        scope: "<every scope of the new key>",
        when: "always: no key creates a key that may do more than itself",
    }]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewApiKey>,
) -> Result<Answer, Error> {
    let (key, private) = ApiKey::new(
        new,
        caller.tenant(),
        Some(&caller.key),
        &caller.default_version,
        caller.now(),
    )?;
    let shown = caller.answer(&key)?;
    let stored = ApiKey {
        secret: None,
        ..key
    };
    let answer = Answer {
        remembered: Some(caller.answer(&stored)?.body),
        ..shown
    };
    let mut changes = Changes::new();
    app.store.create(
        &mut changes,
        &caller.origin,
        &Row::with_private(stored, private),
    )?;
    app.store
        .check_key(&mut changes, &caller.key, caller.now())?;
    app.store.commit(&caller.origin, changes, answer).await
}
