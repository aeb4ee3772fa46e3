//! Transactions: money that moved, or failed to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::patch::Change;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::time::{MINUTE, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Transaction {
    pub id: Id,
    pub object: Kind,
    /// Minor units of `currency`.
    pub amount: i64,
    pub charging_session: Option<Id>,
    pub created: Timestamp,
    pub currency: Currency,
    pub description: String,
    pub driver: Option<Id>,
    pub fleet: Option<Id>,
    pub payment_method: Option<Id>,
    pub status: TransactionStatus,
    #[serde(rename = "type")]
    pub kind: TransactionType,
    pub vehicle: Option<Id>,
}

/// How long a request has to bring a top-up to its end before that is done for it, in milliseconds.
const LEASE: i64 = MINUTE;

/// What the transaction's row keeps to itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionPrivate {
    /// What the money was taken for, as the payment provider was told; none where it cannot be given back.
    pub bill: Option<String>,
    /// The refund of this charge.
    pub refund: Option<Id>,
    /// Since when a pending refund is to be made, or a pending top-up counts as cut short.
    pub due: Option<Timestamp>,
    /// Whose wallet a pending charge tops up: an account's, a driver's or a fleet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wallet: Option<Id>,
}

impl TransactionPrivate {
    /// What is kept of a charge for something.
    pub fn charged(bill: String) -> Self {
        Self {
            bill: Some(bill),
            ..Self::default()
        }
    }

    /// What is kept of a top-up that begins.
    pub fn topping_up(wallet: Id, now: Timestamp) -> Self {
        Self {
            due: Some(now.plus_millis(LEASE)),
            wallet: Some(wallet),
            ..Self::default()
        }
    }
}

/// What a transaction is about; see [`Transaction::new`].
#[derive(Debug, Clone)]
pub struct Movement {
    pub kind: TransactionType,
    /// Minor units of `currency`.
    pub amount: i64,
    pub currency: Currency,
    pub description: String,
    pub payment_method: Option<Id>,
    pub driver: Option<Id>,
    pub fleet: Option<Id>,
    pub vehicle: Option<Id>,
    pub charging_session: Option<Id>,
}

impl Transaction {
    /// The record of money that moved, or failed to.
    pub fn new(movement: Movement, status: TransactionStatus, now: Timestamp) -> Self {
        let Movement {
            kind,
            amount,
            currency,
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
            charging_session,
            created: now,
            currency,
            description,
            driver,
            fleet,
            payment_method,
            status,
            kind,
            vehicle,
        }
    }

    /// The refund of this charge, whole and still to be made.
    ///
    /// # Errors
    /// 409 for what is not a charge that succeeded, for top-ups, and for what was refunded before.
    pub fn refund(
        &self,
        private: &mut TransactionPrivate,
        now: Timestamp,
    ) -> Result<(Self, TransactionPrivate)> {
        let refuse = |why: &'static str| Err(Error::conflict(why, Some(Kind::Transaction.name())));
        let succeeded =
            self.kind == TransactionType::Charge && self.status == TransactionStatus::Succeeded;
        if !succeeded || private.bill.is_none() {
            return refuse("Only a charge that succeeded can be refunded, and no top-up.");
        }
        if private.refund.is_some() {
            return refuse("The charge was refunded before.");
        }
        let refund = Self {
            id: Id::new(Kind::Transaction, now),
            created: now,
            description: format!("Refund of {}", self.id),
            kind: TransactionType::Refund,
            status: TransactionStatus::Pending,
            ..self.clone()
        };
        private.refund = Some(refund.id.clone());
        let waiting = TransactionPrivate {
            bill: private.bill.clone(),
            due: Some(now),
            ..TransactionPrivate::default()
        };
        Ok((refund, waiting))
    }

    /// Writes down how what was pending ended.
    pub fn end(&mut self, private: &mut TransactionPrivate, succeeded: bool) {
        self.status = match succeeded {
            true => TransactionStatus::Succeeded,
            false => TransactionStatus::Failed,
        };
        private.due = None;
    }

    /// Adds what was charged to a wallet.
    ///
    /// # Errors
    /// The wallet has another currency by now: somebody has to give the money back.
    pub fn add_to(&self, balance: &mut i64, currency: Currency) -> Result<()> {
        if self.currency != currency {
            return Err(Error::internal(
                "a wallet's currency changed while it was topped up",
            ));
        }
        *balance += self.amount;
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransactionStatus {
    Succeeded,
    Failed,
    Pending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransactionType {
    Charge,
    Refund,
    Adjustment,
}

impl TransactionStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Pending => "pending",
        }
    }
}

impl TransactionType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Refund => "refund",
            Self::Adjustment => "adjustment",
        }
    }
}

/// The body of `POST /v1/accounts/{id}/top_up` and of the same for drivers and fleets.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TopUp {
    /// Minor units of the wallet's currency, 1 to 99,999,999.
    pub amount: TopUpAmount,
    /// A card or bank account of the wallet's owner or of the account.
    pub payment_method: Id,
}

/// Minor units, 1 to 99,999,999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub struct TopUpAmount(i64);

impl TopUpAmount {
    pub fn minor_units(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for TopUpAmount {
    type Error = &'static str;

    fn try_from(amount: i64) -> Result<Self, &'static str> {
        match amount {
            1..=99_999_999 => Ok(Self(amount)),
            _ => Err("must be a whole number from 1 to 99999999"),
        }
    }
}

/// Refuses another currency for a wallet that holds money: the number would mean something else.
///
/// # Errors
/// 409 with the field.
pub fn check_currency(
    param: &str,
    change: &Change<Currency>,
    current: Currency,
    empty: bool,
) -> Result<()> {
    match change.set() {
        Some(wanted) if *wanted != current && !empty => Err(Error::conflict(
            "The currency cannot change while there is money in the wallet.",
            Some(param),
        )),
        _ => Ok(()),
    }
}
