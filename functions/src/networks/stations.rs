//! A location of a network and the charging station that it becomes: both are written in one transaction.
//!
//! The network's report takes precedence: a status that it reports replaces that of the station, and a location whose EVSEs are all removed
//! becomes a station with the status `removed`. The status of a single EVSE, which is the most frequent report, requires one read and one
//! transaction, and writes only that status of the station. Every other report maps the whole location again.
//!
//! The id of a station is derived from the party and the location, so a station keeps it when its party comes back over another network. It
//! belongs to one network at a time, and moves to another in a transaction that fails unless the party belongs to that one. A report of
//! another network about a location of its own with the same id does not change the station.
//!
//! A location that cannot become a station (an unknown country, a connector without power) is stored nevertheless, and its station does not
//! change. If a connector goes out of order or a station is removed, the relay reacts to the change of the station's item, and the
//! reservations are matched again.

use std::collections::BTreeMap;

use super::{COLLISION_ATTEMPTS, COLLISIONS};
use crate::App;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kernel::{Error, Id, Mode, Origin};
use models::charging_station::{Connector, ConnectorStatus, StationStatus};
use models::network::{Module, ObjectId, Owner};
use models::{ChargingStation, Stored};
use ocpi::imported::ImportedStation;
use ocpi::location::{EvseStatus, Location};
use ocpi::network::Network;
use ocpi::object::{Refusal, TIMES, Update, keeping_dropped, text_of};
use ocpi::reader::{Objects, lenient};
use ocpi::tariff::{Tariff, Tariffs};
use ocpi::update::merged;
use serde_json::Value;
use table::networks::{ReceivedObject, shared_origin};

/// The maximum size of a station in bytes, with the prices of its connectors: pages of stations, which may have 5.5 MB, have room for it.
const MAX_STATION: usize = 2_000_000;

/// The number of tariffs of a location that are recorded at once.
const WRITERS: usize = 10;

/// The change of the stored location, if one exists.
pub type LocationChange<'a> = &'a (dyn Fn(Option<&Value>) -> Result<Update, Refusal> + Sync);

/// The result of storing a location.
#[derive(Debug)]
pub struct StoredLocation {
    pub update: Update,
    /// The reason for which the location could not become a station or the prices of its station are unknown, or the part of it that is
    /// ignored.
    pub problem: Option<String>,
}

/// A location as it is stored, and its station.
struct Present {
    location: Option<ReceivedObject>,
    station: Option<Stored<ChargingStation>>,
}

