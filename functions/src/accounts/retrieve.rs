//! `GET /v1/accounts/{id}`: shows the caller's account or one of its children.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::account::Account;
use models::api_key::Resource;
use web::{PathId, RequestContext, Route};

pub const ROUTE: Route = Route::get("retrieve-account", "/v1/accounts/{id}", Resource::Accounts);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Reply<Account>, Error> {
    let account = app.store.account(context.tenant(), &id).await?;
    let reply = context.respond(&account.seen_in(context.tenant().mode))?;
    Ok(reply.at_version(account.version))
}
