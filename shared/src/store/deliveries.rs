//! Deliveries of events: each attempt is claimed by a conditional write that brings the event back with it, and ends in
//! one transaction that notes the outcome on the event and in the endpoint's log.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, Update};

use super::commit::{Changes, Refused, Write};
use super::keys::{self, Key, Partition};
use super::list::{Found, Slice};
use super::row::{Record as _, Row};
use super::{Store, client, key_item, n, s};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::models::event::{Delivery, DeliveryState, Event, EventPrivate};
use crate::models::webhook_delivery::WebhookDelivery;
use crate::models::webhook_endpoint::{MAX_ENDPOINTS, WebhookEndpoint};
use crate::origin::{Origin, Tenant};
use crate::time::Timestamp;

impl Store {
    /// Every webhook endpoint of a tenant, newest first.
    ///
    /// # Errors
    /// The table's.
    pub async fn webhook_endpoints(&self, tenant: &Tenant) -> Result<Vec<WebhookEndpoint>> {
        let partition = Partition::Kind {
            tenant,
            kind: Kind::WebhookEndpoint,
        };
        let found = self
            .list(partition, &Slice::first(MAX_ENDPOINTS), Vec::new())
            .await?;
        Ok(found.rows.into_iter().map(|row| row.object).collect())
    }

    /// Adds to the changes that the first of these accounts has one webhook endpoint more or less. `lineage` is that account
    /// and the accounts above it: each counts its own endpoints with those of the accounts below it, in `total`, and its own
    /// alone in `count`.
    ///
    /// # Errors
    /// The update cannot be built. A commit fails with 409 if one of the accounts has as many as it may have.
    pub fn count_endpoint(
        &self,
        changes: &mut Changes,
        lineage: &[Tenant],
        by: i8,
        most_with_children: u32,
    ) -> Result<()> {
        for (above, tenant) in lineage.iter().enumerate() {
            let is_own = above == 0;
            let mut update = Update::builder()
                .table_name(&self.table)
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
            changes.push(
                Write::Update(update.build().map_err(Error::internal)?),
                Error::conflict(message, None),
            );
        }
        Ok(())
    }

    /// One page of the log of an endpoint, newest first.
    ///
    /// # Errors
    /// The table's.
    pub async fn deliveries(
        &self,
        tenant: &Tenant,
        endpoint: &Id,
        slice: &Slice,
    ) -> Result<Found<Row<WebhookDelivery>>> {
        let found = self
            .under(tenant, endpoint, Kind::WebhookDelivery, slice)
            .await?;
        found.try_map(Row::from_item)
    }

    /// Puts an event into the table that the relay made from a change, with its deliveries. False when it is there
    /// already.
    ///
    /// # Errors
    /// The table's.
    pub async fn add_event(&self, origin: &Origin, event: &Row<Event>) -> Result<bool> {
        let mut changes = Changes::new();
        self.create(&mut changes, origin, event)?;
        Ok(self.write(origin, &changes, None).await?.is_none())
    }

