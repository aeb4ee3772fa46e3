//! Networks: the platforms of other parties that this service is connected to.
//!
//! A platform is one connection and hosts one or several parties; a hub passes messages on for parties that are connected to it. An
//! operator of this service creates a network in one of two ways: by issuing a token A with which the platform registers, or by connecting
//! to the platform with a token A that its operator has issued.
//!
//! Parties behind a hub: those that operate charging stations come from the hub's credentials and from its HubClientInfo. Each awaits the
//! approval of an operator, unless the operator has marked the hub as trusted. So does each party that any other platform names only when
//! it renews its credentials. Until then no object of the party is stored and no message is sent to it. The hub also reports whether a
//! party can be reached: no command is sent to a party that is not `CONNECTED`, and its stations are not matched. Objects that arrive from
//! it are stored nevertheless.
//!
//! Life cycle: `pending` until the credentials are exchanged, then `connected`. An operator can suspend a connected network and
//! connect it again: while it is suspended, its requests are refused and nothing is sent to it. `revoked` is final: the tokens are
//! deleted, and its parties may be part of another network. A network is revoked by an operator, or by its platform with
//! `DELETE credentials`.
//!
//! Invariants: an approved party belongs to at most one network of a mode that is not revoked, so that no other network can write its
//! objects. A network has at most 500 parties, so that its item stays below 400 kB. Of the tokens that this service issues only the SHA-256
//! is stored; those that it sends are stored encrypted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::credentials::{Credentials, CredentialsRole, CredentialsToken};
use super::party::{PartyId, PartyStatus, Role};
use super::token::ClientInfo;
use super::versions::{self, Endpoint, InterfaceRole, OcpiVersion};
use kernel::encryption::{Encrypted, EncryptionKeys};
use kernel::time::HOUR;
use kernel::{Error, Id, Kind, Mode, Result, Timestamp};
use models::network::Owner;
use models::stored::Object;
use models::{Action, Stored};

/// The maximum number of parties of a network, and the maximum stored length of a party's name, in characters.
pub const MAX_PARTIES: usize = 500;
const MAX_PARTY_NAME: usize = 100;

/// A platform that this service exchanges data with, in the view of operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    pub id: Id,
    pub object: Kind,
    /// The time of the last exchange of credentials.
    pub connected_at: Option<Timestamp>,
    pub created: Timestamp,
    /// The platform's interfaces in that version.
    pub endpoints: Vec<Endpoint>,
    pub mode: Mode,
    /// The name that operators use.
    pub name: String,
    /// The parties on this platform or behind it, once for each of their roles.
    pub parties: Vec<NetworkParty>,
    pub status: NetworkStatus,
    /// Whether the parties that a hub reports are approved automatically.
    #[serde(default)]
    pub trusts_parties: bool,
    pub updated: Timestamp,
    /// The version that both sides use; null before the credentials are exchanged.
    pub version: Option<OcpiVersion>,
    pub versions_url: Option<String>,
}

/// A party on a platform, in one of its roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkParty {
    #[serde(flatten)]
    pub id: PartyId,
    pub name: String,
    pub role: Role,
    /// Whether an operator has to approve the party before it may write objects and is sent commands.
    #[serde(default)]
    pub awaits_approval: bool,
    /// `CONNECTED` unless the hub has reported something else.
    #[serde(default)]
    pub status: PartyStatus,
    /// `last_updated` of the hub's last report; `None` for a party that only the credentials contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<Timestamp>,
    /// The time of the last change of its status or its approval, or of its first report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<Timestamp>,
}

/// The reason why an object of a party is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartyRefusal {
    #[error("is not one of the platform's parties that operate charging stations")]
    Unknown,
    #[error("awaits the approval of an operator of this service")]
    NotApproved,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkStatus {
    Pending,
    Connected,
    Suspended,
    Revoked,
}

/// The internal state of a network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkInternal {
    /// The token with which the platform authenticates.
    pub token: Option<OwnToken>,
    /// The previous token. The modules `versions` and `credentials` accept it until the platform has used the new one: if the response with
    /// the new token was lost, the platform repeats its request with the old one.
    pub previous_token: Option<OwnToken>,
    /// The token with which this service authenticates at the platform.
    pub foreign_token: Option<Encrypted>,
    /// The address of this service that was sent to the platform, such as `https://api.example.com`.
    pub own_url: Option<String>,
    /// The time of the next pull from the platform.
    pub next_pull_at: Option<Timestamp>,
    /// While a function pulls from the platform: the time until which no other function may, unless the pull ends earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulling_until: Option<Timestamp>,
    /// The time at which a full pull was requested: a full pull that began before does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_pull_asked: Option<Timestamp>,
    /// The time at which the network was suspended. It is kept until the suspension ends: tokens that have changed since are sent then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_at: Option<Timestamp>,
}

