//! The cost of a charging session, by the rules of OCPI 2.2.1 and 2.3.0: exact until each line is rounded, once.
//!
//! `step_size` rounds the quantity up once per session for ENERGY, and once for TIME and PARKING_TIME together: if parking is
//! charged for, the whole rounding is added to it, and charging time is billed without rounding.
//!
//! If prices are restricted to times, days, durations, energies or powers, a session is cut into stretches at every moment at which a price
//! begins or ceases to hold, and at which its power changes, as far as that is known; the rounding up to the step is applied to the price
//! that held last.

mod course;
mod line;
mod stretch;
#[cfg(test)]
mod tests;

use jiff::tz::TimeZone;
use rust_decimal::Decimal;

pub use self::course::{Course, Segment, Usage};
pub(super) use self::course::{MILLIS_PER_HOUR, WH_PER_KWH};
pub use self::line::{Cost, Line};
use self::stretch::{Stretch, stretches};
use crate::charging_station::{Price, PriceType};
use kernel::{Currency, Timestamp};

/// Returns the currency in which a session at these prices that begins then is billed: the preferred one if there are prices in it,
/// otherwise that of the first price.
pub fn currency(pricing: &[Price], preferred: Currency, begins: Timestamp) -> Currency {
    let for_session = || pricing.iter().filter(|price| price.is_for_session(begins));
    let offered = || for_session().map(|price| price.currency);
    if offered().any(|currency| currency == preferred) {
        return preferred;
    }
    offered().next().unwrap_or(preferred)
}

/// Checks whether the cost in that currency of a session that begins then is known.
pub fn is_known(pricing: &[Price], currency: Currency, begins: Timestamp) -> bool {
    let mut in_currency = pricing.iter().filter(|price| price.currency == currency);
    in_currency.any(|price| price.is_for_session(begins))
}

/// Returns the percentage of tax that all components have which can be part of the cost in that currency of a session that begins then;
/// None if they differ or there are none.
pub fn common_tax(pricing: &[Price], currency: Currency, begins: Timestamp) -> Option<Decimal> {
    let is_limit = |price: &Price| matches!(price.kind, PriceType::MinPrice | PriceType::MaxPrice);
    let pricing = prices_of(pricing, currency, begins).into_iter();
    let mut rates = pricing
        .filter(|price| !is_limit(price) && !price.exact().is_zero())
        .map(Price::percent);
    let first = rates.next()?;
    rates.all(|rate| rate == first).then_some(first)
}

/// Returns the ENERGY price of that currency which holds at the beginning of a session that begins then and charges with this power in W.
pub fn energy_price<'a>(
    pricing: &'a [Price],
    currency: Currency,
    begins: Timestamp,
    zone: &TimeZone,
    power: u32,
) -> Option<&'a Price> {
    let pricing = prices_of(pricing, currency, begins);
    let place = Stretch::first(begins, zone, power).price(&pricing, PriceType::Energy)?;
    Some(pricing[place])
}

/// Returns the cost at the prices of that currency. At any moment the first price of a type that holds is used, as in OCPI.
pub fn cost(pricing: &[Price], currency: Currency, course: Course<'_>) -> Cost {
    let pricing = prices_of(pricing, currency, course.began);
    let billed = Billed::of(&pricing, course);
    let mut lines = Vec::new();
    for (kind, parts_per_unit) in DIMENSIONS {
        for (price, parts) in pricing.iter().zip(&billed.0) {
            if let (Some(parts), true) = (parts, price.kind == kind) {
                lines.push(Line::of(price, *parts, parts_per_unit));
            }
        }
    }
    for kind in [PriceType::MinPrice, PriceType::MaxPrice] {
        let limit = pricing.iter().find(|price| price.kind == kind);
        lines.extend(limit.and_then(|limit| Line::up_to(limit, &Cost::of(&lines))));
    }
    let Cost {
        net, tax, gross, ..
    } = Cost::of(&lines);
    Cost {
        lines,
        net,
        tax,
        gross,
    }
}

