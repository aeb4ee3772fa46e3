//! `POST /v1/invoices/{id}`: updates a draft or open invoice.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error};
use models::api_key::Resource;
use models::invoice::{Invoice, InvoiceChange};
use web::{Body, PathId, RequestContext, Route};

pub const ROUTE: Route = Route::post("update-invoice", "/v1/invoices/{id}", Resource::Invoices)
    .refusing(&[Code::InvoiceUpdateInvalidState]);

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    PathId(id): PathId,
    Body(change): Body<InvoiceChange>,
) -> Result<Reply<Invoice>, Error> {
    let mut invoice = app.store.load::<Invoice>(context.tenant(), &id).await?;
    invoice.update(change)?;
    let response = context.changed(&invoice)?;
    let mut tx = app.store.begin(&context.origin);
    tx.save(&mut invoice)?;
    tx.commit(response).await
}
