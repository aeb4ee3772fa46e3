//! People who charge vehicles. A driver may be attached to several fleets.

pub mod attach;
pub mod create;
pub mod delete;
pub mod detach;
pub mod list;
pub mod retrieve;
pub mod topup;
pub mod update;
