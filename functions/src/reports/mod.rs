//! Files made of sessions, later.

pub mod create;
pub mod generate;
mod link;
pub mod list;
pub mod recur;
pub mod retrieve;
