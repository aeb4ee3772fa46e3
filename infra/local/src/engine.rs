//! Asynchronous work in a local run: the stream is relayed, and messages are processed when they are due.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use functions::stream::{relay, sweep};
use functions::{App, jobs};
use kernel::time::seconds;
use kernel::{Error, Result, SignedDuration, Timestamp};
use models::ports::{Clock as _, Message};
use serde::Serialize;
use table::erasure::Accounts;
use tokio::sync::{Mutex, Notify, Semaphore};
use tokio::time::Instant;
use tracing::Span;

use crate::backlog::Parcel;
use crate::clock::LocalClock;
use crate::deliveries::Deliveries;
use crate::notices::Notices;
use crate::streams::Streams;
use crate::timeline::Timeline;

/// The longest sleep of the engine, unless it is woken.
const REST: Duration = Duration::from_millis(200);
/// The interval at which lost work is looked for.
const SWEEP: Duration = Duration::from_secs(60);
/// The number of messages other than webhook deliveries and pulls from charging networks that are processed at a time.
const WORKERS: u32 = 16;
/// The delay before a failed message is delivered again.
const REDELIVERY: SignedDuration = seconds(5);
/// The number of messages after which Lambda ends a chain, unless the function declares that a loop is intended.
const MAX_HOPS: u32 = 16;
/// The number of changes that are relayed together, and for how long, as in the template.
const BATCH: usize = 100;
const RELAY_PATIENCE: Duration = Duration::from_secs(60);
/// The time that settling may take before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(40);
/// The time that settling waits for a webhook endpoint at which no delivery ends, and for a charging network at which no pull ends,
/// and for all of them together while the time is moved once. Work that exceeds it continues in the background. Tests, whose receivers
/// share the processors with many other processes, use a multiple of it.
const ENDPOINT_PATIENCE: Duration = Duration::from_secs(5);
const RECEIVERS_PATIENCE: Duration = Duration::from_secs(15);

pub struct Engine {
    app: App,
    pub clock: Arc<LocalClock>,
    pub timeline: Arc<Timeline>,
    pub notices: Arc<Notices>,
    streams: Mutex<Streams>,
    workers: Arc<Semaphore>,
    deliveries: Arc<Deliveries>,
    nudged: Notify,
    /// The charging network on this machine, which uses the same clock.
    network: Option<cpo::Pace>,
    /// The factor by which settling waits longer than usual for webhook receivers.
    receivers_slack: u32,
    /// Held while the time is being moved.
    moving: Mutex<()>,
}

/// The result of moving the time.
#[derive(Debug, Serialize)]
pub struct Moved {
    pub now: Timestamp,
    /// Webhook deliveries that have no response yet; they continue in the background.
    pub deliveries_in_flight: usize,
    /// Explains `deliveries_in_flight` where it is not 0.
    pub message: Option<String>,
}

impl Engine {
    pub fn new(
        app: App,
        clock: Arc<LocalClock>,
        timeline: Arc<Timeline>,
        notices: Arc<Notices>,
        streams: Streams,
        network: Option<cpo::Pace>,
        receivers_slack: u32,
    ) -> Self {
        Self {
            app,
            clock,
            timeline,
            notices,
            streams: Mutex::new(streams),
            workers: Arc::new(Semaphore::new(WORKERS as usize)),
            deliveries: Deliveries::new(),
            nudged: Notify::new(),
            network,
            receivers_slack,
            moving: Mutex::new(()),
        }
    }

    /// Finds the work that is pending in a table whose messages are not known: with `--memory`, and in the folder of an older release.
    pub async fn recover(&self) -> Result<()> {
        sweep::before(&self.app, Timestamp::from_unix_millis(i64::MAX))
            .await
            .map(drop)
    }

    /// Runs the engine without end.
    pub async fn run(self: Arc<Self>) {
        let started = Instant::now();
        let mut swept = None;
        let mut is_reported = false;
        loop {
            let turned = self.turn(&mut *self.streams.lock().await).await;
            match &turned {
                Err(error) if !is_reported => {
                    tracing::warn!(%error, "the stream cannot be relayed; it is tried again until it can");
                }
                _ => {}
            }
            is_reported = turned.is_err();
            // At the start of a process that has not run for a while, work may have waited for other work that was due as well.
            let is_idle =
                matches!(turned, Ok(false)) && self.workers.available_permits() == WORKERS as usize;
            if swept.unwrap_or(started).elapsed() > SWEEP || swept.is_none() && is_idle {
                swept = Some(Instant::now());
                if let Err(error) = sweep::handle(&self.app).await {
                    tracing::warn!(%error, "lost work was not looked for");
                }
            }
            tokio::select! {
                () = self.nudged.notified() => {}
                () = self.timeline.arrived.notified() => {}
                () = tokio::time::sleep(REST) => {}
            }
        }
    }

