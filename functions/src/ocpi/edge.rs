//! The processing of every request of a network before and after its handler: message ids, the token, the rate limit; then the handler;
//! then the envelope, the routing headers and one log line.
//!
//! A token is either registered, which gives access to every module, or only registers (token A), which gives access to the modules
//! `versions` and `credentials`. [`Platform`] and [`Party`] are the extractors of the two kinds of modules.

use crate::App;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode as HttpStatus, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use kernel::error::ErrorClass;
use kernel::{Error, Id, Kind, Mode, Tenant, Timestamp};
use models::Stored;
use models::network::{Module, ObjectId, Owner, PartyId};
use ocpi::credentials::CredentialsToken;
use ocpi::envelope::{Envelope, StatusCode};
use ocpi::network::{Network, NetworkStatus, PartyRefusal};
use ocpi::periods::{MAX_RECEIVED, bounded_within};
use ocpi::versions::OcpiVersion;
use serde::Deserialize;
use serde_json::Value;
use table::networks::shared_origin;
use tokio::time::{Duration, Instant, timeout};
use web::body::{self, MAX_BODY};
use web::route::TIME_LIMIT;
use web::source::Source;

use super::reply::{Reply, Result};

/// The time limit for a request that exchanges credentials: the versions are requested from the other platform in the meantime.
pub const CREDENTIALS_PATIENCE: Duration = Duration::from_secs(28);

/// The platform that sends the request.
#[derive(Debug, Clone)]
pub struct Platform {
    pub mode: Mode,
    pub network: Stored<Network>,
    /// Whether the token can only be used to register.
    pub registers: bool,
    /// Whether the token was replaced by one that has not been used yet.
    pub is_previous: bool,
    /// The token as it was sent.
    pub token: CredentialsToken,
}

/// A connected platform, and the party on it that sends the message.
#[derive(Debug, Clone)]
pub struct Party {
    pub mode: Mode,
    pub network: Network,
    /// The version in the path.
    pub version: OcpiVersion,
    from: Option<PartyId>,
}

impl Party {
    /// Returns the party of a path, if it is one of the platform's that operate charging stations and the sender may act for it.
    ///
    /// # Errors
    /// 404 for any other party: a platform writes and reads only objects of its own parties, and a party behind a hub only its own. Status
    /// code 2000 for a party that is not approved.
    pub fn owner(&self, country_code: &str, party_id: &str) -> Result<Owner> {
        let party = PartyId::new(country_code, party_id).map_err(Reply::not_found)?;
        let owner = match self.network.owner(&party) {
            Ok(owner) => owner,
            Err(why @ PartyRefusal::Unknown) => {
                return Err(Reply::not_found(format!("{party} {why}.")));
            }
            Err(why @ PartyRefusal::NotApproved) => {
                let message = format!("{party} {why}.");
                tracing::info!(network.id = %self.network.id, message, "an object was refused");
                return Err(Reply::error(StatusCode::CLIENT_ERROR, message));
            }
        };
        self.check_sender(&party)?;
        Ok(owner)
    }

    /// Checks that the sender may act for a party.
    ///
    /// # Errors
    /// 404 if it may not.
    pub fn check_sender(&self, party: &PartyId) -> Result<()> {
        if self.acts_for(party) {
            return Ok(());
        }
        Err(Reply::not_found(
            "The sender is another party than this one.",
        ))
    }

    /// Returns whether the message may be about objects of a party: behind a hub, only the party itself and the hub send such messages. The
    /// parties of any other platform belong to one operator.
    pub fn acts_for(&self, party: &PartyId) -> bool {
        let sender = self.from.as_ref();
        !self.network.is_hub() || sender == Some(party) || sender == self.network.main_party()
    }

    /// Returns the object of a path, if it belongs to one of the platform's parties.
    ///
    /// # Errors
    /// 404 for any other party, and for an id that no object can have.
    pub fn object(&self, module: Module, path: &ObjectPath) -> Result<ObjectId> {
        let owner = self.owner(&path.country_code, &path.party_id)?;
        ObjectId::new(owner, module, &path.id).map_err(Reply::not_found)
    }

    /// Returns the party of an object that names its owner itself.
    ///
    /// # Errors
    /// Status code 2001 if the object does not name a party; 404 if the party is not one of the platform's.
    pub fn owner_of(&self, object: &Value) -> Result<Owner> {
        let named: PartyId = ocpi::reader::lenient(object)
            .map_err(|why| Reply::error(StatusCode::INVALID_PARAMETERS, why))?;
        self.owner(named.country_code(), named.party_id())
    }
}

