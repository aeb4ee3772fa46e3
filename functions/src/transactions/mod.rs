pub mod list;
pub mod retrieve;
