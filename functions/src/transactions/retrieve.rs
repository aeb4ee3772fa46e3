//! `GET /v1/transactions/{id}`: shows a transaction.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get(
    "retrieve-transaction",
    "/v1/transactions/{id}",
    Resource::Transactions,
);
