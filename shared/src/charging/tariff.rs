//! What a charging session costs, by the rules of OCPI 2.2.1 and 2.3.0: exact until each line is rounded, once.
//!
//! `step_size` rounds the quantity up once per session for ENERGY, and once for TIME and PARKING_TIME together: where
//! parking is charged for, it takes the whole of the rounding and charging time is billed as it was.

use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};

use crate::models::charging_station::{Price, PriceType, Tax};
use crate::money::Currency;

/// What a session used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Wh
    pub energy: u64,
    /// Milliseconds in which energy flowed.
    pub charging: u64,
    /// Milliseconds on the connector after that.
    pub parking: u64,
}

/// The cost of one dimension of a tariff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub kind: PriceType,
    /// In `unit`, after rounding up to the step.
    pub quantity: Decimal,
    /// Minor units for one `unit`, exact.
    pub unit_price: Decimal,
    pub tax_percent: Decimal,
    /// Minor units without tax.
    pub net: i64,
    /// Minor units.
    pub tax: i64,
    /// Minor units with tax.
    pub gross: i64,
}

/// What a session costs: lines, and their sums.
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

const WH_PER_KWH: Decimal = Decimal::ONE_THOUSAND;
const MILLIS_PER_HOUR: Decimal = Decimal::from_parts(3_600_000, 0, 0, false, 0);

/// How many digits of a quantity in hours are shown. Costs come from the milliseconds.
const SHOWN_DIGITS: u32 = 6;

/// The currency a session at these prices is billed in: the preferred one where there are prices in it, else that of
/// the first price.
pub fn currency(pricing: &[Price], preferred: Currency) -> Currency {
    let offered = || pricing.iter().map(|price| price.currency);
    if offered().any(|currency| currency == preferred) {
        return preferred;
    }
    offered().next().unwrap_or(preferred)
}

/// The cost at the prices of that currency. The first price of each type counts, as in OCPI.
pub fn cost(pricing: &[Price], currency: Currency, usage: Usage) -> Cost {
    let first = |kind: PriceType| {
        let mut prices = pricing.iter();
        prices.find(|price| price.currency == currency && price.kind == kind)
    };
    let energy = first(PriceType::Energy).filter(|_| usage.energy > 0);
    let time = first(PriceType::Time).filter(|_| usage.charging > 0);
    let parking = first(PriceType::ParkingTime).filter(|_| usage.parking > 0);
    let flat = first(PriceType::Flat);
    let mut lines = Vec::new();
    if let Some(price) = flat {
        lines.push(Line::of(price, Decimal::ONE, Decimal::ONE));
    }
    if let Some(price) = energy {
        let billed = rounded_up(usage.energy, u64::from(price.step_size));
        lines.push(Line::of(price, billed, WH_PER_KWH));
    }
    if let Some(price) = time {
        let billed = match parking {
            Some(_) => usage.charging.into(),
            None => rounded_up(usage.charging, millis_of_step(price)),
        };
        lines.push(Line::of(price, billed, MILLIS_PER_HOUR));
    }
    if let Some(price) = parking {
        let billed = rounded_up(usage.parking, millis_of_step(price));
        lines.push(Line::of(price, billed, MILLIS_PER_HOUR));
    }
    let sum = |part: fn(&Line) -> i64| lines.iter().map(part).fold(0, i64::saturating_add);
    Cost {
        net: sum(|line| line.net),
        tax: sum(|line| line.tax),
        gross: sum(|line| line.gross),
        lines,
    }
}

fn millis_of_step(price: &Price) -> u64 {
    u64::from(price.step_size) * 1000
}

fn rounded_up(quantity: u64, step: u64) -> Decimal {
    let step = step.max(1);
    Decimal::from(quantity.div_ceil(step).saturating_mul(step))
}

impl Line {
    /// The line of so much at a price, counted in parts of which so many make one unit.
    fn of(price: &Price, parts: Decimal, parts_per_unit: Decimal) -> Self {
        let unit_price = price.exact().max(Decimal::ZERO);
        let tax_percent = price.percent();
        let with_tax = Decimal::ONE + tax_percent / Decimal::ONE_HUNDRED;
        // A product beyond what a decimal holds is beyond every amount too.
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
            tax_percent: tax_percent.normalize(),
            net,
            tax: gross - net,
            gross,
        }
    }

    /// What the quantity counts.
    pub fn unit(&self) -> &'static str {
        match self.kind {
            PriceType::Energy => "kWh",
            PriceType::Time | PriceType::ParkingTime => "hour",
            PriceType::Flat => "session",
        }
    }

    pub fn description(&self) -> &'static str {
        match self.kind {
            PriceType::Energy => "Energy",
            PriceType::Time => "Charging time",
            PriceType::ParkingTime => "Parking time",
            PriceType::Flat => "Start fee",
        }
    }
}

