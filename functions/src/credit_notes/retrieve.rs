//! `GET /v1/credit_notes/{id}`: shows a credit note.

use kernel::Resource;
use web::Route;

pub const ROUTE: Route = Route::get(
    "retrieve-credit-note",
    "/v1/credit_notes/{id}",
    Resource::CreditNotes,
);
