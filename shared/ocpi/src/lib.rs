//! OCPI 2.2.1 and 2.3.0: objects, their mapping to those of this service, and the rules of the protocol.
//!
//! - [`reader`] reads files of OCPI objects. It is lenient: `null`, `[]` and an omitted list are the same, a timestamp without an offset is
//!   UTC, and an unknown enum value never makes an object unusable. An object that cannot be used is reported with its id and the reason,
//!   and the others are loaded.
//! - [`location`] has the members of a Location, and `station` converts it into a charging station ([`imported`]); each connector of each
//!   EVSE becomes a connector.
//! - [`tariff`] converts Tariffs into the prices of a connector.
//! - [`object`] handles objects as they are received: which one is newer, and the result of a partial update.
//! - [`session`], [`cdr`], [`token`] and [`command`] have the members of those objects that this service uses.
//! - [`charge`] converts sessions and CDRs into data of charging sessions.
//! - [`envelope`], [`page`] and [`versions`] are the form of requests and responses; [`credentials`] and [`party`] identify their senders,
//!   and [`network`] contains the connections of this service.
//! - [`update`] merges a station that is loaded again with the stored one: values that differ from those of the file's last version are
//!   changed, and everything else is kept, such as the status that sessions of this service set.

pub mod cdr;
pub mod charge;
pub mod client;
pub mod command;
pub mod cost;
mod country;
pub mod credentials;
mod energy_mix;
pub mod envelope;
pub mod imported;
pub mod location;
pub mod network;
pub mod object;
pub mod page;
pub mod party;
pub mod periods;
pub mod reader;
pub mod session;
pub mod signed;
mod station;
pub mod tariff;
pub mod token;
pub mod update;
pub mod versions;

#[cfg(test)]
pub mod tests;

pub use imported::ImportedStation;
pub use location::Location;
pub use reader::{Objects, Skipped};
pub use tariff::{Tariff, Tariffs};
