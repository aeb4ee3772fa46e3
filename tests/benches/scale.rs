//! `cargo bench --workspace --bench scale`: simulates a day of ten million reservations at one thousandth, with many accounts and a
//! giant that makes three of ten reservations. Counts the units of each partition key of the table and of its indexes, and computes
//! the number of reservations per second at which the first key reaches the limit of a partition: 1,000 write units or 3,000 read
//! units a second. Also prints the number at which the quota of the whole table is used up. Nothing is asserted.
//!
//! A reservation is created, confirmed, charged and paid by card, its session is put on the invoice of its fleet, and six events are
//! delivered to the one endpoint of its account. Instances are as busy as at full scale: cached keys, accounts and endpoints are not
//! read again for each request.
//!
//! `SCALE_RESERVATIONS` sets another number of reservations.
#![allow(clippy::print_stdout, clippy::expect_used)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::Instant;

use kernel::{Id, Mode, Timestamp};
use models::Reservation;
use models::charging::cells;
use models::charging_station::Point;
use models::reservation::ReservationStatus;
use serde_json::{Value, json};
use tests::bill::EVENTS;
use tests::player::Player;
use tests::stage::setting;
use tests::units::{Partition, Totals, Units};
use tests::{Client, Receiver, TestApp, driver, fleet, vehicle, with};

/// The number of reservations of the day at full scale.
const FULL: f64 = 10_000_000.0;
/// The share of the giant, in percent.
const GIANT: u64 = 30;
/// The number of reservations of a vehicle in the day, and minutes from one to the next.
const EACH: u64 = 8;
const APART: i64 = 120;
/// The number of vehicles of a small account, and of a fleet of the giant.
const SMALL: u64 = 5;
const FLEET: u64 = 40;
/// The currency of the stations' prices.
const CURRENCY: &str = "gbp";
/// The number of stations in a row of a city, and degrees of latitude and longitude from one to the next: about a kilometre.
const ROW: u64 = 10;
const SPACING: (f64, f64) = (0.009, 0.013);
/// The maximum distance between the requested place and a station, in metres.
const RADIUS: u32 = 2_000;

/// The maximum throughput of a partition per second.
const MOST: Units = Units {
    read: 3_000.0,
    written: 1_000.0,
};

/// The units that an on-demand table and each index can process in a second, written and read, until the quota is raised.
const QUOTA: f64 = 40_000.0;

/// The goals, in reservations per second: of one account, of one fleet, and of all.
const GOAL_ONE: f64 = 1_000.0;
const GOAL_FLEET: f64 = 500.0;
const GOAL_ALL: f64 = 4_000.0;

/// Latitudes and longitudes of cities, each in a region of its own.
const CITIES: [(f64, f64); 16] = [
    (51.5, -0.2),
    (48.8, 2.3),
    (52.5, 13.3),
    (40.4, -3.8),
    (45.4, 9.1),
    (59.3, 18.0),
    (52.2, 20.9),
    (37.9, 23.6),
    (40.7, -74.0),
    (34.0, -118.3),
    (41.8, -87.7),
    (29.7, -95.4),
    (35.6, 139.6),
    (31.2, 121.4),
    (-33.9, 151.1),
    (-23.6, -46.7),
];

/// A vehicle with its driver and the place where it charges.
struct Crew {
    client: Client,
    is_giant: bool,
    fleet: String,
    driver: String,
    vehicle: String,
    payment_method: String,
    place: (f64, f64),
    /// Minutes after midnight of its first reservation.
    first: i64,
}

