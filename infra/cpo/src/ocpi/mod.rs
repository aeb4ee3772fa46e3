//! The OCPI 2.2.1 endpoints of the operator, as the eMSP sees them.
//!
//! | Module | Interfaces |
//! |---|---|
//! | versions, credentials | both directions of the handshake; token A opens only these |
//! | locations, tariffs, sessions, cdrs | sender: lists in pages |
//! | tokens | receiver: GET, PUT and PATCH of the eMSP's tokens |
//! | chargingprofiles | receiver: PUT and DELETE of a session's profile |
//! | commands | receiver: START_SESSION, STOP_SESSION, RESERVE_NOW, CANCEL_RESERVATION and UNLOCK_CONNECTOR |

mod commands;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{OriginalUri, Path, Query, Request, State as Shared};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::network::{Net, Network};
use crate::partner;
use crate::party::{VERSION, random};
use crate::script::{self, Generated, Links};
use crate::state::{State, is_ours, same};
use crate::time::text;

/// The versions under whose paths the modules are served. [`Script::versions`](crate::script::Script) has those that are listed.
const VERSIONS: [&str; 2] = [VERSION, "2.3.0"];

/// The routes below `/ocpi`.
pub fn router(network: &Arc<Network>) -> Router {
    let mut router = Router::new().route("/ocpi/versions", get(versions));
    for version in VERSIONS {
        router = router.nest(&format!("/ocpi/{version}"), modules());
    }
    router
        .layer(from_fn_with_state(network.clone(), authenticate))
        .layer(from_fn_with_state(network.clone(), follow))
        .with_state(network.clone())
}

fn modules() -> Router<Arc<Network>> {
    let credentials = get(credentials).post(register).put(register);
    Router::new()
        .route("/", get(details))
        .route("/credentials", credentials.delete(unregister))
        .route("/{module}", get(list))
        .route("/locations/{location}", get(location))
        .route("/locations/{location}/{evse}", get(evse))
        .route("/locations/{location}/{evse}/{connector}", get(connector))
        .route(
            "/sessions/{session}/charging_preferences",
            put(charging_preferences),
        )
        .route(
            "/tokens/{country}/{party}/{uid}",
            get(token).put(put_token).patch(patch_token),
        )
        .route("/commands/{command}", post(commands::command))
        .route(
            "/chargingprofiles/{session}",
            put(commands::set_profile).delete(commands::clear_profile),
        )
}

/// A response in OCPI's envelope.
struct Reply {
    http: StatusCode,
    code: u16,
    message: Option<String>,
    data: Option<Value>,
    headers: Vec<(&'static str, String)>,
}

impl Reply {
    fn new(http: StatusCode, code: u16, data: Option<Value>) -> Self {
        Self {
            http,
            code,
            message: None,
            data,
            headers: Vec::new(),
        }
    }

    fn data(data: Value) -> Self {
        Self::new(StatusCode::OK, 1000, Some(data))
    }

    fn done() -> Self {
        Self::new(StatusCode::OK, 1000, None)
    }

    fn error(http: StatusCode, code: u16, message: impl Into<String>) -> Self {
        let message = Some(message.into());
        Self {
            message,
            ..Self::new(http, code, None)
        }
    }

    fn not_found(what: &str) -> Self {
        Self::error(StatusCode::NOT_FOUND, 2003, format!("{what} is unknown"))
    }

    /// 2001: a parameter is missing or has a wrong value.
    fn invalid(message: impl Into<String>) -> Self {
        Self::error(StatusCode::OK, 2001, message)
    }

