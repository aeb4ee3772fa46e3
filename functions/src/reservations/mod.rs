//! Wishes for a charging window in an area, confirmed later on a connector.

mod book;
pub mod cancel;
pub mod charge_fee;
pub mod confirm;
pub mod create;
pub mod expire;
pub mod find;
pub mod list;
pub mod matcher;
pub mod retrieve;
pub mod update;
