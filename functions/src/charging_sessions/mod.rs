mod arrival;
pub mod create;
mod end;
pub mod finish;
pub mod list;
pub mod retrieve;
pub mod settle;
pub mod stop;
