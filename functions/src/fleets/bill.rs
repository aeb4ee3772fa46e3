//! `bill-fleet`: when a billing period of a fleet is over, drafts an invoice of what it owes in each currency, to be
//! finalized a day later; when a reporting period is over, asks for its report. A period without sessions has neither.

use std::collections::BTreeMap;

use shared::charging::calendar::Window;
use shared::models::account::Account;
use shared::models::event::EventType;
use shared::models::fleet::{Fleet, FleetPrivate};
use shared::models::invoice::{Invoice, InvoicePrivate, NewInvoice};
use shared::models::report::{Grouping, NewReport, NewReportParameters, Report, ReportType};
use shared::money::Currency;
use shared::origin::{Origin, Tenant};
use shared::store::Changes;
use shared::store::row::Row;
use shared::time::DAY;
use shared::{App, Error, Id, Kind};

/// How long a draft can be looked through before it is finalized, in milliseconds.
const DRAFT: i64 = DAY;

pub async fn handle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let Some(row) = app.store.find::<Fleet>(tenant, id).await? else {
        return Ok(());
    };
    let origin = Origin::later(tenant.clone(), app.now());
    let (fleet, mut private) = (&row.object, row.private.clone());
    let (bill, report) = (private.to_bill(origin.now), private.to_report(origin.now));
    if let Some(period) = bill {
        draft_all(app, &origin, fleet, period).await?;
    }
    if let Some(period) = report {
        ask(app, &origin, fleet, period).await?;
    }
    if bill.or(report).is_none() {
        return Ok(());
    }
    fleet.turn_over(&mut private, origin.now);
    turn_over(app, &origin, &row, private).await
}

/// Lets the next periods begin, unless somebody else has or the fleet has changed: then the message comes again.
async fn turn_over(
    app: &App,
    origin: &Origin,
    row: &Row<Fleet>,
    private: FleetPrivate,
) -> Result<(), Error> {
    let mut changes = Changes::new();
    app.store.plan_fleet(&mut changes, origin, row, &private)?;
    app.store.commit_later(origin, changes).await
}

/// The body of an invoice for a period.
fn body(fleet: &Fleet, period: Window, currency: Currency) -> NewInvoice {
    NewInvoice {
        period_start: period.from,
        period_end: period.until,
        fleet: Some(fleet.id.clone()),
        currency: Some(currency),
        description: None,
        metadata: Default::default(),
    }
}

/// Drafts an invoice in each currency in which something was charged.
async fn draft_all(app: &App, origin: &Origin, fleet: &Fleet, period: Window) -> Result<(), Error> {
    let mut currencies = BTreeMap::new();
    let mut pages = app
        .store
        .sessions_around(&origin.tenant, Some(&fleet.id), period);
    while let Some(page) = pages.next().await? {
        for row in page {
            let currency = row.object.currency;
            let new = body(fleet, period, currency);
            if new
                .bills(currency, &row.object, &row.private, row.version)
                .is_some()
            {
                currencies.insert(currency.as_str(), currency);
            }
        }
    }
    for currency in currencies.into_values() {
        draft(app, origin, fleet, period, currency).await?;
    }
    Ok(())
}

/// Drafts the invoice of a period once: its id follows from the fleet and the period.
async fn draft(
    app: &App,
    origin: &Origin,
    fleet: &Fleet,
    period: Window,
    currency: Currency,
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
    let collected = app.store.collect(origin, &new, currency).await?.under(id);
    if collected.sessions.is_empty() {
        return Ok(());
    }
    let mut changes = Changes::new();
    app.store
        .claim_sessions(&mut changes, origin, &collected)
        .await?;
    let (id, begun) = (collected.invoice, collected.begun);
    let invoice = Invoice::new(new, id, currency, collected.sessions, begun)?;
    let mut private = InvoicePrivate::default();
    invoice.finalize_later(&mut private, begun.plus_millis(DRAFT));
    let row = Row::with_private(invoice, private).announcing(EventType::InvoiceCreated);
    app.store.create(&mut changes, origin, &row)?;
    app.store.commit_later(origin, changes).await
}

/// Asks for the report of a period once, by vehicle, where the account wants reports and there is something to report.
async fn ask(app: &App, origin: &Origin, fleet: &Fleet, period: Window) -> Result<(), Error> {
    let (store, tenant) = (&app.store, &origin.tenant);
    let parameters = NewReportParameters {
        kind: ReportType::ChargingSummary,
        period_start: period.from,
        period_end: period.until,
        group_by: Some(Grouping::Vehicle),
        filters: None,
        format: None,
    };
    let new = NewReport {
        fleet: Some(fleet.id.clone()),
        parameters: Some(parameters),
    };
    let (mut report, private) = Report::new(new, tenant.account.clone(), origin.now)?;
    let seed = format!("{} {}", fleet.id, period.from);
    report.id = Id::derived(Kind::Report, period.until, &seed);
    let account = store.find::<Account>(tenant, &tenant.account).await?;
    let wanted = account.is_some_and(|row| row.object.preferences.reporting_enabled);
    let made = store.find::<Report>(tenant, &report.id).await?.is_some();
    if !wanted || made || !charged(app, origin, fleet, &report).await? {
        return Ok(());
    }
    let mut changes = Changes::new();
    store.create(&mut changes, origin, &Row::with_private(report, private))?;
    store.commit_later(origin, changes).await
}

/// Whether a report of the fleet covers any session.
async fn charged(
    app: &App,
    origin: &Origin,
    fleet: &Fleet,
    report: &Report,
) -> Result<bool, Error> {
    let window = report.parameters.window();
    let mut pages = app
        .store
        .sessions_around(&origin.tenant, Some(&fleet.id), window);
    while let Some(page) = pages.next().await? {
        if page.iter().any(|row| report.parameters.covers(&row.object)) {
            return Ok(true);
        }
    }
    Ok(false)
}
