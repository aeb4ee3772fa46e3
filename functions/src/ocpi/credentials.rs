//! `/ocpi/{version}/credentials`: a platform registers, renews its credentials, or ends the connection.
//!
//! A platform registers with the token A that an operator has issued (`POST`). This service requests the versions and endpoints from the
//! platform with the token of the request's body, and responds with a new token. The token that was used stays valid for the modules
//! `versions` and `credentials` until the new one is used, so that a platform that did not receive the response can repeat its request.

use crate::App;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode as HttpStatus};
use ocpi::credentials::Credentials;
use ocpi::envelope::StatusCode;
use ocpi::reader::lenient;
use ocpi::versions::OcpiVersion;
use serde_json::Value;
use web::edge::base_url;

use super::edge::{InVersion, Json, Platform, UNKNOWN_TOKEN};
use super::operation::{Operation, operation};
use super::reply::{Reply, Result};
use crate::networks::handshake;

const PATH: &str = "/ocpi/{version}/credentials";

pub fn operations() -> Vec<Operation> {
    vec![
        operation("ocpi-retrieve-credentials", "GET", PATH, retrieve),
        operation("ocpi-register", "POST", PATH, register),
        operation("ocpi-renew-credentials", "PUT", PATH, renew),
        operation("ocpi-unregister", "DELETE", PATH, unregister),
    ]
}

/// Shows the credentials that the platform uses.
async fn retrieve(
    State(app): State<App>,
    platform: Platform,
    InVersion(_): InVersion,
    headers: HeaderMap,
) -> Result {
    Reply::data(&handshake::own_credentials(
        &app,
        &base_url(&app.settings, &headers),
        &platform.token,
    ))
}

/// Registers the platform.
async fn register(
    State(app): State<App>,
    platform: Platform,
    InVersion(version): InVersion,
    headers: HeaderMap,
    Json(body): Json,
) -> Result {
    if !platform.registers {
        return Err(not_allowed(
            "The platform is registered: send PUT to change its credentials.",
        ));
    }
    exchange(&app, platform, version, &headers, &body).await
}

/// Renews the credentials of a registered platform, or changes its version.
async fn renew(
    State(app): State<App>,
    platform: Platform,
    InVersion(version): InVersion,
    headers: HeaderMap,
    Json(body): Json,
) -> Result {
    if platform.registers {
        return Err(not_registered());
    }
    exchange(&app, platform, version, &headers, &body).await
}

/// Ends the connection: the network is revoked.
async fn unregister(State(app): State<App>, platform: Platform, InVersion(_): InVersion) -> Result {
    if platform.registers {
        return Err(not_registered());
    }
    let Platform {
        mode,
        network,
        token,
        ..
    } = platform;
    let is_revoked = handshake::unregister(&app, mode, &network.object.id, &token.hash()).await?;
    if is_revoked {
        Ok(Reply::success())
    } else {
        Err(Reply::unauthorized(UNKNOWN_TOKEN))
    }
}

fn read(app: &App, body: &Value) -> Result<Credentials> {
    let invalid = |why| Reply::error(StatusCode::INVALID_PARAMETERS, why);
    let credentials: Credentials = lenient(body).map_err(invalid)?;
    credentials
        .check(&app.settings.own_party.id)
        .map_err(invalid)?;
    Ok(credentials)
}

fn not_allowed(message: &str) -> Reply {
    Reply::transport(HttpStatus::METHOD_NOT_ALLOWED, message)
}

fn not_registered() -> Reply {
    not_allowed("The platform is not registered: send POST first.")
}

/// Requests the endpoints from the platform, and responds with a new token for it.
async fn exchange(
    app: &App,
    platform: Platform,
    version: OcpiVersion,
    headers: &HeaderMap,
    body: &Value,
) -> Result {
    let began = app.now();
    let credentials = read(app, body)?;
    let own_url = base_url(&app.settings, headers);
    let Platform {
        mode,
        network,
        token,
        ..
    } = platform;
    let endpoints = handshake::endpoints(app, mode, &credentials, version)
        .await
        .map_err(|(code, why)| Reply::error(code, why))?;
    let token = handshake::connect(
        app,
        mode,
        &network.object.id,
        handshake::Agreed {
            version,
            endpoints,
            credentials,
            own_url: own_url.clone(),
            used_token: token.hash(),
            began,
        },
    )
    .await?;
    let token = token.ok_or_else(|| Reply::unauthorized(UNKNOWN_TOKEN))?;
    Reply::data(&handshake::own_credentials(app, &own_url, &token))
}
