//! The data folder: small JSON files beside those of the table and the reports. If the state is in memory, there is no folder.
//!
//! The folder belongs to one process at a time, which holds a lock on the file `lock`; the operating system releases it
//! when the process ends, however it ends. Keys and personal data are in the folder, so only its owner may read it.
//!
//! The table and the account's key belong together: a folder that has lost one of them is refused, because another account would
//! replace the keys of the first. `--new` moves the existing files into a folder of its own, and begins with an empty state.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use functions::aws::SystemClock;
use kernel::{Error, Result};
use models::ports::Clock as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use table::layout;

/// The account of the folder and its key.
pub const CREDENTIALS: &str = "credentials.json";

/// The embedded table's database.
pub const TABLE: &str = "table.sqlite";

/// The difference between the clock and the machine's clock.
pub const CLOCK: &str = "clock.json";

/// The position up to which the stream was relayed.
pub const STREAM: &str = "stream.json";

/// Identifies the stations that were loaded.
pub const STATIONS: &str = "stations.json";

/// The state of the charging network of `--network`.
pub const NETWORK: &str = "network.json";

/// The folder of the messages that are not done.
pub const MESSAGES: &str = "messages";

/// The folder of reports and exports.
pub const DOWNLOADS: &str = "files";

/// Exists while an account is being erased, until no free page of the table has any of its data.
pub const ERASING: &str = "erasing";

/// SQLite's files beside the table's database.
const WAL: &str = "table.sqlite-wal";
const SHM: &str = "table.sqlite-shm";

/// Exists while the table and its first account are being created. A table whose creation was interrupted cannot be used.
const CREATING: &str = "creating";

const LOCK: &str = "lock";

/// The file with the version of the layout of the table's items.
const LAYOUT: &str = "layout.json";

/// All files that earlier runs may have left, except the lock.
const STATE: [&str; 13] = [
    TABLE,
    WAL,
    SHM,
    CREDENTIALS,
    CLOCK,
    STREAM,
    STATIONS,
    NETWORK,
    MESSAGES,
    DOWNLOADS,
    ERASING,
    CREATING,
    LAYOUT,
];

#[derive(Debug, Clone)]
pub struct Folder(Option<Arc<Opened>>);

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    /// Holds the lock for as long as it is open.
    _lock: File,
}

impl Folder {
    /// No folder: nothing is stored.
    pub fn none() -> Self {
        Self(None)
    }

    /// Opens the folder for this process alone, and creates it if it does not exist. With `new`, the files of earlier runs are moved
    /// aside.
    ///
    /// # Errors
    /// The folder cannot be created or written, another process uses it, or its table has a layout that this release does not read.
    pub fn open(path: &Path, new: bool) -> Result<Self> {
        let shown = path.display();
        if path.exists() && !path.is_dir() {
            let message = format!("the data folder {shown} is a file; choose another with --data");
            return Err(Error::internal(message));
        }
        if !new {
            check_layout(path)?;
        }
        private_folder(path).map_err(|error| {
            Error::internal(format!(
                "the data folder {shown} cannot be created: {error}"
            ))
        })?;
        protect(path).map_err(|error| at(path, &error))?;
        let lock = lock(path)?;
        if new {
            move_aside(path)?;
        }
        let folder = Self(Some(Arc::new(Opened {
            path: path.to_owned(),
            _lock: lock,
        })));
        folder.write(LAYOUT, &layout::VERSION)?;
        Ok(folder)
    }

