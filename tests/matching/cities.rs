//! The proof that the search for the best match is exact although it does not read everything. In random cities of up to 150 stations
//! it has to choose the same as the independent matcher ([`crate::oracle`]), which reads every station and every calendar. The cities
//! are large enough that most stations stay unread.
//!
//! `MATCHING_CITIES` sets another number of cities than 30 (10,000 in `.ci/proofs`), `MATCHING_SEED` the first seed; a seed replays
//! exactly.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use kernel::{Id, Kind, Mode, Timestamp, Window};
use models::charging::calendar::CalendarOwner;
use models::charging::effective_price::ChargingVehicle;
use models::charging::matching::best_first::{BestFirst, IndexedStation, Match, Step};
use models::charging::matching::outline::Outline;
use models::charging::matching::{self, MatchRequest};
use models::charging::policies::{Limits, PolicyContext};
use models::driver::DriverPreferences;
use models::reservation::MatchSummary;
use models::vehicle::ConnectorType;
use models::{ChargingStation, Policy, Reservation, Vehicle};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::faulty::Dice;
use tests::stage::setting;

use crate::oracle::{Hours, MINUTE, World, matching as oracle, millis};

const NOW: i64 = 1_800_000_000_000;
/// The number of minutes for which the opening hours are known, from an hour before the attempt.
const HORIZON: usize = 8 * 60;
const OPERATORS: [&str; 3] = ["Voltway", "Amp & Sons", "Grid"];
const STANDARDS: [&str; 3] = ["Type2", "CCS", "CHAdeMO"];

#[test]
fn the_best_match_is_found_without_reading_all_stations() {
    let (cities, first) = (setting("MATCHING_CITIES", 30), setting("MATCHING_SEED", 1));
    let (mut matched, mut stations, mut read) = (0, 0, 0);
    for seed in first..first + cities {
        let city = City::new(seed);
        let found = city.check();
        matched += u64::from(found.is_matched);
        stations += found.stations;
        read += found.stations_read;
    }
    // A case that never occurs is not proved.
    assert!(matched >= cities / 2, "{matched} of {cities} were matched");
    assert!(
        read * 2 < stations,
        "{read} of {stations} stations were read"
    );
}

/// A request, and the stations and reservations around it.
struct City {
    seed: u64,
    reservation: Value,
    vehicle: Value,
    driver: Value,
    policies: Vec<Value>,
    stations: Vec<Value>,
    booked: Vec<Value>,
}

/// The result of a search.
struct Found {
    is_matched: bool,
    stations: u64,
    stations_read: u64,
}

fn read<T: DeserializeOwned>(json: &Value) -> T {
    T::deserialize(json).expect("what the API shows")
}

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_unix_millis(NOW + minutes * MINUTE)
}

fn one_of<'a, T>(dice: &Dice, choices: &'a [T]) -> &'a T {
    &choices[dice.below(choices.len() as u64) as usize]
}

impl City {
    fn new(seed: u64) -> Self {
        let dice = &Dice::new(seed);
        let radius = *one_of(dice, &[300, 2_000, 6_000, 30_000]);
        // A city has one currency, several, or stations of unknown price among others.
        let currencies: &[&str; 3] = one_of(
            dice,
            &[
                ["usd", "usd", "usd"],
                ["usd", "eur", "jpy"],
                ["usd", "", ""],
                ["", "", ""],
            ],
        );
        let busy = *one_of(dice, &[0, 30, 70, 97]);
        let many = 1 + dice.below(150);
        let stations: Vec<Value> = (0..many)
            .map(|number| station(dice, number, radius, currencies))
            .collect();
        let body = json!({"fleet": Id::from_number(Kind::Fleet, 1), "registration_plate": "AB12 CDE", "vin": "V1",
            "battery_capacity": one_of(dice, &[1_000, 8_000, 60_000, 250_000]), "charging_standard": one_of(dice, &STANDARDS)});
        let vehicle = Vehicle::new(read(&body), at(-60))
            .expect("a vehicle")
            .object;
        let vehicle = serde_json::to_value(vehicle).expect("JSON");
        let start = 30 + dice.below(10) as i64;
        let end = start + 15 + dice.below(60) as i64;
        let latest = dice.percent(60).then(|| at(end + dice.below(120) as i64));
        let reservation = json!({"id": Id::from_number(Kind::Reservation, 1), "connector_type": [vehicle["charging_standard"]],
            "cancellation_policy": {"type": "free_cancellation", "free_until_before": 1800}, "created": at(-60),
            "currency": "usd", "driver": Id::from_number(Kind::Driver, 1), "earliest_start": null,
            "ideal_start": at(start), "ideal_end": at(end), "latest_end": latest,
            "location": {"latitude": 51.5, "longitude": 0.0, "radius": radius}, "match_summary": null, "metadata": {},
            "payment_method": null, "reservation_fee": 0,
            "state": {"status": "pending", "next_attempt": at(0)}, "updated": at(-60), "vehicle": vehicle["id"]});
        let liked: Vec<&Value> = stations
            .iter()
            .filter(|_| dice.percent(2))
            .map(|station| &station["id"])
            .collect();
        let cap = dice.percent(20).then(|| 10 + dice.below(50));
        let networks: Vec<&str> = OPERATORS.into_iter().filter(|_| dice.percent(15)).collect();
        let driver = json!({"preferences": {"charging_speed": one_of(dice, &["any", "any", "slow", "fast", "ultra_fast"]),
            "currency": "usd", "default_payment_method": null, "max_price_per_kwh": cap, "notifications": true,
            "preferred_charging_stations": liked, "preferred_cpos": networks}});
        let policies = if dice.percent(20) {
            vec![json!({"name": "P", "rules": {"denied_operators": [one_of(dice, &OPERATORS)]}})]
        } else {
            Vec::new()
        };
        let mut booked = Vec::new();
        for station in &stations {
            for connector in station["connectors"].as_array().expect("connectors") {
                if dice.percent(busy) {
                    let from = dice.below(100) as i64;
                    booked.push(json!({"charging_station": station["id"], "connector": connector["id"], "vehicle": "veh_2",
                        "reserved_start": at(from), "reserved_end": at(from + 10 + dice.below(120) as i64)}));
                }
            }
        }
        if dice.percent(20) {
            booked.push(
                json!({"charging_station": "chst_0", "connector": "1", "vehicle": vehicle["id"],
                "reserved_start": at(0), "reserved_end": at(20 + dice.below(60) as i64)}),
            );
        }
        Self {
            seed,
            reservation,
            vehicle,
            driver,
            policies,
            stations,
            booked,
        }
    }

