//! `GET /v1/account`: shows the account in which the request acts, and the permissions of its key.

use crate::Request;
use kernel::{Error, Reply, Resource};
use models::Account;
use models::account::KeyRights;
use web::Route;

pub const ROUTE: Route = Route::get(
    "retrieve-current-account",
    "/v1/account",
    Resource::Accounts,
);

pub async fn handle(request: Request) -> Result<Reply<Account>, Error> {
    let tenant = request.tenant();
    let stored = request.store().account(tenant, &tenant.account).await?;
    let mut account = stored.seen_in(tenant.mode);
    account.key = Some(KeyRights {
        expires_at: request.key.expires_at,
        livemode: tenant.mode.is_live(),
        scopes: request.key.rights.held().to_vec(),
    });
    Ok(request.respond(&account)?.at_version(stored.version))
}
