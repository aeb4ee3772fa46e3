//! What stands on the pages of a document, and where.

use rust_decimal::Decimal;

use super::font::{Fonts, Style};
use super::layout::{Align, Column, ElementId, HEIGHT, LEFT, Layout, RIGHT, Role};
use crate::document::{Document, DocumentKind, Line, Party, TaxCategory};
use crate::language::details;
use crate::semantic::exemption_reason;
use crate::totals::{RateTotal, TooLarge, Totals};

const TITLE: Style = Style::new(20.0).bold();
const HEADING: Style = Style::new(10.5).bold();
const TEXT: Style = Style::new(9.0);
const SMALL: Style = Style::new(7.5).gray();

/// The left edge of what stands in the right half.
const MIDDLE: f32 = 318.0;
const WHOLE: Column = Column::left(LEFT, RIGHT);
const LEFT_HALF: Column = Column::left(LEFT, MIDDLE - 24.0);

/// The columns of the lines: number, description, quantity, tax and net amount.
const COLUMNS: [Column; 5] = [
    Column::left(LEFT, LEFT + 24.0),
    Column::left(LEFT + 28.0, RIGHT - 204.0),
    Column::right(RIGHT - 198.0, RIGHT - 124.0),
    Column::right(RIGHT - 120.0, RIGHT - 82.0),
    Column::right(RIGHT - 78.0, RIGHT),
];

/// Places a document on pages.
pub fn layout<'a>(document: &Document, fonts: &'a Fonts) -> Result<Layout<'a>, TooLarge> {
    let totals = Totals::of(&document.lines)?;
    let due = totals.due(document.prepaid, document.rounding)?;
    let footer = footer_lines(document, fonts);
    #[allow(clippy::cast_precision_loss, reason = "a footer has few lines")]
    let footer_height = 44.0 + footer.len() as f32 * SMALL.leading();
    let mut layout = Layout::new(fonts, footer_height);
    parties(&mut layout, document, due);
    lines(&mut layout, document);
    sums(&mut layout, document, &totals, due);
    notes(&mut layout, document, &totals, due);
    margins(&mut layout, document, &footer, footer_height);
    Ok(layout)
}

/// Seller and buyer on the left, and what identifies the document on the right.
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
    layout.y = layout.y.max(end) + 26.0;
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

/// What identifies the document, each with its label.
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

/// The table of lines. Its head is repeated on each page.
fn lines(layout: &mut Layout<'_>, document: &Document) {
    let table = layout.element(Role::Table, Layout::ROOT);
    let head = layout.element(Role::TableHead, table);
    let row = layout.element(Role::Row, head);
    let cells = COLUMNS.map(|_| Some(layout.element(Role::HeadCell, row)));
    table_head(layout, document, cells);
    let body = layout.element(Role::TableBody, table);
    for (at, line) in document.lines.iter().enumerate() {
        table_row(layout, document, body, at + 1, line);
    }
    layout.y += 10.0;
}

fn table_head(layout: &mut Layout<'_>, document: &Document, cells: [Option<ElementId>; 5]) {
    let language = document.language;
    let net = language.pick("Net", "Netto");
    let labels = [
        language.pick("No.", "Pos.").to_owned(),
        language.pick("Description", "Beschreibung").to_owned(),
        language.pick("Quantity", "Menge").to_owned(),
        language.pick("VAT", "USt").to_owned(),
        format!("{net} {}", document.currency.code.to_uppercase()),
    ];
    let style = Style::new(8.0).bold();
    for ((label, column), cell) in labels.into_iter().zip(COLUMNS).zip(cells) {
        layout.line(label, style, column, layout.y, cell);
    }
    layout.y += style.leading() + 3.0;
    layout.rule(LEFT, RIGHT, 0.8, 0);
    layout.y += 5.0;
}

