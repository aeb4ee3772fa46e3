//! The rate of requests, shared by all instances of the service: one item per tenant, in which instances reserve tokens.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};

use super::keys::Key;
use super::{Store, client, key_item, n, number};
use kernel::time::HOUR;
use kernel::{Result, Tenant, Timestamp};

/// A reservation of tokens in a tenant's bucket. The bucket is one number: the moment, in microseconds, at which it is full again
/// ("theoretical arrival time" of the generic cell rate algorithm).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserve {
    /// The time by which the moment is moved, in microseconds.
    pub micros: i64,
    /// The moment from which it is moved if the bucket counts as full: the time of the first of the admitted requests.
    pub start: i64,
    /// The latest moment up to which tokens may be reserved.
    pub most: i64,
    /// The bucket counts as full before this moment, and is then filled anew. The moment is in the past, so that a bucket that is used less
    /// than it refills is rarely filled anew, which needs a second call.
    pub full_before: i64,
    /// A moment after this one was written by a clock that was wrong: the bucket counts as full.
    pub wrong_after: i64,
    /// Whether the bucket has been in use recently, so that adding to the moment is tried first.
    pub in_use: bool,
}

/// The outcome of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// The moment at which the bucket is full again, reserved tokens included.
    Until(i64),
    /// Nothing was reserved, because too many tokens are reserved already, up to this moment.
    TooMuch(i64),
}

impl Store {
    /// Reserves tokens in a tenant's bucket. It needs one call, or two when the bucket has become full, or has come into use, since it was
    /// last read.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn reserve_rate(
        &self,
        tenant: &Tenant,
        reserve: Reserve,
        now: Timestamp,
    ) -> Result<Reserved> {
        let mut in_use = reserve.in_use;
        let mut known = 0;
        for _ in 0..4 {
            let call = self
                .client
                .update_item()
                .table_name(&self.table)
                .set_key(Some(key_item(Key::Rate { tenant })))
                .expression_attribute_names("#ttl", "ttl")
                .expression_attribute_values(":ttl", n(now.plus(HOUR).unix_seconds()))
                .expression_attribute_values(":full", n(reserve.full_before))
                .return_values(ReturnValue::UpdatedNew)
                .return_values_on_condition_check_failure(
                    ReturnValuesOnConditionCheckFailure::AllOld,
                );
            let call = if in_use {
                call.update_expression("SET full_at = full_at + :micros, #ttl = :ttl")
                    .condition_expression("full_at BETWEEN :full AND :most")
                    .expression_attribute_values(":micros", n(reserve.micros))
                    .expression_attribute_values(":most", n(reserve.most))
            } else {
                call.update_expression("SET full_at = :next, #ttl = :ttl")
                    .condition_expression(
                        "attribute_not_exists(pk) OR full_at < :full OR full_at > :wrong",
                    )
                    .expression_attribute_values(":wrong", n(reserve.wrong_after))
                    .expression_attribute_values(":next", n(reserve.start + reserve.micros))
            };
            match call.send().await {
                Ok(answer) => {
                    let found = answer.attributes.unwrap_or_default();
                    return Ok(Reserved::Until(number(&found, "full_at")));
                }
                Err(SdkError::ServiceError(failure))
                    if failure.err().is_conditional_check_failed_exception() =>
                {
                    known = match failure.into_err() {
                        UpdateItemError::ConditionalCheckFailedException(found) => {
                            found.item.map_or(0, |item| number(&item, "full_at"))
                        }
                        _ => 0,
                    };
                    if (reserve.most + 1..=reserve.wrong_after).contains(&known) {
                        return Ok(Reserved::TooMuch(known));
                    }
                    in_use = (reserve.full_before..=reserve.most).contains(&known);
                }
                Err(error) => return Err(client::failure(error)),
            }
        }
        Ok(Reserved::TooMuch(known.max(now.unix_millis() * 1000)))
    }
}
