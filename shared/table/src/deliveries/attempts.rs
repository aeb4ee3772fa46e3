//! The attempts of deliveries: a worker claims an attempt, and records its outcome.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

use super::{delivery_item, delivery_key, is_late, read_delivery, redelivered_after, state};
use crate::keys;
use crate::stored_item;
use crate::unit_of_work::Write;
use crate::{Item, Store, client, key_item, n, s, string};
use kernel::{Error, Id, Origin, Result, Timestamp};
use models::event::{Delivery, DeliveryState};
use models::{Event, Stored, WebhookDelivery};

/// The number of further attempts whose lines the item of a delivery names, so that they are found with their event. All later lines are
/// only in the log of the endpoint.
const MAX_LINES: u32 = 200;

impl Store {
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

    /// Records the outcome of a claimed attempt: in the delivery itself if the attempt has created it and is not late, otherwise together
    /// with a line of its own. The origin is that of the claim. A delivery that another instance has claimed since is not changed; the
    /// attempt has a line of its own then. Nothing is written if the delivery no longer exists, because it has expired or its account was
    /// erased.
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
