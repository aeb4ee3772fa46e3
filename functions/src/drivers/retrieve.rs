//! `GET /v1/drivers/{id}`: shows a driver.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get("retrieve-driver", "/v1/drivers/{id}", Resource::Drivers);
