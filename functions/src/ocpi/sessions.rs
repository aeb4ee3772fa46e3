//! `/ocpi/{version}/sessions/{country_code}/{party_id}/{session_id}`: an operator pushes a session, or the changed fields of one.
//!
//! The session is stored as it is received; if it is too large for that, its oldest charging periods are merged. It is listed as unmatched
//! until it belongs to a charging session of this service.

use crate::App;
use axum::extract::{Path, State};
use ocpi::object::{Module, Refusal, Update, check_identity, patch_session, put};
use ocpi::reader::lenient;
use ocpi::session::Session;
use serde_json::Value;

use super::edge::{Json, JsonWithPeriods, ObjectPath, Party};
use super::operation::{Operation, operation, retrieve};
use super::reply::{Reply, Result};
use crate::networks::objects;

const PATH: &str = "/ocpi/{version}/sessions/{country_code}/{party_id}/{session_id}";

pub fn operations() -> Vec<Operation> {
    vec![
        retrieve("ocpi-retrieve-session", PATH, Module::Sessions),
        operation("ocpi-put-session", "PUT", PATH, replace),
        operation("ocpi-patch-session", "PATCH", PATH, update),
    ]
}

/// Stores a session.
async fn replace(
    State(app): State<App>,
    party: Party,
    Path(path): Path<ObjectPath>,
    JsonWithPeriods(body): JsonWithPeriods,
) -> Result {
    let id = party.object(Module::Sessions, &path)?;
    check_identity(&body, &id)?;
    readable(&body)?;
    let stored = objects::store(&app, &party, &id, |before| {
        put(before, body.clone(), app.now())
    })
    .await?;
    Ok(Reply::stored(matches!(stored, Update::New(_))))
}

/// Stores the changed fields of a session.
async fn update(
    State(app): State<App>,
    party: Party,
    Path(path): Path<ObjectPath>,
    Json(body): Json,
) -> Result {
    let id = party.object(Module::Sessions, &path)?;
    objects::store(&app, &party, &id, |before| {
        let before = before.ok_or(Refusal::NotFound("There is no such session."))?;
        let update = patch_session(before, &body, app.now())?;
        if let Update::Changed(session) = &update {
            readable(session)?;
        }
        Ok(update)
    })
    .await?;
    Ok(Reply::success())
}

/// Checks that a session has the fields that this service needs.
fn readable(session: &Value) -> std::result::Result<Session, Refusal> {
    lenient(session).map_err(Refusal::parameter)
}
