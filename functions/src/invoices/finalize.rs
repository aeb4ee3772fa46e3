//! `POST /v1/invoices/{id}/finalize`: finalizes a draft: it receives its number, its lines become final, and it can be paid.

use std::time::Duration;

use crate::{App, Request};
use kernel::backoff::Backoff;
use kernel::fields::text::ZoneName;
use kernel::{Code, Error, Id, Kind, Reply, Resource, Response};
use models::invoice::{Buyer, Issue, Seller};
use models::{Account, Fleet, Invoice, Stored};
use table::UnitOfWork;
use table::access::Items;
use web::body::Nothing;
use web::{Body, PathId, Route};

pub const ROUTE: Route = Route::post(
    "finalize-invoice",
    "/v1/invoices/{id}/finalize",
    Resource::Invoices,
)
.patient(Duration::from_secs(25))
.timeout(29)
.refusing(&[Code::InvoiceFinalizeInvalidState])
.writing(&[Items::DocumentNumbers]);

/// The maximum number of attempts of a finalization when another one takes its number, and the pauses in between. One of the concurrent
/// finalizations succeeds at a time, so this is the number that can run concurrently; the route's time-out ends them earlier.
pub(super) const FINALIZE_ATTEMPTS: u32 = 200;
pub(super) const BACKOFF: Backoff =
    Backoff::new(Duration::from_millis(10), 2, Duration::from_millis(320));

pub async fn handle(
    request: Request,
    PathId(id): PathId,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Reply<Invoice>, Error> {
    let run = || finalize(&request, &id);
    let finalized = BACKOFF.after_collisions(FINALIZE_ATTEMPTS, run).await;
    finalized.map(Reply::from)
}

async fn finalize(request: &Request, id: &Id) -> Result<Response, Error> {
    let mut invoice = request.load::<Invoice>(id).await?;
    let mut tx = request.begin();
    issue(&request.app, &mut tx, &mut invoice).await?;
    let response = request.respond(&invoice.object)?;
    tx.save(&mut invoice)?;
    tx.commit(response.into()).await
}

/// Finalizes a draft with the next number of its year, and with copies of its parties. The commit fails with `Contended` if another
/// invoice was given the number.
///
/// # Errors
/// `invoice_finalize_invalid_state` unless it is a draft; `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn issue(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    invoice: &mut Stored<Invoice>,
) -> Result<(), Error> {
    invoice.object.check_finalizable()?;
    let (tenant, now) = (&tx.origin().tenant, tx.origin().now);
    let account = app.store.get::<Account>(tenant, &tenant.account).await?;
    let account = account.object;
    let fleet = match &invoice.object.fleet {
        Some(id) => app.store.find::<Fleet>(tenant, id).await?,
        None => None,
    };
    let fleet = fleet.map(|fleet| fleet.object);
    let buyer = match (&fleet, &invoice.object.fleet) {
        (Some(fleet), _) => Some(Buyer::of_fleet(fleet)),
        (None, None) => Some(Buyer::of_account(&account)),
        (None, Some(_)) => None,
    };
    let details = &account.billing_details;
    let seller_zone = details.timezone.clone().unwrap_or_else(ZoneName::utc);
    let language = fleet
        .as_ref()
        .and_then(|fleet| fleet.billing_details.language);
    let year = details.year(now);
    let sequence = tx.next_number(Kind::Invoice, year).await?;
    let issue = Issue {
        number: details.number(year, sequence),
        seller: Seller::of(&account),
        buyer,
        language: language.unwrap_or_default(),
        buyer_zone: fleet.map_or_else(|| seller_zone.clone(), |fleet| fleet.timezone),
        seller_zone,
    };
    invoice.finalize(issue, now)
}
