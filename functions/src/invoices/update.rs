//! `POST /v1/invoices/{id}`: updates a draft or open invoice.

use axum::extract::State;
use shared::Reply;
use shared::http::{Body, PathId, RequestContext, Route};
use shared::models::api_key::Resource;
use shared::models::invoice::{Invoice, InvoiceChange};
use shared::{App, Code, Error};

pub const ROUTE: Route = Route::post("update-invoice", "/v1/invoices/{id}", Resource::Invoices)
    .refusing(&[Code::InvoiceUpdateInvalidState]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<InvoiceChange>,
) -> Result<Reply<Invoice>, Error> {
    let mut row = app.store.load::<Invoice>(context.tenant(), &id).await?;
    row.update(change)?;
    let response = context.respond(&row.object)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut row)?;
    tx.commit(response).await
}
