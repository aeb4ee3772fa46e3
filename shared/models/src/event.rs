//! Events: changes of resources that are delivered to webhook endpoints. They are kept for 30 days.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::action::Action;
pub use super::event_type::EventType;
use super::stored::{Object, Stored};
use kernel::size::Size;
use kernel::time::days;
use kernel::version::{CURRENT, Versions};
use kernel::{Error, Id, Kind, Origin, Result, SignedDuration, Tenant, Timestamp};

/// The maximum size of the snapshot and the previous attributes of an event together, in bytes of JSON. With this limit the event stays
/// well below the 400 KB that DynamoDB allows for an item.
const MAX_DATA: usize = 256 * 1024;

/// How long events and delivery attempts are kept.
pub const KEPT: SignedDuration = days(30);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    pub id: Id,
    pub object: Kind,
    /// Id of the account in which the event happened.
    pub account: Id,
    /// The API version in which the payload is rendered.
    pub api_version: String,
    pub created: Timestamp,
    /// Object that the event is about.
    pub data: EventData,
    /// Whether the event happened in live mode; otherwise in test mode.
    pub livemode: bool,
    /// The number of deliveries that are neither acknowledged nor given up. It is counted when the event is retrieved or listed. In the body
    /// that an endpoint receives, or reads by polling, it is 0.
    pub pending_webhooks: u32,
    /// The request that caused the event; null if the service acted without a request.
    pub request: Option<EventRequest>,
    /// Number of the event among those about its object. The numbers start at 1 and have no gaps. For `ping` it is 1.
    #[serde(default = "first")]
    #[schema(required, minimum = 1)]
    pub sequence: u64,
    /// Type of the event: the kind of object, and the change.
    #[serde(rename = "type")]
    pub kind: EventType,
}

impl Object for Event {
    type Internal = EventInternal;

    const KIND: Kind = Kind::Event;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let unplanned_since = stored.internal.unplanned_since;
        unplanned_since.map(|since| (since, Action::PlanDeliveries))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventData {
    /// The resource as it was when the event happened.
    pub object: Value,
    /// For `*.updated`: the changed members with their previous values. Omitted if it and `object` would together be larger than 256 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_attributes: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventRequest {
    /// Id of the request, as in its header `Service-Request-Id`.
    pub id: Id,
    /// `Idempotency-Key` of the request; null if it had none.
    pub idempotency_key: Option<String>,
}

/// The internal state of an event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EventInternal {
    /// The webhook endpoints to which the event is delivered; none until the relay has found the subscribed endpoints.
    pub endpoints: Option<Vec<Id>>,
    /// The fleets that the event belongs to besides those that its snapshot shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fleets: Vec<Id>,
    /// The time at which the event was written, as long as the relay has not sent the messages for its deliveries.
    pub unplanned_since: Option<Timestamp>,
    /// The API version in which the snapshot is stored.
    pub shape: String,
}

fn current() -> String {
    CURRENT.to_owned()
}

fn first() -> u64 {
    1
}

/// The progress of the delivery to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Attempts claimed so far.
    pub attempts: u32,
    pub state: DeliveryState,
    /// Waiting: when the next attempt is due. Claimed: when the attempt counts as lost.
    pub next_at: Timestamp,
    /// The number of attempts that were made before a redelivery, by request or by a replay; none without a redelivery.
    pub redelivered_after: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    Waiting,
    Claimed,
    Delivered,
    /// The endpoint was deleted or disabled, or the receiver has refused further attempts.
    GivenUp,
    /// The last attempt has failed.
    Exhausted,
}

impl Delivery {
    /// Returns a delivery that waits for its next attempt.
    pub fn waiting(attempts: u32, next_at: Timestamp) -> Self {
        Self {
            attempts,
            state: DeliveryState::Waiting,
            next_at,
            redelivered_after: None,
        }
    }

    /// Returns a delivery that waits to be repeated, after this number of attempts.
    pub fn once_more(attempts: u32, next_at: Timestamp) -> Self {
        Self {
            redelivered_after: Some(attempts),
            ..Self::waiting(attempts, next_at)
        }
    }

    /// Returns a delivery that a worker repeats, after this number of attempts; the claim ends at `until`.
    pub fn claimed_once_more(attempts: u32, until: Timestamp) -> Self {
        Self {
            attempts: attempts + 1,
            state: DeliveryState::Claimed,
            ..Self::once_more(attempts, until)
        }
    }

    /// Checks whether another attempt is possible.
    pub fn is_open(&self) -> bool {
        matches!(self.state, DeliveryState::Waiting | DeliveryState::Claimed)
    }
}

impl EventInternal {
    /// Returns the state of an event for which the relay has to plan the deliveries.
    pub fn unplanned(since: Timestamp) -> Self {
        Self {
            endpoints: None,
            fleets: Vec::new(),
            unplanned_since: Some(since),
            shape: current(),
        }
    }

    /// Returns the state of an event for which the relay has to send the messages to these endpoints.
    pub fn unplanned_for(endpoints: Vec<Id>, since: Timestamp) -> Self {
        Self {
            endpoints: Some(endpoints),
            ..Self::unplanned(since)
        }
    }

