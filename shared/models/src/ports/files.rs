//! Keeping files: a port. A file is written once, as a whole, and fetched by a link that holds for a while. What an
//! operator hands in is read from the same place.

use std::time::Duration;

use futures::future::BoxFuture;

use kernel::error::Result;

/// How long a link to a file holds.
pub const LINK: Duration = Duration::from_secs(15 * 60);

pub trait Files: Send + Sync {
    /// Keeps a file. When this returns, links to it work.
    ///
    /// # Errors
    /// The store of the files is out of reach; there is no half of the file.
    fn put<'a>(
        &'a self,
        key: &'a str,
        content_type: &'static str,
        content: Vec<u8>,
    ) -> BoxFuture<'a, Result<()>>;

    /// Reads a file that an operator has put there.
    ///
    /// # Errors
    /// There is no such file, or the store of the files is out of reach.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Vec<u8>>>;

    /// The keys that begin with this prefix, at most a thousand of them.
    ///
    /// # Errors
    /// The store of the files is out of reach.
    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>>;

    /// Deletes a file, if there is one with that key.
    ///
    /// # Errors
    /// The store of the files is out of reach.
    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<()>>;

    /// An address anybody can fetch the file from for [`LINK`].
    ///
    /// # Errors
    /// The link cannot be signed.
    fn link<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<String>>;
}
