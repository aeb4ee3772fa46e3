//! The operations of a module of OCPI.

use crate::App;
use axum::extract::{Path, State};
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use ocpi::object::Module;

use super::edge::{ObjectPath, Party};
use super::reply::Reply;

/// An operation of a module.
pub struct Operation {
    /// The name of its sample event.
    pub name: &'static str,
    pub method: &'static str,
    /// `/ocpi/{version}/tariffs/{country_code}/{party_id}/{tariff_id}`
    pub path: &'static str,
    /// Its handler.
    pub(super) handler: MethodRouter<App>,
}

/// An operation with this handler.
pub fn operation<H, T>(
    name: &'static str,
    method: &'static str,
    path: &'static str,
    handler: H,
) -> Operation
where
    H: Handler<T, App>,
    T: 'static,
{
    let filter = match method {
        "POST" => MethodFilter::POST,
        "PUT" => MethodFilter::PUT,
        "PATCH" => MethodFilter::PATCH,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    };
    Operation {
        name,
        method,
        path,
        handler: on(filter, handler),
    }
}

/// An operation that shows an object of a module as it was received.
pub fn retrieve(name: &'static str, path: &'static str, module: Module) -> Operation {
    let show = move |State(app): State<App>, party: Party, Path(path): Path<ObjectPath>| async move {
        let id = party.object(module, &path)?;
        let stored = app.store.received(party.mode, &id).await?;
        let stored = stored.ok_or_else(|| Reply::not_found("There is no such object."))?;
        Reply::data(&stored.shown())
    };
    operation(name, "GET", path, show)
}
