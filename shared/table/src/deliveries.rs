//! Deliveries of events.
//!
//! An event is written once. Its delivery to an endpoint is an item of its own, which is also the line of the first attempt in the log of
//! the endpoint. So endpoints do not contend for one item. The worker of the first attempt creates the item, which claims the attempt, and
//! adds the outcome: two writes if the attempt succeeds. If the first attempt is made more than a minute after the event, it has a line of
//! its own. Until then only the message in the queue represents the delivery: it is received
//! again until the attempt has an outcome. Further attempts, and those of redelivered events, have lines of their own, whose ids the item
//! contains. Such a line is written in one transaction with the outcome, so that an attempt that ends after the erasure of its account
//! writes nothing.
//!
//! A delivery is `Waiting` for its next attempt until a worker claims the attempt by a conditional write, and `Delivered`, `GivenUp` or
//! `Exhausted` in the end. A claim expires at a time that the item contains: if the worker crashes, the attempt may be made again after
//! that time, with the next number. The item has `next_at`, by which the sweeper finds it, only while another attempt is due. A claim does
//! not change `next_at`, so it writes no index entry.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

use super::keys::{self, Key, Partition};
use super::list::{self, PageRequest};
use super::scan::{Filter, Pass};
use super::stored_item;
use super::unit_of_work::Write;
use super::{Item, Store, client, key_item, n, new_item, number, s, string};
use kernel::time::MINUTE;
use kernel::{Error, Id, Kind, Origin, Result, Tenant, Timestamp};
use models::event::{self, Delivery, DeliveryState};
use models::{Event, Stored, WebhookDelivery};

