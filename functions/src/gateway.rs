//! Events of API Gateway's HTTP API (payload format 2.0) as requests, and responses as what it takes for an answer.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::request::Builder;
use axum::http::{HeaderMap, Request, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use shared::Error;
use shared::http::edge::Correlation;
use tower::ServiceExt as _;

/// What of an event makes the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    raw_path: String,
    #[serde(default)]
    raw_query_string: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    request_context: Context,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    http: Http,
    #[serde(default)]
    request_id: String,
}

#[derive(Debug, Deserialize)]
struct Http {
    method: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayResponse {
    status_code: u16,
    headers: BTreeMap<String, String>,
    body: String,
    is_base64_encoded: bool,
}

/// Answers an event of this trace.
///
/// # Errors
/// The event is none of an HTTP API.
pub async fn answer(
    router: Router,
    event: Event,
    trace: Option<String>,
) -> Result<GatewayResponse, Error> {
    let correlation = Correlation {
        gateway_request: event.request_context.request_id.clone(),
        trace,
    };
    let mut request = event.request()?;
    request.extensions_mut().insert(correlation);
    let Ok(response) = router.oneshot(request).await;
    GatewayResponse::of(response).await
}

impl Event {
    fn request(self) -> Result<Request<Body>, Error> {
        let mut address = escaped(&self.raw_path);
        if !self.raw_query_string.is_empty() {
            address.push('?');
            address.push_str(&self.raw_query_string);
        }
        let request = Request::builder()
            .method(self.request_context.http.method.as_str())
            .uri(address);
        let with =
            |request: Builder, (name, value): (&String, &String)| request.header(name, value);
        let request = self.headers.iter().fold(request, with);
        let body = self.body.unwrap_or_default();
        let body = if self.is_base64_encoded {
            Bytes::from(STANDARD.decode(body).map_err(Error::internal)?)
        } else {
            Bytes::from(body)
        };
        request.body(Body::from(body)).map_err(Error::internal)
    }
}

/// A path as it may stand in an address: the gateway has taken its escapes away.
fn escaped(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && !b"\"#<>?`{}\\^|".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

impl GatewayResponse {
    async fn of(response: Response) -> Result<Self, Error> {
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.map_err(Error::internal)?;
        let packed = parts.headers.contains_key(header::CONTENT_ENCODING);
        let text = if packed {
            None
        } else {
            std::str::from_utf8(&body).ok()
        };
        Ok(Self {
            status_code: parts.status.as_u16(),
            headers: joined(&parts.headers),
            is_base64_encoded: text.is_none(),
            body: text.map_or_else(|| STANDARD.encode(&body), str::to_owned),
        })
    }
}

/// Headers by their names; those of the same name are one.
fn joined(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let held = joined.entry(name.to_string()).or_default();
        if !held.is_empty() {
            held.push_str(", ");
        }
        held.push_str(&value);
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Event {
        serde_json::from_str(include_str!("../../events/create-fleet.json")).unwrap()
    }

    #[tokio::test]
    async fn an_event_is_the_request_it_stands_for() {
        let mut event = sample();
        event.raw_query_string = "limit=5&expand%5B%5D=fleet".into();
        let request = event.request().unwrap();
        assert_eq!(request.method(), "POST");
        assert_eq!(request.uri(), "/v1/fleets?limit=5&expand%5B%5D=fleet");
        let key = request.headers()["authorization"].to_str().unwrap();
        assert!(key.starts_with("Bearer sk_test_"));
        let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&body).unwrap()["name"].is_string());
    }

    #[tokio::test]
    async fn a_body_may_come_encoded() {
        let mut event = sample();
        event.body = Some(STANDARD.encode("ü"));
        event.is_base64_encoded = true;
        let body = event.request().unwrap().into_body();
        assert_eq!(to_bytes(body, usize::MAX).await.unwrap(), "ü");
    }

    #[test]
    fn a_path_keeps_to_what_an_address_may_hold() {
        assert_eq!(escaped("/v1/fleets/flt_1"), "/v1/fleets/flt_1");
        assert_eq!(escaped("/v1/a b?c#ü"), "/v1/a%20b%3Fc%23%C3%BC");
    }

    #[tokio::test]
    async fn an_answer_is_text_unless_it_is_packed() {
        let response = Response::builder()
            .status(404)
            .header("allow", "GET")
            .header("allow", "POST")
            .body(Body::from("{}"))
            .unwrap();
        let answer = serde_json::to_value(GatewayResponse::of(response).await.unwrap()).unwrap();
        assert_eq!(
            answer,
            serde_json::json!({"statusCode": 404, "headers": {"allow": "GET, POST"}, "body": "{}",
                "isBase64Encoded": false})
        );
        let packed = Response::builder()
            .header("content-encoding", "gzip")
            .body(Body::from("ab"))
            .unwrap();
        let answer = serde_json::to_value(GatewayResponse::of(packed).await.unwrap()).unwrap();
        assert_eq!(answer["body"], "YWI=");
        assert_eq!(answer["isBase64Encoded"], true);
    }
}
