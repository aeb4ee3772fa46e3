//! Transactions: money that moved, or failed to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::patch::Change;
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::time::Timestamp;

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
