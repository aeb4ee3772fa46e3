//! Estimates of the duration and cost of charging.

pub mod create;
pub mod retrieve;
