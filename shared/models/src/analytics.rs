//! Daily sums: the energy, sessions and costs of a fleet and its vehicles, and the outcomes of their reservations.
//!
//! A completed session counts for the day on which it ended, in the time zone that the fleet had when the session was created. A reservation
//! that was cancelled, has failed or has expired counts for the day of its `ideal_start`, in the time zone of that moment; one that was
//! fulfilled counts as completed with its session. When the energy or the price of a session changes later, the sums of its day are
//! corrected: the time zone does not depend on when that happens, so that it is the day for which the session was counted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan as _;
use jiff::civil::Date;
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use super::charging_session::{ChargingSession, SessionStatus};
use super::reservation::{Reservation, ReservationStatus};
use kernel::fields::text::ZoneName;
use kernel::{Currency, Error, Id, Kind, Result, Timestamp};

/// The maximum number of days of a range whose intervals are days.
const MOST_DAYS: i32 = 92;
/// The maximum number of days of a range whose intervals are months: three years.
const MOST_DAYS_BY_MONTH: i32 = 1_096;
/// The maximum number of days of a range by vehicle. Such a range touches at most two months, and each month is read with one call.
const MOST_DAYS_BY_VEHICLE: i32 = 31;
/// The number of days of a range of which only the end is given.
const USUAL_DAYS: i64 = 30;

/// Sums by name: `e` is Wh, `s` sessions, `c:gbp` minor units of a currency, `r:expired` reservations with an outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sums(pub BTreeMap<String, i64>);

impl Sums {
    const ENERGY: &str = "e";
    const SESSIONS: &str = "s";

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds to one sum. Sums of zero are removed.
    pub fn add(&mut self, name: &str, count: i64) {
        let sum = self.0.entry(name.to_owned()).or_default();
        *sum = sum.saturating_add(count);
        if *sum == 0 {
            self.0.remove(name);
        }
    }

    /// Adds other sums, multiplied by `times`.
    pub fn add_all(&mut self, other: &Self, times: i64) {
        for (name, count) in &other.0 {
            self.add(name, count.saturating_mul(times));
        }
    }

    fn get(&self, name: &str) -> i64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Returns the energy in Wh.
    pub fn energy(&self) -> i64 {
        self.get(Self::ENERGY)
    }

    pub fn sessions(&self) -> i64 {
        self.get(Self::SESSIONS)
    }
}

/// The contribution of an object to the sums, and the moment that decides the day to which it belongs.
pub type Share = (Timestamp, Sums);

/// Returns the contribution of a session to the sums of its fleet and its vehicle.
pub fn of_session(session: &ChargingSession) -> Option<Share> {
    let ended = session.state.ended()?;
    if session.status() != SessionStatus::Completed {
        return None;
    }
    let mut sums = Sums::default();
    sums.add(Sums::SESSIONS, 1);
    sums.add(Sums::ENERGY, session.energy());
    sums.add(&format!("c:{}", session.currency), session.total().gross);
    if session.reservation.is_some() {
        sums.add(&Outcome::Completed.name(), 1);
    }
    Some((ended, sums))
}

/// Returns the contribution of a reservation that ended without a session.
pub fn of_reservation(reservation: &Reservation) -> Option<Share> {
    let outcome = match reservation.status() {
        ReservationStatus::Cancelled => Outcome::Cancelled,
        ReservationStatus::Expired => Outcome::Expired,
        ReservationStatus::Failed => Outcome::Failed,
        ReservationStatus::Pending
        | ReservationStatus::Confirmed
        | ReservationStatus::Completed => return None,
    };
    let mut sums = Sums::default();
    sums.add(&outcome.name(), 1);
    Some((reservation.ideal_start, sums))
}

/// The quantity that the values measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Wh of completed sessions.
    Energy,
    /// The cost of completed sessions with tax, in minor units: a series for each currency.
    Cost,
    /// The number of completed sessions.
    Sessions,
    /// The number of reservations that ended: a series for each outcome.
    Reservations,
}

/// The outcome of a reservation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// A completed session fulfilled the reservation.
    Completed,
    Cancelled,
    /// The vehicle did not arrive.
    Expired,
    Failed,
}

impl Outcome {
    const ALL: [Self; 4] = [
        Self::Completed,
        Self::Cancelled,
        Self::Expired,
        Self::Failed,
    ];

    fn name(self) -> String {
        let name: &str = self.into();
        format!("r:{name}")
    }
}

/// The grouping of the values into series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesGrouping {
    /// Each vehicle, in the order of the ids.
    Vehicle,
}

/// The length of the intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    #[default]
    Day,
    Month,
}

