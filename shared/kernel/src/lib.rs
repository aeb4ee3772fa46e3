//! What every other crate speaks in: ids, money, time, the codes of errors, the types of fields, and who is asking. It knows neither the
//! resources nor the table nor HTTP statuses.

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

pub use error::{Code, Error};
pub use id::{Id, Kind};
pub use origin::{Mode, Origin, Tenant};
pub use response::{Deleted, Reply, Response};
pub use time::Timestamp;
