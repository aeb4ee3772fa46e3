//! What a charging session costs, by the rules of OCPI 2.2.1 and 2.3.0: exact until each line is rounded, once.
//!
//! `step_size` rounds the quantity up once per session for ENERGY, and once for TIME and PARKING_TIME together: where
//! parking is charged for, it takes the whole of the rounding and charging time is billed as it was.
//!
//! Where prices are restricted to times, days, durations or energies, a session is cut into stretches at every moment at
//! which one begins or ceases to hold; the last price that held takes the rounding up to its step.

use jiff::ToSpan as _;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use rust_decimal::prelude::ToPrimitive as _;
use rust_decimal::{Decimal, RoundingStrategy};

use crate::models::charging_station::{Price, PriceType, Restrictions, Tax, Weekday};
use crate::money::Currency;
use crate::time::{DAY, Timestamp};

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

/// A session as its prices see it: energy flows evenly while it charges, then it parks.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    pub began: Timestamp,
    /// The station's.
    pub zone: &'a TimeZone,
    pub usage: Usage,
}

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

/// The cost at the prices of that currency. At any moment the first price of a type counts that holds, as in OCPI.
pub fn cost(pricing: &[Price], currency: Currency, course: Course<'_>) -> Cost {
    let pricing: Vec<&Price> = pricing
        .iter()
        .filter(|price| price.currency == currency && price.is_for_session(course.began))
        .collect();
    let stretches = stretches(&pricing, course);
    let mut billed = Billed(vec![None; pricing.len()]);
    billed.once(&pricing, &stretches);
    let Usage {
        energy,
        charging,
        parking,
    } = course.usage;
    let last = billed.measure(&pricing, &stretches, PriceType::Energy, |one| one.energy);
    billed.round_up(&pricing, last, energy, |price| u64::from(price.step_size));
    let time = billed.measure(&pricing, &stretches, PriceType::Time, |one| one.charging);
    let last = billed.measure(&pricing, &stretches, PriceType::ParkingTime, |one| {
        one.parking
    });
    match last {
        Some(_) => billed.round_up(&pricing, last, parking, millis_of_step),
        None => billed.round_up(&pricing, time, charging, millis_of_step),
    }
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

/// The dimensions of a tariff in the order of their lines, and how many of the parts they are counted in make one unit.
const DIMENSIONS: [(PriceType, Decimal); 4] = [
    (PriceType::Flat, Decimal::ONE),
    (PriceType::Energy, WH_PER_KWH),
    (PriceType::Time, MILLIS_PER_HOUR),
    (PriceType::ParkingTime, MILLIS_PER_HOUR),
];

/// What each price is billed for: Wh, milliseconds, or once.
struct Billed(Vec<Option<Decimal>>);

impl Billed {
    /// The first start fee that holds at any time.
    fn once(&mut self, pricing: &[&Price], stretches: &[Stretch]) {
        let mut held = stretches.iter();
        if let Some(place) = held.find_map(|stretch| stretch.price(pricing, PriceType::Flat)) {
            self.0[place] = Some(Decimal::ONE);
        }
    }

    /// Adds what each price of a kind is billed for before rounding up, and says which was the last.
    fn measure(
        &mut self,
        pricing: &[&Price],
        stretches: &[Stretch],
        kind: PriceType,
        parts: fn(&Stretch) -> Decimal,
    ) -> Option<usize> {
        let mut last = None;
        for stretch in stretches.iter().filter(|one| !parts(one).is_zero()) {
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

/// Part of a session in which the same prices hold.
#[derive(Debug, Clone, Copy)]
struct Stretch<'a> {
    began: Mark,
    at: Timestamp,
    zone: &'a TimeZone,
    /// W
    power: Decimal,
    /// Wh
    energy: Decimal,
    /// Milliseconds.
    charging: Decimal,
    /// Milliseconds.
    parking: Decimal,
}

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    /// Milliseconds.
    elapsed: Decimal,
    /// Wh
    energy: Decimal,
}

/// To how many digits after the point the milliseconds and Wh at which a session is cut are exact.
const MARK_DIGITS: u32 = 9;

/// How long after its beginning a session is cut into days, in milliseconds.
const CALENDAR: i64 = 400 * DAY;

/// Cuts a session wherever a price may begin or cease to hold.
fn stretches<'a>(pricing: &[&Price], course: Course<'a>) -> Vec<Stretch<'a>> {
    let Usage {
        energy,
        charging,
        parking,
    } = course.usage;
    let (energy, charging, parking) = (energy.into(), charging.into(), Decimal::from(parking));
    let end = charging + parking;
    // A quotient of 28 digits falls short of the whole by the last of them, and a limit is met or not.
    let exact = |quantity: Decimal| quantity.round_dp(MARK_DIGITS);
    let share = |part: Decimal, whole: Decimal| part.checked_div(whole).unwrap_or(Decimal::ONE);
    let at_time = |elapsed: Decimal| Mark {
        elapsed,
        energy: exact(energy * share(elapsed, charging).min(Decimal::ONE)),
    };
    let at_energy = |wanted: u32| Mark {
        elapsed: exact(charging * share(wanted.into(), energy)),
        energy: wanted.into(),
    };
    let mut marks = vec![at_time(charging)];
    for restrictions in pricing
        .iter()
        .filter_map(|price| price.restrictions.as_ref())
    {
        let durations = [restrictions.min_duration, restrictions.max_duration];
        let energies = [restrictions.min_energy, restrictions.max_energy];
        let durations = durations.into_iter().flatten();
        marks.extend(
            durations.map(|seconds| at_time(Decimal::from(seconds) * Decimal::ONE_THOUSAND)),
        );
        let energies = energies.into_iter().flatten();
        marks.extend(
            energies
                .filter(|wanted| Decimal::from(*wanted) < energy)
                .map(at_energy),
        );
        let moments = restrictions.moments(course, end).into_iter();
        marks.extend(moments.map(|millis| at_time(millis.into())));
    }
    marks.retain(|mark| Decimal::ZERO < mark.elapsed && mark.elapsed < end);
    marks.sort_unstable();
    marks.dedup_by_key(|mark| mark.elapsed);
    let begin = Mark {
        elapsed: Decimal::ZERO,
        energy: if charging.is_zero() {
            energy
        } else {
            Decimal::ZERO
        },
    };
    let ends = marks.iter().copied().chain([Mark {
        elapsed: end,
        energy,
    }]);
    let flow = energy.checked_mul(MILLIS_PER_HOUR).unwrap_or(Decimal::MAX);
    let flow = flow.checked_div(charging).unwrap_or_default();
    let mut from = begin;
    let mut stretches = Vec::with_capacity(marks.len() + 1);
    for until in ends {
        let lasts = until.elapsed - from.elapsed;
        let charges = from.elapsed < charging;
        let whole = from == begin && charging.is_zero();
        stretches.push(Stretch {
            began: from,
            at: course
                .began
                .plus_millis(from.elapsed.to_i64().unwrap_or(i64::MAX)),
            zone: course.zone,
            power: if charges { flow } else { Decimal::ZERO },
            energy: if whole {
                energy
            } else {
                until.energy - from.energy
            },
            charging: if charges { lasts } else { Decimal::ZERO },
            parking: if charges { Decimal::ZERO } else { lasts },
        });
        from = until;
    }
    stretches
}

