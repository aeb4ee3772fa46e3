//! The sums below the table, and the notes below them.

use rust_decimal::Decimal;

use super::layout::{Column, HEADING, Layout, MIDDLE, RIGHT, Role, Style, TEXT, WHOLE};
use crate::document::{Document, DocumentKind, Language, TaxCategory};
use crate::semantic::exemption_reason;
use crate::totals::{RateTotal, Totals};

/// Places the sums, which are together on a page.
pub fn sums(layout: &mut Layout<'_>, document: &Document, totals: &Totals, due: i64) {
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
    let settled = settled(document);
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

/// Returns the sums between the total and the amount due, each with its label.
fn settled(document: &Document) -> Vec<(String, String)> {
    let (language, currency) = (document.language, &document.currency);
    let mut settled = Vec::new();
    if document.rounding != 0 {
        settled.push((
            language.pick("Rounding", "Rundung").to_owned(),
            language.amount(document.rounding, currency),
        ));
    }
    if document.prepaid != 0 {
        let label = match document.kind {
            DocumentKind::Invoice => language.pick("Already paid", "Bereits bezahlt"),
            DocumentKind::CreditNote => language.pick("Already settled", "Bereits verrechnet"),
        };
        let refunded = language.money(document.refunded, currency);
        let refunded = match language {
            _ if document.refunded == 0 => String::new(),
            Language::En => format!(" ({refunded} of it refunded)"),
            Language::De => format!(" (davon {refunded} erstattet)"),
        };
        settled.push((
            format!("{label}{refunded}"),
            language.number(-Decimal::new(document.prepaid, currency.decimals.into())),
        ));
    }
    settled
}

/// Returns the label of a tax rate of a document.
fn rate_label(document: &Document, rate: &RateTotal) -> String {
    let language = document.language;
    let on = format!(
        "{} {}",
        language.pick("on", "auf"),
        language.money(rate.net, &document.currency)
    );
    let kind = match rate.category {
        TaxCategory::OutOfScope => {
            return format!("{} {on}", language.pick("No VAT", "Keine USt"));
        }
        TaxCategory::Standard => "",
        TaxCategory::Zero => language.pick(" (zero-rated)", " (Nullsatz)"),
        TaxCategory::Exempt => language.pick(" (exempt)", " (steuerfrei)"),
        TaxCategory::ReverseCharge => language.pick(" (reverse charge)", " (Reverse Charge)"),
    };
    let percent = language.percent(rate.percent);
    format!("{} {percent}{kind} {on}", language.pick("VAT", "USt"))
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

/// Places the note, the reasons why no tax is charged, and the payment details.
pub fn notes(layout: &mut Layout<'_>, document: &Document, totals: &Totals, due: i64) {
    let language = document.language;
    if let Some(note) = &document.note {
        layout.paragraph(note, TEXT, WHOLE);
    }
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
    if let Some(iban) = &document.seller.iban {
        transfer(layout, document, iban, due);
    }
}

/// Places the request to transfer what is due, with the account and the reference.
fn transfer(layout: &mut Layout<'_>, document: &Document, iban: &str, due: i64) {
    let language = document.language;
    let amount = language.money(due, &document.currency);
    let by = document.due_date.map(|date| language.date(date));
    let request = match (language, by) {
        (Language::En, Some(by)) => format!("Please transfer {amount} by {by} to:"),
        (Language::En, None) => format!("Please transfer {amount} to:"),
        (Language::De, Some(by)) => {
            format!("Bitte überweisen Sie {amount} bis zum {by} an:")
        }
        (Language::De, None) => format!("Bitte überweisen Sie {amount} an:"),
    };
    let mut lines = vec![
        request,
        document.seller.party.legal_name.clone().unwrap_or_default(),
        format!("IBAN {}", in_fours(iban)),
    ];
    lines.extend(document.seller.bic.as_ref().map(|bic| format!("BIC {bic}")));
    let label = language.pick("Reference", "Verwendungszweck");
    lines.push(format!("{label} {}", document.number));
    layout.y += 4.0;
    #[allow(clippy::cast_precision_loss, reason = "there are five rows")]
    let height = lines.len() as f32 * TEXT.leading();
    if !layout.fits(height) {
        layout.next_page();
    }
    for line in lines {
        layout.paragraph(&line, TEXT, WHOLE);
    }
}

/// Returns an IBAN in groups of four characters, for people.
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
