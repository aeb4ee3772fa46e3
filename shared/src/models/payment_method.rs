//! Payment methods: what charges are taken from. A provider's token stands for the card or account; its number is never
//! seen here.

use serde::{Deserialize, Serialize};

use super::metadata::Metadata;
use crate::id::{Id, Kind};
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaymentMethod {
    pub id: Id,
    pub object: Kind,
    pub card: Option<Card>,
    pub created: Timestamp,
    /// The driver who owns it; with `fleet` null too, the account does.
    pub driver: Option<Id>,
    pub fleet: Option<Id>,
    pub metadata: Metadata,
    #[serde(rename = "type")]
    pub kind: PaymentMethodType,
    pub updated: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaymentMethodType {
    Card,
    BankAccount,
    /// Pays from its owner's `wallet_balance`, never below zero.
    Wallet,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    pub brand: String,
    /// 1 to 12.
    pub exp_month: u8,
    pub exp_year: u16,
    /// The same for the same card, whatever its token.
    pub fingerprint: String,
    pub last4: String,
}

/// What the payment method's row keeps to itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentMethodPrivate {
    /// The provider's name for it; none for a wallet.
    pub token: Option<String>,
}
