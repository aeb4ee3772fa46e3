//! Payments: charging and refunding payment methods, so that money moves exactly once.
//!
//! # Terms
//!
//! - The *provider* (Stripe, or the simulated one of test mode) charges cards and bank accounts. It is not part of a DynamoDB
//!   transaction. A *wallet* is a number in the row of its owner and moves within the transaction of what it pays for.
//! - A *charge key* is the provider's idempotency key. It is derived from an object of ours that is written before the charge
//!   and used for one charge only: the transaction of a top-up, the numbered attempt to pay an invoice, the session, the
//!   reservation. The client's `Idempotency-Key` has no part in it, since it may be used again after 24 hours.
//!
//! # Life of a charge
//!
//! 1. What is to be charged is written: for a top-up ([`top_up`]) and for an invoice a `pending` transaction, and in the same
//!    write an idempotency record that points to it. A session or reservation that is over is in the table anyway.
//! 2. The provider is asked to charge. No clear answer means that the same charge, with the same key, is repeated later: by
//!    the repeated request, or a minute after the first one by the queue `settle-transaction` (top-ups), `check-invoice` or
//!    `settle-session`. A charge that is repeated after the provider may have forgotten its key is searched for first.
//! 3. The result, the wallet or bill, and the answer to the request are written in one transaction that is conditional on the
//!    versions read. What a provider has charged for a session is written first as a transaction whose id follows from the session, and then the
//!    session: a repetition writes the transaction once. A top-up whose wallet was deleted or changed its currency is written as *to be refunded* before the
//!    provider is asked for the refund, so that it cannot be credited any more; it ends `failed`.
//!
//! A refund that a client asks for is a transaction of its own. It names the charge by its key and the provider's id, so it
//! needs no payment method. It returns the charge or a part of it, to where it came from or to a wallet; what the refunds of a charge that
//! are pending or succeeded return is never more than the charge. If the provider declines it, it ends `failed`, and can be requested again.
//!
//! # Invariants
//!
//! - Every charge at the provider belongs to one transaction of ours, and every transaction to at most one charge.
//! - A transaction that is pending is found by the sweeper, whatever was lost. None stays pending once the provider answers.
//! - A wallet is credited once for each `succeeded` top-up and never for another.
//! - A deleted payment method is kept for 90 days for what fell due before: its charge may have been made already.
//!
//! # After a crash
//!
//! Before step 1 nothing was charged. Between 1 and 3 the charge may have been made; repeating step 2 finds out without
//! charging twice. Within step 3 either everything or nothing was written, of the charge of a session perhaps only its transaction, until the
//! job is repeated. The answer of an interrupted request says which of
//! these it is: see [`Progress`].

mod interrupted;
pub mod top_up;

pub use interrupted::{Progress, within_limit};

use crate::App;
use kernel::Response;
use kernel::money::Money;
use kernel::origin::{Mode, Origin};
use kernel::{Code, Error, Id, Timestamp};
use models::event::EventType;
use models::payment_method::ProviderMethod;
use models::payment_method::{PaymentMethod, PaymentMethodType};
use models::ports::payments::{Charge, KEY_REMEMBERED, Refund};
use models::stored::Stored;
use models::transaction::PaymentOutcome;
use models::transaction::{ChargeSource, Transaction, TransactionInternal, TransactionStatus};
use table::UnitOfWork;
use table::wallets::Wallet;

/// What is to be paid.
#[derive(Debug, Clone)]
pub struct Bill {
    /// What the charge key is derived from.
    pub key: String,
    /// Nothing is charged if it is zero.
    pub amount: Money,
    pub description: String,
    /// When the bill became due. It cannot have been charged before.
    pub due_since: Timestamp,
}

/// How a payment ended, and where the money came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub outcome: PaymentOutcome,
    pub source: ChargeSource,
}

impl Payment {
    pub fn succeeded(&self) -> bool {
        self.outcome == PaymentOutcome::Succeeded
    }

    /// The payment of a charge that was recorded; none if it is pending.
    pub fn recorded(charge: &Stored<Transaction>) -> Option<Self> {
        let outcome = match charge.object.status {
            TransactionStatus::Succeeded => PaymentOutcome::Succeeded,
            TransactionStatus::Failed => PaymentOutcome::Declined(String::new()),
            TransactionStatus::Pending => return None,
        };
        let source = charge.internal.source.clone()?;
        Some(Self { outcome, source })
    }

    /// A payment whose method was deleted so long ago that nothing is known of it.
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

/// Takes money from any payment method. A card or bank account is charged now. From a wallet the money goes with
/// `changes`, so those have to be committed where this succeeds; they must not write the wallet owner's row otherwise,
/// and a commit that is refused as contended means the wallet has changed: look again.
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
            tx.debit(wallet, bill.amount, Error::Contended)?;
            PaymentOutcome::Succeeded
        }
        Some(funds) if funds.currency == bill.amount.currency => {
            PaymentOutcome::Declined("insufficient_funds".to_owned())
        }
        Some(_) => PaymentOutcome::Declined("currency_not_supported".to_owned()),
    };
    Ok(Payment { outcome, source })
}

/// Takes money as [`take`] does, from a payment method that may have been deleted since the bill fell due.
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

/// The row of a charge as it ended, with the event `service.succeeded` or `service.failed`.
pub fn record(transaction: Transaction, payment: &Payment) -> Stored<Transaction> {
    let event = match transaction.status {
        TransactionStatus::Succeeded => EventType::ServiceSucceeded,
        TransactionStatus::Failed | TransactionStatus::Pending => EventType::ServiceFailed,
    };
    let internal = TransactionInternal::paid_from(payment.source.clone());
    Stored::with_internal(transaction, internal).recording(event)
}

/// Refunds a charge, or a part of it, to where the refund says. To a wallet the money goes with `changes`, as in [`take`].
///
/// # Errors
/// `Unavailable` if the provider cannot be reached or none is configured for live mode.
pub async fn refund(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    refund: &Stored<Transaction>,
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
                key_expired: key_expired(refund.object.created, tx.origin()),
            };
            app.payments.of(tenant.mode)?.refund(&refund).await
        }
        Some(ChargeSource::Wallet { owner }) => {
            let wallet = Wallet::owned_by(owner)
                .ok_or_else(|| Error::internal("a wallet of an object that has none"))?;
            match app.store.funds(tenant, wallet).await? {
                Some(funds) if funds.currency == amount.currency => {
                    tx.credit(wallet, amount, Error::Contended)?;
                    Ok(PaymentOutcome::Succeeded)
                }
                Some(_) => Ok(PaymentOutcome::Declined(
                    "currency_not_supported".to_owned(),
                )),
                None => Ok(PaymentOutcome::Declined("wallet_closed".to_owned())),
            }
        }
        None => Err(Error::internal("a refund without its charge")),
    }
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

/// Whether the provider may have forgotten a charge that was first tried at that moment.
fn key_expired(first: Timestamp, origin: &Origin) -> bool {
    origin.now.since(first) >= KEY_REMEMBERED
}

/// The provider's description of the card or bank account of a new payment method.
///
/// # Errors
/// `payment_method_invalid_input` for a token that the provider does not know, or that stands for no card although the type
/// is `card`; 503 if the provider cannot be reached.
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

/// The answer to an earlier request with the same idempotency key. A request that charges asks for it first: other
/// writes find out in their own transaction, but a charge cannot be taken back.
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
