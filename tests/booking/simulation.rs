//! The whole life of reservations, step by step, by a seed: they are made, changed, cancelled, confirmed, moved, used and
//! given up, while connectors break, messages come twice or not at all, and the table fails. A seed replays exactly.
//!
//! `SIMULATION_SEEDS=1000 SIMULATION_STEPS=1000 cargo test --profile bench --workspace --test booking simulation` makes
//! the long run; `SIMULATION_SEED` is the first seed.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use functions::stream::{relay, sweep};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use shared::error::Result;
use shared::models::charging_station::{ChargingStation, Connector, ConnectorStatus};
use shared::models::reservation::Reservation;
use shared::origin::{Mode, Origin, Tenant};
use shared::ports::{Clock as _, Message, Queue, Schedules};
use shared::store::row::Row;
use shared::{App, Id, Kind, Timestamp};
use tests::clock::Hand;
use tests::faulty::{self, Dice, under_faults};
use tests::{Client, TestApp, with};
use tower::ServiceExt as _;

use crate::records::Records;
use crate::seeds::share_out;
use crate::{DELIVERIES, checker, setting};

const STATIONS: u128 = 3;
const VEHICLES: usize = 5;

/// Messages on their way, each with the moment at which it arrives.
#[derive(Default)]
struct Mail(Mutex<Vec<(Timestamp, Message)>>);

/// The mail and the clock it goes by.
struct Post(Arc<Mail>, Arc<Hand>);

impl Queue for Post {
    fn send<'a>(&'a self, message: &'a Message, delay_seconds: u16) -> BoxFuture<'a, Result<()>> {
        let at = self.1.now().plus_seconds(delay_seconds.into());
        self.set("", at, message)
    }
}

impl Schedules for Post {
    fn set<'a>(
        &'a self,
        _: &'a str,
        at: Timestamp,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<()>> {
        let mut mail = self.0.0.lock().expect("the mail");
        mail.push((at, message.clone()));
        Box::pin(async { Ok(()) })
    }
}

struct Simulation<'a> {
    test: &'a TestApp,
    seed: u64,
    dice: Dice,
    app: App,
    router: Router,
    clock: Arc<Hand>,
    mail: Arc<Mail>,
    client: Client,
    tenant: Tenant,
    driver: String,
    vehicles: Vec<String>,
    stations: Vec<Id>,
    latitude: f64,
    reservations: Vec<String>,
    sessions: Vec<String>,
    keys: u64,
}

#[test]
fn simulation_whatever_happens_every_reservation_is_explained_and_nothing_is_booked_twice() {
    let (seeds, steps) = (
        setting("SIMULATION_SEEDS", 2),
        setting("SIMULATION_STEPS", 80),
    );
    let first = setting("SIMULATION_SEED", 1);
    let counts = share_out(first..first + seeds, async |seeds| {
        let (mut made, mut confirmed) = (0, 0);
        while let Some(seed) = seeds.next() {
            let run = simulate(seed, steps).await;
            made += run.ends.len();
            confirmed += run.confirmed;
            if seed == first {
                let again = simulate(seed, steps).await;
                assert_eq!(run.ends, again.ends, "seed {seed} does not replay exactly");
            }
        }
        (made, confirmed)
    });
    let made: usize = counts.iter().map(|(made, _)| made).sum();
    let confirmed: usize = counts.iter().map(|(_, confirmed)| confirmed).sum();
    assert!(
        confirmed * 5 > made && made > 0,
        "{confirmed} of {made} prove nothing"
    );
}

/// What became of every reservation, in the order in which they were made.
struct Run {
    ends: Vec<Value>,
    confirmed: usize,
}