/// The message ids of a request, which are repeated in the response.
#[derive(Debug, Clone)]
struct MessageIds {
    request: String,
    correlation: String,
}

/// The maximum length of a message id that is repeated, in characters.
const MAX_MESSAGE_ID: usize = 128;

impl MessageIds {
    /// Returns the ids of a request. Missing ids are generated, although the standard requires them.
    fn of(headers: &HeaderMap, now: Timestamp) -> Self {
        let sent = |name: &str| {
            let value = headers.get(name)?.to_str().ok()?.trim();
            (1..=MAX_MESSAGE_ID)
                .contains(&value.len())
                .then(|| value.to_owned())
        };
        let new = || Id::new(Kind::Request, now).to_string();
        Self {
            request: sent("x-request-id").unwrap_or_else(new),
            correlation: sent("x-correlation-id").unwrap_or_else(new),
        }
    }
}

/// The middleware around the routes of OCPI.
pub async fn around(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let (now, started) = (app.now(), Instant::now());
    let ids = MessageIds::of(request.headers(), now);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = route_of(&request);
    let from = parties(request.headers(), "from").ok().flatten();
    let is_functional = !is_configuration(&path);
    let patience = if path.ends_with("/credentials") {
        CREDENTIALS_PATIENCE
    } else {
        TIME_LIMIT
    };
    let source = request.extensions().get::<Source>().copied();
    let handled = async {
        match admit(&app, request.headers(), source, now).await {
            Ok(platform) => {
                request.extensions_mut().insert(platform.clone());
                (Some(platform), next.run(request).await)
            }
            Err(reply) => (None, reply.into_response()),
        }
    };
    let (platform, response) = match timeout(patience * app.settings.slack, handled).await {
        Ok(handled) => handled,
        Err(_) => {
            let reply = Reply::error(StatusCode::SERVER_ERROR, "The request took too long.");
            (None, reply.into_response())
        }
    };
    let reply = reply_of(&response);
    let mut response = rendered(&app, &reply, &response);
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("x-request-id", &ids.request);
    set("x-correlation-id", &ids.correlation);
    set("cache-control", "no-store");
    if is_functional && platform.is_some() {
        let own = &app.settings.own_party.id;
        set("ocpi-from-country-code", own.country_code());
        set("ocpi-from-party-id", own.party_id());
        if let Some(to) = &from {
            set("ocpi-to-country-code", to.country_code());
            set("ocpi-to-party-id", to.party_id());
        }
    }
    let network = platform.map(|platform| platform.network.object.id.to_string());
    let network = network.unwrap_or_default();
    let status = reply.http.as_u16();
    let duration_ms = started.elapsed().as_millis() as u64;
    tracing::info!(
        request.id = ids.request, network.id = network, http.method = %method, http.route = route, status,
        ocpi.status = reply.code.0, duration_ms
    );
    response
}

/// Returns the route of a request for the log, such as `/ocpi/{version}/tokens/{token_uid}/authorize`; empty if there is none. The path
/// itself may contain the uid of a card.
fn route_of(request: &Request) -> String {
    let route = request.extensions().get::<MatchedPath>();
    route.map_or("", MatchedPath::as_str).to_owned()
}

/// Returns whether a path belongs to a module whose messages are not routed.
fn is_configuration(path: &str) -> bool {
    let module = path.split('/').nth(3);
    matches!(module, None | Some("credentials" | "hubclientinfo"))
}

/// The reply of a handler, or the reply that corresponds to the router's own response.
fn reply_of(response: &Response) -> Reply {
    if let Some(reply) = response.extensions().get::<Reply>() {
        return reply.clone();
    }
    match response.status() {
        HttpStatus::METHOD_NOT_ALLOWED => {
            let message = "This path does not support this method.";
            let reply = Reply::transport(HttpStatus::METHOD_NOT_ALLOWED, message);
            // Without the header, the router adds it.
            let allow = response.headers().get(header::ALLOW);
            match allow.and_then(|allow| allow.to_str().ok()) {
                Some(allow) => reply.with_header("allow", allow),
                None => reply,
            }
        }
        HttpStatus::NOT_FOUND => Reply::not_found("There is nothing at this path."),
        other => Reply::transport(other, "The request cannot be processed."),
    }
}

fn rendered(app: &App, reply: &Reply, from: &Response) -> Response {
    let envelope = Envelope {
        data: reply.data.as_ref(),
        status_code: reply.code,
        status_message: reply.message.as_deref(),
        timestamp: app.now(),
    };
    let body = serde_json::to_vec(&envelope).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = reply.http;
    *response.version_mut() = from.version();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    for (name, value) in &reply.headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}

