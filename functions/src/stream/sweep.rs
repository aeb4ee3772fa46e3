//! `sweep`: finds pending work whose trigger was lost, and sends it again.
//!
//! Once a minute `sweep` reads the first page of each partition of the index `next_action`, and sends the messages of its items again
//! according to [`super::overdue`]. If a partition has more than a page, a message with the cursor of its next page is sent to
//! `sweep-partition`, which processes a few pages and passes on the rest in turn. So a backlog of any size is processed by as many
//! instances as there are partitions, and none holds more than a page of keys. Every message may be sent twice: the workers check whether
//! there is still anything to do.

use std::sync::PoisonError;

use crate::App;
use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use kernel::{Error, Kind, Timestamp, function_scope};
use models::ports::{DueCursor, JobSubject};
use serde::{Deserialize, Serialize};
use table::access::Items;
use table::keys;
use table::sweep::Waiting;
use web::deployment::{Deployment, Need};

use super::changes::{self, Repetition};
use super::overdue::Repeats;
use crate::function::{Function, Trigger};
use crate::job::Job;
use crate::webhooks::plan;

/// The name of the function.
pub const NAME: &str = "sweep";

/// The items that a repetition writes: an event is planned again, and so is its place in the queues of ordered endpoints.
const REPEATED: &[Items] = &[Items::Of(Kind::Event), Items::Of(Kind::WebhookEndpoint)];

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Sends lost messages again",
    trigger: Trigger::Rate("rate(1 minute)"),
    deployment: Deployment::in_background()
        .writing(REPEATED)
        .needing(&[Need::Messages, Need::QueueDepths]),
};

/// The number of partitions that are read concurrently, and the number of items of a page that are processed concurrently.
const ABREAST: usize = 8;
const AT_A_TIME: usize = 32;

/// The number of pages that one message processes before the rest is passed on to another: seconds of work, far below the function's
/// time-out.
const PAGES: usize = 4;

/// Repeats the messages of items that have been overdue for two minutes or more, according to [`super::overdue`]. Returns the number of
/// messages that were sent for the first page of each partition; partitions with more than a page are passed on to `sweep-partition`.
///
/// # Errors
/// `Unavailable` if DynamoDB or SQS cannot be reached. The other messages were sent.
pub async fn handle(app: &App) -> Result<usize, Error> {
    let now = app.now();
    let last = || {
        let last = app.last_sweep.lock();
        last.unwrap_or_else(PoisonError::into_inner)
    };
    let since = *last();
    let of_run = |partition| Repeats::of_run(partition, since, now);
    let sent = function_scope::within(NAME, sweep(app, of_run)).await?;
    // The next run compensates for a failed one.
    *last() = Some(now);
    Ok(sent)
}

/// Repeats everything that is due before a moment, and all first attempts to deliver events, because all messages are lost. It reads the
/// whole table. Otherwise as [`handle`].
///
/// # Errors
/// As [`handle`].
pub async fn before(app: &App, moment: Timestamp) -> Result<usize, Error> {
    let repeated = sweep(app, |partition| Repeats::everything(partition, moment)).await?;
    Ok(repeated + plan::resend_lost(app).await?)
}

async fn sweep(app: &App, of_partition: impl Fn(u8) -> Repeats) -> Result<usize, Error> {
    let partitions = stream::iter(0..keys::NEXT_ACTION_PARTITIONS).map(of_partition);
    let swept = partitions.map(async |mut repeats| {
        let partition = repeats.partition();
        let page = app
            .store
            .due_before(partition, repeats.until(), None)
            .await?;
        // The rest is passed on first, so that it is processed even if this function ends early.
        hand_on(app, &repeats, page.next).await?;
        Ok(repeat(app, &mut repeats, &page.items).await)
    });
    let swept: Vec<Result<Swept, Error>> = swept.buffer_unordered(ABREAST).collect().await;
    let all = swept.into_iter().fold(Swept::default(), |all, outcome| {
        all.and(outcome.unwrap_or_else(Swept::failed))
    });
    match all.failure {
        Some(failure) => Err(failure),
        None => Ok(all.sent),
    }
}

