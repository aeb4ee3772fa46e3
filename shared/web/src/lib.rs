//! The edge: authentication, authorization, rate limits, the input of requests, and the form of responses and errors.

pub mod auth;
pub mod body;
pub mod deployment;
pub mod edge;
pub mod errors;
pub mod expand;
pub mod list;
pub mod metrics;
pub mod page_token;
pub mod query;
pub mod rate_limit;
pub mod request_context;
pub mod route;
pub mod settings;
pub mod source;
pub mod strict;
mod violations;

pub use body::Body;
pub use list::ListQuery;
pub use query::{Created, Finalized, Query};
pub use request_context::{PathId, RequestContext};
pub use route::{Conditional, DRY_RUN, Method, Route};
