//! Networks, their tokens and parties, and the OCPI objects that they send, as they are received.
//!
//! An object has one item, with the JSON text that was received and a revision that every write is conditional on. A location and the
//! charging station that it becomes are written together. The index `network` holds the keys of items only, and an update never changes
//! them, so it writes no index entry.

use std::collections::HashMap;

use serde_json::Value;

use super::keys::{self, Key, Partition};
use super::stored_item::{ById, Record};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, client, key_item, n, new_item, number, s, stored_item, string};
use kernel::time::days;
use kernel::{Error, Id, Kind, Mode, Origin, Result, SignedDuration, Tenant, Timestamp};
use models::charging_station::ConnectorStatus;
use models::network::{Module, ObjectId, Owner, PartyId};
use models::ports::network::Subject;
use models::{ChargingStation, Stored};
use ocpi::network::{Network, NetworkInternal};
use ocpi::object::{as_received, updated_at};

pub use super::network_commands::SentCommand;

impl Record for Network {
    fn key<'a>(&'a self, tenant: &'a Tenant, _: &'a NetworkInternal) -> Key<'a> {
        Self::locate(tenant, &self.id)
    }

    fn lists<'a>(&'a self, tenant: &'a Tenant, _: &'a NetworkInternal) -> Vec<Partition<'a>> {
        vec![Partition::Networks { mode: tenant.mode }]
    }
}

impl ById for Network {
    fn locate<'a>(tenant: &'a Tenant, id: &'a Id) -> Key<'a> {
        Key::Network {
            mode: tenant.mode,
            id,
        }
    }
}

/// The time for which a session or a CDR that belongs to no session of this service is kept, after it was last received.
pub const UNMATCHED_KEPT: SignedDuration = days(90);

/// An object as it was received.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedObject {
    pub id: ObjectId,
    /// As it is stored ([`ocpi::object`]).
    pub object: Value,
    /// The time at which it was last received.
    pub received: Timestamp,
    /// The number of writes; 0 if it is not in the table.
    pub revision: u64,
    /// The station that a location became.
    pub station: Option<Id>,
    /// The charging session or the reservation of this service that a session or a CDR belongs to. Without one, the session or CDR is
    /// listed as unmatched.
    pub matched: Option<Subject>,
}

/// Returns the tenant of items that belong to no account.
pub fn operators(mode: Mode) -> Tenant {
    Tenant::new(Id::from_number(Kind::Account, 0), mode)
}

/// Returns the origin of actions of a network or an operator.
pub fn shared_origin(mode: Mode, now: Timestamp) -> Origin {
    Origin::background(operators(mode), now)
}

