//! Transactions: money that moved, or failed to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