impl Stretch<'_> {
    /// The place of the first price of a kind that holds.
    fn price(&self, pricing: &[&Price], kind: PriceType) -> Option<usize> {
        pricing.iter().position(|price| {
            let restrictions = price.restrictions.as_ref();
            price.kind == kind && restrictions.is_none_or(|restrictions| restrictions.hold(self))
        })
    }
}

impl Restrictions {
    fn hold(&self, stretch: &Stretch<'_>) -> bool {
        let Self {
            start_time,
            end_time,
            start_date,
            end_date,
            day_of_week,
            min_duration,
            max_duration,
            min_energy,
            max_energy,
            min_power,
            max_power,
            // Part of the power's restrictions.
            min_current: _,
            max_current: _,
            // Decided when the session begins.
            start_date_time: _,
            end_date_time: _,
            reservation: _,
        } = self;
        fn within(value: Decimal, min: Option<u32>, max: Option<u32>) -> bool {
            min.is_none_or(|min| value >= min.into()) && max.is_none_or(|max| value < max.into())
        }
        let seconds = stretch.began.elapsed / Decimal::ONE_THOUSAND;
        let local = stretch.at.civil_in(stretch.zone);
        let (date, time) = (local.date(), local.time());
        let today =
            Weekday::ALL[usize::from(date.weekday().to_monday_zero_offset().unsigned_abs())];
        within(seconds, *min_duration, *max_duration)
            && within(stretch.began.energy, *min_energy, *max_energy)
            && within(stretch.power, *min_power, *max_power)
            && (day_of_week.is_empty() || day_of_week.contains(&today))
            && read(start_date).is_none_or(|start: Date| date >= start)
            && read(end_date).is_none_or(|end: Date| date < end)
            && match (read(start_time), read(end_time)) {
                (Some(start), Some(end)) if end < start => time >= start || time < end,
                (start, end) => {
                    let end = end.filter(|end| *end != Time::midnight());
                    start.is_none_or(|start| time >= start) && end.is_none_or(|end| time < end)
                }
            }
    }

