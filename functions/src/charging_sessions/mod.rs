//! A vehicle on a connector, from plug-in to the end of the charge.

pub mod create;
mod end;
pub mod list;
pub mod operate;
pub mod received;
pub mod retrieve;
pub mod settle;
mod start;
pub mod stop;
pub mod stop_at_limit;
