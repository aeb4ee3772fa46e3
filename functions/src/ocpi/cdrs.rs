//! `/ocpi/{version}/cdrs`: an operator sends a charge detail record, which never changes.
//!
//! The CDR is stored as it is received; if it is too large for that, its oldest charging periods are merged. It is listed as unmatched
//! until it belongs to a charging session of this service. A CDR that arrives twice is stored once; a CDR with the same id and other
//! content is refused.

use crate::App;
use axum::extract::State;
use axum::http::HeaderMap;
use ocpi::cdr::Cdr;
use ocpi::client::below;
use ocpi::envelope::StatusCode;
use ocpi::object::{Module, ObjectId, Refusal, Update, is_same, put, text_of};
use ocpi::reader::lenient;
use ocpi::versions::{OwnUrls, module as names};
use web::edge::base_url;

use super::edge::{JsonWithPeriods, Party};
use super::operation::{Operation, operation, retrieve};
use super::reply::{Reply, Result};
use crate::networks::objects;

const LIST: &str = "/ocpi/{version}/cdrs";
const PATH: &str = "/ocpi/{version}/cdrs/{country_code}/{party_id}/{cdr_id}";

pub fn operations() -> Vec<Operation> {
    vec![
        operation("ocpi-create-cdr", "POST", LIST, create),
        retrieve("ocpi-retrieve-cdr", PATH, Module::Cdrs),
    ]
}

/// Stores a CDR. The header `Location` contains its URL.
async fn create(
    State(app): State<App>,
    party: Party,
    headers: HeaderMap,
    JsonWithPeriods(body): JsonWithPeriods,
) -> Result {
    let invalid = |why: String| Reply::error(StatusCode::INVALID_PARAMETERS, why);
    let owner = party.owner_of(&body)?;
    let id = text_of(&body, "id").ok_or_else(|| invalid("id: is required".into()))?;
    let id = ObjectId::new(owner, Module::Cdrs, &id).map_err(invalid)?;
    lenient::<Cdr>(&body).map_err(invalid)?;
    let stored = objects::store(&app, &party, &id, |before| match before {
        Some(before) if !is_same(before, &body) => Err(Refusal::parameter(
            "id: there is another CDR with this id, and CDRs do not change",
        )),
        before => put(before, body.clone(), app.now()),
    })
    .await?;
    let url = OwnUrls(&base_url(&app.settings, &headers)).module(party.version, names::CDRS);
    let (country, party_id) = (id.party().country_code(), id.party().party_id());
    Ok(Reply::stored(matches!(stored, Update::New(_))).with_header(
        "location",
        below(&url, &[country, party_id, id.id().as_str()]),
    ))
}
