//! Networks, their tokens and parties, and what they send: objects of OCPI as they are received.
//!
//! An object has one row, with the JSON text that was received and a revision that every write is conditional on. A location and
//! the charging station that it becomes are written together. The index `network` holds the keys of rows only, and an update
//! never moves them, so that it writes no index entry.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, Delete, Put};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::keys::{Key, Partition};
use super::row::{ById, Record};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, client, key_item, n, new_item, number, row, s, string};
use kernel::cache::TtlCache;
use kernel::error::{Error, Result};
use kernel::id::{Id, Kind};
use kernel::origin::{Mode, Origin, Tenant};
use kernel::time::{MINUTE, SignedDuration, Timestamp, days};
use models::charging_session::SessionFailedReason;
use models::charging_station::{ChargingStation, ConnectorStatus};
use models::network::{Module, ObjectId, Owner, PartyId};
use models::ports::network::{ReserveOutcome, Subject};
use models::stored::Stored;
use ocpi::command::{CommandType, ResponseType, ResultType};
use ocpi::network::{Network, NetworkInternal, NetworkStatus};
use ocpi::object::{as_received, updated_at};

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

/// An object as it was received.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedObject {
    pub id: ObjectId,
    /// As it is stored ([`ocpi::object`]).
    pub object: Value,
    /// When it was received the last time.
    pub received: Timestamp,
    /// How often it was written; 0 for one that is not in the table.
    pub revision: u64,
    /// The station that a location became.
    pub station: Option<Id>,
    /// The charging session or the reservation of this service that a session or a CDR belongs to. Without one it is listed as
    /// unmatched.
    pub matched: Option<Subject>,
}

/// A command that was sent to a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentCommand {
    pub id: Id,
    /// The party that it was sent to.
    pub to: Owner,
    pub command: CommandType,
    /// What the command is about, such as a charging session or a reservation.
    pub subject: Subject,
    pub sent: Timestamp,
    /// How the operator responded; `None` while it has not, or if its response could not be read.
    pub response: Option<ResponseType>,
    /// When the result counts as lost.
    pub deadline: Timestamp,
    /// The results in the order in which they arrived; [`SentCommand::result`] is the one that counts.
    pub results: Vec<CommandOutcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutcome {
    pub result: ResultType,
    pub received: Timestamp,
}

/// How many results of one command are kept.
const MAX_RESULTS: usize = 10;

/// How long a command is kept.
const COMMAND_KEPT: SignedDuration = days(30);

/// How far a pull has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pull {
    /// Whether objects are pulled that have not changed, to find out which ones are gone.
    pub full: bool,
    pub started: Timestamp,
    pub finished: Option<Timestamp>,
    /// The modules that are still to be pulled, the present one first.
    pub modules: Vec<Module>,
    /// The address of the next page of the present module; `None` before the first one.
    pub next_page: Option<String>,
    /// How many objects of that page have been stored by a run that ended before the page did.
    #[serde(default, skip_serializing_if = "is_default")]
    pub page_objects: u32,
    /// How many pages of the present module have been read, how many objects they had, and their size in bytes.
    pub pages: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub objects: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub bytes: u64,
    /// How many rows say which locations the pull had.
    #[serde(default, skip_serializing_if = "is_default")]
    pub notes: u32,
    /// When the last complete pull began: objects that have changed since are pulled.
    pub since: Option<Timestamp>,
    /// When the last complete full pull began.
    pub last_full: Option<Timestamp>,
    pub counts: PullCounts,
    /// The first objects that could not be used, with the reasons.
    pub problems: Vec<String>,
    /// Whether pages of a module are missing, because the platform has refused one.
    #[serde(default)]
    pub incomplete: bool,
    /// Why the pull was interrupted the last time.
    pub error: Option<String>,
}

/// What a pull has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullCounts {
    pub received: u32,
    pub changed: u32,
    /// Objects that could not be used.
    pub skipped: u32,
    /// Stations that became `removed` because their location is gone.
    pub removed: u32,
}

