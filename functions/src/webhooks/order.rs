//! In-order delivery of the events of an object to endpoints with `ordered`. [`models::webhooks::order`] describes the queues.

use crate::App;
use kernel::{Error, Id, Origin, Tenant, Timestamp};
use models::event::Delivery;
use models::webhook_replay::WebhookReplay;
use models::webhooks::order::{Entry, Turn};
use models::{Event, Stored, WebhookEndpoint};
use table::queues::QueueOf;

use super::pace;

/// Adds an event to the queues of its object at the ordered endpoints among these: as an event to deliver at its receivers, as an event
/// that is only counted at the others. Returns the endpoints and events whose turn has come as a result.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn enqueue(
    app: &App,
    tenant: &Tenant,
    event: &Stored<Event>,
    endpoints: &[WebhookEndpoint],
    delivered_to: &[Id],
) -> Result<Vec<(Id, Id)>, Error> {
    let origin = Origin::background(tenant.clone(), app.now());
    let number = event.object.sequence;
    let mut due = Vec::new();
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.ordered) {
        let Some(object) = pace::object(event) else {
            continue;
        };
        let of = QueueOf {
            endpoint: &endpoint.id,
            object: &object,
        };
        let is_delivered = delivered_to.contains(&endpoint.id);
        if is_delivered || !app.store.pass_turn(&origin, of, number).await? {
            let entry = Entry {
                sequence: number,
                event: is_delivered.then(|| event.object.id.clone()),
                added: origin.now,
            };
            app.store.enqueue(&origin, of, &entry).await?;
        }
        if !is_delivered {
            // An event after it may already be waiting.
            let next = following(app, tenant, Place::of(endpoint), event).await?;
            due.extend(next.map(|next| (endpoint.id.clone(), next)));
        }
    }
    Ok(due)
}

/// The permission to make the first attempt to deliver an event now.
#[derive(Debug, PartialEq, Eq)]
pub enum Permission {
    Granted,
    /// The event is sent when its turn comes. `unbegun` is the event whose turn it is, if no attempt was made to deliver it.
    Waits {
        unbegun: Option<Id>,
    },
    /// An event before it is missing: the check has to be repeated.
    Unknown,
}

/// Decides whether the first attempt to deliver an event to an ordered endpoint may be made. It may not be made while it is the turn of an
/// earlier event of the object, unless the event was redelivered meanwhile.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn permission(
    app: &App,
    tenant: &Tenant,
    endpoint: &WebhookEndpoint,
    event: &Id,
) -> Result<Permission, Error> {
    let Some(event) = app.store.find::<Event>(tenant, event).await? else {
        return Ok(Permission::Granted);
    };
    let Some(object) = pace::object(&event) else {
        return Ok(Permission::Granted);
    };
    let next = next(app, tenant, Place::of(endpoint), &object).await?;
    if next
        .number()
        .is_none_or(|next| event.object.sequence <= next)
    {
        return Ok(Permission::Granted);
    }
    let id = &event.object.id;
    if state(app, tenant, Place::of(endpoint), id).await?.is_some() {
        return Ok(Permission::Granted);
    }
    match next {
        Next::Missing { .. } => Ok(Permission::Unknown),
        next => Ok(Permission::Waits {
            unbegun: next.unbegun(),
        }),
    }
}

/// Returns whether the first attempt to deliver an event to an ordered endpoint waits for a replay, which may redeliver earlier events
/// about the object.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn waits_for_replay(
    app: &App,
    tenant: &Tenant,
    endpoint: &Id,
    event: &Id,
) -> Result<bool, Error> {
    let replay = WebhookReplay::id_of(endpoint);
    let replay = app.store.find::<WebhookReplay>(tenant, &replay).await?;
    let Some(replay) = replay.filter(|replay| replay.object.finished_at.is_none()) else {
        return Ok(false);
    };
    let Some(event) = app.store.find::<Event>(tenant, event).await? else {
        return Ok(false);
    };
    let object = pace::object(&event).map(|id| Id::from(id.as_str()));
    let created = object.and_then(|id| id.time(id.kind()?));
    Ok(replay.precedes(&event.object, created))
}