/// A day as `2026-03-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Day(pub Date);

impl TryFrom<String> for Day {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const SHAPE: &str = "expected a day such as 2026-03-01";
        let day = text.parse().map_err(|_| SHAPE)?;
        // The parser also accepts a time after the day.
        (text.len() == 10).then_some(Self(day)).ok_or(SHAPE)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The requested range of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    pub from: Date,
    /// The day after the last one.
    pub until: Date,
    pub interval: Interval,
}

impl Days {
    /// Returns the range from `from` to the day before `until`. Without an end it ends with `today`; without a beginning it has 30 days.
    ///
    /// # Errors
    /// 400 for a range that ends before it begins, or that has more days than allowed.
    pub fn new(
        from: Option<Day>,
        until: Option<Day>,
        interval: Interval,
        grouping: Option<SeriesGrouping>,
        today: Date,
    ) -> Result<Self> {
        let until = until.map_or_else(|| today.saturating_add(1.day()), |day| day.0);
        let from = from.map_or_else(|| until.saturating_sub(USUAL_DAYS.days()), |day| day.0);
        if until <= from {
            return Err(Error::invalid("until", "must lie after from"));
        }
        let most = match (grouping, interval) {
            (Some(SeriesGrouping::Vehicle), _) => MOST_DAYS_BY_VEHICLE,
            (None, Interval::Day) => MOST_DAYS,
            (None, Interval::Month) => MOST_DAYS_BY_MONTH,
        };
        let count = from.until(until).map_err(Error::internal)?.get_days();
        if count > most {
            let message = format!("the range has {count} days, and may have {most} at most");
            return Err(Error::invalid("from", message));
        }
        Ok(Self {
            from,
            until,
            interval,
        })
    }

    /// Returns the first day of each month that the range touches.
    pub fn months(&self) -> Vec<Date> {
        let last = self.until.saturating_sub(1.day()).first_of_month();
        let first = self.from.first_of_month();
        let months = first.series(1.month());
        months.take_while(|month| *month <= last).collect()
    }

    /// Returns the first day of each interval.
    fn intervals(&self) -> Vec<Date> {
        match self.interval {
            Interval::Day => {
                let days = self.from.series(1.day());
                days.take_while(|day| *day < self.until).collect()
            }
            Interval::Month => {
                let months = self.months().into_iter();
                months.map(|month| month.max(self.from)).collect()
            }
        }
    }
}

/// Sums of a fleet by interval.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AnalyticsSums)]
pub struct Analytics {
    pub object: Kind,
    /// Id of the fleet.
    pub fleet: Id,
    /// The first day.
    #[schema(example = "2026-03-01")]
    pub from: Day,
    /// The grouping of the values into series; null if there is a single one for the whole fleet.
    pub group_by: Option<SeriesGrouping>,
    /// The length of the intervals.
    pub interval: Interval,
    /// The first day of each interval, in the order of `values`.
    #[schema(max_items = 92)]
    pub intervals: Vec<Day>,
    /// The quantity that the values measure.
    pub metric: Metric,
    /// URL of the page with the next vehicles; null if there are no more.
    #[schema(max_length = 2048)]
    pub next_page_url: Option<String>,
    /// The sums.
    #[schema(max_items = 400)]
    pub series: Vec<Series>,
    /// Time zone of the fleet, in which new sessions and reservations are counted. When a fleet changes its zone, what was counted before
    /// stays on the days of the earlier one.
    pub time_zone: ZoneName,
    /// The unit of the values.
    pub unit: Unit,
    /// The day after the last one.
    #[schema(example = "2026-04-01")]
    pub until: Day,
}

/// The unit of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Wh,
    /// Minor units of the currency of the series.
    MinorUnits,
    Count,
}

/// One line of a chart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Series {
    /// Currency of the values; null unless the metric is `cost`.
    pub currency: Option<Currency>,
    /// The outcome of the reservations; null unless the metric is `reservations`.
    pub outcome: Option<Outcome>,
    /// The sum of the values.
    #[schema(example = 132_120)]
    pub total: i64,
    /// One number for each interval; 0 for an interval without data.
    #[schema(max_items = 92)]
    pub values: Vec<i64>,
    /// Id of the vehicle; null unless grouped by vehicle.
    pub vehicle: Option<Id>,
}

impl Metric {
    fn unit(self) -> Unit {
        match self {
            Self::Energy => Unit::Wh,
            Self::Cost => Unit::MinorUnits,
            Self::Sessions | Self::Reservations => Unit::Count,
        }
    }

