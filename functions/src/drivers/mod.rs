//! People who charge vehicles. A driver may be attached to several fleets.

pub mod attach;
pub mod create;
pub mod delete;
pub mod detach;
pub mod list;
pub mod retrieve;
pub mod topup;
pub mod update;

use crate::App;
use crate::charge_cards::refresh::RefreshTokens;
use crate::deleted::EndUses;
use crate::job::Job as _;
use crate::stream::change::{Change, OnChange};
use kernel::{Id, Result, Tenant};
use models::{Driver, Stored};

impl OnChange for Driver {
    /// Refreshes the tokens of charge cards, which depend on the driver, and ends what begins in a fleet while the driver is detached from
    /// it. Every driver has an app card from the beginning.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        if change.before.is_none()
            || change.differs_in(|driver| {
                let Driver {
                    status,
                    fleets,
                    vehicles,
                    policy_ids,
                    ..
                } = driver.clone();
                (status, fleets, vehicles, policy_ids)
            })
        {
            let id = &change.after.object.id;
            RefreshTokens::of(&change.tenant, id).send(app).await?;
        }
        let before = change
            .before
            .iter()
            .flat_map(|before| &before.object.fleets);
        let Driver { id, fleets, .. } = &change.after.object;
        for left in before.filter(|fleet| !fleets.contains(fleet)) {
            EndUses::send_later(app, &change.tenant, id, Some(left)).await?;
        }
        Ok(())
    }

    async fn on_deletion(
        app: &App,
        tenant: &Tenant,
        id: &Id,
        _: Option<&Stored<Self>>,
    ) -> Result<()> {
        RefreshTokens::of(tenant, id).send(app).await?;
        EndUses::send_later(app, tenant, id, None).await
    }
}
