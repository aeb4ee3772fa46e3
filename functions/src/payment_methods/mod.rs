//! What charges are taken from.

pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod update;
