//! `apply-credit`: credits an amount of a charging network to the customer who has paid, or will pay, for the credited session or
//! reservation.
//!
//! A credit is a negative adjustment. It is applied to a line of an invoice, up to the rest of the line: to the line of the session or the
//! reservation itself, or if nothing is left of it, to the line of an amount that was billed for it in addition, the newest first. A line that
//! has amounts left at every tax rate of the credit comes before one that has not. What exceeds the rest of a line is a credit of its own.
//! The result depends on the invoice of the line at that moment:
//!
//! - a final invoice: a credit note of the invoice, with its refund;
//! - a draft: a line of the draft.
//!
//! If nothing is left of these lines, the credit is applied to the invoice of the session or the reservation as a whole, and what exceeds
//! that invoice is a line of the next one. If no invoice bills the session or the reservation, the credit is a line of the next invoice,
//! which also bills the session or the reservation itself.
//!
//! If a session or a fee was charged directly, the amount paid for it is returned at once, by transactions of type `adjustment`, and the
//! adjustment counts as settled on the invoice that shows it. An amount that a refund has returned before settles the adjustment as well,
//! and is not returned again; it then counts as returned by the adjustment, and no longer as refunded. The same holds for a refund that
//! returns an amount later because the transaction of type `adjustment` has failed. Everything is written in one transaction, on the
//! condition that the session or the reservation has not changed since it was read, so that no invoice bills it meanwhile. A credit that
//! cannot be applied yet, because a charge, a refund or an invoice is in progress, waits and is tried again.

use std::collections::BTreeMap;

use kernel::error::ErrorClass;
use kernel::time::MINUTE;
use kernel::{Error, Id, Money, Origin, Result, Tenant};
use models::credit_note::{Credit, CreditNoteLine, CreditNoteType};
use models::invoice::{InvoiceStatus, LineItem, TaxAmount};
use models::ports::JobSubject;
use models::transaction::TransactionStatus;
use models::{Action, Adjustment, ChargingSession, Invoice, Reservation, Stored, Transaction};
use serde::{Deserialize, Serialize};
use table::UnitOfWork;

use super::issue::{self, BACKOFF};
use super::refund::{self, Owner};
use crate::App;
use crate::function::Function;
use crate::invoices::check::CheckInvoice;
use crate::job::{Job, find_due};

/// The maximum number of attempts to apply a credit in one run.
const APPLY_ATTEMPTS: u32 = 8;

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
        BACKOFF.after_collisions(APPLY_ATTEMPTS, run).await
    }
}

/// The billing and payment of a credited session or reservation, or of an amount that was billed for it in addition.
struct Credited {
    invoice: Option<Id>,
    /// The amount that was paid for it, in minor units.
    paid: i64,
    /// The part of `paid` that was refunded, except what settles earlier credits.
    refunded: i64,
    /// The part of `paid` that settles earlier credits.
    settled: i64,
    /// The transaction that has charged it, if it was charged directly.
    charge: Option<Id>,
    /// Whether a charge for it is in flight.
    is_charging: bool,
    /// The line of an invoice that bills it.
    line: Id,
}

/// The invoice and the line to which a credit is applied.
struct Target {
    credited: Credited,
    /// The valid invoice that bills it.
    invoice: Option<Stored<Invoice>>,
    /// The line to credit; none if the invoice is credited as a whole.
    line: Option<LineItem>,
    /// The maximum amount of the credit on the invoice, in minor units.
    most: i64,
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
            app.store.save(&origin, &mut adjustment).await
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
    let mut target = choose(app, &mut tx, &adjustment).await?;
    let invoice = target.invoice.take();
    let is_paying = invoice
        .as_ref()
        .is_some_and(|invoice| invoice.internal.attempt.is_some());
    match invoice {
        _ if target.credited.is_charging || is_paying => {
            adjustment.apply_later(origin.now.plus(MINUTE));
        }
        Some(mut invoice) => {
            let amount = (-adjustment.object.line.amount).min(target.most);
            if let Some(mut rest) = adjustment.split(amount, origin.now) {
                tx.create(&mut rest)?;
            }
            let is_draft = invoice.object.status == InvoiceStatus::Draft;
            match amount {
                0 => adjustment.apply(None),
                _ if is_draft => {
                    on_draft(app, &mut tx, &mut adjustment, &target, &mut invoice).await?;
                }
                _ => on_final(app, &mut tx, &mut adjustment, &target, &mut invoice).await?,
            }
            tx.save(&mut invoice)?;
        }
        None => {
            settle(app, &mut tx, &mut adjustment, &target.credited).await?;
            adjustment.apply(None);
        }
    }
    tx.save(&mut adjustment)?;
    tx.commit_without_response().await
}

