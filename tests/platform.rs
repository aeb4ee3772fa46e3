//! The platform of a charge point operator on this machine: it has versions, credentials, and lists with pages, takes commands and
//! tokens, and remembers every request. It answers as the test says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use shared::Timestamp;

use crate::{TestApp, TestResponse, with};

/// The token that the platform issues, and the one with which another platform registers with it.
pub const TOKEN: &str = "token-of-the-platform";
pub const TOKEN_A: &str = "token-a-of-the-platform";

/// A platform of the party NL*EXA.
#[derive(Clone)]
pub struct Platform {
    pub url: String,
    state: Arc<Mutex<Behaviour>>,
}

/// Objects that are made when they are asked for.
#[derive(Clone, Copy)]
pub struct Generated {
    pub count: usize,
    /// The object with a number.
    pub make: fn(usize) -> Value,
}

/// What a platform has, what it answers, and what it was sent.
#[derive(Default)]
pub struct Behaviour {
    url: String,
    /// The versions that it lists.
    pub versions: Vec<&'static str>,
    /// Modules that are missing from its endpoints.
    pub missing: Vec<&'static str>,
    /// Modules whose pages name a next one that is not there.
    pub dead_links: Vec<&'static str>,
    /// Addresses of endpoints that are not its own, by module.
    pub addresses: BTreeMap<&'static str, String>,
    /// The roles in its credentials.
    pub roles: Value,
    /// The objects of its lists, by module.
    pub lists: BTreeMap<&'static str, Vec<Value>>,
    /// Locations in place of a list of them.
    pub generated: Option<Generated>,
    /// How many objects its pages have.
    pub page: usize,
    /// What it answers to a command.
    pub command: Value,
    /// How it reacts to the next commands instead.
    pub reactions: VecDeque<Reaction>,
    /// HTTP statuses of the next answers.
    pub fail: Vec<u16>,
    /// The header `Retry-After` of these.
    pub retry_after: Option<&'static str>,
    pub requests: Vec<Received>,
}

/// How a platform reacts to a command that has reached it.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// It responds with this data.
    Responds(Value),
    /// With this HTTP status, and nothing else.
    Fails(u16),
    /// With this text in place of the envelope.
    Says(&'static str),
    /// It closes the connection.
    Closes,
    /// It never responds.
    Hangs,
}

/// A request that a platform was sent.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    /// With its query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Platform {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(Behaviour {
            url: url.clone(),
            versions: vec!["2.1.1", "2.2.1"],
            roles: json!([{"role": "CPO", "country_code": "NL", "party_id": "EXA",
                "business_details": {"name": "Example Operator"}}]),
            page: 2,
            command: json!({"result": "ACCEPTED", "timeout": 30}),
            ..Behaviour::default()
        }));
        let router = Router::new().fallback(answer).with_state(state.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, state }
    }

    pub fn behaviour(&self) -> MutexGuard<'_, Behaviour> {
        self.state.lock().expect("the platform")
    }

    /// Its credentials object.
    pub fn credentials(&self) -> Value {
        self.behaviour().credentials()
    }

    /// The requests so far that begin with this method and path.
    pub fn received(&self, method: &str, path: &str) -> Vec<Received> {
        let behaviour = self.behaviour();
        let requests = behaviour.requests.iter();
        let fitting = requests.filter(|one| one.method == method && one.path.starts_with(path));
        fitting.cloned().collect()
    }
}

impl Behaviour {
    fn credentials(&self) -> Value {
        json!({"token": TOKEN, "url": format!("{}/versions", self.url), "roles": self.roles})
    }

    fn endpoints(&self) -> Value {
        let module = |name: &str, role: &str| {
            let other = self.addresses.get(name).cloned();
            let url = other.unwrap_or_else(|| format!("{}/2.2.1/{name}", self.url));
            json!({"identifier": name, "role": role, "url": url})
        };
        let all = [
            ("credentials", "SENDER"),
            ("hubclientinfo", "SENDER"),
            ("locations", "SENDER"),
            ("tariffs", "SENDER"),
            ("sessions", "SENDER"),
            ("cdrs", "SENDER"),
            ("tokens", "RECEIVER"),
            ("commands", "RECEIVER"),
        ];
        let is_there = |name: &str| {
            let is_of_hubs = name == "hubclientinfo";
            !self.missing.contains(&name) && (!is_of_hubs || self.lists.contains_key(name))
        };
        let there = all.iter().filter(|(name, _)| is_there(name));
        let endpoints: Vec<Value> = there.map(|(name, role)| module(name, role)).collect();
        Value::Array(endpoints)
    }

