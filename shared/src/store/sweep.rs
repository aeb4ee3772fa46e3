//! Finding what is due, for work whose trigger was lost.

use super::{Item, Store, client, keys, networks, s, string};
use crate::error::Result;
use crate::id::Id;
use crate::origin::Tenant;
use crate::time::Timestamp;

/// A row that waits for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub tenant: Tenant,
    pub id: Id,
    pub due: Timestamp,
}

impl Store {
    /// Every row that is due before a moment, by partition, the longest overdue first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn due_before(&self, moment: Timestamp) -> Result<Vec<Waiting>> {
        let mut waiting = Vec::new();
        for partition in 0..keys::DUE_PARTITIONS {
            let pages = self
                .client
                .query()
                .table_name(&self.table)
                .index_name("due")
                .key_condition_expression("next_pk = :pk AND next_at < :before")
                .expression_attribute_values(":pk", s(keys::due_partition(partition)))
                .expression_attribute_values(":before", s(moment.to_string()))
                .into_paginator()
                .items()
                .send();
            let items: Vec<Item> = pages.try_collect().await.map_err(client::failure)?;
            waiting.extend(items.iter().filter_map(|item| {
                let pk = string(item, "pk");
                let of_network = || {
                    let (mode, id) = keys::parse_network(pk)?;
                    Some((networks::operators(mode), id))
                };
                let (tenant, id) = keys::parse_object(pk).or_else(of_network)?;
                let due = Timestamp::parse(string(item, "next_at")).ok()?;
                Some(Waiting { tenant, id, due })
            }));
        }
        Ok(waiting)
    }
}
