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
use crate::charging_sessions::clear_profile::ClearProfile;
use crate::charging_stations::rematch;
use crate::deleted::EndUses;
use crate::job::Job as _;
use crate::reservations::replan::ReplanNeeds;
use crate::sites::plan_again;
use crate::stream::change::{Change, OnChange};
use kernel::{Id, Kind, Result, Tenant};
use models::charging::calendar::CalendarOwner;
use models::{Stored, Vehicle};
use std::collections::BTreeSet;

impl OnChange for Vehicle {
    /// Refreshes the tokens of charge cards, plans the vehicle's site and its reservations again, and requests other connectors for
    /// confirmed reservations: they depend on the vehicle.
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
            let has_left = before.clone().next().is_some();
            let sites = before.chain(&change.after.object.site);
            plan_again(app, &change.tenant, sites).await?;
            if has_left {
                let vehicle = CalendarOwner::Vehicle(change.after.object.id.clone());
                ClearProfile::request(app, &change.tenant, BTreeSet::from([vehicle])).await?;
            }
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
            plan_again(app, &change.tenant, change.after.object.site.iter()).await?;
        }
        if change.differs_in(|vehicle| vehicle.charging_standard) {
            rematch_for_plug(app, &change.tenant, &change.after.object).await?;
        }
        Ok(())
    }

    async fn on_deletion(
        app: &App,
        tenant: &Tenant,
        id: &Id,
        before: Option<&Stored<Self>>,
    ) -> Result<()> {
        let site = before.and_then(|vehicle| vehicle.object.site.as_ref());
        plan_again(app, tenant, site.into_iter()).await?;
        RefreshTokens::of(tenant, id).send(app).await?;
        EndUses::send_later(app, tenant, id, None).await
    }
}

/// Requests a rematch of the confirmed reservations of a vehicle that has another plug now.
async fn rematch_for_plug(app: &App, tenant: &Tenant, vehicle: &Vehicle) -> Result<()> {
    let calendar = BTreeSet::from([CalendarOwner::Vehicle(vehicle.id.clone())]);
    let entries = app.store.entries_of(tenant.mode, calendar, app.now());
    let holders = entries.await?.into_iter().map(|entry| entry.holder);
    let reservations: BTreeSet<Id> = holders.filter(|id| id.is(Kind::Reservation)).collect();
    for reservation in &reservations {
        rematch::request(app, tenant.clone(), reservation, |reservation, now| {
            reservation.request_rematch_for_plug(vehicle.charging_standard, now)
        })
        .await?;
    }
    Ok(())
}
