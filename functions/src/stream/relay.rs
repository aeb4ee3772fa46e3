//! `relay-stream`: converts the changes of the table to events, deliveries and schedules.

use std::collections::BTreeMap;

use crate::App;
use futures::stream::{self, StreamExt as _};
use kernel::{Error, Kind, function_scope};
use models::ports::Message;
use table::access::Items;
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, Span};
use web::deployment::{Deployment, Need};

use super::changes;
pub use super::record::{StreamRecord, filters};
use crate::analytics::count::count;
use crate::function::{Function, Trigger};
use crate::outbox::gathered;
use crate::webhooks::plan::reading_endpoints_once;

/// The name of the function.
pub const NAME: &str = "relay-stream";

/// The number of items of a batch that are processed concurrently.
const ABREAST: usize = 8;

/// Relays a batch of changes until a deadline, each within its span: the changes of one item in their order, as in the stream, those of
/// eight items concurrently. So a batch takes as long as its slowest item, and not as long as all its changes together. The messages of all
/// changes are sent together at the end, equal messages of the same item once, and the webhook endpoints of each tenant are read once.
///
/// Returns the position of the first change that was not relayed. It has to be delivered again with those behind it, of which some were
/// relayed: a change that is relayed twice leads to the same events and messages.
pub async fn handle_batch(
    app: &App,
    batch: &[(StreamRecord, Span)],
    until: Instant,
) -> Option<usize> {
    let changes = batch.iter().map(|(change, _)| change);
    let counted = timeout_at(until, function_scope::within(NAME, count(app, changes))).await;
    // If no time is left, nothing is relayed.
    let uncounted = counted.map_or(Some(0), |failed| failed.into_iter().next());
    let mut places: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (place, (change, _)) in batch.iter().enumerate() {
        places.entry(change.key()).or_default().push(place);
    }
    let relayed = stream::iter(places.into_values()).map(async |places| {
        let mut messages = Vec::new();
        for place in places {
            let (change, span) = &batch[place];
            let relayed = timeout_at(until, gathered(relay(app, change)).instrument(span.clone()));
            let out_of_time = |_| (Err(out_of_time()), Vec::new());
            let (relayed, gathered) = relayed.await.unwrap_or_else(out_of_time);
            if let Err(error) = relayed {
                span.in_scope(|| tracing::error!(%error, "a change was not relayed"));
                return (messages, Some(place));
            }
            // A message for an earlier change of the item is replaced by the equal one for the later change.
            messages.retain(|(_, (earlier, _))| gathered.iter().all(|(later, _)| later != earlier));
            messages.extend(gathered.into_iter().map(|message| (place, message)));
        }
        (messages, None)
    });
    let relayed = relayed.buffer_unordered(ABREAST).collect();
    let relayed: Vec<_> = reading_endpoints_once(relayed).await;
    let (messages, failed): (Vec<_>, Vec<_>) = relayed.into_iter().unzip();
    let unsent = send(app, messages.into_iter().flatten().collect(), until).await;
    let failed = failed.into_iter().flatten();
    failed.chain(unsent).chain(uncounted).min()
}

/// Sends the messages of changes, each with the position of its change. Returns the first of these positions if not all could be sent.
async fn send(app: &App, messages: Vec<(usize, (Message, u16))>, until: Instant) -> Option<usize> {
    let first = messages.iter().map(|(place, _)| *place).min()?;
    let messages: Vec<_> = messages.into_iter().map(|(_, message)| message).collect();
    let sent = timeout_at(until, app.queue.send_all(&messages)).await;
    let error = sent.unwrap_or_else(|_| Err(out_of_time())).err()?;
    tracing::error!(%error, "the messages of a batch were not sent");
    Some(first)
}

fn out_of_time() -> Error {
    Error::unavailable("the function has no time left")
}

/// Counts and relays one change of the table.
///
/// # Errors
/// The change has to be relayed again: the table or a queue cannot be reached.
pub async fn handle(app: &App, change: &StreamRecord) -> Result<(), Error> {
    let counting = count(app, std::iter::once(change));
    if !function_scope::within(NAME, counting).await.is_empty() {
        return Err(Error::unavailable("the change was not counted"));
    }
    relay(app, change).await
}

/// Relays a change of the table. A change that the event source mapping filters out is not processed in other environments, either, so that
/// a test detects a filter that excludes too much.
///
/// # Errors
/// The change has to be relayed again: the table or a queue cannot be reached.
async fn relay(app: &App, change: &StreamRecord) -> Result<(), Error> {
    if !change.is_relayed() {
        return Ok(());
    }
    // Boxed, because its large state would otherwise be on the stack of every future that awaits it.
    function_scope::within(NAME, Box::pin(changes::relay(app, change))).await
}

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "Turns changes of the table into events, deliveries and schedules",
    trigger: Trigger::Stream,
    deployment: Deployment::in_background()
        .writing(&[
            Items::Of(Kind::CreditNote),
            Items::Of(Kind::Event),
            Items::Of(Kind::Fleet),
            Items::Of(Kind::Invoice),
            Items::Of(Kind::Reservation),
            Items::Of(Kind::Site),
            Items::Of(Kind::WebhookEndpoint),
        ])
        .needing(&[Need::BatchWrites, Need::Messages, Need::RemoveSchedules]),
};
