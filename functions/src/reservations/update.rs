//! `POST /v1/reservations/{id}`: updates a pending reservation. One by need is planned again.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Kind};
use models::api_key::Resource;
use models::driver::Driver;
use models::fleet::Fleet;
use models::reservation::{Reservation, ReservationChange};
use models::vehicle::Vehicle;
use models::vehicle_telemetry::VehicleTelemetry;
use web::{Body, PathId, RequestContext, Route};

use super::plan::PlanInputs;
use crate::policies;

pub const ROUTE: Route = Route::post(
    "update-reservation",
    "/v1/reservations/{id}",
    Resource::Reservations,
)
.refusing(&[
    Code::ReservationUpdateInvalidState,
    Code::DriverNotFound,
    Code::VehicleNotFound,
])
.memory(512)
.reading_side_by_side();

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<ReservationChange>,
) -> Result<Reply<Reservation>, Error> {
    let (tenant, now) = (context.tenant(), context.now());
    let mut row = app.store.load::<Reservation>(tenant, &id).await?;
    let is_planned_again = row.is_planned_again_by(&change);
    row.update(change, now)?;
    if is_planned_again {
        let named = [
            (Kind::Driver, &row.object.driver),
            (Kind::Vehicle, &row.object.vehicle),
        ];
        let (mut found, stations) = tokio::try_join!(
            app.store.find_together(tenant, named),
            app.store
                .indexed_stations(tenant, row.object.location.into()),
        )?;
        let driver = found.require::<Driver>(&row.object.driver)?.object;
        let vehicle = found.require::<Vehicle>(&row.object.vehicle)?.object;
        let (fleet, telemetry) = tokio::try_join!(
            app.store.find::<Fleet>(tenant, &vehicle.fleet),
            app.store
                .find::<VehicleTelemetry>(tenant, &vehicle.telemetry),
        )?;
        let fleet = fleet.map(|row| row.object);
        let rules = policies::of(&app, tenant, Some(&driver), fleet.as_ref(), &vehicle).await?;
        let inputs = PlanInputs {
            driver: &driver,
            vehicle: &vehicle,
            fleet: fleet.as_ref(),
            policies: &rules,
            telemetry: telemetry.as_ref().map(|row| &row.object),
            stations: &stations,
        };
        Box::pin(super::plan::plan(&app, tenant, &mut row, inputs, now)).await?;
    }
    let response = context.respond(&row.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.commit(response).await
}
