//! The processing of every request before and after its handler, in this order: 429 for an address that sends too many requests without a
//! valid key, 401, then 404 or 405 by the router, 429 of the account, 403 scope, the version, the body, idempotency, the query; then the
//! handler with its body, objects, policies, states and payments.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{Instrument as _, Span};

use super::auth::{KeyRing, Principal, authenticate};
use super::body;
use super::errors::{self, ErrorExtension};
use super::expand::{self, Expansions, Reader};
use super::query::QueryString;
use super::rate_limit::{RateLimitStatus, RateLimiter};
use super::request_context::RequestContext;
use super::route::{DRY_RUN, PATIENCE, Route};
use super::source::{Source, SourceLimiter};
use crate::settings::Settings;
use kernel::backoff::Backoff;
use kernel::error::{Error, ErrorClass, Result};
use kernel::function_scope;
use kernel::id::{Id, Kind};
use kernel::origin::{Idempotency, Origin, Precondition, Tenant};
use kernel::scope::Rights;
use kernel::targets::Targets;
use kernel::time::Timestamp;
use kernel::version;
use models::api_key::ActingKey;
use models::ports::Clock;
use table::Store;

/// The maximum number of attempts of a request that collides with concurrent changes.
const TRIES: u32 = 6;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), 2, Duration::from_millis(40));

/// The state of the edge: the table, the clock, the settings, caches and limiters.
pub struct Edge {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub settings: Arc<Settings>,
    pub keys: KeyRing,
    pub rates: RateLimiter,
    /// Limits the refused requests of an address.
    pub sources: SourceLimiter,
}

