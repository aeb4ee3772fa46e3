//! Reads the reservations, events and stations from the table, without the service's own code, and checks that they do not contradict
//! each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use kernel::time::{MINUTE, whole_millis};
use kernel::{Kind, Tenant, Timestamp};
use serde_json::Value;
use table::client;
use tests::golden::{DEFLATED, to_json};
use tests::{SLACK, TestApp};

/// Fails unless every reservation has ended, is explained by its events and has no overlap. Returns the number of reservations that
/// were ever confirmed.
pub async fn check(test: &TestApp, tenant: &Tenant, expected: usize, seed: u64) -> usize {
    let reservations = items(test, tenant, Kind::Reservation).await;
    assert_eq!(reservations.len(), expected, "seed {seed}");
    let mut sent: HashMap<String, BTreeMap<String, usize>> = HashMap::new();
    let events = format!("{}#{}#event#", tenant.account, tenant.mode);
    for event in scan(test, events).await {
        let about = text(&event["object"]["data"][DEFLATED]["object"]["id"]);
        let kinds = sent.entry(about).or_default();
        *kinds.entry(text(&event["object"]["type"])).or_default() += 1;
    }
    let mut confirmed = 0;
    for item in &reservations {
        let reservation = &item["object"];
        let id = text(&reservation["id"]);
        let at = format!("seed {seed}: {item:#}");
        let nothing = BTreeMap::new();
        let sent = sent.get(&id).unwrap_or(&nothing);
        let times = |kind: &str| sent.get(kind).copied().unwrap_or_default();
        let state = &reservation["state"];
        let is_reserved = state["reserved"]["confirmed_at"].is_string();
        let (assigned, unassigned) = (
            times("reservation.confirmed"),
            times("reservation.unassigned"),
        );
        let was_confirmed = assigned > 0;
        confirmed += usize::from(was_confirmed);
        // Each confirmation except the last has an end, and the last one has one unless the reservation still shows its connector. The
        // end is a failure if it is too late for another attempt.
        let lost = state["status"] == "failed" && assigned > unassigned;
        let open = assigned.checked_sub(unassigned);
        assert_eq!(open, Some(usize::from(is_reserved || lost)), "{at}");
        match state["status"].as_str() {
            Some("confirmed") => {
                assert!(is_reserved, "{at}");
                check_window(reservation, &at);
            }
            Some("failed") if state["reason"] == "station_unavailable" => {
                assert_eq!(times("reservation.failed"), 1, "{at}");
                assert!(was_confirmed, "{at}");
            }
            Some("failed") => {
                assert_eq!(times("reservation.failed"), 1, "{at}");
                assert_eq!(state["reason"], "no_available_connectors", "{at}");
                let refused = reservation["match_summary"]["refused"]
                    .as_object()
                    .expect("counts");
                let refused: u64 = refused.values().filter_map(Value::as_u64).sum();
                assert_eq!(
                    reservation["match_summary"]["stations_in_radius"], refused,
                    "{at}"
                );
                assert!(!was_confirmed, "{at}");
            }
            Some(ended @ ("cancelled" | "completed" | "expired")) => {
                assert_eq!(times(&format!("reservation.{ended}")), 1, "{at}");
                assert!(is_reserved || ended == "cancelled", "{at}");
            }
            _ => panic!("not settled: {at}"),
        }
    }
    let (evses, sessions) = (evses(test, tenant).await, BTreeMap::new());
    check_that_none_overlap(&reservations, &sessions, &evses, seed);
    confirmed
}

/// Fails if two reservations or two sessions hold the same EVSE or vehicle at once. A session whose hold has ended has nothing in the
/// calendars: the message that ends it is late. Nor has one that awaits room for a minute: its vehicle may begin another session meanwhile.
pub async fn check_overlaps(test: &TestApp, tenant: &Tenant, seed: u64, now: Timestamp) {
    let reservations = items(test, tenant, Kind::Reservation).await;
    let evses = evses(test, tenant).await;
    let sessions = items(test, tenant, Kind::ChargingSession).await;
    let mut at = BTreeMap::new();
    let mut charging = BTreeSet::new();
    let (now, soon) = (now.to_string(), now.plus(MINUTE).to_string());
    for item in &sessions {
        let session = &item["object"];
        let place = evse(
            &session["charging_station"],
            &session["connector"],
            &evses,
            seed,
        );
        at.insert(text(&session["id"]), place.clone());
        let held_until = session["state"]["operated_by"]["simulation"]["held_until"].as_str();
        let is_held = held_until.is_none_or(|until| until > now.as_str());
        if session["state"]["status"] == "active" && is_held {
            assert!(
                charging.insert(place),
                "seed {seed}: two sessions: {session:#}"
            );
            let vehicle = text(&session["vehicle"]);
            let may_have_left = held_until.is_some_and(|until| until <= soon.as_str());
            assert!(
                may_have_left || charging.insert(vehicle),
                "seed {seed}: two sessions: {session:#}"
            );
        }
    }
    check_that_none_overlap(&reservations, &at, &evses, seed);
}

/// The EVSE of every connector, by the ids of station and connector.
type Evses = HashMap<(String, String), String>;

