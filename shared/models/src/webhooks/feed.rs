//! The feed of events, from which the clients of endpoints of `type` `polling` read.
//!
//! Terms. The *feed* of an account and mode has an *entry* for each event, at the *place* that the relay assigned to it: the time at which
//! it was appended, and the id of the event. The *cursor* of a reader is the last place that it has read.
//!
//! Invariants. An entry appears in the table some moments after the time in its place, and entries of several relays may appear in another
//! order than their places. A call of the table takes less than [`LAG`], so the feed is read only up to that long before now: no entry
//! appears before the cursor.
//!
//! Crashes. A relay that dies after it has appended an event appends it again at another place. A reader may therefore receive an event
//! more than once, and recognises it by its id.

use serde::Serialize;

use crate::event::{Event, EventType};
use kernel::time::{hours, seconds};
use kernel::{Id, SignedDuration, Timestamp};

/// The minimum age of the entries that are read.
pub const LAG: SignedDuration = seconds(10);

/// The maximum distance of a cursor behind the end of the feed if no entries are found.
const IDLE: SignedDuration = hours(1);

/// A place in the feed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedPlace {
    pub at: Timestamp,
    /// The event at this place; none for the beginning of the moment.
    pub event: Option<Id>,
}

impl FeedPlace {
    /// Returns the place before all entries that are appended from a moment on.
    pub fn before(at: Timestamp) -> Self {
        Self { at, event: None }
    }

    /// Returns the place from which a reader continues that has found no entry after this place. It is the same place, unless that is so
    /// old that its entries would expire some day.
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
    /// The only endpoint that receives the entry; none for all endpoints.
    pub only: Option<Id>,
    /// Whether the entry is a redelivery by request.
    pub is_redelivery: bool,
}

impl FeedEntry {
    /// Returns the entry of a new event.
    pub fn of(event: &Event, at: Timestamp) -> Self {
        Self {
            at,
            event: event.id.clone(),
            kind: event.kind,
            only: None,
            is_redelivery: false,
        }
    }

    /// Returns the entry of an event that is delivered to an endpoint by request.
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

/// The response to a reader of the feed.
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
    use kernel::Kind;

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
