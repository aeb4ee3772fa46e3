//! Decides which overdue work the sweep repeats.
//!
//! Overdue work is late or lost, and the sweep cannot distinguish the two: the message may still wait in a queue. If it is sent again
//! although the first one waits, the queue becomes longer, and everything behind it later. Therefore:
//!
//! - An item is repeated when it has been overdue for 2, 4, 8, 16, 32 and 64 minutes, and for each further 64. That is computed from its
//!   time and from those of this run and the previous one, so that nothing is written.
//! - While the queue of its function has a backlog, an item is repeated only if it has been overdue for more than half an hour, and a run adds at
//!   most a hundredth of what the queue drains meanwhile.
//! - Without a backlog in the queue, messages may be late elsewhere: in the stream, or at EventBridge Scheduler. Then a great many items
//!   are overdue at once, and a run repeats a few of those that have been overdue for less than half an hour. Losses are found sooner that
//!   way than by waiting, and they are rare.
//!
//! Each partition of the index is swept separately and has its share of both limits.

use std::collections::BTreeMap;

use kernel::time::{millis, minutes};
use kernel::{SignedDuration, Timestamp};
use models::ports::QueueDepth;
use serde::{Deserialize, Serialize};
use table::keys::NEXT_ACTION_PARTITIONS;

/// The time for which work may be overdue before its message counts as lost, and that time while messages are known to be late.
const GRACE: SignedDuration = minutes(2);
const GRACE_IN_BACKLOG: SignedDuration = minutes(30);

/// The longest time between two repetitions of an item, in minutes: two to the sixth.
const LONGEST_PAUSE: i64 = 64;

/// The number of messages from which a queue has a backlog, including those that failed and are held back.
const BACKLOG: u64 = 100;

/// The fraction of the messages in flight that a run adds to a queue with a backlog, and the maximum number that it adds. A message in
/// flight has ended a minute later, or has failed, so that the queue drains at least that many from run to run unless all of them fail.
const PART: u64 = 100;
const MOST: u64 = 100;

/// The maximum number of items of a partition that a run repeats although they are overdue for less than [`GRACE_IN_BACKLOG`].
const RECENT: u32 = 5;

/// The items of a partition of the index that a run of the sweep repeats, and the remaining limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    partition: u8,
    now: Timestamp,
    /// The time of the previous run of the sweep, if that is known.
    since: Option<Timestamp>,
    /// Whether everything that is due is repeated, because all messages are known to be lost.
    is_everything: bool,
    /// The number of further items that may be repeated although they are overdue for less than half an hour.
    recent: u32,
    /// By function: the number of further messages that may be added to its queue. None for a queue without a backlog.
    queues: BTreeMap<String, Option<u64>>,
}

impl Repeats {
    /// The repetitions of a run of the sweep.
    pub fn of_run(partition: u8, since: Option<Timestamp>, now: Timestamp) -> Self {
        Self {
            partition,
            now,
            since,
            is_everything: false,
            recent: RECENT,
            queues: BTreeMap::new(),
        }
    }

    /// Repeats everything that is due before a moment.
    pub fn everything(partition: u8, moment: Timestamp) -> Self {
        Self {
            is_everything: true,
            ..Self::of_run(partition, None, moment)
        }
    }

    pub fn partition(&self) -> u8 {
        self.partition
    }

    /// The time from which on due items are not repeated.
    pub fn until(&self) -> Timestamp {
        if self.is_everything {
            self.now
        } else {
            // Work that is due on the minute is overdue for exactly two minutes in a run on the minute.
            self.now.plus(millis(1) - GRACE)
        }
    }

    /// Returns whether this run may repeat an item that is due since then, whatever its queue is. Otherwise the item need not be read.
    pub fn considers(&self, due: Timestamp) -> bool {
        if self.is_everything {
            return true;
        }
        let by = |moment: Timestamp| repetitions(moment.since(due));
        let is_next = by(self.now) > self.since.map_or(0, by);
        is_next && (self.recent > 0 || self.is_old(due))
    }

    /// Returns whether the number of messages in the queue of a function is known.
    pub fn knows(&self, function: &str) -> bool {
        self.is_everything || self.queues.contains_key(function)
    }

    /// Stores the number of messages in the queue of a function.
    pub fn learn(&mut self, function: &str, depth: QueueDepth) {
        let has_backlog = depth.waiting + depth.in_flight >= BACKLOG;
        let added = (depth.in_flight / PART).min(MOST);
        // The partitions round up in turn.
        let partitions = u64::from(NEXT_ACTION_PARTITIONS);
        let minute = self.now.unix_seconds().unsigned_abs() / 60;
        let turn = (minute + u64::from(self.partition)) % partitions;
        let share = has_backlog.then_some((added + turn) / partitions);
        self.queues.insert(function.to_owned(), share);
    }

