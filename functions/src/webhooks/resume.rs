//! `resume-webhook-endpoint`: probes an endpoint whose circuit breaker is open, sends the held deliveries when it responds again, and
//! disables it after 120 hours without a success.
//! [`models::webhooks::breaker`] describes the life cycle.
//!
//! Invariants. A delivery is held before the state of the endpoint is read again, and the release searches held deliveries again after it
//! has closed the breaker: one of the two reads the write of the other, so that no delivery stays held.
//!
//! Crashes. An interrupted release starts again when its lease is over. An interrupted attempt has a message, like any other.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::App;
use futures::future::try_join_all;
use kernel::{Error, Id, Kind, Origin, Tenant};
use models::ports::JobSubject;
use models::{Event, Stored, WebhookEndpoint};
use serde::{Deserialize, Serialize};
use table::access::Items;
use table::held::HeldDelivery;
use tokio::time::Instant;
use web::deployment::{Deployment, Need};

use super::attempt::{change_endpoint, endpoint_between_waves};
use super::deliver::DeliverWebhook;
use super::pace;
use crate::function::Function;
use crate::job::Job;

/// The number of held deliveries that are read at a time.
const PAGE: u8 = 50;

/// The time after which a run of the job starts no further attempts: one takes 15 seconds at most, and the function has 300.
const RUN: Duration = Duration::from_secs(120);

/// Probes an endpoint, or releases its held deliveries.
#[derive(Debug, Serialize, Deserialize)]
pub struct ResumeEndpoint {
    pub tenant: Tenant,
    pub endpoint: Id,
}

impl Job for ResumeEndpoint {
    const NAME: &'static str = "resume-webhook-endpoint";
    const IS_LOOP: bool = true;
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .timeout(300)
            .writing(&[Items::Of(Kind::WebhookEndpoint)])
            .needing(&[Need::EncryptionKeys, Need::Messages]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.endpoint).waiting_for(&self.endpoint)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { tenant, endpoint } = &self;
        let now = app.now();
        let Some(mut stored) = app.store.find::<WebhookEndpoint>(tenant, endpoint).await? else {
            // The held deliveries of a deleted endpoint are abandoned.
            return self.release(app, None).await;
        };
        let before = stored.object.clone();
        if stored.internal.breaker.is_open() {
            if stored.disable_if_failing(now) {
                // The next run abandons the deliveries that are held.
                return save(app, tenant, &before, &mut stored).await;
            }
            if stored.internal.breaker.begin_probe(now) {
                save(app, tenant, &before, &mut stored).await?;
                return self.probe(app, stored).await;
            }
            return Ok(());
        }
        let is_releasing = stored.internal.breaker.holds();
        if stored.internal.breaker.begin_release(now) {
            save(app, tenant, &before, &mut stored).await?;
        } else if is_releasing {
            return Ok(());
        }
        self.release(app, Some(stored)).await
    }
}

async fn save(
    app: &App,
    tenant: &Tenant,
    before: &WebhookEndpoint,
    endpoint: &mut Stored<WebhookEndpoint>,
) -> Result<(), Error> {
    endpoint.count_hidden_write(before);
    let origin = Origin::background(tenant.clone(), app.now());
    let saved = app.store.save(&origin, endpoint).await;
    app.forget_endpoint(tenant, &endpoint.object.id);
    saved
}

impl ResumeEndpoint {
    /// Sends the oldest held delivery that can be sent. If there is none, the next delivery is the probe.
    async fn probe(&self, app: &App, endpoint: Stored<WebhookEndpoint>) -> Result<(), Error> {
        while let Some(oldest) = self.held(app, 1).await?.first() {
            let sent = self.send_held(app, Some(&endpoint), oldest).await?;
            if sent.is_some() {
                return Ok(());
            }
        }
        self.change(app, |endpoint| {
            endpoint.internal.breaker.idle();
            true
        })
        .await?;
        if self.held(app, 1).await?.is_empty() {
            return Ok(());
        }
        let now = app.now();
        self.change(app, |endpoint| endpoint.internal.breaker.wake(now))
            .await
    }

