//! The journal of an import: what was sent, and what became of it, one JSON object per line.
//!
//! Each entry is written with one call, so a kill at any moment leaves whole entries and perhaps the beginning of one, which the
//! next run removes. A line is noted before it is sent. The file is locked while an import uses it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Where the objects are created: a journal is of use for that place only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    pub resource: String,
    pub base_url: String,
    pub account: Option<String>,
}

/// What is known about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// When it was first sent, by the clock of this machine.
    pub sent: Timestamp,
    /// The object that was created.
    pub id: Option<String>,
    pub attached: bool,
    /// Whether the service refused it the last time.
    pub refused: bool,
}

impl Progress {
    /// Whether nothing is left to do.
    pub fn is_done(&self, attaches: bool) -> bool {
        self.id.is_some() && (self.attached || !attaches)
    }
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case", deny_unknown_fields)]
enum Entry {
    /// The first one.
    Import {
        target: Target,
    },
    Sent {
        key: String,
        line: u64,
        at: Timestamp,
    },
    Created {
        key: String,
        id: String,
    },
    Attached {
        key: String,
    },
    Refused {
        key: String,
    },
}

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    file: Mutex<File>,
    path: PathBuf,
}

impl Journal {
    /// Opens a journal, or begins one, and reads what earlier runs did, by the keys of lines.
    ///
    /// # Errors
    /// The file cannot be used, is of another target, is no journal, or another import uses it.
    pub fn open(
        path: &Path,
        target: &Target,
    ) -> Result<(Self, BTreeMap<String, Progress>), Failure> {
        let wrong =
            |why: &dyn std::fmt::Display| Failure::Local(format!("{}: {why}", path.display()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(|error| wrong(&error))?;
        file.try_lock()
            .map_err(|_| wrong(&"another import uses this journal"))?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)
            .map_err(|error| wrong(&error))?;
        // What follows the last line feed was cut off.
        let whole = content
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |place| place + 1);
        let begin = Entry::Import {
            target: target.clone(),
        };
        let foreign = || wrong(&"this is not the journal of an import");
        let mut entries = content[..whole]
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| serde_json::from_slice::<Entry>(line).map_err(|_| foreign()));
        let begun = match entries.next().transpose()? {
            Some(Entry::Import { target: known }) if known == *target => true,
            Some(Entry::Import { target: known }) => {
                let why = format!(
                    "this journal is of an import of {} into {}; name another one with --journal",
                    known.resource, known.base_url
                );
                return Err(wrong(&why));
            }
            Some(_) => return Err(foreign()),
            None if line(&begin).starts_with(&content) => false,
            None => return Err(foreign()),
        };
        let mut progress = BTreeMap::new();
        for entry in entries {
            note(&mut progress, entry?);
        }
        file.set_len(whole as u64).map_err(|error| wrong(&error))?;
        file.seek(SeekFrom::Start(whole as u64))
            .map_err(|error| wrong(&error))?;
        let journal = Self {
            file: Mutex::new(file),
            path: path.to_owned(),
        };
        if !begun {
            journal.write(&begin)?;
        }
        Ok((journal, progress))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes that a line is about to be sent.
    ///
    /// # Errors
    /// The file cannot be written; so it is with the other entries.
    pub fn sent(&self, key: &str, line: u64) -> Result<(), Failure> {
        let (key, at) = (key.to_owned(), Timestamp::now());
        self.write(&Entry::Sent { key, line, at })
    }

    /// Notes the object of a line.
    ///
    /// # Errors
    /// As [`Journal::sent`].
    pub fn created(&self, key: &str, id: &str) -> Result<(), Failure> {
        let (key, id) = (key.to_owned(), id.to_owned());
        self.write(&Entry::Created { key, id })
    }

    /// Notes that the object of a line is attached.
    ///
    /// # Errors
    /// As [`Journal::sent`].
    pub fn attached(&self, key: &str) -> Result<(), Failure> {
        let key = key.to_owned();
        self.write(&Entry::Attached { key })
    }

    /// Notes that the service refused a line.
    ///
    /// # Errors
    /// As [`Journal::sent`].
    pub fn refused(&self, key: &str) -> Result<(), Failure> {
        let key = key.to_owned();
        self.write(&Entry::Refused { key })
    }