impl Edge {
    pub fn new(store: Store, clock: Arc<dyn Clock>, settings: Arc<Settings>) -> Self {
        Self {
            store,
            clock,
            keys: KeyRing::default(),
            rates: RateLimiter::new(settings.rates),
            sources: SourceLimiter::new(settings.rates.test),
            settings,
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// A request whose key was checked.
#[derive(Clone)]
struct AuthenticatedRequest {
    request: Id,
    principal: Principal,
    started: Instant,
}

/// The API version that a response was rendered in, for its header.
#[derive(Clone)]
struct Rendered(String);

/// The identifiers of a request at API Gateway and X-Ray: an extension of requests that arrive through API Gateway.
#[derive(Debug, Clone, Default)]
pub struct Correlation {
    /// The id of the request in the access log of API Gateway.
    pub gateway_request: String,
    /// The id of the trace in X-Ray, if there is one.
    pub trace: Option<String>,
}

/// Returns the span of a request: every line that is logged within it has the ids of the request.
pub fn span(request: &Request, id: &Id) -> Span {
    let correlation = request.extensions().get::<Correlation>().cloned();
    let Correlation {
        gateway_request,
        trace,
    } = correlation.unwrap_or_default();
    // A span of the highest level, so that it exists at every configured log level.
    tracing::error_span!("request", request.id = %id, gateway.request_id = gateway_request, trace.id = trace)
}

/// Middleware around the router: the request id, authentication, the headers of every response, the rendering of errors, and one log line
/// per request. Every line that is logged during the request has the ids of the request.
pub async fn around(State(edge): State<Arc<Edge>>, request: Request, next: Next) -> Response {
    let id = Id::new(Kind::Request, edge.now());
    let span = span(&request, &id);
    identified(edge, request, next, id).instrument(span).await
}

async fn identified(edge: Arc<Edge>, mut request: Request, next: Next, id: Id) -> Response {
    let now = edge.now();
    let started = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let base_url = base_url(&edge.settings, request.headers());
    let mut tenant = None;
    let source = request.extensions().get::<Source>().copied();
    let response = match admit_key(&edge, request.headers(), source, now).await {
        Err(error) => errors::refused(error),
        Ok(principal) => {
            tenant = Some(principal.tenant.clone());
            let lineage = principal.lineage.clone();
            let authenticated = AuthenticatedRequest {
                request: id.clone(),
                principal,
                started,
            };
            request.extensions_mut().insert(authenticated);
            let response = next.run(request).await;
            match unmatched(&response) {
                Some(error) => refuse_path(&edge, response, error, source, &lineage).await,
                None => response,
            }
        }
    };
    let response = finish(&edge, response, &id, tenant.as_ref(), &base_url);
    let status = response.status().as_u16();
    let duration_ms = started.elapsed().as_millis() as u64;
    let account = tenant.as_ref().map(|tenant| tenant.account.as_str());
    let livemode = tenant.as_ref().map(|tenant| tenant.mode.is_live());
    tracing::info!(account.id = account, livemode, http.method = %method, http.path = path, status, duration_ms);
    response
}

/// Authenticates a request, unless too many requests of its address had no valid key.
async fn admit_key(
    edge: &Edge,
    headers: &HeaderMap,
    source: Option<Source>,
    now: Timestamp,
) -> Result<Principal> {
    let is_known = edge.keys.has_valid_key(headers, now);
    if !is_known {
        edge.sources.take(source, Instant::now())?;
    }
    let authenticated = authenticate(&edge.store, &edge.keys, headers, now);
    let authenticated = function_scope::within(function_scope::EVERY_REQUEST, authenticated);
    let authenticated = timeout(PATIENCE * edge.settings.slack, authenticated).await;
    let authenticated = authenticated.unwrap_or_else(|_| Err(too_long()));
    let is_refused =
        matches!(&authenticated, Err(error) if error.class() == ErrorClass::Unauthenticated);
    if !is_known && !is_refused {
        edge.sources.give_back(source);
    }
    authenticated
}

/// Returns the error of a response that the router has made because no route matches the request.
fn unmatched(response: &Response) -> Option<Error> {
    match (response.status(), failure(response)) {
        (StatusCode::NOT_FOUND, None) if !is_json(response) => Some(Error::unknown_path()),
        (StatusCode::METHOD_NOT_ALLOWED, None) => Some(Error::method_not_allowed()),
        _ => None,
    }
}

/// Refuses a request that matches no route. It counts for its address, and for its account like any other request.
async fn refuse_path(
    edge: &Edge,
    response: Response,
    error: Error,
    source: Option<Source>,
    lineage: &[Tenant],
) -> Response {
    if let Err(limited) = edge.sources.take(source, Instant::now()) {
        return errors::refused(limited);
    }
    let counted = edge.rates.admit(&edge.store, lineage, edge.now());
    let counted = function_scope::within(function_scope::EVERY_REQUEST, counted);
    let counted = timeout(PATIENCE * edge.settings.slack, counted).await;
    let mut refused = errors::refused(error);
    if let Some(allow) = response.headers().get(header::ALLOW) {
        refused.headers_mut().insert(header::ALLOW, allow.clone());
    }
    // The response is a 404, however many requests the account has left.
    if let Ok(Ok(rate_limit)) = counted {
        refused.extensions_mut().insert(rate_limit);
    }
    refused
}

fn too_long() -> Error {
    Error::unavailable("the request took too long")
}

/// Middleware around each handler: the checks before it, and the time limit of its route, which does not include the time that the client
/// takes to send the body.
pub async fn admit(
    State((edge, route)): State<(Arc<Edge>, Route)>,
    request: Request,
    next: Next,
) -> Response {
    let Some(authenticated) = request.extensions().get::<AuthenticatedRequest>().cloned() else {
        return errors::refused(Error::internal("a route outside the edge"));
    };
    let mut until = authenticated.started + route.patience * edge.settings.slack;
    let (parts, body) = request.into_parts();
    let admitted = edge
        .rates
        .admit(&edge.store, &authenticated.principal.lineage, edge.now());
    let admitted = function_scope::within(function_scope::EVERY_REQUEST, admitted);
    let rate_limit = match timeout_at(until, admitted).await {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => return errors::refused(error),
        Err(_) => return errors::refused(too_long()),
    };
    let allowed = match allow(&edge, &route, &authenticated.principal, &parts.headers) {
        Ok(version) => {
            let began = Instant::now();
            let body = body::collect(body).await;
            until += began.elapsed();
            body.map(|body| (version, body))
        }
        Err(error) => Err(error),
    };
    let mut response = match allowed {
        Ok((version, body)) => {
            let handled = handle(edge, route, authenticated, parts, body, version, next);
            let handled = timeout_at(until, function_scope::within(route.name, handled)).await;
            handled.unwrap_or_else(|_| errors::refused(too_long()))
        }
        Err(error) => errors::refused(error),
    };
    response.extensions_mut().insert(rate_limit);
    response
}

/// Checks the rights of a request, and returns the requested version of the API.
fn allow(edge: &Edge, route: &Route, principal: &Principal, headers: &HeaderMap) -> Result<String> {
    for scope in route.scopes() {
        principal.key.rights.check(scope)?;
    }
    if route.only_reads() {
        principal.may_read()?
    } else {
        principal.may_write()?
    }
    asked_version(edge, headers, &principal.version)
}

/// Runs the handler with idempotency, and renders its response.
async fn handle(
    edge: Arc<Edge>,
    route: Route,
    authenticated: AuthenticatedRequest,
    parts: Parts,
    body: Bytes,
    version: String,
    next: Next,
) -> Response {
    let prepared = prepare(&edge, route, authenticated, &parts, body, &version).await;
    let (context, query, body, expansions) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return errors::refused(error),
    };
    let (tenant, key) = (context.tenant().clone(), context.key.clone());
    let dry_run = context.origin.dry_run;
    let response = run(&edge, context, query, parts, body, next).await;
    let mut response = show(&edge, &tenant, route, &key, response, &expansions, &version).await;
    response.extensions_mut().insert(Rendered(version));
    if dry_run {
        let name = HeaderName::from_static("service-dry-run");
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static("true"));
    }
    response
}

/// Checks everything else that does not depend on the handler, and prepares the input of the handler.
async fn prepare(
    edge: &Edge,
    route: Route,
    authenticated: AuthenticatedRequest,
    parts: &Parts,
    body: Bytes,
    version: &str,
) -> Result<(RequestContext, QueryString, Bytes, Expansions)> {
    let rights = authenticated.principal.key.rights.clone();
    let dry_run = is_dry_run(parts)?;
    let idempotency = if route.only_reads() {
        None
    } else {
        idempotency(parts, &body, version, rights)?.filter(|_| !dry_run)
    };
    let origin = Origin {
        tenant: authenticated.principal.tenant,
        now: edge.now(),
        request: Some(authenticated.request),
        idempotency,
        precondition: precondition(&route, parts)?,
        dry_run,
    };
    let base_url = base_url(&edge.settings, &parts.headers);
    let key = authenticated.principal.key;
    let read = || {
        let mut known = (route.query)();
        if expand::is_taken(&route) {
            known.push(expand::NAME);
        }
        if route.can_rehearse {
            known.push(DRY_RUN);
        }
        let query = QueryString::parse(parts.uri.query().unwrap_or_default(), &known)?;
        let expansions = Expansions::read(&query, &route, &key.rights)?;
        Ok((query, expansions))
    };
    let (query, expansions) = match read() {
        Ok(read) => read,
        Err(error) => return Err(recalled(edge, &origin, error).await),
    };
    let body = upgraded(edge, &route, body, version)?;
    let context = RequestContext {
        origin,
        key,
        lineage: authenticated.principal.lineage,
        default_version: authenticated.principal.version,
        base_url,
    };
    Ok((context, query, body, expansions))
}

/// Returns the body in the current API version. The handler refuses a body that is not an object.
fn upgraded(edge: &Edge, route: &Route, body: Bytes, version: &str) -> Result<Bytes> {
    if version == version::CURRENT {
        return Ok(body);
    }
    let Ok(Value::Object(mut members)) = serde_json::from_slice(&body) else {
        return Ok(body);
    };
    edge.settings
        .versions
        .upgrade(route.name, &mut members, version);
    serde_json::to_vec(&members)
        .map(Bytes::from)
        .map_err(Error::internal)
}

/// Renders a successful response as requested: with expanded objects, and in an older API version.
async fn show(
    edge: &Edge,
    tenant: &Tenant,
    route: Route,
    key: &ActingKey,
    response: Response,
    expansions: &Expansions,
    version: &str,
) -> Response {
    let as_it_is = expansions.is_empty() && version == version::CURRENT;
    if as_it_is || !response.status().is_success() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let shown = async {
        let bytes = axum::body::to_bytes(body, usize::MAX)
            .await
            .map_err(Error::internal)?;
        let mut answer = serde_json::from_slice(&bytes).map_err(Error::internal)?;
        let reader = Reader {
            tenant,
            key,
            now: edge.now(),
        };
        match expand::expand(&edge.store, &reader, &mut answer, expansions).await {
            // The request has had its effect, which an error would hide. The response contains the ids instead.
            Err(error) if !route.only_reads() => {
                tracing::warn!(%error, "an answer was not expanded");
            }
            expanded => expanded?,
        }
        edge.settings
            .versions
            .downgrade(&mut answer, version::CURRENT, version);
        serde_json::to_vec(&answer).map_err(Error::internal)
    };
    match shown.await {
        Ok(body) => {
            let mut parts = parts;
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(body))
        }
        Err(error) => errors::refused(error),
    }
}

