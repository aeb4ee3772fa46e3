//! Merges a station that is loaded again with the stored one.
//!
//! - A status that the file gives an EVSE counts when it is another than the file gave the last time. Otherwise the EVSE keeps
//!   the status that it has by now.
//! - An EVSE at which a session of ours charges stays occupied, unless the file says that it is out of order.
//! - A station of a network stays one.
//! - Prices change where the file gives prices; without a file of tariffs they stay.
//! - What stays the same is not written, and `created` never changes.

use super::location::ImportedStation;
use kernel::time::Timestamp;
use models::charging_station::{ChargingStation, Connector, ConnectorStatus, StationInternal};

/// The station as it is stored next, and its internal state; the stored one is `None` for a new station.
pub fn merged(
    imported: ImportedStation,
    stored: Option<(&ChargingStation, &StationInternal)>,
    now: Timestamp,
) -> (ChargingStation, StationInternal) {
    let mut internal = StationInternal {
        published: imported.published,
        imported_status: imported.statuses(),
        location: None,
        takes_profiles: Vec::new(),
    };
    let ImportedStation {
        mut station,
        priced,
        location,
        takes_profiles,
        ..
    } = imported;
    (internal.location, internal.takes_profiles) = (location, takes_profiles);
    (station.created, station.updated) = (now, now);
    let Some((before, before_internal)) = stored else {
        station.show_cheapest_pricing();
        return (station, internal);
    };
    // A file does not take a station from its network.
    if internal.location.is_none() {
        internal.location.clone_from(&before_internal.location);
        station.network.clone_from(&before.network);
    }
    let stored_connector = |id: &str| before.connectors.iter().find(|one| one.id == id);
    for connector in &mut station.connectors {
        let stored = stored_connector(&connector.id);
        let last = before_internal
            .imported_status
            .get(&connector.evse)
            .copied();
        if let Some(live) = live_status(before, connector) {
            let reported = internal.imported_status.get_mut(&connector.evse);
            keep_live(connector, live, last, reported);
        }
        if let Some(stored) = stored.filter(|_| !priced.contains(&connector.id)) {
            connector.pricing.clone_from(&stored.pricing);
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

/// Keeps the status that an EVSE has by now, if the file reports nothing new or a session of ours charges there. `last` is the status
/// that the file gave the last time, `reported` that which counts as given by this one.
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
        // The report counts once our session has ended.
        if let (Some(reported), Some(last)) = (reported, last) {
            *reported = last;
        }
    }
}

/// The status that the EVSE of a connector has by now; none for an EVSE that is new.
fn live_status(before: &ChargingStation, connector: &Connector) -> Option<ConnectorStatus> {
    let of_evse = || {
        before
            .connectors
            .iter()
            .filter(|one| one.evse == connector.evse)
    };
    let same = of_evse().find(|one| one.id == connector.id);
    same.or_else(|| of_evse().next()).map(|one| one.status)
}