/// Authenticates a request, unless its address has sent too many requests without a valid token.
async fn admit(
    app: &App,
    headers: &HeaderMap,
    source: Option<Source>,
    now: Timestamp,
) -> Result<Platform> {
    let sent = sent_token(headers);
    let is_known = sent
        .as_ref()
        .is_ok_and(|(_, token)| app.networks.has_token(&token.hash(), now));
    let sources = &app.edge.sources;
    if !is_known {
        sources.take(source, Instant::now())?;
    }
    let authenticated = match sent {
        Ok((mode, token)) => authenticate(app, mode, token, now).await,
        Err(reply) => Err(reply),
    };
    let is_refused = matches!(&authenticated, Err(reply) if reply.http == HttpStatus::UNAUTHORIZED);
    if !is_known && !is_refused {
        sources.give_back(source);
    }
    authenticated
}

/// The token of a request, and its mode.
fn sent_token(headers: &HeaderMap) -> Result<(Mode, CredentialsToken)> {
    let header = headers.get(header::AUTHORIZATION);
    let header = header.and_then(|header| header.to_str().ok());
    let header = header.ok_or_else(|| {
        Reply::unauthorized("Send the header Authorization: Token <token in Base64>.")
    })?;
    CredentialsToken::own(header).ok_or_else(|| Reply::unauthorized(UNKNOWN_TOKEN))
}

/// The maximum number of times that a network is read again after a concurrent change.
const NETWORK_READS: usize = 5;

pub(super) const UNKNOWN_TOKEN: &str = "The token is not valid.";

/// Returns the network of a token, if its rate limit is not exceeded.
async fn authenticate(
    app: &App,
    mode: Mode,
    token: CredentialsToken,
    now: Timestamp,
) -> Result<Platform> {
    let unknown = || Reply::unauthorized(UNKNOWN_TOKEN);
    let hash = token.hash();
    let network = app.networks.by_token(&app.store, mode, &hash, now).await?;
    let network = network.ok_or_else(unknown)?;
    let internal = &network.internal;
    let current = internal.token.as_ref().filter(|own| own.hash == hash);
    let previous = internal
        .previous_token
        .as_ref()
        .filter(|own| own.hash == hash);
    let own = current.or(previous).ok_or_else(unknown)?;
    let (registers, is_previous) = (own.registers, current.is_none());
    let tenant = Tenant::new(network.object.id.clone(), mode);
    app.network_rates.admit(&app.store, &[tenant], now).await?;
    if network.object.status == NetworkStatus::Suspended {
        return Err(Reply::unauthorized("The connection is suspended."));
    }
    let network = match current {
        Some(_) if internal.previous_token.is_some() => confirm(app, network, now).await?,
        _ => network,
    };
    Ok(Platform {
        mode,
        network,
        registers,
        is_previous,
        token,
    })
}

/// Invalidates the previous token, because the new one has arrived. A pull of the network may change it at the same time.
async fn confirm(app: &App, known: Stored<Network>, now: Timestamp) -> Result<Stored<Network>> {
    let origin = shared_origin(known.object.mode, now);
    let id = known.object.id.clone();
    for _ in 0..NETWORK_READS {
        let mut network = app.store.load::<Network>(&origin.tenant, &id).await?;
        if network.internal.token != known.internal.token {
            return Ok(known);
        }
        let mut tx = app.store.begin(&origin);
        if let Some(previous) = network.internal.previous_token.take() {
            tx.save(&mut network)?;
            tx.remove_own_token(&previous.hash);
        }
        match tx.commit_without_response().await {
            Err(Error::Contended) => {}
            done => {
                done?;
                app.networks.forget(&id);
                return Ok(network);
            }
        }
    }
    Err(Error::Contended.into())
}

