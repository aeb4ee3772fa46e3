//! `replay-webhook-events`: delivers the events of a period to a webhook endpoint again, oldest first.
//!
//! The job reads the events from the position where the last run ended, a page at a time, with the states of their deliveries, and makes
//! the attempts itself: several concurrently, but one after another for the events about one object. It claims each attempt as the workers
//! of messages do, so that an event is never sent twice at the same moment. A failed attempt is repeated like that of any other delivery.
//! After a page, and every few seconds, it stores its progress; after a crash it starts there again, once its lease is over, and leaves out
//! the events that were delivered meanwhile if it replays failures only. Between attempts it reads the endpoint again, so that its changes
//! take effect. While the circuit breaker of the endpoint is open it waits; if no held delivery can serve as a probe, its next attempt is
//! the probe.

use std::collections::VecDeque;
use std::time::Duration;

use crate::App;
use futures::future::try_join_all;
use kernel::{Error, Id, Kind, Origin, Tenant, Timestamp};
use models::event::{Delivery, DeliveryState};
use models::ports::JobSubject;
use models::webhook_endpoint::EndpointStatus;
use models::webhook_replay::{MAX_EVENTS, ReplayFailedReason, WebhookReplay};
use models::{Action, Event, EventType, Stored, WebhookEndpoint};
use serde::{Deserialize, Serialize};
use table::access::Items;
use table::deliveries::Attempt;
use table::list::{Cursor, PageRequest};
use tokio::time::Instant;
use web::deployment::{Deployment, Need};

use super::attempt::{self, CLAIM, change_endpoint, endpoint_between_waves, present_endpoint};
use super::pace;
use crate::function::Function;
use crate::job::{Job, find_due, write_progress};

/// The number of events per page.
const PAGE: usize = 50;

/// The time after which a run of the job starts no further attempts: one takes 15 seconds at most, and the function has 300.
const RUN: Duration = Duration::from_secs(120);

/// The time after which the progress is stored within a page.
const STORED_EVERY: Duration = Duration::from_secs(5);

/// The maximum number of attempts for an event that another worker changes at the same time.
const EVENT_ATTEMPTS: u32 = 4;

/// Continues a replay.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReplayEvents {
    pub tenant: Tenant,
    pub replay: Id,
}

impl Job for ReplayEvents {
    const NAME: &'static str = "replay-webhook-events";
    const IS_LOOP: bool = true;
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .timeout(300)
            .writing(&[
                Items::Of(Kind::Event),
                Items::Of(Kind::WebhookEndpoint),
                Items::Of(Kind::WebhookReplay),
            ])
            .needing(&[Need::EncryptionKeys, Need::Messages]),
    );

    fn subject(&self) -> JobSubject {
        let endpoint = self.replay.as_kind(Kind::WebhookEndpoint);
        JobSubject::of(&self.tenant, &self.replay).waiting_for(&endpoint)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { tenant, replay: id } = &self;
        let action = Action::ReplayEvents;
        let Some((mut replay, _)) = find_due::<WebhookReplay>(app, tenant, id, action).await?
        else {
            return Ok(());
        };
        if !replay.begin(app.now()) || !write_progress(app, tenant, &mut replay).await? {
            return Ok(());
        }
        let until = Instant::now() + RUN;
        while replay.object.finished_at.is_none() {
            if Instant::now() > until {
                replay.put_off(false, app.now());
                break;
            }
            if !replay_page(app, tenant, &mut replay, until).await? {
                break;
            }
            if replay.object.finished_at.is_none()
                && !write_progress(app, tenant, &mut replay).await?
            {
                return Ok(());
            }
        }
        write_progress(app, tenant, &mut replay).await.map(drop)
    }
}

/// The types of events that are replayed: those of the request to which the endpoint is subscribed.
fn types(replay: &WebhookReplay, endpoint: &WebhookEndpoint) -> Vec<&'static str> {
    let is_replayed = |kind: &&EventType| {
        let requested = replay.types.as_ref();
        endpoint.subscribes_to(**kind) && requested.is_none_or(|types| types.contains(kind))
    };
    let types = EventType::ALL.iter().filter(is_replayed);
    types.map(|kind| kind.as_str()).collect()
}

