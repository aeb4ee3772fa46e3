//! The resources: one file each, with fields, bodies, validation and state changes. Nothing here speaks HTTP or DynamoDB.

pub mod account;
pub mod address;
pub mod api_key;
pub mod charging_session;
pub mod charging_station;
pub mod driver;
pub mod estimation;
pub mod event;
pub mod fleet;
pub mod invoice;
pub mod metadata;
pub mod patch;
pub mod payment_method;
pub mod policy;
pub mod report;
pub mod reservation;
mod schema;
pub mod text;
pub mod transaction;
pub mod vehicle;
pub mod vehicle_telemetry;
pub mod webhook_delivery;
pub mod webhook_endpoint;

use std::collections::HashSet;
use std::hash::Hash;

use crate::error::{Error, Result};

/// How many entries a list in a body may have.
pub const MAX_LIST: usize = 100;

/// A list of a body, checked: at most [`MAX_LIST`] entries, none twice.
///
/// # Errors
/// More entries than that, or a repeated one.
pub fn distinct<T: Eq + Hash>(param: &'static str, entries: Vec<T>) -> Result<Vec<T>> {
    if entries.len() > MAX_LIST {
        return Err(Error::invalid(
            param,
            format!("must have at most {MAX_LIST} entries"),
        ));
    }
    let mut seen = HashSet::new();
    if !entries.iter().all(|entry| seen.insert(entry)) {
        return Err(Error::invalid(param, "must not name the same entry twice"));
    }
    Ok(entries)
}
