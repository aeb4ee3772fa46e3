//! Groups of vehicles and drivers that are billed together.

pub mod bill;
pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod topup;
pub mod update;

use crate::App;
use crate::charge_cards::refresh::RefreshTokens;
use crate::job::Job as _;
use crate::stream::change::{Change, OnChange};
use kernel::Result;
use models::Fleet;

impl OnChange for Fleet {
    /// Refreshes the tokens of charge cards, which depend on the fleet.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        if change.differs_in(|fleet| (fleet.status, fleet.policy_ids.clone())) {
            let id = &change.after.object.id;
            RefreshTokens::of(&change.tenant, id).send(app).await?;
        }
        Ok(())
    }
}
