//! Calendars: what a connector or a vehicle is promised for. One document per connector or vehicle and UTC day.

use jiff::ToSpan as _;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::time::Timestamp;

/// A half-open span of time: `until` no longer belongs to it. Rows hold it as two numbers, milliseconds since 1970: a third
/// of the room that two texts take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[i64; 2]", into = "[i64; 2]")]
pub struct Window {
    pub from: Timestamp,
    pub until: Timestamp,
}

impl From<[i64; 2]> for Window {
    fn from([from, until]: [i64; 2]) -> Self {
        Self {
            from: Timestamp::from_unix_millis(from),
            until: Timestamp::from_unix_millis(until),
        }
    }
}

impl From<Window> for [i64; 2] {
    fn from(window: Window) -> Self {
        [window.from.unix_millis(), window.until.unix_millis()]
    }
}

impl Window {
    /// A window without length.
    pub fn moment(at: Timestamp) -> Self {
        Self {
            from: at,
            until: at,
        }
    }

    pub fn overlaps(&self, other: &Window) -> bool {
        self.from < other.until && other.from < self.until
    }

    /// The UTC days the window touches, in order.
    pub fn utc_days(&self) -> impl Iterator<Item = Date> {
        let last = self.until.plus_millis(-1).utc_date();
        self.from
            .utc_date()
            .series(1.day())
            .take_while(move |day| *day <= last)
    }

    #[must_use]
    pub fn shifted(&self, millis: i64) -> Window {
        Window {
            from: self.from.plus_millis(millis),
            until: self.until.plus_millis(millis),
        }
    }
}

/// What is promised on one day: windows that touch it, each with what it was promised to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calendar {
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub window: Window,
    /// The reservation or session.
    pub holder: Id,
    /// Whose reservation or session it is.
    #[serde(default)]
    pub account: Option<Id>,
}

impl Calendar {
    /// Whether nothing but `holder` itself has any of the window.
    pub fn is_free(&self, window: &Window, holder: &Id) -> bool {
        self.entries
            .iter()
            .all(|entry| entry.holder == *holder || !entry.window.overlaps(window))
    }

    /// Promises the window; what the holder had before is given up.
    pub fn book(&mut self, window: Window, holder: &Id, account: &Id) {
        self.release(holder);
        self.entries.push(Entry {
            window,
            holder: holder.clone(),
            account: Some(account.clone()),
        });
        self.entries.sort_by_key(|entry| entry.window.from);
    }

    pub fn release(&mut self, holder: &Id) {
        self.entries.retain(|entry| entry.holder != *holder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use proptest::prelude::*;

    fn window(from: &str, until: &str) -> Window {
        Window {
            from: Timestamp::parse(from).unwrap(),
            until: Timestamp::parse(until).unwrap(),
        }
    }

    #[test]
    fn windows_that_touch_do_not_overlap() {
        let morning = window("2026-03-01T08:00:00Z", "2026-03-01T09:00:00Z");
        assert!(!morning.overlaps(&window("2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z")));
        assert!(morning.overlaps(&window("2026-03-01T08:59:59.999Z", "2026-03-01T10:00:00Z")));
        assert!(morning.overlaps(&morning));
    }

    #[test]
    fn a_window_until_midnight_leaves_the_next_day_alone() {
        let days = |from, until| {
            window(from, until)
                .utc_days()
                .map(|day| day.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            days("2026-03-01T22:00:00Z", "2026-03-02T00:00:00Z"),
            ["2026-03-01"]
        );
        assert_eq!(
            days("2026-03-01T22:00:00Z", "2026-03-02T00:00:00.001Z"),
            ["2026-03-01", "2026-03-02"]
        );
    }

    proptest! {
        #[test]
        fn whatever_is_booked_only_while_free_never_overlaps(spans in proptest::collection::vec((0i64..100, 1i64..20), 1..40)) {
            let mut calendar = Calendar::default();
            for (n, (from, length)) in spans.into_iter().enumerate() {
                let holder = Id::from_number(Kind::Reservation, n as u128);
                let span = Window {
                    from: Timestamp::from_unix_millis(from),
                    until: Timestamp::from_unix_millis(from + length),
                };
                if calendar.is_free(&span, &holder) {
                    calendar.book(span, &holder, &Id::from_number(Kind::Account, 1));
                }
            }
            for (n, a) in calendar.entries.iter().enumerate() {
                for b in &calendar.entries[n + 1..] {
                    prop_assert!(!a.window.overlaps(&b.window));
                }
            }
        }
    }
}
