//! Merges a station that is loaded again with the stored one.
//!
//! - A status of an EVSE in the file counts if it differs from the one in the file's last version. Otherwise the EVSE keeps its current
//!   status.
//! - An EVSE at which a session of this service charges stays occupied, unless the file reports that it is out of order.
//! - A station of a network stays a station of that network.
//! - EVSEs and connectors keep the spelling of their ids.
//! - An EVSE that is missing from the file is remembered for a week.
//! - Prices change if the file contains prices; without a file of tariffs they stay.
//! - Unchanged stations are not written, and `created` never changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::imported::ImportedStation;
use kernel::time::days;
use kernel::{SignedDuration, Timestamp};
use models::ChargingStation;
use models::charging::simulation::offered;
use models::charging_station::{Connector, ConnectorStatus, RemovedEvses, StationInternal};

/// The time for which a station remembers the EVSEs that were removed.
const REMEMBERED: SignedDuration = days(7);

/// The maximum size of the removed EVSEs in the item of a station, in bytes. An item of DynamoDB has at most 400 KB, which is enough for a
/// location whose EVSEs all get other uids at once: 1,400 of them, with uids of 36 characters. Only a location that changes its uids again
/// and again exceeds this size.
const MOST_REMOVED: usize = 64 * 1024;

/// The size of the common data of EVSEs that were removed together, in bytes.
const GROUP: usize = 100;

/// Returns the new state of the station, and its internal state; the stored one is `None` for a new station.
pub fn merged(
    mut imported: ImportedStation,
    stored: Option<(&ChargingStation, &StationInternal)>,
    now: Timestamp,
) -> (ChargingStation, StationInternal) {
    if let Some((before, _)) = stored {
        imported.spell_as(before);
    }
    let imported_status = imported.statuses();
    let ImportedStation {
        mut station,
        published,
        published_for,
        priced,
        location,
        takes_profiles,
        ..
    } = imported;
    let mut internal = StationInternal {
        published,
        published_for,
        imported_status,
        location,
        takes_profiles,
        ..StationInternal::default()
    };
    (station.created, station.updated) = (now, now);
    let Some((before, before_internal)) = stored else {
        station.show_cheapest_pricing();
        return (station, internal);
    };
    // A file does not remove a station from its network.
    if internal.location.is_none() {
        internal.location.clone_from(&before_internal.location);
        station.network.clone_from(&before.network);
    }
    remember(&mut internal, before_internal, before, &station, now);
    for connector in &mut station.connectors {
        let last = before_internal.imported_status.get(&connector.evse);
        if let Some(live) = live_status(before, connector) {
            let reported = internal.imported_status.get_mut(&connector.evse);
            keep_live(connector, live, last.copied(), reported);
        }
        let is_priced = priced.contains(&connector.id);
        if !keep_pricing(connector, before, is_priced) {
            internal.repriced.insert(connector.id.clone(), now);
        }
    }
    station.show_cheapest_pricing();
    station.count_connectors();
    station.created = before.created;
    station.updated = before.updated;
    if station != *before || internal.published != before_internal.published {
        station.updated = now;
    }
    (station, internal)
}

/// Keeps the times at which the prices of the connectors have changed, and the EVSEs that were removed.
fn remember(
    internal: &mut StationInternal,
    before: &StationInternal,
    station_before: &ChargingStation,
    station: &ChargingStation,
    now: Timestamp,
) {
    let present: HashSet<&String> = station.connectors.iter().map(|known| &known.id).collect();
    let repriced = before.repriced.iter();
    let repriced = repriced.filter(|(connector, _)| present.contains(connector));
    internal.repriced = repriced.map(|(id, at)| (id.clone(), *at)).collect();
    internal.removed = removed(before, &station_before.connectors, &station.connectors, now);
}

/// Keeps the prices of a stored connector, unless the file has prices for it. Returns whether the connector has the prices that it had.
fn keep_pricing(connector: &mut Connector, before: &ChargingStation, is_priced: bool) -> bool {
    let mut known = before.connectors.iter();
    let stored = known.find(|known| known.id == connector.id);
    if let Some(stored) = stored.filter(|_| !is_priced) {
        connector.pricing.clone_from(&stored.pricing);
    }
    stored.is_some_and(|stored| stored.pricing == connector.pricing)
}

