//! `apply-credit`: credits an amount of a charging network to the customer who has paid, or will pay, for the credited session or
//! reservation.
//!
//! A credit is a negative adjustment. Its target depends on the invoice that bills the session or the reservation at that moment:
//!
//! - a final invoice: a credit note of the invoice, with its refund;
//! - a draft: a line of the draft;
//! - no invoice, and nothing is paid: a line of the next invoice, which also bills the session or the reservation itself.
//!
//! If a session or a fee was charged directly, the amount paid for it is returned at once, by transactions of type `adjustment`, and the
//! adjustment counts as settled on the invoice that shows it. An amount that a refund has returned before settles the adjustment as well,
//! and is not returned again. Everything is written in one transaction, on the condition that the session or the reservation has not
//! changed since it was read, so that no invoice bills it meanwhile. A credit that cannot be applied yet, because a charge, a refund or an
//! invoice is in progress, waits and is tried again.

use kernel::error::{ErrorClass, Result};
use kernel::money::Money;
use kernel::origin::{Origin, Tenant};
use kernel::time::MINUTE;
use kernel::{Error, Id};
use models::action::Action;
use models::adjustment::Adjustment;
use models::charging_session::ChargingSession;
use models::credit_note::{Credit, CreditNoteLine, CreditNoteType};
use models::invoice::{Invoice, InvoiceStatus, TaxAmount};
use models::ports::JobSubject;
use models::reservation::Reservation;
use models::stored::Stored;
use models::transaction::{Transaction, TransactionStatus};
use serde::{Deserialize, Serialize};
use table::UnitOfWork;

use super::issue::{self, BACKOFF};
use super::refund::{self, Owner};
use crate::App;
use crate::function::Function;
use crate::invoices::check::CheckInvoice;
use crate::job::{Job, find_due};

/// The maximum number of attempts to apply a credit in one run.
const TRIES: u32 = 8;

/// Applies a credit of a charging network.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApplyCredit {
    pub tenant: Tenant,
    pub adjustment: Id,
}

impl Job for ApplyCredit {
    const NAME: &'static str = "apply-credit";
    const FUNCTION: Function = CheckInvoice::FUNCTION;

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.adjustment)
    }

    async fn run(self, app: &App) -> Result<()> {
        let run = || apply(app, &self);
        BACKOFF.after_collisions(TRIES, run).await
    }
}

/// The billing and payment of a credited session or reservation.
struct Credited {
    invoice: Option<Id>,
    /// The amount that was paid for it, in minor units.
    paid: i64,
    /// The part of `paid` that was refunded.
    refunded: i64,
    /// The transaction that has charged it, if it was charged directly.
    charge: Option<Id>,
    /// Whether a charge for it is in flight.
    is_charging: bool,
    /// The line of an invoice that bills it.
    line: Id,
}

async fn apply(app: &App, job: &ApplyCredit) -> Result<()> {
    let ApplyCredit {
        tenant,
        adjustment: id,
    } = job;
    let due = find_due::<Adjustment>(app, tenant, id, Action::ApplyCredit).await?;
    let Some((mut adjustment, origin)) = due else {
        return Ok(());
    };
    match apply_now(app, &origin, adjustment.clone()).await {
        Err(error) if error.class() == ErrorClass::Conflict => {
            adjustment.apply_later(origin.now.plus(MINUTE));
            let mut tx = app.store.begin(&origin);
            tx.save(&mut adjustment)?;
            tx.commit_without_response().await
        }
        ended => ended,
    }
}

