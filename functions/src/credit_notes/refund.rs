//! The refunds of a credit note: the part that is not deducted from the amount due is returned to its source, or to a wallet.
//!
//! A refund belongs to the charge whose money it returns, even if it is credited to a wallet, so that all refunds of a charge together
//! never exceed the charge. The refunds of a credit note are taken from charges in this order:
//!
//! 1. A line is refunded of the charge that paid its session or its fee directly, or else of the charge that paid the invoice. An amount of
//!    the whole invoice is refunded of the charge that paid the invoice, and then of those that paid its sessions and fees.
//! 2. The rest of a line is refunded of any charge of the invoice, up to the amount by which the charges exceed the part of the invoice that
//!    is not credited. There is such an amount if an earlier credit of a paid line was deducted from the amount due for this one.
//! 3. An amount that no charge has paid is credited to a wallet.
//!
//! Anything else was refunded before, so the credit note refunds only a part of its amount, or nothing. While another refund of one of the
//! charges is pending, it is unknown what is left, and the credit note is refused.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use kernel::fields::text::Description;
use kernel::{Error, Id, Kind, Money, Tenant};
use models::credit_note::CreditNoteType;
use models::invoice::LineItem;
use models::transaction::{NewRefund, RefundDestination};
use models::{CreditNote, Invoice, Stored, Transaction};
use table::UnitOfWork;
use table::list::{Cursor, PageRequest};

use crate::{App, payments};

/// The maximum number of charges that a credit note refunds. Each is two writes of a DynamoDB transaction, which has at most 100.
const MOST_CHARGES: usize = 40;
/// The number of lines whose charges are read at once.
const BATCH: usize = 50;

/// The recipient, the amount and the reason of a refund.
pub struct Owner {
    pub fleet: Option<Id>,
    pub amount: Money,
    pub reason: Option<Description>,
    /// Whether a charging network has caused the refund. The refund is begun even if no wallet can receive it.
    pub is_of_network: bool,
}

/// A charge, and the amount that is to be refunded of it.
struct Share {
    charge: Stored<Transaction>,
    amount: i64,
}

/// The division of a refund among charges and a wallet.
#[derive(Default)]
struct Shares {
    of_charges: BTreeMap<Id, Share>,
    /// The amount that no charge has paid.
    to_wallet: i64,
}

/// Begins the refunds of a credit note, which are pending and settled like all refunds, and returns their sum. An amount without a charge is
/// credited to the wallet of the fleet, or of the account for an invoice of the account; with the destination `wallet`, so is everything.
///
/// # Errors
/// 409 while another refund that would reduce the sum is pending, if more than 40 charges would be refunded, and if no wallet is in the
/// currency of an amount that a wallet would receive, unless a network has caused the credit note; `Unavailable` if DynamoDB cannot be
/// reached.
pub async fn begin(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    invoice: &Stored<Invoice>,
    note: &CreditNote,
    destination: Option<RefundDestination>,
) -> Result<i64, Error> {
    if note.totals.refunded == 0 {
        return Ok(0);
    }
    let shares = divide(app, &tx.origin().tenant, invoice, note).await?;
    let owner = Owner {
        fleet: note.fleet.clone(),
        amount: Money::new(note.totals.refunded, note.currency),
        reason: note.reason.clone(),
        is_of_network: note.kind == CreditNoteType::Network,
    };
    let mut sum = 0;
    for refund in shares.begin(app, tx, &owner, destination).await? {
        sum += refund.object.amount;
        tx.create(&mut refund.of_credit_note(&note.id, &note.invoice))?;
    }
    Ok(sum)
}

/// The refunds of an amount: of what is left of a charge, and the rest to a wallet. The caller writes them.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn of_charge(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    charge: Option<Stored<Transaction>>,
    owner: &Owner,
) -> Result<Vec<Stored<Transaction>>, Error> {
    let mut shares = Shares::default();
    let mut left = owner.amount.amount;
    if let Some(charge) = charge {
        left -= shares.of(charge).add(left);
    }
    shares.to_wallet = left;
    shares.begin(app, tx, owner, None).await
}

/// Divides the refunded part of a credit note.
async fn divide(
    app: &App,
    tenant: &Tenant,
    invoice: &Stored<Invoice>,
    note: &CreditNote,
) -> Result<Shares, Error> {
    let mut shares = Shares::default();
    let mut left = note.totals.refunded;
    let of_invoice = match &invoice.internal.paid_by {
        Some(id) => app.store.find::<Transaction>(tenant, id).await?,
        None => None,
    };
    let of_invoice = of_invoice.map(|charge| shares.of(charge).charge.object.id.clone());
    let named = note.lines.iter().filter_map(|line| line.line_item.as_ref());
    let named = app.store.lines_of(tenant, &invoice.object, named).await?;
    let named: Vec<LineItem> = named.into_values().collect();
    let mut direct = app.store.charges_of(tenant, &named).await?;
    for line in &note.lines {
        let most = line.amount.min(left);
        let paid = line.line_item.as_ref().and_then(|id| direct.remove(id));
        let share = match (paid, &of_invoice) {
            (Some(charge), _) => Some(shares.of(charge)),
            (None, Some(id)) => shares.of_charges.get_mut(id),
            (None, None) => None,
        };
        left -= share.map_or(0, |share| share.add(most));
    }
    if left > 0 {
        left = divide_rest(app, tenant, invoice, named.is_empty(), &mut shares, left).await?;
    }
    let refuse = |why: String| Err(Error::conflict(why, Some(Kind::Invoice.name())));
    if left > 0 && shares.is_refunding() {
        return refuse("A refund of a payment of the invoice is pending.".to_owned());
    }
    if shares.count() > MOST_CHARGES {
        return refuse(format!(
            "More than {MOST_CHARGES} charges would be refunded; please credit a smaller amount, or fewer lines."
        ));
    }
    Ok(shares)
}

