//! The domain, pure: geography, opening hours, calendars, matching, and stations as OCPI describes them.

pub mod calendar;
pub mod geo;
pub mod matching;
pub mod ocpi;
pub mod opening_hours;
pub mod summary;
