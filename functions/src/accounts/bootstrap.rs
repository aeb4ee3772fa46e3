//! `bootstrap-account`: creates an account without a parent and its first key, or another key of an existing account, such as its first key
//! of live mode. Only an operator may invoke it.

use kernel::{Error, Id, Kind, Mode, Origin, Tenant, function_scope, version};
use models::account::{AccountInternal, NewAccount};
use models::api_key::NewApiKey;
use models::{Account, ApiKey, Stored};
use serde::{Deserialize, Serialize};
use web::deployment::{Deployment, Need};

use crate::App;
use table::access::Items;

use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "bootstrap-account";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Makes an account and its first key; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        .writing(&[Items::Of(Kind::Account), Items::Of(Kind::ApiKey)])
        .needing(&[Need::ReadTable]),
};

/// The account that the key is for, and the mode of the key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bootstrap {
    pub account: Owner,
    pub mode: Mode,
}

/// The id of an existing account, or the body of a new one.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Owner {
    Existing(Id),
    New(Box<NewAccount>),
}

/// The account and its key. The key's `secret` is returned only here.
#[derive(Debug, Clone, Serialize)]
pub struct Bootstrapped {
    pub account: Account,
    pub api_key: ApiKey,
}

pub async fn handle(app: &App, bootstrap: Bootstrap) -> Result<Bootstrapped, Error> {
    function_scope::within(NAME, create(app, bootstrap)).await
}

async fn create(app: &App, bootstrap: Bootstrap) -> Result<Bootstrapped, Error> {
    let now = app.now();
    let tenant = |account: &Id| Tenant::new(account.clone(), bootstrap.mode);
    let mut stored_account = match bootstrap.account {
        Owner::Existing(id) => app.store.load::<Account>(&tenant(&id), &id).await?,
        Owner::New(new) => {
            let internal = AccountInternal {
                version: Some(version::CURRENT.to_owned()),
                ..AccountInternal::default()
            };
            Stored::with_internal(Account::new(*new, now)?, internal)
        }
    };
    let account = stored_account.seen_in(bootstrap.mode);
    let tenant = tenant(&account.id);
    let version = stored_account
        .internal
        .version
        .as_deref()
        .unwrap_or(version::CURRENT);
    let (api_key, internal) = ApiKey::new(NewApiKey::default(), &tenant, None, version, now)?;
    let stored = ApiKey {
        secret: None,
        ..api_key.clone()
    };
    let origin = Origin::background(tenant, now);
    let mut tx = app.store.begin(&origin);
    if stored_account.is_new() {
        tx.create(&mut stored_account)?;
    }
    tx.create(&mut Stored::with_internal(stored, internal))?;
    tx.commit_without_response().await?;
    Ok(Bootstrapped { account, api_key })
}
