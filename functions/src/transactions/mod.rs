//! Money that moved, or failed to.

pub mod list;
pub mod refund;
pub mod retrieve;
pub mod settle;
