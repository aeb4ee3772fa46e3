//! OCPI: the interfaces that charging networks call, with this service as the eMSP. One file per module of the standard.
//!
//! A request passes through [`edge`], which authenticates the platform and wraps every response in the envelope of OCPI. Module of
//! networks are stored and shown as they are received (`table::networks`); `crate::networks` processes them.

pub mod cdrs;
pub mod charging_profiles;
pub mod commands;
pub mod credentials;
pub mod edge;
pub mod hub_client_info;
pub mod locations;
pub mod operation;
pub mod reply;
pub mod sessions;
pub mod tariffs;
pub mod tokens;
pub mod versions;

use crate::App;
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use kernel::{Kind, function_scope};
use table::access::Items;
use web::deployment::{Deployment, Need};

use crate::function::{Function, Trigger};
use operation::Operation;

/// The name of the function.
pub const NAME: &str = "serve-networks";

/// One function serves all modules: a network's requests are alike, and each function would require four resources of the stack.
pub const FUNCTION: Function = Function {
    name: NAME,
    description: "The interfaces that charging networks call",
    trigger: Trigger::Ocpi(&["/ocpi/{proxy+}"]),
    deployment: Deployment::of_request()
        .timeout(edge::CREDENTIALS_PATIENCE.as_secs() as u32 + 1)
        .writing(&[
            Items::Of(Kind::ChargingStation),
            Items::Of(Kind::Network),
            Items::OcpiCredentials,
            Items::OcpiObjects,
            Items::Rates,
        ])
        .needing(&[Need::EncryptionKeys]),
};

/// The operations of every module that networks may call.
pub fn operations() -> impl Iterator<Item = Operation> {
    [
        cdrs::operations(),
        charging_profiles::operations(),
        commands::operations(),
        credentials::operations(),
        hub_client_info::operations(),
        locations::operations(),
        sessions::operations(),
        tariffs::operations(),
        tokens::operations(),
        versions::operations(),
    ]
    .into_iter()
    .flatten()
}

/// A router of every module.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for Operation { path, handler, .. } in operations() {
        router = router.route(path, handler);
    }
    router
        .with_state(app.clone())
        .layer(from_fn_with_state(app, edge::around))
        .layer(from_fn(async |request: Request, next: Next| {
            function_scope::within(NAME, next.run(request)).await
        }))
}
