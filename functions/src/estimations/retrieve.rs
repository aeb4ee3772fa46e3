//! `GET /v1/estimations/{id}`: shows an estimation.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get(
    "retrieve-estimation",
    "/v1/estimations/{id}",
    Resource::Estimations,
);
