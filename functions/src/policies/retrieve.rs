//! `GET /v1/policies/{id}`: shows a policy.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::policy::Policy;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-policy", "/v1/policies/{id}", Resource::Policies);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app.store.get::<Policy>(context.tenant(), &id).await?;
    context.respond(&row.object)
}
