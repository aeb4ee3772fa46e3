//! Simulates deliveries of events, step by step, by a seed: fleets are created and changed, receivers fail and recover, an endpoint is
//! disabled and enabled, replays are started and events delivered again on request, while the table fails and workers are killed
//! before or after any of their calls: between a change and its event, between an event and its messages, and between the claim of an
//! attempt and its outcome. An endpoint with `ordered` fails and recovers as well, and a reader polls now and then. In the end every
//! event has arrived at each endpoint that was subscribed when it happened, none was invented, and nothing was sent again after a
//! receiver's acknowledgement was stored. The ordered endpoint received the events of each fleet in their order, and the reader
//! received all of them.
//!
//! `WEBHOOK_SEEDS=20 WEBHOOK_STEPS=100 cargo test --workspace --test webhooks` starts the long run; `WEBHOOK_SEED` is the first seed,
//! and `WEBHOOK_KILLS` is the minimum number of kills.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;

use kernel::time::hours;
use kernel::{Id, Mode};
use models::WebhookEndpoint;
use models::event::DeliveryState;
use models::webhook_replay::WebhookReplay;
use serde_json::{Value, json};
use table::held::HeldDelivery;
use tests::faulty::KILLS;
use tests::records::Records;
use tests::seeds::share_out;
use tests::stage::{Outside, Stage, setting};
use tests::{Received, Receiver, TestApp, fleet, header, with};

#[test]
fn every_event_arrives_whoever_is_killed() {
    let (seeds, steps) = (setting("WEBHOOK_SEEDS", 4), setting("WEBHOOK_STEPS", 40));
    let first = setting("WEBHOOK_SEED", 1);
    let played = share_out(first..first + seeds, async |seeds| {
        let test = TestApp::start().await;
        let mut records = Records::of(&test).await;
        let mut played = Played::default();
        while let Some(seed) = seeds.next() {
            let world = World::prepare(&test, &mut records, seed).await;
            played.add(&world.play(&test, &mut records, steps).await);
        }
        played
    });
    let mut all = Played::default();
    played.iter().for_each(|part| all.add(part));
    let kills = KILLS.load(Relaxed);
    // With --nocapture, the number of cases that a long run covers.
    let line = format!("{kills} kills, {all:?}\n");
    drop(std::io::Write::write_all(
        &mut std::io::stderr(),
        line.as_bytes(),
    ));
    assert!(kills >= setting("WEBHOOK_KILLS", 20), "{line}");
    let Played {
        held,
        replays,
        resent,
        ..
    } = all;
    assert!(held > 0 && replays > 0 && resent > 0, "{line}");
}

/// The events of the run, so that every run proves something.
#[derive(Debug, Default)]
struct Played {
    events: usize,
    requests: usize,
    /// The number of times that deliveries were found held.
    held: usize,
    replays: usize,
    /// The number of requests that were marked as repetitions.
    resent: usize,
}

impl Played {
    fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.requests += other.requests;
        self.held += other.held;
        self.replays += other.replays;
        self.resent += other.resent;
    }
}

/// An endpoint and its receiver.
struct Hook {
    id: Id,
    receiver: Receiver,
    is_failing: bool,
    is_enabled: bool,
    /// The events whose acknowledgement was stored, with the number of requests that had been received by then.
    acknowledged: BTreeMap<Id, usize>,
}

impl Hook {
    fn path(&self, verb: &str) -> String {
        format!("/v1/webhook_endpoints/{}{verb}", self.id)
    }

    fn fail(&mut self) {
        self.is_failing = true;
        self.receiver.answer(&[500; 10_000]);
    }

    fn recover(&mut self) {
        self.is_failing = false;
        self.receiver.recover();
    }
}

/// The endpoint that is never disabled, the one that is disabled and receives missed events by replays, and the ordered one.
const STEADY: usize = 0;
const REPLAYED: usize = 1;
const ORDERED: usize = 2;

struct World {
    stage: Stage,
    hooks: Vec<Hook>,
    /// The fleets, and the number of changes of each.
    fleets: Vec<(String, usize)>,
    /// Events that were delivered again on request.
    asked_again: BTreeSet<String>,
    /// The path of the events of the polling endpoint, the last cursor, and the events that it has returned.
    reader: (String, String, BTreeSet<Id>),
    played: Played,
}

