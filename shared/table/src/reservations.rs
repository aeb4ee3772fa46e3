//! Open reservations of a driver or vehicle, found without reading those that are over.

use super::keys::{self, OPEN, Partition};
use super::list::row_key;
use super::row;
use super::{Item, Store, client, s, string};
use kernel::error::{Error, Result};
use kernel::id::{Id, Kind};
use kernel::origin::Tenant;
use models::reservation::Reservation;
use models::stored::Stored;

impl Store {
    /// A pending or confirmed reservation of this driver or vehicle, if there is one. The entries of all its reservations are read, a
    /// megabyte or some 4,000 at a time, the newest first, until one is open.
    ///
    /// # Errors
    /// `Internal` if the id is neither a driver's nor a vehicle's; `Unavailable` if DynamoDB cannot be reached.
    pub async fn open_reservation(&self, tenant: &Tenant, of: &Id) -> Result<Option<Id>> {
        let partition = match of.kind() {
            Some(Kind::Driver) => Partition::Driver { tenant, driver: of },
            Some(Kind::Vehicle) => Partition::Vehicle {
                tenant,
                vehicle: of,
            },
            other => return Err(Error::internal(format!("{other:?} has no reservations"))),
        };
        let (index, attribute, value) = partition.place();
        let query = self.client.query().table_name(&self.table);
        let mut pages = query
            .index_name(index)
            .key_condition_expression("#pk = :pk AND begins_with(list_sk, :kind)")
            .filter_expression("#open = :open")
            .expression_attribute_names("#pk", attribute)
            .expression_attribute_names("#open", OPEN)
            .expression_attribute_values(":pk", s(value))
            .expression_attribute_values(":kind", s(Kind::Reservation.prefix()))
            .expression_attribute_values(":open", row::IS_OPEN)
            .scan_index_forward(false)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            let entries = page.map_err(client::failure)?.items.unwrap_or_default();
            let is_own = |entry: &&Item| keys::is_of(tenant, string(entry, "pk"));
            let own: Vec<Item> = entries.iter().filter(is_own).map(row_key).collect();
            // An entry may be older than its reservation.
            for item in self.items(own, None, true).await? {
                let row: Stored<Reservation> = row::from_item(item)?;
                if row.object.status().is_open() {
                    return Ok(Some(row.object.id));
                }
            }
        }
        Ok(None)
    }
}
