//! A simulation of a queue with its workers and the sweep in virtual time, for times at which more work is due than can be done in a
//! minute.
//!
//! Items become due, each with a message. Messages are processed in order; a message whose item is done already takes a part of a
//! worker's time. The sweep runs every minute, reads the number of messages in the queue, and decides with [`Repeats`] which messages
//! are sent again.

use std::collections::VecDeque;

use functions::stream::overdue::Repeats;
use kernel::Timestamp;
use kernel::time::{millis, minutes};
use models::ports::QueueDepth;
use table::keys::NEXT_ACTION_PARTITIONS;

/// The rule by which the sweep repeats messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Nothing,
    /// The rule of [`Repeats`].
    Repeats,
}

/// The course of events, beginning with second 0.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub name: &'static str,
    /// The number of items that are due at once at the beginning.
    pub spike: usize,
    /// The number of additional items that become due in each second.
    pub steady: usize,
    /// The maximum number of messages that arrive in a second: the others wait at EventBridge Scheduler.
    pub arrivals: usize,
    /// The number of messages that the workers finish in a second.
    pub capacity: usize,
    /// The number of seconds from the beginning in which no worker works.
    pub standstill: usize,
    /// The number of seconds from the beginning in which all messages fail, and are held back for six minutes each.
    pub failing: usize,
    /// If set, one of this number of messages is lost.
    pub lost: Option<usize>,
    /// The length of the simulation, in seconds.
    pub length: usize,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            name: "",
            spike: 0,
            steady: 0,
            arrivals: usize::MAX,
            capacity: 250,
            standstill: 0,
            failing: 0,
            lost: None,
            length: 90 * 60,
        }
    }
}

/// The result of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Course {
    /// The number of items that became due.
    pub items: usize,
    /// The number of messages that the sweep sent.
    pub repeated: usize,
    /// The number of those that were sent although the item's message was not lost.
    pub duplicates: usize,
    /// The number of items that are not done at the end although they were due five minutes before.
    pub undone: usize,
    /// The second from which on every item was done within two minutes. None if there is none.
    pub recovered: Option<usize>,
}

impl Course {
    /// The proportion of items whose message was repeated unnecessarily.
    pub fn duplicated(&self) -> f64 {
        self.duplicates as f64 / self.items as f64
    }
}

/// The time for which a failed message is held back, and the part of a worker's time for a message whose item is done, in tenths.
const HELD_BACK: usize = 360;
const DUPLICATE_COST: usize = 2;
const COST: usize = 10;

struct Item {
    due: usize,
    is_lost: bool,
    is_done: bool,
}

