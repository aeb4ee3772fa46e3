//! Open reservations and sessions, found by the driver, vehicle or payment method that they need, and reservations by need, found by the
//! station of their block.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;

use super::entries::key_of_entry;
use super::erasure::open_object;
use super::keys::{self, PAID_WITH, Partition};
use super::list::all_items;
use super::{Item, Store, s, string};
use kernel::{Error, Id, Kind, Mode, Result, Tenant};

impl Store {
    /// Returns a pending or confirmed reservation of this driver or vehicle, or an open reservation or session that is paid with this
    /// method, if there is one. The entries of all open objects of the account are read, a megabyte or some 4,000 at a time.
    ///
    /// # Errors
    /// `Internal` for the id of another kind; `Unavailable` if DynamoDB cannot be reached.
    pub async fn open_with(&self, tenant: &Tenant, needed: &Id) -> Result<Option<Id>> {
        let (attribute, kind) = match needed.kind() {
            Some(Kind::Driver) => ("driver_pk", Some(Kind::Reservation)),
            Some(Kind::Vehicle) => ("vehicle_pk", Some(Kind::Reservation)),
            Some(Kind::PaymentMethod) => (PAID_WITH, None),
            other => return Err(Error::internal(format!("nothing open needs {other:?}"))),
        };
        let values = Partition::Open { tenant }.values().into_iter();
        let of_kind = kind.map(Kind::prefix);
        let reads = values.map(|value| self.open_entries(value, of_kind, attribute, needed));
        let keys: Vec<Item> = try_join_all(reads).await?.into_iter().flatten().collect();
        // An entry may be older than its object.
        let items = self.items(keys, None, true).await?;
        let mut open = items.iter().filter_map(open_object);
        Ok(open.next().map(|object| object.id))
    }

    /// Returns the first pending reservations by need, in the order of their ids, whose block is at a station, after the given one. They
    /// are those of all accounts.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn planned_at(
        &self,
        mode: Mode,
        station: &Id,
        after: Option<&Id>,
        limit: usize,
    ) -> Result<Vec<(Tenant, Id)>> {
        let partition = Partition::Planned { mode, station };
        let after = Some(after.map_or(Kind::Reservation.prefix(), Id::as_str));
        let entries = self.network_index_after(partition, after, limit).await?;
        let reservations = entries.iter().map(|entry| string(entry, "pk"));
        Ok(reservations.filter_map(keys::parse_object).collect())
    }

    /// Returns the keys of the open objects in a partition of the index that have this value, of kinds whose ids begin with a prefix.
    async fn open_entries(
        &self,
        partition: String,
        prefix: Option<&str>,
        attribute: &str,
        value: &Id,
    ) -> Result<Vec<Item>> {
        let condition = match prefix {
            Some(_) => "payment_pk = :pk AND begins_with(list_sk, :kind)",
            None => "payment_pk = :pk",
        };
        let values = [
            (":pk", Some(s(partition))),
            (":kind", prefix.map(s)),
            (":value", Some(s(value.as_str()))),
        ];
        let values = values
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let query = self.client.query().table_name(&self.table);
        let query = query
            .index_name("payment")
            .key_condition_expression(condition)
            .filter_expression("#needed = :value")
            .expression_attribute_names("#needed", attribute)
            .set_expression_attribute_values(Some(values.collect::<HashMap<_, AttributeValue>>()));
        let entries = all_items(query).await?;
        Ok(entries.iter().map(key_of_entry).collect())
    }
}