    /// The data of an answer, and the address of the next page.
    fn data(&self, method: &Method, uri: &Uri) -> Option<(Value, Option<String>)> {
        let segments: Vec<&str> = uri.path().split('/').skip(1).collect();
        let data = match (method, segments.as_slice()) {
            (&Method::GET, ["versions"]) => {
                let version =
                    |name: &&str| json!({"version": name, "url": format!("{}/{name}", self.url)});
                Value::Array(self.versions.iter().map(version).collect())
            }
            (&Method::GET, ["2.2.1" | "2.3.0"]) => {
                json!({"version": segments[0], "endpoints": self.endpoints()})
            }
            (&Method::POST | &Method::PUT, [_, "credentials"]) => self.credentials(),
            (&Method::DELETE, [_, "credentials"]) => Value::Null,
            (&Method::POST, [_, "commands", _]) => self.command.clone(),
            (&Method::PUT, [_, "tokens", ..]) => Value::Null,
            (&Method::PUT, [_, "sessions", _, "charging_preferences"]) => json!("ACCEPTED"),
            (&Method::GET, [_, module]) => {
                let query: BTreeMap<String, String> =
                    url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
                        .into_owned()
                        .collect();
                let offset = query
                    .get("offset")
                    .map_or(0, |one| one.parse().expect("an offset"));
                let from = query.get("date_from").cloned().unwrap_or_default();
                if let Some(Generated { count, make }) =
                    self.generated.filter(|_| *module == "locations")
                {
                    let end = count.min(offset + self.page);
                    let page = (offset..end).map(make).collect();
                    let next =
                        (end < count).then(|| format!("{}/2.2.1/{module}?offset={end}", self.url));
                    return Some((Value::Array(page), next));
                }
                let list = self.lists.get(module).cloned().unwrap_or_default();
                let list: Vec<Value> = list
                    .into_iter()
                    .filter(|one| {
                        one["last_updated"]
                            .as_str()
                            .is_none_or(|at| at >= from.as_str())
                    })
                    .collect();
                let rest: Vec<Value> = list.into_iter().skip(offset).collect();
                let more = rest.len() > self.page;
                let next = more.then(|| {
                    let offset = offset + self.page;
                    format!(
                        "{}/2.2.1/{module}?offset={offset}&date_from={from}",
                        self.url
                    )
                });
                let next = match self.dead_links.contains(module) {
                    true => Some(format!("{}/2.2.1/{module}/nowhere", self.url)),
                    false => next,
                };
                let page = rest.into_iter().take(self.page).collect();
                return Some((Value::Array(page), next));
            }
            _ => return None,
        };
        Some((data, None))
    }
}

async fn answer(
    State(state): State<Arc<Mutex<Behaviour>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (response, reaction) = react(&state, &method, &uri, &headers, &body);
    match reaction {
        // The task of the connection ends without a word, and the connection with it.
        Some(Reaction::Closes) => std::panic::resume_unwind(Box::new("closed")),
        Some(Reaction::Hangs) => std::future::pending().await,
        _ => response,
    }
}

