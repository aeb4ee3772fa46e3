//! What each function calls of the table, as `infra/access.json` has it: the roles of functions are made from that file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The file, relative to the repository.
pub const FILE: &str = "infra/access.json";

/// Calls of one action on rows of the table or of an index whose partition keys have the same pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The action that IAM checks: `GetItem`, and for each part of a transaction `PutItem`, `ConditionCheckItem` and so on.
    pub action: String,
    pub place: Place,
    /// The pattern of the partition keys, for the condition `dynamodb:LeadingKeys`.
    pub keys: String,
}

/// What a call reads or writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Table,
    Index(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table => f.write_str("table"),
            Self::Index(name) => write!(f, "index/{name}"),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.action, self.place, self.keys)
    }
}

impl FromStr for Access {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.splitn(3, ' ');
        let (Some(action), Some(place), Some(keys)) = (words.next(), words.next(), words.next())
        else {
            return Err(format!("{text:?} is not an action, a place and a pattern"));
        };
        let place = match place.strip_prefix("index/") {
            Some(index) => Place::Index(index.to_owned()),
            None if place == "table" => Place::Table,
            None => return Err(format!("{place:?} is neither the table nor an index")),
        };
        Ok(Self {
            action: action.to_owned(),
            place,
            keys: keys.to_owned(),
        })
    }
}

impl Serialize for Access {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Access {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The calls of each function, by the function's name.
pub type Recorded = BTreeMap<String, BTreeSet<Access>>;

/// Reads a file of recorded calls; one that is not there has none.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> std::io::Result<Recorded> {
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(std::io::Error::other),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Recorded::new()),
        Err(error) => Err(error),
    }
}
