//! `POST /v1/reservations/{id}`: updates a pending reservation. A reservation by need is planned again.

use crate::Request;
use kernel::{Code, Error, Reply, Resource};
use models::reservation::ReservationChange;
use models::reservation::need::ReplanReason;
use models::{Reservation, Vehicle};
use web::{Body, PathId, Route};

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
    request: Request,
    PathId(id): PathId,
    Body(change): Body<ReservationChange>,
) -> Result<Reply<Reservation>, Error> {
    let (app, tenant, now) = (&request.app, request.tenant(), request.now());
    change.check(now)?;
    let mut reservation = request.load::<Reservation>(&id).await?;
    let before = reservation.clone();
    let is_planned_again = reservation.is_planned_again_by(&change);
    if change.connector_type.set().is_some() {
        let vehicle = &reservation.object.vehicle;
        let vehicle = request.find::<Vehicle>(vehicle).await?;
        if let Some(vehicle) = vehicle {
            reservation.match_plug(vehicle.object.charging_standard);
        }
    }
    reservation.update(change, now)?;
    if is_planned_again && reservation != before {
        plan::plan_again(app, tenant, &mut reservation, ReplanReason::Update, now).await?;
    }
    request.save_update(&before, reservation).await
}
