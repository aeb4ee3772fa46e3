//! Plays a day of ten million reservations at one thousandth: many accounts and a giant that makes three of ten reservations. Counts
//! the units that each partition key of the table and of its indexes takes, and computes from them at how many reservations a
//! second the first key reaches the limit of a partition: 1,000 write units or 3,000 read units a second.
//!
//! A reservation is created, confirmed and charged, its session is put on an invoice, and six events are delivered to the one
//! endpoint of its account. `SCALE_RESERVATIONS` sets another number of reservations.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Value, json};
use shared::models::reservation::Reservation;
use shared::{Id, Mode, Timestamp};
use tests::bill::EVENTS;
use tests::player::Player;
use tests::stage::setting;
use tests::units::{Partition, Units};
use tests::{Client, Receiver, TestApp, driver, fleet, vehicle};

/// The share of the giant, in percent.
const GIANT: u64 = 30;
/// How many reservations a vehicle has in the day, and minutes from one to the next.
const EACH: u64 = 8;
const APART: i64 = 120;
/// How many vehicles a small account has, and a fleet of the giant.
const SMALL: u64 = 5;
const FLEET: u64 = 40;

/// What a partition takes each second at most.
const MOST_WRITTEN: f64 = 1_000.0;
const MOST_READ: f64 = 3_000.0;

/// The goals, in reservations a second: of one account, and of all.
const GOAL_ONE: f64 = 300.0;
const GOAL_ALL: f64 = 1_500.0;

/// A vehicle with its driver and the station that it charges at.
struct Crew {
    client: Client,
    is_giant: bool,
    driver: String,
    vehicle: String,
    station: String,
    place: (f64, f64),
    /// Minutes after midnight of its first reservation.
    first: i64,
}

/// What happens to a crew's reservation.
enum Action {
    /// It begins so many minutes after midnight.
    Create(i64),
    Start,
    Stop(String),
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let total = setting("SCALE_RESERVATIONS", 10_000);
    let test = TestApp::start().await;
    let receiver = Receiver::start().await;
    let started = Instant::now();
    let (crews, accounts) = set_up(&test, &receiver, total).await;
    println!(
        "{total} reservations of {} accounts: set up in {:.0?}",
        accounts.len(),
        started.elapsed()
    );
    let mut player = Player::on(&test).await;
    let midnight = test.now();
    let began = Instant::now();
    let (all, giant) = play(&mut player, &test, &crews, midnight, total).await;
    for account in &accounts {
        let window =
            json!({"period_start": midnight, "period_end": midnight.plus_seconds(2 * 86_400)});
        player
            .send("create-invoice", "/v1/invoices", account, window)
            .await;
        player.settle().await;
    }
    println!(
        "played in {:.0?}, {} events delivered\n",
        began.elapsed(),
        receiver.received().len()
    );
    let ids: BTreeSet<String> = crews
        .iter()
        .filter(|crew| crew.is_giant)
        .flat_map(|crew| [crew.client.account.clone().expect("an account").to_string()])
        .collect();
    report(&player, all, giant, &ids);
}

/// Creates the accounts with their endpoints, fleets, drivers, vehicles and stations.
async fn set_up(test: &TestApp, receiver: &Receiver, total: u64) -> (Vec<Crew>, Vec<Client>) {
    let hook = json!({"url": receiver.url, "enabled_events": EVENTS});
    let vehicles = total.div_ceil(EACH).max(2);
    let of_giant = (vehicles * GIANT / 100).max(1);
    let (mut crews, mut accounts): (Vec<Crew>, Vec<Client>) = (Vec::new(), Vec::new());
    let mut of_account = String::new();
    for number in 0..vehicles {
        let is_giant = number < of_giant;
        let place = if is_giant { number } else { number - of_giant };
        if number == 0 || (!is_giant && place.is_multiple_of(SMALL)) {
            let client = test.other_account(Mode::Test).await;
            client
                .post("/v1/webhook_endpoints", hook.clone())
                .await
                .expect(200);
            accounts.push(client);
        }
        let client = accounts.last().expect("an account").clone();
        if place.is_multiple_of(if is_giant { FLEET } else { SMALL }) {
            of_account = client.post("/v1/fleets", fleet()).await.id();
        }
        let driver = client.post("/v1/drivers", driver()).await.id();
        let attach = format!("/v1/drivers/{driver}/attach");
        client
            .post(&attach, json!({"fleet": of_account}))
            .await
            .expect(200);
        let vehicle = client.post("/v1/vehicles", vehicle(&of_account)).await.id();
        // Stations of several countries, three kilometres apart.
        let place = (
            (number % 40) as f64 * 0.03 + 45.0,
            (number / 40) as f64 * 0.04 + 5.0,
        );
        let location = json!({"location": {"latitude": place.0, "longitude": place.1}});
        crews.push(Crew {
            client,
            is_giant,
            driver,
            vehicle,
            station: test.station(location).await,
            place,
            // Reservations begin at full quarters of an hour.
            first: 60 + (number % 8) as i64 * 15,
        });
        test.drain().await;
    }
    (crews, accounts)
}

