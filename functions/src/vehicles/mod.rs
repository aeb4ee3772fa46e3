//! Vehicles. Each belongs to one fleet.

pub mod create;
pub mod delete;
pub mod list;
pub mod replace_departures;
pub mod retrieve;
pub mod retrieve_departures;
pub mod retrieve_telemetry;
pub mod update;
pub mod update_telemetry;

use crate::App;
use crate::charge_cards::refresh::RefreshTokens;
use crate::job::Job as _;
use crate::reservations::replan::ReplanNeeds;
use crate::sites::plan_again;
use crate::stream::change::{Change, OnChange};
use kernel::Id;
use kernel::error::Result;
use kernel::origin::Tenant;
use models::vehicle::Vehicle;

impl OnChange for Vehicle {
    /// Refreshes the tokens of charge cards, and plans the vehicle's site and its reservations again: they depend on the vehicle.
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
        if change.differs_in(|vehicle| vehicle.site.clone()) {
            let before = change
                .before
                .iter()
                .filter_map(|vehicle| vehicle.object.site.as_ref());
            let sites = before.chain(&change.after.object.site);
            plan_again(app, &change.tenant, sites).await?;
        }
        if change.differs_in(|vehicle| {
            let powers = (vehicle.max_ac_power, vehicle.max_dc_power);
            let battery = (
                vehicle.battery_capacity,
                vehicle.charging_curve,
                vehicle.charging_loss,
            );
            (vehicle.charging_standard, powers, battery)
        }) {
            let replan = ReplanNeeds {
                tenant: change.tenant.clone(),
                vehicle: change.after.object.id.clone(),
                level: None,
            };
            replan.send(app).await?;
        }
        Ok(())
    }

    async fn on_deletion(app: &App, tenant: &Tenant, id: &Id) -> Result<()> {
        RefreshTokens::of(tenant, id).send(app).await
    }
}
