pub mod bootstrap;
pub mod create;
pub mod list;
pub mod retrieve;
pub mod set_status;
pub mod topup;
pub mod update;
