//! The rate of requests, shared by all instances of the service: one row per tenant, written once for many requests.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;

use super::keys::Key;
use super::{Store, client, key_item, n, number};
use crate::error::Result;
use crate::origin::Tenant;
use crate::time::{HOUR, Timestamp};

impl Store {
    /// Adds what this instance has let through to the tenant's bucket. The bucket is one number: the moment, in
    /// microseconds, at which it is full again ("theoretical arrival time" of the generic cell rate algorithm).
    /// `last_read` is the value that this instance read last. Returns the value after the update.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn spend(
        &self,
        tenant: &Tenant,
        micros: i64,
        last_read: i64,
        now: Timestamp,
    ) -> Result<i64> {
        let now_micros = now.unix_millis() * 1000;
        let mut known = last_read;
        for _ in 0..4 {
            let next = known.max(now_micros) + micros;
            let call = self
                .client
                .update_item()
                .table_name(&self.table)
                .set_key(Some(key_item(Key::Rate { tenant })))
                .update_expression("SET full_at = :next, #ttl = :ttl")
                .condition_expression(if known == 0 {
                    "attribute_not_exists(pk)"
                } else {
                    "full_at = :known"
                })
                .expression_attribute_names("#ttl", "ttl")
                .expression_attribute_values(":next", n(next))
                .expression_attribute_values(":ttl", n(now.plus_millis(HOUR).unix_seconds()))
                .return_values_on_condition_check_failure(
                    ReturnValuesOnConditionCheckFailure::AllOld,
                );
            let call = if known == 0 {
                call
            } else {
                call.expression_attribute_values(":known", n(known))
            };
            match call.send().await {
                Ok(_) => return Ok(next),
                Err(SdkError::ServiceError(failure))
                    if failure.err().is_conditional_check_failed_exception() =>
                {
                    known = match failure.into_err() {
                        UpdateItemError::ConditionalCheckFailedException(found) => {
                            found.item.map_or(0, |item| number(&item, "full_at"))
                        }
                        _ => 0,
                    };
                }
                Err(error) => return Err(client::failure(error)),
            }
        }
        Ok(known.max(now_micros) + micros)
    }
}
