//! Transactions: money that moved, or failed to.

use serde::{Deserialize, Serialize};

use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransactionStatus {
    Succeeded,
    Failed,
    Pending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
