//! The feed of events, which endpoints of `type` `polling` are read by.
//!
//! Terms. The *feed* of an account and mode has an *entry* for each event, at the *place* that the relay gave it: when it was appended, and the
//! id of the event. The *cursor* of a reader is the last place that it has read.
//!
//! Invariants. An entry appears in the table some moments after the time in its place, and entries of several relays not in the order of their
//! places. A call of the table takes less than [`LAG`], so the feed is read up to that long before now: nothing appears before the cursor.
//!
//! Crashes. A relay that died after it has appended an event appends it again at another place: a reader may be shown an event more than
//! once, and recognises it by its id.

use serde::Serialize;

use crate::event::{Event, EventType};
use kernel::id::Id;
use kernel::time::{SignedDuration, Timestamp, hours, seconds};

/// How long before now the feed is read up to.
pub const LAG: SignedDuration = seconds(10);

/// How far a cursor stays behind where nothing is found.
const IDLE: SignedDuration = hours(1);

/// A place in the feed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedPlace {
    pub at: Timestamp,
    /// The event at this place; none for the begin of the moment.
    pub event: Option<Id>,
}

impl FeedPlace {
    /// The place before everything that is appended from a moment on.
    pub fn before(at: Timestamp) -> Self {
        Self { at, event: None }
    }

    /// Where a reader that has found nothing behind this place reads on: at the same place, unless that falls behind so far that it would be
    /// forgotten one day.
    #[must_use]
    pub fn after_nothing(self, until: Timestamp) -> Self {
        self.max(Self::before(until.plus(-IDLE)))
    }
}

/// An entry of the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEntry {
    pub at: Timestamp,
    pub event: Id,
    pub kind: EventType,
    /// The one endpoint that is shown the entry; none for all.
    pub only: Option<Id>,
    /// Whether the event is delivered once more on request.
    pub is_redelivery: bool,
}

impl FeedEntry {
    /// The entry of an event that has happened.
    pub fn of(event: &Event, at: Timestamp) -> Self {
        Self {
            at,
            event: event.id.clone(),
            kind: event.kind,
            only: None,
            is_redelivery: false,
        }
    }

    /// The entry of an event that is delivered to an endpoint on request.
    pub fn on_request(event: &Event, at: Timestamp, endpoint: &Id) -> Self {
        Self {
            only: Some(endpoint.clone()),
            is_redelivery: event.kind != EventType::Ping,
            ..Self::of(event, at)
        }
    }

    pub fn place(&self) -> FeedPlace {
        FeedPlace {
            at: self.at,
            event: Some(self.event.clone()),
        }
    }
}

/// What a reader of the feed is shown.
#[derive(Debug, Clone, Serialize)]
pub struct EventFeed {
    pub data: Vec<Event>,
    pub cursor: String,
    pub has_more: bool,
    pub redelivered: Vec<Id>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::id::Kind;

    fn at(second: i64) -> Timestamp {
        Timestamp::EPOCH.plus(seconds(second))
    }

    #[test]
    fn a_cursor_waits_for_late_entries_and_is_never_forgotten() {
        let event = Id::from_number(Kind::Event, 7);
        let read = FeedPlace {
            at: at(100),
            event: Some(event),
        };
        assert!(FeedPlace::before(at(100)) < read && read < FeedPlace::before(at(101)));
        assert_eq!(read.clone().after_nothing(at(500)), read);
        let later = at(100 + 2 * 3600);
        let moved = read.after_nothing(later);
        assert_eq!(moved, FeedPlace::before(later.plus(-IDLE)));
    }
}
