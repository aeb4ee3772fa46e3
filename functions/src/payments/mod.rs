//! Payments: charging and refunding payment methods, so that money moves exactly once.
//!
//! # Terms
//!
//! - The *provider* (Stripe, or the simulated one of test mode) charges cards and bank accounts. It is not part of a DynamoDB transaction.
//!   A *wallet* is a number in the item of its owner and changes in the transaction of the object that it pays for.
//! - A *charge key* is the provider's idempotency key. It is derived from an object of this service that is written before the charge and
//!   used for one charge only: the transaction of a top-up, the numbered attempt to pay an invoice, the session, the reservation. It does
//!   not depend on the client's `Idempotency-Key`, because that may be used again: after 24 hours, or after
//!   30 days if the payment has no response yet.
//!
//! # Life cycle of a charge
//!
//! 1. The intended charge is written: for a top-up ([`topup`]) and for an invoice a `pending` transaction, and in the same write an
//!    idempotency record that points to it. A session or reservation that is over is in the table anyway.
//! 2. The charge is requested from the provider. Without a clear response, the same charge, with the same key, is repeated later: by the
//!    repeated request, or a minute after the first one by the queue `settle-transaction` (top-ups), `check-invoice` or `settle-session`. A
//!    charge that is repeated after the provider may have forgotten its key is searched for first.
//! 3. The result, the wallet or bill, and the response to the request are written in one transaction that is conditional on the versions
//!    read. The provider's charge for a session is first written as a transaction whose id is derived from the session, and then the
//!    session is written: a repetition writes the transaction once. A top-up whose wallet was deleted or changed its currency is written as
//!    *to be refunded* before the refund is requested from the provider, so that it can no longer be credited; it ends `failed`.
//!
//! A refund that a client requests is a separate transaction. It names the charge by its key and the provider's id, so it needs no payment
//! method. It returns the charge or a part of it, to its source or to a wallet; the pending and succeeded refunds of a charge together
//! never exceed the charge, and each records its parts of the charge ([`models::parts`]). A wallet whose owner was deleted or whose
//! currency changed is replaced by that of the fleet, or else of the account. If the provider declines it, it ends `failed`, and can be
//! requested again. The same holds for a transaction of type `adjustment`, which returns the credit of a network: the charge records its
//! amount, and the next refunds that a client requests return it.
//!
//! A refund of a top-up debits the wallet in the write that creates it, so the wallet never pays for anything with money that is on its way
//! back. If the provider declines the refund, the wallet is credited in the write that ends it. A wallet whose owner was deleted or whose
//! currency changed in the meantime is not credited: the top-up records the amount, and the next refunds of it return it. The refund of a
//! card or bank account to a wallet is itself refunded in this way: it becomes a top-up of the wallet. Session, invoice and credit notes
//! have counted it already, so this second refund names none of them.
//!
//! # Invariants
//!
//! - Every charge at the provider belongs to one transaction of this service, and every transaction to at most one charge.
//! - The sweeper finds every pending transaction, whatever was lost. None stays pending once the provider responds.
//! - A wallet is credited once for each `succeeded` top-up and never for another, and debited once for each pending or `succeeded` refund
//!   of one, or of a refund to the wallet.
//! - A deleted payment method is kept for 90 days for amounts that fell due before: its charge may have been made already.
//!
//! # After a crash
//!
//! Before step 1 nothing was charged. Between 1 and 3 the charge may have been made; repeating step 2 shows whether it was, without
//! charging twice. Within step 3 either everything or nothing was written; of the charge of a session perhaps only its transaction, until
//! the job is repeated. The response to an interrupted request states which of these cases applies: see [`Progress`].

mod interrupted;
pub mod topup;

pub use interrupted::{Progress, within_limit};

use crate::App;
use kernel::{Code, Currency, Error, Id, Kind, Mode, Money, Origin, Response, Tenant, Timestamp};
use models::payment_method::{PaymentMethodType, ProviderMethod};
use models::ports::payments::{Charge, KEY_REMEMBERED, Refund};
use models::transaction::{
    ChargeSource, NewRefund, PaymentOutcome, TransactionInternal, TransactionStatus,
};
use models::{EventType, PaymentMethod, Stored, Transaction};
use table::UnitOfWork;
use table::access::Items;
use table::wallets::Wallet;