/// Each simulation has a table of its own: stations belong to everybody.
async fn simulate(seed: u64, steps: u64) -> Run {
    let test = &TestApp::start().await;
    let records = &mut Records::of(test).await;
    let mut simulation = Simulation::prepare(test, seed).await;
    for step in 0..steps {
        simulation.step().await;
        simulation.settle(records, step).await;
        if step % 10 == 9 {
            checker::check_overlaps(test, &simulation.tenant, seed).await;
            if !simulation.is_lossy() {
                simulation.check_connectors().await;
            }
        }
    }
    // Nobody asks for anything any more: within hours, nothing is pending.
    for step in 0..30 {
        simulation.pass(10);
        simulation.settle(records, step * 20).await;
    }
    let expected = simulation.reservations.len();
    let confirmed = checker::check(test, &simulation.tenant, expected, seed).await;
    let ends = simulation.ends().await;
    Run { ends, confirmed }
}

impl<'a> Simulation<'a> {
    async fn prepare(test: &'a TestApp, seed: u64) -> Self {
        let client = test.other_account(Mode::Test).await;
        let crew = test.crew(&client).await;
        let mut vehicles = vec![crew.vehicle];
        while vehicles.len() < VEHICLES {
            let made = client
                .post("/v1/vehicles", tests::vehicle(&crew.fleet))
                .await;
            vehicles.push(made.id());
        }
        let latitude = -60.0 + (seed % 1200) as f64 * 0.1;
        let mut stations = Vec::new();
        for n in 0..STATIONS {
            // The same ids for the same seed: they decide between what is equally good.
            let id = Id::from_number(Kind::ChargingStation, u128::from(seed) * 100 + n + 1);
            let location = json!({"latitude": latitude + n as f64 * 0.002, "longitude": 170.0});
            test.change_station(id.as_str(), json!({"location": location}))
                .await;
            stations.push(id);
        }
        let clock = Arc::new(Hand::at(Timestamp::from_unix_millis(1_800_000_000_000)));
        let mail = Arc::new(Mail::default());
        let post = Arc::new(Post(mail.clone(), clock.clone()));
        let parts = test.app();
        let app = App::new(
            faulty::store(&test.running().store_url, &test.running().table),
            clock.clone(),
            post.clone(),
            post,
            parts.payments.clone(),
            parts.files.clone(),
            parts.settings.clone(),
        );
        let account = client.account.clone().expect("an account");
        Self {
            test,
            seed,
            dice: Dice::new(seed),
            router: functions::router(app.clone()),
            app,
            clock,
            mail,
            client,
            tenant: Tenant {
                account,
                mode: Mode::Test,
            },
            driver: crew.driver,
            vehicles,
            stations,
            latitude,
            reservations: Vec::new(),
            sessions: Vec::new(),
            keys: 0,
        }
    }

    async fn ends(&self) -> Vec<Value> {
        let ids: Vec<Id> = self.reservations.iter().cloned().map(Id::from).collect();
        let rows = self
            .test
            .app()
            .store
            .get_all::<Reservation>(&self.tenant, &ids);
        let rows = rows.await.expect("rows").into_iter();
        rows.map(|row| {
            let mut shown = serde_json::to_value(row.object).expect("an object");
            for random in ["id", "driver", "vehicle"] {
                shown[random].take();
            }
            json!([shown, row.version])
        })
        .collect()
    }

    async fn step(&mut self) {
        match self.dice.below(100) {
            0..=29 => self.reserve().await,
            30..=37 => self.change().await,
            38..=44 => {
                if let Some(id) = self.one_of(&self.reservations) {
                    self.post(&format!("/v1/reservations/{id}/cancel"), json!({}))
                        .await;
                }
            }
            45..=54 => self.outage().await,
            55..=66 => self.charge().await,
            67..=71 => {
                if let Some(id) = self.one_of(&self.sessions) {
                    self.post(&format!("/v1/charging_sessions/{id}/stop"), json!({}))
                        .await;
                }
            }
            _ => self.pass(1 + self.dice.below(12) as i64),
        }
    }

    fn one_of<T: Clone>(&self, choices: &[T]) -> Option<T> {
        let place = self.dice.below(choices.len().max(1) as u64) as usize;
        choices.get(place).cloned()
    }

    fn pass(&self, minutes: i64) {
        self.clock.move_by(minutes * 60_000);
    }

