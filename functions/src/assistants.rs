//! `POST /mcp`: the tools for assistants, over the streamable HTTP transport of the Model Context Protocol, without sessions.
//!
//! A tool sends requests to the API with the key of its own request, so authentication, scopes, rate limits and logs are those of any
//! client. On AWS it calls the URL of the service (`src/bin/assistants.rs`, a separate executable, so that no other function loads the
//! protocol's library); the local runner calls its own router.
//!
//! A malformed key is refused here; the API checks whether it exists. Requests whose key the API does not accept are rate-limited here by
//! client address, because for the API all requests of tools come from the addresses of this function.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kernel::error::ErrorClass;
use kernel::{Error, Id, Kind, Result, version};
use mcp::{Api, Exposure, Failure};
use models::ports::Clock;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;
use web::auth::{ACT_IN, sent_key};
use web::deployment::Deployment;
use web::source::{Source, SourceLimiter};
use web::{body, edge, errors, rate_limit};

use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "serve-assistants";

pub const PATH: &str = "/mcp";

/// The maximum time for a request: some tools send several requests one after the other. API Gateway waits for 30 seconds.
const PATIENCE: Duration = Duration::from_secs(25);

/// The largest response of the API that is read: the largest that Lambda sends.
const MAX_RESPONSE: usize = 6 * 1024 * 1024;

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "The tools for assistants (MCP)",
    trigger: Trigger::Assistants(PATH),
    deployment: Deployment::of_request().timeout(PATIENCE.as_secs() as u32 + 1),
};

/// Sends requests to the API. Their URIs have only a path and a query.
pub type Transport = Arc<dyn Fn(Request) -> BoxFuture<'static, Result<Response>> + Send + Sync>;

/// The API, as a request to the tools reaches it.
pub struct Connection {
    /// The address under which the documentation of errors is.
    pub base_url: String,
    pub transport: Transport,
}

/// The tools, and the state that every request to them needs.
struct Assistants<C> {
    /// Returns the connection to the API for a request.
    connect: C,
    clock: Arc<dyn Clock>,
    sources: SourceLimiter,
}

/// Returns a router of the tools. `rate` is the maximum number of requests per second from one address with keys that are not accepted.
pub fn router<C>(rate: u32, clock: Arc<dyn Clock>, connect: C) -> Router
where
    C: Fn(&Parts) -> Result<Connection> + Send + Sync + 'static,
{
    let assistants = Arc::new(Assistants {
        connect,
        clock,
        sources: SourceLimiter::new(rate),
    });
    let handler = move |request: Request| async move { assistants.serve(request).await };
    Router::new().route(PATH, post(handler.clone()).fallback(handler))
}

impl<C: Fn(&Parts) -> Result<Connection>> Assistants<C> {
    /// Serves a request and logs a line about it.
    async fn serve(&self, request: Request) -> Response {
        let id = Id::new(Kind::Request, self.clock.now());
        let span = edge::span(&request, &id);
        let served = async {
            let (began, method) = (Instant::now(), request.method().clone());
            let source = request.extensions().get::<Source>().copied();
            let mut response = self.limited(request, source, &id).await;
            let headers = response.headers_mut();
            // A tool that has sent requests to the API has its headers already.
            if !headers.contains_key(rate_limit::HEADERS[0]) {
                headers.extend(self.sources.status(source, Instant::now()).headers());
            }
            if let Ok(id) = HeaderValue::from_str(id.as_str()) {
                headers.insert("service-request-id", id);
            }
            let version = HeaderValue::from_static(version::CURRENT);
            headers.insert(version::HEADER, version);
            let no_store = HeaderValue::from_static("no-store");
            headers.insert(header::CACHE_CONTROL, no_store);
            let status = response.status().as_u16();
            let duration_ms = began.elapsed().as_millis() as u64;
            tracing::info!(http.method = %method, http.path = PATH, status, duration_ms);
            response
        };
        served.instrument(span).await
    }

    /// Handles a request, unless its address has sent too many requests without an accepted key.
    async fn limited(&self, request: Request, source: Option<Source>, id: &Id) -> Response {
        let (parts, content) = request.into_parts();
        let Connection {
            base_url,
            transport,
        } = match (self.connect)(&parts) {
            Ok(connection) => connection,
            Err(error) => return refused(&error, id, ""),
        };
        if parts.method != Method::POST {
            return refused(&Error::method_not_allowed(), id, &base_url);
        }
        if let Err(limited) = self.sources.take(source, Instant::now()) {
            return refused(&limited, id, &base_url);
        }
        let handled = self.handle(parts, content, transport, source);
        let handled = timeout(PATIENCE, handled).await;
        let handled =
            handled.unwrap_or_else(|_| Err(Error::unavailable("the request took too long")));
        let response = handled.unwrap_or_else(|error| refused(&error, id, &base_url));
        if response.status() != StatusCode::UNAUTHORIZED {
            self.sources.give_back(source);
        }
        response
    }