impl World {
    async fn prepare(test: &TestApp, records: &mut Records, seed: u64) -> Self {
        let client = test.other_account(Mode::Test).await;
        let mut stage = Stage::new(test, &client, Outside::of(test), seed, test.now());
        let mut hooks = Vec::new();
        for change in [json!({}), json!({}), json!({"ordered": true})] {
            let receiver = Receiver::start().await;
            let body =
                json!({"url": receiver.url, "enabled_events": ["fleet.created", "fleet.updated"]});
            let id = stage.make("/v1/webhook_endpoints", with(body, change));
            hooks.push(Hook {
                id: Id::from(id.await),
                receiver,
                is_failing: false,
                is_enabled: true,
                acknowledged: BTreeMap::new(),
            });
        }
        let polling =
            json!({"type": "polling", "enabled_events": ["fleet.created", "fleet.updated"]});
        let polling = stage.make("/v1/webhook_endpoints", polling).await;
        let path = format!("/v1/webhook_endpoints/{polling}/events");
        stage.settle(records).await;
        let begin = stage.get(&path).await;
        let cursor = begin["cursor"].as_str().expect("a cursor").to_owned();
        Self {
            stage,
            hooks,
            fleets: Vec::new(),
            asked_again: BTreeSet::new(),
            reader: (path, cursor, BTreeSet::new()),
            played: Played::default(),
        }
    }

    async fn play(mut self, test: &TestApp, records: &mut Records, steps: u64) -> Played {
        for step in 0..steps {
            self.step(test).await;
            // Some messages arrive only after the next steps.
            if self.stage.dice.percent(80) {
                self.stage.settle(records).await;
            }
            self.note_acknowledged(test).await;
            if step % 10 == 9 {
                self.stage.sweep().await;
            }
        }
        for hook in &mut self.hooks {
            hook.recover();
        }
        self.enable(true).await;
        self.wait(records, 8).await;
        // A kill ends the ten attempts that a release makes side by side, so some releases need more runs.
        for _ in 0..4 {
            if self.held(test).await.is_empty() {
                break;
            }
            self.wait(records, 8).await;
        }
        self.check_steady(test).await;
        self.poll().await;
        self.replay().await;
        // If a run of the replay is killed, it is repeated after its lease has expired and a sweep finds it: here once in six hours.
        self.wait(records, 10).await;
        self.check().await
    }

    async fn step(&mut self, test: &TestApp) {
        match self.stage.dice.below(100) {
            0..=29 => {
                let id = self.stage.make("/v1/fleets", fleet()).await;
                self.fleets.push((id, 0));
            }
            30..=49 => self.change_fleet().await,
            50..=59 => {
                let place = self.stage.dice.below(3) as usize;
                if self.hooks[place].is_failing {
                    self.hooks[place].recover()
                } else {
                    self.hooks[place].fail()
                }
            }
            60..=66 => {
                let is_enabled = self.hooks[REPLAYED].is_enabled;
                self.enable(!is_enabled).await;
            }
            67..=74 => {
                self.note_acknowledged(test).await;
                self.replay().await;
            }
            75..=78 => self.redeliver().await,
            79..=84 => self.poll().await,
            _ => self.stage.pass(1 + self.stage.dice.below(60) as i64),
        }
    }

    async fn change_fleet(&mut self) {
        let count = self.fleets.len().max(1) as u64;
        let place = self.stage.dice.below(count) as usize;
        if let Some((id, changes)) = self.fleets.get_mut(place) {
            *changes += 1;
            let body = json!({"name": format!("Fleet {changes}")});
            let path = format!("/v1/fleets/{id}");
            let (status, shown) = self.stage.post(&path, body).await;
            assert_eq!(status, 200, "seed {}: {shown}", self.stage.seed);
        }
    }

    async fn enable(&mut self, is_enabled: bool) {
        let hook = &mut self.hooks[REPLAYED];
        hook.is_enabled = is_enabled;
        let status = if is_enabled { "enabled" } else { "disabled" };
        let path = hook.path("");
        let (code, shown) = self.stage.post(&path, json!({"status": status})).await;
        assert_eq!(code, 200, "seed {}: {shown}", self.stage.seed);
    }

    /// Starts a replay of failed deliveries, unless one is running or the endpoint is disabled.
    async fn replay(&mut self) {
        let hook = &self.hooks[REPLAYED];
        let path = hook.path("/replay");
        let last = self.stage.get(&path).await;
        let until = self.stage.app.now().plus(hours(1)).to_string();
        if hook.is_enabled && last["status"] != "running" {
            let body = json!({"from": "2020-01-01T00:00:00Z", "until": until});
            let (status, shown) = self.stage.post(&path, body).await;
            assert_eq!(status, 200, "seed {}: {shown}", self.stage.seed);
            self.played.replays += 1;
        }
    }

