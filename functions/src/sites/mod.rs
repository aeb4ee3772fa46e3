//! Depots: stations and vehicles behind common limits, the prices of their electricity, and the plan by which every vehicle is ready for
//! its departure.

pub mod admit;
pub mod create;
pub mod delete;
pub mod execute;
pub mod list;
pub(crate) mod read;
pub mod retrieve;
pub mod retrieve_plan;
pub mod set_carbon;
pub mod set_prices;
pub mod update;

use crate::charging_sessions::clear_profile::ClearProfile;
use crate::job::Job as _;
use crate::reservations::replan::ReplanNeeds;
use crate::stream::change::{Change, OnChange};
use crate::{App, Request};
use execute::PlanSite;
use kernel::{Error, Id, Kind, Reply, Result, Tenant, Timestamp};
use models::site::{SeriesChange, SiteDay, SiteOptimize, SitePlanReason, SiteSeries};
use models::{ChargingStation, Site, Stored, VehicleDepartures, VehicleTelemetry};
use read::evses;
use table::UnitOfWork;

impl OnChange for Site {
    /// Clears the charging profiles of the sessions at stations that have left the site.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        let (tenant, stations) = (&change.tenant, &change.after.object.stations);
        let before = change.before.iter();
        let before = before.flat_map(|before| &before.object.stations);
        let left: Vec<Id> = before
            .filter(|id| !stations.contains(id))
            .cloned()
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        let left = app.store.get_all::<ChargingStation>(tenant, &left).await?;
        let owners = left.iter().flat_map(evses).map(|(owner, _)| owner);
        ClearProfile::request(app, tenant, owners.collect()).await
    }
}

impl OnChange for VehicleDepartures {
    /// Plans the site again with the departures.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        let departures = &change.after.object.departures;
        let before = change
            .before
            .iter()
            .flat_map(|previous| &previous.object.departures);
        let sites = departures
            .iter()
            .chain(before)
            .map(|departure| &departure.site);
        plan_again(app, &change.tenant, sites).await
    }
}

impl OnChange for VehicleTelemetry {
    /// Plans the site again with a level that the vehicle has reported, and also the vehicle's reservations by need.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        let before = change.before.as_ref();
        let before = before.and_then(|before| before.object.battery.as_ref());
        if let Some(battery) = &change.after.object.battery
            && before.is_none_or(|before| battery.differs_from(before))
        {
            let replan = ReplanNeeds {
                tenant: change.tenant.clone(),
                vehicle: change.after.object.vehicle.clone(),
                level: Some(battery.level),
            };
            replan.send(app).await?;
        }
        plan_again(app, &change.tenant, change.after.internal.iter()).await
    }
}

/// Requests that sites are planned again.
pub(crate) async fn plan_again<'a>(
    app: &App,
    tenant: &Tenant,
    sites: impl Iterator<Item = &'a Id>,
) -> Result<()> {
    let mut sites: Vec<&Id> = sites.collect();
    sites.sort();
    sites.dedup();
    for site in sites {
        PlanSite::request(app, tenant, site).await?;
    }
    Ok(())
}

/// 404 for a station that does not exist.
async fn check_stations(request: &Request, stations: &[Id]) -> Result<()> {
    let kind = Kind::ChargingStation;
    match request
        .store()
        .missing(request.tenant(), kind, stations)
        .await?
    {
        Some(_) => Err(Error::not_found(kind).at("stations")),
        None => Ok(()),
    }
}

/// Counts a vehicle at its new site, and no longer at the one before.
///
/// # Errors
/// 404 `site_not_found` unless the new site exists; 409 if it has as many vehicles as it can have; `Unavailable` if DynamoDB cannot be
/// reached.
pub(crate) async fn move_vehicle(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    from: Option<&Id>,
    to: Option<&Id>,
) -> Result<()> {
    if from == to {
        return Ok(());
    }
    if let Some(to) = to {
        let site = app.store.load::<Site>(&tx.origin().tenant, to).await;
        site.map_err(|error| error.at("site"))?.check_room()?;
        tx.count_vehicle_of_site(to, 1);
    }
    if let Some(from) = from {
        tx.count_vehicle_of_site(from, -1);
    }
    Ok(())
}

/// Replaces the stored stations of a site. The commit fails with 409 for a station of another site.
fn note_stations(tx: &mut UnitOfWork<'_>, before: &[Id], site: &Site) {
    let after = &site.stations;
    for station in before.iter().filter(|station| !after.contains(station)) {
        tx.forget_site_of_station(station);
    }
    for station in after.iter().filter(|station| !before.contains(station)) {
        tx.note_site_of_station(&site.id, station);
    }
}

/// Sets a part of a series of a site, and plans the site again if that changes anything.
async fn set_series(request: &Request, change: SeriesChange) -> Result<Reply<Site>> {
    let mut site = request.load::<Site>(&change.site).await?;
    let before = site.object.clone();
    let ids = |day: &Timestamp| SiteDay::id_of(&change.site, *day);
    let days = change.days();
    let known: Vec<Id> = days.iter().map(ids).collect();
    let mut known = request.get_all::<SiteDay>(&known).await?;
    let mut tx = request.begin();
    let mut has_changed = false;
    for day in days {
        let place = known
            .iter()
            .position(|stored| stored.object.id == ids(&day));
        let found = place.map(|place| known.swap_remove(place));
        let mut site_day = found.unwrap_or_else(|| Stored::new(SiteDay::of(&change.site, day)));
        if !change.apply(&mut site_day.object) {
            continue;
        }
        has_changed = true;
        match site_day.version {
            0 => tx.create(&mut site_day)?,
            _ => tx.save(&mut site_day)?,
        }
    }
    let aims_at_carbon = site.object.optimize == SiteOptimize::Carbon;
    if has_changed && (change.series == SiteSeries::Prices || aims_at_carbon) {
        site.plan_again(SitePlanReason::Prices, request.now());
    }
    let response = request.respond(&site.object)?;
    site.count_hidden_write(&before);
    tx.save(&mut site)?;
    tx.commit(response).await
}