    async fn handle(
        &self,
        parts: Parts,
        content: Body,
        transport: Transport,
        source: Option<Source>,
    ) -> Result<Response> {
        sent_key(&parts.headers)?;
        let content = body::collect(content).await?;
        let mut headers = HeaderMap::new();
        for name in [header::AUTHORIZATION.as_str(), ACT_IN] {
            if let Some(value) = parts.headers.get(name) {
                headers.insert(name, value.clone());
            }
        }
        let api = Arc::new(Calls {
            transport,
            headers,
            source,
            clock: self.clock.clone(),
            rate_limit: Mutex::default(),
        });
        let request = axum::http::Request::from_parts(parts, content);
        let response = mcp::respond(api.clone(), Exposure::Any, request).await;
        match response.status() {
            StatusCode::NOT_ACCEPTABLE => Err(Error::not_acceptable(
                "The header Accept must name application/json and text/event-stream.",
            )),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Err(Error::unsupported_media_type(
                "The content type of the body must be application/json.",
            )),
            _ => {
                let mut response = response.map(Body::new);
                let mut sent = api.rate_limit.lock();
                let sent = sent.as_deref_mut().map(std::mem::take);
                response.headers_mut().extend(sent.unwrap_or_default());
                Ok(response)
            }
        }
    }
}

/// The response that shows an error.
fn refused(error: &Error, id: &Id, base_url: &str) -> Response {
    if matches!(error, Error::Internal(_) | Error::Unavailable(_)) {
        tracing::error!(%error, "a request failed");
    }
    let mut response = errors::shown(errors::answer(error, id, base_url));
    let headers = response.headers_mut();
    if error.class() == ErrorClass::Unauthenticated {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(seconds) = errors::retry_after(error) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The API with the key of one request.
struct Calls {
    transport: Transport,
    /// The key, and the account in which it acts.
    headers: HeaderMap,
    source: Option<Source>,
    clock: Arc<dyn Clock>,
    /// The headers about the rate limit of the latest response of the API.
    rate_limit: Mutex<HeaderMap>,
}

impl Calls {
    async fn call(&self, request: mcp::Request) -> std::result::Result<Value, Failure> {
        let lost = |error: Error| {
            tracing::error!(%error, "a request of a tool failed");
            Failure::Unreachable(
                "The service did not respond. It is not certain whether the request had its effect."
                    .to_owned(),
            )
        };
        let request = self.request(request).map_err(lost)?;
        let response = (self.transport)(request).await.map_err(lost)?;
        let (parts, body) = response.into_parts();
        if let Ok(mut latest) = self.rate_limit.lock() {
            for name in rate_limit::HEADERS {
                if let Some(value) = parts.headers.get(name) {
                    latest.insert(name, value.clone());
                }
            }
        }
        if let Some(url) = parts.headers.get(header::LOCATION) {
            return Ok(json!({"url": String::from_utf8_lossy(url.as_bytes())}));
        }
        let body = to_bytes(body, MAX_RESPONSE).await;
        let body = body.map_err(|error| lost(Error::unavailable(error)))?;
        let body = serde_json::from_slice(&body);
        let body: Value = body.map_err(|error| lost(Error::unavailable(error)))?;
        if parts.status.is_success() {
            Ok(body)
        } else {
            Err(Failure::Refused {
                status: parts.status.as_u16(),
                body,
            })
        }
    }

    fn request(&self, request: mcp::Request) -> Result<Request> {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&request.query)
            .finish();
        let uri = match query.as_str() {
            "" => request.path,
            query => format!("{}?{query}", request.path),
        };
        let body = request.body.map(|body| body.to_string());
        let built = Request::builder()
            .method(request.method)
            .uri(uri)
            .header(version::HEADER, version::CURRENT)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.unwrap_or_default()));
        let mut built = built.map_err(Error::internal)?;
        built.headers_mut().extend(self.headers.clone());
        if let Some(source) = self.source {
            built.extensions_mut().insert(source);
        }
        Ok(built)
    }
}

impl Api for Calls {
    fn send(&self, request: mcp::Request) -> BoxFuture<'_, std::result::Result<Value, Failure>> {
        self.call(request).boxed()
    }

    fn now(&self) -> BoxFuture<'_, std::result::Result<String, Failure>> {
        let now = self.clock.now().to_string();
        std::future::ready(Ok(now)).boxed()
    }
}
