//! Tests of how a location becomes a station: ids, texts, connectors and statuses.

use models::ChargingStation;
use models::charging_station::{ConnectorStatus, Plug, StationStatus};
use models::vehicle::ConnectorType;
use serde_json::{Value, json};

use crate::{Location, reader, update};

use super::hours::hours;
use super::{location, now, read, station};

#[test]
fn a_location_becomes_a_station() {
    let station = station();
    assert_eq!(station.connectors[0].id, "1-1");
    assert_eq!(station.connectors[0].evse, "1");
    assert!(station.connectors[0].reservable && !station.connectors[1].reservable);
    assert_eq!(station.location_id.as_deref(), Some("L1"));
    assert_eq!(station.connectors[0].power, 22.1);
    assert_eq!(
        station.connectors[0].connector_type(),
        Some(ConnectorType::Type2)
    );
    assert_eq!(station.connectors[1].connector_type(), None);
    assert_eq!(station.connectors[1].status, ConnectorStatus::Faulted);
    assert_eq!(station.availability.connectors_available, 1);
    assert_eq!(station.availability.connectors_total, 2);
    assert_eq!(station.address.country.as_str(), "GB");
    let json = serde_json::to_value(&station).unwrap();
    assert_eq!(json["connectors"][0]["type"], "Type2");
    assert_eq!(json["connectors"][1]["type"], "IEC_60309_2_three_32");
    assert_eq!(json["capabilities"]["24_7_access"], true);
    assert_eq!(
        serde_json::from_value::<ChargingStation>(json).unwrap(),
        station
    );
}

#[test]
fn the_same_location_is_the_same_station() {
    let id = |country: &str, party: &str, id: &str| {
        let names = json!({"country_code": country, "party_id": party, "id": id});
        read(names).unwrap().station.id
    };
    assert_eq!(station().id, id("GB", "ABC", "L1"));
    assert_eq!(id("gb", "aBc", "l1"), station().id);
    let longest = "aB".repeat(18);
    assert_eq!(
        id("GB", "ABC", &longest),
        id("GB", "ABC", &longest.to_uppercase())
    );
    assert_ne!(
        id("GB", "ABC", &longest),
        id("GB", "ABC", &longest.repeat(2)[1..37])
    );
    assert_ne!(id("GB", "ABC", "L1"), id("GB", "ABD", "L1"));
}

#[test]
fn ids_of_evses_and_connectors_keep_their_first_spelling() {
    let evse = |uid: &str, ids: &[&str], change: Value| {
        let connector = &location()["evses"][0]["connectors"][0];
        let mut evse = location()["evses"][0].clone();
        let connectors = ids.iter().map(|id| {
            let mut connector = connector.clone();
            connector["id"] = json!(id);
            connector
        });
        (evse["uid"], evse["connectors"]) = (json!(uid), connectors.collect());
        evse["capabilities"] = change;
        json!({"evses": [evse]})
    };
    let profiles = json!(["RESERVABLE", "CHARGING_PROFILE_CAPABLE"]);
    let first = read(evse("aB", &["cD"], json!([]))).unwrap();
    let (object, internal) = update::merged(first, None, now());
    let mut next = read(evse("Ab", &["Cd", "e"], profiles)).unwrap();
    next.priced = vec!["Ab-Cd".into()];
    let (object, internal) = update::merged(next, Some((&object, &internal)), now());
    let ids = object.connectors.iter();
    let ids: Vec<_> = ids.map(|known| (&*known.id, &*known.evse)).collect();
    assert_eq!(ids, [("aB-cD", "aB"), ("aB-e", "aB")]);
    assert_eq!(object.connectors[1].id_within_evse(), Some("e"));
    assert_eq!(internal.takes_profiles, ["aB"]);
    assert_eq!(Vec::from_iter(internal.imported_status.keys()), ["aB"]);
    let both = [("aB", "c"), ("Ab", "d")].map(|(uid, id)| evse(uid, &[id], json!([])));
    let both = both.map(|change| change["evses"][0].clone());
    let station = read(json!({"evses": both})).unwrap().station;
    let ids = station.connectors.iter();
    let ids: Vec<_> = ids.map(|known| (&*known.id, &*known.evse)).collect();
    assert_eq!(ids, [("aB-c", "aB"), ("aB-d", "aB")]);
    let twice = read(evse("aB", &["a", "A"], json!([])));
    assert_eq!(twice.unwrap_err(), "evses: two connectors are aB-A");
}

