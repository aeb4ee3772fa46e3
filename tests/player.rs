//! The service in virtual time, one piece of work after another, with all calls to its table counted. Bills and benchmarks are
//! computed from the counts.

use std::collections::BTreeMap;
use std::io::{Result as Written, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use functions::app::{App, Ports};
use functions::job::job_of;
use functions::jobs::work;
use functions::log::lines;
use functions::stream::relay::{self, StreamRecord};
use functions::webhooks::deliver::DeliverWebhook;
use kernel::Timestamp;
use models::WebhookEndpoint;
use models::ports::{Clock as _, Message};
use serde_json::Value;
use table::{Store, keys};
use tokio::time::Instant;
use tower::ServiceExt as _;
use tracing::instrument::WithSubscriber as _;
use tracing::level_filters::LevelFilter;
use tracing::{Dispatch, Span};
use web::auth;
use web::edge::Correlation;
use web::metrics::Metrics;
use web::settings::Settings;

use crate::clock::Hand;
use crate::mailbox::{Mailbox, Undelivered};
use crate::meter::{Call, Meter};
use crate::records::Records;
use crate::units::Usage;
use crate::{Client, SLACK, TestApp};

/// The number of bytes that functions have logged.
#[derive(Clone, Default)]
struct Log(Arc<AtomicUsize>);

/// The durations in a line of the log, in milliseconds.
const DURATIONS: [&str; 3] = [
    "\"duration_ms\":",
    "\"DeliveryLatency\":",
    "\"DeliveryDelay\":",
];

/// The length of a line in which each duration counts as two digits, because their number depends on the machine.
fn usual_length(line: &str) -> usize {
    let durations = DURATIONS.iter().filter_map(|name| line.split_once(name));
    let digits = durations.map(|(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    digits
        .filter(|count| *count > 0)
        .fold(line.len(), |length, count| length + 2 - count)
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> Written<usize> {
        let line = String::from_utf8_lossy(bytes);
        self.0.fetch_add(usual_length(&line), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Written<()> {
        Ok(())
    }
}

/// The resources of a piece of work.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// The number of runs of the function; the relay runs once for each change.
    pub runs: usize,
    pub calls: usize,
    pub reads: f64,
    pub writes: f64,
    /// Messages sent to the queues of functions, and schedules that have fired for it. A schedule that is deleted before its time
    /// costs nothing.
    pub queued: BTreeMap<&'static str, usize>,
    pub scheduled: usize,
    /// Bytes of the log, including metrics for CloudWatch.
    pub logged: usize,
}

impl Taken {
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.calls += other.calls;
        self.reads += other.reads;
        self.writes += other.writes;
        for (function, count) in &other.queued {
            *self.queued.entry(function).or_default() += count;
        }
        self.scheduled += other.scheduled;
        self.logged += other.logged;
    }
}

/// The id of a request in API Gateway, with a realistic length.
const GATEWAY_REQUEST: &str = "JKJaXmPLvHcESHA=";

/// The maximum number of changes of the stream in one run of the relay.
const BATCH: usize = 100;

/// The service, and the resources that it has used since they were last read.
pub struct Player {
    pub app: App,
    pub clock: Arc<Hand>,
    /// By partition.
    pub usage: Usage,
    router: Router,
    mailbox: Arc<Mailbox>,
    /// The number of schedules whose messages were processed since the last note.
    scheduled: usize,
    pub meter: Meter,
    /// Calls whose changes have not been read from the stream.
    calls: Vec<Call>,
    records: Records,
    log: Log,
    /// Writes the log into `log`.
    subscriber: Dispatch,
    taken: Vec<(&'static str, Taken)>,
    /// The bytes of the responses, their headers included.
    pub responded: usize,
    /// The table without the meter, from which the caches of busy instances are filled.
    unmetered: Option<Store>,
}

impl Player {
    /// Plays on the table of a test's own service, which has to be idle in the meantime.
    pub async fn on(test: &TestApp) -> Self {
        let parts = test.app();
        let clock = Arc::new(Hand::at(test.now()));
        let mailbox = Mailbox::new(&clock, false);
        let meter = Meter::default();
        let store = meter.store(&test.running().store_url, &test.running().table);
        let log = Log::default();
        let (of_lines, of_figures) = (log.clone(), log.0.clone());
        let count = move |line: &str| {
            of_figures.fetch_add(line.len(), Ordering::Relaxed);
        };
        let app = App::new(
            Ports {
                store,
                clock: clock.clone(),
                queue: mailbox.clone(),
                schedules: mailbox.clone(),
                ..parts.ports.clone()
            },
            Settings {
                slack: SLACK,
                metrics: Metrics::to("FleetCharging/fleet-charging", count),
                ..Settings::clone(&parts.settings)
            },
        );
        Self {
            router: functions::router(app.clone()),
            app,
            clock,
            usage: Usage::default(),
            mailbox,
            scheduled: 0,
            meter,
            calls: Vec::new(),
            records: Records::of(test).await,
            subscriber: lines(LevelFilter::INFO, move || of_lines.clone()).into(),
            log,
            taken: Vec::new(),
            responded: 0,
            unmetered: None,
        }
    }

    /// Simulates busy instances: they cache keys, accounts and webhook endpoints, and read them again after seconds or a minute,
    /// regardless of the number of requests. These reads are not counted from now on.
    pub fn stay_busy(&mut self, test: &TestApp) {
        self.unmetered = Some(test.app().store.clone());
    }

    /// Caches the key that authenticates a request.
    async fn remember_key(&self, headers: &HeaderMap) {
        if let Some(store) = &self.unmetered {
            let (keys, now) = (&self.app.edge.keys, self.app.now());
            let known = auth::authenticate(store, keys, headers, now).await;
            known.expect("a key");
        }
    }

    /// Caches the account of a change.
    async fn remember_account(&self, change: &StreamRecord) {
        let (pk, _) = change.key();
        if let (Some(store), Some(tenant)) = (&self.unmetered, keys::tenant_of(pk)) {
            let known = self.app.edge.keys.version(store, &tenant, self.app.now());
            known.await.expect("an account");
        }
    }

    /// Caches the webhook endpoint that a message is about.
    async fn remember_endpoint(&self, message: &Message) {
        let Some(DeliverWebhook {
            tenant, endpoint, ..
        }) = job_of(message)
        else {
            return;
        };
        if let Some(store) = &self.unmetered {
            let known = store.load::<WebhookEndpoint>(&tenant, &endpoint).await;
            let place = (tenant, endpoint);
            let endpoints = &self.app.webhook_endpoints;
            endpoints.insert(place, known.expect("an endpoint"), self.app.now());
        }
    }

    /// Sends a request, which has to succeed, and processes its immediate consequences. Returns the response.
    ///
    /// # Panics
    /// The status is not 200.
    pub async fn send(
        &mut self,
        function: &'static str,
        path: &str,
        client: &Client,
        body: Value,
    ) -> Value {
        let authorization = format!("Bearer {}", client.key.as_deref().expect("a key"));
        let request = Request::post(path)
            .header("authorization", authorization)
            .header("content-type", "application/json")
            .header("host", "api.example.com")
            .body(Body::from(body.to_string()));
        let mut request = request.expect("a request");
        request.extensions_mut().insert(Correlation {
            gateway_request: GATEWAY_REQUEST.to_owned(),
            trace: None,
        });
        self.remember_key(request.headers()).await;
        let answer = self.router.clone().oneshot(request);
        let answer = answer.with_subscriber(self.subscriber.clone()).await;
        let answer = answer.expect("an answer");
        let status = answer.status();
        let headers = crate::bill::length(answer.headers());
        let bytes = to_bytes(answer.into_body(), 1 << 20).await.expect("a body");
        self.responded += headers + bytes.len();
        let shown: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        assert_eq!(status, 200, "{function}: {shown}");
        self.note(function);
        shown
    }

    /// The changes of the table that were not relayed; they will not be relayed any more.
    pub async fn changes(&mut self) -> Vec<StreamRecord> {
        self.records.read().await
    }

    /// Relays changes and processes messages that have arrived, until no work is left.
    pub async fn settle(&mut self) {
        loop {
            let changes = self.records.read().await;
            let now = self.clock.now();
            let due = self.mailbox.take(|sent| sent.arrives <= now);
            let calls = std::mem::take(&mut self.calls);
            let second = self.clock.now().unix_seconds();
            self.usage.note(&calls, &changes, second);
            if changes.is_empty() {
                self.usage.settle(second);
            }
            if changes.is_empty() && due.is_empty() {
                return;
            }
            // The others do not invoke the relay.
            let changes = changes.into_iter().filter(StreamRecord::is_relayed);
            let changes: Vec<_> = changes.map(|change| (change, Span::none())).collect();
            // With busy instances, the changes of a moment are relayed together.
            let most = if self.unmetered.is_some() { BATCH } else { 1 };
            for batch in changes.chunks(most) {
                for (change, _) in batch {
                    self.remember_account(change).await;
                }
                let until = Instant::now() + Duration::from_secs(600);
                let relayed = relay::handle_batch(&self.app, batch, until);
                let relayed = relayed.with_subscriber(self.subscriber.clone()).await;
                assert_eq!(relayed, None, "every change is relayed");
                self.note("relay-stream");
            }
            for Undelivered {
                message, schedule, ..
            } in due
            {
                self.scheduled += usize::from(schedule.is_some());
                self.remember_endpoint(&message).await;
                let done = work(&self.app, &message);
                let done = done.with_subscriber(self.subscriber.clone()).await;
                done.expect("a message is worked on");
                self.note(message.function);
            }
        }
    }

    /// Moves the time forward, and processes work at the moment at which it is due.
    pub async fn advance_to(&mut self, target: Timestamp) {
        self.settle().await;
        while let Some(next) = self.next().filter(|next| *next <= target) {
            self.clock.move_to(next);
            self.settle().await;
        }
        self.clock.move_to(target);
        self.settle().await;
    }

    fn next(&self) -> Option<Timestamp> {
        let content = self.mailbox.content();
        content.messages.iter().map(|message| message.arrives).min()
    }

    fn note(&mut self, function: &'static str) {
        let calls = self.meter.take();
        let sum = |is_read: bool| {
            let of_kind = calls.iter().filter(|call| call.is_read() == is_read);
            of_kind.map(|call| call.capacity).sum()
        };
        let taken = Taken {
            runs: 1,
            calls: calls.len(),
            reads: sum(true),
            writes: sum(false),
            queued: std::mem::take(&mut self.mailbox.content().queued),
            scheduled: std::mem::take(&mut self.scheduled),
            logged: self.log.0.swap(0, Ordering::Relaxed),
        };
        self.taken.push((function, taken));
        self.calls.extend(calls);
    }

    /// Removes and returns the undelivered messages, regardless of their time.
    pub fn take_messages(&self) -> Vec<Message> {
        let mut content = self.mailbox.content();
        let messages = content.messages.drain(..);
        messages.map(|undelivered| undelivered.message).collect()
    }

    /// Returns the resources that were used since the last call, in order.
    pub fn take(&mut self) -> Vec<(&'static str, Taken)> {
        std::mem::take(&mut self.taken)
    }
}