/// The next action of a crew.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// The window begins this number of minutes after midnight.
    Reserve(i64),
    Start(Id),
    Stop(Id),
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let total = setting("SCALE_RESERVATIONS", 10_000);
    let test = TestApp::start().await;
    let receiver = Receiver::start().await;
    let started = Instant::now();
    let crews = set_up(&test, &receiver, total).await;
    println!(
        "{} vehicles with as many stations, set up in {:.0?}",
        crews.len(),
        started.elapsed()
    );
    let mut player = Player::on(&test).await;
    player.stay_busy(&test);
    let midnight = test.now();
    let began = Instant::now();
    let completed = play(&mut player, &test, &crews, midnight, total).await;
    let reserved: u64 = completed.iter().sum();
    println!(
        "{reserved} of {total} reservations completed, {} events delivered, in {:.0?}",
        receiver.received().len(),
        began.elapsed()
    );
    let until = player.app.now();
    let mut billed = BTreeMap::new();
    for crew in &crews {
        billed.entry(&crew.fleet).or_insert(&crew.client);
    }
    for (fleet, client) in billed {
        let body = json!({"fleet": fleet, "period_start": midnight, "period_end": until, "currency": CURRENCY});
        player
            .send("create-invoice", "/v1/invoices", client, body)
            .await;
        player.settle().await;
    }
    report(&player, &crews, &completed);
}

/// Creates accounts with endpoints and payment methods, fleets, drivers, vehicles and stations.
async fn set_up(test: &TestApp, receiver: &Receiver, total: u64) -> Vec<Crew> {
    let hook = json!({"url": receiver.url, "enabled_events": EVENTS});
    let card = json!({"type": "card", "token": "tok_success"});
    let paying = with(driver(), json!({"preferences": {"currency": CURRENCY}}));
    let vehicles = total.div_ceil(EACH).max(2);
    let of_giant = (vehicles * GIANT / 100).max(1);
    let mut crews: Vec<Crew> = Vec::new();
    for number in 0..vehicles {
        let is_giant = number < of_giant;
        let place = if is_giant { number } else { number - of_giant };
        let is_new = place.is_multiple_of(if is_giant { FLEET } else { SMALL });
        let client = match crews.last() {
            Some(last) if !is_new || (is_giant && number > 0) => last.client.clone(),
            _ => {
                let client = test.other_account(Mode::Test).await;
                let response = client.post("/v1/webhook_endpoints", hook.clone()).await;
                response.expect(200);
                client
            }
        };
        let (fleet, payment_method) = match crews.last() {
            Some(last) if !is_new => (last.fleet.clone(), last.payment_method.clone()),
            _ => (
                client.post("/v1/fleets", fleet()).await.id(),
                client.post("/v1/payment_methods", card.clone()).await.id(),
            ),
        };
        let driver = client.post("/v1/drivers", paying.clone()).await.id();
        let attach = format!("/v1/drivers/{driver}/attach");
        client.post_ok(&attach, json!({"fleet": fleet})).await;
        let vehicle = client.post("/v1/vehicles", vehicle(&fleet)).await.id();
        let (cities, in_city) = (CITIES.len() as u64, number / CITIES.len() as u64);
        let city = CITIES[(number % cities) as usize];
        let place = (
            city.0 + (in_city % ROW) as f64 * SPACING.0,
            city.1 + (in_city / ROW) as f64 * SPACING.1,
        );
        test.station(json!({"location": {"latitude": place.0, "longitude": place.1}}))
            .await;
        crews.push(Crew {
            client,
            is_giant,
            fleet,
            driver,
            vehicle,
            payment_method,
            place,
            // Windows begin at full quarters of an hour.
            first: 60 + (in_city % 8) as i64 * 15,
        });
        test.drain().await;
    }
    crews
}

