//! Handles the outcome of an attempt to deliver an event: the message for the next one, or the event `webhook_delivery.exhausted`.
//!
//! There is one event `webhook_delivery.exhausted` for each time that the attempts are exhausted: its id is derived from the last attempt.
//! It is sent to the account's other endpoints ([`WebhookEndpoint::wants`]). So that events about deliveries do not multiply, the delivery
//! of an event that is itself about deliveries or endpoints, including a `ping`, causes no event.
//!
//! [`WebhookEndpoint::wants`]: models::webhook_endpoint::WebhookEndpoint::wants

use crate::App;
use kernel::{Error, Id, Result, Tenant, Timestamp};
use models::event::{Cause, DeliveryState, Occurrence};
use models::{Event, EventType, WebhookDelivery};
use serde_dynamo::Item;
use table::deliveries::delivery_of;

use super::attempt::CLAIM;
use super::plan::{next_attempt, publish};
use crate::job::Job as _;
use crate::stream::record::StreamRecord;

/// Sends a message for a delivery that newly waits for an attempt, and writes the event of a delivery whose last attempt has failed.
///
/// # Errors
/// `Unavailable` if DynamoDB, SQS or EventBridge Scheduler cannot be reached.
pub async fn on_delivery(
    app: &App,
    tenant: &Tenant,
    endpoint: &Id,
    record: &StreamRecord,
) -> Result<()> {
    let delivery = |item: &Option<Item>| item.clone().map(delivery_of).transpose();
    let Some((event, after)) = delivery(&record.new)?.flatten() else {
        return Ok(());
    };
    let before = delivery(&record.old)?.flatten().map(|(_, before)| before);
    match (after.state, before) {
        (DeliveryState::Waiting, before) if before.as_ref() != Some(&after) => {
            let attempt = next_attempt(tenant, &event, endpoint, &after);
            let message = attempt.message()?;
            app.send_or_leave_to_sweep(after.next_at, &message).await
        }
        (DeliveryState::Exhausted, Some(before)) if before.state == DeliveryState::Claimed => {
            let claimed = before.next_at.plus(-CLAIM);
            on_exhausted(app, tenant, endpoint, (&event, after.attempts), claimed).await
        }
        _ => Ok(()),
    }
}

/// Writes the event of a delivery whose last attempt, which was claimed at that moment, has failed.
///
/// # Errors
/// `Unavailable` if DynamoDB or SQS cannot be reached; a permanent `Internal` if the log does not contain the attempt.
async fn on_exhausted(
    app: &App,
    tenant: &Tenant,
    endpoint: &Id,
    (event, attempts): (&Id, u32),
    claimed: Timestamp,
) -> Result<()> {
    let (keys, now) = (&app.edge.keys, app.now());
    // A change that is read after its account was erased must not write an event.
    if !keys.has_account(&app.store, tenant, now).await? {
        return Ok(());
    }
    let line = WebhookDelivery::id_of(event, endpoint, attempts, claimed);
    let attempt = app.store.attempt(tenant, endpoint, &line).await?;
    let attempt = attempt.ok_or_else(|| Error::permanent("the last attempt is not in the log"))?;
    if attempt.object.event_type.is_operational() {
        return Ok(());
    }
    let cause = Cause {
        request: None,
        at: claimed,
        version: keys.version(&app.store, tenant, now).await?,
    };
    let object = attempt.object.with_headers();
    let object = serde_json::to_value(object).map_err(Error::internal)?;
    let kind = EventType::WebhookDeliveryExhausted;
    let first = Occurrence {
        subject: &line,
        version: 1,
        sequence: 1,
    };
    let event = Event::of(kind, tenant, first, object, None, &cause);
    publish(app, tenant, event, Vec::new()).await
}
