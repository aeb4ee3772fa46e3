//! `POST /v1/reservations/{id}`: updates a pending reservation. A reservation by need is planned again.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::reservation::need::ReplanReason;
use models::reservation::{Reservation, ReservationChange};
use models::vehicle::Vehicle;
use web::{Body, PathId, RequestContext, Route};

use super::plan;

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
    change.check(now)?;
    let mut reservation = app.store.load::<Reservation>(tenant, &id).await?;
    let is_planned_again = reservation.is_planned_again_by(&change);
    if change.connector_type.set().is_some() {
        let vehicle = &reservation.object.vehicle;
        let vehicle = app.store.find::<Vehicle>(tenant, vehicle).await?;
        if let Some(vehicle) = vehicle {
            reservation.match_plug(vehicle.object.charging_standard);
        }
    }
    reservation.update(change, now)?;
    if is_planned_again {
        plan::plan_again(&app, tenant, &mut reservation, ReplanReason::Update, now).await?;
    }
    let response = context.changed(&reservation)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut reservation)?;
    tx.commit(response).await
}
