//! The table of lines.

use super::font::Fonts;
use super::layout::{Column, ElementId, LEFT, Layout, RIGHT, Role, SMALL, Style, TEXT};
use crate::document::{Document, Language, Line, TaxCategory};
use crate::language::details;

/// The columns of the lines: number, description, quantity, tax and net amount.
const COLUMNS: [Column; 5] = [
    Column::left(LEFT, LEFT + 24.0),
    Column::left(LEFT + 28.0, RIGHT - 204.0),
    Column::right(RIGHT - 198.0, RIGHT - 124.0),
    Column::right(RIGHT - 120.0, RIGHT - 82.0),
    Column::right(RIGHT - 78.0, RIGHT),
];

/// Places the lines in a table. Its head is repeated on each page.
pub fn lines(layout: &mut Layout<'_>, document: &Document) {
    // The head must not be the last element on a page.
    if !layout.fits(90.0) {
        layout.next_page();
    }
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
    let texts = description(language, line, layout.fonts);
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
        layout.line(text, style, COLUMNS[1], layout.y, cells[1]);
        layout.y += style.leading();
    }
    layout.y += GAP / 2.0 - 1.0;
    layout.rule(LEFT, RIGHT, 0.4, 205);
    layout.y += GAP / 2.0;
}

/// Returns the texts below one another in the column of descriptions: the description of a line, and its details in small type.
fn description(language: Language, line: &Line, fonts: &Fonts) -> Vec<(String, Style)> {
    let width = COLUMNS[1].width();
    let wrapped = fonts.wrap(&line.description, TEXT, width);
    let mut texts: Vec<_> = wrapped.into_iter().map(|text| (text, TEXT)).collect();
    let times = line.period.map(|period| language.times(period));
    let named = details(language, line)
        .into_iter()
        .map(|(label, value)| format!("{label}\u{a0}{value}"));
    for detail in grouped(times.into_iter().chain(named), fonts, width) {
        let wrapped = fonts.wrap(&detail, SMALL, width);
        texts.extend(wrapped.into_iter().map(|text| (text, SMALL)));
    }
    texts
}

/// Combines as many details on a line as fit there.
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
