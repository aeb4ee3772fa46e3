//! The file `listen.json`: for each account and set of event types, the polling endpoint and the position up to which its events were
//! read.
//!
//! Each set has an endpoint of its own, so that runs with different types do not take each other's events. A run holds the lock of its
//! entry until it ends: two runs of one entry would share a position, and each would forward a part of the events. The file itself is
//! replaced under another lock, so that a run does not undo what another one has stored. The operating system releases the locks of a
//! process that ends, also if it is killed.
//!
//! Earlier versions had one entry for each account, whose name is that of an entry of today without the types. Such an entry is renamed
//! by the first run with the same types.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;
use crate::profile;

/// The subscription to all events.
const ALL: &str = "*";

/// The number of bytes of a hash in the name of the lock of an entry.
const HASH: usize = 8;

/// The position up to which the events of one account and set of types were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The polling endpoint. Empty before it is created.
    pub endpoint: String,
    /// The types of events that it is subscribed to.
    pub events: Vec<String>,
    /// None until the first response.
    pub cursor: Option<String>,
}

type Places = BTreeMap<String, Place>;

/// An entry of the file that no other process uses.
#[derive(Debug)]
pub struct Entry {
    file: PathBuf,
    /// The address, the masked key and the account.
    account: String,
    name: String,
    pub place: Place,
    /// The lock, which ends with this value.
    _lock: File,
}

impl Entry {
    /// Opens the entry of an account and of these types of events, in this file. The order of the types does not matter; without any, the
    /// entry is that of all events.
    ///
    /// # Errors
    /// Another process uses the entry, or the file cannot be used.
    pub fn open(file: &Path, account: &str, events: Vec<String>) -> Result<Self, Failure> {
        let events = sorted(events);
        let name = format!("{account} {}", events.join(","));
        let hash = hex::encode(&Sha256::digest(&name)[..HASH]);
        let lock = file.with_file_name(format!("listen-{hash}.lock"));
        let opened = profile::open_private(&lock).map_err(|error| unusable(&lock, &error))?;
        opened.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Failure::Local(format!(
                "another `fleet listen` reads these events of this account ({}), and each would forward only a part of them. End it, \
                 choose other types with --events, or set another FLEET_CONFIG_DIR: its runs have endpoints of their own",
                events.join(", ")
            )),
            TryLockError::Error(error) => unusable(&lock, &error),
        })?;
        let change = |places: &mut Places| {
            let of_earlier_version = places.get(account);
            if of_earlier_version.is_some_and(|place| sorted(place.events.clone()) == events)
                && let Some(place) = places.remove(account)
            {
                places.entry(name.clone()).or_insert(place);
            }
            places.get(&name).cloned().unwrap_or_default()
        };
        let mut place = changed(file, change)?;
        place.events = events;
        Ok(Self {
            file: file.to_owned(),
            account: account.to_owned(),
            name,
            place,
            _lock: opened,
        })
    }

    /// Stores the endpoint and the position.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn save(&self) -> Result<(), Failure> {
        changed(&self.file, |places| {
            places.insert(self.name.clone(), self.place.clone());
        })
    }

    /// The endpoints of the account for other sets of types.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn others(&self) -> Result<Vec<Place>, Failure> {
        let mut places = read(&self.file)?;
        let with_types = format!("{} ", self.account);
        places.retain(|name, place| {
            let of_account = *name == self.account || name.starts_with(&with_types);
            of_account && *name != self.name && !place.endpoint.is_empty()
        });
        Ok(places.into_values().collect())
    }
}

/// Runs a function while no other process changes the files beside the configuration.
///
/// # Errors
/// The lock cannot be used, or the function fails.
pub fn locked<T>(file: &Path, function: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let path = file.with_file_name("listen.lock");
    let lock = profile::open_private(&path).map_err(|error| unusable(&path, &error))?;
    lock.lock().map_err(|error| unusable(&path, &error))?;
    function()
}

/// The types in their order, each once.
fn sorted(mut events: Vec<String>) -> Vec<String> {
    if events.is_empty() || events.iter().any(|event| event == ALL) {
        return vec![ALL.to_owned()];
    }
    events.sort();
    events.dedup();
    events
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Local(format!("{}: {error}", file.display()))
}