    /// Reads the new events of the polling endpoint.
    async fn poll(&mut self) {
        loop {
            let (path, cursor, _) = &self.reader;
            let page = self
                .stage
                .get(&format!("{path}?limit=7&cursor={cursor}"))
                .await;
            let (_, cursor, seen) = &mut self.reader;
            *cursor = page["cursor"].as_str().expect("a cursor").to_owned();
            for event in page["data"].as_array().expect("events") {
                seen.insert(Id::from(event["id"].as_str().expect("an id")));
            }
            if page["has_more"] == false {
                return;
            }
        }
    }

    async fn redeliver(&mut self) {
        let events = self.events().await;
        if let Some(event) = self.stage.one_of(&events) {
            let id = event["id"].as_str().expect("an id").to_owned();
            let path = format!("/v1/events/{id}/redeliver");
            self.asked_again.insert(id);
            let (status, shown) = self.stage.post(&path, json!({})).await;
            assert_eq!(status, 200, "seed {}: {shown}", self.stage.seed);
        }
    }

    /// Records the deliveries that have succeeded so far according to the table, and whether any are held.
    async fn note_acknowledged(&mut self, test: &TestApp) {
        let (store, tenant) = (&test.app().store, &self.stage.tenant);
        for hook in &mut self.hooks {
            let received = hook.receiver.received();
            let ids: BTreeSet<Id> = received.iter().map(event_id).collect();
            let pairs: Vec<_> = ids.iter().map(|id| (id, &hook.id)).collect();
            let found = store.deliveries_of(tenant, &pairs, true).await;
            for ((event, _), delivery) in found.expect("deliveries") {
                if delivery.state == DeliveryState::Delivered {
                    hook.acknowledged.entry(event).or_insert(received.len());
                }
            }
            let held = store.held_deliveries(tenant, &hook.id, 1).await;
            self.played.held += held.expect("held deliveries").len();
        }
    }

    /// Advances the time by this number of quarters of a day.
    async fn wait(&mut self, records: &mut Records, quarters: usize) {
        for _ in 0..quarters {
            for _ in 0..4 {
                self.stage.pass(20);
                self.stage.settle(records).await;
            }
            self.stage.sweep().await;
            self.stage.settle(records).await;
            self.stage.pass(280);
        }
    }

    async fn events(&self) -> Vec<Value> {
        let mut events = Vec::new();
        let mut next = Some("/v1/events?limit=100".to_owned());
        while let Some(path) = next {
            let page = self.stage.get(&path).await;
            events.extend(page["data"].as_array().expect("a list").clone());
            let path = |url: &str| url.find("/v1/").map(|at| url[at..].to_owned());
            next = page["next_page_url"].as_str().and_then(path);
        }
        events.retain(|event| {
            event["type"]
                .as_str()
                .is_some_and(|kind| kind.starts_with("fleet."))
        });
        events
    }

    /// Checks that the endpoint that was never disabled has received everything without a replay.
    async fn check_steady(&self, test: &TestApp) {
        self.check_arrived(STEADY).await;
        self.check_arrived(ORDERED).await;
        assert_eq!(self.held(test).await, [], "seed {}", self.stage.seed);
    }

    /// The deliveries that are held at any endpoint.
    async fn held(&self, test: &TestApp) -> Vec<HeldDelivery> {
        let (store, tenant) = (&test.app().store, &self.stage.tenant);
        let mut held = Vec::new();
        for hook in &self.hooks {
            let found = store.held_deliveries(tenant, &hook.id, 10);
            held.extend(found.await.expect("held deliveries"));
        }
        held
    }

    async fn check_arrived(&self, place: usize) {
        let seed = self.stage.seed;
        let received = self.hooks[place].receiver.received();
        let acknowledged: BTreeSet<Id> = received
            .iter()
            .filter(|delivery| delivery.status == 200)
            .map(event_id)
            .collect();
        let log = self.hooks[place].path("/deliveries?limit=100");
        for event in self.events().await {
            let id = Id::from(event["id"].as_str().expect("an id"));
            if !acknowledged.contains(&id) {
                let log = self.stage.get(&format!("{log}&event={id}")).await;
                let replay = self.stage.get(&self.hooks[place].path("/replay")).await;
                let (store, tenant) = (&self.stage.app.store, &self.stage.tenant);
                let endpoint = store.find::<WebhookEndpoint>(tenant, &self.hooks[place].id);
                let breaker = endpoint.await.expect("the table");
                let breaker = breaker.map(|endpoint| endpoint.internal.breaker);
                let job = WebhookReplay::id_of(&self.hooks[place].id);
                let job = store.find::<WebhookReplay>(tenant, &job).await;
                let job = job.expect("the table").map(|job| job.internal);
                panic!(
                    "seed {seed}: endpoint {place} lacks {event}: {log}, {replay}, {job:?}, {breaker:?} at {}",
                    self.stage.app.now()
                );
            }
        }
    }

