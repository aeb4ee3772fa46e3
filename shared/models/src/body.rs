//! The bodies of requests.

use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use kernel::error::{Code, Result};

/// A body's type, and the code of a 400 about it where the specification names one.
pub trait RequestBody: DeserializeOwned + ToSchema {
    const INVALID: Option<Code> = None;

    /// How the body is read as CSV, where it may be sent as `text/csv`.
    const CSV: Option<Csv<Self>> = None;
}

/// A body as CSV.
#[derive(Debug, Clone, Copy)]
pub struct Csv<T> {
    pub read: fn(&str) -> Result<T>,
    pub example: &'static str,
}