/// Returns the error, unless the idempotency key was used with other parameters, which takes precedence over all but missing rights.
async fn recalled(edge: &Edge, origin: &Origin, error: Error) -> Error {
    match &origin.idempotency {
        Some(idempotency) if !error.is_about_rights() => {
            let recalled = edge.store.recall(origin, idempotency);
            let recalled = function_scope::within(function_scope::EVERY_CHANGE, recalled).await;
            recalled.err().unwrap_or(error)
        }
        _ => error,
    }
}

/// Returns the version of a request: the one in its header, otherwise the account's.
fn asked_version(edge: &Edge, headers: &HeaderMap, default: &str) -> Result<String> {
    let Some(header) = headers.get(version::HEADER) else {
        return Ok(default.to_owned());
    };
    let requested = header.to_str().unwrap_or_default();
    edge.settings
        .versions
        .existing(requested, "Service-Version")?;
    Ok(requested.to_owned())
}

/// Returns whether the request is a dry run.
fn is_dry_run(parts: &Parts) -> Result<bool> {
    let query = parts.uri.query().unwrap_or_default().as_bytes();
    let given = url::form_urlencoded::parse(query).find(|(name, _)| name == DRY_RUN);
    match given.as_ref().map(|(_, value)| value.as_ref()) {
        Some("true") => Ok(true),
        None | Some("false") => Ok(false),
        Some(_) => Err(Error::invalid(DRY_RUN, "must be true or false")),
    }
}

