//! `POST /v1/reservations/{id}`: updates a pending reservation.

use axum::extract::State;
use shared::Response;
use shared::http::{Body, PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::reservation::{Reservation, ReservationChange};
use shared::{App, Code, Error};

pub const ROUTE: Route = Route::post(
    "update-reservation",
    "/v1/reservations/{id}",
    Resource::Reservations,
)
.refusing(&[Code::ReservationUpdateInvalidState]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<ReservationChange>,
) -> Result<Response, Error> {
    let row = app.store.load::<Reservation>(context.tenant(), &id).await?;
    let mut row = row.recording(EventType::ReservationUpdated);
    row.object
        .update(change, &mut row.internal, context.now())?;
    let response = context.respond(&row.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.commit(response).await
}
