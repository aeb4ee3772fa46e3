//! The texts and the metadata by which objects are found.
//!
//! The relay writes an entry for each text of an object, and deletes the entries of removed texts. These writes are idempotent, so a change
//! may be relayed again. An entry contains all data that a search shows: a search is one Query for each kind of object.

use std::collections::{BTreeMap, HashSet};

use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest, WriteRequest};
use futures::future::try_join_all;

use super::keys::{self, Key, search_partition};
use super::list::{Page, PageRequest};
use super::{Item, Store, client, key_item, new_item, s, string};
use kernel::fields::metadata::MetadataPair;
use kernel::{Error, Id, Kind, Result, Tenant};
use models::search::{MOST_RESULTS, MOST_TEXTS, SearchField, SearchResult, SearchResultType};

/// The number of entries that a search reads of each kind: all entries of an object can have the same beginning.
const AT_ONCE: usize = MOST_RESULTS * MOST_TEXTS;

/// The maximum number of items that one BatchWriteItem writes or deletes, and how often unprocessed items are sent again.
pub(super) const AT_A_TIME: usize = 25;
const WRITE_ATTEMPTS: u32 = 8;

/// The texts by which an object is found, with the members that they come from.
pub type Entries = BTreeMap<String, SearchField>;

impl Store {
    /// Writes the entries of an object and deletes the entries of removed texts.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached, or leaves entries unwritten.
    pub async fn save_entries(
        &self,
        tenant: &Tenant,
        id: &Id,
        title: &str,
        entries: &Entries,
        obsolete: impl Iterator<Item = &String>,
    ) -> Result<()> {
        let puts = entries.iter().map(|(text, field)| {
            let mut item = new_item(Key::Found { tenant, text, id });
            item.insert("title".into(), s(title));
            let matched = serde_dynamo::to_attribute_value(field).map_err(Error::internal)?;
            item.insert("matched".into(), matched);
            put(item)
        });
        let deletions = obsolete.map(|text| deletion(key_item(Key::Found { tenant, text, id })));
        self.write_chunks(puts.chain(deletions).collect::<Result<_>>()?)
            .await
    }

    /// Records the pairs in the metadata of an object, and deletes the entries of removed pairs.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached, or leaves some unwritten.
    pub async fn save_pairs<'a>(
        &self,
        tenant: &Tenant,
        id: &Id,
        pairs: impl Iterator<Item = &'a MetadataPair>,
        obsolete: impl Iterator<Item = &'a MetadataPair>,
    ) -> Result<()> {
        let key = |pair| Key::WithMetadata { tenant, pair, id };
        let puts = pairs.map(|pair| put(new_item(key(pair))));
        let deletions = obsolete.map(|pair| deletion(key_item(key(pair))));
        self.write_chunks(puts.chain(deletions).collect::<Result<_>>()?)
            .await
    }

    /// Returns one page of the ids of the objects of a kind that have, or had, a pair in their metadata.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn with_metadata(
        &self,
        tenant: &Tenant,
        kind: Kind,
        pair: &MetadataPair,
        page_request: &PageRequest,
    ) -> Result<Page<Id>> {
        let pk = keys::metadata_partition(tenant, pair);
        let found = self.in_collection(pk, kind, page_request).await?;
        found.try_map(|item| Ok(Id::from(string(&item, "sk"))))
    }

    /// Sends any number of writes, some at a time.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached, or leaves some undone.
    pub(super) async fn write_chunks(&self, writes: Vec<WriteRequest>) -> Result<()> {
        for writes in writes.chunks(AT_A_TIME) {
            self.write_all(writes.to_vec()).await?;
        }
        Ok(())
    }

    /// Sends writes until all of them are done.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached, or leaves some undone.
    pub(super) async fn write_all(&self, mut left: Vec<WriteRequest>) -> Result<()> {
        for _ in 0..WRITE_ATTEMPTS {
            if left.is_empty() {
                return Ok(());
            }
            let call = self.client.batch_write_item();
            let answer = call.request_items(&self.table, left).send().await;
            let answer = answer.map_err(client::failure)?;
            left = answer
                .unprocessed_items
                .and_then(|mut tables| tables.remove(&self.table))
                .unwrap_or_default();
        }
        if left.is_empty() {
            Ok(())
        } else {
            Err(Error::unavailable(
                "the table left writes of a batch undone",
            ))
        }
    }

    /// Returns the objects of these kinds that a text finds, each once, in the order of their texts: at most [`MOST_RESULTS`].
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn found_by(
        &self,
        tenant: &Tenant,
        text: &str,
        kinds: impl Iterator<Item = Kind>,
    ) -> Result<Vec<SearchResult>> {
        let entries = try_join_all(kinds.map(|kind| self.found_of(tenant, kind, text))).await?;
        let results = entries.iter().flatten().map(result);
        let results: Option<Vec<(&str, SearchResult)>> = results.collect();
        let mut results =
            results.ok_or_else(|| Error::permanent("an entry that no object is found by"))?;
        results.sort_by(|(text, a), (other, b)| (text, &a.id).cmp(&(other, &b.id)));
        let mut ids = HashSet::new();
        results.retain(|(_, result)| ids.insert(result.id.clone()));
        let results = results.into_iter().map(|(_, result)| result);
        Ok(results.take(MOST_RESULTS).collect())
    }

    /// Returns the first entries of the objects of a kind that a text finds: those of at least [`MOST_RESULTS`] objects, unless it finds
    /// fewer.
    async fn found_of(&self, tenant: &Tenant, kind: Kind, text: &str) -> Result<Vec<Item>> {
        let query = self.client.query().table_name(&self.table);
        let page = query
            .key_condition_expression("pk = :pk AND begins_with(sk, :text)")
            .expression_attribute_values(":pk", s(search_partition(tenant)))
            .expression_attribute_values(":text", s(keys::found_prefix(kind, text)))
            .set_limit(i32::try_from(AT_ONCE).ok())
            .send();
        let page = page.await.map_err(client::failure)?;
        Ok(page.items.unwrap_or_default())
    }
}

pub(super) fn put(item: Item) -> Result<WriteRequest> {
    let put = PutRequest::builder().set_item(Some(item)).build();
    let put = put.map_err(Error::internal)?;
    Ok(WriteRequest::builder().put_request(put).build())
}

pub(super) fn deletion(key: Item) -> Result<WriteRequest> {
    let deletion = DeleteRequest::builder().set_key(Some(key)).build();
    let deletion = deletion.map_err(Error::internal)?;
    Ok(WriteRequest::builder().delete_request(deletion).build())
}

/// Returns the result of an entry, with its text.
fn result(item: &Item) -> Option<(&str, SearchResult)> {
    let (text, id) = keys::parse_found(string(item, "sk"))?;
    let kind = SearchResultType::of(id.kind()?)?;
    let matched = item.get("matched").cloned()?;
    let result = SearchResult {
        id,
        matched: serde_dynamo::from_attribute_value(matched).ok()?,
        title: string(item, "title").to_owned(),
        kind,
    };
    Some((text, result))
}
