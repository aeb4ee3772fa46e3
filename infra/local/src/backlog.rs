//! The messages that are not done, as files in the data folder: the queues and the scheduler of AWS keep them too. A message that was
//! processed when the process ended is processed again. If the state is in memory, nothing is stored.

use std::path::{Path, PathBuf};

use functions::jobs;
use kernel::{Error, Result, Timestamp};
use models::ports::Message;
use serde::{Deserialize, Serialize};

use crate::files::{self, Folder};

/// A message, and the number of its delivery attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct Parcel {
    pub message: Message,
    pub tries: u32,
    /// Its number among all messages.
    pub number: u64,
}

/// The folder of the files, if there is one.
#[derive(Debug)]
pub struct Backlog(Option<PathBuf>);

/// The content of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    at: Timestamp,
    schedule: Option<String>,
    tries: u32,
    body: String,
}

/// A message of an earlier run, with its time and the name of its schedule.
pub type Restored = (Timestamp, Option<String>, Parcel);

impl Backlog {
    /// Returns the backlog of a folder and the messages of the last run; none if it has stored no messages.
    ///
    /// # Errors
    /// `Internal` if the folder cannot be read or created.
    pub fn open(folder: &Folder) -> Result<(Self, Option<Vec<Restored>>)> {
        let Some(path) = folder.path().map(|path| path.join(files::MESSAGES)) else {
            return Ok((Self(None), None));
        };
        let unusable = |error| Error::internal(format!("{}: {error}", path.display()));
        let is_known = path.exists();
        files::private_folder(&path).map_err(unusable)?;
        let mut restored = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(unusable)? {
            let file = entry.map_err(unusable)?.path();
            let message = read(&file);
            if message.is_none() {
                drop(std::fs::remove_file(&file));
            }
            restored.extend(message);
        }
        Ok((Self(Some(path)), is_known.then_some(restored)))
    }

    fn file(&self, number: u64) -> Option<PathBuf> {
        let folder = self.0.as_ref()?;
        Some(folder.join(format!("{number}.json")))
    }

    /// Stores a message, or its next attempt.
    ///
    /// # Errors
    /// `Unavailable` if the folder cannot be written.
    pub fn keep(&self, at: Timestamp, schedule: Option<&str>, parcel: &Parcel) -> Result<()> {
        let Some(path) = self.file(parcel.number) else {
            return Ok(());
        };
        let kept = Kept {
            at,
            schedule: schedule.map(str::to_owned),
            tries: parcel.tries,
            body: parcel.message.body.clone(),
        };
        let bytes = serde_json::to_vec(&kept).map_err(Error::internal)?;
        files::write_unsynced(&path, &bytes)
            .map_err(|error| Error::unavailable(format!("{}: {error}", path.display())))
    }

    /// Removes a message that is done.
    pub fn remove(&self, number: u64) {
        if let Some(path) = self.file(number)
            && let Err(error) = std::fs::remove_file(&path)
        {
            tracing::warn!(path = %path.display(), %error, "a message that is done comes again after the next start");
        }
    }
}

/// Reads a file. None for one that was not written to its end, or by a release with other jobs: the sweep finds work that is due.
fn read(path: &Path) -> Option<Restored> {
    let number = path.file_name()?.to_str()?.strip_suffix(".json")?;
    let number = number.parse().ok()?;
    let kept = std::fs::read(path).map_err(Error::internal);
    let kept =
        kept.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).map_err(Error::internal));
    let read = kept.and_then(|kept| Ok((jobs::read_message(&kept.body)?, kept)));
    match read {
        Ok((message, kept)) => {
            let parcel = Parcel {
                message,
                tries: kept.tries,
                number,
            };
            Some((kept.at, kept.schedule, parcel))
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a message of the last run cannot be read");
            None
        }
    }
}