/// The items that are written by the jobs that finish payments and refunds of any kind.
pub const SETTLED: &[Items] = &[
    Items::Of(Kind::Invoice),
    Items::Of(Kind::Adjustment),
    Items::Of(Kind::CreditNote),
    Items::DocumentNumbers,
    Items::Of(Kind::ChargingSession),
    Items::Of(Kind::Reservation),
    Items::Of(Kind::Transaction),
    Items::Of(Kind::Account),
    Items::Of(Kind::Driver),
    Items::Of(Kind::Fleet),
];

/// The amount to be paid, and the key of its charge.
#[derive(Debug, Clone)]
pub struct Bill {
    /// The object from which the charge key is derived.
    pub key: String,
    /// Nothing is charged if it is zero.
    pub amount: Money,
    pub description: String,
    /// The time at which the bill became due. It cannot have been charged before.
    pub due_since: Timestamp,
}

/// The result of a payment, and the source of the money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub outcome: PaymentOutcome,
    pub source: ChargeSource,
}

impl Payment {
    pub fn succeeded(&self) -> bool {
        self.outcome == PaymentOutcome::Succeeded
    }

    /// The payment of a recorded charge; none if it is pending.
    pub fn recorded(charge: &Stored<Transaction>) -> Option<Self> {
        let outcome = match charge.object.status {
            TransactionStatus::Succeeded => PaymentOutcome::Succeeded,
            TransactionStatus::Failed => {
                PaymentOutcome::Declined(charge.object.failed_reason.clone().unwrap_or_default())
            }
            TransactionStatus::Pending => return None,
        };
        let source = charge.internal.source.clone()?;
        Some(Self { outcome, source })
    }

    /// The payment of a bill whose method was deleted so long ago that it is unknown.
    fn without_method(bill: &Bill) -> Self {
        Self {
            outcome: PaymentOutcome::Declined("payment_method_gone".to_owned()),
            source: at_provider(bill, None),
        }
    }
}

fn at_provider(bill: &Bill, reference: Option<String>) -> ChargeSource {
    ChargeSource::Provider {
        key: bill.key.clone(),
        reference,
    }
}

/// Charges any payment method. A card or bank account is charged now. A wallet is debited with `changes`, so those have to be committed if
/// this succeeds; they must not write the item of the wallet's owner otherwise, and if the commit fails with `Contended`, the wallet has
/// changed and has to be read again.
///
/// # Errors
/// `Unavailable` if the provider cannot be reached or none is configured for live mode.
pub async fn take(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    method: &Stored<PaymentMethod>,
    bill: &Bill,
) -> Result<Payment, Error> {
    if bill.amount.is_zero() {
        return Ok(Payment {
            outcome: PaymentOutcome::Succeeded,
            source: at_provider(bill, None),
        });
    }
    if method.object.kind != PaymentMethodType::Wallet {
        return pay(app, tx.origin(), method, bill).await;
    }
    let tenant = &tx.origin().tenant;
    let wallet = Wallet::of(&method.object, tenant);
    let source = ChargeSource::Wallet {
        owner: wallet.owner().clone(),
    };
    let outcome = match app.store.funds(tenant, wallet).await? {
        None => PaymentOutcome::Declined("wallet_closed".to_owned()),
        Some(funds) if funds.covers(bill.amount) => {
            tx.debit(wallet, bill.amount, Error::Contended);
            PaymentOutcome::Succeeded
        }
        Some(funds) if funds.currency == bill.amount.currency => {
            PaymentOutcome::Declined("insufficient_funds".to_owned())
        }
        Some(_) => PaymentOutcome::Declined("currency_not_supported".to_owned()),
    };
    Ok(Payment { outcome, source })
}

