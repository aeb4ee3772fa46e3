//! The plan of a reservation by need: the search that its confirmation makes, without booking anything.

use kernel::{Error, Id, Kind, Mode, Tenant, Timestamp, Window};
use models::charging::effective_price::ChargingVehicle;
use models::charging::matching::best_first::IndexedStation;
use models::charging::matching::{self, MatchRequest};
use models::charging::policies::{Breach, Limits, PolicyContext};
use models::charging::search::Circle;
use models::reservation::need::{PlanBasis, ReplanReason};
use models::{Driver, Fleet, Policy, Reservation, Stored, Vehicle, VehicleTelemetry};

use super::matcher::Matcher;
use crate::{App, policies};

/// The objects on which a search for connectors depends, besides the reservation and the calendars.
#[derive(Clone, Copy)]
pub(super) struct PlanInputs<'a> {
    pub driver: &'a Stored<Driver>,
    pub vehicle: &'a Vehicle,
    pub fleet: Option<&'a Fleet>,
    pub policies: &'a [Policy],
    pub telemetry: Option<&'a VehicleTelemetry>,
    /// The stations within the radius, by their entries in the index.
    pub stations: &'a [IndexedStation],
}

impl<'a> PlanInputs<'a> {
    /// The request for a connector in one of these windows. The vehicle charges until it is full or has the energy of the
    /// reservation's need.
    pub fn match_request(
        &self,
        reservation: &'a Stored<Reservation>,
        windows: &'a [Window],
        limits: &'a Limits<'a>,
        mode: Mode,
        now: Timestamp,
    ) -> MatchRequest<'a> {
        let vehicle = ChargingVehicle::new(self.vehicle, self.telemetry, now);
        MatchRequest {
            reservation: &reservation.object,
            standard: self.vehicle.charging_standard,
            vehicle: match &reservation.object.need {
                Some(need) => vehicle.for_need(need),
                None => vehicle,
            },
            preferences: &self.driver.object.preferences,
            cap_currency: self
                .driver
                .chosen_currency()
                .unwrap_or(reservation.object.currency),
            windows,
            limits,
            mode,
            refused_evses: reservation.object.refused_evses(),
        }
    }
}

/// The objects that a request names, and those that belong to them.
pub(super) struct Named {
    pub driver: Stored<Driver>,
    pub vehicle: Vehicle,
    pub fleet: Option<Fleet>,
    pub telemetry: Option<VehicleTelemetry>,
    /// The stations in the area, by their entries in the index.
    pub stations: Vec<IndexedStation>,
}

impl Named {
    /// The policies that apply to the driver and the vehicle.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn policies(&self, app: &App, tenant: &Tenant) -> Result<Vec<Policy>, Error> {
        let driver = Some(&self.driver.object);
        policies::of(app, tenant, driver, self.fleet.as_ref(), &self.vehicle).await
    }

    /// The inputs of a search under these policies.
    pub fn inputs<'a>(&'a self, policies: &'a [Policy]) -> PlanInputs<'a> {
        PlanInputs {
            driver: &self.driver,
            vehicle: &self.vehicle,
            fleet: self.fleet.as_ref(),
            policies,
            telemetry: self.telemetry.as_ref(),
            stations: &self.stations,
        }
    }
}

/// Reads the driver and the vehicle of a request, the vehicle's fleet and telemetry, and the stations of an area, if there is one.
///
/// # Errors
/// `driver_not_found` or `vehicle_not_found`; `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn read_named(
    app: &App,
    tenant: &Tenant,
    driver: &Id,
    vehicle: &Id,
    area: Option<Circle>,
) -> Result<Named, Error> {
    let ids = [(Kind::Driver, driver), (Kind::Vehicle, vehicle)];
    let stations = async {
        match area {
            Some(area) => app.store.indexed_stations(tenant, area).await,
            None => Ok(Vec::new()),
        }
    };
    let (mut found, stations) = tokio::try_join!(app.store.find_together(tenant, ids), stations)?;
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
        fleet: fleet.map(|fleet| fleet.object),
        telemetry: telemetry.map(|telemetry| telemetry.object),
        stations,
    })
}

/// Plans a pending reservation by need. Any other reservation is not changed. Returns the policies in suggestion mode that the block
/// violates; none without a block.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn plan(
    app: &App,
    tenant: &Tenant,
    reservation: &mut Stored<Reservation>,
    inputs: PlanInputs<'_>,
    because: ReplanReason,
    now: Timestamp,
) -> Result<Option<Vec<Breach>>, Error> {
    if reservation.object.need.is_none() {
        return Ok(None);
    }
    let windows = matching::windows(&reservation.object, now);
    let zone = Fleet::zone(inputs.fleet);
    let context = PolicyContext::at(&windows, reservation.object.currency, &zone);
    let limits = Limits::new(inputs.policies, &context);
    let request = inputs.match_request(reservation, &windows, &limits, tenant.mode, now);
    let mut matcher = Matcher::new(app, tenant, &request, inputs.stations, 1);
    let best = matcher.matches().await?.into_iter().next();
    let block = best.as_ref().map(|best| &best.assignment);
    let warnings = block.and_then(|block| matcher.warnings(inputs.policies, inputs.fleet, block));
    let plan = matcher.plan(block);
    if let Some(plan) = plan {
        let basis = PlanBasis {
            level: request.vehicle.level(),
            station: best.map(|best| best.assignment.station),
        };
        reservation.plan(plan, because, basis, now);
    }
    Ok(warnings)
}

/// Plans a pending reservation by need again, with the present state of everything that it depends on.
///
/// # Errors
/// `driver_not_found` or `vehicle_not_found`; `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn plan_again(
    app: &App,
    tenant: &Tenant,
    reservation: &mut Stored<Reservation>,
    because: ReplanReason,
    now: Timestamp,
) -> Result<(), Error> {
    let Reservation {
        driver,
        vehicle,
        location,
        ..
    } = &reservation.object;
    let area = Some((*location).into());
    let named = read_named(app, tenant, driver, vehicle, area).await?;
    let policies = named.policies(app, tenant).await?;
    let inputs = named.inputs(&policies);
    let planned = plan(app, tenant, reservation, inputs, because, now);
    Box::pin(planned).await.map(drop)
}
