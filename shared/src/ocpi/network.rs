//! Networks: the platforms of other parties that this service is connected to.
//!
//! A platform is one connection and hosts one or several parties; a hub passes messages on for parties that are connected to it.
//! An operator of this service makes a network, in one of two ways: by issuing a token A with which the platform registers, or by
//! connecting to the platform with a token A that its operator has issued.
//!
//! Life cycle: `pending` until the credentials are exchanged, then `connected`. An operator can suspend a connected network and
//! connect it again: while it is suspended, its requests are refused and nothing is sent to it. `revoked` is final: the tokens are
//! deleted, and its parties may be part of another network. A network is revoked by an operator, or by its platform with
//! `DELETE credentials`.
//!
//! Invariants: a party belongs to at most one network of a mode that is not revoked, so that no other network can write its objects. Of
//! the tokens that this service issues only the SHA-256 is stored; those that it sends are stored encrypted.

use serde::{Deserialize, Serialize};

use super::credentials::{Credentials, CredentialsToken};
use super::party::{PartyId, Role};
use super::versions::{self, Endpoint, InterfaceRole, OcpiVersion};
use crate::encryption::{Encrypted, EncryptionKeys};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::models::network::Owner;
use crate::models::stored::{Object, Stored};
use crate::origin::Mode;
use crate::time::Timestamp;

/// A platform that this service exchanges data with, as operators see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub id: Id,
    pub object: Kind,
    /// When the credentials were exchanged the last time.
    pub connected_at: Option<Timestamp>,
    pub created: Timestamp,
    /// The platform's interfaces in that version.
    pub endpoints: Vec<Endpoint>,
    pub mode: Mode,
    /// What operators call it.
    pub name: String,
    /// The parties that may write objects over this connection.
    pub parties: Vec<NetworkParty>,
    pub status: NetworkStatus,
    pub updated: Timestamp,
    /// The version that both sides use; null before the credentials are exchanged.
    pub version: Option<OcpiVersion>,
    pub versions_url: Option<String>,
}

/// A party on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkParty {
    #[serde(flatten)]
    pub id: PartyId,
    pub name: String,
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkStatus {
    Pending,
    Connected,
    Suspended,
    Revoked,
}

/// What is stored with a network and not shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkInternal {
    /// What the platform authenticates with.
    pub token: Option<OwnToken>,
    /// The token before that one. It is accepted by the modules `versions` and `credentials` until the platform has used the new
    /// one: if the response with the new one was lost, the platform repeats its request with the old one.
    #[serde(default)]
    pub previous_token: Option<OwnToken>,
    /// What this service authenticates with at the platform.
    #[serde(default)]
    pub foreign_token: Option<Encrypted>,
    /// The address of this service that the platform was given, such as `https://api.example.com`.
    #[serde(default)]
    pub own_url: Option<String>,
    /// When objects are to be pulled from the platform the next time.
    #[serde(default)]
    pub next_pull_at: Option<Timestamp>,
}

/// A token that this service has issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnToken {
    /// SHA-256 in hexadecimal.
    pub hash: String,
    /// Whether it only serves to register (token A).
    pub registers: bool,
}

impl OwnToken {
    pub fn new(token: &CredentialsToken, registers: bool) -> Self {
        Self {
            hash: token.hash(),
            registers,
        }
    }
}

impl Object for Network {
    type Internal = NetworkInternal;

    const KIND: Kind = Kind::Network;

    fn id(&self) -> &Id {
        &self.id
    }
}

/// What both sides know after the credentials are exchanged.
#[derive(Debug, Clone)]
pub struct Registration {
    pub version: OcpiVersion,
    pub endpoints: Vec<Endpoint>,
    /// The platform's credentials object; its token is what this service sends from now on.
    pub credentials: Credentials,
}

impl Network {
    /// A network whose credentials have not been exchanged.
    pub fn pending(name: String, mode: Mode, now: Timestamp) -> Self {
        Self {
            id: Id::new(Kind::Network, now),
            object: Kind::Network,
            connected_at: None,
            created: now,
            endpoints: Vec::new(),
            mode,
            name,
            parties: Vec::new(),
            status: NetworkStatus::Pending,
            updated: now,
            version: None,
            versions_url: None,
        }
    }

    /// The party with that id on this platform.
    pub fn party(&self, id: &PartyId) -> Option<&NetworkParty> {
        self.parties.iter().find(|party| party.id == *id)
    }

