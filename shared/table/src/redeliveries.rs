//! Redeliveries of an event: to endpoints that it was delivered to before, and to others.

use aws_sdk_dynamodb::types::AttributeValue;

use super::deliveries::{Deliveries, delivery_item, delivery_key, state};
use super::keys::{self, Key};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Store, n, s};
use kernel::{Error, Id, Origin, Result, Timestamp};
use models::event::{Delivery, DeliveryState};
use models::stored::Object as _;
use models::{Event, Stored, WebhookDelivery};

impl Store {
    /// Claims a further delivery of an event to an endpoint for this worker until a moment. The delivery is passed as it was read. Returns
    /// false if another worker has changed the delivery or the event in the meantime.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn claim_once_more(
        &self,
        origin: &Origin,
        event: &Stored<Event>,
        endpoint: &Id,
        before: Option<&Delivery>,
        until: Timestamp,
    ) -> Result<bool> {
        let attempts = before.map_or(0, |before| before.attempts);
        let claimed = Delivery::claimed_once_more(attempts, until);
        let of_endpoint = |delivery: Delivery| Deliveries::from([(endpoint.clone(), delivery)]);
        let before = before.cloned().map(of_endpoint).unwrap_or_default();
        let mut tx = self.begin(origin);
        tx.deliver_anew(event, &before, &of_endpoint(claimed))?;
        match tx.commit_without_response().await {
            Ok(()) => Ok(true),
            Err(Error::Contended) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl UnitOfWork<'_> {
    /// Creates a delivery that waits or is claimed. It must not exist.
    fn put_delivery(&mut self, event: &Id, endpoint: &Id, delivery: &Delivery) -> Result<()> {
        let item = delivery_item(self.origin, event, endpoint, delivery)?;
        let put = self.store.put_new(item);
        self.push(Write::Put(put), Error::Contended);
        Ok(())
    }

    /// Delivers an event again: to endpoints that it was delivered to before, and to others. The commit fails if one of the deliveries has
    /// changed since it was read, or if the set of endpoints of the event has changed.
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
        let update = self.store.update(Key::Event {
                tenant: &self.origin.tenant,
                id: event.object.id(),
            })
            .update_expression(
                "SET #internal.endpoints = :endpoints REMOVE #internal.unplanned_since, next_pk, next_at, #version",
            )
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":endpoints", list(endpoints)?);
        let update = match &event.internal.endpoints {
            None => update.condition_expression("attribute_not_exists(#internal.endpoints)"),
            Some(read) => update
                .condition_expression("#internal.endpoints = :read")
                .expression_attribute_values(":read", list(read.iter().collect())?),
        };
        self.push(Write::Update(update), Error::Contended);
        Ok(())
    }

    /// Makes a delivery wait for another attempt, or claims that attempt.
    fn reopen_delivery(
        &mut self,
        event: &Id,
        endpoint: &Id,
        before: &Delivery,
        delivery: &Delivery,
    ) -> Result<()> {
        let first = WebhookDelivery::first_id(event, endpoint);
        let key = delivery_key(self.origin, endpoint, &first);
        let (pk, sk) = key.pair();
        let partition = keys::next_action_partition(&pk, &sk);
        let mut update = self
            .store
            .update(key)
            .condition_expression("attempts = :read_attempts AND delivery = :read")
            .expression_attribute_values(":read_attempts", n(before.attempts))
            .expression_attribute_values(":read", state(before.state)?)
            .expression_attribute_values(":attempts", n(delivery.attempts))
            .expression_attribute_values(":state", state(delivery.state)?)
            .expression_attribute_values(":moment", s(delivery.next_at.to_string()))
            .expression_attribute_values(":earlier", n(before.attempts));
        let set = "SET delivery = :state, attempts = :attempts, redelivered_after = :earlier";
        if delivery.state == DeliveryState::Claimed {
            let number = delivery.attempts;
            let line = WebhookDelivery::id_of(event, endpoint, number, self.origin.now);
            update = update
                .update_expression(format!(
                    "{set}, claimed_until = :moment, further = list_append(if_not_exists(further, :none), :line) \
                     REMOVE next_pk, next_at"
                ))
                .expression_attribute_values(":none", AttributeValue::L(Vec::new()))
                .expression_attribute_values(":line", AttributeValue::L(vec![s(line.as_str())]));
        } else {
            update = update
                .update_expression(format!(
                    "{set}, next_pk = :next_pk, next_at = :moment REMOVE claimed_until"
                ))
                .expression_attribute_values(":next_pk", s(partition));
        }
        self.push(Write::Update(update), Error::Contended);
        Ok(())
    }
}
