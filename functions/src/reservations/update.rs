//! `POST /v1/reservations/{id}`: updates a pending reservation.

use axum::extract::State;
use shared::Reply;
use shared::http::{Body, PathId, RequestContext, Route};
use shared::models::api_key::Resource;
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
) -> Result<Reply<Reservation>, Error> {
    let mut row = app.store.load::<Reservation>(context.tenant(), &id).await?;
    row.update(change, context.now())?;
    let response = context.respond(&row.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.commit(response).await
}
