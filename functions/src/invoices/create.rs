//! `POST /v1/invoices`: drafts an invoice of the sessions that ended within a window, and of reservation fees that became due within it, if
//! no other invoice bills them.

use std::time::Duration;
use table::access::Items;

use kernel::{Code, Currency, Error, Kind, Reply, Resource};
use models::invoice::NewInvoice;
use models::{Account, Fleet, Invoice};
use web::{Body, Route};

use crate::{Request, payments};

pub const ROUTE: Route = Route::post("create-invoice", "/v1/invoices", Resource::Invoices)
    .patient(Duration::from_secs(25))
    .refusing(&[Code::FleetNotFound])
    .memory(512)
    .timeout(29)
    .writing(&[
        Items::Of(Kind::Adjustment),
        Items::Of(Kind::ChargingSession),
        Items::Of(Kind::Reservation),
    ]);

pub async fn handle(
    request: Request,
    Body(new): Body<NewInvoice>,
) -> Result<Reply<Invoice>, Error> {
    let origin = &request.origin;
    new.check()?;
    if let Some(first) = payments::answered(&request.app, origin).await? {
        return Ok(first.into());
    }
    let account = request.account().await?.object;
    let currency = currency(&request, &new, &account).await?;
    let country = account.country();
    let collected = request
        .store()
        .collect(origin, &new, currency, country)
        .await?;
    let mut tx = request.begin();
    tx.claim_billed(&collected).await?;
    let (id, begun) = (collected.invoice, collected.begun);
    let term = account.billing_details.payment_term();
    let mut invoice = Invoice::new(new, id, currency, collected.billed, term, begun)?;
    let response = request.respond(&invoice.object)?;
    tx.create(&mut invoice)?;
    tx.commit(response).await
}

/// The currency of the invoice: that of the body, else of the fleet, else of the account.
async fn currency(
    request: &Request,
    new: &NewInvoice,
    account: &Account,
) -> Result<Currency, Error> {
    let fleet = match &new.fleet {
        Some(fleet) => Some(request.get::<Fleet>(fleet).await?.object),
        None => None,
    };
    let of_owner = fleet.map_or(account.default_currency, |fleet| {
        fleet.preferences.default_currency
    });
    Ok(new.currency.unwrap_or(of_owner))
}
