pub mod create;
pub mod list;
pub mod retrieve;
pub mod update;
