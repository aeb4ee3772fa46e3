//! The files of a local run: below the folder that holds the state, or in memory. They are downloaded by links that are signed and
//! expire, like those of S3.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use hmac::{Hmac, Mac as _};
use kernel::{Error, Result};
use models::ports::Clock;
use models::ports::files::{Files, LINK};
use serde::Deserialize;
use sha2::Sha256;

use crate::clock::LocalClock;
use crate::files;
use crate::guard::{forbidden, refused};

/// The route of the links.
pub const ROUTE: &str = "/_local/files/{*key}";

#[derive(Debug)]
pub struct Downloads {
    /// If None, the files are in memory.
    folder: Option<PathBuf>,
    memory: Mutex<BTreeMap<String, Vec<u8>>>,
    secret: Vec<u8>,
    base_url: String,
    clock: Arc<LocalClock>,
}

/// The query of a link, which proves that this process has made it.
#[derive(Debug, Deserialize)]
pub struct Signature {
    /// In Unix seconds.
    expires: i64,
    /// In hexadecimal.
    signature: String,
}

impl Downloads {
    pub fn new(
        state: Option<&Path>,
        secret: &[u8],
        base_url: &str,
        clock: Arc<LocalClock>,
    ) -> Self {
        Self {
            folder: state.map(|state| state.join(files::DOWNLOADS)),
            memory: Mutex::default(),
            secret: secret.to_vec(),
            base_url: base_url.to_owned(),
            clock,
        }
    }

    fn memory(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mac(&self, key: &str, expires: i64) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret)
            .unwrap_or_else(|_| unreachable!("any length is a key"));
        mac.update(format!("file {expires} {key}").as_bytes());
        mac
    }

    fn keep(&self, key: &str, content: Vec<u8>) -> std::io::Result<()> {
        let Some(folder) = &self.folder else {
            self.memory().insert(key.to_owned(), content);
            return Ok(());
        };
        let path = folder.join(key);
        if let Some(parent) = path.parent() {
            files::private_folder(parent)?;
        }
        files::write_private(&path, &content)
    }

    /// The keys that begin with a prefix.
    fn keys(&self, prefix: &str) -> std::io::Result<Vec<String>> {
        let Some(folder) = &self.folder else {
            let keys = self.memory().keys().cloned().collect::<Vec<_>>();
            return Ok(keys
                .into_iter()
                .filter(|key| key.starts_with(prefix))
                .collect());
        };
        let mut keys = Vec::new();
        let mut folders = vec![folder.clone()];
        while let Some(next) = folders.pop() {
            if !next.is_dir() {
                continue;
            }
            for entry in std::fs::read_dir(&next)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(key) = path.strip_prefix(folder) {
                    keys.push(key.to_string_lossy().replace('\\', "/"));
                }
            }
        }
        keys.retain(|key| key.starts_with(prefix));
        Ok(keys)
    }

    fn remove(&self, key: &str) -> std::io::Result<()> {
        match &self.folder {
            None => {
                self.memory().remove(key);
                Ok(())
            }
            Some(folder) => match std::fs::remove_file(folder.join(key)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
        }
    }

    fn find(&self, key: &str) -> Option<Vec<u8>> {
        match &self.folder {
            None => self.memory().get(key).cloned(),
            Some(folder) => std::fs::read(folder.join(key)).ok(),
        }
    }
}

impl Files for Downloads {
    fn put<'a>(
        &'a self,
        key: &'a str,
        _: &'static str,
        content: Vec<u8>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.keep(key, content).map_err(Error::unavailable) })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Vec<u8>>> {
        let found = self.find(key);
        let missing = move || Error::internal(format!("there is no file {key}"));
        Box::pin(async move { found.ok_or_else(missing) })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        let keys = self.keys(prefix).map_err(Error::unavailable);
        Box::pin(async move { keys })
    }

    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<()>> {
        let removed = self.remove(key).map_err(Error::unavailable);
        Box::pin(async move { removed })
    }

    fn link<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<String>> {
        let expires = self.clock.now().unix_seconds() + LINK.as_secs().cast_signed();
        let signature = hex::encode(self.mac(key, expires).finalize().into_bytes());
        let base_url = &self.base_url;
        let link = format!("{base_url}/_local/files/{key}?expires={expires}&signature={signature}");
        Box::pin(async move { Ok(link) })
    }
}

/// `GET /_local/files/…`: returns the file, if the link has not expired.
///
/// # Errors
/// 401 without a signature, 403 if the link has expired or the signature is wrong, 404 if the file was deleted.
pub async fn fetch(
    State(downloads): State<Arc<Downloads>>,
    UrlPath(key): UrlPath<String>,
    link: Result<Query<Signature>, QueryRejection>,
) -> Response {
    let Ok(Query(link)) = link else {
        let message = "This file is read with a signed link, which the API returns.";
        return refused(&*downloads.clock, &Error::unauthenticated(message));
    };
    let expired = link.expires <= downloads.clock.now().unix_seconds();
    let given = hex::decode(&link.signature).unwrap_or_default();
    let ours = downloads
        .mac(&key, link.expires)
        .verify_slice(&given)
        .is_ok();
    if expired || !ours {
        let message = "The link has expired, or its signature is wrong.";
        return forbidden(&*downloads.clock, message.into());
    }
    // The link has a valid signature of this process, so the key is valid.
    let content_type = match Path::new(&key).extension().and_then(|end| end.to_str()) {
        Some("csv") => "text/csv; charset=utf-8; header=present",
        Some("pdf") => "application/pdf",
        Some("xml") => "application/xml",
        Some("jsonl") => "application/x-ndjson",
        _ => "application/json",
    };
    match downloads.find(&key) {
        Some(content) => ([(header::CONTENT_TYPE, content_type)], content).into_response(),
        None => refused(&*downloads.clock, &Error::unknown_path()),
    }
}
