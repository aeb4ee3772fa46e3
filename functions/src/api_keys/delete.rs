//! `DELETE /v1/api_keys/{id}`: revokes a key. It may still be accepted for a minute.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

pub const ROUTE: Route = Route::delete("delete-api-key", "/v1/api_keys/{id}", Resource::ApiKeys);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.api_key_by_id(caller.tenant(), &id).await?;
    let answer = caller.deleted(&id, Kind::ApiKey)?;
    let mut changes = Changes::new();
    app.store.remove(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}
