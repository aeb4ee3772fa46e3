//! The error of a start.

use kernel::Error;

/// The reason why the service did not start.
#[derive(Debug)]
pub struct StartError(pub(crate) String);

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Error> for StartError {
    fn from(error: Error) -> Self {
        Self(match error {
            Error::Internal(source) | Error::Unavailable(source) => source.to_string(),
            error => error.to_string(),
        })
    }
}
