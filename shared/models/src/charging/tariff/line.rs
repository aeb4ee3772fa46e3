//! The lines of a cost, and a price with and without tax.

use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};

use crate::charging_station::{Price, PriceType, Tax};

/// The cost at one price of a tariff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub kind: PriceType,
    /// In `unit`, after rounding up to the step.
    pub quantity: Decimal,
    /// Minor units for one `unit`, exact.
    pub unit_price: Decimal,
    /// Whether `unit_price` includes the tax.
    pub tax_included: bool,
    pub tax_percent: Decimal,
    /// Minor units without tax.
    pub net: i64,
    /// Minor units.
    pub tax: i64,
    /// Minor units with tax.
    pub gross: i64,
}

/// The cost of a session: lines, and their sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cost {
    pub lines: Vec<Line>,
    /// Minor units without tax.
    pub net: i64,
    /// Minor units.
    pub tax: i64,
    /// Minor units with tax.
    pub gross: i64,
}

/// The number of decimal places that are shown of a quantity in hours. Costs are computed from the milliseconds.
const SHOWN_DIGITS: u32 = 6;

impl Cost {
    /// Adds up lines.
    pub(super) fn of(lines: &[Line]) -> Self {
        let sum = |part: fn(&Line) -> i64| lines.iter().map(part).fold(0, i64::saturating_add);
        Self {
            lines: Vec::new(),
            net: sum(|line| line.net),
            tax: sum(|line| line.tax),
            gross: sum(|line| line.gross),
        }
    }
}

impl Line {
    /// Returns the line of a quantity at a price, counted in parts, of which `parts_per_unit` are one unit.
    pub(super) fn of(price: &Price, parts: Decimal, parts_per_unit: Decimal) -> Self {
        let unit_price = price.exact().max(Decimal::ZERO);
        let tax_percent = price.percent();
        let with_tax = Decimal::ONE + tax_percent / Decimal::ONE_HUNDRED;
        // A product that is too large for a decimal is also too large for an amount.
        let amount = unit_price
            .checked_mul(parts)
            .map_or(Decimal::MAX, |product| product / parts_per_unit);
        let (net, gross) = if price.tax_included {
            (amount / with_tax, amount)
        } else {
            (amount, amount.checked_mul(with_tax).unwrap_or(Decimal::MAX))
        };
        let (net, gross) = (rounded(net), rounded(gross));
        Self {
            kind: price.kind,
            quantity: (parts / parts_per_unit).round_dp(SHOWN_DIGITS).normalize(),
            unit_price: unit_price.normalize(),
            tax_included: price.tax_included,
            tax_percent: tax_percent.normalize(),
            net,
            tax: gross - net,
            gross,
        }
    }

    /// Returns the line that raises a cost to a minimum, or lowers it to a maximum. The amounts with and without tax are limited
    /// separately.
    pub(super) fn up_to(limit: &Price, cost: &Cost) -> Option<Self> {
        let line = Self::of(limit, Decimal::ONE, Decimal::ONE);
        let bound = |sum: i64, limit: i64| match line.kind {
            PriceType::MinPrice => sum.max(limit) - sum,
            _ => sum.min(limit) - sum,
        };
        let (net, gross) = (bound(cost.net, line.net), bound(cost.gross, line.gross));
        (net != 0 || gross != 0).then(|| Self {
            net,
            tax: gross - net,
            gross,
            ..line
        })
    }

    /// Returns the unit of the quantity.
    pub fn unit(&self) -> &'static str {
        match self.kind {
            PriceType::Energy => "kWh",
            PriceType::Time | PriceType::ParkingTime => "hour",
            PriceType::Flat | PriceType::MinPrice | PriceType::MaxPrice => "session",
        }
    }

    pub fn description(&self) -> &'static str {
        match self.kind {
            PriceType::Energy => "Energy",
            PriceType::Time => "Charging time",
            PriceType::ParkingTime => "Parking time",
            PriceType::Flat => "Start fee",
            PriceType::MinPrice => "Up to the minimum price",
            PriceType::MaxPrice => "Down to the maximum price",
        }
    }
}

impl Price {
    /// Returns the minor units per unit, tax included, exact.
    pub fn gross(&self) -> Decimal {
        if self.tax_included {
            return self.exact();
        }
        let with_tax = Decimal::ONE + self.percent() / Decimal::ONE_HUNDRED;
        self.exact().checked_mul(with_tax).unwrap_or(Decimal::MAX)
    }

    /// Returns the percentage of tax, from 0 to 1,000.
    pub(crate) fn percent(&self) -> Decimal {
        let percent = match self.tax {
            Tax::None => Decimal::ZERO,
            _ => decimal(&self.tax_percent).unwrap_or_default(),
        };
        percent.clamp(Decimal::ZERO, Decimal::ONE_THOUSAND)
    }

    /// Returns the minor units per unit, exact.
    pub fn exact(&self) -> Decimal {
        let exact = self.price_decimal.as_deref().and_then(decimal);
        exact.unwrap_or_else(|| self.price.into())
    }
}

fn decimal(text: &str) -> Option<Decimal> {
    text.parse().ok()
}

/// Returns whole minor units, rounded half away from zero.
fn rounded(amount: Decimal) -> i64 {
    amount
        .round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero)
        .to_i64()
        .unwrap_or(i64::MAX)
}