/// Charges a payment method as [`take`] does, even if it was deleted since the bill fell due.
///
/// # Errors
/// Those of [`take`].
pub async fn take_from(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    method: Option<&Id>,
    bill: &Bill,
) -> Result<Payment, Error> {
    let method = match method {
        Some(id) => {
            app.store
                .payment_method_or_deleted(&tx.origin().tenant, id)
                .await?
        }
        None => None,
    };
    match method {
        Some(method) => take(app, tx, &method, bill).await,
        None => Ok(Payment::without_method(bill)),
    }
}

/// The transaction of a charge with its result, with the event `service.succeeded` or `service.failed`.
pub fn record(transaction: Transaction, payment: &Payment) -> Stored<Transaction> {
    let event = match transaction.status {
        TransactionStatus::Succeeded => EventType::ServiceSucceeded,
        TransactionStatus::Failed | TransactionStatus::Pending => EventType::ServiceFailed,
    };
    let failed_reason = match &payment.outcome {
        PaymentOutcome::Succeeded => None,
        PaymentOutcome::Declined(code) => Some(code.clone()),
    };
    let transaction = Transaction {
        failed_reason,
        ..transaction
    };
    let internal = TransactionInternal::paid_from(payment.source.clone());
    Stored::with_internal(transaction, internal).recording(event)
}

/// Refunds a charge, or a part of it, to the target of the refund. A wallet is credited with `tx`, as in [`take`]. If it was closed or has
/// another currency, the refund is redirected to the wallet of the fleet or of the account.
///
/// # Errors
/// `Unavailable` if the provider cannot be reached or none is configured for live mode.
pub async fn refund(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    refund: &mut Stored<Transaction>,
) -> Result<PaymentOutcome, Error> {
    let tenant = &tx.origin().tenant;
    let (id, amount) = (&refund.object.id, refund.object.money());
    match &refund.internal.source {
        Some(ChargeSource::Provider { key, reference }) => {
            let refund = Refund {
                key: Charge::key(tenant, id.as_str()),
                charge: Charge::key(tenant, key),
                reference: reference.clone(),
                amount,
                is_partial: refund.internal.is_partial,
                parts: refund.internal.parts.clone(),
                is_last: refund.internal.is_last,
                key_expired: key_expired(refund.object.created, tx.origin()),
            };
            app.payments.of(tenant.mode)?.refund(&refund).await
        }
        Some(ChargeSource::Wallet { owner }) => {
            let (first, fleet) = (Some(wallet_of(owner)?), refund.object.fleet.as_ref());
            let Some(wallet) = wallet_in(app, tenant, amount.currency, first, fleet).await? else {
                let code = "currency_not_supported".to_owned();
                return Ok(PaymentOutcome::Declined(code));
            };
            tx.credit(wallet, amount, Error::Contended);
            if wallet.owner() != owner {
                let wallet = wallet.owner().clone();
                refund.redirect(wallet);
            }
            Ok(PaymentOutcome::Succeeded)
        }
        None => Err(Error::internal("a refund without its charge")),
    }
}

/// The wallet that receives a refund: the first one in this currency of `first`, the fleet's and the account's.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn wallet_in<'a>(
    app: &App,
    tenant: &'a Tenant,
    currency: Currency,
    first: Option<Wallet<'a>>,
    fleet: Option<&'a Id>,
) -> Result<Option<Wallet<'a>>, Error> {
    let others = [
        fleet.map(Wallet::Fleet),
        Some(Wallet::Account(&tenant.account)),
    ];
    for wallet in first.into_iter().chain(others.into_iter().flatten()) {
        let funds = app.store.funds(tenant, wallet).await?;
        if funds.is_some_and(|funds| funds.currency == currency) {
            return Ok(Some(wallet));
        }
    }
    Ok(None)
}

/// The refusal of a refund that no wallet can receive.
pub fn no_wallet(currency: Currency) -> Error {
    let message = format!(
        "No wallet can take the money, because none of the owner, the fleet and the account is in {currency}."
    );
    Error::conflict(message, Some("destination"))
}

/// The wallet of an account, a driver or a fleet.
pub fn wallet_of(owner: &Id) -> Result<Wallet<'_>, Error> {
    Wallet::owned_by(owner).ok_or_else(|| Error::internal("a wallet of an object that has none"))
}

