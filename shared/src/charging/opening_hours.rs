//! Whether a station is open for the whole of a window.

use jiff::ToSpan as _;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use super::calendar::Window;
use super::search::joined;
use crate::models::charging_station::{ChargingStation, Weekday};
use crate::time::Timestamp;

/// Whether the station is open all the time from the window's start to its end.
pub fn is_open(station: &ChargingStation, window: &Window) -> bool {
    station.capabilities.access_24_7
        || window.from >= window.until
        || open_spans(station, window).contains(window)
}

/// When within the window the station is open: in order, none touching the next.
pub fn open_spans(station: &ChargingStation, window: &Window) -> Vec<Window> {
    if station.capabilities.access_24_7 {
        return vec![*window];
    }
    let zone = station.timezone.rules();
    let first = window.from.date_in(&zone).saturating_add(-1.days());
    let last = window.until.date_in(&zone);
    let spans = first
        .series(1.day())
        .take_while(|day| *day <= last)
        .flat_map(|day| {
            station
                .availability
                .opening_hours
                .iter()
                .map(move |hours| (day, hours))
        })
        .filter(|(day, hours)| weekday(*day) == hours.day)
        .filter_map(|(day, hours)| span(day, time(&hours.from)?, time(&hours.until)?, &zone))
        .filter(|span| span.overlaps(window))
        .map(|span| Window {
            from: span.from.max(window.from),
            until: span.until.min(window.until),
        });
    joined(spans.collect())
}

fn weekday(day: Date) -> Weekday {
    Weekday::ALL[day.weekday().to_monday_zero_offset() as usize % 7]
}

/// The span that two times of day mean on one day. `until` at or before `from` lies on the next day.
pub(super) fn span(day: Date, from: Time, until: Time, zone: &TimeZone) -> Option<Window> {
    let end_day = if until <= from {
        day.saturating_add(1.day())
    } else {
        day
    };
    let moment = |day: Date, time: Time| {
        Some(Timestamp::from(
            day.to_datetime(time)
                .to_zoned(zone.clone())
                .ok()?
                .timestamp(),
        ))
    };
    Some(Window {
        from: moment(day, from)?,
        until: moment(end_day, until)?,
    })
}

fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging::ocpi;
    use crate::models::charging_station::OpeningHours;

    fn station(zone: &str, hours: &[(Weekday, &str, &str)]) -> ChargingStation {
        let mut station = ocpi::tests::station();
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
        // New York springs forward on 2026-03-08, a Sunday: 08:00 is 13:00 UTC before and 12:00 UTC from then on.
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
}
