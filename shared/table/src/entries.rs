//! Lists in an index of keys, or in several partitions of the table: their entries are merged by id, and lead to the items.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;

use super::filter::{Among, Filter, expression_of};
use super::keys::{self, Partition};
use super::page::{Cursor, PageRequest};
use super::{Item, Store, client, names_in, s, string};
use kernel::{Id, Kind, Result};

/// The number of entries read for each requested item if DynamoDB filters them, so that a frequent value costs little.
pub(super) const LEFT_OUT: usize = 16;

/// The factor by which that number grows with each further call, so that a rare value is found with few calls.
pub(super) const GROWTH: usize = 8;

/// The attributes that are read of an index of whole items. The other attributes are index keys and those that the relay reads: a third of
/// a small item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attributes {
    /// The attributes that [`super::stored_item::read`] reads. Secrets are encrypted in the context of the item's key.
    Stored,
    /// The attributes that [`super::stored_item::object`] reads.
    Object,
}

impl Attributes {
    /// Returns the attributes to request from an index of whole items.
    pub(super) fn in_index(self) -> &'static str {
        match self {
            Self::Stored => "pk, sk, list_sk, #object, #internal, #version, #schema, kept",
            Self::Object => "pk, sk, list_sk, #object, #schema",
        }
    }

    /// Returns the attributes to request of the items that an index leads to; `None` for all of them.
    fn in_items(self) -> Option<&'static str> {
        match self {
            Self::Stored => None,
            Self::Object => Some(
                "pk, sk, list_sk, driver_pk, fleet_pk, paid_with, vehicle_pk, #object, deflated, #schema",
            ),
        }
    }
}

impl Store {
    /// Reads the entries of an index of keys, or of several partitions of the table, in the order and within the bounds of a page.
    pub(super) fn entries<'a>(
        &'a self,
        partition: Partition<'_>,
        kind: Kind,
        page_request: &PageRequest,
        attributes: Attributes,
    ) -> Entries<'a> {
        let (index, _) = partition.place();
        let bounds = page_request.bounds(kind);
        Entries {
            store: self,
            index,
            values: partition.values(),
            kind,
            bounds: bounds.and_then(|(low, high)| Some((low.number(kind)?, high.number(kind)?))),
            ascending: matches!(page_request.from, Cursor::Before(_)),
            attributes,
            condition: None,
            left_out: LEFT_OUT,
        }
    }
}

/// The entries of a list in an index of keys, or in several partitions of the table. Reading continues where it ended before. Memory holds
/// the items of one reading.
pub(super) struct Entries<'a> {
    store: &'a Store,
    /// The name of the index or [`keys::TABLE`].
    index: &'static str,
    /// The partitions over which the list is spread.
    values: Vec<String>,
    kind: Kind,
    /// The smallest and the largest number of an id that is still to be read; `None` when there are no more.
    bounds: Option<(u128, u128)>,
    ascending: bool,
    /// The attributes that are read of the items.
    attributes: Attributes,
    /// The filter that DynamoDB applies to the entries, if these are whole items.
    condition: Option<Expression>,
    /// The number of entries to read next of each partition for each requested item, if DynamoDB filters them.
    left_out: usize,
}

/// A filter expression with its names and values.
struct Expression {
    text: String,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Entries<'_> {
    /// Returns the place where reading has ended, unless all entries were read.
    pub(super) fn end(&self) -> Option<Id> {
        let (low, high) = self.bounds?;
        let number = if self.ascending {
            low.checked_sub(1)?
        } else {
            high.checked_add(1)?
        };
        Some(Id::from_number(self.kind, number))
    }

    /// Returns whether DynamoDB filters the entries.
    pub(super) fn is_narrowed(&self) -> bool {
        self.condition.is_some()
    }

    /// Makes DynamoDB filter the entries by these conditions, if they are whole items.
    pub(super) fn narrow(&mut self, filter: Filter<'_>, among: Option<Among<'_>>) {
        if !keys::holds_items(self.index) {
            return;
        }
        self.left_out = (LEFT_OUT / self.values.len().max(1)).max(1);
        let (mut names, mut values) = (names_in("#object"), HashMap::new());
        let text = expression_of(filter, among, &mut names, &mut values);
        self.condition = text.map(|text| Expression {
            text,
            names,
            values,
        });
    }

