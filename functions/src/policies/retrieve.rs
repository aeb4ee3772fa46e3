//! `GET /v1/policies/{id}`: shows a policy.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::policy::Policy;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-policy", "/v1/policies/{id}", Resource::Policies);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Policy>(caller.tenant(), &id).await?;
    caller.answer(&row.object)
}