    /// Returns whether an item that the run considers is repeated, whose message is sent to the queue of that function, and counts it if
    /// so.
    pub fn admits(&mut self, function: &str, due: Timestamp) -> bool {
        let is_old = self.is_old(due);
        let left = match self.queues.get_mut(function) {
            _ if self.is_everything => return true,
            Some(Some(left)) if is_old => left,
            Some(Some(_)) => return false,
            _ if is_old => return true,
            _ => return count_down(&mut self.recent),
        };
        count_down(left)
    }

    fn is_old(&self, due: Timestamp) -> bool {
        self.now.since(due) > GRACE_IN_BACKLOG
    }
}

/// Decrements a remaining number; returns false if nothing is left.
fn count_down<N: Copy + Default + PartialEq + std::ops::SubAssign + From<u8>>(
    left: &mut N,
) -> bool {
    let is_left = *left != N::default();
    if is_left {
        *left -= N::from(1);
    }
    is_left
}

/// The number of times that an item with this overdue time should have been repeated: after 2, 4, 8 … 64 minutes, and then every 64.
fn repetitions(overdue: SignedDuration) -> i64 {
    match overdue.as_mins() {
        ..2 => 0,
        early @ 2..LONGEST_PAUSE => i64::from(early.ilog2()),
        late => i64::from(LONGEST_PAUSE.ilog2()) - 1 + late / LONGEST_PAUSE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTION: &str = "confirm-reservation";

    fn at(minute: i64) -> Timestamp {
        Timestamp::EPOCH.plus(minutes(minute))
    }

    /// The minutes in which an item that is due at minute 0 is repeated, if the sweep runs every minute and finds this queue depth.
    fn repeated(depth: QueueDepth) -> Vec<i64> {
        let run = |minute: &i64| {
            let mut repeats = Repeats::of_run(0, Some(at(minute - 1)), at(*minute));
            repeats.learn(FUNCTION, depth);
            at(0) < repeats.until() && repeats.considers(at(0)) && repeats.admits(FUNCTION, at(0))
        };
        (0..300).filter(run).collect()
    }

    fn depth(waiting: u64, in_flight: u64) -> QueueDepth {
        QueueDepth { waiting, in_flight }
    }

    #[test]
    fn pauses_between_repetitions_double_up_to_64_minutes() {
        let empty = repeated(depth(0, 0));
        assert_eq!(empty, [2, 4, 8, 16, 32, 64, 128, 192, 256]);
        assert_eq!(repeated(depth(99, 0)), empty);
    }

    #[test]
    fn a_run_that_was_left_out_is_made_up_for() {
        let skipped = Repeats::of_run(0, Some(at(3)), at(7));
        assert!(
            skipped.considers(at(0)),
            "it was overdue for 4 minutes meanwhile"
        );
        assert!(!Repeats::of_run(0, Some(at(4)), at(7)).considers(at(0)));
        assert!(Repeats::of_run(0, None, at(7)).considers(at(0)));
    }

    #[test]
    fn a_backlog_repeats_only_items_overdue_for_30_minutes() {
        assert_eq!(repeated(depth(100_000, 10_000)), [32, 64, 128, 192, 256]);
        assert!(repeated(depth(100_000, 0)).is_empty(), "nothing drains");
    }

    #[test]
    fn a_run_adds_a_hundredth_of_what_a_backlog_drains() {
        for (in_flight, added) in [
            (0, 0),
            (99, 0),
            (100, 1),
            (1_000, 10),
            (6_400, 64),
            (120_000, 100),
        ] {
            for minute in 40..50 {
                let of_partition = |partition| {
                    let mut repeats = Repeats::of_run(partition, None, at(minute));
                    repeats.learn(FUNCTION, depth(1_000, in_flight));
                    (0..1_000)
                        .filter(|_| repeats.admits(FUNCTION, at(0)))
                        .count()
                };
                let sum: usize = (0..NEXT_ACTION_PARTITIONS).map(of_partition).sum();
                assert_eq!(sum, added, "{in_flight}");
            }
        }
    }

    #[test]
    fn without_a_backlog_few_are_repeated_before_half_an_hour() {
        let mut repeats = Repeats::of_run(0, None, at(40));
        repeats.learn(FUNCTION, depth(0, 0));
        let recent = (0..1_000).filter(|_| repeats.admits(FUNCTION, at(20)));
        assert_eq!(recent.count(), RECENT as usize);
        assert!(!repeats.considers(at(20)), "it is not even read");
        let old = (0..1_000).filter(|_| repeats.admits(FUNCTION, at(0)));
        assert_eq!(old.count(), 1_000);
    }

    #[test]
    fn everything_is_repeated_when_all_messages_are_lost() {
        let mut all = Repeats::everything(0, at(10));
        assert!(all.knows(FUNCTION) && all.considers(at(9)));
        assert!((0..1_000).all(|_| all.admits(FUNCTION, at(9))));
    }
}
