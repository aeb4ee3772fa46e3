//! The error of a PDF that cannot be written.

use crate::totals::TooLarge;

/// A PDF cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the PDF cannot be written: {0}")]
pub struct PdfError(pub(super) String);

impl From<TooLarge> for PdfError {
    fn from(error: TooLarge) -> Self {
        Self(error.to_string())
    }
}
