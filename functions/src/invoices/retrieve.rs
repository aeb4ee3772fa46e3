//! `GET /v1/invoices/{id}`: shows an invoice.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get("retrieve-invoice", "/v1/invoices/{id}", Resource::Invoices);
