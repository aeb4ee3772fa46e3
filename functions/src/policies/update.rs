//! `POST /v1/policies/{id}`: updates a policy.

use axum::extract::State;
use shared::Reply;
use shared::http::{Body, PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::policy::{Policy, PolicyChange};
use shared::{App, Error};

pub const ROUTE: Route = Route::post("update-policy", "/v1/policies/{id}", Resource::Policies);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<PolicyChange>,
) -> Result<Reply<Policy>, Error> {
    let mut row = app.store.load::<Policy>(context.tenant(), &id).await?;
    row.update(change, context.now())?;
    let response = context.respond(&row.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.commit(response).await
}
