//! `POST /v1/policies`: creates a policy. Fleets, drivers and vehicles refer to it in `policy_ids`.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::api_key::Resource;
use models::policy::{NewPolicy, Policy};
use web::{Body, RequestContext, Route};

pub const ROUTE: Route = Route::post("create-policy", "/v1/policies", Resource::Policies);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewPolicy>,
) -> Result<Reply<Policy>, Error> {
    let mut policy = Policy::new(new, context.now())?;
    let response = context.respond(&policy.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.create(&mut policy)?;
    tx.commit(response).await
}