    /// Gives an event that was written without deliveries those it needs, and the version of its account, once.
    ///
    /// # Errors
    /// The table's.
    pub async fn plan_deliveries(
        &self,
        origin: &Origin,
        event: &Id,
        deliveries: &BTreeMap<Id, Delivery>,
        version: &str,
    ) -> Result<()> {
        let key = key_item(Key::Object {
            tenant: &origin.tenant,
            id: event,
        });
        let due = deliveries.values().map(|delivery| delivery.next_at).min();
        let set = if due.is_some() {
            ", due_pk = :due_pk, due_at = :due_at"
        } else {
            " REMOVE due_pk, due_at"
        };
        let mut call = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key))
            .update_expression(format!(
                "SET #private.deliveries = :deliveries, #object.pending_webhooks = :pending, #object.api_version = :version{set}"
            ))
            .condition_expression("attribute_type(#private.deliveries, :null)")
            .expression_attribute_names("#private", "private")
            .expression_attribute_names("#object", "object")
            .expression_attribute_values(
                ":deliveries",
                serde_dynamo::to_attribute_value(deliveries).map_err(Error::internal)?,
            )
            .expression_attribute_values(":pending", n(deliveries.len()))
            .expression_attribute_values(":version", s(version))
            .expression_attribute_values(":null", s("NULL"));
        if let Some(due) = due {
            call = call
                .expression_attribute_values(":due_pk", s(keys::due_partition_at(due)))
                .expression_attribute_values(":due_at", s(due.to_string()));
        }
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

    /// Adds to the changes that an event is delivered anew, unless its deliveries have moved since they were read.
    ///
    /// # Errors
    /// The update cannot be built.
    pub fn deliver_anew(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        event: &Row<Event>,
        deliveries: &BTreeMap<Id, Delivery>,
    ) -> Result<()> {
        let open = deliveries.values().filter(|delivery| delivery.is_open());
        let mut update = Update::builder()
            .table_name(&self.table)
            .set_key(Some(key_item(Key::Object {
                tenant: &origin.tenant,
                id: event.object.id(),
            })))
            .condition_expression("#private.deliveries = :read")
            .expression_attribute_names("#private", "private")
            .expression_attribute_names("#object", "object")
            .expression_attribute_values(
                ":deliveries",
                serde_dynamo::to_attribute_value(deliveries).map_err(Error::internal)?,
            )
            .expression_attribute_values(
                ":read",
                serde_dynamo::to_attribute_value(&event.private.deliveries)
                    .map_err(Error::internal)?,
            )
            .expression_attribute_values(":pending", n(open.count()));
        let set = "SET #private.deliveries = :deliveries, #object.pending_webhooks = :pending";
        update = match EventPrivate::planned(deliveries.clone()).due() {
            Some(due) => update
                .update_expression(format!("{set}, due_pk = :due_pk, due_at = :due_at"))
                .expression_attribute_values(":due_pk", s(keys::due_partition_at(due)))
                .expression_attribute_values(":due_at", s(due.to_string())),
            None => update.update_expression(set),
        };
        changes.push(
            Write::Update(update.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Takes an event off the list of what is due, when every delivery is as it was read.
    ///
    /// # Errors
    /// The table's.
    pub async fn settle_event(&self, origin: &Origin, event: &Row<Event>) -> Result<()> {
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key_item(Key::Object {
                tenant: &origin.tenant,
                id: event.object.id(),
            })))
            .update_expression("REMOVE due_pk, due_at")
            .condition_expression("#private.deliveries = :deliveries")
            .expression_attribute_names("#private", "private")
            .expression_attribute_values(
                ":deliveries",
                serde_dynamo::to_attribute_value(&event.private.deliveries)
                    .map_err(Error::internal)?,
            )
            .send()
            .await;
        match sent {
            Ok(_) => Ok(()),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                Ok(())
            }
            Err(error) => Err(client::failure(error)),
        }
    }

    /// Claims the next attempt of a delivery for this worker until `until`, and brings the event. None when the attempt
    /// is claimed, done or given up already, or not due.
    ///
    /// # Errors
    /// The table's.
    pub async fn claim_attempt(
        &self,
        origin: &Origin,
        event: &Id,
        endpoint: &Id,
        number: u32,
        until: Timestamp,
    ) -> Result<Option<Row<Event>>> {
        let delivery = Delivery {
            attempts: number,
            state: DeliveryState::Claimed,
            next_at: until,
        };
        let call = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key_item(Key::Object { tenant: &origin.tenant, id: event })))
            .update_expression("SET #private.deliveries.#endpoint = :delivery")
            .condition_expression(
                "#private.deliveries.#endpoint.attempts = :before AND #private.deliveries.#endpoint.next_at <= :now \
                 AND #private.deliveries.#endpoint.#state IN (:waiting, :claimed)",
            )
            .expression_attribute_names("#private", "private")
            .expression_attribute_names("#endpoint", endpoint.as_str())
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":delivery", serde_dynamo::to_attribute_value(delivery).map_err(Error::internal)?)
            .expression_attribute_values(":before", n(number - 1))
            .expression_attribute_values(":now", s(origin.now.to_string()))
            .expression_attribute_values(":waiting", state(DeliveryState::Waiting)?)
            .expression_attribute_values(":claimed", state(DeliveryState::Claimed)?)
            .return_values(ReturnValue::AllNew);
        match call.send().await {
            Ok(answer) => answer.attributes.map(Row::from_item).transpose(),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                Ok(None)
            }
            // An event that is gone, or one without such a delivery, has no path to write to.
            Err(error) if is_validation(&error) => Ok(None),
            Err(error) => Err(client::failure(error)),
        }
    }

    /// Notes what became of a claimed attempt. An attempt that somebody else has taken over is left alone.
    ///
    /// # Errors
    /// The table's.
    pub async fn conclude_attempt(
        &self,
        origin: &Origin,
        event: &Row<Event>,
        endpoint: &Id,
        delivery: &Delivery,
        log: &WebhookDelivery,
    ) -> Result<()> {
        let tenant = &origin.tenant;
        let id = event.object.id();
        let closes = matches!(
            delivery.state,
            DeliveryState::Delivered | DeliveryState::GivenUp
        );
        let mut private = event.private.clone();
        private
            .deliveries
            .get_or_insert_default()
            .insert(endpoint.clone(), delivery.clone());
        let key = key_item(Key::Object { tenant, id });
        let mut expression = "SET #private.deliveries.#endpoint = :delivery".to_owned();
        if closes {
            expression += ", #object.pending_webhooks = #object.pending_webhooks - :one";
        }
        let due = private.due();
        expression += match due {
            Some(_) => ", due_pk = :due_pk, due_at = :due_at",
            None => " REMOVE due_pk, due_at",
        };
        let mut update = Update::builder()
            .table_name(&self.table)
            .set_key(Some(key))
            .update_expression(expression)
            .condition_expression("#private.deliveries.#endpoint.attempts = :attempts AND #private.deliveries.#endpoint.#state = :claimed")
            .expression_attribute_names("#private", "private")
            .expression_attribute_names("#endpoint", endpoint.as_str())
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":delivery", serde_dynamo::to_attribute_value(delivery).map_err(Error::internal)?)
            .expression_attribute_values(":attempts", n(log.attempt))
            .expression_attribute_values(":claimed", state(DeliveryState::Claimed)?);
        if closes {
            update = update
                .expression_attribute_names("#object", "object")
                .expression_attribute_values(":one", n(1));
        }
        if let Some(due) = due {
            update = update
                .expression_attribute_values(":due_pk", s(keys::due_partition_at(due)))
                .expression_attribute_values(":due_at", s(due.to_string()));
        }
        let mut changes = Changes::new();
        changes.push(
            Write::Update(update.build().map_err(Error::internal)?),
            Error::Contended,
        );
        self.create(&mut changes, origin, &Row::new(log.clone()))?;
        match self.write(origin, &changes, None).await? {
            None | Some(Refused::At(..) | Refused::Repeated(_)) => Ok(()),
        }
    }
}

fn state(state: DeliveryState) -> Result<AttributeValue> {
    serde_dynamo::to_attribute_value(state).map_err(Error::internal)
}

fn is_validation<E: aws_sdk_dynamodb::error::ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    error
        .as_service_error()
        .is_some_and(|error| error.code() == Some("ValidationException"))
}
