//! `GET /v1/reservations/{id}`: shows a reservation.

use axum::extract::State;
use shared::http::{Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::reservation::Reservation;
use shared::store::Answer;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-reservation",
    "/v1/reservations/{id}",
    Resource::Reservations,
);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Answer, Error> {
    let row = app.store.get::<Reservation>(caller.tenant(), &id).await?;
    caller.answer(&row.object)
}
