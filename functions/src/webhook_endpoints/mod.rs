//! Where events are delivered.

pub mod create;
pub mod delete;
pub mod list;
pub mod list_deliveries;
pub mod retrieve;
pub mod rotate;
pub mod test;
pub mod update;