/// Simulates the reservations of the day. Returns the number that each crew has completed.
async fn play(
    player: &mut Player,
    test: &TestApp,
    crews: &[Crew],
    midnight: Timestamp,
    total: u64,
) -> Vec<u64> {
    let mut agenda = BinaryHeap::new();
    for number in 0..total {
        let place = (number % crews.len() as u64) as usize;
        let start = crews[place].first + (number / crews.len() as u64) as i64 * APART;
        // Requests are spread over the minutes before a window begins, and over the seconds of a minute.
        let early = 35 + (number % 17) as i64;
        let second = (start - early) * 60 + (number % 59) as i64;
        agenda.push(Reverse((second, place, Action::Reserve(start))));
    }
    let mut completed = vec![0; crews.len()];
    let mut done = 0;
    while let Some(Reverse((second, place, action))) = agenda.pop() {
        let crew = &crews[place];
        player.advance_to(midnight.plus_seconds(second)).await;
        match action {
            Action::Reserve(start) => {
                let reservation = reserve(player, crew, midnight, start).await;
                // Vehicles arrive within ten minutes; after fifteen the reservation expires.
                let second = start * 60 + (place * 97 % 600) as i64;
                agenda.push(Reverse((second, place, Action::Start(reservation))));
            }
            Action::Start(reservation) => {
                if let Some(session) = start(player, test, crew, &reservation).await {
                    let minutes = 30 + (place % 20) as i64;
                    let second = second + minutes * 60 + (place % 53) as i64;
                    agenda.push(Reverse((second, place, Action::Stop(session))));
                }
            }
            Action::Stop(session) => {
                let path = format!("/v1/charging_sessions/{session}/stop");
                player
                    .send("stop-charging-session", &path, &crew.client, json!({}))
                    .await;
                completed[place] += 1;
                done += 1;
                if done % 1_000 == 0 {
                    println!("{done} reservations completed");
                }
            }
        }
    }
    player
        .advance_to(midnight.plus_seconds(86_400 + 7_200))
        .await;
    completed
}

async fn reserve(player: &mut Player, crew: &Crew, midnight: Timestamp, start: i64) -> Id {
    let moment = |minutes: i64| midnight.plus_seconds(minutes * 60);
    let body = json!({"driver": crew.driver, "vehicle": crew.vehicle, "connector_type": ["Type2"],
        "payment_method": crew.payment_method, "ideal_start": moment(start), "ideal_end": moment(start + 60),
        "location": {"latitude": crew.place.0, "longitude": crew.place.1, "radius": RADIUS}});
    let reservation = player
        .send("create-reservation", "/v1/reservations", &crew.client, body)
        .await;
    id_of(&reservation)
}

/// Starts the session of a reservation. None if no connector was free for it.
async fn start(player: &mut Player, test: &TestApp, crew: &Crew, reservation: &Id) -> Option<Id> {
    let (store, tenant) = (&test.app().store, crew.client.tenant());
    let stored = store.load::<Reservation>(&tenant, reservation).await;
    let confirmed = stored.expect("the reservation").object;
    if confirmed.status() != ReservationStatus::Confirmed {
        return None;
    }
    let reserved = confirmed.state.reserved().expect("its connector");
    let body = json!({"charging_station": reserved.station, "connector": reserved.connector,
        "driver": crew.driver, "vehicle": crew.vehicle, "payment_method": crew.payment_method});
    let path = "/v1/charging_sessions";
    let session = player
        .send("create-charging-session", path, &crew.client, body)
        .await;
    Some(id_of(&session))
}

fn id_of(object: &Value) -> Id {
    Id::from(object["id"].as_str().expect("an id"))
}

/// The scope of a partition key, of which there are several in the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    All,
    Account,
    Fleet,
    PaymentMethod,
    Region,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::All => "all accounts",
            Self::Account => "one account",
            Self::Fleet => "one fleet",
            Self::PaymentMethod => "one payment method",
            Self::Region => "one region",
        }
    }

    /// In reservations per second.
    fn goal(self) -> Option<f64> {
        match self {
            Self::All => Some(GOAL_ALL),
            Self::Account => Some(GOAL_ONE),
            Self::Fleet => Some(GOAL_FLEET),
            Self::PaymentMethod | Self::Region => None,
        }
    }

    /// Whether such keys become hotter, and not more numerous, as the day becomes larger.
    fn grows(self) -> bool {
        matches!(self, Self::All | Self::Account | Self::Region)
    }
}

