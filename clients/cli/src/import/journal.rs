//! The journal of an import: the chunks that were sent and the outcomes of their lines, one JSON object per line.
//!
//! Each entry is written with one call, so a kill at any moment leaves whole entries and possibly the beginning of one, which the next
//! run removes. A chunk is written with its bodies before it is sent, so that the next run can send it again even if the file has been
//! changed. The file is locked while an import uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

/// The place where the objects are created: a journal is valid for that place only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    pub resource: String,
    pub base_url: String,
    pub account: Option<String>,
}

/// The state of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The line is in the chunk with this key and has no outcome.
    Sent(String),
    Created {
        id: String,
        attached: bool,
    },
    /// The service refused the line at the last attempt.
    Refused,
}

/// Lines whose objects are created by the same batch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Chunk {
    /// The Idempotency-Key of the batch.
    pub key: String,
    /// When the chunk was first sent, by the clock of the service.
    pub at: Timestamp,
    /// The keys of the lines.
    pub lines: Vec<String>,
    /// The bodies of the lines.
    pub bodies: Vec<Value>,
    /// The id of the batch, if it is known.
    #[serde(skip)]
    pub batch: Option<String>,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case", deny_unknown_fields)]
pub enum Entry {
    /// The first entry.
    Import { target: Target },
    /// The chunk is about to be sent.
    Chunk(Chunk),
    /// The service has created the batch of the chunk with this key.
    Batch { key: String, id: String },
    /// The object of the line with this key was created.
    Created { key: String, id: String },
    /// The object of the line with this key was attached.
    Attached { key: String },
    /// The service refused the line with this key.
    Refused { key: String },
}

/// The entries of earlier runs.
#[derive(Debug, Default)]
pub struct History {
    /// The states of lines, by their keys.
    pub lines: BTreeMap<String, Progress>,
    /// The chunks, by their keys.
    pub chunks: BTreeMap<String, Chunk>,
}

impl History {
    /// The chunks that have lines without an outcome.
    pub fn pending(&self) -> Vec<Chunk> {
        let lines = self.lines.values();
        let keys: BTreeSet<&String> = lines
            .filter_map(|line| match line {
                Progress::Sent(chunk) => Some(chunk),
                _ => None,
            })
            .collect();
        let chunks = keys.into_iter().filter_map(|key| self.chunks.get(key));
        chunks.cloned().collect()
    }

    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Import { .. } => {}
            Entry::Chunk(chunk) => {
                for line in &chunk.lines {
                    let sent = Progress::Sent(chunk.key.clone());
                    self.lines.insert(line.clone(), sent);
                }
                self.chunks.insert(chunk.key.clone(), chunk);
            }
            Entry::Batch { key, id } => {
                if let Some(chunk) = self.chunks.get_mut(&key) {
                    chunk.batch = Some(id);
                }
            }
            Entry::Created { key, id } => {
                let attached = false;
                self.lines.insert(key, Progress::Created { id, attached });
            }
            Entry::Attached { key } => {
                if let Some(Progress::Created { attached, .. }) = self.lines.get_mut(&key) {
                    *attached = true;
                }
            }
            Entry::Refused { key } => {
                self.lines.insert(key, Progress::Refused);
            }
        }
    }
}

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    file: Mutex<File>,
    path: PathBuf,
}

