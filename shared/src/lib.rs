//! Everything two functions of the Fleet Charging Service have in common.
//!
//! - [`models`]: one file per resource: fields, bodies, validation, state changes. Pure.
//! - [`charging`]: matching, calendars, opening hours, geography. Pure.
//! - [`ocpi`]: OCPI objects and their mapping to ours. Pure.
//! - [`store`]: the table: keys, access patterns, transactions, idempotency.
//! - [`http`]: the edge: authentication, errors, pages, versions, rate limit, extractors.
//! - [`webhooks`]: signatures of webhooks, and what follows from an attempt to deliver one. Pure.
//! - [`deployment`]: the size and permissions of a function, from which the template is generated.
//! - [`encryption`]: encryption of secrets that rows hold.
//! - [`scope`]: what a key may do, and which of its scopes a request has needed.
//! - [`settings`]: what differs from one deployment to the next.
//! - [`outbound`]: the HTTP client of requests to addresses that others have given, and [`targets`] the addresses it may call.
//! - [`ocpi_client`]: the client of other platforms over OCPI.
//! - [`ports`]: what is needed from outside besides the table; [`aws`] is those ports on AWS, [`stripe`] payments in live mode.

pub mod app;
pub mod aws;
pub mod backoff;
pub mod cache;
pub mod charging;
pub mod deployment;
pub mod encryption;
pub mod environment;
pub mod error;
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
pub mod outbound;
pub mod ports;
pub mod response;
pub mod scope;
pub mod settings;
pub mod size;
pub mod store;
pub mod stripe;
pub mod targets;
pub mod time;
pub mod version;
pub mod webhooks;
pub mod window;

pub use app::App;
pub use error::{Code, Error};
pub use id::{Id, Kind};
pub use origin::{Mode, Origin, Tenant};
pub use response::{Deleted, Reply, Response};
pub use time::Timestamp;
