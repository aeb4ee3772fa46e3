//! Deliveries of events.
//!
//! An event is written once. How far its delivery to an endpoint has come is a row of its own, so
//! that endpoints do not contend for one row. The relay creates these rows; each is `Waiting` for its next attempt until a worker
//! claims the attempt by a conditional write, and `Delivered` or `GivenUp` in the end. A claim holds until a moment in the row:
//! when the worker dies, the attempt may be claimed again after it. `next_at`, by which the sweeper finds the row, is not moved by a
//! claim, so that a claim writes no index.
//!
//! An attempt is written to the log of the endpoint before its outcome is written to the delivery: after a crash in between, the
//! attempt is made again, and both are in the log.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{AttributeValue, Update};
use futures::future::{try_join, try_join_all};

use super::keys::{self, Key, Partition};
use super::list::{Cursor, Page, PageRequest};
use super::row;
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, client, key_item, n, new_item, number, s, string};
use kernel::error::{Error, Result};
use kernel::id::{Id, Kind};
use kernel::origin::{Origin, Tenant};
use kernel::time::Timestamp;
use models::event::{self, Delivery, DeliveryState, Event};
use models::stored::{Object as _, Stored};
use models::webhook_delivery::WebhookDelivery;
use models::webhook_endpoint::{MAX_ENDPOINTS, WebhookEndpoint};

/// The deliveries of an event, by webhook endpoint.
pub type Deliveries = BTreeMap<Id, Delivery>;

