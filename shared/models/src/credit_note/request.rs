//! The body that creates a credit note, and the computation of the credited amounts.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use serde::Deserialize;
use utoipa::ToSchema;

use super::{Credit, CreditNoteLine, CreditNoteType, MOST_LINES};
use crate::body::RequestBody;
use crate::invoice::{Invoice, LineItem};
use crate::stored::Stored;
use crate::transaction::RefundDestination;
use kernel::fields::text::Description;
use kernel::{Error, Id, Result};

/// The body of `POST /v1/credit_notes`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCreditNote {
    /// The amount to credit, in minor units of the invoice's currency, tax included, at the rates of the invoice. Either this or `lines`.
    #[schema(value_type = Option<u64>, minimum = 1)]
    pub amount: Option<NonZeroU64>,
    /// Destination of the refunded part. Default `original`: the charges that have paid the invoice and its sessions and fees, up to what is
    /// left of them. With `wallet` the same charges are refunded to the wallet of the fleet, or of the account for its own invoices; an
    /// amount that no charge has paid always is. At most 40 charges are refunded at once: 409 for more, and while another refund of them
    /// is pending.
    pub destination: Option<RefundDestination>,
    /// The invoice that is credited.
    pub invoice: Id,
    /// The lines to credit, each at most once. Either this or `amount`. At most 500 lines of an invoice can be credited individually: 409
    /// for more. Amounts of the whole invoice can still be credited after that.
    #[schema(min_items = 1, max_items = 50)]
    pub lines: Option<Vec<NewCreditLine>>,
    /// The reason for the credit. The documents show it.
    pub reason: Option<Description>,
}

/// A line of an invoice that is credited.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCreditLine {
    /// The amount to credit, in minor units, tax included. Default: the part of the line that is not credited yet, at most what is left of
    /// the invoice at the rates of the line.
    #[schema(value_type = Option<u64>, minimum = 1)]
    pub amount: Option<NonZeroU64>,
    /// Id of the line.
    pub line_item: Id,
}

impl RequestBody for NewCreditNote {}

fn minor_units(amount: NonZeroU64) -> i64 {
    i64::try_from(amount.get()).unwrap_or(i64::MAX)
}

impl NewCreditNote {
    /// Checks the rules that depend on the body alone.
    ///
    /// # Errors
    /// 400 with the field at fault.
    pub fn check(&self) -> Result<()> {
        let Some(lines) = &self.lines else {
            return match self.amount {
                Some(_) => Ok(()),
                None => Err(Error::invalid("amount", "is required without lines")),
            };
        };
        if self.amount.is_some() {
            let message = "must be left out where lines are given";
            return Err(Error::invalid("amount", message));
        }
        if !(1..=MOST_LINES).contains(&lines.len()) {
            let message = format!("must have 1 to {MOST_LINES} entries");
            return Err(Error::invalid("lines", message));
        }
        let mut seen = BTreeSet::new();
        let again = lines.iter().position(|line| !seen.insert(&line.line_item));
        match again {
            Some(place) => {
                let param = format!("lines[{place}].line_item");
                Err(Error::invalid(param, "must be named once"))
            }
            None => Ok(()),
        }
    }

    /// Returns the ids of the lines that are credited individually.
    pub fn line_items(&self) -> impl Iterator<Item = &Id> {
        self.lines.iter().flatten().map(|line| &line.line_item)
    }

    /// Returns the credits of an invoice. `lines` are those of the invoice that the body names.
    ///
    /// # Errors
    /// 400 for a line that is not on the invoice, and for more than is left to credit of the invoice or a line; 409 for the 501st line.
    pub fn credit(
        &self,
        invoice: &Stored<Invoice>,
        lines: &BTreeMap<Id, LineItem>,
    ) -> Result<Credit> {
        let (kind, reason) = (CreditNoteType::Manual, self.reason.clone());
        let Some(requested) = &self.lines else {
            let amount = self.amount.map_or(0, minor_units);
            return Ok(Credit::of_amount(kind, invoice.credit_of(amount)?, reason));
        };
        let mut found = Vec::new();
        for (place, line) in requested.iter().enumerate() {
            let param = format!("lines[{place}].line_item");
            let known = lines.get(&line.line_item);
            let known = known.ok_or_else(|| Error::invalid(param, "is no line of the invoice"))?;
            found.push((known, line.amount.map(minor_units)));
        }
        let taxes = invoice.credit_of_lines(&found)?.into_iter();
        let lines = found.iter().zip(taxes);
        let lines = lines.map(|((line, _), taxes)| CreditNoteLine::of_line(line, taxes));
        Ok(Credit {
            kind,
            lines: lines.collect(),
            reason,
        })
    }
}