/// Returns the versions of the object in the path that the request may change; `None` if it may change every version. A weak tag, and a tag
/// that is not a version, match no object.
fn precondition(route: &Route, parts: &Parts) -> Result<Option<Precondition>> {
    let mut tags = parts.headers.get_all(header::IF_MATCH).iter().peekable();
    if route.only_reads() || tags.peek().is_none() {
        return Ok(None);
    }
    let refuse = |message: &'static str| Error::invalid("If-Match", message);
    if !route.takes_if_match() {
        return Err(refuse("is not taken by this operation"));
    }
    let malformed =
        || refuse("must be the ETag of a response, or several with commas between them");
    let mut versions = Vec::new();
    for value in tags {
        for tag in value.to_str().map_err(|_| malformed())?.split(',') {
            let tag = tag.trim();
            if tag == "*" {
                return Ok(None);
            }
            let opaque = tag.strip_prefix("W/").unwrap_or(tag);
            let opaque = opaque
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            let opaque = opaque.filter(|opaque| !opaque.contains('"'));
            let version: Option<u64> = opaque.ok_or_else(malformed)?.parse().ok();
            versions.extend(version.filter(|_| !tag.starts_with('W')));
        }
    }
    let id = parts.uri.path().rsplit('/').next().unwrap_or_default();
    let id = Id::from(id);
    Ok(Some(Precondition { id, versions }))
}

fn idempotency(
    parts: &Parts,
    body: &[u8],
    version: &str,
    rights: Rights,
) -> Result<Option<Idempotency>> {
    let Some(value) = parts.headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = value.to_str().ok().filter(|key| {
        (1..=255).contains(&key.len()) && key.bytes().all(|b| (b' '..=b'~').contains(&b))
    });
    let key = key.ok_or_else(|| {
        Error::invalid(
            "Idempotency-Key",
            "must be 1 to 255 printable ASCII characters",
        )
    })?;
    let mut digest = Sha256::new();
    for part in [
        parts.method.as_str().as_bytes(),
        parts.uri.path().as_bytes(),
        version.as_bytes(),
        body,
    ] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    Ok(Some(Idempotency {
        key: key.to_owned(),
        fingerprint: hex::encode(digest.finalize()),
        rights,
    }))
}

/// Runs the handler, repeats it after a collision with a concurrent change, and stores the response of a failed request.
async fn run(
    edge: &Edge,
    context: RequestContext,
    query: QueryString,
    parts: Parts,
    body: Bytes,
    next: Next,
) -> Response {
    let (origin, base_url) = (context.origin.clone(), context.base_url.clone());
    let mut parts = parts;
    parts.extensions.insert(context);
    parts.extensions.insert(query);
    for attempt in 0.. {
        let request = Request::from_parts(parts.clone(), Body::from(body.clone()));
        let response = next.clone().run(request).await;
        let contended = failure(&response).is_some_and(|error| matches!(**error, Error::Contended));
        if !contended || attempt + 1 == TRIES {
            return settle(edge, &origin, &base_url, response).await;
        }
        BACKOFF.pause(attempt).await;
    }
    unreachable!("the loop ends by returning")
}

