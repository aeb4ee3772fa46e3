//! The data that EN 16931 requires and a document lacks. Comments name the rules (BR) of the standard.

use crate::document::{Document, DocumentKind, TaxCategory};
use crate::text::clean;
use crate::totals::Totals;

/// Returns the names of the fields that EN 16931 requires and the document lacks, such as `seller.vat_id`.
pub fn missing_fields(document: &Document) -> Vec<String> {
    let uses = |categories: &[TaxCategory]| {
        let mut lines = document.lines.iter();
        lines.any(|line| categories.contains(&line.tax_category))
    };
    let (seller, buyer) = (&document.seller.party, &document.buyer.party);
    let reverse_charge = uses(&[TaxCategory::ReverseCharge]);
    let mut missing = Vec::new();
    let mut require = |present: bool, name: &str| {
        if !present {
            missing.push(name.to_owned());
        }
    };
    require(is_set(Some(&document.number)), "number"); // BR-02
    for (party, name) in [(seller, "seller"), (buyer, "buyer")] {
        require(
            is_set(party.legal_name.as_ref()),
            &format!("{name}.legal_name"),
        ); // BR-06, BR-07
        let Some(address) = &party.address else {
            require(false, &format!("{name}.address")); // BR-08, BR-10
            continue;
        };
        require(
            is_set(Some(&address.country)),
            &format!("{name}.address.country"),
        ); // BR-09, BR-11
    }
    if uses(&[TaxCategory::OutOfScope]) {
        // BR-CO-26: BR-O-02 forbids the other identifier of a seller.
        require(
            is_set(seller.registration_number.as_ref()),
            "seller.registration_number",
        );
    } else {
        // BR-S-02, BR-Z-02, BR-E-02, BR-AE-02
        require(is_set(seller.vat_id.as_ref()), "seller.vat_id");
    }
    if reverse_charge {
        let identified = [&buyer.vat_id, &buyer.registration_number];
        // BR-AE-02
        require(
            identified.iter().any(|id| is_set(id.as_ref())),
            "buyer.vat_id",
        );
    }
    require(!lacks_due_date(document), "due_date"); // BR-CO-25
    require(!document.lines.is_empty(), "lines"); // BR-16
    for (at, line) in document.lines.iter().enumerate() {
        require(
            is_set(Some(&line.description)),
            &format!("lines[{at}].description"),
        ); // BR-25
    }
    missing
}

/// Checks whether something is due, and neither a date nor terms say when.
fn lacks_due_date(document: &Document) -> bool {
    let due = Totals::of(&document.lines)
        .and_then(|totals| totals.due(document.prepaid, document.rounding));
    let terms = match document.kind {
        DocumentKind::Invoice => {
            document.due_date.is_some() || is_set(document.payment_terms.as_ref())
        }
        // UBL has no due date in a credit note, and its rule does not require one.
        DocumentKind::CreditNote => true,
    };
    !terms && due.is_ok_and(|due| due > 0)
}

fn is_set(value: Option<&String>) -> bool {
    value.is_some_and(|value| !clean(value).is_empty())
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;

    use super::*;
    use crate::document::{Language, Seller};
    use crate::{Unwritable, cii, samples, ubl};

    fn plain() -> Document {
        samples::invoice(Language::En, 3)
    }

    #[test]
    fn missing_fields_are_named_as_in_the_api() {
        let mut document = plain();
        document.seller = Seller::default();
        document.buyer.party.address = None;
        document.due_date = None;
        document.lines[1].description = " \u{2}".to_owned();
        let names = [
            "seller.legal_name",
            "seller.address",
            "buyer.address",
            "seller.vat_id",
            "due_date",
            "lines[1].description",
        ]
        .map(str::to_owned)
        .to_vec();
        assert_eq!(missing_fields(&document), names);
        for write in [ubl, cii] {
            assert_eq!(write(&document), Err(Unwritable::Missing(names.clone())));
        }
        document.lines.clear();
        assert!(missing_fields(&document).contains(&"lines".to_owned()));
    }

    #[test]
    fn a_due_date_is_required_only_while_something_is_due() {
        let mut document = plain();
        document.due_date = None;
        assert_eq!(missing_fields(&document), ["due_date"]);
        document.prepaid = Totals::of(&document.lines).unwrap().gross;
        assert_eq!(missing_fields(&document), Vec::<String>::new());
        document.prepaid = 0;
        document.payment_terms = Some("At once".to_owned());
        assert_eq!(missing_fields(&document), Vec::<String>::new());
    }

    #[test]
    fn reverse_charge_requires_the_identifier_of_the_buyer() {
        let mut document = plain();
        for line in &mut document.lines {
            line.tax_category = TaxCategory::ReverseCharge;
            line.tax_percent = Decimal::ZERO;
        }
        let xml = String::from_utf8(ubl(&document).unwrap()).unwrap();
        assert!(xml.contains("VATEX-EU-AE"));
        document.buyer.party.vat_id = None;
        assert_eq!(missing_fields(&document), Vec::<String>::new());
        document.buyer.party.registration_number = None;
        assert_eq!(missing_fields(&document), ["buyer.vat_id"]);
    }
}
