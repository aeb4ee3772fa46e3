//! The table: one file per family of access patterns. No other module calls DynamoDB.

pub mod access;
pub mod accounts;
pub mod batches;
pub mod calendars;
pub mod charge_cards;
pub mod client;
pub mod deflate;
pub mod deliveries;
mod delivery_log;
mod endpoint_secrets;
mod entries;
mod erased_cards;
pub mod erasure;
pub mod export;
pub mod feeds;
mod filter;
pub mod fleets;
pub mod held;
pub mod idempotency;
pub mod invoices;
mod item;
pub mod keys;
pub mod known_networks;
pub mod layout;
pub mod list;
mod network_commands;
pub mod networks;
mod numbers;
mod page;
pub mod payment_methods;
pub mod pulls;
pub mod queues;
pub mod rates;
pub mod records;
mod redeliveries;
pub mod reservations;
pub mod scan;
pub mod schema;
pub mod search;
pub mod secrets;
pub mod sessions;
pub mod shown;
pub mod sites;
pub mod stations;
pub mod stored_item;
pub mod sums;
pub mod sweep;
pub mod unit_of_work;
pub mod wallets;
mod webhook_endpoints;

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::KeysAndAttributes;
use futures::TryStreamExt as _;
use futures::stream::{self, StreamExt as _};

use kernel::encryption::EncryptionKeys;
use kernel::error::ErrorClass;
use kernel::{Error, Id, Kind, Origin, Result, Tenant};
use keys::Key;
use layout::{Layout, new_item};
use models::Stored;
use stored_item::{ById, Record};

pub use idempotency::Recalled;
pub use item::Item;
use item::{key_item, n, names_in, number, s, string};
pub use unit_of_work::UnitOfWork;

/// The table.
#[derive(Debug, Clone)]
pub struct Store {
    client: aws_sdk_dynamodb::Client,
    table: String,
    encryption_keys: EncryptionKeys,
    layout: Layout,
}

/// The maximum number of items in one BatchGetItem, and of these calls that run concurrently.
const BATCH: usize = 100;
const BATCHES: usize = 12;

impl Store {
    pub fn new(client: aws_sdk_dynamodb::Client, table: impl Into<String>) -> Self {
        Self {
            client,
            table: table.into(),
            encryption_keys: EncryptionKeys::none(),
            layout: Layout::CURRENT,
        }
    }

    /// Returns the same table with keys for the secrets in its items. Without keys, secrets are masked when they are read, and items with
    /// secrets cannot be written.
    #[must_use]
    pub fn with_encryption_keys(mut self, keys: EncryptionKeys) -> Self {
        self.encryption_keys = keys;
        self
    }

    /// Returns the same table with the layout of another release.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Reads an item and decrypts its secrets.
    fn stored_of<T: Record>(&self, item: Item) -> Result<Stored<T>> {
        let item = stored_item::decrypted::<T>(item, &self.encryption_keys)?;
        stored_item::read(item, self.layout)
    }

    /// Returns the item of an object, with its secrets encrypted.
    fn item_of<T: Record>(&self, stored: &Stored<T>, origin: &Origin) -> Result<Item> {
        let mut item = stored_item::to_item(stored, origin)?;
        self.layout.finish(T::KIND, &mut item);
        stored_item::encrypted::<T>(item, &self.encryption_keys)
    }

    /// Reads an object to show it.
    ///
    /// # Errors
    /// The 404 of the kind, such as `driver_not_found`; `Unavailable` if DynamoDB cannot be reached.
    pub async fn get<T: ById>(&self, tenant: &Tenant, id: &Id) -> Result<Stored<T>> {
        self.read(tenant, id, false).await
    }

    /// Reads an object to decide on it, strongly consistent.
    ///
    /// # Errors
    /// The 404 of the kind, such as `driver_not_found`; `Unavailable` if DynamoDB cannot be reached.
    pub async fn load<T: ById>(&self, tenant: &Tenant, id: &Id) -> Result<Stored<T>> {
        self.read(tenant, id, true).await
    }

    /// Reads an object to decide on it, strongly consistent; `None` if it does not exist.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn find<T: ById>(&self, tenant: &Tenant, id: &Id) -> Result<Option<Stored<T>>> {
        match self.load(tenant, id).await {
            Ok(stored) => Ok(Some(stored)),
            Err(error) if error.class() == ErrorClass::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads an object, eventually consistent; `None` if it does not exist. It costs half as much as [`Store::find`] unless the object was
    /// written just now.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn find_lately<T: ById>(
        &self,
        tenant: &Tenant,
        id: &Id,
    ) -> Result<Option<Stored<T>>> {
        match self.get(tenant, id).await {
            Ok(stored) => Ok(Some(stored)),
            Err(error) if error.class() == ErrorClass::NotFound => self.find(tenant, id).await,
            Err(error) => Err(error),
        }
    }

    /// Reads several objects of a tenant to decide on them with one call, strongly consistent. A text that is not an id of the kind beside
    /// it names no object, and nothing is read for it.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn find_together<'a>(
        &self,
        tenant: &Tenant,
        ids: impl IntoIterator<Item = (Kind, &'a Id)>,
    ) -> Result<FoundTogether> {
        let ids = ids.into_iter().filter(|(kind, id)| id.is(*kind));
        // A batch may contain each key only once.
        let ids: BTreeSet<&Id> = ids.map(|(_, id)| id).collect();
        let keys = ids.iter().map(|id| key_item(Key::Object { tenant, id }));
        let items = self.items(keys.collect(), None, true).await?;
        let by_id = |item: Item| {
            let (_, id) = keys::parse_object(string(&item, "pk"))?;
            Some((id, item))
        };
        Ok(FoundTogether(items.into_iter().filter_map(by_id).collect()))
    }

