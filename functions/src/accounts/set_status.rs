//! `set-account-status`: sets the status of an account. Only an operator may invoke it.
//!
//! The status applies to every key of the account and of all accounts below it. Authentication reads the status together with the key, so
//! one write of one item reaches every key and every child account. The instance that makes the change applies it at once; every other
//! instance of the service applies it within a minute.

use kernel::{Error, Id, Kind, Mode, Origin, Tenant, function_scope};
use models::Account;
use models::account::AccountStatus;
use serde::Deserialize;
use web::deployment::{Deployment, Need};

use crate::App;
use table::access::Items;

use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "set-account-status";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Sets the status of an account; for operators",
    trigger: Trigger::Invocation,
    deployment: Deployment::of_request()
        .writing(&[Items::Of(Kind::Account)])
        .needing(&[Need::ReadTable]),
};

/// The maximum number of attempts when the change conflicts with another write of the account.
const TRIES: usize = 6;

/// The account and its new status.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetStatus {
    pub account: Id,
    pub status: AccountStatus,
}

/// Sets the status and returns the account. Any status may follow any other.
///
/// # Errors
/// `account_not_found`; `Unavailable` if DynamoDB cannot be reached.
pub async fn handle(app: &App, invocation: SetStatus) -> Result<Account, Error> {
    function_scope::within(NAME, set_until_uncontended(app, invocation)).await
}

async fn set_until_uncontended(
    app: &App,
    SetStatus { account, status }: SetStatus,
) -> Result<Account, Error> {
    for _ in 1..TRIES {
        match set(app, &account, status).await {
            Err(Error::Contended) => {}
            done => return done,
        }
    }
    set(app, &account, status).await
}

async fn set(app: &App, id: &Id, status: AccountStatus) -> Result<Account, Error> {
    // An account has no mode; the account is returned as live mode shows it.
    let tenant = Tenant::new(id.clone(), Mode::Live);
    let mut account = app.store.load::<Account>(&tenant, id).await?;
    account.set_status(status, app.now());
    let origin = Origin::background(tenant, app.now());
    app.store.save(&origin, &mut account).await?;
    app.edge.keys.learn_account(&account, app.now());
    Ok(account.object)
}
