//! The PDF of a document: seller, buyer and dates, the lines in a table of as many pages as it needs, the totals, and the payment details.
//! A Factur-X file also contains the CII.

mod content;
mod error;
mod font;
mod layout;
mod sums;
mod table;
mod write;

use std::time::{Duration, SystemTime};

use en16931::{En16931, Validated};
use en16931_formats::zugferd::{self, EmbedOptions, Metadata};
use jiff::civil::{Date, date};

use crate::document::Document;
use crate::semantic::validated;
use crate::text::clean;
pub use error::PdfError;
use font::Fonts;
use write::About;

/// Returns the document as a PDF/A-3. It contains the CII as `factur-x.xml` if [`cii`](crate::cii) can write it.
///
/// # Errors
/// [`PdfError`] if a sum is too large, or if the PDF does not conform to PDF/A.
pub fn pdf(document: &Document) -> Result<Vec<u8>, PdfError> {
    let fonts = Fonts::new()?;
    let seller = clean(
        document
            .seller
            .party
            .legal_name
            .as_deref()
            .unwrap_or_default(),
    );
    let title = format!(
        "{} {}",
        document.language.title(document.kind),
        clean(&document.number)
    );
    let about = Metadata {
        title: title.clone(),
        subject: format!("{title}, {}", document.language.date(document.issue_date)),
        author: seller,
    };
    let layout = content::layout(document, &fonts)?;
    let pages = write::write(
        layout,
        About {
            title: about.title.clone(),
            description: about.subject.clone(),
            author: about.author.clone(),
            language: document.language.code(),
            date: document.issue_date,
        },
    )?;
    match validated(document) {
        Ok(invoice) => embedded(&pages, &invoice, about, document.issue_date),
        Err(_) => Ok(pages),
    }
}

fn embedded(
    pages: &[u8],
    invoice: &Validated<En16931>,
    about: Metadata,
    issued: Date,
) -> Result<Vec<u8>, PdfError> {
    // A fixed time, so that the same document results in the same bytes.
    let days = issued.duration_since(date(1970, 1, 1)).as_secs();
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(days).unwrap_or(0));
    let options = EmbedOptions {
        metadata: Some(about),
        modified: Some(modified),
        ..EmbedOptions::default()
    };
    zugferd::embed(pages, invoice, &options).map_err(|error| PdfError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use en16931_formats::zugferd::{Limits, extract};

    use super::*;
    use crate::{cii, samples};

    #[test]
    fn the_cii_is_inside_where_it_can_be_written() {
        let mut inside = 0;
        for (name, document) in samples::named() {
            let pdf = pdf(&document).unwrap();
            assert!(pdf.starts_with(b"%PDF-1.7"), "{name}");
            match cii(&document) {
                Ok(cii) => {
                    let extracted = extract(&pdf, &Limits::default()).unwrap();
                    assert_eq!(extracted.filename, "factur-x.xml", "{name}");
                    assert!(extracted.xml == cii, "{name}: the CII is another");
                    inside += 1;
                }
                Err(_) => assert!(extract(&pdf, &Limits::default()).is_err(), "{name}"),
            }
        }
        assert_eq!(inside, 5);
    }

    #[test]
    fn the_same_document_results_in_the_same_bytes() {
        let document = samples::random(7);
        assert!(pdf(&document).unwrap() == pdf(&document).unwrap());
    }

    #[test]
    fn random_documents_conform_to_pdf_a() {
        for seed in 0..10 {
            pdf(&samples::random(seed)).unwrap();
        }
    }
}
