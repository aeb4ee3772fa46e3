//! Delivering events to webhook endpoints. [`models::webhooks`] describes deliveries.

pub mod attempt;
pub mod deliver;
pub mod plan;
pub mod replay;
