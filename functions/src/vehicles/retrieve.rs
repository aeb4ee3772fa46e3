//! `GET /v1/vehicles/{id}`: shows a vehicle.

use kernel::id::Resource;
use web::Route;

pub const ROUTE: Route = Route::get("retrieve-vehicle", "/v1/vehicles/{id}", Resource::Vehicles);
