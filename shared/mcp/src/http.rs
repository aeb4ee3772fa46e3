//! Streamable HTTP without sessions: every request has an API key as its bearer token and is independent of others.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use crate::api::{Api, Failure};
use crate::calls::Server;

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
    let header = headers.get(AUTHORIZATION)?;
    header.to_str().ok()?.strip_prefix("Bearer ")
}

/// Serves one request. If the API does not accept the key, the response is that of the API: 401.
pub async fn respond<B>(
    api: Arc<dyn Api>,
    exposure: Exposure,
    request: Request<B>,
) -> Response<BoxBody<Bytes, Infallible>>
where
    B: http_body::Body + Send + 'static,
    B::Error: Display,
{
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
    let mut response = service.handle(request).await;
    if let Some(error) = observed.unauthorized() {
        return unauthorized(&error);
    }
    // Errors of the library are texts without a type, for which API Gateway would set that of JSON.
    if !response.status().is_success() {
        let text = HeaderValue::from_static("text/plain");
        let kind = response.headers_mut().entry(CONTENT_TYPE);
        kind.or_insert(text);
    }
    response
}

/// Returns 401 with the error object of the API.
fn unauthorized(error: &Value) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::from(error.to_string()).boxed());
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
