//! A vehicle on a connector, from plug-in to the end of the charge.

mod arrival;
pub mod create;
mod end;
pub mod finish;
pub mod list;
pub mod retrieve;
pub mod settle;
pub mod stop;
