//! `DELETE /v1/policies/{id}`: deletes a policy that no fleet, driver or vehicle refers to.

use crate::App;
use axum::extract::State;
use kernel::{Deleted, Reply};
use kernel::{Error, Kind};
use models::api_key::Resource;
use models::policy::Policy;
use table::access::Items;
use web::{PathId, RequestContext, Route};

use crate::references;

pub const ROUTE: Route = Route::delete("delete-policy", "/v1/policies/{id}", Resource::Policies)
    .writing(&[Items::Of(Kind::Event)]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Deleted<Policy>>, Error> {
    let mut policy = app.store.load::<Policy>(context.tenant(), &id).await?;
    references::unnamed_policy(&app, context.tenant(), &id).await?;
    let response = context.deleted(&id)?;
    let mut tx = app.store.begin(&context.origin);
    policy.delete();
    tx.delete(&policy)?;
    tx.commit(response).await
}