impl Journal {
    /// Opens a journal, or begins one, and reads its entries.
    ///
    /// # Errors
    /// The file cannot be used, belongs to another target, is not a journal of this version, or another import uses it.
    pub fn open(path: &Path, target: &Target) -> Result<(Self, History), Failure> {
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
        // Content after the last line feed is an incomplete entry.
        let whole = content
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |place| place + 1);
        let begin = Entry::Import {
            target: target.clone(),
        };
        let foreign = || {
            wrong(
                &"this is not a journal that this version of the tool can read; name another file with --journal",
            )
        };
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
        let mut history = History::default();
        for entry in entries {
            history.add(entry?);
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
        Ok((journal, history))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the entries are written to the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&self) -> Result<(), Failure> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.sync_all().map_err(|error| self.failed(&error))
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, entry: &Entry) -> Result<(), Failure> {
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
    // Texts and times can always be serialized.
    let mut line = serde_json::to_vec(entry).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    fn target() -> Target {
        Target {
            resource: "vehicles".into(),
            base_url: "http://127.0.0.1:1/".into(),
            account: None,
        }
    }

    /// The file, in a folder that is deleted with the test.
    fn file() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        (folder, path)
    }

    fn chunk(key: &str, lines: &[&str]) -> Entry {
        Entry::Chunk(Chunk {
            key: key.into(),
            at: "2026-03-02T08:00:00Z".parse().unwrap(),
            lines: lines.iter().map(|line| (*line).into()).collect(),
            bodies: lines.iter().map(|line| json!({"name": line})).collect(),
            batch: None,
        })
    }

    fn created(key: &str) -> Entry {
        let (key, id) = (key.into(), "veh_1".into());
        Entry::Created { key, id }
    }

    #[test]
    fn the_next_run_reads_the_outcomes_of_lines() {
        let (_folder, path) = file();
        let (journal, history) = Journal::open(&path, &target()).unwrap();
        assert!(history.lines.is_empty());
        for entry in [
            chunk("first", &["a", "b"]),
            Entry::Batch {
                key: "first".into(),
                id: "bat_1".into(),
            },
            created("a"),
            Entry::Attached { key: "a".into() },
            Entry::Refused { key: "b".into() },
            chunk("second", &["b", "c", "d"]),
            created("c"),
            Entry::Refused { key: "d".into() },
        ] {
            journal.write(&entry).unwrap();
        }
        drop(journal);
        let (_journal, history) = Journal::open(&path, &target()).unwrap();
        let created = |attached| {
            let id = "veh_1".into();
            Progress::Created { id, attached }
        };
        assert_eq!(history.lines["a"], created(true));
        assert_eq!(history.lines["b"], Progress::Sent("second".into()));
        assert_eq!(history.lines["c"], created(false));
        assert_eq!(history.lines["d"], Progress::Refused);
        assert_eq!(history.chunks["first"].batch.as_deref(), Some("bat_1"));
        let pending = history.pending();
        assert_eq!((pending.len(), pending[0].key.as_str()), (1, "second"));
        assert_eq!(pending[0].bodies[1], json!({"name": "c"}));
    }

    #[test]
    fn an_entry_that_was_cut_off_is_removed_wherever_it_was_cut() {
        let (_folder, path) = file();
        let (journal, _) = Journal::open(&path, &target()).unwrap();
        journal.write(&chunk("first", &["a"])).unwrap();
        let whole = std::fs::read(&path).unwrap();
        journal.write(&created("a")).unwrap();
        drop(journal);
        let content = std::fs::read(&path).unwrap();
        for cut in whole.len()..content.len() {
            std::fs::write(&path, &content[..cut]).unwrap();
            let (journal, history) = Journal::open(&path, &target()).unwrap();
            assert_eq!(history.pending().len(), 1);
            journal.write(&created("a")).unwrap();
            drop(journal);
            assert_eq!(std::fs::read(&path).unwrap(), content);
        }
    }

    #[test]
    fn journals_of_other_targets_and_other_files_are_refused() {
        let (_folder, path) = file();
        drop(Journal::open(&path, &target()).unwrap());
        let before = std::fs::read(&path).unwrap();
        let other = Target {
            resource: "drivers".into(),
            ..target()
        };
        let refused = Journal::open(&path, &other).unwrap_err().to_string();
        assert!(refused.contains("--journal"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let earlier = String::from_utf8(before).unwrap() + "{\"entry\":\"sent\",\"key\":\"a\"}\n";
        for content in [
            "name,email\nAda,ada@fleet.example\n",
            "name",
            "name,email\nAda",
            &earlier,
        ] {
            std::fs::write(&path, content).unwrap();
            let refused = Journal::open(&path, &target()).unwrap_err().to_string();
            assert!(refused.contains("not a journal"), "{refused}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
    }

    #[test]
    fn two_imports_cannot_use_one_journal_at_a_time() {
        let (_folder, path) = file();
        let _first = Journal::open(&path, &target()).unwrap();
        let second = Journal::open(&path, &target()).unwrap_err().to_string();
        assert!(second.contains("another import"), "{second}");
    }
}