    pub fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(|opened| opened.path.as_path())
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        self.path().map(|folder| folder.join(name))
    }

    /// Reads a file, if it exists.
    ///
    /// # Errors
    /// The file cannot be read, or its content is invalid.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(path) = self.file(name) else {
            return Ok(None);
        };
        match std::fs::read(&path) {
            Ok(bytes) => parse(&path, &bytes).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(&path, &error)),
        }
    }

    /// Writes a file as a whole: if the process is killed, the old file or the new one remains.
    ///
    /// # Errors
    /// `Unavailable` if the folder cannot be written.
    pub fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<()> {
        let Some(path) = self.file(name) else {
            return Ok(());
        };
        let bytes = serde_json::to_vec(value).map_err(Error::internal)?;
        write_private(&path, &bytes)
            .map_err(|error| Error::unavailable(format!("{}: {error}", path.display())))
    }

    /// Whether a file exists.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).is_some_and(|path| path.exists())
    }

    /// Prepares the folder for its table. The files of an interrupted first start are removed.
    ///
    /// # Errors
    /// The folder cannot be written, or has lost its table or its account's key. In the second case nothing in it is changed.
    pub fn begin_table(&self) -> Result<()> {
        let Some(table) = self.file(TABLE) else {
            return Ok(());
        };
        if !self.has(CREATING) {
            // SQLite accepts an empty file as a new database.
            let has_table = std::fs::metadata(table).is_ok_and(|file| file.len() > 0);
            match (has_table, self.has(CREDENTIALS)) {
                (true, true) => return Ok(()),
                (true, false) => return Err(self.lost(CREDENTIALS, TABLE)),
                (false, true) => return Err(self.lost(TABLE, CREDENTIALS)),
                (false, false) => {}
            }
        }
        self.write(CREATING, &true)?;
        let unfinished = [TABLE, WAL, SHM, CREDENTIALS];
        unfinished.iter().try_for_each(|name| self.remove(name))
    }

    /// Records that the creation of the table and its first account is complete.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn end_table(&self) -> Result<()> {
        self.remove(CREATING)
    }

    fn lost(&self, name: &str, other: &str) -> Error {
        let message = format!(
            "the file is missing or empty, and {other} beside it is of an earlier run; nothing was changed. Put the file back, or \
             start over with --new, which keeps what there is in a folder of its own"
        );
        self.damaged(name, &message)
    }

    /// Removes a file, if it exists.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn remove(&self, name: &str) -> Result<()> {
        let Some(path) = self.file(name) else {
            return Ok(());
        };
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(at(&path, &error)),
            _ => Ok(()),
        }
    }

    /// An error about the content of a file.
    pub fn damaged(&self, name: &str, message: &str) -> Error {
        match self.file(name) {
            Some(path) => at(&path, &message),
            None => Error::internal(message.to_owned()),
        }
    }
}

/// Refuses a folder whose table has a layout that this release does not read, before any of its files is opened.
fn check_layout(folder: &Path) -> Result<()> {
    if !folder.join(TABLE).exists() {
        return Ok(());
    }
    let path = folder.join(LAYOUT);
    let found: Option<u32> = match std::fs::read(&path) {
        Ok(bytes) => Some(parse(&path, &bytes)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(at(&path, &error)),
    };
    if found.is_some_and(|version| (1..=layout::VERSION).contains(&version)) {
        return Ok(());
    }
    let shown = folder.display();
    let found = match found {
        Some(version) => format!("of layout {version}"),
        None => format!("of a layout before the first release, or has lost {LAYOUT}"),
    };
    let own = layout::VERSION;
    Err(Error::internal(format!(
        "the data folder {shown} has data {found}, and this release reads layout {own}; nothing in it was changed. \
         Choose another folder with --data, or start over with --new, which keeps what there is in a folder of its own"
    )))
}

/// Moves the files of earlier runs into a folder of their own inside the data folder.
fn move_aside(folder: &Path) -> Result<()> {
    let left = STATE.map(|name| (name, folder.join(name)));
    let left: Vec<_> = left.iter().filter(|(_, path)| path.exists()).collect();
    if left.is_empty() {
        return Ok(());
    }
    let now = SystemClock.now().to_string().replace([':', '.'], "-");
    let aside = folder.join(format!("replaced-{now}"));
    private_folder(&aside).map_err(|error| at(&aside, &error))?;
    for (name, path) in left {
        std::fs::rename(path, aside.join(name)).map_err(|error| at(path, &error))?;
    }
    let aside = aside.display();
    tracing::warn!(
        "what earlier runs left was moved to {aside}; delete that folder when it is not needed any more"
    );
    Ok(())
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| at(path, &format!("the content cannot be read: {error}")))
}

