//! The texts and the metadata that objects are found by.
//!
//! The relay writes an entry for each text of an object, and deletes those of texts that the object has no more. What it does twice has the same
//! effect, so a change that is relayed again does no harm. An entry has all that a search shows: a search is one Query.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest, WriteRequest};

use super::keys::{self, Key, search_partition};
use super::list::{Page, PageRequest};
use super::{Item, Store, client, key_item, new_item, s, string};
use kernel::error::{Error, Result};
use kernel::fields::metadata::MetadataPair;
use kernel::id::{Id, Kind};
use kernel::origin::Tenant;
use models::search::{MOST_RESULTS, SearchField, SearchResult, SearchResultType};

/// How many entries a search reads. An object can have several with the same beginning, and a key may be without the right to read some objects.
const MOST_READ: i32 = 100;

/// How many items one BatchWriteItem writes or deletes at most, and how often those that it leaves are sent again.
pub(super) const AT_A_TIME: usize = 25;
const TRIES: u32 = 8;

/// The texts that an object is found by, with the members that they come from.
pub type Entries = BTreeMap<String, SearchField>;

impl Store {
    /// Writes the entries of an object and deletes those of texts that it has no more.
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
        let deletions = obsolete.map(|text| deletion(Key::Found { tenant, text, id }));
        self.write_chunks(puts.chain(deletions).collect::<Result<_>>()?)
            .await
    }

    /// Notes which pairs an object has in its metadata, and which it has no more.
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
        let deletions = obsolete.map(|pair| deletion(key(pair)));
        self.write_chunks(puts.chain(deletions).collect::<Result<_>>()?)
            .await
    }

    /// One page of the objects of a kind that have, or had, a pair in their metadata: their ids.
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

    async fn write_chunks(&self, writes: Vec<WriteRequest>) -> Result<()> {
        for writes in writes.chunks(AT_A_TIME) {
            self.write_all(writes.to_vec()).await?;
        }
        Ok(())
    }

    /// Sends writes until none is left.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached, or leaves some undone.
    pub(super) async fn write_all(&self, mut left: Vec<WriteRequest>) -> Result<()> {
        for _ in 0..TRIES {
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
        match left.is_empty() {
            true => Ok(()),
            false => Err(Error::unavailable(
                "the table left writes of a batch undone",
            )),
        }
    }

    /// The objects that a text finds, each once, of those that `shows` permits: at most [`MOST_RESULTS`].
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn found_by(
        &self,
        tenant: &Tenant,
        text: &str,
        shows: impl Fn(&Id) -> bool,
    ) -> Result<Vec<SearchResult>> {
        let query = self.client.query().table_name(&self.table);
        let page = query
            .key_condition_expression("pk = :pk AND begins_with(sk, :text)")
            .expression_attribute_values(":pk", s(search_partition(tenant)))
            .expression_attribute_values(":text", s(text))
            .limit(MOST_READ)
            .send()
            .await
            .map_err(client::failure)?;
        let mut results: Vec<SearchResult> = Vec::new();
        for item in page.items.unwrap_or_default() {
            let Some(result) = result(&item) else {
                return Err(Error::permanent("an entry that no object is found by"));
            };
            let is_new = results.iter().all(|one| one.id != result.id);
            if is_new && shows(&result.id) && results.len() < MOST_RESULTS {
                results.push(result);
            }
        }
        Ok(results)
    }
}

fn put(item: Item) -> Result<WriteRequest> {
    let put = PutRequest::builder().set_item(Some(item)).build();
    let put = put.map_err(Error::internal)?;
    Ok(WriteRequest::builder().put_request(put).build())
}

fn deletion(key: Key<'_>) -> Result<WriteRequest> {
    let deletion = DeleteRequest::builder()
        .set_key(Some(key_item(key)))
        .build();
    let deletion = deletion.map_err(Error::internal)?;
    Ok(WriteRequest::builder().delete_request(deletion).build())
}

fn result(item: &Item) -> Option<SearchResult> {
    let id = keys::parse_found(string(item, "sk"))?;
    let kind = SearchResultType::of(id.kind()?)?;
    let matched = item.get("matched").cloned()?;
    Some(SearchResult {
        id,
        matched: serde_dynamo::from_attribute_value(matched).ok()?,
        title: string(item, "title").to_owned(),
        kind,
    })
}