/// Repeats the overdue work in a partition of the index `next_action`, from a cursor on.
#[derive(Debug, Serialize, Deserialize)]
pub struct SweepPartition {
    pub repeats: Repeats,
    pub after: DueCursor,
}

impl Job for SweepPartition {
    const NAME: &'static str = "sweep-partition";
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .writing(REPEATED)
            .needing(&[Need::Messages, Need::QueueDepths]),
    );

    const IS_LOOP: bool = true;

    fn subject(&self) -> JobSubject {
        JobSubject::default()
    }

    fn schedule_name(&self) -> String {
        format!("sweep-{}", self.repeats.partition())
    }

    /// Processes a few pages, and passes on the rest. A later run repeats the messages that cannot be sent now: this message is not
    /// delivered again for them.
    ///
    /// # Errors
    /// `Unavailable` if a page cannot be read or the rest cannot be passed on.
    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { mut repeats, after } = self;
        let mut after = Some(after);
        for _ in 0..PAGES {
            let Some(place) = after else {
                return Ok(());
            };
            let (partition, until) = (repeats.partition(), repeats.until());
            let page = app.store.due_before(partition, until, Some(&place));
            let page = page.await?;
            repeat(app, &mut repeats, &page.items).await;
            after = page.next;
        }
        hand_on(app, &repeats, after).await
    }
}

/// Sends a message about the rest of a partition, if there is any.
async fn hand_on(app: &App, repeats: &Repeats, after: Option<DueCursor>) -> Result<(), Error> {
    let Some(after) = after else {
        return Ok(());
    };
    let rest = SweepPartition {
        repeats: repeats.clone(),
        after,
    };
    rest.send(app).await
}

/// The result of a part of a run.
#[derive(Debug, Default)]
struct Swept {
    sent: usize,
    /// The last error of an item whose message could not be sent again.
    failure: Option<Error>,
}

impl Swept {
    fn failed(error: Error) -> Self {
        tracing::error!(%error, "a partition was not swept");
        Self {
            sent: 0,
            failure: Some(error),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            failure: other.failure.or(self.failure),
        }
    }
}

/// Repeats the messages that items wait for, if they are to be repeated. An item that fails does not delay the others.
async fn repeat(app: &App, repeats: &mut Repeats, items: &[Waiting]) -> Swept {
    let mut swept = Swept::default();
    for items in items.chunks(AT_A_TIME) {
        let considered = items.iter().filter(|item| repeats.considers(item.due));
        let read = considered.map(async |item| (item, changes::repetition(app, item).await));
        let mut admitted = Vec::new();
        for (item, read) in join_all(read).await {
            match admit(app, repeats, item, read).await {
                Ok(Some(repetition)) => admitted.push((item, repetition)),
                Ok(None) => {}
                Err(error) => swept = swept.and(of_item(item, error)),
            }
        }
        let sent = admitted
            .iter()
            .map(async |(item, repetition)| (*item, repetition.run(app, &item.tenant).await));
        for (item, sent) in join_all(sent).await {
            swept = swept.and(match sent {
                Ok(()) => Swept {
                    sent: 1,
                    failure: None,
                },
                Err(error) => of_item(item, error),
            });
        }
    }
    swept
}

/// The repetition of an item, if it is still open and its queue has room for it.
async fn admit(
    app: &App,
    repeats: &mut Repeats,
    item: &Waiting,
    read: Result<Option<Repetition>, Error>,
) -> Result<Option<Repetition>, Error> {
    let Some(repetition) = read? else {
        return Ok(None);
    };
    let function = repetition.function();
    if let Some(function) = function.filter(|function| !repeats.knows(function)) {
        repeats.learn(function, app.queue.depth(function).await?);
    }
    let is_admitted = repeats.admits(function.unwrap_or(NAME), item.due);
    Ok(Some(repetition).filter(|_| is_admitted))
}

/// The result for an item with an error. The error of an item that can never be read is logged, and does not fail the run.
fn of_item(item: &Waiting, error: Error) -> Swept {
    tracing::error!(object.id = %item.id, %error, "overdue work was not sent again");
    Swept {
        sent: 0,
        failure: Some(error).filter(|error| !error.is_permanent()),
    }
}