    /// The milliseconds into a session at which the clock or the calendar may change whether these hold.
    fn moments(&self, course: Course<'_>, end: Decimal) -> Vec<i64> {
        let times = [&self.start_time, &self.end_time].map(read::<Time>);
        let days =
            self.start_date.is_some() || self.end_date.is_some() || !self.day_of_week.is_empty();
        if times == [None, None] && !days {
            return Vec::new();
        }
        let end = end.to_i64().unwrap_or(CALENDAR).min(CALENDAR);
        let last = course.began.plus_millis(end);
        let mut moments = course.began.clock_changes_until(last, course.zone);
        let mut day = course.began.date_in(course.zone);
        let final_day = last.date_in(course.zone);
        while day <= final_day {
            for time in times.into_iter().flatten().chain([Time::midnight()]) {
                let moment = day.to_datetime(time);
                let moment = course.zone.to_ambiguous_timestamp(moment);
                let sides = [moment.earlier(), moment.later()];
                moments.extend(sides.into_iter().flatten().map(Timestamp::from));
            }
            match day.checked_add(1.day()) {
                Ok(next) => day = next,
                Err(_) => break,
            }
        }
        let since = |moment: Timestamp| moment.millis_since(course.began);
        moments.into_iter().map(since).collect()
    }
}

fn read<T: std::str::FromStr>(text: &Option<String>) -> Option<T> {
    text.as_deref()?.parse().ok()
}

impl Cost {
    /// The sums of lines.
    fn of(lines: &[Line]) -> Self {
        let sum = |part: fn(&Line) -> i64| lines.iter().map(part).fold(0, i64::saturating_add);
        Self {
            lines: Vec::new(),
            net: sum(|line| line.net),
            tax: sum(|line| line.tax),
            gross: sum(|line| line.gross),
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
            tax_included: price.tax_included,
            tax_percent: tax_percent.normalize(),
            net,
            tax: gross - net,
            gross,
        }
    }

