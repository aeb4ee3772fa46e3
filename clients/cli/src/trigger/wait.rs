//! Waiting for an event.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use crate::client::Request;
use crate::context::Context;
use crate::failure::Failure;
use crate::time::written;

/// The time-out for the event.
pub const PATIENCE: Duration = Duration::from_secs(30);
pub const INTERVAL: Duration = Duration::from_millis(300);

/// Waits until an event of this type about this object is listed.
///
/// # Errors
/// There is no such event within [`PATIENCE`], or a request fails.
pub async fn wait_for(
    context: &Context,
    name: &str,
    object: &str,
    begin: Timestamp,
) -> Result<Value, Failure> {
    let request = Request::get("/v1/events")
        .with("type", name)
        .with("created[gte]", written(begin))
        .with("limit", "100");
    let end = Instant::now() + PATIENCE;
    loop {
        let page = context.client.send(&request).await?.body;
        let mut events = page["data"].as_array().into_iter().flatten();
        if let Some(event) = events.find(|event| is_about(event, object)) {
            return Ok(event.clone());
        }
        if Instant::now() > end {
            return Err(Failure::Local(format!(
                "no {name} about {object} within {PATIENCE:?}"
            )));
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Whether an event is about an object. The object of a test delivery's event has no id.
fn is_about(event: &Value, object: &str) -> bool {
    object.is_empty() || event["data"]["object"]["id"] == object
}