/// A token that this service has issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnToken {
    /// SHA-256 in hexadecimal.
    pub hash: String,
    /// Whether it is only for registration (token A).
    pub registers: bool,
    /// The time at which the exchange of credentials began in which the platform was given this token; `None` for a token that was
    /// issued otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange_began: Option<Timestamp>,
}

impl OwnToken {
    pub fn new(token: &CredentialsToken, registers: bool) -> Self {
        Self {
            hash: token.hash(),
            registers,
            exchange_began: None,
        }
    }
}

impl Object for Network {
    type Internal = NetworkInternal;

    const KIND: Kind = Kind::Network;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.next_pull_at;
        let at = at.filter(|_| stored.object.status == NetworkStatus::Connected);
        let lease = stored.internal.pulling_until;
        at.map(|at| (lease.map_or(at, |lease| at.max(lease)), Action::PullNetwork))
    }
}

/// The agreement of both sides after the exchange of credentials.
#[derive(Debug, Clone)]
pub struct Registration {
    pub version: OcpiVersion,
    pub endpoints: Vec<Endpoint>,
    /// The platform's credentials object; this service sends its token from now on.
    pub credentials: Credentials,
}

impl Network {
    /// Returns a network whose credentials have not been exchanged.
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
            trusts_parties: false,
            updated: now,
            version: None,
            versions_url: None,
        }
    }

    /// Returns whether a party may send messages over this connection.
    pub fn has_party(&self, id: &PartyId) -> bool {
        let mut roles = self.parties.iter().filter(|party| party.id == *id);
        roles.any(|party| !party.awaits_approval)
    }

    /// Returns the party with that id, if it operates charging stations and may write objects.
    ///
    /// # Errors
    /// A refusal if the platform has no such party, or it is not approved.
    pub fn operator(&self, id: &PartyId) -> Result<&NetworkParty, PartyRefusal> {
        let mut parties = self.parties.iter();
        let party = parties.find(|party| party.id == *id && party.role == Role::Cpo);
        match party.ok_or(PartyRefusal::Unknown)? {
            party if party.awaits_approval => Err(PartyRefusal::NotApproved),
            party => Ok(party),
        }
    }

    /// Returns whether this service and the network exchange data.
    pub fn is_connected(&self) -> bool {
        self.status == NetworkStatus::Connected
    }

    /// Returns whether commands may be sent to a party, so that its stations can be matched and sessions can start there.
    pub fn reaches(&self, id: &PartyId) -> bool {
        let operator = self.operator(id);
        self.is_connected() && operator.is_ok_and(|party| party.status == PartyStatus::Connected)
    }

    /// Returns the parties that belong to this network and to no other.
    pub fn own_parties(&self) -> BTreeSet<PartyId> {
        let own = self.parties.iter().filter(|party| !party.awaits_approval);
        own.map(|party| party.id.clone()).collect()
    }

    /// Returns the party as part of this network, if it operates charging stations and may write objects.
    ///
    /// # Errors
    /// As for [`Network::operator`].
    pub fn owner(&self, party: &PartyId) -> Result<Owner, PartyRefusal> {
        let party = self.operator(party)?.id.clone();
        let network = self.id.clone();
        Ok(Owner::new(network, party))
    }

    /// Returns whether the platform passes messages on for other parties.
    pub fn is_hub(&self) -> bool {
        self.parties.iter().any(|party| party.role == Role::Hub)
    }

    /// Returns the party to which messages to the platform itself are addressed: the hub, otherwise the first operator of charge points,
    /// otherwise the first party.
    pub fn main_party(&self) -> Option<&PartyId> {
        let first = |role: Role| self.parties.iter().find(|party| party.role == role);
        let party = first(Role::Hub).or_else(|| first(Role::Cpo));
        party.or(self.parties.first()).map(|party| &party.id)
    }

    /// Returns the address of one of the platform's interfaces.
    pub fn endpoint(&self, module: &str, role: InterfaceRole) -> Option<&str> {
        versions::find(&self.endpoints, module, role)
    }

    /// Stores the result of the exchange of credentials. Objects are pulled at once. Parties that a hub has reported are kept as long as
    /// the platform is a hub.
    ///
    /// # Errors
    /// `Internal` if the platform's token cannot be encrypted.
    pub fn register(
        stored: &mut Stored<Self>,
        registration: Registration,
        keys: &EncryptionKeys,
        now: Timestamp,
    ) -> Result<()> {
        let Registration {
            version,
            endpoints,
            credentials,
        } = registration;
        let token = keys.encrypt(&token_context(&stored.object), &credentials.token)?;
        Self::replace_parties(
            stored,
            credentials.roles,
            credentials.hub_party_id.as_deref(),
            now,
        );
        let network = &mut stored.object;
        network.endpoints = endpoints;
        network.version = Some(version);
        network.versions_url = Some(credentials.url);
        network.connected_at = Some(now);
        network.updated = now;
        if network.status == NetworkStatus::Pending {
            network.status = NetworkStatus::Connected;
        }
        stored.internal.foreign_token = Some(token);
        stored.internal.next_pull_at = Some(now);
        Ok(())
    }

    /// Replaces the token with which the platform authenticates. Returns the token that is no longer valid: the previous one, or the
    /// current one if the platform has not received that and `repeated` its request with the previous one.
    pub fn replace_token(
        stored: &mut Stored<Self>,
        token: OwnToken,
        repeated: bool,
        now: Timestamp,
    ) -> Option<OwnToken> {
        stored.object.updated = now;
        let replaced = stored.internal.token.replace(token);
        if repeated {
            replaced
        } else {
            std::mem::replace(&mut stored.internal.previous_token, replaced)
        }
    }

    /// Returns the token with which this service authenticates at the platform.
    ///
    /// # Errors
    /// `Internal` if there is none, or it cannot be decrypted.
    pub fn foreign_token(stored: &Stored<Self>, keys: &EncryptionKeys) -> Result<CredentialsToken> {
        let encrypted = stored.internal.foreign_token.as_ref();
        let encrypted = encrypted.ok_or_else(|| Error::internal("the network has no token"))?;
        let token = keys.decrypt(&token_context(&stored.object), encrypted)?;
        CredentialsToken::foreign(&token).map_err(Error::internal)
    }

    /// Replaces the parties by those in the credentials, and keeps those that the platform has reported as a hub. The token A of an operator
    /// approves the parties that operate charging stations and that the platform names when it registers, unless it is a hub. Parties that
    /// it names later await approval, also those that it has left out in the meantime.
    fn replace_parties(
        stored: &mut Stored<Self>,
        roles: Vec<CredentialsRole>,
        hub: Option<&str>,
        now: Timestamp,
    ) {
        let network = &mut stored.object;
        let before = std::mem::take(&mut network.parties);
        let is_hub = hub.is_some() || roles.iter().any(|role| role.role == Role::Hub);
        let is_approved = network.trusts_parties || before.is_empty() && !is_hub;
        let named = roles.into_iter().map(|role| {
            let name = role.business_details.name;
            (role.party, role.role, name)
        });
        let hub = hub.and_then(|id| PartyId::from_joined(id).ok());
        let hub = hub.map(|id| (id, Role::Hub, network.name.clone()));
        for (id, role, name) in named.chain(hub) {
            let same = |party: &NetworkParty| party.id == id && party.role == role;
            if network.parties.iter().any(same) {
                continue;
            }
            let name = name.chars().take(MAX_PARTY_NAME).collect();
            network
                .parties
                .push(match before.iter().find(|party| same(party)) {
                    Some(known) => NetworkParty {
                        name,
                        ..known.clone()
                    },
                    None => NetworkParty {
                        awaits_approval: role == Role::Cpo && !is_approved,
                        status: PartyStatus::Connected,
                        reported: None,
                        changed: Some(now),
                        id,
                        name,
                        role,
                    },
                });
        }
        let parties = &mut network.parties;
        for party in before
            .into_iter()
            .filter(|party| is_hub && party.reported.is_some())
        {
            let is_kept = |kept: &NetworkParty| kept.id == party.id && kept.role == party.role;
            if parties.len() < MAX_PARTIES && !parties.iter().any(is_kept) {
                parties.push(party);
            }
        }
    }

    /// Stores a hub's report about a party, unless it has reported something newer. Only parties that operate charging stations are kept.
    /// Returns whether anything has changed. Objects have to be pulled from a party that is new and approved.
    ///
    /// # Errors
    /// Fails if the network has the maximum number of parties.
    pub fn report_party(
        stored: &mut Stored<Self>,
        report: &ClientInfo,
        now: Timestamp,
    ) -> Result<bool, String> {
        if report.role != Role::Cpo {
            return Ok(false);
        }
        let network = &mut stored.object;
        let updated = report.last_updated.unwrap_or(now);
        // The clock of the hub is not trusted.
        let updated = if updated > now.plus(HOUR) {
            now
        } else {
            updated
        };
        let count = network.parties.len();
        let mut parties = network.parties.iter_mut();
        let known = parties.find(|party| party.id == report.party && party.role == Role::Cpo);
        match known {
            Some(known)
                if known.reported > Some(updated)
                    || (known.reported == Some(updated) && known.status == report.status) =>
            {
                return Ok(false);
            }
            Some(known) => {
                if known.status != report.status {
                    known.status = report.status;
                    known.changed = Some(now);
                }
                known.reported = Some(updated);
            }
            None if count >= MAX_PARTIES => {
                return Err(format!("the platform has {MAX_PARTIES} parties already"));
            }
            None => network.parties.push(NetworkParty {
                id: report.party.clone(),
                name: report.party.to_string(),
                role: Role::Cpo,
                awaits_approval: !network.trusts_parties,
                status: report.status,
                reported: Some(updated),
                changed: Some(now),
            }),
        }
        network.updated = now;
        Ok(true)
    }

    /// Approves a party that operates charging stations, or revokes its approval.
    ///
    /// # Errors
    /// 400 if the network has no such party.
    pub fn approve(
        stored: &mut Stored<Self>,
        id: &PartyId,
        is_approved: bool,
        now: Timestamp,
    ) -> Result<()> {
        let mut parties = stored.object.parties.iter_mut();
        let party = parties.find(|party| party.id == *id && party.role == Role::Cpo);
        let Some(party) = party else {
            let message = format!("{id} {}", PartyRefusal::Unknown);
            return Err(Error::invalid("parties", message));
        };
        if party.awaits_approval == is_approved {
            party.awaits_approval = !is_approved;
            party.changed = Some(now);
            stored.object.updated = now;
        }
        Ok(())
    }

    /// Requests a full pull from the network. A pull that has begun is continued first.
    pub fn ask_for_full_pull(stored: &mut Stored<Self>, now: Timestamp) {
        stored.internal.full_pull_asked = Some(now);
        // A pull that is due already, or in progress, is followed by a full one.
        let is_due = stored.is_due(Action::PullNetwork, now);
        if stored.object.status == NetworkStatus::Connected && !is_due {
            stored.internal.next_pull_at = Some(now);
        }
    }

    /// Sets the status at the request of an operator or the platform.
    ///
    /// # Errors
    /// 409 if the network is revoked, or is to be suspended or connected without having been connected.
    pub fn set_status(
        stored: &mut Stored<Self>,
        status: NetworkStatus,
        now: Timestamp,
    ) -> Result<()> {
        use NetworkStatus::{Connected, Pending, Revoked, Suspended};
        let refused = match (stored.object.status, status) {
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
        stored.object.status = status;
        stored.object.updated = now;
        match status {
            Revoked => stored.internal = NetworkInternal::default(),
            Suspended => {
                stored.internal.next_pull_at = None;
                stored.internal.suspended_at.get_or_insert(now);
            }
            // Changes that were missed in the meantime are pulled.
            Connected => {
                stored.internal.next_pull_at = Some(now);
                stored.internal.suspended_at = None;
            }
            Pending => {}
        }
        Ok(())
    }
}

