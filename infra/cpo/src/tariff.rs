//! The cost of a session at an OCPI tariff.
//!
//! The tariffs of the demo network restrict prices by the time of day only, so this code reads `start_time` and `end_time` and no
//! other restriction. At any moment, the first element that has a price of the dimension and whose restrictions hold applies. A
//! session is cut into charging periods wherever another element begins to apply ([`switches`]), as the specification demands of a
//! CPO. `step_size` rounds the quantity up once per session: ENERGY separately; PARKING_TIME if it has a price, otherwise TIME.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use rust_decimal::prelude::{FromPrimitive as _, ToPrimitive as _};
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Value, json};

/// A part of a session in which the same prices hold, and in which either energy flows or the vehicle is parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Period {
    pub start: Timestamp,
    pub end: Timestamp,
    /// In Wh.
    pub energy: u64,
    /// Whether energy flows.
    pub charging: bool,
}

/// An amount in major units of the tariff's currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    pub excl_vat: Decimal,
    pub incl_vat: Decimal,
}

/// The cost of a session, by dimension. It is None for a dimension without a price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    pub energy: Option<Amount>,
    pub fixed: Option<Amount>,
    pub time: Option<Amount>,
    pub parking: Option<Amount>,
    pub total: Amount,
}

/// The dimensions of a tariff.
const DIMENSIONS: [&str; 4] = ["FLAT", "ENERGY", "TIME", "PARKING_TIME"];

const MILLIS_PER_HOUR: i64 = 3_600_000;

impl Amount {
    /// The amount as the class `Price` of OCPI 2.2.1.
    pub fn price(self) -> Value {
        json!({"excl_vat": number(self.excl_vat), "incl_vat": number(self.incl_vat)})
    }

    fn plus(self, other: Self) -> Self {
        Self {
            excl_vat: self.excl_vat + other.excl_vat,
            incl_vat: self.incl_vat + other.incl_vat,
        }
    }
}

/// A decimal as a number of JSON.
pub fn number(value: Decimal) -> Value {
    json!(value.normalize().to_f64().unwrap_or_default())
}

/// The amount of a quantity at one price, rounded to the cent, half away from zero, with and without tax.
fn amount(component: &Value, quantity: Decimal) -> Amount {
    let field = |name: &str| {
        let value = component[name].as_f64().unwrap_or_default();
        Decimal::from_f64(value).unwrap_or_default()
    };
    let round =
        |value: Decimal| value.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero);
    let exact = field("price") * quantity;
    let with_tax = Decimal::ONE + field("vat") / Decimal::ONE_HUNDRED;
    Amount {
        excl_vat: round(exact),
        incl_vat: round(exact * with_tax),
    }
}

/// The cost of consecutive periods.
pub fn cost(tariff: &Value, zone: &TimeZone, periods: &[Period]) -> Costs {
    let [fixed, energy, time, parking] = DIMENSIONS.map(|dimension| {
        let mut used = used(tariff, zone, periods, dimension);
        let rounds = dimension != "TIME" || !has_price(tariff, "PARKING_TIME");
        if rounds {
            round_up(&mut used, dimension);
        }
        let amounts = used
            .iter()
            .map(|usage| amount(usage.component, usage.units(dimension)));
        amounts.reduce(Amount::plus)
    });
    let total = [fixed, energy, time, parking];
    let total = total
        .into_iter()
        .flatten()
        .fold(Amount::default(), Amount::plus);
    Costs {
        energy,
        fixed,
        time,
        parking,
        total,
    }
}

/// The quantity that is billed at one price, in Wh or milliseconds, or 1 for a flat fee.
struct Used<'a> {
    component: &'a Value,
    quantity: i64,
}

impl Used<'_> {
    /// The quantity in the units of the price: kWh, hours, or times.
    fn units(&self, dimension: &str) -> Decimal {
        let per_unit = match dimension {
            "FLAT" => 1,
            "ENERGY" => 1000,
            _ => MILLIS_PER_HOUR,
        };
        Decimal::from(self.quantity) / Decimal::from(per_unit)
    }
}

