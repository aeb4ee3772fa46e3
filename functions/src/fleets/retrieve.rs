//! `GET /v1/fleets/{id}`: shows a fleet.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get("retrieve-fleet", "/v1/fleets/{id}", Resource::Fleets);
