//! Tests of a location that is loaded again: what of its station stays.

use kernel::Timestamp;
use kernel::time::{MINUTE, days};
use models::ChargingStation;
use models::charging::simulation::offered;
use models::charging_station::{ConnectorStatus, StationInternal};
use serde_json::{Value, json};

use crate::{Location, update};

use super::tariffs::{priced, tariff};
use super::{location, now};

/// A station that was loaded, with its internal state; None before the first time.
type Loaded = Option<(ChargingStation, StationInternal)>;

/// Returns the stored data after the station was loaded once, and changed.
fn stored(change: impl FnOnce(&mut ChargingStation)) -> (ChargingStation, StationInternal) {
    let file = json!([tariff("1", 0.5, json!({}))]);
    let (mut station, internal) = update::merged(priced(&["1"], &file).0, None, now());
    change(&mut station);
    (station, internal)
}

fn reload(
    (station, internal): &(ChargingStation, StationInternal),
    status: &str,
) -> (ChargingStation, StationInternal) {
    let mut json = location();
    json["evses"][0]["status"] = status.into();
    let location: Location = serde_json::from_value(json).unwrap();
    let later = now().plus(MINUTE);
    update::merged(
        location.into_station().unwrap(),
        Some((station, internal)),
        later,
    )
}

#[test]
fn reloading_a_station_without_tariffs_changes_nothing() {
    let before = stored(|_| {});
    assert_eq!(before.0.connectors[0].pricing[0].price, 50);
    assert_eq!(reload(&before, "AVAILABLE"), before);
}

#[test]
fn reloading_a_location_keeps_the_status_set_by_a_session() {
    let before = stored(|station| station.connectors[0].status = ConnectorStatus::Occupied);
    let after = reload(&before, "AVAILABLE");
    assert_eq!(after.0.connectors[0].status, ConnectorStatus::Occupied);
    // The operator also reports the session of this service, and reports its end late.
    let reported = reload(&after, "CHARGING");
    assert_eq!(reported.0.connectors[0].status, ConnectorStatus::Occupied);
    let late = reload(&reported, "AVAILABLE");
    assert_eq!(late.0.connectors[0].status, ConnectorStatus::Occupied);
    // Another tenant's vehicle, after that session has ended.
    let mut ended = late;
    ended.0.connectors[0].status = ConnectorStatus::Available;
    let other = reload(&ended, "CHARGING");
    assert_eq!(other.0.connectors[0].status, ConnectorStatus::Occupied);
    let free = reload(&other, "AVAILABLE");
    assert_eq!(free.0.connectors[0].status, ConnectorStatus::Available);
}

#[test]
fn a_status_that_the_file_changes_counts() {
    let before = stored(|_| {});
    let broken = reload(&before, "OUTOFORDER");
    assert_eq!(broken.0.connectors[0].status, ConnectorStatus::Faulted);
    assert_eq!(broken.0.updated, now().plus(MINUTE));
    assert_eq!(broken.0.created, now());
    let charging = stored(|station| station.connectors[0].status = ConnectorStatus::Occupied);
    let broken = reload(&charging, "OUTOFORDER");
    assert_eq!(broken.0.connectors[0].status, ConnectorStatus::Faulted);
}

/// Loads the location with these EVSEs.
fn load(evses: Vec<Value>, before: &Loaded, at: Timestamp) -> Loaded {
    let mut json = location();
    json["evses"] = evses.into();
    let location: Location = serde_json::from_value(json).unwrap();
    let before = before.as_ref();
    let before = before.map(|(station, internal)| (station, internal));
    Some(update::merged(location.into_station().unwrap(), before, at))
}

fn evse(uid: &str, status: &str) -> Value {
    let mut evse = location()["evses"][0].clone();
    (evse["uid"], evse["status"]) = (uid.into(), status.into());
    evse
}

fn removed(loaded: &Loaded) -> Vec<String> {
    let (_, internal) = loaded.as_ref().unwrap();
    let removed = internal.removed.iter();
    removed.flat_map(|lost| lost.evses.clone()).collect()
}

#[test]
fn a_removed_evse_is_remembered_for_a_week() {
    let kept = || evse("Z", "AVAILABLE");
    let both = load(vec![evse("aB", "AVAILABLE"), kept()], &None, now());
    let gone = load(vec![evse("aB", "REMOVED"), kept()], &both, now());
    assert_eq!(removed(&gone), ["aB"]);
    let power = gone.as_ref().unwrap().1.removed[0].power;
    assert_eq!(power, offered(&both.as_ref().unwrap().0.connectors[0]));
    let later = |count: i64| now().plus(days(count));
    assert_eq!(removed(&load(vec![kept()], &gone, later(6))), ["aB"]);
    assert!(removed(&load(vec![kept()], &gone, later(7))).is_empty());
    let back = load(vec![evse("Ab", "AVAILABLE"), kept()], &gone, later(1));
    assert!(removed(&back).is_empty());
}

#[test]
fn all_evses_of_a_large_location_are_remembered() {
    let uid = |time: i64, number: i64| format!("{time:08}-0000-4000-8000-{number:012}");
    let named = |time: i64| {
        let evses = (0..1_700).map(|number| {
            let status = if number % 2 == 0 {
                "CHARGING"
            } else {
                "AVAILABLE"
            };
            evse(&uid(time, number), status)
        });
        evses.collect::<Vec<_>>()
    };
    let first = load(named(0), &None, now());
    let second = load(named(1), &first, now());
    assert_eq!(removed(&second).len(), 1_700);
    assert_eq!(second.as_ref().unwrap().1.removed.len(), 2);
    // A location whose uids change again and again: those that were occupied last are remembered.
    let third = load(named(2), &second, now().plus(MINUTE));
    let known = removed(&third);
    assert!(known.len() > 1_700 && known[..850].iter().all(|uid| uid.starts_with("00000001")));
    let internal = third.unwrap().1;
    let written = serde_json::to_string(&internal.removed).unwrap();
    assert!(written.len() < 70_000, "{}", written.len());
    // The times of the prices of connectors that are gone are not kept.
    assert_eq!(internal.repriced.len(), 1_700);
}
