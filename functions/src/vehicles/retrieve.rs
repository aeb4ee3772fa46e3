//! `GET /v1/vehicles/{id}`: shows a vehicle.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get("retrieve-vehicle", "/v1/vehicles/{id}", Resource::Vehicles);
