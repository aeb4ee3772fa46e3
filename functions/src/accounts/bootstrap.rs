//! `bootstrap-account`: makes an account without a parent, and its first key. Only an operator may invoke it.

use serde::{Deserialize, Serialize};
use shared::http::version;
use shared::models::account::{Account, AccountPrivate, NewAccount};
use shared::models::api_key::{ApiKey, NewApiKey, Scope};
use shared::origin::{Mode, Origin, Tenant};
use shared::store::Changes;
use shared::store::row::Row;
use shared::{App, Error};

/// The name of the function.
pub const NAME: &str = "bootstrap-account";

/// The account to make, and the mode of its first key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bootstrap {
    pub account: NewAccount,
    pub mode: Mode,
}

/// The account and its key, whose `secret` is shown here and never again.
#[derive(Debug, Clone, Serialize)]
pub struct Bootstrapped {
    pub account: Account,
    pub api_key: ApiKey,
}

pub async fn handle(app: &App, bootstrap: Bootstrap) -> Result<Bootstrapped, Error> {
    let now = app.now();
    let account = Account::new(bootstrap.account, now)?;
    let tenant = Tenant {
        account: account.id.clone(),
        mode: bootstrap.mode,
    };
    let (new, held) = (NewApiKey::default(), [Scope::Everything]);
    let (api_key, private) = ApiKey::new(new, &tenant, &held, version::CURRENT, now)?;
    let stored = ApiKey {
        secret: None,
        ..api_key.clone()
    };
    let of_account = AccountPrivate {
        version: Some(version::CURRENT.to_owned()),
        ..AccountPrivate::default()
    };
    let origin = Origin::later(tenant, now);
    let mut changes = Changes::new();
    app.store.create(
        &mut changes,
        &origin,
        &Row::with_private(account.clone(), of_account),
    )?;
    app.store
        .create(&mut changes, &origin, &Row::with_private(stored, private))?;
    app.store.commit_later(&origin, changes).await?;
    Ok(Bootstrapped { account, api_key })
}
