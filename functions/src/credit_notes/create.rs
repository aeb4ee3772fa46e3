//! `POST /v1/credit_notes`: credits an amount or lines of an invoice. On a final invoice this creates a credit note with a number: its
//! amount is deducted from the amount due, and the rest is refunded, except what earlier refunds have returned. At most 500 lines of an
//! invoice can be credited individually, each at most once as a whole. On a draft the credit becomes a line, of at most the amount due. All
//! credits of an invoice together never exceed the invoice.

use std::time::Duration;

use kernel::{Code, Error, Kind, Reply, Resource, Response};
use models::credit_note::Credit;
use models::credit_note::request::NewCreditNote;
use models::invoice::InvoiceStatus;
use models::{Adjustment, CreditNote, Invoice, Stored};
use table::UnitOfWork;
use table::access::Items;
use web::{Body, Route};

use super::issue::{self, BACKOFF, ISSUE_ATTEMPTS};
use crate::Request;

pub const ROUTE: Route = Route::post(
    "create-credit-note",
    "/v1/credit_notes",
    Resource::CreditNotes,
)
.patient(Duration::from_secs(25))
.timeout(29)
.refusing(&[Code::InvoiceNotFound])
.writing(&[
    Items::DocumentNumbers,
    Items::Of(Kind::Adjustment),
    Items::Of(Kind::Invoice),
    Items::Of(Kind::Transaction),
]);

pub async fn handle(
    request: Request,
    Body(new): Body<NewCreditNote>,
) -> Result<Reply<CreditNote>, Error> {
    new.check()?;
    let run = || create(&request, &new);
    let created = BACKOFF.after_collisions(ISSUE_ATTEMPTS, run).await;
    created.map(Reply::from)
}

async fn create(request: &Request, new: &NewCreditNote) -> Result<Response, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    let mut invoice = request.load::<Invoice>(&new.invoice).await?;
    let lines = store
        .lines_of(tenant, &invoice.object, new.line_items())
        .await?;
    let credit = new.credit(&invoice, &lines)?;
    let mut tx = request.begin();
    let mut note = match invoice.object.status {
        InvoiceStatus::Draft => on_draft(&mut tx, &mut invoice, credit).await?,
        _ => issue::issue(&request.app, &mut tx, &mut invoice, credit, new.destination).await?,
    };
    let response = request.respond(&note.object)?;
    tx.save(&mut invoice)?;
    tx.create(&mut note)?;
    tx.commit(response.into()).await
}

/// Adds a credit to a draft as a line.
async fn on_draft(
    tx: &mut UnitOfWork<'_>,
    draft: &mut Stored<Invoice>,
    credit: Credit,
) -> Result<Stored<CreditNote>, Error> {
    let now = tx.origin().now;
    let described = credit.describe();
    let Invoice {
        id,
        fleet,
        currency,
        ..
    } = &draft.object;
    let taxes = credit.by_rate();
    let lines = credit.by_line();
    let mut line =
        Adjustment::on_draft(id, fleet.clone(), *currency, described, &taxes, lines, now);
    let item = line.object.line.clone();
    let note = CreditNote::on_draft(&draft.object, credit, item.id.clone(), now)?;
    draft.add_line(&item, 0, 0);
    draft.credit_lines(&line.internal.lines);
    tx.add_draft_line(draft, item).await?;
    tx.create(&mut line)?;
    Ok(note)
}
