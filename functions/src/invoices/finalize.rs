//! `POST /v1/invoices/{id}/finalize`: locks a draft's lines and opens it for payment.

use axum::extract::State;
use shared::Response;
use shared::http::body::Nothing;
use shared::http::{Body, PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::invoice::{Invoice, InvoiceStatus};
use shared::models::stored::Stored;
use shared::{App, Code, Error, Timestamp};

pub const ROUTE: Route = Route::post(
    "finalize-invoice",
    "/v1/invoices/{id}/finalize",
    Resource::Invoices,
)
.refusing(&[Code::InvoiceFinalizeInvalidState]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Response, Error> {
    let row = app.store.load::<Invoice>(context.tenant(), &id).await?;
    let mut row = finalized(row, context.now())?;
    let response = context.respond(&row.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.commit(response).await
}

/// The invoice, finalized.
pub fn finalized(row: Stored<Invoice>, now: Timestamp) -> Result<Stored<Invoice>, Error> {
    let mut row = row.recording(EventType::InvoiceFinalized);
    row.object.finalize(&mut row.internal, now)?;
    Ok(match row.object.status {
        InvoiceStatus::Paid => row.recording(EventType::InvoicePaid),
        _ => row,
    })
}
