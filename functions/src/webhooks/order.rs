//! Sending the events of an object in order to endpoints with `ordered`. [`models::webhooks::order`] describes the queues.

use crate::App;
use kernel::origin::{Origin, Tenant};
use kernel::{Error, Id, Timestamp};
use models::event::{Delivery, Event};
use models::stored::Stored;
use models::webhook_endpoint::WebhookEndpoint;
use models::webhook_replay::WebhookReplay;
use models::webhooks::order::{Entry, Turn};
use table::queues::QueueOf;

use super::pace;

/// Adds an event to the queues of its object at the ordered endpoints among these: as one to deliver at those it is delivered to, as one that
/// only counts at the others. Returns the endpoints and events whose turn has come thereby.
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
            // An event after it may wait already.
            let next = following(app, tenant, Place::of(endpoint), event).await?;
            due.extend(next.map(|next| (endpoint.id.clone(), next)));
        }
    }
    Ok(due)
}

/// Whether the first attempt to deliver an event may be made now.
#[derive(Debug, PartialEq, Eq)]
pub enum Permission {
    Granted,
    /// The event is sent when its turn comes. If no attempt was made to deliver the event whose turn it is, that is this one.
    Waits {
        unbegun: Option<Id>,
    },
    /// An event before it is missing: it has to be looked at again.
    Unknown,
}

/// Whether the first attempt to deliver an event to an ordered endpoint may be made. It may not be made while an earlier event of the object has
/// the turn, unless the event was delivered once more meanwhile.
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

/// Whether the first attempt to deliver an event to an ordered endpoint waits for a replay, which may send earlier events about the object once
/// more.
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

/// The event whose turn it is after this one of the same object, if no attempt was made to deliver it: a message has to be sent for it, because
/// its own may have come before its turn.
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

    /// One that was deleted: its queues begin with what is in them.
    pub fn deleted(id: &'a Id, now: Timestamp) -> Self {
        Self { id, created: now }
    }
}

/// What is next in a queue.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// This event has the turn.
    Event {
        number: u64,
        event: Id,
        /// Whether an attempt was made to deliver it, or is being made.
        has_begun: bool,
    },
    /// An event before this number is not there yet.
    Missing {
        number: u64,
    },
    Nothing,
}

impl Next {
    /// Events after this number wait.
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

/// Passes the turn in a queue on to the first event whose delivery is not finished.
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
                // An event that has expired or was erased is not delivered any more.
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

/// How far the delivery of an event to an endpoint has come; none if no attempt was made.
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
