//! Delivery of events to webhook endpoints. [`models::webhooks`] describes deliveries.

pub mod attempt;
pub mod deliver;
pub mod hold;
pub mod order;
pub mod outcome;
pub mod pace;
pub mod plan;
pub mod replay;
pub mod resume;