/// Stores a location that was received through a network, and its station.
///
/// # Errors
/// `Contended` if they are changed continuously; `Unavailable` if DynamoDB cannot be reached. The inner error is the reason for which the
/// location is refused.
pub async fn store(
    app: &App,
    mode: Mode,
    network: &Network,
    id: &ObjectId,
    change: LocationChange<'_>,
) -> Result<Result<StoredLocation, Refusal>, Error> {
    let origin = shared_origin(mode, app.now());
    let store = || async {
        let present = present(app, mode, id).await?;
        let before = present.location.as_ref().map(|location| &location.object);
        let update = match change(before).and_then(Update::bounded) {
            Ok(update) => update,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (Update::New(object) | Update::Changed(object)) = &update else {
            let problem = None;
            return Ok(Ok(StoredLocation { update, problem }));
        };
        let stored = present.location.as_ref().map(|location| &location.object);
        let object = keeping_dropped(object.clone(), stored);
        let written = write(app, &origin, network, id, present, &object).await?;
        Ok(written.map(|problem| StoredLocation { update, problem }))
    };
    COLLISIONS.after_collisions(COLLISION_ATTEMPTS, store).await
}

/// The id of the station that a location becomes, unless it has another one already.
pub(super) fn expected_id(location: &ObjectId) -> Id {
    let (party, written) = (location.party(), location.id().as_str());
    Location::station_id(party.country_code(), party.party_id(), written)
}

async fn present(app: &App, mode: Mode, id: &ObjectId) -> Result<Present, Error> {
    let expected = expected_id(id);
    let (location, mut station) = app.store.location_and_station(mode, id, &expected).await?;
    // A location keeps the station that it has.
    let other = location
        .as_ref()
        .and_then(|location| location.station.as_ref());
    if let Some(other) = other.filter(|other| **other != expected) {
        let tenant = shared_origin(mode, app.now()).tenant;
        station = app.store.find(&tenant, other).await?;
    }
    Ok(Present { location, station })
}

/// Writes a location and its station. Returns the problem of the location, if it has one.
async fn write(
    app: &App,
    origin: &Origin,
    network: &Network,
    id: &ObjectId,
    present: Present,
    object: &Value,
) -> Result<Result<Option<String>, Refusal>, Error> {
    let Present { location, station } = present;
    let before = location.as_ref().map(|stored| stored.object.clone());
    let new = || ReceivedObject::new(id.clone(), object.clone(), origin.now);
    let mut received = location.map_or_else(new, |stored| ReceivedObject {
        object: object.clone(),
        received: origin.now,
        ..stored
    });
    let mut tx = app.store.begin(origin);
    let station_owner = station.as_ref().and_then(owner_of);
    if station_owner.is_some_and(|owner| owner != id.owner()) {
        let network = app.store.network_of_party(origin.tenant.mode, id.party());
        if network
            .await?
            .is_none_or(|network| network.object.id != *id.network())
        {
            let why = "The party belongs to another network.";
            return Ok(Err(Refusal::parameter(why)));
        }
        tx.check_party(id.owner());
    } else if let (Some(before), Some(station)) = (&before, &station)
        && let Some(only) = only_status(before, object, &station.object)
    {
        tx.put_received(&received)?;
        if let Some((evse, status)) = only {
            tx.report_evse_status(&station.object, &evse, status)?;
        }
        tx.commit_without_response().await?;
        return Ok(Ok(None));
    }
    let imported = match lenient::<Location>(object).map(Location::into_station) {
        Err(why) => return Ok(Err(Refusal::parameter(why))),
        Ok(Ok(imported)) => imported,
        Ok(Err(why)) => {
            tx.put_received(&received)?;
            tx.commit_without_response().await?;
            return Ok(Ok(Some(format!("its station is as it was: {why}"))));
        }
    };
    let problem = imported.problem();
    note_tariffs(app, origin.tenant.mode, id, &imported, before.as_ref()).await?;
    let (next, unpriced) = derive(app, origin, network, id, imported, station.as_ref()).await?;
    received.station = Some(next.object.id.clone());
    tx.put_received(&received)?;
    if station
        .is_none_or(|station| station.object != next.object || station.internal != next.internal)
    {
        tx.put_station(&next)?;
    }
    tx.commit_without_response().await?;
    Ok(Ok(unpriced.or(problem)))
}

/// Records the tariffs that a location uses and did not use in its previous state.
async fn note_tariffs(
    app: &App,
    mode: Mode,
    id: &ObjectId,
    imported: &ImportedStation,
    before: Option<&Value>,
) -> Result<(), Error> {
    let read = |location: &Value| lenient::<Location>(location).and_then(Location::into_station);
    let old = before.and_then(|before| read(before).ok());
    let old = old.map(|old| old.tariff_ids()).unwrap_or_default();
    let new = imported.tariff_ids();
    let new = new.difference(&old);
    let new: Vec<ObjectId> = new
        .filter_map(|tariff| tariff_id(id, tariff).ok())
        .collect();
    stream::iter(new)
        .map(|tariff| async move { app.store.note_tariff_use(mode, &tariff, id).await })
        .buffer_unordered(WRITERS)
        .try_collect()
        .await
}

/// The station that a location becomes, with the prices of the known tariffs. The price of a connector without a known tariff is unknown,
/// whatever it was before. Returns also the reason for which all prices are unknown, if there is one.
async fn derive(
    app: &App,
    origin: &Origin,
    network: &Network,
    id: &ObjectId,
    mut imported: ImportedStation,
    station: Option<&Stored<ChargingStation>>,
) -> Result<(Stored<ChargingStation>, Option<String>), Error> {
    let party = network.operator(id.party()).ok();
    let name = party.map_or_else(|| network.name.clone(), |party| party.name.clone());
    imported.set_network(id.clone(), name);
    if let Some(station) = station {
        imported.station.id = station.object.id.clone();
    }
    let unpriced = price(app, origin, id, &mut imported).await?;
    let before = station.map(|station| {
        let mut station = station.clone();
        // The network's report takes precedence, whatever its previous report was.
        station.internal.imported_status = BTreeMap::new();
        station
    });
    let before = before
        .as_ref()
        .map(|station| (&station.object, &station.internal));
    let (object, internal) = merged(imported, before, origin.now);
    let version = station.map_or(0, |station| station.version);
    Ok((Stored::read(object, internal, version), unpriced))
}

/// Sets the prices of the connectors of a location to those of the known tariffs. The prices are unknown if the station would be too large
/// with them; returns the reason then.
async fn price(
    app: &App,
    origin: &Origin,
    id: &ObjectId,
    imported: &mut ImportedStation,
) -> Result<Option<String>, Error> {
    let ids = imported.tariff_ids();
    let ids: Vec<ObjectId> = ids
        .iter()
        .filter_map(|tariff| tariff_id(id, tariff).ok())
        .collect();
    let received = app.store.all_received(origin.tenant.mode, &ids).await?;
    let loaded = received
        .iter()
        .filter_map(|tariff| lenient::<Tariff>(&tariff.object).ok());
    let (tariffs, _) = Tariffs::read(Objects {
        loaded: loaded.collect(),
        skipped: Vec::new(),
    });
    imported.replace_prices(&tariffs, origin.now);
    let written = serde_json::to_vec(&imported.station).map_err(Error::internal)?;
    if written.len() <= MAX_STATION {
        return Ok(None);
    }
    imported.set_pricing(Vec::new());
    Ok(Some(format!(
        "its prices are unknown, because the station has {} bytes with them, more than {MAX_STATION}",
        written.len()
    )))
}

/// The connectors of an EVSE that its network has removed from a location, as they were reported last, with the prices of the known
/// tariffs.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn removed_connectors(
    app: &App,
    mode: Mode,
    location: &ReceivedObject,
    evse: &str,
) -> Result<Vec<Connector>, Error> {
    let read = lenient::<Location>(&location.object);
    let Ok(mut imported) = read.and_then(|read| read.with_removed(evse).into_station()) else {
        return Ok(Vec::new());
    };
    let origin = shared_origin(mode, app.now());
    price(app, &origin, &location.id, &mut imported).await?;
    Ok(imported.station.evse(evse).cloned().collect())
}

