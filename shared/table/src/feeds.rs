//! The feed of events for polling endpoints ([`models::webhooks::feed`]). It is spread over the same number of partitions as the events.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;

use super::keys::{self, Key};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, client, n, new_item, s, string};
use kernel::{Error, Id, Result, Tenant, Timestamp};
use models::EventType;
use models::event::{self};
use models::webhooks::feed::{FeedEntry, FeedPlace};

impl Store {
    /// Appends an entry to the feed.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn append_to_feed(&self, tenant: &Tenant, entry: &FeedEntry) -> Result<()> {
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(item(tenant, entry))).send().await;
        put.map(drop).map_err(client::failure)
    }

    /// Returns the next entries of the feed behind a place and before a moment, read consistently, and whether there are more.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn feed(
        &self,
        tenant: &Tenant,
        after: &FeedPlace,
        until: Timestamp,
        limit: usize,
    ) -> Result<(Vec<FeedEntry>, bool)> {
        let partitions = keys::feed_partitions(tenant);
        let (low, high) = (
            keys::behind_in_feed(after.at, after.event.as_ref()),
            keys::behind_in_feed(until, None),
        );
        if low >= high {
            return Ok((Vec::new(), false));
        }
        let reads = partitions.into_iter().map(async |pk| {
            let query = self.client.query().table_name(&self.table);
            let query = query
                .key_condition_expression("pk = :pk AND sk BETWEEN :low AND :high")
                .expression_attribute_values(":pk", s(pk))
                .expression_attribute_values(":low", s(low.as_str()))
                .expression_attribute_values(":high", s(high.as_str()))
                .consistent_read(true)
                .set_limit(i32::try_from(limit + 1).ok());
            let page = query.send().await.map_err(client::failure)?;
            Ok::<_, Error>(page.items.unwrap_or_default())
        });
        let items: Vec<Item> = try_join_all(reads).await?.into_iter().flatten().collect();
        let mut entries: Vec<FeedEntry> = items.iter().filter_map(entry).collect();
        entries.sort_by_key(FeedEntry::place);
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        Ok((entries, has_more))
    }
}

impl UnitOfWork<'_> {
    /// Appends an entry to the feed.
    pub fn append_to_feed(&mut self, entry: &FeedEntry) {
        let put = self.store.put(item(&self.origin.tenant, entry));
        self.push(Write::Put(put), Error::Contended);
    }
}

fn item(tenant: &Tenant, entry: &FeedEntry) -> Item {
    let mut item = new_item(Key::Fed {
        tenant,
        event: &entry.event,
        at: entry.at,
        only: entry.only.as_ref(),
    });
    item.insert("type".into(), s(entry.kind.as_str()));
    if entry.is_redelivery {
        item.insert("redelivery".into(), AttributeValue::Bool(true));
    }
    let expires = entry.at.plus(event::KEPT);
    item.insert("ttl".into(), n(expires.unix_seconds()));
    item
}

fn entry(item: &Item) -> Option<FeedEntry> {
    let mut parts = string(item, "sk").split('#');
    let at = parts.next()?.parse().ok()?;
    Some(FeedEntry {
        at: Timestamp::from_unix_millis(at),
        event: Id::from(parts.next()?),
        kind: EventType::from_name(string(item, "type"))?,
        only: parts.next().map(Id::from),
        is_redelivery: item.contains_key("redelivery"),
    })
}
