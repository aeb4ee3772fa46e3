//! The proof that nothing is booked twice: rivals for few connectors and few vehicles, on a table that fails, and a checker that reads
//! only reservations and events.
//!
//! `BOOKING_ROUNDS=200 cargo test --profile bench --workspace --test booking rivals` runs the proof of a release, with `STORE_URL` on
//! another DynamoDB; `BOOKING_SEED` is the seed of the first round.

mod checker;
mod simulation;
mod sweep;

use functions::job::Job as _;
use functions::reservations::confirm::ConfirmReservation;
use functions::{App, jobs};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures::future::join_all;
use kernel::{Currency, Id, Mode, Origin, SignedDuration, Tenant, Timestamp};
use models::reservation::{ReservationStatus, Terms};
use models::{Driver, Reservation, Stored, Vehicle};
use serde_json::{Value, json};

use kernel::time::minutes;
use tests::clock::Hand;
use tests::faulty::{self, Dice, under_faults};
use tests::stage::{DELIVERIES, setting};
use tests::{Client, TestApp, with};
use tower::ServiceExt as _;

use tests::seeds::share_out;

const RESERVATIONS: usize = 64;
const VEHICLES: u64 = 20;
const STATIONS: usize = 5;
/// The time between two attempts.
const STEP: SignedDuration = minutes(10);
/// The number of rounds that one service plays. Its clock runs in real time: after 20 minutes, reservations of its first round would
/// expire.
const ROUNDS_OF_A_SERVICE: u64 = 25;
/// The number of steps after which every window has passed.
const STEPS: usize = 12;

struct Round {
    seed: u64,
    dice: Dice,
    /// The service on the failing table.
    app: App,
    clock: Arc<Hand>,
    client: Client,
    tenant: Tenant,
    reservations: Vec<Id>,
}

#[test]
fn rivals_never_double_book_when_the_table_fails() {
    let (rounds, first) = (setting("BOOKING_ROUNDS", 1), setting("BOOKING_SEED", 1));
    let confirmed = share_out(first..first + rounds, async |seeds| {
        let mut confirmed = 0;
        loop {
            let app = TestApp::start().await;
            for _ in 0..ROUNDS_OF_A_SERVICE {
                let Some(seed) = seeds.next() else {
                    return confirmed;
                };
                confirmed += round(&app, seed).await;
            }
        }
    });
    let confirmed: usize = confirmed.into_iter().sum();
    let faults = faulty::FAULTS.load(Ordering::Relaxed);
    assert!(
        confirmed >= 10 * rounds as usize,
        "{confirmed} of {rounds} rounds prove nothing"
    );
    assert!(faults >= 50 * rounds, "{faults} faults prove nothing");
}

/// One round, at the end of which everything is confirmed, failed or cancelled. Returns the number of confirmed reservations.
async fn round(test: &TestApp, seed: u64) -> usize {
    let round = Round::prepare(test, seed).await;
    for step in 0..STEPS {
        let open = round.open(test).await;
        if open.is_empty() {
            break;
        }
        assert!(step + 1 < STEPS, "seed {seed}: {open:?} are still pending");
        round.work(&open).await;
        round.clock.move_by(STEP);
    }
    test.drain().await;
    checker::check(test, &round.tenant, RESERVATIONS, seed).await
}

impl Round {
    async fn prepare(test: &TestApp, seed: u64) -> Self {
        let client = test.other_account(Mode::Test).await;
        let tenant = client.tenant();
        let now = test.now();
        let clock = Arc::new(Hand::at(now));
        let store = faulty::store(&test.running().store_url, &test.running().table);
        let app = test.app_with(store, clock.clone());
        let mut round = Self {
            seed,
            dice: Dice::new(seed),
            app,
            clock,
            client,
            tenant,
            reservations: Vec::new(),
        };
        round.populate(test, now).await;
        round
    }

