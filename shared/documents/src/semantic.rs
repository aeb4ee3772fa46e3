//! The document as an invoice of EN 16931, and its two syntaxes. Comments name the terms (BT) and rules (BR) of the standard.

use en16931::invoice::{
    Code, CreditTransfer, DocumentTotals, Item, ItemAttribute, PaymentInstructions, PaymentMeans,
    PriceDetails, VatBreakdown,
};
use en16931::validation::profile::ProfileMarker;
use en16931::{
    En16931, Identifier, InvoiceAmount, Percentage, Quantity, UnitPriceAmount, Validated,
};
use en16931_formats::Syntax;
use jiff::civil::Date;
use rust_decimal::{Decimal, RoundingStrategy};

use crate::document::{Currency, Document, DocumentKind, Line, Party, Period, TaxCategory, Unit};
use crate::missing::missing_fields;
use crate::text::{clean, cleaned};
use crate::totals::{RateTotal, TooLarge, Totals};

/// The reason why a document cannot be written in the syntaxes of EN 16931.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// Amounts of the standard have two decimals at most.
    #[error("amounts of {0} have more decimals than EN 16931 permits")]
    Decimals(String),
    /// The fields that [`missing_fields`] names.
    #[error("fields are missing: {}", .0.join(", "))]
    Missing(Vec<String>),
    #[error("EN 16931 does not permit the document: {}", .0.iter().map(Violation::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Violation>),
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// A rule of EN 16931 that a document violates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule} at {field}")]
pub struct Violation {
    pub rule: String,
    /// The field of the document, or the term of the standard, such as `BG-25[2]/BT-151`.
    pub field: String,
}

impl Violation {
    fn new(rule: &str, path: &str) -> Self {
        let term = path.rsplit('/').next().unwrap_or_default();
        let field = match term {
            "BT-5" => "currency",
            "BT-31" => "seller.vat_id",
            "BT-34" => "seller.electronic_address",
            "BT-40" => "seller.address.country",
            "BT-48" => "buyer.vat_id",
            "BT-49" => "buyer.electronic_address",
            "BT-55" => "buyer.address.country",
            _ => path,
        };
        Self {
            rule: rule.to_owned(),
            field: field.to_owned(),
        }
    }
}

/// Returns the document as a UBL 2.1 `Invoice` or `CreditNote`.
///
/// # Errors
/// [`Unwritable`] if the document has no valid form in EN 16931.
pub fn ubl(document: &Document) -> Result<Vec<u8>, Unwritable> {
    Ok(write(&validated(document)?, Syntax::Ubl))
}

/// Returns the document as a UN/CEFACT `CrossIndustryInvoice`.
///
/// # Errors
/// [`Unwritable`] if the document has no valid form in EN 16931.
pub fn cii(document: &Document) -> Result<Vec<u8>, Unwritable> {
    Ok(write(&validated(document)?, Syntax::Cii))
}

fn write(invoice: &Validated<En16931>, syntax: Syntax) -> Vec<u8> {
    en16931_formats::write(invoice, syntax).xml.into_bytes()
}

/// Returns the document as an invoice that satisfies the rules of EN 16931.
pub(crate) fn validated(document: &Document) -> Result<Validated<En16931>, Unwritable> {
    if document.currency.decimals > 2 {
        return Err(Unwritable::Decimals(document.currency.code.to_uppercase()));
    }
    let missing = missing_fields(document);
    if !missing.is_empty() {
        return Err(Unwritable::Missing(missing));
    }
    Validated::new(invoice(document)?).map_err(|rejected| {
        let findings = rejected.report().fatal();
        Unwritable::Invalid(
            findings
                .map(|finding| Violation::new(&finding.rule, &finding.path.to_string()))
                .collect(),
        )
    })
}