fn is_enabled(endpoint: &Stored<WebhookEndpoint>) -> bool {
    endpoint.object.status == EndpointStatus::Enabled
}

/// Delivers the events of the next page, until that time. Returns false if the replay waits.
async fn replay_page(
    app: &App,
    tenant: &Tenant,
    stored: &mut Stored<WebhookReplay>,
    until: Instant,
) -> Result<bool, Error> {
    let replay = stored.object.clone();
    let found = present_endpoint(app, tenant, &replay.webhook_endpoint);
    let Some(endpoint) = found.await?.filter(is_enabled) else {
        stored.finish(Some(ReplayFailedReason::EndpointDisabled), app.now());
        return Ok(true);
    };
    let breaker = endpoint.internal.breaker;
    if breaker.holds() && !breaker.is_idle() {
        stored.put_off(true, app.now());
        return Ok(false);
    }
    if replay.delivered + replay.failed >= MAX_EVENTS {
        stored.finish(Some(ReplayFailedReason::TooManyEvents), app.now());
        return Ok(true);
    }
    let (events, next) = next_events(app, tenant, stored, &endpoint.object).await?;
    if breaker.is_idle() {
        if probe(app, tenant, stored, &endpoint, &events).await? {
            stored.put_off(true, app.now());
            return Ok(false);
        }
    } else if !send_page(app, tenant, stored, endpoint, events, until).await? {
        // The next page begins after the last event that was sent, if the endpoint is still sent events.
        return Ok(true);
    }
    match next {
        Some(last) => stored.advance(&last),
        None => {
            let now = app.now();
            let origin = Origin::background(tenant.clone(), now);
            let id = &replay.webhook_endpoint;
            change_endpoint(app, &origin, id, |endpoint| endpoint.catch_up(&replay)).await?;
            stored.finish(None, now);
        }
    }
    Ok(true)
}

/// Delivers these events, until that time. Returns false if events are left, because the time is over, the endpoint is no longer sent
/// events, or another instance of the job has taken over.
async fn send_page(
    app: &App,
    tenant: &Tenant,
    stored: &mut Stored<WebhookReplay>,
    mut endpoint: Stored<WebhookEndpoint>,
    events: Vec<Stored<Event>>,
    until: Instant,
) -> Result<bool, Error> {
    let id = endpoint.object.id.clone();
    let object = |event: &Stored<Event>| pace::object(event).unwrap_or_default();
    let mut events = VecDeque::from(events);
    let (mut has_failed, mut stored_at) = (false, Instant::now());
    while !events.is_empty() {
        pace::wait(app, tenant, &endpoint).await?;
        let present = endpoint_between_waves(app, tenant, &id, has_failed).await?;
        let present =
            present.filter(|stored| is_enabled(stored) && !stored.internal.breaker.holds());
        match present {
            Some(present) if Instant::now() <= until => endpoint = present,
            _ => return Ok(false),
        }
        let wave = pace::next_wave(&mut events, object, Some(&endpoint));
        let replay = &stored.object;
        let wanted = wave.iter().filter(|event| endpoint.object.wants(event));
        let attempts = wanted.map(|event| deliver(app, tenant, replay, &endpoint, event));
        let outcomes = try_join_all(attempts).await?;
        has_failed = outcomes.contains(&Some(false));
        for has_succeeded in outcomes.into_iter().flatten() {
            stored.count(has_succeeded);
        }
        if let Some(last) = wave.last() {
            stored.advance(&last.object.id);
        }
        if stored_at.elapsed() > STORED_EVERY {
            if !write_progress(app, tenant, stored).await? {
                return Ok(false);
            }
            stored_at = Instant::now();
        }
    }
    Ok(true)
}