    /// Waits until the entries are on the disk.
    ///
    /// # Errors
    /// As [`Journal::sent`].
    pub fn finish(&self) -> Result<(), Failure> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.sync_all().map_err(|error| self.failed(&error))
    }

    fn write(&self, entry: &Entry) -> Result<(), Failure> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line(entry))
            .map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::Local(format!("{}: {error}", self.path.display()))
    }
}

/// An entry as it is written.
fn line(entry: &Entry) -> Vec<u8> {
    // Texts and times are always JSON.
    let mut line = serde_json::to_vec(entry).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Adds an entry to what is known.
fn note(progress: &mut BTreeMap<String, Progress>, entry: Entry) {
    match entry {
        Entry::Import { .. } => {}
        Entry::Sent { key, at, .. } => {
            let known = progress.entry(key).or_insert(Progress {
                sent: at,
                id: None,
                attached: false,
                refused: false,
            });
            if known.refused {
                // Its outcome was known; from now on the new request counts.
                (known.sent, known.refused) = (at, false);
            }
        }
        Entry::Created { key, id } => {
            if let Some(known) = progress.get_mut(&key) {
                known.id = Some(id);
            }
        }
        Entry::Attached { key } => {
            if let Some(known) = progress.get_mut(&key) {
                known.attached = true;
            }
        }
        Entry::Refused { key } => {
            if let Some(known) = progress.get_mut(&key) {
                known.refused = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target {
            resource: "vehicles".into(),
            base_url: "http://127.0.0.1:1/".into(),
            account: None,
        }
    }

    fn file() -> PathBuf {
        tempfile::tempdir().unwrap().keep().join("journal")
    }

    #[test]
    fn what_was_noted_is_known_to_the_next_run() {
        let path = file();
        let (journal, progress) = Journal::open(&path, &target()).unwrap();
        assert!(progress.is_empty());
        for (key, line) in [("a", 2), ("b", 3), ("c", 4)] {
            journal.sent(key, line).unwrap();
        }
        journal.created("a", "veh_1").unwrap();
        journal.attached("a").unwrap();
        journal.refused("b").unwrap();
        drop(journal);
        let (_journal, progress) = Journal::open(&path, &target()).unwrap();
        let known = |key| {
            let Progress {
                id,
                attached,
                refused,
                ..
            } = &progress[key];
            (id.as_deref(), *attached, *refused)
        };
        assert_eq!(known("a"), (Some("veh_1"), true, false));
        assert_eq!(known("b"), (None, false, true));
        assert_eq!(known("c"), (None, false, false));
    }

    #[test]
    fn an_entry_that_was_cut_off_is_removed_wherever_it_was_cut() {
        let path = file();
        let (journal, _) = Journal::open(&path, &target()).unwrap();
        journal.sent("a", 2).unwrap();
        let whole = std::fs::read(&path).unwrap();
        journal.created("a", "veh_1").unwrap();
        drop(journal);
        let content = std::fs::read(&path).unwrap();
        for cut in whole.len()..content.len() {
            std::fs::write(&path, &content[..cut]).unwrap();
            let (journal, progress) = Journal::open(&path, &target()).unwrap();
            assert_eq!(progress["a"].id, None);
            journal.created("a", "veh_1").unwrap();
            drop(journal);
            assert_eq!(std::fs::read(&path).unwrap(), content);
        }
    }

    #[test]
    fn the_journal_of_another_target_and_other_files_are_refused_and_left_as_they_are() {
        let path = file();
        drop(Journal::open(&path, &target()).unwrap());
        let before = std::fs::read(&path).unwrap();
        let other = Target {
            resource: "drivers".into(),
            ..target()
        };
        let refused = Journal::open(&path, &other).unwrap_err().to_string();
        assert!(refused.contains("--journal"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        for content in [
            "name,email\nAda,ada@fleet.example\n",
            "name",
            "name,email\nAda",
        ] {
            std::fs::write(&path, content).unwrap();
            assert!(Journal::open(&path, &target()).is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
    }

    #[test]
    fn two_imports_cannot_use_one_journal_at_a_time() {
        let path = file();
        let _first = Journal::open(&path, &target()).unwrap();
        let second = Journal::open(&path, &target()).unwrap_err().to_string();
        assert!(second.contains("another import"), "{second}");
    }
}
