//! The documents of an issued invoice or credit note: XML in the two syntaxes of EN 16931, and a PDF to read.
//!
//! - [`ubl`] and [`cii`] write the electronic invoice of EN 16931 in UBL 2.1 and in UN/CEFACT CII. Their results satisfy the rules of the
//!   standard: the crate `en16931` checks the document before it is written. [`missing_fields`] lists the required data that a party or the
//!   document lacks.
//! - [`pdf`] writes a PDF/A-3. It contains the CII as `factur-x.xml` (Factur-X, profile EN 16931) if the CII can be written, so that people
//!   and programs read the same document.
//! - [`Totals::of`] is the only place with arithmetic. All documents show its sums.
//!
//! The input contains all data that the documents show; the same input results in the same bytes. This crate does no I/O.

mod document;
mod language;
mod missing;
mod pdf;
mod semantic;
mod text;
mod totals;

pub use document::{
    Address, Buyer, Currency, Document, DocumentKind, ElectronicAddress, Language, Line, Party,
    Period, PrecedingInvoice, Seller, TaxCategory, Unit,
};
pub use missing::missing_fields;
pub use pdf::{PdfError, pdf};
pub use semantic::{Unwritable, Violation, cii, ubl};
pub use totals::{RateTotal, TooLarge, Totals};

#[cfg(test)]
extern crate self as documents;
#[cfg(test)]
#[path = "../examples/samples/mod.rs"]
mod samples;
