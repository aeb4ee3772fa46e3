//! OCPI 2.2.1 and 2.3.0: objects, their mapping to ours, and the rules of the protocol. Pure.
//!
//! - [`reader`] reads files of OCPI objects. It is lenient: `null`, `[]` and an omitted list are the same, a timestamp without
//!   an offset is UTC, and an unknown enum value never refuses an object. An object that cannot be used is reported with its id
//!   and the reason, and the others are loaded.
//! - [`location`] turns a Location into a charging station; each connector of each EVSE becomes a connector.
//! - [`tariff`] turns Tariffs into the prices of a connector.
//! - [`object`] keeps objects as they are received: which one is newer, and what a partial update makes of one.
//! - [`session`], [`cdr`], [`token`] and [`command`] have the members of those objects that this service uses.
//! - [`charge`] turns sessions and CDRs into what this service knows of a charging session.
//! - [`envelope`], [`page`] and [`versions`] are the form of requests and responses; [`credentials`] and [`party`] say who sends
//!   them, and [`network`] whom this service is connected to.
//! - [`update`] merges a station that is loaded again with the stored one: the file changes what it says differently than the
//!   last time, and everything else stays as it is, such as the status that our own sessions set.

pub mod cdr;
pub mod charge;
pub mod client;
pub mod command;
pub mod cost;
mod country;
pub mod credentials;
mod energy_mix;
pub mod envelope;
pub mod location;
pub mod network;
pub mod object;
pub mod page;
pub mod party;
pub mod reader;
pub mod session;
pub mod signed;
pub mod tariff;
pub mod token;
pub mod update;
pub mod versions;

#[cfg(test)]
pub mod tests;

pub use location::{ImportedStation, Location};
pub use reader::{Objects, Skipped};
pub use tariff::{Tariff, Tariffs};
