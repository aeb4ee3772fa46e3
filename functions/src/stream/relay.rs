//! `relay-stream`: turns what changed in the table into events, deliveries and schedules.

pub use shared::events::relay::{Change, relay as handle};

/// The name of the function.
pub const NAME: &str = "relay-stream";
