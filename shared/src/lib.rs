//! Everything two functions of the Fleet Charging Service have in common.
//!
//! - [`models`]: one file per resource: fields, bodies, validation, state changes. Pure.
//! - [`charging`]: matching, calendars, opening hours, geography. Pure.
//! - [`ocpi`]: OCPI objects and their mapping to ours. Pure.
//! - [`store`]: the table: keys, access patterns, transactions, idempotency.
//! - [`http`]: the edge: authentication, errors, pages, versions, rate limit, extractors.
//! - [`events`]: the outbox, event rendering, webhook signatures and targets.
//! - [`deployment`]: the size and permissions of a function, from which the template is generated.
//! - [`encryption`]: encryption of secrets that rows hold.
//! - [`ocpi_client`]: the client of other platforms over OCPI.
//! - [`ports`]: what is needed from outside besides the table; [`aws`] is those ports on AWS, [`stripe`] payments in live mode.

pub mod app;
pub mod aws;
pub mod charging;
pub mod deployment;
pub mod encryption;
pub mod environment;
pub mod error;
pub mod events;
pub mod fields;
pub mod function_scope;
pub mod http;
pub mod id;
pub mod metrics;
pub mod models;
pub mod money;
pub mod ocpi;
pub mod ocpi_client;
pub mod operation;
pub mod origin;
pub mod ports;
pub mod response;
pub mod size;
pub mod store;
pub mod stripe;
pub mod time;
pub mod version;
pub mod window;

pub use app::App;
pub use error::{Code, Error};
pub use id::{Id, Kind};
pub use origin::{Mode, Origin, Tenant};
pub use response::Response;
pub use time::Timestamp;
