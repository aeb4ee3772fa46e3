pub mod create;
pub mod retrieve;
