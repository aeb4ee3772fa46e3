//! Credit notes: amounts credited on a final invoice, each as a document with a number of its own.
//!
//! A credit note is created by a request, by the voiding of its invoice, by a refund of a payment of the invoice, or because a charging
//! network has credited a session. It never changes. Its amount is deducted from the amount due on the invoice, and the rest is refunded,
//! except what earlier refunds have returned. The total of all credit notes of an invoice never exceeds the amount of the invoice. A draft
//! has no credit notes: a credit becomes a line of the draft, and its record names the invoice that has the line.

pub mod request;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::event_type::EventType;
use super::invoice::{Buyer, Invoice, Seller, SetOff, TaxAmount};
use super::search::SearchField;
use super::stored::{Object, Stored};
use super::{invoice, sized};
use kernel::fields::text::Description;
use kernel::{Currency, Id, Kind, Result, Timestamp};

/// The maximum number of lines of a credit note.
pub const MOST_LINES: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreditNote {
    pub id: Id,
    pub object: Kind,
    /// Amount of the credit, in minor units of `currency`, tax included.
    pub amount: i64,
    /// The buyer as the invoice names it; null for a credit on a draft.
    #[schema(required)]
    pub buyer: Option<Buyer>,
    pub created: Timestamp,
    /// Currency of all amounts: that of the invoice.
    pub currency: Currency,
    /// The fleet of the invoice; null for an invoice of the whole account.
    #[schema(required)]
    pub fleet: Option<Id>,
    /// The invoice that is credited. If a draft with a credit is deleted, or voided later, this is the next invoice that has the credit as
    /// a line, a moment after that invoice was created.
    pub invoice: Id,
    /// Number of the invoice; null for a credit on a draft.
    #[schema(required, example = "2026-17")]
    pub invoice_number: Option<String>,
    /// The line of the draft that represents the credit. Such a credit has no number and no document; null for a credit note of a final
    /// invoice.
    #[schema(required)]
    pub line_item: Option<Id>,
    /// The entries of the credit note: one for each credited line item, or a single one for an amount.
    #[schema(max_items = 50)]
    pub lines: Vec<CreditNoteLine>,
    /// `<prefix>CN<year>-<sequence>`, without gaps for each account, mode and year; null for a credit on a draft.
    #[schema(required, example = "CN2026-3")]
    pub number: Option<String>,
    /// The reason for the credit; null if it was not stated.
    #[schema(required)]
    pub reason: Option<Description>,
    /// The seller as the invoice names it; null for a credit on a draft.
    #[schema(required)]
    pub seller: Option<Seller>,
    /// Sums of the lines, and the parts of the amount that are credited and refunded.
    pub totals: CreditNoteTotals,
    /// The cause of the credit note.
    #[serde(rename = "type")]
    pub kind: CreditNoteType,
}

/// One entry of a credit note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreditNoteLine {
    /// Minor units, tax included.
    pub amount: i64,
    /// Text of the credited line, or the reason for the credit of an amount.
    #[schema(max_length = 1000)]
    pub description: String,
    /// Id of the line of the invoice; null for an amount of the whole invoice.
    #[schema(required)]
    pub line_item: Option<Id>,
    /// Minor units without tax.
    pub net: i64,
    /// Minor units of tax.
    pub tax: i64,
    /// The components of `net` and `tax`: one for each country, rate and category.
    pub taxes: Vec<TaxAmount>,
}

/// The sums of a credit note, in minor units of its currency.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreditNoteTotals {
    /// Without tax.
    pub net: i64,
    /// Minor units of tax.
    pub tax: i64,
    /// With tax: the same as `amount`.
    pub gross: i64,
    /// The part that was deducted from the amount due of the invoice.
    pub credited: i64,
    /// The part that is refunded. What earlier refunds have returned is not refunded again. The transactions with this `credit_note` show the
    /// status of the refund.
    pub refunded: i64,
    /// The components of `net` and `tax`, by country, rate and category.
    pub by_rate: Vec<TaxAmount>,
}

/// The cause of a credit note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreditNoteType {
    /// A request.
    Manual,
    /// A charging network has credited a session or a reservation.
    Network,
    /// A refund of a payment of the invoice.
    Refund,
    /// The voiding of the invoice.
    Void,
}

