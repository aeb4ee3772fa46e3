//! The arithmetic of a document, as EN 16931 prescribes it (BR-CO-10 to BR-CO-17): the tax is computed once for each category and rate,
//! from the sum of the net amounts of its lines, and rounded to the currency's minor unit.

use std::collections::BTreeMap;

use rust_decimal::{Decimal, RoundingStrategy, prelude::ToPrimitive};

use crate::document::{Line, TaxCategory};

/// The sums of lines, in minor units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// One entry per tax category and rate, ordered by both.
    pub by_rate: Vec<RateTotal>,
    pub net: i64,
    pub tax: i64,
    pub gross: i64,
}

/// The lines of one tax category and rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateTotal {
    pub category: TaxCategory,
    pub percent: Decimal,
    pub net: i64,
    pub tax: i64,
}

/// A sum does not fit in 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sum of the lines is too large")]
pub struct TooLarge;

impl Totals {
    /// Adds up lines. Half a minor unit of tax is rounded away from zero.
    ///
    /// # Errors
    /// [`TooLarge`] if a sum does not fit in 64 bits.
    pub fn of(lines: &[Line]) -> Result<Self, TooLarge> {
        let mut nets = BTreeMap::<(TaxCategory, Decimal), i64>::new();
        for line in lines {
            let net = nets
                .entry((line.tax_category, line.tax_percent.normalize()))
                .or_default();
            *net = net.checked_add(line.net_amount).ok_or(TooLarge)?;
        }
        let by_rate = nets
            .into_iter()
            .map(|((category, percent), net)| {
                let tax = tax(net, percent)?;
                Ok(RateTotal {
                    category,
                    percent,
                    net,
                    tax,
                })
            })
            .collect::<Result<Vec<_>, TooLarge>>()?;
        let net = sum(by_rate.iter().map(|rate| rate.net))?;
        let tax = sum(by_rate.iter().map(|rate| rate.tax))?;
        Ok(Self {
            net,
            tax,
            gross: net.checked_add(tax).ok_or(TooLarge)?,
            by_rate,
        })
    }

    /// Returns the amount that remains to be paid (BR-CO-16).
    ///
    /// # Errors
    /// [`TooLarge`] if it does not fit in 64 bits.
    pub fn due(&self, prepaid: i64, rounding: i64) -> Result<i64, TooLarge> {
        self.gross
            .checked_sub(prepaid)
            .and_then(|due| due.checked_add(rounding))
            .ok_or(TooLarge)
    }
}

fn tax(net: i64, percent: Decimal) -> Result<i64, TooLarge> {
    Decimal::from(net)
        .checked_mul(percent)
        .and_then(|product| product.checked_div(Decimal::ONE_HUNDRED))
        .and_then(|tax| {
            tax.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero)
                .to_i64()
        })
        .ok_or(TooLarge)
}

fn sum(mut amounts: impl Iterator<Item = i64>) -> Result<i64, TooLarge> {
    amounts.try_fold(0_i64, i64::checked_add).ok_or(TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    /// Returns the tax of a net amount as a fraction, rounded with integers only: half a unit away from zero.
    fn tax_of_fraction(net: i64, percent: Decimal) -> i64 {
        let numerator = i128::from(net) * percent.mantissa();
        let denominator = 100 * 10_i128.pow(percent.scale());
        let magnitude = (2 * numerator.abs() + denominator) / (2 * denominator);
        i64::try_from(magnitude * numerator.signum()).unwrap()
    }

    #[test]
    fn totals_by_rate_equal_those_of_fractions() {
        let mut rates = 0;
        for seed in 0..300 {
            let lines = samples::random(seed).lines;
            let totals = Totals::of(&lines).unwrap();
            for rate in &totals.by_rate {
                let net = lines
                    .iter()
                    .filter(|line| {
                        line.tax_category == rate.category && line.tax_percent == rate.percent
                    })
                    .map(|line| line.net_amount)
                    .sum();
                assert_eq!(rate.net, net);
                assert_eq!(rate.tax, tax_of_fraction(net, rate.percent));
                rates += 1;
            }
            let net: i64 = lines.iter().map(|line| line.net_amount).sum();
            let tax: i64 = totals.by_rate.iter().map(|rate| rate.tax).sum();
            assert_eq!(
                (totals.net, totals.tax, totals.gross),
                (net, tax, net + tax)
            );
        }
        assert!(rates > 900, "{rates}");
    }

    #[test]
    fn tax_is_rounded_once_per_rate_and_half_a_unit_away_from_zero() {
        let mut lines = vec![samples::fee("Fee", 5, 10), samples::fee("Fee", 5, 10)];
        lines[1].tax_percent = Decimal::new(1000, 2);
        assert_eq!(
            Totals::of(&lines).unwrap().tax,
            1,
            "10 and 10.00 are one rate"
        );
        lines.pop();
        assert_eq!(Totals::of(&lines).unwrap().tax, 1);
        lines[0].net_amount = -5;
        assert_eq!(Totals::of(&lines).unwrap().tax, -1);
    }

    #[test]
    fn what_remains_is_the_gross_total_without_what_was_paid() {
        let totals = Totals::of(&[samples::fee("Fee", 1_000, 19)]).unwrap();
        assert_eq!(totals.due(1_000, -1), Ok(189));
    }

    #[test]
    fn sums_beyond_64_bits_are_refused() {
        let lines = [i64::MAX, 1].map(|net| samples::fee("Fee", net, 0));
        assert_eq!(Totals::of(&lines), Err(TooLarge));
        assert_eq!(
            Totals::of(&[samples::fee("Fee", i64::MAX, 19)]),
            Err(TooLarge)
        );
        let totals = Totals::of(&[samples::fee("Fee", i64::MIN, 0)]).unwrap();
        assert_eq!(totals.due(1, 0), Err(TooLarge));
    }
}
