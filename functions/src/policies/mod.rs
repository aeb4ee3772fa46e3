//! Rules for charging: operators, areas, prices and times.

mod apply;
pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod update;

pub use apply::{check, of};

use crate::App;
use crate::charge_cards::refresh::RefreshTokens;
use crate::job::Job as _;
use crate::stream::change::{Change, OnChange};
use kernel::Result;
use models::Policy;

impl OnChange for Policy {
    /// Refreshes the tokens of charge cards, which depend on the policy.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        if change.differs_in(|policy| (policy.status, policy.mode, policy.rules.clone())) {
            let id = &change.after.object.id;
            RefreshTokens::of(&change.tenant, id).send(app).await?;
        }
        Ok(())
    }
}
