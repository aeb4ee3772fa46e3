//! `GET /v1/policies/{id}`: shows a policy.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get("retrieve-policy", "/v1/policies/{id}", Resource::Policies);
