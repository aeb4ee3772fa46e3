//! `GET /v1/drivers/{id}`: shows a driver.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get("retrieve-driver", "/v1/drivers/{id}", Resource::Drivers);
