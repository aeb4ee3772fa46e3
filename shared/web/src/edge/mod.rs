//! The processing of every request before and after its handler, in this order: 429 for an address that sends too many requests without a
//! valid key, 401, then 404 or 405 by the router, 429 of the account, 403 scope, the version, the body, idempotency, the query; then the
//! handler with its body, objects, policies, states and payments.

mod admission;
mod repeats;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::{Instant, timeout};
use tracing::{Instrument as _, Span};

pub use admission::admit;

use super::auth::{KeyRing, Principal, authenticate};
use super::errors::{self, ErrorExtension};
use super::rate_limit::{RateLimitStatus, RateLimiter};
use super::route::TIME_LIMIT;
use super::source::{Source, SourceLimiter};
use crate::settings::Settings;
use kernel::error::ErrorClass;
use kernel::targets::Targets;
use kernel::{Error, Id, Kind, Result, Tenant, Timestamp, function_scope, version};
use models::ports::Clock;
use table::Store;

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
    let mode = tenant.as_ref().map(|tenant| tenant.mode.as_str());
    // The figures of `metrics` name the mode likewise, so that one query of the logs counts both.
    tracing::info!(account.id = account, Mode = mode, http.method = %method, http.path = path, status, duration_ms);
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
    let authenticated = timeout(TIME_LIMIT * edge.settings.slack, authenticated).await;
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
    let counted = timeout(TIME_LIMIT * edge.settings.slack, counted).await;
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
    set("cache-control", "no-store".into());
    headers.extend(rate_limit.headers());
    response
}

/// Returns the error that a response shows once its body is written.
fn failure(response: &Response) -> Option<&Arc<Error>> {
    response
        .extensions()
        .get::<ErrorExtension>()
        .map(|ErrorExtension(error)| error)
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
