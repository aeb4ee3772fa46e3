//! `POST /v1/reservations/{id}`: updates a pending reservation. One by need is planned again.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::reservation::{Reservation, ReservationChange};
use web::{Body, PathId, RequestContext, Route};

use super::plan::{self, PlanInputs};
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
        let (driver, vehicle) = (&row.object.driver, &row.object.vehicle);
        let area = row.object.location.into();
        let named = plan::read_named(&app, tenant, driver, vehicle, area).await?;
        let plan::Named {
            driver,
            vehicle,
            fleet,
            telemetry,
            stations,
        } = named;
        let driver = driver.object;
        let rules = policies::of(&app, tenant, Some(&driver), fleet.as_ref(), &vehicle).await?;
        let inputs = PlanInputs {
            driver: &driver,
            vehicle: &vehicle,
            fleet: fleet.as_ref(),
            policies: &rules,
            telemetry: telemetry.as_ref(),
            stations: &stations,
        };
        Box::pin(plan::plan(&app, tenant, &mut row, inputs, now)).await?;
    }
    let response = context.changed(&row)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.commit(response).await
}