/// Returns the gross amount of the same cost in minor units before its lines are rounded.
pub fn exact_cost(pricing: &[Price], currency: Currency, course: Course<'_>) -> Decimal {
    let pricing = prices_of(pricing, currency, course.began);
    let billed = Billed::of(&pricing, course);
    let mut sum = Decimal::ZERO;
    for (kind, parts_per_unit) in DIMENSIONS {
        for (price, parts) in pricing.iter().zip(&billed.0) {
            if let (Some(parts), true) = (parts, price.kind == kind) {
                let amount = price.gross().max(Decimal::ZERO).checked_mul(*parts);
                let amount = amount.unwrap_or(Decimal::MAX) / parts_per_unit;
                sum = sum.checked_add(amount).unwrap_or(Decimal::MAX);
            }
        }
    }
    let limit = |kind: PriceType| {
        let limit = pricing.iter().find(|price| price.kind == kind);
        limit.map(|price| price.gross().max(Decimal::ZERO))
    };
    let least = limit(PriceType::MinPrice).unwrap_or_default();
    let most = limit(PriceType::MaxPrice).unwrap_or(Decimal::MAX);
    sum.max(least).min(most)
}

/// Returns the prices of a currency that can be part of the cost of a session that begins then.
fn prices_of(pricing: &[Price], currency: Currency, begins: Timestamp) -> Vec<&Price> {
    let in_currency = pricing.iter().filter(|price| price.currency == currency);
    in_currency
        .filter(|price| price.is_for_session(begins))
        .collect()
}

/// The dimensions of a tariff in the order of their lines, and the number of parts, in which they are counted, per unit.
const DIMENSIONS: [(PriceType, Decimal); 4] = [
    (PriceType::Flat, Decimal::ONE),
    (PriceType::Energy, WH_PER_KWH),
    (PriceType::Time, MILLIS_PER_HOUR),
    (PriceType::ParkingTime, MILLIS_PER_HOUR),
];

/// The billed quantity of each price: Wh, milliseconds, or once.
struct Billed(Vec<Option<Decimal>>);

impl Billed {
    /// Returns the billed quantity of each of these prices in a session, rounded up to its step.
    fn of(pricing: &[&Price], course: Course<'_>) -> Self {
        let stretches = stretches(pricing, course);
        let mut billed = Self(vec![None; pricing.len()]);
        billed.once(pricing, &stretches);
        let Usage {
            energy,
            charging,
            parking,
        } = course.usage;
        let last = billed.measure(pricing, &stretches, PriceType::Energy, |stretch| {
            stretch.energy
        });
        billed.round_up(pricing, last, energy, |price| u64::from(price.step_size));
        let time = billed.measure(pricing, &stretches, PriceType::Time, |stretch| {
            stretch.charging
        });
        let last = billed.measure(pricing, &stretches, PriceType::ParkingTime, |stretch| {
            stretch.parking
        });
        match last {
            Some(_) => billed.round_up(pricing, last, parking, millis_of_step),
            None => billed.round_up(pricing, time, charging, millis_of_step),
        }
        billed
    }

    /// The first start fee that holds at any time.
    fn once(&mut self, pricing: &[&Price], stretches: &[Stretch]) {
        let mut held = stretches.iter();
        if let Some(place) = held.find_map(|stretch| stretch.price(pricing, PriceType::Flat)) {
            self.0[place] = Some(Decimal::ONE);
        }
    }

    /// Adds the quantity of each price of a kind before rounding up, and returns the index of the last price that was used.
    fn measure(
        &mut self,
        pricing: &[&Price],
        stretches: &[Stretch],
        kind: PriceType,
        parts: fn(&Stretch) -> Decimal,
    ) -> Option<usize> {
        let mut last = None;
        for stretch in stretches.iter().filter(|stretch| !parts(stretch).is_zero()) {
            if let Some(place) = stretch.price(pricing, kind) {
                *self.0[place].get_or_insert_default() += parts(stretch);
                last = Some(place);
            }
        }
        last
    }

    /// Rounds a whole session's quantity up to the step of the price that held last, at that price.
    fn round_up(
        &mut self,
        pricing: &[&Price],
        last: Option<usize>,
        quantity: u64,
        step: fn(&Price) -> u64,
    ) {
        if let Some(place) = last {
            let more = rounded_up(quantity, step(pricing[place])) - Decimal::from(quantity);
            *self.0[place].get_or_insert_default() += more;
        }
    }
}

fn millis_of_step(price: &Price) -> u64 {
    u64::from(price.step_size) * 1000
}

fn rounded_up(quantity: u64, step: u64) -> Decimal {
    let step = step.max(1);
    Decimal::from(quantity.div_ceil(step).saturating_mul(step))
}
