//! Groups of items that an IAM policy can distinguish by their partition keys.

use kernel::Kind;

/// A group of items that a policy with the condition `dynamodb:LeadingKeys` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// The objects of a kind, and the items stored under the same partition key.
    Of(Kind),
    /// Every item whose partition key begins with an account.
    OfAccounts,
    Idempotency,
    EndpointCounts,
    /// The last numbers of documents.
    DocumentNumbers,
    Rates,
    /// The accounts of payment methods and customers of the payment provider.
    ProviderIds,
    Calendars,
    /// The sites that stations belong to.
    SitesOfStations,
    /// The charge cards of drivers and vehicles.
    CardHolders,
    /// The uids of charge cards, and their tokens.
    CardTokens,
    /// Objects that networks have sent, and commands to them.
    OcpiObjects,
    /// The networks that tokens and parties belong to.
    OcpiCredentials,
}

impl Items {
    /// Returns the patterns of partition keys for the condition `dynamodb:LeadingKeys`.
    pub fn patterns(self) -> Vec<String> {
        match self {
            Self::Of(Kind::Account) => vec!["ACCOUNT#*".into()],
            Self::Of(Kind::ApiKey) => vec!["KEY#*".into()],
            Self::Of(Kind::ChargingStation) => vec!["live#chst_*".into(), "test#chst_*".into()],
            Self::Of(Kind::Network) => vec!["live#net_*".into(), "test#net_*".into()],
            Self::Of(Kind::Event) => vec![format!("acct_*#{}#*", Kind::Event.name())],
            Self::Of(kind) => vec![format!("acct_*#{}*", kind.prefix())],
            Self::OfAccounts => vec!["acct_*".into()],
            Self::Idempotency => vec!["acct_*#IDEM#*".into()],
            Self::EndpointCounts => vec!["acct_*#ENDPOINTS".into()],
            Self::DocumentNumbers => vec!["acct_*#NUMBERS".into()],
            Self::Rates => vec!["acct_*#RATE".into(), "net_*#RATE".into()],
            Self::ProviderIds => vec!["live#PROVIDER#*".into(), "test#PROVIDER#*".into()],
            Self::Calendars => vec!["live#CAL#*".into(), "test#CAL#*".into()],
            Self::SitesOfStations => vec!["live#SITES#*".into(), "test#SITES#*".into()],
            Self::CardHolders => vec!["acct_*#CARDS#*".into()],
            Self::CardTokens => of_ocpi(&["CARD"]),
            Self::OcpiObjects => of_ocpi(&["OBJECT", "COMMAND"]),
            Self::OcpiCredentials => of_ocpi(&["TOKEN", "PARTY"]),
        }
    }
}

fn of_ocpi(kinds: &[&str]) -> Vec<String> {
    let pattern = |mode: &str| {
        let kinds = kinds.iter();
        kinds
            .map(|kind| format!("{mode}#OCPI#{kind}#*"))
            .collect::<Vec<_>>()
    };
    ["live", "test"].into_iter().flat_map(pattern).collect()
}
