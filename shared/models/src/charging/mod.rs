//! The domain logic, without input or output: geography, opening hours, calendars, matching, charging and its cost.

pub mod battery;
pub mod calendar;
pub mod candidates;
pub mod card;
pub mod cells;
pub mod effective_price;
pub mod estimate;
pub mod footprint;
pub mod geo;
pub mod matching;
pub mod opening_hours;
pub mod plan;
pub mod policies;
pub mod search;
pub mod session;
pub mod simulation;
pub mod summary;
pub mod tariff;
