//! The identity of the objects of charging networks.
//!
//! Terms:
//! - A *network* is a platform that this service exchanges data with; a *party* is one of the operators on it.
//! - The *owner* of an object is a party as part of a network. A party belongs to one network at a time. If it returns through another
//!   network, it is another owner: the objects of the previous owner do not change.
//! - A [`ForeignId`] is an id that a party assigns, such as that of a location, an EVSE, a session, a CDR or a tariff. It is unique within
//!   the party and the kind of object only.
//!
//! Invariant: ids of different parties are never compared. A `ForeignId` alone cannot be compared with anything; an [`ObjectId`] and an
//! [`EvseId`] can, because they carry the network and the party.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use kernel::time::HOUR;
use kernel::{Id, Kind, Timestamp};

/// Checks whether a `last_updated` is believed: it is at most an hour ahead of this service's clock. Any other value is replaced by the
/// time at which it was received.
pub fn is_believed(last_updated: Timestamp, now: Timestamp) -> bool {
    last_updated <= now.plus(HOUR)
}

/// A party: an ISO 3166-1 alpha-2 country code and a party id of three characters (ISO 15118). Both are case-insensitive and stored in
/// upper case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "RawPartyId")]
pub struct PartyId {
    country_code: String,
    party_id: String,
}

#[derive(Deserialize)]
struct RawPartyId {
    country_code: String,
    party_id: String,
}

impl TryFrom<RawPartyId> for PartyId {
    type Error = String;

    fn try_from(raw: RawPartyId) -> Result<Self, String> {
        Self::new(&raw.country_code, &raw.party_id)
    }
}

impl PartyId {
    /// Reads the two parts, in upper or lower case.
    ///
    /// # Errors
    /// The country code is not two letters, or the party id is not three letters or digits.
    pub fn new(country_code: &str, party_id: &str) -> Result<Self, String> {
        let (country, party) = (country_code.trim(), party_id.trim());
        if country.len() != 2 || !country.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err("country_code: expected two letters".into());
        }
        if party.len() != 3 || !party.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err("party_id: expected three letters or digits".into());
        }
        Ok(Self {
            country_code: country.to_ascii_uppercase(),
            party_id: party.to_ascii_uppercase(),
        })
    }

    /// Reads `hub_party_id` of OCPI 2.3.0, which is the two parts without anything between them.
    ///
    /// # Errors
    /// The text is not a country code and a party id.
    pub fn from_joined(text: &str) -> Result<Self, String> {
        match text.trim().split_at_checked(2) {
            Some((country, party)) => Self::new(country, party),
            None => Err("hub_party_id: expected five characters".into()),
        }
    }

    pub fn country_code(&self) -> &str {
        &self.country_code
    }

    pub fn party_id(&self) -> &str {
        &self.party_id
    }
}

impl fmt::Display for PartyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}*{}", self.country_code, self.party_id)
    }
}

/// The kinds of objects of networks that are stored as they are received, under the names of the modules of OCPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Module {
    Cdrs,
    HubClientInfo,
    Locations,
    Sessions,
    Tariffs,
}

impl Module {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Returns the maximum length of the id of such an object, in characters: 39 for CDRs, so that the CDR that credits another one may
    /// have its id and a suffix, and 36 for all others (`CiString` of OCPI 2.2.1 and 2.3.0).
    pub fn longest_id(self) -> usize {
        match self {
            Self::Cdrs => 39,
            Self::HubClientInfo | Self::Locations | Self::Sessions | Self::Tariffs => 36,
        }
    }
}

/// An id that a party has assigned, as the party writes it. It has no meaning without its party, so it cannot be compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ForeignId(String);

impl ForeignId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the same text for equal ids, which are case-insensitive.
    fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl From<String> for ForeignId {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for ForeignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns whether a text is a step in a path instead of a name, even if its dots are percent-encoded (RFC 3986, section 3.3).
pub(crate) fn is_path_step(text: &str) -> bool {
    matches!(text, "." | "..")
}

/// A party as part of a network.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    pub network: Id,
    #[serde(flatten)]
    pub party: PartyId,
}

impl Owner {
    pub fn new(network: Id, party: PartyId) -> Self {
        Self { network, party }
    }
}

impl fmt::Display for Owner {
    /// Writes `net_…#NL*EXA`, the form in the keys of the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.network, self.party)
    }
}

/// An object of a party. Two objects are equal if network, party and module are equal, and the ids are equal without regard to case.
#[derive(Debug, Clone)]
pub struct ObjectId {
    owner: Owner,
    module: Module,
    id: ForeignId,
}

impl ObjectId {
    /// # Errors
    /// The id is empty, too long for the module, `.` or `..`, or has characters that are not printable.
    pub fn new(owner: Owner, module: Module, id: &str) -> Result<Self, String> {
        let printable = id.chars().all(|character| !character.is_control());
        let longest = module.longest_id();
        if id.is_empty() || id.chars().count() > longest || !printable || is_path_step(id) {
            return Err(format!(
                "id: expected 1 to {longest} printable characters, and neither . nor .."
            ));
        }
        Ok(Self {
            owner,
            module,
            id: ForeignId(id.to_owned()),
        })
    }

    /// Returns another object of the same party.
    ///
    /// # Errors
    /// As [`ObjectId::new`].
    pub fn beside(&self, module: Module, id: &str) -> Result<Self, String> {
        Self::new(self.owner.clone(), module, id)
    }

    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    pub fn network(&self) -> &Id {
        &self.owner.network
    }

    pub fn party(&self) -> &PartyId {
        &self.owner.party
    }

