//! `cargo bench --workspace --bench stations`: measures how long a search among 100,000 stations takes, and the confirmation of a
//! reservation there; the number of calls to the table of each, the number of consecutive calls, and their capacity. The figures are
//! for comparing changes on one machine; nothing is asserted.
//!
//! `STATIONS` sets another number of stations.
#![allow(clippy::print_stdout, clippy::expect_used)]

use functions::job::Job as _;
use functions::reservations::confirm::ConfirmReservation;
use functions::{App, jobs};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use functions::networks::import_stations;
use kernel::{Id, Mode};
use models::Reservation;
use serde_json::{Value, json};
use tests::faulty::Dice;
use tests::meter::{Call, Meter, in_a_row};
use tests::{Crew, TestApp, with};
use tower::ServiceExt as _;

const CITIES: u64 = 40;
const SEARCHES: usize = 500;
const CONFIRMATIONS: usize = 500;
const AT_A_TIME: usize = 5_000;

fn main() {
    // On one thread, calls that are made together all begin before the first one ends.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let test = TestApp::start().await;
        let (meter, dice) = (Meter::default(), Dice::new(1));
        let running = test.running();
        let store = meter.store(&running.store_url, &running.table);
        let app = test.app_with(store, test.app().clock.clone());
        let stations =
            std::env::var("STATIONS").map_or(100_000, |text| text.parse().expect("a number"));
        let started = Instant::now();
        fill(&app, &dice, stations).await;
        println!("{stations} stations imported in {:.1?}", started.elapsed());
        let crew = test.crew(&test.alice).await;
        let bench = Bench {
            test: &test,
            app,
            meter,
            dice,
            crew,
        };
        for radius in [500, 2_000, 6_000, 25_000] {
            bench.search(radius).await;
        }
        bench.confirm(2_000).await;
        bench.confirm(6_000).await;
    });
}

/// One of the cities of a land between 40° and 55° north: each has its place.
fn city(number: u64) -> (f64, f64) {
    let place = Dice::new(1_000 + number);
    let degrees = |from: f64, width: u64| from + place.below(width * 1_000) as f64 / 1_000.0;
    (degrees(40.0, 15), degrees(0.0, 20))
}

/// Two of three stations are in a city, more of them near its centre; the third is anywhere.
fn place(dice: &Dice) -> (f64, f64) {
    if dice.below(3) == 0 {
        let anywhere = city(10_000 + dice.below(1_000_000));
        return anywhere;
    }
    nearby(dice, city(dice.below(CITIES)), 0.1)
}

fn nearby(dice: &Dice, (latitude, longitude): (f64, f64), degrees: f64) -> (f64, f64) {
    let offset = || {
        let sum: u64 = (0..4).map(|_| dice.below(1_000)).sum();
        (sum as f64 / 2_000.0 - 1.0) * degrees
    };
    (latitude + offset(), longitude + 1.5 * offset())
}

async fn fill(app: &App, dice: &Dice, stations: usize) {
    let numbers: Vec<usize> = (0..stations).collect();
    for chunk in numbers.chunks(AT_A_TIME) {
        let locations: Vec<Value> = chunk.iter().map(|n| location(*n, dice)).collect();
        let file = Value::from(locations).to_string();
        let read = import_stations::read(file.as_bytes(), None, app.now());
        let (stations, mut imported) = read.expect("stations");
        let added = import_stations::add(app, Mode::Test, stations, &mut imported);
        added.await.expect("an import");
    }
}

fn location(n: usize, dice: &Dice) -> Value {
    let (latitude, longitude) = place(dice);
    let evse = |evse: u64| {
        // One of three has a socket, the others one or two cables.
        let standards: &[&str] = match dice.below(3) {
            0 => &["IEC_62196_T2"],
            1 => &["IEC_62196_T2_COMBO"],
            _ => &["IEC_62196_T2_COMBO", "CHADEMO"],
        };
        let connector = |(number, standard): (usize, &&str)| {
            json!({"id": number.to_string(), "standard": standard, "power_type": "DC", "max_voltage": 400,
                "max_amperage": 125, "max_electric_power": 50_000})
        };
        let connectors: Vec<Value> = standards.iter().enumerate().map(connector).collect();
        json!({"uid": evse.to_string(), "status": "AVAILABLE", "capabilities": ["RESERVABLE"],
            "connectors": connectors})
    };
    let evses: Vec<Value> = (0..1 + dice.below(4)).map(evse).collect();
    json!({"country_code": "DE", "party_id": "BEN", "id": n.to_string(), "address": "1 Ring", "city": "City",
        "country": "DEU", "coordinates": {"latitude": latitude.to_string(), "longitude": longitude.to_string()},
        "evses": evses, "opening_times": {"twentyfourseven": true}, "last_updated": "2026-01-01T00:00:00Z"})
}

