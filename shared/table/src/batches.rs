//! The bodies and results of batches. Each chunk is one item: it holds the bodies until they were processed, and the results afterwards.

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::deflate::{deflated, inflated};
use super::keys::{self, Key};
use super::list::{Page, PageRequest, page_of_ids};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, key_item, n, new_item, string};
use kernel::{Error, Kind, Result, Tenant};
use models::Batch;
use models::batch::{BatchResult, Bodies, CHUNK, Outcome};

/// The attributes of an item.
const BODIES: &str = "bodies";
const OUTCOMES: &str = "outcomes";

impl Store {
    /// Returns the bodies of a chunk; `None` if they were processed.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn batch_bodies(
        &self,
        tenant: &Tenant,
        batch: &Batch,
        chunk: usize,
    ) -> Result<Option<Bodies>> {
        let item = self.item(key(tenant, batch, chunk), true).await?;
        item.map_or(Ok(None), |item| content(&item, BODIES))
    }

    /// Returns the results of a batch, in the order of its bodies.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn batch_results(
        &self,
        tenant: &Tenant,
        batch: &Batch,
        page_request: &PageRequest,
    ) -> Result<Page<BatchResult>> {
        let ids = (0..batch.total).map(|index| BatchResult::id_of(&batch.id, index));
        let page = page_of_ids(ids.collect(), Kind::BatchResult, page_request);
        let places: Vec<usize> = page.items.iter().filter_map(Batch::index_of).collect();
        let mut chunks: Vec<usize> = places.iter().map(|index| index / CHUNK).collect();
        chunks.dedup();
        let keys = chunks
            .iter()
            .map(|chunk| key_item(key(tenant, batch, *chunk)));
        let mut ended = Vec::new();
        for item in self.items(keys.collect(), None, false).await? {
            ended.extend(results_in(&item)?);
        }
        let result = |index: usize| {
            let found = ended.iter().find(|result| result.index == index);
            found
                .cloned()
                .unwrap_or_else(|| BatchResult::new(&batch.id, index, None))
        };
        Ok(Page {
            items: places.into_iter().map(result).collect(),
            newer: page.newer,
            older: page.older,
            end: page.end,
        })
    }
}

impl UnitOfWork<'_> {
    /// Writes a chunk of bodies.
    ///
    /// # Errors
    /// `Internal` if the content cannot be serialized.
    pub fn put_bodies(&mut self, batch: &Batch, chunk: usize, bodies: &Bodies) -> Result<()> {
        self.put_chunk(batch, chunk, BODIES, bodies)
    }

    /// Replaces the bodies of a chunk by their results.
    ///
    /// # Errors
    /// `Internal` if the content cannot be serialized.
    pub fn put_outcomes(
        &mut self,
        batch: &Batch,
        chunk: usize,
        outcomes: &[Outcome],
    ) -> Result<()> {
        self.put_chunk(batch, chunk, OUTCOMES, &outcomes)
    }

    fn put_chunk<T: Serialize>(
        &mut self,
        batch: &Batch,
        chunk: usize,
        name: &str,
        content: &T,
    ) -> Result<()> {
        let mut item = new_item(key(&self.origin.tenant, batch, chunk));
        let text = serde_json::to_vec(content).map_err(Error::internal)?;
        item.insert(name.into(), deflated(&text)?);
        item.insert("ttl".into(), n(batch.kept_until().unix_seconds()));
        self.push(Write::Put(self.store.put(item)), Error::Contended);
        Ok(())
    }
}

/// Returns the results in the item of a chunk; none before its bodies were processed, and none in any other item.
///
/// # Errors
/// A permanent `Internal` if the item cannot be read.
pub(super) fn results_in(item: &Item) -> Result<Vec<BatchResult>> {
    let batch = keys::parse_object(string(item, "pk"));
    let chunk = keys::parse_chunk(string(item, "sk"));
    let (Some((_, batch)), Some(chunk)) = (batch, chunk) else {
        return Ok(Vec::new());
    };
    let outcomes: Vec<Outcome> = content(item, OUTCOMES)?.unwrap_or_default();
    let results = (chunk * CHUNK..).zip(outcomes);
    Ok(results
        .map(|(index, outcome)| BatchResult::new(&batch, index, Some(outcome)))
        .collect())
}

fn key<'a>(tenant: &'a Tenant, batch: &'a Batch, chunk: usize) -> Key<'a> {
    let batch = &batch.id;
    Key::Chunk {
        tenant,
        batch,
        chunk,
    }
}

fn content<T: DeserializeOwned>(item: &Item, name: &str) -> Result<Option<T>> {
    let Some(AttributeValue::B(bytes)) = item.get(name) else {
        return Ok(None);
    };
    let content = serde_json::from_slice(&inflated(bytes)?);
    content.map(Some).map_err(Error::permanent)
}
