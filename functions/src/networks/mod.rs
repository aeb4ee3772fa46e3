//! Charging networks: connecting to them, what follows from what they send, and what is sent to them.
//!
//! - [`handshake`] exchanges credentials, in both directions; [`manage`] is what operators may do.
//! - [`hubs`] has the parties that are reached by way of a hub.
//! - [`objects`] and [`stations`] store what networks push and what is pulled from them; [`sync`] pulls.
//! - [`received`] is what follows from the sessions and CDRs that they send; [`import_stations`] loads stations from files.
//! - [`apply_tariff`] gives connectors the prices of a tariff that has changed.
//! - [`operator`] is the port `Network` at work, and [`results`] what follows from the results of its commands; [`tokens`] are what
//!   drivers are known by there.
//! - [`commands`] and [`push_token`] send commands, preferences and tokens to networks.

pub mod apply_tariff;
pub mod changes;
pub mod commands;
pub mod handshake;
pub mod hubs;
pub mod import_stations;
pub mod manage;
pub mod objects;
pub mod operator;
mod page_objects;
pub mod push_token;
pub mod received;
pub mod results;
pub mod stations;
pub mod sync;
pub mod tokens;
pub mod workers;
