//! Groups of rows that an IAM policy can distinguish by their partition keys.

use crate::Kind;

/// A group of rows, as a policy with the condition `dynamodb:LeadingKeys` can name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// The objects of a kind, and the rows stored under the same partition key.
    Of(Kind),
    Idempotency,
    EndpointCounts,
    Rates,
    /// Which account a payment method or customer of the payment provider belongs to.
    ProviderIds,
    Calendars,
}

impl Rows {
    /// The patterns of partition keys for the condition `dynamodb:LeadingKeys`.
    pub fn patterns(self) -> Vec<String> {
        match self {
            Self::Of(Kind::Account) => vec!["ACCOUNT#*".into()],
            Self::Of(Kind::ApiKey) => vec!["KEY#*".into()],
            Self::Of(Kind::ChargingStation) => vec!["live#chst_*".into(), "test#chst_*".into()],
            Self::Of(kind) => vec![format!("acct_*#{}*", kind.prefix())],
            Self::Idempotency => vec!["acct_*#IDEM#*".into()],
            Self::EndpointCounts => vec!["acct_*#ENDPOINTS".into()],
            Self::Rates => vec!["acct_*#RATE".into()],
            Self::ProviderIds => vec!["live#PROVIDER#*".into(), "test#PROVIDER#*".into()],
            Self::Calendars => vec!["live#CAL#*".into(), "test#CAL#*".into()],
        }
    }
}