/// Plays the reservations of the day. Returns how many there were, and how many of them were the giant's.
async fn play(
    player: &mut Player,
    test: &TestApp,
    crews: &[Crew],
    midnight: Timestamp,
    total: u64,
) -> (f64, f64) {
    let mut agenda: Vec<(i64, usize, Action)> = Vec::new();
    for number in 0..total {
        let crew = (number % crews.len() as u64) as usize;
        let start = crews[crew].first + (number / crews.len() as u64) as i64 * APART;
        // Requests are spread over the minutes before a window begins.
        let early = 35 + (number % 17) as i64;
        agenda.push((start - early, crew, Action::Create(start)));
    }
    let (mut all, mut giant) = (0.0, 0.0);
    let mut reservations: Vec<Id> = vec![Id::from(""); crews.len()];
    while let Some(next) = (0..agenda.len()).min_by_key(|place| agenda[*place].0) {
        let (minute, place, action) = agenda.swap_remove(next);
        let (crew, now) = (
            &crews[place],
            midnight.plus_seconds(minute * 60 + (place % 60) as i64),
        );
        player.advance_to(now).await;
        match action {
            Action::Create(start) => {
                let moment = |minutes: i64| midnight.plus_seconds(minutes * 60);
                let body = json!({"driver": crew.driver, "vehicle": crew.vehicle, "connector_type": ["Type2"],
                    "ideal_start": moment(start), "ideal_end": moment(start + 60),
                    "location": {"latitude": crew.place.0, "longitude": crew.place.1, "radius": 1000}});
                let made = player
                    .send("create-reservation", "/v1/reservations", &crew.client, body)
                    .await;
                reservations[place] = id_of(&made);
                agenda.push((start, place, Action::Start));
            }
            Action::Start => {
                let store = &test.app().store;
                let row = store
                    .load::<Reservation>(&crew.client.tenant(), &reservations[place])
                    .await;
                let connector = row.expect("a reservation").object.connector;
                let connector = connector.expect("the reservation is confirmed");
                let body = json!({"charging_station": crew.station, "connector": connector,
                    "driver": crew.driver, "vehicle": crew.vehicle});
                let path = "/v1/charging_sessions";
                let made = player
                    .send("create-charging-session", path, &crew.client, body)
                    .await;
                let minutes = 30 + (place % 20) as i64;
                agenda.push((
                    minute + minutes,
                    place,
                    Action::Stop(id_of(&made).to_string()),
                ));
            }
            Action::Stop(session) => {
                let path = format!("/v1/charging_sessions/{session}/stop");
                player
                    .send("stop-charging-session", &path, &crew.client, json!({}))
                    .await;
                all += 1.0;
                giant += f64::from(u8::from(crew.is_giant));
            }
        }
    }
    player
        .advance_to(midnight.plus_seconds(86_400 + 7_200))
        .await;
    (all, giant)
}

fn id_of(made: &Value) -> Id {
    Id::from(made["id"].as_str().expect("an id"))
}

/// A partition with what one reservation writes to it and reads from it.
struct Hot<'a> {
    partition: &'a Partition,
    of_giant: bool,
    total: Units,
    most: Units,
    written: f64,
    read: f64,
}

impl Hot<'_> {
    /// At how many reservations a second the partition reaches its limit.
    fn limit(&self) -> f64 {
        (MOST_WRITTEN / self.written).min(MOST_READ / self.read)
    }
}

/// Prints the hottest keys and the limits that follow from them.
fn report(player: &Player, all: f64, giant: f64, accounts: &BTreeSet<String>) {
    let mut hottest: Vec<Hot<'_>> = Vec::new();
    for (partition, total, most) in player.usage.totals() {
        let of_giant = accounts.iter().any(|account| partition.1.contains(account));
        let of_one_account = partition.1.starts_with("acct_") || partition.1.contains("#acct_");
        let reservations = match (of_giant, of_one_account) {
            (true, _) => giant,
            (false, false) => all,
            // Accounts that are small are far from any limit.
            (false, true) => continue,
        };
        // A key that few reservations touch is that of an object, and does not get hotter as there are more.
        if total.written.max(total.read) < reservations * 0.05 {
            continue;
        }
        hottest.push(Hot {
            partition,
            of_giant,
            total,
            most,
            written: total.written / reservations,
            read: total.read / reservations,
        });
    }
    hottest.sort_by(|a, b| a.limit().total_cmp(&b.limit()));
    println!("{all} complete reservations, {giant} of them of the giant account\n");
    println!(
        "| Place | Key | Whose | WCU | RCU | Most WCU/s | WCU per reservation | RCU per reservation | Limit: reservations/s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for hot in hottest.iter().take(15) {
        let (place, key) = hot.partition;
        println!(
            "| {place} | {key} | {} | {:.0} | {:.1} | {:.0} | {:.3} | {:.3} | {:.0} |",
            if hot.of_giant { "one account" } else { "all" },
            hot.total.written,
            hot.total.read,
            hot.most.written,
            hot.written,
            hot.read,
            hot.limit()
        );
    }
    for (of_giant, name, goal) in [
        (true, "one account", GOAL_ONE),
        (false, "all accounts", GOAL_ALL),
    ] {
        let Some(first) = hottest.iter().find(|hot| hot.of_giant == of_giant) else {
            println!("\n{name}: no key is touched by every reservation");
            continue;
        };
        let (limit, (place, key)) = (first.limit(), first.partition);
        let verdict = if limit >= goal { "reached" } else { "missed" };
        println!(
            "\n{name}: {limit:.0} reservations/s, then {place} {key} is full; the goal of {goal:.0}/s is {verdict}"
        );
    }
    println!(
        "\nRaise the limit of a list with the number of its partitions (`shards` in shared/src/store/keys.rs), and that of what is \
         due with DUE_PARTITIONS. A fleet's totals are one row: transactions of its sessions contend for it before it is full."
    );
}
