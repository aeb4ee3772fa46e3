//! `GET /v1/policies/{id}`: shows a policy.

use models::api_key::Resource;
use web::Route;

pub const ROUTE: Route = Route::get("retrieve-policy", "/v1/policies/{id}", Resource::Policies);
