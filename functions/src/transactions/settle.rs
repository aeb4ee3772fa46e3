//! `settle-transaction`: sends a pending refund, once. The same queue processes top-ups that their requests did not finish.
//!
//! A refund changes these amounts:
//! - `amount_refunded` of the charge and of the session or reservation that it paid, and the refunds that the invoice with these counts;
//! - `unreturned` of the charge: credits of a network whose amounts could not be returned. An adjustment that fails adds to it, and a later
//!   refund of the charge first returns these credits, without a credit note;
//! - the part of each credit that is returned so, in its adjustment;
//! - the credited amount of a final invoice, which receives a credit note for the rest;
//! - `unrefunded` of an invoice: credit notes whose refunds have failed. A later refund of the charge needs no further credit note for it.

use std::collections::BTreeMap;

use kernel::{Error, Id, Kind, Origin, Tenant};
use models::credit_note::{Credit, CreditNoteType};
use models::invoice::{InvoiceStatus, LineItem};
use models::ports::JobSubject;
use models::transaction::{PaymentOutcome, TransactionStatus, TransactionType};
use models::{ChargingSession, CreditNote, EventType, Invoice, Reservation, Stored, Transaction};
use serde::{Deserialize, Serialize};
use table::UnitOfWork;
use web::deployment::{Deployment, Need};

use crate::App;

use crate::credit_notes::issue::{self, BACKOFF};
use crate::function::Function;
use crate::job::Job;
use crate::payments::{self, topup};

/// Sends a pending refund, or finishes a top-up.
#[derive(Debug, Serialize, Deserialize)]
pub struct SettleTransaction {
    pub tenant: Tenant,
    pub transaction: Id,
}

impl Job for SettleTransaction {
    const NAME: &'static str = "settle-transaction";
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .writing(payments::SETTLED)
            .needing(&[Need::Payments]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.transaction)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self {
            tenant,
            transaction: id,
        } = &self;
        // A credit note of a refund may lose its number to a concurrent one.
        let run = || settle(app, tenant, id);
        match BACKOFF.after_collisions(SETTLE_ATTEMPTS, run).await {
            Err(error @ Error::Unavailable(_)) => wait(app, tenant, id, error).await,
            settled => settled,
        }
    }
}

/// Postpones a transaction that the provider has not decided for an hour, so that a bank debit of some days raises no alarm.
///
/// # Errors
/// The error before that.
async fn wait(app: &App, tenant: &Tenant, id: &Id, error: Error) -> Result<(), Error> {
    let now = app.now();
    let found = app.store.find::<Transaction>(tenant, id).await?;
    let is_pending =
        |found: &Stored<Transaction>| found.object.status == TransactionStatus::Pending;
    let Some(mut pending) = found.filter(is_pending) else {
        return Err(error);
    };
    if !pending.wait_for_provider(now) {
        return Err(error);
    }
    tracing::warn!(%error, "a transaction is not settled yet; it is tried again in an hour");
    let origin = Origin::background(tenant.clone(), now);
    app.store.save(&origin, &mut pending).await
}

/// The maximum number of attempts to settle a transaction in one run.
const SETTLE_ATTEMPTS: u32 = 8;

async fn settle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let Some(transaction) = app.store.find::<Transaction>(tenant, id).await? else {
        return Ok(());
    };
    let origin = Origin::background(tenant.clone(), app.now());
    match (transaction.object.status, transaction.object.kind) {
        (TransactionStatus::Pending, TransactionType::Refund | TransactionType::Adjustment) => {
            refund(app, &origin, transaction).await
        }
        (TransactionStatus::Pending, _) => topup::finish(app, &origin, transaction).await,
        _ => Ok(()),
    }
}

async fn refund(
    app: &App,
    origin: &Origin,
    mut transaction: Stored<Transaction>,
) -> Result<(), Error> {
    let mut tx = app.store.begin(origin);
    let outcome = payments::refund(app, &mut tx, &mut transaction).await?;
    transaction.end_refund(&outcome);
    let charge = match &transaction.object.charge {
        Some(id) => app.store.find::<Transaction>(&origin.tenant, id).await?,
        None => None,
    };
    let mut covered = Vec::new();
    if let Some(mut charge) = charge {
        charge.count_refund(&transaction);
        if !matches!(outcome, PaymentOutcome::Succeeded) {
            let refund = &transaction.object;
            payments::undo_refund_of_top_up(app, &mut tx, &mut charge, refund).await?;
        }
        covered = return_unreturned_credits(app, &mut tx, &transaction.object, &mut charge).await?;
        tx.save(&mut charge)?;
    }
    match (transaction.object.kind, &outcome) {
        // The adjustment counts as settled on its invoice. If its amount could not be returned, the charge has recorded that.
        (TransactionType::Adjustment, _) => {}
        (_, PaymentOutcome::Succeeded) => {
            count_on_paid_objects(app, &mut tx, &mut transaction.object, covered).await?;
        }
        (_, PaymentOutcome::Declined(_)) => {
            record_failed_refund(app, &mut tx, &transaction.object).await?
        }
    }
    tx.save(&mut transaction)?;
    tx.commit_without_response().await
}

