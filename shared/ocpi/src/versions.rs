//! Versions of OCPI, and the endpoints of a version.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::party::Role;

/// A version of OCPI that this service supports.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::EnumString,
)]
pub enum OcpiVersion {
    #[serde(rename = "2.2.1")]
    #[strum(serialize = "2.2.1")]
    V2_2_1,
    #[serde(rename = "2.3.0")]
    #[strum(serialize = "2.3.0")]
    V2_3_0,
}

impl OcpiVersion {
    /// From the oldest to the newest.
    pub const ALL: [Self; 2] = [Self::V2_2_1, Self::V2_3_0];

    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

impl fmt::Display for OcpiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An element of the list at the versions endpoint. The version is a text, because other platforms may support more versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub version: String,
    pub url: String,
}

/// Returns the newest version of a list that this service supports.
pub fn best(versions: &[Version]) -> Option<(OcpiVersion, &str)> {
    let known = versions.iter().filter_map(|version| {
        Some((
            OcpiVersion::from_name(&version.version)?,
            version.url.as_str(),
        ))
    });
    known.max_by_key(|(version, _)| *version)
}

/// The response of the endpoint of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionDetails {
    pub version: String,
    pub endpoints: Vec<Endpoint>,
}

/// The address of a platform's interface of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The module, such as `locations`.
    pub identifier: String,
    #[serde(default)]
    pub role: InterfaceRole,
    pub url: String,
}

/// The side of a module's data that an interface is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum InterfaceRole {
    /// The owner of the data: others read from it.
    #[default]
    Sender,
    /// The recipients of the data.
    Receiver,
}

/// The modules with an interface that this service implements or calls.
pub mod module {
    pub const CDRS: &str = "cdrs";
    pub const CHARGING_PROFILES: &str = "chargingprofiles";
    pub const COMMANDS: &str = "commands";
    pub const CREDENTIALS: &str = "credentials";
    pub const HUB_CLIENT_INFO: &str = "hubclientinfo";
    pub const LOCATIONS: &str = "locations";
    pub const SESSIONS: &str = "sessions";
    pub const TARIFFS: &str = "tariffs";
    pub const TOKENS: &str = "tokens";
}

/// The interfaces that this service implements, as an eMSP. `credentials` has no role; the standard advises `SENDER`.
const INTERFACES: [(&str, InterfaceRole); 9] = [
    (module::CREDENTIALS, InterfaceRole::Sender),
    (module::CDRS, InterfaceRole::Receiver),
    (module::CHARGING_PROFILES, InterfaceRole::Sender),
    (module::COMMANDS, InterfaceRole::Sender),
    (module::HUB_CLIENT_INFO, InterfaceRole::Receiver),
    (module::LOCATIONS, InterfaceRole::Receiver),
    (module::SESSIONS, InterfaceRole::Receiver),
    (module::TARIFFS, InterfaceRole::Receiver),
    (module::TOKENS, InterfaceRole::Sender),
];

/// The addresses below which this service is found, such as `https://api.example.com`.
#[derive(Debug, Clone, Copy)]
pub struct OwnUrls<'a>(pub &'a str);

impl OwnUrls<'_> {
    /// Returns the address of the versions endpoint.
    pub fn versions(self) -> String {
        format!("{}/ocpi/versions", self.0)
    }

    /// Returns the list of versions.
    pub fn list(self) -> Vec<Version> {
        let version = |version: OcpiVersion| Version {
            version: version.to_string(),
            url: format!("{}/ocpi/{version}", self.0),
        };
        OcpiVersion::ALL.into_iter().map(version).collect()
    }

    /// Returns the endpoints of a version.
    pub fn details(self, version: OcpiVersion) -> VersionDetails {
        let endpoints = INTERFACES.iter().map(|(identifier, role)| Endpoint {
            identifier: (*identifier).to_owned(),
            role: *role,
            url: self.module(version, identifier),
        });
        VersionDetails {
            version: version.to_string(),
            endpoints: endpoints.collect(),
        }
    }

    /// Returns the address of a module.
    pub fn module(self, version: OcpiVersion, identifier: &str) -> String {
        format!("{}/ocpi/{version}/{identifier}", self.0)
    }

    /// Returns the address for the result of setting or clearing a charging profile.
    pub fn profile_result(self, version: OcpiVersion, id: &str) -> String {
        format!("{}/{id}", self.module(version, module::CHARGING_PROFILES))
    }

    /// Returns the address for the result of a command.
    pub fn command_result(self, version: OcpiVersion, command: &str, id: &str) -> String {
        format!("{}/{command}/{id}", self.module(version, module::COMMANDS))
    }
}