/// The quantities that are billed at each price of a dimension before rounding up, in the order in which the prices last applied.
fn used<'a>(
    tariff: &'a Value,
    zone: &TimeZone,
    periods: &[Period],
    dimension: &str,
) -> Vec<Used<'a>> {
    let mut used: Vec<Used<'a>> = Vec::new();
    for period in periods {
        let millis = period.end.as_millisecond() - period.start.as_millisecond();
        let quantity = match dimension {
            "FLAT" => 1,
            "ENERGY" => i64::try_from(period.energy).unwrap_or(i64::MAX),
            "TIME" if period.charging => millis,
            "PARKING_TIME" if !period.charging => millis,
            _ => 0,
        };
        let Some(component) = component(tariff, zone, period.start, dimension) else {
            continue;
        };
        if quantity == 0 || (dimension == "FLAT" && !used.is_empty()) {
            continue;
        }
        match used
            .iter()
            .position(|usage| std::ptr::eq(usage.component, component))
        {
            // The quantity at the price that applied last is rounded up, so that price has to be the last one.
            Some(place) => {
                let mut known = used.remove(place);
                known.quantity += quantity;
                used.push(known);
            }
            None => used.push(Used {
                component,
                quantity,
            }),
        }
    }
    used
}

/// Rounds the quantity of the whole session up to the step of the price that applied last. The difference is billed at that price.
fn round_up(used: &mut [Used<'_>], dimension: &str) {
    let whole: i64 = used.iter().map(|usage| usage.quantity).sum();
    let Some(last) = used.last_mut().filter(|_| dimension != "FLAT") else {
        return;
    };
    let parts = if dimension == "ENERGY" { 1 } else { 1000 };
    let step = last.component["step_size"].as_i64().unwrap_or(1).max(1) * parts;
    last.quantity += (whole + step - 1) / step * step - whole;
}

fn elements(tariff: &Value) -> &[Value] {
    tariff["elements"].as_array().map_or(&[], Vec::as_slice)
}

fn of_dimension<'a>(element: &'a Value, dimension: &str) -> Option<&'a Value> {
    let components = element["price_components"].as_array()?;
    components
        .iter()
        .find(|component| component["type"] == dimension)
}

fn has_price(tariff: &Value, dimension: &str) -> bool {
    let mut elements = elements(tariff).iter();
    elements.any(|element| of_dimension(element, dimension).is_some())
}

/// The price of a dimension that applies at a moment.
fn component<'a>(
    tariff: &'a Value,
    zone: &TimeZone,
    at: Timestamp,
    dimension: &str,
) -> Option<&'a Value> {
    let now = at.to_zoned(zone.clone()).time();
    let mut elements = elements(tariff).iter();
    elements.find_map(|element| {
        holds(element, now)
            .then(|| of_dimension(element, dimension))
            .flatten()
    })
}

fn times(element: &Value) -> Option<(Time, Time)> {
    let read = |name: &str| element["restrictions"][name].as_str()?.parse::<Time>().ok();
    Some((read("start_time")?, read("end_time")?))
}

/// Whether the restrictions of an element hold at a local time. A window may cross midnight.
fn holds(element: &Value, now: Time) -> bool {
    times(element).is_none_or(|(start, end)| {
        if start <= end {
            start <= now && now < end
        } else {
            start <= now || now < end
        }
    })
}

