//! `GET /v1/transactions/{id}`: shows a transaction.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get(
    "retrieve-transaction",
    "/v1/transactions/{id}",
    Resource::Transactions,
);
