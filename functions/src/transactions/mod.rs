pub mod give_back;
pub mod list;
pub mod refund;
pub mod retrieve;
