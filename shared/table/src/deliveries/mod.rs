//! Deliveries of events.
//!
//! An event is written once. Its delivery to an endpoint is an item of its own, which is also the line of the first attempt in the log of
//! the endpoint. So endpoints do not contend for one item. The worker of the first attempt creates the item, which claims the attempt, and
//! adds the outcome: two writes if the attempt succeeds. If the first attempt is made more than a minute after the event, it has a line of
//! its own. Until then only the message in the queue represents the delivery: it is received again until the attempt has an outcome.
//! Further attempts, and those of redelivered events, have lines of their own, whose ids the item contains. Such a line is written in one
//! transaction with the outcome, so that an attempt that ends after the erasure of its account writes nothing.
//!
//! A delivery is `Waiting` for its next attempt until a worker claims the attempt by a conditional write, and `Delivered`, `GivenUp` or
//! `Exhausted` in the end. A claim expires at a time that the item contains: if the worker crashes, the attempt may be made again after
//! that time, with the next number. The item has `next_at`, by which the sweeper finds it, only while another attempt is due. A claim does
//! not change `next_at`, so it writes no index entry.

mod attempts;

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;

use super::keys::{self, Key, Partition};
use super::list::{self, PageRequest};
use super::scan::{Filter, Pass};
use super::stored_item;
use super::{Item, Store, client, key_item, n, new_item, number, s, string};
use kernel::time::MINUTE;
use kernel::{Error, Id, Kind, Origin, Result, Tenant, Timestamp};
use models::event::{self, Delivery, DeliveryState};
use models::{Event, Stored, WebhookDelivery};

pub use attempts::{Attempt, Claim};

/// The deliveries of an event, by webhook endpoint.
pub type Deliveries = BTreeMap<Id, Delivery>;

impl Store {
    /// Reads an event to show it, with the number of its open deliveries.
    ///
    /// # Errors
    /// `event_not_found`; `Unavailable` if DynamoDB cannot be reached.
    pub async fn event(&self, tenant: &Tenant, id: &Id) -> Result<Stored<Event>> {
        let mut events = [self.get::<Event>(tenant, id).await?];
        self.count_pending(tenant, &mut events).await?;
        let [event] = events;
        Ok(event)
    }

    /// Reads an event and its deliveries, to decide on them.
    ///
    /// # Errors
    /// `event_not_found`; `Unavailable` if DynamoDB cannot be reached.
    pub async fn event_with_deliveries(
        &self,
        tenant: &Tenant,
        id: &Id,
    ) -> Result<(Stored<Event>, Deliveries)> {
        let event = self.load::<Event>(tenant, id).await?;
        let endpoints = event.internal.endpoints.iter().flatten();
        let pairs: Vec<_> = endpoints.map(|endpoint| (id, endpoint)).collect();
        let deliveries = self.deliveries_of(tenant, &pairs, true).await?;
        let of_event = deliveries.into_iter();
        let by_endpoint = of_event.map(|((_, endpoint), delivery)| (endpoint, delivery));
        Ok((event, by_endpoint.collect()))
    }

