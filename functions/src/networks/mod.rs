//! Charging networks: connections to them, the processing of their messages, and the messages that are sent to them.
//!
//! - [`handshake`] exchanges credentials, in both directions; [`manage`] has the operations of operators.
//! - [`hubs`] manages the parties that are reached through a hub.
//! - [`objects`] and [`stations`] store objects that networks push and that are pulled from them; [`sync`] pulls.
//! - [`received`] processes the sessions and CDRs that networks send, and `nearby` finds their charging sessions by token, EVSE and time;
//!   [`import_stations`] loads stations from files.
//! - [`apply_tariff`] applies the prices of a changed tariff to connectors; [`rematch_party`] rematches the reservations at stations that are
//!   not reached any more.
//! - [`operator`] implements the port `Network`, and [`results`] processes the results of its commands; [`tokens`] reads the tokens with
//!   which drivers identify themselves at networks.
//! - [`commands`] and [`push_token`] send commands, preferences and tokens to networks.

pub mod apply_tariff;
pub mod changes;
pub mod commands;
pub mod handshake;
pub mod hubs;
pub mod import_stations;
pub mod manage;
mod nearby;
pub mod objects;
pub mod operator;
mod page_objects;
pub mod push_token;
pub mod received;
pub mod rematch_party;
pub mod results;
pub mod stations;
pub mod sync;
pub mod tokens;
pub mod workers;

use std::time::Duration;

use kernel::backoff::Backoff;

/// The maximum number of attempts to change an object of a network that other messages change at the same moment, and the pauses between
/// them: when a site restarts, the status of each of its EVSEs arrives, and all are in one item.
pub const COLLISION_ATTEMPTS: u32 = 30;
pub const COLLISIONS: Backoff =
    Backoff::new(Duration::from_millis(10), 2, Duration::from_millis(320));
