//! `fleet mcp`: the service as tools of the Model Context Protocol, for assistants that act for a person.
//!
//! A tool is a task, not an operation: it takes what a person would say and returns what the next step needs, with ids. Tools that spend money or
//! take something away do nothing unless `confirm` is true: before, they say what they would do. What a key may not do, its tools may not do.
//!
//! The tools are served on standard input and output with the key of the profile, or over HTTP with the key that each request has.

mod arguments;
mod calls;
mod http;
mod tools;

use std::net::SocketAddr;
use std::sync::Arc;

use clap::ArgMatches;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, ServiceExt as _, tool_handler};

use self::calls::Server;
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
    let server = Server {
        client: Arc::new(context.client),
    };
    let running = server.serve(rmcp::transport::stdio());
    let running = running.await.map_err(Failure::local)?;
    running.waiting().await.map_err(Failure::local)?;
    Ok(())
}

#[tool_handler(router = Self::tool_router())]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("fleet", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(
            "Charging for fleets of electric vehicles. Times are RFC 3339; amounts are integers in the currency's minor unit; energy is in Wh. \
             To reserve for a vehicle: `now`, `find_vehicle` (its drivers and plug), then `reserve`. Tools with `confirm` do nothing until it is true: \
             show the person what they would do first."
                .into(),
        );
        info
    }
}
