//! Times in the forms that people write: `+1h`, `tomorrow 08:00`, `2027-01-15 09:00`, or RFC 3339.
//!
//! Days and times of day are in this machine's time zone (`TZ`). "Now" is the service's time, which a local run can move.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// The accepted forms, for help and error messages.
pub const FORMS: &str =
    "RFC 3339, +1h, -30d, now, tomorrow 08:00, monday 08:00 or 2027-01-15 09:00";

/// A time that may depend on the moment at which it is resolved.
#[derive(Debug, Clone, Copy)]
pub enum When {
    At(Timestamp),
    /// A time span after now, or before.
    Offset(Span),
    /// A time on the day that is this number of days after today.
    Day(i64, Time),
    /// A time on the next such day of the week after today.
    Weekday(Weekday, Time),
    /// A date and time on the clock of this machine's time zone.
    Civil(DateTime),
}

/// Reads a time.
///
/// # Errors
/// The text does not have any of the accepted forms.
pub fn parse(text: &str) -> Result<When, String> {
    let unknown = || format!("not a time; write it as {FORMS}");
    let trimmed = text.trim();
    if trimmed == "now" {
        return Ok(When::Offset(Span::new()));
    }
    if let Some(rest) = trimmed.strip_prefix(['+', '-']) {
        let span = duration(rest)?;
        let span = if trimmed.starts_with('-') {
            span.negate()
        } else {
            span
        };
        return Ok(When::Offset(span));
    }
    if let Ok(moment) = trimmed.parse::<Timestamp>() {
        return Ok(When::At(moment));
    }
    let (day, time) = trimmed.split_once(' ').unwrap_or((trimmed, "00:00"));
    let (day, time) = (day.to_lowercase(), time.trim().parse::<Time>());
    if let Ok(time) = time {
        let days = match day.as_str() {
            "yesterday" => Some(-1),
            "today" => Some(0),
            "tomorrow" => Some(1),
            _ => None,
        };
        if let Some(days) = days {
            return Ok(When::Day(days, time));
        }
        if let Some(weekday) = weekday(&day) {
            return Ok(When::Weekday(weekday, time));
        }
        // A date with a time after `T` could be parsed as a date as well.
        let date = day.parse::<Date>().ok().filter(|_| !day.contains('t'));
        if let Some(date) = date {
            return Ok(When::Civil(date.to_datetime(time)));
        }
    }
    // A text with a time zone is not a time on this machine's clock.
    let civil = !trimmed.contains('[') && !trimmed.ends_with(['Z', 'z']);
    let civil = trimmed.parse::<DateTime>().ok().filter(|_| civil);
    civil.map(When::Civil).ok_or_else(unknown)
}

/// Reads a length of time, such as `30m`, `1h30m` or `2d`.
///
/// # Errors
/// The text is not a length of time, or has a sign.
pub fn duration(text: &str) -> Result<Span, String> {
    let unknown = || "not a length of time; write it as 30m, 1h30m or 2d".to_owned();
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(unknown());
    }
    text.parse::<Span>().map_err(|_| unknown())
}

fn weekday(name: &str) -> Option<Weekday> {
    Some(match name {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

impl When {
    /// Resolves the moment for a current time and a time zone.
    ///
    /// # Errors
    /// The moment is outside the years that can be written.
    pub fn resolve(self, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, String> {
        let far = |_| "the time is too far away".to_owned();
        let here = now.to_zoned(zone.clone());
        let civil = match self {
            Self::At(moment) => return Ok(moment),
            Self::Offset(span) => {
                let moment = here.checked_add(span).map_err(far)?;
                return Ok(moment.timestamp());
            }
            Self::Day(days, time) => {
                let span = Span::new().try_days(days).map_err(far)?;
                here.date()
                    .checked_add(span)
                    .map_err(far)?
                    .to_datetime(time)
            }
            Self::Weekday(weekday, time) => {
                let date = here.date().nth_weekday(1, weekday).map_err(far)?;
                date.to_datetime(time)
            }
            Self::Civil(civil) => civil,
        };
        let moment = civil.to_zoned(zone.clone()).map_err(far)?;
        Ok(moment.timestamp())
    }
}

/// Formats a moment like the service: RFC 3339 in UTC with milliseconds.
pub fn written(moment: Timestamp) -> String {
    format!("{moment:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Sunday evening in London, in winter.
    const NOW: &str = "2026-11-22T20:15:00.500Z";

    fn resolved(text: &str) -> String {
        let zone = TimeZone::get("Europe/London").unwrap();
        let when = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        written(when.resolve(NOW.parse().unwrap(), &zone).unwrap())
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, want) in [
            ("now", "2026-11-22T20:15:00.500Z"),
            ("+1h", "2026-11-22T21:15:00.500Z"),
            ("+1h30m", "2026-11-22T21:45:00.500Z"),
            ("-90m", "2026-11-22T18:45:00.500Z"),
            ("+2d", "2026-11-24T20:15:00.500Z"),
            ("today", "2026-11-22T00:00:00.000Z"),
            ("tomorrow 08:00", "2026-11-23T08:00:00.000Z"),
            ("Yesterday 23:59", "2026-11-21T23:59:00.000Z"),
            ("sunday 07:30", "2026-11-29T07:30:00.000Z"),
            ("monday 07:30", "2026-11-23T07:30:00.000Z"),
            ("2027-06-15 09:00", "2027-06-15T08:00:00.000Z"),
            ("2027-06-15T09:00", "2027-06-15T08:00:00.000Z"),
            ("2027-01-15", "2027-01-15T00:00:00.000Z"),
            ("2027-01-15T09:00:00+02:00", "2027-01-15T07:00:00.000Z"),
            ("2027-01-15T09:00:00.123456Z", "2027-01-15T09:00:00.123Z"),
        ] {
            assert_eq!(resolved(text), want, "{text}");
        }
    }

    #[test]
    fn days_follow_the_clock_of_the_zone_when_it_changes() {
        let zone = TimeZone::get("Europe/London").unwrap();
        let evening = "2027-03-27T20:00:00Z".parse().unwrap();
        let resolved = |text| written(parse(text).unwrap().resolve(evening, &zone).unwrap());
        assert_eq!(resolved("+1d"), "2027-03-28T19:00:00.000Z");
        assert_eq!(resolved("+24h"), "2027-03-28T20:00:00.000Z");
        assert_eq!(resolved("tomorrow 20:00"), "2027-03-28T19:00:00.000Z");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "soon",
            "1h",
            "+",
            "+-1h",
            "+1x",
            "tomorrow 25:00",
            "2027-13-01",
            "next monday",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["", "-30m", "+30m", "30", "P"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