/// The moments between two others at which another price may begin to apply.
pub fn switches(
    tariff: &Value,
    zone: &TimeZone,
    from: Timestamp,
    until: Timestamp,
) -> Vec<Timestamp> {
    let windows = elements(tariff).iter().filter_map(times);
    let times: Vec<Time> = windows.flat_map(|(start, end)| [start, end]).collect();
    let mut found = Vec::new();
    if times.is_empty() {
        return found;
    }
    let last = until.to_zoned(zone.clone()).date();
    let mut day = from.to_zoned(zone.clone()).date();
    while day <= last {
        for time in &times {
            let moment = day.to_datetime(*time).to_zoned(zone.clone());
            found.extend(moment.map(|moment| moment.timestamp()).ok());
        }
        match day.checked_add(1.day()) {
            Ok(next) => day = next,
            Err(_) => break,
        }
    }
    found.retain(|moment| from < *moment && *moment < until);
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(start: &str, minutes: i64, energy: u64, charging: bool) -> Period {
        let start: Timestamp = start.parse().unwrap();
        let end = crate::time::plus_millis(start, minutes * 60_000);
        Period {
            start,
            end,
            energy,
            charging,
        }
    }

    fn cents(excl_vat: i64, incl_vat: i64) -> Amount {
        Amount {
            excl_vat: Decimal::new(excl_vat, 2),
            incl_vat: Decimal::new(incl_vat, 2),
        }
    }

    #[test]
    fn energy_parking_and_a_flat_fee_are_billed_with_their_tax() {
        let tariff = json!({"elements": [{"price_components": [
            {"type": "FLAT", "price": 0.50, "vat": 20, "step_size": 1},
            {"type": "ENERGY", "price": 0.65, "vat": 20, "step_size": 1},
            {"type": "PARKING_TIME", "price": 6.00, "vat": 20, "step_size": 60}]}]});
        let periods = [
            period("2026-03-01T10:00:00Z", 30, 12_345, true),
            period("2026-03-01T10:30:00Z", 10, 0, false),
        ];
        let costs = cost(&tariff, &TimeZone::UTC, &periods);
        // 12.345 kWh at 0.65 is 8.02425; ten minutes at 6.00 an hour are 1.00.
        assert_eq!(costs.energy, Some(cents(802, 963)));
        assert_eq!(costs.fixed, Some(cents(50, 60)));
        assert_eq!(costs.parking, Some(cents(100, 120)));
        assert_eq!(costs.time, None);
        assert_eq!(costs.total, cents(952, 1143));
    }

    #[test]
    fn a_started_step_is_billed_as_a_whole_one() {
        let tariff = json!({"elements": [{"price_components": [
            {"type": "TIME", "price": 6.00, "vat": 0, "step_size": 600},
            {"type": "ENERGY", "price": 1.00, "vat": 0, "step_size": 500}]}]});
        let periods = [period("2026-03-01T10:00:00Z", 11, 501, true)];
        let costs = cost(&tariff, &TimeZone::UTC, &periods);
        assert_eq!(costs.time, Some(cents(200, 200)));
        assert_eq!(costs.energy, Some(cents(100, 100)));
    }

    #[test]
    fn the_price_of_the_night_holds_at_local_time_and_past_midnight() {
        let tariff = json!({"elements": [
            {"price_components": [{"type": "ENERGY", "price": 0.25, "vat": 0, "step_size": 1}],
             "restrictions": {"start_time": "23:00", "end_time": "06:00"}},
            {"price_components": [{"type": "ENERGY", "price": 0.49, "vat": 0, "step_size": 1}]}]});
        let zone = TimeZone::get("Europe/London").unwrap();
        // British summer time: 22:00 UTC is 23:00 in London.
        let (from, until) = (
            "2026-07-01T21:00:00Z".parse().unwrap(),
            "2026-07-02T07:00:00Z".parse().unwrap(),
        );
        let found = switches(&tariff, &zone, from, until);
        let expected: Vec<Timestamp> = vec![
            "2026-07-01T22:00:00Z".parse().unwrap(),
            "2026-07-02T05:00:00Z".parse().unwrap(),
        ];
        assert_eq!(found, expected);
        let periods = [
            period("2026-07-01T21:00:00Z", 60, 10_000, true),
            period("2026-07-01T22:00:00Z", 60, 10_000, true),
        ];
        assert_eq!(cost(&tariff, &zone, &periods).total, cents(740, 740));
    }
}