/// The event whose turn it is after this one of the same object, if no attempt was made to deliver it: a message has to be sent for it,
/// because its own may have arrived before its turn.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn following(
    app: &App,
    tenant: &Tenant,
    endpoint: Place<'_>,
    event: &Stored<Event>,
) -> Result<Option<Id>, Error> {
    match pace::object(event) {
        Some(object) => Ok(next(app, tenant, endpoint, &object).await?.unbegun()),
        None => Ok(None),
    }
}

/// An endpoint, which may be deleted.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    id: &'a Id,
    created: Timestamp,
}

impl<'a> Place<'a> {
    pub fn of(endpoint: &'a WebhookEndpoint) -> Self {
        Self {
            id: &endpoint.id,
            created: endpoint.created,
        }
    }

    /// A deleted endpoint: its queues begin with their first entries.
    pub fn deleted(id: &'a Id, now: Timestamp) -> Self {
        Self { id, created: now }
    }
}

/// The next entry of a queue.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// It is the turn of this event.
    Event {
        number: u64,
        event: Id,
        /// Whether an attempt was made to deliver it, or is in progress.
        has_begun: bool,
    },
    /// An event before this number has not arrived yet.
    Missing {
        number: u64,
    },
    Nothing,
}

impl Next {
    /// The number after which events wait.
    fn number(&self) -> Option<u64> {
        match self {
            Self::Event { number, .. } => Some(*number),
            Self::Missing { number } => Some(number.saturating_sub(1)),
            Self::Nothing => None,
        }
    }

    /// The event whose turn it is, if no attempt was made to deliver it.
    fn unbegun(self) -> Option<Id> {
        match self {
            Self::Event {
                event,
                has_begun: false,
                ..
            } => Some(event),
            _ => None,
        }
    }
}

/// Advances a queue to the first event whose delivery is not finished.
async fn next(
    app: &App,
    tenant: &Tenant,
    endpoint: Place<'_>,
    object: &str,
) -> Result<Next, Error> {
    let of = QueueOf {
        endpoint: endpoint.id,
        object,
    };
    let id = Id::from(object);
    let created = id.kind().and_then(|kind| id.time(kind));
    loop {
        let queue = app.store.queue(tenant, of).await?;
        let now = app.now();
        let entry = match queue.turn(created, endpoint.created, now) {
            Turn::Of(entry) => entry,
            Turn::Missing { before } => return Ok(Next::Missing { number: before }),
            Turn::Nobody => return Ok(Next::Nothing),
        };
        if let Some(event) = &entry.event {
            let (event, number) = (event.clone(), entry.sequence);
            match state(app, tenant, endpoint, &event).await? {
                Some(delivery) if delivery.is_open() => {
                    let has_begun = true;
                    return Ok(Next::Event {
                        number,
                        event,
                        has_begun,
                    });
                }
                // An event that has expired or was erased is no longer delivered.
                None if app.store.find::<Event>(tenant, &event).await?.is_some() => {
                    let has_begun = false;
                    return Ok(Next::Event {
                        number,
                        event,
                        has_begun,
                    });
                }
                _ => {}
            }
        }
        let origin = Origin::background(tenant.clone(), now);
        let after = entry.sequence + 1;
        app.store.advance(&origin, of, &queue, after).await?;
    }
}

/// The state of the delivery of an event to an endpoint; none if no attempt was made.
async fn state(
    app: &App,
    tenant: &Tenant,
    endpoint: Place<'_>,
    event: &Id,
) -> Result<Option<Delivery>, Error> {
    let pair = [(event, endpoint.id)];
    let found = app.store.deliveries_of(tenant, &pair, true).await?;
    Ok(found.into_values().next())
}
