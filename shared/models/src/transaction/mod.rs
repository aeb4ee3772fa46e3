//! Transactions: successful and failed movements of money.

mod internal;
mod refund;
mod top_up;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::action::Action;
use crate::stored::{Object, Stored};
use kernel::fields::text::Description;
use kernel::time::HOUR;
use kernel::{Currency, Id, Kind, Money, SignedDuration, Timestamp};

pub use internal::{ChargeSource, RefundReason, TopUpStage, TopUpState, TransactionInternal};
pub use refund::NewRefund;
pub use top_up::{TopUp, TopUpAmount, check_currency};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Transaction {
    pub id: Id,
    pub object: Kind,
    /// Amount in minor units of `currency`.
    pub amount: i64,
    /// For a charge: the amount refunded so far, in minor units of `currency`. For a refund to a wallet: the part of it that has left the
    /// wallet again.
    #[serde(default)]
    #[schema(required)]
    pub amount_refunded: i64,
    /// For a refund: the transaction of the charge, or of the refund to a wallet that is returned to the payment method.
    #[schema(required)]
    pub charge: Option<Id>,
    /// Id of the charging session that was paid or refunded; null for other transactions.
    pub charging_session: Option<Id>,
    pub created: Timestamp,
    /// For a refund: the credit note that it belongs to.
    #[schema(required)]
    pub credit_note: Option<Id>,
    /// Currency of `amount`.
    pub currency: Currency,
    /// Description of the payment, in English.
    pub description: String,
    /// For a refund: the destination of the money.
    #[schema(required)]
    pub destination: Option<RefundDestination>,
    /// Id of the driver; null if no driver is involved.
    pub driver: Option<Id>,
    /// The reason why a charge was declined, as `decline_code` of an error has it, or why a refund failed, which can be requested again.
    /// `currency_changed` and `owner_deleted`: the wallet could not be credited with a top-up, whose charge was refunded.
    #[schema(required, example = "insufficient_balance")]
    pub failed_reason: Option<String>,
    /// Id of the fleet; null if no fleet is involved.
    pub fleet: Option<Id>,
    /// The invoice that the transaction pays, or whose payment it refunds.
    #[schema(required)]
    pub invoice: Option<Id>,
    /// Id of the payment method that was charged or refunded; null if there is none.
    pub payment_method: Option<Id>,
    /// For a refund: the reason stated in the request.
    #[schema(required)]
    pub reason: Option<Description>,
    /// The reservation whose fee the transaction pays or refunds.
    #[schema(required)]
    pub reservation: Option<Id>,
    /// Outcome of the payment. `pending` ones are settled by the service.
    pub status: TransactionStatus,
    /// Type of the transaction: money was charged, returned or corrected.
    #[serde(rename = "type")]
    pub kind: TransactionType,
    /// Id of the vehicle; null if no vehicle is involved.
    pub vehicle: Option<Id>,
}

impl Object for Transaction {
    type Internal = TransactionInternal;

    const KIND: Kind = Kind::Transaction;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.next_action_at;
        at.map(|at| (at, Action::SettleTransaction))
    }
}

/// The time after which the state of a payment that the provider has not decided is read in these pauses: bank debits take days.
pub const UNDECIDED: SignedDuration = HOUR;

/// The details of a transaction; see [`Transaction::new`].
#[derive(Debug, Clone)]
pub struct Movement {
    pub kind: TransactionType,
    pub amount: Money,
    pub description: String,
    pub payment_method: Option<Id>,
    pub driver: Option<Id>,
    pub fleet: Option<Id>,
    pub vehicle: Option<Id>,
    pub charging_session: Option<Id>,
}

impl Transaction {
    /// Returns the transaction for a successful or failed movement of money.
    pub fn new(movement: Movement, status: TransactionStatus, now: Timestamp) -> Self {
        let Movement {
            kind,
            amount: Money { amount, currency },
            description,
            payment_method,
            driver,
            fleet,
            vehicle,
            charging_session,
        } = movement;
        Self {
            id: Id::new(Kind::Transaction, now),
            object: Kind::Transaction,
            amount,
            amount_refunded: 0,
            charge: None,
            charging_session,
            created: now,
            credit_note: None,
            currency,
            description,
            destination: None,
            driver,
            failed_reason: None,
            fleet,
            invoice: None,
            payment_method,
            reason: None,
            reservation: None,
            status,
            kind,
            vehicle,
        }
    }

    /// Returns whether this is a payment of a session, a reservation or an invoice, or a refund of one. A top-up and its refunds are not.
    pub fn is_of_payment(&self) -> bool {
        self.charging_session.is_some() || self.reservation.is_some() || self.invoice.is_some()
    }

    /// Returns the amount with its currency.
    pub fn money(&self) -> Money {
        Money::new(self.amount, self.currency)
    }
}

impl Stored<Transaction> {
    /// Postpones the next attempt to settle a pending transaction, if the provider has not decided for an hour. Returns whether it did.
    pub fn wait_for_provider(&mut self, now: Timestamp) -> bool {
        let is_undecided = self.object.created.plus(UNDECIDED) <= now;
        if is_undecided {
            self.internal.next_action_at = Some(now.plus(UNDECIDED));
        }
        is_undecided
    }
}

/// The destination of the money of a refund.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefundDestination {
    /// The source of the charge. If this is a wallet that was closed or has another currency, the refund becomes one to a wallet.
    #[default]
    Original,
    /// The first wallet in the currency of the refund: that of the payment method's owner, of the fleet or of the account. For a credit
    /// note that of the fleet or of the account. The money of a top-up, or of such a refund, cannot be refunded to a wallet.
    Wallet,
}

/// The outcome of a charge or refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentOutcome {
    Succeeded,
    /// Declined, with the provider's code for the reason: `card_declined`, `insufficient_funds`, `expired_card`.
    Declined(String),
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TransactionStatus {
    Succeeded,
    Failed,
    Pending,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TransactionType {
    Charge,
    Refund,
    Adjustment,
}

impl TransactionStatus {
    /// Checks whether the outcome is unknown.
    pub fn is_open(self) -> bool {
        match self {
            Self::Pending => true,
            Self::Succeeded | Self::Failed => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl TransactionType {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