/// Returns the item and field of a foreign token.
pub fn token_context(network: &Network) -> String {
    format!("{} {} foreign_token", network.mode, network.id)
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
        Network::replace_token(&mut network, OwnToken::new(&token, true), false, now());
        Network::register(
            &mut network,
            registration(OcpiVersion::V2_3_0),
            &keys(),
            now(),
        )
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
        assert_eq!(
            Network::foreign_token(&network, &keys()).unwrap().expose(),
            "token-b"
        );
        let stored = serde_json::to_string(&network.internal).unwrap();
        assert!(!stored.contains("token-b"));
        assert!(
            !serde_json::to_string(&network.object)
                .unwrap()
                .contains("token-b")
        );
    }

    fn report(id: &str, role: Role, status: PartyStatus, at: Timestamp) -> ClientInfo {
        ClientInfo {
            party: PartyId::new("NL", id).unwrap(),
            role,
            status,
            last_updated: Some(at),
        }
    }

    #[test]
    fn a_party_behind_a_hub_is_reachable_if_approved_and_connected() {
        use PartyStatus::{Connected, Offline, Planned, Suspended};
        let mut hub = connected();
        let party = PartyId::new("NL", "EXA").unwrap();
        let operator = |hub: &Stored<Network>| hub.object.operator(&party).map(drop);
        // The platform is a hub, so its credentials approve no party.
        assert_eq!(operator(&hub), Err(PartyRefusal::NotApproved));
        assert!(!hub.object.reaches(&party) && !hub.object.has_party(&party));
        Network::approve(&mut hub, &party, true, now()).unwrap();
        assert!(hub.object.reaches(&party) && hub.object.has_party(&party));
        for (minutes, status) in [(1, Offline), (2, Planned), (3, Suspended), (4, Connected)] {
            let at = now().plus(kernel::time::minutes(minutes));
            let reported = report("EXA", Role::Cpo, status, at);
            assert_eq!(Network::report_party(&mut hub, &reported, at), Ok(true));
            assert_eq!(hub.object.reaches(&party), status == Connected);
            assert_eq!(operator(&hub), Ok(()), "its objects are taken all the same");
            let late = report("EXA", Role::Cpo, Offline, now());
            assert_eq!(Network::report_party(&mut hub, &late, at), Ok(false));
            // Of two reports of the same second, the later one counts; the same report changes nothing.
            for (status, is_change) in [(Planned, status != Planned), (status, status != Planned)] {
                let again = report("EXA", Role::Cpo, status, at);
                let changed = Network::report_party(&mut hub, &again, at);
                assert_eq!(changed, Ok(is_change));
            }
        }
        Network::approve(&mut hub, &party, false, now()).unwrap();
        assert!(!hub.object.reaches(&party) && hub.object.own_parties().len() == 1);
        let unknown = PartyId::new("NL", "OTH").unwrap();
        assert!(Network::approve(&mut hub, &unknown, true, now()).is_err());
    }

    #[test]
    fn a_party_has_one_entry_for_each_role_and_the_hub_stays_a_hub() {
        let mut hub = connected();
        let own = PartyId::new("NL", "HUB").unwrap();
        let reported = |role| report("HUB", role, PartyStatus::Connected, now());
        assert_eq!(
            Network::report_party(&mut hub, &reported(Role::Emsp), now()),
            Ok(false)
        );
        assert_eq!(
            Network::report_party(&mut hub, &reported(Role::Cpo), now()),
            Ok(true)
        );
        assert!(hub.object.is_hub() && hub.object.main_party() == Some(&own));
        assert_eq!(hub.object.operator(&own), Err(PartyRefusal::NotApproved));
        let mut both = registration(OcpiVersion::V2_2_1);
        let mut emsp = both.credentials.roles[0].clone();
        emsp.role = Role::Emsp;
        both.credentials.roles = vec![emsp.clone(), both.credentials.roles[0].clone(), emsp];
        both.credentials.hub_party_id = None;
        let mut platform = Stored::new(Network::pending("P".into(), Mode::Test, now()));
        Network::register(&mut platform, both, &keys(), now()).unwrap();
        let party = PartyId::new("NL", "EXA").unwrap();
        assert_eq!(platform.object.parties.len(), 2);
        assert!(platform.object.operator(&party).is_ok());
    }

    #[test]
    fn a_hub_that_renews_its_credentials_keeps_its_parties() {
        let mut hub = connected();
        let reported = report("ONE", Role::Cpo, PartyStatus::Offline, now());
        Network::report_party(&mut hub, &reported, now()).unwrap();
        let party = PartyId::new("NL", "ONE").unwrap();
        Network::approve(&mut hub, &party, true, now()).unwrap();
        let before = hub.object.parties.clone();
        let renewed = registration(OcpiVersion::V2_2_1);
        Network::register(&mut hub, renewed, &keys(), now()).unwrap();
        assert_eq!(hub.object.parties, before);
        let mut no_hub = registration(OcpiVersion::V2_2_1);
        no_hub.credentials.hub_party_id = None;
        Network::register(&mut hub, no_hub, &keys(), now()).unwrap();
        assert_eq!(hub.object.operator(&party), Err(PartyRefusal::Unknown));
    }

    #[test]
    fn renewed_credentials_approve_no_further_party() {
        let mut network = Stored::new(Network::pending("P".into(), Mode::Test, now()));
        let mut renew = |parties: &[&str], is_hub: bool| {
            let mut registration = registration(OcpiVersion::V2_2_1);
            let role = registration.credentials.roles[0].clone();
            let roles = parties.iter().map(|party| CredentialsRole {
                party: PartyId::new("NL", party).unwrap(),
                ..role.clone()
            });
            registration.credentials.roles = roles.collect();
            registration.credentials.hub_party_id = is_hub.then(|| "NLHUB".to_owned());
            Network::register(&mut network, registration, &keys(), now()).unwrap();
            let operators = network.object.parties.iter();
            operators
                .filter(|party| party.role == Role::Cpo)
                .map(|party| (party.id.party_id().to_owned(), party.awaits_approval))
                .collect::<Vec<_>>()
        };
        let party = |id: &str, awaits_approval| (id.to_owned(), awaits_approval);
        assert_eq!(renew(&["ONE"], false), [party("ONE", false)]);
        let both = [party("ONE", false), party("TWO", true)];
        assert_eq!(renew(&["ONE", "TWO"], false), both);
        assert_eq!(renew(&["ONE", "TWO"], true), both);
        assert_eq!(renew(&["TWO"], false), [party("TWO", true)]);
        assert_eq!(
            renew(&["ONE", "TWO"], false),
            [party("ONE", true), party("TWO", true)]
        );
    }

    #[test]
    fn a_network_with_all_the_parties_it_may_have_fits_an_item() {
        let mut hub = connected();
        hub.object.trusts_parties = true;
        let digits = |n: usize| format!("{}{:02}", char::from(b'A' + (n / 100) as u8), n % 100);
        let reported = |n| report(&digits(n), Role::Cpo, PartyStatus::Connected, now());
        for n in 0..MAX_PARTIES - hub.object.parties.len() {
            assert_eq!(
                Network::report_party(&mut hub, &reported(n), now()),
                Ok(true),
                "{n}"
            );
        }
        let refused = Network::report_party(&mut hub, &reported(MAX_PARTIES), now());
        assert!(refused.unwrap_err().contains("500"));
        for party in &mut hub.object.parties {
            party.name = "\u{1f50c}".repeat(MAX_PARTY_NAME);
        }
        let size = serde_json::to_vec(&hub.object).unwrap().len();
        assert!(size < 350_000, "{size} bytes");
    }

    #[test]
    fn two_tokens_are_accepted_at_most() {
        let mut network = connected();
        let token = |n: &str| OwnToken {
            hash: n.into(),
            registers: false,
            exchange_began: None,
        };
        assert_eq!(
            Network::replace_token(&mut network, token("b"), false, now()),
            None
        );
        let first = network.internal.previous_token.clone();
        assert!(first.is_some());
        // The response with `b` was lost, and the platform repeats its request.
        assert_eq!(
            Network::replace_token(&mut network, token("c"), true, now()),
            Some(token("b"))
        );
        assert_eq!(network.internal.previous_token, first);
        assert_eq!(
            Network::replace_token(&mut network, token("d"), false, now()),
            first
        );
        assert_eq!(network.internal.previous_token, Some(token("c")));
    }

    #[test]
    fn a_revoked_network_stays_revoked_and_keeps_no_token() {
        let mut network = connected();
        Network::set_status(&mut network, NetworkStatus::Suspended, now()).unwrap();
        assert_eq!(network.internal.next_pull_at, None);
        Network::set_status(&mut network, NetworkStatus::Connected, now()).unwrap();
        Network::set_status(&mut network, NetworkStatus::Revoked, now()).unwrap();
        assert_eq!(network.internal, NetworkInternal::default());
        for status in [
            NetworkStatus::Connected,
            NetworkStatus::Suspended,
            NetworkStatus::Pending,
        ] {
            assert_eq!(
                Network::set_status(&mut network, status, now())
                    .unwrap_err()
                    .class(),
                kernel::error::ErrorClass::Conflict
            );
        }
        let mut pending = Stored::new(Network::pending("P".into(), Mode::Test, now()));
        let refused =
            Network::set_status(&mut pending, NetworkStatus::Connected, now()).unwrap_err();
        assert_eq!(refused.class(), kernel::error::ErrorClass::Conflict);
    }

    #[test]
    fn renewing_credentials_keeps_a_network_suspended() {
        let mut network = connected();
        Network::set_status(&mut network, NetworkStatus::Suspended, now()).unwrap();
        Network::register(
            &mut network,
            registration(OcpiVersion::V2_2_1),
            &keys(),
            now(),
        )
        .unwrap();
        assert_eq!(network.object.status, NetworkStatus::Suspended);
        assert_eq!(network.object.version, Some(OcpiVersion::V2_2_1));
    }
}
