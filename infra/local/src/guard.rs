//! The rules by which a local port accepts requests.
//!
//! Every web page that the developer opens can reach a port on 127.0.0.1. A browser sends the page's origin in the header `Origin`, so
//! requests of other origins are refused. A page can also assign the address 127.0.0.1 to its own host name (DNS rebinding); to the
//! browser the port then belongs to the page's own origin, but the header `Host` still has the page's name. Therefore `Host` must be
//! one of the names of this machine, with the port.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use kernel::error::{ClientError, ErrorClass, ErrorType};
use kernel::{Error, Id, Kind};
use models::ports::Clock;
use web::errors;

/// The hosts under which a local port may be addressed.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The only path that pages of every origin may read: the OpenAPI document, which is public.
const DOCUMENT: &str = "/v1/openapi.json";

/// A port on the loopback interface.
#[derive(Debug, Clone, Copy)]
pub struct LocalPort(pub u16);

impl LocalPort {
    /// The reason why a request to this port is refused because of its `Host`. None if it is not refused.
    pub fn refuses_host(self, headers: &HeaderMap, uri: &Uri) -> Option<String> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().filter(|_| hosts.next().is_none());
        let target = uri.authority().map(|authority| authority.as_str());
        let accepted = host.is_some_and(|host| self.is_host(host.as_bytes()))
            && target.is_none_or(|target| self.is_host(target.as_bytes()));
        let Self(port) = self;
        let accepts = HOSTS.map(|host| format!("{host}:{port}")).join(", ");
        (!accepted).then(|| format!("The header Host must be one of {accepts}."))
    }

    /// The reason why a request to this port is refused because it comes from a web page of another origin. None if it is not refused.
    pub fn refuses_origin(self, headers: &HeaderMap) -> Option<String> {
        let origins = headers.get_all(header::ORIGIN);
        let foreign = origins.iter().find(|origin| !self.is_origin(origin))?;
        let shown: String = String::from_utf8_lossy(foreign.as_bytes())
            .chars()
            .take(64)
            .collect();
        Some(format!(
            "Web pages of other origins ({shown}) must not use this port."
        ))
    }

    /// Whether this is one of the hosts of this machine, with this port.
    fn is_host(self, host: &[u8]) -> bool {
        let host = String::from_utf8_lossy(host).to_ascii_lowercase();
        let mut hosts = HOSTS.iter();
        hosts.any(|known| match host.strip_prefix(known) {
            Some("") => self.0 == 80,
            Some(rest) => rest.strip_prefix(':') == Some(self.0.to_string().as_str()),
            None => false,
        })
    }

    fn is_origin(self, origin: &HeaderValue) -> bool {
        let host = origin.as_bytes().strip_prefix(b"http://");
        host.is_some_and(|host| self.is_host(host))
    }
}

/// The state of [`check`].
#[derive(Clone)]
pub struct Guard {
    pub port: LocalPort,
    pub clock: Arc<dyn Clock>,
}

/// Refuses, before any other check, requests with a foreign `Host` and those of web pages of another origin with 403.
pub async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    let readable = request.method() == Method::GET && uri.path() == DOCUMENT;
    let refused = guard.port.refuses_host(headers, uri);
    let refused = refused.or_else(|| {
        let foreign = || guard.port.refuses_origin(headers);
        (!readable).then(foreign).flatten()
    });
    match refused {
        None => next.run(request).await,
        Some(message) => forbidden(&*guard.clock, message),
    }
}

/// A response with status 403.
pub fn forbidden(clock: &dyn Clock, message: String) -> Response {
    let error = Error::Client(Box::new(ClientError {
        class: ErrorClass::Forbidden,
        kind: ErrorType::InvalidRequest,
        code: None,
        message: message.into(),
        param: None,
        details: Vec::new(),
        violations: Vec::new(),
    }));
    refused(clock, &error)
}

/// The response that shows an error.
pub fn refused(clock: &dyn Clock, error: &Error) -> Response {
    let id = Id::new(Kind::Request, clock.now());
    let mut response = errors::shown(errors::answer(error, &id, ""));
    if response.status() == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, scheme);
    }
    response
}

/// A page of another origin can send other content types without a preflight request.
pub fn check_json(headers: &HeaderMap) -> Result<(), Error> {
    if web::body::is_json(headers) {
        return Ok(());
    }
    let message = "The body must have the content type application/json.";
    Err(Error::malformed(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, values: &[&str]) -> HeaderMap {
        let values = values.iter().map(|value| value.parse().unwrap());
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name.clone(), value);
        }
        headers
    }

    #[test]
    fn only_names_of_this_machine_with_the_port_are_hosts() {
        let uri = Uri::from_static("/v1/fleets");
        let accepts = |port: u16, hosts: &[&str]| {
            let headers = headers(header::HOST, hosts);
            LocalPort(port).refuses_host(&headers, &uri).is_none()
        };
        for host in [
            "127.0.0.1:8787",
            "localhost:8787",
            "LocalHost:8787",
            "[::1]:8787",
        ] {
            assert!(accepts(8787, &[host]), "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "localhost",
            "localhost:",
            "localhost:80",
            "localhost:08787",
            "localhost.:8787",
            "localhost.evil.example:8787",
            "127.0.0.1.evil.example:8787",
            "evil.example:8787",
            "evil.example",
            "127.0.0.2:8787",
            "user@localhost:8787",
        ] {
            assert!(!accepts(8787, &[host]), "{host}");
        }
        assert!(accepts(80, &["localhost"]) && accepts(80, &["localhost:80"]));
        assert!(!accepts(8787, &[]));
        assert!(!accepts(8787, &["localhost:8787", "evil.example"]));
        let absolute = Uri::from_static("http://evil.example/v1/fleets");
        let headers = headers(header::HOST, &["localhost:8787"]);
        assert!(LocalPort(8787).refuses_host(&headers, &absolute).is_some());
    }

    #[test]
    fn only_pages_of_this_port_are_of_its_origin() {
        let accepts = |origins: &[&str]| {
            let headers = headers(header::ORIGIN, origins);
            LocalPort(8787).refuses_origin(&headers).is_none()
        };
        assert!(accepts(&[]));
        assert!(accepts(&["http://127.0.0.1:8787"]));
        assert!(accepts(&["http://localhost:8787"]));
        for origin in [
            "null",
            "",
            "https://localhost:8787",
            "http://localhost:3000",
            "http://evil.example",
            "http://localhost:8787.evil.example",
        ] {
            assert!(!accepts(&[origin]), "{origin}");
        }
        assert!(!accepts(&["http://localhost:8787", "http://evil.example"]));
    }
}
