//! The internal state of a transaction: the source of its money, its refunds, and the stage of a top-up.

use serde::{Deserialize, Serialize};

use crate::parts::Parts;
use crate::stored::is_default;
use kernel::{Id, Timestamp};

/// Internal state of a transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionInternal {
    /// The source of the money of a charge. A refund has the source of its charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ChargeSource>,
    /// For a charge, or a refund to a wallet: the total of its pending refunds, in minor units.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refunding: i64,
    /// For a charge: the total that could not be returned because of credits of a network and that no later refund has returned, in minor
    /// units.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unreturned: i64,
    /// For a refund: whether it returns only a part of its charge.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_partial: bool,
    /// For a refund: the parts of its charge that it returns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub parts: Parts,
    /// For a refund: whether the refunds that were begun before it cover the rest of its charge, or it empties the wallet of a top-up. Then
    /// it succeeds even if the provider rounds it to zero.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_last: bool,
    /// For a charge, or a refund to a wallet: the parts that no pending or successful refund covers; none before its first refund.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unrefunded: Option<Parts>,
    /// The time of the next action of the service on a pending refund, or on a top-up that its request did not finish.
    #[serde(rename = "next")]
    pub next_action_at: Option<Timestamp>,
    /// For a top-up: the data that is needed to finish it without its request. A refund to a wallet becomes a top-up when it is itself
    /// refunded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_up: Option<TopUpState>,
}

/// The source of the money of a charge, to which a refund returns it. A refund does not need the payment method, which may have been
/// deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChargeSource {
    /// A card or bank account.
    Provider {
        /// The text from which the provider's idempotency key was derived.
        key: String,
        /// The provider's id of the charge.
        #[serde(skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
    },
    /// The wallet of this account, driver or fleet.
    Wallet { owner: Id },
}

/// A top-up: the wallet, a copy of the provider's token and customer of the payment method, and its stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopUpState {
    /// The account, driver or fleet that owns the wallet.
    pub wallet: Id,
    pub token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
    pub stage: TopUpStage,
    /// The total of failed refunds that the wallet could not receive again, because its owner was deleted or its currency changed. The next
    /// refunds return it and do not debit the wallet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unreturned: i64,
}

/// The stage of a top-up. The last three are final.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TopUpStage {
    /// The charge was requested, and its outcome is unknown.
    Charging,
    /// The charge was made, the wallet cannot be credited with it, and it is to be refunded. From here on the wallet is never credited.
    Refunding {
        reason: RefundReason,
        reference: Option<String>,
        /// The number of refunds that the provider declined.
        attempts: u32,
    },
    Credited,
    Declined {
        code: String,
    },
    Refunded {
        reason: RefundReason,
    },
}

/// The reason why a wallet could not be credited with a top-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundReason {
    CurrencyChanged,
    OwnerDeleted,
}

impl RefundReason {
    /// Returns the reason as `failed_reason` of the transaction shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CurrencyChanged => "currency_changed",
            Self::OwnerDeleted => "owner_deleted",
        }
    }
}

impl TransactionInternal {
    /// Returns the state of a charge that was made.
    pub fn paid_from(source: ChargeSource) -> Self {
        Self {
            source: Some(source),
            ..Self::default()
        }
    }

    /// Returns the state of a charge that the provider made under an idempotency key derived from `key`.
    pub fn charged(key: String) -> Self {
        Self::paid_from(ChargeSource::Provider {
            key,
            reference: None,
        })
    }
}