fn at(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::internal(format!("{}: {error}", path.display()))
}

/// Locks the folder for this process. The file contains the process's id, for the error message of another process.
fn lock(folder: &Path) -> Result<File> {
    let shown = folder.display();
    let unwritable = |error: std::io::Error| {
        Error::internal(format!(
            "the data folder {shown} cannot be written: {error}"
        ))
    };
    let path = folder.join(LOCK);
    let mut file = private()
        .read(true)
        .truncate(false)
        .open(&path)
        .map_err(unwritable)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = std::fs::read_to_string(&path).unwrap_or_default();
            let holder = match holder.trim() {
                "" => "another process".to_owned(),
                id => format!("the process {id}"),
            };
            return Err(Error::internal(format!(
                "the data folder {shown} is in use by {holder}; end that process, or choose another folder with --data"
            )));
        }
        Err(TryLockError::Error(error)) => return Err(unwritable(error)),
    }
    let written = file
        .set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .and_then(|()| file.sync_all());
    written.map_err(unwritable)?;
    Ok(file)
}

/// The options for opening a file for writing that only its owner may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Writes, as a whole, a file that only its owner may read.
pub fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    // Otherwise the file could be empty after a power failure.
    write_whole(path, content, File::sync_all)
}

/// The same for a file that may be empty or missing after a power failure.
pub fn write_unsynced(path: &Path, content: &[u8]) -> std::io::Result<()> {
    write_whole(path, content, |_| Ok(()))
}

/// The number of files that this process has begun to write.
static WRITES: AtomicU64 = AtomicU64::new(0);

fn write_whole(
    path: &Path,
    content: &[u8],
    sync: impl FnOnce(&File) -> std::io::Result<()>,
) -> std::io::Result<()> {
    // Two writes of a file, or of files that differ in their extension, may meet.
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().display();
    let beside = path.with_file_name(format!("{name}.{number}.new"));
    let mut file = private().truncate(true).open(&beside)?;
    set_mode(&beside, 0o600)?;
    file.write_all(content)?;
    sync(&file)?;
    drop(file);
    std::fs::rename(&beside, path)
}

/// Creates a file that only its owner may read, if it does not exist.
pub fn create_private(path: &Path) -> std::io::Result<()> {
    private().truncate(false).open(path).map(drop)
}

/// Creates a folder that only its owner may enter, and its parent folders, if they do not exist.
pub fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Removes the access of other users to a folder and its files that an earlier version created. A folder with files of other programs
/// keeps its own mode, because other users may need to enter it.
fn protect(folder: &Path) -> std::io::Result<()> {
    let ours = [CREDENTIALS, TABLE, LOCK];
    let is_ours = ours.iter().any(|name| folder.join(name).exists());
    let is_empty = std::fs::read_dir(folder)?.next().is_none();
    if !is_ours && !is_empty {
        return Ok(());
    }
    set_mode(folder, 0o700)?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            set_mode(&entry.path(), 0o600)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if std::fs::metadata(path)?.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_written_at_once_are_whole() {
        let folder = std::env::temp_dir().join(format!("whole-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("document.pdf");
        write_unsynced(&path, &[b'a'; 10_000]).unwrap();
        std::thread::scope(|scope| {
            for (letter, extension) in [(b'a', "pdf"), (b'a', "pdf"), (b'b', "xml")] {
                let path = path.with_extension(extension);
                scope.spawn(move || {
                    for _ in 0..200 {
                        write_unsynced(&path, &[letter; 10_000]).unwrap();
                    }
                });
            }
            for _ in 0..500 {
                assert!(std::fs::read(&path).unwrap() == [b'a'; 10_000]);
            }
        });
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
