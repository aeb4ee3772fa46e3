//! The deliveries of events: the endpoints to which an event is delivered, and the messages for the attempts.
//!
//! An event that the relay writes is delivered by messages that it sends after the write; if it fails in between, the change is relayed
//! again. An event that was written with the change of its object, or for one endpoint, waits for the relay as `unplanned`: the relay sends
//! the messages, and then records that it has. So no message is lost, and one may be sent twice: the delivery is claimed once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::App;
use futures::future::try_join_all;
use kernel::{Id, Origin, Result, Tenant, Timestamp};
use models::event::{Delivery, EventInternal};
use models::webhook_endpoint::EndpointType;
use models::webhooks::feed::FeedEntry;
use models::{Event, Stored, WebhookEndpoint};
use table::scan::Pass;
use table::stored_item::decode;
use tokio::sync::OnceCell;

use super::deliver::DeliverWebhook;
use super::order;
use crate::job::Job as _;
use crate::stream::record::StreamRecord;

/// The webhook endpoints of each tenant, read at most once.
type Endpoints = Mutex<HashMap<Tenant, Arc<OnceCell<Arc<[WebhookEndpoint]>>>>>;

tokio::task_local! {
    /// The endpoints that were read for the current batch of changes.
    static ENDPOINTS: Endpoints;
}

/// Runs work that reads the webhook endpoints of a tenant for its first event only. The work must be about changes that were committed
/// before it begins: then the endpoints that it reads include those that were subscribed at the time of each change, except one that was
/// created or enabled so shortly before that the index `list`, which is eventually consistent, does not have it yet. That is usually less
/// than a second, and the endpoint is not sent the events of that time.
pub async fn reading_endpoints_once<T>(work: impl Future<Output = T>) -> T {
    ENDPOINTS.scope(Endpoints::default(), work).await
}

/// Every webhook endpoint of a tenant, newest first: within a batch of changes, those that were read for the batch.
async fn endpoints_of(app: &App, tenant: &Tenant) -> Result<Arc<[WebhookEndpoint]>> {
    let known = ENDPOINTS.try_with(|endpoints| {
        let mut endpoints = endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(endpoints.entry(tenant.clone()).or_default())
    });
    let known = known.unwrap_or_default();
    let read = known
        .get_or_try_init(|| async { app.store.webhook_endpoints(tenant).await.map(Arc::from) });
    read.await.cloned()
}

/// Handles a change of an event.
///
/// # Errors
/// `Unavailable` if DynamoDB or SQS cannot be reached.
pub async fn on_event(app: &App, tenant: &Tenant, id: &Id, record: &StreamRecord) -> Result<()> {
    let Some(item) = &record.new else {
        return Ok(());
    };
    let event = decode::<Event>(item.clone())?;
    plan(app, tenant, id, &event).await
}

/// The endpoints among these to which the delivery of a new event is begun.
fn subscribed(endpoints: &[WebhookEndpoint], event: &Stored<Event>) -> Vec<Id> {
    let subscribed = endpoints
        .iter()
        .filter(|endpoint| endpoint.kind == EndpointType::Webhook)
        .filter(|endpoint| endpoint.is_begun(event));
    subscribed.map(|endpoint| endpoint.id.clone()).collect()
}

/// Adds an event to the queues of ordered endpoints, and sends the messages of the events whose turn has come as a result. If an endpoint
/// is read by polling, the event is appended to the feed.
async fn enqueue(
    app: &App,
    tenant: &Tenant,
    event: &Stored<Event>,
    endpoints: &[WebhookEndpoint],
    delivered_to: &[Id],
) -> Result<()> {
    for (endpoint, event) in order::enqueue(app, tenant, event, endpoints, delivered_to).await? {
        send_first(app, tenant, &event, &[endpoint]).await?;
    }
    let is_read = |endpoint: &WebhookEndpoint| endpoint.kind == EndpointType::Polling;
    if endpoints.iter().any(is_read) {
        let entry = FeedEntry::of(&event.object, app.now());
        app.store.append_to_feed(tenant, &entry).await?;
    }
    Ok(())
}