fn table_row(
    layout: &mut Layout<'_>,
    document: &Document,
    body: ElementId,
    number: usize,
    line: &Line,
) {
    const GAP: f32 = 9.0;
    let language = document.language;
    let description = COLUMNS[1];
    let mut texts: Vec<_> = (layout
        .fonts
        .wrap(&line.description, TEXT, description.width())
        .into_iter())
    .map(|text| (text, TEXT))
    .collect();
    let times = line.period.map(|period| language.times(period));
    let named = details(language, line)
        .into_iter()
        .map(|(label, value)| format!("{label}\u{a0}{value}"));
    for detail in grouped(
        times.into_iter().chain(named),
        layout.fonts,
        description.width(),
    ) {
        let wrapped = layout.fonts.wrap(&detail, SMALL, description.width());
        texts.extend(wrapped.into_iter().map(|text| (text, SMALL)));
    }
    let height: f32 = texts.iter().map(|(_, style)| style.leading()).sum();
    if !layout.fits(height) && layout.fits_on_a_page(height) || !layout.fits(TEXT.leading()) {
        layout.next_page();
        table_head(layout, document, [None; 5]);
    }
    let row = layout.element(Role::Row, body);
    let cells = COLUMNS.map(|_| Some(layout.element(Role::Cell, row)));
    let quantity = language.quantity(line.quantity, line.unit);
    let percent = match line.tax_category {
        TaxCategory::OutOfScope => "–".to_owned(),
        _ => language.percent(line.tax_percent),
    };
    let amount = language.amount(line.net_amount, &document.currency);
    let numbers = [
        (0, number.to_string()),
        (2, quantity),
        (3, percent),
        (4, amount),
    ];
    for (at, text) in numbers {
        layout.line(text, TEXT, COLUMNS[at], layout.y, cells[at]);
    }
    for (text, style) in texts {
        if !layout.fits(style.leading()) {
            layout.next_page();
            table_head(layout, document, [None; 5]);
        }
        layout.line(text, style, description, layout.y, cells[1]);
        layout.y += style.leading();
    }
    layout.y += GAP / 2.0 - 1.0;
    layout.rule(LEFT, RIGHT, 0.4, 205);
    layout.y += GAP / 2.0;
}

/// Puts as many details on a line as fit there.
fn grouped(details: impl Iterator<Item = String>, fonts: &Fonts, width: f32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for detail in details {
        if let Some(line) = lines.last_mut() {
            let longer = format!("{line} · {detail}");
            if fonts.width(&longer, SMALL) <= width {
                *line = longer;
                continue;
            }
        }
        lines.push(detail);
    }
    lines
}

/// The sums, which stand together on a page.
fn sums(layout: &mut Layout<'_>, document: &Document, totals: &Totals, due: i64) {
    let (language, currency) = (document.language, &document.currency);
    let amount = |amount| language.amount(amount, currency);
    let mut rows = vec![(
        language.pick("Net total", "Summe netto").to_owned(),
        amount(totals.net),
    )];
    for rate in &totals.by_rate {
        rows.push((rate_label(document, rate), amount(rate.tax)));
    }
    let gross = (
        language.pick("Total", "Gesamtbetrag").to_owned(),
        amount(totals.gross),
    );
    let is_invoice = document.kind == DocumentKind::Invoice;
    let mut settled = Vec::new();
    if document.rounding != 0 {
        settled.push((
            language.pick("Rounding", "Rundung").to_owned(),
            amount(document.rounding),
        ));
    }
    if document.prepaid != 0 {
        let label = if is_invoice {
            language.pick("Already paid", "Bereits bezahlt")
        } else {
            language.pick("Already settled", "Bereits verrechnet")
        };
        settled.push((
            label.to_owned(),
            language.number(-Decimal::new(document.prepaid, currency.decimals.into())),
        ));
    }
    let label = match document.kind {
        DocumentKind::Invoice => language.pick("Amount due", "Zahlbetrag"),
        DocumentKind::CreditNote if document.prepaid == 0 => {
            language.pick("Amount credited", "Gutgeschriebener Betrag")
        }
        DocumentKind::CreditNote => language.pick("Remaining credit", "Verbleibendes Guthaben"),
    };

    #[allow(clippy::cast_precision_loss, reason = "there are few rates")]
    let count = (rows.len() + settled.len() + 3) as f32;
    let height = count * (TEXT.leading() + 3.0) + 24.0;
    if !layout.fits(height) && layout.fits_on_a_page(height) {
        layout.next_page();
    }
    for row in rows {
        sum(layout, &row, TEXT);
    }
    sum(layout, &gross, TEXT.bold());
    for row in settled {
        sum(layout, &row, TEXT);
    }
    layout.y += 2.0;
    layout.rule(MIDDLE, RIGHT, 0.8, 0);
    layout.y += 5.0;
    sum(
        layout,
        &(label.to_owned(), language.money(due, currency)),
        HEADING,
    );
    layout.y += 16.0;
}