fn invoice(document: &Document) -> Result<en16931::Invoice, Unwritable> {
    let totals = Totals::of(&document.lines)?;
    let due = totals.due(document.prepaid, document.rounding)?;
    let currency = &document.currency;
    let code = currency.code.to_uppercase();
    let (kind, type_code) = match document.kind {
        DocumentKind::Invoice => (en16931::DocumentKind::Invoice, "380"),
        DocumentKind::CreditNote => (en16931::DocumentKind::CreditNote, "381"),
    };
    let is_invoice = document.kind == DocumentKind::Invoice;
    // BR-O-02: a document out of the tax's scope has no VAT identifiers.
    let out_of_scope =
        (document.lines.iter()).any(|line| line.tax_category == TaxCategory::OutOfScope);

    let mut invoice = en16931::Invoice::default();
    invoice.specification_id = Some(En16931::PROFILE.specification_id.to_owned());
    invoice.kind = kind;
    invoice.number = Some(clean(&document.number));
    invoice.issue_date = Some(date(document.issue_date)?);
    invoice.type_code = Some(Code::new(type_code));
    invoice.currency = Some(Code::new(code.clone()));
    invoice.due_date = match document.due_date {
        Some(due) if is_invoice => Some(date(due)?),
        _ => None,
    };
    invoice.buyer_reference = cleaned(document.buyer.reference.as_ref());
    // BT-22.
    let note = cleaned(document.note.as_ref());
    invoice.notes.extend(note.map(Into::into));
    invoice.payment_terms = cleaned(document.payment_terms.as_ref());
    if let Some(preceding) = &document.preceding_invoice {
        invoice.preceding_invoices = vec![en16931::invoice::PrecedingInvoice {
            reference: clean(&preceding.number).into(),
            issue_date: preceding.issue_date.map(date).transpose()?,
        }];
    }
    invoice.seller = party(&document.seller.party, out_of_scope);
    invoice.buyer = party(&document.buyer.party, out_of_scope);
    invoice.invoicing_period = document.period.map(days).transpose()?;
    if is_invoice {
        invoice.payment = credit_transfer(document, &code);
    }
    invoice.vat_breakdown = (totals.by_rate.iter())
        .map(|rate| vat(document, rate))
        .collect::<Result<_, _>>()?;
    let unless_zero = |value| (value != 0).then(|| amount(value, currency)).transpose();
    invoice.totals = DocumentTotals {
        line_total: amount(totals.net, currency)?,
        taxable_total: amount(totals.net, currency)?,
        vat_total: Some(amount(totals.tax, currency)?),
        gross_total: amount(totals.gross, currency)?,
        paid: unless_zero(document.prepaid)?,
        rounding: unless_zero(document.rounding)?,
        due: amount(due, currency)?,
        ..DocumentTotals::default()
    };
    invoice.lines = (document.lines.iter().enumerate())
        .map(|(at, item)| line(document, at + 1, item))
        .collect::<Result<_, _>>()?;
    Ok(invoice)
}

/// Returns the instructions to pay to the seller's account; none without an account.
fn credit_transfer(document: &Document, currency: &str) -> Option<PaymentInstructions> {
    let iban = cleaned(document.seller.iban.as_ref())?;
    let means = CreditTransfer {
        account_identifier: Some(iban),
        account_name: None,
        provider_identifier: cleaned(document.seller.bic.as_ref()),
    };
    // UNTDID 4461: a SEPA transfer, or any other.
    let code = if currency == "EUR" { "58" } else { "30" };
    Some(PaymentInstructions {
        means_code: Some(Code::new(code)),
        means_text: None,
        remittance_information: Some(clean(&document.number)),
        means: Some(PaymentMeans::CreditTransfer(vec![means])),
    })
}

/// Returns the part of the VAT breakdown with the sums of a rate.
fn vat(document: &Document, rate: &RateTotal) -> Result<VatBreakdown, Unwritable> {
    Ok(VatBreakdown {
        taxable_amount: amount(rate.net, &document.currency)?,
        tax_amount: amount(rate.tax, &document.currency)?,
        category: Code::new(rate.category.code()),
        rate: percentage(rate.category, rate.percent),
        exemption_reason: exemption_reason(document, rate.category),
        exemption_reason_code: match rate.category {
            TaxCategory::ReverseCharge => Some(Code::new("VATEX-EU-AE")),
            TaxCategory::OutOfScope => Some(Code::new("VATEX-EU-O")),
            TaxCategory::Standard | TaxCategory::Zero | TaxCategory::Exempt => None,
        },
    })
}

