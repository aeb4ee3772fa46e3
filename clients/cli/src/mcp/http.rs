//! Streamable HTTP on this machine: `POST /mcp`, without sessions. Each request has an API key as its bearer token, and has the
//! permissions of that key; `Service-Account` chooses a child account, as in the API. Requests from a page of another host, and requests
//! with another host in `Host`, are refused.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::WWW_AUTHENTICATE;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use mcp::Exposure;
use tokio::net::TcpListener;

use crate::client::Client;
use crate::failure::Failure;

const PATH: &str = "/mcp";

/// The largest body of a request in bytes, as at the service.
const MAX_BODY: usize = 256 * 1024;

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Serves the tools at an address of this machine until the process ends.
///
/// # Errors
/// The address does not belong to this machine, or the program cannot listen on it.
pub async fn serve(client: Client, address: SocketAddr) -> Result<(), Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::local(
            "--http: keys are sent without encryption, so the address must be one of this machine, such as 127.0.0.1:8790",
        ));
    }
    let listener = TcpListener::bind(address).await?;
    crate::output::print(&format!("http://{}{PATH}", listener.local_addr()?))?;
    let client = Arc::new(client);
    loop {
        let (stream, _) = listener.accept().await?;
        let client = client.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(|request| answer(&client, request));
            let connection = hyper::server::conn::http1::Builder::new();
            // A client that disconnects affects only its own connection.
            drop(
                connection
                    .serve_connection(TokioIo::new(stream), service)
                    .await,
            );
        });
    }
}

async fn answer(client: &Client, request: Request<Incoming>) -> Result<Answer, Infallible> {
    if request.uri().path() != PATH {
        return Ok(refused(StatusCode::NOT_FOUND, "the tools are at /mcp"));
    }
    let Some(key) = mcp::bearer(request.headers()) else {
        let text = "send an API key: Authorization: Bearer sk_...";
        return Ok(refused(StatusCode::UNAUTHORIZED, text));
    };
    let account = request.headers().get("service-account");
    let account = account.and_then(|account| account.to_str().ok());
    let api = Arc::new(client.with_key(key, account));
    let (parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        let text = "the body is larger than 256 KiB, or has not arrived completely";
        return Ok(refused(StatusCode::BAD_REQUEST, text));
    };
    let request = Request::from_parts(parts, body.to_bytes());
    Ok(mcp::respond(api, Exposure::Loopback, request).await)
}

fn refused(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    if status == StatusCode::UNAUTHORIZED {
        let scheme = hyper::header::HeaderValue::from_static("Bearer");
        answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
    }
    answer
}
