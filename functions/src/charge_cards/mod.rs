//! Cards with which drivers identify themselves at the charging stations of networks. A card belongs to a driver, to a vehicle, or to both;
//! the service creates a card of the type `app` for every driver.

pub mod authorize;
mod context;
pub mod create;
pub mod delete;
mod holders;
mod judge;
pub mod list;
pub mod refresh;
pub mod retrieve;
pub mod tap;
pub mod tokens;
pub mod update;

pub use context::{app_token, is_active, may_be_valid};
