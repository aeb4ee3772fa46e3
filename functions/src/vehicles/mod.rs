//! Vehicles. Each belongs to one fleet.

pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod retrieve_telemetry;
pub mod update;
pub mod update_telemetry;
