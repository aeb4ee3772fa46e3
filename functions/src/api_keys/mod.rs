//! Keys that authenticate requests. A key belongs to one account and one mode.

pub mod create;
pub mod delete;
pub mod list;