    /// Checks that every change has one event, everything has arrived, nothing was invented, and nothing that was acknowledged was
    /// sent again.
    async fn check(mut self) -> Played {
        self.check_arrived(REPLAYED).await;
        let seed = self.stage.seed;
        let events = self.events().await;
        assert_eq!(events.len(), self.played_events(), "seed {seed}");
        self.check_sequences(&events);
        self.check_order();
        let by_id: BTreeMap<Id, &Value> = events
            .iter()
            .map(|event| (Id::from(event["id"].as_str().expect("an id")), event))
            .collect();
        for event in &events {
            assert_eq!(event["pending_webhooks"], 0, "seed {seed}: {event}");
        }
        let last = self.stage.get(&self.hooks[REPLAYED].path("/replay")).await;
        assert_eq!(last["status"], "succeeded", "seed {seed}: {last}");
        let mut played = std::mem::take(&mut self.played);
        played.events = events.len();
        for hook in &self.hooks {
            let received = hook.receiver.received();
            played.requests += received.len();
            for (place, delivery) in received.iter().enumerate() {
                let id = event_id(delivery);
                let event = by_id.get(&id);
                let event =
                    event.unwrap_or_else(|| panic!("seed {seed}: invented {}", delivery.event));
                assert_eq!(delivery.event["data"], event["data"], "seed {seed}");
                let is_marked = header(delivery, "webhook-redelivery") == "true";
                played.resent += usize::from(is_marked);
                let was_over = hook.acknowledged.get(&id).is_some_and(|at| *at <= place);
                let may_be = !was_over || self.asked_again.contains(id.as_str());
                assert!(may_be, "seed {seed}: {event} was sent again");
            }
        }
        played
    }
}

impl World {
    /// Checks that the first requests for the events of each fleet at the ordered endpoint are in their order, and that each event is
    /// acknowledged before the first request for the next one. Requests that are marked as repetitions are outside the order, and so
    /// is an event that the endpoint has finished.
    fn check_order(&self) {
        let mut next: BTreeMap<String, u64> = BTreeMap::new();
        let mut acknowledged: BTreeSet<(String, u64)> = BTreeSet::new();
        for delivery in self.hooks[ORDERED].receiver.received() {
            let object = &delivery.event["data"]["object"];
            let fleet = object["id"].as_str().expect("an id").to_owned();
            let number = delivery.event["sequence"].as_u64().expect("a number");
            let is_marked = header(&delivery, "webhook-redelivery") == "true";
            let expected = next.entry(fleet.clone()).or_insert(1);
            if number >= *expected && !is_marked {
                let missing = (*expected..number)
                    .find(|earlier| !acknowledged.contains(&(fleet.clone(), *earlier)));
                let seed = self.stage.seed;
                assert_eq!(missing, None, "seed {seed}: before {number} of {fleet}");
                *expected = number;
            }
            if delivery.status == 200 {
                acknowledged.insert((fleet, number));
            }
        }
        let (_, _, seen) = &self.reader;
        assert_eq!(seen.len(), self.played_events(), "seed {}", self.stage.seed);
    }

    fn played_events(&self) -> usize {
        self.fleets.iter().map(|(_, changes)| changes + 1).sum()
    }

    /// Checks that the events of each fleet are numbered from 1, without gaps.
    fn check_sequences(&self, events: &[Value]) {
        let mut numbers: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for event in events {
            let fleet = event["data"]["object"]["id"].as_str().expect("an id");
            let number = event["sequence"].as_u64().expect("a number");
            let is_new = numbers.entry(fleet).or_default().insert(number);
            assert!(is_new, "seed {}: {event}", self.stage.seed);
        }
        for (fleet, changes) in &self.fleets {
            let want: BTreeSet<u64> = (1..=*changes as u64 + 1).collect();
            let numbers = &numbers[fleet.as_str()];
            assert_eq!(*numbers, want, "seed {}: {fleet}", self.stage.seed);
        }
    }
}

fn event_id(received: &Received) -> Id {
    Id::from(received.event["id"].as_str().expect("an id"))
}
