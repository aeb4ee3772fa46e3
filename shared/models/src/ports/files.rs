//! The port of the file store. A file is written once, as a whole, and downloaded by a link that is valid for a limited time. Files that
//! an operator uploads are read from the same place.

use std::time::Duration;

use futures::future::BoxFuture;

use kernel::Result;

/// The time for which a link to a file is valid.
pub const LINK: Duration = Duration::from_secs(15 * 60);

/// The maximum size of a file that is read, in bytes.
pub const MAX_FILE: usize = 256 * 1024 * 1024;

pub trait Files: Send + Sync {
    /// Stores a file. When this returns, links to it work.
    ///
    /// # Errors
    /// The file store cannot be reached; no part of the file is stored then.
    fn put<'a>(
        &'a self,
        key: &'a str,
        content_type: &'static str,
        content: Vec<u8>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Reads a file that an operator has uploaded.
    ///
    /// # Errors
    /// There is no such file, it is larger than [`MAX_FILE`], or the file store cannot be reached.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Vec<u8>>>;

    /// Returns the keys that begin with this prefix, at most a thousand of them.
    ///
    /// # Errors
    /// The file store cannot be reached.
    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>>;

    /// Deletes a file, if there is one with that key.
    ///
    /// # Errors
    /// The file store cannot be reached.
    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Returns an address from which anybody can download the file for [`LINK`].
    ///
    /// # Errors
    /// The link cannot be signed.
    fn link<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<String>>;
}
