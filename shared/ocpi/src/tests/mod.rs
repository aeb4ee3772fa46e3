//! Tests of locations and tariffs of OCPI that become stations with prices, and what they share.

mod hours;
mod locations;
mod reload;
mod tariffs;

use kernel::Timestamp;
use models::ChargingStation;
use serde_json::{Value, json};

use crate::{ImportedStation, Location, reader};

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

fn now() -> Timestamp {
    Timestamp::parse("2026-03-02T10:00:00Z").unwrap()
}
