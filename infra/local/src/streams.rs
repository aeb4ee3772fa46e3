//! Reading of the table's stream, from the position at which the last run stopped.
//!
//! A record contains the whole object before and after a change. Records of the embedded table are removed once they have been
//! relayed: otherwise data that a stream keeps for a day would be kept for ever, even after the erasure of an account.

use std::collections::BTreeMap;
use std::mem;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::error::DisplayErrorContext;
use aws_sdk_dynamodbstreams::types::{Record, ShardIteratorType};
use functions::stream::relay::StreamRecord;
use kernel::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::embedded::Upkeep;
use crate::files::{self, Folder};

/// The last processed record, by shard.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Position {
    stream: String,
    shards: BTreeMap<String, String>,
}

pub struct Streams {
    client: Client,
    position: Position,
    /// The iterators for the next call. None for a shard that was read to its end.
    iterators: BTreeMap<String, Option<String>>,
    /// Whether changes were read that are not all processed, possibly because their processing was broken off.
    unfinished: bool,
    folder: Folder,
    /// None if the table is not the embedded one. Other endpoints remove stream records themselves.
    upkeep: Option<Upkeep>,
}

/// A change and its position in the stream.
pub struct Numbered {
    pub change: StreamRecord,
    pub shard: String,
    pub number: String,
}

impl Streams {
    /// Opens the stream at the position at which the last run stopped.
    ///
    /// # Errors
    /// The file of the position cannot be read; `Unavailable` if the embedded table cannot be written.
    pub async fn open(
        config: &aws_types::SdkConfig,
        url: &str,
        stream: String,
        folder: &Folder,
        upkeep: Option<Upkeep>,
    ) -> Result<Self> {
        let mut settings = aws_sdk_dynamodbstreams::config::Builder::from(config);
        settings.set_endpoint_url(Some(url.to_owned()));
        let known: Option<Position> = folder.read(files::STREAM)?;
        let fresh = Position {
            stream: stream.clone(),
            shards: BTreeMap::new(),
        };
        let position = known
            .filter(|known| known.stream == stream)
            .unwrap_or(fresh);
        let streams = Self {
            client: Client::from_conf(settings.build()),
            position,
            iterators: BTreeMap::new(),
            unfinished: false,
            folder: folder.clone(),
            upkeep,
        };
        streams.trim().await?;
        Ok(streams)
    }

    /// Returns the changes since the last call. Unless [`Streams::finish`] is called when they are processed, those that were not passed to
    /// [`Streams::done`] are returned again.
    pub async fn read(&mut self) -> Result<Vec<Numbered>> {
        if mem::replace(&mut self.unfinished, true) {
            self.iterators.clear();
        }
        if self.iterators.values().all(Option::is_none) {
            self.find_shards().await?;
        }
        let mut changes = Vec::new();
        let open: Vec<_> = self
            .iterators
            .iter()
            .filter_map(|(shard, at)| Some((shard.clone(), at.clone()?)))
            .collect();
        for (shard, iterator) in open {
            let page = self
                .client
                .get_records()
                .shard_iterator(iterator)
                .send()
                .await;
            let page = match page {
                Ok(page) => page,
                Err(error) => {
                    // An iterator may have expired: the next call creates a new one.
                    self.iterators.clear();
                    return Err(Error::unavailable(DisplayErrorContext(error).to_string()));
                }
            };
            changes.extend(
                page.records
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|record| numbered(record, &shard)),
            );
            self.iterators.insert(shard, page.next_shard_iterator);
        }
        Ok(changes)
    }

    async fn find_shards(&mut self) -> Result<()> {
        let stream = &self.position.stream;
        let found = self
            .client
            .describe_stream()
            .stream_arn(stream)
            .send()
            .await;
        let found =
            found.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        let shards = found
            .stream_description
            .and_then(|stream| stream.shards)
            .unwrap_or_default();
        for shard in shards.into_iter().filter_map(|shard| shard.shard_id) {
            if self.iterators.contains_key(&shard) {
                continue;
            }
            let call = self
                .client
                .get_shard_iterator()
                .stream_arn(stream)
                .shard_id(&shard);
            let call = match self.position.shards.get(&shard) {
                Some(number) => call
                    .shard_iterator_type(ShardIteratorType::AfterSequenceNumber)
                    .sequence_number(number),
                None => call.shard_iterator_type(ShardIteratorType::TrimHorizon),
            };
            let found = call
                .send()
                .await
                .map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
            self.iterators.insert(shard, found.shard_iterator);
        }
        Ok(())
    }

    /// Records that the changes up to these positions were processed, and removes their records.
    ///
    /// # Errors
    /// `Unavailable` if the folder or the embedded table cannot be written.
    pub async fn done(&mut self, last: Vec<(String, String)>) -> Result<()> {
        if last.is_empty() {
            return Ok(());
        }
        self.position.shards.extend(last);
        self.folder.write(files::STREAM, &self.position)?;
        self.trim().await
    }

    async fn trim(&self) -> Result<()> {
        let Some(upkeep) = &self.upkeep else {
            return Ok(());
        };
        for number in self.position.shards.values() {
            upkeep.trim(number).await?;
        }
        Ok(())
    }

    /// Overwrites data that was deleted from the embedded table.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be written.
    pub async fn purge(&self) -> Result<()> {
        match &self.upkeep {
            Some(upkeep) => upkeep.purge().await,
            None => Ok(()),
        }
    }

    /// Records that all changes that were read are processed.
    pub fn finish(&mut self) {
        self.unfinished = false;
    }
}

fn numbered(record: Record, shard: &str) -> Option<Numbered> {
    let is_expired = record.user_identity.is_some();
    let body = record.dynamodb?;
    let change = StreamRecord {
        is_expired,
        old: body.old_image.map(Into::into),
        new: body.new_image.map(Into::into),
        written: None,
    };
    Some(Numbered {
        change,
        shard: shard.to_owned(),
        number: body.sequence_number?,
    })
}