/// Reads every station from the table.
async fn evses(test: &TestApp, tenant: &Tenant) -> Evses {
    let keys = format!("{}#{}", tenant.mode, Kind::ChargingStation.prefix());
    let mut evses = Evses::new();
    for item in scan(test, keys).await {
        let station = &item["object"];
        for connector in station["connectors"].as_array().into_iter().flatten() {
            let key = (text(&station["id"]), text(&connector["id"]));
            evses.insert(key, text(&connector["evse"]));
        }
    }
    evses
}

/// The EVSE of a connector.
fn evse(station: &Value, connector: &Value, evses: &Evses, seed: u64) -> String {
    let connector = (text(station), text(connector));
    match evses.get(&connector) {
        Some(evse) => format!("{}/{evse}", connector.0),
        None => panic!("seed {seed}: {connector:?} is unknown"),
    }
}

/// Fails if two windows overlap. A reservation whose vehicle charges at another EVSE holds none at its own. `sessions` are the EVSEs of
/// sessions.
fn check_that_none_overlap(
    reservations: &[Value],
    sessions: &BTreeMap<String, String>,
    evses: &Evses,
    seed: u64,
) {
    let mut held: BTreeMap<String, Vec<(i64, i64, String)>> = BTreeMap::new();
    for item in reservations {
        let reservation = &item["object"];
        if reservation["state"]["status"] != "confirmed" {
            continue;
        }
        let reserved = &reservation["state"]["reserved"];
        let evse = evse(&reserved["station"], &reserved["connector"], evses, seed);
        let [from, until] = window(reserved);
        let session = text(&reservation["state"]["step"]["charging"]["session"]);
        let is_elsewhere = sessions.get(&session).is_some_and(|place| *place != evse);
        let evse = Some(evse).filter(|_| !is_elsewhere);
        let vehicle = text(&reservation["vehicle"]);
        for owner in evse.into_iter().chain([vehicle]) {
            let windows = held.entry(owner).or_default();
            windows.push((from, until, text(&reservation["id"])));
        }
    }
    for (owner, mut windows) in held {
        windows.sort();
        for pair in windows.windows(2) {
            assert!(
                pair[0].1 <= pair[1].0,
                "seed {seed}: {owner} is held twice: {pair:?}"
            );
        }
    }
}

/// The window must have the requested length, and must be within the permitted time.
fn check_window(reservation: &Value, at: &str) {
    let moment = |name: &str| {
        reservation[name]
            .as_str()
            .map(|text| Timestamp::parse(text).expect("a time"))
    };
    let known = |name: &str| moment(name).expect("a time");
    let length = known("ideal_end").since(known("ideal_start"));
    let [start, end] = window(&reservation["state"]["reserved"]).map(Timestamp::from_unix_millis);
    assert_eq!(end.since(start), length, "{at}");
    let earliest = moment("earliest_start").unwrap_or(known("ideal_start"));
    let latest = moment("latest_end").unwrap_or(known("ideal_end"));
    assert!(start >= earliest && end <= latest, "{at}");
    let shift = start.since(known("ideal_start"));
    assert_eq!(whole_millis(shift) % (5 * 60_000), 0, "{at}");
}

/// The window that is reserved, in milliseconds since 1970.
fn window(reserved: &Value) -> [i64; 2] {
    [0, 1].map(|end| reserved["window"][end].as_i64().expect("a time"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The items of a tenant's objects of a kind, unchanged.
async fn items(test: &TestApp, tenant: &Tenant, kind: Kind) -> Vec<Value> {
    let keys = format!("{}#{}#{}", tenant.account, tenant.mode, kind.prefix());
    scan(test, keys).await
}

/// The item, with the deflated members of its object, and the values that its keys contain: the id, and the vehicle.
fn with_keys(mut item: Value) -> Value {
    let deflated = item["deflated"][DEFLATED].take();
    let others = |part: &str| deflated[part].as_object().cloned().into_iter().flatten();
    if let Some(object) = item["object"].as_object_mut() {
        object.extend(others("object"));
    }
    if let Some(state) = item["object"]["state"].as_object_mut() {
        state.extend(others("state"));
    }
    let key = text(&item["pk"]);
    let id = key.rsplit('#').next();
    item["object"]["id"] = id.into();
    if let Some(vehicle) = item.get("vehicle_pk").cloned() {
        item["object"]["vehicle"] = vehicle;
    }
    item
}

/// The items of objects whose partition keys have this prefix.
async fn scan(test: &TestApp, keys: String) -> Vec<Value> {
    let mut settings = client::tuned(&functions::aws::config(), SLACK);
    settings.set_endpoint_url(Some(test.running().store_url.clone()));
    let client = Client::from_conf(settings.build());
    let mut pages = client
        .scan()
        .table_name(&test.running().table)
        .filter_expression("begins_with(pk, :keys) AND attribute_exists(#object)")
        .expression_attribute_values(":keys", AttributeValue::S(keys))
        .expression_attribute_names("#object", "object")
        .consistent_read(true)
        .into_paginator()
        .items()
        .send();
    let mut items = Vec::new();
    while let Some(item) = pages.next().await {
        let item = AttributeValue::M(item.expect("an item"));
        items.push(with_keys(to_json(&item)));
    }
    items
}
