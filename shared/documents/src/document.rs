//! The input: an issued invoice or credit note, with all data that its documents show.

use jiff::civil::{Date, DateTime};
use rust_decimal::Decimal;

/// An issued invoice or credit note. Amounts are integers in the currency's minor unit, and positive for what an invoice charges or
/// a credit note credits. A `None` is left out of the documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub kind: DocumentKind,
    pub number: String,
    pub issue_date: Date,
    /// The date until which an invoice has to be paid. The UBL credit note has no field for it.
    pub due_date: Option<Date>,
    /// First and last day of the billed period.
    pub period: Option<Period<Date>>,
    pub currency: Currency,
    /// The language of labels.
    pub language: Language,
    pub seller: Seller,
    pub buyer: Buyer,
    /// The invoice that a credit note corrects.
    pub preceding_invoice: Option<PrecedingInvoice>,
    /// A text about the document as a whole.
    pub note: Option<String>,
    pub payment_terms: Option<String>,
    /// The reason why lines of the category `E` are exempt. Without one the documents only state that they are exempt, which not every tax
    /// authority accepts.
    pub exemption_reason: Option<String>,
    /// The part of the total that was paid before the document was issued.
    pub prepaid: i64,
    /// The part of `prepaid` that was refunded before the document was issued. The PDF states it; it is not due again.
    pub refunded: i64,
    /// The amount charged minus the gross total. The gross total is computed from the net amount of each tax rate; if lines were rounded
    /// individually when they were charged, both differ by some minor units.
    pub rounding: i64,
    pub lines: Vec<Line>,
    /// The time zone of the times of lines, by its IANA name. The PDF states it.
    pub time_zone: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    Invoice,
    CreditNote,
}

/// The language of labels, and the format of numbers and dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    En,
    De,
}

/// A period from its start to its end, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period<T> {
    pub start: T,
    pub end: T,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Currency {
    /// ISO 4217, in capital or small letters.
    pub code: String,
    /// The number of digits after the point: 2 for EUR, 0 for JPY.
    pub decimals: u8,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seller {
    pub party: Party,
    pub iban: Option<String>,
    pub bic: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Buyer {
    pub party: Party,
    /// An identifier that the buyer requires on its invoices, such as a Leitweg-ID.
    pub reference: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Party {
    pub legal_name: Option<String>,
    /// With its country prefix: `DE123456789`.
    pub vat_id: Option<String>,
    pub registration_number: Option<String>,
    pub address: Option<Address>,
    pub electronic_address: Option<ElectronicAddress>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub line1: String,
    pub line2: Option<String>,
    pub postal_code: String,
    pub city: String,
    pub state: Option<String>,
    /// ISO 3166-1, two letters.
    pub country: String,
}

/// The address to which electronic invoices are delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElectronicAddress {
    /// A code of the list "Electronic Address Scheme": `0204` for a Leitweg-ID, `EM` for an e-mail address.
    pub scheme: String,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrecedingInvoice {
    pub number: String,
    pub issue_date: Option<Date>,
}

/// A line with one tax rate. A session with several rates has a line for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub description: String,
    pub quantity: Decimal,
    pub unit: Unit,
    /// Without tax, negative for a reduction.
    pub net_amount: i64,
    pub tax_percent: Decimal,
    pub tax_category: TaxCategory,
    pub energy_wh: Option<i64>,
    /// In the time zone of the buyer.
    pub period: Option<Period<DateTime>>,
    pub plate: Option<String>,
    pub driver: Option<String>,
    pub station: Option<String>,
    pub session: Option<String>,
    pub reservation: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    KilowattHour,
    Minute,
    /// A fee, an adjustment, or any other unit that is counted.
    Piece,
}

/// The reason for the tax rate of a line, by the codes of EN 16931 (UNTDID 5305).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaxCategory {
    /// `S`: taxed at a rate above zero.
    Standard,
    /// `Z`: taxed at zero percent.
    Zero,
    /// `E`: exempt.
    Exempt,
    /// `AE`: the buyer owes the tax.
    ReverseCharge,
    /// `O`: not subject to the tax. Such lines have no rate, and are on a document of their own.
    OutOfScope,
}

impl TaxCategory {
    pub fn code(self) -> &'static str {
        match self {
            Self::Standard => "S",
            Self::Zero => "Z",
            Self::Exempt => "E",
            Self::ReverseCharge => "AE",
            Self::OutOfScope => "O",
        }
    }
}

impl Unit {
    /// Returns the code of the unit (UN/ECE Recommendation 20).
    pub fn code(self) -> &'static str {
        match self {
            Self::KilowattHour => "KWH",
            Self::Minute => "MIN",
            Self::Piece => "C62",
        }
    }
}