/// Returns the endpoints of modules that this service implements or calls, one of each interface. Others are removed.
pub fn known(endpoints: Vec<Endpoint>) -> Vec<Endpoint> {
    let mut known: Vec<Endpoint> = Vec::new();
    for endpoint in endpoints {
        let mut names = INTERFACES.iter().map(|(name, _)| name);
        let same = |other: &Endpoint| {
            other.role == endpoint.role
                && other.identifier.eq_ignore_ascii_case(&endpoint.identifier)
        };
        if names.any(|name| endpoint.identifier.eq_ignore_ascii_case(name))
            && !known.iter().any(same)
        {
            known.push(endpoint);
        }
    }
    known
}

/// Returns the address of an interface among the endpoints of a version. `credentials` is found whatever role it has.
pub fn find<'a>(
    endpoints: &'a [Endpoint],
    identifier: &str,
    role: InterfaceRole,
) -> Option<&'a str> {
    let named = |endpoint: &&Endpoint| endpoint.identifier.eq_ignore_ascii_case(identifier);
    let found = endpoints
        .iter()
        .filter(named)
        .find(|endpoint| endpoint.role == role || identifier == module::CREDENTIALS);
    found.map(|endpoint| endpoint.url.as_str())
}

/// Returns a required interface that a platform with these roles lacks: locations have to be read from a party that operates charging
/// stations, or passes them on.
pub fn missing(
    endpoints: &[Endpoint],
    roles: impl IntoIterator<Item = Role>,
) -> Option<&'static str> {
    let needed = roles
        .into_iter()
        .any(|role| matches!(role, Role::Cpo | Role::Hub));
    let there = find(endpoints, module::LOCATIONS, InterfaceRole::Sender).is_some();
    (needed && !there).then_some("locations SENDER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_both_speak_is_chosen() {
        let list = |names: &[&str]| -> Vec<Version> {
            let version = |name: &&str| Version {
                version: (*name).to_owned(),
                url: format!("https://cpo.example/{name}"),
            };
            names.iter().map(version).collect()
        };
        let chosen = |names: &[&str]| best(&list(names)).map(|(version, _)| version);
        assert_eq!(
            chosen(&["2.3.0", "2.1.1", "2.2.1"]),
            Some(OcpiVersion::V2_3_0)
        );
        assert_eq!(
            chosen(&["2.1.1", "2.2.1", "3.0"]),
            Some(OcpiVersion::V2_2_1)
        );
        assert_eq!(chosen(&["2.1.1", "2.2"]), None);
    }

    #[test]
    fn no_interface_is_listed_twice() {
        let details = OwnUrls("https://emsp.example").details(OcpiVersion::V2_2_1);
        for endpoint in &details.endpoints {
            let same = details.endpoints.iter().filter(|other| {
                (&other.identifier, other.role) == (&endpoint.identifier, endpoint.role)
            });
            assert_eq!(same.count(), 1, "{}", endpoint.identifier);
        }
        let url = find(&details.endpoints, "locations", InterfaceRole::Receiver);
        assert_eq!(url, Some("https://emsp.example/ocpi/2.2.1/locations"));
        assert_eq!(
            find(&details.endpoints, "locations", InterfaceRole::Sender),
            None
        );
    }

    #[test]
    fn locations_have_to_be_readable_from_an_operator_of_stations() {
        let details = OwnUrls("https://emsp.example").details(OcpiVersion::V2_2_1);
        assert!(missing(&details.endpoints, [Role::Cpo]).is_some());
        assert!(missing(&details.endpoints, [Role::Emsp]).is_none());
    }
}