    fn window(&self) -> Value {
        let minutes = |minutes: u64| self.clock.now().plus_seconds(minutes as i64 * 60);
        let start = 5 + self.dice.below(60);
        let end = start + 15 + self.dice.below(6) * 15;
        let slack = self.dice.below(4) * 10;
        json!({"ideal_start": minutes(start), "ideal_end": minutes(end), "latest_end": minutes(end + slack)})
    }

    async fn reserve(&mut self) {
        let vehicle = self.one_of(&self.vehicles);
        let wish = with(
            json!({"driver": self.driver, "vehicle": vehicle, "connector_type": ["Type2"],
                "location": {"latitude": self.latitude, "longitude": 170.0, "radius": 1200}}),
            self.window(),
        );
        let (status, made) = self.post("/v1/reservations", wish).await;
        assert_eq!(status, 200, "seed {}: {made}", self.seed);
        self.reservations
            .push(made["id"].as_str().expect("an id").into());
    }

    async fn change(&mut self) {
        if let Some(id) = self.one_of(&self.reservations) {
            let change = with(self.window(), json!({"earliest_start": null}));
            let (status, answer) = self.post(&format!("/v1/reservations/{id}"), change).await;
            assert!([200, 409].contains(&status), "seed {}: {answer}", self.seed);
        }
    }

    /// A connector breaks, or is repaired: every other time one that somebody is promised, if there is one.
    async fn outage(&mut self) {
        let store = &self.test.app().store;
        let ids: Vec<Id> = self.reservations.iter().cloned().map(Id::from).collect();
        let rows = store.get_all::<Reservation>(&self.tenant, &ids).await;
        let now = self.clock.now();
        let promised: Vec<_> = rows
            .expect("rows")
            .into_iter()
            .filter(|row| row.object.promised(&row.private, now).is_some())
            .map(|row| (row.object.charging_station, row.object.connector))
            .collect();
        let aimed = self.one_of(&promised).filter(|_| self.dice.percent(50));
        let (id, connector) = aimed.unwrap_or((self.one_of(&self.stations), None));
        let Some(id) = id else {
            return;
        };
        let row = store.load::<ChargingStation>(&self.tenant, &id).await;
        let mut station = row.expect("a station").object;
        let known = |one: &Connector| Some(&one.id) == connector.as_ref();
        let place = station.connectors.iter().position(known);
        let place = place.unwrap_or(self.dice.below(station.connectors.len() as u64) as usize);
        let status = &mut station.connectors[place].status;
        *status = match *status {
            ConnectorStatus::Available => ConnectorStatus::Faulted,
            ConnectorStatus::Faulted => ConnectorStatus::Available,
            // Somebody is charging.
            _ => return,
        };
        station.count_connectors();
        let origin = Origin::later(self.tenant.clone(), self.clock.now());
        let imported = store.import_stations(&origin, vec![station]);
        imported.await.expect("the station is stored");
    }

    /// A vehicle comes: mostly one that has a reservation here and now.
    async fn charge(&mut self) {
        let (mut station, mut vehicle) = (self.one_of(&self.stations), self.one_of(&self.vehicles));
        if let Some(id) = self.one_of(&self.reservations) {
            let (_, one) = self
                .send("GET", &format!("/v1/reservations/{id}"), None, None)
                .await;
            if one["status"] == "confirmed" {
                station = one["charging_station"].as_str().map(Id::from);
                vehicle = one["vehicle"].as_str().map(str::to_owned);
            }
        }
        let connector = ["1", "2"][self.dice.below(2) as usize];
        let body = json!({"charging_station": station, "connector": connector, "driver": self.driver, "vehicle": vehicle});
        let (status, answer) = self.post("/v1/charging_sessions", body).await;
        assert!([200, 409].contains(&status), "seed {}: {answer}", self.seed);
        if status == 200 {
            self.sessions
                .push(answer["id"].as_str().expect("an id").into());
        }
    }