/// The party in the routing headers of a direction, if they are present.
fn parties(headers: &HeaderMap, direction: &str) -> Result<Option<PartyId>> {
    let part = |name: &str| {
        let value = headers.get(format!("ocpi-{direction}-{name}"))?;
        value.to_str().ok()
    };
    match (part("country-code"), part("party-id")) {
        (None, None) => Ok(None),
        (Some(country), Some(party)) => {
            let party = PartyId::new(country, party);
            let wrong = |why| {
                Reply::error(
                    StatusCode::INVALID_PARAMETERS,
                    format!("OCPI-{direction}: {why}"),
                )
            };
            party.map(Some).map_err(wrong)
        }
        _ => Err(Reply::error(
            StatusCode::INVALID_PARAMETERS,
            format!("OCPI-{direction}: country code and party id belong together"),
        )),
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Platform {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let platform = parts.extensions.get::<Platform>().cloned();
        platform.ok_or_else(|| Error::internal("a handler outside the edge").into())
    }
}

impl FromRequestParts<App> for Party {
    type Rejection = Reply;

    /// A registered platform whose request is addressed to this service, in a supported version.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let platform = Platform::from_request_parts(parts, app).await?;
        let network = platform.network.object;
        if platform.registers || platform.is_previous || network.status != NetworkStatus::Connected
        {
            return Err(Reply::unauthorized("This token only serves to register."));
        }
        let own = &app.settings.own_party.id;
        if parties(&parts.headers, "to")?.is_some_and(|to| to != *own) {
            return Err(Reply::error(
                StatusCode::INVALID_PARAMETERS,
                format!("OCPI-to: this platform is {own}"),
            ));
        }
        let from = parties(&parts.headers, "from")?;
        if from.as_ref().is_some_and(|from| !network.has_party(from)) {
            return Err(Reply::not_found(
                "OCPI-from: this party is not one of the platform's, or is not approved.",
            ));
        }
        let InVersion(version) = InVersion::from_request_parts(parts, app).await?;
        Ok(Self {
            mode: platform.mode,
            from: from.or_else(|| network.main_party().cloned()),
            network,
            version,
        })
    }
}

/// The parts of a path that name an object, or an EVSE or a connector of a location.
#[derive(Debug, Clone, Deserialize)]
pub struct ObjectPath {
    country_code: String,
    party_id: String,
    #[serde(
        alias = "cdr_id",
        alias = "location_id",
        alias = "session_id",
        alias = "tariff_id"
    )]
    id: String,
    pub evse_uid: Option<String>,
    pub connector_id: Option<String>,
}

impl Party {
    /// The party that sends the message, if the platform has any.
    pub fn sender(&self) -> Option<&PartyId> {
        self.from.as_ref()
    }
}

/// The version in the path of a module that has no [`Party`].
pub struct InVersion(pub OcpiVersion);

impl<S: Send + Sync> FromRequestParts<S> for InVersion {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        // `/ocpi/<version>/…`
        let name = parts.uri.path().split('/').nth(2).unwrap_or_default();
        let version = OcpiVersion::from_name(name).map(Self);
        version.ok_or_else(|| {
            Reply::not_found("This version is not supported.")
                .with_code(StatusCode::UNSUPPORTED_VERSION)
        })
    }
}

/// The JSON of a body.
pub struct Json(pub Value);

impl<S: Send + Sync> FromRequest<S> for Json {
    type Rejection = Reply;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        let bytes = read(request.into_body()).await?;
        parse(&bytes).map(Self)
    }
}

/// The JSON of a body that may be empty.
pub struct OptionalJson(pub Option<Value>);

impl<S: Send + Sync> FromRequest<S> for OptionalJson {
    type Rejection = Reply;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        let bytes = read(request.into_body()).await?;
        if bytes.trim_ascii().is_empty() {
            Ok(Self(None))
        } else {
            parse(&bytes).map(|value| Self(Some(value)))
        }
    }
}

/// The JSON of a session or a CDR as it is stored ([`ocpi::periods`]). It may be larger than other objects as long as that is due to its
/// charging periods.
pub struct JsonWithPeriods(pub Value);

impl<S: Send + Sync> FromRequest<S> for JsonWithPeriods {
    type Rejection = Reply;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        let bytes = read_within(request.into_body(), MAX_RECEIVED).await?;
        let object = bounded_within(parse(&bytes)?, bytes.len(), MAX_BODY);
        object.map(Self).map_err(|_| {
            let message = "The body without its charging periods is larger than 256 KiB.";
            Reply::transport(HttpStatus::PAYLOAD_TOO_LARGE, message)
        })
    }
}

async fn read(body: Body) -> Result<Bytes> {
    read_within(body, MAX_BODY).await
}

async fn read_within(body: Body, max: usize) -> Result<Bytes> {
    body::collect_within(body, max).await.map_err(|error| {
        let status = match error.class() {
            ErrorClass::TimedOut => HttpStatus::REQUEST_TIMEOUT,
            _ => HttpStatus::PAYLOAD_TOO_LARGE,
        };
        Reply::transport(status, error.to_string())
    })
}

fn parse(bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("The body is not valid JSON: {error}.");
        Reply::transport(HttpStatus::BAD_REQUEST, message).with_code(StatusCode::INVALID_PARAMETERS)
    })
}
