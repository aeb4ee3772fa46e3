//! Spans of time.

use jiff::ToSpan as _;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::time::{SignedDuration, Timestamp, millis};

/// A half-open span of time: `until` is not part of it. Items store it as two numbers, milliseconds since 1970, which need a third of the
/// space of two texts.
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
    /// Returns a window without length.
    pub fn moment(at: Timestamp) -> Self {
        Self {
            from: at,
            until: at,
        }
    }

    pub fn overlaps(&self, other: &Window) -> bool {
        self.from < other.until && other.from < self.until
    }

    /// Returns the UTC days that the window touches, in order.
    pub fn utc_days(&self) -> impl Iterator<Item = Date> {
        let last = self.until.plus(millis(-1)).utc_date();
        self.from
            .utc_date()
            .series(1.day())
            .take_while(move |day| *day <= last)
    }

    #[must_use]
    pub fn shifted(&self, by: SignedDuration) -> Window {
        Window {
            from: self.from.plus(by),
            until: self.until.plus(by),
        }
    }

    /// Returns the parts of the window that none of these windows covers, in order.
    pub fn without(self, others: &[Window]) -> Vec<Window> {
        let mut busy: Vec<&Window> = others
            .iter()
            .filter(|other| other.overlaps(&self))
            .collect();
        busy.sort_by_key(|busy| busy.from);
        let mut free = Vec::new();
        let mut from = self.from;
        for busy in busy {
            if from < busy.from {
                free.push(Window {
                    from,
                    until: busy.from,
                });
            }
            from = from.max(busy.until);
        }
        if from < self.until {
            free.push(Window {
                from,
                until: self.until,
            });
        }
        free
    }
}

/// Returns the same time in as few windows as possible, in order.
pub fn joined(mut windows: Vec<Window>) -> Vec<Window> {
    windows.sort_by_key(|window| window.from);
    windows.dedup_by(|next, window| {
        let touches = next.from <= window.until;
        if touches {
            window.until = window.until.max(next.until);
        }
        touches
    });
    windows
}
