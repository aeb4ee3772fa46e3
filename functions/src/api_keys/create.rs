//! `POST /v1/api_keys`: makes a key of the caller's account and mode. Its secret is shown in this answer alone, and not when the
//! request is repeated.

use axum::extract::State;
use shared::http::{Body, Caller, Route};
use shared::models::api_key::{ApiKey, NewApiKey, Resource};
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Error};

pub const ROUTE: Route = Route::post("create-api-key", "/v1/api_keys", Resource::ApiKeys);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    Body(new): Body<NewApiKey>,
) -> Result<Answer, Error> {
    let (key, private) = ApiKey::new(
        new,
        caller.tenant(),
        &caller.scopes,
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
    app.store.commit(&caller.origin, changes, answer).await
}