    /// Returns the events of a part of the list with these types, the oldest first, and whether more follow.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn events_onward(
        &self,
        tenant: &Tenant,
        page_request: &PageRequest,
        types: &[&str],
    ) -> Result<(Vec<Stored<Event>>, Option<Id>)> {
        let kind = Kind::Event;
        let partition = Partition::Kind { tenant, kind };
        let among = list::Among {
            member: "type",
            values: types,
        };
        let found = self.list_among::<Event>(partition, page_request, Vec::new(), among);
        let mut found = found.await?;
        found.items.reverse();
        let last = found.items.last().map(|event| event.object.id.clone());
        let next = found.end.or(last).filter(|_| found.newer);
        Ok((found.items, next))
    }

    /// Returns the deliveries of these events to these endpoints that a worker has started, by event and endpoint.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn deliveries_of(
        &self,
        tenant: &Tenant,
        pairs: &[(&Id, &Id)],
        consistent: bool,
    ) -> Result<BTreeMap<(Id, Id), Delivery>> {
        let key = |event: &Id, endpoint: &Id| {
            let delivery = &WebhookDelivery::first_id(event, endpoint);
            key_item(Key::Delivery {
                tenant,
                endpoint,
                delivery,
            })
        };
        let keys = pairs.iter().map(|(event, endpoint)| key(event, endpoint));
        let items = self.items(keys.collect(), None, consistent).await?;
        let mut deliveries = BTreeMap::new();
        for item in &items {
            let key = keys::parse_delivery(string(item, "pk"), string(item, "sk"));
            if let Some((_, endpoint, _)) = key {
                let event = Id::from(string(item, "event"));
                deliveries.insert((event, endpoint), read_delivery(item)?);
            }
        }
        Ok(deliveries)
    }

    /// Counts the open deliveries of events that were read without them. Deliveries that no worker has started are open.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn count_pending(&self, tenant: &Tenant, events: &mut [Stored<Event>]) -> Result<()> {
        let pairs: Vec<(&Id, &Id)> = events
            .iter()
            .flat_map(|event| {
                let endpoints = event.internal.endpoints.iter().flatten();
                endpoints.map(|endpoint| (&event.object.id, endpoint))
            })
            .collect();
        let deliveries = self.deliveries_of(tenant, &pairs, false).await?;
        for event in events {
            let delivery =
                |endpoint: &Id| deliveries.get(&(event.object.id.clone(), endpoint.clone()));
            let endpoints = event.internal.endpoints.iter().flatten();
            let open =
                endpoints.filter(|endpoint| delivery(endpoint).is_none_or(Delivery::is_open));
            event.object.pending_webhooks = u32::try_from(open.count()).unwrap_or(u32::MAX);
        }
        Ok(())
    }

    /// Returns the next deliveries, in no order, that only a message represents, each with its event, its endpoint and the attempts so far,
    /// and the pass after them. These are the deliveries that no worker has started, and those whose first attempt has no outcome.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn unindexed_deliveries(&self, pass: &Pass) -> Result<(Vec<Unindexed>, Pass)> {
        let filter = Filter {
            expression: "begins_with(sk, :events)",
            values: HashMap::from([(":events".to_owned(), s(Kind::Event.prefix()))]),
        };
        let (items, next) = self.next_items(pass, Some(&filter), None, true).await?;
        let mut unindexed = Vec::new();
        for item in items {
            let key = keys::parse_event(string(&item, "pk"), string(&item, "sk"));
            let Some((tenant, id)) = key else { continue };
            let event: Stored<Event> = stored_item::from_item(item)?;
            let endpoints = event.internal.endpoints.unwrap_or_default();
            let pairs: Vec<_> = endpoints.iter().map(|endpoint| (&id, endpoint)).collect();
            let begun = self.deliveries_of(&tenant, &pairs, true).await?;
            for endpoint in endpoints {
                let delivery = begun.get(&(id.clone(), endpoint.clone()));
                if delivery.is_none_or(|delivery| delivery.state == DeliveryState::Claimed) {
                    unindexed.push(Unindexed {
                        tenant: tenant.clone(),
                        event: id.clone(),
                        endpoint,
                        attempts: delivery.map_or(0, |delivery| delivery.attempts),
                    });
                }
            }
        }
        Ok((unindexed, next))
    }

    /// Returns the event and the state of a delivery that a worker has started; `None` if there is no such delivery.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn delivery(
        &self,
        tenant: &Tenant,
        endpoint: &Id,
        delivery: &Id,
    ) -> Result<Option<(Id, Delivery)>> {
        let key = Key::Delivery {
            tenant,
            endpoint,
            delivery,
        };
        let item = self.item(key, true).await?;
        let read = |item: Item| Ok((Id::from(string(&item, "event")), read_delivery(&item)?));
        item.map(read).transpose()
    }

    /// Creates an event that the relay made from a change of the table. An existing event is not changed, so that an interrupted call can
    /// be repeated.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn add_event(&self, origin: &Origin, event: &mut Stored<Event>) -> Result<()> {
        let mut tx = self.begin(origin);
        tx.create(event)?;
        tx.write(None).await.map(drop)
    }

    /// Records the endpoints for which the messages of an event were sent, and sets the API version of the event to that of its account,
    /// once.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn note_planned(
        &self,
        origin: &Origin,
        event: &Id,
        endpoints: &[Id],
        version: &str,
    ) -> Result<()> {
        let key = key_item(Key::Event {
            tenant: &origin.tenant,
            id: event,
        });
        let call = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key))
            .update_expression(
                "SET #internal.endpoints = :endpoints, #object.api_version = :version \
                 REMOVE #internal.unplanned_since, next_pk, next_at, #version",
            )
            .condition_expression("attribute_exists(#internal.unplanned_since)")
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_names("#version", "version")
            .expression_attribute_names("#object", "object")
            .expression_attribute_values(
                ":endpoints",
                serde_dynamo::to_attribute_value(endpoints).map_err(Error::internal)?,
            )
            .expression_attribute_values(":version", s(version));
        client::if_met(call.send().await).map(drop)
    }
}

