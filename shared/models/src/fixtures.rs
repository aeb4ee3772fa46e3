//! A station and a connector that tests of other modules change as they need.

use serde_json::json;

use super::charging_station::{ChargingStation, Connector, ConnectorStatus, Plug};
use super::vehicle::ConnectorType;

/// Returns an available Type2 connector of 22 kW with that id, which is an EVSE of its own.
pub fn connector(id: &str) -> Connector {
    Connector {
        id: id.into(),
        evse: id.into(),
        evse_id: None,
        physical_reference: None,
        power: 22.0,
        pricing: Vec::new(),
        reservable: true,
        status: ConnectorStatus::Available,
        plug: Plug::Matched(ConnectorType::Type2),
    }
}

/// Returns a station in London with one Type2 connector, which can be reserved and is always open, and a faulted connector whose plug is
/// never matched.
pub fn station() -> ChargingStation {
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let station = json!({
        "id": "chst_019b76daa8007af1b865a10ede74128b",
        "object": "charging_station",
        "address": {
            "city": "London",
            "country": "GB",
            "line1": "1 Bow Road",
            "line2": "",
            "postal_code": "E3 4HL",
            "state": ""
        },
        "availability": {
            "connectors_available": 1,
            "connectors_total": 2,
            "opening_hours": days.map(|day| json!({"day": day, "from": "00:00", "until": "00:00"})),
            "range": []
        },
        "capabilities": {
            "24_7_access": true,
            "amenities": [],
            "payment_methods": ["app"],
            "requires_membership": false,
            "reservable": true
        },
        "connectors": [
            {
                "id": "1-1",
                "evse": "1",
                "evse_id": null,
                "physical_reference": null,
                "power": 22.1,
                "pricing": [],
                "reservable": true,
                "status": "available",
                "type": "Type2"
            },
            {
                "id": "2-1",
                "evse": "2",
                "evse_id": null,
                "physical_reference": null,
                "power": 50.0,
                "pricing": [],
                "reservable": false,
                "status": "faulted",
                "type": "IEC_60309_2_three_32"
            }
        ],
        "created": "2026-01-01T00:00:00.000Z",
        "location": {
            "latitude": 51.5196,
            "longitude": -0.031
        },
        "location_id": "L1",
        "name": "Bow Road",
        "network": null,
        "operator": "Volts",
        "operator_contact": "",
        "pricing": [],
        "status": "active",
        "timezone": "Europe/London",
        "updated": "2026-01-01T00:00:00.000Z"
    });
    serde_json::from_value(station).unwrap()
}