/// Starts the refund of a top-up, and subtracts its amount from the wallet with `tx`, as in [`take`].
///
/// # Errors
/// Those of [`Stored::refund_top_up`]; `Unavailable` if DynamoDB cannot be reached.
pub async fn refund_top_up(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    top_up: &mut Stored<Transaction>,
    wallet: &Id,
    new: NewRefund,
) -> Result<Stored<Transaction>, Error> {
    let Origin { tenant, now, .. } = tx.origin();
    let (wallet, currency) = (wallet_of(wallet)?, top_up.object.currency);
    let funds = app.store.funds(tenant, wallet).await?;
    let balance = funds.map_or(0, |funds| {
        if funds.currency == currency {
            funds.amount
        } else {
            0
        }
    });
    let (refund, debit) = top_up.refund_top_up(new, balance, *now)?;
    if debit > 0 {
        tx.debit(wallet, Money::new(debit, currency), Error::Contended);
    }
    Ok(refund)
}

/// Returns the amount of a failed refund of a top-up to the wallet with `tx`. If the wallet cannot receive it, the top-up records it.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn undo_refund_of_top_up(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    charge: &mut Stored<Transaction>,
    refund: &Transaction,
) -> Result<(), Error> {
    let Some(top_up) = &mut charge.internal.top_up else {
        return Ok(());
    };
    let wallet = wallet_of(&top_up.wallet)?;
    match app.store.funds(&tx.origin().tenant, wallet).await? {
        Some(funds) if funds.currency == refund.currency => {
            tx.credit(wallet, refund.money(), Error::Contended);
        }
        _ => top_up.unreturned += refund.amount,
    }
    Ok(())
}

/// Charges a card or bank account, once per key.
async fn pay(
    app: &App,
    origin: &Origin,
    method: &Stored<PaymentMethod>,
    bill: &Bill,
) -> Result<Payment, Error> {
    let tenant = &origin.tenant;
    let Some(token) = method.internal.token.clone() else {
        return Err(Error::internal("a wallet has no provider to be charged at"));
    };
    let charge = Charge {
        key: Charge::key(tenant, &bill.key),
        token,
        customer: method.internal.customer.clone(),
        amount: bill.amount,
        description: bill.description.clone(),
        key_expired: key_expired(bill.due_since, origin),
    };
    let result = app.payments.of(tenant.mode)?.charge(&charge).await?;
    Ok(Payment {
        outcome: result.outcome,
        source: at_provider(bill, result.reference),
    })
}

/// Returns whether the provider may have forgotten a charge that was first tried at that moment.
fn key_expired(first: Timestamp, origin: &Origin) -> bool {
    origin.now.since(first) >= KEY_REMEMBERED
}

/// The provider's description of the card or bank account of a new payment method.
///
/// # Errors
/// `payment_method_invalid_input` for a token that the provider does not know, or that does not represent a card although the type is
/// `card`; 503 if the provider cannot be reached.
pub async fn method_at_provider(
    app: &App,
    mode: Mode,
    kind: PaymentMethodType,
    token: Option<&str>,
) -> Result<ProviderMethod, Error> {
    let Some(token) = token else {
        return Ok(ProviderMethod::default());
    };
    let unknown = || {
        Code::PaymentMethodInvalidInput
            .because("The payment provider has no such card or bank account.")
            .at("token")
    };
    let method = app.payments.of(mode)?.method(token).await?;
    let fits = |method: &ProviderMethod| kind != PaymentMethodType::Card || method.card.is_some();
    method.filter(fits).ok_or_else(unknown)
}

/// The response to an earlier request with the same idempotency key. A request that charges reads it first: other writes detect the
/// repetition in their own transaction, but a charge cannot be undone.
pub async fn answered(app: &App, origin: &Origin) -> Result<Option<Response>, Error> {
    match &origin.idempotency {
        Some(idempotency) => app.store.recall(origin, idempotency).await,
        None => Ok(None),
    }
}

/// The refusal of a payment that was declined.
pub fn declined(code: &str) -> Error {
    Code::PaymentAuthorizationFailed
        .because("The payment was declined.")
        .at("payment_method")
        .with("decline_code", code)
}
