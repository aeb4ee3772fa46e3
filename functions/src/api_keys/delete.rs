//! `DELETE /v1/api_keys/{id}`: revokes a key. It may still be accepted for a minute, but no longer creates or deletes keys. A key with full
//! access may revoke any key. Every other key may revoke itself, and keys that have no additional scopes and are not valid for longer.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::{Deleted, Reply};
use models::api_key::{ApiKey, Resource};
use web::{Conditional, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::delete("delete-api-key", "/v1/api_keys/{id}", Resource::ApiKeys)
    .sometimes_requiring(&[Conditional {
        scope: "<every scope of the key to be deleted>",
        when: "the key to be deleted is another than that of the request",
    }]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<ApiKey>>, Error> {
    let api_key = app.store.api_key_by_id(context.tenant(), &id).await?;
    api_key.object.check_delete(&context.key)?;
    let response = context.deleted(&id)?;
    let mut tx = app.store.begin(&context.origin);
    tx.delete(&api_key)?;
    // The deletion of the caller's own item is conditional on that item already.
    if api_key.internal.hash != context.key.hash {
        tx.check_key(&context.key, context.now());
    }
    let response = tx.commit(response).await?;
    if !context.origin.dry_run {
        let hash = &api_key.internal.hash;
        app.edge.keys.revoke_key(hash, context.now());
    }
    Ok(response)
}
