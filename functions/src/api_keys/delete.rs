//! `DELETE /v1/api_keys/{id}`: revokes a key. It may still be accepted for a minute, but no longer creates or deletes keys. A key with full
//! access may revoke any key. Every other key may revoke itself, and keys that have no additional scopes and are not valid for longer.

use crate::Request;
use kernel::{Deleted, Error, Reply, Resource};
use models::ApiKey;
use web::{Conditional, PathId, Route};

pub const ROUTE: Route = Route::delete("delete-api-key", "/v1/api_keys/{id}", Resource::ApiKeys)
    .sometimes_requiring(&[Conditional {
        scope: "<every scope of the key to be deleted>",
        when: "the key to be deleted is another than that of the request",
    }]);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<Deleted<ApiKey>>, Error> {
    let api_key = request.store().api_key_by_id(request.tenant(), &id).await?;
    api_key.object.check_delete(&request.key)?;
    let response = request.deleted(&id)?;
    let mut tx = request.begin();
    tx.delete(&api_key)?;
    // The deletion of the caller's own item is conditional on that item already.
    if api_key.internal.hash != request.key.hash {
        tx.check_key(&request.key, request.now());
    }
    let response = tx.commit(response).await?;
    if !request.origin.dry_run {
        let hash = &api_key.internal.hash;
        request.app.edge.keys.revoke_key(hash, request.now());
    }
    Ok(response)
}