fn read(file: &Path) -> Result<Places, Failure> {
    match fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| unusable(file, &error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Places::default()),
        Err(error) => Err(unusable(file, &error)),
    }
}

/// Changes the entries, and replaces the file if they differ then. Returns the result of the change.
fn changed<T>(file: &Path, change: impl FnOnce(&mut Places) -> T) -> Result<T, Failure> {
    locked(file, || {
        let before = read(file)?;
        let mut places = before.clone();
        let result = change(&mut places);
        if places != before {
            let text = serde_json::to_string_pretty(&places).map_err(Failure::local)?;
            profile::replace(file, &text)?;
        }
        Ok(result)
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const ACCOUNT: &str = "http://127.0.0.1:8787/ sk_test_…cdef ";

    /// The file, in a folder that is deleted with the test.
    fn file() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("listen.json");
        (folder, path)
    }

    fn types(types: &[&str]) -> Vec<String> {
        types.iter().map(|name| (*name).to_owned()).collect()
    }

    fn open(file: &Path, events: &[&str]) -> Result<Entry, Failure> {
        Entry::open(file, ACCOUNT, types(events))
    }

    #[test]
    fn each_set_of_types_has_an_entry_whatever_its_order() {
        let (_folder, file) = file();
        let mut both = open(&file, &["b", "a", "b"]).unwrap();
        both.place.endpoint = "wh_1".into();
        both.save().unwrap();
        let mut all = open(&file, &[]).unwrap();
        assert_eq!(all.place.endpoint, "");
        all.place.endpoint = "wh_2".into();
        all.save().unwrap();
        let others: Vec<String> = all
            .others()
            .unwrap()
            .into_iter()
            .map(|other| other.endpoint)
            .collect();
        assert_eq!(others, ["wh_1"]);
        drop((both, all));
        assert_eq!(open(&file, &["a", "b"]).unwrap().place.endpoint, "wh_1");
        assert_eq!(open(&file, &["*", "a"]).unwrap().place.endpoint, "wh_2");
        assert_eq!(open(&file, &["a"]).unwrap().place.endpoint, "");
        let child = Entry::open(&file, &format!("{ACCOUNT}acct_1"), Vec::new()).unwrap();
        assert_eq!(
            (child.place.endpoint.as_str(), child.others().unwrap().len()),
            ("", 0)
        );
    }

    #[test]
    fn an_entry_can_be_opened_by_one_run_at_a_time() {
        let (_folder, file) = file();
        let first = open(&file, &["a", "b"]).unwrap();
        let second = open(&file, &["b", "a"]).unwrap_err().to_string();
        assert!(second.contains("another `fleet listen`"), "{second}");
        open(&file, &["a"]).unwrap();
        drop(first);
        open(&file, &["a", "b"]).unwrap();
    }

    #[test]
    fn runs_that_store_at_the_same_time_keep_all_entries() {
        let (_folder, file) = file();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let file = &file;
                scope.spawn(move || {
                    let mut entry = open(file, &[&format!("type_{n}")]).unwrap();
                    for cursor in 0..10 {
                        entry.place.cursor = Some(cursor.to_string());
                        entry.save().unwrap();
                    }
                });
            }
        });
        let places = read(&file).unwrap();
        assert_eq!(places.len(), 8);
        assert!(
            places
                .values()
                .all(|place| place.cursor.as_deref() == Some("9")),
            "{places:?}"
        );
    }

    #[test]
    fn an_entry_of_an_earlier_version_is_used_for_its_types() {
        let (_folder, file) = file();
        let earlier = r#"{"http://127.0.0.1:8787/ sk_test_…cdef ": {"endpoint": "wh_1", "events": ["b", "a"], "cursor": "c1"}}"#;
        fs::write(&file, earlier).unwrap();
        assert_eq!(open(&file, &["a"]).unwrap().place.endpoint, "");
        assert_eq!(fs::read_to_string(&file).unwrap(), earlier);
        let place = open(&file, &["a", "b"]).unwrap().place;
        assert_eq!(
            (place.endpoint.as_str(), place.cursor.as_deref()),
            ("wh_1", Some("c1"))
        );
        let names: Vec<String> = read(&file).unwrap().into_keys().collect();
        assert_eq!(names, [format!("{ACCOUNT} a,b")]);
    }
}