    /// Returns the state of an event whose messages the relay sends itself after it has written the event.
    pub fn planned(endpoints: Vec<Id>) -> Self {
        Self {
            endpoints: Some(endpoints),
            fleets: Vec::new(),
            unplanned_since: None,
            shape: current(),
        }
    }

    /// Returns the state with the fleets to which the event belongs besides those that its snapshot shows.
    #[must_use]
    pub fn of_fleets(mut self, fleets: Vec<Id>) -> Self {
        self.fleets = fleets;
        self
    }
}

/// The write of an object that an event reports.
#[derive(Debug, Clone, Copy)]
pub struct Occurrence<'a> {
    pub subject: &'a Id,
    /// The number of writes of the object, including this one.
    pub version: u64,
    /// The number of the event among those about the object.
    pub sequence: u64,
}

/// What caused an event.
#[derive(Debug, Clone)]
pub struct Cause {
    pub request: Option<EventRequest>,
    pub at: Timestamp,
    /// The API version of the account.
    pub version: String,
}

impl Cause {
    /// Returns the cause of events that this request, or the service without a request, creates now.
    pub fn of(origin: &Origin) -> Self {
        // A batch executes its bodies with keys of its own, which clients cannot send.
        let sent = origin
            .idempotency
            .as_ref()
            .filter(|idempotency| idempotency.key.bytes().all(|byte| !byte.is_ascii_control()));
        let key = sent.map(|idempotency| idempotency.key.clone());
        let request = origin.request.clone().map(|id| EventRequest {
            id,
            idempotency_key: key,
        });
        Self {
            request,
            at: origin.now,
            version: current(),
        }
    }
}

impl Event {
    /// Returns the event that reports a write of an object. Its id is derived from the object, the version, the type and the sequence, so
    /// writing it again changes nothing. The ids of the events of one write are in the order of their sequence.
    pub fn of(
        kind: EventType,
        tenant: &Tenant,
        occurrence: Occurrence<'_>,
        object: Value,
        previous: Option<&Value>,
        cause: &Cause,
    ) -> Self {
        let previous_attributes = match previous {
            Some(previous) if kind.has_previous_attributes() => {
                let changed = changed_members(previous, &object);
                (bytes(&object) + bytes(&changed) <= MAX_DATA).then_some(changed)
            }
            _ => None,
        };
        let Occurrence {
            subject,
            version,
            sequence,
        } = occurrence;
        Self {
            id: Id::derived_in_order(
                Kind::Event,
                cause.at,
                sequence,
                &format!("{subject} {version} {kind}"),
            ),
            object: Kind::Event,
            account: tenant.account.clone(),
            api_version: cause.version.clone(),
            created: cause.at,
            data: EventData {
                object,
                previous_attributes,
            },
            livemode: tenant.mode.is_live(),
            pending_webhooks: 0,
            request: cause.request.clone(),
            sequence,
            kind,
        }
    }
}

impl Event {
    /// Returns the moment before which events are not kept. Older ones are not shown, although DynamoDB may delete them days later.
    pub fn kept_since(now: Timestamp) -> Timestamp {
        now.plus(-KEPT)
    }

    /// Checks whether the event is still kept.
    ///
    /// # Errors
    /// 404 if it is older than 30 days.
    pub fn check_kept(&self, now: Timestamp) -> Result<()> {
        if self.created < Self::kept_since(now) {
            Err(Error::not_found(Kind::Event))
        } else {
            Ok(())
        }
    }
}

impl EventData {
    /// Reduces the object to its id and its kind. A `ping`, which shows no object, is not changed.
    pub fn make_thin(&mut self) {
        self.previous_attributes = None;
        if let Value::Object(members) = &mut self.object
            && members.contains_key("id")
        {
            members.retain(|name, _| matches!(name.as_str(), "id" | "object"));
        }
    }

    /// Converts the snapshot from one API version to an older one.
    pub fn downgrade(&mut self, versions: &Versions, from: &str, to: &str) {
        versions.downgrade(&mut self.object, from, to);
        let kind = self.object.get("object").cloned();
        if let (Some(Value::Object(previous)), Some(kind)) = (&mut self.previous_attributes, kind) {
            // The previous members do not include the object's type, which the conversion needs.
            previous.insert("object".into(), kind);
            let mut lent = Value::Object(std::mem::take(previous));
            versions.downgrade(&mut lent, from, to);
            if let Value::Object(mut members) = lent {
                members.remove("object");
                *previous = members;
            }
        }
    }
}

fn bytes(value: &Value) -> usize {
    // A JSON value always has a JSON text.
    Size::of(value).unwrap_or_default().bytes
}

/// Returns the members of `before` that differ in `after`, with their previous values; nested objects are compared member by member.
fn changed_members(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return before.clone();
    };
    let changed = before
        .iter()
        .filter(|(name, old)| after.get(*name) != Some(old))
        .map(|(name, old)| {
            let old = match after.get(name) {
                Some(new) if new.is_object() && old.is_object() => changed_members(old, new),
                _ => old.clone(),
            };
            (name.clone(), old)
        });
    let added = after
        .keys()
        .filter(|name| !before.contains_key(*name))
        .map(|name| (name.clone(), Value::Null));
    Value::Object(changed.chain(added).collect())
}