/// How many objects that could not be used a pull names, and how long a problem is, in characters.
pub const MAX_PROBLEMS: usize = 100;
const MAX_PROBLEM: usize = 400;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The tenant of rows that belong to no account.
pub fn operators(mode: Mode) -> Tenant {
    Tenant {
        account: Id::from_number(Kind::Account, 0),
        mode,
    }
}

/// The origin of what a network or an operator does.
pub fn shared_origin(mode: Mode, now: Timestamp) -> Origin {
    Origin::background(operators(mode), now)
}

impl Store {
    /// All networks of a mode, the newest first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn networks(&self, mode: Mode) -> Result<Vec<Stored<Network>>> {
        let items = self.items_in(Partition::Networks { mode }).await?;
        let mut networks: Vec<Stored<Network>> = items
            .into_iter()
            .map(row::from_item)
            .collect::<Result<_>>()?;
        networks.sort_by(|a, b| b.object.id.cmp(&a.object.id));
        Ok(networks)
    }

    /// The network whose platform authenticates with the token that has this hash.
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

    /// The network that a party belongs to.
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

    /// The network of an owner, if the party is still a part of it.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn network_of(&self, mode: Mode, owner: &Owner) -> Result<Option<Stored<Network>>> {
        let network: Option<Stored<Network>> = self.find(&operators(mode), &owner.network).await?;
        Ok(network.filter(|network| network.object.operator(&owner.party).is_ok()))
    }

    /// The id of the network that a party belongs to.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn network_id_of_party(&self, mode: Mode, party: &PartyId) -> Result<Option<Id>> {
        let item = self.item(Key::Party { mode, party }, true).await?;
        Ok(item.map(|item| Id::from(string(&item, "network"))))
    }

    /// The network that a row points at.
    async fn pointed_at(&self, mode: Mode, key: Key<'_>) -> Result<Option<Stored<Network>>> {
        let Some(item) = self.item(key, true).await? else {
            return Ok(None);
        };
        let id = Id::from(string(&item, "network"));
        self.find(&operators(mode), &id).await
    }

    /// An object as it was received.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn received(&self, mode: Mode, id: &ObjectId) -> Result<Option<ReceivedObject>> {
        let item = self.item(Key::OcpiObject { mode, id }, true).await?;
        item.map(|item| read_object(item, id)).transpose()
    }

    /// Objects as they were received, by their ids; those that are not there are left out.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn all_received(&self, mode: Mode, ids: &[ObjectId]) -> Result<Vec<ReceivedObject>> {
        let mut wanted: HashMap<String, &ObjectId> = HashMap::new();
        for id in ids {
            wanted.insert(Key::OcpiObject { mode, id }.pair().0, id);
        }
        let unique = wanted
            .values()
            .map(|id| key_item(Key::OcpiObject { mode, id }));
        let items = self.items(unique.collect(), None, true).await?;
        let read = |item: Item| {
            let id = wanted.get(string(&item, "pk")).copied();
            let id = id.ok_or_else(|| Error::internal("a row that was not asked for"))?;
            read_object(item, id)
        };
        items.into_iter().map(read).collect()
    }

    /// A location and the station that it became, in one call.
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
                stored = Some(row::from_item(item)?);
            }
        }
        Ok((location, stored))
    }

    /// The locations of a party.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn location_ids(&self, mode: Mode, owner: &Owner) -> Result<Vec<ObjectId>> {
        let items = self
            .network_index(Partition::LocationsOf { mode, owner })
            .await?;
        let ids = items.iter().filter_map(|item| {
            let (_, id) = super::keys::parse_ocpi_object(string(item, "pk"))?;
            Some(id)
        });
        Ok(ids.collect())
    }

    /// The sessions and CDRs that belong to no session of this service, the oldest first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn unmatched(&self, mode: Mode, limit: usize) -> Result<Vec<ReceivedObject>> {
        let mut items = self.network_index(Partition::Unmatched { mode }).await?;
        items.truncate(limit);
        let ids = items.iter().filter_map(|item| {
            let (_, id) = super::keys::parse_ocpi_object(string(item, "pk"))?;
            Some(id)
        });
        let ids: Vec<ObjectId> = ids.collect();
        let mut objects = self.all_received(mode, &ids).await?;
        objects.sort_by_key(|one| one.received);
        Ok(objects)
    }

    /// The locations that name a tariff of their party, after the given one, at most so many.
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

    /// Notes that a location names a tariff of its party.
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

    /// A command that was sent.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn command(&self, mode: Mode, id: &Id) -> Result<Option<SentCommand>> {
        let item = self.item(Key::NetworkCommand { mode, id }, true).await?;
        item.map(|item| read_state(&item)).transpose()
    }

    /// Notes a command before it is sent, and how the operator has responded to it.
    ///
    /// # Errors
    /// `Contended` if a result arrived in the meantime; `Unavailable` if DynamoDB cannot be reached.
    pub async fn put_command(
        &self,
        mode: Mode,
        command: &SentCommand,
        results_before: Option<usize>,
    ) -> Result<()> {
        let key = Key::NetworkCommand {
            mode,
            id: &command.id,
        };
        let mut item = new_item(key);
        item.insert(STATE.into(), state(command)?);
        item.insert("results".into(), n(command.results.len()));
        item.insert("version".into(), n(command.results.len() + 1));
        let expiry = command.sent.plus(COMMAND_KEPT);
        item.insert("ttl".into(), n(expiry.unix_seconds()));
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(item));
        let put = match results_before {
            None => put.condition_expression("attribute_not_exists(pk)"),
            Some(before) => put
                .condition_expression("results = :before")
                .expression_attribute_values(":before", n(before)),
        };
        match put.send().await {
            Ok(_) => Ok(()),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|error| error.is_conditional_check_failed_exception()) =>
            {
                Err(Error::Contended)
            }
            Err(error) => Err(client::failure(error)),
        }
    }

    /// How far the present or last pull from a network has come.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn pull(&self, mode: Mode, network: &Id) -> Result<Option<Pull>> {
        let item = self.item(Key::Pull { mode, network }, true).await?;
        item.map(|item| read_state(&item)).transpose()
    }

    /// Stores how far a pull has come.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn put_pull(&self, mode: Mode, network: &Id, pull: &Pull) -> Result<()> {
        let mut item = new_item(Key::Pull { mode, network });
        item.insert(STATE.into(), state(pull)?);
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(item)).send().await;
        put.map_err(client::failure).map(drop)
    }

    /// Notes some of the objects that a full pull had, as number `pull.notes`.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn note_pulled(
        &self,
        mode: Mode,
        network: &Id,
        pull: &Pull,
        ids: &[ObjectId],
    ) -> Result<()> {
        let mut item = new_item(Key::PulledPage {
            mode,
            network,
            page: pull.notes,
        });
        item.insert(STATE.into(), state(&(pull.started, ids))?);
        let expiry = pull.started.plus(days(7));
        item.insert("ttl".into(), n(expiry.unix_seconds()));
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(item)).send().await;
        put.map_err(client::failure).map(drop)
    }

    /// The objects that a full pull had, and how many items say so. They are fewer than the pull has written if another pull ran at the
    /// same time.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn pulled(
        &self,
        mode: Mode,
        network: &Id,
        started: Timestamp,
    ) -> Result<(u32, HashSet<ObjectId>)> {
        let (pk, first) = Key::PulledPage {
            mode,
            network,
            page: 0,
        }
        .pair();
        let pages = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :end")
            .expression_attribute_values(":pk", s(pk))
            .expression_attribute_values(":end", s(format!("{}~", first.trim_end_matches('0'))))
            .expression_attribute_values(":first", s(first))
            .consistent_read(true)
            .into_paginator()
            .items()
            .send();
        let items: Vec<Item> = pages.try_collect().await.map_err(client::failure)?;
        let (mut notes, mut pulled) = (0, HashSet::new());
        for item in &items {
            let (of, ids): (Timestamp, Vec<ObjectId>) = read_state(item)?;
            if of == started {
                notes += 1;
                pulled.extend(ids);
            }
        }
        Ok((notes, pulled))
    }

    /// The keys of a partition of the index `network`, in order.
    async fn network_index(&self, partition: Partition<'_>) -> Result<Vec<Item>> {
        let (index, attribute, value) = partition.place();
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
}

