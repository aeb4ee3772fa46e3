//! Charging stations with their connectors and prices. All accounts share them.

pub mod list;
pub mod rematch;
pub mod retrieve;