/// Which tax a document charges on what.
fn rate_label(document: &Document, rate: &RateTotal) -> String {
    let language = document.language;
    let on = format!(
        "{} {}",
        language.pick("on", "auf"),
        language.money(rate.net, &document.currency)
    );
    match rate.category {
        TaxCategory::OutOfScope => format!("{} {on}", language.pick("No VAT", "Keine USt")),
        _ => format!(
            "{} {} {on}",
            language.pick("VAT", "USt"),
            language.percent(rate.percent)
        ),
    }
}

fn sum(layout: &mut Layout<'_>, (label, amount): &(String, String), style: Style) {
    let element = Some(layout.element(Role::Paragraph, Layout::ROOT));
    let taken = layout.fonts.width(amount, style) + 10.0;
    layout.text(
        label,
        style,
        Column::left(MIDDLE, (RIGHT - taken).max(MIDDLE + 60.0)),
        element,
    );
    let y = layout.y - style.leading();
    layout.line(
        amount.clone(),
        style,
        Column::right(MIDDLE, RIGHT),
        y,
        element,
    );
    layout.y += 3.0;
}

/// Why no tax is charged, and how to pay.
fn notes(layout: &mut Layout<'_>, document: &Document, totals: &Totals, due: i64) {
    let language = document.language;
    for rate in &totals.by_rate {
        if let Some(reason) = exemption_reason(document, rate.category) {
            layout.paragraph(
                &format!("{}: {reason}", rate_label(document, rate)),
                TEXT,
                WHOLE,
            );
        }
    }
    if document.kind == DocumentKind::CreditNote && due > 0 {
        let note = language.pick(
            "The amount is set off against what is due, or refunded.",
            "Der Betrag wird mit offenen Forderungen verrechnet oder erstattet.",
        );
        layout.paragraph(note, TEXT, WHOLE);
    }
    if let Some(terms) = &document.payment_terms {
        layout.paragraph(terms, TEXT, WHOLE);
    }
    if document.kind == DocumentKind::CreditNote {
        return;
    }
    if due <= 0 {
        let note = language.pick("Nothing is to be paid.", "Es ist nichts zu zahlen.");
        layout.paragraph(note, TEXT, WHOLE);
        return;
    }
    let Some(iban) = &document.seller.iban else {
        return;
    };
    let amount = language.money(due, &document.currency);
    let by = document.due_date.map(|date| language.date(date));
    let request = match (language, by) {
        (crate::Language::En, Some(by)) => format!("Please transfer {amount} by {by} to:"),
        (crate::Language::En, None) => format!("Please transfer {amount} to:"),
        (crate::Language::De, Some(by)) => {
            format!("Bitte überweisen Sie {amount} bis zum {by} an:")
        }
        (crate::Language::De, None) => format!("Bitte überweisen Sie {amount} an:"),
    };
    let mut rows = vec![
        request,
        document.seller.party.legal_name.clone().unwrap_or_default(),
        format!("IBAN {}", in_fours(iban)),
    ];
    rows.extend(document.seller.bic.as_ref().map(|bic| format!("BIC {bic}")));
    let label = language.pick("Reference", "Verwendungszweck");
    rows.push(format!("{label} {}", document.number));
    layout.y += 4.0;
    #[allow(clippy::cast_precision_loss, reason = "there are five rows")]
    let height = rows.len() as f32 * TEXT.leading();
    if !layout.fits(height) {
        layout.next_page();
    }
    for row in rows {
        layout.paragraph(&row, TEXT, WHOLE);
    }
}

/// An IBAN as people read it, in groups of four.
fn in_fours(iban: &str) -> String {
    let letters: Vec<char> = iban
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let groups: Vec<String> = letters
        .chunks(4)
        .map(|group| group.iter().collect())
        .collect();
    groups.join("\u{a0}")
}

/// Who the seller is, for the foot of each page.
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

/// The foot of each page with its number, and the running head of all but the first.
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
            crate::Language::En => format!("Page {} of {count}", at + 1),
            crate::Language::De => format!("Seite {} von {count}", at + 1),
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
    use crate::Language;
    use crate::pdf::layout::{Mark, WIDTH};
    use crate::samples;

    /// The texts of each page, from top to bottom.
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
            Some("Ελλάδα Київ Łódź \u{200f}東京\u{1}\u{feff}".to_owned());
        let shown = pages(&document).concat();
        assert!(
            shown.contains(&"Ελλάδα Київ Łódź \u{fffd}\u{fffd}".to_owned()),
            "{shown:?}"
        );
    }
}
