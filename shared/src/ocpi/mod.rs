//! OCPI 2.2.1 objects and their mapping to ours. Pure.
//!
//! - [`reader`] reads files of OCPI objects. It is lenient: `null`, `[]` and an omitted list are the same, a timestamp without
//!   an offset is UTC, and an unknown enum value never refuses an object. An object that cannot be used is reported with its id
//!   and the reason, and the others are loaded.
//! - [`location`] turns a Location into a charging station; each connector of each EVSE becomes a connector.
//! - [`tariff`] turns Tariffs into the prices of a connector.
//! - [`update`] merges a station that is loaded again with the stored one: the file changes what it says differently than the
//!   last time, and everything else stays as it is, such as the status that our own sessions set.

mod country;
pub mod location;
pub mod reader;
pub mod tariff;
pub mod update;

#[cfg(test)]
pub mod tests;

pub use location::{ImportedStation, Location};
pub use reader::{Objects, Skipped};
pub use tariff::{Tariff, Tariffs};