const RAW: &str = "raw";
pub(super) const STATE: &str = "state";

pub(super) fn state<T: Serialize>(value: &T) -> Result<AttributeValue> {
    serde_json::to_string(value).map(s).map_err(Error::internal)
}

pub(super) fn read_state<T: serde::de::DeserializeOwned>(item: &Item) -> Result<T> {
    serde_json::from_str(string(item, STATE)).map_err(Error::permanent)
}

fn read_object(item: Item, id: &ObjectId) -> Result<ReceivedObject> {
    let received = Timestamp::parse(string(&item, "received")).map_err(Error::permanent)?;
    let station = string(&item, "station");
    let matched = string(&item, "matched");
    let matched = match matched.is_empty() {
        true => None,
        false => Some(serde_json::from_str(matched).map_err(Error::permanent)?),
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
    /// The object as it was received.
    pub fn shown(&self) -> Value {
        as_received(&self.object)
    }

    /// When the object was updated, by the clock of its party if that is believed, else when it was received.
    pub fn updated(&self) -> Timestamp {
        updated_at(&self.object, self.received).unwrap_or(self.received)
    }

    /// An object that is not in the table.
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

    /// The row as the next write leaves it.
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
            item.insert("matched".into(), s(matched));
        }
        // The stream relays rows that have a version: those that something follows from.
        if matches!(module, Module::Tariffs | Module::Sessions | Module::Cdrs) {
            item.insert("version".into(), n(self.revision + 1));
        }
        let listed = match module {
            Module::Locations => Some((Partition::LocationsOf { mode, owner }, id.order())),
            Module::Sessions | Module::Cdrs if self.matched.is_none() => {
                let name = format!("{} {id}", self.received);
                Some((Partition::Unmatched { mode }, name))
            }
            _ => None,
        };
        if let Some((partition, order)) = listed {
            let (_, attribute, value) = partition.place();
            item.insert(attribute.into(), s(value));
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
        let put = self.store.put(object.item(self.origin.tenant.mode)?);
        let put = match object.revision {
            0 => put.condition_expression("attribute_not_exists(pk)"),
            read => put
                .condition_expression("revision = :read")
                .expression_attribute_values(":read", n(read)),
        };
        self.push_put(put.build().map_err(Error::internal)?, Error::Contended);
        Ok(())
    }

    /// Deletes an object, unless it was written since it was read.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn delete_received(&mut self, object: &ReceivedObject) -> Result<()> {
        let mode = self.origin.tenant.mode;
        let key = Key::OcpiObject {
            mode,
            id: &object.id,
        };
        let delete = Delete::builder()
            .table_name(&self.store.table)
            .set_key(Some(key_item(key)))
            .condition_expression("revision = :read")
            .expression_attribute_values(":read", n(object.revision));
        let delete = delete.build().map_err(Error::internal)?;
        self.push(Write::Delete(delete), Error::Contended);
        Ok(())
    }

    /// Lets a platform authenticate with the token that has this hash.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn add_own_token(&mut self, hash: &str, network: &Id) -> Result<()> {
        let mode = self.origin.tenant.mode;
        let mut item = new_item(Key::OwnToken { mode, hash });
        item.insert("network".into(), s(network.as_str()));
        let put = self.store.put(item);
        self.push_put(put.build().map_err(Error::internal)?, Error::Contended);
        Ok(())
    }

    /// Ends the validity of a token.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn remove_own_token(&mut self, hash: &str) -> Result<()> {
        let mode = self.origin.tenant.mode;
        let delete = Delete::builder()
            .table_name(&self.store.table)
            .set_key(Some(key_item(Key::OwnToken { mode, hash })));
        let delete = delete.build().map_err(Error::internal)?;
        self.push(Write::Delete(delete), Error::Contended);
        Ok(())
    }

    /// Notes that a party belongs to a network. The commit fails with 409 if it belongs to another one.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn claim_party(&mut self, party: &PartyId, network: &Id) -> Result<()> {
        let mode = self.origin.tenant.mode;
        let mut item = new_item(Key::Party { mode, party });
        item.insert("network".into(), s(network.as_str()));
        let put = self
            .store
            .put(item)
            .condition_expression("attribute_not_exists(pk) OR network = :network")
            .expression_attribute_values(":network", s(network.as_str()));
        let message = format!("The party {party} belongs to another network.");
        let refusal = Error::conflict(message, Some("roles"));
        self.push_put(put.build().map_err(Error::internal)?, refusal);
        Ok(())
    }

    /// Lets a party belong to another network from now on.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn release_party(&mut self, party: &PartyId, network: &Id) -> Result<()> {
        let mode = self.origin.tenant.mode;
        let delete = Delete::builder()
            .table_name(&self.store.table)
            .set_key(Some(key_item(Key::Party { mode, party })))
            .condition_expression("attribute_not_exists(pk) OR network = :network")
            .expression_attribute_values(":network", s(network.as_str()));
        let delete = delete.build().map_err(Error::internal)?;
        self.push(Write::Delete(delete), Error::Contended);
        Ok(())
    }

    /// Lets the commit fail unless the party belongs to the network.
    ///
    /// # Errors
    /// `Internal` if the check cannot be built.
    pub fn check_party(&mut self, owner: &Owner) -> Result<()> {
        let (mode, party) = (self.origin.tenant.mode, &owner.party);
        let check = ConditionCheck::builder()
            .table_name(&self.store.table)
            .set_key(Some(key_item(Key::Party { mode, party })))
            .condition_expression("network = :network")
            .expression_attribute_values(":network", s(owner.network.as_str()));
        let check = check.build().map_err(Error::internal)?;
        self.push(Write::Check(check), Error::Contended);
        Ok(())
    }

    /// Writes a station, unless it was written since it was read.
    ///
    /// # Errors
    /// `Internal` if the station cannot be written as an item.
    pub fn put_station(&mut self, station: &Stored<ChargingStation>) -> Result<()> {
        let put = self.store.put(Store::station_item(self.origin, station)?);
        let put = match station.version {
            0 => put.condition_expression("attribute_not_exists(pk)"),
            read => put
                .condition_expression("#version = :read")
                .expression_attribute_names("#version", "version")
                .expression_attribute_values(":read", n(read)),
        };
        self.push_put(put.build().map_err(Error::internal)?, Error::Contended);
        Ok(())
    }

    /// Sets the status of an EVSE to what its network reports. It goes through if the connectors of the EVSE are where they were
    /// read, whatever happens to the station's other EVSEs in the meantime.
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

    fn push_put(&mut self, put: Put, refusal: Error) {
        self.push(Write::Put(put), refusal);
    }
}

