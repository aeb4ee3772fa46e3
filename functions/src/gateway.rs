//! Requests of API Gateway's HTTP API (payload format 2.0), served with `lambda_http`.

use std::net::IpAddr;

use axum::Router;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use lambda_http::request::{LambdaRequest, RequestContext};
use lambda_http::{Adapter, Context, Error, LambdaEvent, Request, RequestExt as _, lambda_runtime};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use tower::ServiceExt as _;
use web::edge::Correlation;
use web::source::Source;

/// The characters that are escaped in a path. API Gateway has decoded the path.
const PATH: &AsciiSet = &QUERY
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'\\')
    .add(b'^')
    .add(b'|');

/// The characters that are escaped in a query.
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// Serves a router until the instance of the function ends.
///
/// # Errors
/// The runtime API cannot be reached.
pub async fn serve(router: Router) -> Result<(), Error> {
    let router = router.map_request(correlated);
    let service = Adapter::from(router).map_request(escaped);
    lambda_runtime::run(service).await
}

/// Returns the event with its path, query and host escaped so that `lambda_http` can build a URI from them; `lambda_http` panics otherwise.
fn escaped(event: LambdaEvent<LambdaRequest>) -> LambdaEvent<LambdaRequest> {
    let LambdaEvent { payload, context } = event;
    let payload = match payload {
        LambdaRequest::ApiGatewayV2(request) => LambdaRequest::ApiGatewayV2(addressable(request)),
        other => other,
    };
    LambdaEvent { payload, context }
}

fn addressable(mut request: ApiGatewayV2httpRequest) -> ApiGatewayV2httpRequest {
    let escape =
        |text: Option<String>, set| text.map(|text| utf8_percent_encode(&text, set).to_string());
    request.raw_path = escape(request.raw_path, PATH);
    request.raw_query_string = escape(request.raw_query_string, QUERY);
    let is_host = |host: &str| url::Url::parse(&format!("https://{host}/")).is_ok();
    let host = request.headers.get("host").map(|host| host.to_str());
    if host.is_some_and(|host| !host.is_ok_and(is_host)) {
        request.headers.remove("host");
    }
    request
}

/// Adds the ids of API Gateway and X-Ray to the request, and the client address: the other end of the connection to API Gateway, never a
/// header that a client can set.
fn correlated(mut request: Request) -> Request {
    let gateway_request = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.request_id.clone(),
        _ => None,
    };
    let source = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.http.source_ip.clone(),
        _ => None,
    };
    let source = source.and_then(|address| address.parse::<IpAddr>().ok());
    if let Some(address) = source {
        request.extensions_mut().insert(Source::from(address));
    }
    let correlation = Correlation {
        gateway_request: gateway_request.unwrap_or_default(),
        trace: request.lambda_context_ref().and_then(trace_of),
    };
    request.extensions_mut().insert(correlation);
    request
}

/// The trace id of an invocation in X-Ray: the root of `Root=1-…;Parent=…;Sampled=…`. X-Ray keeps only sampled traces.
pub fn trace_of(context: &Context) -> Option<String> {
    let header = context.xray_trace_id.as_deref()?;
    if header.contains("Sampled=0") {
        return None;
    }
    let root = header
        .split(';')
        .find_map(|part| part.strip_prefix("Root="));
    Some(root.unwrap_or(header).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    const SAMPLE: &str = include_str!("../../events/create-fleet.json");

    /// The request that the router receives for an event.
    fn request(change: impl FnOnce(&mut ApiGatewayV2httpRequest)) -> Request {
        let LambdaRequest::ApiGatewayV2(mut event) = serde_json::from_str(SAMPLE).unwrap() else {
            panic!("the sample is no event of an HTTP API");
        };
        change(&mut event);
        let event = LambdaEvent::new(LambdaRequest::ApiGatewayV2(event), Context::default());
        correlated(escaped(event).payload.into())
    }

    #[tokio::test]
    async fn an_event_is_the_request_it_stands_for() {
        let request = request(|event| {
            event.raw_query_string = Some("limit=5&expand%5B%5D=fleet".into());
            event.request_context.http.source_ip = Some("192.0.2.1".into());
            let forged = "203.0.113.9".parse().unwrap();
            event.headers.insert("x-forwarded-for", forged);
        });
        assert_eq!(request.method(), "POST");
        assert_eq!(request.uri().path(), "/v1/fleets");
        assert_eq!(request.uri().query(), Some("limit=5&expand%5B%5D=fleet"));
        let key = request.headers()["authorization"].to_str().unwrap();
        assert!(key.starts_with("Bearer sk_test_"));
        let correlation = request.extensions().get::<Correlation>().unwrap();
        assert_eq!(correlation.gateway_request, "sample");
        let source = request.extensions().get::<Source>().copied();
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        assert_eq!(source, Some(Source::from(address)));
        let body = axum::body::Body::new(request.into_body());
        let body = to_bytes(body, usize::MAX).await.unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&body).unwrap()["name"].is_string());
    }

    #[test]
    fn what_no_address_may_hold_is_escaped() {
        let request = request(|event| {
            event.raw_path = Some("/v1/a b?c#ü{\"\\|".into());
            event.raw_query_string = Some("a=<ü> #".into());
            let host = "a b".parse().unwrap();
            event.headers.insert("host", host);
        });
        assert_eq!(request.uri().path(), "/v1/a%20b%3Fc%23%C3%BC%7B%22%5C%7C");
        assert_eq!(request.uri().query(), Some("a=%3C%C3%BC%3E%20%23"));
    }

    #[test]
    fn the_trace_is_the_root_of_the_header() {
        let mut context = Context::default();
        context.xray_trace_id = Some("Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1".into());
        let trace = trace_of(&context);
        assert_eq!(
            trace.as_deref(),
            Some("1-5759e988-bd862e3fe1be46a994272793")
        );
        context.xray_trace_id = Some("Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0".into());
        assert_eq!(trace_of(&context), None);
    }
}
