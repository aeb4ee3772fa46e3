//! What a charge would cost.

pub mod create;
pub mod retrieve;