/// The events of the next page that the endpoint receives, and the last one that was read, unless it ends the period.
async fn next_events(
    app: &App,
    tenant: &Tenant,
    stored: &Stored<WebhookReplay>,
    endpoint: &WebhookEndpoint,
) -> Result<(Vec<Stored<Event>>, Option<Id>), Error> {
    let replay = &stored.object;
    let types = types(replay, endpoint);
    if types.is_empty() {
        return Ok((Vec::new(), None));
    }
    let (low, high) = (
        Id::first_number(replay.from),
        Id::first_number(replay.until).saturating_sub(1),
    );
    let start = || Id::from_number(Kind::Event, low.saturating_sub(1));
    let page = PageRequest {
        limit: PAGE,
        from: Cursor::Before(stored.internal.last.clone().unwrap_or_else(start)),
        range: (low, high),
    };
    let (mut events, next) = app.store.events_onward(tenant, &page, &types).await?;
    events.retain(|event| endpoint.wants(event));
    Ok((events, next))
}

/// Delivers the first of these events that the replay includes, as the probe of an endpoint. Returns whether there was one.
async fn probe(
    app: &App,
    tenant: &Tenant,
    replay: &mut Stored<WebhookReplay>,
    endpoint: &Stored<WebhookEndpoint>,
    events: &[Stored<Event>],
) -> Result<bool, Error> {
    for event in events {
        let attempt = deliver(app, tenant, &replay.object, endpoint, event).await?;
        if let Some(has_succeeded) = attempt {
            replay.count(has_succeeded);
            replay.advance(&event.object.id);
            return Ok(true);
        }
    }
    Ok(false)
}

/// Redelivers an event, if the replay includes it. Returns whether the receiver has acknowledged it, or none if no attempt was made.
async fn deliver(
    app: &App,
    tenant: &Tenant,
    replay: &WebhookReplay,
    endpoint: &Stored<WebhookEndpoint>,
    event: &Stored<Event>,
) -> Result<Option<bool>, Error> {
    let mut event = event.clone();
    let (id, to) = (event.object.id.clone(), &replay.webhook_endpoint);
    for _ in 0..EVENT_ATTEMPTS {
        let origin = Origin::background(tenant.clone(), app.now());
        let deliveries = app.store.deliveries_of(tenant, &[(&id, to)], true).await?;
        let before = deliveries.into_values().next();
        if !replay.includes(before.as_ref(), origin.now) {
            resend_claimed(app, tenant, to, &id, before.as_ref()).await?;
            send_following(app, tenant, endpoint, &id).await?;
            return Ok(None);
        }
        let until = origin.now.plus(CLAIM);
        let store = &app.store;
        let claimed = store.claim_once_more(&origin, &event, to, before.as_ref(), until);
        if claimed.await? {
            let attempts = before.as_ref().map_or(0, |before| before.attempts);
            let claimed = Attempt {
                event: Box::new(event),
                number: attempts + 1,
                is_new: before.is_none(),
                redelivered_after: Some(attempts),
            };
            let has_succeeded = attempt::make(app, &origin, to, Some(endpoint), claimed).await?;
            send_following(app, tenant, endpoint, &id).await?;
            return Ok(has_succeeded);
        }
        let Some(now) = app.store.find::<Event>(tenant, &id).await? else {
            return Ok(None);
        };
        event = now;
    }
    Err(Error::Contended)
}

/// Sends the message for the event that waited for this one at an ordered endpoint.
async fn send_following(
    app: &App,
    tenant: &Tenant,
    endpoint: &Stored<WebhookEndpoint>,
    event: &Id,
) -> Result<(), Error> {
    let none = Delivery::waiting(0, Timestamp::EPOCH);
    let attempt = super::plan::next_attempt(tenant, event, &endpoint.object.id, &none);
    attempt.send_following(app, Some(endpoint)).await
}

/// Sends a message for the attempt after one in progress, which may belong to an earlier run of this job that has crashed, and has no
/// message.
async fn resend_claimed(
    app: &App,
    tenant: &Tenant,
    endpoint: &Id,
    event: &Id,
    delivery: Option<&Delivery>,
) -> Result<(), Error> {
    let Some(delivery) = delivery.filter(|delivery| delivery.state == DeliveryState::Claimed)
    else {
        return Ok(());
    };
    let next = super::plan::next_attempt(tenant, event, endpoint, delivery);
    next.send_at(app, delivery.next_at).await
}
