//! `POST /v1/invoices/{id}/void`: voids an open or uncollectible invoice. Its sessions can be billed by another invoice.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::invoice::Invoice;
use web::body::Nothing;
use web::{Body, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::post("void-invoice", "/v1/invoices/{id}/void", Resource::Invoices)
    .refusing(&[Code::InvoiceVoidInvalidState])
    .rehearsable();

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<Invoice>, Error> {
    let mut row = app.store.load::<Invoice>(context.tenant(), &id).await?;
    row.void()?;
    let response = context.respond(&row.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.commit(response).await
}
