//! Charges, refunds and adjustments, successful or not.

pub mod list;
pub mod refund;
pub mod retrieve;
pub mod settle;

use crate::stream::change::OnChange;
use models::Transaction;

impl OnChange for Transaction {}