    /// The party as part of this network; none if it is not one of the platform's.
    pub fn owner(&self, party: &PartyId) -> Option<Owner> {
        self.party(party).map(|party| Owner {
            network: self.id.clone(),
            party: party.id.clone(),
        })
    }

    /// Whether the platform passes messages on for other parties.
    pub fn is_hub(&self) -> bool {
        self.parties.iter().any(|party| party.role == Role::Hub)
    }

    /// The party that messages to the platform itself are addressed to: the hub, else the first one.
    pub fn main_party(&self) -> Option<&PartyId> {
        let hub = self.parties.iter().find(|party| party.role == Role::Hub);
        hub.or(self.parties.first()).map(|party| &party.id)
    }

    /// The address of one of the platform's interfaces.
    pub fn endpoint(&self, module: &str, role: InterfaceRole) -> Option<&str> {
        versions::find(&self.endpoints, module, role)
    }
}

/// The row and field that a foreign token belongs to.
pub(crate) fn token_context(network: &Network) -> String {
    format!("{} {} foreign_token", network.mode, network.id)
}

impl Stored<Network> {
    /// Notes what was agreed when the credentials were exchanged. Objects are pulled at once.
    ///
    /// # Errors
    /// `Internal` if the platform's token cannot be encrypted.
    pub fn register(
        &mut self,
        registration: Registration,
        keys: &EncryptionKeys,
        now: Timestamp,
    ) -> Result<()> {
        let Registration {
            version,
            endpoints,
            credentials,
        } = registration;
        let token = keys.encrypt(&token_context(&self.object), &credentials.token)?;
        let hub = credentials.hub_party_id.as_deref();
        let hub = hub.and_then(|id| PartyId::from_joined(id).ok());
        let party = |role: super::credentials::CredentialsRole| NetworkParty {
            id: role.party,
            name: role.business_details.name,
            role: role.role,
        };
        let mut parties: Vec<NetworkParty> = credentials.roles.into_iter().map(party).collect();
        if let Some(hub) = hub.filter(|hub| parties.iter().all(|party| party.id != *hub)) {
            parties.push(NetworkParty {
                id: hub,
                name: self.object.name.clone(),
                role: Role::Hub,
            });
        }
        let network = &mut self.object;
        network.parties = parties;
        network.endpoints = endpoints;
        network.version = Some(version);
        network.versions_url = Some(credentials.url);
        network.connected_at = Some(now);
        network.updated = now;
        if network.status == NetworkStatus::Pending {
            network.status = NetworkStatus::Connected;
        }
        self.internal.foreign_token = Some(token);
        self.internal.next_pull_at = Some(now);
        Ok(())
    }

    /// Replaces the token that the platform authenticates with. Returns the one that is not valid any more: the one before the
    /// present one, or the present one if the platform has not received that and `repeated` its request with the one before.
    pub fn replace_token(
        &mut self,
        token: OwnToken,
        repeated: bool,
        now: Timestamp,
    ) -> Option<OwnToken> {
        self.object.updated = now;
        let replaced = self.internal.token.replace(token);
        match repeated {
            true => replaced,
            false => std::mem::replace(&mut self.internal.previous_token, replaced),
        }
    }

    /// The token that this service authenticates with at the platform.
    ///
    /// # Errors
    /// `Internal` if there is none, or it cannot be decrypted.
    pub fn foreign_token(&self, keys: &EncryptionKeys) -> Result<CredentialsToken> {
        let encrypted = self.internal.foreign_token.as_ref();
        let encrypted = encrypted.ok_or_else(|| Error::internal("the network has no token"))?;
        let token = keys.decrypt(&token_context(&self.object), encrypted)?;
        CredentialsToken::foreign(&token).map_err(Error::internal)
    }

    /// Adds a party that a hub has reported.
    pub fn add_client(&mut self, party: NetworkParty, now: Timestamp) {
        let parties = &mut self.object.parties;
        match parties.iter_mut().find(|known| known.id == party.id) {
            // The hub itself keeps its role.
            Some(known) if known.role == Role::Hub => {}
            Some(known) => known.role = party.role,
            None => parties.push(party),
        }
        self.object.updated = now;
    }

