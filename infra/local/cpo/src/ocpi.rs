//! The OCPI 2.2.1 endpoints of the operator, as the eMSP sees them.
//!
//! | Module | Interfaces |
//! |---|---|
//! | versions, credentials | both directions of the handshake; token A opens only these |
//! | locations, tariffs, sessions, cdrs | sender: lists in pages of three objects, so that a few objects need several pages |
//! | tokens | receiver: GET, PUT and PATCH of the eMSP's tokens |
//! | commands | receiver: START_SESSION, STOP_SESSION, RESERVE_NOW, CANCEL_RESERVATION and UNLOCK_CONNECTOR |

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{OriginalUri, Path, Query, Request, State as Shared};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::charge::Authorization;
use crate::network::Network;
use crate::state::{Command, Received, State, cdr_token, is_ours, same};
use crate::time::text;
use crate::{VERSION, partner, random};

/// The most objects of a page.
const PAGE: usize = 3;

/// How long the eMSP may wait for the result of a command, in seconds.
const COMMAND_TIMEOUT: u32 = 30;

/// The routes below `/ocpi`.
pub fn router(network: &Arc<Network>) -> Router {
    Router::new()
        .route("/ocpi/versions", get(versions))
        .route("/ocpi/2.2.1", get(details))
        .route(
            "/ocpi/2.2.1/credentials",
            get(credentials)
                .post(register)
                .put(register)
                .delete(unregister),
        )
        .route("/ocpi/cpo/2.2.1/locations", get(locations))
        .route("/ocpi/cpo/2.2.1/locations/{location}", get(location))
        .route("/ocpi/cpo/2.2.1/locations/{location}/{evse}", get(evse))
        .route(
            "/ocpi/cpo/2.2.1/locations/{location}/{evse}/{connector}",
            get(connector),
        )
        .route("/ocpi/cpo/2.2.1/tariffs", get(tariffs))
        .route("/ocpi/cpo/2.2.1/sessions", get(sessions))
        .route(
            "/ocpi/cpo/2.2.1/sessions/{session}/charging_preferences",
            put(charging_preferences),
        )
        .route("/ocpi/cpo/2.2.1/cdrs", get(cdrs))
        .route(
            "/ocpi/cpo/2.2.1/tokens/{country}/{party}/{uid}",
            get(token).put(put_token).patch(patch_token),
        )
        .route("/ocpi/cpo/2.2.1/commands/{command}", post(command))
        .layer(from_fn_with_state(network.clone(), authenticate))
        .with_state(network.clone())
}

type Net = Shared<Arc<Network>>;

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
                response.headers_mut().insert(name, value);
            }
        }
        response
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
    let known = |wanted: &str| !wanted.is_empty() && wanted.as_bytes() == token.as_slice();
    let handshake = !request.uri().path().starts_with("/ocpi/cpo/");
    let allowed = network.read(|state| {
        state.token_c.as_deref().is_some_and(known)
            || (handshake && state.token_c.is_none() && known(&state.token_a))
    });
    let mut response = match allowed {
        true => next.run(request).await,
        false => {
            let refused = Reply::error(
                StatusCode::UNAUTHORIZED,
                2001,
                "The credentials token is unknown.",
            );
            refused.into_response((network.clock)())
        }
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
    let versions = json!([{"version": VERSION, "url": format!("{}/{VERSION}", network.base_url)}]);
    reply(&network, Reply::data(versions))
}

async fn details(Shared(network): Net) -> Response {
    let base = &network.base_url;
    let endpoint = |module: &str, role: &str, url: String| json!({"identifier": module, "role": role, "url": url});
    let mut endpoints = vec![endpoint(
        "credentials",
        "SENDER",
        format!("{base}/{VERSION}/credentials"),
    )];
    for module in ["locations", "tariffs", "sessions", "cdrs"] {
        endpoints.push(endpoint(
            module,
            "SENDER",
            format!("{base}/cpo/{VERSION}/{module}"),
        ));
    }
    for module in ["tokens", "commands"] {
        endpoints.push(endpoint(
            module,
            "RECEIVER",
            format!("{base}/cpo/{VERSION}/{module}"),
        ));
    }
    reply(
        &network,
        Reply::data(json!({"version": VERSION, "endpoints": endpoints})),
    )
}