    /// Compares the search with the independent matcher.
    fn check(&self) -> Found {
        let hours: Vec<Hours> = self
            .stations
            .iter()
            .map(|station| Hours::of(station, NOW - 60 * MINUTE, HORIZON))
            .collect();
        let want = oracle(&World {
            now: NOW,
            reservation: &self.reservation,
            vehicle: &self.vehicle,
            energy: None,
            telemetry: &Value::Null,
            driver: &self.driver,
            policies: &self.policies,
            stations: &self.stations,
            hours: &hours,
            booked: &self.booked,
        });
        let (found, summary, stations_read) = self.search(1);
        let choice = found.first().map(|candidate| {
            let assignment = &candidate.assignment;
            (
                assignment.station.to_string(),
                assignment.connector.clone(),
                assignment.window.from.unix_millis(),
            )
        });
        assert_eq!(choice, want.choice, "seed {}", self.seed);
        let summary = serde_json::to_value(summary).expect("JSON");
        let at = format!("seed {}", self.seed);
        crate::compare_summaries(&summary, &want.summary, choice.is_some(), &at);
        // The first of several matches are the same, regardless of their number.
        let (several, _, _) = self.search(3);
        let (more, _, _) = self.search(10);
        let pairs = |found: &[Match]| -> Vec<_> {
            found
                .iter()
                .map(|candidate| candidate.assignment.clone())
                .collect()
        };
        assert_eq!(
            pairs(&found),
            pairs(&several[..found.len()]),
            "seed {}",
            self.seed
        );
        assert_eq!(
            pairs(&several),
            pairs(&more[..several.len()]),
            "seed {}",
            self.seed
        );
        Found {
            is_matched: choice.is_some(),
            stations: want.summary["stations_in_radius"]
                .as_u64()
                .expect("a count"),
            stations_read,
        }
    }

    /// Searches for this number of matches. Also returns the number of stations that were read.
    fn search(&self, count: usize) -> (Vec<Match>, MatchSummary, u64) {
        let reservation: Reservation = read(&self.reservation);
        let preferences: DriverPreferences = read(&self.driver["preferences"]);
        let standard: ConnectorType = read(&self.vehicle["charging_standard"]);
        let policies: Vec<Policy> = self
            .policies
            .iter()
            .map(|body| Policy::new(read(body), at(-60)).expect("a policy").object)
            .collect();
        let stations: Vec<ChargingStation> = self.stations.iter().map(read).collect();
        let windows = matching::windows(&reservation, at(0));
        let context = PolicyContext {
            station: None,
            area: None,
            windows: &windows,
            currency: reservation.currency,
            zone: &TimeZone::UTC,
        };
        let request = MatchRequest {
            reservation: &reservation,
            standard,
            vehicle: ChargingVehicle::new(&read::<Vehicle>(&self.vehicle), None, at(0)),
            preferences: &preferences,
            cap_currency: preferences.currency,
            windows: &windows,
            limits: &Limits::new(&policies, &context),
            mode: Mode::Test,
            refused_evses: &[],
        };
        let circle = models::charging::search::Circle::from(reservation.location);
        let place = models::charging::search::Place::Circle(circle);
        let in_radius = stations
            .iter()
            .filter(|station| place.distance(station.location).is_some());
        let entries = in_radius.map(|station| IndexedStation {
            id: station.id.clone(),
            location: station.location,
            // The text that the index holds.
            outline: Outline::of(station).to_string().parse().ok(),
        });
        let mut search = BestFirst::new(&request, &entries.collect::<Vec<_>>(), count);
        let mut read = 0;
        loop {
            match search.next() {
                Step::ReadStations(ids) => {
                    assert!(!ids.is_empty());
                    read += ids.len() as u64;
                    let requested: BTreeSet<&Id> = ids.iter().collect();
                    let found = stations
                        .iter()
                        .filter(|station| requested.contains(&station.id));
                    search.add_stations(&ids, found.cloned().collect());
                }
                Step::ReadCalendars(owners) => {
                    assert!(!owners.is_empty());
                    for owner in owners {
                        let taken = self.taken(&owner);
                        search.add_calendar(owner, taken);
                    }
                }
                Step::Stop => return (search.ranking(), search.summary(), read),
            }
        }
    }

