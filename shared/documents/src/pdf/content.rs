//! The content of the pages of a document, and its position.

use super::font::Fonts;
use super::layout::{
    Align, Column, HEADING, HEIGHT, LEFT, LEFT_HALF, Layout, MIDDLE, RIGHT, Role, SMALL, TEXT,
    TITLE, WHOLE,
};
use super::{sums, table};
use crate::document::{Document, DocumentKind, Language, Party};
use crate::totals::{TooLarge, Totals};

/// Places a document on pages.
pub fn layout<'a>(document: &Document, fonts: &'a Fonts) -> Result<Layout<'a>, TooLarge> {
    let totals = Totals::of(&document.lines)?;
    let due = totals.due(document.prepaid, document.rounding)?;
    let footer = footer_lines(document, fonts);
    #[allow(clippy::cast_precision_loss, reason = "a footer has few lines")]
    let footer_height = 44.0 + footer.len() as f32 * SMALL.leading();
    let mut layout = Layout::new(fonts, footer_height);
    parties(&mut layout, document, due);
    table::lines(&mut layout, document);
    sums::sums(&mut layout, document, &totals, due);
    sums::notes(&mut layout, document, &totals, due);
    margins(&mut layout, document, &footer, footer_height);
    Ok(layout)
}

/// Places seller and buyer on the left, and the identification of the document on the right.
fn parties(layout: &mut Layout<'_>, document: &Document, due: i64) {
    let language = document.language;
    let top = layout.y;
    let title = layout.element(Role::Title, Layout::ROOT);
    let right = Column::left(MIDDLE, RIGHT);
    layout.text(language.title(document.kind), TITLE, right, Some(title));
    layout.y += 8.0;
    for (label, value) in facts(document, due) {
        let element = Some(layout.element(Role::Paragraph, Layout::ROOT));
        let y = layout.y;
        layout.text(
            label,
            TEXT.gray(),
            Column::left(MIDDLE, MIDDLE + 92.0),
            element,
        );
        let below = layout.y;
        layout.y = y;
        layout.text(&value, TEXT, Column::left(MIDDLE + 96.0, RIGHT), element);
        layout.y = layout.y.max(below) + 1.0;
    }
    let end = layout.y;

    layout.y = top + 4.0;
    party(layout, document, &document.seller.party);
    layout.y += 20.0;
    let to = match document.kind {
        DocumentKind::Invoice => language.pick("Bill to", "Rechnungsempfänger"),
        DocumentKind::CreditNote => language.pick("Credit to", "Empfänger"),
    };
    layout.paragraph(to, SMALL, LEFT_HALF);
    layout.y += 2.0;
    party(layout, document, &document.buyer.party);
    // Long names continue on the next page.
    if layout.pages.len() == 1 {
        layout.y = layout.y.max(end);
    }
    layout.y += 26.0;
}

fn party(layout: &mut Layout<'_>, document: &Document, party: &Party) {
    let language = document.language;
    layout.paragraph(
        party.legal_name.as_deref().unwrap_or_default(),
        HEADING,
        LEFT_HALF,
    );
    for line in address_lines(party) {
        layout.paragraph(&line, TEXT, LEFT_HALF);
    }
    if let Some(vat_id) = &party.vat_id {
        let label = language.pick("VAT ID", "USt-IdNr.");
        layout.paragraph(&format!("{label} {vat_id}"), TEXT, LEFT_HALF);
    }
}

fn address_lines(party: &Party) -> Vec<String> {
    let Some(address) = &party.address else {
        return Vec::new();
    };
    let city = format!("{} {}", address.postal_code, address.city);
    let place = [
        city.trim(),
        address.state.as_deref().unwrap_or_default(),
        &address.country.to_uppercase(),
    ];
    let place: Vec<_> = place.into_iter().filter(|part| !part.is_empty()).collect();
    [
        address.line1.clone(),
        address.line2.clone().unwrap_or_default(),
        place.join(", "),
    ]
    .into_iter()
    .filter(|line| !line.trim().is_empty())
    .collect()
}

