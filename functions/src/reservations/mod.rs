//! Requests for a charging window in an area. A reservation is assigned a station and a connector when it is confirmed.

mod book;
pub mod cancel;
pub mod charge_fee;
pub mod confirm;
pub mod create;
pub mod expire;
pub mod find;
pub mod list;
pub mod matcher;
pub mod outward;
pub mod retrieve;
pub mod unused;
pub mod update;
