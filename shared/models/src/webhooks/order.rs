//! The order in which an endpoint with `ordered` is sent the events of one object.
//!
//! Terms. The events of an object are numbered without gaps (`sequence`). The *queue* of an object at an endpoint has an *entry* for each of its
//! events from when the relay has planned the deliveries of the event, and the number of the event whose turn is next. An event that the
//! endpoint is not subscribed to, or misses because it is disabled, has an entry that only counts.
//!
//! Life cycle. The first attempt to deliver an event is made when its turn has come; its further attempts follow as at any endpoint. When the
//! delivery is finished, because it was acknowledged or has no attempt left, the turn passes to the next number.
//!
//! Invariants. An event is sent for the first time when the deliveries of all events of its object before it are finished. Events of
//! different objects do not wait for one another.
//!
//! Crashes. The entry is written before the message of the delivery, and whoever finishes a delivery looks at the queue after its outcome was
//! written. So one of the two finds the next event, and a message that comes again passes the turn again. A number that never gets an
//! entry, because its change can never be relayed, is passed over after a quarter of an hour.

use kernel::id::Id;
use kernel::time::{SignedDuration, Timestamp, days, minutes, seconds};

/// How long a missing event is waited for.
pub const PATIENCE: SignedDuration = minutes(15);

/// How long the number of the next event is kept after its last change.
pub const KEPT: SignedDuration = days(60);

/// How old an object is at most whose queue begins with its first event: less than the queue is kept.
const YOUNG: SignedDuration = days(30);

/// How long after its creation the relay may not know an endpoint yet.
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
    /// The number whose turn it is; none if the endpoint was sent no event of the object yet.
    pub next: Option<u64>,
    /// The first entries by their numbers.
    pub entries: Vec<Entry>,
}

/// Whose turn it is.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn<'a> {
    Of(&'a Entry),
    /// An event that has no entry yet, before the one with this number.
    Missing {
        before: u64,
    },
    /// Nothing is there.
    Nobody,
}

impl Queue {
    /// Whose turn it is. A queue begins with the first event of an object that was created after the endpoint, and with the first event that
    /// has an entry where the object is older.
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
            Some(entry) if now.since(entry.added) >= PATIENCE => Turn::Of(entry),
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
        let later = 100 + PATIENCE.as_secs();
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
        // The object is older than the endpoint, or as old.
        assert_eq!(turn(&queue(None, &[7, 8]), -50, 100), Some(7));
        assert_eq!(turn(&queue(None, &[2]), 5, 100), Some(2));
        // The queue is not kept as long as the object.
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
