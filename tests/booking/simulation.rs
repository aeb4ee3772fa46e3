//! The whole life of reservations, step by step, by a seed: they are created, changed, cancelled, confirmed, moved, used and given up,
//! while connectors break, messages come twice or not at all, and the table fails. A seed replays exactly.
//!
//! `SIMULATION_SEEDS=1000 SIMULATION_STEPS=1000 cargo test --profile bench --workspace --test booking simulation` starts the long run;
//! `SIMULATION_SEED` is the first seed.

use kernel::time::minutes;
use kernel::{Id, Kind, Mode, Origin, Timestamp};
use models::charging_station::{Connector, ConnectorStatus};
use models::ports::Clock as _;
use models::reservation::ReservationStatus;
use models::{ChargingStation, Reservation, Stored};
use serde_json::{Value, json};
use tests::records::Records;
use tests::stage::{Outside, Stage, setting};
use tests::{TestApp, with};

use crate::checker;
use tests::seeds::share_out;

const STATIONS: u128 = 3;
const VEHICLES: usize = 5;

struct Simulation<'a> {
    test: &'a TestApp,
    stage: Stage,
    driver: String,
    vehicles: Vec<String>,
    stations: Vec<Id>,
    latitude: f64,
    reservations: Vec<String>,
    /// Those that may still be open.
    open: Vec<Id>,
    sessions: Vec<String>,
}

#[test]
fn simulation_explains_each_reservation_and_never_double_books() {
    let (seeds, steps) = (
        setting("SIMULATION_SEEDS", 2),
        setting("SIMULATION_STEPS", 80),
    );
    let first = setting("SIMULATION_SEED", 1);
    let counts = share_out(first..first + seeds, async |seeds| {
        let (mut created, mut confirmed) = (0, 0);
        while let Some(seed) = seeds.next() {
            let run = simulate(seed, steps).await;
            created += run.ends.len();
            confirmed += run.confirmed;
            if seed == first {
                let again = simulate(seed, steps).await;
                for (end, other) in run.ends.iter().zip(&again.ends) {
                    assert_eq!(end, other, "seed {seed} does not replay exactly");
                }
                assert_eq!(
                    run.ends.len(),
                    again.ends.len(),
                    "seed {seed} does not replay exactly"
                );
            }
        }
        (created, confirmed)
    });
    let created: usize = counts.iter().map(|(created, _)| created).sum();
    let confirmed: usize = counts.iter().map(|(_, confirmed)| confirmed).sum();
    assert!(
        confirmed * 5 > created && created > 0,
        "{confirmed} of {created} prove nothing"
    );
}

/// The outcome of every reservation, in the order of creation.
struct Run {
    ends: Vec<Value>,
    confirmed: usize,
}

/// Each simulation has its own table, because all accounts share the stations.
async fn simulate(seed: u64, steps: u64) -> Run {
    let test = &TestApp::start().await;
    let records = &mut Records::of(test).await;
    let mut simulation = Simulation::prepare(test, seed).await;
    for step in 0..steps {
        simulation.step().await;
        simulation.settle(records, step).await;
        if step % 10 == 9 {
            let now = simulation.stage.clock.now();
            checker::check_overlaps(test, &simulation.stage.tenant, seed, now).await;
            if !simulation.stage.is_lossy() {
                simulation.check_connectors().await;
            }
        }
    }
    // There are no more requests: within hours, nothing is pending.
    for step in 0..30 {
        simulation.stage.pass(10);
        simulation.settle(records, step * 20).await;
    }
    let expected = simulation.reservations.len();
    let confirmed = checker::check(test, &simulation.stage.tenant, expected, seed).await;
    let ends = simulation.ends().await;
    Run { ends, confirmed }
}

