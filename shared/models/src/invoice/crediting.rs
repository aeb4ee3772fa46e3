//! The transitions of an invoice by which it is credited.

use std::collections::BTreeMap;

use super::credits::{MOST_LINES, SetOff, gross, less, share, within};
use super::totals::TaxAmount;
use super::{Invoice, InvoiceStatus, LineItem};
use crate::stored::Stored;
use kernel::{Error, Id, Kind, Result, Timestamp};

impl Stored<Invoice> {
    /// Returns the amounts that can still be credited, by tax rate.
    fn left(&self) -> Vec<TaxAmount> {
        less(&self.object.totals.by_rate, &self.internal.credits.by_rate)
    }

    /// Returns the total amount that can still be credited, in minor units: for a draft at most the amount due.
    pub fn creditable(&self) -> i64 {
        match self.object.status {
            InvoiceStatus::Draft => self.object.amount_due.max(0),
            InvoiceStatus::Void => 0,
            _ => gross(&self.left()).max(0),
        }
    }

    /// Returns the amount of a line that is not credited individually, in minor units.
    pub fn creditable_of(&self, line: &LineItem) -> i64 {
        gross(&self.left_of(line)).max(0)
    }

    /// Returns the amounts of a line that are not credited individually, by tax rate.
    fn left_of(&self, line: &LineItem) -> Vec<TaxAmount> {
        let credited = self.internal.credits.lines.get(&line.id);
        less(&line.taxes, credited.map_or(&[][..], Vec::as_slice))
    }

    /// Splits an amount to credit into tax rates.
    ///
    /// # Errors
    /// 400 if the amount is more than can still be credited.
    pub fn credit_of(&self, amount: i64) -> Result<Vec<TaxAmount>> {
        let most = self.creditable();
        if amount > most {
            let message = format!("must be at most {most}, which is what is left of the invoice");
            return Err(Error::invalid("amount", message));
        }
        Ok(share(&self.left(), amount))
    }

    /// Splits an amount that was refunded for a line into tax rates: as much as is left of the line at its own rates, and the rest at those of
    /// the invoice. The first part is empty if the line cannot be credited individually.
    pub fn credit_of_refund(
        &self,
        line: &LineItem,
        amount: i64,
    ) -> (Vec<TaxAmount>, Vec<TaxAmount>) {
        let left = self.left();
        let mut of_line = within(&self.left_of(line), &left);
        if !self.internal.credits.has_room(&line.id) {
            of_line.clear();
        }
        let most = gross(&of_line).max(0);
        let of_line = share(&of_line, amount.min(most));
        let rest = share(&less(&left, &of_line), amount - gross(&of_line));
        (of_line, rest)
    }

    /// Splits the amount to credit of each line into tax rates. Without an amount the rest of the line is credited, as far as the invoice
    /// has as much left at its rates.
    ///
    /// # Errors
    /// 400 for more than is left to credit of a line and of its rates, or of the invoice; 409 if more than 500 lines of the invoice would
    /// be credited individually.
    pub fn credit_of_lines(
        &self,
        lines: &[(&LineItem, Option<i64>)],
    ) -> Result<Vec<Vec<TaxAmount>>> {
        let noted = &self.internal.credits.lines;
        let new = lines
            .iter()
            .filter(|(line, _)| !noted.contains_key(&line.id));
        if noted.len() + new.count() > MOST_LINES {
            let message = "500 lines of the invoice were credited singly; please credit an amount of the invoice.";
            return Err(Error::conflict(message, Some(Kind::Invoice.name())));
        }
        let mut left = self.left();
        let mut found = Vec::new();
        for (place, (line, amount)) in lines.iter().enumerate() {
            let of_line = within(&self.left_of(line), &left);
            let most = gross(&of_line).max(0);
            let taxes = share(&of_line, amount.unwrap_or(most));
            if taxes.is_empty() || amount.is_some_and(|amount| amount > most) {
                let message = format!(
                    "must be at most {most}, which is what is left of the line and of its rates of tax on the invoice"
                );
                return Err(Error::invalid(format!("lines[{place}].amount"), message));
            }
            left = less(&left, &taxes);
            found.push(taxes);
        }
        let sum: i64 = found.iter().map(|taxes| gross(taxes)).sum();
        let most = self.creditable();
        if sum > most {
            let message =
                format!("must add up to at most {most}, which is what is left of the invoice");
            return Err(Error::invalid("lines", message));
        }
        Ok(found)
    }

    /// Checks whether a credit of a network has exactly its own taxes: one that moves an amount to another rate, or if the invoice has as
    /// much left at its rates.
    pub fn has_taxes(&self, credited: &[TaxAmount]) -> bool {
        moves_between_rates(credited) || is_left(&self.left(), credited)
    }