/// Simulates a scenario with a rule of the sweep.
pub fn play(scenario: &Scenario, rule: Rule) -> Course {
    let mut items: Vec<Item> = Vec::new();
    // Messages before the queue, in the queue, and held back until a second.
    let mut scheduled: VecDeque<usize> = VecDeque::new();
    let mut queue: VecDeque<usize> = VecDeque::new();
    let mut held: VecDeque<(usize, usize)> = VecDeque::new();
    let mut course = Course {
        items: 0,
        repeated: 0,
        duplicates: 0,
        undone: 0,
        recovered: None,
    };
    let (mut first_open, mut last_late) = (0, None);
    for second in 0..scenario.length {
        let spike = if second == 0 { scenario.spike } else { 0 };
        for _ in 0..spike + scenario.steady {
            let is_lost = scenario
                .lost
                .is_some_and(|every| items.len() % every == every - 1);
            if !is_lost {
                scheduled.push_back(items.len());
            }
            items.push(Item {
                due: second,
                is_lost,
                is_done: false,
            });
        }
        let arriving = scheduled.len().min(scenario.arrivals);
        queue.extend(scheduled.drain(..arriving));
        while let Some((_, item)) = held.pop_front_if(|(back, _)| *back <= second) {
            queue.push_back(item);
        }
        if second >= scenario.standstill {
            let mut time = scenario.capacity * COST;
            while let Some(&item) = queue.front() {
                let cost = if items[item].is_done {
                    DUPLICATE_COST
                } else {
                    COST
                };
                let Some(left) = time.checked_sub(cost) else {
                    break;
                };
                time = left;
                queue.pop_front();
                if second < scenario.failing {
                    held.push_back((second + HELD_BACK, item));
                } else {
                    items[item].is_done = true;
                }
            }
        }
        while items.get(first_open).is_some_and(|item| item.is_done) {
            first_open += 1;
        }
        let oldest = items.get(first_open).map_or(second, |item| item.due);
        if second - oldest > 120 {
            last_late = Some(second);
        }
        if second % 60 == 59 {
            let workers = scenario.capacity.min(queue.len());
            let depth = QueueDepth {
                waiting: (queue.len() - workers) as u64,
                in_flight: (workers + held.len()) as u64,
            };
            for item in repeated(&items[first_open..], second, rule, depth) {
                let item = item + first_open;
                course.repeated += 1;
                course.duplicates += usize::from(!items[item].is_lost);
                items[item].is_lost = false;
                queue.push_back(item);
            }
        }
    }
    course.items = items.len();
    let old = |item: &&Item| !item.is_done && item.due + 300 < scenario.length;
    course.undone = items.iter().filter(old).count();
    course.recovered = match last_late {
        Some(late) if late + 1 >= scenario.length => None,
        late => Some(late.unwrap_or_default()),
    };
    course
}

/// The items whose messages a run of the sweep sends again. They are in the order of their due times, as in the index.
fn repeated(items: &[Item], second: usize, rule: Rule, depth: QueueDepth) -> Vec<usize> {
    const FUNCTION: &str = "deliver-webhook";
    let at = |second: usize| Timestamp::EPOCH.plus(millis(second as i64 * 1_000));
    let now = at(second);
    let overdue = items.iter().take_while(|item| item.due + 120 <= second);
    let open = overdue.enumerate().filter(|(_, item)| !item.is_done);
    if rule == Rule::Nothing {
        return Vec::new();
    }
    let run = |partition| Repeats::of_run(partition, Some(now.plus(minutes(-1))), now);
    let mut partitions: Vec<Repeats> = (0..NEXT_ACTION_PARTITIONS).map(run).collect();
    let mut sent = Vec::new();
    for (place, item) in open {
        let repeats = &mut partitions[place % usize::from(NEXT_ACTION_PARTITIONS)];
        let due = at(item.due);
        if due >= repeats.until() || !repeats.considers(due) {
            continue;
        }
        if !repeats.knows(FUNCTION) {
            repeats.learn(FUNCTION, depth);
        }
        if repeats.admits(FUNCTION, due) {
            sent.push(place);
        }
    }
    sent
}

/// The scenarios, for the different causes of more work than can be done in a minute.
pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "spike of 156,000, 250/s",
            spike: 156_000,
            steady: 100,
            ..Scenario::default()
        },
        Scenario {
            name: "spike of 156,000, 150/s",
            spike: 156_000,
            steady: 100,
            capacity: 150,
            ..Scenario::default()
        },
        Scenario {
            name: "spike of 156,000 at 500/s of Scheduler, 2,000/s",
            spike: 156_000,
            arrivals: 500,
            steady: 100,
            capacity: 2_000,
            ..Scenario::default()
        },
        Scenario {
            name: "outage of 10 minutes at 200/s: standstill",
            steady: 200,
            standstill: 600,
            ..Scenario::default()
        },
        Scenario {
            name: "outage of 10 minutes at 200/s: all fail",
            steady: 200,
            failing: 600,
            ..Scenario::default()
        },
        Scenario {
            name: "no backlog, one message of 1,000 lost",
            steady: 100,
            lost: Some(1_000),
            ..Scenario::default()
        },
    ]
}
