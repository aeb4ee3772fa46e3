//! What happened, as webhook endpoints are told. Kept 30 days.

pub mod list;
pub mod redeliver;
pub mod retrieve;