impl Object for CreditNote {
    type Internal = ();

    const KIND: Kind = Kind::CreditNote;

    fn id(&self) -> &Id {
        &self.id
    }

    fn names(&self) -> Vec<(SearchField, &str)> {
        let number = self.number.iter();
        number
            .map(|number| (SearchField::Number, number.as_str()))
            .collect()
    }
}

/// A credit that is to be issued.
#[derive(Debug, Clone)]
pub struct Credit {
    pub kind: CreditNoteType,
    pub lines: Vec<CreditNoteLine>,
    pub reason: Option<Description>,
}

impl CreditNoteType {
    fn set_off(self) -> SetOff {
        match self {
            Self::Manual | Self::Network => SetOff::Due,
            Self::Refund => SetOff::Refunded,
            Self::Void => SetOff::Void,
        }
    }

    /// Returns the description of the credit of an amount if no reason was stated.
    fn describe(self) -> &'static str {
        match self {
            Self::Manual => "Credit",
            Self::Network => "Credit of the charging network",
            Self::Refund => "Refund",
            Self::Void => "Cancellation of the invoice",
        }
    }
}

impl CreditNoteLine {
    fn new(line_item: Option<Id>, description: String, taxes: Vec<TaxAmount>) -> Self {
        Self {
            amount: invoice::gross(&taxes),
            description,
            line_item,
            net: taxes.iter().map(|tax| tax.net).sum(),
            tax: taxes.iter().map(|tax| tax.tax).sum(),
            taxes,
        }
    }

    /// Returns the credit of a part of a line of an invoice.
    pub fn of_line(line: &invoice::LineItem, taxes: Vec<TaxAmount>) -> Self {
        Self::new(Some(line.id.clone()), line.description.clone(), taxes)
    }
}

impl Credit {
    /// Returns the credit of an amount of a whole invoice.
    pub fn of_amount(
        kind: CreditNoteType,
        taxes: Vec<TaxAmount>,
        reason: Option<Description>,
    ) -> Self {
        let described = reason.as_ref().map(|reason| reason.as_str().to_owned());
        let described = described.unwrap_or_else(|| kind.describe().to_owned());
        Self {
            kind,
            lines: vec![CreditNoteLine::new(None, described, taxes)],
            reason,
        }
    }

    /// Returns the credit of an amount that was refunded for a line of an invoice.
    pub fn of_refund(
        invoice: &Stored<Invoice>,
        line: &invoice::LineItem,
        amount: i64,
        reason: Option<Description>,
    ) -> Self {
        let kind = CreditNoteType::Refund;
        let (of_line, rest) = invoice.credit_of_refund(line, amount);
        let mut credit = Self::of_amount(kind, rest, reason);
        if !of_line.is_empty() {
            credit
                .lines
                .insert(0, CreditNoteLine::of_line(line, of_line));
            credit.lines.retain(|line| !line.taxes.is_empty());
        }
        credit
    }

    /// Returns the text of the credit, for a line of an invoice.
    pub fn describe(&self) -> String {
        let reason = self.reason.as_ref();
        let reason = reason.map(|reason| reason.as_str().to_owned());
        reason.unwrap_or_else(|| match &self.lines[..] {
            [line] if line.line_item.is_some() => format!("Credit: {}", line.description),
            _ => self.kind.describe().to_owned(),
        })
    }

    /// Returns the credited amount, in minor units.
    pub fn amount(&self) -> i64 {
        self.lines.iter().map(|line| line.amount).sum()
    }

    /// Returns the amounts of the lines that are credited individually, by tax rate.
    pub fn by_line(&self) -> BTreeMap<Id, Vec<TaxAmount>> {
        let of_line = |line: &CreditNoteLine| Some((line.line_item.clone()?, line.taxes.clone()));
        self.lines.iter().filter_map(of_line).collect()
    }

    /// Returns the amounts by tax rate.
    pub fn by_rate(&self) -> Vec<TaxAmount> {
        invoice::by_rate(self.lines.iter().flat_map(|line| &line.taxes))
    }
}

