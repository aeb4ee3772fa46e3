//! The score of a pair of a connector and a window: one number, the lower the better.

use std::cmp::Reverse;

use rust_decimal::RoundingStrategy;
use rust_decimal::prelude::ToPrimitive as _;

use crate::models::charging_station::{Connector, PriceType};
use crate::models::driver::ChargingSpeed;
use crate::money::Currency;

/// What a minor unit per kWh above the cheapest connector costs, in points.
pub(super) const POINTS_PER_MINOR_UNIT: i64 = 5;

/// What the score of a pair consists of. All parts are integers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merits {
    /// Minutes between the window and the preferred one. Whole, because windows are shifted in steps of five minutes.
    pub shift: i64,
    /// Whole metres from the centre of the location, rounded down.
    pub meters: i64,
    /// Minor units per kWh above the cheapest candidate that can be booked and is priced in the same currency.
    pub surcharge: i64,
    pub preferred_station: bool,
    pub preferred_network: bool,
    pub speed_missed: bool,
    pub occupied_now: bool,
}

impl Merits {
    pub fn score(self) -> i64 {
        let points = |applies: bool, points: i64| if applies { points } else { 0 };
        // The division rounds down: the first 99 metres cost nothing.
        (self.shift.saturating_mul(10))
            .saturating_add(self.meters / 100)
            .saturating_add(self.surcharge.saturating_mul(POINTS_PER_MINOR_UNIT))
            .saturating_add(points(self.preferred_station, -200))
            .saturating_add(points(self.preferred_network, -100))
            .saturating_add(points(self.speed_missed, 100))
            .saturating_add(points(self.occupied_now, 50))
    }
}

/// A class of charging speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpeedClass {
    /// Below 43 kW.
    Slow,
    /// From 43 kW to below 150 kW.
    Fast,
    /// From 150 kW.
    UltraFast,
}

impl SpeedClass {
    /// The class of a power in kW.
    pub fn of(power: f64) -> Self {
        match power {
            slow if slow < 43.0 => Self::Slow,
            fast if fast < 150.0 => Self::Fast,
            _ => Self::UltraFast,
        }
    }

    /// Whether the class is another than the driver prefers.
    pub fn misses(self, preferred: ChargingSpeed) -> bool {
        match preferred {
            ChargingSpeed::Any => false,
            ChargingSpeed::Slow => self != Self::Slow,
            ChargingSpeed::Fast => self != Self::Fast,
            ChargingSpeed::UltraFast => self != Self::UltraFast,
        }
    }
}

/// A price per kWh, tax included, in whole minor units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PricePerKwh {
    pub currency: Currency,
    pub minor_units: i64,
}

/// The highest ENERGY price of a connector with tax; none when it has no ENERGY price. Each price is rounded to whole minor
/// units, half away from zero, before prices are subtracted from each other.
pub fn energy_price(connector: &Connector) -> Option<PricePerKwh> {
    highest(connector, None)
}

/// The highest ENERGY price of a connector in one currency, as [`energy_price`] has it.
pub fn energy_price_in(connector: &Connector, currency: Currency) -> Option<PricePerKwh> {
    highest(connector, Some(currency))
}

fn highest(connector: &Connector, currency: Option<Currency>) -> Option<PricePerKwh> {
    let energy = connector
        .pricing
        .iter()
        .filter(|price| price.kind == PriceType::Energy && !price.is_for_reservation())
        .filter(|price| currency.is_none_or(|currency| price.currency == currency));
    let highest = energy.max_by_key(|price| (price.gross(), Reverse(price.currency.as_str())))?;
    let whole = highest
        .gross()
        .round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
    Some(PricePerKwh {
        currency: highest.currency,
        minor_units: whole.to_i64().unwrap_or(i64::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_speed_meet_at_43_and_150_kilowatts() {
        for (speed, power, missed) in [
            (ChargingSpeed::Any, 3.7, false),
            (ChargingSpeed::Slow, 42.9, false),
            (ChargingSpeed::Slow, 43.0, true),
            (ChargingSpeed::Fast, 43.0, false),
            (ChargingSpeed::Fast, 150.0, true),
            (ChargingSpeed::UltraFast, 149.9, true),
            (ChargingSpeed::UltraFast, 150.0, false),
        ] {
            assert_eq!(
                SpeedClass::of(power).misses(speed),
                missed,
                "{speed:?} {power}"
            );
        }
    }
}
