//! Streamable HTTP without sessions: every request has an API key as its bearer token and is independent of others.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::model::ErrorData;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::api::{Api, Failure};
use crate::calls::Server;

const JSON: &str = "application/json";

/// The origins of pages of this machine.
const LOOPBACK: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// The requests that are served, by their `Host` and `Origin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Only those that have this machine as their host and come from no page of another machine, against DNS rebinding.
    Loopback,
    /// All: the server has checked them, or is public.
    Any,
}

/// Returns the bearer token of a request.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(key)
}

/// Serves one request. If the API does not accept the key, the response is that of the API: 401. A body that is not a message of JSON-RPC
/// is refused with an error of JSON-RPC.
pub async fn respond(
    api: Arc<dyn Api>,
    exposure: Exposure,
    request: Request<Bytes>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let observed = Arc::new(Observed {
        api,
        unauthorized: Mutex::default(),
    });
    let server = Server {
        api: observed.clone(),
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let config = match exposure {
        Exposure::Loopback => config.with_allowed_origins(LOOPBACK),
        Exposure::Any => config.disable_allowed_hosts(),
    };
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    let content = request.body().clone();
    let is_json = is_json(request.headers());
    let mut response = service.handle(request.map(Full::new)).await;
    if let Some(error) = observed.unauthorized() {
        return unauthorized(&error);
    }
    // The library refuses another type and a malformed body with the same status.
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json {
        return malformed(&content);
    }
    // Errors of the library are texts without a type, for which API Gateway would set that of JSON.
    if !response.status().is_success() {
        let text = HeaderValue::from_static("text/plain");
        let kind = response.headers_mut().entry(CONTENT_TYPE);
        kind.or_insert(text);
    }
    response
}

/// Returns whether the body of a request is JSON by its content type.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(JSON))
}

/// Returns 400 with an error of JSON-RPC. It has no id, because the message has none that can be read.
fn malformed(content: &[u8]) -> Response<BoxBody<Bytes, Infallible>> {
    let error = if serde_json::from_slice::<IgnoredAny>(content).is_ok() {
        ErrorData::invalid_request("The body is not a message of JSON-RPC 2.0.", None)
    } else {
        ErrorData::parse_error("The body is not valid JSON.", None)
    };
    shown(
        StatusCode::BAD_REQUEST,
        &json!({"jsonrpc": "2.0", "error": error}),
    )
}

/// Returns 401 with the error object of the API.
fn unauthorized(error: &Value) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = shown(StatusCode::UNAUTHORIZED, error);
    let scheme = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    response
}

fn shown(status: StatusCode, body: &Value) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::from(body.to_string()).boxed());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(JSON);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// An API that stores the error of a key that is not accepted.
struct Observed {
    api: Arc<dyn Api>,
    unauthorized: Mutex<Option<Value>>,
}

impl Observed {
    fn unauthorized(&self) -> Option<Value> {
        let mut error = self
            .unauthorized
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        error.take()
    }
}

impl Api for Observed {
    fn send(&self, request: crate::Request) -> BoxFuture<'_, Result<Value, Failure>> {
        async {
            let sent = self.api.send(request).await;
            if let Err(Failure::Refused { status: 401, body }) = &sent {
                let error = self.unauthorized.lock();
                *error.unwrap_or_else(PoisonError::into_inner) = Some(body.clone());
            }
            sent
        }
        .boxed()
    }

    fn now(&self) -> BoxFuture<'_, Result<String, Failure>> {
        self.api.now()
    }
}