async fn credentials(Shared(network): Net) -> Response {
    let token = network.read(|state| {
        state
            .token_c
            .clone()
            .unwrap_or_else(|| state.token_a.clone())
    });
    reply(
        &network,
        Reply::data(partner::credentials(&token, &network.versions_url())),
    )
}

/// POST registers an eMSP, PUT replaces its credentials. Either reads the eMSP's endpoints before it answers.
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
            reply(
                &network,
                Reply::data(partner::credentials(&token, &network.versions_url())),
            )
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

/// One page of a list, oldest first.
fn page(
    network: &Network,
    uri: &OriginalUri,
    parameters: &BTreeMap<String, String>,
    mut all: Vec<Value>,
) -> Response {
    let updated = |object: &Value| {
        object["last_updated"]
            .as_str()
            .and_then(|time| time.parse::<Timestamp>().ok())
    };
    let moment = |name: &str| match parameters.get(name) {
        None => Ok(None),
        Some(time) => match time.parse::<Timestamp>() {
            Ok(time) => Ok(Some(time)),
            Err(_) => Err(Reply::invalid(format!(
                "{name} is not a time such as 2026-03-01T10:00:00Z"
            ))),
        },
    };
    let number = |name: &str, default: usize| match parameters.get(name) {
        None => Ok(default),
        Some(number) => number
            .parse::<usize>()
            .map_err(|_| Reply::invalid(format!("{name} is not a number"))),
    };
    let read = || {
        Ok((
            moment("date_from")?,
            moment("date_to")?,
            number("offset", 0)?,
            number("limit", PAGE)?,
        ))
    };
    let (from, to, offset, limit) = match read() {
        Ok(read) => read,
        Err(refused) => return reply(network, refused),
    };
    all.retain(|object| {
        let updated = updated(object);
        from.is_none_or(|from| updated >= Some(from)) && to.is_none_or(|to| updated < Some(to))
    });
    all.sort_by_key(updated);
    let (total, limit) = (all.len(), limit.clamp(1, PAGE));
    let page: Vec<Value> = all.into_iter().skip(offset).take(limit).collect();
    let mut answer = Reply::data(Value::Array(page));
    let mut add = |name: &'static str, value: String| answer.headers.push((name, value));
    add("x-total-count", total.to_string());
    add("x-limit", PAGE.to_string());
    if offset + limit < total {
        let dates = ["date_from", "date_to"]
            .iter()
            .filter_map(|name| Some((name, parameters.get(*name)?)));
        // A plus sign in a query stands for a space.
        let dates: String = dates
            .map(|(name, date)| format!("&{name}={}", date.replace('+', "%2B")))
            .collect();
        let url = format!(
            "{}{}",
            network.base_url,
            uri.path().trim_start_matches("/ocpi")
        );
        add(
            "link",
            format!(
                "<{url}?offset={}&limit={limit}{dates}>; rel=\"next\"",
                offset + limit
            ),
        );
    }
    reply(network, answer)
}

async fn locations(
    Shared(network): Net,
    uri: OriginalUri,
    Query(parameters): Parameters,
) -> Response {
    let all = network.read(|state| state.locations.clone());
    page(&network, &uri, &parameters, all)
}

async fn tariffs(
    Shared(network): Net,
    uri: OriginalUri,
    Query(parameters): Parameters,
) -> Response {
    let all = network.read(|state| state.tariffs.clone());
    page(&network, &uri, &parameters, all)
}

async fn sessions(
    Shared(network): Net,
    uri: OriginalUri,
    Query(parameters): Parameters,
) -> Response {
    let all = network.read(|state| {
        state
            .charges
            .iter()
            .map(|charge| charge.session())
            .collect()
    });
    page(&network, &uri, &parameters, all)
}

