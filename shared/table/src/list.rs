//! Lists: newest first, a page at a time in either direction.
//!
//! The list of a kind that rarely changes is one partition of the index `list`, which holds whole items: a page is one Query, and DynamoDB
//! applies the filter. The same is true of events, whose list is several partitions of the table: a page is one Query for each partition,
//! and the items are merged by id. Every other list is one or several partitions of an index that holds keys: a page is one Query for each
//! partition, whose entries are merged by id, and a BatchGetItem for the items. There the filter is applied here, to the current items. In
//! each case the items that a filter leaves out are read and paid for.
//!
//! A page reads a bounded part of its list, so that its time is bounded. If a filter leaves out most of that part, the page is *short*: it
//! has fewer objects than were requested, or none, and the next page begins where its reading ended ([`Page::end`]).

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;

use super::entries::{Attributes, GROWTH, LEFT_OUT, key_of_entry};
use super::filter::{expression_of, is_met};
use super::keys::{self, Key, Partition};
use super::stored_item::{self, ById, Record};
use super::{Item, Store, client, names_in, s, string};
use kernel::fields::metadata::MetadataPair;
use kernel::{Id, Kind, Result, Tenant, Timestamp};
use models::Stored;

pub use super::filter::{Among, Filter};
pub use super::page::{Cursor, Page, PageRequest, page_of_ids};

