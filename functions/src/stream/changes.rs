//! The relay: converts the changes of the table's stream to events, deliveries and scheduled work.
//!
//! Terms. A *change* is an object before and after a write (`super::change`), from a record of the stream (`super::record`). An item
//! contains the types of the events that its last write has recorded (`events`).
//!
//! Life cycle of a change. The relay writes each recorded event, and sends a message for every subscribed endpoint. A delivery that waits
//! for another attempt comes back over the stream, and so does an event that was written with its object: the relay sends their messages.
//! For an object with a next action it sends a message for that time, through a queue or EventBridge Scheduler. The messages of a batch of
//! changes are sent together at its end.
//!
//! Invariants. The id of an event is derived from its object and the version of the item, so that a change which is relayed twice writes
//! one event. Every message can be sent twice: its worker checks what is left to do.
//!
//! Crashes. A change that failed is read again with those after it in its shard. A change that can never be relayed is sent to the failure
//! destination. Before that, a change of an item that a newer release has written is read again for an hour, because the relay of that
//! release can process it. The sweeper finds objects whose message was lost by their next action.

use kernel::time::hours;
use kernel::{Error, Id, Kind, Result, SignedDuration, Tenant, Timestamp};
use models::ports::{FailedChange, Message};
use models::webhook_replay::WebhookReplay;
use models::{
    Action, Adjustment, Batch, ChargeCard, ChargingSession, CreditNote, Driver, Event, Fleet,
    Invoice, Policy, Report, Reservation, Site, Stored, Transaction, Vehicle, VehicleDepartures,
    VehicleTelemetry, WebhookEndpoint,
};
use ocpi::network::Network;
use table::sweep::Waiting;
use table::{keys, layout};

use super::actions;
use super::change::Followers;
use super::record::{StreamRecord, read, text};
use crate::job::Job as _;
use crate::webhooks::{outcome, plan};
use crate::{App, accounts, charge_cards, charging_stations, networks};

/// The handlers for the changes of a kind of objects. None for a kind whose objects have no events, no effects and no next action.
fn followers(kind: Kind) -> Option<Followers> {
    Some(match kind {
        Kind::Adjustment => Followers::of::<Adjustment>(),
        Kind::Batch => Followers::of::<Batch>(),
        Kind::ChargeCard => Followers::of::<ChargeCard>(),
        Kind::ChargingSession => Followers::of::<ChargingSession>(),
        Kind::CreditNote => Followers::of::<CreditNote>(),
        Kind::Driver => Followers::of::<Driver>(),
        Kind::Fleet => Followers::of::<Fleet>(),
        Kind::Invoice => Followers::of::<Invoice>(),
        Kind::Network => Followers::of::<Network>(),
        Kind::Policy => Followers::of::<Policy>(),
        Kind::Report => Followers::of::<Report>(),
        Kind::Reservation => Followers::of::<Reservation>(),
        Kind::Site => Followers::of::<Site>(),
        Kind::Transaction => Followers::of::<Transaction>(),
        Kind::Vehicle => Followers::of::<Vehicle>(),
        Kind::VehicleDepartures => Followers::of::<VehicleDepartures>(),
        Kind::VehicleTelemetry => Followers::of::<VehicleTelemetry>(),
        Kind::WebhookEndpoint => Followers::of::<WebhookEndpoint>(),
        Kind::WebhookReplay => Followers::of::<WebhookReplay>(),
        _ => return None,
    })
}

/// The time for which a change that a newer release has made is read again: longer than the two releases run side by side during a gradual
/// deployment of the relay. It is limited, because such a change blocks those behind it in its shard.
const NEWER_RELEASE_AWAITED: SignedDuration = hours(1);

/// Processes one change. A change that can never be relayed, such as one whose item cannot be read or whose event is too large, is sent to
/// the failure destination at once: otherwise it would be read again and block everything behind it in its shard. An item that a newer
/// release has just written is read again, because that release can read it.
///
/// # Errors
/// The table, a queue or the scheduler cannot be reached, or a newer release has just written the item: the record has to be read again.
pub async fn relay(app: &App, change: &StreamRecord) -> Result<()> {
    match work_on(app, change).await {
        Err(error) if error.is_permanent() && awaits_newer_release(app, change) => {
            Err(Error::unavailable(error))
        }
        Err(error) if error.is_permanent() => fail(app, change, &error).await,
        done => done,
    }
}

/// Returns whether a release with a newer layout has written the item before or after the change, at most an hour ago.
fn awaits_newer_release(app: &App, change: &StreamRecord) -> bool {
    let is_newer = |item| {
        let version = read::<u32>(item, layout::SCHEMA).ok().flatten();
        version.is_some_and(|version| version > layout::VERSION)
    };
    let is_recent = |written: Timestamp| app.now() < written.plus(NEWER_RELEASE_AWAITED);
    [&change.new, &change.old]
        .into_iter()
        .flatten()
        .any(is_newer)
        && change.written.is_some_and(is_recent)
}