impl SentCommand {
    /// The result that counts: the first one, unless it is a time-out, after which the station may still have executed the command.
    pub fn result(&self) -> Option<ResultType> {
        let mut results = self.results.iter().map(|one| one.result);
        let final_one = results.clone().find(|one| *one != ResultType::Timeout);
        final_one.or_else(|| results.next())
    }

    /// What a command to start a session has come to: that it was started, or why not. Nothing while that is open, and for any other
    /// command.
    pub fn start_outcome(&self) -> Option<Result<(), SessionFailedReason>> {
        if self.command != CommandType::StartSession {
            return None;
        }
        if self.is_refused() {
            return Some(Err(SessionFailedReason::NetworkRejected));
        }
        let result = self.result()?;
        match result.failure() {
            Some(reason) => Some(Err(reason)),
            None => (result == ResultType::Accepted).then_some(Ok(())),
        }
    }

    /// What a command to keep an EVSE free has come to.
    pub fn reserve_outcome(&self) -> ReserveOutcome {
        let mut results = self.results.iter().map(|one| one.result);
        // A network may end a reservation that it has kept.
        if results.any(|result| result == ResultType::CanceledReservation) {
            return ReserveOutcome::Refused;
        }
        match self.result() {
            None | Some(ResultType::Timeout) => ReserveOutcome::Open,
            Some(ResultType::Accepted) => ReserveOutcome::Kept,
            Some(_) => ReserveOutcome::Refused,
        }
    }