impl Store {
    /// Every webhook endpoint of a tenant, newest first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn webhook_endpoints(&self, tenant: &Tenant) -> Result<Vec<WebhookEndpoint>> {
        let partition = Partition::Kind {
            tenant,
            kind: Kind::WebhookEndpoint,
        };
        let found = self
            .list(partition, &PageRequest::first(MAX_ENDPOINTS), Vec::new())
            .await?;
        Ok(found.rows.into_iter().map(|row| row.object).collect())
    }

    /// One page of the log of an endpoint, newest first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn deliveries(
        &self,
        tenant: &Tenant,
        endpoint: &Id,
        page_request: &PageRequest,
    ) -> Result<Page<Stored<WebhookDelivery>>> {
        let partitions = 0..keys::ATTEMPT_SHARDS;
        let reads = partitions.map(|number| {
            let pk = keys::attempts_partition(tenant, endpoint, number);
            self.collection(pk, Kind::WebhookDelivery, page_request)
        });
        let mut items: Vec<Item> = try_join_all(reads).await?.into_iter().flatten().collect();
        items.sort_by(|a, b| string(a, "sk").cmp(string(b, "sk")));
        if !matches!(page_request.from, Cursor::Before(_)) {
            items.reverse();
        }
        Page::from_rows(items, page_request).try_map(row::from_item)
    }

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
        try_join(
            self.load::<Event>(tenant, id),
            self.deliveries_of(tenant, id),
        )
        .await
    }

    async fn deliveries_of(&self, tenant: &Tenant, event: &Id) -> Result<Deliveries> {
        let pages = self.client.query().table_name(&self.table);
        let items: Vec<Item> = pages
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", s(keys::deliveries_partition(tenant, event)))
            .consistent_read(true)
            .into_paginator()
            .items()
            .send()
            .try_collect()
            .await
            .map_err(client::failure)?;
        let deliveries = items.iter();
        deliveries
            .map(|item| Ok((Id::from(string(item, "sk")), read_delivery(item)?)))
            .collect()
    }

    /// Counts the open deliveries of events that were read without them.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn count_pending(&self, tenant: &Tenant, events: &mut [Stored<Event>]) -> Result<()> {
        let keys = events.iter().flat_map(|row| {
            let endpoints = row.internal.endpoints.iter().flatten();
            endpoints.map(|endpoint| {
                key_item(Key::Delivery {
                    tenant,
                    event: &row.object.id,
                    endpoint,
                })
            })
        });
        let items = self.items(keys.collect(), None, false).await?;
        let mut deliveries: BTreeMap<(String, String), Delivery> = BTreeMap::new();
        for item in &items {
            let key = (string(item, "pk").to_owned(), string(item, "sk").to_owned());
            deliveries.insert(key, read_delivery(item)?);
        }
        for row in events {
            let event = row.object.id.clone();
            row.object.pending_webhooks = pending(row, |endpoint| {
                let key = Key::Delivery {
                    tenant,
                    event: &event,
                    endpoint,
                };
                deliveries.get(&key.pair()).is_none_or(Delivery::is_open)
            });
        }
        Ok(())
    }

    /// How far a delivery has come; none if there is no such delivery.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn delivery(
        &self,
        tenant: &Tenant,
        event: &Id,
        endpoint: &Id,
    ) -> Result<Option<Delivery>> {
        let key = Key::Delivery {
            tenant,
            event,
            endpoint,
        };
        let item = self.item(key, true).await?;
        item.map(|item| read_delivery(&item)).transpose()
    }

    /// Creates an event that the relay made from a change of the table, and its deliveries. What exists already stays as it is, so
    /// that an interrupted call can be repeated.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn add_event(
        &self,
        origin: &Origin,
        event: &mut Stored<Event>,
        deliveries: &Deliveries,
    ) -> Result<()> {
        let mut tx = self.begin(origin);
        tx.create(event)?;
        tx.write(None).await?;
        self.add_deliveries(origin, &event.object.id, deliveries)
            .await
    }

    /// Creates those of these deliveries that do not exist yet.
    async fn add_deliveries(
        &self,
        origin: &Origin,
        event: &Id,
        deliveries: &Deliveries,
    ) -> Result<()> {
        let puts = deliveries.iter().map(async |(endpoint, delivery)| {
            let mut tx = self.begin(origin);
            tx.put_delivery(event, endpoint, delivery)?;
            tx.write(None).await.map(drop)
        });
        try_join_all(puts).await.map(drop)
    }

    /// Creates the deliveries of an event that was written without them, and gives it the version of its account, once.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn plan_deliveries(
        &self,
        origin: &Origin,
        event: &Id,
        deliveries: &Deliveries,
        version: &str,
    ) -> Result<()> {
        self.add_deliveries(origin, event, deliveries).await?;
        let key = key_item(Key::Event {
            tenant: &origin.tenant,
            id: event,
        });
        let endpoints: Vec<&Id> = deliveries.keys().collect();
        let call = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key))
            .update_expression(
                "SET #internal.endpoints = :endpoints, #object.api_version = :version REMOVE next_pk, next_at",
            )
            .condition_expression("attribute_not_exists(#internal.endpoints)")
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_names("#object", "object")
            .expression_attribute_values(
                ":endpoints",
                serde_dynamo::to_attribute_value(endpoints).map_err(Error::internal)?,
            )
            .expression_attribute_values(":version", s(version));
        match call.send().await {
            Ok(_) => Ok(()),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                Ok(())
            }
            Err(error) => Err(client::failure(error)),
        }
    }

    /// Claims the next attempt of a delivery for this worker until `until`, and reads the event. None when the attempt
    /// is claimed, done or given up already, or not due.
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
    ) -> Result<Option<Stored<Event>>> {
        let tenant = &origin.tenant;
        let key = Key::Delivery {
            tenant,
            event,
            endpoint,
        };
        let call = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key_item(key)))
            .update_expression(
                "SET attempts = :attempts, #state = :claimed, claimed_until = :until",
            )
            .condition_expression(
                "attempts = :before AND ((#state = :waiting AND next_at <= :now) \
                 OR (#state = :claimed AND claimed_until <= :now))",
            )
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":attempts", n(number))
            .expression_attribute_values(":before", n(number - 1))
            .expression_attribute_values(":now", s(origin.now.to_string()))
            .expression_attribute_values(":until", s(until.to_string()))
            .expression_attribute_values(":waiting", state(DeliveryState::Waiting)?)
            .expression_attribute_values(":claimed", state(DeliveryState::Claimed)?);
        match call.send().await {
            Ok(_) => {}
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                return Ok(None);
            }
            Err(error) => return Err(client::failure(error)),
        }
        // None if the event has expired.
        self.find(tenant, event).await
    }

    /// Records the outcome of a claimed attempt. A delivery that another instance has taken over stays as it is.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn conclude_attempt(
        &self,
        origin: &Origin,
        event: &Stored<Event>,
        endpoint: &Id,
        delivery: &Delivery,
        log: &WebhookDelivery,
    ) -> Result<()> {
        let mut tx = self.begin(origin);
        tx.create(&mut Stored::new(log.clone()))?;
        tx.write(None).await?;
        let key = Key::Delivery {
            tenant: &origin.tenant,
            event: &event.object.id,
            endpoint,
        };
        let call = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key_item(key)))
            .condition_expression("attempts = :attempts AND #state = :claimed")
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":state", state(delivery.state)?)
            .expression_attribute_values(":attempts", n(log.attempt))
            .expression_attribute_values(":claimed", state(DeliveryState::Claimed)?);
        let call = match delivery.is_open() {
            true => call
                .update_expression("SET #state = :state, next_at = :next_at REMOVE claimed_until")
                .expression_attribute_values(":next_at", s(delivery.next_at.to_string())),
            false => {
                call.update_expression("SET #state = :state REMOVE claimed_until, next_pk, next_at")
            }
        };
        match call.send().await {
            Ok(_) => Ok(()),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                Ok(())
            }
            Err(error) => Err(client::failure(error)),
        }
    }
}

