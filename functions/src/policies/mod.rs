//! Rules for charging: operators, areas, prices and times.

mod apply;
pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod update;

pub use apply::{check, of};
