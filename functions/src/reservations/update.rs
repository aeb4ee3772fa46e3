//! `POST /v1/reservations/{id}`: updates a pending reservation.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::reservation::{Reservation, ReservationChange};
use web::{Body, PathId, RequestContext, Route};

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
