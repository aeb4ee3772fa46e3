//! The stretches of a session in which the same prices hold.

use jiff::ToSpan as _;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;

use super::course::{Course, MILLIS_PER_HOUR};
use crate::charging_station::{Price, PriceType, Restrictions, Weekday};
use kernel::time::{days, millis, whole_millis};
use kernel::{SignedDuration, Timestamp};

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

/// A segment of a session, and its place in it.
struct Leg {
    from: Mark,
    until: Mark,
    /// W
    power: Decimal,
    is_parking: bool,
}

/// Cuts a session wherever a price may begin or cease to hold, or its power changes.
pub(super) fn stretches<'a>(pricing: &[&Price], course: Course<'a>) -> Vec<Stretch<'a>> {
    let legs = legs(course);
    let limits = Limits::of(pricing, course);
    let mut stretches = Vec::with_capacity(legs.len());
    let mut delivered = Decimal::ZERO;
    for leg in legs {
        let mut from = leg.from;
        for until in leg.marks(&limits) {
            let lasts = until.elapsed - from.elapsed;
            let (charging, parking) = if leg.is_parking {
                (Decimal::ZERO, lasts)
            } else {
                (lasts, Decimal::ZERO)
            };
            stretches.push(Stretch {
                began: from,
                at: course
                    .began
                    .plus(millis(from.elapsed.to_i64().unwrap_or(i64::MAX))),
                zone: course.zone,
                power: leg.power,
                energy: until.energy - delivered,
                charging,
                parking,
            });
            delivered = until.energy;
            from = until;
        }
    }
    stretches
}

/// Returns the segments of a session with the energy that they have delivered. Energy of a session that did not charge at any time is
/// delivered at its beginning.
fn legs(course: Course<'_>) -> Vec<Leg> {
    let energy = Decimal::from(course.usage.energy);
    let segments = course.segments();
    let measured: Decimal = segments.iter().map(|part| Decimal::from(part.energy)).sum();
    let mut counted = Decimal::ZERO;
    let mut from = Mark {
        elapsed: Decimal::ZERO,
        energy: if course.usage.charging == 0 {
            energy
        } else {
            Decimal::ZERO
        },
    };
    let legs = segments.into_iter().map(|segment| {
        counted += Decimal::from(segment.energy);
        let until = Mark {
            elapsed: from.elapsed + Decimal::from(segment.lasts),
            energy: if measured == energy {
                counted
            } else {
                exact(energy * share(counted, measured))
            },
        };
        let flow = (until.energy - from.energy).checked_mul(MILLIS_PER_HOUR);
        let flow = flow
            .unwrap_or(Decimal::MAX)
            .checked_div(segment.lasts.into());
        let leg = Leg {
            from,
            until,
            power: flow.unwrap_or_default(),
            is_parking: segment.is_parking,
        };
        from = until;
        leg
    });
    legs.collect()
}

/// Rounds milliseconds or Wh. A quotient of 28 digits can be too small by the last digit, and the comparison with a limit must have a
/// definite result.
fn exact(quantity: Decimal) -> Decimal {
    quantity.round_dp(MARK_DIGITS)
}

fn share(part: Decimal, whole: Decimal) -> Decimal {
    part.checked_div(whole).unwrap_or(Decimal::ONE)
}

/// The milliseconds since the beginning of a session, and the Wh, at which a restriction may begin or cease to be met.
struct Limits {
    elapsed: Vec<Decimal>,
    energies: Vec<Decimal>,
}

impl Limits {
    fn of(pricing: &[&Price], course: Course<'_>) -> Self {
        let end = Decimal::from(course.usage.charging) + Decimal::from(course.usage.parking);
        let (mut elapsed, mut energies) = (Vec::new(), Vec::new());
        let restrictions = pricing
            .iter()
            .filter_map(|price| price.restrictions.as_ref());
        for restrictions in restrictions {
            let durations = [restrictions.min_duration, restrictions.max_duration];
            let durations = durations.into_iter().flatten().map(Decimal::from);
            elapsed.extend(durations.map(|seconds| seconds * Decimal::ONE_THOUSAND));
            let limits = [restrictions.min_energy, restrictions.max_energy];
            energies.extend(limits.into_iter().flatten().map(Decimal::from));
            let moments = restrictions.moments(course, end).into_iter();
            elapsed.extend(moments.map(Decimal::from));
        }
        Self { elapsed, energies }
    }
}

impl Leg {
    /// Returns the positions at which it is cut, in order, and its end.
    fn marks(&self, limits: &Limits) -> Vec<Mark> {
        let (from, until) = (self.from, self.until);
        let (lasts, energy) = (until.elapsed - from.elapsed, until.energy - from.energy);
        let is_inside = |elapsed: Decimal| from.elapsed < elapsed && elapsed < until.elapsed;
        let at_times = limits.elapsed.iter().filter(|at| is_inside(**at));
        let at_times = at_times.map(|at| Mark {
            elapsed: *at,
            energy: from.energy + exact(energy * share(*at - from.elapsed, lasts)),
        });
        let at_energies = limits.energies.iter();
        let at_energies = at_energies.filter(|at| from.energy < **at && **at < until.energy);
        let at_energies = at_energies.map(|at| Mark {
            elapsed: from.elapsed + exact(lasts * share(*at - from.energy, energy)),
            energy: *at,
        });
        let at_energies = at_energies.filter(|mark| is_inside(mark.elapsed));
        let mut marks: Vec<Mark> = at_times.chain(at_energies).collect();
        marks.sort_unstable();
        marks.dedup_by_key(|mark| mark.elapsed);
        marks.push(until);
        marks
    }
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