    /// Notifies the engine that there may be something to do.
    pub fn nudge(&self) {
        self.nudged.notify_one();
    }

    /// Relays new changes of the stream and starts the work that is due. Returns true if there was anything. Only the holder of the
    /// streams starts work.
    async fn turn(&self, streams: &mut Streams) -> Result<bool> {
        let relayed = self.relay(streams).await?;
        let mut due = self.timeline.take_due(self.clock.now());
        let any = !due.parcels.is_empty();
        while let Some(next) = due.parcels.front() {
            // These messages have workers of their own, because a receiver may hang and a network may have a very large number of
            // pages.
            let other = next.message.subject.waits_for.clone();
            let permit = match &other {
                Some(_) => None,
                None => Some(self.workers.clone().acquire_owned().await),
            };
            let permit = permit.transpose();
            let permit = permit.map_err(|_| Error::internal("the workers have stopped"))?;
            let Some(parcel) = due.parcels.pop_front() else {
                break;
            };
            let (app, timeline) = (self.app.clone(), self.timeline.clone());
            let work = async move {
                work(&app, &timeline, parcel).await;
                drop(permit);
            };
            match other {
                Some(other) => tokio::spawn(self.deliveries.begin(&other).work(work)),
                None => tokio::spawn(work),
            };
        }
        Ok(relayed || any)
    }

    /// Relays new changes of the stream, in batches like those of Lambda. Returns true if there was anything. What is not relayed when it
    /// fails or is broken off is read again.
    async fn relay(&self, streams: &mut Streams) -> Result<bool> {
        let changes = streams.read().await?;
        let any = !changes.is_empty();
        let placed = changes.into_iter().map(|numbered| {
            let place = (numbered.shard, numbered.number);
            (place, (numbered.change, Span::none()))
        });
        let (places, changes): (Vec<_>, Vec<_>) = placed.unzip();
        for (places, batch) in places.chunks(BATCH).zip(changes.chunks(BATCH)) {
            let until = Instant::now() + RELAY_PATIENCE;
            let failed = relay::handle_batch(&self.app, batch, until).await;
            let relayed = failed.unwrap_or(batch.len());
            let keys = batch[..relayed].iter().map(|(change, _)| change.key());
            let objects = keys.filter_map(|key| self.notices.object_of(key));
            self.notices.changed(objects.collect());
            let done: BTreeMap<_, _> = places[..relayed].iter().cloned().collect();
            streams.done(done.into_iter().collect()).await?;
            if failed.is_some() {
                return Err(Error::unavailable(
                    "a change was not relayed; it comes again",
                ));
            }
        }
        streams.finish();
        Ok(any)
    }

    /// Repeats until no work is due.
    ///
    /// # Errors
    /// `Unavailable` if the work exceeds its time limit.
    pub async fn settle(&self) -> Result<()> {
        self.settle_within(&mut self.receivers_patience()).await
    }

    fn receivers_patience(&self) -> Duration {
        RECEIVERS_PATIENCE * self.receivers_slack
    }

    /// Repeats until no work is due except deliveries to endpoints that do not respond and pulls that do not end. `patience` is the
    /// time that these may be waited for; the time waited is subtracted.
    async fn settle_within(&self, patience: &mut Duration) -> Result<()> {
        let limit = PATIENCE + *patience;
        let settled = async {
            loop {
                let mut streams = self.streams.lock().await;
                // While all permits are held no worker runs, and while the streams are held no new work starts.
                let Ok(idle) = self.workers.acquire_many(WORKERS).await else {
                    return Err(Error::internal("the workers have stopped"));
                };
                drop(idle);
                // A delivery that ends after this line may leave work that this pass does not see.
                let mut ends = self.deliveries.ends();
                let until = self
                    .deliveries
                    .worth_waiting_until(ENDPOINT_PATIENCE * self.receivers_slack);
                if self.turn(&mut streams).await? {
                    continue;
                }
                drop(streams);
                if let Some(network) = &self.network
                    && network.settle().await
                {
                    continue;
                }
                let (Some(until), false) = (until, patience.is_zero()) else {
                    return Ok(());
                };
                let began = Instant::now();
                let until = until.min(began + *patience);
                tokio::select! {
                    // The sender lives as long as the engine.
                    _ = ends.changed() => {}
                    () = tokio::time::sleep_until(until) => {}
                }
                *patience = patience.saturating_sub(began.elapsed());
            }
        };
        match tokio::time::timeout(limit, settled).await {
            Ok(settled) => settled,
            Err(_) => Err(Error::unavailable("work goes on longer than it should")),
        }
    }

