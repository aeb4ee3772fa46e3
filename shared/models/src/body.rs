//! The bodies of requests.

use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use kernel::error::{Code, Result};

/// A body's type, and the code of a 400 about it where the specification names one.
pub trait RequestBody: DeserializeOwned + ToSchema {
    const INVALID: Option<Code> = None;

    /// How the body is read where it may be sent as `text/csv`. The document has JSON alone, because generators of clients know no other body.
    const CSV: Option<ReadCsv<Self>> = None;
}

pub type ReadCsv<T> = fn(&str) -> Result<T>;