    fn taken(&self, owner: &CalendarOwner) -> Vec<Window> {
        let is_of_owner = |booked: &&Value| match owner {
            CalendarOwner::Vehicle(vehicle) => booked["vehicle"] == vehicle.as_str(),
            CalendarOwner::Evse { station, evse } => {
                let connector = booked["connector"].as_str().expect("a connector");
                let of_evse = connector
                    .split('-')
                    .next()
                    .is_some_and(|own| own.eq_ignore_ascii_case(evse));
                booked["charging_station"] == station.as_str() && of_evse
            }
        };
        let window = |booked: &Value| Window {
            from: Timestamp::from_unix_millis(millis(&booked["reserved_start"])),
            until: Timestamp::from_unix_millis(millis(&booked["reserved_end"])),
        };
        self.booked.iter().filter(is_of_owner).map(window).collect()
    }
}

/// A station, mostly within the radius.
fn station(dice: &Dice, number: u64, radius: u64, currencies: &[&str]) -> Value {
    let offset = || (dice.below(2_001) as f64 / 1_000.0 - 1.0) * radius as f64 / 111_195.0;
    let mut connectors = Vec::new();
    for evse in 0..1 + dice.below(3) {
        let statuses = [
            "available",
            "available",
            "available",
            "occupied",
            "reserved",
            "faulted",
        ];
        let (status, reservable) = (one_of(dice, &statuses), dice.percent(90));
        for cable in 0..1 + dice.below(2) {
            connectors.push(json!({"id": format!("E{evse}-{cable}"), "evse": format!("E{evse}"),
                "power": one_of(dice, &[22.0, 50.0, 150.0]), "pricing": pricing(dice, currencies),
                "reservable": reservable, "status": status,
                "type": one_of(dice, &["Type2", "Type2", "CCS", "CHAdeMO", "IEC_60309_2_three_32"])}));
        }
    }
    json!({"id": Id::from_number(Kind::ChargingStation, u128::from(number)), "object": "charging_station",
        "created": at(-100), "updated": at(-100), "name": "Depot",
        "address": {"line1": "1 Dock Road", "city": "London", "postal_code": "E16 1AA", "country": "GB"},
        "availability": {"connectors_available": 0, "connectors_total": 0, "range": [],
            "opening_hours": [{"day": "fri", "from": "08:00", "until": "20:00"}]},
        "capabilities": {"24_7_access": dice.percent(80), "amenities": [], "payment_methods": [],
            "requires_membership": false, "reservable": dice.percent(95)},
        "connectors": connectors, "location": {"latitude": 51.5 + offset(), "longitude": 1.6 * offset()},
        "operator": one_of(dice, &OPERATORS), "operator_contact": "", "pricing": [],
        "status": if dice.percent(95) { "active" } else { "maintenance" }, "timezone": "UTC"})
}

fn pricing(dice: &Dice, currencies: &[&str]) -> Vec<Value> {
    let currency = one_of(dice, currencies);
    // Often the same price, so that other parts of the score decide.
    let price = if dice.percent(40) { 45 } else { dice.below(90) };
    if currency.is_empty() {
        return Vec::new();
    }
    let of_kind = |kind: &str, price: u64| {
        json!({"currency": currency, "price": price, "step_size": 1, "tax": "vat", "tax_included": true,
            "tax_percent": "20", "type": kind})
    };
    let mut prices = Vec::new();
    if dice.percent(30) {
        // Another price in some hours.
        let (from, length) = (8 + dice.below(3), 1 + dice.below(2));
        let mut at_times = of_kind("ENERGY", dice.below(90));
        at_times["restrictions"] = json!({"start_time": format!("{from:02}:{:02}", 5 * dice.below(12)),
            "end_time": format!("{:02}:00", from + length + 1)});
        prices.push(at_times);
    }
    if !prices.is_empty() && dice.percent(20) {
        return prices;
    }
    prices.push(of_kind("ENERGY", price));
    for (kind, most) in [
        ("FLAT", 300),
        ("TIME", 600),
        ("MIN_PRICE", 500),
        ("MAX_PRICE", 900),
    ] {
        if dice.percent(12) {
            prices.push(of_kind(kind, dice.below(most)));
        }
    }
    prices
}
