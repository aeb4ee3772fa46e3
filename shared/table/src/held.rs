//! Deliveries that an endpoint's circuit breaker holds, in the order of their age, and the rate limits of endpoints.
//!
//! A held delivery has an item of its own beside its log, from the time at which it was to be attempted until it is attempted. So the
//! waiting deliveries of an endpoint are read by one key, whatever the size of its log.

use aws_sdk_dynamodb::types::ReturnValue;

use super::keys::{Key, held_partition};
use super::{Item, Store, client, key_item, n, new_item, number, s, string};
use kernel::time::{millis, whole_millis};
use kernel::{Error, Id, Origin, Result, SignedDuration, Tenant, Timestamp};
use models::{WebhookDelivery, event};

/// A delivery that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldDelivery {
    pub event: Id,
    /// The number of the waiting attempt.
    pub attempt: u32,
}

/// How often the rate limit of an endpoint is read again if other deliveries change it at the same time.
const RATE_LIMIT_READS: u32 = 8;

impl Store {
    /// Holds the next attempt to deliver an event.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn hold_delivery(
        &self,
        origin: &Origin,
        endpoint: &Id,
        held: &HeldDelivery,
    ) -> Result<()> {
        let mut item = new_item(Key::Held {
            tenant: &origin.tenant,
            endpoint,
            delivery: &WebhookDelivery::first_id(&held.event, endpoint),
        });
        let expires = origin.now.plus(event::KEPT);
        item.insert("event".into(), s(held.event.as_str()));
        item.insert("attempts".into(), n(held.attempt));
        item.insert("ttl".into(), n(expires.unix_seconds()));
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(item)).send().await;
        put.map(drop).map_err(client::failure)
    }

    /// Returns the oldest held deliveries, at most `limit`, read consistently.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn held_deliveries(
        &self,
        tenant: &Tenant,
        endpoint: &Id,
        limit: u8,
    ) -> Result<Vec<HeldDelivery>> {
        let query = self.client.query().table_name(&self.table);
        let page = query
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", s(held_partition(tenant, endpoint)))
            .consistent_read(true)
            .limit(i32::from(limit))
            .send()
            .await
            .map_err(client::failure)?;
        let held = |item: &Item| {
            let attempt = u32::try_from(number(item, "attempts")).map_err(Error::permanent)?;
            let event = Id::from(string(item, "event"));
            Ok(HeldDelivery { event, attempt })
        };
        page.items().iter().map(held).collect()
    }

    /// Ends the holding of a delivery.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn let_go(&self, tenant: &Tenant, endpoint: &Id, event: &Id) -> Result<()> {
        let key = key_item(Key::Held {
            tenant,
            endpoint,
            delivery: &WebhookDelivery::first_id(event, endpoint),
        });
        let delete = self.client.delete_item().table_name(&self.table);
        let deleted = delete.set_key(Some(key)).send().await;
        deleted.map(drop).map_err(client::failure)
    }

    /// Returns the moment at which the next attempt may be made at an endpoint that accepts one per interval. No other attempt gets the
    /// same moment: each call advances the next one. If the endpoint has this limit since a later time than that of the previous call, the
    /// next moment is now: attempts that wait for moments of the earlier limit ask again.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn next_slot(
        &self,
        origin: &Origin,
        endpoint: &Id,
        interval: SignedDuration,
        since: Timestamp,
    ) -> Result<Timestamp> {
        let now = origin.now.unix_millis();
        let interval = whole_millis(interval);
        for turn in 0..RATE_LIMIT_READS {
            let is_first = turn % 2 == 0;
            let (update, condition) = if is_first {
                (
                    "SET next_slot = :now + :interval, limited_since = :since",
                    "attribute_not_exists(next_slot) OR next_slot <= :now \
                     OR attribute_not_exists(limited_since) OR limited_since < :since",
                )
            } else {
                (
                    "SET next_slot = next_slot + :interval",
                    "next_slot > :now AND limited_since >= :since",
                )
            };
            let key = Key::Pace {
                tenant: &origin.tenant,
                endpoint,
            };
            let call = self.client.update_item().table_name(&self.table);
            let call = call
                .set_key(Some(key_item(key)))
                .update_expression(update)
                .condition_expression(condition)
                .expression_attribute_values(":now", n(now))
                .expression_attribute_values(":interval", n(interval))
                .expression_attribute_values(":since", n(since.unix_millis()))
                .return_values(ReturnValue::UpdatedNew);
            // If this one of the two conditions is not met, the other one is.
            if let Some(done) = client::if_met(call.send().await)? {
                let next = done.attributes().map(|item| number(item, "next_slot"));
                let next = next.unwrap_or(now + interval);
                return Ok(origin.now.plus(millis(next - interval - now)));
            }
        }
        Err(Error::Contended)
    }
}
