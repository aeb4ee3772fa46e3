//! Open reservations of a driver or vehicle, found without reading those that are over.

use super::keys::{self, Partition};
use super::list::row_key;
use super::row;
use super::{Item, Store, client, s, string};
use kernel::error::{Error, Result};
use kernel::id::{Id, Kind};
use kernel::origin::Tenant;
use models::reservation::Reservation;
use models::stored::Stored;

/// How many entries of the index are read: entries of reservations that have ended a moment ago may precede one that is open.
const READ: i32 = 25;

impl Store {
    /// A pending or confirmed reservation of this driver or vehicle, if there is one.
    ///
    /// # Errors
    /// `Internal` if the id is neither a driver's nor a vehicle's; `Unavailable` if DynamoDB cannot be reached.
    pub async fn open_reservation(&self, tenant: &Tenant, of: &Id) -> Result<Option<Id>> {
        let (index, partition) = match of.kind() {
            Some(Kind::Driver) => ("open_driver", Partition::Driver { tenant, driver: of }),
            Some(Kind::Vehicle) => (
                "open_vehicle",
                Partition::Vehicle {
                    tenant,
                    vehicle: of,
                },
            ),
            other => return Err(Error::internal(format!("{other:?} has no reservations"))),
        };
        let (_, attribute, value) = partition.place();
        let query = self.client.query().table_name(&self.table);
        let page = query
            .index_name(index)
            .key_condition_expression("#pk = :pk AND open_sk = :kind")
            .expression_attribute_names("#pk", attribute)
            .expression_attribute_values(":pk", s(value))
            .expression_attribute_values(":kind", s(Kind::Reservation.prefix()))
            .limit(READ)
            .send()
            .await
            .map_err(client::failure)?;
        let entries = page.items.unwrap_or_default();
        let is_own = |entry: &&Item| keys::is_of(tenant, string(entry, "pk"));
        let own: Vec<Item> = entries.iter().filter(is_own).map(row_key).collect();
        for item in self.items(own, None, true).await? {
            let row: Stored<Reservation> = row::from_item(item)?;
            if row.object.status().is_open() {
                return Ok(Some(row.object.id));
            }
        }
        Ok(None)
    }
}