/// The parts of keys that many reservations have in common, and the number of these reservations.
fn shares(crews: &[Crew], completed: &[u64]) -> HashMap<String, (Scope, f64)> {
    let mut shares: HashMap<String, (Scope, f64)> = HashMap::new();
    let mut add = |part: String, scope: Scope, count: f64| {
        shares.entry(part).or_insert((scope, 0.0)).1 += count;
    };
    for (crew, completed) in crews.iter().zip(completed) {
        let count = *completed as f64;
        let (latitude, longitude) = crew.place;
        let point = Point {
            latitude,
            longitude,
        };
        let region = cells::key(point).expect("a point of the globe").region;
        add(region, Scope::Region, count);
        // Keys of the small accounts are far below any limit.
        if crew.is_giant {
            let account = crew.client.tenant().account.to_string();
            add(account, Scope::Account, count);
            add(crew.fleet.clone(), Scope::Fleet, count);
            let method = crew.payment_method.clone();
            add(method, Scope::PaymentMethod, count);
        }
    }
    shares
}

/// Partition keys that differ only in ids and numbers, with the units of the hottest of them.
struct Hot {
    place: String,
    pattern: String,
    scope: Scope,
    /// The number of such keys.
    keys: usize,
    totals: Totals,
    /// The units per reservation.
    each: Units,
}

impl Hot {
    /// The number of reservations per second at which the partition is full.
    fn limit(&self) -> f64 {
        (MOST.written / self.each.written).min(MOST.read / self.each.read)
    }

    /// The possible remedy.
    fn remedy(&self) -> &'static str {
        match (self.place.as_str(), self.pattern.as_str()) {
            ("next_action", _) => "`NEXT_ACTION_PARTITIONS` in `shared/table/src/keys/shards.rs`",
            ("cell", _) => "`REGION` in `shared/models/src/charging/cells.rs`",
            ("table", pattern) if pattern.contains("#event#") => {
                "`EVENT_SHARDS` in `shared/table/src/keys/shards.rs`"
            }
            ("table", pattern) if pattern.contains("<webhook_endpoint>#") => {
                "`DELIVERY_SHARDS` in `shared/table/src/keys/shards.rs`"
            }
            ("list", pattern) if pattern.ends_with("#webhook_endpoint") => {
                "more changes in a batch of the relay, which reads the endpoints of an account once"
            }
            ("payment", _) => "`OPEN_SHARDS` in `shared/table/src/keys/shards.rs`",
            ("table", pattern) if pattern.ends_with("<fleet>") => {
                "several fleets: its totals are one row, for which transactions contend before it is full"
            }
            ("table", _) => "one row: it cannot be spread",
            _ => "spread over several partitions in `shards`, `shared/table/src/keys/partition.rs`",
        }
    }
}

/// A key with kinds instead of ids, and names instead of other values.
fn pattern_of(key: &str, shares: &HashMap<String, (Scope, f64)>) -> String {
    let part = |part: &str| match Id::from(part).kind() {
        Some(kind) => format!("<{}>", kind.name()),
        None if part.parse::<u16>().is_ok() => "<n>".to_owned(),
        None if shares.contains_key(part) => "<region>".to_owned(),
        None if part.len() == 64 => "<hash>".to_owned(),
        None => part.to_owned(),
    };
    key.split('#').map(part).collect::<Vec<_>>().join("#")
}

/// The scope of a key and the number of reservations that have it in common. None for keys of single drivers, vehicles, stations,
/// reservations and the like, which do not become hotter with their number, and for those of small accounts.
fn share_of(
    key: &str,
    all: f64,
    endpoints: &[Id],
    shares: &HashMap<String, (Scope, f64)>,
) -> Option<(Scope, f64)> {
    let mut share = (Scope::All, all);
    for part in key.split('#') {
        let id = Id::from(part);
        match shares.get(part) {
            Some(known) if known.1 <= share.1 => share = *known,
            Some(_) => {}
            // The one endpoint of the giant.
            None if endpoints.contains(&id) => {}
            None if id.kind().is_some() => return None,
            None => {}
        }
    }
    Some(share)
}