    fn into_response(self, now: Timestamp) -> Response {
        let mut body = json!({"status_code": self.code, "timestamp": text(now)});
        if let Some(message) = self.message {
            body["status_message"] = json!(message);
        }
        if let Some(data) = self.data {
            body["data"] = data;
        }
        let mut response = (self.http, axum::Json(body)).into_response();
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

/// The maximum size of a request, in bytes.
const BODY: usize = 1 << 20;

/// Records a request, and responds with a failure if the script has one.
async fn follow(Shared(network): Net, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY).await.unwrap_or_default();
    let failure = network.script().receive(&parts, &body);
    match failure {
        Some(failure) => failure,
        None => next.run(Request::from_parts(parts, Body::from(body))).await,
    }
}

/// Accepts requests with token A, for the handshake only, and those of the registered eMSP. Returns the ids of the request with
/// the response.
async fn authenticate(Shared(network): Net, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let ids = ["x-request-id", "x-correlation-id"].map(|name| (name, headers.get(name).cloned()));
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let token = token
        .and_then(|value| value.strip_prefix("Token "))
        .unwrap_or_default();
    let token = STANDARD.decode(token).unwrap_or_default();
    let known = |expected: &str| !expected.is_empty() && expected.as_bytes() == token.as_slice();
    let path: Vec<&str> = request.uri().path().split('/').skip(2).collect();
    let handshake = matches!(path.as_slice(), [_] | [_, "credentials"]);
    let allowed = network.read(|state| {
        state.token_c.as_deref().is_some_and(known)
            || (handshake && state.token_c.is_none() && known(&state.token_a))
    });
    let mut response = if allowed {
        next.run(request).await
    } else {
        let refused = Reply::error(
            StatusCode::UNAUTHORIZED,
            2001,
            "The credentials token is unknown.",
        );
        refused.into_response((network.clock)())
    };
    for (name, value) in ids {
        let value = value.or_else(|| HeaderValue::from_str(&random(16)).ok());
        if let Some(value) = value {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn reply(network: &Network, reply: Reply) -> Response {
    reply.into_response((network.clock)())
}

fn reads(body: &Bytes) -> Result<Value, Reply> {
    serde_json::from_slice(body)
        .map_err(|error| Reply::error(StatusCode::BAD_REQUEST, 2001, error.to_string()))
}

fn required<'a>(body: &'a Value, name: &str) -> Result<&'a str, Reply> {
    let value = body[name].as_str().filter(|value| !value.is_empty());
    value.ok_or_else(|| Reply::invalid(format!("{name} is required")))
}

async fn versions(Shared(network): Net) -> Response {
    let base = &network.base_url;
    let version = |name: &&str| json!({"version": name, "url": format!("{base}/{name}")});
    let versions = network.script().versions.iter().map(version).collect();
    reply(&network, Reply::data(versions))
}

async fn details(Shared(network): Net, uri: OriginalUri) -> Response {
    let version = uri.path().rsplit('/').next().unwrap_or_default();
    let script = network.script();
    let endpoint = |(module, role): (&str, &str)| {
        let own = || format!("{}/{version}/{module}", network.base_url);
        let url = script.addresses.get(module).cloned().unwrap_or_else(own);
        json!({"identifier": module, "role": role, "url": url})
    };
    let senders = ["credentials", "locations", "tariffs", "sessions", "cdrs"];
    let others = script
        .lists
        .keys()
        .filter(|module| !senders.contains(module));
    let senders = senders
        .iter()
        .chain(others)
        .map(|module| (*module, "SENDER"));
    let all = senders.chain([("tokens", "RECEIVER"), ("commands", "RECEIVER")]);
    let all = all.chain([("chargingprofiles", "RECEIVER")]);
    let all = all.filter(|(module, _)| !script.missing.contains(module));
    let endpoints: Vec<Value> = all.map(endpoint).collect();
    drop(script);
    reply(
        &network,
        Reply::data(json!({"version": version, "endpoints": endpoints})),
    )
}

async fn credentials(Shared(network): Net) -> Response {
    let token = network.read(|state| {
        state
            .token_c
            .clone()
            .unwrap_or_else(|| state.token_a.clone())
    });
    reply(&network, Reply::data(network.credentials(&token)))
}

/// POST registers an eMSP, PUT replaces its credentials. Both read the eMSP's endpoints before they respond.
async fn register(Shared(network): Net, method: Method, body: Bytes) -> Response {
    let registered = network.read(|state| state.partner.is_some());
    if registered == (method == Method::POST) {
        let why = if registered {
            "is registered already"
        } else {
            "is not registered"
        };
        let refused = Reply::error(
            StatusCode::METHOD_NOT_ALLOWED,
            2000,
            format!("This party {why}."),
        );
        return reply(&network, refused);
    }
    let registered = async {
        let theirs = reads(&body)?;
        let (token, url) = (required(&theirs, "token")?, required(&theirs, "url")?);
        let endpoints = partner::discover(&network.http, url, token).await;
        let endpoints = endpoints.map_err(|error| Reply::error(StatusCode::OK, 3001, error))?;
        partner::read_credentials(&theirs, endpoints).map_err(Reply::invalid)
    };
    match registered.await {
        Err(refused) => reply(&network, refused),
        Ok(partner) => {
            let token = random(24);
            network.change(|state, _| state.token_c = Some(token.clone()));
            let how = if method == Method::POST {
                "registered by"
            } else {
                "credentials renewed by"
            };
            network.connected(partner, how);
            reply(&network, Reply::data(network.credentials(&token)))
        }
    }
}

async fn unregister(Shared(network): Net) -> Response {
    network.change(|state, now| {
        state.partner = None;
        state.token_c = None;
        state.tokens.clear();
        state.outbox.clear();
        state.note(now, "the eMSP has unregistered");
    });
    reply(&network, Reply::done())
}

type Parameters = Query<BTreeMap<String, String>>;

/// The query of a list.
#[derive(Deserialize)]
struct Listing {
    date_from: Option<Timestamp>,
    date_to: Option<Timestamp>,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

impl Listing {
    /// Whether an object was updated in the requested time. An object without a time is always listed.
    fn includes(&self, object: &Value) -> bool {
        updated(object).is_none_or(|updated| {
            self.date_from.is_none_or(|from| updated >= from)
                && self.date_to.is_none_or(|to| updated < to)
        })
    }
}

fn updated(object: &Value) -> Option<Timestamp> {
    object["last_updated"].as_str()?.parse().ok()
}

/// One page of a list, oldest first.
async fn list(
    Shared(network): Net,
    uri: OriginalUri,
    Path(module): Path<String>,
    listing: Result<Query<Listing>, QueryRejection>,
) -> Response {
    let Query(listing) = match listing {
        Ok(listing) => listing,
        Err(wrong) => return reply(&network, Reply::invalid(wrong.to_string())),
    };
    let script = network.script();
    let scripted = script.lists.get(module.as_str()).cloned();
    let generated = script.generated.filter(|_| module == "locations");
    let (most, scripted_next) = (script.page, script.next_pages.get(module.as_str()).cloned());
    let (unlisted, links) = (script.unlisted, script.links);
    drop(script);
    let (offset, limit) = (listing.offset, listing.limit.unwrap_or(most).clamp(1, most));
    let (total, page) = if let Some(Generated { count, make }) = generated {
        let end = count.min(offset + limit);
        (count, (offset..end).map(make).collect())
    } else if let Some(mut all) = scripted.or_else(|| network.read(|state| state.list(&module))) {
        all.retain(|object| listing.includes(object));
        all.sort_by_key(updated);
        let total = all.len();
        (total, all.into_iter().skip(offset).take(limit).collect())
    } else {
        return reply(&network, Reply::not_found("The module"));
    };
    let mut answer = Reply::data(Value::Array(page));
    let mut add = |name: &'static str, value: String| answer.headers.push((name, value));
    add("x-total-count", (total + unlisted).to_string());
    add("x-limit", most.to_string());
    let path = uri.path().trim_start_matches("/ocpi");
    let url = format!("{}{path}", network.base_url);
    if links == Links::Second {
        add("link", format!("<{url}?offset=0>; rel=\"first\""));
    }
    if let Some(next) = scripted_next {
        add("link", format!("<{next}>; rel=\"next\""));
    } else if offset + limit < total && links != Links::None {
        let date = |name: &str, date: Option<Timestamp>| {
            date.map_or_else(String::new, |date| format!("&{name}={}", text(date)))
        };
        let dates = date("date_from", listing.date_from) + &date("date_to", listing.date_to);
        let next = offset + limit;
        add(
            "link",
            format!("<{url}?offset={next}&limit={limit}{dates}>; rel=\"next\""),
        );
    }
    reply(&network, answer)
}

fn found(network: &Network, object: Option<Value>, what: &str) -> Response {
    reply(
        network,
        object.map_or_else(|| Reply::not_found(what), Reply::data),
    )
}

/// The object with this id in a list.
fn part<'a>(list: &'a Value, key: &str, id: &str) -> Option<&'a Value> {
    list.as_array()?
        .iter()
        .find(|object| same(&object[key], id))
}

async fn location(Shared(network): Net, Path(id): Path<String>) -> Response {
    let scripted = network.script().locations.get(id.as_str()).cloned();
    let object = match scripted {
        Some(Err(http)) => return script::status(http),
        Some(Ok(object)) => Some(object),
        None => network.read(|state| state.location(&id).cloned()),
    };
    found(&network, object, "The location")
}

async fn evse(Shared(network): Net, Path((location, evse)): Path<(String, String)>) -> Response {
    let object =
        network.read(|state| part(&state.location(&location)?["evses"], "uid", &evse).cloned());
    found(&network, object, "The EVSE")
}

async fn connector(
    Shared(network): Net,
    Path((location, evse, connector)): Path<(String, String, String)>,
) -> Response {
    let object = network.read(|state| {
        let evse = part(&state.location(&location)?["evses"], "uid", &evse)?;
        part(&evse["connectors"], "id", &connector).cloned()
    });
    found(&network, object, "The connector")
}

/// None of the EVSEs has the capability CHARGING_PREFERENCES_CAPABLE, for which the specification prescribes this refusal.
async fn charging_preferences(Shared(network): Net, Path(_): Path<String>) -> Response {
    let accepted = network.script().preferences.clone();
    if let Some(answer) = accepted {
        return reply(&network, Reply::data(answer));
    }
    let refused = Reply::error(
        StatusCode::NOT_FOUND,
        2001,
        "The EVSE does not support charging preferences.",
    );
    reply(&network, refused)
}

type TokenPath = Path<(String, String, String)>;

fn kind(parameters: &BTreeMap<String, String>) -> &str {
    parameters.get("type").map_or("RFID", String::as_str)
}

/// Whether an object in a path belongs to the eMSP.
fn owns(state: &State, country: &str, party: &str) -> bool {
    let owner = |partner: &crate::state::Partner| {
        partner.country_code.eq_ignore_ascii_case(country)
            && partner.party_id.eq_ignore_ascii_case(party)
    };
    !is_ours(country, party) && state.partner.as_ref().is_some_and(owner)
}

async fn token(
    Shared(network): Net,
    Path((country, party, uid)): TokenPath,
    Query(parameters): Parameters,
) -> Response {
    let object = network.read(|state| {
        let token = state.token(&uid, kind(&parameters));
        token.filter(|_| owns(state, &country, &party)).cloned()
    });
    found(&network, object, "The token")
}

async fn put_token(
    Shared(network): Net,
    Path((country, party, uid)): TokenPath,
    Query(parameters): Parameters,
    body: Bytes,
) -> Response {
    let refused = network.script().refused_tokens;
    if let Some(code) = refused {
        let refused = Reply::error(StatusCode::OK, code, "This refusal was asked for.");
        return reply(&network, refused);
    }
    let stored = (|| {
        let token = reads(&body)?;
        for name in [
            "country_code",
            "party_id",
            "contract_id",
            "issuer",
            "whitelist",
            "last_updated",
        ] {
            required(&token, name)?;
        }
        let agree = same(&token["uid"], &uid) && token["type"] == kind(&parameters);
        if !agree || !token["valid"].is_boolean() {
            return Err(Reply::invalid(
                "uid and type have to be those of the path, and valid a boolean",
            ));
        }
        if !network.read(|state| owns(state, &country, &party)) {
            return Err(Reply::not_found("The party"));
        }
        let created = network.change(|state, now| {
            let valid = if token["valid"] == true {
                "valid"
            } else {
                "not valid"
            };
            state.note(
                now,
                format!(
                    "PUT of token {uid}: {valid}, whitelist {}",
                    token["whitelist"].as_str().unwrap_or_default()
                ),
            );
            state.put_token(token)
        });
        let http = if created {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        Ok(Reply::new(http, 1000, None))
    })();
    reply(&network, stored.unwrap_or_else(|refused| refused))
}

async fn patch_token(
    Shared(network): Net,
    Path((country, party, uid)): TokenPath,
    Query(parameters): Parameters,
    body: Bytes,
) -> Response {
    let stored = (|| {
        let patch = reads(&body)?;
        required(&patch, "last_updated")?;
        let patched = network.change(|state, now| {
            let mut token = state
                .token(&uid, kind(&parameters))
                .filter(|_| owns(state, &country, &party))?
                .clone();
            for (name, value) in patch.as_object()? {
                token[name] = value.clone();
            }
            state.note(now, format!("PATCH of token {uid}"));
            state.put_token(token);
            Some(())
        });
        patched
            .map(|()| Reply::done())
            .ok_or_else(|| Reply::not_found("The token"))
    })();
    reply(&network, stored.unwrap_or_else(|refused| refused))
}