impl<'a> Simulation<'a> {
    async fn prepare(test: &'a TestApp, seed: u64) -> Self {
        let client = test.other_account(Mode::Test).await;
        let crew = test.crew(&client).await;
        let mut vehicles = vec![crew.vehicle];
        while vehicles.len() < VEHICLES {
            let vehicle = client
                .post("/v1/vehicles", tests::vehicle(&crew.fleet))
                .await;
            vehicles.push(vehicle.id());
        }
        let latitude = -60.0 + (seed % 1200) as f64 * 0.1;
        let mut stations = Vec::new();
        for n in 0..STATIONS {
            // The same ids for the same seed, because they decide between equally good candidates.
            let id = Id::from_number(Kind::ChargingStation, u128::from(seed) * 100 + n + 1);
            let location = json!({"latitude": latitude + n as f64 * 0.002, "longitude": 170.0});
            let change = json!({"location": location, "connectors": tests::cables()});
            test.change_station(id.as_str(), change).await;
            stations.push(id);
        }
        let began = Timestamp::from_unix_millis(1_800_000_000_000);
        Self {
            test,
            stage: Stage::new(test, &client, Outside::of(test), seed, began),
            driver: crew.driver,
            vehicles,
            stations,
            latitude,
            reservations: Vec::new(),
            open: Vec::new(),
            sessions: Vec::new(),
        }
    }

    async fn ends(&self) -> Vec<Value> {
        let ids: Vec<Id> = self.reservations.iter().cloned().map(Id::from).collect();
        let reservations = self
            .test
            .app()
            .store
            .get_all::<Reservation>(&self.stage.tenant, &ids);
        let reservations = reservations.await.expect("objects").into_iter();
        reservations
            .map(|reservation| {
                let mut shown = serde_json::to_value(reservation.object).expect("an object");
                for random in ["id", "charging_session", "driver", "vehicle"] {
                    shown[random].take();
                }
                json!([shown, reservation.version])
            })
            .collect()
    }

    async fn step(&mut self) {
        match self.stage.dice.below(100) {
            0..=29 => self.reserve().await,
            30..=37 => self.change().await,
            38..=44 => {
                if let Some(id) = self.stage.one_of(&self.reservations) {
                    self.stage
                        .post(&format!("/v1/reservations/{id}/cancel"), json!({}))
                        .await;
                }
            }
            45..=54 => self.outage().await,
            55..=66 => self.charge().await,
            67..=71 => {
                if let Some(id) = self.stage.one_of(&self.sessions) {
                    self.stage
                        .post(&format!("/v1/charging_sessions/{id}/stop"), json!({}))
                        .await;
                }
            }
            _ => self.stage.pass(1 + self.stage.dice.below(12) as i64),
        }
    }

    fn window(&self) -> Value {
        let minutes = |count: u64| self.stage.clock.now().plus(minutes(count as i64));
        let start = 5 + self.stage.dice.below(60);
        let end = start + 15 + self.stage.dice.below(6) * 15;
        let slack = self.stage.dice.below(4) * 10;
        json!({"ideal_start": minutes(start), "ideal_end": minutes(end), "latest_end": minutes(end + slack)})
    }

    async fn reserve(&mut self) {
        let vehicle = self.stage.one_of(&self.vehicles);
        let request = with(
            json!({"driver": self.driver, "vehicle": vehicle, "connector_type": ["Type2"],
                "location": {"latitude": self.latitude, "longitude": 170.0, "radius": 600}}),
            self.window(),
        );
        let (status, reservation) = self.stage.post("/v1/reservations", request).await;
        assert_eq!(status, 200, "seed {}: {reservation}", self.stage.seed);
        let id = reservation["id"].as_str().expect("an id");
        self.reservations.push(id.to_owned());
        self.open.push(id.into());
    }

    async fn change(&mut self) {
        if let Some(id) = self.stage.one_of(&self.reservations) {
            let change = with(self.window(), json!({"earliest_start": null}));
            let (status, answer) = self
                .stage
                .post(&format!("/v1/reservations/{id}"), change)
                .await;
            assert!(
                [200, 409].contains(&status),
                "seed {}: {answer}",
                self.stage.seed
            );
        }
    }

    /// The reservations that are still open, in the order of creation.
    async fn open(&mut self) -> Vec<Stored<Reservation>> {
        let store = &self.test.app().store;
        let reservations = store.get_all::<Reservation>(&self.stage.tenant, &self.open);
        let mut reservations = reservations.await.expect("objects");
        reservations.retain(|reservation| {
            use ReservationStatus::{Confirmed, Pending};
            matches!(reservation.object.status(), Pending | Confirmed)
        });
        self.open = reservations
            .iter()
            .map(|reservation| reservation.object.id.clone())
            .collect();
        reservations
    }

