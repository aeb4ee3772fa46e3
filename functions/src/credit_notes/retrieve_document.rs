//! `GET /v1/credit_notes/{id}/document`: redirects to a document of a credit note, with a link that is valid for 15 minutes. Query name:
//! `format`, which is `pdf` (the default), `ubl` or `cii`. A 409 for `ubl` or `cii` names the fields that the seller or the buyer lacked
//! when the invoice was finalized; credit notes in currencies with three decimals have a PDF only.

use std::time::Duration;

use crate::App;
use axum::extract::State;
use kernel::Error;
use kernel::response::{FileOf, Reply};
use models::api_key::Resource;
use models::credit_note::CreditNote;
use web::deployment::Need;
use web::{PathId, Query, RequestContext, Route};

use crate::documents::{self, DocumentQuery};

pub const ROUTE: Route = Route::get(
    "retrieve-credit-note-document",
    "/v1/credit_notes/{id}/document",
    Resource::CreditNotes,
)
.patient(Duration::from_secs(25))
.memory(1024)
.timeout(29)
.needing(&[Need::Documents]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Query(query): Query<DocumentQuery>,
) -> Result<Reply<FileOf<CreditNote>>, Error> {
    documents::redirect(&app, context.tenant(), &id, query.format).await
}
