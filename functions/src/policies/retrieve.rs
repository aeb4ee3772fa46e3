//! `GET /v1/policies/{id}`: shows a policy.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get("retrieve-policy", "/v1/policies/{id}", Resource::Policies);
