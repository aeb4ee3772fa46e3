//! The definition of the table, for stores without a template: local runs and tests.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType,
    TimeToLiveSpecification,
};

use super::keys::PAID_WITH;
use super::{Store, client};
use kernel::{Error, Result};

/// The indexes: name, hash key, range key, and the attributes besides the keys that each holds (`*` for all). An index is named for the
/// lists that it was made for. Other lists use it too, of kinds that have no such entry: `Partition::place` decides which index has a list.
pub const INDEXES: &[(&str, &str, &str, &[&str])] = &[
    ("list", "list_pk", "list_sk", &["*"]),
    ("ids", "ids_pk", "list_sk", &[]),
    ("fleet", "fleet_pk", "list_sk", &[]),
    ("driver", "driver_pk", "list_sk", &[]),
    ("vehicle", "vehicle_pk", "list_sk", &[]),
    (
        "payment",
        "payment_pk",
        "list_sk",
        &["driver_pk", "vehicle_pk", PAID_WITH],
    ),
    ("next_action", "next_pk", "next_at", &[]),
    ("cell", "cell_pk", "cell_sk", &["outline", "place"]),
    ("network", "network_pk", "network_sk", &[]),
];

impl Store {
    /// Creates the table with its indexes, stream and expiry, unless it exists. Returns true if it was created.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached; `Internal` if the table exists and lacks an index of this release, or holds other attributes
    /// in one.
    pub async fn create_table(&self) -> Result<bool> {
        let mut names = vec!["pk", "sk"];
        for (_, hash, range, _) in INDEXES {
            names.extend(
                [*hash, *range]
                    .into_iter()
                    .filter(|name| !names.contains(name))
                    .collect::<Vec<_>>(),
            );
        }
        let indexes = INDEXES.iter().map(|(name, hash, range, held)| {
            GlobalSecondaryIndex::builder()
                .index_name(*name)
                .set_key_schema(Some(key_schema(hash, range)?))
                .projection(projection(held))
                .build()
                .map_err(Error::internal)
        });
        let stream = StreamSpecification::builder()
            .stream_enabled(true)
            .stream_view_type(StreamViewType::NewAndOldImages);
        let call = self
            .client
            .create_table()
            .table_name(&self.table)
            .billing_mode(BillingMode::PayPerRequest)
            .set_attribute_definitions(Some(
                names
                    .iter()
                    .map(|name| attribute(name))
                    .collect::<Result<_>>()?,
            ))
            .set_key_schema(Some(key_schema("pk", "sk")?))
            .set_global_secondary_indexes(Some(indexes.collect::<Result<_>>()?))
            .stream_specification(stream.build().map_err(Error::internal)?);
        match call.send().await {
            Ok(_) => {}
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|e| e.is_resource_in_use_exception()) =>
            {
                return self.check_indexes().await.map(|()| false);
            }
            Err(error) => return Err(client::failure(error)),
        }
        let expiry = TimeToLiveSpecification::builder()
            .enabled(true)
            .attribute_name("ttl");
        let call = self.client.update_time_to_live().table_name(&self.table);
        let call = call.time_to_live_specification(expiry.build().map_err(Error::internal)?);
        call.send().await.map_err(client::failure)?;
        Ok(true)
    }

    /// Refuses a table with the indexes of another version: it would seem to be empty.
    async fn check_indexes(&self) -> Result<()> {
        let call = self.client.describe_table().table_name(&self.table);
        let found = call.send().await.map_err(client::failure)?.table;
        let found = found.and_then(|table| table.global_secondary_indexes);
        let found = found.unwrap_or_default();
        let is_there = |name: &str, held: &[&str]| {
            let mut found = found
                .iter()
                .filter(|index| index.index_name() == Some(name));
            found.any(|index| {
                let projection = index.projection();
                let others = projection.map(|projection| projection.non_key_attributes());
                let others: BTreeSet<&str> =
                    others.into_iter().flatten().map(String::as_str).collect();
                held == ["*"] || others == held.iter().copied().collect()
            })
        };
        match INDEXES
            .iter()
            .find(|(name, _, _, held)| !is_there(name, held))
        {
            None => Ok(()),
            Some((name, ..)) => Err(Error::internal(format!(
                "the table {} has no index {name} as this version needs it: it was made by another version, and nothing in it was changed. Choose another \
                 table or data folder, or delete this one if its data is not needed any more",
                self.table
            ))),
        }
    }

    /// Returns the name of the table's stream.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached; `Internal` if the table has no stream.
    pub async fn stream(&self) -> Result<String> {
        let call = self.client.describe_table().table_name(&self.table);
        let table = call.send().await.map_err(client::failure)?.table;
        table
            .and_then(|table| table.latest_stream_arn)
            .ok_or_else(|| Error::internal("the table has no stream"))
    }
}

fn attribute(name: &str) -> Result<AttributeDefinition> {
    let attribute = AttributeDefinition::builder()
        .attribute_name(name)
        .attribute_type(ScalarAttributeType::S);
    attribute.build().map_err(Error::internal)
}

/// Returns the projection of an index that holds these attributes besides the keys (`*` for all).
fn projection(held: &[&str]) -> Projection {
    let projection = Projection::builder();
    let projection = match held {
        ["*"] => projection.projection_type(ProjectionType::All),
        [] => projection.projection_type(ProjectionType::KeysOnly),
        some => projection
            .projection_type(ProjectionType::Include)
            .set_non_key_attributes(Some(some.iter().map(|name| (*name).to_owned()).collect())),
    };
    projection.build()
}

fn key_schema(hash: &str, range: &str) -> Result<Vec<KeySchemaElement>> {
    [(hash, KeyType::Hash), (range, KeyType::Range)]
        .into_iter()
        .map(|(name, kind)| {
            KeySchemaElement::builder()
                .attribute_name(name)
                .key_type(kind)
                .build()
                .map_err(Error::internal)
        })
        .collect()
}
