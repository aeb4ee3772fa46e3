//! The ports of the service besides the table: a clock, queues, and one-time schedules.

pub mod files;
pub mod network;
pub mod payments;

use std::fmt;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::action::Action;
use kernel::time::{millis, minutes};
use kernel::{Id, Kind, Result, SignedDuration, Tenant, Timestamp};

/// The source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the service's time, which is used for everything in the service. Local runs and tests can move it.
    fn now(&self) -> Timestamp;

    /// Returns the machine's time, which cannot be moved. It is used for values that others compare with their own clocks, such as the
    /// time of a signature. A clock that is not connected with that of a machine has only one time.
    fn wall_clock(&self) -> Timestamp {
        self.now()
    }
}

/// Delivers messages to the functions that process them: each at least once, in no particular order.
pub trait Queue: Send + Sync {
    /// Sends a message that arrives after this number of seconds, at most 900.
    fn send<'a>(&'a self, message: &'a Message, delay_seconds: u16) -> BoxFuture<'a, Result<()>>;

    /// Sends messages, each with its delay in seconds, with as few calls as possible. If it fails, some of them may have been sent.
    fn send_all<'a>(&'a self, messages: &'a [(Message, u16)]) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            for (message, delay_seconds) in messages {
                self.send(message, *delay_seconds).await?;
            }
            Ok(())
        })
    }

    /// Returns the number of messages in the queue of a function.
    fn depth<'a>(&'a self, function: &'a str) -> BoxFuture<'a, Result<QueueDepth>>;

    /// Stores a change that can never be relayed where an operator finds it.
    fn fail<'a>(&'a self, change: &'a FailedChange) -> BoxFuture<'a, Result<()>>;
}

/// The number of messages in a queue, without those that arrive later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueDepth {
    /// The messages that wait for a worker.
    pub waiting: u64,
    /// The messages that a worker processes, or that failed and are held back before they are delivered again.
    pub in_flight: u64,
}

/// A change of the table that can never be relayed, without its content, which may be too large for a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedChange {
    /// The object that changed; None for an item that belongs to no object.
    pub object: Option<Id>,
    /// The key of the item.
    pub pk: String,
    pub sk: String,
    /// The version of the item that was written.
    pub version: Option<u64>,
    pub error: String,
    pub failed_at: Timestamp,
}

/// Sends messages at a moment that is later than the maximum delay of a queue.
pub trait Schedules: Send + Sync {
    /// Sends the message at that moment. A schedule with the same name is replaced. The error [`Error::is_quota_exceeded`] if there is no
    /// room for another schedule.
    ///
    /// [`Error::is_quota_exceeded`]: kernel::Error::is_quota_exceeded
    fn set<'a>(
        &'a self,
        name: &'a str,
        at: Timestamp,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<()>>;

    /// Removes the schedule with that name, if there is one.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>>;
}

/// A position in a partition of the index of due items: the keys of an item in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueCursor {
    pub pk: String,
    pub sk: String,
    pub next_at: String,
}

/// A message of a queue: a job for a function.
#[derive(Clone, PartialEq)]
pub struct Message {
    /// The function that does the job. The message is sent to its queue.
    pub function: &'static str,
    /// The name of the job.
    pub job: &'static str,
    pub subject: JobSubject,
    /// The purpose of its schedule, if it has one: at most 50 characters, to which [`schedule_name`] adds the minute.
    pub schedule: String,
    /// The job as JSON.
    pub body: String,
    /// The number of messages that led to this one, each sent while the previous one was processed.
    pub hops: u32,
}

impl fmt::Debug for Message {
    /// Leaves out the body: a log must not contain the uids of cards.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("function", &self.function)
            .field("job", &self.job)
            .field("subject", &self.subject)
            .field("schedule", &self.schedule)
            .field("hops", &self.hops)
            .finish_non_exhaustive()
    }
}

/// The subject of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobSubject {
    /// The owner of the object. None for the work of charging networks, which belong to no account.
    pub tenant: Option<Tenant>,
    pub object: Option<Id>,
    /// The party whose work must not delay the work of others: a webhook endpoint or a charging network that may take long to respond, or
    /// an account with many batches.
    pub waits_for: Option<Id>,
}

impl JobSubject {
    /// Returns the subject for an object of a tenant.
    pub fn of(tenant: &Tenant, object: &Id) -> Self {
        Self {
            tenant: Some(tenant.clone()),
            object: Some(object.clone()),
            waits_for: None,
        }
    }

    /// Returns the subject for an object that belongs to no tenant.
    pub fn shared(object: &Id) -> Self {
        Self {
            object: Some(object.clone()),
            ..Self::default()
        }
    }

    /// Returns the same subject, with the party that the job waits for.
    #[must_use]
    pub fn waiting_for(mut self, other: &Id) -> Self {
        self.waits_for = Some(other.clone());
        self
    }
}

/// Returns the names of the schedules that an object may have if its next action is at that moment.
pub fn schedule_names(id: &Id, at: Timestamp) -> Vec<String> {
    if id.is(Kind::WebhookDelivery) {
        return vec![schedule_name(id.as_str(), at)];
    }
    let actions = id.kind().into_iter().flat_map(Action::of);
    actions
        .filter(|action| action.is_scheduled())
        .map(|action| schedule_name(&action_schedule(id, action), at))
        .collect()
}

