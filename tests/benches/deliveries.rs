//! `cargo bench --workspace --bench deliveries`: measures how many events per second one worker delivers, and whether endpoints that
//! hang or fail delay the others. Nothing is asserted.
//!
//! A worker receives ten messages at a time and processes them concurrently, like the function. The receivers take 50 milliseconds.
//! `EVENTS` (300) sets another number for the one worker.
//!
//! For fairness there are 100 endpoints of seven accounts, which receive `PER_SECOND` (200) events in turn for `SECONDS` (20),
//! `WORKERS` (50), and a queue that prefers the messages of those endpoints that have the fewest in progress, like a fair queue of
//! SQS. It is run with all endpoints healthy, and with one that hangs for 15 seconds and five that fail. Attempts are not repeated,
//! and held deliveries are not released.
#![allow(clippy::print_stdout, clippy::expect_used)]
// The futures are nested deeper than the compiler allows by default.
#![recursion_limit = "256"]

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use functions::job::Job as _;
use functions::webhooks::deliver::DeliverWebhook;
use functions::{App, jobs};
use futures::future::join_all;
use kernel::{Id, Kind, Mode, Origin, Tenant};
use models::event::{Cause, EventInternal, Occurrence};
use models::{Event, EventType, Stored};
use serde_json::json;
use tests::stage::setting;
use tests::{Client, TestApp, fleet};
use tokio::time::{Instant, sleep, sleep_until};

/// The number of messages of one invocation, as in the template.
const BATCH: usize = 10;

const LATENCY: Duration = Duration::from_millis(50);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        one_worker().await;
        let undisturbed = fairness(0, 0).await;
        let disturbed = fairness(1, 5).await;
        let ratio = disturbed.as_secs_f64() / undisturbed.as_secs_f64();
        println!("p99 of the healthy: {undisturbed:.0?} undisturbed, {disturbed:.0?} disturbed, ratio {ratio:.2}");
    });
}

/// The time at which each event arrived, by its id.
type Arrivals = Arc<Mutex<HashMap<String, Instant>>>;

async fn receive(
    State(arrivals): State<Arrivals>,
    Path(habit): Path<String>,
    headers: HeaderMap,
) -> StatusCode {
    let id = headers.get("webhook-id").and_then(|id| id.to_str().ok());
    let id = id.unwrap_or_default().to_owned();
    arrivals
        .lock()
        .expect("arrivals")
        .insert(id, Instant::now());
    let hang = Duration::from_secs(20);
    sleep(if habit == "hangs" { hang } else { LATENCY }).await;
    match habit.as_str() {
        "fails" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::OK,
    }
}

async fn receiver() -> (SocketAddr, Arrivals) {
    let arrivals = Arrivals::default();
    let router = Router::new()
        .route("/{habit}", post(receive))
        .with_state(arrivals.clone());
    let port = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let port = port.expect("a port");
    let address = port.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(port, router).await });
    (address, arrivals)
}

/// A webhook endpoint with its tenant.
#[derive(Clone)]
struct Endpoint {
    tenant: Tenant,
    id: Id,
}

async fn endpoint(client: &Client, address: SocketAddr, habit: &str) -> Endpoint {
    let url = format!("http://{address}/{habit}");
    let body = json!({"url": url, "enabled_events": ["fleet.created"]});
    let created = client.post("/v1/webhook_endpoints", body).await.expect(200);
    Endpoint {
        tenant: client.tenant(),
        id: Id::from(created.id().as_str()),
    }
}

/// Writes an event for an endpoint. Returns the job that delivers it.
async fn event(app: &App, to: &Endpoint) -> DeliverWebhook {
    let origin = Origin::background(to.tenant.clone(), app.clock.now());
    let subject = Id::new(Kind::Fleet, origin.now);
    let (kind, cause) = (EventType::FleetCreated, Cause::of(&origin));
    let first = Occurrence {
        subject: &subject,
        version: 1,
        sequence: 1,
    };
    let event = Event::of(kind, &to.tenant, first, fleet(), None, &cause);
    let id = event.id.clone();
    let internal = EventInternal::planned(vec![to.id.clone()]);
    let mut event = Stored::with_internal(event, internal);
    let added = app.store.add_event(&origin, &mut event).await;
    added.expect("the event is written");
    DeliverWebhook {
        tenant: to.tenant.clone(),
        event: id,
        endpoint: to.id.clone(),
        attempt: 1,
        slot: None,
    }
}

async fn work(app: &App, batch: Vec<DeliverWebhook>) {
    let ends = batch.into_iter().map(|job| async move {
        let message = job.message().expect("a message");
        jobs::work(app, &message).await
    });
    for end in join_all(ends).await {
        end.expect("an attempt is made");
    }
}