/// Returns the EVSEs of the connectors `before` that are not among those `after`, and those removed earlier that have not come back. If
/// they are too many, those that were occupied come first, then those that were removed last.
fn removed(
    internal: &StationInternal,
    before: &[Connector],
    after: &[Connector],
    now: Timestamp,
) -> Vec<RemovedEvses> {
    let key = |evse: &str| evse.to_ascii_lowercase();
    let present: HashSet<String> = after.iter().map(|connector| key(&connector.evse)).collect();
    let remembered = internal.removed.iter();
    let remembered = remembered.filter(|removed| now.since(removed.at) < REMEMBERED);
    let remembered = remembered.flat_map(|removed| {
        let evses = removed.evses.iter();
        evses.map(|evse| alone(evse, removed))
    });
    let lost = before.iter().map(|connector| RemovedEvses {
        evses: vec![connector.evse.clone()],
        power: offered(connector),
        at: now,
        was_occupied: connector.status == ConnectorStatus::Occupied,
        takes_profiles: internal.takes_profiles.contains(&connector.evse),
    });
    let mut removed: BTreeMap<String, RemovedEvses> = BTreeMap::new();
    for evse in remembered.chain(lost) {
        let (key, power) = (key(&evse.evses[0]), evse.power);
        if !present.contains(&key) {
            let known = removed.entry(key).or_insert(evse);
            known.power = known.power.max(power);
        }
    }
    let mut removed = Vec::from_iter(removed.into_values());
    removed.sort_by_key(|evse| {
        let first = Reverse((evse.was_occupied, evse.at));
        (first, evse.power, evse.takes_profiles)
    });
    together(removed)
}

/// Returns one EVSE with the data of those that were removed with it.
fn alone(evse: &str, removed: &RemovedEvses) -> RemovedEvses {
    let RemovedEvses {
        evses: _,
        power,
        at,
        was_occupied,
        takes_profiles,
    } = *removed;
    RemovedEvses {
        evses: vec![evse.to_owned()],
        power,
        at,
        was_occupied,
        takes_profiles,
    }
}

/// Joins consecutive EVSEs that differ in nothing else, as far as they fit into [`MOST_REMOVED`] bytes.
fn together(evses: Vec<RemovedEvses>) -> Vec<RemovedEvses> {
    let mut groups: Vec<RemovedEvses> = Vec::new();
    let mut left = MOST_REMOVED;
    for mut evse in evses {
        let uid = evse.evses.remove(0);
        let last = groups.last_mut();
        let last = last.filter(|last| alone(&uid, last) == alone(&uid, &evse));
        let group = if last.is_some() { 0 } else { GROUP };
        let Some(rest) = left.checked_sub(group + uid.len() + 1) else {
            break;
        };
        left = rest;
        match last {
            Some(last) => last.evses.push(uid),
            None => {
                evse.evses.push(uid);
                groups.push(evse);
            }
        }
    }
    groups
}

/// Keeps the current status of an EVSE, if the file reports no change or a session of this service charges there. `last` is the status in
/// the file's last version, `reported` the one that counts as the status in this version.
fn keep_live(
    connector: &mut Connector,
    live: ConnectorStatus,
    last: Option<ConnectorStatus>,
    reported: Option<&mut ConnectorStatus>,
) {
    let ours = live == ConnectorStatus::Occupied && last.is_some_and(|last| last != live);
    let breaks = matches!(
        connector.status,
        ConnectorStatus::Faulted | ConnectorStatus::Unavailable
    );
    if last == Some(connector.status) {
        connector.status = live;
    } else if ours && !breaks {
        connector.status = live;
        // The report counts once that session has ended.
        if let (Some(reported), Some(last)) = (reported, last) {
            *reported = last;
        }
    }
}

/// Returns the current status of the EVSE of a connector; `None` for a new EVSE.
fn live_status(before: &ChargingStation, connector: &Connector) -> Option<ConnectorStatus> {
    let of_evse = || {
        before
            .connectors
            .iter()
            .filter(|other| other.evse == connector.evse)
    };
    let same = of_evse().find(|other| other.id == connector.id);
    same.or_else(|| of_evse().next()).map(|other| other.status)
}