impl Price {
    /// Minor units per unit, tax included, exact.
    pub fn gross(&self) -> Decimal {
        if self.tax_included {
            return self.exact();
        }
        let with_tax = Decimal::ONE + self.percent() / Decimal::ONE_HUNDRED;
        self.exact().checked_mul(with_tax).unwrap_or(Decimal::MAX)
    }

    /// Percent of tax, within reason.
    fn percent(&self) -> Decimal {
        let percent = match self.tax {
            Tax::None => Decimal::ZERO,
            _ => decimal(&self.tax_percent).unwrap_or_default(),
        };
        percent.clamp(Decimal::ZERO, Decimal::ONE_THOUSAND)
    }

    /// Minor units per unit, exact.
    pub fn exact(&self) -> Decimal {
        let exact = self.price_decimal.as_deref().and_then(decimal);
        exact.unwrap_or_else(|| self.price.into())
    }
}

fn decimal(text: &str) -> Option<Decimal> {
    text.parse().ok()
}

/// Whole minor units, half away from zero.
fn rounded(amount: Decimal) -> i64 {
    amount
        .round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero)
        .to_i64()
        .unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: u64 = 60_000;

    fn eur() -> Currency {
        Currency::from_code("eur").unwrap()
    }

    /// A price without tax, in cents.
    fn price(kind: PriceType, price: i64, percent: &str, step_size: u32) -> Price {
        Price {
            currency: eur(),
            price,
            price_decimal: None,
            step_size,
            tax: Tax::Vat,
            tax_included: false,
            tax_percent: percent.into(),
            kind,
        }
    }

    fn used(energy: u64, charging: u64, parking: u64) -> Usage {
        Usage {
            energy,
            charging,
            parking,
        }
    }

    fn totals(pricing: &[Price], usage: Usage) -> (i64, i64) {
        let cost = cost(pricing, eur(), usage);
        (cost.net, cost.gross)
    }

    /// The worked examples of OCPI 2.3.0, module tariffs: those without restrictions and price limits.
    #[test]
    fn the_examples_of_the_standard_come_out() {
        use PriceType::{Energy, Flat, ParkingTime, Time};
        let energy = price(Energy, 25, "10", 1);
        let start = price(Flat, 50, "20", 1);
        let simple = std::slice::from_ref(&energy);
        assert_eq!(totals(simple, used(20_000, 0, 0)), (500, 550));
        let with_start = [start.clone(), energy.clone()];
        assert_eq!(totals(&with_start, used(20_000, 0, 0)), (550, 610));
        assert_eq!(totals(&with_start, used(30_000, 0, 0)), (800, 885));
        let with_parking = [start, energy, price(ParkingTime, 200, "20", 900)];
        let parked = used(20_000, 0, 40 * MINUTE);
        assert_eq!(totals(&with_parking, parked), (700, 790));
        let by_time = [price(Time, 200, "10", 60)];
        assert_eq!(totals(&by_time, used(0, 150 * MINUTE, 0)), (500, 550));
        let dearer_parking = [
            price(Time, 300, "10", 60),
            price(ParkingTime, 500, "20", 300),
        ];
        let parked = used(0, 150 * MINUTE, 42 * MINUTE);
        assert_eq!(totals(&dearer_parking, parked), (1125, 1275));
        let ad_hoc = [price(Time, 190, "5.2", 300)];
        assert_eq!(totals(&ad_hoc, used(0, 150 * MINUTE, 0)), (475, 500));
        let coarse = [price(Energy, 25, "10", 100)];
        // 20.45 kWh are billed as 20.5. The standard prints 5.50 and 6.05, which is 22 kWh; its own rule gives this.
        assert_eq!(totals(&coarse, used(20_450, 0, 0)), (513, 564));
    }

    /// OCPI 2.3.0: 21 minutes of charging are billed as they are when 8 minutes of parking follow; those are billed as 10.
    #[test]
    fn parking_takes_the_rounding_of_both_times() {
        use PriceType::{ParkingTime, Time};
        let pricing = [
            price(Time, 600, "0", 300),
            price(ParkingTime, 600, "0", 300),
        ];
        let billed = |usage| -> Vec<_> {
            let lines = cost(&pricing, eur(), usage).lines;
            lines.into_iter().map(|line| line.net).collect()
        };
        assert_eq!(billed(used(0, 21 * MINUTE, 8 * MINUTE)), [210, 100]);
        assert_eq!(billed(used(0, 21 * MINUTE, 0)), [250]);
        // Parking that costs nothing leaves the rounding to the charging time.
        let time = [pricing[0].clone()];
        assert_eq!(totals(&time, used(0, 21 * MINUTE, 8 * MINUTE)), (250, 250));
    }

    #[test]
    fn each_line_is_rounded_half_away_from_zero() {
        let half = Price {
            price_decimal: Some("12.5".into()),
            ..price(PriceType::Energy, 13, "0", 1)
        };
        assert_eq!(
            totals(std::slice::from_ref(&half), used(1000, 0, 0)),
            (13, 13)
        );
        let line = cost(&[half], eur(), used(1000, 0, 0)).lines.remove(0);
        assert_eq!(
            (line.unit_price.to_string(), line.unit()),
            ("12.5".into(), "kWh")
        );
        let third = [price(PriceType::Time, 100, "0", 1)];
        let line = cost(&third, eur(), used(0, 20 * MINUTE, 0)).lines.remove(0);
        assert_eq!(
            (line.quantity.to_string(), line.net),
            ("0.333333".into(), 33)
        );
    }

    #[test]
    fn tax_that_is_included_is_taken_out() {
        let included = Price {
            tax_included: true,
            ..price(PriceType::Energy, 45, "20", 1)
        };
        let cost = cost(&[included], eur(), used(11_111, 0, 0));
        // 11.111 kWh × 45 = 499.995, and without a fifth on top 416.6625.
        assert_eq!((cost.net, cost.tax, cost.gross), (417, 83, 500));
        let untaxed = Price {
            tax: Tax::None,
            ..price(PriceType::Energy, 45, "20", 1)
        };
        assert_eq!(totals(&[untaxed], used(10_000, 0, 0)), (450, 450));
    }

    #[test]
    fn amounts_are_in_the_smallest_unit_whatever_the_exponent() {
        for (code, unit_price, want) in [("jpy", 55, 678), ("kwd", 125, 1541), ("eur", 30, 370)] {
            let currency = Currency::from_code(code).unwrap();
            let energy = Price {
                currency,
                ..price(PriceType::Energy, unit_price, "0", 1)
            };
            assert_eq!(
                cost(&[energy], currency, used(12_329, 0, 0)).gross,
                want,
                "{code}"
            );
        }
    }

    #[test]
    fn only_prices_of_the_sessions_currency_count() {
        let usd = Price {
            currency: Currency::USD,
            ..price(PriceType::Flat, 100, "0", 1)
        };
        let pricing = [price(PriceType::Energy, 25, "0", 1), usd];
        assert_eq!(cost(&pricing, Currency::USD, used(9_000, 0, 0)).gross, 100);
        assert_eq!(currency(&pricing, Currency::USD), Currency::USD);
        assert_eq!(currency(&pricing[..1], Currency::USD), eur());
        assert_eq!(currency(&[], Currency::USD), Currency::USD);
    }

    fn any_price() -> impl Strategy<Value = Price> {
        use PriceType::{Energy, Flat, ParkingTime, Time};
        let kind = prop_oneof![Just(Energy), Just(Time), Just(ParkingTime), Just(Flat)];
        let decimal = proptest::option::of("[0-9]{1,30}(\\.[0-9]{0,30})?|\\PC{0,6}");
        let tax = (
            any::<bool>(),
            any::<bool>(),
            "[0-9]{1,12}(\\.[0-9]{0,9})?|\\PC{0,4}",
        );
        (kind, any::<i64>(), decimal, any::<u32>(), tax).prop_map(
            |(kind, amount, price_decimal, step, (taxed, tax_included, percent))| Price {
                price_decimal,
                tax: if taxed { Tax::Gst } else { Tax::None },
                tax_included,
                ..price(kind, amount, &percent, step)
            },
        )
    }

    fn usual_price() -> impl Strategy<Value = Price> {
        (any_price(), 0i64..100_000, 0u32..4000, 0u32..30_000).prop_map(
            |(any, amount, step_size, percent)| Price {
                price: amount,
                price_decimal: None,
                step_size,
                tax_percent: Decimal::new(percent.into(), 3).to_string(),
                ..any
            },
        )
    }

    proptest! {
        #[test]
        fn no_input_panics_and_lines_add_up(
            pricing in proptest::collection::vec(any_price(), 0..6),
            (energy, charging, parking) in any::<(u64, u64, u64)>(),
        ) {
            let cost = cost(&pricing, eur(), used(energy, charging, parking));
            let sum = |part: fn(&Line) -> i64| cost.lines.iter().map(part).fold(0, i64::saturating_add);
            prop_assert_eq!((cost.net, cost.tax, cost.gross), (sum(|l| l.net), sum(|l| l.tax), sum(|l| l.gross)));
            for line in &cost.lines {
                prop_assert_eq!(line.net + line.tax, line.gross);
                prop_assert!(line.net >= 0 && line.tax >= 0);
            }
        }

        #[test]
        fn more_energy_or_time_never_costs_less(
            pricing in proptest::collection::vec(usual_price(), 0..6),
            energy in 0u64..1_000_000, charging in 0u64..100_000_000, parking in 0u64..100_000_000,
            more in (0u64..100_000, 0u64..10_000_000),
        ) {
            let less = cost(&pricing, eur(), used(energy, charging, parking));
            let more = cost(&pricing, eur(), used(energy + more.0, charging + more.1, parking));
            prop_assert!(less.gross <= more.gross && less.net <= more.net);
        }
    }
}
