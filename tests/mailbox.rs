//! The queue and the schedules of a service in virtual time: they keep messages until the test delivers them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::future::BoxFuture;
use kernel::{Result, Timestamp};
use models::ports::{Clock as _, FailedChange, Message, Queue, QueueDepth, Schedules};

use crate::clock::Hand;

/// A message that was not delivered yet.
pub struct Undelivered {
    pub arrives: Timestamp,
    pub message: Message,
    /// The name of its schedule, if it has one.
    pub schedule: Option<String>,
}

/// The messages, and the number of those that were queued, by the function that processes them.
#[derive(Default)]
pub struct Content {
    pub messages: Vec<Undelivered>,
    pub queued: BTreeMap<&'static str, usize>,
}

pub struct Mailbox {
    content: Mutex<Content>,
    clock: Arc<Hand>,
    /// Whether the messages of schedules that were replaced or removed arrive nevertheless.
    keeps_cancelled: bool,
}

impl Mailbox {
    pub fn new(clock: &Arc<Hand>, keeps_cancelled: bool) -> Arc<Self> {
        Arc::new(Self {
            content: Mutex::default(),
            clock: clock.clone(),
            keeps_cancelled,
        })
    }

    pub fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().expect("the messages")
    }

    pub fn add(&self, arrives: Timestamp, message: &Message, schedule: Option<&str>) {
        self.content().messages.push(Undelivered {
            arrives,
            message: message.clone(),
            schedule: schedule.map(str::to_owned),
        });
    }

    /// Removes and returns the messages that are due, in the order of their arrival.
    pub fn take(&self, is_due: impl Fn(&Undelivered) -> bool) -> Vec<Undelivered> {
        let mut content = self.content();
        let messages = content.messages.drain(..);
        let (mut due, later): (Vec<_>, Vec<_>) = messages.partition(is_due);
        content.messages = later;
        due.sort_by_key(|message| message.arrives);
        due
    }

    fn cancel(&self, name: &str) {
        if !self.keeps_cancelled {
            let is_other = |message: &Undelivered| message.schedule.as_deref() != Some(name);
            self.content().messages.retain(is_other);
        }
    }
}

impl Queue for Mailbox {
    fn send<'a>(&'a self, message: &'a Message, delay_seconds: u16) -> BoxFuture<'a, Result<()>> {
        *self.content().queued.entry(message.function).or_default() += 1;
        let arrives = self.clock.now().plus_seconds(delay_seconds.into());
        self.add(arrives, message, None);
        Box::pin(async { Ok(()) })
    }

    fn depth<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<QueueDepth>> {
        Box::pin(async { Ok(QueueDepth::default()) })
    }

    fn fail<'a>(&'a self, change: &'a FailedChange) -> BoxFuture<'a, Result<()>> {
        panic!("a change can never be relayed: {change:?}")
    }
}

impl Schedules for Mailbox {
    fn set<'a>(
        &'a self,
        name: &'a str,
        at: Timestamp,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<()>> {
        self.cancel(name);
        self.add(at, message, Some(name));
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.cancel(name);
        Box::pin(async { Ok(()) })
    }
}
