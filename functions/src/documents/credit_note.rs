//! The content of the documents of a credit note.

use documents::{Document, DocumentKind, Line, Period, PrecedingInvoice, Unit};
use kernel::time::millis;
use kernel::{Error, Tenant, Timestamp};
use models::credit_note::CreditNoteLine;
use models::invoice::{Issued, LineItem};
use models::{CreditNote, Invoice, Stored};

use super::Documented;
use super::invoice::{lines_of, lines_of_invoice};
use super::parties::{buyer, category, currency, language, seller};
use crate::App;

impl Documented for CreditNote {
    fn number(&self) -> Option<&str> {
        self.number.as_deref()
    }

    async fn document(
        app: &App,
        tenant: &Tenant,
        stored: &Stored<Self>,
    ) -> Result<Document, Error> {
        let note = &stored.object;
        let invoice = app.store.get::<Invoice>(tenant, &note.invoice).await?;
        let issued = invoice.internal.issued.as_ref();
        let issued = issued.ok_or_else(|| Error::internal("a credit note of a draft"))?;
        let credited = if note.lines.iter().any(|line| line.line_item.is_some()) {
            lines_of_invoice(app, tenant, &invoice.object).await?
        } else {
            Vec::new()
        };
        Ok(of_credit_note(note, &invoice.object, issued, &credited))
    }
}

/// `credited` has the lines of the invoice, if the note credits some of them.
fn of_credit_note(
    note: &CreditNote,
    invoice: &Invoice,
    issued: &Issued,
    credited: &[LineItem],
) -> Document {
    let (seller_zone, buyer_zone) = (issued.seller_zone.rules(), issued.buyer_zone.rules());
    let day = |at: Timestamp| at.date_in(&seller_zone);
    let lines = note.lines.iter().flat_map(|line| {
        let mut credited = credited.iter();
        match credited.find(|credited| Some(&credited.id) == line.line_item.as_ref()) {
            Some(credited) => lines_of(&part_of(credited, line), issued.language, &buyer_zone),
            None => amounts_of(line),
        }
    });
    let lines: Vec<Line> = lines.collect();
    let gross = documents::Totals::of(&lines).map_or(note.amount, |totals| totals.gross);
    Document {
        kind: DocumentKind::CreditNote,
        number: note.number.clone().unwrap_or_default(),
        issue_date: day(note.created),
        due_date: None,
        period: Some(Period {
            start: invoice.period_start.date_in(&buyer_zone),
            end: invoice.period_end.plus(-millis(1)).date_in(&buyer_zone),
        }),
        currency: currency(note.currency),
        language: language(issued.language),
        seller: seller(note.seller.as_ref()),
        buyer: buyer(note.buyer.as_ref()),
        preceding_invoice: note.invoice_number.as_ref().map(|number| PrecedingInvoice {
            number: number.clone(),
            issue_date: invoice.finalized_at.map(day),
        }),
        note: None,
        payment_terms: None,
        exemption_reason: None,
        prepaid: 0,
        refunded: 0,
        rounding: note.amount - gross,
        lines,
        time_zone: Some(issued.buyer_zone.as_str().to_owned()),
    }
}

/// The credited part of a line of the invoice. The energy is that of the whole line, so a part of it has none.
fn part_of(line: &LineItem, credit: &CreditNoteLine) -> LineItem {
    let is_whole = credit.net == line.net && credit.taxes.len() == line.taxes.len();
    let mut part = line.clone();
    if !is_whole {
        part.energy_wh = 0;
        part.tax_components.clear();
    }
    (part.net, part.tax, part.taxes) = (credit.net, credit.tax, credit.taxes.clone());
    part
}

/// The document lines for an amount of the whole invoice: one for each tax rate.
fn amounts_of(line: &CreditNoteLine) -> Vec<Line> {
    let lines = line.taxes.iter().map(|rate| Line {
        description: line.description.clone(),
        quantity: 1.into(),
        unit: Unit::Piece,
        net_amount: rate.net,
        tax_percent: rate.tax_percent.decimal(),
        tax_category: category(rate.category),
        energy_wh: None,
        period: None,
        plate: None,
        driver: None,
        station: None,
        session: None,
        reservation: None,
    });
    lines.collect()
}
