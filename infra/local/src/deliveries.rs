//! The webhook deliveries and the pulls from charging networks in progress in a local run. A network counts as an endpoint here.
//!
//! A receiver may take 15 seconds to fail, and there can be many receivers. Therefore deliveries do not share the workers of the other
//! messages: each endpoint has a few workers of its own, and an endpoint that hangs does not delay the others. Code that waits for
//! deliveries waits only for endpoints that make progress, that is, where a delivery began or ended a short while ago.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernel::{Id, Kind};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

/// The number of deliveries of one endpoint that run at a time; the others wait.
const PER_ENDPOINT: usize = 4;

pub struct Deliveries {
    endpoints: Mutex<HashMap<Id, Endpoint>>,
    /// The number of deliveries that have ended.
    ended: watch::Sender<u64>,
}

/// An endpoint with deliveries in progress.
struct Endpoint {
    deliveries: usize,
    /// The moment at which the first of them began or the last one ended.
    progress: Instant,
    workers: Arc<Semaphore>,
}

/// A delivery in progress; it ends when this value is dropped.
pub struct Delivery {
    all: Arc<Deliveries>,
    endpoint: Id,
    workers: Arc<Semaphore>,
}

impl Deliveries {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            endpoints: Mutex::default(),
            ended: watch::Sender::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Endpoint>> {
        self.endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub fn begin(self: &Arc<Self>, endpoint: &Id) -> Delivery {
        let mut endpoints = self.lock();
        let entry = endpoints
            .entry(endpoint.clone())
            .or_insert_with(|| Endpoint {
                deliveries: 0,
                progress: Instant::now(),
                workers: Arc::new(Semaphore::new(PER_ENDPOINT)),
            });
        entry.deliveries += 1;
        Delivery {
            all: self.clone(),
            endpoint: endpoint.clone(),
            workers: entry.workers.clone(),
        }
    }

    /// The number of deliveries to webhook endpoints in progress, and the number of these endpoints.
    pub fn under_way(&self) -> (usize, usize) {
        let endpoints = self.lock();
        let receivers = endpoints
            .iter()
            .filter(|(id, _)| id.is(Kind::WebhookEndpoint));
        let deliveries = receivers.clone().map(|(_, endpoint)| endpoint.deliveries);
        (deliveries.sum(), receivers.count())
    }

    /// The time until which a caller should wait: the first moment at which an endpoint has made no progress for `patience`. None if
    /// no endpoint has made progress within `patience`.
    pub fn worth_waiting_until(&self, patience: Duration) -> Option<Instant> {
        let now = Instant::now();
        let endpoints = self.lock();
        let ends = endpoints
            .values()
            .map(|endpoint| endpoint.progress + patience);
        ends.filter(|end| *end > now).min()
    }

    /// Subscribes to the ends of deliveries from now on.
    pub fn ends(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }
}

impl Delivery {
    /// Runs the work of the delivery when one of its endpoint's workers is free.
    pub async fn work(self, work: impl Future<Output = ()>) {
        // The semaphore is never closed.
        let permit = self.workers.acquire().await;
        work.await;
        drop(permit);
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let mut endpoints = self.all.lock();
        if let Some(endpoint) = endpoints.get_mut(&self.endpoint) {
            endpoint.deliveries -= 1;
            endpoint.progress = Instant::now();
            if endpoint.deliveries == 0 {
                endpoints.remove(&self.endpoint);
            }
        }
        drop(endpoints);
        self.all.ended.send_modify(|ended| *ended += 1);
    }
}
