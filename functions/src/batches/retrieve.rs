//! `GET /v1/batches/{id}`: shows a batch.

use models::api_key::Resource;
use web::Route;

pub const ROUTE: Route = Route::get("retrieve-batch", "/v1/batches/{id}", Resource::Batches);
