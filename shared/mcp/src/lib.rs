//! The service as tools of the Model Context Protocol, for assistants that act for a person.
//!
//! A tool is a task, not an operation: its arguments are in the words of a person, and its result contains the ids that the next step
//! needs. Tools that spend money or remove something do nothing unless `confirm` is true: without it, they show what they would do. A tool
//! sends requests to the HTTP API through an [`Api`] with one API key, so it has the permissions of that key.
//!
//! [`Server`] serves any transport of `rmcp`; [`respond`] serves one request of streamable HTTP.

mod api;
mod arguments;
mod calls;
mod http;
mod tools;

pub use api::{Api, Failure, Request};
pub use calls::Server;
pub use http::{Exposure, bearer, respond};

use std::borrow::Cow;

use rmcp::model::{
    CustomRequest, CustomResult, ErrorCode, Implementation, ProtocolVersion, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool_handler};

/// The methods that the server has.
const METHODS: [&str; 4] = ["initialize", "ping", "tools/call", "tools/list"];

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

    /// All versions of the library but 2025-03-26: a server of that version must accept batches of messages, which the library does not read.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        let supported = known.filter(|version| **version != ProtocolVersion::V_2025_03_26);
        supported.cloned().collect()
    }

    /// Refuses every other request. The library also passes on a request with a method of the protocol whose `params` it cannot read.
    ///
    /// # Errors
    /// -32602 (invalid params) for a method of this server, otherwise -32601 (method not found).
    async fn on_custom_request(
        &self,
        CustomRequest { method, .. }: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if METHODS.contains(&method.as_str()) {
            let message = format!("The params of {method} are missing or invalid.");
            return Err(ErrorData::invalid_params(message, None));
        }
        let message = format!("The server has no method {method}.");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }
}