    /// Whether the charging point has accepted a profile; none while that is open, and for any other command.
    pub fn profile_outcome(&self) -> Option<bool> {
        if self.command != CommandType::SetChargingProfile {
            return None;
        }
        let refused = self.is_refused().then_some(false);
        refused.or_else(|| Some(self.result()? == ResultType::Accepted))
    }

    fn is_refused(&self) -> bool {
        self.response
            .is_some_and(|response| response != ResponseType::Accepted)
    }

    /// Adds a result that has arrived. More than ten are not kept.
    pub fn add_result(&mut self, result: ResultType, now: Timestamp) {
        if self.results.len() < MAX_RESULTS {
            self.results.push(CommandOutcome {
                result,
                received: now,
            });
        }
    }
}

/// How long a network is believed to be as it was read: a suspension holds everywhere after that.
const BELIEVED: SignedDuration = MINUTE;

/// How many networks are remembered, and of how many parties it is remembered whether they are reached.
const MAX_KNOWN: usize = 1_000;
const MAX_PARTIES_KNOWN: usize = 10_000;

/// Networks as they were read, by the hashes of their tokens, and whether parties are reached.
#[derive(Debug)]
pub struct KnownNetworks {
    by_token: TtlCache<String, Stored<Network>>,
    /// Whether a party of a network is reached.
    parties: TtlCache<(Mode, Owner), bool>,
}