/// The source of the ids of a list that has no index.
#[derive(Debug, Clone)]
pub enum Members<'a> {
    /// The drivers attached to a fleet.
    OfFleet(&'a Id),
    /// The charge cards of a driver or a vehicle.
    CardsOf(&'a Id),
    /// The objects that have a pair in their metadata.
    WithMetadata(&'a MetadataPair),
    /// The ids that another object contains.
    These(Vec<Id>),
}

impl Store {
    /// Returns one page of a list of whole items.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn list<T: Record>(
        &self,
        partition: Partition<'_>,
        page_request: &PageRequest,
        filter: Filter<'_>,
    ) -> Result<Page<Stored<T>>> {
        let attributes = Attributes::Stored;
        let found = self
            .page(partition, T::KIND, page_request, filter, None, attributes)
            .await?;
        found.try_map(|item| self.stored_of(item))
    }

    /// Returns one page of the objects of a list, without their internal states: reading ten fleets then needs a tenth less of a function's
    /// time. Secrets are masked.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn list_objects<T: Record>(
        &self,
        partition: Partition<'_>,
        page_request: &PageRequest,
        filter: Filter<'_>,
    ) -> Result<Page<T>> {
        let attributes = Attributes::Object;
        let found = self
            .page(partition, T::KIND, page_request, filter, None, attributes)
            .await?;
        found.try_map(|item| stored_item::object(item, self.layout))
    }

    /// Returns one page of a list that consists of a partition with the items since a moment, and another with the earlier ones.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn list_in_two<T: Record>(
        &self,
        (recent, since): (Partition<'_>, Timestamp),
        earlier: Partition<'_>,
        page_request: &PageRequest,
        filter: Filter<'_>,
    ) -> Result<Page<Stored<T>>> {
        let mut parts = [
            (recent, page_request.clone().since(since)),
            (earlier, page_request.clone().until(since)),
        ];
        if matches!(page_request.from, Cursor::Before(_)) {
            parts.reverse();
        }
        let [(first, of_first), (second, mut of_second)] = parts;
        let page = self.list(first, &of_first, filter.clone()).await?;
        if page.continues(&page_request.from) {
            return Ok(page);
        }
        // At least one, which shows whether the list continues.
        of_second.limit = (page_request.limit - page.items.len()).max(1);
        let next = self.list(second, &of_second, filter).await?;
        page.and(next, page_request.limit, &page_request.from)
    }

    /// Returns one page of the items of a list whose member has one of these values. The items left out are read and paid for, but a page
    /// is as full and as stable as one of [`Store::list`].
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn list_among<T: Record>(
        &self,
        partition: Partition<'_>,
        page_request: &PageRequest,
        filter: Filter<'_>,
        among: Among<'_>,
    ) -> Result<Page<Stored<T>>> {
        let (among, attributes) = (Some(among), Attributes::Stored);
        let found = self
            .page(partition, T::KIND, page_request, filter, among, attributes)
            .await?;
        found.try_map(|item| self.stored_of(item))
    }

    /// Returns all items of a short list.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub(super) async fn items_in(&self, partition: Partition<'_>) -> Result<Vec<Item>> {
        let (index, _) = partition.place();
        let items = self.entries_in(partition).await?;
        if keys::holds_items(index) {
            Ok(items)
        } else {
            self.items(items.iter().map(key_of_entry).collect(), None, false)
                .await
        }
    }

    /// Returns the ids of all objects of a list.
    pub(super) async fn ids_in(&self, partition: Partition<'_>) -> Result<Vec<Id>> {
        let entries = self.entries_in(partition).await?;
        let id = |entry: &Item| keys::id_of(string(entry, "pk"), string(entry, "sk"));
        Ok(entries.iter().filter_map(id).collect())
    }

    pub(super) async fn entries_in(&self, partition: Partition<'_>) -> Result<Vec<Item>> {
        let (index, value) = partition.place();
        let query = self.client.query().table_name(&self.table);
        let query = query
            .index_name(index)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", keys::hash_key_of(index))
            .expression_attribute_values(":pk", s(value));
        all_items(query).await
    }

    /// Returns all items with this partition key, strongly consistent.
    pub(super) async fn items_under(&self, pk: String) -> Result<Vec<Item>> {
        let query = self.client.query().table_name(&self.table);
        let query = query
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", s(pk))
            .consistent_read(true);
        all_items(query).await
    }

    /// Returns the id of the newest object of a list that meets these conditions, if there is one.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn newest_id(
        &self,
        partition: Partition<'_>,
        kind: Kind,
        filter: Filter<'_>,
    ) -> Result<Option<Id>> {
        let first = PageRequest::first(1);
        let newest = self.newest(partition, kind, first, filter, None).await?;
        Ok(newest.map(|item| Id::from(string(&item, "list_sk"))))
    }

    /// Returns the newest object within the request that meets these conditions and has one of these values, if there is one.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn newest_among<T: Record>(
        &self,
        partition: Partition<'_>,
        page_request: PageRequest,
        filter: Filter<'_>,
        among: Among<'_>,
    ) -> Result<Option<T>> {
        let newest = self
            .newest(partition, T::KIND, page_request, filter, Some(among))
            .await?;
        newest
            .map(|item| stored_item::object(item, self.layout))
            .transpose()
    }

    /// Returns the first item of a list, however many items have to be read.
    async fn newest(
        &self,
        partition: Partition<'_>,
        kind: Kind,
        mut page_request: PageRequest,
        filter: Filter<'_>,
        among: Option<Among<'_>>,
    ) -> Result<Option<Item>> {
        loop {
            let (filter, attributes) = (filter.clone(), Attributes::Object);
            let found = self
                .page(partition, kind, &page_request, filter, among, attributes)
                .await?;
            match (found.items.into_iter().next(), found.end) {
                (None, Some(end)) => page_request.from = Cursor::After(end),
                (newest, _) => return Ok(newest),
            }
        }
    }

    /// Returns one page of items: their place in the list, and at least the requested attributes.
    pub(super) async fn page(
        &self,
        partition: Partition<'_>,
        kind: Kind,
        page_request: &PageRequest,
        filter: Filter<'_>,
        among: Option<Among<'_>>,
        attributes: Attributes,
    ) -> Result<Page<Item>> {
        let (index, value) = partition.place();
        if partition.is_spread() || !keys::holds_items(index) {
            return self
                .page_of_entries(partition, kind, page_request, &filter, among, attributes)
                .await;
        }
        let (from, limit) = (&page_request.from, page_request.limit);
        let Some((low, high)) = page_request.bounds(kind) else {
            return Ok(Page::part(Vec::new(), limit, from, None));
        };
        let mut names = names_in(attributes.in_index());
        names.insert("#pk".into(), keys::hash_key_of(index));
        let mut values = HashMap::from([
            (":pk".to_owned(), s(value)),
            (":low".to_owned(), s(low.as_str())),
            (":high".to_owned(), s(high.as_str())),
        ]);
        let condition = expression_of(filter, among, &mut names, &mut values);
        let is_filtered = condition.is_some();
        let query = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(index)
            .key_condition_expression("#pk = :pk AND list_sk BETWEEN :low AND :high")
            .projection_expression(attributes.in_index())
            .set_filter_expression(condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .scan_index_forward(matches!(from, Cursor::Before(_)));
        let (items, end) = read_items(query, is_filtered, limit).await?;
        Ok(Page::part(items, limit, from, end))
    }

    /// Returns one page of the items of several partitions, or of an index of keys.
    async fn page_of_entries(
        &self,
        partition: Partition<'_>,
        kind: Kind,
        page_request: &PageRequest,
        filter: &Filter<'_>,
        among: Option<Among<'_>>,
        attributes: Attributes,
    ) -> Result<Page<Item>> {
        let (limit, from) = (page_request.limit, &page_request.from);
        let is_filtered = !filter.is_empty() || among.is_some();
        let mut entries = self.entries(partition, kind, page_request, attributes);
        entries.narrow(filter.clone(), among);
        let (mut items, mut end) = (Vec::new(), None);
        let (mut seen, mut seen_bytes, mut kept_bytes) = (0, 0, 0);
        let mut at_a_time = limit + 1;
        let mut rounds = 0;
        'read: while let Some(read) = entries.next(at_a_time).await? {
            rounds += 1;
            for mut item in read {
                stored_item::inflate(&mut item)?;
                if is_filtered {
                    stored_item::restore(&mut item);
                }
                let bytes = size_of(&item);
                (seen, seen_bytes) = (seen + 1, seen_bytes + bytes);
                let is_kept = filter.iter().all(|condition| is_met(&item, condition))
                    && among.is_none_or(|among| among.has(&item));
                if !is_kept {
                    continue;
                }
                kept_bytes += bytes;
                let place = keys::id_of(string(&item, "pk"), string(&item, "sk"));
                items.push(item);
                // The items that a response has no room for are not decoded: they are on the next page.
                if kept_bytes > MAX_KEPT {
                    end = place;
                    break 'read;
                }
            }
            if items.len() > limit {
                break;
            }
            if seen >= MAX_KEYS || seen_bytes > MAX_READ || rounds == MAX_SCANS {
                end = entries.end();
                break;
            }
            // DynamoDB leaves out the items that do not match: `Entries` reads more of it each time.
            if !entries.is_narrowed() {
                let fitting = AT_A_TIME * seen / seen_bytes.max(1);
                let most = MAX_KEYS.saturating_sub(seen).max(limit + 1);
                at_a_time = match seen {
                    0 => most,
                    _ => fitting.clamp(limit + 1, most),
                };
            }
        }
        Ok(Page::part(items, limit, from, end))
    }

    /// Returns one page of objects whose ids are not in an index, without the objects that `keep` refuses.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn list_members<T: ById>(
        &self,
        tenant: &Tenant,
        members: Members<'_>,
        page_request: &PageRequest,
        keep: impl Fn(&T) -> bool,
    ) -> Result<Page<Stored<T>>> {
        let backward = matches!(page_request.from, Cursor::Before(_));
        let mut rest = page_request.clone();
        // One more than the page shows: then another page follows, and nothing else is read.
        rest.limit += 1;
        let mut items: Vec<Stored<T>> = Vec::new();
        let (mut seen, mut end) = (0, None);
        loop {
            let ids = match &members {
                Members::OfFleet(fleet) => self.drivers_of(tenant, fleet, &rest).await?,
                Members::CardsOf(holder) => self.cards_of(tenant, holder, &rest).await?,
                Members::WithMetadata(pair) => {
                    self.with_metadata(tenant, T::KIND, pair, &rest).await?
                }
                Members::These(ids) => page_of_ids(ids.clone(), T::KIND, &rest),
            };
            let last = if backward {
                ids.items.first()
            } else {
                ids.items.last()
            };
            let Some(last) = last.cloned() else {
                break;
            };
            let mut found = self.get_all::<T>(tenant, &ids.items).await?;
            found.retain(|stored| keep(&stored.object));
            if backward {
                found.reverse();
            }
            items.extend(found);
            let more = if backward { ids.newer } else { ids.older };
            if !more || items.len() > page_request.limit {
                break;
            }
            seen += ids.items.len();
            if seen >= MAX_KEYS {
                end = Some(last);
                break;
            }
            rest.limit = MAX_KEYS - seen;
            rest.from = if backward {
                Cursor::Before(last)
            } else {
                Cursor::After(last)
            };
        }
        let PageRequest { limit, from, .. } = page_request;
        Ok(Page::part(items, *limit, from, end))
    }

    /// Returns one page of the ids of the drivers attached to a fleet.
    async fn drivers_of(
        &self,
        tenant: &Tenant,
        fleet: &Id,
        page_request: &PageRequest,
    ) -> Result<Page<Id>> {
        let (pk, _) = Key::Object { tenant, id: fleet }.pair();
        let found = self.in_collection(pk, Kind::Driver, page_request).await?;
        found.try_map(|item| Ok(Id::from(string(&item, "sk"))))
    }

    /// Returns one page of the items with this partition key whose sort keys are ids of a kind.
    pub(super) async fn in_collection(
        &self,
        pk: String,
        kind: Kind,
        page_request: &PageRequest,
    ) -> Result<Page<Item>> {
        let items = self.collection(pk, kind, page_request, |_| true).await?;
        Ok(Page::from_items(items, page_request))
    }

    /// Returns the items of a partition of the table whose sort keys are ids, in the order of a page: one more than the limit, if there are
    /// enough.
    pub(super) async fn collection(
        &self,
        pk: String,
        kind: Kind,
        page_request: &PageRequest,
        is_shown: fn(&Item) -> bool,
    ) -> Result<Vec<Item>> {
        let Some((low, high)) = page_request.bounds(kind) else {
            return Ok(Vec::new());
        };
        let most = page_request.limit + 1;
        let query = self.client.query().table_name(&self.table);
        let mut items = query
            .key_condition_expression("pk = :pk AND sk BETWEEN :low AND :high")
            .expression_attribute_values(":pk", s(pk))
            .expression_attribute_values(":low", s(low.as_str()))
            .expression_attribute_values(":high", s(high.as_str()))
            .scan_index_forward(matches!(page_request.from, Cursor::Before(_)))
            .set_limit(i32::try_from(most).ok())
            .into_paginator()
            .items()
            .send();
        let mut shown = Vec::new();
        while shown.len() < most
            && let Some(item) = items.try_next().await.map_err(client::failure)?
        {
            shown.extend(Some(item).filter(is_shown));
        }
        Ok(shown)
    }
}

