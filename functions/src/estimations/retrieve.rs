//! `GET /v1/estimations/{id}`: shows an estimation.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get(
    "retrieve-estimation",
    "/v1/estimations/{id}",
    Resource::Estimations,
);
