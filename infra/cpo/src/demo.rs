//! The demo network: four locations in London and three tariffs.

use serde_json::{Value, json};

use crate::party::{COUNTRY_CODE, PARTY_ID};
use crate::time::text;

/// Prices without tax, in pounds; VAT is 20 %.
pub fn tariffs(now: jiff::Timestamp) -> Vec<Value> {
    let price = |kind: &str, price: f64, step: u32| json!({"type": kind, "price": price, "vat": 20.0, "step_size": step});
    let tariff = |id: &str, says: &str, elements: Value| {
        json!({"country_code": COUNTRY_CODE, "party_id": PARTY_ID, "id": id, "currency": "GBP", "type": "REGULAR",
            "tariff_alt_text": [{"language": "en", "text": says}], "elements": elements, "last_updated": text(now)})
    };
    vec![
        tariff(
            "AC",
            "0.45 GBP per kWh plus VAT",
            json!([{"price_components": [price("ENERGY", 0.45, 1)]}]),
        ),
        tariff(
            "AC-NIGHT",
            "0.25 GBP per kWh from 23:00 to 06:00, else 0.49 GBP, plus VAT",
            json!([
                {"price_components": [price("ENERGY", 0.25, 1)], "restrictions": {"start_time": "23:00", "end_time": "06:00"}},
                {"price_components": [price("ENERGY", 0.49, 1)]}]),
        ),
        tariff(
            "DC",
            "0.50 GBP per session, 0.65 GBP per kWh and 6.00 GBP per hour after charging, plus VAT",
            json!([{"price_components": [price("FLAT", 0.50, 1), price("ENERGY", 0.65, 1), price("PARKING_TIME", 6.00, 60)]}]),
        ),
    ]
}

/// A kind of EVSE.
struct Model {
    standard: &'static str,
    power_type: &'static str,
    format: &'static str,
    voltage: u32,
    amperage: u32,
    /// In W.
    power: u32,
    tariff: &'static str,
    capabilities: &'static [&'static str],
}

const EVERYTHING: &[&str] = &[
    "REMOTE_START_STOP_CAPABLE",
    "CHARGING_PROFILE_CAPABLE",
    "RESERVABLE",
    "RFID_READER",
    "UNLOCK_CAPABLE",
];

const AC: Model = Model {
    standard: "IEC_62196_T2",
    power_type: "AC_3_PHASE",
    format: "SOCKET",
    voltage: 230,
    amperage: 32,
    power: 22_000,
    tariff: "AC",
    capabilities: EVERYTHING,
};

const DC: Model = Model {
    standard: "IEC_62196_T2_COMBO",
    power_type: "DC",
    format: "CABLE",
    voltage: 920,
    amperage: 200,
    power: 150_000,
    tariff: "DC",
    capabilities: EVERYTHING,
};

/// An EVSE that cannot be reserved.
const AC_NIGHT: Model = Model {
    amperage: 16,
    power: 11_000,
    tariff: "AC-NIGHT",
    capabilities: &["REMOTE_START_STOP_CAPABLE", "RFID_READER"],
    ..AC
};

/// An EVSE at which a session can only be started with a card.
const CARD_ONLY: Model = Model {
    capabilities: &["RFID_READER"],
    ..AC
};

/// A location.
struct Site {
    id: &'static str,
    name: &'static str,
    address: &'static str,
    postal_code: &'static str,
    /// Latitude and longitude.
    coordinates: [&'static str; 2],
    evses: &'static [Model],
}

const SITES: [Site; 4] = [
    Site {
        id: "1001",
        name: "Demo Network Trafalgar Square",
        address: "1 Trafalgar Square",
        postal_code: "WC2N 5DN",
        coordinates: ["51.508000", "-0.128000"],
        evses: &[AC, AC],
    },
    Site {
        id: "1002",
        name: "Demo Network Southwark",
        address: "20 Southwark Street",
        postal_code: "SE1 1TJ",
        coordinates: ["51.505000", "-0.092000"],
        evses: &[DC, DC],
    },
    Site {
        id: "1003",
        name: "Demo Network Euston Road",
        address: "120 Euston Road",
        postal_code: "NW1 2AL",
        coordinates: ["51.528000", "-0.130000"],
        evses: &[AC_NIGHT, AC_NIGHT],
    },
    Site {
        id: "1004",
        name: "Demo Network Green Park",
        address: "60 Piccadilly",
        postal_code: "W1J 0DJ",
        coordinates: ["51.507000", "-0.141000"],
        evses: &[CARD_ONLY],
    },
];

/// The locations. Their EVSEs are available. The id of an EVSE is the location's id followed by a number.
pub fn locations(now: jiff::Timestamp) -> Vec<Value> {
    let now = text(now);
    let sites = SITES.iter().map(|site| {
        let evses: Vec<Value> = (1..)
            .zip(site.evses)
            .map(|(number, model)| evse(site.id, number, model, &now))
            .collect();
        let [latitude, longitude] = site.coordinates;
        json!({"country_code": COUNTRY_CODE, "party_id": PARTY_ID, "id": site.id, "publish": true, "name": site.name,
            "address": site.address, "city": "London", "postal_code": site.postal_code, "country": "GBR",
            "coordinates": {"latitude": latitude, "longitude": longitude}, "parking_type": "ON_STREET", "evses": evses,
            "operator": {"name": crate::party::NAME}, "time_zone": "Europe/London",
            "opening_times": {"twentyfourseven": true}, "charging_when_closed": true, "last_updated": now,
            "energy_mix": {"is_green_energy": false, "energy_sources": [{"source": "WIND", "percentage": 60}, {"source": "GAS", "percentage": 40}],
                "environ_impact": [{"category": "CARBON_DIOXIDE", "amount": 168}], "supplier_name": "Demo Energy"}})
    });
    sites.collect()
}

fn evse(location: &str, number: u32, model: &Model, now: &str) -> Value {
    json!({"uid": format!("{location}-{number}"), "evse_id": format!("{COUNTRY_CODE}*{PARTY_ID}*E{location}*{number}"),
        "status": "AVAILABLE", "capabilities": model.capabilities, "physical_reference": number.to_string(),
        "connectors": [{"id": "1", "standard": model.standard, "format": model.format, "power_type": model.power_type,
            "max_voltage": model.voltage, "max_amperage": model.amperage, "max_electric_power": model.power,
            "tariff_ids": [model.tariff], "last_updated": now}],
        "last_updated": now})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connector_names_a_tariff_that_exists() {
        let now = "2026-03-01T10:00:00Z".parse().unwrap();
        let tariffs = tariffs(now);
        for location in locations(now) {
            for evse in location["evses"].as_array().unwrap() {
                let id = &evse["connectors"][0]["tariff_ids"][0];
                assert!(tariffs.iter().any(|tariff| tariff["id"] == *id), "{id}");
            }
        }
    }
}
