//! `GET /v1/reservations/{id}`: shows a reservation.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get(
    "retrieve-reservation",
    "/v1/reservations/{id}",
    Resource::Reservations,
);
