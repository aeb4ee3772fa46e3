//! The deliveries of events: which endpoints an event is delivered to, and the messages for the attempts.

use crate::App;
use kernel::error::Result;
use kernel::origin::{Origin, Tenant};
use kernel::{Id, Kind};
use models::event::{Delivery, DeliveryState, Event};
use serde_dynamo::Item;
use table::deliveries::{Deliveries, delivery_of};
use table::row::decode;

use super::deliver::DeliverWebhook;
use crate::job::Job as _;
use crate::stream::record::StreamRecord;

/// Does what follows from a change of an event, or of one of its deliveries.
///
/// # Errors
/// `Unavailable` if DynamoDB, SQS or EventBridge Scheduler cannot be reached.
pub async fn on_change(
    app: &App,
    tenant: &Tenant,
    event: &Id,
    record: &StreamRecord,
) -> Result<()> {
    let endpoint = Id::from(record.key().1);
    match &record.new {
        Some(_) if endpoint.is(Kind::WebhookEndpoint) => {
            on_delivery(app, tenant, event, &endpoint, record).await
        }
        Some(item) => on_event(app, tenant, event, item).await,
        None => Ok(()),
    }
}

/// A delivery for each endpoint that is subscribed to the event.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn deliveries_of(app: &App, tenant: &Tenant, event: &Event) -> Result<Deliveries> {
    let endpoints = app.store.webhook_endpoints(tenant).await?;
    let first = Delivery::waiting(0, event.created);
    let subscribed = endpoints
        .into_iter()
        .filter(|endpoint| endpoint.subscribes_to(event.kind));
    Ok(subscribed
        .map(|endpoint| (endpoint.id, first.clone()))
        .collect())
}

/// Plans the deliveries of an event that was written in the transaction of its cause.
async fn on_event(app: &App, tenant: &Tenant, id: &Id, item: &Item) -> Result<()> {
    let event = decode::<Event>(item.clone())?;
    if event.internal.endpoints.is_some() {
        return Ok(());
    }
    plan(app, tenant, id, &event.object).await
}

/// Writes the deliveries of an event.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn plan(app: &App, tenant: &Tenant, id: &Id, event: &Event) -> Result<()> {
    let deliveries = deliveries_of(app, tenant, event).await?;
    let origin = Origin::background(tenant.clone(), app.now());
    let version = app
        .edge
        .keys
        .version(&app.store, tenant, origin.now)
        .await?;
    app.store
        .plan_deliveries(&origin, id, &deliveries, &version)
        .await
}

/// Sends a delivery that newly waits for an attempt.
async fn on_delivery(
    app: &App,
    tenant: &Tenant,
    event: &Id,
    endpoint: &Id,
    record: &StreamRecord,
) -> Result<()> {
    let delivery = |item: &Option<Item>| item.clone().map(delivery_of).transpose();
    let (before, after) = (delivery(&record.old)?, delivery(&record.new)?);
    match after {
        Some(delivery)
            if delivery.state == DeliveryState::Waiting && before.as_ref() != Some(&delivery) =>
        {
            let attempt = next_attempt(tenant, event, endpoint, &delivery);
            attempt.send_at(app, delivery.next_at).await
        }
        _ => Ok(()),
    }
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
    }
}
