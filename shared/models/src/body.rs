//! The bodies of requests.

use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use kernel::error::Code;

/// A body's type, and the code of a 400 about it where the specification names one.
pub trait RequestBody: DeserializeOwned + ToSchema {
    const INVALID: Option<Code> = None;
}
