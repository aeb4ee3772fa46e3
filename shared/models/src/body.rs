//! The bodies of requests.

use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use kernel::{Code, Result};

/// A type of body, and the code of a 400 about it if the specification names one.
pub trait RequestBody: DeserializeOwned + ToSchema {
    const INVALID: Option<Code> = None;

    /// The reader for a body that may also be sent as `text/csv`. The OpenAPI document has JSON only, because client generators do not
    /// support other bodies.
    const CSV: Option<ReadCsv<Self>> = None;
}

pub type ReadCsv<T> = fn(&str) -> Result<T>;