impl Store {
    /// Returns all networks of a mode, the newest first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn networks(&self, mode: Mode) -> Result<Vec<Stored<Network>>> {
        let items = self.items_in(Partition::Networks { mode }).await?;
        let mut networks: Vec<Stored<Network>> = items
            .into_iter()
            .map(stored_item::from_item)
            .collect::<Result<_>>()?;
        networks.sort_by(|a, b| b.object.id.cmp(&a.object.id));
        Ok(networks)
    }

    /// Returns the network whose platform authenticates with the token that has this hash.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn network_of_token(
        &self,
        mode: Mode,
        hash: &str,
    ) -> Result<Option<Stored<Network>>> {
        self.pointed_at(mode, Key::OwnToken { mode, hash }).await
    }

    /// Returns the network that a party belongs to.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn network_of_party(
        &self,
        mode: Mode,
        party: &PartyId,
    ) -> Result<Option<Stored<Network>>> {
        self.pointed_at(mode, Key::Party { mode, party }).await
    }

    /// Returns the network of an owner, if the party is still a part of it.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn network_of(&self, mode: Mode, owner: &Owner) -> Result<Option<Stored<Network>>> {
        let network: Option<Stored<Network>> = self.find(&operators(mode), &owner.network).await?;
        Ok(network.filter(|network| network.object.operator(&owner.party).is_ok()))
    }

    /// Returns the network that an item refers to.
    async fn pointed_at(&self, mode: Mode, key: Key<'_>) -> Result<Option<Stored<Network>>> {
        let Some(item) = self.item(key, true).await? else {
            return Ok(None);
        };
        let id = Id::from(string(&item, "network"));
        self.find(&operators(mode), &id).await
    }

    /// Returns an object as it was received.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn received(&self, mode: Mode, id: &ObjectId) -> Result<Option<ReceivedObject>> {
        let item = self.item(Key::OcpiObject { mode, id }, true).await?;
        item.map(|item| read_object(item, id)).transpose()
    }

    /// Returns objects as they were received, by their ids; those that do not exist are left out.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn all_received(&self, mode: Mode, ids: &[ObjectId]) -> Result<Vec<ReceivedObject>> {
        let mut requested: HashMap<String, &ObjectId> = HashMap::new();
        for id in ids {
            requested.insert(Key::OcpiObject { mode, id }.pair().0, id);
        }
        let unique = requested
            .values()
            .map(|id| key_item(Key::OcpiObject { mode, id }));
        let items = self.items(unique.collect(), None, true).await?;
        let read = |item: Item| {
            let id = requested.get(string(&item, "pk")).copied();
            let id = id.ok_or_else(|| Error::internal("an item that was not requested"))?;
            read_object(item, id)
        };
        items.into_iter().map(read).collect()
    }

    /// Reads a location and its charging station in one call.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn location_and_station(
        &self,
        mode: Mode,
        id: &ObjectId,
        station: &Id,
    ) -> Result<(Option<ReceivedObject>, Option<Stored<ChargingStation>>)> {
        let keys = [
            key_item(Key::OcpiObject { mode, id }),
            key_item(Key::Station { mode, id: station }),
        ];
        let (mut location, mut stored) = (None, None);
        for item in self.items(keys.to_vec(), None, true).await? {
            if item.contains_key(RAW) {
                location = Some(read_object(item, id)?);
            } else {
                stored = Some(stored_item::from_item(item)?);
            }
        }
        Ok((location, stored))
    }

    /// Returns the locations of a party.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn location_ids(&self, mode: Mode, owner: &Owner) -> Result<Vec<ObjectId>> {
        self.object_ids(Partition::LocationsOf { mode, owner })
            .await
    }

    /// Returns the tariffs of a party.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn tariff_ids(&self, mode: Mode, owner: &Owner) -> Result<Vec<ObjectId>> {
        self.object_ids(Partition::TariffsOf { mode, owner }).await
    }

    async fn object_ids(&self, partition: Partition<'_>) -> Result<Vec<ObjectId>> {
        let items = self.entries_in(partition).await?;
        let ids = items.iter().filter_map(|item| {
            let (_, id) = keys::parse_ocpi_object(string(item, "pk"))?;
            Some(id)
        });
        Ok(ids.collect())
    }

    /// Returns the sessions and CDRs that belong to no session of this service, the oldest first, each with its place in their order: at
    /// most `limit` that follow a place, and the place of the last one if there are more.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn unmatched(
        &self,
        mode: Mode,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<(String, ReceivedObject)>, Option<String>)> {
        let partition = Partition::Unmatched { mode };
        let items = self.network_index_after(partition, after, limit).await?;
        let place = |item: &Item| string(item, "network_sk").to_owned();
        let next = items.get(limit - 1).map(place);
        let places = items.iter().filter_map(|item| {
            let (_, id) = keys::parse_ocpi_object(string(item, "pk"))?;
            Some((id, place(item)))
        });
        let places: HashMap<ObjectId, String> = places.collect();
        let ids: Vec<ObjectId> = places.keys().cloned().collect();
        let objects = self.all_received(mode, &ids).await?.into_iter();
        let objects = objects.filter_map(|object| Some((places.get(&object.id)?.clone(), object)));
        let mut objects: Vec<_> = objects.collect();
        objects.sort_by(|(earlier, _), (later, _)| earlier.cmp(later));
        Ok((objects, next))
    }

    /// Returns the locations that use a tariff of their party, after the given one, at most `limit`.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn locations_with_tariff(
        &self,
        mode: Mode,
        tariff: &ObjectId,
        after: Option<&ObjectId>,
        limit: usize,
    ) -> Result<Vec<ObjectId>> {
        let key = |location| Key::TariffUse {
            mode,
            tariff,
            location,
        };
        let (pk, first) = key(None).pair();
        let start = after.map(|after| key_item(key(Some(after))));
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk AND begins_with(sk, :sk)")
            .expression_attribute_values(":pk", s(pk))
            .expression_attribute_values(":sk", s(first.as_str()))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(client::failure)?;
        let items = page.items.unwrap_or_default();
        let ids = items.iter().filter_map(|item| {
            let id = string(item, "sk").strip_prefix(&first)?;
            tariff.beside(Module::Locations, id).ok()
        });
        Ok(ids.collect())
    }

    /// Records that a location uses a tariff of its party.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn note_tariff_use(
        &self,
        mode: Mode,
        tariff: &ObjectId,
        location: &ObjectId,
    ) -> Result<()> {
        let key = Key::TariffUse {
            mode,
            tariff,
            location: Some(location),
        };
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(key_item(key))).send().await;
        put.map_err(client::failure).map(drop)
    }

    /// Returns the first keys of a partition of the index `network`, in order, that follow a place in that order.
    pub(super) async fn network_index_after(
        &self,
        partition: Partition<'_>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Item>> {
        let (index, value) = partition.place();
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(index)
            .key_condition_expression("#pk = :pk AND network_sk > :after")
            .expression_attribute_names("#pk", keys::hash_key_of(index))
            .expression_attribute_values(":pk", s(value))
            // Every place follows a space.
            .expression_attribute_values(":after", s(after.unwrap_or(" ")))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(client::failure)?;
        Ok(page.items.unwrap_or_default())
    }
}