async fn one_worker() {
    let test = TestApp::start().await;
    let (address, arrivals) = receiver().await;
    let to = endpoint(&test.alice, address, "works").await;
    let mut deliveries = Vec::new();
    for _ in 0..setting("EVENTS", 300) {
        deliveries.push(event(test.app(), &to).await);
    }
    let (count, began) = (deliveries.len(), Instant::now());
    let mut deliveries = deliveries.into_iter();
    loop {
        let batch: Vec<_> = deliveries.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        work(test.app(), batch).await;
    }
    let rate = count as f64 / began.elapsed().as_secs_f64();
    assert_eq!(arrivals.lock().expect("arrivals").len(), count);
    let most = BATCH as f64 / LATENCY.as_secs_f64();
    println!("one worker, {BATCH} abreast: {rate:.0} deliveries/s of at most {most:.0}");
}

/// A queue that prefers the messages of those endpoints that have the fewest in progress.
#[derive(Default)]
struct FairQueue {
    waiting: Mutex<HashMap<Id, VecDeque<DeliverWebhook>>>,
    in_progress: Mutex<HashMap<Id, usize>>,
}

impl FairQueue {
    fn send(&self, job: DeliverWebhook) {
        let mut waiting = self.waiting.lock().expect("messages");
        waiting
            .entry(job.endpoint.clone())
            .or_default()
            .push_back(job);
    }

    fn take(&self) -> Vec<DeliverWebhook> {
        let mut waiting = self.waiting.lock().expect("messages");
        let mut in_progress = self.in_progress.lock().expect("messages");
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            let count = |id: &Id| in_progress.get(id).copied().unwrap_or_default();
            let fewest = waiting.keys().min_by_key(|id| count(id)).cloned();
            let Some(id) = fewest else { break };
            let group = waiting.entry(id.clone()).or_default();
            batch.extend(group.pop_front());
            if group.is_empty() {
                waiting.remove(&id);
            }
            *in_progress.entry(id).or_default() += 1;
        }
        batch
    }

    fn done(&self, id: &Id) {
        let mut in_progress = self.in_progress.lock().expect("messages");
        *in_progress.entry(id.clone()).or_default() -= 1;
    }

    async fn run(self: Arc<Self>, app: App) {
        loop {
            let batch = self.take();
            if batch.is_empty() {
                sleep(Duration::from_millis(2)).await;
                continue;
            }
            let ids: Vec<Id> = batch.iter().map(|job| job.endpoint.clone()).collect();
            work(&app, batch).await;
            ids.iter().for_each(|id| self.done(id));
        }
    }
}

/// The 99th percentile of the time from the message to the arrival at healthy endpoints, beside these numbers of endpoints that hang
/// or fail.
async fn fairness(hanging: usize, failing: usize) -> Duration {
    const ENDPOINTS: usize = 100;
    let test = TestApp::start().await;
    let (address, arrivals) = receiver().await;
    let (mut endpoints, mut client) = (Vec::new(), test.alice.clone());
    for number in 0..ENDPOINTS {
        if number % 15 == 14 {
            client = test.other_account(Mode::Test).await;
        }
        let habit = match number {
            number if number < hanging => "hangs",
            number if number < hanging + failing => "fails",
            _ => "works",
        };
        endpoints.push(endpoint(&client, address, habit).await);
    }
    let queue = Arc::new(FairQueue::default());
    let workers: Vec<_> = (0..setting("WORKERS", 50))
        .map(|_| tokio::spawn(queue.clone().run(test.app().clone())))
        .collect();
    let (per_second, seconds) = (setting("PER_SECOND", 200), setting("SECONDS", 20));
    let began = Instant::now();
    let mut sent = HashMap::new();
    for number in 0..per_second * seconds {
        sleep_until(began + Duration::from_secs_f64(number as f64 / per_second as f64)).await;
        let to = number as usize % ENDPOINTS;
        let job = event(test.app(), &endpoints[to]).await;
        if to >= hanging + failing {
            sent.insert(job.event.to_string(), Instant::now());
        }
        queue.send(job);
    }
    let lag = began.elapsed().as_secs_f64() - seconds as f64;
    let all_there = async {
        loop {
            let are_there = {
                let there = arrivals.lock().expect("arrivals");
                sent.keys().all(|id| there.contains_key(id))
            };
            if are_there {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    drop(tokio::time::timeout(Duration::from_secs(120), all_there).await);
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    let there = arrivals.lock().expect("arrivals");
    let mut times: Vec<Duration> = sent
        .iter()
        .filter_map(|(id, at)| Some(there.get(id)?.duration_since(*at)))
        .collect();
    times.sort_unstable();
    let lost = sent.len() - times.len();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{hanging} hang, {failing} fail: {} delivered to healthy endpoints, {lost} missing, p50 {:.0?}, p99 {:.0?}; sent {lag:.1} s late",
        times.len(),
        at(0.5),
        at(0.99)
    );
    at(0.99)
}
