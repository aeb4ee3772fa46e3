//! The order and the rate in which deliveries are sent to an endpoint.

use std::collections::{BTreeSet, VecDeque};

use crate::App;
use kernel::time::{millis, seconds};
use kernel::{Error, Origin, SignedDuration, Tenant, Timestamp};
use models::{Event, Stored, WebhookEndpoint};
use serde::{Deserialize, Serialize};

/// The number of concurrent attempts.
const ABREAST: usize = 10;

/// The maximum time for which a job waits between two attempts.
const LONGEST_WAIT: SignedDuration = seconds(10);

/// The id of the object that an event is about.
pub fn object(event: &Stored<Event>) -> Option<String> {
    let id = event.object.data.object.get("id")?;
    id.as_str().map(str::to_owned)
}

/// Removes and returns the first deliveries that are sent concurrently: two about one object are not sent at the same time. To a
/// rate-limited endpoint, one delivery is sent at a time.
pub fn next_wave<T>(
    items: &mut VecDeque<T>,
    object: impl Fn(&T) -> String,
    endpoint: Option<&Stored<WebhookEndpoint>>,
) -> Vec<T> {
    let is_limited = endpoint.is_some_and(|endpoint| endpoint.object.max_per_second.is_some());
    let most = if is_limited { 1 } else { ABREAST };
    let mut objects = BTreeSet::new();
    let first = items.iter().take(most);
    let count = first
        .take_while(|item| objects.insert(object(item)))
        .count();
    items.drain(..count).collect()
}

/// A moment at which one attempt may be made at a rate-limited endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    pub at: Timestamp,
    /// The time since which the endpoint has the limit that the slot belongs to.
    since: Timestamp,
}

impl Slot {
    /// Checks whether the endpoint still has the limit that the slot belongs to.
    pub fn is_of(&self, endpoint: &Stored<WebhookEndpoint>) -> bool {
        endpoint.object.max_per_second.is_some() && self.since >= endpoint.limited_since()
    }
}

/// The next free slot of a rate-limited endpoint; none for an endpoint without a limit.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn slot(
    app: &App,
    tenant: &Tenant,
    endpoint: &Stored<WebhookEndpoint>,
) -> Result<Option<Slot>, Error> {
    let Some(most) = endpoint.object.max_per_second else {
        return Ok(None);
    };
    let origin = Origin::background(tenant.clone(), app.now());
    let interval = millis(1000 / i64::from(u32::from(most)));
    let (id, since) = (&endpoint.object.id, endpoint.limited_since());
    let at = app.store.next_slot(&origin, id, interval, since).await?;
    Ok(Some(Slot { at, since }))
}

/// Waits for a slot of a rate-limited endpoint, for ten seconds at most.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn wait(
    app: &App,
    tenant: &Tenant,
    endpoint: &Stored<WebhookEndpoint>,
) -> Result<(), Error> {
    if let Some(slot) = slot(app, tenant, endpoint).await? {
        sleep_until(app, slot.at.min(app.now().plus(LONGEST_WAIT))).await;
    }
    Ok(())
}

/// Sleeps until a time in the near future.
pub async fn sleep_until(app: &App, moment: Timestamp) {
    let wait = moment.since(app.now());
    tokio::time::sleep(wait.try_into().unwrap_or_default()).await;
}
