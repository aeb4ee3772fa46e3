//! What credit notes credit of an invoice, and how that is split into rates of tax.
//!
//! An amount is credited at the rates that are left of the invoice, in proportion to what is left at each, so that the amounts of all credit
//! notes of an invoice add up to those of the invoice, rate by rate, when it is credited as a whole. Single lines are credited at their own
//! rates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::totals::TaxAmount;
use crate::stored::is_default;
use kernel::id::Id;

/// What credit notes have credited of an invoice so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credits {
    pub by_rate: Vec<TaxAmount>,
    /// Of the lines that were credited singly.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lines: BTreeMap<Id, Vec<TaxAmount>>,
    /// What refunds of credit notes have failed to return, in minor units.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unrefunded: i64,
}

/// Where the amount of a credit note goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOff {
    /// It is taken off what is due, and the rest is refunded.
    Due,
    /// All that is due is taken off. What was paid stays with the sessions, which another invoice bills.
    Void,
    /// It was refunded.
    Refunded,
}

impl Credits {
    /// Minor units with tax.
    pub fn gross(&self) -> i64 {
        gross(&self.by_rate)
    }
}

/// The gross amount of several rates, in minor units.
pub fn gross(taxes: &[TaxAmount]) -> i64 {
    taxes.iter().map(TaxAmount::gross).sum()
}

/// What is left of amounts by rate, without those of which nothing is left.
pub(super) fn less(taxes: &[TaxAmount], taken: &[TaxAmount]) -> Vec<TaxAmount> {
    let mut left = taxes.to_vec();
    for one in taken {
        one.negated().add_to(&mut left);
    }
    left.retain(|one| (one.net, one.tax) != (0, 0));
    left
}

/// The parts of a gross amount at several rates, in proportion to their gross amounts. What does not divide goes to the largest remainders.
pub(super) fn share(of: &[TaxAmount], amount: i64) -> Vec<TaxAmount> {
    let whole = i128::from(gross(of));
    if whole <= 0 {
        return Vec::new();
    }
    let exact = |one: &TaxAmount| i128::from(amount) * i128::from(one.gross());
    let mut parts: Vec<i128> = of.iter().map(|one| exact(one).div_euclid(whole)).collect();
    let mut places: Vec<usize> = (0..of.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(exact(&of[*place]).rem_euclid(whole)));
    let missing = i128::from(amount) - parts.iter().sum::<i128>();
    let missing = usize::try_from(missing).unwrap_or_default();
    for place in places.into_iter().take(missing) {
        parts[place] += 1;
    }
    let parts = of.iter().zip(parts).map(|(one, part)| part_of(one, part));
    parts.filter(|one| (one.net, one.tax) != (0, 0)).collect()
}

/// A part of the gross amount of a rate, with the tax that this part has. Half a unit is rounded away from zero.
fn part_of(one: &TaxAmount, part: i128) -> TaxAmount {
    let gross = i128::from(one.gross());
    if part == gross || gross == 0 {
        return one.clone();
    }
    let exact = part * i128::from(one.net);
    let net = (2 * exact.abs() + gross.abs()) / (2 * gross.abs());
    let net = net * exact.signum() * gross.signum();
    let narrow = |wide: i128| i64::try_from(wide).unwrap_or_default();
    TaxAmount {
        net: narrow(net),
        tax: narrow(part - net),
        ..one.clone()
    }
}
