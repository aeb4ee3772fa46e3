//! The operators' functions for accounts and secrets, which are `set-account-status`, `export-account`, `erase-account` and
//! `reencrypt-secrets` on AWS.
//!
//! The runner has to do what DynamoDB does with deleted items: an erasure also removes the accounts' data from the stream, the inbox,
//! the queue and the free pages of the table's file. The file `erasing` in the data folder exists until that is done, so that the next
//! start completes it after a crash.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use functions::App;
use functions::accounts::erase::{self, Erase, Erased, ErasureStatus};
use functions::accounts::export::{self, Exported};
use functions::accounts::set_status;
use functions::secrets::reencrypt::{self, ReencryptionProgress};
use kernel::Error;
use models::Account;
use serde::Serialize;
use serde::de::DeserializeOwned;
use table::erasure::Accounts;

use crate::engine::Engine;
use crate::files::{self, Folder};
use crate::guard::{check_json, refused};
use crate::inbox::Inbox;

/// The response to `POST /_local/account_export`: that of the function, with links to the files that exist so far.
#[derive(Debug, Serialize)]
struct LinkedExport {
    #[serde(flatten)]
    exported: Exported,
    links: Vec<String>,
}

/// The parts of the runner that an erasure needs besides the service.
#[derive(Clone)]
pub struct Remains {
    pub engine: Arc<Engine>,
    pub inbox: Arc<Inbox>,
    pub folder: Folder,
}

impl Remains {
    /// Completes an erasure that was interrupted by a crash.
    ///
    /// # Errors
    /// `Unavailable` if the table or the folder cannot be written.
    pub async fn finish(&self) -> Result<(), Error> {
        if self.folder.has(files::ERASING) {
            self.remove(&Accounts::new()).await?;
        }
        Ok(())
    }

    async fn remove(&self, accounts: &Accounts) -> Result<(), Error> {
        self.engine.purge(accounts).await?;
        self.inbox.forget_accounts(accounts);
        self.folder.remove(files::ERASING)
    }
}

pub fn router(app: App, remains: Remains) -> Router {
    let erasure = post(erase_account).with_state((app.clone(), remains));
    Router::new()
        .route("/_local/account_status", post(set_account_status))
        .route("/_local/account_export", post(export_account))
        .route("/_local/account_erasure", erasure)
        .route("/_local/reencryption", post(reencrypt_secrets))
        .with_state(app)
}

/// `POST /_local/account_status`: sets the status of an account.
async fn set_account_status(
    State(app): State<App>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Account>, Response> {
    let set = async { set_status::handle(&app, read(&headers, &body)?).await };
    set.await
        .map(Json)
        .map_err(|error| refused(&*app.clock, &error))
}

/// `POST /_local/account_export`: writes every object of an account and mode to files.
async fn export_account(
    State(app): State<App>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<LinkedExport>, Response> {
    let exported = async {
        let exported = export::handle(&app, read(&headers, &body)?).await?;
        let mut links = Vec::new();
        let mut keys = app.files.list(&exported.folder).await?;
        keys.sort();
        for key in keys {
            links.push(app.files.link(&key).await?);
        }
        Ok(LinkedExport { exported, links })
    };
    exported
        .await
        .map(Json)
        .map_err(|error| refused(&*app.clock, &error))
}

/// `POST /_local/account_erasure`: deletes a closed account and everything that belongs to it.
async fn erase_account(
    State((app, remains)): State<(App, Remains)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Erased>, Response> {
    let erased = async {
        let erasure: Erase = read(&headers, &body)?;
        let accounts = app.store.accounts_below(&erasure.account).await?;
        remains.folder.write(files::ERASING, &true)?;
        let is_first = erasure.cursor.is_none();
        let erased = erase::handle(&app, erasure).await;
        match &erased {
            Ok(erased) if erased.status == ErasureStatus::Running => {}
            Ok(_) => remains.remove(&accounts.into_iter().collect()).await?,
            // Nothing was deleted yet.
            Err(_) if is_first => remains.folder.remove(files::ERASING)?,
            Err(_) => {}
        }
        erased
    };
    erased
        .await
        .map(Json)
        .map_err(|error| refused(&*app.clock, &error))
}

/// `POST /_local/reencryption`: encrypts the secrets in items with the first key.
async fn reencrypt_secrets(
    State(app): State<App>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<ReencryptionProgress>, Response> {
    let done = async { reencrypt::handle(&app, read(&headers, &body)?).await };
    done.await
        .map(Json)
        .map_err(|error| refused(&*app.clock, &error))
}

fn read<T: DeserializeOwned>(headers: &HeaderMap, body: &Bytes) -> Result<T, Error> {
    check_json(headers)?;
    web::body::read(body, None)
}
