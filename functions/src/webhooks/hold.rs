//! Holds deliveries while the circuit breaker of their endpoint is open.

use crate::App;
use kernel::{Error, Id, Origin};
use models::WebhookEndpoint;
use table::held::HeldDelivery;

use super::attempt::change_endpoint;

/// Holds the attempt to deliver an event, and starts probing the endpoint unless something else does. Returns false if the endpoint no
/// longer exists.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn hold(
    app: &App,
    origin: &Origin,
    endpoint: &Id,
    held: HeldDelivery,
) -> Result<bool, Error> {
    let (store, tenant) = (&app.store, &origin.tenant);
    store.hold_delivery(origin, endpoint, &held).await?;
    let Some(mut stored) = store.find::<WebhookEndpoint>(tenant, endpoint).await? else {
        store.let_go(tenant, endpoint, &held.event).await?;
        return Ok(false);
    };
    if stored.internal.breaker.wake(origin.now) {
        let wake = |stored: &mut _| wake(stored, origin);
        change_endpoint(app, origin, endpoint, wake).await?;
    }
    Ok(true)
}

fn wake(endpoint: &mut models::stored::Stored<WebhookEndpoint>, origin: &Origin) -> bool {
    endpoint.internal.breaker.wake(origin.now)
}