/// Applies the stored prices of their tariffs to the connectors of a location.
///
/// # Errors
/// `Contended` if the station is changed continuously; `Unavailable` if DynamoDB cannot be reached.
pub async fn reprice(app: &App, mode: Mode, id: &ObjectId) -> Result<(), Error> {
    let origin = shared_origin(mode, app.now());
    let reprice = || async {
        let Present {
            location: Some(location),
            station: Some(station),
        } = present(app, mode, id).await?
        else {
            return Ok(());
        };
        if owner_of(&station) != Some(id.owner()) {
            return Ok(());
        }
        let Some(network) = app.store.network_of(mode, id.owner()).await? else {
            return Ok(());
        };
        let imported = lenient::<Location>(&location.object).and_then(Location::into_station);
        let Ok(imported) = imported else {
            return Ok(());
        };
        let derived = derive(app, &origin, &network.object, id, imported, Some(&station));
        let (next, _) = derived.await?;
        let mut priced = station.clone();
        for connector in &mut priced.object.connectors {
            let same = next
                .object
                .connectors
                .iter()
                .find(|other| other.id == connector.id);
            if let Some(same) = same.filter(|same| same.pricing != connector.pricing) {
                connector.pricing.clone_from(&same.pricing);
                let repriced = &mut priced.internal.repriced;
                repriced.insert(connector.id.clone(), origin.now);
            }
        }
        priced.object.show_cheapest_pricing();
        if priced.object == station.object {
            return Ok(());
        }
        priced.object.updated = origin.now;
        let mut tx = app.store.begin(&origin);
        tx.put_station(&priced)?;
        tx.commit_without_response().await
    };
    COLLISIONS
        .after_collisions(COLLISION_ATTEMPTS, reprice)
        .await
}