    /// Sends the held deliveries, oldest first, until the endpoint fails again or the time is over. The endpoint is read again between
    /// attempts, because it may be changed, disabled or deleted meanwhile.
    async fn release(
        &self,
        app: &App,
        mut endpoint: Option<Stored<WebhookEndpoint>>,
    ) -> Result<(), Error> {
        let (tenant, id) = (&self.tenant, &self.endpoint);
        let until = Instant::now() + RUN;
        let mut has_failed = false;
        loop {
            let held = self.held(app, PAGE).await?;
            if held.is_empty() && !self.close(app).await? {
                return Ok(());
            }
            let ids: Vec<Id> = held.iter().map(|delivery| delivery.event.clone()).collect();
            let events = app.store.get_all::<Event>(tenant, &ids).await?;
            let object = |held: &HeldDelivery| {
                let mut events = events.iter();
                let event = events.find(|event| event.object.id == held.event);
                event
                    .and_then(pace::object)
                    .unwrap_or_else(|| held.event.to_string())
            };
            let mut held = VecDeque::from(held);
            while !held.is_empty() {
                if Instant::now() > until {
                    return self.put_off(app).await;
                }
                if let Some(known) = endpoint.take() {
                    pace::wait(app, tenant, &known).await?;
                    endpoint = endpoint_between_waves(app, tenant, id, has_failed).await?;
                }
                let is_open = |stored: &Stored<WebhookEndpoint>| stored.internal.breaker.is_open();
                if endpoint.as_ref().is_some_and(is_open) {
                    return Ok(());
                }
                let wave = pace::next_wave(&mut held, object, endpoint.as_ref());
                let sent = wave
                    .iter()
                    .map(|held| self.send_held(app, endpoint.as_ref(), held));
                has_failed = try_join_all(sent).await?.contains(&Some(false));
            }
        }
    }

    async fn held(&self, app: &App, limit: u8) -> Result<Vec<HeldDelivery>, Error> {
        let store = &app.store;
        store
            .held_deliveries(&self.tenant, &self.endpoint, limit)
            .await
    }

    /// Makes the attempt of a held delivery. Returns whether the receiver has acknowledged it, or none if no attempt was made.
    async fn send_held(
        &self,
        app: &App,
        receiver: Option<&Stored<WebhookEndpoint>>,
        held: &HeldDelivery,
    ) -> Result<Option<bool>, Error> {
        let attempt = DeliverWebhook {
            tenant: self.tenant.clone(),
            event: held.event.clone(),
            endpoint: self.endpoint.clone(),
            attempt: held.attempt,
            slot: None,
        };
        let outcome = attempt.make_held(app, receiver).await?;
        let store = &app.store;
        store
            .let_go(&self.tenant, &self.endpoint, &held.event)
            .await?;
        Ok(outcome)
    }

    async fn change(
        &self,
        app: &App,
        change: impl Fn(&mut Stored<WebhookEndpoint>) -> bool,
    ) -> Result<(), Error> {
        let origin = Origin::background(self.tenant.clone(), app.now());
        change_endpoint(app, &origin, &self.endpoint, change).await
    }

    /// Ends the release. Returns whether there was one, so that deliveries that were held meanwhile are searched again.
    async fn close(&self, app: &App) -> Result<bool, Error> {
        let was_releasing = AtomicBool::new(false);
        self.change(app, |endpoint| {
            let is_closed = endpoint.internal.breaker.close();
            was_releasing.store(is_closed, Relaxed);
            is_closed
        })
        .await?;
        Ok(was_releasing.load(Relaxed))
    }

    /// Leaves the rest to another run.
    async fn put_off(&self, app: &App) -> Result<(), Error> {
        let now = app.now();
        let was_releasing = AtomicBool::new(false);
        self.change(app, |endpoint| {
            let is_put_off = endpoint.internal.breaker.put_off_release(now);
            was_releasing.store(is_put_off, Relaxed);
            is_put_off
        })
        .await?;
        if was_releasing.load(Relaxed) {
            Ok(())
        } else {
            self.send(app).await
        }
    }
}