/// Divides what the charges of the credited lines cannot refund among all charges of the invoice and a wallet. Returns the rest, which was
/// refunded before.
async fn divide_rest(
    app: &App,
    tenant: &Tenant,
    invoice: &Stored<Invoice>,
    is_amount: bool,
    shares: &mut Shares,
    mut left: i64,
) -> Result<i64, Error> {
    let mut page_request = PageRequest::first(BATCH);
    loop {
        let page = app
            .store
            .lines(tenant, &invoice.object, &page_request)
            .await?;
        let charges = app.store.charges_of(tenant, &page.items).await?;
        for charge in charges.into_values() {
            let share = shares.of(charge);
            if is_amount {
                left -= share.add(left);
            }
        }
        match page.items.last() {
            _ if left == 0 => return Ok(0),
            Some(last) if page.older => page_request.from = Cursor::After(last.id.clone()),
            _ => break,
        }
    }
    let available: i64 = shares.of_charges.values().map(Share::left).sum();
    let mut excess = available - invoice.creditable();
    for share in shares.of_charges.values_mut() {
        let more = share.add(left.min(excess));
        left -= more;
        excess -= more;
    }
    let charges = shares.of_charges.values().map(|share| &share.charge);
    let charged: i64 = charges.map(|charge| charge.object.amount).sum();
    let totals = &invoice.object.totals;
    let uncharged = totals.paid - charged.max(totals.refunded);
    shares.to_wallet = left.min(uncharged).max(0);
    Ok(left - shares.to_wallet)
}

impl Share {
    /// The amount of the charge that is neither refunded nor to be refunded.
    fn left(&self) -> i64 {
        self.charge.refundable().unwrap_or_default() - self.amount
    }

    /// Adds what is left of the charge, up to an amount, and returns the added part.
    fn add(&mut self, most: i64) -> i64 {
        let more = self.left().min(most).max(0);
        self.amount += more;
        more
    }
}

impl Shares {
    /// The share of a charge, which is nothing at first.
    fn of(&mut self, charge: Stored<Transaction>) -> &mut Share {
        let id = charge.object.id.clone();
        let share = Share { charge, amount: 0 };
        self.of_charges.entry(id).or_insert(share)
    }

    /// Whether a refund of one of the charges is pending.
    fn is_refunding(&self) -> bool {
        let mut shares = self.of_charges.values();
        shares.any(|share| share.charge.internal.refunding > 0)
    }

    /// The number of charges that are refunded.
    fn count(&self) -> usize {
        let shares = self.of_charges.values();
        shares.filter(|share| share.amount > 0).count()
    }

    /// The refunds. Saves the charges; the caller writes the refunds.
    async fn begin(
        self,
        app: &App,
        tx: &mut UnitOfWork<'_>,
        owner: &Owner,
        destination: Option<RefundDestination>,
    ) -> Result<Vec<Stored<Transaction>>, Error> {
        let now = tx.origin().now;
        let is_to_wallet = destination == Some(RefundDestination::Wallet);
        let wallet = if is_to_wallet || self.to_wallet > 0 {
            Some(wallet(app, tx, owner).await?)
        } else {
            None
        };
        let mut refunds = Vec::new();
        for Share { mut charge, amount } in self.of_charges.into_values() {
            let amount = u64::try_from(amount).ok().and_then(NonZeroU64::new);
            if amount.is_none() {
                continue;
            }
            let new = NewRefund {
                amount,
                destination,
                reason: owner.reason.clone(),
            };
            let target = wallet.clone().filter(|_| is_to_wallet);
            refunds.push(charge.refund(new, target, now)?);
            tx.save(&mut charge)?;
        }
        if let Some(wallet) = wallet.filter(|_| self.to_wallet > 0) {
            let amount = Money::new(self.to_wallet, owner.amount.currency);
            let (fleet, reason) = (owner.fleet.clone(), owner.reason.clone());
            refunds.push(Transaction::refund_to_wallet(
                amount, wallet, fleet, reason, now,
            ));
        }
        Ok(refunds)
    }
}

/// The wallet that receives the money: the fleet's, or the account's if the fleet was deleted or has another currency.
///
/// # Errors
/// 409 if no wallet can receive the money, except for a credit of a network: its refund fails then, and shows the reason.
async fn wallet(app: &App, tx: &UnitOfWork<'_>, owner: &Owner) -> Result<Id, Error> {
    let tenant = &tx.origin().tenant;
    let (currency, fleet) = (owner.amount.currency, owner.fleet.as_ref());
    match payments::wallet_in(app, tenant, currency, None, fleet).await? {
        Some(wallet) => Ok(wallet.owner().clone()),
        None if owner.is_of_network => Ok(fleet.unwrap_or(&tenant.account).clone()),
        None => Err(payments::no_wallet(currency)),
    }
}
