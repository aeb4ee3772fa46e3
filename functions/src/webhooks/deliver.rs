//! `deliver-webhook`: makes one attempt to deliver an event to an endpoint.

pub use shared::events::deliver::deliver as handle;