/// Takes a request. Gives the response, and the reaction to a command.
fn react(
    state: &Mutex<Behaviour>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> (Response, Option<Reaction>) {
    let mut behaviour = state.lock().expect("the platform");
    let is_command = *method == Method::POST && uri.path().contains("/commands/");
    let reaction = match is_command {
        true => behaviour.reactions.pop_front(),
        false => None,
    };
    let response = respond(&mut behaviour, method, uri, headers, body);
    let response = match &reaction {
        Some(Reaction::Responds(data)) => enveloped(data),
        Some(Reaction::Fails(status)) => status_of(*status),
        Some(Reaction::Says(text)) => (*text).into_response(),
        Some(Reaction::Closes | Reaction::Hangs) | None => response,
    };
    (response, reaction)
}

fn status_of(status: u16) -> Response {
    StatusCode::from_u16(status)
        .expect("a status")
        .into_response()
}

fn enveloped(data: &Value) -> Response {
    let envelope = json!({"data": data, "status_code": 1000, "timestamp": "2026-01-01T00:00:00Z"});
    axum::Json(envelope).into_response()
}

fn respond(
    behaviour: &mut Behaviour,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> Response {
    let path = uri
        .path_and_query()
        .map(|path| path.as_str())
        .unwrap_or_default();
    behaviour.requests.push(Received {
        method: method.to_string(),
        path: path.to_owned(),
        headers: headers.clone(),
        body: serde_json::from_slice(body).unwrap_or(Value::Null),
    });
    if !behaviour.fail.is_empty() {
        let mut response = status_of(behaviour.fail.remove(0));
        if let Some(wait) = behaviour.retry_after {
            let wait = HeaderValue::from_static(wait);
            response.headers_mut().insert("retry-after", wait);
        }
        return response;
    }
    let accepted = [TOKEN, TOKEN_A].map(|token| format!("Token {}", STANDARD.encode(token)));
    let sent = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    if !sent.is_some_and(|sent| accepted.iter().any(|one| one == sent)) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let Some((data, next)) = behaviour.data(method, uri) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut response = enveloped(&data);
    if let Some(next) = next {
        let link = HeaderValue::from_str(&format!("<{next}>; rel=\"next\"")).expect("a header");
        response.headers_mut().insert("link", link);
    }
    response
}

/// A platform that is connected to the service, and the token that it sends.
pub struct Connected {
    pub platform: Platform,
    pub token: String,
    /// The id of the network.
    pub network: String,
}

/// Does what an operator asks, in test mode. Returns the result or the message of the error.
///
/// # Errors
/// The message of the error.
pub async fn manage(app: &TestApp, mut action: Value) -> Result<Value, String> {
    if action.get("mode").is_none() {
        action["mode"] = json!("test");
    }
    let action = serde_json::from_value(action).expect("an action");
    let own_url = app.running().base_url.clone();
    let managed = functions::networks::manage::handle(app.app(), action, Some(&own_url));
    let managed = managed.await.map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(managed).expect("JSON"))
}

/// Sends a request of a platform.
pub async fn send(
    app: &TestApp,
    token: &str,
    method: &str,
    path: &str,
    body: Option<&Value>,
    headers: &[(&str, &str)],
) -> TestResponse {
    let authorization = format!("Token {}", STANDARD.encode(token));
    let mut all = vec![("authorization", authorization.as_str())];
    all.extend_from_slice(headers);
    let body = body.map(Value::to_string);
    app.anon.send(method, path, body, &all).await
}

/// The role of a hub, NL*HUB.
pub fn hub_role() -> Value {
    json!({"role": "HUB", "country_code": "NL", "party_id": "HUB", "business_details": {"name": "Hub"}})
}

/// What a hub reports about a party.
pub fn client_info(party: &str, role: &str, status: &str, updated: Timestamp) -> Value {
    let change =
        json!({"party_id": party, "role": role, "status": status, "last_updated": updated});
    with(fixture("client_info"), change)
}

impl Connected {
    /// A platform that has registered with a token A. Nothing was pulled from it.
    pub async fn to(app: &TestApp) -> Self {
        Self::with(app, |_| {}).await
    }

    /// The same with another behaviour.
    pub async fn with(app: &TestApp, change: impl FnOnce(&mut Behaviour)) -> Self {
        let platform = Platform::start().await;
        change(&mut platform.behaviour());
        Self::register(app, platform, "test").await
    }

    /// The same in live mode.
    pub async fn live(app: &TestApp) -> Self {
        Self::register(app, Platform::start().await, "live").await
    }

    async fn register(app: &TestApp, platform: Platform, mode: &str) -> Self {
        let issue = json!({"action": "issue_token", "mode": mode, "name": "Example"});
        let issued = manage(app, issue).await;
        let issued = issued.expect("a token");
        let token_a = issued["token"].as_str().expect("a token");
        let path = "/ocpi/2.2.1/credentials";
        let answer = send(
            app,
            token_a,
            "POST",
            path,
            Some(&platform.credentials()),
            &[],
        )
        .await;
        assert_eq!(
            (answer.status, &answer.body["status_code"]),
            (200, &json!(1000)),
            "{}",
            answer.text
        );
        Self {
            platform,
            token: answer.body["data"]["token"]
                .as_str()
                .expect("a token")
                .to_owned(),
            network: issued["network"]["id"].as_str().expect("an id").to_owned(),
        }
    }

    /// Sends a request to a path below the version, such as `/tariffs/NL/EXA/1`.
    pub async fn send(
        &self,
        app: &TestApp,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> TestResponse {
        let path = format!("/ocpi/2.2.1{path}");
        send(app, &self.token, method, &path, body, &[]).await
    }

    /// Sends an object, which has to be taken.
    pub async fn put(&self, app: &TestApp, path: &str, object: &Value) -> TestResponse {
        let answer = self.send(app, "PUT", path, Some(object)).await;
        assert_eq!(answer.body["status_code"], 1000, "{path}: {}", answer.text);
        answer
    }
}

/// An object of `tests/fixtures/ocpi`.
pub fn fixture(name: &str) -> Value {
    let path = format!("{}/fixtures/ocpi/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("JSON")
}

/// The OCPI session that a START_SESSION led to, which begins now.
pub fn session_of(asked: &Value, now: Timestamp) -> Value {
    let token = &asked["token"];
    with(
        fixture("session"),
        json!({"id": "S1", "start_date_time": now, "kwh": 0, "charging_periods": [], "total_cost": null,
            "cdr_token": {"country_code": token["country_code"], "party_id": token["party_id"], "uid": token["uid"],
                "type": token["type"], "contract_id": token["contract_id"]},
            "auth_method": "COMMAND", "authorization_reference": asked["authorization_reference"],
            "evse_uid": asked["evse_uid"], "connector_id": asked["connector_id"], "last_updated": now}),
    )
}

/// The CDR of an OCPI session that ends now: 20 kWh for 9.68 EUR.
pub fn cdr_of(session: &Value, now: Timestamp) -> Value {
    let period = json!({"start_date_time": session["start_date_time"],
        "dimensions": [{"type": "ENERGY", "volume": 20.0}], "tariff_id": "DAY"});
    with(
        fixture("cdr"),
        json!({"id": "C1", "session_id": session["id"], "start_date_time": session["start_date_time"],
            "end_date_time": now, "cdr_token": session["cdr_token"], "charging_periods": [period],
            "authorization_reference": session["authorization_reference"], "last_updated": now}),
    )
}
