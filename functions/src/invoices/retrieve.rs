//! `GET /v1/invoices/{id}`: shows an invoice.

use shared::http::Route;
use shared::models::api_key::Resource;

pub const ROUTE: Route = Route::get("retrieve-invoice", "/v1/invoices/{id}", Resource::Invoices);