impl Default for KnownNetworks {
    fn default() -> Self {
        Self {
            by_token: TtlCache::new(BELIEVED, MAX_KNOWN),
            parties: TtlCache::new(BELIEVED, MAX_PARTIES_KNOWN),
        }
    }
}

impl KnownNetworks {
    /// The network that authenticates with the token that has this hash, if the token is valid and the network is not revoked.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn by_token(
        &self,
        store: &Store,
        mode: Mode,
        hash: &str,
        now: Timestamp,
    ) -> Result<Option<Stored<Network>>> {
        if let Some(network) = self.by_token.get(hash, now) {
            return Ok(Some(network));
        }
        let network = store.network_of_token(mode, hash).await?;
        let network = network.filter(|network| network.object.status != NetworkStatus::Revoked);
        match &network {
            Some(network) => self.by_token.insert(hash.to_owned(), network.clone(), now),
            None => self.by_token.remove(hash),
        }
        Ok(network)
    }

    /// Whether the token with this hash was found to be valid within the last minute.
    pub fn has_token(&self, hash: &str, now: Timestamp) -> bool {
        self.by_token.get(hash, now).is_some()
    }

    /// Whether a party is reached ([`Network::reaches`]), as far as that is known within a minute. A command is sent only if it is true at
    /// that moment.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn reaches(
        &self,
        store: &Store,
        mode: Mode,
        owner: &Owner,
        now: Timestamp,
    ) -> Result<bool> {
        let key = (mode, owner.clone());
        if let Some(is_reached) = self.parties.get(&key, now) {
            return Ok(is_reached);
        }
        let network = store.network_of(mode, owner).await?;
        let network = network.map(|one| one.object);
        let is_reached = network
            .as_ref()
            .is_some_and(|one| one.reaches(&owner.party));
        self.parties.insert(key, is_reached, now);
        Ok(is_reached)
    }

    /// Forgets a network, which was changed, and whether parties are reached.
    pub fn forget(&self, network: &Id) {
        self.by_token.remove_if(|known| known.object.id == *network);
        self.parties.remove_if(|_| true);
    }
}

impl Pull {
    /// A pull of these modules. It is a full one the first time, when the last full one began `full_interval` ago, and when one was
    /// asked for since. Only a full one asks a hub for its parties.
    pub fn begin(
        last: Option<Self>,
        mut modules: Vec<Module>,
        full_interval: SignedDuration,
        full_asked: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let last_full = last.as_ref().and_then(|last| last.last_full);
        let is_recent = last_full.is_some_and(|at| {
            now.since(at) < full_interval && full_asked.is_none_or(|asked| asked <= at)
        });
        if is_recent {
            modules.retain(|module| *module != Module::HubClientInfo);
        }
        Self {
            full: !is_recent,
            started: now,
            finished: None,
            modules,
            next_page: None,
            page_objects: 0,
            pages: 0,
            objects: 0,
            bytes: 0,
            notes: 0,
            since: last.and_then(|last| last.since),
            last_full,
            counts: PullCounts::default(),
            problems: Vec::new(),
            incomplete: false,
            error: None,
        }
    }

