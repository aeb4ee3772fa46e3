//! Whether a station is open for the whole of a window.

use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, AmbiguousZoned, TimeZone};
use jiff::{ToSpan as _, Zoned};

use crate::charging_station::{ChargingStation, Range, Weekday};
use kernel::time::millis;
use kernel::window::joined;
use kernel::{Timestamp, Window};

/// Checks whether the station is open from the window's start to its end.
pub fn is_open(station: &ChargingStation, window: &Window) -> bool {
    window.from >= window.until || open_spans(station, window).contains(window)
}

/// Checks whether the station is open at a moment.
pub fn is_open_at(station: &ChargingStation, moment: Timestamp) -> bool {
    let until = moment.plus(millis(1));
    let from = moment;
    is_open(station, &Window { from, until })
}

/// Checks whether the station after a change is closed at a time within the window at which it was open before.
pub fn closes_earlier(before: &ChargingStation, after: &ChargingStation, window: &Window) -> bool {
    let open = open_spans(after, window);
    let mut spans = open_spans(before, window).into_iter();
    spans.any(|span| !span.without(&open).is_empty())
}

/// Returns the time at which a station that is open at a moment closes; None if it stays open until `latest`.
pub fn closes(station: &ChargingStation, now: Timestamp, latest: Timestamp) -> Option<Timestamp> {
    let window = Window {
        from: now,
        until: latest,
    };
    let spans = open_spans(station, &window);
    let current = spans
        .iter()
        .find(|span| span.from <= now && now < span.until)?;
    (current.until < latest).then_some(current.until)
}

/// Returns the spans within the window in which the station is open: in order, none adjacent to the next. An exceptional closing
/// takes precedence over opening hours and exceptional openings.
pub fn open_spans(station: &ChargingStation, window: &Window) -> Vec<Window> {
    let open = if station.capabilities.access_24_7 {
        vec![*window]
    } else {
        joined(
            regular(station, window)
                .chain(extra(station, window))
                .collect(),
        )
    };
    let closed: Vec<Window> = spans(&station.availability.exceptional_closings).collect();
    open.into_iter()
        .flat_map(|span| span.without(&closed))
        .collect()
}

/// Returns the opening hours of the days that the window touches.
fn regular(station: &ChargingStation, window: &Window) -> impl Iterator<Item = Window> {
    let zone = station.timezone.rules();
    let first = window.from.date_in(&zone).saturating_add(-1.days());
    let last = window.until.date_in(&zone);
    let days = first.series(1.day()).take_while(move |day| *day <= last);
    let hours = &station.availability.opening_hours;
    days.flat_map(move |day| hours.iter().map(move |hours| (day, hours)))
        .filter(|(day, hours)| weekday(*day) == hours.day)
        .filter_map(move |(day, hours)| span(day, time(&hours.from)?, time(&hours.until)?, &zone))
        .filter_map(|span| within(span, window))
}

/// Returns the exceptional openings in the window.
fn extra(station: &ChargingStation, window: &Window) -> impl Iterator<Item = Window> {
    let openings = spans(&station.availability.exceptional_openings);
    openings.filter_map(|span| within(span, window))
}

fn spans(ranges: &[Range]) -> impl Iterator<Item = Window> {
    ranges.iter().map(|range| Window {
        from: range.from,
        until: range.until,
    })
}

fn within(span: Window, window: &Window) -> Option<Window> {
    span.overlaps(window).then_some(Window {
        from: span.from.max(window.from),
        until: span.until.min(window.until),
    })
}

fn weekday(day: Date) -> Weekday {
    Weekday::ALL[day.weekday().to_monday_zero_offset() as usize % 7]
}

/// Returns the span between two times of day on one day. `until` at or before `from` is on the next day. Of a time that occurs twice the
/// first begins the span, and the second ends it.
pub(super) fn span(day: Date, from: Time, until: Time, zone: &TimeZone) -> Option<Window> {
    let end_day = if until <= from {
        day.saturating_add(1.day())
    } else {
        day
    };
    Some(Window {
        from: moment(day, from, zone, AmbiguousZoned::earlier)?,
        until: moment(end_day, until, zone, AmbiguousZoned::later)?,
    })
}

/// Returns the moment of a time of day. A time that a change of the clocks skips is the moment of the change; of a time that occurs twice,
/// `choose` returns the one that counts.
fn moment(
    day: Date,
    time: Time,
    zone: &TimeZone,
    choose: impl FnOnce(AmbiguousZoned) -> Result<Zoned, jiff::Error>,
) -> Option<Timestamp> {
    let moment = zone.to_ambiguous_zoned(day.to_datetime(time));
    if let AmbiguousOffset::Gap { .. } = moment.offset() {
        let before = moment.earlier().ok()?.timestamp();
        return Some(zone.following(before).next()?.timestamp().into());
    }
    Some(choose(moment).ok()?.timestamp().into())
}

fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging_station::OpeningHours;

    fn station(zone: &str, hours: &[(Weekday, &str, &str)]) -> ChargingStation {
        let mut station = crate::fixtures::station();
        station.capabilities.access_24_7 = false;
        station.timezone = zone.to_owned().try_into().unwrap();
        station.availability.opening_hours = hours
            .iter()
            .map(|(day, from, until)| OpeningHours {
                day: *day,
                from: (*from).into(),
                until: (*until).into(),
            })
            .collect();
        station
    }

    fn open(station: &ChargingStation, from: &str, until: &str) -> bool {
        let window = Window {
            from: Timestamp::parse(from).unwrap(),
            until: Timestamp::parse(until).unwrap(),
        };
        is_open(station, &window)
    }

    // 2026-03-02 is a Monday.

    #[test]
    fn the_whole_window_must_lie_inside() {
        let station = station("UTC", &[(Weekday::Mon, "08:00", "18:00")]);
        assert!(open(
            &station,
            "2026-03-02T08:00:00Z",
            "2026-03-02T18:00:00Z"
        ));
        assert!(!open(
            &station,
            "2026-03-02T07:59:59Z",
            "2026-03-02T09:00:00Z"
        ));
        assert!(!open(
            &station,
            "2026-03-02T17:00:00Z",
            "2026-03-02T18:00:01Z"
        ));
        assert!(!open(
            &station,
            "2026-03-03T09:00:00Z",
            "2026-03-03T10:00:00Z"
        ));
    }

    #[test]
    fn hours_wrap_past_midnight_and_join_up() {
        let bar = station(
            "UTC",
            &[
                (Weekday::Mon, "20:00", "04:00"),
                (Weekday::Tue, "04:00", "06:00"),
            ],
        );
        assert!(open(&bar, "2026-03-02T23:00:00Z", "2026-03-03T05:00:00Z"));
        assert!(!open(&bar, "2026-03-02T01:00:00Z", "2026-03-02T02:00:00Z"));
        let day = station("UTC", &[(Weekday::Mon, "00:00", "00:00")]);
        assert!(open(&day, "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"));
    }

    #[test]
    fn hours_are_the_stations_own_also_when_its_clocks_change() {
        // In New York the clocks go forward on 2026-03-08, a Sunday: 08:00 is 13:00 UTC before and 12:00 UTC from then on.
        let station = station(
            "America/New_York",
            &[
                (Weekday::Sat, "08:00", "18:00"),
                (Weekday::Sun, "08:00", "18:00"),
            ],
        );
        assert!(!open(
            &station,
            "2026-03-07T12:00:00Z",
            "2026-03-07T13:00:00Z"
        ));
        assert!(open(
            &station,
            "2026-03-08T12:00:00Z",
            "2026-03-08T13:00:00Z"
        ));
    }

    #[test]
    fn a_skipped_time_is_the_moment_of_the_change() {
        // On 2026-03-29 clocks go from 02:00 to 03:00, at 01:00 UTC.
        let hours = [
            (Weekday::Sun, "00:00", "02:30"),
            (Weekday::Sun, "02:45", "04:00"),
        ];
        let station = station("Europe/Berlin", &hours);
        let sunday = Window {
            from: Timestamp::parse("2026-03-28T23:00:00Z").unwrap(),
            until: Timestamp::parse("2026-03-29T22:00:00Z").unwrap(),
        };
        let until = Timestamp::parse("2026-03-29T02:00:00Z").unwrap();
        let open = Window { until, ..sunday };
        assert_eq!(open_spans(&station, &sunday), [open]);
    }

    fn range(from: &str, until: &str) -> Range {
        Range {
            from: Timestamp::parse(from).unwrap(),
            until: Timestamp::parse(until).unwrap(),
        }
    }

    #[test]
    fn a_closing_overrules_whatever_else_is_said_of_its_time() {
        let mut station = station("UTC", &[(Weekday::Mon, "08:00", "18:00")]);
        let closed = range("2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z");
        station.availability.exceptional_closings = vec![closed];
        station.availability.exceptional_openings = vec![closed];
        for always in [false, true] {
            station.capabilities.access_24_7 = always;
            assert!(open(
                &station,
                "2026-03-02T11:00:00Z",
                "2026-03-02T12:00:00Z"
            ));
            assert!(open(
                &station,
                "2026-03-02T13:00:00Z",
                "2026-03-02T14:00:00Z"
            ));
            assert!(!open(
                &station,
                "2026-03-02T11:00:00Z",
                "2026-03-02T12:00:01Z"
            ));
            assert!(!open(
                &station,
                "2026-03-02T12:59:59Z",
                "2026-03-02T14:00:00Z"
            ));
        }
    }

    #[test]
    fn a_change_closes_a_station_only_where_it_was_open() {
        let before = station("UTC", &[(Weekday::Mon, "08:00", "18:00")]);
        let window = range("2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z");
        let window = Window {
            from: window.from,
            until: window.until,
        };
        let closes = |change: &dyn Fn(&mut ChargingStation)| {
            let mut after = before.clone();
            change(&mut after);
            closes_earlier(&before, &after, &window)
        };
        let closed = |from, until| {
            let closed = range(from, until);
            closes(&|after| after.availability.exceptional_closings = vec![closed])
        };
        assert!(!closes(&|after| after.capabilities.access_24_7 = true));
        assert!(closes(&|after| after.availability.opening_hours.clear()));
        assert!(closes(
            &|after| after.timezone = "Asia/Tokyo".to_owned().try_into().unwrap()
        ));
        assert!(closed("2026-03-02T17:59:59Z", "2026-03-02T20:00:00Z"));
        assert!(!closed("2026-03-02T18:00:00Z", "2026-03-02T20:00:00Z"));
        assert!(!closed("2026-03-09T09:00:00Z", "2026-03-09T10:00:00Z"));
    }

    #[test]
    fn an_opening_joins_the_hours_it_touches() {
        let mut station = station("UTC", &[(Weekday::Mon, "08:00", "18:00")]);
        let opened = range("2026-03-02T18:00:00Z", "2026-03-02T20:00:00Z");
        station.availability.exceptional_openings = vec![opened];
        assert!(open(
            &station,
            "2026-03-02T17:00:00Z",
            "2026-03-02T20:00:00Z"
        ));
        assert!(!open(
            &station,
            "2026-03-02T19:00:00Z",
            "2026-03-02T20:00:01Z"
        ));
    }

    // In Berlin the clocks go from 02:00 to 03:00 on 2026-03-29 at 01:00 UTC. On 2026-10-25 the hour from 02:00 to 03:00 occurs
    // twice, the second time from 01:00 UTC on.

    #[test]
    fn exceptions_hold_when_clocks_are_changed() {
        for (night, closing, opening, around, want) in [
            (
                ("2026-03-28T23:00:00Z", "2026-03-29T04:00:00Z"),
                ("2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"),
                ("2026-03-29T04:00:00Z", "2026-03-29T05:00:00Z"),
                ("2026-03-28T22:00:00Z", "2026-03-29T06:00:00Z"),
                ["23:00-00:30", "01:30-05:00"],
            ),
            // The second of the two hours from 02:00 to 03:00 is closed.
            (
                ("2026-10-24T22:00:00Z", "2026-10-25T05:00:00Z"),
                ("2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"),
                ("2026-10-25T05:00:00Z", "2026-10-25T06:00:00Z"),
                ("2026-10-24T21:00:00Z", "2026-10-25T07:00:00Z"),
                ["22:00-01:00", "02:00-06:00"],
            ),
        ] {
            let mut station = station("Europe/Berlin", &[(Weekday::Sun, "00:00", "06:00")]);
            assert!(open(&station, night.0, night.1));
            station.availability.exceptional_closings = vec![range(closing.0, closing.1)];
            station.availability.exceptional_openings = vec![range(opening.0, opening.1)];
            assert_eq!(spans_of(&station, around.0, around.1), want);
        }
    }

    #[test]
    fn hours_that_begin_or_end_in_a_repeated_hour_include_it() {
        let (sunday, until) = ("2026-10-24T21:00:00Z", "2026-10-25T07:00:00Z");
        for (from, ends, want) in [
            ("00:00", "02:30", "22:00-01:30"),
            ("02:30", "06:00", "00:30-05:00"),
        ] {
            let station = station("Europe/Berlin", &[(Weekday::Sun, from, ends)]);
            assert_eq!(spans_of(&station, sunday, until), [want]);
        }
    }

    fn spans_of(station: &ChargingStation, from: &str, until: &str) -> Vec<String> {
        let window = range(from, until);
        let window = Window {
            from: window.from,
            until: window.until,
        };
        let hour = |at: Timestamp| at.to_string()[11..16].to_owned();
        let spans = open_spans(station, &window).into_iter();
        spans
            .map(|span| format!("{}-{}", hour(span.from), hour(span.until)))
            .collect()
    }
}