/// Returns the identifying data of the document, each with its label.
fn facts(document: &Document, due: i64) -> Vec<(&'static str, String)> {
    let language = document.language;
    let is_invoice = document.kind == DocumentKind::Invoice;
    let number = if is_invoice {
        language.pick("Invoice number", "Rechnungsnummer")
    } else {
        language.pick("Credit note number", "Korrekturnummer")
    };
    let mut facts = vec![
        (number, document.number.clone()),
        (
            language.pick("Date of issue", "Ausstellungsdatum"),
            language.date(document.issue_date),
        ),
    ];
    let mut add = |label, value: Option<String>| facts.extend(value.map(|value| (label, value)));
    let due_date = document.due_date.filter(|_| is_invoice && due > 0);
    add(
        language.pick("Due date", "Fällig am"),
        due_date.map(|date| language.date(date)),
    );
    add(
        language.pick("Service period", "Leistungszeitraum"),
        document.period.map(|period| language.days(period)),
    );
    add(
        language.pick("Time zone", "Zeitzone"),
        document.time_zone.clone(),
    );
    let preceding = document.preceding_invoice.as_ref().map(|invoice| {
        let date = invoice.issue_date.map(|date| language.date(date));
        date.map_or(invoice.number.clone(), |date| {
            format!("{}, {date}", invoice.number)
        })
    });
    add(language.pick("Corrects invoice", "Zu Rechnung"), preceding);
    add(
        language.pick("Your reference", "Ihre Referenz"),
        document.buyer.reference.clone(),
    );
    facts
}

/// Returns the identification of the seller, for the foot of each page.
fn footer_lines(document: &Document, fonts: &Fonts) -> Vec<String> {
    let language = document.language;
    let seller = &document.seller.party;
    let address = address_lines(seller);
    let mut parts: Vec<String> = seller.legal_name.iter().cloned().chain(address).collect();
    // A number is not divided.
    let mut add = |label: &str, value: Option<&String>| {
        parts.extend(value.map(|value| format!("{label} {value}").replace(' ', "\u{a0}")));
    };
    add(language.pick("VAT ID", "USt-IdNr."), seller.vat_id.as_ref());
    add(
        language.pick("Registration no.", "Register-Nr."),
        seller.registration_number.as_ref(),
    );
    fonts.wrap(&parts.join(" · "), SMALL, FOOTER.width())
}

const FOOTER: Column = Column::left(LEFT, RIGHT - 76.0);

