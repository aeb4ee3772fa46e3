//! `POST /v1/invoices/{id}/void`: voids an open or uncollectible invoice. This creates a credit note of the rest of the invoice. Its
//! sessions can be billed by another invoice.

use std::time::Duration;

use crate::Request;
use kernel::{Code, Error, Id, Kind, Reply, Resource, Response};
use models::Invoice;
use models::credit_note::{Credit, CreditNoteType};
use table::access::Items;
use web::body::Nothing;
use web::{Body, PathId, Route};

use crate::credit_notes::issue::{self, BACKOFF, ISSUE_ATTEMPTS};

pub const ROUTE: Route = Route::post("void-invoice", "/v1/invoices/{id}/void", Resource::Invoices)
    .patient(Duration::from_secs(25))
    .timeout(29)
    .refusing(&[Code::InvoiceVoidInvalidState])
    .writing(&[Items::DocumentNumbers, Items::Of(Kind::CreditNote)])
    .allowing_dry_run();

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<Invoice>, Error> {
    let run = || void(&request, &id);
    let voided = BACKOFF.after_collisions(ISSUE_ATTEMPTS, run).await;
    voided.map(Reply::from)
}

async fn void(request: &Request, id: &Id) -> Result<Response, Error> {
    let mut invoice = request.load::<Invoice>(id).await?;
    let left = invoice.credit_of(invoice.creditable())?;
    invoice.void()?;
    let mut tx = request.begin();
    let credit = Credit::of_amount(CreditNoteType::Void, left, None);
    let mut note = issue::issue_refunded(&request.app, &mut tx, &mut invoice, credit).await?;
    let response = request.respond(&invoice.object)?;
    tx.save(&mut invoice)?;
    tx.create(&mut note)?;
    tx.commit(response.into()).await
}
