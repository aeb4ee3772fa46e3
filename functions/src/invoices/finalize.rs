//! `POST /v1/invoices/{id}/finalize`: locks a draft's lines and opens it for payment.

use axum::extract::State;
use shared::http::body::Nothing;
use shared::http::{Body, Caller, PathId, Route};
use shared::models::api_key::Resource;
use shared::models::event::EventType;
use shared::models::invoice::{Invoice, InvoiceStatus};
use shared::store::row::Row;
use shared::store::{Answer, Changes};
use shared::{App, Code, Error, Timestamp};

pub const ROUTE: Route = Route::post(
    "finalize-invoice",
    "/v1/invoices/{id}/finalize",
    Resource::Invoices,
)
.refusing(&[Code::InvoiceFinalizeInvalidState]);

pub async fn handle(
    caller: Caller,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Answer, Error> {
    let row = app.store.load::<Invoice>(caller.tenant(), &id).await?;
    let row = finalized(row, caller.now())?;
    let answer = caller.answer(&row.object)?;
    let mut changes = Changes::new();
    app.store.replace(&mut changes, &caller.origin, &row)?;
    app.store.commit(&caller.origin, changes, answer).await
}

/// The invoice, finalized.
pub fn finalized(row: Row<Invoice>, now: Timestamp) -> Result<Row<Invoice>, Error> {
    let mut row = row.announcing(EventType::InvoiceFinalized);
    row.object.finalize(&mut row.private, now)?;
    Ok(match row.object.status {
        InvoiceStatus::Paid => row.announcing(EventType::InvoicePaid),
        _ => row,
    })
}