/// The attribute with an object as it was received.
pub(super) const RAW: &str = "raw";
/// The attribute with the session or the reservation that an object belongs to.
pub(super) const MATCHED: &str = "matched";

/// Returns whether an item is a session or a CDR of a network that belongs to no session of this service.
pub(super) fn is_unmatched(item: &Item) -> bool {
    let object = keys::parse_ocpi_object(string(item, "pk"));
    let module = object.map(|(_, id)| id.module());
    matches!(module, Some(Module::Sessions | Module::Cdrs)) && !item.contains_key(MATCHED)
}

fn read_object(item: Item, id: &ObjectId) -> Result<ReceivedObject> {
    let received = Timestamp::parse(string(&item, "received")).map_err(Error::permanent)?;
    let station = string(&item, "station");
    let matched = string(&item, MATCHED);
    let matched = if matched.is_empty() {
        None
    } else {
        Some(serde_json::from_str(matched).map_err(Error::permanent)?)
    };
    let written = string(&item, "id");
    Ok(ReceivedObject {
        id: id.beside(id.module(), written).map_err(Error::permanent)?,
        object: serde_json::from_str(string(&item, RAW)).map_err(Error::permanent)?,
        received,
        revision: number(&item, "revision").unsigned_abs(),
        station: (!station.is_empty()).then(|| Id::from(station)),
        matched,
    })
}

impl ReceivedObject {
    /// Returns the object as it was received.
    pub fn shown(&self) -> Value {
        as_received(&self.object)
    }

    /// Returns the time of the object's update by the clock of its party if that time is plausible, otherwise the time at which it was
    /// received.
    pub fn updated(&self) -> Timestamp {
        updated_at(&self.object, self.received).unwrap_or(self.received)
    }

    /// Returns an object that is not in the table yet.
    pub fn new(id: ObjectId, object: Value, now: Timestamp) -> Self {
        Self {
            id,
            object,
            received: now,
            revision: 0,
            station: None,
            matched: None,
        }
    }

    /// Returns the item that the next write puts.
    fn item(&self, mode: Mode) -> Result<Item> {
        let id = &self.id;
        let mut item = new_item(Key::OcpiObject { mode, id });
        let (module, owner) = (id.module(), id.owner());
        item.insert("id".into(), s(id.id().as_str()));
        item.insert("received".into(), s(self.received.to_string()));
        item.insert("revision".into(), n(self.revision + 1));
        let raw = serde_json::to_string(&self.object).map_err(Error::internal)?;
        item.insert(RAW.into(), s(raw));
        if let Some(station) = &self.station {
            item.insert("station".into(), s(station.as_str()));
        }
        if let Some(matched) = &self.matched {
            let matched = serde_json::to_string(matched).map_err(Error::internal)?;
            item.insert(MATCHED.into(), s(matched));
        }
        // The stream relays only items that have a version: those that cause further actions.
        if matches!(module, Module::Tariffs | Module::Sessions | Module::Cdrs) {
            item.insert("version".into(), n(self.revision + 1));
        }
        let listed = match module {
            Module::Locations => Some((Partition::LocationsOf { mode, owner }, id.order())),
            Module::Tariffs => Some((Partition::TariffsOf { mode, owner }, id.order())),
            Module::Sessions | Module::Cdrs if self.matched.is_none() => {
                let expiry = self.received.plus(UNMATCHED_KEPT);
                item.insert("ttl".into(), n(expiry.unix_seconds()));
                let name = format!("{} {id}", self.received);
                Some((Partition::Unmatched { mode }, name))
            }
            _ => None,
        };
        if let Some((partition, order)) = listed {
            let (index, value) = partition.place();
            item.insert(keys::hash_key_of(index), s(value));
            item.insert("network_sk".into(), s(order));
        }
        Ok(item)
    }
}