/// Lets a refund return what could not be returned because of credits of a network. The invoice shows these credits as settled, so this
/// part is no refund of the invoice, and no reason for a credit note. Returns the parts with the invoices that have claimed the credits.
async fn return_unreturned_credits(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    refund: &Transaction,
    charge: &mut Stored<Transaction>,
) -> Result<Vec<(Option<Id>, i64)>, Error> {
    let is_requested =
        refund.kind == TransactionType::Refund && refund.status == TransactionStatus::Succeeded;
    let mut covered = Vec::new();
    if !is_requested || refund.credit_note.is_some() || charge.internal.unreturned == 0 {
        return Ok(covered);
    }
    let subject = refund.charging_session.as_ref();
    let Some(subject) = subject.or(refund.reservation.as_ref()) else {
        return Ok(covered);
    };
    let mut left = refund.amount.min(charge.internal.unreturned);
    let tenant = &tx.origin().tenant;
    for mut adjustment in app.store.adjustments_of(tenant, subject).await? {
        let part = adjustment.cover(left);
        if part > 0 {
            left -= part;
            charge.internal.unreturned -= part;
            covered.push((adjustment.internal.invoice.clone(), part));
            tx.save(&mut adjustment)?;
        }
    }
    Ok(covered)
}

/// Records on an invoice that a refund of one of its credit notes has failed: when the charge is refunded again, no further credit note is
/// needed.
async fn record_failed_refund(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    refund: &Transaction,
) -> Result<(), Error> {
    let tenant = &tx.origin().tenant;
    let note = match &refund.credit_note {
        Some(id) => app.store.find::<CreditNote>(tenant, id).await?,
        None => None,
    };
    let invoice = match note {
        Some(note) => {
            app.store
                .find::<Invoice>(tenant, &note.object.invoice)
                .await?
        }
        None => None,
    };
    if let Some(mut invoice) = invoice {
        invoice.note_unrefunded(refund.amount);
        tx.save(&mut invoice)?;
    }
    Ok(())
}

/// Credits a final invoice with `amount` of a refund that no credit note has caused, and names the credit note in it.
async fn issue_credit_note(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    invoice: &mut Stored<Invoice>,
    refund: &mut Transaction,
    amount: i64,
) -> Result<(), Error> {
    if refund.credit_note.is_some() || invoice.object.number.is_none() {
        return Ok(());
    }
    let amount = invoice.cover_refund(amount);
    let amount = amount.min(invoice.creditable());
    if amount <= 0 {
        return Ok(());
    }
    let reason = refund.reason.clone();
    let credit = match paid_line(app, tx, &invoice.object, refund).await? {
        Some(line) => Credit::of_refund(invoice, &line, amount, reason),
        None => {
            let taxes = invoice.credit_of(amount)?;
            Credit::of_amount(CreditNoteType::Refund, taxes, reason)
        }
    };
    let mut note = issue::issue_refunded(app, tx, invoice, credit).await?;
    refund.credit_note = Some(note.object.id.clone());
    tx.create(&mut note)
}

/// Returns the line of an invoice that bills the session or the reservation of a refund.
async fn paid_line(
    app: &App,
    tx: &UnitOfWork<'_>,
    invoice: &Invoice,
    refund: &Transaction,
) -> Result<Option<LineItem>, Error> {
    let subject = refund.charging_session.as_ref();
    let Some(subject) = subject.or(refund.reservation.as_ref()) else {
        return Ok(None);
    };
    let id = subject.as_kind(Kind::LineItem);
    let ids = std::iter::once(&id);
    let mut lines = app
        .store
        .lines_of(&tx.origin().tenant, invoice, ids)
        .await?;
    Ok(lines.remove(&id))
}

/// Counts a refund on the objects that its charge paid: the session or the reservation, and the invoice that bills it. A final invoice
/// receives a credit note. The parts in `covered` return credits, and do not count on the invoices of these.
async fn count_on_paid_objects(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    refund: &mut Transaction,
    covered: Vec<(Option<Id>, i64)>,
) -> Result<(), Error> {
    let (tenant, now) = (&tx.origin().tenant, tx.origin().now);
    let mut billed_by = refund.invoice.clone();
    if let Some(id) = &refund.charging_session
        && let Some(mut session) = app.store.find::<ChargingSession>(tenant, id).await?
    {
        session.object.count_refund(refund.amount, now);
        session.record(EventType::ChargingSessionUpdated);
        billed_by = session.object.invoice.clone();
        tx.save(&mut session)?;
    }
    if let Some(id) = &refund.reservation
        && let Some(mut reservation) = app.store.find::<Reservation>(tenant, id).await?
    {
        reservation.count_refund(refund.amount, now);
        billed_by = reservation.internal.invoice.clone();
        tx.save(&mut reservation)?;
    }
    let mut changes = BTreeMap::new();
    changes.extend(billed_by.clone().map(|id| (id, refund.amount)));
    let mut rest = refund.amount;
    for (id, part) in covered {
        rest -= part;
        if let Some(id) = id {
            *changes.entry(id).or_default() -= part;
        }
    }
    for (id, change) in changes {
        // The order matters: the transaction that creates an invoice also ends its state of being in the making.
        if app.store.is_in_the_making(tenant, &id).await? {
            return Err(Error::Contended);
        }
        let found = app.store.find::<Invoice>(tenant, &id).await?;
        let valid = found.filter(|invoice| invoice.object.status != InvoiceStatus::Void);
        if let Some(mut invoice) = valid {
            invoice.count_refund(change);
            if billed_by.as_ref() == Some(&id) {
                issue_credit_note(app, tx, &mut invoice, refund, rest).await?;
            }
            tx.save(&mut invoice)?;
        }
    }
    Ok(())
}