    pub fn module(&self) -> Module {
        self.module
    }

    /// Returns the id as the party writes it.
    pub fn id(&self) -> &ForeignId {
        &self.id
    }

    /// Returns the id in lower case, which is the same for ids that are equal. Keys of the table contain it, and lists of the party's
    /// objects are ordered by it.
    pub fn order(&self) -> String {
        self.id.folded()
    }

    fn parts(&self) -> (&Owner, Module, String) {
        (&self.owner, self.module, self.id.folded())
    }
}

impl PartialEq for ObjectId {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for ObjectId {}

impl Hash for ObjectId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (owner, module) = (&self.owner, self.module.as_str());
        write!(f, "{owner}#{module}#{}", self.id)
    }
}

impl FromStr for ObjectId {
    type Err = String;

    /// Reads the form that `Display` writes.
    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let mut parts = text.splitn(4, '#');
            let network = Id::from(parts.next()?);
            let (country, party) = parts.next()?.split_once('*')?;
            let party = PartyId::new(country, party).ok()?;
            let module = Module::from_name(parts.next()?)?;
            let owner = Owner::new(network, party);
            let is_network = owner.network.is(Kind::Network);
            Self::new(owner, module, parts.next()?)
                .ok()
                .filter(|_| is_network)
        };
        read().ok_or_else(|| format!("{text:?} names no object of a network"))
    }
}

impl Serialize for ObjectId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObjectId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// An EVSE of a party's location.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EvseId {
    pub location: ObjectId,
    pub uid: ForeignId,
}

impl EvseId {
    pub fn new(location: ObjectId, uid: &str) -> Self {
        Self {
            location,
            uid: ForeignId(uid.to_owned()),
        }
    }

    pub fn owner(&self) -> &Owner {
        &self.location.owner
    }
}

impl PartialEq for EvseId {
    fn eq(&self, other: &Self) -> bool {
        self.location == other.location && self.uid.folded() == other.uid.folded()
    }
}

impl Eq for EvseId {}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(network: u128, party: &str) -> Owner {
        Owner::new(
            Id::from_number(Kind::Network, network),
            PartyId::new("BE", party).unwrap(),
        )
    }

    fn object(network: u128, party: &str, module: Module, id: &str) -> ObjectId {
        ObjectId::new(owner(network, party), module, id).unwrap()
    }

    #[test]
    fn a_party_is_the_same_in_capitals_or_not() {
        let party = PartyId::new("nl", "tNm").unwrap();
        assert_eq!(party, PartyId::new("NL", "TNM").unwrap());
        assert_eq!(party, PartyId::from_joined("NLtnm").unwrap());
        assert_eq!(party.to_string(), "NL*TNM");
        for (country, id) in [("N", "TNM"), ("N1", "TNM"), ("NL", "TN"), ("NL", "T*M")] {
            assert!(PartyId::new(country, id).is_err(), "{country} {id}");
        }
        assert!(PartyId::from_joined("NLTNMX").is_err() && PartyId::from_joined("ü").is_err());
    }

    #[test]
    fn objects_are_equal_within_one_party_of_one_network_only() {
        let id = object(1, "BEC", Module::Locations, "LOC1");
        assert_eq!(id, object(1, "bec", Module::Locations, "loc1"));
        for other in [
            object(2, "BEC", Module::Locations, "LOC1"),
            object(1, "RIV", Module::Locations, "LOC1"),
            object(1, "BEC", Module::Tariffs, "LOC1"),
            object(1, "BEC", Module::Locations, "LOC2"),
        ] {
            assert_ne!(id, other);
            assert_ne!(EvseId::new(id.clone(), "E1"), EvseId::new(other, "E1"));
        }
        assert_eq!(EvseId::new(id.clone(), "E1"), EvseId::new(id, "e1"));
    }

    #[test]
    fn an_object_is_read_as_it_was_written() {
        for id in ["LOC1", "a#1", "*", "ü"] {
            let written = object(7, "BEC", Module::Cdrs, id);
            let read: ObjectId = written.to_string().parse().unwrap();
            assert_eq!(read.to_string(), written.to_string());
            assert_eq!(read, written);
        }
        let network = Id::from_number(Kind::Network, 1);
        let driver = Id::from_number(Kind::Driver, 1);
        for wrong in [
            format!("{driver}#BE*BEC#cdrs#1"),
            format!("{network}#BEBEC#cdrs#1"),
            format!("{network}#BE*BEC#tokens#1"),
            format!("{network}#BE*BEC#cdrs#"),
        ] {
            assert!(wrong.parse::<ObjectId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ids_of_cdrs_have_39_characters_and_all_others_36() {
        let is_valid = |module, id: &str| ObjectId::new(owner(1, "BEC"), module, id).is_ok();
        for (module, longest) in [
            (Module::Cdrs, 39),
            (Module::HubClientInfo, 36),
            (Module::Locations, 36),
            (Module::Sessions, 36),
            (Module::Tariffs, 36),
        ] {
            assert!(is_valid(module, &"ü".repeat(longest)));
            assert!(!is_valid(module, &"x".repeat(longest + 1)));
            assert!(!is_valid(module, "") && !is_valid(module, "a\n"));
        }
    }

    #[test]
    fn an_id_is_no_step_in_a_path() {
        let is_valid = |id: &str| ObjectId::new(owner(1, "BEC"), Module::Sessions, id).is_ok();
        assert!(!is_valid(".") && !is_valid(".."));
        for id in ["...", "a.", ".a", "..a", "./", " ."] {
            assert!(is_valid(id), "{id}");
        }
    }
}