    /// Five stations of two EVSEs, one of which has two cables; twenty vehicles, and the reservations.
    async fn populate(&mut self, test: &TestApp, now: Timestamp) {
        let crew = test.crew(&self.client).await;
        let place = (
            -60.0 + (self.seed % 240) as f64 * 0.5,
            -150.0 + (self.seed / 240) as f64,
        );
        for n in 0..STATIONS {
            let location = json!({"latitude": place.0 + n as f64 * 0.002, "longitude": place.1});
            test.station_with_cables(json!({"location": location}))
                .await;
        }
        let (store, origin) = (
            &test.app().store,
            Origin::background(self.tenant.clone(), now),
        );
        let id = Id::from(crew.driver.as_str());
        let driver = store.load::<Driver>(&self.tenant, &id);
        let driver = driver.await.expect("a driver").object;
        let vehicles: Vec<Vehicle> = (0..VEHICLES)
            .map(|_| serde_json::from_value(tests::vehicle(&crew.fleet)).expect("a body"))
            .map(|new| Vehicle::new(new, now).expect("a vehicle").object)
            .collect();
        let mut tx = store.begin(&origin);
        for vehicle in &vehicles {
            let mut stored = Stored::new(vehicle.clone());
            tx.create(&mut stored).expect("an item");
        }
        let committed = tx.commit_without_response();
        committed.await.expect("the vehicles are stored");
        let mut tx = store.begin(&origin);
        for _ in 0..RESERVATIONS {
            let vehicle = &vehicles[self.dice.below(VEHICLES) as usize];
            let new = serde_json::from_value(self.request(&driver, vehicle, now, place));
            let terms = Terms {
                currency: Currency::USD,
                fee: 100,
                fee_tax_percent: Default::default(),
            };
            let new = new.expect("a body");
            let reservation = Reservation::new(new, &driver, vehicle, None, terms, now);
            let mut stored = reservation.expect("a reservation");
            stored.clear_events();
            self.reservations.push(stored.object.id.clone());
            tx.create(&mut stored).expect("an item");
        }
        let committed = tx.commit_without_response();
        committed.await.expect("the reservations are stored");
    }

    fn request(
        &self,
        driver: &Driver,
        vehicle: &Vehicle,
        now: Timestamp,
        place: (f64, f64),
    ) -> Value {
        let dice = &self.dice;
        let minutes = |count: u64| now.plus(minutes(count as i64));
        let start = 5 + dice.below(7) * 5;
        let end = start + 15 + dice.below(6) * 15;
        let request = json!({
            "driver": driver.id, "vehicle": vehicle.id, "connector_type": ["Type2"],
            "ideal_start": minutes(start), "ideal_end": minutes(end),
            "location": {"latitude": place.0, "longitude": place.1, "radius": 1200},
        });
        match dice.below(3) {
            0 => request,
            1 => with(request, json!({"latest_end": minutes(end + 15)})),
            _ => {
                let earliest = minutes(start.saturating_sub(20).max(1));
                with(
                    request,
                    json!({"earliest_start": earliest, "latest_end": minutes(end + 20)}),
                )
            }
        }
    }

    /// The reservations that are still open.
    async fn open(&self, test: &TestApp) -> Vec<Id> {
        let reservations = test
            .app()
            .store
            .get_all::<Reservation>(&self.tenant, &self.reservations)
            .await
            .expect("objects");
        reservations
            .into_iter()
            .filter(|reservation| reservation.object.status() == ReservationStatus::Pending)
            .map(|reservation| reservation.object.id)
            .collect()
    }

    /// Delivers the message of every open reservation, some twice, while some are cancelled.
    async fn work(&self, open: &[Id]) {
        let mut deliveries = Vec::new();
        for id in open {
            let copies = if self.dice.percent(15) { 2 } else { 1 };
            for _ in 0..copies {
                deliveries.push(self.confirm(id));
            }
        }
        let mut cancelled: Vec<&Id> = self.reservations.iter().collect();
        cancelled.retain(|_| self.dice.percent(4));
        let cancels = cancelled.into_iter().map(|id| self.cancel(id));
        tokio::join!(join_all(deliveries), join_all(cancels));
    }

    async fn confirm(&self, id: &Id) {
        let message = ConfirmReservation {
            tenant: self.tenant.clone(),
            reservation: id.clone(),
            request: None,
        }
        .message()
        .expect("a message");
        for _ in 0..DELIVERIES {
            let work = jobs::work(&self.app, &message);
            if let Some(Ok(())) = under_faults(self.dice.below(u64::MAX), work).await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(self.dice.below(8))).await;
        }
        panic!("seed {}: {id} was delivered too often", self.seed);
    }

    /// Cancels with the route, with one idempotency key for all tries.
    async fn cancel(&self, id: &Id) {
        tokio::time::sleep(Duration::from_millis(self.dice.below(400))).await;
        let key = format!("cancel-{id}-{}", self.dice.below(u64::MAX));
        for _ in 0..DELIVERIES {
            let request = Request::post(format!("/v1/reservations/{id}/cancel"))
                .header(
                    "authorization",
                    format!("Bearer {}", self.client.key.as_deref().expect("a key")),
                )
                .header("content-type", "application/json")
                .header("host", "api.example.com")
                .header("idempotency-key", &key)
                .body(Body::from("{}"))
                .expect("a request");
            let work = functions::router(self.app.clone()).oneshot(request);
            let answer = under_faults(self.dice.below(u64::MAX), work).await;
            let status = answer.map(|answer| answer.expect("an answer").status());
            match status {
                Some(StatusCode::OK) => return,
                // It failed before, or another request was faster; while it is being booked, 409 has another reason.
                Some(StatusCode::CONFLICT) if self.dice.percent(30) => return,
                _ => tokio::time::sleep(Duration::from_millis(self.dice.below(8))).await,
            }
        }
    }
}