struct Bench<'a> {
    test: &'a TestApp,
    app: App,
    meter: Meter,
    dice: Dice,
    crew: Crew,
}

impl Bench<'_> {
    /// The first page of a search around a place in a city.
    async fn search(&self, radius: u32) {
        let router = functions::router(self.app.clone());
        let mut samples = Samples::default();
        let mut found = 0;
        for n in 0..SEARCHES {
            let (latitude, longitude) = nearby(&self.dice, city(n as u64 % CITIES), 0.05);
            let path = format!(
                "/v1/charging_stations?latitude={latitude}&longitude={longitude}&radius={radius}&limit=20"
            );
            self.meter.take();
            let started = Instant::now();
            found += self.get(&router, &path).await["data"]
                .as_array()
                .map_or(0, Vec::len);
            samples.add(started.elapsed(), &self.meter.take());
        }
        samples.print(&format!("search, {radius} m"));
        println!(
            "{:<24}{:.1} of at most 20 on the first page",
            "",
            found as f64 / SEARCHES as f64
        );
    }

    async fn get(&self, router: &Router, path: &str) -> Value {
        let key = self.test.alice.key.as_deref().expect("a key");
        let request = Request::get(path)
            .header("authorization", format!("Bearer {key}"))
            .header("host", "api.example.com");
        let request = request.body(Body::empty()).expect("a request");
        let answer = router.clone().oneshot(request).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await;
        serde_json::from_slice(&body.expect("a body")).expect("JSON")
    }

    /// The first attempt to confirm a reservation of a new vehicle.
    async fn confirm(&self, radius: u32) {
        let mut samples = Samples::default();
        let tenant = self.test.alice.tenant();
        for n in 0..CONFIRMATIONS {
            let reservation = self.reserve(n as u64 % CITIES, radius).await;
            let stored = self
                .app
                .store
                .load::<Reservation>(&tenant, &reservation)
                .await;
            let stored = stored.expect("the reservation");
            let message = ConfirmReservation {
                tenant: tenant.clone(),
                reservation,
                request: Some(Box::new(stored.request())),
            }
            .message()
            .expect("a message");
            self.meter.take();
            let started = Instant::now();
            jobs::work(&self.app, &message).await.expect("an attempt");
            samples.add(started.elapsed(), &self.meter.take());
        }
        samples.print(&format!("confirmation, {radius} m"));
    }

    async fn reserve(&self, number: u64, radius: u32) -> Id {
        let (crew, alice) = (&self.crew, &self.test.alice);
        let vehicle = alice
            .post("/v1/vehicles", tests::vehicle(&crew.fleet))
            .await;
        let (latitude, longitude) = nearby(&self.dice, city(number), 0.05);
        let request = with(
            self.test.reservation(crew, 20),
            json!({"vehicle": vehicle.id(),
                "location": {"latitude": latitude, "longitude": longitude, "radius": radius}}),
        );
        alice
            .post("/v1/reservations", request)
            .await
            .id()
            .as_str()
            .into()
    }
}

/// The measurements of one kind of work.
#[derive(Default)]
struct Samples {
    times: Vec<Duration>,
    calls: Vec<usize>,
    in_a_row: Vec<usize>,
    read: f64,
    written: f64,
}

impl Samples {
    fn add(&mut self, time: Duration, calls: &[Call]) {
        self.times.push(time);
        self.calls.push(calls.len());
        self.in_a_row.push(in_a_row(calls));
        for call in calls {
            if call.operation.contains("Write") || call.operation.contains("Put") {
                self.written += call.capacity
            } else {
                self.read += call.capacity
            }
        }
    }

    fn print(mut self, what: &str) {
        let (count, calls) = (self.times.len() as f64, self.calls.iter().sum::<usize>());
        self.times.sort();
        let at = |share: f64| self.times[((count - 1.0) * share) as usize].as_secs_f64() * 1000.0;
        println!(
            "{what:<24}p50 {:>6.2} ms   p99 {:>6.2} ms   {:>5.1} calls, at most {} in a row   {:>6.1} RCU   {:>4.1} WCU",
            at(0.5),
            at(0.99),
            calls as f64 / count,
            self.in_a_row.iter().max().unwrap_or(&0),
            self.read / count,
            self.written / count
        );
    }
}
