//! `.ci/rush`: a thousand reservations for three hundred connectors of one city, most of them in its two rush hours. Each is confirmed
//! like in the service, attempt by attempt. Then the share of confirmed reservations is printed, and the instance is written for
//! `optimum.py`, which computes how many reservations a plan of the whole day could have confirmed.
//!
//! `RUSH_SEED` generates another day.
#![allow(clippy::print_stdout, clippy::expect_used)]

use functions::job::Job as _;
use functions::jobs;
use functions::reservations::confirm::ConfirmReservation;
use std::path::Path;
use std::sync::Arc;

use kernel::time::{DAY, days, minutes, whole_millis};
use kernel::{Id, Tenant, Timestamp};
use models::charging::geo::distance_meters;
use models::charging::search::Search;
use models::reservation::{ReservationInternal, ReservationStatus};
use models::vehicle::ConnectorType;
use models::{ChargingStation, Reservation, Stored};
use serde_json::{Value, json};
use table::list::Cursor;
use tests::clock::Hand;
use tests::faulty::Dice;
use tests::{TestApp, with};

const STATIONS: usize = 100;
const CONNECTORS: usize = 3;
const RESERVATIONS: usize = 1_000;
/// The grain of all times, in minutes.
const GRAIN: i64 = 5;
const CENTER: (f64, f64) = (48.137, 11.575);
/// The percentages of connectors, and of vehicles, with the first plug, the second, and the third.
const PLUGS: [(ConnectorType, &str, u64); 3] = [
    (ConnectorType::Type2, "IEC_62196_T2", 50),
    (ConnectorType::Ccs, "IEC_62196_T2_COMBO", 35),
    (ConnectorType::Chademo, "CHADEMO", 15),
];
/// The peaks of the two rushes, in minutes of the day.
const RUSHES: [i64; 2] = [8 * 60 + 15, 17 * 60 + 45];
const MINUTES: [i64; 6] = [30, 45, 60, 60, 90, 120];

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let seed = std::env::var("RUSH_SEED").map_or(1, |text| text.parse().expect("a number"));
        let dice = Dice::new(seed);
        let files = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let stations = files.join("rush-stations.json");
        std::fs::write(&stations, stations_of_the_city(&dice).to_string()).expect("a file");
        let app = TestApp::start_with(|options| options.stations = Some(stations)).await;
        let rush = Rush::prepare(&app, &dice).await;
        rush.confirm().await;
        let instance = rush.report(seed).await;
        let file = files.join(format!("rush-{seed}.json"));
        std::fs::write(file, instance.to_string()).expect("a file");
    });
}

/// The beginning of the day after tomorrow.
fn midnight(now: Timestamp) -> Timestamp {
    let past = now.unix_millis().div_euclid(whole_millis(DAY));
    Timestamp::EPOCH.plus(days(past + 2))
}

/// A random place around the centre; nearer places are more likely.
fn place(dice: &Dice) -> (f64, f64) {
    let offset = |degrees: f64| {
        let sum: u64 = (0..4).map(|_| dice.below(1_000)).sum();
        (sum as f64 / 2_000.0 - 1.0) * degrees
    };
    (CENTER.0 + offset(0.09), CENTER.1 + offset(0.14))
}

fn plug(dice: &Dice) -> (ConnectorType, &'static str) {
    let mut left = dice.below(100);
    for (plug, standard, share) in PLUGS {
        if left < share {
            return (plug, standard);
        }
        left -= share;
    }
    unreachable!("the shares are a hundred")
}

/// Each EVSE has one connector, so that the availability of one plug does not depend on other plugs.
fn stations_of_the_city(dice: &Dice) -> Value {
    let evse = |uid: String| {
        json!({"uid": uid, "status": "AVAILABLE", "capabilities": ["RESERVABLE"],
            "connectors": [{"id": "1", "standard": plug(dice).1, "power_type": "DC", "max_voltage": 400,
                "max_amperage": 125, "max_electric_power": 50_000}]})
    };
    let station = |n: usize| {
        let (latitude, longitude) = place(dice);
        let evses: Vec<Value> = (0..CONNECTORS)
            .map(|connector| evse(format!("{n}-{connector}")))
            .collect();
        json!({"country_code": "DE", "party_id": "BEN", "id": format!("rush-{n}"), "address": "1 Ring", "city": "Munich",
            "country": "DEU", "coordinates": {"latitude": latitude.to_string(), "longitude": longitude.to_string()},
            "evses": evses, "opening_times": {"twentyfourseven": true}, "last_updated": "2026-01-01T00:00:00Z"})
    };
    (0..STATIONS).map(station).collect()
}

struct Rush<'a> {
    app: &'a TestApp,
    tenant: Tenant,
    day: Timestamp,
    ids: Vec<Id>,
}

impl<'a> Rush<'a> {
    /// Creates each of the reservations for a vehicle of its own.
    async fn prepare(app: &'a TestApp, dice: &Dice) -> Self {
        let (crew, alice) = (app.crew(&app.alice).await, &app.alice);
        let day = midnight(app.now());
        let mut ids = Vec::new();
        for _ in 0..RESERVATIONS {
            let plug = json!({"charging_standard": plug(dice).0});
            let vehicle = with(tests::vehicle(&crew.fleet), plug.clone());
            let vehicle = alice.post("/v1/vehicles", vehicle).await.id();
            let who = json!({"driver": crew.driver, "vehicle": vehicle,
                "connector_type": [plug["charging_standard"]]});
            let reservation = alice.post("/v1/reservations", with(request(dice, day), who));
            ids.push(reservation.await.id().as_str().into());
        }
        let tenant = alice.tenant();
        Self {
            app,
            tenant,
            day,
            ids,
        }
    }