    /// Sends a request until it is answered, with one idempotency key for as often as it takes.
    async fn post(&mut self, path: &str, body: Value) -> (u16, Value) {
        self.keys += 1;
        let key = format!("{}-{}", self.seed, self.keys);
        self.send("POST", path, Some(body), Some(key)).await
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        key: Option<String>,
    ) -> (u16, Value) {
        let authorization = format!("Bearer {}", self.client.key.as_deref().expect("a key"));
        for _ in 0..DELIVERIES {
            let mut request = Request::builder()
                .method(method)
                .uri(path)
                .header("authorization", &authorization)
                .header("host", "api.example.com");
            if let Some(key) = &key {
                request = request.header("idempotency-key", key);
            }
            if body.is_some() {
                request = request.header("content-type", "application/json");
            }
            let text = body.as_ref().map(Value::to_string).unwrap_or_default();
            let request = request.body(Body::from(text)).expect("a request");
            let work = self.router.clone().oneshot(request);
            let Some(answer) = under_faults(self.dice.below(u64::MAX), work).await else {
                continue;
            };
            let answer = answer.expect("an answer");
            let status = answer.status().as_u16();
            let bytes = to_bytes(answer.into_body(), 1 << 20).await.expect("a body");
            let shown: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let again = status >= 500 || (status == 409 && shown["code"].is_null());
            if !again {
                return (status, shown);
            }
        }
        panic!("seed {}: {method} {path} was sent too often", self.seed);
    }

    /// Relays what has changed and delivers what is due, some of it twice, some of it never.
    async fn settle(&mut self, records: &mut Records, step: u64) {
        loop {
            let changes = records.read().await;
            let due = self.take_due();
            if changes.is_empty() && due.is_empty() {
                break;
            }
            for change in changes {
                self.until_done(async || relay::handle(&self.app, &change).await)
                    .await;
            }
            for message in due {
                let copies = match self.dice.below(100) {
                    0..=4 if self.is_lossy() => 0,
                    5..=14 => 2,
                    _ => 1,
                };
                for _ in 0..copies {
                    self.until_done(async || functions::work(&self.app, &message).await)
                        .await;
                }
            }
        }
        if step.is_multiple_of(10) {
            self.until_done(async || sweep::handle(&self.app).await.map(drop))
                .await;
        }
    }

    /// In every other simulation messages get lost, and only what waits for a moment is found again.
    fn is_lossy(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    /// Fails when somebody is promised a connector that is out of order, and no other is sought soon.
    async fn check_connectors(&self) {
        let store = &self.test.app().store;
        let now = self.clock.now();
        let ids: Vec<Id> = self.reservations.iter().cloned().map(Id::from).collect();
        let rows = store.get_all::<Reservation>(&self.tenant, &ids).await;
        let stations = store.get_all::<ChargingStation>(&self.tenant, &self.stations);
        let stations = stations.await.expect("the stations");
        for row in rows.expect("rows") {
            let sought = row.private.displaced && row.private.due.is_some_and(|due| due > now);
            if row.object.promised(&row.private, now).is_none() || sought {
                continue;
            }
            let of = |station: &&Row<ChargingStation>| row.object.is_for(&station.object.id);
            let station = stations.iter().find(of).expect("its station");
            let connector = row.object.connector.as_deref().expect("its connector");
            assert!(
                station.object.can_promise(connector),
                "seed {}: {:?} is promised {connector} of {station:?}",
                self.seed,
                row.object
            );
        }
    }

    /// The messages that have arrived, in the order in which they did.
    fn take_due(&self) -> Vec<Message> {
        let now = self.clock.now();
        let mut mail = self.mail.0.lock().expect("the mail");
        let (mut due, later): (Vec<_>, Vec<_>) =
            mail.drain(..).partition(|(arrives, _)| *arrives <= now);
        *mail = later;
        due.sort_by_key(|(arrives, _)| *arrives);
        due.into_iter().map(|(_, message)| message).collect()
    }

    async fn until_done(&self, work: impl AsyncFn() -> Result<()>) {
        for _ in 0..DELIVERIES {
            if let Some(Ok(())) = under_faults(self.dice.below(u64::MAX), work()).await {
                return;
            }
        }
        panic!(
            "seed {}: a piece of work was delivered too often",
            self.seed
        );
    }
}
