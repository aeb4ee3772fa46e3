//! `GET /v1/reservations/{id}`: shows a reservation.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get(
    "retrieve-reservation",
    "/v1/reservations/{id}",
    Resource::Reservations,
);
