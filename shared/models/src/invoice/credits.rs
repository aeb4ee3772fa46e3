//! The amounts that credit notes credit on an invoice, and their split into tax rates.
//!
//! An amount is credited at the tax rates of the invoice, in proportion to what is left to credit at each rate. When an invoice is credited
//! as a whole, the amounts of all its credit notes therefore add up to those of the invoice, rate by rate. Single lines are credited at
//! their own rates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::totals::TaxAmount;
use crate::stored::is_default;
use kernel::Id;

/// The maximum number of lines that can be credited individually. The invoice stores the credits of each of them, and its item stays well
/// below the 400 KB that DynamoDB allows.
pub(super) const MOST_LINES: usize = 500;

/// The amounts that credit notes have credited on an invoice so far. The credits of a draft are lines of it; only the lines that they credit
/// are noted here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credits {
    pub by_rate: Vec<TaxAmount>,
    /// The credited amounts of the lines that were credited individually, also while the invoice was a draft.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lines: BTreeMap<Id, Vec<TaxAmount>>,
    /// The amount of failed refunds of credit notes, in minor units.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unrefunded: i64,
}

/// The use of the amount of a credit note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOff {
    /// It is deducted from the amount due, and the rest is refunded.
    Due,
    /// The whole amount due is deducted. The amount paid stays with the sessions, which another invoice bills.
    Void,
    /// It was refunded already.
    Refunded,
}

impl Credits {
    /// Adds amounts to those of single lines, as far as there is room for the lines.
    pub(super) fn add_lines(&mut self, lines: &BTreeMap<Id, Vec<TaxAmount>>) {
        for (line, taxes) in lines {
            if !self.has_room(line) {
                continue;
            }
            let credited = self.lines.entry(line.clone()).or_default();
            taxes.iter().for_each(|tax| tax.add_to(credited));
        }
    }

    /// Checks whether a line can be credited individually: fewer than the maximum number of lines were, or this one was.
    pub(super) fn has_room(&self, line: &Id) -> bool {
        self.lines.contains_key(line) || self.lines.len() < MOST_LINES
    }

    /// Returns the credited amount with tax, in minor units.
    pub fn gross(&self) -> i64 {
        gross(&self.by_rate)
    }
}

/// Returns the gross amount of several tax rates, in minor units.
pub fn gross(taxes: &[TaxAmount]) -> i64 {
    taxes.iter().map(TaxAmount::gross).sum()
}

/// Subtracts amounts by tax rate. Rates of which nothing is left are omitted.
pub(super) fn less(taxes: &[TaxAmount], taken: &[TaxAmount]) -> Vec<TaxAmount> {
    let mut left = taxes.to_vec();
    for tax in taken {
        tax.negated().add_to(&mut left);
    }
    left.retain(|tax| (tax.net, tax.tax) != (0, 0));
    left
}

/// Limits amounts to what is left at their rates.
pub(super) fn within(taxes: &[TaxAmount], left: &[TaxAmount]) -> Vec<TaxAmount> {
    let fitting = taxes.iter().filter_map(|tax| {
        if tax.gross() <= 0 {
            return Some(tax);
        }
        let at_rate = left.iter().find(|other| other.is_like(tax));
        let at_rate = at_rate.filter(|at_rate| at_rate.gross() > 0)?;
        Some(if at_rate.gross() < tax.gross() {
            at_rate
        } else {
            tax
        })
    });
    fitting.cloned().collect()
}

/// Splits a gross amount into tax rates, in proportion to their gross amounts. The undivided rest goes to the largest remainders.
pub(super) fn share(of: &[TaxAmount], amount: i64) -> Vec<TaxAmount> {
    let whole = i128::from(gross(of));
    if whole <= 0 {
        return Vec::new();
    }
    let exact = |tax: &TaxAmount| i128::from(amount) * i128::from(tax.gross());
    let mut parts: Vec<i128> = of.iter().map(|tax| exact(tax).div_euclid(whole)).collect();
    let mut places: Vec<usize> = (0..of.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(exact(&of[*place]).rem_euclid(whole)));
    let missing = i128::from(amount) - parts.iter().sum::<i128>();
    let missing = usize::try_from(missing).unwrap_or_default();
    for place in places.into_iter().take(missing) {
        parts[place] += 1;
    }
    let parts = of.iter().zip(parts).map(|(tax, part)| part_of(tax, part));
    parts.filter(|tax| (tax.net, tax.tax) != (0, 0)).collect()
}

/// Returns a part of the gross amount of a tax rate with the tax of this part. Half a unit is rounded away from zero.
fn part_of(tax: &TaxAmount, part: i128) -> TaxAmount {
    let gross = i128::from(tax.gross());
    if part == gross || gross == 0 {
        return tax.clone();
    }
    let exact = part * i128::from(tax.net);
    let net = (2 * exact.abs() + gross.abs()) / (2 * gross.abs());
    let net = net * exact.signum() * gross.signum();
    let narrow = |wide: i128| i64::try_from(wide).unwrap_or_default();
    TaxAmount {
        net: narrow(net),
        tax: narrow(part - net),
        ..tax.clone()
    }
}
