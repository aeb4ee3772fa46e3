//! `GET /v1/reservations/{id}`: shows a reservation.

use axum::extract::State;
use shared::Response;
use shared::http::{PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::reservation::Reservation;
use shared::{App, Error};

pub const ROUTE: Route = Route::get(
    "retrieve-reservation",
    "/v1/reservations/{id}",
    Resource::Reservations,
);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let row = app.store.get::<Reservation>(context.tenant(), &id).await?;
    context.respond(&row.object)
}
