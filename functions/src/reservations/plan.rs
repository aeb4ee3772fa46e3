//! The plan of a reservation by need: the search that its confirmation makes, without booking anything.

use kernel::origin::Tenant;
use kernel::{Error, Id, Kind, Timestamp};
use models::charging::effective_price::ChargingVehicle;
use models::charging::matching::best_first::IndexedStation;
use models::charging::matching::{self, MatchRequest};
use models::charging::policies::{Limits, PolicyContext};
use models::charging::search::Circle;
use models::driver::Driver;
use models::fleet::Fleet;
use models::policy::Policy;
use models::reservation::Reservation;
use models::reservation::need::ReplanReason;
use models::stored::Stored;
use models::vehicle::Vehicle;
use models::vehicle_telemetry::VehicleTelemetry;

use super::matcher::Matcher;
use crate::App;
use crate::policies;

/// What a plan depends on besides the reservation and the calendars.
pub(super) struct PlanInputs<'a> {
    pub driver: &'a Driver,
    pub vehicle: &'a Vehicle,
    pub fleet: Option<&'a Fleet>,
    pub policies: &'a [Policy],
    pub telemetry: Option<&'a VehicleTelemetry>,
    /// The stations of the radius by their entries in the index.
    pub stations: &'a [IndexedStation],
}

/// What a request names, and what belongs to it.
pub(super) struct Named {
    pub driver: Stored<Driver>,
    pub vehicle: Vehicle,
    pub fleet: Option<Fleet>,
    pub telemetry: Option<VehicleTelemetry>,
    /// The stations of the area by their entries in the index.
    pub stations: Vec<IndexedStation>,
}

/// Reads the driver and the vehicle of a request, the vehicle's fleet and telemetry, and the stations of an area.
///
/// # Errors
/// `driver_not_found` or `vehicle_not_found`; `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn read_named(
    app: &App,
    tenant: &Tenant,
    driver: &Id,
    vehicle: &Id,
    area: Circle,
) -> Result<Named, Error> {
    let ids = [(Kind::Driver, driver), (Kind::Vehicle, vehicle)];
    let (mut found, stations) = tokio::try_join!(
        app.store.find_together(tenant, ids),
        app.store.indexed_stations(tenant, area),
    )?;
    let driver = found.require::<Driver>(driver)?;
    let vehicle = found.require::<Vehicle>(vehicle)?.object;
    let (fleet, telemetry) = tokio::try_join!(
        app.store.find::<Fleet>(tenant, &vehicle.fleet),
        app.store
            .find::<VehicleTelemetry>(tenant, &vehicle.telemetry),
    )?;
    Ok(Named {
        driver,
        vehicle,
        fleet: fleet.map(|row| row.object),
        telemetry: telemetry.map(|row| row.object),
        stations,
    })
}

/// The vehicle of a reservation, which charges until it is full or has what the reservation's need asks for.
pub(super) fn charging_vehicle(
    reservation: &Reservation,
    vehicle: &Vehicle,
    telemetry: Option<&VehicleTelemetry>,
    now: Timestamp,
) -> ChargingVehicle {
    let charging = ChargingVehicle::new(vehicle, telemetry, now);
    match &reservation.need {
        Some(need) => charging.for_need(need),
        None => charging,
    }
}

/// Plans a pending reservation by need. A reservation of another kind stays as it is.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn plan(
    app: &App,
    tenant: &Tenant,
    row: &mut Stored<Reservation>,
    inputs: PlanInputs<'_>,
    because: ReplanReason,
    now: Timestamp,
) -> Result<(), Error> {
    if row.object.need.is_none() {
        return Ok(());
    }
    let PlanInputs {
        driver,
        vehicle,
        fleet,
        policies,
        telemetry,
        stations,
    } = inputs;
    let windows = matching::windows(&row.object, now);
    let context = PolicyContext {
        station: None,
        area: None,
        windows: &windows,
        currency: row.object.currency,
        zone: &Fleet::zone(fleet),
    };
    let request = MatchRequest {
        reservation: &row.object,
        standard: vehicle.charging_standard,
        vehicle: charging_vehicle(&row.object, vehicle, telemetry, now),
        preferences: &driver.preferences,
        windows: &windows,
        limits: &Limits::new(policies, &context),
        mode: tenant.mode,
        refused_evses: row.object.refused_evses(),
    };
    let mut matcher = Matcher::new(app, tenant, &request, stations, 1);
    let best = matcher.matches().await?.into_iter().next();
    let plan = matcher.plan(best.as_ref().map(|best| &best.assignment));
    if let Some(plan) = plan {
        let battery = telemetry.and_then(|one| one.battery.as_ref());
        row.plan(plan, because, battery.map(|battery| battery.level), now);
    }
    Ok(())
}

/// Plans a pending reservation by need again, with everything that it depends on as it is now.
///
/// # Errors
/// `driver_not_found` or `vehicle_not_found`; `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn plan_again(
    app: &App,
    tenant: &Tenant,
    row: &mut Stored<Reservation>,
    because: ReplanReason,
    now: Timestamp,
) -> Result<(), Error> {
    let (driver, vehicle) = (&row.object.driver, &row.object.vehicle);
    let named = read_named(app, tenant, driver, vehicle, row.object.location.into()).await?;
    let (driver, vehicle) = (named.driver.object, named.vehicle);
    let fleet = named.fleet.as_ref();
    let rules = policies::of(app, tenant, Some(&driver), fleet, &vehicle).await?;
    let inputs = PlanInputs {
        driver: &driver,
        vehicle: &vehicle,
        fleet,
        policies: &rules,
        telemetry: named.telemetry.as_ref(),
        stations: &named.stations,
    };
    Box::pin(plan(app, tenant, row, inputs, because, now)).await
}
