//! `/ocpi/{version}/hubclientinfo/{country_code}/{party_id}`: a hub reports a party that is connected to it.
//!
//! `crate::networks::hubs` describes how the party is processed. For a party that does not operate charging stations, the response is
//! success, and the report is not stored.

use crate::App;
use axum::extract::{Path, State};
use models::network::PartyId;
use ocpi::envelope::StatusCode;
use ocpi::network::PartyRefusal;
use ocpi::object::check_member;
use ocpi::party::Role;
use ocpi::reader::lenient;
use ocpi::token::ClientInfo;

use super::edge::{Json, Party};
use super::operation::{Operation, operation};
use super::reply::{Reply, Result};
use crate::networks::hubs;

const PATH: &str = "/ocpi/{version}/hubclientinfo/{country_code}/{party_id}";

pub fn operations() -> Vec<Operation> {
    vec![
        operation("ocpi-retrieve-client-info", "GET", PATH, retrieve),
        operation("ocpi-put-client-info", "PUT", PATH, replace),
    ]
}

type ClientPath = Path<(String, String, String)>;

fn client(party: &Party, country: &str, id: &str) -> Result<PartyId> {
    if !party.network.is_hub() {
        return Err(Reply::error(
            StatusCode::CLIENT_ERROR,
            "The platform is not a hub.",
        ));
    }
    let id = PartyId::new(country, id).map_err(Reply::not_found)?;
    party.check_sender(&id)?;
    Ok(id)
}

/// Shows the hub's report about a party.
async fn retrieve(party: Party, Path((_, country, id)): ClientPath) -> Result {
    let id = client(&party, &country, &id)?;
    let mut parties = party.network.parties.into_iter();
    let known = parties.find(|party| party.id == id && party.role == Role::Cpo);
    let known = known.filter(|party| party.reported.is_some());
    let known = known.ok_or_else(|| Reply::not_found("There is no such object."))?;
    Reply::data(&ClientInfo {
        party: known.id,
        role: known.role,
        status: known.status,
        last_updated: known.reported,
    })
}

/// Stores the hub's report about a party.
async fn replace(
    State(app): State<App>,
    party: Party,
    Path((_, country, id)): ClientPath,
    Json(body): Json,
) -> Result {
    let invalid = |why| Reply::error(StatusCode::INVALID_PARAMETERS, why);
    let id = client(&party, &country, &id)?;
    check_member(&body, "country_code", id.country_code())?;
    check_member(&body, "party_id", id.party_id())?;
    if id == app.settings.own_party.id {
        return Err(invalid(format!("{id} is the party of this service.")));
    }
    let is_new = party.network.operator(&id) == Err(PartyRefusal::Unknown);
    let info: ClientInfo = lenient(&body).map_err(invalid)?;
    let refused = hubs::report(&app, party.mode, &party.network.id, &[info], true).await?;
    match refused.first() {
        None => Ok(Reply::stored(is_new)),
        Some((party, why)) => Err(invalid(format!("{party} {why}."))),
    }
}
