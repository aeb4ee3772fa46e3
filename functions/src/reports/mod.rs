//! Files with charging data, generated in the background.

pub mod create;
pub mod generate;
mod link;
pub mod list;
pub mod recur;
pub mod retrieve;
