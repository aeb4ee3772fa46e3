//! The table's stream, read without faults.

use std::time::Duration;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::config::timeout::TimeoutConfig;
use aws_sdk_dynamodbstreams::types::ShardIteratorType;
use functions::stream::relay::StreamRecord;

use crate::TestApp;

/// The machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(40);

pub struct Records {
    client: Client,
    iterators: Vec<String>,
}

impl Records {
    /// Starts reading at the current position.
    pub async fn of(test: &TestApp) -> Self {
        let mut settings =
            aws_sdk_dynamodbstreams::config::Builder::from(&functions::aws::config());
        settings.set_endpoint_url(Some(test.running().store_url.clone()));
        let patient = TimeoutConfig::builder()
            .operation_timeout(PATIENCE)
            .operation_attempt_timeout(PATIENCE);
        settings.set_timeout_config(Some(patient.build()));
        let client = Client::from_conf(settings.build());
        let stream = test.app().store.stream().await.expect("a stream");
        let shown = client.describe_stream().stream_arn(&stream).send().await;
        let shown = shown.expect("the stream").stream_description;
        let mut iterators = Vec::new();
        for shard in shown.expect("a description").shards.unwrap_or_default() {
            let iterator = client
                .get_shard_iterator()
                .stream_arn(&stream)
                .set_shard_id(shard.shard_id)
                .shard_iterator_type(ShardIteratorType::TrimHorizon)
                .send()
                .await
                .expect("a place in the stream");
            iterators.extend(iterator.shard_iterator);
        }
        let mut records = Self { client, iterators };
        while !records.read().await.is_empty() {}
        records
    }

    /// The changes since the last call.
    pub async fn read(&mut self) -> Vec<StreamRecord> {
        let mut changes = Vec::new();
        for iterator in std::mem::take(&mut self.iterators) {
            let page = self
                .client
                .get_records()
                .shard_iterator(iterator)
                .send()
                .await;
            let page = page.expect("records");
            self.iterators.extend(page.next_shard_iterator);
            for record in page.records.unwrap_or_default() {
                let is_expired = record.user_identity.is_some();
                let change = record.dynamodb.expect("an item");
                changes.push(StreamRecord {
                    is_expired,
                    old: change.old_image.map(Into::into),
                    new: change.new_image.map(Into::into),
                    written: None,
                });
            }
        }
        changes
    }
}
