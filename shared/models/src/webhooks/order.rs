//! The order in which the events of one object are sent to an endpoint with `ordered`.
//!
//! Terms. The events of an object are numbered without gaps (`sequence`). The *queue* of an object at an endpoint has the number of the
//! next event to send, and an *entry* for each event. The relay adds the entry when it plans the deliveries of the event. An event that the
//! endpoint is not subscribed to, or misses because it is disabled, has an entry that only counts.
//!
//! Life cycle. The first attempt to deliver an event is made when its turn has come; its further attempts follow as at any endpoint. When
//! the delivery is finished, because it was acknowledged or has no attempt left, the turn passes to the next number.
//!
//! Invariants. An event is sent for the first time when the deliveries of all earlier events of its object are finished. Events of
//! different objects do not wait for one another.
//!
//! Crashes. The entry is written before the message of the delivery is sent, and after a delivery is finished the queue is read after its
//! outcome was written. So one of the two processes finds the next event, and a repeated message passes the turn again. If a number never
//! gets an entry, because its change can never be relayed, it is skipped after a quarter of an hour.

use kernel::time::{days, minutes, seconds};
use kernel::{Id, SignedDuration, Timestamp};

/// The maximum time to wait for a missing event.
pub const MISSING_EVENT_WAIT: SignedDuration = minutes(15);

/// How long the number of the next event is kept after its last change.
pub const KEPT: SignedDuration = days(60);

/// The maximum age of an object whose queue begins with its first event. It is shorter than the time for which the queue is kept.
const YOUNG: SignedDuration = days(30);

/// The time after the creation of an endpoint during which the relay may not have read it yet.
const KNOWN_AFTER: SignedDuration = seconds(10);

/// An event in the queue of its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub sequence: u64,
    /// None if the event is not delivered to the endpoint.
    pub event: Option<Id>,
    /// When the entry was written.
    pub added: Timestamp,
}

/// The queue of an object at an endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Queue {
    /// The number whose turn it is; none if no event of the object was sent to the endpoint yet.
    pub next: Option<u64>,
    /// The first entries by their numbers.
    pub entries: Vec<Entry>,
}

/// The event whose turn it is.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn<'a> {
    Of(&'a Entry),
    /// An event without an entry yet, before the one with this number.
    Missing {
        before: u64,
    },
    /// The queue has no further entries.
    Nobody,
}

impl Queue {
    /// Returns the event whose turn it is. If the object was created after the endpoint, the queue begins with the first event of the
    /// object. If the object is older, it begins with the first event that has an entry.
    pub fn turn(
        &self,
        object_created: Option<Timestamp>,
        endpoint_created: Timestamp,
        now: Timestamp,
    ) -> Turn<'_> {
        let known = endpoint_created.plus(KNOWN_AFTER);
        let has_all =
            object_created.is_some_and(|created| known <= created && now.since(created) < YOUNG);
        let next = self.next.unwrap_or(u64::from(has_all));
        let mut entries = self.entries.iter();
        match entries.find(|entry| entry.sequence >= next) {
            None => Turn::Nobody,
            Some(entry) if entry.sequence == next || next == 0 => Turn::Of(entry),
            Some(entry) if now.since(entry.added) >= MISSING_EVENT_WAIT => Turn::Of(entry),
            Some(entry) => Turn::Missing {
                before: entry.sequence,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::EPOCH.plus(seconds(second))
    }

    fn queue(next: Option<u64>, entries: &[u64]) -> Queue {
        let entry = |sequence: &u64| Entry {
            sequence: *sequence,
            event: None,
            added: at(100),
        };
        Queue {
            next,
            entries: entries.iter().map(entry).collect(),
        }
    }

    fn turn(queue: &Queue, created: i64, now: i64) -> Option<u64> {
        match queue.turn(Some(at(created)), at(0), at(now)) {
            Turn::Of(entry) => Some(entry.sequence),
            Turn::Missing { .. } => Some(0),
            Turn::Nobody => None,
        }
    }

    #[test]
    fn the_next_number_has_the_turn_and_none_is_left_out() {
        assert_eq!(turn(&queue(Some(3), &[2, 3, 4]), 50, 100), Some(3));
        assert_eq!(
            turn(&queue(Some(3), &[2, 4]), 50, 100),
            Some(0),
            "3 is missing"
        );
        assert_eq!(turn(&queue(Some(3), &[2]), 50, 100), None);
        let later = 100 + MISSING_EVENT_WAIT.as_secs();
        assert_eq!(turn(&queue(Some(3), &[4]), 50, later - 1), Some(0));
        assert_eq!(
            turn(&queue(Some(3), &[4]), 50, later),
            Some(4),
            "3 never comes"
        );
    }

    #[test]
    fn a_queue_starts_at_the_first_event_an_endpoint_can_receive() {
        assert_eq!(turn(&queue(None, &[2]), 50, 100), Some(0), "1 is missing");
        assert_eq!(turn(&queue(None, &[1, 2]), 50, 100), Some(1));
        // The object is as old as the endpoint, or older.
        assert_eq!(turn(&queue(None, &[7, 8]), -50, 100), Some(7));
        assert_eq!(turn(&queue(None, &[2]), 5, 100), Some(2));
        // The object is older than the time for which its queue is kept.
        let later = 50 + YOUNG.as_secs();
        let late = Queue {
            entries: vec![Entry {
                added: at(later),
                ..queue(None, &[9]).entries[0].clone()
            }],
            next: None,
        };
        assert_eq!(turn(&late, 50, later), Some(9));
    }
}
