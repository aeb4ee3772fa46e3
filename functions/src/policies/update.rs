//! `POST /v1/policies/{id}`: updates a policy.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::policy::{Policy, PolicyChange};
use web::{Body, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::post("update-policy", "/v1/policies/{id}", Resource::Policies);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<PolicyChange>,
) -> Result<Reply<Policy>, Error> {
    let mut policy = app.store.load::<Policy>(context.tenant(), &id).await?;
    policy.update(change, context.now())?;
    let response = context.changed(&policy)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut policy)?;
    tx.commit(response).await
}
