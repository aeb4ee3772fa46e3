//! The operations of a module of OCPI.

use crate::App;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};

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

/// A module.
pub struct Module {
    pub operations: Vec<Operation>,
}
