//! Money that moved, or failed to.

mod finish_top_up;
pub mod give_back;
pub mod list;
pub mod refund;
pub mod retrieve;
