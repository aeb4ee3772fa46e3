//! The log of a webhook endpoint: a line for each attempt to deliver an event to it.

use std::collections::HashMap;

use futures::future::try_join_all;

use super::filter::{Filter, is_met};
use super::keys::{self, Key, Partition};
use super::page::{Cursor, Page, PageRequest, page_of_ids};
use super::stored_item;
use super::{Item, Store, key_item, string};
use kernel::{Error, Id, Kind, Result, Tenant, Timestamp};
use models::{Stored, WebhookDelivery};

impl Store {
    /// Returns one page of the log of an endpoint, newest first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn deliveries(
        &self,
        tenant: &Tenant,
        endpoint: &Id,
        page_request: &PageRequest,
        filter: Filter<'_>,
    ) -> Result<Page<Stored<WebhookDelivery>>> {
        if !filter.is_empty() {
            let partition = Partition::Deliveries { tenant, endpoint };
            return self.list(partition, page_request, filter).await;
        }
        let mut items = self.log_lines(tenant, endpoint, page_request).await?;
        items.sort_by(|a, b| string(a, "sk").cmp(string(b, "sk")));
        if !matches!(page_request.from, Cursor::Before(_)) {
            items.reverse();
        }
        Page::from_items(items, page_request).try_map(stored_item::from_item)
    }

    /// Returns the next lines of each partition of the log of an endpoint.
    async fn log_lines(
        &self,
        tenant: &Tenant,
        endpoint: &Id,
        page_request: &PageRequest,
    ) -> Result<Vec<Item>> {
        let partitions = 0..keys::DELIVERY_SHARDS;
        let reads = partitions.map(|number| {
            let pk = keys::deliveries_partition(tenant, endpoint, number);
            self.collection(pk, Kind::WebhookDelivery, page_request, has_outcome)
        });
        Ok(try_join_all(reads).await?.into_iter().flatten().collect())
    }

    /// Returns the newest attempts in the log of an endpoint since a moment, at most `most`: the same number of each partition of the log,
    /// over which attempts are spread evenly.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn newest_attempts(
        &self,
        tenant: &Tenant,
        endpoint: &Id,
        since: Timestamp,
        most: usize,
    ) -> Result<Vec<WebhookDelivery>> {
        let page_request = PageRequest {
            // One more attempt is read of each partition, to find out whether there are more.
            limit: most / usize::from(keys::DELIVERY_SHARDS) - 1,
            from: Cursor::Newest,
            range: (Id::first_number(since), u128::MAX),
        };
        let items = self.log_lines(tenant, endpoint, &page_request).await?;
        let attempt = |delivery: Stored<WebhookDelivery>| delivery.object;
        let deliveries = items.into_iter().map(stored_item::from_item);
        deliveries.map(|delivery| delivery.map(attempt)).collect()
    }

    /// Returns a line of the log of an endpoint.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn attempt(
        &self,
        tenant: &Tenant,
        endpoint: &Id,
        line: &Id,
    ) -> Result<Option<Stored<WebhookDelivery>>> {
        let key = Key::Delivery {
            tenant,
            endpoint,
            delivery: line,
        };
        let item = self.item(key, true).await?.filter(has_outcome);
        item.map(stored_item::from_item).transpose()
    }

    /// Returns one page of the attempts to deliver an event to these endpoints that meet the conditions, newest first. If a delivery was
    /// repeated more than 200 times, only the first 200 further attempts are included.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn deliveries_of_event(
        &self,
        tenant: &Tenant,
        event: &Id,
        endpoints: &[Id],
        page_request: &PageRequest,
        filter: &Filter<'_>,
    ) -> Result<Page<Stored<WebhookDelivery>>> {
        let key = |endpoint: &Id, delivery: &Id| {
            key_item(Key::Delivery {
                tenant,
                endpoint,
                delivery,
            })
        };
        let firsts = endpoints.iter();
        let firsts =
            firsts.map(|endpoint| key(endpoint, &WebhookDelivery::first_id(event, endpoint)));
        let mut items = self.items(firsts.collect(), None, false).await?;
        let lines = items.iter().flat_map(|item| {
            let place = keys::parse_delivery(string(item, "pk"), string(item, "sk"));
            let lines = item.get("further").and_then(|lines| lines.as_l().ok());
            let ids = lines.into_iter().flatten().filter_map(|id| id.as_s().ok());
            let ids = ids.map(|id| Id::from(id.as_str()));
            place.into_iter().flat_map(move |(_, endpoint, _)| {
                let ids = ids.clone();
                ids.map(move |id| key(&endpoint, &id))
            })
        });
        let lines = lines.collect();
        items.extend(self.items(lines, None, false).await?);
        items.retain(has_outcome);
        items.iter_mut().for_each(stored_item::restore);
        items.retain(|item| filter.iter().all(|condition| is_met(item, condition)));
        let ids = items.iter().map(|item| Id::from(string(item, "sk")));
        let page = page_of_ids(ids.collect(), Kind::WebhookDelivery, page_request);
        let place = |item: Item| (Id::from(string(&item, "sk")), item);
        let mut items: HashMap<Id, Item> = items.into_iter().map(place).collect();
        let missing = || Error::internal("an attempt that was read is missing");
        page.try_map(|id| stored_item::from_item(items.remove(&id).ok_or_else(missing)?))
    }
}

/// Returns whether an item of a log is an attempt with an outcome.
fn has_outcome(item: &Item) -> bool {
    item.contains_key("object")
}
