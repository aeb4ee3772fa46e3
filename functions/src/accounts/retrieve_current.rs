//! `GET /v1/account`: shows the account in which the request acts, and the permissions of its key.

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::Reply;
use models::account::{Account, KeyRights};
use models::api_key::Resource;
use web::{RequestContext, Route};

pub const ROUTE: Route = Route::get(
    "retrieve-current-account",
    "/v1/account",
    Resource::Accounts,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
) -> Result<Reply<Account>, Error> {
    let tenant = context.tenant();
    let stored = app.store.account(tenant, &tenant.account).await?;
    let mut account = stored.seen_in(tenant.mode);
    account.key = Some(KeyRights {
        expires_at: context.key.expires_at,
        livemode: tenant.mode.is_live(),
        scopes: context.key.rights.held().to_vec(),
    });
    Ok(context.respond(&account)?.at_version(stored.version))
}
