//! `POST /v1/reservations/{id}/cancel`: cancels a pending or confirmed reservation and releases its window.

use crate::Request;
use kernel::{Code, Error, Kind, Reply, Resource};
use models::{Reservation, Vehicle};
use table::access::Items;
use web::body::Nothing;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "cancel-reservation",
    "/v1/reservations/{id}/cancel",
    Resource::Reservations,
)
.refusing(&[
    Code::ReservationCancelInvalidState,
    Code::ReservationInvalidState,
])
.writing(&[Items::Calendars, Items::Of(Kind::Vehicle)])
.allowing_dry_run();

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<Reservation>, Error> {
    let mut reservation = request.load::<Reservation>(&id).await?;
    let now = request.now();
    let is_late = reservation.object.is_late_free_cancellation(now);
    reservation.cancel(now)?;
    let response = request.respond(&reservation.object)?;
    let mut tx = request.begin();
    tx.save(&mut reservation)?;
    if is_late {
        let vehicle = request.find::<Vehicle>(&reservation.object.vehicle);
        if let Some(mut vehicle) = vehicle.await? {
            vehicle.record_late_cancellation(now);
            tx.save(&mut vehicle)?;
        }
    }
    tx.release(&reservation).await?;
    tx.commit(response).await
}
