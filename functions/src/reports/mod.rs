//! Files with charging data, generated in the background.
//!
//! A key may create only reports of objects that it may read, and is shown the link to a file only if it may read everything in it.

pub mod create;
pub mod generate;
mod link;
pub mod list;
pub mod recur;
pub mod retrieve;

use crate::stream::change::OnChange;
use models::Report;
use web::Conditional;

/// The kinds of objects that a report shows, for the OpenAPI document.
const SHOWS: &str = "always, of charging_sessions; of reservations for a cost_analysis, and of transactions and credit_notes for one by \
    session; of charging_stations and vehicles for carbon; of fleets if a fleet is named; of what \
    group_by names, which is charging_stations, drivers and vehicles for session";

/// The scope condition in the OpenAPI document of the routes that show the link to a file.
const SHOWS_FILE: Conditional = Conditional {
    scope: "<resource>:read",
    when: "the url of a report is to be shown: of every kind of object that the file shows; without it, url is null",
};

impl OnChange for Report {}
