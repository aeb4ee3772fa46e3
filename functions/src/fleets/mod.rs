//! Groups of vehicles and drivers that are billed together.

pub mod bill;
pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod topup;
pub mod update;
