//! The proof that matching follows its description: an independent matcher ([`oracle`]) has to agree on the station, the connector,
//! the window and the counts of the summary of each of 300 random requests (2,000 in `.ci/run`).
//!
//! The requests go to the service over its routes, one after the other in small worlds of a few stations, where earlier
//! reservations take up EVSEs and vehicles. `MATCHING_REQUESTS` sets another number of requests, `MATCHING_SEED` the seed of
//! the first world; a seed replays exactly.

mod cities;
mod needs;
mod oracle;

use functions::job::Job as _;
use functions::reservations::confirm::ConfirmReservation;
use functions::{App, jobs};
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use kernel::{Id, Kind, Mode, SignedDuration, Timestamp};
use models::ports::Clock as _;
use serde_json::{Value, json};
use tests::clock::Hand;
use tests::faulty::Dice;
use tests::seeds::share_out;
use tests::stage::setting;
use tests::{Client, TestApp, with};
use tower::ServiceExt as _;

use crate::oracle::{Hours, MINUTE, World, matching, millis};

/// The number of requests in one world.
const REQUESTS: u64 = 50;

/// The number of minutes for which the opening hours are known: enough for all requests of a world and their windows.
const HORIZON: usize = 7 * 24 * 60;

/// 15 January 2027, 08:00 UTC, a Friday.
const BEGAN: i64 = 1_800_000_000_000;

const OPERATORS: [&str; 3] = ["Voltway", "Amp & Sons", "Grid"];
const STANDARDS: [&str; 3] = ["Type2", "CCS", "CHAdeMO"];

/// The number of occurrences of the cases that the proof covers.
type Tally = BTreeMap<String, u64>;

#[test]
fn random_requests_match_as_in_an_independent_matcher() {
    let (requests, first) = (
        setting("MATCHING_REQUESTS", 300),
        setting("MATCHING_SEED", 1),
    );
    let worlds = requests.div_ceil(REQUESTS);
    let tallies = share_out(first..first + worlds, async |seeds| {
        let test = TestApp::start().await;
        let mut tally = Tally::new();
        while let Some(seed) = seeds.next() {
            City::build(&test, seed).await.play(&mut tally).await;
        }
        tally
    });
    let mut total = Tally::new();
    for (name, count) in tallies.into_iter().flatten() {
        *total.entry(name).or_default() += count;
    }
    // A case that never occurs is not proved.
    let hoped_for = [
        ("request", requests),
        ("confirmed", requests / 4),
        ("shifted", requests / 20),
        ("unmatched", requests / 50),
        ("beside a sibling", requests / 50),
        ("not_reservable", requests / 50),
        ("connector_type", requests / 50),
        ("out_of_order", requests / 50),
        ("price", requests / 50),
        ("closed", requests / 50),
        ("policy", requests / 50),
        ("booked", requests / 50),
    ];
    for (name, least) in hoped_for {
        let count = total.get(name).copied().unwrap_or_default();
        assert!(count >= least, "{name} happened {count} times: {total:?}");
    }
}

/// A few stations in one area, and the vehicles that request charging there.
struct City {
    seed: u64,
    dice: Dice,
    clock: Arc<Hand>,
    app: App,
    router: Router,
    client: Client,
    center: (f64, f64),
    driver: Value,
    vehicles: Vec<Value>,
    /// The last telemetry of each vehicle that has any.
    telemetry: Value,
    policies: Vec<Value>,
    stations: Vec<Value>,
    hours: Vec<Hours>,
    /// Confirmed reservations.
    booked: Vec<Value>,
}

impl City {
    async fn build(test: &TestApp, seed: u64) -> Self {
        let began = |dice: &Dice| BEGAN + dice.below(7 * 24 * 60) as i64 * MINUTE;
        Self::build_at(test, seed, began).await
    }