/// Chooses the line to credit: that of the session or the reservation, or if nothing is left of it, the newest line of an additional amount
/// of which something is left. A line with all tax rates of the credit comes before the others. Without any line, the session or the
/// reservation is the target, and its invoice is credited as a whole.
///
/// # Errors
/// `Contended` while an invoice with one of the lines is being created; `Unavailable` if DynamoDB cannot be reached.
async fn choose(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    adjustment: &Stored<Adjustment>,
) -> Result<Target> {
    let origin = tx.origin();
    let subject = adjustment.object.line.subject();
    let subject = subject.ok_or_else(|| Error::permanent("a credit of nothing"))?;
    let mut others = app.store.adjustments_of(&origin.tenant, subject).await?;
    others.retain(|other| other.object.id != adjustment.object.id);
    others.sort_by(|a, b| b.object.id.cmp(&a.object.id));
    let credited = credited(app, tx, adjustment, &others).await?;
    let own = target(app, origin, credited).await?;
    let taxes = &adjustment.object.line.taxes;
    if own.has_rates(taxes) || own.credited.is_charging {
        return Ok(own);
    }
    let mut at_other_rates = None;
    let more = |other: &&Stored<Adjustment>| other.object.line.amount > 0;
    for other in others.iter().filter(more) {
        let credited = Credited {
            invoice: other.internal.invoice.clone(),
            paid: 0,
            refunded: 0,
            settled: 0,
            charge: None,
            is_charging: false,
            line: other.object.line.id.clone(),
        };
        let additional = target(app, origin, credited).await?;
        if additional.has_rates(taxes) {
            return Ok(additional);
        }
        if additional.most > 0 {
            at_other_rates.get_or_insert(additional);
        }
    }
    if own.most > 0 {
        return Ok(own);
    }
    Ok(at_other_rates.unwrap_or_else(|| Target {
        line: None,
        most: own.credited.most_on(own.invoice.as_ref()),
        ..own
    }))
}

/// The target of a credit of the line of a session, a reservation or an additional amount.
async fn target(app: &App, origin: &Origin, credited: Credited) -> Result<Target> {
    let invoice = invoice_of(app, origin, credited.invoice.as_ref()).await?;
    let line = match &invoice {
        Some(invoice) => {
            let (store, ids) = (&app.store, [&credited.line]);
            let lines = store.lines_of(&origin.tenant, &invoice.object, ids.into_iter());
            lines.await?.remove(&credited.line)
        }
        None => None,
    };
    let of_line = invoice.as_ref().zip(line.as_ref());
    let of_line = of_line.map_or(0, |(invoice, line)| invoice.creditable_of(line));
    Ok(Target {
        most: of_line.min(credited.most_on(invoice.as_ref())),
        credited,
        invoice,
        line,
    })
}

impl Target {
    /// Checks whether a part of the credit can be applied to the line at the credit's own tax rates; `taxes` are those of the credit's line.
    fn has_rates(&self, taxes: &[TaxAmount]) -> bool {
        let of_line = self.invoice.as_ref().zip(self.line.as_ref());
        self.most > 0 && of_line.is_some_and(|(invoice, line)| invoice.has_rates(line, taxes))
    }
}

impl Credited {
    /// The maximum amount that can be credited on an invoice, in minor units: on a draft also what was paid for it directly, because the
    /// credit returns that.
    fn most_on(&self, invoice: Option<&Stored<Invoice>>) -> i64 {
        let Some(invoice) = invoice else {
            return 0;
        };
        match invoice.object.status {
            InvoiceStatus::Draft => invoice.creditable() + self.unsettled(),
            _ => invoice.creditable(),
        }
    }

    /// The part of `paid` that settles no credit yet.
    fn unsettled(&self) -> i64 {
        (self.paid - self.settled).max(0)
    }
}

