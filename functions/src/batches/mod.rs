//! Many bodies of one operation, carried out in the background, with a result for each.
//!
//! A body in a batch is treated as a request with this body would be, with the rights of the key that has made the batch. The results are
//! kept for 30 days.

pub mod create;
pub mod list;
pub mod list_results;
pub mod retrieve;
pub mod run;

use crate::stream::change::OnChange;
use models::batch::Batch;

impl OnChange for Batch {}
