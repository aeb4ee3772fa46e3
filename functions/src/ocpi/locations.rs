//! `/ocpi/{version}/locations/{country_code}/{party_id}/{location_id}[/{evse_uid}[/{connector_id}]]`: an operator pushes a location, an
//! EVSE or a connector, or the changed fields of one.
//!
//! The location is stored as it is received, together with the charging station that it becomes (`crate::networks::stations`).

use crate::App;
use axum::extract::{Path, State};
use ocpi::object::{
    Module as Objects, ObjectId, Part, Refusal, Update, as_received, check_identity, part,
    patch_part, put_part,
};
use serde_json::Value;

use super::edge::{InVersion, Json, Party};
use super::module::{Module, operation};
use super::reply::{Reply, Result};
use crate::networks::stations;

const LOCATION: &str = "/ocpi/{version}/locations/{country_code}/{party_id}/{location_id}";
const EVSE: &str = "/ocpi/{version}/locations/{country_code}/{party_id}/{location_id}/{evse_uid}";
const CONNECTOR: &str =
    "/ocpi/{version}/locations/{country_code}/{party_id}/{location_id}/{evse_uid}/{connector_id}";

pub fn module() -> Module {
    Module {
        operations: vec![
            operation("ocpi-retrieve-location", "GET", LOCATION, retrieve_location),
            operation("ocpi-put-location", "PUT", LOCATION, put_location),
            operation("ocpi-patch-location", "PATCH", LOCATION, patch_location),
            operation("ocpi-retrieve-evse", "GET", EVSE, retrieve_evse),
            operation("ocpi-put-evse", "PUT", EVSE, put_evse),
            operation("ocpi-patch-evse", "PATCH", EVSE, patch_evse),
            operation(
                "ocpi-retrieve-connector",
                "GET",
                CONNECTOR,
                retrieve_connector,
            ),
            operation("ocpi-put-connector", "PUT", CONNECTOR, put_connector),
            operation("ocpi-patch-connector", "PATCH", CONNECTOR, patch_connector),
        ],
    }
}

type LocationPath = Path<(String, String, String, String)>;
type EvsePath = Path<(String, String, String, String, String)>;
type ConnectorPath = Path<(String, String, String, String, String, String)>;

async fn retrieve_location(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, owner, id)): LocationPath,
) -> Result {
    let id = party.object(Objects::Locations, &(country, owner, id))?;
    show(&app, &party, &id, &Part::Location).await
}

async fn retrieve_evse(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, owner, id, evse)): EvsePath,
) -> Result {
    let id = party.object(Objects::Locations, &(country, owner, id))?;
    show(&app, &party, &id, &Part::Evse(&evse)).await
}

async fn retrieve_connector(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, owner, id, evse, connector)): ConnectorPath,
) -> Result {
    let id = party.object(Objects::Locations, &(country, owner, id))?;
    show(&app, &party, &id, &Part::Connector(&evse, &connector)).await
}

async fn put_location(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, owner, id)): LocationPath,
    Json(body): Json,
) -> Result {
    let id = party.object(Objects::Locations, &(country, owner, id))?;
    check_identity(&body, &id)?;
    put(&app, &party, &id, &Part::Location, body).await
}

async fn put_evse(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, owner, id, evse)): EvsePath,
    Json(body): Json,
) -> Result {
    let id = party.object(Objects::Locations, &(country, owner, id))?;
    put(&app, &party, &id, &Part::Evse(&evse), body).await
}

async fn put_connector(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, owner, id, evse, connector)): ConnectorPath,
    Json(body): Json,
) -> Result {
    let id = party.object(Objects::Locations, &(country, owner, id))?;
    put(&app, &party, &id, &Part::Connector(&evse, &connector), body).await
}

async fn patch_location(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, owner, id)): LocationPath,
    Json(body): Json,
) -> Result {
    let id = party.object(Objects::Locations, &(country, owner, id))?;
    patch(&app, &party, &id, &Part::Location, &body).await
}

async fn patch_evse(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, owner, id, evse)): EvsePath,
    Json(body): Json,
) -> Result {
    let id = party.object(Objects::Locations, &(country, owner, id))?;
    patch(&app, &party, &id, &Part::Evse(&evse), &body).await
}

async fn patch_connector(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, owner, id, evse, connector)): ConnectorPath,
    Json(body): Json,
) -> Result {
    let id = party.object(Objects::Locations, &(country, owner, id))?;
    patch(
        &app,
        &party,
        &id,
        &Part::Connector(&evse, &connector),
        &body,
    )
    .await
}

/// Shows a location or a part of it, as it was received.
async fn show(app: &App, party: &Party, id: &ObjectId, at: &Part<'_>) -> Result {
    let stored = app.store.received(party.mode, id).await?;
    let shown = stored.as_ref().and_then(|stored| part(&stored.object, at));
    let shown = shown.ok_or(Refusal::NotFound("There is no such object."))?;
    Reply::data(&as_received(shown))
}

/// Stores a location or a part of it.
async fn put(app: &App, party: &Party, id: &ObjectId, at: &Part<'_>, object: Value) -> Result {
    let change = |stored: Option<&Value>| put_part(stored, at, object.clone(), app.now());
    store(app, party, id, &change).await
}

/// Stores the changed fields of a location or a part of it.
async fn patch(app: &App, party: &Party, id: &ObjectId, at: &Part<'_>, sent: &Value) -> Result {
    let change = |stored: Option<&Value>| patch_part(stored, at, sent, app.now());
    store(app, party, id, &change).await
}

async fn store(
    app: &App,
    party: &Party,
    id: &ObjectId,
    change: &(dyn Fn(Option<&Value>) -> std::result::Result<Update, Refusal> + Sync),
) -> Result {
    let stored = stations::store(app, party.mode, &party.network, id, change).await??;
    let reply = Reply::stored(matches!(stored.update, Update::New(_)));
    Ok(match stored.unusable {
        None => reply,
        Some(why) => reply.saying(format!(
            "The location is stored, and its station is as it was: {why}"
        )),
    })
}
