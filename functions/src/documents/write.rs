//! Documents as files. Only an executable that writes documents links [`write()`].

use documents::{Document, Unwritable};
use kernel::Error;
use serde::Deserialize;
use utoipa::ToSchema;

/// The form of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFormat {
    /// A PDF/A-3 with the CII inside (Factur-X), if the invoice can be written as CII.
    #[default]
    Pdf,
    /// EN 16931 in UBL 2.1.
    Ubl,
    /// EN 16931 in UN/CEFACT CII.
    Cii,
}

impl DocumentFormat {
    pub const ALL: [Self; 3] = [Self::Pdf, Self::Ubl, Self::Cii];

    /// The extension of the file's name.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Pdf => ".pdf",
            Self::Ubl => "-ubl.xml",
            Self::Cii => "-cii.xml",
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Ubl | Self::Cii => "application/xml",
        }
    }
}

/// [`write()`] or [`write_none`].
pub type Write = fn(&Document, DocumentFormat) -> Result<Vec<u8>, Error>;

/// The writer of an executable whose functions write no documents.
///
/// # Errors
/// Always `Internal`.
pub fn write_none(_: &Document, _: DocumentFormat) -> Result<Vec<u8>, Error> {
    Err(Error::internal("this executable writes no documents"))
}

/// Writes a document in a format.
///
/// # Errors
/// 409 if the issued object lacks something that the format requires, its currency has three decimals, or it violates a rule of
/// EN 16931; `Internal` if it cannot be written.
pub fn write(document: &Document, format: DocumentFormat) -> Result<Vec<u8>, Error> {
    let written = match format {
        DocumentFormat::Pdf => return documents::pdf(document).map_err(Error::internal),
        DocumentFormat::Ubl => documents::ubl(document),
        DocumentFormat::Cii => documents::cii(document),
    };
    written.map_err(refusal)
}

/// The error of a document that has no form in EN 16931.
fn refusal(error: Unwritable) -> Error {
    match error {
        Unwritable::Missing(fields) => {
            let message = format!(
                "It was issued without what EN 16931 requires: {}.",
                fields.join(", ")
            );
            let first = fields.into_iter().next().unwrap_or_default();
            Error::conflict(message, Some(&first))
        }
        Unwritable::Decimals(_) => {
            let message = format!("{error}; there is a PDF only.");
            Error::conflict(message, Some("format"))
        }
        Unwritable::Invalid(ref violations) => {
            let first = violations.first().map(|violation| violation.field.clone());
            Error::conflict(format!("{error}; there is a PDF only."), first.as_deref())
        }
        Unwritable::TooLarge(_) => Error::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use documents::Violation;

    #[test]
    fn a_violated_rule_is_a_conflict_that_names_rule_and_field() {
        let violation = Violation {
            rule: "BR-CL-04".to_owned(),
            field: "currency".to_owned(),
        };
        let error = refusal(Unwritable::Invalid(vec![violation]));
        let Error::Client(error) = error else {
            panic!("{error}");
        };
        assert_eq!(error.param.as_deref(), Some("currency"));
        let named = error.message.contains("BR-CL-04 at currency");
        assert!(named, "{}", error.message);
    }
}
