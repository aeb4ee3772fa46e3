use serde_json::{Value, json};

use super::*;
use kernel::time::MINUTE;
use kernel::{Timestamp, Window};
use models::ChargingStation;
use models::charging::opening_hours;
use models::charging::tariff::{self, Course, Usage};
use models::charging_station::{
    ConnectorStatus, Plug, PriceType, ReservationRestriction, StationInternal, StationStatus,
    Weekday,
};
use models::vehicle::ConnectorType;

fn location() -> serde_json::Value {
    json!({"country_code": "GB", "party_id": "ABC", "id": "L1", "publish": true, "name": "Bow Road", "address": "1 Bow Road",
        "city": "London", "postal_code": "E3 4HL", "country": "GBR",
        "coordinates": {"latitude": "51.5196", "longitude": "-0.0310"}, "operator": {"name": "Volts"},
        "evses": [{"uid": "1", "status": "AVAILABLE", "capabilities": ["RESERVABLE"], "connectors": [
            {"id": "1", "standard": "IEC_62196_T2", "format": "CABLE", "power_type": "AC_3_PHASE", "max_voltage": 230,
             "max_amperage": 32, "last_updated": "2026-01-01T00:00:00Z"}], "last_updated": "2026-01-01T00:00:00Z"},
          {"uid": "2", "status": "OUTOFORDER", "connectors": [
            {"id": "1", "standard": "IEC_60309_2_three_32", "format": "SOCKET", "power_type": "DC", "max_voltage": 400,
             "max_amperage": 125, "max_electric_power": 50000, "last_updated": "2026-01-01T00:00:00Z"}],
           "last_updated": "2026-01-01T00:00:00Z"}],
        "time_zone": "Europe/London", "opening_times": {"twentyfourseven": true}, "last_updated": "2026-01-01T00:00:00Z"})
}

/// Returns a station in London with one Type2 connector, reservable and always open.
pub fn station() -> ChargingStation {
    read(json!({})).unwrap().station
}

/// Returns the location above with other members.
fn read(change: Value) -> Result<ImportedStation, String> {
    let mut json = location();
    for (name, member) in change.as_object().unwrap() {
        json[name] = member.clone();
    }
    let file = serde_json::to_vec(&json!([json])).unwrap();
    let mut objects = reader::objects::<Location>(&file).unwrap();
    match objects.loaded.pop() {
        Some(location) => location.into_station(),
        None => Err(objects.skipped.remove(0).reason),
    }
}

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

fn hours(change: Value) -> (bool, Vec<(Weekday, String, String)>) {
    let station = read(json!({"opening_times": change})).unwrap().station;
    let hours = station.availability.opening_hours.into_iter();
    let hours = hours
        .map(|period| (period.day, period.from, period.until))
        .collect();
    (station.capabilities.access_24_7, hours)
}

#[test]
fn hours_by_weekday_are_kept() {
    let line = |from, until| {
        json!({"twentyfourseven": false, "regular_hours": [
            {"weekday": 1, "period_begin": from, "period_end": until}]})
    };
    let monday = |from: &str, until: &str| (false, vec![(Weekday::Mon, from.into(), until.into())]);
    assert_eq!(hours(line("08:00", "20:00")), monday("08:00", "20:00"));
    assert_eq!(hours(line("8:00:00", "23:59")), monday("08:00", "23:59"));
    let refused = read(json!({"opening_times": line("08:00", "25:00")}));
    assert!(refused.unwrap_err().contains("25:00"));
    for weekday in [json!(0), json!(8), json!(1.7)] {
        let mut hours = line("08:00", "20:00");
        hours["regular_hours"][0]["weekday"] = weekday.clone();
        let refused = read(json!({"opening_times": hours})).unwrap_err();
        let expected = format!("opening_times.regular_hours: weekday {weekday} is not 1 to 7");
        assert_eq!(refused, expected);
    }
}