    /// The time of the next work, here or at the charging network.
    fn next(&self) -> Option<Timestamp> {
        let network = self.network.as_ref().and_then(cpo::Pace::next);
        let dues = [self.timeline.next(), network.map(Timestamp::from)];
        dues.into_iter().flatten().min()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Moves the time forward, stopping at each moment at which work is due.
    ///
    /// # Errors
    /// `Unavailable` if the work exceeds its time limit.
    pub async fn advance(&self, seconds: u32) -> Result<Moved> {
        let moving = self.moving.lock().await;
        let mut patience = self.receivers_patience();
        let target = self.clock.now().plus_seconds(seconds.into());
        let moved = self.move_to(target, &mut patience).await;
        // The clock may have been moved part of the way.
        self.notices.moved(self.clock.now());
        moved?;
        drop(moving);
        let (deliveries, endpoints) = self.deliveries.under_way();
        let (each, all) = (ENDPOINT_PATIENCE.as_secs(), RECEIVERS_PATIENCE.as_secs());
        Ok(Moved {
            now: self.clock.now(),
            deliveries_in_flight: deliveries,
            message: (deliveries > 0).then(|| {
                format!(
                    "{deliveries} webhook deliveries to {endpoints} endpoints are unanswered and continue in the background. \
                     Moving the clock waits at most {each} seconds for an endpoint that does not answer, and {all} seconds in all."
                )
            }),
        })
    }

    /// Moves the clock to a moment, stopping at each earlier moment at which work is due.
    async fn move_to(&self, target: Timestamp, patience: &mut Duration) -> Result<()> {
        self.settle_within(patience).await?;
        while let Some(at) = self.next().filter(|at| *at <= target) {
            self.clock.move_to(at)?;
            self.settle_within(patience).await?;
        }
        self.clock.move_to(target)?;
        self.settle_within(patience).await
    }

    /// Whether messages are due that have not been processed.
    pub fn has_due_work(&self) -> bool {
        self.timeline
            .next()
            .is_some_and(|at| at <= self.clock.now())
    }

    /// Whether there are messages that were due when they were sent. Other messages become due with time, regardless of the speed of
    /// the machine.
    pub fn has_undelivered(&self) -> bool {
        self.timeline.has_undelivered()
    }

    /// Removes the data that remains of erased accounts: messages about them, stream records, and deleted data in the table that has
    /// not been overwritten.
    ///
    /// # Errors
    /// `Unavailable` if the table cannot be written, or if the work that is due exceeds its time limit.
    pub async fn purge(&self, accounts: &Accounts) -> Result<()> {
        self.settle().await?;
        self.timeline.forget_accounts(accounts);
        let mut streams = self.streams.lock().await;
        while self.relay(&mut streams).await? {}
        streams.purge().await
    }

    /// The number of pieces of work that are pending, and the first of them.
    pub fn pending(&self, limit: usize) -> (usize, Vec<(Timestamp, Message)>) {
        self.timeline.first(limit)
    }

    /// Skips the contents of the stream and discards every message.
    pub async fn lose_triggers(&self) -> Result<()> {
        let mut streams = self.streams.lock().await;
        loop {
            let changes = streams.read().await?;
            if changes.is_empty() {
                break;
            }
            let last = changes
                .into_iter()
                .map(|numbered| (numbered.shard, numbered.number));
            streams.done(last.collect()).await?;
        }
        self.timeline.forget();
        Ok(())
    }

    /// Relays the contents of the stream, and discards every message.
    pub async fn lose_messages(&self) -> Result<()> {
        let mut streams = self.streams.lock().await;
        while self.relay(&mut streams).await? {}
        self.timeline.forget();
        Ok(())
    }
}

/// Processes a message. A message that fails is repeated as often as on AWS.
async fn work(app: &App, timeline: &Timeline, parcel: Parcel) {
    let message = &parcel.message;
    if message.hops >= MAX_HOPS && !jobs::is_loop(message.function) {
        timeline.fail_for_good(format!(
            "Lambda ends a chain of {MAX_HOPS} messages, and this one is lost: {message:?}"
        ));
        return timeline.done(&parcel);
    }
    let Err(error) = jobs::work(app, message).await else {
        return timeline.done(&parcel);
    };
    let tries = parcel.tries + 1;
    if tries >= jobs::receives(message.function) {
        tracing::error!(%error, ?message, "a message was given up");
        return timeline.done(&parcel);
    }
    tracing::warn!(%error, ?message, "a message failed; it comes again");
    timeline.add_again(app.now().plus(REDELIVERY), Parcel { tries, ..parcel });
}