impl Stored<Event> {
    /// Returns the event with its snapshot in the API version in which it was created.
    pub fn shown(self, versions: &Versions) -> Event {
        let mut event = self.object;
        event
            .data
            .downgrade(versions, &self.internal.shape, &event.api_version);
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn write(subject: &Id, version: u64) -> Occurrence<'_> {
        Occurrence {
            subject,
            version,
            sequence: version,
        }
    }

    fn tenant() -> Tenant {
        Tenant::new(Id::from_number(Kind::Account, 1), kernel::Mode::Test)
    }

    /// A cause without a request, five milliseconds after the epoch.
    fn cause() -> Cause {
        Cause {
            request: None,
            at: Timestamp::from_unix_millis(5),
            version: current(),
        }
    }

    #[test]
    fn previous_attributes_hold_what_changed_and_nothing_else() {
        let before = json!({"a": 1, "b": {"c": 1, "d": 2}, "e": [1], "metadata": {"k": "v"}});
        let after = json!({"a": 1, "b": {"c": 1, "d": 3}, "e": [2], "metadata": {"n": "w"}});
        let want = json!({"b": {"d": 2}, "e": [1], "metadata": {"k": "v", "n": null}});
        assert_eq!(changed_members(&before, &after), want);
    }

    #[test]
    fn ids_of_one_write_are_in_the_order_of_its_events() {
        let invoice = Id::from_number(Kind::Invoice, 1);
        let ids = |version| {
            let kinds = [
                EventType::InvoiceCreated,
                EventType::InvoiceFinalized,
                EventType::InvoicePaid,
            ];
            let events = kinds.into_iter().zip(1..).map(|(kind, sequence)| {
                let write = Occurrence {
                    sequence,
                    ..write(&invoice, version)
                };
                Event::of(kind, &tenant(), write, json!({}), None, &cause()).id
            });
            events.collect::<Vec<_>>()
        };
        for version in 1..50 {
            assert!(ids(version).is_sorted(), "{:?}", ids(version));
            assert_eq!(ids(version)[2].time(Kind::Event), Some(cause().at));
        }
        assert_eq!(ids(1), ids(1));
        assert_ne!(ids(1), ids(2));
    }

    #[test]
    fn previous_attributes_are_omitted_if_the_event_is_too_large() {
        let tenant = tenant();
        let cause = cause();
        let fleet = Id::from_number(Kind::Fleet, 1);
        let previous = |length: usize| {
            let before = json!({"name": "a".repeat(length)});
            let after = json!({"name": "b".repeat(length)});
            let kind = EventType::FleetUpdated;
            let write = write(&fleet, 2);
            let event = Event::of(kind, &tenant, write, after, Some(&before), &cause);
            event.data.previous_attributes
        };
        let most = MAX_DATA / 2 - json!({"name": ""}).to_string().len();
        assert!(previous(most).is_some());
        assert_eq!(previous(most + 1), None);
    }

    #[test]
    fn an_event_is_kept_for_30_days() {
        let tenant = tenant();
        let fleet = Id::from_number(Kind::Fleet, 1);
        let cause = cause();
        let (kind, object) = (EventType::FleetCreated, json!({}));
        let event = Event::of(kind, &tenant, write(&fleet, 1), object, None, &cause);
        let last = Timestamp::from_unix_millis(5).plus(KEPT);
        assert!(event.check_kept(last).is_ok());
        let gone = event.check_kept(Timestamp::from_unix_millis(6).plus(KEPT));
        let gone = gone.expect_err("it is older");
        assert_eq!(gone.class(), kernel::error::ErrorClass::NotFound);
    }

    #[test]
    fn the_same_write_is_the_same_event() {
        let tenant = tenant();
        let fleet = Id::from_number(Kind::Fleet, 1);
        let cause = cause();
        let event = |version| {
            Event::of(
                EventType::FleetUpdated,
                &tenant,
                write(&fleet, version),
                json!({}),
                None,
                &cause,
            )
        };
        assert_eq!(event(1).id, event(1).id);
        assert_ne!(event(1).id, event(2).id);
    }

    #[test]
    fn every_type_shows_an_object_whose_read_scope_there_is() {
        use crate::api_key::Resource;
        for kind in EventType::ALL {
            let subject = kind.subject();
            assert!(Resource::of(subject).is_some(), "{kind}");
            let word = match kind.as_str().split('.').next() {
                Some("service") => "transaction",
                Some("ping") => "webhook_endpoint",
                word => word.unwrap_or_default(),
            };
            assert_eq!(subject.name(), word, "{kind}");
        }
    }

    #[test]
    fn names_are_sorted_and_read_back() {
        assert!(EventType::ALL.iter().map(|kind| kind.as_str()).is_sorted());
        for kind in EventType::ALL {
            assert_eq!(EventType::from_name(kind.as_str()), Some(*kind));
        }
    }
}
