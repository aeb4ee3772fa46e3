pub mod list;
pub mod redeliver;
pub mod retrieve;
