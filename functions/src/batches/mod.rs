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
use crate::{charge_cards, drivers, fleets, policies, reservations, vehicles};
use models::batch::Batch;
use web::Route;

/// The routes that handle the bodies of batches. What they may call of the table, the job may call as well.
pub const ROUTES: [Route; 6] = [
    charge_cards::create::ROUTE,
    drivers::create::ROUTE,
    fleets::create::ROUTE,
    policies::create::ROUTE,
    reservations::create::ROUTE,
    vehicles::create::ROUTE,
];

impl OnChange for Batch {}