    /// Sets the status, as an operator or the platform asks.
    ///
    /// # Errors
    /// 409 if the network is revoked, or is to be suspended or connected without having been connected.
    pub fn set_status(&mut self, status: NetworkStatus, now: Timestamp) -> Result<()> {
        use NetworkStatus::{Connected, Pending, Revoked, Suspended};
        let refused = match (self.object.status, status) {
            (Revoked, Revoked) => None,
            (Revoked, _) => Some("The network is revoked."),
            (_, Pending) => Some("A network cannot become pending."),
            (Pending, Suspended | Connected) => {
                Some("The network has not exchanged its credentials.")
            }
            _ => None,
        };
        if let Some(message) = refused {
            return Err(Error::conflict(message, Some("status")));
        }
        self.object.status = status;
        self.object.updated = now;
        match status {
            Revoked => self.internal = NetworkInternal::default(),
            Suspended => self.internal.next_pull_at = None,
            // What was missed meanwhile is pulled.
            Connected => self.internal.next_pull_at = Some(now),
            Pending => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::parse("2026-03-01T08:00:00Z").unwrap()
    }

    fn keys() -> EncryptionKeys {
        EncryptionKeys::new("a master secret of 32 characters or more").unwrap()
    }

    fn registration(version: OcpiVersion) -> Registration {
        let credentials = serde_json::json!({"token": "token-b", "url": "https://cpo.example/versions",
            "hub_party_id": "NLHUB", "roles": [{"role": "CPO", "party_id": "EXA", "country_code": "NL",
                "business_details": {"name": "Example"}}]});
        Registration {
            version,
            endpoints: Vec::new(),
            credentials: serde_json::from_value(credentials).unwrap(),
        }
    }

    fn connected() -> Stored<Network> {
        let mut network = Stored::new(Network::pending("Example".into(), Mode::Test, now()));
        let token = CredentialsToken::issue(Mode::Test).unwrap();
        network.replace_token(OwnToken::new(&token, true), false, now());
        network
            .register(registration(OcpiVersion::V2_3_0), &keys(), now())
            .unwrap();
        network
    }

    #[test]
    fn a_registration_connects_the_network_and_hides_its_token() {
        let network = connected();
        assert_eq!(network.object.status, NetworkStatus::Connected);
        assert_eq!(network.internal.next_pull_at, Some(now()));
        let hub = PartyId::new("NL", "HUB").unwrap();
        assert_eq!(network.object.main_party(), Some(&hub));
        assert!(network.object.is_hub());
        assert_eq!(network.foreign_token(&keys()).unwrap().expose(), "token-b");
        let stored = serde_json::to_string(&network.internal).unwrap();
        assert!(!stored.contains("token-b"));
        assert!(
            !serde_json::to_string(&network.object)
                .unwrap()
                .contains("token-b")
        );
    }

    #[test]
    fn two_tokens_are_accepted_at_most() {
        let mut network = connected();
        let token = |n: &str| OwnToken {
            hash: n.into(),
            registers: false,
        };
        assert_eq!(network.replace_token(token("b"), false, now()), None);
        let first = network.internal.previous_token.clone();
        assert!(first.is_some());
        // The answer with `b` was lost, and the platform repeats its request.
        assert_eq!(
            network.replace_token(token("c"), true, now()),
            Some(token("b"))
        );
        assert_eq!(network.internal.previous_token, first);
        assert_eq!(network.replace_token(token("d"), false, now()), first);
        assert_eq!(network.internal.previous_token, Some(token("c")));
    }

    #[test]
    fn a_revoked_network_stays_revoked_and_keeps_no_token() {
        let mut network = connected();
        network.set_status(NetworkStatus::Suspended, now()).unwrap();
        assert_eq!(network.internal.next_pull_at, None);
        network.set_status(NetworkStatus::Connected, now()).unwrap();
        network.set_status(NetworkStatus::Revoked, now()).unwrap();
        assert_eq!(network.internal, NetworkInternal::default());
        for status in [
            NetworkStatus::Connected,
            NetworkStatus::Suspended,
            NetworkStatus::Pending,
        ] {
            assert_eq!(network.set_status(status, now()).unwrap_err().status(), 409);
        }
        let mut pending = Stored::new(Network::pending("P".into(), Mode::Test, now()));
        let refused = pending
            .set_status(NetworkStatus::Connected, now())
            .unwrap_err();
        assert_eq!(refused.status(), 409);
    }

    #[test]
    fn a_suspended_network_that_renews_its_credentials_stays_suspended() {
        let mut network = connected();
        network.set_status(NetworkStatus::Suspended, now()).unwrap();
        network
            .register(registration(OcpiVersion::V2_2_1), &keys(), now())
            .unwrap();
        assert_eq!(network.object.status, NetworkStatus::Suspended);
        assert_eq!(network.object.version, Some(OcpiVersion::V2_2_1));
    }
}
