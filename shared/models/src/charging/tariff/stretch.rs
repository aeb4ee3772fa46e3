//! The stretches of a session in which the same prices hold.

use jiff::ToSpan as _;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use super::course::{Course, MILLIS_PER_HOUR, Usage};
use crate::charging_station::{Price, PriceType, Restrictions, Weekday};
use kernel::time::{SignedDuration, Timestamp, days, millis, whole_millis};

/// Part of a session in which the same prices hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch<'a> {
    began: Mark,
    at: Timestamp,
    zone: &'a TimeZone,
    /// W
    power: Decimal,
    /// Wh
    pub(super) energy: Decimal,
    /// Milliseconds.
    pub(super) charging: Decimal,
    /// Milliseconds.
    pub(super) parking: Decimal,
}

/// A position in the course of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    /// Milliseconds.
    elapsed: Decimal,
    /// Wh
    energy: Decimal,
}

/// The number of decimal places to which the milliseconds and Wh at which a session is cut are exact.
const MARK_DIGITS: u32 = 9;

/// The time from the beginning of a session during which it is cut into days.
const CALENDAR: SignedDuration = days(400);

/// Cuts a session wherever a price may begin or cease to hold.
pub(super) fn stretches<'a>(pricing: &[&Price], course: Course<'a>) -> Vec<Stretch<'a>> {
    let Usage {
        energy,
        charging,
        parking,
    } = course.usage;
    let (energy, charging, parking) = (energy.into(), charging.into(), Decimal::from(parking));
    let end = charging + parking;
    let marks = marks(pricing, course, energy, charging, end);
    let begin = Mark {
        elapsed: Decimal::ZERO,
        energy: if charging.is_zero() {
            energy
        } else {
            Decimal::ZERO
        },
    };
    let mut stretches = Vec::with_capacity(marks.len() + 1);
    let ends = marks.into_iter().chain([Mark {
        elapsed: end,
        energy,
    }]);
    let flow = energy.checked_mul(MILLIS_PER_HOUR).unwrap_or(Decimal::MAX);
    let flow = flow.checked_div(charging).unwrap_or_default();
    let mut from = begin;
    for until in ends {
        let lasts = until.elapsed - from.elapsed;
        let charges = from.elapsed < charging;
        let whole = from == begin && charging.is_zero();
        stretches.push(Stretch {
            began: from,
            at: course
                .began
                .plus(millis(from.elapsed.to_i64().unwrap_or(i64::MAX))),
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

/// The moments between the begin and the end at which a restriction may begin or cease to be met, and the end of the charging, in order.
fn marks(
    pricing: &[&Price],
    course: Course<'_>,
    energy: Decimal,
    charging: Decimal,
    end: Decimal,
) -> Vec<Mark> {
    // A quotient of 28 digits can be too small by the last digit, and the comparison with a limit must have a definite result.
    let exact = |quantity: Decimal| quantity.round_dp(MARK_DIGITS);
    let share = |part: Decimal, whole: Decimal| part.checked_div(whole).unwrap_or(Decimal::ONE);
    let at_time = |elapsed: Decimal| Mark {
        elapsed,
        energy: exact(energy * share(elapsed, charging).min(Decimal::ONE)),
    };
    let at_energy = |threshold: Decimal| Mark {
        elapsed: exact(charging * share(threshold, energy)),
        energy: threshold,
    };
    let mut marks = vec![at_time(charging)];
    let restrictions = pricing
        .iter()
        .filter_map(|price| price.restrictions.as_ref());
    for restrictions in restrictions {
        let durations = [restrictions.min_duration, restrictions.max_duration];
        let durations = durations.into_iter().flatten().map(Decimal::from);
        marks.extend(durations.map(|seconds| at_time(seconds * Decimal::ONE_THOUSAND)));
        let energies = [restrictions.min_energy, restrictions.max_energy];
        let energies = energies.into_iter().flatten().map(Decimal::from);
        marks.extend(
            energies
                .filter(|threshold| *threshold < energy)
                .map(at_energy),
        );
        let moments = restrictions.moments(course, end).into_iter();
        marks.extend(moments.map(|millis| at_time(millis.into())));
    }
    marks.retain(|mark| Decimal::ZERO < mark.elapsed && mark.elapsed < end);
    marks.sort_unstable();
    marks.dedup_by_key(|mark| mark.elapsed);
    marks
}

impl<'a> Stretch<'a> {
    /// Returns the beginning of a session that charges with this power in W.
    pub(super) fn first(at: Timestamp, zone: &'a TimeZone, power: u32) -> Self {
        Self {
            began: Mark {
                elapsed: Decimal::ZERO,
                energy: Decimal::ZERO,
            },
            at,
            zone,
            power: power.into(),
            energy: Decimal::ZERO,
            charging: Decimal::ZERO,
            parking: Decimal::ZERO,
        }
    }

    /// Returns the index of the first price of a kind that holds.
    pub(super) fn price(&self, pricing: &[&Price], kind: PriceType) -> Option<usize> {
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

    /// Returns the milliseconds since the beginning of a session at which the clock or the calendar may change whether these
    /// restrictions hold.
    fn moments(&self, course: Course<'_>, end: Decimal) -> Vec<i64> {
        let times = [&self.start_time, &self.end_time].map(read::<Time>);
        let days =
            self.start_date.is_some() || self.end_date.is_some() || !self.day_of_week.is_empty();
        if times == [None, None] && !days {
            return Vec::new();
        }
        let end = end.to_i64().map_or(CALENDAR, millis).min(CALENDAR);
        let last = course.began.plus(end);
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
        let since = |moment: Timestamp| whole_millis(moment.since(course.began));
        moments.into_iter().map(since).collect()
    }
}

fn read<T: std::str::FromStr>(text: &Option<String>) -> Option<T> {
    text.as_deref()?.parse().ok()
}
