pub mod import;
pub mod list;
pub mod retrieve;