/// Returns the statement of the documents about a category in which the seller owes no tax.
pub(crate) fn exemption_reason(document: &Document, category: TaxCategory) -> Option<String> {
    let given = cleaned(document.exemption_reason.as_ref());
    let default = document.language.exemption(category).map(str::to_owned);
    if category == TaxCategory::Exempt {
        return given.or(default);
    }
    default
}

fn party(party: &Party, out_of_scope: bool) -> en16931::invoice::Party {
    en16931::invoice::Party {
        name: cleaned(party.legal_name.as_ref()),
        legal_registration: cleaned(party.registration_number.as_ref()).map(Identifier::new),
        vat_identifier: cleaned(party.vat_id.as_ref()).filter(|_| !out_of_scope),
        electronic_address: (party.electronic_address.as_ref())
            .map(|address| Identifier::schemed(clean(&address.value), clean(&address.scheme))),
        address: party
            .address
            .as_ref()
            .map_or_else(Default::default, |address| {
                en16931::invoice::PostalAddress {
                    line1: cleaned(Some(&address.line1)),
                    line2: cleaned(address.line2.as_ref()),
                    line3: None,
                    city: cleaned(Some(&address.city)),
                    post_code: cleaned(Some(&address.postal_code)),
                    subdivision: cleaned(address.state.as_ref()),
                    country: cleaned(Some(&address.country))
                        .map(|country| Code::new(country.to_uppercase())),
                }
            }),
        ..en16931::invoice::Party::default()
    }
}

fn line(
    document: &Document,
    number: usize,
    line: &Line,
) -> Result<en16931::InvoiceLine, Unwritable> {
    let (quantity, unit, price) = price(line, &document.currency);
    let mut written = en16931::InvoiceLine::new(
        number.to_string(),
        clean(&line.description),
        Quantity::new(quantity),
        unit.code(),
        amount(line.net_amount, &document.currency)?,
        line.tax_category.code(),
        percentage(line.tax_category, line.tax_percent),
    )
    .with_price(price);
    written.period = (line.period)
        .map(|period| {
            days(Period {
                start: period.start.date(),
                end: period.end.date(),
            })
        })
        .transpose()?;
    written.item = Item {
        name: Some(clean(&line.description)),
        attributes: crate::language::details(document.language, line)
            .into_iter()
            .map(|(name, value)| ItemAttribute {
                name: Some(name.to_owned()),
                value: Some(clean(&value)),
            })
            .collect(),
        ..Item::default()
    };
    Ok(written)
}

/// The number of decimals of a price, if that is enough to compute the amount of the line from it.
const PRICE_DECIMALS: u32 = 6;

/// Returns quantity, unit and price, the product of which is the net amount. A price is never negative (BR-27), so a reduction has a
/// negative quantity. If no price results in the amount, the price is the amount itself, for the whole quantity (BT-149).
fn price(line: &Line, currency: &Currency) -> (Decimal, Unit, PriceDetails) {
    let net = Decimal::new(line.net_amount, currency.decimals.into());
    let details = |price: Decimal| PriceDetails {
        net_price: UnitPriceAmount::new(price.normalize()),
        ..PriceDetails::default()
    };
    let sign = if net.is_sign_negative() {
        -Decimal::ONE
    } else {
        Decimal::ONE
    };
    let (net, quantity) = (net.abs(), line.quantity.abs().normalize());
    if quantity.is_zero() {
        return (sign, Unit::Piece, details(net));
    }
    let unit_price = (net.checked_div(quantity)).map(|price| {
        price.round_dp_with_strategy(PRICE_DECIMALS, RoundingStrategy::MidpointAwayFromZero)
    });
    let product = unit_price
        .and_then(|price| price.checked_mul(quantity))
        .map(|product| {
            product.round_dp_with_strategy(
                currency.decimals.into(),
                RoundingStrategy::MidpointAwayFromZero,
            )
        });
    let price = match unit_price {
        Some(price) if product == Some(net) => details(price),
        _ => PriceDetails {
            base_quantity: Some(Quantity::new(quantity)),
            base_quantity_code: Some(Code::new(line.unit.code())),
            ..details(net)
        },
    };
    (sign * quantity, line.unit, price)
}

