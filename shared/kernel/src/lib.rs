//! The types that all other crates use: ids, money, time, error codes, field types, and the sender of a request. This crate does not depend
//! on the resources, the table or HTTP statuses.

pub mod backoff;
pub mod cache;
pub mod encryption;
pub mod environment;
pub mod error;
pub mod fields;
pub mod function_scope;
pub mod id;
pub mod money;
pub mod origin;
pub mod outbound;
pub mod response;
pub mod scope;
pub mod size;
pub mod targets;
pub mod time;
pub mod version;
pub mod window;

pub use error::{Code, Error, Result};
pub use id::{Id, Kind, Resource};
pub use money::{Currency, Money};
pub use origin::{Mode, Origin, Tenant};
pub use response::{Deleted, Reply, Response};
pub use time::{SignedDuration, Timestamp};
pub use window::Window;