/// How many of an event's deliveries are open.
fn pending(event: &Stored<Event>, is_open: impl Fn(&Id) -> bool) -> u32 {
    let endpoints = event.internal.endpoints.iter().flatten();
    let open = endpoints.filter(|endpoint| is_open(endpoint));
    u32::try_from(open.count()).unwrap_or(u32::MAX)
}

/// The row of a delivery.
fn delivery_item(
    tenant: &Tenant,
    event: &Id,
    endpoint: &Id,
    delivery: &Delivery,
    expires: Timestamp,
) -> Result<Item> {
    let mut item = new_item(Key::Delivery {
        tenant,
        event,
        endpoint,
    });
    let partition = keys::next_action_partition(string(&item, "pk"), string(&item, "sk"));
    item.insert("attempts".into(), n(delivery.attempts));
    item.insert("state".into(), state(delivery.state)?);
    if delivery.is_open() {
        item.insert("next_pk".into(), s(partition));
        item.insert("next_at".into(), s(delivery.next_at.to_string()));
    }
    item.insert("ttl".into(), n(expires.unix_seconds()));
    Ok(item)
}

/// # Errors
/// A permanent `Internal` if the item is not the row of a delivery.
fn read_delivery(item: &Item) -> Result<Delivery> {
    let state = item.get("state").cloned();
    let state = state.ok_or_else(|| Error::permanent("a delivery without a state"))?;
    let state = serde_dynamo::from_attribute_value(state).map_err(Error::permanent)?;
    let moment = match state {
        DeliveryState::Waiting => string(item, "next_at"),
        DeliveryState::Claimed => string(item, "claimed_until"),
        DeliveryState::Delivered | DeliveryState::GivenUp => "",
    };
    Ok(Delivery {
        attempts: u32::try_from(number(item, "attempts")).map_err(Error::permanent)?,
        state,
        next_at: Timestamp::parse(moment).unwrap_or(Timestamp::EPOCH),
    })
}

