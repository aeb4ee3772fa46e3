//! Stations, shared by all accounts of a mode.

pub mod import;
pub mod list;
pub mod retrieve;