    /// Checks whether a line has an amount left at every rate at which a credit is negative; `taxes` are those of the credit's own line.
    pub fn has_rates(&self, line: &LineItem, taxes: &[TaxAmount]) -> bool {
        let left = self.left_of(line);
        let has = |tax: &TaxAmount| {
            let mut left = left.iter();
            left.any(|left| left.is_like(tax) && left.gross() > 0)
        };
        taxes.iter().filter(|tax| tax.gross() < 0).all(has)
    }

    /// Checks whether a line can be credited with these taxes: it has as much left at their rates, or they move an amount to another rate.
    pub fn can_credit(&self, line: &LineItem, credited: &[TaxAmount]) -> bool {
        let has_room = self.internal.credits.has_room(&line.id);
        has_room && (moves_between_rates(credited) || is_left(&self.left_of(line), credited))
    }

    /// Deducts a credit note from the invoice. Returns the part that was deducted from the amount due, and the part to refund. If nothing
    /// is due any more, the invoice becomes paid.
    ///
    /// # Errors
    /// 409 unless the invoice is final and not void, and if a payment of it is in progress.
    pub fn credit(
        &mut self,
        lines: &[(Option<Id>, Vec<TaxAmount>)],
        set_off: SetOff,
        now: Timestamp,
    ) -> Result<(i64, i64)> {
        let refuse = |why| Err(Error::conflict(why, Some(Kind::Invoice.name())));
        if self.object.number.is_none() {
            return refuse("A draft has no credit notes.");
        }
        if self.object.status == InvoiceStatus::Void && set_off != SetOff::Void {
            return refuse("A void invoice has been credited as a whole.");
        }
        if self.internal.attempt.is_some() && set_off != SetOff::Refunded {
            return refuse("A payment of the invoice is in progress.");
        }
        let mut amount = 0;
        for (line, taxes) in lines {
            amount += gross(taxes);
            let credits = &mut self.internal.credits;
            for tax in taxes {
                tax.add_to(&mut credits.by_rate);
                if let Some(line) = line {
                    tax.add_to(credits.lines.entry(line.clone()).or_default());
                }
            }
        }
        let due = self.object.amount_due;
        let (credited, refunded) = match set_off {
            SetOff::Due => (amount.min(due), amount - amount.min(due)),
            SetOff::Void => (due, 0),
            SetOff::Refunded => (0, amount),
        };
        self.object.amount_due -= credited;
        self.object.totals.due = self.object.amount_due;
        self.object.totals.credited += credited;
        let is_open = matches!(
            self.object.status,
            InvoiceStatus::Open | InvoiceStatus::Uncollectible
        );
        if is_open && credited > 0 && self.object.amount_due == 0 {
            self.settle(None, now);
            self.internal.sessions_unpaid = true;
        }
        Ok((credited, refunded))
    }

    /// Adds the line of a credit to a draft; `paid` of it is settled already, and `refunded` of that by refunds.
    pub fn add_line(&mut self, line: &LineItem, paid: i64, refunded: i64) {
        let invoice = &mut self.object;
        invoice.totals.add(line.sums(), paid, refunded);
        invoice.amount_due = invoice.totals.due;
        let paid = invoice.totals.paid;
        invoice.amount_paid = (paid != 0 || invoice.amount_paid.is_some()).then_some(paid);
    }

    /// Records the amounts of single lines that a line of the draft credits, so that they are not credited again.
    pub fn credit_lines(&mut self, lines: &BTreeMap<Id, Vec<TaxAmount>>) {
        self.internal.credits.add_lines(lines);
    }

    /// Records that a refund of a credit note has failed.
    pub fn note_unrefunded(&mut self, amount: i64) {
        self.internal.credits.unrefunded += amount;
    }

    /// Returns the part of a refund that is not covered by an earlier credit note whose own refund has failed.
    pub fn cover_refund(&mut self, amount: i64) -> i64 {
        let unrefunded = &mut self.internal.credits.unrefunded;
        let covered = amount.min(*unrefunded);
        *unrefunded -= covered;
        amount - covered
    }
}

/// Checks whether a credit moves an amount from one rate to another, and so bills a part of it.
fn moves_between_rates(credited: &[TaxAmount]) -> bool {
    credited.iter().any(|tax| tax.gross() < 0)
}

/// Checks whether at least these amounts are left at their rates.
fn is_left(left: &[TaxAmount], taxes: &[TaxAmount]) -> bool {
    taxes.iter().all(|tax| {
        let mut left = left.iter().filter(|left| left.is_like(tax));
        left.any(|left| left.net >= tax.net && left.tax >= tax.tax)
    })
}