    /// Returns the series of one group, from its sums by day.
    fn series(self, days: &Days, sums: &BTreeMap<Date, Sums>, vehicle: Option<&Id>) -> Vec<Series> {
        let starts = days.intervals();
        let series = |name: &str, currency, outcome| {
            let mut values = vec![0; starts.len()];
            for (day, sums) in sums.range(days.from..days.until) {
                let place = starts.partition_point(|start| start <= day);
                values[place - 1] += sums.get(name);
            }
            let vehicle = vehicle.cloned();
            Series {
                currency,
                outcome,
                total: values.iter().sum(),
                values,
                vehicle,
            }
        };
        match self {
            Self::Energy => vec![series(Sums::ENERGY, None, None)],
            Self::Sessions => vec![series(Sums::SESSIONS, None, None)],
            Self::Cost => {
                let names = sums.values().flat_map(|sums| sums.0.keys());
                let codes: BTreeSet<&str> =
                    names.filter_map(|name| name.strip_prefix("c:")).collect();
                let currencies = codes.into_iter().filter_map(Currency::from_code);
                currencies
                    .map(|currency| series(&format!("c:{currency}"), Some(currency), None))
                    .collect()
            }
            Self::Reservations => Outcome::ALL
                .map(|outcome| series(&outcome.name(), None, Some(outcome)))
                .into(),
        }
    }
}

impl Analytics {
    /// Returns the sums of a metric for the fleet, or for each of its vehicles.
    pub fn new(
        metric: Metric,
        days: Days,
        (fleet, time_zone): (Id, ZoneName),
        groups: &[(Option<Id>, BTreeMap<Date, Sums>)],
        grouping: Option<SeriesGrouping>,
    ) -> Self {
        let series = groups
            .iter()
            .flat_map(|(vehicle, sums)| metric.series(&days, sums, vehicle.as_ref()));
        Self {
            object: Kind::Analytics,
            fleet,
            from: Day(days.from),
            group_by: grouping,
            interval: days.interval,
            intervals: days.intervals().into_iter().map(Day).collect(),
            metric,
            next_page_url: None,
            series: series.collect(),
            time_zone,
            unit: metric.unit(),
            until: Day(days.until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn days(from: Date, until: Date, interval: Interval) -> Result<Days> {
        let today = date(2026, 3, 9);
        Days::new(Some(Day(from)), Some(Day(until)), interval, None, today)
    }

    fn energy(day: Date, count: i64) -> (Date, Sums) {
        (day, Sums(BTreeMap::from([("e".to_owned(), count)])))
    }

    #[test]
    fn months_add_up_the_days_of_the_range_alone() {
        let range = days(date(2026, 1, 30), date(2026, 3, 2), Interval::Month).unwrap();
        let sums = [
            energy(date(2026, 1, 29), 1),
            energy(date(2026, 1, 30), 10),
            energy(date(2026, 2, 1), 100),
            energy(date(2026, 2, 28), 1_000),
            energy(date(2026, 3, 1), 10_000),
            energy(date(2026, 3, 2), 100_000),
        ];
        let series = Metric::Energy.series(&range, &BTreeMap::from(sums), None);
        assert_eq!(series[0].values, [10, 1_100, 10_000]);
        assert_eq!(series[0].total, 11_110);
        let first = [date(2026, 1, 30), date(2026, 2, 1), date(2026, 3, 1)];
        assert_eq!(range.intervals(), first);
    }

    #[test]
    fn ranges_are_bounded() {
        let from = date(2026, 1, 1);
        assert!(days(from, date(2026, 4, 3), Interval::Day).is_ok());
        assert!(days(from, date(2026, 4, 4), Interval::Day).is_err());
        assert!(days(from, date(2029, 1, 1), Interval::Month).is_ok());
        assert!(days(from, date(2029, 1, 2), Interval::Month).is_err());
        assert!(days(from, from, Interval::Day).is_err());
        let vehicle = Some(SeriesGrouping::Vehicle);
        let range = Days::new(None, None, Interval::Day, vehicle, date(2026, 3, 9)).unwrap();
        assert_eq!(
            (range.from, range.until),
            (date(2026, 2, 8), date(2026, 3, 10))
        );
        assert!(Day::try_from("2026-03-01T00:00".to_owned()).is_err());
    }

    #[test]
    fn what_was_taken_back_leaves_nothing_behind() {
        let mut sums = Sums::default();
        let other = Sums(BTreeMap::from([("c:gbp".to_owned(), 5)]));
        sums.add_all(&other, 1);
        assert_eq!(sums, other);
        sums.add_all(&other, -1);
        assert!(sums.is_empty());
    }
}
