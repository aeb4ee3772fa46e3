//! Changes of objects: the effects of a write of an object's item.
//!
//! A [`Change`] has the object before and after, decoded once. For a change of any object, the relay sends the message of the next action
//! if that is new or has moved, and writes the recorded events and sends their deliveries. The effects of a change of one kind of object
//! are implemented in the folder of its subject, as [`OnChange::on_change`].

use std::future::Future;

use futures::future::BoxFuture;
use kernel::{Error, Id, Result, Tenant, Timestamp};
use models::event::{Cause, EventRequest, Occurrence};
use models::ports::{Message, schedule_name};
use models::webhooks::fleets;
use models::{Action, Event, EventType, Stored};
use serde_dynamo::Item;
use table::stored_item::{ById, Record, decode};

use super::actions;
use super::record::read;
use crate::webhooks::plan::publish;
use crate::{App, search};

/// An object before and after a write.
pub struct Change<T: Record> {
    pub tenant: Tenant,
    /// None for a new object.
    pub before: Option<Stored<T>>,
    pub after: Stored<T>,
}

impl<T: Record> Change<T> {
    fn read(tenant: &Tenant, before: Option<&Item>, after: &Item) -> Result<Self> {
        Ok(Self {
            tenant: tenant.clone(),
            before: before.cloned().map(decode).transpose()?,
            after: decode(after.clone())?,
        })
    }

    /// Returns whether this part of an object has changed. False for a new object.
    pub fn differs_in<U: PartialEq>(&self, part: impl Fn(&T) -> U) -> bool {
        let before = self.before.as_ref();
        before.is_some_and(|before| part(&before.object) != part(&self.after.object))
    }
}

/// The effects of a change of a kind of object, besides its next action and its events.
pub trait OnChange: Record + 'static {
    /// Handles a change. A change may be relayed twice.
    ///
    /// # Errors
    /// The change has to be relayed again, or can never be relayed if the error is permanent.
    fn on_change(_: &App, _: &Change<Self>) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Handles the deletion of an object.
    ///
    /// # Errors
    /// As [`OnChange::on_change`].
    fn on_deletion(
        _: &App,
        _: &Tenant,
        _: &Id,
        _before: Option<&Stored<Self>>,
    ) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// The message whose job executes the next action of the object.
    ///
    /// # Errors
    /// `Internal` if the message cannot be serialized.
    fn next_message(tenant: &Tenant, stored: &Stored<Self>) -> Result<Option<Message>> {
        match stored.next_action() {
            Some((_, action)) => actions::message(tenant, stored.object.id(), action),
            None => Ok(None),
        }
    }
}

/// The handlers of the changes and the deletion of a kind of object, and the reader of its next action.
#[derive(Clone, Copy)]
pub struct Followers {
    pub relay: for<'a> fn(&'a App, &'a Tenant, Option<&'a Item>, &'a Item) -> Relayed<'a>,
    pub delete: for<'a> fn(&'a App, &'a Tenant, Option<&'a Item>, &'a Id) -> Relayed<'a>,
    /// Reads an object, and returns the next action on it.
    pub next: for<'a> fn(&'a App, &'a Tenant, &'a Id) -> Next<'a>,
}

type Relayed<'a> = BoxFuture<'a, Result<()>>;
type Next<'a> = BoxFuture<'a, Result<Option<(Timestamp, Action)>>>;

impl Followers {
    pub const fn of<T: OnChange + ById>() -> Self {
        Self {
            relay: |app, tenant, before, after| Box::pin(relay::<T>(app, tenant, before, after)),
            delete: |app, tenant, before, id| Box::pin(delete::<T>(app, tenant, before, id)),
            next: |app, tenant, id| Box::pin(next::<T>(app, tenant, id)),
        }
    }
}

async fn relay<T: OnChange>(
    app: &App,
    tenant: &Tenant,
    before: Option<&Item>,
    after: &Item,
) -> Result<()> {
    let change = Change::<T>::read(tenant, before, after)?;
    schedule(app, &change).await?;
    T::on_change(app, &change).await?;
    let (id, before) = (change.after.object.id(), change.before.as_ref());
    search::follow(app, tenant, id, before, Some(&change.after)).await?;
    write_events(app, &change, after).await
}

async fn delete<T: OnChange>(
    app: &App,
    tenant: &Tenant,
    before: Option<&Item>,
    id: &Id,
) -> Result<()> {
    let before: Option<Stored<T>> = before.cloned().map(decode).transpose()?;
    search::follow(app, tenant, id, before.as_ref(), None).await?;
    T::on_deletion(app, tenant, id, before.as_ref()).await
}

async fn next<T: ById>(app: &App, tenant: &Tenant, id: &Id) -> Result<Option<(Timestamp, Action)>> {
    let found = app.store.find::<T>(tenant, id).await?;
    Ok(found.and_then(|stored| stored.next_action()))
}

/// Sends the message of the next action, if that is new or has moved. The schedule of an action that is obsolete before its time is
/// deleted.
async fn schedule<T: OnChange>(app: &App, change: &Change<T>) -> Result<()> {
    let next = |stored: &Stored<T>| -> Result<Option<(Timestamp, Message)>> {
        let message = T::next_message(&change.tenant, stored)?;
        Ok(stored.next_action_at().zip(message))
    };
    let before = change.before.as_ref().map(next).transpose()?.flatten();
    let after = next(&change.after)?;
    if before == after {
        return Ok(());
    }
    let name = |(at, message): &(Timestamp, Message)| schedule_name(&message.schedule, *at);
    let kept = after.as_ref().map(name);
    let obsolete = before.filter(|(at, _)| *at > app.now());
    if let Some(obsolete) = obsolete
        .as_ref()
        .map(name)
        .filter(|name| kept.as_ref() != Some(name))
    {
        app.schedules.remove(&obsolete).await?;
    }
    match &after {
        Some((at, message)) => app.send_or_leave_to_sweep(*at, message).await,
        None => Ok(()),
    }
}

/// Writes the events that the write has recorded, and sends the messages for their deliveries.
async fn write_events<T: Record>(app: &App, change: &Change<T>, item: &Item) -> Result<()> {
    let Change {
        tenant,
        before,
        after,
    } = change;
    let events: Vec<EventType> = read(item, "events")?.unwrap_or_default();
    let before = before.as_ref();
    if events.is_empty() || before.is_some_and(|before| before.version == after.version) {
        return Ok(());
    }
    let now = app.now();
    // A change that is read after its account was erased must not write an event.
    if !app.edge.keys.has_account(&app.store, tenant, now).await? {
        return Ok(());
    }
    let shown = |stored: &Stored<T>| serde_json::to_value(&stored.object).map_err(Error::internal);
    let (object, previous) = (shown(after)?, before.map(shown).transpose()?);
    let cause = Cause {
        request: read::<EventRequest>(item, "request")?,
        at: after.last_event.unwrap_or(now),
        version: app.edge.keys.version(&app.store, tenant, now).await?,
    };
    let fleets = fleets::besides((after, &object), before.zip(previous.as_ref()));
    let earlier = after.recorded.saturating_sub(events.len() as u64);
    for (sequence, kind) in (earlier + 1..).zip(events) {
        let write = Occurrence {
            subject: after.object.id(),
            version: after.version,
            sequence,
        };
        let event = Event::of(
            kind,
            tenant,
            write,
            object.clone(),
            previous.as_ref(),
            &cause,
        );
        publish(app, tenant, event, fleets.clone()).await?;
    }
    Ok(())
}
