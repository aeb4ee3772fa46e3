//! Groups of rows that an IAM policy can tell apart by their partition keys.

use crate::Kind;

/// A group of rows, as a policy with the condition `dynamodb:LeadingKeys` can name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// A tenant's objects of a kind, and the rows stored under the same partition key.
    Of(Kind),
    Accounts,
    Keys,
    Idempotency,
    EndpointCounts,
    Rates,
    ProviderIds,
    Stations,
    Calendars,
}

impl Rows {
    /// The patterns of partition keys for the condition `dynamodb:LeadingKeys`.
    pub fn patterns(self) -> Vec<String> {
        match self {
            Self::Of(kind) => vec![format!("acct_*#{}*", kind.prefix())],
            Self::Accounts => vec!["ACCOUNT#*".into()],
            Self::Keys => vec!["KEY#*".into()],
            Self::Idempotency => vec!["acct_*#IDEM#*".into()],
            Self::EndpointCounts => vec!["acct_*#ENDPOINTS".into()],
            Self::Rates => vec!["acct_*#RATE".into()],
            Self::ProviderIds => vec!["live#PROVIDER#*".into(), "test#PROVIDER#*".into()],
            Self::Stations => vec!["live#chst_*".into(), "test#chst_*".into()],
            Self::Calendars => vec!["live#CAL#*".into(), "test#CAL#*".into()],
        }
    }
}
