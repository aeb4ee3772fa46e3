//! The vehicles of a depot and their departures, for the tests of its plans.

use jiff::tz::TimeZone;
use kernel::{Id, Kind, Timestamp};
use models::departure::Departure;
use models::site::inputs::{Execution, PlanInputs, SiteVehicle};
use models::{Site, Stored, Vehicle};
use serde_json::{Value, json};

/// The id of the object of a kind with this number, as if created at the beginning of 2027.
pub fn id(kind: Kind, number: usize) -> Id {
    let created = Timestamp::parse("2027-01-01T00:00:00Z").expect("a time");
    Id::from_number(kind, Id::first_number(created) + number as u128)
}

/// Other members replace those of an object.
fn with(mut object: Value, others: Value) -> Value {
    let members = object.as_object_mut().expect("an object");
    members.extend(others.as_object().cloned().expect("an object"));
    object
}

/// The first site, whose time zone is UTC, with these members of its own.
pub fn site(own: Value, created: Timestamp) -> Stored<Site> {
    let new = with(json!({"name": "Depot", "time_zone": "UTC"}), own);
    let new = serde_json::from_value(new).expect("a site");
    let currency = serde_json::from_value(json!("gbp")).expect("a currency");
    let mut site = Site::new(new, currency, created).expect("a site");
    site.object.id = id(Kind::Site, 0);
    site
}

/// The vehicle with a number, which charges at the first site; these members are its own.
pub fn vehicle(number: usize, created: Timestamp, own: Value) -> Vehicle {
    let vehicle = json!({"id": id(Kind::Vehicle, number), "object": "vehicle", "charging_standard": "Type2", "created": created,
        "drivers": [], "fleet": id(Kind::Fleet, 0), "information": {"make": "", "model": "", "year": ""}, "metadata": {},
        "policy_ids": [], "registration_plate": "VAN", "site": id(Kind::Site, 0), "status": "active",
        "telemetry": id(Kind::VehicleTelemetry, number), "updated": created, "vin": "WVWZZZ1KZAW000001"});
    serde_json::from_value(with(vehicle, own)).expect("a vehicle")
}

/// The departure with a number of a vehicle, with these members of its own: `energy_wh` or `target_level`.
pub fn departure(
    number: usize,
    vehicle: &Id,
    at: Timestamp,
    created: Timestamp,
    own: Value,
) -> Departure {
    let departure = json!({"id": id(Kind::Departure, number), "object": "departure", "at": at, "cost": null, "cost_if_immediate": null,
        "created": created, "currency": null, "energy_delivered_wh": null, "energy_wh": null, "min_level": null, "short_by_wh": null,
        "site": id(Kind::Site, 0), "status": "scheduled", "target_level": null, "vehicle": vehicle});
    serde_json::from_value(with(departure, own)).expect("a departure")
}

/// A vehicle at the site that has reported nothing and charges in no session.
pub fn parked(vehicle: Vehicle, departures: Vec<Departure>) -> SiteVehicle {
    SiteVehicle {
        vehicle,
        departures,
        telemetry: None,
        has_reported: false,
        sessions: Vec::new(),
        elsewhere: Vec::new(),
    }
}

/// The inputs of a plan for these vehicles, in UTC and without prices.
pub fn inputs(execution: Execution, vehicles: Vec<SiteVehicle>) -> PlanInputs {
    PlanInputs {
        execution,
        vehicles,
        others: Vec::new(),
        starts: Vec::new(),
        days: Vec::new(),
        zone: TimeZone::UTC,
        tariff: None,
        offered: None,
        reserved: Vec::new(),
    }
}
