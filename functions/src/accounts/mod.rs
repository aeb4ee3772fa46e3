//! Tenants. An account owns everything its keys make; a parent may act inside its children.

pub mod bootstrap;
pub mod create;
pub mod erase;
pub mod export;
pub mod list;
pub mod retrieve;
pub mod set_status;
pub mod topup;
pub mod update;
