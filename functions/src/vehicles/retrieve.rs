//! `GET /v1/vehicles/{id}`: shows a vehicle.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get("retrieve-vehicle", "/v1/vehicles/{id}", Resource::Vehicles);
