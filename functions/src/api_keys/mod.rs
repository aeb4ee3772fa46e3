//! Keys of the account and mode they are made with.

pub mod create;
pub mod delete;
pub mod list;