/// Writes an event, which belongs to these fleets besides those that its snapshot shows, and sends the messages for its deliveries. An
/// event that was written before is not changed.
///
/// # Errors
/// `Unavailable` if DynamoDB or SQS cannot be reached.
pub async fn publish(app: &App, tenant: &Tenant, event: Event, fleets: Vec<Id>) -> Result<()> {
    let internal = EventInternal::planned(Vec::new()).of_fleets(fleets);
    let mut event = Stored::with_internal(event, internal);
    let all = endpoints_of(app, tenant).await?;
    let endpoints = subscribed(&all, &event);
    event.internal.endpoints = Some(endpoints.clone());
    let origin = Origin::background(tenant.clone(), app.now());
    app.store.add_event(&origin, &mut event).await?;
    enqueue(app, tenant, &event, &all, &endpoints).await?;
    send_first(app, tenant, &event.object.id, &endpoints).await?;
    let metrics = &app.settings.metrics;
    metrics.happened(origin.now, tenant, event.object.kind);
    Ok(())
}

/// Sends the messages for the first attempts of an unplanned event, and records that they were sent.
///
/// # Errors
/// `Unavailable` if DynamoDB or SQS cannot be reached.
pub async fn plan(app: &App, tenant: &Tenant, id: &Id, event: &Stored<Event>) -> Result<()> {
    if event.internal.unplanned_since.is_none() {
        return Ok(());
    }
    let endpoints = match &event.internal.endpoints {
        Some(endpoints) => endpoints.clone(),
        None => {
            let all = endpoints_of(app, tenant).await?;
            let subscribed = subscribed(&all, event);
            enqueue(app, tenant, event, &all, &subscribed).await?;
            subscribed
        }
    };
    send_first(app, tenant, id, &endpoints).await?;
    let origin = Origin::background(tenant.clone(), app.now());
    let keys = &app.edge.keys;
    let version = keys.version(&app.store, tenant, origin.now).await?;
    let noted = app.store.note_planned(&origin, id, &endpoints, &version);
    noted.await
}

/// Sends the messages for the first attempts to deliver an event to these endpoints.
///
/// # Errors
/// `Unavailable` if SQS cannot be reached.
pub async fn send_first(app: &App, tenant: &Tenant, event: &Id, endpoints: &[Id]) -> Result<()> {
    let first = Delivery::waiting(0, Timestamp::EPOCH);
    let sent = endpoints.iter().map(async |endpoint| {
        let attempt = next_attempt(tenant, event, endpoint, &first);
        attempt.send(app).await
    });
    try_join_all(sent).await.map(drop)
}

/// Repeats the messages of all deliveries that are recorded only by a message, because all messages are lost. Returns their number.
///
/// # Errors
/// `Unavailable` if DynamoDB or SQS cannot be reached.
pub async fn resend_lost(app: &App) -> Result<usize> {
    let (mut pass, mut sent) = (Pass::default(), 0);
    while !pass.is_finished() {
        let (lost, next) = app.store.unindexed_deliveries(&pass).await?;
        for delivery in lost {
            let attempt = DeliverWebhook {
                tenant: delivery.tenant,
                event: delivery.event,
                endpoint: delivery.endpoint,
                attempt: delivery.attempts + 1,
                slot: None,
            };
            attempt.send(app).await?;
            sent += 1;
        }
        pass = next;
    }
    Ok(sent)
}

/// The next attempt of a delivery.
pub fn next_attempt(
    tenant: &Tenant,
    event: &Id,
    endpoint: &Id,
    delivery: &Delivery,
) -> DeliverWebhook {
    DeliverWebhook {
        tenant: tenant.clone(),
        event: event.clone(),
        endpoint: endpoint.clone(),
        attempt: delivery.attempts + 1,
        slot: None,
    }
}
