//! `/ocpi/{version}/tokens`: a platform reads the tokens of charge cards, or asks whether one may charge.

use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use shared::App;
use shared::http::edge::base_url;
use shared::ocpi::envelope::StatusCode;
use shared::ocpi::page::{MAX_LIMIT, PageQuery};
use shared::ocpi::reader::lenient;
use shared::ocpi::token::{AllowedType, AuthorizationInfo, LocationReferences, TokenType};
use shared::ocpi::versions::{OwnUrls, module as names};

use super::edge::{InVersion, OptionalJson, Party};
use super::module::{Module, operation};
use super::reply::{Reply, Result};

const LIST: &str = "/ocpi/{version}/tokens";
const AUTHORIZE: &str = "/ocpi/{version}/tokens/{token_uid}/authorize";

pub fn module() -> Module {
    Module {
        operations: vec![
            operation("ocpi-list-tokens", "GET", LIST, list),
            operation("ocpi-authorize-token", "POST", AUTHORIZE, authorize),
        ],
    }
}

/// Lists tokens, the one that was updated first first.
async fn list(
    State(app): State<App>,
    party: Party,
    InVersion(version): InVersion,
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
    let tokens: Vec<_> = tokens.into_iter().map(|one| one.token).collect();
    let url = OwnUrls(&base_url(&app.settings, &headers)).module(version, names::TOKENS);
    let reply = Reply::data(&tokens)?
        .with_header("x-total-count", total.to_string())
        .with_header("x-limit", MAX_LIMIT.to_string());
    Ok(match query.link(&url, total) {
        Some(link) => reply.with_header("link", link),
        None => reply,
    })
}

/// Says whether a token may charge.
async fn authorize(
    State(app): State<App>,
    party: Party,
    InVersion(_): InVersion,
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
    let location: Option<LocationReferences> = match &body {
        None => None,
        Some(body) => Some(lenient(body).map_err(invalid)?),
    };
    let unknown = || Reply::not_found("This token is unknown.").coded(StatusCode::UNKNOWN_TOKEN);
    let stored = app.store.token(party.mode, kind, &uid).await?;
    let token = stored.ok_or_else(unknown)?.token;
    let allowed = match token.valid {
        true => AllowedType::Allowed,
        false => AllowedType::Blocked,
    };
    Reply::data(&AuthorizationInfo {
        allowed,
        token,
        location: location.filter(|_| allowed == AllowedType::Allowed),
        authorization_reference: None,
    })
}