/// Sends a change that can never be relayed to the failure destination, with the key of its item.
async fn fail(app: &App, change: &StreamRecord, error: &Error) -> Result<()> {
    let item = change.new.as_ref().or(change.old.as_ref());
    let attribute = |name| item.and_then(|item| text(item, name)).unwrap_or_default();
    let (pk, sk) = (attribute("pk"), attribute("sk"));
    let object = keys::id_of(pk, sk);
    let failed = FailedChange {
        object,
        pk: pk.to_owned(),
        sk: sk.to_owned(),
        version: item.and_then(|item| read(item, "version").ok().flatten()),
        error: error.to_string(),
        failed_at: app.now(),
    };
    let id = failed.object.as_ref().map_or("", Id::as_str);
    tracing::error!(object.id = id, pk, sk, %error, "a change can never be relayed and goes to the failure destination");
    app.queue.fail(&failed).await?;
    app.settings.metrics.relay_failed(failed.failed_at);
    Ok(())
}

/// Determines what has changed, and handles it.
async fn work_on(app: &App, record: &StreamRecord) -> Result<()> {
    let (pk, sk) = record.key();
    let (before, after) = (record.old.as_ref(), record.new.as_ref());
    if let Some((tenant, id)) = keys::parse_object(pk).or_else(|| keys::parse_event(pk, sk)) {
        if id.is(Kind::Event) {
            return plan::on_event(app, &tenant, &id, record).await;
        }
        let Some(followers) = id.kind().and_then(followers) else {
            return Ok(());
        };
        return match after {
            _ if !keys::heads_object(sk) => Ok(()),
            Some(after) => (followers.relay)(app, &tenant, before, after).await,
            None => (followers.delete)(app, &tenant, before, &id).await,
        };
    }
    if after.is_none() {
        return Ok(());
    }
    if let Some((tenant, endpoint, _)) = keys::parse_delivery(pk, sk) {
        return outcome::on_delivery(app, &tenant, &endpoint, record).await;
    }
    if let Some((mode, station)) = keys::parse_station(pk) {
        return charging_stations::rematch::on_change(app, mode, &station, record).await;
    }
    if let Some((mode, uid)) = keys::parse_charge_token(pk) {
        return charge_cards::tokens::on_change(app, mode, &uid, record).await;
    }
    if let Some(account) = keys::parse_account(pk) {
        return accounts::on_change(app, &account, record).await;
    }
    networks::changes::on_change(app, record).await
}

/// The way in which the work is repeated that an item waits for.
#[derive(Debug)]
pub enum Repetition {
    /// Sends a message for the time of the action, which has passed unless all messages are lost.
    Send(Timestamp, Message),
    /// The relay itself plans the deliveries of an event.
    Plan(Id, Box<Stored<Event>>),
}

impl Repetition {
    /// The function to whose queue the message is sent, if any.
    pub fn function(&self) -> Option<&'static str> {
        match self {
            Self::Send(_, message) => Some(message.function),
            Self::Plan(..) => None,
        }
    }

    /// Repeats the work.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB or SQS cannot be reached.
    pub async fn run(&self, app: &App, tenant: &Tenant) -> Result<()> {
        match self {
            Self::Send(at, message) => app.send_at(*at, message).await,
            Self::Plan(id, event) => plan::plan(app, tenant, id, event).await,
        }
    }
}

/// The repetition of the work that an overdue item waits for; none if it no longer waits.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn repetition(app: &App, waiting: &Waiting) -> Result<Option<Repetition>> {
    let Waiting {
        tenant,
        id,
        endpoint,
        due,
    } = waiting;
    if id.is(Kind::Event) {
        let event = app.store.find::<Event>(tenant, id).await?;
        let unplanned = event.filter(|event| event.internal.unplanned_since.is_some());
        return Ok(unplanned.map(|event| Repetition::Plan(id.clone(), Box::new(event))));
    }
    let Some(endpoint) = endpoint else {
        let next = current_message(app, tenant, id, *due).await?;
        return Ok(next.map(|(at, message)| Repetition::Send(at, message)));
    };
    let delivery = app.store.delivery(tenant, endpoint, id).await?;
    match delivery.filter(|(_, delivery)| delivery.is_open()) {
        Some((event, delivery)) => {
            let message = plan::next_attempt(tenant, &event, endpoint, &delivery).message()?;
            Ok(Some(Repetition::Send(delivery.next_at, message)))
        }
        None => Ok(None),
    }
}

/// The message that an object waits for in its present state, and its time. It names only the object, so that the job reads the state
/// first.
async fn current_message(
    app: &App,
    tenant: &Tenant,
    id: &Id,
    due: Timestamp,
) -> Result<Option<(Timestamp, Message)>> {
    let Some(kind) = id.kind() else {
        return Ok(None);
    };
    let mut possible = Action::of(kind);
    let next = match (possible.next(), possible.next(), followers(kind)) {
        (Some(action), None, _) => Some((due, action)),
        (Some(_), Some(_), Some(followers)) => (followers.next)(app, tenant, id).await?,
        _ => None,
    };
    let Some((at, action)) = next else {
        return Ok(None);
    };
    Ok(actions::message(tenant, id, action)?.map(|message| (at, message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_action_of_every_kind_can_be_read() {
        for action in Action::ALL.iter().filter(|action| action.is_scheduled()) {
            assert!(followers(action.kind()).is_some(), "{action:?}");
        }
    }
}