/// Applies a credit.
///
/// # Errors
/// 409 while a refund of the credited session or reservation, or of its invoice, is pending; `Contended` if it was changed meanwhile.
async fn apply_now(app: &App, origin: &Origin, mut adjustment: Stored<Adjustment>) -> Result<()> {
    let mut tx = app.store.begin(origin);
    let credited = credited(app, &mut tx, &adjustment).await?;
    let invoice = invoice_of(app, origin, credited.invoice.as_ref()).await?;
    let is_paying = invoice
        .as_ref()
        .is_some_and(|invoice| invoice.internal.attempt.is_some());
    match invoice {
        _ if credited.is_charging || is_paying => adjustment.apply_later(origin.now.plus(MINUTE)),
        Some(mut invoice) if invoice.object.status == InvoiceStatus::Draft => {
            on_draft(app, &mut tx, &mut adjustment, &credited, &mut invoice).await?;
            tx.save(&mut invoice)?;
        }
        Some(mut invoice) => {
            on_final(app, &mut tx, &mut adjustment, &credited, &mut invoice).await?;
            tx.save(&mut invoice)?;
        }
        None => {
            settle(app, &mut tx, &mut adjustment, &credited).await?;
            adjustment.apply(None);
        }
    }
    tx.save(&mut adjustment)?;
    tx.commit_without_response().await
}

/// Reads what an adjustment credits. The commit fails if it has changed by then.
async fn credited(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    adjustment: &Stored<Adjustment>,
) -> Result<Credited> {
    use kernel::Kind::LineItem;
    let tenant = &tx.origin().tenant;
    let line = &adjustment.object.line;
    if let Some(id) = &line.charging_session {
        let session = app.store.load::<ChargingSession>(tenant, id).await?;
        tx.check_unchanged(&session)?;
        return Ok(Credited {
            invoice: session.object.invoice.clone(),
            paid: session.object.amount_paid(),
            refunded: session.object.amount_refunded(),
            charge: Some(session.object.charge_id()),
            is_charging: session.object.is_charging_payment(),
            line: id.as_kind(LineItem),
        });
    }
    let id = line.reservation.as_ref();
    let id = id.ok_or_else(|| Error::permanent("a credit of nothing"))?;
    let reservation = app.store.load::<Reservation>(tenant, id).await?;
    tx.check_unchanged(&reservation)?;
    let fee = reservation.fee();
    Ok(Credited {
        invoice: reservation.internal.invoice.clone(),
        paid: fee.map_or(0, |fee| fee.paid),
        refunded: fee.map_or(0, |fee| fee.refunded),
        charge: reservation.charge_id(),
        is_charging: reservation.next_action().is_some(),
        line: id.as_kind(LineItem),
    })
}

/// The valid invoice that bills a session or a reservation.
async fn invoice_of(
    app: &App,
    origin: &Origin,
    id: Option<&Id>,
) -> Result<Option<Stored<Invoice>>> {
    let Some(id) = id else {
        return Ok(None);
    };
    // The order matters: the transaction that creates an invoice also ends its state of being in the making.
    if app.store.is_in_the_making(&origin.tenant, id).await? {
        return Err(Error::Contended);
    }
    let found = app.store.find::<Invoice>(&origin.tenant, id).await?;
    Ok(found.filter(|invoice| invoice.object.status != InvoiceStatus::Void))
}

/// Adds a credit to a draft as a line. A credit that exceeds the amount of the draft is left for another invoice.
async fn on_draft(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    adjustment: &mut Stored<Adjustment>,
    credited: &Credited,
    draft: &mut Stored<Invoice>,
) -> Result<()> {
    settle(app, tx, adjustment, credited).await?;
    let line = adjustment.object.line.clone();
    if draft.object.amount_due + line.amount < adjustment.internal.paid {
        adjustment.apply(None);
        return Ok(());
    }
    draft.add_line(&line, adjustment.internal.paid);
    tx.add_draft_line(draft, line).await?;
    adjustment.apply(Some(&draft.object.id));
    Ok(())
}

