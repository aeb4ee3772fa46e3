//! Moments in the format of the API: RFC 3339, UTC, exactly three fraction digits. Durations are [`SignedDuration`]s.

use std::fmt;

pub use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment with millisecond precision, in the years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

pub const SECOND: SignedDuration = seconds(1);
pub const MINUTE: SignedDuration = minutes(1);
pub const HOUR: SignedDuration = hours(1);
pub const DAY: SignedDuration = days(1);

/// The first and the last millisecond: the beginning of the year 1, before which many languages have no dates, and the last day of 9999 that can be written with every offset.
const EARLIEST: i64 = -62_135_596_800_000;
const LATEST: i64 = 253_402_207_199_999;

/// Returns a duration of `count` milliseconds.
pub const fn millis(count: i64) -> SignedDuration {
    SignedDuration::from_millis(count)
}

/// Returns a duration of `count` seconds.
pub const fn seconds(count: i64) -> SignedDuration {
    SignedDuration::from_secs(count)
}

/// Returns a duration of `count` minutes. It panics if the seconds exceed an `i64`.
pub const fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

/// Returns a duration of `count` hours. It panics if the seconds exceed an `i64`.
pub const fn hours(count: i64) -> SignedDuration {
    SignedDuration::from_hours(count)
}

/// Returns a duration of `count` days of 24 hours. It panics if the seconds exceed an `i64`.
pub const fn days(count: i64) -> SignedDuration {
    SignedDuration::from_hours(count.saturating_mul(24))
}

/// Returns the whole milliseconds of a duration, rounded towards zero; outside the range of an `i64` it is the nearest bound.
pub const fn whole_millis(duration: SignedDuration) -> i64 {
    let millis = duration.as_millis();
    if millis > i64::MAX as i128 {
        i64::MAX
    } else if millis < i64::MIN as i128 {
        i64::MIN
    } else {
        millis as i64
    }
}

