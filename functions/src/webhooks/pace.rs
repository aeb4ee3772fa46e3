//! The order and the rate in which deliveries are sent to an endpoint.

use std::collections::BTreeSet;

use crate::App;
use kernel::Error;
use kernel::origin::{Origin, Tenant};
use kernel::time::{SignedDuration, Timestamp, millis, seconds};
use models::event::Event;
use models::stored::Stored;
use models::webhook_endpoint::WebhookEndpoint;

/// The number of concurrent attempts.
const ABREAST: usize = 10;

/// The maximum time for which a job waits between two attempts.
const LONGEST_WAIT: SignedDuration = seconds(10);

/// The id of the object that an event is about.
pub fn object(event: &Stored<Event>) -> Option<String> {
    let id = event.object.data.object.get("id")?;
    id.as_str().map(str::to_owned)
}

/// Divides deliveries into groups that are sent one after another, those of a group concurrently: two deliveries about one object are not
/// in the same group. To a rate-limited endpoint, one delivery is sent at a time.
pub fn waves<T>(
    items: Vec<T>,
    object: impl Fn(&T) -> String,
    endpoint: Option<&WebhookEndpoint>,
) -> Vec<Vec<T>> {
    let is_limited = endpoint.is_some_and(|endpoint| endpoint.max_per_second.is_some());
    let most = if is_limited { 1 } else { ABREAST };
    let mut waves: Vec<Vec<T>> = Vec::new();
    let mut objects = BTreeSet::new();
    for item in items {
        let object = object(&item);
        match waves.last_mut() {
            Some(wave) if wave.len() < most && objects.insert(object.clone()) => wave.push(item),
            _ => {
                objects = BTreeSet::from([object]);
                waves.push(vec![item]);
            }
        }
    }
    waves
}

/// The next free slot of a rate-limited endpoint; none for an endpoint without a limit.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn slot(
    app: &App,
    tenant: &Tenant,
    endpoint: &WebhookEndpoint,
) -> Result<Option<Timestamp>, Error> {
    let Some(most) = endpoint.max_per_second else {
        return Ok(None);
    };
    let origin = Origin::background(tenant.clone(), app.now());
    let interval = millis(1000 / i64::from(u32::from(most)));
    let slot = app.store.next_slot(&origin, &endpoint.id, interval);
    slot.await.map(Some)
}

/// Waits for a slot of a rate-limited endpoint, for ten seconds at most.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn wait(app: &App, tenant: &Tenant, endpoint: &WebhookEndpoint) -> Result<(), Error> {
    if let Some(slot) = slot(app, tenant, endpoint).await? {
        sleep_until(app, slot.min(app.now().plus(LONGEST_WAIT))).await;
    }
    Ok(())
}

/// Sleeps until a time in the near future.
pub async fn sleep_until(app: &App, moment: Timestamp) {
    let wait = moment.since(app.now());
    tokio::time::sleep(wait.try_into().unwrap_or_default()).await;
}