    /// Returns the items of the next entries, at most `limit`, in the order of the list. Deleted items are left out, so the result may be
    /// empty although more follow. Returns `None` after the last.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub(super) async fn next(&mut self, limit: usize) -> Result<Option<Vec<Item>>> {
        let Some((low, high)) = self.bounds else {
            return Ok(None);
        };
        let ids = (
            Id::from_number(self.kind, low),
            Id::from_number(self.kind, high),
        );
        let reads = self
            .values
            .iter()
            .map(|value| self.read(value, &ids, limit));
        let read = try_join_all(reads).await?;
        self.left_out = self.left_out.saturating_mul(GROWTH);
        // No partition was read beyond the place at which the reading of another one has ended.
        let ends = read.iter().filter_map(|(_, end)| end.clone());
        let mut end = if self.ascending {
            ends.min()
        } else {
            ends.max()
        };
        let order = keys::order_in(self.index);
        let is_read = |entry: &Item| match (&end, self.ascending) {
            (None, _) => true,
            (Some(end), true) => string(entry, order) <= end.as_str(),
            (Some(end), false) => string(entry, order) >= end.as_str(),
        };
        let entries = read.into_iter().flat_map(|(entries, _)| entries);
        let mut entries: Vec<Item> = entries.filter(is_read).collect();
        entries.sort_by(|a, b| string(a, order).cmp(string(b, order)));
        if !self.ascending {
            entries.reverse();
        }
        if entries.len() > limit {
            entries.truncate(limit);
            let last = entries.last().map(|entry| string(entry, order));
            end = last.map(Id::from);
        }
        let last = end.and_then(|id| id.number(self.kind));
        self.bounds = last.and_then(|last| {
            if self.ascending {
                Some((last.checked_add(1)?, high))
            } else {
                Some((low, last.checked_sub(1)?))
            }
        });
        self.bounds = self.bounds.filter(|(low, high)| low <= high);
        let items = if keys::holds_items(self.index) {
            entries
        } else {
            self.items(&entries).await?
        };
        Ok(Some(items))
    }

    /// Returns the items that these entries of an index of keys name, in their order.
    async fn items(&self, entries: &[Item]) -> Result<Vec<Item>> {
        let keys: Vec<Item> = entries.iter().map(key_of_entry).collect();
        let items = self
            .store
            .items(keys, self.attributes.in_items(), false)
            .await?;
        let place = |item: &Item| (string(item, "pk").to_owned(), string(item, "sk").to_owned());
        let mut items: HashMap<_, Item> =
            items.into_iter().map(|item| (place(&item), item)).collect();
        let items = entries
            .iter()
            .filter_map(|entry| items.remove(&place(entry)));
        Ok(items.collect())
    }

    /// Returns at most `limit` next entries of one partition (fewer if a filter applies), and the place where reading has ended unless they
    /// are the last ones.
    async fn read(
        &self,
        value: &str,
        ids: &(Id, Id),
        limit: usize,
    ) -> Result<(Vec<Item>, Option<Id>)> {
        let (index, order) = (self.index, keys::order_in(self.index));
        let mut names = HashMap::from([
            ("#pk".to_owned(), keys::hash_key_of(index)),
            ("#order".to_owned(), order.to_owned()),
        ]);
        let mut values = HashMap::from([
            (":pk".to_owned(), s(value)),
            (":low".to_owned(), s(ids.0.as_str())),
            (":high".to_owned(), s(ids.1.as_str())),
        ]);
        if let Some(condition) = &self.condition {
            names.extend(condition.names.clone());
            values.extend(condition.values.clone());
        }
        let limit = match self.condition {
            Some(_) => limit.saturating_mul(self.left_out),
            None => limit,
        };
        let query = self.store.client.query().table_name(&self.store.table);
        let page = query
            .set_index_name((index != keys::TABLE).then(|| index.to_owned()))
            .key_condition_expression("#pk = :pk AND #order BETWEEN :low AND :high")
            .set_filter_expression(
                self.condition
                    .as_ref()
                    .map(|condition| condition.text.clone()),
            )
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .scan_index_forward(self.ascending)
            .set_limit(i32::try_from(limit).ok())
            .send()
            .await
            .map_err(client::failure)?;
        let end = page.last_evaluated_key;
        let end = end.map(|key| Id::from(string(&key, order)));
        Ok((page.items.unwrap_or_default(), end))
    }
}

/// Returns the key of the item that an entry of an index leads to.
pub(super) fn key_of_entry(entry: &Item) -> Item {
    let member = |name: &str| Some((name.to_owned(), entry.get(name)?.clone()));
    ["pk", "sk"].into_iter().filter_map(member).collect()
}
