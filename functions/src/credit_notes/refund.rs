//! The refunds of a credit note: the part that is not deducted from the amount due is returned to its source, or to a wallet.

use std::num::NonZeroU64;

use kernel::fields::text::Description;
use kernel::money::Money;
use kernel::{Error, Id};
use models::account::Account;
use models::credit_note::CreditNote;
use models::fleet::Fleet;
use models::invoice::{Invoice, LineItem, LineType};
use models::stored::Stored;
use models::transaction::{NewRefund, RefundDestination, Transaction};
use table::UnitOfWork;

use crate::App;

/// The maximum number of sessions whose charges are searched. The rest is then credited to the wallet.
const MOST_SESSIONS: usize = 10;

/// The recipient, the amount and the reason of a refund.
pub struct Owner {
    pub fleet: Option<Id>,
    pub amount: Money,
    pub reason: Option<Description>,
}

/// Begins the refunds of a credit note: first of the charge that paid the invoice, then of the charges that paid its sessions; the rest is
/// credited to the wallet of the fleet, or of the account for an invoice of the account. The refunds are pending, and settled like all
/// refunds.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn begin(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    invoice: &Stored<Invoice>,
    note: &CreditNote,
    destination: Option<RefundDestination>,
) -> Result<(), Error> {
    if note.totals.refunded == 0 {
        return Ok(());
    }
    let owner = Owner {
        fleet: note.fleet.clone(),
        amount: Money::new(note.totals.refunded, note.currency),
        reason: note.reason.clone(),
    };
    let charges = charges(app, tx, invoice, note).await?;
    for refund in of_charges(app, tx, charges, &owner, destination).await? {
        tx.create(&mut refund.of_credit_note(&note.id, &note.invoice))?;
    }
    Ok(())
}

/// The refunds of an amount: first of the remaining amounts of these charges, the rest to a wallet. The caller writes them.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn of_charges(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    charges: Vec<Id>,
    owner: &Owner,
    destination: Option<RefundDestination>,
) -> Result<Vec<Stored<Transaction>>, Error> {
    let (tenant, now) = (&tx.origin().tenant, tx.origin().now);
    let mut left = owner.amount.amount;
    let mut refunds = Vec::new();
    let is_original = destination.unwrap_or_default() == RefundDestination::Original;
    for id in charges.into_iter().filter(|_| is_original) {
        let Some(mut charge) = app.store.find::<Transaction>(tenant, &id).await? else {
            continue;
        };
        let part = charge.refundable().unwrap_or_default().min(left);
        let Some(amount) = u64::try_from(part).ok().and_then(NonZeroU64::new) else {
            continue;
        };
        let new = NewRefund {
            amount: Some(amount),
            destination,
            reason: owner.reason.clone(),
        };
        refunds.push(charge.refund(new, None, now)?);
        tx.save(&mut charge)?;
        left -= part;
    }
    if left > 0 {
        let amount = Money::new(left, owner.amount.currency);
        let wallet = wallet(app, tx, owner).await?;
        let (fleet, reason) = (owner.fleet.clone(), owner.reason.clone());
        refunds.push(Transaction::refund_to_wallet(
            amount, wallet, fleet, reason, now,
        ));
    }
    Ok(refunds)
}

/// The charges from which a credit note may be refunded.
async fn charges(
    app: &App,
    tx: &UnitOfWork<'_>,
    invoice: &Stored<Invoice>,
    note: &CreditNote,
) -> Result<Vec<Id>, Error> {
    let tenant = &tx.origin().tenant;
    let named: Vec<&Id> = note
        .lines
        .iter()
        .filter_map(|line| line.line_item.as_ref())
        .collect();
    let lines = match named.is_empty() {
        true => invoice.object.line_items.clone(),
        false => {
            let lines = app
                .store
                .lines_of(tenant, &invoice.object, named.into_iter());
            lines.await?.into_values().collect()
        }
    };
    let session = |line: LineItem| match line.kind {
        LineType::EnergySession => line.charging_session,
        _ => None,
    };
    let mut charges: Vec<Id> = invoice.internal.paid_by.iter().cloned().collect();
    let sessions = lines.into_iter().filter_map(session);
    for session in sessions.take(MOST_SESSIONS) {
        charges.extend(app.store.charge_of(tenant, &session).await?);
    }
    Ok(charges)
}

/// The wallet that receives the part that no charge has paid: the fleet's, or the account's if the fleet has none in this currency.
async fn wallet(app: &App, tx: &UnitOfWork<'_>, owner: &Owner) -> Result<Id, Error> {
    let tenant = &tx.origin().tenant;
    let Some(id) = &owner.fleet else {
        return Ok(tenant.account.clone());
    };
    let fleet = app.store.find::<Fleet>(tenant, id).await?;
    let account = app.store.find::<Account>(tenant, &tenant.account).await?;
    let by_fleet = fleet
        .is_some_and(|fleet| fleet.object.preferences.default_currency == owner.amount.currency);
    let by_account =
        account.is_some_and(|account| account.object.default_currency == owner.amount.currency);
    Ok(match !by_fleet && by_account {
        true => tenant.account.clone(),
        false => id.clone(),
    })
}
