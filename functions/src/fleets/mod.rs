pub mod bill;
pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod topup;
pub mod update;