    async fn read<T: ById>(&self, tenant: &Tenant, id: &Id, consistent: bool) -> Result<Stored<T>> {
        if !id.is(T::KIND) {
            return Err(Error::not_found(T::KIND));
        }
        match self.item(T::locate(tenant, id), consistent).await? {
            Some(item) => self.stored_of(item),
            None => Err(Error::not_found(T::KIND)),
        }
    }

    async fn item(&self, key: Key<'_>, consistent: bool) -> Result<Option<Item>> {
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key_item(key)));
        let answer = request
            .consistent_read(consistent)
            .send()
            .await
            .map_err(client::failure)?;
        Ok(answer.item)
    }

    /// Returns one of these ids that is not the id of an existing object of that kind; `None` if there is none.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn missing(&self, tenant: &Tenant, kind: Kind, ids: &[Id]) -> Result<Option<Id>> {
        if let Some(malformed) = ids.iter().find(|id| !id.is(kind)) {
            return Ok(Some(malformed.clone()));
        }
        let keys = ids.iter().map(|id| match kind {
            Kind::ChargingStation => key_item(Key::Station {
                mode: tenant.mode,
                id,
            }),
            _ => key_item(Key::Object { tenant, id }),
        });
        let found = self.items(keys.collect(), Some("pk"), false).await?;
        let there = |id: &Id| {
            found
                .iter()
                .any(|item| string(item, "pk").ends_with(id.as_str()))
        };
        Ok(ids.iter().find(|id| !there(id)).cloned())
    }

    /// Reads objects of one kind to show them, in the order of the ids; deleted ones are left out.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn get_all<T: ById>(&self, tenant: &Tenant, ids: &[Id]) -> Result<Vec<Stored<T>>> {
        let ids_of_kind = ids.iter().filter(|id| id.is(T::KIND));
        let keys = ids_of_kind.map(|id| key_item(T::locate(tenant, id)));
        let stored = self
            .items(keys.collect(), None, false)
            .await?
            .into_iter()
            .map(|item| self.stored_of::<T>(item));
        let mut stored: HashMap<Id, Stored<T>> = stored
            .map(|result| result.map(|stored| (stored.object.id().clone(), stored)))
            .collect::<Result<_>>()?;
        Ok(ids.iter().filter_map(|id| stored.remove(id)).collect())
    }

    /// Reads items by their keys, a hundred at a time, in no particular order.
    async fn items(
        &self,
        keys: Vec<Item>,
        only: Option<&str>,
        consistent: bool,
    ) -> Result<Vec<Item>> {
        let batches = keys.chunks(BATCH).map(<[Item]>::to_vec).collect::<Vec<_>>();
        let found: Vec<Vec<Item>> = stream::iter(batches)
            .map(|batch| self.batch(batch, only, consistent))
            .buffered(BATCHES)
            .try_collect()
            .await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn batch(
        &self,
        keys: Vec<Item>,
        only: Option<&str>,
        consistent: bool,
    ) -> Result<Vec<Item>> {
        let mut found = Vec::new();
        let mut remaining = keys;
        let names = only.map(names_in).filter(|names| !names.is_empty());
        for _ in 0..5 {
            if remaining.is_empty() {
                return Ok(found);
            }
            let ask = KeysAndAttributes::builder()
                .set_keys(Some(remaining))
                .set_projection_expression(only.map(Into::into))
                .set_expression_attribute_names(names.clone())
                .consistent_read(consistent)
                .build()
                .map_err(Error::internal)?;
            let answer = self
                .client
                .batch_get_item()
                .request_items(&self.table, ask)
                .send()
                .await;
            let mut answer = answer.map_err(client::failure)?;
            found.extend(
                answer
                    .responses
                    .as_mut()
                    .and_then(|tables| tables.remove(&self.table))
                    .unwrap_or_default(),
            );
            let left = answer
                .unprocessed_keys
                .as_mut()
                .and_then(|tables| tables.remove(&self.table));
            remaining = left.map(|left| left.keys).unwrap_or_default();
        }
        if remaining.is_empty() {
            Ok(found)
        } else {
            Err(Error::unavailable("the table left keys of a batch unread"))
        }
    }
}

/// Objects that were read with one call.
#[derive(Debug)]
pub struct FoundTogether(HashMap<Id, Item>);

impl FoundTogether {
    /// Removes and returns an object, if it was found and has that kind.
    ///
    /// # Errors
    /// `Internal` if the item cannot be read.
    pub fn take<T: ById>(&mut self, id: &Id) -> Result<Option<Stored<T>>> {
        let item = id.is(T::KIND).then(|| self.0.remove(id)).flatten();
        item.map(stored_item::from_item).transpose()
    }

    /// Removes and returns an object that has to exist.
    ///
    /// # Errors
    /// The 404 of its kind if it was not found; `Internal` if the item cannot be read.
    pub fn require<T: ById>(&mut self, id: &Id) -> Result<Stored<T>> {
        self.take(id)?.ok_or_else(|| Error::not_found(T::KIND))
    }
}