/// Credits a final invoice. The part that exceeds the rest of the invoice becomes a separate credit, for the next invoice.
async fn on_final(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    adjustment: &mut Stored<Adjustment>,
    credited: &Credited,
    invoice: &mut Stored<Invoice>,
) -> Result<()> {
    let amount = (-adjustment.object.line.amount).min(invoice.creditable());
    if let Some(mut rest) = adjustment.split(amount, tx.origin().now) {
        tx.create(&mut rest)?;
    }
    if amount == 0 {
        adjustment.apply(None);
        return Ok(());
    }
    let credit = credit(app, tx, adjustment, credited, invoice, amount).await?;
    let mut note = issue::issue(app, tx, invoice, credit, None).await?;
    adjustment.apply(Some(&invoice.object.id));
    adjustment.internal.credited_on = Some(invoice.object.id.clone());
    tx.create(&mut note)
}

/// The credit of an amount of the line that bills the session or reservation; of the whole invoice if the amount exceeds the rest of the
/// line, or if the maximum number of lines was already credited individually.
async fn credit(
    app: &App,
    tx: &UnitOfWork<'_>,
    adjustment: &Stored<Adjustment>,
    credited: &Credited,
    invoice: &Stored<Invoice>,
    amount: i64,
) -> Result<Credit> {
    let tenant = &tx.origin().tenant;
    let ids = [&credited.line];
    let lines = app
        .store
        .lines_of(tenant, &invoice.object, ids.into_iter())
        .await?;
    let line = lines.get(&credited.line);
    let of_line = line.and_then(|line| {
        let taxes = invoice.credit_of_lines(&[(line, Some(amount))]).ok()?.pop();
        Some(CreditNoteLine::of_line(line, taxes?))
    });
    let described = adjustment.object.line.description.clone();
    let reason = described.try_into().ok();
    Ok(match of_line {
        Some(line) => Credit {
            kind: CreditNoteType::Network,
            lines: vec![line],
            reason,
        },
        None => {
            let taxes: Vec<TaxAmount> = invoice.credit_of(amount)?;
            Credit::of_amount(CreditNoteType::Network, taxes, reason)
        }
    })
}

/// Settles a credit with the amount that was paid directly for the credited session or reservation, except what settles earlier credits of
/// it. What no refund has returned before is returned.
///
/// # Errors
/// 409 while it is unknown what was returned, because another refund is pending; `Unavailable` if DynamoDB cannot be reached.
async fn settle(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    adjustment: &mut Stored<Adjustment>,
    credited: &Credited,
) -> Result<()> {
    if credited.paid == 0 {
        return Ok(());
    }
    let tenant = &tx.origin().tenant;
    let line = &adjustment.object.line;
    let adjustments = app.store.adjustments(tenant).await?;
    let others = adjustments.iter().filter(|other| {
        let object = &other.object;
        object.id != adjustment.object.id && object.line.subject() == line.subject()
    });
    let settled: i64 = others.map(|other| -other.internal.paid).sum();
    let amount = (-line.amount).min(credited.paid - settled);
    if amount <= 0 {
        return Ok(());
    }
    let charge = match &credited.charge {
        Some(id) => app.store.find::<Transaction>(tenant, id).await?,
        None => None,
    };
    let charge = charge.filter(|charge| charge.object.status == TransactionStatus::Succeeded);
    let (returned, refunding) = match &charge {
        Some(charge) => {
            let refunding = charge.internal.refunding;
            (charge.object.amount_refunded + refunding, refunding)
        }
        None => (settled + credited.refunded, 0),
    };
    if returned > settled && refunding > 0 {
        let message = "A refund of the credited session or fee is pending.";
        return Err(Error::conflict(message, None));
    }
    let left = settled + amount - returned.max(settled);
    if left > 0 {
        let owner = Owner {
            fleet: adjustment.object.fleet.clone(),
            amount: Money::new(left, adjustment.object.currency),
            reason: line.description.clone().try_into().ok(),
        };
        for refund in refund::of_charge(app, tx, charge, &owner).await? {
            tx.create(&mut refund.adjusting(line.charging_session.as_ref()))?;
        }
    }
    adjustment.internal.paid = -amount;
    Ok(())
}
