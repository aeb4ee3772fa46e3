//! The queues and the scheduler of a local run: messages in the order in which they are due. Until they are done, they are also in the
//! data folder ([`crate::backlog`]), where the next run finds them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use futures::future::BoxFuture;
use kernel::time::{MINUTE, millis};
use kernel::{Error, Result, SignedDuration, Timestamp};
use models::ports::{Clock, FailedChange, Message, Queue, QueueDepth, Schedules};
use table::erasure::Accounts;
use tokio::sync::Notify;

use crate::backlog::{Backlog, Parcel, Restored};
use crate::clock::LocalClock;

/// The time for which the deletion of a schedule is pending after its moment, as with EventBridge Scheduler: a schedule that is
/// created under the same name in that time is deleted with it.
const DELETION: SignedDuration = MINUTE;

/// A message that has not been delivered.
#[derive(Debug)]
struct Sent {
    parcel: Parcel,
    /// The name of its schedule, if it has one.
    schedule: Option<String>,
    /// Whether it was not due yet when it was sent.
    is_delayed: bool,
}

impl Sent {
    fn is_named(&self, name: &str) -> bool {
        self.schedule.as_deref() == Some(name)
    }
}

#[derive(Debug, Default)]
struct Contents {
    due: BTreeMap<(Timestamp, u64), Sent>,
    sent: u64,
    /// Schedules whose moment has passed, by their names, and until when their deletion is pending.
    deleting: BTreeMap<String, Timestamp>,
    /// The first change that can never be relayed, or the first message that is permanently lost.
    failed: Option<String>,
}

impl Contents {
    fn insert(&mut self, at: Timestamp, schedule: Option<String>, parcel: Parcel, now: Timestamp) {
        let place = (at, parcel.number);
        let sent = Sent {
            parcel,
            schedule,
            is_delayed: at > now,
        };
        self.due.insert(place, sent);
    }
}

#[derive(Debug)]
pub struct Timeline {
    clock: Arc<LocalClock>,
    backlog: Backlog,
    contents: Mutex<Contents>,
    pub arrived: Notify,
}

/// Messages that are due. Those whose processing has not begun when it is dropped are due again: the caller may have been broken off.
pub struct Due<'a> {
    timeline: &'a Timeline,
    pub parcels: VecDeque<Parcel>,
}

impl Drop for Due<'_> {
    fn drop(&mut self) {
        let now = self.timeline.clock.now();
        let mut contents = self.timeline.lock();
        for parcel in self.parcels.drain(..) {
            contents.insert(now, None, parcel, now);
        }
    }
}