fn percentage(category: TaxCategory, percent: Decimal) -> Option<Percentage> {
    // BR-O-05: no rate.
    (category != TaxCategory::OutOfScope).then(|| Percentage::new(percent.normalize()))
}

/// Converts an amount, which always has two decimals in the standard.
fn amount(amount: i64, currency: &Currency) -> Result<InvoiceAmount, TooLarge> {
    let hundredths = 10_i64.pow(2_u32.saturating_sub(currency.decimals.into()));
    amount
        .checked_mul(hundredths)
        .map(InvoiceAmount::from_minor_units)
        .ok_or(TooLarge)
}

fn date(date: Date) -> Result<en16931::Date, Unwritable> {
    en16931::Date::new(
        date.year().into(),
        date.month().unsigned_abs(),
        date.day().unsigned_abs(),
    )
    .map_err(|_| Unwritable::Invalid(vec![Violation::new("BR-DT-001", &date.to_string())]))
}

fn days(period: Period<Date>) -> Result<en16931::invoice::Period, Unwritable> {
    Ok(en16931::invoice::Period {
        start: Some(date(period.start)?),
        end: Some(date(period.end)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Language;
    use crate::samples;

    type Written = fn(&Document) -> Result<Vec<u8>, Unwritable>;
    const SYNTAXES: [Written; 2] = [ubl, cii];

    fn plain() -> Document {
        samples::invoice(Language::En, 3)
    }

    fn text(bytes: Result<Vec<u8>, Unwritable>) -> String {
        String::from_utf8(bytes.unwrap()).unwrap()
    }

    /// Returns the content of the only element with a name.
    fn content<'a>(xml: &'a str, element: &str) -> &'a str {
        let (_, rest) = xml.split_once(&format!("<{element}")).unwrap();
        let (content, rest) = rest.split_once(&format!("</{element}>")).unwrap();
        assert!(
            !rest.contains(&format!("<{element}")),
            "{element} is repeated"
        );
        content.split_once('>').unwrap().1
    }

    #[test]
    fn complete_documents_are_written_in_both_syntaxes() {
        for seed in 0..100 {
            let document = samples::random(seed);
            assert_eq!(missing_fields(&document), Vec::<String>::new(), "{seed}");
            for write in SYNTAXES {
                assert!(text(write(&document)).contains(&document.number), "{seed}");
            }
        }
    }

    #[test]
    fn amounts_are_those_of_the_totals() {
        let document = Document {
            prepaid: 1_000,
            rounding: 2,
            ..plain()
        };
        // 7.31, 16.42 and 25.53 at 19 %.
        let xml = text(ubl(&document));
        for (element, amount) in [
            ("cbc:TaxExclusiveAmount", "49.26"),
            ("cbc:TaxInclusiveAmount", "58.62"),
            ("cbc:PrepaidAmount", "10.00"),
            ("cbc:PayableRoundingAmount", "0.02"),
            ("cbc:PayableAmount", "48.64"),
        ] {
            assert_eq!(content(&xml, element), amount);
        }
        let xml = text(cii(&document));
        assert_eq!(content(&xml, "ram:GrandTotalAmount"), "58.62");
        assert_eq!(content(&xml, "ram:DuePayableAmount"), "48.64");
    }

    #[test]
    fn the_note_is_written_in_both_syntaxes() {
        let document = Document {
            note: Some("Order <4711>".to_owned()),
            ..plain()
        };
        assert_eq!(
            content(&text(ubl(&document)), "cbc:Note"),
            "Order &lt;4711&gt;"
        );
        let xml = text(cii(&document));
        assert!(content(&xml, "ram:IncludedNote").contains("Order &lt;4711&gt;"));
        let none = Document {
            note: None,
            ..plain()
        };
        assert!(!text(ubl(&none)).contains("cbc:Note"));
    }

    #[test]
    fn documents_out_of_scope_have_no_vat_identifiers() {
        let mut document = plain();
        for line in &mut document.lines {
            line.tax_category = TaxCategory::OutOfScope;
            line.tax_percent = Decimal::ZERO;
        }
        assert!(!text(ubl(&document)).contains("DE123456789"));
        document.seller.party.registration_number = None;
        assert_eq!(missing_fields(&document), ["seller.registration_number"]);
    }

    #[test]
    fn violated_rules_are_named() {
        let mut document = plain();
        document.seller.party.vat_id = Some("123".to_owned());
        document.lines[0].tax_percent = Decimal::ZERO;
        for write in SYNTAXES {
            let Err(Unwritable::Invalid(rules)) = write(&document) else {
                panic!("a wrong VAT identifier was accepted");
            };
            for rule in ["BR-CO-09", "BR-S-05"] {
                assert!(rules.iter().any(|named| named.rule == rule), "{rules:?}");
            }
        }
    }

    #[test]
    fn codes_that_the_standard_lacks_are_named_by_their_field() {
        let mut document = plain();
        document.currency.code = "bgn".to_owned();
        if let Some(address) = &mut document.buyer.party.electronic_address {
            address.scheme = "9999".to_owned();
        }
        for write in SYNTAXES {
            let error = write(&document).unwrap_err().to_string();
            assert!(error.contains("BR-CL-04 at currency"), "{error}");
            let scheme = "BR-CL-25 at buyer.electronic_address";
            assert!(error.contains(scheme), "{error}");
        }
    }

    #[test]
    fn currencies_with_three_decimals_are_refused() {
        let mut document = plain();
        document.currency = Currency {
            code: "kwd".to_owned(),
            decimals: 3,
        };
        for write in SYNTAXES {
            assert_eq!(
                write(&document),
                Err(Unwritable::Decimals("KWD".to_owned()))
            );
        }
    }

    #[test]
    fn yen_have_no_minor_units() {
        let mut document = plain();
        document.currency = Currency {
            code: "jpy".to_owned(),
            decimals: 0,
        };
        document.lines.truncate(1);
        document.lines[0].net_amount = 1_234;
        // 19 % are 234.46.
        let xml = text(cii(&document));
        assert_eq!(content(&xml, "ram:GrandTotalAmount"), "1468.00");
        assert!(xml.contains("currencyID=\"JPY\">234.00"));
    }

    #[test]
    fn xml_text_is_escaped_and_control_characters_are_removed() {
        let mut document = plain();
        document.buyer.party.legal_name =
            Some("A&B <Möbel>\u{0}\u{b}\u{fffe} \"KG\"\r\n".to_owned());
        for write in SYNTAXES {
            let xml = text(write(&document));
            assert!(xml.contains("A&amp;B &lt;Möbel&gt; "), "{xml}");
            assert!(!xml.contains(['\u{0}', '\u{b}', '\u{fffe}']));
        }
    }

    #[test]
    fn prices_result_in_the_net_amount() {
        let euro = plain().currency;
        for (quantity, net_amount) in [
            (Decimal::new(30_000, 3), 1_000),
            (Decimal::new(30_001, 3), -1_000),
            (Decimal::new(7, 3), 99_999),
            (Decimal::new(123_456_789, 1), 7_654_321),
            (Decimal::ZERO, 450),
            (Decimal::ZERO, 0),
            (Decimal::ONE, -450),
        ] {
            let line = Line {
                quantity,
                net_amount,
                ..samples::session(1, 0, 19)
            };
            let (quantity, _, price) = price(&line, &euro);
            let base = price
                .base_quantity
                .map_or(Decimal::ONE, Quantity::into_decimal);
            let product = quantity * price.net_price.into_decimal() / base;
            assert_eq!(product.round_dp(2), Decimal::new(net_amount, 2), "{line:?}");
            assert!(!price.net_price.is_negative());
        }
    }

    #[test]
    fn credit_notes_name_the_invoice_that_they_correct() {
        let document = samples::credit_note(Language::De);
        let xml = text(ubl(&document));
        assert!(xml.contains("<CreditNote ") && xml.contains("<cbc:ID>FC2026-000042</cbc:ID>"));
        assert!(text(cii(&document)).contains("<ram:TypeCode>381</ram:TypeCode>"));
    }
}