    /// Ends a pull that is under way, so that the next one begins.
    pub fn give_up(&mut self) {
        self.finished.get_or_insert(self.started);
    }

    /// Goes on with the next page of the module, or with the next module if there is none.
    pub fn end_page(&mut self, next: Option<String>) {
        self.pages += 1;
        self.page_objects = 0;
        self.error = None;
        self.next_page = next;
        if self.next_page.is_none() {
            self.end_module();
        }
    }

    /// Goes on with the next module.
    pub fn end_module(&mut self) {
        if !self.modules.is_empty() {
            self.modules.remove(0);
        }
        self.next_page = None;
        self.error = None;
        (self.page_objects, self.pages) = (0, 0);
        (self.objects, self.bytes) = (0, 0);
    }

    /// Goes on with the next module although pages of this one are missing. The reason is the first of the problems.
    pub fn give_up_module(&mut self, why: &str) {
        self.incomplete = true;
        self.problems.insert(0, shortened(why));
        self.end_module();
    }

    /// Ends the pull although pages of its modules are missing.
    pub fn give_up_modules(&mut self, why: &str) {
        self.modules.truncate(1);
        self.give_up_module(why);
    }

    /// Counts an object that could not be used, and says why if it is one of the first. What is the same for several objects is said once.
    pub fn note_problem(&mut self, problem: &str) {
        self.counts.skipped += 1;
        let problem = shortened(problem);
        if self.problems.len() < MAX_PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Notes that the pull is over. After an incomplete one, the next begins where this one did.
    pub fn finish(&mut self, now: Timestamp) {
        self.finished = Some(now);
        if self.incomplete {
            return;
        }
        self.since = Some(self.started);
        if self.full {
            self.last_full = Some(self.started);
        }
    }
}

/// A problem as operators see it. What a platform has sent may be in it.
fn shortened(problem: &str) -> String {
    problem.chars().take(MAX_PROBLEM).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::time::{DAY, millis};

    #[test]
    fn a_pull_is_full_the_first_time_once_a_day_and_when_it_is_asked_for() {
        let now = Timestamp::parse("2026-03-01T08:00:00Z").unwrap();
        let modules = vec![Module::HubClientInfo, Module::Locations];
        let asked_at = |last: &Pull, asked: Option<Timestamp>, at: Timestamp| {
            Pull::begin(Some(last.clone()), modules.clone(), DAY, asked, at)
        };
        let begin = |last: &Pull, at: Timestamp| asked_at(last, None, at);
        let mut first = Pull::begin(None, modules.clone(), DAY, None, now);
        assert!(first.full && first.since.is_none());
        first.finish(now.plus(MINUTE));
        let mut second = begin(&first, now.plus(DAY - millis(1)));
        assert!(!second.full && second.since == Some(now));
        second.finish(now.plus(DAY));
        assert_eq!(second.last_full, Some(now));
        assert!(begin(&second, now.plus(DAY)).full);
        let later = now.plus(DAY - millis(1));
        assert!(asked_at(&second, Some(now.plus(MINUTE)), later).full);
        assert!(!asked_at(&second, Some(now), later).full, "it was made");
        // A hub is asked for its parties by full pulls.
        assert_eq!(first.modules, modules);
        assert_eq!(second.modules, [Module::Locations]);
    }

    #[test]
    fn a_pull_that_is_given_up_says_so_before_its_other_problems() {
        let now = Timestamp::parse("2026-03-01T08:00:00Z").unwrap();
        let mut pull = Pull::begin(None, vec![Module::Tariffs, Module::Cdrs], DAY, None, now);
        for n in 0..2 * MAX_PROBLEMS {
            pull.note_problem(&format!("{n}: {}", "é".repeat(10_000)));
        }
        pull.note_problem("the same");
        pull.give_up_modules("too long");
        assert_eq!(pull.problems[0], "too long");
        assert!(pull.modules.is_empty() && pull.incomplete);
        assert_eq!(pull.counts.skipped, 201);
        let size = serde_json::to_vec(&pull).unwrap().len();
        assert!(size < 100_000, "{size} bytes");
        pull.finish(now.plus(MINUTE));
        assert_eq!((pull.since, pull.last_full), (None, None));
    }
}
