//! OCPI: the interfaces that charging networks call, with this service as the eMSP. One file per module of the standard.
//!
//! A request goes through [`edge`], which authenticates the platform and wraps every answer in the envelope of OCPI. Objects of
//! networks are stored as they are received (`shared::store::networks`) and shown again as they were; what follows from them
//! happens in `crate::networks`.

pub mod cdrs;
pub mod commands;
pub mod credentials;
pub mod edge;
pub mod hub_client_info;
pub mod locations;
pub mod module;
pub mod reply;
pub mod sessions;
pub mod tariffs;
pub mod tokens;
pub mod versions;

use axum::Router;
use axum::middleware::from_fn_with_state;
use shared::App;

use crate::function::Trigger;
use module::{Module, Operation};

/// Every module that networks may call.
pub fn modules() -> Vec<Module> {
    vec![
        cdrs::module(),
        commands::module(),
        credentials::module(),
        hub_client_info::module(),
        locations::module(),
        sessions::module(),
        tariffs::module(),
        tokens::module(),
        versions::module(),
    ]
}

/// The paths that a module's function is called for, in the form of API Gateway. Methods are left to the function, so that a wrong one
/// is refused in the form of OCPI.
pub const fn paths(trigger: &Trigger) -> &'static [&'static str] {
    match trigger {
        Trigger::Ocpi(paths) => paths,
        _ => &[],
    }
}

/// A router of every module.
pub fn router(app: App) -> Router {
    serve(app, modules())
}

/// A router of the module with that function, if there is one.
pub fn router_of(app: App, name: &str) -> Option<Router> {
    let module = modules()
        .into_iter()
        .find(|module| module.function.name == name)?;
    Some(serve(app, vec![module]))
}

fn serve(app: App, modules: Vec<Module>) -> Router {
    let operations = modules.into_iter().flat_map(|module| module.operations);
    let mut router = Router::new();
    for Operation { path, handler, .. } in operations {
        router = router.route(path, handler);
    }
    router
        .with_state(app.clone())
        .layer(from_fn_with_state(app, edge::around))
}
