//! Deliveries of events: each attempt is claimed by a conditional write that brings the event back with it, and ends in
//! one transaction that notes the outcome on the event and in the endpoint's log.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, Update};

use super::keys::{self, Key, Partition};
use super::list::{Page, PageRequest};
use super::row;
use super::unit_of_work::{CommitFailure, UnitOfWork, Write};
use super::{Store, client, key_item, n, s};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::models::event::{Delivery, DeliveryState, Event, EventInternal};
use crate::models::stored::{Object as _, Stored};
use crate::models::webhook_delivery::WebhookDelivery;
use crate::models::webhook_endpoint::{MAX_ENDPOINTS, WebhookEndpoint};
use crate::origin::{Origin, Tenant};
use crate::time::Timestamp;

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
        let found = self
            .under(tenant, endpoint, Kind::WebhookDelivery, page_request)
            .await?;
        found.try_map(row::from_item)
    }

    /// Creates an event that the relay made from a change of the table, with its deliveries. False if it exists already.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn add_event(&self, origin: &Origin, event: &mut Stored<Event>) -> Result<bool> {
        let mut tx = self.begin(origin);
        tx.create(event)?;
        Ok(tx.write(None).await?.is_none())
    }

    /// Gives an event that was written without deliveries those it needs, and the version of its account, once.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
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
            ", next_pk = :next_pk, next_at = :next_at"
        } else {
            " REMOVE next_pk, next_at"
        };
        let mut call = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key))
            .update_expression(format!(
                "SET #internal.deliveries = :deliveries, #object.pending_webhooks = :pending, #object.api_version = :version{set}"
            ))
            .condition_expression("attribute_type(#internal.deliveries, :null)")
            .expression_attribute_names("#internal", "internal")
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
                .expression_attribute_values(":next_pk", s(keys::next_action_partition(due)))
                .expression_attribute_values(":next_at", s(due.to_string()));
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

    /// Takes an event off the list of what is due, when every delivery is as it was read.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn settle_event(&self, origin: &Origin, event: &Stored<Event>) -> Result<()> {
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key_item(Key::Object {
                tenant: &origin.tenant,
                id: event.object.id(),
            })))
            .update_expression("REMOVE next_pk, next_at")
            .condition_expression("#internal.deliveries = :deliveries")
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_values(
                ":deliveries",
                serde_dynamo::to_attribute_value(&event.internal.deliveries)
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
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn claim_attempt(
        &self,
        origin: &Origin,
        event: &Id,
        endpoint: &Id,
        number: u32,
        until: Timestamp,
    ) -> Result<Option<Stored<Event>>> {
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
            .update_expression("SET #internal.deliveries.#endpoint = :delivery")
            .condition_expression(
                "#internal.deliveries.#endpoint.attempts = :before AND #internal.deliveries.#endpoint.next_at <= :now \
                 AND #internal.deliveries.#endpoint.#state IN (:waiting, :claimed)",
            )
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_names("#endpoint", endpoint.as_str())
            .expression_attribute_names("#state", "state")
            .expression_attribute_values(":delivery", serde_dynamo::to_attribute_value(delivery).map_err(Error::internal)?)
            .expression_attribute_values(":before", n(number - 1))
            .expression_attribute_values(":now", s(origin.now.to_string()))
            .expression_attribute_values(":waiting", state(DeliveryState::Waiting)?)
            .expression_attribute_values(":claimed", state(DeliveryState::Claimed)?)
            .return_values(ReturnValue::AllNew);
        match call.send().await {
            Ok(answer) => answer.attributes.map(row::from_item).transpose(),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                Ok(None)
            }
            // A deleted event, or one without such a delivery, has no path to write to.
            Err(error) if is_validation(&error) => Ok(None),
            Err(error) => Err(client::failure(error)),
        }
    }

    /// Records the outcome of a claimed attempt. An attempt that another instance has taken over stays as it is.
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
        let tenant = &origin.tenant;
        let id = event.object.id();
        let closes = matches!(
            delivery.state,
            DeliveryState::Delivered | DeliveryState::GivenUp
        );
        let mut internal = event.internal.clone();
        internal
            .deliveries
            .get_or_insert_default()
            .insert(endpoint.clone(), delivery.clone());
        let key = key_item(Key::Object { tenant, id });
        let mut expression = "SET #internal.deliveries.#endpoint = :delivery".to_owned();
        if closes {
            expression += ", #object.pending_webhooks = #object.pending_webhooks - :one";
        }
        let due = internal.next_action_at();
        expression += match due {
            Some(_) => ", next_pk = :next_pk, next_at = :next_at",
            None => " REMOVE next_pk, next_at",
        };
        let mut update = Update::builder()
            .table_name(&self.table)
            .set_key(Some(key))
            .update_expression(expression)
            .condition_expression("#internal.deliveries.#endpoint.attempts = :attempts AND #internal.deliveries.#endpoint.#state = :claimed")
            .expression_attribute_names("#internal", "internal")
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
                .expression_attribute_values(":next_pk", s(keys::next_action_partition(due)))
                .expression_attribute_values(":next_at", s(due.to_string()));
        }
        let mut tx = self.begin(origin);
        tx.push(
            Write::Update(update.build().map_err(Error::internal)?),
            Error::Contended,
        );
        tx.create(&mut Stored::new(log.clone()))?;
        match tx.write(None).await? {
            None | Some(CommitFailure::Condition(_) | CommitFailure::Repeated(_)) => Ok(()),
        }
    }
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

    /// Delivers an event again. The commit fails if its deliveries have changed since they were read.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn deliver_anew(
        &mut self,
        event: &Stored<Event>,
        deliveries: &BTreeMap<Id, Delivery>,
    ) -> Result<()> {
        let open = deliveries.values().filter(|delivery| delivery.is_open());
        let mut update = Update::builder()
            .table_name(&self.store.table)
            .set_key(Some(key_item(Key::Object {
                tenant: &self.origin.tenant,
                id: event.object.id(),
            })))
            .condition_expression("#internal.deliveries = :read")
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_names("#object", "object")
            .expression_attribute_values(
                ":deliveries",
                serde_dynamo::to_attribute_value(deliveries).map_err(Error::internal)?,
            )
            .expression_attribute_values(
                ":read",
                serde_dynamo::to_attribute_value(&event.internal.deliveries)
                    .map_err(Error::internal)?,
            )
            .expression_attribute_values(":pending", n(open.count()));
        let set = "SET #internal.deliveries = :deliveries, #object.pending_webhooks = :pending";
        update = match EventInternal::planned(deliveries.clone()).next_action_at() {
            Some(due) => update
                .update_expression(format!("{set}, next_pk = :next_pk, next_at = :next_at"))
                .expression_attribute_values(":next_pk", s(keys::next_action_partition(due)))
                .expression_attribute_values(":next_at", s(due.to_string())),
            None => update.update_expression(set),
        };
        self.push(
            Write::Update(update.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
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
