//! `POST /v1/invoices/{id}`: updates a draft or open invoice.

use crate::Request;
use kernel::{Code, Error, Reply, Resource};
use models::Invoice;
use models::invoice::InvoiceChange;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post("update-invoice", "/v1/invoices/{id}", Resource::Invoices)
    .refusing(&[Code::InvoiceUpdateInvalidState]);

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(change): Body<InvoiceChange>,
) -> Result<Reply<Invoice>, Error> {
    let mut invoice = request.load::<Invoice>(&id).await?;
    let before = invoice.clone();
    invoice.update(change)?;
    request.save_update(&before, invoice).await
}
