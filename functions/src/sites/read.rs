//! What the plan of a site depends on.

use std::collections::HashMap;

use crate::App;
use kernel::error::{Error, Result};
use kernel::id::{Id, Kind};
use kernel::origin::Tenant;
use kernel::time::{DAY, Timestamp};
use kernel::window::Window;
use models::charging::calendar::CalendarOwner;
use models::charging::simulation::offered;
use models::charging_station::ChargingStation;
use models::departure::VehicleDepartures;
use models::site::charge::{PlanInputs, SiteVehicle, tariff};
use models::site::plan::{HORIZON, MOST_VEHICLES};
use models::site::{Site, SiteDay, days_of};
use models::stored::Stored;
use models::vehicle::{ConnectorType, Vehicle};
use models::vehicle_telemetry::VehicleTelemetry;
use table::keys::Partition;
use table::list::PageRequest;

/// Reads it: the vehicles of the site with their departures and telemetry, the series, the stations and their calendars.
///
/// # Errors
/// 409 for more than 500 vehicles; `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn inputs(
    app: &App,
    tenant: &Tenant,
    site: &Stored<Site>,
    now: Timestamp,
) -> Result<PlanInputs> {
    let from = site.internal.settled_at.unwrap_or(now).min(now);
    let reach = Window {
        from: now.plus(-DAY).min(from),
        until: now.plus(HORIZON),
    };
    let id = &site.object.id;
    let days = days_of(&reach)
        .into_iter()
        .map(|day| SiteDay::id_of(id, day));
    let days: Vec<Id> = days.collect();
    let (vehicles, days, stations) = tokio::try_join!(
        vehicles(app, tenant, id),
        app.store.get_all::<SiteDay>(tenant, &days),
        app.store
            .get_all::<ChargingStation>(tenant, &site.object.stations),
    )?;
    let stations: Vec<ChargingStation> = stations.into_iter().map(|row| row.object).collect();
    Ok(PlanInputs {
        mode: tenant.mode,
        vehicles,
        days: days.into_iter().map(|row| row.object).collect(),
        tariff: tariff(&stations, site.object.currency),
        offered: strongest(&stations),
        reserved: reserved(app, tenant, &stations, Window { from, ..reach }).await?,
    })
}

async fn vehicles(app: &App, tenant: &Tenant, site: &Id) -> Result<Vec<SiteVehicle>> {
    let page_request = PageRequest::first(MOST_VEHICLES);
    let partition = Partition::Site { tenant, site };
    let page = app
        .store
        .list::<Vehicle>(partition, &page_request, Vec::new())
        .await?;
    if page.older {
        let message = "The site has more than 500 vehicles, the most that are planned together.";
        return Err(Error::conflict(message, Some(Kind::Site.name())));
    }
    let vehicles: Vec<Vehicle> = page.rows.into_iter().map(|row| row.object).collect();
    let departures = vehicles.iter().map(|one| VehicleDepartures::id_of(&one.id));
    let departures: Vec<Id> = departures.collect();
    let telemetry: Vec<Id> = vehicles.iter().map(|one| one.telemetry.clone()).collect();
    let (departures, telemetry) = tokio::try_join!(
        app.store.get_all::<VehicleDepartures>(tenant, &departures),
        app.store.get_all::<VehicleTelemetry>(tenant, &telemetry),
    )?;
    let mut departures: HashMap<Id, VehicleDepartures> = departures
        .into_iter()
        .map(|row| (row.object.vehicle.clone(), row.object))
        .collect();
    let mut telemetry: HashMap<Id, Stored<VehicleTelemetry>> = telemetry
        .into_iter()
        .map(|row| (row.object.vehicle.clone(), row))
        .collect();
    let vehicles = vehicles.into_iter().map(|vehicle| {
        let telemetry = telemetry.remove(&vehicle.id);
        let departures = departures.remove(&vehicle.id);
        let next = departures.and_then(|all| all.next().cloned());
        SiteVehicle {
            next: next.filter(|next| next.site == *site),
            has_reported: telemetry.as_ref().is_some_and(|one| one.internal.is_some()),
            telemetry: telemetry.map(|row| row.object),
            vehicle,
        }
    });
    Ok(vehicles.collect())
}

/// The W of the strongest connector of each type that is in order: 0 if none is.
fn strongest(stations: &[ChargingStation]) -> HashMap<ConnectorType, u32> {
    let mut strongest = HashMap::new();
    for station in stations {
        for connector in &station.connectors {
            let Some(plug) = connector.connector_type() else {
                continue;
            };
            let most: &mut u32 = strongest.entry(plug).or_default();
            if station.is_reservable(&connector.id) {
                *most = offered(connector).max(*most);
            }
        }
    }
    strongest
}

/// The times in which connectors of the stations are taken by reservations and sessions, with the power of each.
async fn reserved(
    app: &App,
    tenant: &Tenant,
    stations: &[ChargingStation],
    reach: Window,
) -> Result<Vec<(Window, u32)>> {
    let mut owners: HashMap<CalendarOwner, u32> = HashMap::new();
    for station in stations {
        for connector in &station.connectors {
            let owner = CalendarOwner::evse_of(&station.id, connector);
            let most = owners.entry(owner).or_default();
            *most = offered(connector).max(*most);
        }
    }
    let pages = owners
        .keys()
        .flat_map(|owner| reach.utc_days().map(move |day| (owner.clone(), day)));
    let calendars = app.store.calendars(tenant.mode, pages.collect()).await?;
    let taken = owners.iter().flat_map(|(owner, power)| {
        let mut taken = calendars.busy(owner, &reach);
        taken.sort_by_key(|window| (window.from, window.until));
        taken.dedup();
        taken.into_iter().map(|window| (window, *power))
    });
    Ok(taken.collect())
}