/// A delivery that only a message represents.
#[derive(Debug)]
pub struct Unindexed {
    pub tenant: Tenant,
    pub event: Id,
    pub endpoint: Id,
    /// The number of attempts claimed so far.
    pub attempts: u32,
}

/// Checks whether a first attempt is made so long after its event that it has a line of its own in the log of the endpoint, which lists
/// lines by their times.
fn is_late(origin: &Origin, event: &Id) -> bool {
    let at = event.time(Kind::Event);
    at.is_some_and(|at| origin.now.since(at) > MINUTE)
}

/// Returns the key of the item of a delivery to an endpoint, which has the id of its first attempt.
pub(super) fn delivery_key<'a>(origin: &'a Origin, endpoint: &'a Id, delivery: &'a Id) -> Key<'a> {
    Key::Delivery {
        tenant: &origin.tenant,
        endpoint,
        delivery,
    }
}

/// Returns the item of a delivery without an outcome.
pub(super) fn delivery_item(
    origin: &Origin,
    event: &Id,
    endpoint: &Id,
    delivery: &Delivery,
) -> Result<Item> {
    let first = WebhookDelivery::first_id(event, endpoint);
    let mut item = new_item(delivery_key(origin, endpoint, &first));
    let partition = keys::next_action_partition(string(&item, "pk"), string(&item, "sk"));
    item.insert("event".into(), s(event.as_str()));
    item.insert("attempts".into(), n(delivery.attempts));
    item.insert("delivery".into(), state(delivery.state)?);
    let moment = s(delivery.next_at.to_string());
    if delivery.state == DeliveryState::Claimed {
        item.insert("claimed_until".into(), moment);
    } else {
        item.insert("next_pk".into(), s(partition));
        item.insert("next_at".into(), moment);
    }
    if let Some(earlier) = delivery.redelivered_after {
        item.insert("redelivered_after".into(), n(earlier));
    }
    if delivery.state == DeliveryState::Claimed && is_late(origin, event) {
        let line = WebhookDelivery::id_of(event, endpoint, delivery.attempts, origin.now);
        item.insert("further".into(), AttributeValue::L(vec![s(line.as_str())]));
    }
    let expires = origin.now.plus(event::KEPT);
    item.insert("ttl".into(), n(expires.unix_seconds()));
    Ok(item)
}

/// # Errors
/// A permanent `Internal` if the item is not that of a delivery.
fn read_delivery(item: &Item) -> Result<Delivery> {
    let state = item.get("delivery").cloned();
    let state = state.ok_or_else(|| Error::permanent("a delivery without a state"))?;
    let state = serde_dynamo::from_attribute_value(state).map_err(Error::permanent)?;
    let moment = match state {
        DeliveryState::Waiting => string(item, "next_at"),
        DeliveryState::Claimed => string(item, "claimed_until"),
        DeliveryState::Delivered | DeliveryState::GivenUp | DeliveryState::Exhausted => "",
    };
    Ok(Delivery {
        attempts: u32::try_from(number(item, "attempts")).map_err(Error::permanent)?,
        state,
        next_at: Timestamp::parse(moment).unwrap_or(Timestamp::EPOCH),
        redelivered_after: redelivered_after(item),
    })
}

fn redelivered_after(item: &Item) -> Option<u32> {
    let earlier = item.get("redelivered_after")?.as_n().ok()?;
    earlier.parse().ok()
}

/// Returns the event and the state of a delivery from its item in the stream; `None` for the line of a further attempt.
///
/// # Errors
/// A permanent `Internal` if the item is not that of a delivery.
pub fn delivery_of(item: serde_dynamo::Item) -> Result<Option<(Id, Delivery)>> {
    let item: Item = item.into();
    if !item.contains_key("delivery") {
        return Ok(None);
    }
    let event = Id::from(string(&item, "event"));
    Ok(Some((event, read_delivery(&item)?)))
}

pub(super) fn state(state: DeliveryState) -> Result<AttributeValue> {
    serde_dynamo::to_attribute_value(state).map_err(Error::internal)
}