impl Timestamp {
    /// The beginning of 1970.
    pub const EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);

    /// Returns the moment `millis` milliseconds after the beginning of 1970; outside the years 1 to 9999 it is the nearest moment inside.
    pub fn from_unix_millis(millis: i64) -> Self {
        let millis = millis.clamp(EARLIEST, LATEST);
        Self(jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    pub fn unix_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    pub fn unix_seconds(self) -> i64 {
        self.0.as_second()
    }

    /// Returns the moment after a duration, in whole milliseconds; outside the years 1 to 9999 it is the nearest moment inside.
    #[must_use]
    pub fn plus(self, duration: SignedDuration) -> Self {
        Self::from_unix_millis(self.unix_millis().saturating_add(whole_millis(duration)))
    }

    #[must_use]
    pub fn plus_seconds(self, count: i64) -> Self {
        self.plus(seconds(count))
    }

    /// Returns the duration from the other moment to this one; it is negative if the other moment is later.
    pub fn since(self, other: Timestamp) -> SignedDuration {
        millis(self.unix_millis() - other.unix_millis())
    }

    /// Returns the UTC day of this moment.
    pub fn utc_date(self) -> Date {
        self.0.to_zoned(TimeZone::UTC).date()
    }

    /// Returns the day of this moment in that time zone.
    pub fn date_in(self, zone: &TimeZone) -> Date {
        self.0.to_zoned(zone.clone()).date()
    }

    /// Returns the local date and time of this moment in that time zone.
    pub fn civil_in(self, zone: &TimeZone) -> DateTime {
        zone.to_datetime(self.0)
    }

    /// Returns the moment as RFC 3339 with the offset of that time zone at that time; UTC with a `Z`.
    pub fn text_in(self, zone: &TimeZone) -> String {
        if *zone == TimeZone::UTC {
            return self.to_string();
        }
        let there = self.0.to_zoned(zone.clone());
        there.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
    }

    /// Returns the moments between this one and `until` at which the clocks of a time zone change.
    pub fn clock_changes_until(self, until: Timestamp, zone: &TimeZone) -> Vec<Timestamp> {
        let changes = zone
            .following(self.0)
            .map(|change| change.timestamp().into());
        changes.take_while(|change| *change < until).collect()
    }

    /// Reads RFC 3339 with any offset and 0 to 9 fraction digits; digits past the third are cut off. A leap second is read as the second
    /// before it, and the end of the year 9999, by which many mean that something never ends, as the last moment.
    ///
    /// # Errors
    /// Fails if the text is not RFC 3339 or is outside the years 1 to 9999.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const SHAPE: &str = "expected an RFC 3339 time such as 2026-03-01T09:30:00.000Z";
        if !is_rfc3339(text.as_bytes()) {
            return Err(SHAPE);
        }
        let parsed = match text.parse::<jiff::Timestamp>() {
            Ok(parsed) => parsed,
            // A valid time of this month that jiff cannot represent is after its last.
            Err(_) if text.starts_with("9999-12-") && &text[17..19] != "60" => {
                let read = text[..19].parse::<DateTime>().map_err(|_| SHAPE);
                return read.map(|_| Self::from_unix_millis(LATEST));
            }
            Err(_) => return Err(SHAPE),
        };
        let is_last_of_day = parsed.as_second().rem_euclid(86_400) == 86_399;
        if &text[17..19] == "60" && !is_last_of_day {
            return Err(SHAPE);
        }
        let millis = parsed.as_nanosecond().div_euclid(1_000_000);
        match i64::try_from(millis) {
            Ok(millis @ EARLIEST..) => Ok(Self::from_unix_millis(millis.min(LATEST))),
            _ => Err("the time lies outside the years 0001 to 9999"),
        }
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(moment: jiff::Timestamp) -> Self {
        Self::from_unix_millis(moment.as_millisecond())
    }
}

impl From<Timestamp> for jiff::Timestamp {
    fn from(Timestamp(moment): Timestamp) -> Self {
        moment
    }
}

/// Returns whether the text has the shape `YYYY-MM-DDTHH:MM:SS[.f{1,9}](Z|±HH:MM)`. The second may be a leap second, 60.
fn is_rfc3339(text: &[u8]) -> bool {
    let matches = |shape: &[u8], text: &[u8]| {
        shape.len() == text.len()
            && shape.iter().zip(text).all(|(want, have)| match want {
                b'0' => have.is_ascii_digit(),
                b'T' => matches!(have, b'T' | b't'),
                _ => want == have,
            })
    };
    if text.len() < 20 || !matches(b"0000-00-00T00:00:00", &text[..19]) {
        return false;
    }
    if &text[17..19] > b"60".as_slice() {
        return false;
    }
    let mut rest = &text[19..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return false;
        }
        rest = &fraction[digits..];
    }
    let offset_in_range = |at: &[u8]| (at[1], at[2]) <= (b'2', b'3') && at[4] <= b'5';
    match rest {
        b"Z" | b"z" => true,
        _ => (matches(b"+00:00", rest) || matches(b"-00:00", rest)) && offset_in_range(rest),
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

/// Durations in items: whole milliseconds as an integer. For `#[serde(with = …)]`.
pub mod as_millis {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{SignedDuration, millis, whole_millis};

    /// # Errors
    /// The error of the serializer.
    pub fn serialize<S: Serializer>(
        duration: &SignedDuration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(whole_millis(*duration))
    }

    /// # Errors
    /// The error of the deserializer if the input is not an integer.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SignedDuration, D::Error> {
        i64::deserialize(deserializer).map(millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn any_offset_and_up_to_nine_digits_come_out_as_utc_with_three() {
        for (given, want) in [
            ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000Z"),
            ("2026-03-01t09:30:00z", "2026-03-01T09:30:00.000Z"),
            ("2026-03-01T09:30:00.1Z", "2026-03-01T09:30:00.100Z"),
            ("2026-03-01T09:30:00.123456789Z", "2026-03-01T09:30:00.123Z"),
            ("2026-03-01T09:30:00.999999999Z", "2026-03-01T09:30:00.999Z"),
            ("2026-03-01T09:30:00+05:30", "2026-03-01T04:00:00.000Z"),
            ("2026-03-01T00:00:00-23:59", "2026-03-01T23:59:00.000Z"),
            ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
            ("9999-12-30T21:59:59.999Z", "9999-12-30T21:59:59.999Z"),
            ("9999-12-30T22:00:00Z", "9999-12-30T21:59:59.999Z"),
            ("9999-12-31T23:59:59.9999999Z", "9999-12-30T21:59:59.999Z"),
            ("9999-12-29T23:59:59-23:59", "9999-12-30T21:59:59.999Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"),
            ("2017-01-01T05:29:60+05:30", "2016-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(
                Timestamp::parse(given).unwrap().to_string(),
                want,
                "{given}"
            );
        }
    }

    #[test]
    fn what_is_not_rfc_3339_is_refused() {
        for wrong in [
            "",
            "2026-03-01",
            "2026-03-01T09:30Z",
            "2026-03-01T09:30:00",
            "2026-03-01 09:30:00Z",
            "2026-03-01T09:30:00.Z",
            "2026-03-01T09:30:00.1234567890Z",
            "2026-03-01T09:30:60Z",
            "2016-12-31T23:59:61Z",
            "2026-03-01T24:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-03-01T09:30:00+0530",
            "2026-03-01T09:30:00+24:00",
            "2026-03-01T09:30:00Z[UTC]",
            "+2026-03-01T09:30:00Z",
            "9999-12-31T12:00:60Z",
            "9999-12-32T00:00:00Z",
            "9999-12-31T24:00:00Z",
            "0001-01-01T00:00:00+00:01",
            "0000-12-31T23:59:59Z",
            "1772357400",
            "now",
        ] {
            assert!(Timestamp::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_sum_has_whole_milliseconds_and_stays_within_the_years() {
        let moment = Timestamp::from_unix_millis(1_000);
        let sum = |duration| moment.plus(duration).unix_millis();
        assert_eq!((sum(seconds(2)), sum(-hours(1))), (3_000, -3_599_000));
        let micros = SignedDuration::from_micros;
        assert_eq!((sum(micros(1_999)), sum(micros(-1_999))), (1_001, 999));
        assert_eq!(sum(SignedDuration::MAX), LATEST);
        assert_eq!(moment.plus_seconds(i64::MIN).unix_millis(), EARLIEST);
        assert_eq!(moment.since(moment.plus(DAY)), days(-1));
        assert_eq!(whole_millis(SignedDuration::MIN), i64::MIN);
    }

    #[test]
    fn a_duration_in_an_item_is_a_number_of_milliseconds() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Item(#[serde(with = "as_millis")] SignedDuration);

        let stored = Item(minutes(2));
        assert_eq!(serde_json::to_string(&stored).unwrap(), "120000");
        assert_eq!(serde_json::from_str::<Item>("120000").unwrap(), stored);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(millis in EARLIEST..=LATEST) {
            let moment = Timestamp::from_unix_millis(millis);
            prop_assert_eq!(Timestamp::parse(&moment.to_string()), Ok(moment));
            prop_assert_eq!(moment.to_string().len(), 24);
        }

        #[test]
        fn reading_never_panics(text in "\\PC{0,40}") {
            if let Ok(moment) = Timestamp::parse(&text) {
                prop_assert_eq!(moment.to_string().len(), 24);
            }
        }
    }
}