    /// Builds the city of a seed; `began` determines the initial time of its clock.
    async fn build_at(test: &TestApp, seed: u64, began: impl Fn(&Dice) -> i64) -> Self {
        let client = test.other_account(Mode::Test).await;
        let dice = Dice::new(seed);
        let began = began(&dice);
        let clock = Arc::new(Hand::at(Timestamp::from_unix_millis(began)));
        let app = test.app_with(test.app().store.clone(), clock.clone());
        let mut city = Self {
            seed,
            clock,
            router: functions::router(app.clone()),
            app,
            client,
            // Far away from every other city.
            center: (
                -60.0 + (seed % 60) as f64 * 2.0,
                -170.0 + (seed / 60 % 85) as f64 * 4.0,
            ),
            driver: Value::Null,
            vehicles: Vec::new(),
            telemetry: json!({}),
            policies: Vec::new(),
            stations: Vec::new(),
            hours: Vec::new(),
            booked: Vec::new(),
            dice,
        };
        for n in 0..6 + city.dice.below(13) {
            // The same ids for the same seed, because they decide between equally good candidates.
            let id = Id::from_number(
                Kind::ChargingStation,
                u128::from(seed) * 100 + u128::from(n),
            );
            test.change_station(id.as_str(), city.station()).await;
        }
        city.populate().await;
        city
    }

    /// Creates a fleet with policies, a driver and four vehicles, and reads the stations from the API.
    async fn populate(&mut self) {
        let rules = json!({"denied_operators": [OPERATORS[2]], "max_price_per_kwh": 55});
        let policy = json!({"name": "P", "rules": rules});
        let policy = self.post("/v1/policies", policy).await;
        let fleet = self.post("/v1/fleets", tests::fleet()).await;
        self.driver = self.post("/v1/drivers", tests::driver()).await;
        let attach = format!("/v1/drivers/{}/attach", id(&self.driver));
        self.post(&attach, json!({"fleet": fleet["id"]})).await;
        for n in 0..4 {
            let standard = STANDARDS[n % 3];
            let change = json!({"charging_standard": standard});
            let vehicle = with(tests::vehicle(id(&fleet)), change);
            let vehicle = self.post("/v1/vehicles", vehicle).await;
            if n < 2 {
                let level = self.dice.below(10_001) as f64 / 100.0;
                let path = format!("/v1/vehicles/{}/telemetry", id(&vehicle));
                let reading = json!({"battery": {"level": level}});
                self.telemetry[id(&vehicle)] = self.post(&path, reading).await;
            }
            self.vehicles.push(vehicle);
        }
        if self.dice.percent(40) {
            let path = format!("/v1/fleets/{}", id(&fleet));
            self.post(&path, json!({"policy_ids": [policy["id"]]}))
                .await;
            self.policies.push(policy);
        }
        let (latitude, longitude) = self.center;
        let path = format!(
            "/v1/charging_stations?latitude={latitude}&longitude={longitude}&radius=100000&limit=100"
        );
        let page = self.get(&path).await;
        self.stations = page["data"].as_array().expect("stations").clone();
        // A window may have begun a moment before the first attempt.
        let first = self.now() - 60 * MINUTE;
        let hours = |station: &Value| Hours::of(station, first, HORIZON);
        self.hours = self.stations.iter().map(hours).collect();
    }

    /// Makes the requests, and compares the outcome of each.
    async fn play(mut self, tally: &mut Tally) {
        for _ in 0..REQUESTS {
            if self.dice.percent(40) {
                self.change_preferences().await;
            }
            let vehicle = self.one_of(&self.vehicles).clone();
            let body = self.request(&vehicle);
            let (reservation, is_forbidden) = self.reserve(&vehicle, body).await;
            // The first attempt is made half an hour before the ideal start, or now.
            let due = millis(&reservation["ideal_start"]) - 30 * MINUTE;
            self.clock
                .move_by(SignedDuration::from_millis((due - self.now()).max(0)));
            let want = matching(&self.world(&reservation, &vehicle));
            self.attempt(&reservation).await;
            let path = format!("/v1/reservations/{}", id(&reservation));
            let got = self.get(&path).await;
            let choice = (got["status"] == "confirmed").then(|| {
                let text = |name: &str| got[name].as_str().expect("a text").to_owned();
                (
                    text("charging_station"),
                    text("connector"),
                    millis(&got["reserved_start"]),
                )
            });
            let at = || {
                format!(
                    "seed {}: {got:#}\nwanted {want:#?}\ndriver {:#}",
                    self.seed, self.driver["preferences"]
                )
            };
            assert_eq!(choice, want.choice, "{}", at());
            assert!(choice.is_none() || !is_forbidden, "{}", at());
            let (got_summary, is_matched) = (&got["match_summary"], choice.is_some());
            compare_summaries(got_summary, &want.summary, is_matched, &at());
            self.count(&got, tally);
            if choice.is_some() {
                self.booked.push(got);
            }
            if !self.booked.is_empty() && self.dice.percent(15) {
                let place = self.dice.below(self.booked.len() as u64) as usize;
                let cancelled = self.booked.swap_remove(place);
                let path = format!("/v1/reservations/{}/cancel", id(&cancelled));
                self.post(&path, json!({})).await;
            }
        }
    }

