//! `GET /v1/accounts/{id}`: shows the caller's account or one of its children.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-account", "/v1/accounts/{id}", Resource::Accounts);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.account(caller.tenant(), &id).await?;
    caller.answer(&row.seen_in(caller.tenant().mode))
}