/// Returns all items of a query.
pub(super) async fn all_items(query: QueryFluentBuilder) -> Result<Vec<Item>> {
    let items = query.into_paginator().items().send();
    items.try_collect().await.map_err(client::failure)
}

/// The approximate number of bytes of items that a list of keys reads at a time.
const AT_A_TIME: usize = 4_000_000;

/// The approximate number of items that a page of a list of keys reads, so that its time is bounded: four calls of BatchGetItem.
const MAX_KEYS: usize = 400;

/// The maximum number of calls for a page with a filter. Each reads at most 1 MB of an index.
const MAX_SCANS: usize = 4;

/// The maximum number of bytes of items that are read for one page: more than a response can show, and few enough for the memory of a
/// function.
const MAX_READ: usize = 8_000_000;

/// The number of bytes of items from which a response has no room for more: `MAX_PAGE` of the crate `web`, less what the items have besides
/// their objects.
const MAX_KEPT: usize = 6_000_000;

/// Returns the approximate number of bytes of the names and values of an item.
fn size_of(item: &Item) -> usize {
    fn of_value(value: &AttributeValue) -> usize {
        match value {
            AttributeValue::S(text) | AttributeValue::N(text) => text.len(),
            // A deflated text, which has at least twice the size in most cases.
            AttributeValue::B(bytes) => 2 * bytes.as_ref().len(),
            AttributeValue::L(values) => values.iter().map(of_value).sum(),
            AttributeValue::M(members) => members
                .iter()
                .map(|(name, value)| name.len() + of_value(value))
                .sum(),
            _ => 1,
        }
    }
    let attributes = item.iter();
    attributes
        .map(|(name, value)| name.len() + of_value(value))
        .sum()
}

