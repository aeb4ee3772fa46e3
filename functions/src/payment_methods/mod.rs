//! Payment methods: cards, bank accounts and wallets.

pub mod create;
pub mod delete;
pub mod list;
pub mod retrieve;
pub mod update;
