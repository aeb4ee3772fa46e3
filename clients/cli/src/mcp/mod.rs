//! `fleet mcp`: the tools for assistants of the crate `mcp`, on standard input and output with the key of the profile, or over HTTP
//! with the key of each request.

mod http;

use std::net::SocketAddr;
use std::sync::Arc;

use clap::ArgMatches;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use mcp::Api;
use rmcp::ServiceExt as _;
use serde_json::Value;

use crate::client::{Client, Request};
use crate::context::Context;
use crate::failure::Failure;

/// Serves the tools until standard input ends, or over HTTP.
///
/// # Errors
/// There is no API key, the other side does not speak the protocol, or the address cannot be listened on.
pub async fn run(context: Context, matches: &ArgMatches) -> Result<(), Failure> {
    if let Some(address) = matches.get_one::<SocketAddr>("http") {
        return http::serve(context.client, *address).await;
    }
    context.needs_key()?;
    let server = mcp::Server {
        api: Arc::new(context.client),
    };
    let running = server.serve(rmcp::transport::stdio());
    let running = running.await.map_err(Failure::local)?;
    running.waiting().await.map_err(Failure::local)?;
    Ok(())
}

impl Api for Client {
    fn send(&self, request: mcp::Request) -> BoxFuture<'_, Result<Value, mcp::Failure>> {
        async move {
            let request = Request {
                method: request.method.into(),
                path: request.path,
                query: request.query,
                headers: Vec::new(),
                body: request.body,
            };
            let response = Client::send(self, &request).await.map_err(failure)?;
            Ok(response.body)
        }
        .boxed()
    }

    fn now(&self) -> BoxFuture<'_, Result<String, mcp::Failure>> {
        async {
            let now = Client::now(self).await.map_err(failure)?;
            Ok(now.to_string())
        }
        .boxed()
    }
}

fn failure(failure: Failure) -> mcp::Failure {
    match failure {
        Failure::Refused(refusal) => mcp::Failure::Refused {
            status: refusal.status,
            body: refusal.body,
        },
        failure => mcp::Failure::Unreachable(failure.to_string()),
    }
}
