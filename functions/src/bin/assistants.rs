//! The executable of the function `serve-assistants`. It calls the API at the URL of the service, over HTTP.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::response::Response;
use functions::assistants::{Connection, Transport};
use functions::aws::{self, SystemClock};
use functions::{assistants, gateway};
use kernel::outbound::Outbound;
use lambda_http::RequestExt as _;
use lambda_http::request::RequestContext;
use lambda_runtime::Error;
use web::body::MAX_BODY;
use web::settings::Settings;

fn main() -> Result<(), Error> {
    functions::run(serve())
}

async fn serve() -> Result<(), Error> {
    let settings = Settings::from_env(aws::endpoint().as_deref(), None)?;
    let outbound = Arc::new(Outbound::new(settings.targets));
    let (configured, rate) = (settings.base_url.clone(), settings.rates.test);
    let router = assistants::router(rate, Arc::new(SystemClock), move |parts| {
        let base_url = address(configured.as_deref(), parts)?;
        let (outbound, api) = (outbound.clone(), base_url.clone());
        let transport: Transport =
            Arc::new(move |request| Box::pin(send(outbound.clone(), api.clone(), request)));
        Ok(Connection {
            base_url,
            transport,
        })
    });
    gateway::serve(router).await
}

/// The URL of the API: the configured one, or else the domain at which API Gateway received the request. The header `Host` is not used: a
/// client that sets it would otherwise receive the key.
fn address(configured: Option<&str>, parts: &Parts) -> kernel::error::Result<String> {
    if let Some(configured) = configured {
        return Ok(configured.to_owned());
    }
    let domain = match parts.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.domain_name.as_deref(),
        _ => None,
    };
    let domain = domain.ok_or_else(|| {
        kernel::Error::internal("BASE_URL is not set, and the request is not of API Gateway")
    })?;
    Ok(format!("https://{domain}"))
}

/// Sends a request of the API to a URL. Redirects are returned as responses.
async fn send(
    outbound: Arc<Outbound>,
    base_url: String,
    request: Request,
) -> kernel::error::Result<Response> {
    let client = outbound.client()?;
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await;
    let body = body.map_err(kernel::Error::internal)?;
    let sent = client
        .request(parts.method, format!("{base_url}{}", parts.uri))
        .headers(parts.headers)
        .body(body)
        .send()
        .await;
    let response = sent.map_err(|error| kernel::Error::unavailable(error.without_url()))?;
    let response: axum::http::Response<reqwest::Body> = response.into();
    Ok(response.map(Body::new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequest;
    use lambda_http::request::LambdaRequest;

    #[test]
    fn the_api_is_called_at_the_domain_of_the_gateway() {
        let sample = include_str!("../../../events/serve-assistants.json");
        let mut event: ApiGatewayV2httpRequest = serde_json::from_str(sample).unwrap();
        let host = "evil.example".parse().unwrap();
        event.headers.insert("host", host);
        let request: lambda_http::Request = LambdaRequest::ApiGatewayV2(event).into();
        let (parts, _) = request.into_parts();
        assert_eq!(address(None, &parts).unwrap(), "https://api.example.com");
        let configured = Some("https://fleet.example");
        assert_eq!(
            address(configured, &parts).unwrap(),
            "https://fleet.example"
        );
    }
}