#[test]
fn what_does_not_fit_is_named() {
    for (member, wrong, want) in [
        ("country", json!("XXX"), "country"),
        (
            "coordinates",
            json!({"latitude": "north", "longitude": "0"}),
            "latitude",
        ),
        ("time_zone", json!("Mars/Olympus"), "time_zone"),
    ] {
        let error = read(json!({member: wrong})).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
    for (member, length) in [("uid", 37), ("id", 37), ("uid", 36), ("id", 36)] {
        let mut evses = location()["evses"].clone();
        let of = match member {
            "uid" => &mut evses[0],
            _ => &mut evses[0]["connectors"][0],
        };
        of[member] = json!("x".repeat(length));
        let is_refused = read(json!({"evses": evses})).is_err();
        assert_eq!(is_refused, length > 36, "{member} of {length} characters");
    }
}

#[test]
fn null_an_empty_list_and_an_omitted_list_are_the_same() {
    let evse = |name: &str, value: Value| {
        let mut evse = json!({"uid": "1", "status": "AVAILABLE"});
        evse[name] = value;
        read(json!({"facilities": null, "evses": [null, evse]})).map(|imported| imported.station)
    };
    for name in ["connectors", "capabilities"] {
        let omitted = evse("floor_level", json!("1")).unwrap();
        assert_eq!(evse(name, json!([])).unwrap(), omitted);
        assert_eq!(evse(name, Value::Null).unwrap(), omitted);
    }
    for list in [Value::Null, json!([])] {
        let station = read(json!({"evses": list})).unwrap().station;
        assert_eq!(station.connectors, []);
    }
    let times =
        json!({"twentyfourseven": false, "regular_hours": null, "exceptional_closings": null});
    assert_eq!(hours(times), (false, Vec::new()));
}

#[test]
fn an_address_without_a_postal_code_has_a_dash() {
    for missing in [json!(""), json!(" "), Value::Null] {
        let station = read(json!({"postal_code": missing})).unwrap().station;
        assert_eq!(station.address.postal_code.as_str(), "-");
    }
}

#[test]
fn texts_are_cut_to_the_lengths_of_the_standard() {
    let long = "\u{fc}".repeat(2_000);
    let mut change = location();
    for name in ["name", "address", "city", "postal_code", "state"] {
        change[name] = json!(long);
    }
    change["operator"] = json!({"name": long, "website": format!("https://volts.example/{long}")});
    change["facilities"] = json!(vec![&long; 500]);
    for name in ["evse_id", "physical_reference"] {
        change["evses"][0][name] = json!(long);
    }
    change["evses"][0]["connectors"][0]["standard"] = json!(long);
    let station = read(change).unwrap().station;
    let (address, connector) = (&station.address, &station.connectors[0]);
    let length = |text: &str| text.chars().count();
    let optional = |text: &Option<String>| text.as_deref().map_or(0, length);
    assert_eq!(
        (length(&station.name), length(&station.operator)),
        (255, 100)
    );
    assert_eq!(station.operator_contact, "");
    assert_eq!(
        (
            length(address.line1.as_str()),
            length(address.city.as_str())
        ),
        (256, 256)
    );
    assert_eq!(
        (
            length(address.postal_code.as_str()),
            length(address.state.as_str())
        ),
        (32, 256)
    );
    assert_eq!(
        (
            optional(&connector.evse_id),
            optional(&connector.physical_reference)
        ),
        (48, 16)
    );
    assert_eq!(connector.plug, Plug::Other("\u{fc}".repeat(64)));
    let amenities = &station.capabilities.amenities;
    assert_eq!((amenities.len(), length(&amenities[0])), (64, 64));
    assert!(serde_json::to_string(&station).unwrap().len() < 16 * 1024);
}

#[test]
fn the_name_of_a_station_may_be_its_address() {
    let long = "1 Bow Road ".repeat(9);
    let station = read(json!({"name": null, "address": long}))
        .unwrap()
        .station;
    assert_eq!(station.name, long.trim());
}

#[test]
fn a_location_has_at_most_100_tariffs() {
    let mut change = location();
    let ids: Vec<String> = (0..250).map(|number| format!("T{number:03}")).collect();
    change["evses"][0]["connectors"][0]["tariff_ids"] = json!(ids[..60]);
    change["evses"][1]["connectors"][0]["tariff_ids"] = json!(ids[50..]);
    let imported = read(change).unwrap();
    let used: Vec<String> = imported.tariff_ids().into_iter().collect();
    assert_eq!(used, ids[..100]);
    let problem = "150 tariffs are ignored: a location has at most 100";
    assert_eq!(imported.problem().as_deref(), Some(problem));
    assert_eq!(read(json!({})).unwrap().problem(), None);
}

#[test]
fn unknown_enum_values_refuse_nothing() {
    let connector = json!({"id": "1", "standard": "FUTURE", "power_type": "FUTURE", "format": "FUTURE",
        "max_voltage": 400, "max_amperage": 100});
    let evse = json!({"uid": "1", "status": "FUTURE", "capabilities": ["FUTURE"], "connectors": [connector]});
    let station = read(json!({"evses": [evse], "parking_type": "FUTURE"}))
        .unwrap()
        .station;
    assert_eq!(station.connectors[0].status, ConnectorStatus::Unknown);
    assert_eq!(station.connectors[0].plug, Plug::Other("FUTURE".into()));
    assert_eq!(station.status, StationStatus::Active);
}

#[test]
fn one_location_that_cannot_be_used_does_not_refuse_the_others() {
    let with = |name: &str, value: Value| {
        let mut location = location();
        location["id"] = name.into();
        location["country"] = value;
        location
    };
    let file = json!({"status_code": 1000, "data": [with("A", json!("GBR")), with("B", json!("XXX")),
        {"id": "C"}, "D", with("E", json!("DEU"))]});
    let file = serde_json::to_vec(&file).unwrap();
    let id = |location: &Location| location.id.clone();
    let objects = reader::objects::<Location>(&file).unwrap();
    let stations = objects.try_map(id, Location::into_station);
    let names: Vec<_> = stations
        .loaded
        .iter()
        .map(|imported| &imported.station.location_id)
        .collect();
    assert_eq!(names, [&Some("A".to_owned()), &Some("E".to_owned())]);
    let skipped: Vec<_> = stations
        .skipped
        .iter()
        .map(|skipped| skipped.id.as_str())
        .collect();
    assert_eq!(skipped, ["C", "#4", "B"]);
    assert_eq!(
        stations.skipped[2].reason,
        "country: \"XXX\" is no ISO 3166-1 code"
    );
    assert!(stations.skipped[0].reason.contains("country_code"));
}

#[test]
fn of_two_objects_with_the_same_id_the_newer_counts() {
    let with = |name: &str, updated: &str| {
        let mut location = location();
        (location["name"], location["last_updated"]) = (name.into(), updated.into());
        location
    };
    let (old, new) = (
        with("old", "2026-01-01T00:00:00Z"),
        with("new", "2026-01-02T00:00:00Z"),
    );
    for file in [json!([old, new]), json!([new, old])] {
        let file = serde_json::to_vec(&file).unwrap();
        let objects = reader::objects::<Location>(&file).unwrap();
        let id = |location: &Location| location.id.clone();
        let kept = objects.without_duplicates(id, Location::key, |location| location.last_updated);
        assert_eq!(kept.loaded[0].name.as_deref(), Some("new"));
        assert_eq!((kept.loaded.len(), kept.skipped.len()), (1, 1));
    }
}

#[test]
fn a_connector_needs_a_power_above_zero() {
    for (name, value, why) in [
        (
            "max_voltage",
            -230,
            "neither max_electric_power nor max_voltage and max_amperage",
        ),
        ("max_amperage", 0, "its power is 0 W"),
        ("max_electric_power", -1, "its power is -1 W"),
    ] {
        let mut evses = location()["evses"].clone();
        evses[0]["connectors"][0][name] = json!(value);
        let refused = read(json!({"evses": evses})).unwrap_err();
        assert_eq!(refused, format!("connector 1-1: {why}"));
    }
}

#[test]
fn the_power_counts_the_phases() {
    for (power_type, kilowatts) in [
        ("AC_1_PHASE", 3.7),
        ("AC_2_PHASE", 7.4),
        ("AC_2_PHASE_SPLIT", 7.4),
        ("AC_3_PHASE", 11.0),
        ("DC", 3.7),
    ] {
        let connector = json!({"id": "1", "standard": "IEC_62196_T2", "power_type": power_type,
            "max_voltage": 230, "max_amperage": 16});
        let evse = json!({"uid": "1", "status": "AVAILABLE", "connectors": [connector]});
        let station = read(json!({"evses": [evse]})).unwrap().station;
        assert_eq!(station.connectors[0].power, kilowatts, "{power_type}");
    }
}

#[test]
fn the_status_of_a_station_follows_from_its_evses() {
    for (statuses, want) in [
        (vec![], StationStatus::Inactive),
        (vec!["PLANNED"], StationStatus::Planned),
        (vec!["PLANNED", "REMOVED"], StationStatus::Planned),
        (vec!["REMOVED"], StationStatus::Removed),
        (vec!["INOPERATIVE", "PLANNED"], StationStatus::Inactive),
        (vec!["PLANNED", "CHARGING"], StationStatus::Active),
        (vec!["OUTOFORDER"], StationStatus::Active),
    ] {
        let evse = |(n, status): (usize, &&str)| json!({"uid": n, "status": status});
        let evses: Vec<Value> = statuses.iter().enumerate().map(evse).collect();
        let station = read(json!({"evses": evses})).unwrap().station;
        assert_eq!(station.status, want, "{statuses:?}");
    }
}

#[test]
fn a_location_is_published_unless_it_says_otherwise() {
    assert!(read(json!({})).unwrap().published);
    assert!(read(json!({"publish": null})).unwrap().published);
    assert!(!read(json!({"publish": false})).unwrap().published);
}