impl Timeline {
    /// Creates a timeline with the messages of the last run.
    pub fn new(clock: Arc<LocalClock>, backlog: Backlog, restored: Vec<Restored>) -> Self {
        let mut contents = Contents::default();
        for (at, schedule, parcel) in restored {
            contents.sent = contents.sent.max(parcel.number);
            contents.insert(at, schedule, parcel, clock.now());
        }
        Self {
            clock,
            backlog,
            contents: Mutex::new(contents),
            arrived: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds a message. A message that was scheduled under the same name is replaced.
    ///
    /// # Errors
    /// `Unavailable` if the data folder cannot be written.
    fn add(&self, at: Timestamp, name: Option<&str>, message: &Message) -> Result<()> {
        let (mut contents, now) = (self.lock(), self.clock.now());
        let deleting = name.and_then(|name| contents.deleting.get(name));
        if deleting.is_some_and(|until| *until > now) {
            tracing::error!(name, "the schedule is deleted with the one before it");
            return Ok(());
        }
        contents.sent += 1;
        let parcel = Parcel {
            message: message.clone(),
            tries: 0,
            number: contents.sent,
        };
        self.backlog.keep(at, name, &parcel)?;
        if let Some(name) = name {
            self.discard(&mut contents, |sent| sent.is_named(name));
        }
        contents.insert(at, name.map(str::to_owned), parcel, now);
        drop(contents);
        self.arrived.notify_one();
        Ok(())
    }

    /// Adds a message that has failed.
    pub fn add_again(&self, at: Timestamp, parcel: Parcel) {
        if let Err(error) = self.backlog.keep(at, None, &parcel) {
            tracing::warn!(%error, "the attempts of a message were not counted in the data folder");
        }
        let (mut contents, now) = (self.lock(), self.clock.now());
        contents.insert(at, None, parcel, now);
        drop(contents);
        self.arrived.notify_one();
    }

    /// Records that a message is done or given up.
    pub fn done(&self, parcel: &Parcel) {
        self.backlog.remove(parcel.number);
    }

    /// Removes the messages to which a condition applies.
    fn discard(&self, contents: &mut Contents, condition: impl Fn(&Sent) -> bool) {
        for (_, sent) in contents.due.extract_if(.., |_, sent| condition(sent)) {
            self.done(&sent.parcel);
        }
    }

    /// Takes the messages that are due.
    pub fn take_due(&self, now: Timestamp) -> Due<'_> {
        let mut contents = self.lock();
        let later = contents.due.split_off(&(now.plus(millis(1)), 0));
        let due = std::mem::replace(&mut contents.due, later);
        contents.deleting.retain(|_, until| *until > now);
        let mut parcels = VecDeque::new();
        for sent in due.into_values() {
            if let Some(name) = sent.schedule {
                contents.deleting.insert(name, now.plus(DELETION));
            }
            parcels.push_back(sent.parcel);
        }
        Due {
            timeline: self,
            parcels,
        }
    }

    /// The time at which the next message is due.
    pub fn next(&self) -> Option<Timestamp> {
        self.lock().due.keys().next().map(|(at, _)| *at)
    }

    /// Whether there are messages that were due when they were sent.
    pub fn has_undelivered(&self) -> bool {
        self.lock().due.values().any(|sent| !sent.is_delayed)
    }

    /// The number of messages, and the first of them with the times at which they are due.
    pub fn first(&self, limit: usize) -> (usize, Vec<(Timestamp, Message)>) {
        let contents = self.lock();
        let first = contents.due.iter().take(limit);
        let first = first.map(|((at, _), sent)| (*at, sent.parcel.message.clone()));
        (contents.due.len(), first.collect())
    }

    /// Removes the messages about accounts that were erased.
    pub fn forget_accounts(&self, accounts: &Accounts) {
        let is_about = |message: &Message| {
            let tenant = message.subject.tenant.as_ref();
            tenant.is_some_and(|tenant| accounts.contains(&tenant.account))
        };
        self.discard(&mut self.lock(), |sent| is_about(&sent.parcel.message));
    }

    pub fn forget(&self) {
        self.discard(&mut self.lock(), |_| true);
    }

    /// Records that work is permanently lost.
    pub fn fail_for_good(&self, why: String) {
        tracing::error!("{why}");
        self.lock().failed.get_or_insert(why);
    }

    /// # Errors
    /// `Internal` if there was a change that can never be relayed, or a message that is permanently lost.
    pub fn check(&self) -> Result<()> {
        match &self.lock().failed {
            Some(why) => Err(Error::internal(why.clone())),
            None => Ok(()),
        }
    }
}

impl Queue for Timeline {
    fn send<'a>(&'a self, message: &'a Message, delay_seconds: u16) -> BoxFuture<'a, Result<()>> {
        let at = self.clock.now().plus_seconds(delay_seconds.into());
        let added = self.add(at, None, message);
        Box::pin(async { added })
    }

    fn depth<'a>(&'a self, function: &'a str) -> BoxFuture<'a, Result<QueueDepth>> {
        let now = self.clock.now();
        let contents = self.lock();
        let due = contents.due.iter().take_while(|((at, _), _)| *at <= now);
        let waiting = due.filter(|(_, sent)| sent.parcel.message.function == function);
        let depth = QueueDepth {
            waiting: waiting.count() as u64,
            in_flight: 0,
        };
        Box::pin(async move { Ok(depth) })
    }

    /// A local run has no dead-letter queue: the relay has written the change to the log.
    fn fail<'a>(&'a self, change: &'a FailedChange) -> BoxFuture<'a, Result<()>> {
        let failed = &mut self.lock().failed;
        failed.get_or_insert_with(|| format!("it can never be relayed: {change:?}"));
        Box::pin(async { Ok(()) })
    }
}

impl Schedules for Timeline {
    fn set<'a>(
        &'a self,
        name: &'a str,
        at: Timestamp,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<()>> {
        let added = self.add(at, Some(name), message);
        Box::pin(async { added })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.discard(&mut self.lock(), |sent| sent.is_named(name));
        Box::pin(async { Ok(()) })
    }
}
