//! Stations: shared by all tenants of a mode, found by the H3 cells around a place.

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, Update, WriteRequest};
use futures::TryStreamExt as _;
use futures::stream::{self, StreamExt as _};

use super::commit::{Changes, Write};
use super::keys::{Key, Partition};
use super::row::Row;
use super::{Item, Store, client, key_item, n, s, string};
use crate::charging::geo::{CellSize, cell_of, cells_around, distance_meters};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::models::charging_station::{ChargingStation, ConnectorStatus, Point};
use crate::origin::{Mode, Origin, Tenant};

/// How many stations, nearest first, one search reads in full.
const MAX_STATIONS: usize = 200;

/// How many rows one BatchWriteItem may write.
const BATCH: usize = 25;

impl Store {
    /// The stations whose place lies in the circle, nearest first, and how many there are in all.
    ///
    /// # Errors
    /// The table's.
    pub async fn stations_near(
        &self,
        tenant: &Tenant,
        center: Point,
        meters: u32,
    ) -> Result<(Vec<ChargingStation>, usize)> {
        let size = CellSize::for_radius(meters);
        let cells = cells_around(center, meters, size);
        let found: Vec<Vec<Item>> = stream::iter(cells)
            .map(|cell| self.stations_in(tenant.mode, cell, size))
            .buffered(8)
            .try_collect()
            .await?;
        let mut near: Vec<(f64, Id)> = found
            .iter()
            .flatten()
            .filter_map(|item| {
                Some((
                    distance_meters(center, place(item)?),
                    Id::from(string(item, "list_sk")),
                ))
            })
            .filter(|(distance, _)| *distance <= f64::from(meters))
            .collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        let total = near.len();
        let ids: Vec<Id> = near
            .into_iter()
            .take(MAX_STATIONS)
            .map(|(_, id)| id)
            .collect();
        let rows = self.get_all::<ChargingStation>(tenant, &ids).await?;
        Ok((rows.into_iter().map(|row| row.object).collect(), total))
    }

    async fn stations_in(&self, mode: Mode, cell: String, size: CellSize) -> Result<Vec<Item>> {
        let (index, attribute, value) = partition(mode, &cell, size).place();
        let pages = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(index)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", attribute)
            .expression_attribute_values(":pk", s(value))
            .into_paginator()
            .items()
            .send();
        pages.try_collect().await.map_err(client::failure)
    }

    /// Adds to the changes that a connector has another status now. It goes through as long as the connector is as it
    /// was read, whatever happens to the station's others meanwhile.
    ///
    /// # Errors
    /// The update cannot be built.
    pub fn set_connector(
        &self,
        changes: &mut Changes,
        origin: &Origin,
        station: &ChargingStation,
        connector: &str,
        status: ConnectorStatus,
    ) -> Result<()> {
        let mut connectors = station.connectors.iter().enumerate();
        let found = connectors.find(|(_, one)| one.id == connector);
        let Some((place, before)) = found.filter(|(_, before)| before.status != status) else {
            return Ok(());
        };
        let available = |status| i8::from(status == ConnectorStatus::Available);
        let name = |status| serde_dynamo::to_attribute_value(status).map_err(Error::internal);
        let key = Key::Station {
            mode: origin.tenant.mode,
            id: &station.id,
        };
        let update = Update::builder()
            .table_name(&self.table)
            .set_key(Some(key_item(key)))
            .update_expression(format!(
                "SET #object.connectors[{place}].#status = :status, #object.updated = :now, #version = #version + :one, \
                 #object.availability.connectors_available = #object.availability.connectors_available + :more"
            ))
            .condition_expression(format!(
                "#object.connectors[{place}].id = :connector AND #object.connectors[{place}].#status = :before"
            ))
            .expression_attribute_names("#object", "object")
            .expression_attribute_names("#status", "status")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":connector", s(connector))
            .expression_attribute_values(":before", name(before.status)?)
            .expression_attribute_values(":status", name(status)?)
            .expression_attribute_values(":more", n(available(status) - available(before.status)))
            .expression_attribute_values(":now", s(origin.now.to_string()))
            .expression_attribute_values(":one", n(1));
        changes.push(
            Write::Update(update.build().map_err(Error::internal)?),
            Error::Contended,
        );
        Ok(())
    }

    /// Writes stations, those that are there already anew. Nobody but the operator of the service does this.
    ///
    /// # Errors
    /// The table's.
    pub async fn import_stations(
        &self,
        origin: &Origin,
        stations: Vec<ChargingStation>,
    ) -> Result<()> {
        let mode = origin.tenant.mode;
        let mut writes = Vec::new();
        for station in stations {
            let place = station.location;
            let mut item = Row::new(station).to_item(origin)?;
            for size in [CellSize::Fine, CellSize::Coarse] {
                let cell =
                    cell_of(place, size).ok_or_else(|| Error::internal("a station at no place"))?;
                let (_, attribute, value) = partition(mode, &cell, size).place();
                item.insert(attribute.into(), s(value));
            }
            item.insert(
                "place".into(),
                serde_dynamo::to_attribute_value(place).map_err(Error::internal)?,
            );
            let put = PutRequest::builder()
                .set_item(Some(item))
                .build()
                .map_err(Error::internal)?;
            writes.push(WriteRequest::builder().put_request(put).build());
        }
        for batch in writes.chunks(BATCH) {
            let mut left = batch.to_vec();
            for _ in 0..8 {
                if left.is_empty() {
                    break;
                }
                let call = self
                    .client
                    .batch_write_item()
                    .request_items(&self.table, left);
                let answer = call.send().await.map_err(client::failure)?;
                left = answer
                    .unprocessed_items
                    .and_then(|mut tables| tables.remove(&self.table))
                    .unwrap_or_default();
            }
            if !left.is_empty() {
                return Err(Error::unavailable(
                    "the table left stations of a batch unwritten",
                ));
            }
        }
        Ok(())
    }
}

fn partition(mode: Mode, cell: &str, size: CellSize) -> Partition<'_> {
    match size {
        CellSize::Fine => Partition::Fine { mode, cell },
        CellSize::Coarse => Partition::Coarse { mode, cell },
    }
}

fn place(item: &Item) -> Option<Point> {
    let place: AttributeValue = item.get("place")?.clone();
    serde_dynamo::from_attribute_value(place).ok()
}