/// Reads the session or reservation that an adjustment credits, like `others`. The commit fails if it has changed by then.
async fn credited(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    adjustment: &Stored<Adjustment>,
    others: &[Stored<Adjustment>],
) -> Result<Credited> {
    use kernel::Kind::LineItem;
    let settled = others.iter().map(|other| -other.internal.paid).sum();
    let used: i64 = others.iter().map(|other| other.internal.refunded).sum();
    let tenant = &tx.origin().tenant;
    let line = &adjustment.object.line;
    if let Some(id) = &line.charging_session {
        let session = app.store.load::<ChargingSession>(tenant, id).await?;
        tx.check_unchanged(&session);
        return Ok(Credited {
            invoice: session.object.invoice.clone(),
            paid: session.object.amount_paid(),
            refunded: session.object.amount_refunded() + used,
            settled,
            charge: Some(session.object.charge_id()),
            is_charging: session.object.is_charging_payment(),
            line: id.as_kind(LineItem),
        });
    }
    let id = line.reservation.as_ref();
    let id = id.ok_or_else(|| Error::permanent("a credit of nothing"))?;
    let reservation = app.store.load::<Reservation>(tenant, id).await?;
    tx.check_unchanged(&reservation);
    let fee = reservation.fee();
    Ok(Credited {
        invoice: reservation.internal.invoice.clone(),
        paid: fee.map_or(0, |fee| fee.paid),
        refunded: fee.map_or(0, |fee| fee.refunded) + used,
        settled,
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

/// Adds a credit to a draft as a line.
async fn on_draft(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    adjustment: &mut Stored<Adjustment>,
    target: &Target,
    draft: &mut Stored<Invoice>,
) -> Result<()> {
    settle(app, tx, adjustment, &target.credited).await?;
    let line = adjustment.object.line.clone();
    let settled = &adjustment.internal;
    draft.add_line(&line, settled.paid, settled.refunded);
    if let Some(credited) = &target.line {
        let taxes = line.taxes.iter().map(TaxAmount::negated).collect();
        let lines = BTreeMap::from([(credited.id.clone(), taxes)]);
        draft.credit_lines(&lines);
        adjustment.internal.lines = lines;
    }
    tx.add_draft_line(draft, line).await?;
    adjustment.apply(Some(&draft.object.id));
    Ok(())
}

/// Credits a final invoice.
async fn on_final(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    adjustment: &mut Stored<Adjustment>,
    target: &Target,
    invoice: &mut Stored<Invoice>,
) -> Result<()> {
    let credit = credit(adjustment, target.line.as_ref(), invoice)?;
    adjustment.internal.lines = credit.by_line();
    let mut note = issue::issue(app, tx, invoice, credit, None).await?;
    adjustment.apply(Some(&invoice.object.id));
    adjustment.internal.credited_on = Some(invoice.object.id.clone());
    if invoice.object.status == InvoiceStatus::Paid {
        adjustment.mark_invoice_paid();
    }
    tx.create(&mut note)
}

/// The credit of a line; of the whole invoice without a line, if the line has no amount left at the rates of the credit, or if the
/// maximum number of lines was already credited individually.
fn credit(
    adjustment: &Stored<Adjustment>,
    line: Option<&LineItem>,
    invoice: &Stored<Invoice>,
) -> Result<Credit> {
    let amount = -adjustment.object.line.amount;
    let taxes = adjustment.object.line.taxes.iter();
    let own = taxes.map(TaxAmount::negated).collect::<Vec<_>>();
    let own = Some(own).filter(|own| invoice.has_taxes(own));
    let taxes_of = |line: &LineItem| match &own {
        Some(own) => invoice.can_credit(line, own).then(|| own.clone()),
        None => {
            let shared = invoice.credit_of_lines(&[(line, Some(amount))]);
            shared.ok()?.pop()
        }
    };
    let of_line = line.and_then(|line| Some(CreditNoteLine::of_line(line, taxes_of(line)?)));
    let described = adjustment.object.line.description.clone();
    let reason = described.try_into().ok();
    Ok(match of_line {
        Some(line) => Credit {
            kind: CreditNoteType::Network,
            lines: vec![line],
            reason,
        },
        None => {
            let shared = || invoice.credit_of(amount);
            let taxes = own.map_or_else(shared, Ok)?;
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
    let tenant = &tx.origin().tenant;
    let line = &adjustment.object.line;
    let settled = credited.settled;
    let amount = (-line.amount).min(credited.unsettled());
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
            is_of_network: true,
        };
        for refund in refund::of_charge(app, tx, charge, &owner).await? {
            tx.create(&mut refund.adjusting(line.charging_session.as_ref()))?;
        }
    }
    adjustment.internal.paid = -amount;
    adjustment.internal.refunded = left.max(0) - amount;
    Ok(())
}
