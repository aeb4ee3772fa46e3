//! `GET /v1/accounts/{id}`: shows the caller's account or one of its children.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::Account;
use web::{PathId, Route};

pub const ROUTE: Route = Route::get("retrieve-account", "/v1/accounts/{id}", Resource::Accounts);

pub async fn handle(request: Request, PathId(id): PathId) -> Result<Reply<Account>, Error> {
    let account = request.store().account(request.tenant(), &id).await?;
    let reply = request.respond(&account.seen_in(request.tenant().mode))?;
    Ok(reply.at_version(account.version))
}
