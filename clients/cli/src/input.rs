//! Files and standard input. They are read on a thread of their own, because the runtime has one thread: Ctrl-C ends a command also while
//! it waits for input.

use std::io::{self, Read as _};
use std::path::Path;

/// Reads standard input to its end.
///
/// # Errors
/// It cannot be read.
pub async fn standard() -> io::Result<Vec<u8>> {
    on_a_thread(|| {
        let mut content = Vec::new();
        io::stdin().read_to_end(&mut content)?;
        Ok(content)
    })
    .await
}

/// Reads a file, which may be a pipe.
///
/// # Errors
/// It cannot be read.
pub async fn file(path: &Path) -> io::Result<Vec<u8>> {
    let path = path.to_owned();
    on_a_thread(|| std::fs::read(path)).await
}

async fn on_a_thread(
    read: impl FnOnce() -> io::Result<Vec<u8>> + Send + 'static,
) -> io::Result<Vec<u8>> {
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(io::Error::other)?
}