    async fn reservations(&self) -> Vec<Stored<Reservation>> {
        let reservations = self.app.app().store.get_all(&self.tenant, &self.ids);
        reservations.await.expect("the reservations")
    }

    /// Makes every attempt when it is due. Attempts of one moment are made in the order of the reservations' creation.
    async fn confirm(&self) {
        let clock = Arc::new(Hand::at(self.day));
        let store = self.app.app().store.clone();
        let app = self.app.app_with(store, clock.clone());
        loop {
            let reservations = self.reservations().await;
            let open = reservations
                .iter()
                .filter(|reservation| reservation.object.status() == ReservationStatus::Pending);
            let due: Vec<_> = open
                .filter_map(|reservation| {
                    Some((reservation.next_action_at()?, &reservation.object.id))
                })
                .collect();
            let Some(now) = due.iter().map(|(at, _)| *at).min() else {
                return;
            };
            clock.move_by(now.since(app.now()));
            for (_, id) in due.into_iter().filter(|(at, _)| *at == now) {
                let message = ConfirmReservation {
                    tenant: self.tenant.clone(),
                    reservation: id.clone(),
                    request: None,
                }
                .message()
                .expect("a message");
                jobs::work(&app, &message).await.expect("an attempt");
            }
        }
    }

    /// Prints the result, and returns the instance for `optimum.py`.
    async fn report(&self, seed: u64) -> Value {
        let reservations = self.reservations().await;
        let got = reservations.iter().map(|reservation| &reservation.object);
        let got: Vec<_> = got
            .filter(|reservation| reservation.window().is_some())
            .collect();
        let slid = got.iter().filter(|reservation| {
            reservation.window().map(|window| window.from) != Some(reservation.ideal_start)
        });
        println!(
            "day {seed}: {} of {RESERVATIONS} reservations confirmed, {} of them in another window than the preferred one",
            got.len(),
            slid.count()
        );
        let (store, all) = (&self.app.app().store, Search::default());
        let found = store.search(&self.tenant, &all, &Cursor::Newest, STATIONS);
        let stations = found.await.expect("the stations").items.into_iter();
        let stations: Vec<_> = stations.map(|(_, station)| station).collect();
        let pools: Vec<Value> = stations.iter().flat_map(pools).collect();
        let requests: Vec<Value> = reservations
            .iter()
            .map(|reservation| self.instance(&reservation.object, &reservation.internal, &stations))
            .collect();
        json!({"pools": pools, "reservations": requests})
    }

    /// The possible assignments of a reservation, in steps of five minutes, and its actual one.
    fn instance(
        &self,
        reservation: &Reservation,
        internal: &ReservationInternal,
        stations: &[ChargingStation],
    ) -> Value {
        let step = |at: Timestamp| at.since(self.day).as_mins() / GRAIN;
        let length = step(reservation.ideal_end) - step(reservation.ideal_start);
        let meters = |station: &ChargingStation| {
            distance_meters(reservation.location.center(), station.location) as u32
        };
        let nearby = stations
            .iter()
            .filter(|station| meters(station) < reservation.location.radius);
        let nearby: Vec<&Id> = nearby.map(|station| &station.id).collect();
        json!({"plug": internal.charging_standard, "length": length, "stations": nearby,
            "earliest": step(reservation.earliest_start.unwrap_or(reservation.ideal_start)),
            "latest": step(reservation.latest_end.unwrap_or(reservation.ideal_end)) - length,
            "start": reservation.window().map(|window| step(window.from)),
            "station": reservation.state.reserved().map(|reserved| &reserved.station)})
    }
}

/// The number of connectors of a station by plug.
fn pools(station: &ChargingStation) -> Vec<Value> {
    let count = |plug: ConnectorType| {
        let plugs = station.connectors.iter();
        let fitting = plugs.filter(|connector| connector.connector_type() == Some(plug));
        json!({"station": station.id, "plug": plug, "connectors": fitting.count()})
    };
    PLUGS.map(|(plug, ..)| count(plug)).to_vec()
}

fn request(dice: &Dice, day: Timestamp) -> Value {
    let (latitude, longitude) = place(dice);
    let rush = RUSHES[dice.below(2) as usize];
    // The sum of two dice: most starts are at the peak of the rush, some up to two hours before or after it.
    let steps = (dice.below(25) + dice.below(25)) as i64 - 24;
    let start = rush + steps * GRAIN;
    let end = start + MINUTES[dice.below(6) as usize];
    let at = |count: i64| day.plus(minutes(count));
    let request = json!({"ideal_start": at(start), "ideal_end": at(end), "location": {"latitude": latitude,
        "longitude": longitude, "radius": 1_500 + dice.below(2_500)}});
    if dice.percent(50) {
        return request;
    }
    let (sooner, later) = (dice.below(7) as i64, 3 + dice.below(16) as i64);
    let slack = json!({"earliest_start": at(start - sooner * GRAIN), "latest_end": at(end + later * GRAIN)});
    with(request, slack)
}
