//! Passes over the whole table, for the functions of operators: exports, erasures, and new keys for secrets.
//!
//! A *pass* reads every item once, in pages. The table is divided into *segments*, which are read concurrently. The state of a pass is a
//! value that can be serialized, so a pass that was interrupted continues in another invocation. Items that are written during a pass may
//! be missing from it. A pass consumes the read units of the whole table, whatever it searches: 0.5 RCU per 4 KB, twice that if it reads
//! consistently.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::deflate::inflated;
use super::{Item, Store, client, s, string};
use kernel::{Error, Result};

/// The number of segments that are read concurrently.
const SEGMENTS: usize = 4;

/// The progress of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass(Vec<Segment>);

/// The progress in a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Segment {
    Unread,
    /// Up to the item with this key.
    ReadTo {
        pk: String,
        sk: String,
    },
    Read,
}

impl Default for Pass {
    fn default() -> Self {
        Self(vec![Segment::Unread; SEGMENTS])
    }
}

impl Pass {
    pub fn is_finished(&self) -> bool {
        self.0.iter().all(|segment| *segment == Segment::Read)
    }
}

/// A condition on items that DynamoDB evaluates: a filter expression and its values.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    pub expression: &'static str,
    pub values: HashMap<String, AttributeValue>,
}

impl Store {
    /// Reads the next page of every segment: a megabyte, or `limit` items. Returns the items, and the pass after them.
    ///
    /// # Errors
    /// 400 for a pass of no segments; `Unavailable` if DynamoDB cannot be reached.
    pub(super) async fn next_items(
        &self,
        pass: &Pass,
        filter: Option<&Filter>,
        limit: Option<u32>,
        consistent: bool,
    ) -> Result<(Vec<Item>, Pass)> {
        let count = i32::try_from(pass.0.len()).unwrap_or_default();
        if count == 0 {
            return Err(Error::invalid(
                "cursor",
                "is not one that this function has returned",
            ));
        }
        let pages = (0..count).zip(&pass.0).map(async |(number, segment)| {
            let start = match segment {
                Segment::Read => return Ok::<_, Error>((Vec::new(), Segment::Read)),
                Segment::Unread => None,
                Segment::ReadTo { pk, sk } => Some(HashMap::from([
                    ("pk".to_owned(), s(pk.as_str())),
                    ("sk".to_owned(), s(sk.as_str())),
                ])),
            };
            let page = self
                .client
                .scan()
                .table_name(&self.table)
                .segment(number)
                .total_segments(count)
                .set_exclusive_start_key(start)
                .set_filter_expression(filter.map(|filter| filter.expression.to_owned()))
                .set_expression_attribute_values(filter.map(|filter| filter.values.clone()))
                .set_limit(limit.map(|limit| i32::try_from(limit.max(1)).unwrap_or(i32::MAX)))
                .consistent_read(consistent)
                .send()
                .await
                .map_err(client::failure)?;
            let next = match &page.last_evaluated_key {
                Some(key) => Segment::ReadTo {
                    pk: string(key, "pk").to_owned(),
                    sk: string(key, "sk").to_owned(),
                },
                None => Segment::Read,
            };
            Ok((page.items.unwrap_or_default(), next))
        });
        let pages: Vec<(Vec<Item>, Segment)> = try_join_all(pages).await?;
        let (items, segments): (Vec<_>, Vec<_>) = pages.into_iter().unzip();
        Ok((items.into_iter().flatten().collect(), Pass(segments)))
    }
}

/// Calls `visit` with every text in a value, at any depth, deflated ones included.
///
/// # Errors
/// A permanent `Internal` if a binary value is not a deflated text.
pub(super) fn each_text(value: &AttributeValue, visit: &mut impl FnMut(&str)) -> Result<()> {
    match value {
        AttributeValue::S(text) => visit(text),
        AttributeValue::B(bytes) => visit(&String::from_utf8_lossy(&inflated(bytes)?)),
        AttributeValue::L(values) => {
            for value in values {
                each_text(value, visit)?;
            }
        }
        AttributeValue::M(members) => {
            for (name, value) in members {
                visit(name);
                each_text(value, visit)?;
            }
        }
        _ => {}
    }
    Ok(())
}
