//! `GET /v1/accounts/{id}`: shows the caller's account or one of its children.

use axum::extract::State;
use shared::Reply;
use shared::http::{PathId, RequestContext, Route};
use shared::models::account::Account;
use shared::models::api_key::Resource;
use shared::{App, Error};

pub const ROUTE: Route = Route::get("retrieve-account", "/v1/accounts/{id}", Resource::Accounts);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Account>, Error> {
    let row = app.store.account(context.tenant(), &id).await?;
    context.respond(&row.seen_in(context.tenant().mode))
}