/// The hottest keys of each kind, hottest first.
fn hottest(
    player: &Player,
    all: f64,
    endpoints: &[Id],
    shares: &HashMap<String, (Scope, f64)>,
) -> Vec<Hot> {
    let mut found: BTreeMap<(String, String), Hot> = BTreeMap::new();
    for ((place, key), totals) in player.usage.totals() {
        let Some((scope, reservations)) = share_of(key, all, endpoints, shares) else {
            continue;
        };
        let hot = Hot {
            place: place.clone(),
            pattern: pattern_of(key, shares),
            scope,
            keys: 1,
            totals,
            each: Units {
                read: totals.all.read / reservations,
                written: totals.all.written / reservations,
            },
        };
        let name = (hot.place.clone(), hot.pattern.clone());
        match found.remove(&name) {
            Some(other) => {
                let keys = other.keys + 1;
                let hotter = if hot.limit() < other.limit() {
                    hot
                } else {
                    other
                };
                found.insert(name, Hot { keys, ..hotter });
            }
            None => drop(found.insert(name, hot)),
        }
    }
    let mut hottest: Vec<Hot> = found.into_values().collect();
    hottest.sort_by(|a, b| a.limit().total_cmp(&b.limit()));
    hottest
}

/// Prints the hottest keys and the resulting limits.
fn report(player: &Player, crews: &[Crew], completed: &[u64]) {
    let all: f64 = completed.iter().map(|count| *count as f64).sum();
    let of_giant = crews
        .iter()
        .zip(completed)
        .filter(|(crew, _)| crew.is_giant);
    let giant: f64 = of_giant.map(|(_, count)| *count as f64).sum();
    let shares = shares(crews, completed);
    let endpoints = endpoints(player, crews);
    let hottest = hottest(player, all, &endpoints, &shares);
    let scale = FULL / all;

    places(player, all, giant);
    println!(
        "| Place | Key | Of | Keys | WCU each | RCU each | Full at reservations/s | At the goal | Day on average | Busiest minute | Busiest second here |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for hot in hottest.iter().filter(|hot| hot.limit() < 100_000.0) {
        let rates = |units: Units, factor: f64| {
            let (written, read) = (units.written * factor, units.read * factor);
            format!("{written:.0} W, {read:.0} R")
        };
        let goal = hot.scope.goal().map(|goal| rates(hot.each, goal));
        let (average, minute) = if hot.scope.grows() {
            (
                rates(hot.totals.all, scale / 86_400.0),
                rates(hot.totals.minute, scale / 60.0),
            )
        } else {
            ("–".to_owned(), "–".to_owned())
        };
        println!(
            "| {} | `{}` | {} | {} | {:.3} | {:.3} | {:.0} | {} | {average} | {minute} | {} |",
            hot.place,
            hot.pattern,
            hot.scope.name(),
            hot.keys,
            hot.each.written,
            hot.each.read,
            hot.limit(),
            goal.unwrap_or_else(|| "–".to_owned()),
            rates(hot.totals.second, 1.0),
        );
    }
    for scope in [
        Scope::Account,
        Scope::All,
        Scope::Fleet,
        Scope::PaymentMethod,
        Scope::Region,
    ] {
        let mut of_scope = hottest.iter().filter(|hot| hot.scope == scope);
        let Some(first) = of_scope.next() else {
            println!("\n{}: no key.", scope.name());
            continue;
        };
        let verdict = match scope.goal() {
            Some(goal) if first.limit() >= goal => format!(" The goal of {goal:.0}/s is reached."),
            Some(goal) => format!(" The goal of {goal:.0}/s is missed."),
            None => String::new(),
        };
        println!(
            "\n{}: {:.0} reservations/s, then `{}` of {} is full. To raise: {}.{verdict}",
            scope.name(),
            first.limit(),
            first.pattern,
            first.place,
            first.remedy()
        );
        if let Some(next) = of_scope.next() {
            println!(
                "Next: {:.0}/s, `{}` of {}. To raise: {}.",
                next.limit(),
                next.pattern,
                next.place,
                next.remedy()
            );
        }
    }
    bursts(player, &shares);
}