    /// Creates a reservation. Returns also whether policies forbid every station: then it is refused, and created without them.
    async fn reserve(&self, vehicle: &Value, body: Value) -> (Value, bool) {
        let path = "/v1/reservations";
        let (status, answer) = self.answer("POST", path, Some(&body)).await;
        if status == 200 {
            return (answer, false);
        }
        assert_eq!(
            answer["code"], "policy_blocked",
            "seed {}: {answer}",
            self.seed
        );
        let fleet = format!("/v1/fleets/{}", vehicle["fleet"].as_str().expect("a fleet"));
        self.post(&fleet, json!({"policy_ids": []})).await;
        let reservation = self.post(path, body).await;
        let policies = json!({"policy_ids": tests::each(&json!(self.policies), "id")});
        self.post(&fleet, policies).await;
        (reservation, true)
    }

    fn world<'a>(&'a self, reservation: &'a Value, vehicle: &'a Value) -> World<'a> {
        World {
            now: self.now(),
            reservation,
            vehicle,
            telemetry: &self.telemetry[id(vehicle)],
            driver: &self.driver,
            policies: &self.policies,
            stations: &self.stations,
            hours: &self.hours,
            booked: &self.booked,
            energy: None,
        }
    }

    async fn attempt(&self, reservation: &Value) {
        let message = ConfirmReservation {
            tenant: self.client.tenant(),
            reservation: Id::from(id(reservation)),
            request: None,
        }
        .message()
        .expect("a message");
        jobs::work(&self.app, &message).await.expect("an attempt");
    }

    fn count(&self, got: &Value, tally: &mut Tally) {
        let mut add = |name: &str, count: u64| *tally.entry(name.to_owned()).or_default() += count;
        add("request", 1);
        let confirmed = got["status"] == "confirmed";
        add(if confirmed { "confirmed" } else { "unmatched" }, 1);
        let shifted = confirmed && got["reserved_start"] != got["ideal_start"];
        add("shifted", u64::from(shifted));
        let is_chosen = |station: &&Value| station["id"] == got["charging_station"];
        let chosen = self.stations.iter().find(is_chosen);
        let connectors = chosen.and_then(|station| station["connectors"].as_array());
        let connectors: Vec<&Value> = connectors.into_iter().flatten().collect();
        let own = connectors
            .iter()
            .find(|connector| connector["id"] == got["connector"]);
        let siblings = connectors
            .iter()
            .filter(|connector| own.is_some_and(|own| own["evse"] == connector["evse"]));
        add("beside a sibling", u64::from(siblings.count() > 1));
        for (name, count) in got["match_summary"]["refused"]
            .as_object()
            .into_iter()
            .flatten()
        {
            add(name, count.as_u64().expect("a count"));
        }
    }

    fn now(&self) -> i64 {
        self.clock.now().unix_millis()
    }

    fn one_of<'a, T>(&self, choices: &'a [T]) -> &'a T {
        &choices[self.dice.below(choices.len() as u64) as usize]
    }

    /// One of the places of the city. Several stations may have the same place.
    fn place(&self) -> Value {
        let offset = || (self.dice.below(13) as f64 - 6.0) * 0.0117;
        json!({"latitude": self.center.0 + offset(), "longitude": self.center.1 + offset()})
    }

    /// A station with random peculiarities.
    fn station(&self) -> Value {
        let dice = &self.dice;
        let hours = self.opening_hours();
        let zones = [
            "UTC",
            "Europe/Berlin",
            "America/New_York",
            "Asia/Kolkata",
            "Pacific/Auckland",
        ];
        let mut connectors = Vec::new();
        for evse in 0..1 + dice.below(3) {
            let statuses = [
                "available",
                "available",
                "available",
                "occupied",
                "reserved",
                "faulted",
                "unavailable",
                "unknown",
            ];
            let (status, reservable) = (self.one_of(&statuses), dice.percent(80));
            let shared_prices = self.pricing();
            for cable in 0..1 + dice.below(3) {
                let prices = if dice.percent(70) {
                    shared_prices.clone()
                } else {
                    self.pricing()
                };
                connectors.push(json!({"id": format!("E{evse}-{cable}"), "evse": format!("E{evse}"),
                    "power": self.one_of(&[3.7, 22.0, 42.9, 43.0, 50.0, 149.9, 150.0, 300.0]), "pricing": prices,
                    "reservable": reservable, "status": status,
                    "type": self.one_of(&["Type2", "Type2", "CCS", "CHAdeMO", "IEC_60309_2_three_32"])}));
            }
        }
        let around_the_clock = dice.percent(50);
        let country = self.one_of(&["GB", "GB", "FR", "PL", "AQ"]);
        let mix = dice.percent(30).then(|| {
            let grams = dice.below(5_000) as f64 / 10.0;
            json!({"carbon_g_per_kwh": grams, "is_green_energy": false, "sources": []})
        });
        json!({
            "address": {"line1": "1 Dock Road", "city": "London", "postal_code": "E16 1AA", "country": country}, "energy_mix": mix,
            "location": self.place(), "operator": self.one_of(&OPERATORS), "connectors": connectors, "pricing": [],
            "status": if dice.percent(92) { "active" } else { "maintenance" }, "timezone": self.one_of(&zones),
            "capabilities": {"24_7_access": around_the_clock, "amenities": [], "payment_methods": [],
                "requires_membership": false, "reservable": dice.percent(95)},
            "availability": {"connectors_available": 0, "connectors_total": 0, "range": [], "opening_hours": hours,
                "exceptional_closings": self.ranges(), "exceptional_openings": self.ranges()},
        })
    }

    fn opening_hours(&self) -> Vec<Value> {
        let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let mut hours = Vec::new();
        for day in days {
            let spans: &[(&str, &str)] = match self.dice.below(8) {
                0 => &[],
                1 => &[("00:00", "00:00")],
                2 => &[("22:00", "06:00")],
                3 => &[("06:15", "12:00"), ("12:00", "19:40")],
                4 => &[("05:00", "11:00"), ("13:00", "05:00")],
                5 => &[("07:00", "07:00")],
                _ => &[("08:00", "21:00")],
            };
            let line =
                |(from, until): &(&str, &str)| json!({"day": day, "from": from, "until": until});
            hours.extend(spans.iter().map(line));
        }
        hours
    }

    /// Time spans in the following days, in order.
    fn ranges(&self) -> Vec<Value> {
        let mut at = self.now();
        let count = self.dice.below(4);
        let ranges = (0..count).map(|_| {
            let from = at + (30 + self.dice.below(1_500) as i64) * MINUTE;
            at = from + (10 + self.dice.below(600) as i64) * MINUTE;
            let [from, until] = [from, at].map(Timestamp::from_unix_millis);
            json!({"from": from, "until": until})
        });
        ranges.collect()
    }

    /// Prices in one of three currencies, or unknown ones.
    fn pricing(&self) -> Vec<Value> {
        let dice = &self.dice;
        if dice.percent(12) {
            return Vec::new();
        }
        let currency = self.one_of(&["usd", "usd", "usd", "eur", "jpy"]);
        let price = |kind: &str| {
            let (whole, fraction) = (dice.below(60), dice.below(10_000));
            let mut price = json!({"currency": currency, "price": whole, "step_size": 1, "tax": "vat",
                "tax_included": dice.percent(60), "tax_percent": self.one_of(&["0", "5.5", "20", "25"]), "type": kind});
            match dice.below(4) {
                0 => price["price_decimal"] = json!(format!("{whole}.{fraction:04}")),
                // Half a minor unit, which has to be rounded up.
                1 => price["price_decimal"] = json!(format!("{whole}.5")),
                2 => price["tax"] = json!("none"),
                _ => {}
            }
            price
        };
        let mut prices = vec![price("TIME")];
        for _ in 0..[0, 1, 1, 1, 2][dice.below(5) as usize] {
            prices.push(price("ENERGY"));
        }
        if dice.percent(30) {
            prices.push(price("FLAT"));
        }
        if dice.percent(40) {
            // The first price of a kind whose restrictions hold applies.
            let restrictions = [
                json!({"start_time": "22:00", "end_time": "06:00"}),
                json!({"start_time": "07:15", "end_time": "13:30"}),
                json!({"start_time": "17:00", "end_time": "00:00"}),
                json!({"day_of_week": ["mon", "wed", "fri", "sat"]}),
            ];
            prices[0]["restrictions"] = self.one_of(&restrictions).clone();
            let mut at_times = price("ENERGY");
            at_times["step_size"] = json!(self.one_of(&[1, 1, 500]));
            at_times["restrictions"] = self.one_of(&restrictions).clone();
            prices.insert(0, at_times);
        }
        prices
    }

    async fn change_preferences(&mut self) {
        let stations: Vec<Value> = self
            .stations
            .iter()
            .filter(|_| self.dice.percent(12))
            .map(|station| station["id"].clone())
            .collect();
        let operators: Vec<&str> = OPERATORS
            .into_iter()
            .filter(|_| self.dice.percent(25))
            .collect();
        let cap = self.dice.percent(35).then(|| 10 + self.dice.below(50));
        let preferences = json!({"preferred_charging_stations": stations, "preferred_cpos": operators,
            "charging_speed": self.one_of(&["any", "slow", "fast", "ultra_fast"]), "max_price_per_kwh": cap,
            "currency": self.one_of(&["usd", "usd", "eur"])});
        let path = format!("/v1/drivers/{}", id(&self.driver));
        self.driver = self.post(&path, json!({"preferences": preferences})).await;
    }

    fn request(&self, vehicle: &Value) -> Value {
        let dice = &self.dice;
        let at = |minutes: i64| Timestamp::from_unix_millis(self.now() + minutes * MINUTE);
        let start = 1 + dice.below(80) as i64;
        let end = start + 15 + dice.below(180) as i64;
        let mut types = vec![vehicle["charging_standard"].clone()];
        let others = STANDARDS.iter().map(|standard| json!(standard));
        types.extend(
            others
                .filter(|standard| *standard != types[0] && dice.percent(30))
                .collect::<Vec<_>>(),
        );
        let location = with(self.place(), json!({"radius": 500 + dice.below(20_000)}));
        let mut request = json!({"driver": self.driver["id"], "vehicle": vehicle["id"], "connector_type": types,
            "ideal_start": at(start), "ideal_end": at(end), "location": location});
        if dice.percent(50) {
            request["earliest_start"] = json!(at(start - dice.below(70) as i64));
        }
        match dice.below(8) {
            0..=2 => {}
            3 => request["latest_end"] = json!(at(end + dice.below(3 * 24 * 60) as i64)),
            _ => request["latest_end"] = json!(at(end + dice.below(300) as i64)),
        }
        request
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.send("POST", path, Some(body)).await
    }

    async fn get(&self, path: &str) -> Value {
        self.send("GET", path, None).await
    }

    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let (status, shown) = self.answer(method, path, body.as_ref()).await;
        assert_eq!(
            status, 200,
            "seed {}: {method} {path} {body:?}: {shown}",
            self.seed
        );
        shown
    }

    async fn answer(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let key = self.client.key.as_deref().expect("a key");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {key}"))
            .header("host", "api.example.com")
            .header("content-type", "application/json");
        let text = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Body::from(text)).expect("a request");
        let answer = self.router.clone().oneshot(request).await;
        let answer = answer.expect("an answer");
        let status = answer.status().as_u16();
        let bytes = to_bytes(answer.into_body(), 8 << 20).await.expect("a body");
        (status, serde_json::from_slice(&bytes).expect("JSON"))
    }
}

/// Compares the counts of an attempt with those of a matcher that examines every station. If nothing was found they are the same. If a
/// match was found, a station that could not be better may count as not considered instead.
fn compare_summaries(got: &Value, want: &Value, is_matched: bool, at: &str) {
    if !is_matched {
        assert_eq!(got, want, "{at}");
        return;
    }
    let counts = |summary: &Value| -> BTreeMap<String, u64> {
        let counts = summary["refused"].as_object().expect("counts").iter();
        let counts = counts.map(|(name, count)| (name.clone(), count.as_u64().expect("a count")));
        counts.collect()
    };
    assert_eq!(
        got["stations_in_radius"], want["stations_in_radius"],
        "{at}"
    );
    let (mut got, want) = (counts(got), counts(want));
    let not_considered = got.remove("not_considered").expect("a count");
    let mut missing = 0;
    for (name, count) in got {
        assert!(
            count <= want[&name],
            "{at}: {name}: {count} instead of {want:?}"
        );
        missing += want[&name] - count;
    }
    assert!(
        missing <= not_considered,
        "{at}: {missing} of {want:?} are missing"
    );
}

fn id(object: &Value) -> &str {
    object["id"].as_str().expect("an id")
}
