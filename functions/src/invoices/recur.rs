//! The invoices of a fleet's billing period.

use std::collections::BTreeMap;

use kernel::{Currency, Error, Id, Kind, Origin, SignedDuration, Window};
use models::invoice::NewInvoice;
use models::{Account, Fleet, Invoice};

use crate::App;
use kernel::time::DAY;

/// The time for which a draft can be reviewed before it is finalized.
const DRAFT: SignedDuration = DAY;

/// The body of an invoice for a period.
pub(super) fn body(fleet: &Fleet, period: Window, currency: Currency) -> NewInvoice {
    NewInvoice {
        period_start: period.from,
        period_end: period.until,
        fleet: Some(fleet.id.clone()),
        currency: Some(currency),
        description: None,
        metadata: Default::default(),
    }
}

/// Drafts an invoice in each currency in which something was charged, once all charges of the period are settled. Returns whether they are.
pub async fn draft_all(
    app: &App,
    origin: &Origin,
    fleet: &Fleet,
    period: Window,
) -> Result<bool, Error> {
    let mode = origin.tenant.mode;
    let mut currencies = BTreeMap::new();
    let fees = app.store.fees_within(&origin.tenant, period, origin.now);
    for reservation in fees.await? {
        let currency = reservation.object.currency;
        let ours = reservation.internal.fleet.as_ref() == Some(&fleet.id);
        if ours && reservation.is_unsettled(period.until) {
            return Ok(false);
        }
        let new = body(fleet, period, currency);
        let billed = new.bills_fee(currency, &reservation, None);
        if billed.is_some() {
            currencies.insert(currency.as_str(), currency);
        }
    }
    let mut pages = app
        .store
        .sessions_around(&origin.tenant, Some(&fleet.id), period);
    while let Some(page) = pages.next().await? {
        for session in page {
            let currency = session.object.currency;
            if session.is_unsettled(period.until) {
                return Ok(false);
            }
            let new = body(fleet, period, currency);
            let billed = new.bills(mode, currency, &session);
            if billed.is_some() {
                currencies.insert(currency.as_str(), currency);
            }
        }
    }
    for adjustment in app.store.open_adjustments(&origin.tenant).await? {
        let currency = adjustment.object.currency;
        let billed = body(fleet, period, currency).bills_adjustment(currency, &adjustment);
        if billed.is_some() && adjustment.object.created < period.until {
            currencies.insert(currency.as_str(), currency);
        }
    }
    let account = &origin.tenant.account;
    let account = app.store.get::<Account>(&origin.tenant, account).await?;
    for currency in currencies.into_values() {
        draft(app, origin, fleet, period, currency, &account.object).await?;
    }
    Ok(true)
}

/// Drafts the invoice of a period once: its id is derived from the fleet and the period.
async fn draft(
    app: &App,
    origin: &Origin,
    fleet: &Fleet,
    period: Window,
    currency: Currency,
    account: &Account,
) -> Result<(), Error> {
    let seed = format!("{} {} {currency}", fleet.id, period.from);
    let id = Id::derived(Kind::Invoice, period.until, &seed);
    if app
        .store
        .find::<Invoice>(&origin.tenant, &id)
        .await?
        .is_some()
    {
        return Ok(());
    }
    let new = body(fleet, period, currency);
    let collected = app
        .store
        .collect(origin, &new, currency, account.country())
        .await?;
    let collected = collected.under(id);
    if collected.billed.is_empty() {
        return Ok(());
    }
    let mut tx = app.store.begin(origin);
    tx.claim_billed(&collected).await?;
    let (id, begun) = (collected.invoice, collected.begun);
    let term = account.billing_details.payment_term();
    let mut invoice = Invoice::new(new, id, currency, collected.billed, term, begun)?;
    invoice.finalize_later(begun.plus(DRAFT));
    tx.create(&mut invoice)?;
    tx.commit_without_response().await
}
