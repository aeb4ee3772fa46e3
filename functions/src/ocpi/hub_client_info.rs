//! `/ocpi/{version}/hubclientinfo/{country_code}/{party_id}`: a hub reports a party that is connected to it.
//!
//! The party may write its objects over the hub's connection from then on, unless it belongs to another network.

use axum::extract::{Path, State};
use shared::App;
use shared::models::network::Owner;
use shared::ocpi::envelope::StatusCode;
use shared::ocpi::network::{Network, NetworkParty};
use shared::ocpi::object::{Module as Objects, ObjectId, Update, check_member, put};
use shared::ocpi::party::PartyId;
use shared::ocpi::reader::lenient;
use shared::ocpi::token::ClientInfo;
use shared::store::networks::shared_origin;

use super::edge::{InVersion, Json, Party};
use super::module::{Module, operation};
use super::reply::{Reply, Result};
use crate::networks::objects;

const PATH: &str = "/ocpi/{version}/hubclientinfo/{country_code}/{party_id}";

pub fn module() -> Module {
    Module {
        operations: vec![
            operation("ocpi-retrieve-client-info", "GET", PATH, retrieve),
            operation("ocpi-put-client-info", "PUT", PATH, replace),
        ],
    }
}

type ClientPath = Path<(String, String, String)>;

fn client(party: &Party, country: &str, id: &str) -> Result<ObjectId> {
    if !party.network.is_hub() {
        return Err(Reply::error(
            StatusCode::CLIENT_ERROR,
            "The platform is not a hub.",
        ));
    }
    let client = Owner {
        network: party.network.id.clone(),
        party: PartyId::new(country, id).map_err(Reply::not_found)?,
    };
    let id = client.party.party_id().to_owned();
    ObjectId::new(client, Objects::HubClientInfo, &id).map_err(Reply::not_found)
}

/// Shows what the hub has reported about a party.
async fn retrieve(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, id)): ClientPath,
) -> Result {
    let id = client(&party, &country, &id)?;
    // Another hub's report is not shown.
    party.owner(id.party().country_code(), id.party().party_id())?;
    objects::show(&app, party.mode, &id).await
}

/// Stores what the hub reports about a party.
async fn replace(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
    Path((_, country, id)): ClientPath,
    Json(body): Json,
) -> Result {
    let id = client(&party, &country, &id)?;
    check_member(&body, "country_code", id.party().country_code())?;
    check_member(&body, "party_id", id.party().party_id())?;
    let info: ClientInfo =
        lenient(&body).map_err(|why| Reply::error(StatusCode::INVALID_PARAMETERS, why))?;
    add(&app, &party, &info).await?;
    let stored = objects::store(&app, &party, &id, |before| {
        put(before, body.clone(), app.now())
    })
    .await?;
    Ok(Reply::stored(matches!(stored, Update::New(_))))
}

/// Adds the party to those of the hub.
async fn add(app: &App, party: &Party, info: &ClientInfo) -> Result<()> {
    let origin = shared_origin(party.mode, app.now());
    let id = &party.network.id;
    let mut network = app.store.load::<Network>(&origin.tenant, id).await?;
    if network
        .object
        .party(&info.party)
        .is_some_and(|known| known.role == info.role)
    {
        return Ok(());
    }
    let named = network
        .object
        .party(&info.party)
        .map(|known| known.name.clone());
    network.add_client(
        NetworkParty {
            id: info.party.clone(),
            name: named.unwrap_or_else(|| info.party.to_string()),
            role: info.role,
        },
        origin.now,
    );
    let mut tx = app.store.begin(&origin);
    tx.claim_party(&info.party, id)?;
    tx.save(&mut network)?;
    tx.commit_without_response().await?;
    app.networks.forget(id);
    Ok(())
}
