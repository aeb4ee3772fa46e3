//! `GET /v1/fleets/{id}`: shows a fleet.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get("retrieve-fleet", "/v1/fleets/{id}", Resource::Fleets);
