//! `GET /v1/credit_notes/{id}/document`: redirects to a document of a credit note, with a link that is valid for 15 minutes. Query name:
//! `format`, which is `pdf` (the default), `ubl` or `cii`. A 409 for `ubl` or `cii` names the fields that the seller or the buyer lacked
//! when the invoice was finalized; credit notes in currencies with three decimals have a PDF only.

use std::time::Duration;

use kernel::Resource;
use web::Route;
use web::deployment::Need;

pub const ROUTE: Route = Route::get(
    "retrieve-credit-note-document",
    "/v1/credit_notes/{id}/document",
    Resource::CreditNotes,
)
.patient(Duration::from_secs(25))
.memory(1024)
.timeout(29)
.needing(&[Need::Documents]);
