//! What operators do with accounts and secrets, as the functions `set-account-status`, `export-account`, `erase-account` and
//! `reencrypt-secrets` do on AWS.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use functions::accounts::erase::{self, Erased};
use functions::accounts::export::{self, Exported};
use functions::accounts::set_status;
use functions::secrets::reencrypt::{self, ReencryptionProgress};
use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::error::Error;
use shared::http::errors;
use shared::models::account::Account;
use shared::response::Response;
use shared::{App, Id, Kind};

use crate::check_json;

/// The answer to `POST /_local/account_export`: what the function answers, with links to the files that there are so far.
#[derive(Debug, Serialize)]
struct LinkedExport {
    #[serde(flatten)]
    exported: Exported,
    links: Vec<String>,
}

pub fn router(app: App) -> Router {
    Router::new()
        .route("/_local/account_status", post(set_account_status))
        .route("/_local/account_export", post(export_account))
        .route("/_local/account_erasure", post(erase_account))
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
    set.await.map(Json).map_err(|error| shown(&app, &error))
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
        .map_err(|error| shown(&app, &error))
}

/// `POST /_local/account_erasure`: deletes a closed account and everything that belongs to it.
async fn erase_account(
    State(app): State<App>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Erased>, Response> {
    let erased = async { erase::handle(&app, read(&headers, &body)?).await };
    erased.await.map(Json).map_err(|error| shown(&app, &error))
}

/// `POST /_local/reencryption`: encrypts the secrets in rows with the first key.
async fn reencrypt_secrets(
    State(app): State<App>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<ReencryptionProgress>, Response> {
    let done = async { reencrypt::handle(&app, read(&headers, &body)?).await };
    done.await.map(Json).map_err(|error| shown(&app, &error))
}

fn read<T: DeserializeOwned>(headers: &HeaderMap, body: &Bytes) -> Result<T, Error> {
    check_json(headers)?;
    shared::http::body::read(body, None)
}

fn shown(app: &App, error: &Error) -> Response {
    errors::answer(error, &Id::new(Kind::Request, app.now()), "")
}