impl UnitOfWork<'_> {
    /// Adds to the changes that the first of these accounts has one webhook endpoint more or less. `lineage` is that account
    /// and the accounts above it: each counts its own endpoints with those of the accounts below it, in `total`, and its own
    /// alone in `count`.
    ///
    /// # Errors
    /// The update cannot be built. A commit fails with 409 if one of the accounts has as many as it may have.
    pub fn count_endpoint(
        &mut self,
        lineage: &[Tenant],
        by: i8,
        most_with_children: u32,
    ) -> Result<()> {
        for (above, tenant) in lineage.iter().enumerate() {
            let is_own = above == 0;
            let mut update = Update::builder()
                .table_name(&self.store.table)
                .set_key(Some(key_item(Key::EndpointCount { tenant })))
                .update_expression(match is_own {
                    true => "ADD #total :by, #count :by",
                    false => "ADD #total :by",
                })
                .expression_attribute_names("#total", "total")
                .expression_attribute_values(":by", n(by));
            if is_own {
                update = update.expression_attribute_names("#count", "count");
            }
            if by > 0 {
                let room = "(attribute_not_exists(#total) OR #total < :most_total)";
                let own_room = "(attribute_not_exists(#count) OR #count < :most)";
                update = update.expression_attribute_values(":most_total", n(most_with_children));
                update = match is_own {
                    true => update
                        .condition_expression(format!("{room} AND {own_room}"))
                        .expression_attribute_values(":most", n(MAX_ENDPOINTS)),
                    false => update.condition_expression(room),
                };
            }
            let message = match is_own {
                true => format!(
                    "There are {MAX_ENDPOINTS} webhook endpoints already, the most there can be, or {most_with_children} \
                     together with those of the accounts below this one."
                ),
                false => format!(
                    "The account {} has {most_with_children} webhook endpoints together with the accounts below it, the \
                     most it may have.",
                    tenant.account
                ),
            };
            self.push(
                Write::Update(update.build().map_err(Error::internal)?),
                Error::conflict(message, None),
            );
        }
        Ok(())
    }

    /// Creates a delivery. The row must not exist.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn put_delivery(&mut self, event: &Id, endpoint: &Id, delivery: &Delivery) -> Result<()> {
        let expires = self.origin.now.plus(event::KEPT);
        let item = delivery_item(&self.origin.tenant, event, endpoint, delivery, expires)?;
        let put = self
            .store
            .put(item)
            .condition_expression("attribute_not_exists(pk)");
        self.push(
            Write::Put(put.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Delivers an event again: to endpoints that it was delivered to before, and to others. The commit fails if one of the
    /// deliveries has changed since it was read, or if the event is delivered to other endpoints by now.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn deliver_anew(
        &mut self,
        event: &Stored<Event>,
        before: &Deliveries,
        again: &Deliveries,
    ) -> Result<()> {
        for (endpoint, delivery) in again {
            match before.get(endpoint) {
                None => self.put_delivery(&event.object.id, endpoint, delivery)?,
                Some(before) => {
                    self.reopen_delivery(&event.object.id, endpoint, before, delivery)?
                }
            }
        }
        let known = event.internal.endpoints.clone().unwrap_or_default();
        let added = again.keys().filter(|endpoint| !known.contains(endpoint));
        let endpoints: Vec<&Id> = known.iter().chain(added).collect();
        if endpoints.len() == known.len() && event.internal.endpoints.is_some() {
            return Ok(());
        }
        let list = |ids: Vec<&Id>| serde_dynamo::to_attribute_value(ids).map_err(Error::internal);
        let update = Update::builder()
            .table_name(&self.store.table)
            .set_key(Some(key_item(Key::Event {
                tenant: &self.origin.tenant,
                id: event.object.id(),
            })))
            .update_expression("SET #internal.endpoints = :endpoints REMOVE next_pk, next_at")
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_values(":endpoints", list(endpoints)?);
        let update = match &event.internal.endpoints {
            None => update.condition_expression("attribute_not_exists(#internal.endpoints)"),
            Some(read) => update
                .condition_expression("#internal.endpoints = :read")
                .expression_attribute_values(":read", list(read.iter().collect())?),
        };
        self.push(
            Write::Update(update.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Lets a delivery wait for another attempt.
    fn reopen_delivery(
        &mut self,
        event: &Id,
        endpoint: &Id,
        before: &Delivery,
        delivery: &Delivery,
    ) -> Result<()> {
        let key = key_item(Key::Delivery {
            tenant: &self.origin.tenant,
            event,
            endpoint,
        });
        let partition = keys::next_action_partition(string(&key, "pk"), string(&key, "sk"));
        let update = Update::builder()
            .table_name(&self.store.table)
            .set_key(Some(key))
            .update_expression(
                "SET #state = :state, next_pk = :next_pk, next_at = :next_at REMOVE claimed_until",
            )
            .condition_expression("attempts = :attempts AND #state = :read")
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":attempts", n(before.attempts))
            .expression_attribute_values(":read", state(before.state)?)
            .expression_attribute_values(":state", state(delivery.state)?)
            .expression_attribute_values(":next_pk", s(partition))
            .expression_attribute_values(":next_at", s(delivery.next_at.to_string()));
        self.push(
            Write::Update(update.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }
}

/// How far a delivery has come, by the item of its row as the stream has it.
///
/// # Errors
/// A permanent `Internal` if the item is not the row of a delivery.
pub fn delivery_of(item: serde_dynamo::Item) -> Result<Delivery> {
    read_delivery(&item.into())
}

fn state(state: DeliveryState) -> Result<AttributeValue> {
    serde_dynamo::to_attribute_value(state).map_err(Error::internal)
}
