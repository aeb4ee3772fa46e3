//! `GET /v1/sites/{id}`: shows a site.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get("retrieve-site", "/v1/sites/{id}", Resource::Sites);
