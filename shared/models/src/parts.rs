//! The parts of a charge that its refunds return.
//!
//! A payment provider may round amounts: in a currency with three decimals, Stripe charges and refunds multiples of ten minor units only.
//! If the amount of each refund were rounded by itself, the sum could be more or less than the rounded charge. So the minor units of a
//! charge are numbered from 0, and each refund covers ranges of these numbers. The provider rounds the ends of the ranges.
//!
//! - A minor unit of a charge is covered by at most one pending or successful refund, so the rounded refunds are never more than the
//!   rounded charge.
//! - Refunds that cover the charge completely add up to the rounded charge, in any order and with any refunds that failed in between.
//! - A refund that fails frees its parts, and the next refunds cover them first.

use serde::{Deserialize, Serialize};

/// Ranges of the minor units of a charge, in ascending order, with a gap between each and the next. Each is its first number and the
/// number after its last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts(Vec<(i64, i64)>);

impl Parts {
    /// Returns all minor units of an amount.
    pub fn of(amount: i64) -> Self {
        Self(vec![(0, amount)])
    }

    pub fn ranges(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// Returns the number of minor units.
    pub fn total(&self) -> i64 {
        self.rounded(|amount| amount)
    }

    /// Returns the number of a provider's units, into which `round` converts both ends of each range.
    pub fn rounded(&self, round: impl Fn(i64) -> i64) -> i64 {
        let ranges = self.0.iter();
        ranges.map(|(from, to)| round(*to) - round(*from)).sum()
    }

    /// Removes the first minor units, up to an amount, and returns them.
    #[must_use]
    pub fn take(&mut self, mut amount: i64) -> Self {
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for (from, to) in self.0.drain(..) {
            let end = to.min(from + amount);
            amount -= end - from;
            if from < end {
                taken.push((from, end));
            }
            if end < to {
                left.push((end, to));
            }
        }
        self.0 = left;
        Self(taken)
    }

    /// Adds parts that are not among these.
    pub fn add(&mut self, parts: Self) {
        self.0.extend(parts.0);
        self.0.sort_unstable();
        self.0.dedup_by(|next, previous| {
            let joins = previous.1 == next.0;
            if joins {
                previous.1 = next.1;
            }
            joins
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_refunds_leave_parts_that_are_covered_first() {
        let mut left = Parts::of(100);
        let [first, second, third] = [10, 20, 30].map(|amount| left.take(amount));
        assert_eq!(second.ranges(), [(10, 30)]);
        left.add(third);
        left.add(first);
        assert_eq!(left.ranges(), [(0, 10), (30, 100)]);
        let mut fourth = left.take(15);
        assert_eq!(fourth.ranges(), [(0, 10), (30, 35)]);
        // Parts of parts.
        assert_eq!(fourth.take(11).ranges(), [(0, 10), (30, 31)]);
        left.add(second);
        assert_eq!(left.ranges(), [(10, 30), (35, 100)]);
        assert_eq!(left.total(), 85);
        left.add(Parts(vec![(0, 10), (30, 35)]));
        assert_eq!(left, Parts::of(100));
    }

    proptest::proptest! {
        #[test]
        fn rounded_refunds_add_up_to_the_rounded_charge(
            amount in 1..1_000_i64,
            steps in proptest::collection::vec((1..200_i64, proptest::bool::ANY), 1..40),
        ) {
            let round = |amount: i64| (amount + 5) / 10 * 10;
            let mut left = Parts::of(amount);
            let mut refunds = Vec::new();
            for (part, fails) in steps {
                if fails && !refunds.is_empty() {
                    let failed: Parts = refunds.swap_remove(part as usize % refunds.len());
                    left.add(failed);
                } else {
                    refunds.push(left.take(part));
                }
                let refunded: i64 = refunds.iter().map(Parts::total).sum();
                assert_eq!(left.total(), amount - refunded);
                let rounded: i64 = refunds.iter().map(|parts| parts.rounded(round)).sum();
                assert!(rounded <= round(amount));
            }
            refunds.push(left.take(amount));
            assert_eq!(left, Parts::default());
            let rounded: i64 = refunds.iter().map(|parts| parts.rounded(round)).sum();
            assert_eq!(rounded, round(amount));
        }
    }
}
