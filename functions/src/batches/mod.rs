//! Many bodies of one operation, executed in the background, with a result for each.
//!
//! A body in a batch is handled as a request with this body would be, with the permissions of the key that created the batch. The results
//! are kept for 30 days.

pub mod create;
pub mod list;
pub mod list_results;
pub mod retrieve;
pub mod run;

use crate::stream::change::OnChange;
use crate::{charge_cards, drivers, fleets, policies, reservations, vehicles};
use models::Batch;
use web::Route;

/// The routes that handle the bodies of batches. The job has their permissions on the table.
pub const ROUTES: [Route; 6] = [
    charge_cards::create::ROUTE,
    drivers::create::ROUTE,
    fleets::create::ROUTE,
    policies::create::ROUTE,
    reservations::create::ROUTE,
    vehicles::create::ROUTE,
];

impl OnChange for Batch {}