/// Returns the first items of a query: one more than the limit, or as many as may be read. In the second case the place of the last item
/// that was read is returned as well.
async fn read_items(
    query: QueryFluentBuilder,
    is_filtered: bool,
    limit: usize,
) -> Result<(Vec<Item>, Option<Id>)> {
    let mut at_a_time = if is_filtered {
        (limit + 1).saturating_mul(LEFT_OUT)
    } else {
        limit + 1
    };
    let (mut found, mut start) = (Vec::new(), None);
    let (mut read, mut calls) = (0, 0);
    loop {
        calls += 1;
        let query = query.clone().set_exclusive_start_key(start);
        let query = query.set_limit(i32::try_from(at_a_time).ok());
        let page = query.send().await.map_err(client::failure)?;
        if is_filtered {
            at_a_time = at_a_time.saturating_mul(GROWTH);
        }
        let items = page.items.unwrap_or_default();
        start = page.last_evaluated_key;
        if start.is_some() {
            read += items.iter().map(size_of).sum::<usize>();
        }
        found.extend(items);
        if found.len() > limit || start.is_none() {
            return Ok((found, None));
        }
        if read > MAX_READ || (is_filtered && calls == MAX_SCANS) {
            let end = start.as_ref().map(|key| Id::from(string(key, "list_sk")));
            return Ok((found, end));
        }
    }
}