fn failure(response: &Response) -> Option<&Arc<Error>> {
    response
        .extensions()
        .get::<ErrorExtension>()
        .map(|ErrorExtension(error)| error)
}

/// Determines the response after a failure with an idempotency key: the response to the first request with the key takes precedence over
/// the failure of this one, unless that is a missing right. A response without effect is stored if it will not change by itself.
async fn settle(edge: &Edge, origin: &Origin, base_url: &str, response: Response) -> Response {
    let (Some(idempotency), Some(error)) = (&origin.idempotency, failure(&response)) else {
        return response;
    };
    let is_about_key = matches!(&**error, Error::Client(refusal) if refusal.kind == kernel::error::ErrorType::Idempotency);
    let settled = match error.class() {
        _ if is_about_key || error.is_about_rights() => return response,
        ErrorClass::PaymentDeclined | ErrorClass::NotFound | ErrorClass::Conflict => {
            let request = origin
                .request
                .clone()
                .unwrap_or_else(|| Id::new(Kind::Request, origin.now));
            let answer = errors::answer(error, &request, base_url);
            let remembered = edge.store.remember(origin, idempotency, answer);
            function_scope::within(function_scope::EVERY_CHANGE, remembered)
                .await
                .map(|answer| answer.replayed.then_some(answer))
        }
        // A version conflict is not stored: the client repeats the request with another version.
        ErrorClass::Invalid | ErrorClass::Forbidden | ErrorClass::PreconditionFailed => {
            let recalled = edge.store.recall(origin, idempotency);
            function_scope::within(function_scope::EVERY_CHANGE, recalled).await
        }
        _ => return response,
    };
    match settled {
        Ok(Some(first)) => errors::shown(first),
        Ok(None) => response,
        Err(error) => errors::refused(error),
    }
}

/// Adds the body format and the headers that every response has.
fn finish(
    edge: &Edge,
    response: Response,
    request: &Id,
    tenant: Option<&Tenant>,
    base_url: &str,
) -> Response {
    let error = failure(&response).cloned();
    let rate_limit = response.extensions().get::<RateLimitStatus>().copied();
    let rate_limit = rate_limit.unwrap_or_else(|| edge.rates.status(tenant, edge.now()));
    let rendered = response
        .extensions()
        .get::<Rendered>()
        .map_or(version::CURRENT, |Rendered(version)| version)
        .to_owned();
    let mut response = match error {
        None => response,
        Some(error) => {
            edge.settings.metrics.refused(edge.now(), &error);
            if let Error::Internal(_) | Error::Unavailable(_) | Error::PaymentInterrupted { .. } =
                &*error
            {
                tracing::error!(request.id = %request, %error, "a request failed");
            }
            let mut shown: Response = errors::shown(errors::answer(&error, request, base_url));
            if let Some(allow) = response.headers().get(header::ALLOW) {
                shown.headers_mut().insert(header::ALLOW, allow.clone());
            }
            if error.class() == ErrorClass::Unauthenticated {
                shown
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            if let Some(seconds) = errors::retry_after(&error) {
                shown
                    .headers_mut()
                    .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            shown
        }
    };
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("service-request-id", request.to_string());
    if let Some(retirement) = edge.settings.versions.retirement(&rendered) {
        set("deprecation", retirement.deprecation());
        set("sunset", retirement.sunset());
    }
    set(version::HEADER, rendered);
    set("ratelimit-limit", rate_limit.limit.to_string());
    set("ratelimit-remaining", rate_limit.remaining.to_string());
    set("ratelimit-reset", rate_limit.reset.to_string());
    set("cache-control", "no-store".into());
    response
}

fn is_json(response: &Response) -> bool {
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == "application/json")
}

/// Returns the address that the client uses: the configured one, otherwise the host of the request, over https except in local runs.
pub fn base_url(settings: &Settings, headers: &HeaderMap) -> String {
    if let Some(configured) = &settings.base_url {
        return configured.clone();
    }
    let plausible = |host: &&str| {
        host.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b))
    };
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .filter(plausible)
        .unwrap_or("localhost");
    let scheme = if settings.targets == Targets::Public {
        "https"
    } else {
        "http"
    };
    format!("{scheme}://{host}")
}