/// The number of further attempts whose lines the item of a delivery names, so that they are found with their event. All later lines are
/// only in the log of the endpoint.
const MAX_LINES: u32 = 200;

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

    /// Reads an event, and claims an attempt to deliver it for this worker until `until`.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn claim_attempt(
        &self,
        origin: &Origin,
        event: &Id,
        endpoint: &Id,
        number: u32,
        until: Timestamp,
    ) -> Result<Claim> {
        // No delivery is created for an event that has expired or was erased.
        let Some(event) = self.find_lately::<Event>(&origin.tenant, event).await? else {
            return Ok(Claim::Closed);
        };
        let id = &event.object.id;
        let mut claimed = Err(None);
        if number == 1 {
            let created = self.create_claimed(origin, id, endpoint, until).await?;
            claimed = created.map(|()| None);
        }
        let is_new = claimed.is_ok();
        if !is_new {
            claimed = self
                .claim_waiting(origin, id, endpoint, number, until)
                .await?;
        }
        match claimed {
            Ok(redelivered_after) => Ok(Claim::Granted(Attempt {
                event: Box::new(event),
                number,
                is_new,
                redelivered_after,
            })),
            Err(Some(other))
                if other.state == DeliveryState::Claimed && other.attempts == number =>
            {
                Ok(Claim::Held {
                    until: other.next_at,
                })
            }
            Err(_) => Ok(Claim::Closed),
        }
    }

    /// Creates a delivery whose first attempt is claimed. If the delivery exists already, it is returned in the error.
    async fn create_claimed(
        &self,
        origin: &Origin,
        event: &Id,
        endpoint: &Id,
        until: Timestamp,
    ) -> Result<Claimed> {
        let claimed = Delivery {
            attempts: 1,
            state: DeliveryState::Claimed,
            next_at: until,
            redelivered_after: None,
        };
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(delivery_item(origin, event, endpoint, &claimed)?))
            .condition_expression("attribute_not_exists(pk)")
            .return_values_on_condition_check_failure(AllOld);
        let created = refused(put.send().await, |error| match error {
            PutItemError::ConditionalCheckFailedException(refused) => Some(refused.item()),
            _ => None,
        })?;
        Ok(created.map(drop))
    }

    /// Claims the next attempt of a delivery that is due, or whose last claim has expired, and returns its `redelivered_after`. Otherwise
    /// the delivery is returned in the error.
    async fn claim_waiting(
        &self,
        origin: &Origin,
        event: &Id,
        endpoint: &Id,
        number: u32,
        until: Timestamp,
    ) -> Result<Claimed<Option<u32>>> {
        let line = WebhookDelivery::id_of(event, endpoint, number, origin.now);
        let is_listed = number <= MAX_LINES;
        let lines = if is_listed {
            ", further = list_append(if_not_exists(further, :none), :line)"
        } else {
            ""
        };
        let mut call = self
            .update_delivery(origin, event, endpoint)
            .update_expression(format!(
                "SET attempts = :attempts, delivery = :claimed, claimed_until = :until{lines}"
            ))
            .condition_expression(
                "attempts = :before AND ((delivery = :waiting AND next_at <= :now) \
                 OR (delivery = :claimed AND claimed_until <= :now))",
            )
            .expression_attribute_values(":attempts", n(number))
            .expression_attribute_values(":before", n(number - 1))
            .expression_attribute_values(":now", s(origin.now.to_string()))
            .expression_attribute_values(":until", s(until.to_string()))
            .expression_attribute_values(":waiting", state(DeliveryState::Waiting)?)
            .expression_attribute_values(":claimed", state(DeliveryState::Claimed)?)
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(AllOld);
        if is_listed {
            let list = |ids: Vec<AttributeValue>| AttributeValue::L(ids);
            call = call
                .expression_attribute_values(":none", list(Vec::new()))
                .expression_attribute_values(":line", list(vec![s(line.as_str())]));
        }
        let claimed = refused(call.send().await, by_update)?;
        Ok(claimed.map(|output| redelivered_after(output.attributes()?)))
    }

    fn update_delivery(
        &self,
        origin: &Origin,
        event: &Id,
        endpoint: &Id,
    ) -> UpdateItemFluentBuilder {
        let first = WebhookDelivery::first_id(event, endpoint);
        let call = self.client.update_item().table_name(&self.table);
        call.set_key(Some(key_item(delivery_key(origin, endpoint, &first))))
    }

    /// Records the outcome of a claimed attempt: in the delivery itself if the attempt has created it and is not late, otherwise together with
    /// a line of its own. The origin is that of the claim. A delivery that another instance has claimed since is not changed; the attempt has a line of its own then. Nothing is written
    /// if the delivery no longer exists, because it has expired or its account was erased.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn conclude_attempt(
        &self,
        origin: &Origin,
        is_new: bool,
        delivery: &Delivery,
        log: WebhookDelivery,
    ) -> Result<()> {
        let is_new = is_new && !is_late(origin, &log.event);
        let conclusion = self.conclusion(origin, is_new, delivery, &log)?;
        let is_concluded = if is_new {
            match self.update_alone(conclusion).await? {
                Ok(()) => true,
                Err(Some(_)) => false,
                Err(None) => return Ok(()),
            }
        } else {
            let mut tx = self.begin(origin);
            tx.push(Write::Update(conclusion), Error::Contended);
            tx.create(&mut Stored::new(log.clone()))?;
            tx.write(None).await?.is_none()
        };
        if is_concluded {
            Ok(())
        } else {
            self.add_line(origin, log, is_new).await
        }
    }

    /// The update of a delivery by the outcome of its attempt, if no other instance has claimed it since.
    fn conclusion(
        &self,
        origin: &Origin,
        is_new: bool,
        delivery: &Delivery,
        log: &WebhookDelivery,
    ) -> Result<UpdateBuilder> {
        let id = WebhookDelivery::first_id(&log.event, &log.webhook_endpoint);
        let first = WebhookDelivery {
            id: id.clone(),
            ..log.clone()
        };
        let mut item = stored_item::to_item(&Stored::new(first), origin)?;
        let partition = keys::next_action_partition(string(&item, "pk"), string(&item, "sk"));
        let mut set = vec!["delivery = :state"];
        let mut removed = vec!["claimed_until"];
        let mut update = self
            .update(delivery_key(origin, &log.webhook_endpoint, &id))
            .condition_expression("attempts = :attempts AND delivery = :claimed")
            .expression_attribute_values(":state", state(delivery.state)?)
            .expression_attribute_values(":attempts", n(log.attempt))
            .expression_attribute_values(":claimed", state(DeliveryState::Claimed)?);
        if delivery.is_open() {
            set.extend(["next_pk = :next_pk", "next_at = :next_at"]);
            update = update
                .expression_attribute_values(":next_pk", s(partition))
                .expression_attribute_values(":next_at", s(delivery.next_at.to_string()));
        } else {
            removed.extend(["next_pk", "next_at"]);
        }
        if let Some(AttributeValue::M(mut members)) = item.remove("object").filter(|_| is_new) {
            // The item contains the event already.
            members.remove("event");
            let object = AttributeValue::M(members);
            set.push("#object = :object");
            update = update
                .expression_attribute_names("#object", "object")
                .expression_attribute_values(":object", object);
        }
        let (set, removed) = (set.join(", "), removed.join(", "));
        Ok(update.update_expression(format!("SET {set} REMOVE {removed}")))
    }

    /// Sends an update of a delivery by itself, for half the price of a transaction.
    async fn update_alone(&self, update: UpdateBuilder) -> Result<Claimed> {
        let update = update.build().map_err(Error::internal)?;
        let call = self
            .client
            .update_item()
            .table_name(update.table_name)
            .set_key(Some(update.key))
            .update_expression(update.update_expression)
            .set_condition_expression(update.condition_expression)
            .set_expression_attribute_names(update.expression_attribute_names)
            .set_expression_attribute_values(update.expression_attribute_values)
            .return_values_on_condition_check_failure(AllOld);
        let updated = refused(call.send().await, by_update)?;
        Ok(updated.map(drop))
    }

    /// Adds a line to the log of an endpoint, once, if the delivery exists. If the attempt has created the delivery, the delivery does not
    /// name the line yet.
    async fn add_line(&self, origin: &Origin, line: WebhookDelivery, is_new: bool) -> Result<()> {
        let first = WebhookDelivery::first_id(&line.event, &line.webhook_endpoint);
        if line.id == first {
            // The delivery itself has the place of the line.
            return Ok(());
        }
        let key = delivery_key(origin, &line.webhook_endpoint, &first);
        let condition = "attribute_exists(pk)";
        let named = if is_new {
            let list = |ids: Vec<AttributeValue>| AttributeValue::L(ids);
            let update = self
                .update(key)
                .update_expression(
                    "SET further = list_append(:line, if_not_exists(further, :none))",
                )
                .condition_expression(condition)
                .expression_attribute_values(":none", list(Vec::new()))
                .expression_attribute_values(":line", list(vec![s(line.id.as_str())]));
            Write::Update(update)
        } else {
            Write::Check(self.check(key).condition_expression(condition))
        };
        let mut tx = self.begin(origin);
        tx.push(named, Error::Contended);
        tx.create(&mut Stored::new(line))?;
        tx.write(None).await.map(drop)
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

/// An attempt that this worker has claimed.
#[derive(Debug)]
pub struct Attempt {
    pub event: Box<Stored<Event>>,
    /// The first is 1.
    pub number: u32,
    /// Whether it is the first attempt of all to deliver the event to the endpoint.
    pub is_new: bool,
    pub redelivered_after: Option<u32>,
}

/// The result of claiming an attempt.
#[derive(Debug)]
pub enum Claim {
    /// This worker has claimed it.
    Granted(Attempt),
    /// Another worker makes this attempt, or crashed during it; the claim expires at `until`.
    Held { until: Timestamp },
    /// No attempt may be made: it was made already, is not due, or nothing is left to deliver.
    Closed,
}

/// The result of a conditional write. The error contains the delivery that failed the condition, if there is one.
type Claimed<T = ()> = std::result::Result<T, Option<Delivery>>;

/// Converts the result of a conditional write. `refusal` is the item that failed the condition.
fn refused<T, E>(
    sent: std::result::Result<T, SdkError<E>>,
    refusal: impl Fn(&E) -> Option<Option<&Item>>,
) -> Result<Claimed<T>>
where
    E: std::error::Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    let refusal = match &sent {
        Err(SdkError::ServiceError(failure)) => refusal(failure.err()),
        _ => None,
    };
    match refusal {
        Some(item) => Ok(Err(item.map(read_delivery).transpose()?)),
        None => sent.map(Ok).map_err(client::failure),
    }
}

fn by_update(error: &UpdateItemError) -> Option<Option<&Item>> {
    match error {
        UpdateItemError::ConditionalCheckFailedException(refused) => Some(refused.item()),
        _ => None,
    }
}

/// Checks whether a first attempt is made so long after its event that it has a line of its own in the log of the endpoint, which lists lines
/// by their times.
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