    /// What raises a cost to a minimum, or lowers it to a maximum. With and without tax are held to it by themselves.
    fn up_to(limit: &Price, cost: &Cost) -> Option<Self> {
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

    /// What the quantity counts.
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
    use super::{
        Cost, Currency, Decimal, Line, Price, PriceType, Restrictions, Tax, Timestamp, Usage,
        Weekday, currency,
    };
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    const MINUTE: u64 = 60_000;

    /// The cost of a session that began on a Sunday at eight.
    fn cost(pricing: &[Price], currency: Currency, usage: Usage) -> Cost {
        cost_from("2026-03-01T08:00:00Z", "UTC", pricing, currency, usage)
    }

    fn cost_from(
        began: &str,
        zone: &str,
        pricing: &[Price],
        currency: Currency,
        usage: Usage,
    ) -> Cost {
        let course = super::Course {
            began: Timestamp::parse(began).unwrap(),
            zone: &TimeZone::get(zone).unwrap(),
            usage,
        };
        super::cost(pricing, currency, course)
    }

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
            restrictions: None,
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

    fn at(price: Price, restrictions: Restrictions) -> Price {
        Price {
            restrictions: Some(restrictions),
            ..price
        }
    }

    fn clock(start: &str, end: &str) -> Restrictions {
        Restrictions {
            start_time: Some(start.into()),
            end_time: Some(end.into()),
            ..Restrictions::default()
        }
    }

    fn nets(cost: &Cost) -> Vec<i64> {
        cost.lines.iter().map(|line| line.net).collect()
    }

    #[test]
    fn prices_follow_the_stations_clock() {
        let by_day = at(
            price(PriceType::Energy, 40, "0", 1),
            clock("07:00", "19:00"),
        );
        let pricing = [by_day, price(PriceType::Energy, 20, "0", 1)];
        // From six to eight in the evening in Berlin.
        let evening = used(20_000, 120 * MINUTE, 0);
        let cost = cost_from(
            "2026-07-01T16:00:00Z",
            "Europe/Berlin",
            &pricing,
            eur(),
            evening,
        );
        assert_eq!(nets(&cost), [400, 200]);
        assert_eq!(
            nets(&cost_from(
                "2026-07-01T16:00:00Z",
                "UTC",
                &pricing,
                eur(),
                evening
            )),
            [800]
        );
    }

    #[test]
    fn a_night_is_as_long_as_the_clocks_make_it() {
        let by_night = at(
            price(PriceType::Time, 100, "0", 60),
            clock("22:00", "06:00"),
        );
        let pricing = [by_night, price(PriceType::Time, 300, "0", 60)];
        for (began, hours, want) in [
            // Eleven in the evening to seven in the morning: seven hours when the clocks go forward, nine when they go back.
            ("2026-03-28T22:00:00Z", 7, [600, 300]),
            ("2026-10-24T21:00:00Z", 9, [800, 300]),
            ("2026-05-01T21:00:00Z", 8, [700, 300]),
        ] {
            let usage = used(0, hours * 60 * MINUTE, 0);
            let cost = cost_from(began, "Europe/Amsterdam", &pricing, eur(), usage);
            assert_eq!(nets(&cost), want, "{began}");
        }
    }

    #[test]
    fn prices_follow_days_dates_durations_energy_and_power() {
        let free = |restrictions| at(price(PriceType::Energy, 0, "0", 1), restrictions);
        let cost_with = |restrictions| {
            let pricing = [free(restrictions), price(PriceType::Energy, 100, "0", 1)];
            // Twelve hours from a Sunday at eight in the evening, 1 kW, in UTC.
            let usage = used(12_000, 720 * MINUTE, 0);
            cost_from("2026-03-01T20:00:00Z", "UTC", &pricing, eur(), usage).gross
        };
        let none = Restrictions::default;
        assert_eq!(
            cost_with(Restrictions {
                day_of_week: vec![Weekday::Sun],
                ..none()
            }),
            800
        );
        assert_eq!(
            cost_with(Restrictions {
                start_date: Some("2026-03-02".into()),
                ..none()
            }),
            400
        );
        assert_eq!(
            cost_with(Restrictions {
                end_date: Some("2026-03-02".into()),
                ..none()
            }),
            800
        );
        assert_eq!(
            cost_with(Restrictions {
                min_duration: Some(3600),
                ..none()
            }),
            100
        );
        assert_eq!(
            cost_with(Restrictions {
                max_duration: Some(3600),
                ..none()
            }),
            1100
        );
        assert_eq!(
            cost_with(Restrictions {
                min_energy: Some(2_500),
                ..none()
            }),
            250
        );
        assert_eq!(
            cost_with(Restrictions {
                max_energy: Some(2_500),
                ..none()
            }),
            950
        );
        assert_eq!(
            cost_with(Restrictions {
                min_power: Some(1_000),
                ..none()
            }),
            0
        );
        assert_eq!(
            cost_with(Restrictions {
                max_power: Some(1_000),
                ..none()
            }),
            1200
        );
        assert_eq!(cost_with(clock("22:00", "00:00")), 1000);
        assert_eq!(cost_with(clock("00:00", "00:00")), 0);
    }

    /// OCPI 2.3.0: at least 0.50 without and 0.55 with tax, at most 10.00 and 11.00.
    #[test]
    fn a_session_costs_at_least_and_at_most_so_much() {
        let energy = price(PriceType::Energy, 25, "10", 1);
        let least = price(PriceType::MinPrice, 50, "10", 1);
        let most = price(PriceType::MaxPrice, 1000, "10", 1);
        let pricing = [energy, least, most];
        assert_eq!(totals(&pricing, used(1_000, 0, 0)), (50, 55));
        assert_eq!(totals(&pricing, used(20_000, 0, 0)), (500, 550));
        assert_eq!(totals(&pricing, used(60_000, 0, 0)), (1000, 1100));
        let raised = cost(&pricing, eur(), used(1_000, 0, 0));
        assert_eq!(
            raised
                .lines
                .iter()
                .map(|line| line.gross)
                .collect::<Vec<_>>(),
            [28, 27]
        );
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