#[test]
fn an_end_at_24_00_is_midnight() {
    let line = json!({"weekday": 1, "period_begin": "06:00", "period_end": "24:00"});
    let station = read(json!({"opening_times": {"regular_hours": [line]}}))
        .unwrap()
        .station;
    let window = |from: &str, until: &str| Window {
        from: Timestamp::parse(from).unwrap(),
        until: Timestamp::parse(until).unwrap(),
    };
    // 2026-03-02 is a Monday.
    let open = |from, until| opening_hours::is_open(&station, &window(from, until));
    assert!(open("2026-03-02T06:00:00Z", "2026-03-03T00:00:00Z"));
    assert!(!open("2026-03-02T06:00:00Z", "2026-03-03T00:00:01Z"));
    assert!(!open("2026-03-02T05:59:59Z", "2026-03-02T07:00:00Z"));
}

#[test]
fn exceptional_periods_are_kept_in_order() {
    let period = |day: u8, from: u8, until: u8| {
        let at = |hour| format!("2026-12-{day}T{hour:02}:00:00Z");
        json!({"period_begin": at(from), "period_end": at(until)})
    };
    let times = json!({"twentyfourseven": true, "exceptional_openings": [period(26, 5, 5)],
        "exceptional_closings": [period(25, 3, 5), period(24, 3, 5)]});
    let station = read(json!({"opening_times": times})).unwrap().station;
    let json = serde_json::to_value(station).unwrap();
    let closed = |day| {
        let at = |hour| format!("2026-12-{day}T{hour:02}:00:00.000Z");
        json!({"from": at(3), "until": at(5)})
    };
    let want = json!([closed(24), closed(25)]);
    assert_eq!(json["availability"]["exceptional_closings"], want);
    assert_eq!(json["availability"].get("exceptional_openings"), None);
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
fn a_timestamp_without_an_offset_is_utc() {
    let at = |text| reader::timestamp(text).map(|at| at.to_string());
    assert_eq!(
        at("2015-06-29T20:39:09"),
        Ok("2015-06-29T20:39:09.000Z".into())
    );
    assert_eq!(
        at("2015-06-29T20:39:09.5"),
        Ok("2015-06-29T20:39:09.500Z".into())
    );
    assert_eq!(at("2015-06-29T20:39:09Z"), at("2015-06-29T20:39:09"));
    assert!(at("2015-06-29").is_err());
    let updated = read(json!({"last_updated": "2015-06-29T20:39:09"})).unwrap();
    assert_eq!(
        updated.last_updated,
        Timestamp::parse("2015-06-29T20:39:09Z").ok()
    );
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

fn now() -> Timestamp {
    Timestamp::parse("2026-03-02T10:00:00Z").unwrap()
}

fn tariffs(objects: &Value) -> (Tariffs, Vec<Skipped>) {
    let file = serde_json::to_vec(objects).unwrap();
    Tariffs::read(reader::objects(&file).unwrap())
}

/// Returns a tariff of `price` per kWh without tax.
fn tariff(id: &str, price: f64, change: Value) -> Value {
    let component = json!({"type": "ENERGY", "price": price, "step_size": 1});
    let mut tariff = json!({"country_code": "GB", "party_id": "ABC", "id": id, "currency": "EUR",
        "elements": [{"price_components": [component]}], "last_updated": "2026-01-01T00:00:00Z"});
    for (name, member) in change.as_object().unwrap() {
        tariff[name] = member.clone();
    }
    tariff
}

/// Returns the station above whose first connector has these tariffs, priced.
fn priced(ids: &[&str], objects: &Value) -> (ImportedStation, Vec<String>) {
    let mut json = location();
    json["evses"][0]["connectors"][0]["tariff_ids"] = json!(ids);
    let location: Location = serde_json::from_value(json).unwrap();
    let mut station = location.into_station().unwrap();
    let unknown = station.set_prices(&tariffs(objects).0, now());
    (station, unknown)
}

fn energy_prices(ids: &[&str], objects: &Value) -> Vec<i64> {
    let pricing = priced(ids, objects).0.station.connectors.remove(0).pricing;
    pricing.iter().map(|price| price.price).collect()
}

#[test]
fn prices_are_those_of_the_connectors_own_tariffs() {
    let mut json = location();
    json["evses"][0]["connectors"][0]["tariff_ids"] = json!(["dear"]);
    json["evses"][1]["connectors"][0]["tariff_ids"] = json!(["cheap"]);
    let location: Location = serde_json::from_value(json).unwrap();
    let mut station = location.into_station().unwrap();
    let file = json!([
        tariff("dear", 0.5, json!({})),
        tariff("cheap", 0.254, json!({}))
    ]);
    assert_eq!(station.set_prices(&tariffs(&file).0, now()), [""; 0]);
    let station = station.station;
    assert_eq!(station.connectors[0].pricing[0].price, 50);
    assert_eq!(station.connectors[0].pricing[0].price_decimal, None);
    let cheap = &station.connectors[1].pricing[0];
    assert_eq!(
        (cheap.price, cheap.price_decimal.as_deref()),
        (25, Some("25.4"))
    );
    assert_eq!(station.pricing, station.connectors[1].pricing);
}

#[test]
fn numbers_beyond_reason_are_refused_and_never_overflow() {
    let restricted = |current: f64| {
        let component = json!({"type": "ENERGY", "price": 0.1, "step_size": 1});
        let restrictions = json!({"min_current": current, "max_current": current});
        json!({"elements": [{"price_components": [component], "restrictions": restrictions}]})
    };
    for (price, change) in [
        (7.9e27, json!({})),
        (9e16, json!({})),
        (-9e16, json!({})),
        (0.1, json!({"max_price": {"excl_vat": 1, "incl_vat": 1e27}})),
        (0.1, restricted(7.9e28)),
    ] {
        let file = json!([tariff("far", price, change.clone())]);
        assert_eq!(energy_prices(&["far"], &file), [0; 0], "{price} {change}");
        assert_eq!(tariffs(&file).1.len(), 1, "{price} {change}");
    }
    let dear = tariff("dear", 10_000_000.0, json!({}));
    assert_eq!(energy_prices(&["dear"], &json!([dear])), [1_000_000_000]);
    let ratio = json!({"max_price": {"excl_vat": 1e-28, "incl_vat": 1e12}});
    assert_eq!(tariffs(&json!([tariff("tiny", 0.1, ratio)])).1.len(), 0);
    let far = tariff("far", 0.1, restricted(1e18));
    let mut json = location();
    let connector = &mut json["evses"][0]["connectors"][0];
    connector["tariff_ids"] = json!(["far"]);
    for (volts, amperes, is_read) in [(1e18, 1e18, true), (7e28, 7e28, false)] {
        connector_limits(&mut json, volts, amperes);
        let location: Result<Location, _> = serde_json::from_value(json.clone());
        assert_eq!(location.is_ok(), is_read, "{volts} V");
        let stations = location.map(Location::into_station);
        if let Ok(Ok(mut station)) = stations {
            station.set_prices(&tariffs(&json!([far])).0, now());
        }
    }
}

/// Sets the voltage and the current of the first connector, from which its power results.
fn connector_limits(location: &mut Value, volts: f64, amperes: f64) {
    let connector = &mut location["evses"][0]["connectors"][0];
    (connector["max_voltage"], connector["max_amperage"]) = (json!(volts), json!(amperes));
    let members = connector.as_object_mut().unwrap();
    members.remove("max_electric_power");
}

#[test]
fn regular_tariffs_precede_untyped_ones_and_others_are_ignored() {
    let file = json!([
        tariff("any", 0.1, json!({})),
        tariff("regular", 0.2, json!({"type": "REGULAR"})),
        tariff("ad_hoc", 0.3, json!({"type": "AD_HOC_PAYMENT"})),
        tariff("green", 0.4, json!({"type": "PROFILE_GREEN"})),
        tariff("future", 0.5, json!({"type": "FUTURE"})),
    ]);
    assert_eq!(
        energy_prices(&["ad_hoc", "any", "green", "regular", "future"], &file),
        [20]
    );
    assert_eq!(energy_prices(&["ad_hoc", "any"], &file), [10]);
    assert_eq!(energy_prices(&["ad_hoc", "green", "future"], &file), [0; 0]);
}

#[test]
fn a_tariff_counts_for_sessions_that_begin_in_its_time() {
    let file = json!([
        tariff("past", 0.1, json!({"end_date_time": "2026-03-01T00:00:00"})),
        tariff(
            "now",
            0.2,
            json!({"start_date_time": "2026-03-01T00:00:00", "end_date_time": "2026-04-01T00:00:00"})
        ),
        tariff(
            "next",
            0.3,
            json!({"start_date_time": "2026-04-01T00:00:00"})
        ),
    ]);
    let (mut station, _) = priced(&["next", "now", "past"], &file);
    let pricing = station.station.connectors.remove(0).pricing;
    let cost = |began: &str| {
        let course = Course {
            began: Timestamp::parse(began).unwrap(),
            zone: &jiff::tz::TimeZone::UTC,
            usage: Usage {
                energy: 1000,
                charging: 3_600_000,
                parking: 0,
            },
            segments: &[],
        };
        tariff::cost(&pricing, pricing[0].currency, course).gross
    };
    assert_eq!(pricing.len(), 2);
    assert_eq!(cost("2026-03-31T23:30:00Z"), 20);
    assert_eq!(cost("2026-04-01T00:00:00Z"), 30);
}

#[test]
fn reservation_prices_are_shown_but_not_added_to_session_cost() {
    let reserved = |kind: &str, price: f64| {
        json!({"price_components": [{"type": "TIME", "price": price, "vat": 20, "step_size": 60},
            {"type": "FLAT", "price": price, "vat": 20, "step_size": 1}], "restrictions": {"reservation": kind}})
    };
    let energy = json!({"price_components": [{"type": "ENERGY", "price": 0.25, "vat": 10.0, "step_size": 1}]});
    let elements = json!([
        reserved("RESERVATION_EXPIRES", 6.0),
        reserved("RESERVATION", 3.0),
        energy
    ]);
    let file = json!([tariff("1", 0.0, json!({"elements": elements}))]);
    let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
    let shown: Vec<_> = pricing
        .iter()
        .map(|price| {
            (
                price.price,
                price
                    .restrictions
                    .as_ref()
                    .and_then(|restrictions| restrictions.reservation),
            )
        })
        .collect();
    use ReservationRestriction::{Reservation, ReservationExpires};
    let (expires, used) = (Some(ReservationExpires), Some(Reservation));
    assert_eq!(
        shown,
        [
            (600, expires),
            (600, expires),
            (300, used),
            (300, used),
            (25, None)
        ]
    );
    let course = Course {
        began: now(),
        zone: &jiff::tz::TimeZone::UTC,
        usage: Usage {
            energy: 10_000,
            charging: 3_600_000,
            parking: 0,
        },
        segments: &[],
    };
    assert_eq!(
        tariff::cost(&pricing, pricing[0].currency, course).gross,
        275
    );
}

#[test]
fn current_restrictions_become_power_at_connector_voltage() {
    let element = |price: f64, restrictions: Value| json!({"price_components": [{"type": "ENERGY", "price": price, "step_size": 1}], "restrictions": restrictions});
    let elements = json!([
        element(0.1, json!({"max_current": 32})),
        element(0.2, json!({"min_current": 32}))
    ]);
    let file = json!([tariff("1", 0.0, json!({"elements": elements}))]);
    let mut station = priced(&["1"], &file).0.station;
    let connector = station.connectors.remove(0);
    let restrictions = |n: usize| connector.pricing[n].restrictions.clone().unwrap();
    // 3 × 230 V × 32 A = 22,080 W, which the connector shows as 22.1 kW.
    assert_eq!(
        (restrictions(0).max_current, restrictions(0).max_power),
        (Some(32.0), Some(22_100))
    );
    assert_eq!(
        (restrictions(1).min_current, restrictions(1).min_power),
        (Some(32.0), Some(22_100))
    );
    let cost = |watts: u64| {
        let course = Course {
            began: now(),
            zone: &jiff::tz::TimeZone::UTC,
            usage: Usage {
                energy: watts,
                charging: 3_600_000,
                parking: 0,
            },
            segments: &[],
        };
        tariff::cost(&connector.pricing, connector.pricing[0].currency, course).gross
    };
    assert_eq!((cost(22_100), cost(22_000)), (442, 220));
}

#[test]
fn a_tariff_of_another_party_is_not_found() {
    let other = |id: &str, price, party: &str| tariff(id, price, json!({"party_id": party}));
    let file = json!([
        tariff("1", 0.1, json!({})),
        other("1", 0.2, "XYZ"),
        other("2", 0.3, "XYZ"),
    ]);
    assert_eq!(energy_prices(&["1"], &file), [10]);
    let (station, unknown) = priced(&["2", "4"], &file);
    assert_eq!(station.station.connectors[0].pricing, []);
    assert_eq!(unknown, ["2", "4"]);
    // Such a connector keeps its prices.
    assert_eq!(station.priced, ["2-1"]);
}

#[test]
fn a_tariff_that_cannot_be_used_is_named_and_the_others_count() {
    let restricted = |name: &str, value: Value| {
        let mut tariff = tariff(name, 0.1, json!({}));
        tariff["elements"][0]["restrictions"] = json!({name: value});
        tariff
    };
    let (tariffs, skipped) = tariffs(&json!([
        tariff("good", 0.1, json!({"elements": null})),
        tariff("gold", 0.1, json!({"currency": "GLD"})),
        restricted("day_of_week", json!(["CARNIVAL"])),
        restricted("reservation", json!("PERHAPS")),
        restricted("start_date", json!("yesterday"))
    ]));
    assert_eq!(tariffs.len(), 1);
    let reasons: Vec<_> = skipped.iter().map(ToString::to_string).collect();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert_eq!(reasons[0], "gold: currency: \"GLD\" is no ISO 4217 code");
}

#[test]
fn limits_of_the_price_keep_their_tax() {
    let limits =
        json!({"min_price": {"excl_vat": 0.50, "incl_vat": 0.55}, "max_price": {"excl_vat": 10.0}});
    let file = json!([tariff("1", 0.1, limits)]);
    let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
    let kinds: Vec<_> = pricing
        .iter()
        .map(|price| (price.kind, price.price, price.tax_percent.as_str()))
        .collect();
    use PriceType::{Energy, MaxPrice, MinPrice};
    assert_eq!(
        kinds,
        [
            (Energy, 10, "0"),
            (MinPrice, 50, "10"),
            (MaxPrice, 1000, "0")
        ]
    );
}

#[test]
fn a_limit_without_its_tax_has_that_of_the_components() {
    let component = |vat| json!({"type": "ENERGY", "price": 0.1, "step_size": 1, "vat": vat});
    let percent_of = |vats: [u32; 2]| {
        let elements = json!([{"price_components": vats.map(component)}]);
        let limits = json!({"min_price": {"excl_vat": 10.0}, "elements": elements});
        let file = json!([tariff("1", 0.1, limits)]);
        let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
        let limit = pricing.last().unwrap();
        (limit.kind, limit.tax_percent.clone())
    };
    assert_eq!(percent_of([21, 21]), (PriceType::MinPrice, "21".to_owned()));
    assert_eq!(percent_of([21, 9]), (PriceType::MinPrice, "0".to_owned()));
    // The price of a reservation and a price of nothing are no part of the price of a session.
    let bare = |kind: &str, price: u32| json!({"type": kind, "price": price, "step_size": 1});
    let elements = json!([{"price_components": [component(21), bare("FLAT", 0)]},
        {"price_components": [bare("TIME", 1)], "restrictions": {"reservation": "RESERVATION"}}]);
    let limits = json!({"max_price": {"excl_vat": 4.2}, "elements": elements});
    let file = json!([tariff("1", 0.1, limits)]);
    let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
    assert_eq!(pricing.last().unwrap().tax_percent, "21");
}

#[test]
fn a_percentage_of_tax_is_shown_as_it_is_billed() {
    for (vat, shown) in [(2_100, "1000"), (-21, "0")] {
        let component = json!({"type": "ENERGY", "price": 0.4, "step_size": 1, "vat": vat});
        let elements = json!({"elements": [{"price_components": [component]}]});
        let file = json!([tariff("1", 0.1, elements)]);
        let pricing = priced(&["1"], &file).0.station.connectors.remove(0).pricing;
        assert_eq!(pricing[0].tax_percent, shown);
    }
}

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
