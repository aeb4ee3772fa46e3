//! `DELETE /v1/api_keys/{id}`: revokes a key. It may still be accepted for a minute, but creates and deletes no keys any more. A
//! key with full access revokes any key; every other key itself, and keys that have no scope which it lacks and are not valid
//! for longer.

use axum::extract::State;
use shared::http::{Caller, Conditional, PathId, Route};
use shared::models::api_key::Resource;
use shared::store::{Answer, Changes};
use shared::{App, Error, Kind};

pub const ROUTE: Route = Route::delete("delete-api-key", "/v1/api_keys/{id}", Resource::ApiKeys)
    .sometimes_requiring(&[Conditional {
        scope: "<every scope of the key to be deleted>",
        when: "the key to be deleted is another than that of the request",
    }]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.api_key_by_id(caller.tenant(), &id).await?;
    let answer = caller.deleted(&id, Kind::ApiKey)?;
    let mut changes = Changes::new();
    app.store.remove(&mut changes, &caller.origin, &row)?;
    // Removing its own row is conditional on that row already.
    if row.private.hash != caller.key.hash {
        row.object.check_delete(&caller.key)?;
        app.store
            .check_key(&mut changes, &caller.key, caller.now())?;
    }
    let answer = app.store.commit(&caller.origin, changes, answer).await?;
    app.keys.forget_key(&row.private.hash);
    Ok(answer)
}
