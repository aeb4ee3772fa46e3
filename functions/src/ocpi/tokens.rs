//! `/ocpi/{version}/tokens`: a platform reads the tokens of charge cards, or requests a real-time authorization (OCPI 2.2.1 section
//! 12.2.2.2).
//!
//! The response depends on the present state of the card. If it depends on the place, and the platform does not name the place, the status
//! code is 2002; if the location is unknown, 2003. Every response has a new authorization reference: a session is assigned to its card by
//! the uid of its token.

use std::time::Duration;

use crate::App;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use kernel::{Id, Kind};
use models::ChargingStation;
use models::token::{AllowedType, TokenType};
use ocpi::envelope::StatusCode;
use ocpi::object::{Module, ObjectId};
use ocpi::page::{MAX_LIMIT, PageQuery};
use ocpi::reader::lenient;
use ocpi::token::{AuthorizationInfo, LocationReferences};
use ocpi::versions::{OwnUrls, module as names};
use table::networks::operators;
use tokio::time::timeout;
use web::edge::base_url;

use super::edge::{OptionalJson, Party};
use super::operation::{Operation, operation};
use super::reply::{Reply, Result};
use crate::charge_cards::authorize::{self, Authorization, Whereabouts};

const LIST: &str = "/ocpi/{version}/tokens";
const AUTHORIZE: &str = "/ocpi/{version}/tokens/{token_uid}/authorize";

pub fn operations() -> Vec<Operation> {
    vec![
        operation("ocpi-list-tokens", "GET", LIST, list),
        operation("ocpi-authorize-token", "POST", AUTHORIZE, authorize),
    ]
}

/// Lists tokens, the least recently updated first.
async fn list(
    State(app): State<App>,
    party: Party,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result {
    let query = query.unwrap_or_default();
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    let pairs = pairs
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let query =
        PageQuery::read(pairs).map_err(|why| Reply::error(StatusCode::INVALID_PARAMETERS, why))?;
    let times = (query.date_from, query.date_to);
    let (tokens, total) = app
        .store
        .tokens(party.mode, times, query.offset, query.limit)
        .await?;
    let url = OwnUrls(&base_url(&app.settings, &headers)).module(party.version, names::TOKENS);
    let reply = Reply::data(&tokens)?
        .with_header("x-total-count", total.to_string())
        .with_header("x-limit", MAX_LIMIT.to_string());
    Ok(match query.link(&url, total) {
        Some(link) => reply.with_header("link", link),
        None => reply,
    })
}

/// The maximum time for a response: networks wait for 2 seconds before they decide by themselves.
const AUTHORIZATION_TIME_LIMIT: Duration = Duration::from_millis(1_800);

/// Decides whether a token may charge.
async fn authorize(
    State(app): State<App>,
    party: Party,
    Path((_, uid)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    OptionalJson(body): OptionalJson,
) -> Result {
    let invalid = |why: String| Reply::error(StatusCode::INVALID_PARAMETERS, why);
    let query = query.unwrap_or_default();
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let kind = match pairs.find(|(name, _)| name == "type") {
        None => TokenType::Rfid,
        Some((_, name)) => TokenType::from_name(&name)
            .ok_or_else(|| invalid("type: expected AD_HOC_USER, APP_USER or RFID".into()))?,
    };
    // A network that does not name the place omits the body, or sends an empty object or null.
    let named = body.filter(|body| {
        !body.is_null() && body.as_object().is_none_or(|members| !members.is_empty())
    });
    let place: Option<LocationReferences> = match &named {
        None => None,
        Some(body) => Some(lenient(body).map_err(invalid)?),
    };
    let decided = decide(&app, &party, (kind, &uid), place);
    let late = |_| Reply::error(StatusCode::SERVER_ERROR, "The request took too long.");
    timeout(AUTHORIZATION_TIME_LIMIT * app.settings.slack, decided)
        .await
        .map_err(late)?
}

async fn decide(
    app: &App,
    party: &Party,
    token: (TokenType, &str),
    place: Option<LocationReferences>,
) -> Result {
    let station = match &place {
        None => None,
        Some(place) => Some(station_of(app, party, &place.location_id).await?),
    };
    let whereabouts = match (&station, &place) {
        (Some(Some(station)), Some(place)) => Whereabouts::Station(station, &place.evse_uids),
        _ => Whereabouts::Unknown,
    };
    let decided = authorize::authorize(app, party.mode, token, whereabouts).await?;
    let unknown =
        || Reply::not_found("This token is unknown.").with_code(StatusCode::UNKNOWN_TOKEN);
    let Authorization {
        allowed,
        token,
        evses,
        needs_place,
    } = decided.ok_or_else(unknown)?;
    let is_allowed = allowed == AllowedType::Allowed;
    if needs_place {
        return Err(match place {
            None => Reply::error(
                StatusCode::NOT_ENOUGH_INFORMATION,
                "The answer depends on the place: send location_id and evse_uids.",
            ),
            Some(_) => Reply::error(StatusCode::UNKNOWN_LOCATION, "This location is unknown."),
        });
    }
    let is_known = matches!(station, Some(Some(_)));
    let reference = Id::new(Kind::Request, app.now());
    let digits = reference
        .as_str()
        .trim_start_matches(Kind::Request.prefix());
    Reply::data(&AuthorizationInfo {
        allowed,
        token,
        location: place
            .filter(|_| is_allowed && is_known)
            .map(|place| LocationReferences {
                evse_uids: evses,
                ..place
            }),
        authorization_reference: is_allowed.then(|| digits.to_owned()),
    })
}

/// The station of a location of the party.
async fn station_of(app: &App, party: &Party, location: &str) -> Result<Option<ChargingStation>> {
    let owner = party
        .sender()
        .and_then(|sender| party.network.owner(sender).ok());
    let id = owner.and_then(|owner| ObjectId::new(owner, Module::Locations, location).ok());
    let Some(id) = id else {
        return Ok(None);
    };
    let received = app.store.received(party.mode, &id).await?;
    let Some(station) = received.and_then(|object| object.station) else {
        return Ok(None);
    };
    let tenant = operators(party.mode);
    let station = app.store.find::<ChargingStation>(&tenant, &station).await?;
    let station = station.filter(|station| station.internal.location.as_ref() == Some(&id));
    Ok(station.map(|station| station.object))
}