    /// An EVSE breaks, or is repaired: every other time a reserved one, if there is one.
    async fn outage(&mut self) {
        let reservations = self.open().await;
        let store = &self.test.app().store;
        let now = self.stage.clock.now();
        let reserved: Vec<_> = reservations
            .into_iter()
            .filter(|reservation| reservation.reserved_window(now).is_some())
            .filter_map(|reservation| reservation.object.state.reserved().cloned())
            .map(|reserved| (Some(reserved.station), Some(reserved.connector)))
            .collect();
        let aimed = self
            .stage
            .one_of(&reserved)
            .filter(|_| self.stage.dice.percent(50));
        let (id, connector) = aimed.unwrap_or((self.stage.one_of(&self.stations), None));
        let Some(id) = id else {
            return;
        };
        let stored = store.load::<ChargingStation>(&self.stage.tenant, &id).await;
        let mut station = stored.expect("a station").object;
        let known = |candidate: &Connector| Some(&candidate.id) == connector.as_ref();
        let place = station.connectors.iter().position(known);
        let place =
            place.unwrap_or(self.stage.dice.below(station.connectors.len() as u64) as usize);
        let status = match station.connectors[place].status {
            ConnectorStatus::Available => ConnectorStatus::Faulted,
            ConnectorStatus::Faulted => ConnectorStatus::Available,
            // A session is running.
            _ => return,
        };
        let evse = station.connectors[place].evse.clone();
        let connectors = station.connectors.iter_mut();
        for connector in connectors.filter(|connector| connector.evse == evse) {
            connector.status = status;
        }
        station.count_connectors();
        let origin = Origin::background(self.stage.tenant.clone(), self.stage.clock.now());
        let imported = store.import_stations(&origin, vec![station]);
        imported.await.expect("the station is stored");
    }

    /// A vehicle arrives, usually one that has a reservation here and now.
    async fn charge(&mut self) {
        let (mut station, mut vehicle) = (
            self.stage.one_of(&self.stations),
            self.stage.one_of(&self.vehicles),
        );
        if let Some(id) = self.stage.one_of(&self.reservations) {
            let reservation = self.stage.get(&format!("/v1/reservations/{id}")).await;
            if reservation["status"] == "confirmed" {
                station = reservation["charging_station"].as_str().map(Id::from);
                vehicle = reservation["vehicle"].as_str().map(str::to_owned);
            }
        }
        let connector = ["1", "2", "3"][self.stage.dice.below(3) as usize];
        let body = json!({"charging_station": station, "connector": connector, "driver": self.driver, "vehicle": vehicle});
        let (status, answer) = self.stage.post("/v1/charging_sessions", body).await;
        assert!(
            [200, 409].contains(&status),
            "seed {}: {answer}",
            self.stage.seed
        );
        if status == 200 {
            self.sessions
                .push(answer["id"].as_str().expect("an id").into());
        }
    }

    async fn settle(&self, records: &mut Records, step: u64) {
        self.stage.settle(records).await;
        if step.is_multiple_of(10) {
            self.stage.sweep().await;
        }
    }

    /// Fails if the connectors of an EVSE differ in their status, if the station counts its free EVSEs wrongly, or if a reserved
    /// connector is out of order and no other is searched for soon.
    async fn check_connectors(&mut self) {
        let reservations = self.open().await;
        let store = &self.test.app().store;
        let now = self.stage.clock.now();
        let stations = store.get_all::<ChargingStation>(&self.stage.tenant, &self.stations);
        let stations = stations.await.expect("the stations");
        for Stored { object, .. } in &stations {
            let [a, same, b] = [0, 1, 2].map(|place| object.connectors[place].status);
            assert_eq!(a, same, "seed {}: {object:?}", self.stage.seed);
            let free = [a, b].map(|status| u32::from(status == ConnectorStatus::Available));
            let counted = object.availability.connectors_available;
            assert_eq!(counted, free[0] + free[1], "seed {}", self.stage.seed);
        }
        for reservation in reservations {
            let sought = reservation.is_awaiting_rematch()
                && reservation.next_action_at().is_some_and(|due| due > now);
            if reservation.reserved_window(now).is_none() || sought {
                continue;
            }
            let of =
                |station: &&Stored<ChargingStation>| reservation.object.is_for(&station.object.id);
            let station = stations.iter().find(of).expect("its station");
            let reserved = reservation.object.state.reserved().expect("its connector");
            let connector = reserved.connector.as_str();
            assert!(
                station.object.is_in_order(connector),
                "seed {}: {:?} is confirmed on {connector} of {station:?}",
                self.stage.seed,
                reservation.object
            );
        }
    }
}