/// Places the foot of each page with its number, and the running head of all pages but the first.
fn margins(layout: &mut Layout<'_>, document: &Document, footer: &[String], height: f32) {
    let language = document.language;
    let count = layout.pages.len();
    let fonts = layout.fonts;
    let title = format!("{} {}", language.title(document.kind), document.number);
    let title = fonts
        .wrap(&title, SMALL, RIGHT - LEFT)
        .into_iter()
        .next()
        .unwrap_or_default();
    let pages = std::mem::take(&mut layout.pages);
    for (at, marks) in pages.into_iter().enumerate() {
        layout.pages.push(marks);
        if at > 0 {
            layout.line(title.clone(), SMALL, WHOLE, 48.0, None);
        }
        let top = HEIGHT - height + 14.0;
        layout.y = top - 5.0;
        layout.rule(LEFT, RIGHT, 0.4, 205);
        let mut y = top;
        for line in footer {
            layout.line(line.clone(), SMALL, FOOTER, y, None);
            y += SMALL.leading();
        }
        let number = match language {
            Language::En => format!("Page {} of {count}", at + 1),
            Language::De => format!("Seite {} von {count}", at + 1),
        };
        let column = Column {
            align: Align::Right,
            ..WHOLE
        };
        layout.line(number, SMALL, column, top, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::layout::{Mark, WIDTH};
    use crate::samples;

    /// Returns the texts of each page, from top to bottom.
    fn pages(document: &Document) -> Vec<Vec<String>> {
        let fonts = Fonts::new().unwrap();
        let texts = |marks: &Vec<Mark>| {
            let texts = marks.iter().filter_map(|mark| match mark {
                Mark::Text { text, .. } => Some(text.replace('\u{a0}', " ")),
                Mark::Rule { .. } => None,
            });
            texts.collect()
        };
        let layout = layout(document, &fonts).unwrap();
        layout.pages.iter().map(texts).collect()
    }

    #[test]
    fn a_page_has_as_many_lines_as_fit_and_the_head_of_the_table() {
        for (language, lines, expected) in [
            (Language::En, 3, 1),
            (Language::En, 8, 2),
            (Language::De, 120, 11),
        ] {
            let pages = pages(&samples::invoice(language, lines));
            assert_eq!(pages.len(), expected, "{lines} lines");
            for (at, page) in pages.iter().enumerate() {
                let number = match language {
                    Language::En => format!("Page {} of {expected}", at + 1),
                    Language::De => format!("Seite {} von {expected}", at + 1),
                };
                assert!(page.contains(&number), "{page:?}");
                let has_lines = page.iter().any(|text| text.starts_with("Charging session"));
                let head = language.pick("Description", "Beschreibung").to_owned();
                assert!(!has_lines || page.contains(&head), "{page:?}");
            }
            let sessions = pages
                .iter()
                .flatten()
                .filter(|text| text.starts_with("Charging session"));
            assert_eq!(sessions.count(), usize::try_from(lines).unwrap());
        }
    }

    #[test]
    fn texts_stay_within_the_margins_however_long_they_are() {
        let fonts = Fonts::new().unwrap();
        for (name, document) in samples::named() {
            let layout = layout(&document, &fonts).unwrap();
            for mark in layout.pages.iter().flatten() {
                let Mark::Text {
                    x,
                    baseline,
                    style,
                    text,
                    ..
                } = mark
                else {
                    continue;
                };
                let right = x + fonts.width(text, *style);
                assert!(
                    *x >= LEFT - 0.1 && right <= WIDTH - LEFT + 0.1,
                    "{name}: {text}"
                );
                assert!(
                    *baseline > 40.0 && *baseline < HEIGHT - 20.0,
                    "{name}: {text}"
                );
            }
        }
    }

    #[test]
    fn long_texts_are_shown_whole() {
        let (_, document) = samples::named().swap_remove(4);
        let shown: String = pages(&document).concat().concat();
        let shown = shown.replace(' ', "");
        let name = document.buyer.party.legal_name.unwrap();
        assert!(shown.contains(&name), "{name}");
        assert_eq!(shown.matches("Adjustment").count(), 200);
    }

    #[test]
    fn amounts_and_dates_are_written_for_the_language() {
        let mut document = samples::invoice(Language::En, 1);
        document.lines[0].net_amount = -123_456_789;
        let shown = pages(&document).concat();
        for text in [
            "1 November 2026",
            "\u{2212}1,234,567.89",
            "19%",
            "EUR \u{2212}1,469,135.79",
            "20.000 kWh",
        ] {
            assert!(shown.iter().any(|line| line == text), "{text} in {shown:?}");
        }
        document.language = Language::De;
        let shown = pages(&document).concat();
        for text in [
            "01.11.2026",
            "\u{2212}1.234.567,89",
            "19 %",
            "\u{2212}1.469.135,79 EUR",
            "20,000 kWh",
        ] {
            assert!(shown.iter().any(|line| line == text), "{text} in {shown:?}");
        }
    }

    #[test]
    fn sums_state_the_category_of_a_rate_and_what_was_refunded() {
        let mut document = samples::invoice(Language::En, 2);
        document.lines[0].tax_percent = rust_decimal::Decimal::ZERO;
        document.lines[1] = document.lines[0].clone();
        document.lines[0].tax_category = crate::TaxCategory::Zero;
        document.lines[1].tax_category = crate::TaxCategory::Exempt;
        document.prepaid = 351;
        document.refunded = 100;
        let english = [
            "VAT 0% (zero-rated) on EUR 7.31",
            "VAT 0% (exempt) on EUR 7.31",
            "Already paid (EUR 1.00 of it refunded)",
        ];
        let german = [
            "USt 0 % (Nullsatz) auf 7,31 EUR",
            "USt 0 % (steuerfrei) auf 7,31 EUR",
            "Bereits bezahlt (davon 1,00 EUR erstattet)",
        ];
        for (language, labels) in [(Language::En, english), (Language::De, german)] {
            document.language = language;
            let shown = pages(&document).concat().concat().replace(' ', "");
            for label in labels {
                assert!(
                    shown.contains(&label.replace(' ', "")),
                    "{label} in {shown}"
                );
            }
        }
    }

    #[test]
    fn yen_have_no_decimals_and_dinars_three() {
        for (code, decimals, amount) in [("JPY", 0, "JPY 1,468"), ("KWD", 3, "KWD 1.468")] {
            let mut document = samples::invoice(Language::En, 1);
            document.lines[0].net_amount = 1_234;
            document.currency = crate::Currency {
                code: code.to_owned(),
                decimals,
            };
            let shown = pages(&document).concat();
            assert!(shown.iter().any(|line| line == amount), "{shown:?}");
        }
    }

    #[test]
    fn characters_without_a_glyph_are_replaced() {
        let mut document = samples::invoice(Language::En, 1);
        document.buyer.party.legal_name =
            Some("Ελλάδα Київ Łódź Mu\u{308}ller \u{200f}東京\u{1}\u{feff}".to_owned());
        let shown = pages(&document).concat();
        assert!(
            shown.contains(&"Ελλάδα Київ Łódź Müller \u{fffd}\u{fffd}".to_owned()),
            "{shown:?}"
        );
    }
}