/// Returns the name of the schedule of a message: its purpose, and the minute in which it falls due. So no name is used again while
/// EventBridge Scheduler deletes the schedule that had it before.
pub fn schedule_name(purpose: &str, at: Timestamp) -> String {
    let moment = at.to_string();
    let minute = moment.split(':').take(2).flat_map(str::chars);
    let minute: String = minute.filter(|char| *char != '-').collect();
    format!("{purpose}-{minute}")
}

/// Returns the purpose of the schedule of an object's next action.
pub fn action_schedule(id: &Id, action: Action) -> String {
    format!("{id}-{}", action.as_str())
}

/// Returns the purpose of a schedule that belongs to no single object.
pub fn digest_of(what: &str, name: &str) -> String {
    let digest = Sha256::digest(name);
    format!("{what}-{}", hex::encode(&digest[..16]))
}

/// The maximum delay of a message in a queue.
const QUEUE_DELAY: SignedDuration = minutes(15);

/// Sends a message at a moment: at once, with the delay of the queue, or by a schedule, depending on how far away the moment is.
///
/// # Errors
/// `Unavailable` if SQS or EventBridge Scheduler cannot be reached.
pub async fn send_at(
    queue: &dyn Queue,
    schedules: &dyn Schedules,
    now: Timestamp,
    at: Timestamp,
    message: &Message,
) -> Result<()> {
    let wait = at.since(now);
    if wait > QUEUE_DELAY {
        let name = schedule_name(&message.schedule, at);
        return schedules.set(&name, at, message).await;
    }
    let seconds =
        u16::try_from((wait.max(SignedDuration::ZERO) + millis(999)).as_secs()).unwrap_or(900);
    queue.send(message, seconds).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Kind;
    use std::collections::HashSet;
    use std::sync::Mutex;

    #[test]
    fn the_body_of_a_message_is_not_logged() {
        let message = Message {
            function: "sync",
            job: "push-token",
            subject: JobSubject::default(),
            schedule: String::new(),
            body: r#"{"uid":"04A1B2C3D4E5"}"#.into(),
            hops: 0,
        };
        let logged = format!("{message:?}");
        assert!(!logged.contains("04A1B2C3D4E5"), "{logged}");
        assert!(logged.contains("push-token"), "{logged}");
    }

    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Queue for Notes {
        fn send<'a>(&'a self, _: &'a Message, delay: u16) -> BoxFuture<'a, Result<()>> {
            self.0.lock().unwrap().push(format!("queue {delay}"));
            Box::pin(async { Ok(()) })
        }

        fn depth<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<QueueDepth>> {
            Box::pin(async { Ok(QueueDepth::default()) })
        }

        fn fail<'a>(&'a self, _: &'a FailedChange) -> BoxFuture<'a, Result<()>> {
            Box::pin(async { Ok(()) })
        }
    }

    impl Schedules for Notes {
        fn set<'a>(
            &'a self,
            name: &'a str,
            _: Timestamp,
            _: &'a Message,
        ) -> BoxFuture<'a, Result<()>> {
            assert!(name.len() <= 64);
            self.0.lock().unwrap().push("schedule".into());
            Box::pin(async { Ok(()) })
        }

        fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<()>> {
            Box::pin(async { Ok(()) })
        }
    }

    #[test]
    fn names_of_schedules_have_purpose_and_minute_and_fit() {
        let at = Timestamp::parse("2026-11-21T09:07:59.999Z").unwrap();
        let id = Id::from_number(Kind::Reservation, 5);
        let names = schedule_names(&id, at);
        assert_eq!(names[3], format!("{id}-charge-fee-20261121T0907"));
        for kind in Kind::ALL {
            let names = schedule_names(&Id::from_number(*kind, u128::MAX), at);
            assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
            let distinct: HashSet<&String> = names.iter().collect();
            assert_eq!(distinct.len(), names.len(), "{names:?}");
        }
        let names = |kind| schedule_names(&Id::from_number(kind, u128::MAX), at);
        let of_delivery = names(Kind::WebhookDelivery);
        assert!(of_delivery.len() == 1 && of_delivery[0].len() <= 64);
        assert!(names(Kind::Event).is_empty());
    }

    #[tokio::test]
    async fn short_waits_ride_on_the_queue_and_long_ones_on_a_schedule() {
        let message = Message {
            function: "deliver-webhook",
            job: "deliver-webhook",
            subject: JobSubject::default(),
            schedule: "deliver".into(),
            body: "{}".into(),
            hops: 0,
        };
        let notes = Notes::default();
        let now = Timestamp::from_unix_millis(0);
        for wait in [-5, 0, 1, 4_999, 900_000, 900_001] {
            let sent = send_at(&notes, &notes, now, now.plus(millis(wait)), &message);
            sent.await.unwrap();
        }
        let want = [
            "queue 0",
            "queue 0",
            "queue 1",
            "queue 5",
            "queue 900",
            "schedule",
        ];
        assert_eq!(*notes.0.lock().unwrap(), want);
    }
}
