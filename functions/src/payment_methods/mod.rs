//! Cards, bank accounts and wallets that are charged.

pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod update;