/// Removes a location that its network no longer has: its station becomes `removed` and stays readable. Returns whether the location
/// existed.
///
/// # Errors
/// `Contended` if they are changed continuously; `Unavailable` if DynamoDB cannot be reached.
pub async fn remove(
    app: &App,
    mode: Mode,
    id: &ObjectId,
    before: kernel::Timestamp,
) -> Result<bool, Error> {
    let origin = shared_origin(mode, app.now());
    let remove = || async {
        let Present { location, station } = present(app, mode, id).await?;
        let Some(location) = location.filter(|location| location.received < before) else {
            return Ok(false);
        };
        let mut tx = app.store.begin(&origin);
        tx.delete_received(&location);
        if let Some(mut station) = station
            && owner_of(&station) == Some(id.owner())
            && station.object.status != StationStatus::Removed
        {
            station.object.status = StationStatus::Removed;
            station.object.updated = origin.now;
            tx.put_station(&station)?;
        }
        tx.commit_without_response().await?;
        Ok(true)
    };
    COLLISIONS
        .after_collisions(COLLISION_ATTEMPTS, remove)
        .await
}

/// Makes the station of a location inactive, because its network was revoked. A station that belongs to another network by now is kept.
///
/// # Errors
/// `Contended` if it is changed continuously; `Unavailable` if DynamoDB cannot be reached.
pub(super) async fn deactivate(app: &App, mode: Mode, id: &ObjectId) -> Result<(), Error> {
    let origin = shared_origin(mode, app.now());
    let deactivate = || async {
        let station = present(app, mode, id).await?.station;
        let station = station.filter(|station| owner_of(station) == Some(id.owner()));
        let is_left = |status| matches!(status, StationStatus::Inactive | StationStatus::Removed);
        let Some(mut station) = station.filter(|station| !is_left(station.object.status)) else {
            return Ok(());
        };
        station.object.status = StationStatus::Inactive;
        station.object.updated = origin.now;
        let mut tx = app.store.begin(&origin);
        tx.put_station(&station)?;
        tx.commit_without_response().await
    };
    COLLISIONS
        .after_collisions(COLLISION_ATTEMPTS, deactivate)
        .await
}

/// The party that operates a station; none for a station from a file.
fn owner_of(station: &Stored<ChargingStation>) -> Option<&Owner> {
    station.internal.location.as_ref().map(ObjectId::owner)
}

/// A tariff of the party of a location.
fn tariff_id(location: &ObjectId, tariff: &str) -> Result<ObjectId, String> {
    location.beside(Module::Tariffs, tariff)
}

/// Compares two versions of a location. If they differ only in the status of at most one EVSE and in times of update, returns the EVSE's
/// uid and the new status of its connectors, if a status differs. `None` if anything else differs, or if the status affects more than that
/// of connectors.
fn only_status(
    before: &Value,
    after: &Value,
    station: &ChargingStation,
) -> Option<Option<(String, ConnectorStatus)>> {
    let (mut rest_before, mut rest_after) = (before.clone(), after.clone());
    let mut changed = Vec::new();
    for rest in [&mut rest_before, &mut rest_after] {
        let members = rest.as_object_mut()?;
        members.retain(|name, _| !TIMES.contains(&name.as_str()));
    }
    let evses_before = rest_before.get_mut("evses")?.as_array_mut()?;
    let evses_after = rest_after.get_mut("evses")?.as_array_mut()?;
    if evses_before.len() != evses_after.len() {
        return None;
    }
    for (before, after) in evses_before.iter_mut().zip(evses_after) {
        let statuses = [&mut *before, &mut *after].map(|evse| {
            let members = evse.as_object_mut()?;
            members.retain(|name, _| !TIMES.contains(&name.as_str()));
            let status = members.remove("status")?;
            serde_json::from_value::<EvseStatus>(status).ok()
        });
        let [Some(old), Some(new)] = statuses else {
            return None;
        };
        if old != new {
            if !old.is_of_connectors_only() || !new.is_of_connectors_only() {
                return None;
            }
            changed.push((text_of(after, "uid")?, new.connector_status()));
        }
    }
    if rest_before != rest_after {
        return None;
    }
    match changed.len() {
        0 => Some(None),
        1 => {
            let (uid, status) = changed.pop()?;
            let known = station.evse(&uid).next()?;
            Some(Some((known.evse.clone(), status)))
        }
        _ => None,
    }
}
