//! `POST /v1/reservations/{id}/cancel`: cancels a pending or confirmed reservation and releases its window.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Kind};
use models::api_key::Resource;
use models::reservation::Reservation;
use models::vehicle::Vehicle;
use table::access::Items;
use web::body::Nothing;
use web::{Body, PathId, RequestContext, Route};

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
.rehearsable();

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<Reservation>, Error> {
    let mut reservation = app.store.load::<Reservation>(context.tenant(), &id).await?;
    let now = context.now();
    let is_late = reservation.object.is_late_free_cancellation(now);
    reservation.cancel(now)?;
    let response = context.respond(&reservation.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut reservation)?;
    if is_late {
        let vehicle = app
            .store
            .find::<Vehicle>(context.tenant(), &reservation.object.vehicle);
        if let Some(mut vehicle) = vehicle.await? {
            vehicle.record_late_cancellation(now);
            tx.save(&mut vehicle)?;
        }
    }
    tx.release(&reservation).await?;
    tx.commit(response).await
}
