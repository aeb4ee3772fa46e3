//! Vehicles. Each belongs to one fleet.

pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod retrieve_telemetry;
pub mod update;
pub mod update_telemetry;

use crate::App;
use crate::charge_cards::refresh::RefreshTokens;
use crate::job::Job as _;
use crate::stream::change::{Change, OnChange};
use kernel::Id;
use kernel::error::Result;
use kernel::origin::Tenant;
use models::vehicle::Vehicle;

impl OnChange for Vehicle {
    /// The tokens of charge cards depend on the vehicle.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        if change.differs_in(|vehicle| {
            let Vehicle {
                status,
                drivers,
                policy_ids,
                ..
            } = vehicle.clone();
            (status, drivers, policy_ids)
        }) {
            let id = &change.after.object.id;
            RefreshTokens::of(&change.tenant, id).send(app).await?;
        }
        Ok(())
    }

    async fn on_deletion(app: &App, tenant: &Tenant, id: &Id) -> Result<()> {
        RefreshTokens::of(tenant, id).send(app).await
    }
}