/// Prints the units of a reservation in the table and in each index.
fn places(player: &Player, all: f64, giant: f64) {
    let mut places: BTreeMap<&str, Units> = BTreeMap::new();
    for ((place, _), totals) in player.usage.totals() {
        let sum = places.entry(place).or_default();
        sum.read += totals.all.read / all;
        sum.written += totals.all.written / all;
    }
    println!("\n{all} complete reservations, {giant} of them of the giant. What one takes:\n");
    println!("| Place | WCU | RCU | Quota used up at reservations/s |");
    println!("|---|---|---|---|");
    let limit = |units: &Units| QUOTA / units.written.max(units.read);
    for (place, each) in &places {
        let (written, read) = (each.written, each.read);
        println!(
            "| {place} | {written:.1} | {read:.1} | {:.0} |",
            limit(each)
        );
    }
    let sum = |of: fn(&Units) -> f64| places.values().map(of).sum::<f64>();
    let (written, read) = (sum(|each| each.written), sum(|each| each.read));
    println!("| together | {written:.1} | {read:.1} | – |");
    let consumed = player.usage.consumed;
    let (written, read) = (consumed.written / all, consumed.read / all);
    println!("| as the table itself counts | {written:.1} | {read:.1} | – |\n");
    let least = |a: &&Units, b: &&Units| limit(a).total_cmp(&limit(b));
    let first = places.values().min_by(least).expect("the table");
    println!(
        "{:.0} reservations/s, then the table's quota of {QUOTA:.0} units a second is used up. To raise: the quota, to {:.0} write units \
         and {:.0} read units for the goal of {GOAL_ALL:.0}/s.\n",
        limit(first),
        first.written * GOAL_ALL,
        first.read * GOAL_ALL
    );
}

/// The webhook endpoints of the giant.
fn endpoints(player: &Player, crews: &[Crew]) -> Vec<Id> {
    let giant = crews.iter().find(|crew| crew.is_giant);
    let prefix = giant.map(|crew| {
        let tenant = crew.client.tenant();
        format!("{}#{}#", tenant.account, tenant.mode)
    });
    let prefix = prefix.expect("a giant");
    let parts = player.usage.totals().filter_map(|((_, key), _)| {
        let part = key.strip_prefix(&prefix)?.split('#').next()?;
        Some(Id::from(part)).filter(|id| id.is(kernel::Kind::WebhookEndpoint))
    });
    let mut found: Vec<Id> = parts.collect();
    found.sort();
    found.dedup();
    found
}

/// Prints the partition keys with the most writes in one second of virtual time.
fn bursts(player: &Player, shares: &HashMap<String, (Scope, f64)>) {
    let mut busiest: HashMap<(&str, String), (&Partition, Totals)> = HashMap::new();
    for (partition, totals) in player.usage.totals() {
        let name = (partition.0.as_str(), pattern_of(&partition.1, shares));
        let most = busiest.entry(name).or_insert((partition, totals));
        if totals.second.written > most.1.second.written {
            *most = (partition, totals);
        }
    }
    let mut busiest: Vec<_> = busiest.into_iter().collect();
    busiest.sort_by(|a, b| b.1.1.second.written.total_cmp(&a.1.1.second.written));
    println!("\nMost written in one second of the small day:\n");
    println!("| Place | Key | WCU |");
    println!("|---|---|---|");
    for ((place, pattern), (_, totals)) in busiest.iter().take(8) {
        println!("| {place} | `{pattern}` | {:.0} |", totals.second.written);
    }
}
