//! `/ocpi/{version}/locations/{country_code}/{party_id}/{location_id}[/{evse_uid}[/{connector_id}]]`: an operator pushes a location, an
//! EVSE or a connector, or the changed fields of one.
//!
//! The location is stored as it is received, together with the charging station that it becomes (`crate::networks::stations`).

use crate::App;
use axum::extract::{Path, State};
use ocpi::object::{
    Module, ObjectId, Part, Refusal, Update, as_received, check_identity, part, patch_part,
    put_part,
};
use serde_json::Value;

use super::edge::{Json, ObjectPath, Party};
use super::operation::{Operation, operation};
use super::reply::{Reply, Result};
use crate::networks::stations;

const LOCATION: &str = "/ocpi/{version}/locations/{country_code}/{party_id}/{location_id}";
const EVSE: &str = "/ocpi/{version}/locations/{country_code}/{party_id}/{location_id}/{evse_uid}";
const CONNECTOR: &str =
    "/ocpi/{version}/locations/{country_code}/{party_id}/{location_id}/{evse_uid}/{connector_id}";

pub fn operations() -> Vec<Operation> {
    vec![
        operation("ocpi-retrieve-location", "GET", LOCATION, retrieve),
        operation("ocpi-put-location", "PUT", LOCATION, replace),
        operation("ocpi-patch-location", "PATCH", LOCATION, update),
        operation("ocpi-retrieve-evse", "GET", EVSE, retrieve),
        operation("ocpi-put-evse", "PUT", EVSE, replace),
        operation("ocpi-patch-evse", "PATCH", EVSE, update),
        operation("ocpi-retrieve-connector", "GET", CONNECTOR, retrieve),
        operation("ocpi-put-connector", "PUT", CONNECTOR, replace),
        operation("ocpi-patch-connector", "PATCH", CONNECTOR, update),
    ]
}

/// The part of a location that a path names.
fn part_of(path: &ObjectPath) -> Part<'_> {
    match (&path.evse_uid, &path.connector_id) {
        (None, _) => Part::Location,
        (Some(evse), None) => Part::Evse(evse),
        (Some(evse), Some(connector)) => Part::Connector(evse, connector),
    }
}

/// Shows a location or a part of it, as it was received.
async fn retrieve(State(app): State<App>, party: Party, Path(path): Path<ObjectPath>) -> Result {
    let id = party.object(Module::Locations, &path)?;
    let stored = app.store.received(party.mode, &id).await?;
    let stored = stored.as_ref();
    let shown = stored.and_then(|stored| part(&stored.object, &part_of(&path)));
    let shown = shown.ok_or(Refusal::NotFound("There is no such object."))?;
    Reply::data(&as_received(shown))
}

/// Stores a location or a part of it.
async fn replace(
    State(app): State<App>,
    party: Party,
    Path(path): Path<ObjectPath>,
    Json(body): Json,
) -> Result {
    let id = party.object(Module::Locations, &path)?;
    let part = part_of(&path);
    if part == Part::Location {
        check_identity(&body, &id)?;
    }
    let change = |stored: Option<&Value>| put_part(stored, &part, body.clone(), app.now());
    store(&app, &party, &id, &change).await
}

/// Stores the changed fields of a location or a part of it.
async fn update(
    State(app): State<App>,
    party: Party,
    Path(path): Path<ObjectPath>,
    Json(body): Json,
) -> Result {
    let id = party.object(Module::Locations, &path)?;
    let part = part_of(&path);
    let change = |stored: Option<&Value>| patch_part(stored, &part, &body, app.now());
    store(&app, &party, &id, &change).await
}

async fn store(
    app: &App,
    party: &Party,
    id: &ObjectId,
    change: &(dyn Fn(Option<&Value>) -> std::result::Result<Update, Refusal> + Sync),
) -> Result {
    let stored = stations::store(app, party.mode, &party.network, id, change).await??;
    let reply = Reply::stored(matches!(stored.update, Update::New(_)));
    Ok(match stored.problem {
        None => reply,
        Some(problem) => reply.with_message(format!("The location is stored; {problem}")),
    })
}