impl UnitOfWork<'_> {
    /// Writes an object, unless it was written since it was read.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn put_received(&mut self, object: &ReceivedObject) -> Result<()> {
        let item = object.item(self.origin.tenant.mode)?;
        let put = self.store.put_if_read(item, "revision", object.revision);
        self.push(Write::Put(put), Error::Contended);
        Ok(())
    }

    /// Deletes an object, unless it was written since it was read.
    pub fn delete_received(&mut self, object: &ReceivedObject) {
        let mode = self.origin.tenant.mode;
        let key = Key::OcpiObject {
            mode,
            id: &object.id,
        };
        let delete = self
            .store
            .delete(key)
            .condition_expression("revision = :read")
            .expression_attribute_values(":read", n(object.revision));
        self.push(Write::Delete(delete), Error::Contended);
    }

    /// Adds a token, by its hash, with which the platform of the network can authenticate.
    pub fn add_own_token(&mut self, hash: &str, network: &Id) {
        let mode = self.origin.tenant.mode;
        let mut item = new_item(Key::OwnToken { mode, hash });
        item.insert("network".into(), s(network.as_str()));
        let put = self.store.put(item);
        self.push(Write::Put(put), Error::Contended);
    }

    /// Ends the validity of a token.
    pub fn remove_own_token(&mut self, hash: &str) {
        let mode = self.origin.tenant.mode;
        let delete = self.store.delete(Key::OwnToken { mode, hash });
        self.push(Write::Delete(delete), Error::Contended);
    }

    /// Records that a party belongs to a network. The claim of the network `from`, if there is one, is replaced. The commit fails with 409 if
    /// the party belongs to another one.
    pub fn claim_party(&mut self, party: &PartyId, network: &Id, from: Option<&Id>) {
        let mode = self.origin.tenant.mode;
        let mut item = new_item(Key::Party { mode, party });
        item.insert("network".into(), s(network.as_str()));
        let put = self
            .store
            .put(item)
            .condition_expression("attribute_not_exists(pk) OR network IN (:network, :from)")
            .expression_attribute_values(":network", s(network.as_str()))
            .expression_attribute_values(":from", s(from.unwrap_or(network).as_str()));
        let message = format!("The party {party} belongs to another network.");
        let refusal = Error::conflict(message, Some("roles"));
        self.push(Write::Put(put), refusal);
    }

    /// Ends the claim of a network to a party, so that the party can belong to another network from now on.
    pub fn release_party(&mut self, party: &PartyId, network: &Id) {
        let mode = self.origin.tenant.mode;
        let delete = self
            .store
            .delete(Key::Party { mode, party })
            .condition_expression("attribute_not_exists(pk) OR network = :network")
            .expression_attribute_values(":network", s(network.as_str()));
        self.push(Write::Delete(delete), Error::Contended);
    }

    /// Makes the commit fail unless the party belongs to the network.
    pub fn check_party(&mut self, owner: &Owner) {
        let (mode, party) = (self.origin.tenant.mode, &owner.party);
        let check = self
            .store
            .check(Key::Party { mode, party })
            .condition_expression("network = :network")
            .expression_attribute_values(":network", s(owner.network.as_str()));
        self.push(Write::Check(check), Error::Contended);
    }

    /// Makes the commit fail if an object has been received.
    pub fn check_not_received(&mut self, id: &ObjectId) {
        let mode = self.origin.tenant.mode;
        let check = self
            .store
            .check(Key::OcpiObject { mode, id })
            .condition_expression("attribute_not_exists(pk)");
        self.push(Write::Check(check), Error::Contended);
    }

    /// Writes a station, unless it was written since it was read.
    ///
    /// # Errors
    /// `Internal` if the station cannot be written as an item.
    pub fn put_station(&mut self, station: &Stored<ChargingStation>) -> Result<()> {
        let item = Store::station_item(self.origin, station)?;
        let put = self.store.put_if_read(item, "version", station.version);
        self.push(Write::Put(put), Error::Contended);
        Ok(())
    }

    /// Sets the status of an EVSE to the status that its network reports. The write succeeds if the connectors of the EVSE are at the
    /// positions at which they were read, whatever changes in the station's other EVSEs meanwhile.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn report_evse_status(
        &mut self,
        station: &ChargingStation,
        evse: &str,
        status: ConnectorStatus,
    ) -> Result<()> {
        self.update_evse(station, evse, status, true)
    }
}
