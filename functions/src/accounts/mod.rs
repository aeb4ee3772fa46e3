//! Tenants. An account owns everything that its keys create; a parent may act in its children.

pub mod bootstrap;
pub mod create;
pub mod erase;
pub mod export;
pub mod list;
pub mod retrieve;
pub mod retrieve_current;
pub mod set_status;
pub mod topup;
pub mod update;

use crate::charge_cards::refresh::RefreshTokens;
use crate::job::Job as _;
use crate::stream::record::StreamRecord;
use crate::{App, search};
use kernel::{Id, Mode, Result, Tenant};
use models::Account;
use table::stored_item::decode;

/// Refreshes the tokens of charge cards, which depend on the status of the account in both of its modes, and starts the indexing of
/// metadata keys that the account newly declares.
///
/// # Errors
/// `Unavailable` if SQS cannot be reached.
pub async fn on_change(app: &App, account: &Id, record: &StreamRecord) -> Result<()> {
    let (Some(before), Some(after)) = (record.old.clone(), record.new.clone()) else {
        return Ok(());
    };
    let (before, after) = (decode::<Account>(before)?, decode::<Account>(after)?);
    let (before, after) = (before.object, after.object);
    let keys = |account: &Account| account.preferences.searchable_metadata.clone();
    search::metadata::on_account_change(app, account, &keys(&before), &keys(&after)).await?;
    if before.status == after.status {
        return Ok(());
    }
    for mode in [Mode::Live, Mode::Test] {
        let tenant = Tenant::new(account.clone(), mode);
        RefreshTokens::of(&tenant, account).send(app).await?;
    }
    Ok(())
}