impl CreditNote {
    /// Deducts a credit from a final invoice, and returns the credit note with this number.
    ///
    /// # Errors
    /// Those of [`Stored::credit`].
    pub fn issue(
        invoice: &mut Stored<Invoice>,
        credit: Credit,
        number: String,
        now: Timestamp,
    ) -> Result<Stored<Self>> {
        let taken: Vec<(Option<Id>, Vec<TaxAmount>)> = credit
            .lines
            .iter()
            .map(|line| (line.line_item.clone(), line.taxes.clone()))
            .collect();
        let (credited, refunded) = invoice.credit(&taken, credit.kind.set_off(), now)?;
        let mut note = Self::of(&invoice.object, credit, now);
        note.buyer.clone_from(&invoice.object.buyer);
        note.seller.clone_from(&invoice.object.seller);
        note.invoice_number.clone_from(&invoice.object.number);
        note.number = Some(number);
        note.totals.credited = credited;
        note.totals.refunded = refunded;
        Ok(Stored::new(sized(note)?).recording(EventType::CreditNoteCreated))
    }

    /// Returns the record of a credit that is a line of a draft. Its id has the number of the adjustment and its line.
    ///
    /// # Errors
    /// 400 if it is too large.
    pub fn on_draft(
        draft: &Invoice,
        credit: Credit,
        line_item: Id,
        now: Timestamp,
    ) -> Result<Stored<Self>> {
        let mut note = Self::of(draft, credit, now);
        note.id = line_item.as_kind(Kind::CreditNote);
        note.line_item = Some(line_item);
        Ok(Stored::new(sized(note)?).recording(EventType::CreditNoteCreated))
    }

    /// Divides a credit note of an invoice of the whole account among the fleets of its lines, which are given by the ids of the lines. The
    /// parts differ in `fleet` and in the deducted amount, `totals.credited`.
    pub fn by_fleet(self, fleets: &HashMap<Id, Id>) -> Vec<Self> {
        if self.fleet.is_some() || self.amount <= 0 {
            return vec![self];
        }
        let part = |(fleet, credited): (Option<Id>, i64)| {
            let mut part = self.clone();
            part.fleet = fleet;
            part.totals.credited = credited;
            part
        };
        let parts = self.divide(self.totals.credited, fleets, |_| 0).into_iter();
        parts.map(part).collect()
    }

    /// Divides an amount of the credit note among the fleets of its lines, in proportion to what is left of the lines without the amount that
    /// `less` returns for each. The part of entries without a line, or whose fleet is unknown, has no fleet.
    pub fn divide(
        &self,
        amount: i64,
        fleets: &HashMap<Id, Id>,
        less: impl Fn(&Id) -> i64,
    ) -> BTreeMap<Option<Id>, i64> {
        let weight = |line: &CreditNoteLine| {
            let less = line.line_item.as_ref().map_or(0, &less);
            i128::from(line.amount - less).max(0)
        };
        let whole: i128 = self.lines.iter().map(weight).sum();
        if whole == 0 {
            return BTreeMap::from([(None, amount)]);
        }
        let mut parts: BTreeMap<Option<Id>, i64> = BTreeMap::new();
        let (mut gross, mut divided) = (0, 0);
        for line in &self.lines {
            gross += weight(line);
            // Each line has the rest up to its end, so that the parts add up to the whole.
            let until = i128::from(amount) * gross / whole;
            let fleet = line.line_item.as_ref().and_then(|id| fleets.get(id));
            *parts.entry(fleet.cloned()).or_default() +=
                i64::try_from(until - divided).unwrap_or_default();
            divided = until;
        }
        parts
    }

    fn of(invoice: &Invoice, credit: Credit, now: Timestamp) -> Self {
        let sum = |of: fn(&CreditNoteLine) -> i64| credit.lines.iter().map(of).sum();
        let totals = CreditNoteTotals {
            net: sum(|line| line.net),
            tax: sum(|line| line.tax),
            gross: credit.amount(),
            by_rate: credit.by_rate(),
            ..CreditNoteTotals::default()
        };
        Self {
            id: Id::new(Kind::CreditNote, now),
            object: Kind::CreditNote,
            amount: credit.amount(),
            buyer: None,
            created: now,
            currency: invoice.currency,
            fleet: invoice.fleet.clone(),
            invoice: invoice.id.clone(),
            invoice_number: None,
            line_item: None,
            lines: credit.lines,
            number: None,
            reason: credit.reason,
            seller: None,
            totals,
            kind: credit.kind,
        }
    }
}