async fn cdrs(Shared(network): Net, uri: OriginalUri, Query(parameters): Parameters) -> Response {
    let all = network.read(|state| state.cdrs.clone());
    page(&network, &uri, &parameters, all)
}

fn found(network: &Network, object: Option<Value>, what: &str) -> Response {
    reply(
        network,
        object.map_or_else(|| Reply::not_found(what), Reply::data),
    )
}

/// The object in a list with this id.
fn part<'a>(list: &'a Value, key: &str, id: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|one| same(&one[key], id))
}

async fn location(Shared(network): Net, Path(id): Path<String>) -> Response {
    let object = network.read(|state| state.location(&id).cloned());
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

/// None of the EVSEs has the capability CHARGING_PREFERENCES_CAPABLE, for which the specification prescribes this answer.
async fn charging_preferences(Shared(network): Net, Path(_): Path<String>) -> Response {
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

async fn command(Shared(network): Net, Path(name): Path<String>, body: Bytes) -> Response {
    let read = reads(&body).and_then(|body| {
        let url = required(&body, "response_url")?.to_owned();
        read_command(&name, &body).map(|command| (command, url))
    });
    let (command, url) = match read {
        Ok(read) => read,
        Err(refused) => return reply(&network, refused),
    };
    let received = network.change(|state, now| state.command(command, url, now));
    let data = |result: &str| json!({"result": result, "timeout": COMMAND_TIMEOUT});
    let answer = match received {
        Received::Accepted => Reply::data(data("ACCEPTED")),
        Received::Rejected => Reply::data(data("REJECTED")),
        Received::UnknownSession => Reply::data(data("UNKNOWN_SESSION")),
        Received::NotSupported => Reply::data(data("NOT_SUPPORTED")),
        Received::UnknownLocation => Reply {
            data: Some(data("REJECTED")),
            ..Reply::error(StatusCode::OK, 2003, "The location or EVSE is unknown.")
        },
        Received::Failed => Reply::error(
            StatusCode::INTERNAL_SERVER_ERROR,
            3000,
            "This failure was asked for.",
        ),
    };
    network.change(|state, now| {
        state.note(now, format!("answered {name} with {}", outcome(received)))
    });
    reply(&network, answer)
}

fn outcome(received: Received) -> &'static str {
    match received {
        Received::Accepted => "ACCEPTED",
        Received::Rejected => "REJECTED",
        Received::UnknownSession => "UNKNOWN_SESSION",
        Received::NotSupported => "NOT_SUPPORTED",
        Received::UnknownLocation => "2003 Unknown Location",
        Received::Failed => "HTTP status 500",
    }
}

fn read_command(name: &str, body: &Value) -> Result<Command, Reply> {
    let text = |name: &str| required(body, name).map(str::to_owned);
    let optional = |name: &str| body[name].as_str().map(str::to_owned);
    let token = || {
        required(&body["token"], "uid")?;
        match body["token"]["valid"] == true {
            true => Ok(cdr_token(&body["token"])),
            false => Err(Reply::invalid("the token is not valid")),
        }
    };
    Ok(match name {
        "START_SESSION" => Command::Start {
            location: text("location_id")?,
            evse: optional("evse_uid"),
            authorization: Authorization {
                token: token()?,
                method: "COMMAND".into(),
                reference: optional("authorization_reference"),
            },
        },
        "STOP_SESSION" => Command::Stop {
            session: text("session_id")?,
        },
        "RESERVE_NOW" => Command::Reserve {
            id: text("reservation_id")?,
            location: text("location_id")?,
            evse: optional("evse_uid"),
            token: token()?,
            expires: text("expiry_date")?.parse().map_err(|_| {
                Reply::invalid("expiry_date is not a time such as 2026-03-01T10:00:00Z")
            })?,
        },
        "CANCEL_RESERVATION" => Command::Cancel {
            id: text("reservation_id")?,
        },
        "UNLOCK_CONNECTOR" => Command::Unlock {
            location: text("location_id")?,
            evse: text("evse_uid")?,
        },
        _ => return Err(Reply::not_found("The command")),
    })
}
