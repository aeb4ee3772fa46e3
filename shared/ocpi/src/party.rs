//! The parties that take part in roaming, and their roles.

use serde::{Deserialize, Serialize};

pub use models::network::PartyId;

/// The role of a party. Roles that this service does not use are `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Role {
    /// Operates charging stations.
    Cpo,
    /// Serves drivers, as this service does.
    Emsp,
    /// Passes messages on between parties.
    Hub,
    #[serde(other)]
    Other,
}

/// Whether a party can be reached, as its hub reports it (OCPI 2.2.1-d2, "ConnectionStatus"). A status that is not in the standard counts as
/// `OFFLINE`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PartyStatus {
    #[default]
    Connected,
    Planned,
    Suspended,
    #[serde(other)]
    Offline,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_role_is_read() {
        let read = |text: &str| serde_json::from_str::<Role>(text).unwrap();
        assert_eq!(read("\"CPO\""), Role::Cpo);
        assert_eq!(read("\"SCSP\""), Role::Other);
    }
}
