//! A charging network that reports wrong energy, prices and times.
//!
//! It is connected over OCPI, accepts the service's commands, and sends sessions and CDRs. Results come late, twice, contradict later
//! requests, or never come. Sessions begin although they were refused, jump, go backwards, have no price or one in another currency,
//! come too late to count, end before they began, or never end. CDRs come before their sessions, without one, days later, twice, with
//! absurd, negative or no amounts; they are corrected and credited, before and after, by too much, or in another currency.
//!
//! Implausible prices are reviewed: the tenant accepts or disputes the price, an operator accepts it or decides that our own price is
//! billed, or there is no decision. Sessions that the network loses are ended by the tenant, and may continue.
//!
//! The simulation records every valid report, CDR and decision, so that in the end it can compute the cost of each session by the
//! rules of `infra/networks.md` alone.
//!
//! There are two networks with the same ids of locations, EVSEs, tariffs, sessions and CDRs, and the same drivers. Each also reports,
//! bills and credits sessions at the other one. These requests are not counted, because they must change nothing.

use std::collections::BTreeMap;

use kernel::time::{days, hours, minutes};
use kernel::{Currency, Id, Mode, SignedDuration, Timestamp};
use models::{Adjustment, ChargingSession, Stored};
use serde_json::{Value, json};
use tests::faulty::Dice;
use tests::platform::{Behaviour, Connected, Received, fixture, manage};
use tests::stage::Stage;
use tests::{TestApp, with};

/// The price of a kWh in minor units without tax; the tax is 21 percent.
const PRICE: i64 = 40;

const COMMANDS: &str = "/2.2.1/commands";

pub struct Network {
    cpo: Connected,
    party: String,
    pub station: String,
    /// The currency of its tariff, and the one in which it sometimes bills wrongly.
    pub currencies: [Currency; 2],
    /// Drivers with their vehicles, one pair for each EVSE.
    crews: Vec<(String, String)>,
    charges: Vec<Charge>,
    /// The number of commands that it has processed.
    starts: usize,
    stops: usize,
    /// The number of requests about the other network's sessions.
    pub meddled: usize,
    /// The planned actions, each with the charge that it concerns.
    agenda: Vec<(Timestamp, usize, Act)>,
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Result(&'static str),
    Begin,
    Grow,
    End,
    /// Sends a CDR; a second one corrects the first.
    Bill,
    /// Sends a CDR again.
    Repeat,
    /// Sends another CDR with the id of an earlier one.
    Forge,
    Credit,
}

/// The consequences of a START_SESSION.
struct Charge {
    session: String,
    command: Value,
    id: String,
    began: Timestamp,
    /// `last_updated` of the newest report.
    sent: Option<Timestamp>,
    is_over: bool,
    /// The valid reports that are not older than others.
    reports: Vec<Report>,
    /// Every CDR, whether it is valid or not.
    cdrs: Vec<Cdr>,
    /// The decisions about its price.
    decisions: Vec<Decision>,
    /// The time at which the tenant ended the session because the network had lost it.
    ended: Option<Timestamp>,
}

/// The decision of a review.
struct Decision {
    is_ours: bool,
    /// The amount under review, in minor units.
    network: i64,
    ours: i64,
}

#[derive(Clone, Copy)]
struct Report {
    sent: Timestamp,
    is_completed: bool,
    wh: i64,
    /// In minor units.
    gross: Option<i64>,
    currency: Currency,
}

struct Cdr {
    id: String,
    body: Value,
    sent: Timestamp,
    is_usable: bool,
    wh: i64,
    gross: i64,
    currency: Currency,
    is_credit: bool,
    /// The CDR that it credits.
    credits: Option<String>,
}

/// An amount in tenths of minor units, in OCPI's format.
fn decimal(tenths: i64, currency: Currency) -> String {
    let digits = usize::from(currency.exponent()) + 1;
    let unit = 10i64.pow(digits as u32);
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, rest) = (tenths.abs() / unit, tenths.abs() % unit);
    format!("{sign}{whole}.{rest:0digits$}")
}

/// Converts tenths of minor units to minor units, half away from zero.
fn rounded(tenths: i64) -> i64 {
    tenths.signum() * ((tenths.abs() + 5) / 10)
}

/// The cost of an energy by the tariff, in minor units with tax.
fn by_tariff(wh: i64) -> i64 {
    (wh * PRICE * 121 + 50_000) / 100_000
}

fn kwh(wh: i64) -> String {
    let sign = if wh < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", wh.abs() / 1000, wh.abs() % 1000)
}

fn code(currency: Currency) -> String {
    currency.as_str().to_uppercase()
}

impl Network {
    /// Connects two identical networks.
    pub async fn connect_two(
        test: &TestApp,
        stage: &mut Stage,
        fleet: &str,
        currency: &str,
    ) -> [Self; 2] {
        let mut crews = Vec::new();
        for _ in 0..2 {
            let driver = stage.make("/v1/drivers", tests::driver()).await;
            let attach = format!("/v1/drivers/{driver}/attach");
            stage.make(&attach, json!({"fleet": fleet})).await;
            let vehicle = stage.make("/v1/vehicles", tests::vehicle(fleet)).await;
            crews.push((driver, vehicle));
        }
        let letter = char::from(b'A' + (stage.seed / 100 % 26) as u8);
        let parties = [
            format!("{:03}", stage.seed % 1000),
            format!("{letter}{:02}", stage.seed % 100),
        ];
        let [first, second] = parties;
        [
            Self::connect(test, stage, (first, "4.852"), crews.clone(), currency).await,
            Self::connect(test, stage, (second, "5.852"), crews, currency).await,
        ]
    }

    /// Connects a network of a party, with one station of two charging points on a meridian.
    async fn connect(
        test: &TestApp,
        stage: &Stage,
        (party, longitude): (String, &str),
        crews: Vec<(String, String)>,
        currency: &str,
    ) -> Self {
        let seed = stage.seed;
        let own = if (seed / 3).is_multiple_of(2) {
            currency
        } else {
            "eur"
        };
        let other = if own == "eur" { "usd" } else { "eur" };
        let currencies = [own, other].map(|code| Currency::from_code(code).expect("a currency"));
        let roles = json!([{"role": "CPO", "country_code": "NL", "party_id": party,
            "business_details": {"name": "Liars"}}]);
        let cpo = Connected::with(test, |script| {
            script.roles = roles;
            // Only its location can be pulled: everything else is pushed.
            script.missing = vec!["tariffs", "sessions", "cdrs"];
        });
        let cpo = Box::pin(cpo).await;
        let price = decimal(PRICE * 10, currencies[0]);
        let element = json!({"price_components": [{"type": "ENERGY", "price": price, "vat": 21, "step_size": 1}]});
        let tariff =
            json!({"party_id": party, "currency": code(currencies[0]), "elements": [element]});
        let tariff = with(fixture("tariff"), tariff);
        cpo.put(&format!("/tariffs/NL/{party}/DAY"), &tariff).await;
        let latitude = format!("{}.{:06}", 40 + seed / 50 % 30, seed % 50 * 20_000);
        let mut location = fixture("location");
        let mut second = location["evses"][0].clone();
        (second["uid"], second["evse_id"]) = (json!("E2"), json!("NL*EXA*E2"));
        location["evses"][1] = second;
        let place = json!({"latitude": latitude, "longitude": format!("{longitude}000")});
        let location = with(location, json!({"party_id": party, "coordinates": place}));
        cpo.put(&format!("/locations/NL/{party}/AMS-1"), &location)
            .await;
        let locations = vec![location];
        cpo.script().lists.insert("locations", locations);
        let search =
            format!("/v1/charging_stations?latitude={latitude}&longitude={longitude}&radius=500");
        let found = stage.get(&search).await;
        let station = found["data"][0]["id"].as_str().expect("a station");
        let mut network = Self {
            station: station.to_owned(),
            cpo,
            party,
            currencies,
            crews,
            charges: Vec::new(),
            starts: 0,
            stops: 0,
            meddled: 0,
            agenda: Vec::new(),
        };
        network.prepare_reactions(&stage.dice);
        network
    }

    /// Disconnects the networks from later simulations.
    pub async fn leave(&self, test: &TestApp) {
        let suspend = json!({"action": "suspend", "network": self.cpo.network});
        Box::pin(manage(test, suspend))
            .await
            .expect("it is suspended");
    }

    /// The cost in OCPI's format, and in minor units with tax. One of ten has no information about tax: in the currency of the tariff it
    /// has the tax of the tariff, and in any other currency none.
    fn cost(&self, dice: &Dice, tenths: i64, currency: Currency) -> (Value, i64) {
        let amount = decimal(tenths, currency);
        if !dice.percent(10) {
            let net = decimal(tenths * 100 / 121, currency);
            let cost = json!({"excl_vat": net, "incl_vat": amount});
            return (cost, rounded(tenths));
        }
        let percent = if currency == self.currencies[0] {
            121
        } else {
            100
        };
        let gross = tenths.signum() * ((tenths.abs() * percent + 500) / 1000);
        (json!({"excl_vat": amount}), gross)
    }

    /// Requests a session from the service. It may be refused because an earlier one has not ended.
    pub async fn ask(&self, stage: &mut Stage, method: Option<String>) {
        let place = stage.dice.below(2) as usize;
        let (driver, vehicle) = &self.crews[place];
        let body = json!({"charging_station": self.station, "connector": (["E1-1", "E2-1"][place]), "driver": driver,
            "vehicle": vehicle, "payment_method": method});
        stage.post("/v1/charging_sessions", body).await;
    }

    /// Reports, bills or credits a session at another network, as if it were its own.
    pub async fn meddle(&mut self, stage: &Stage, other: &Self) {
        let dice = &stage.dice;
        let place = dice.below(other.charges.len().max(1) as u64) as usize;
        let Some(charge) = other.charges.get(place) else {
            return;
        };
        self.meddled += 1;
        let id = format!("M{}", self.meddled);
        let cost = json!({"excl_vat": 4_000, "incl_vat": 5_000});
        let change = json!({"party_id": self.party, "id": id, "total_cost": cost});
        if dice.percent(40) {
            let status = ["ACTIVE", "COMPLETED", "INVALID"][dice.below(3) as usize];
            let (session, _) = other.session(stage, place, status);
            let path = format!("/ocpi/2.2.1/sessions/NL/{}/{id}", self.party);
            let session = with(session, change);
            return self.send(stage, "PUT", &path, &session, 1000).await;
        }
        let command = &charge.command;
        let is_credit = dice.percent(30);
        let mut location = fixture("cdr")["cdr_location"].clone();
        location["evse_uid"] = command["evse_uid"].clone();
        let body = json!({"session_id": null, "start_date_time": charge.began, "end_date_time": stage.app.now(),
            "cdr_token": self.token(&command["token"]), "cdr_location": location, "charging_periods": [], "tariffs": [],
            "authorization_reference": command["authorization_reference"], "credit": is_credit,
            "last_updated": stage.app.now()});
        let cdr = with(with(fixture("cdr"), body), change);
        self.send(stage, "POST", "/ocpi/2.2.1/cdrs", &cdr, 1000)
            .await;
    }

    /// Whether it still has planned actions, or an ended session still waits for its CDR.
    pub fn is_busy(&self, now: Timestamp) -> bool {
        let waits = |charge: &Charge| charge.ended.is_some_and(|ended| now < ended.plus(PATIENCE));
        !self.agenda.is_empty() || self.charges.iter().any(waits)
    }

    /// Processes new commands and due actions. Lost sessions and those under review may be ended or decided.
    pub async fn act(&mut self, stage: &mut Stage) {
        if stage.dice.percent(25) {
            Box::pin(self.decide(stage)).await;
        }
        if stage.dice.percent(25) {
            Box::pin(self.end_lost(stage)).await;
        }
        self.prepare_reactions(&stage.dice);
        let starts = self.commands("START_SESSION", self.starts);
        self.starts += starts.len();
        for start in starts {
            self.plan(stage, start.body).await;
        }
        let stops = self.commands("STOP_SESSION", self.stops);
        self.stops += stops.len();
        for stop in stops {
            let is_stopped = |charge: &Charge| stop.body["session_id"] == json!(charge.id);
            let place = self.charges.iter().position(is_stopped);
            let place = place.expect("a session that it has reported");
            if stage.dice.percent(60) {
                let at = stage.app.now().plus(minutes(1));
                self.agenda.push((at, place, Act::End));
            }
        }
        while let Some(next) = self.due(stage.app.now()) {
            let (_, place, act) = self.agenda.remove(next);
            self.perform(stage, place, act).await;
        }
    }

    /// One of the sessions at the station with a member that is not null.
    async fn any_with(&self, stage: &Stage, member: &str) -> Option<(usize, Value)> {
        let path = format!(
            "/v1/charging_sessions?charging_station={}&limit=100",
            self.station
        );
        let found = stage.get(&path).await;
        let found = found["data"].as_array().expect("a list").iter();
        let found: Vec<Value> = found
            .filter(|session| !session[member].is_null())
            .cloned()
            .collect();
        let session = stage.one_of(&found)?;
        let is_its = |charge: &Charge| session["id"] == json!(charge.session);
        let place = self.charges.iter().position(is_its);
        Some((place.expect("a session that was asked for"), session))
    }

    /// Decides about a price that is under review.
    async fn decide(&mut self, stage: &mut Stage) {
        let Some((place, session)) = self.any_with(stage, "review").await else {
            return;
        };
        let id = &session["id"];
        let path = format!(
            "/v1/charging_sessions/{}/review",
            id.as_str().expect("an id")
        );
        let choice = stage.dice.below(5);
        match choice {
            0 | 1 => {
                let decision = ["accept", "dispute"][choice as usize];
                let body = json!({"decision": decision, "note": "It is too much."});
                let (status, decided) = stage.post(&path, body).await;
                assert_eq!(status, 200, "seed {}: {decided}", stage.seed);
            }
            _ => {
                let decision = if choice == 2 { "accept" } else { "use_ours" };
                let action = json!({"action": "decide_review", "mode": "test", "account": stage.tenant.account,
                    "session": id, "decision": decision});
                stage
                    .operate(&action, "No price of the session is under review.")
                    .await;
            }
        }
        if choice != 1 {
            let review = &session["review"];
            self.charges[place].decisions.push(Decision {
                is_ours: choice > 2,
                network: super::amount(review, "network"),
                ours: super::amount(review, "ours"),
            });
        }
    }

    /// Ends a session that was lost.
    async fn end_lost(&mut self, stage: &mut Stage) {
        let Some((place, session)) = self.any_with(stage, "stalled_at").await else {
            return;
        };
        let id = session["id"].as_str().expect("an id");
        let path = format!("/v1/charging_sessions/{id}/end");
        let (status, ended) = stage.post(&path, json!({})).await;
        assert_eq!(status, 200, "seed {}: {ended}", stage.seed);
        self.charges[place].ended = Some(stage.app.now());
    }

    fn commands(&self, name: &str, from: usize) -> Vec<Received> {
        let all = self.cpo.received("POST", &format!("{COMMANDS}/{name}"));
        all.into_iter().skip(from).collect()
    }

    /// Chooses the responses to the next commands. The later actions may contradict them.
    fn prepare_reactions(&mut self, dice: &Dice) {
        let mut script = self.cpo.script();
        while script.next_commands.len() < 6 {
            let respond = |result: &str| Behaviour::Respond {
                data: json!({"result": result, "timeout": 30}),
            };
            let say = |text: &str| Behaviour::Say { text: text.into() };
            script.next_commands.push_back(match dice.below(20) {
                0 => respond("REJECTED"),
                1 => Behaviour::Status { http: 500 },
                2 => Behaviour::Close,
                3 => say("<html>"),
                4 => say("{}"),
                _ => respond("ACCEPTED"),
            });
        }
    }

    fn due(&self, now: Timestamp) -> Option<usize> {
        let due = self.agenda.iter().enumerate();
        let due = due.filter(|(_, (at, ..))| *at <= now);
        due.min_by_key(|(place, (at, ..))| (*at, *place))
            .map(|(place, _)| place)
    }

    /// Plans the consequences of a START_SESSION.
    async fn plan(&mut self, stage: &Stage, command: Value) {
        let now = stage.app.now();
        let reference = command["authorization_reference"].as_str().expect("an id");
        let reference = Id::from(reference);
        let stored = stage.app.store.command(Mode::Test, &reference);
        let stored = stored.await.expect("the table").expect("the command");
        let session = stored.subject.id.to_string();
        let is_new = self.charges.iter().all(|charge| charge.session != session);
        assert!(is_new, "seed {}: {session} is started twice", stage.seed);
        let place = self.charges.len();
        let dice = &stage.dice;
        let mut plan = |at: Timestamp, act| self.agenda.push((at, place, act));
        // A random time between two numbers of minutes.
        let between = |low: u64, high: u64| minutes((low + dice.below(high - low)) as i64);
        for percent in [80, 15] {
            if dice.percent(percent) {
                let result = match dice.below(8) {
                    0 => "REJECTED",
                    1 => "FAILED",
                    2 => "TIMEOUT",
                    3 => "EVSE_OCCUPIED",
                    _ => "ACCEPTED",
                };
                plan(now.plus(between(0, 4)), Act::Result(result));
            }
        }
        let begins = dice.percent(80);
        let mut began = now;
        if begins {
            began = now.plus(if dice.percent(70) {
                between(0, 4)
            } else {
                between(4, 15)
            });
            plan(began, Act::Begin);
            for _ in 0..dice.below(4) {
                plan(began.plus(between(1, 300)), Act::Grow);
            }
        }
        let ended = began.plus(if dice.percent(85) {
            between(10, 600)
        } else {
            // The session continues for days.
            between(2 * 24 * 60, 6 * 24 * 60)
        });
        if begins && dice.percent(88) {
            plan(ended, Act::End);
        }
        if dice.percent(if begins { 80 } else { 20 }) {
            let billed = ended.plus(match dice.below(10) {
                0..=5 => between(0, 120),
                6 | 7 => between(60, 48 * 60),
                _ => between(73 * 60, 200 * 60),
            });
            plan(billed, Act::Bill);
            for (percent, act) in [
                (20, Act::Repeat),
                (10, Act::Forge),
                (25, Act::Bill),
                (25, Act::Credit),
                (10, Act::Credit),
            ] {
                if dice.percent(percent) {
                    plan(billed.plus(between(0, 90 * 60) - hours(3)), act);
                }
            }
        }
        self.charges.push(Charge {
            session,
            id: format!("S{place}"),
            command,
            began: now,
            sent: None,
            is_over: false,
            reports: Vec::new(),
            cdrs: Vec::new(),
            decisions: Vec::new(),
            ended: None,
        });
    }

    async fn perform(&mut self, stage: &Stage, place: usize, act: Act) {
        let is_over = self.charges[place].is_over;
        match act {
            Act::Result(result) => self.give_result(stage, place, result).await,
            Act::Begin if !is_over => {
                self.charges[place].began = stage.app.now();
                self.report(stage, place, "ACTIVE").await;
            }
            Act::Grow if !is_over && self.charges[place].sent.is_some() => {
                self.grow(stage, place).await;
            }
            Act::End if !is_over => self.end(stage, place).await,
            Act::Bill => self.bill(stage, place).await,
            Act::Repeat | Act::Forge => self.bill_again(stage, place, act).await,
            Act::Credit => self.credit(stage, place).await,
            Act::Begin | Act::Grow | Act::End => {}
        }
    }

    async fn give_result(&self, stage: &Stage, place: usize, result: &str) {
        let url = self.charges[place].command["response_url"].as_str();
        let url = url.expect("a URL");
        let path = &url[url.find("/ocpi/").expect("a path")..];
        let body = json!({"result": result});
        self.send(stage, "POST", path, &body, 1000).await;
    }

    /// Sends a request until there is a response with this status code.
    async fn send(&self, stage: &Stage, method: &str, path: &str, body: &Value, code: u64) {
        let sent = stage.send_ocpi(&self.cpo.token, method, path, body).await;
        assert_eq!(sent, code, "seed {}: {method} {path}: {body}", stage.seed);
    }

    /// Sends a session with more energy, or less.
    async fn grow(&mut self, stage: &Stage, place: usize) {
        match stage.dice.below(10) {
            0 => {
                let mut mistaken = self.session(stage, place, "ACTIVE").0;
                match stage.dice.below(4) {
                    0 => mistaken["kwh"] = json!(-1),
                    1 => mistaken["kwh"] = json!(1e9),
                    2 => mistaken["currency"] = json!("XXXX"),
                    _ => mistaken["total_cost"] = json!({"excl_vat": 1e12}),
                }
                self.put(stage, place, &mistaken).await;
            }
            1 | 2 => return self.put_older(stage, place).await,
            _ => {}
        }
        self.report(stage, place, "ACTIVE").await;
    }

    /// Sends a report that is older than the newest one.
    async fn put_older(&self, stage: &Stage, place: usize) {
        let sent = self.charges[place].sent.expect("a report");
        let mut older = self.session(stage, place, "COMPLETED").0;
        let age = minutes(1 + stage.dice.below(90) as i64);
        older["last_updated"] = json!(sent.plus(-age));
        self.put(stage, place, &older).await;
    }

    async fn end(&mut self, stage: &Stage, place: usize) {
        let status = match stage.dice.below(10) {
            0 => "INVALID",
            _ => "COMPLETED",
        };
        self.report(stage, place, status).await;
        self.charges[place].is_over = true;
        match stage.dice.below(12) {
            0 => self.report(stage, place, "INVALID").await,
            1 | 2 if status == "COMPLETED" => self.report(stage, place, status).await,
            3 => self.put_older(stage, place).await,
            _ => {}
        }
    }

    /// Reports a session with this status, and random energy and price.
    async fn report(&mut self, stage: &Stage, place: usize, status: &str) {
        let (session, report) = self.session(stage, place, status);
        if self.charges[place].sent.is_some() && stage.dice.percent(25) {
            let members = [
                "kwh",
                "total_cost",
                "currency",
                "status",
                "start_date_time",
                "end_date_time",
                "last_updated",
            ];
            let patch: serde_json::Map<String, Value> = members
                .into_iter()
                .map(|name| (name.to_owned(), session[name].clone()))
                .collect();
            let path = self.path(place);
            self.send(stage, "PATCH", &path, &Value::Object(patch), 1000)
                .await;
        } else {
            self.put(stage, place, &session).await;
        }
        // The price may become final at the same time.
        let is_priced = self.is_priced(stage, place).await;
        let charge = &mut self.charges[place];
        charge.sent = Some(stage.app.now());
        match status {
            "INVALID" if is_priced => {}
            "INVALID" => charge.reports.clear(),
            _ => charge.reports.push(report),
        }
    }

    /// Whether a session has a price that no report changes any more: one that is final or under review.
    async fn is_priced(&self, stage: &Stage, place: usize) -> bool {
        let id = Id::from(self.charges[place].session.as_str());
        let session = stage.app.store.load::<ChargingSession>(&stage.tenant, &id);
        let state = session.await.expect("a session").object.state;
        state.final_price().is_some() || state.review().is_some()
    }

    fn path(&self, place: usize) -> String {
        let (party, id) = (&self.party, &self.charges[place].id);
        format!("/ocpi/2.2.1/sessions/NL/{party}/{id}")
    }

    async fn put(&self, stage: &Stage, place: usize, session: &Value) {
        let path = self.path(place);
        self.send(stage, "PUT", &path, session, 1000).await;
    }

    fn currency(&self, dice: &Dice) -> Currency {
        self.currencies[usize::from(dice.percent(12))]
    }

    /// The report of a session at this time.
    fn session(&self, stage: &Stage, place: usize, status: &str) -> (Value, Report) {
        let (dice, now, charge) = (&stage.dice, stage.app.now(), &self.charges[place]);
        let wh = if dice.percent(20) {
            0
        } else {
            dice.below(60_000) as i64
        };
        let currency = self.currency(dice);
        let tenths = match dice.below(10) {
            0..=2 => None,
            3 => Some(0),
            4 => Some(-(dice.below(9_000) as i64)),
            5 | 6 => Some(dice.below(200_000) as i64),
            _ => Some(by_tariff(wh) * 10),
        };
        let (cost, gross) = match tenths {
            None => (Value::Null, None),
            Some(tenths) => {
                let (cost, gross) = self.cost(dice, tenths, currency);
                (cost, Some(gross))
            }
        };
        let ended = match (status, dice.below(10)) {
            ("ACTIVE", _) => Value::Null,
            (_, 0) => json!(charge.began.plus(hours(-1))),
            (_, 1) => json!(now.plus(hours(2))),
            _ => json!(now),
        };
        let started = match dice.below(12) {
            0 => now.plus(hours(1)),
            1 => charge.began.plus(hours(-5)),
            _ => charge.began,
        };
        let (token, command) = (&charge.command["token"], &charge.command);
        let session = with(
            fixture("session"),
            json!({"party_id": self.party, "id": charge.id, "start_date_time": started, "end_date_time": ended,
                "kwh": kwh(wh), "charging_periods": [], "total_cost": cost, "currency": code(currency), "status": status,
                "cdr_token": self.token(token), "auth_method": "COMMAND",
                "authorization_reference": command["authorization_reference"],
                "evse_uid": command["evse_uid"], "connector_id": command["connector_id"], "last_updated": now}),
        );
        let report = Report {
            sent: now,
            is_completed: status == "COMPLETED",
            wh,
            gross,
            currency,
        };
        (session, report)
    }

    fn token(&self, token: &Value) -> Value {
        let members = ["country_code", "party_id", "uid", "type", "contract_id"];
        let members = members.map(|name| (name.to_owned(), token[name].clone()));
        Value::Object(members.into_iter().collect())
    }

    /// Bills a session, or bills it again.
    async fn bill(&mut self, stage: &Stage, place: usize) {
        let dice = &stage.dice;
        let wh = match dice.below(12) {
            0 => 0,
            1 => -5,
            _ => dice.below(60_000) as i64,
        };
        let tenths = match dice.below(16) {
            0 => 0,
            1 => -(dice.below(9_000) as i64),
            // An absurdly high amount.
            2 => 1_000_000_000_000_000,
            3..=8 => dice.below(200_000) as i64,
            _ => by_tariff(wh.max(0)) * 10,
        };
        let currency = self.currency(dice);
        let id = {
            let charge = &self.charges[place];
            let bills = charge.cdrs.iter().filter(|cdr| !cdr.is_credit).count();
            format!("{}-{}", charge.id, bills + 1)
        };
        self.send_cdr(stage, place, (id, tenths, currency, wh), None)
            .await;
    }

    /// Credits an amount that was billed, or will be.
    async fn credit(&mut self, stage: &Stage, place: usize) {
        let (dice, charge) = (&stage.dice, &self.charges[place]);
        let bills = || charge.cdrs.iter().filter(|cdr| !cdr.is_credit);
        let last = bills().next_back();
        let billed = last.map_or(700, |cdr| cdr.gross.clamp(0, 1_000_000));
        let tenths = match dice.below(8) {
            0 => billed * 10,
            1 => -billed * 25,
            2 | 3 => -billed * 4,
            _ => -billed * 10,
        };
        let currency = last.map_or(self.currencies[0], |cdr| cdr.currency);
        let currency = if dice.percent(10) {
            self.currency(dice)
        } else {
            currency
        };
        let credited = last.map_or_else(|| format!("{}-1", charge.id), |cdr| cdr.id.clone());
        let credited = dice.percent(80).then_some(credited);
        let id = format!("{}-X{}", charge.id, charge.cdrs.len());
        self.send_cdr(stage, place, (id, tenths, currency, 0), Some(credited))
            .await;
    }

    /// Credits 40 % of one of these sessions, if one has a valid CDR that was not credited, and no decision about its price.
    pub async fn credit_one_of(&mut self, stage: &Stage, sessions: &[Value]) -> bool {
        let billed = |charge: &Charge| {
            let session = sessions
                .iter()
                .find(|session| session["id"] == charge.session)?;
            let [cdr] = &charge.cdrs[..] else {
                return None;
            };
            let is_plain = charge.decisions.is_empty() && session["review"].is_null();
            let is_final = session["cost_source"] == "cdr";
            let can_be_credited = cdr.is_usable && !cdr.is_credit && cdr.gross >= 10;
            (is_plain && is_final && can_be_credited)
                .then(|| (cdr.id.clone(), -cdr.gross * 4, cdr.currency))
        };
        let found = self.charges.iter().enumerate();
        let mut found = found.filter_map(|(place, charge)| Some((place, billed(charge)?)));
        let Some((place, (cdr, tenths, currency))) = found.next() else {
            return false;
        };
        let id = format!("{}-X", self.charges[place].id);
        let credit = (id, tenths, currency, 0);
        self.send_cdr(stage, place, credit, Some(Some(cdr))).await;
        true
    }

    /// Sends a CDR with its id, amount, currency and energy. A credit refers to the credited CDR.
    async fn send_cdr(
        &mut self,
        stage: &Stage,
        place: usize,
        (id, tenths, currency, wh): (String, i64, Currency, i64),
        credit: Option<Option<String>>,
    ) {
        let (dice, now) = (&stage.dice, stage.app.now());
        let (cost, gross) = self.cost(dice, tenths, currency);
        let charge = &self.charges[place];
        let own = format!("/v1/charging_sessions/{}", charge.session);
        let own = stage.get(&own).await["status"].clone();
        // If the service already has the session, the CDR need not contain the command's reference.
        let is_known = charge.sent.is_some() && (own == "active" || own == "completed");
        let command = &charge.command;
        let reference = if is_known && dice.percent(15) {
            Value::Null
        } else {
            command["authorization_reference"].clone()
        };
        let named = if !reference.is_null() && dice.percent(10) {
            Value::Null
        } else {
            json!(charge.id)
        };
        let ended = match dice.below(8) {
            0 => charge.began.plus(hours(-2)),
            1 => now.plus(hours(2)),
            _ => now,
        };
        // A correction may be older than the CDR that it corrects.
        let updated = if dice.percent(15) {
            now.plus(-minutes(1 + dice.below(3000) as i64))
        } else {
            now
        };
        let mut location = fixture("cdr")["cdr_location"].clone();
        location["evse_uid"] = command["evse_uid"].clone();
        let tokens = self.token(&command["token"]);
        let body = with(
            fixture("cdr"),
            json!({"party_id": self.party, "id": id, "session_id": named, "start_date_time": charge.began,
                "end_date_time": ended, "cdr_token": tokens, "cdr_location": location, "charging_periods": [],
                "tariffs": [], "authorization_reference": reference, "currency": code(currency), "total_cost": cost,
                "total_energy": kwh(wh), "total_time": 1, "credit": credit.is_some(),
                "credit_reference_id": credit.clone().flatten(), "last_updated": updated}),
        );
        self.send(stage, "POST", "/ocpi/2.2.1/cdrs", &body, 1000)
            .await;
        self.charges[place].cdrs.push(Cdr {
            id,
            body,
            sent: now,
            is_usable: wh >= 0 && tenths.abs() < 1_000_000_000_000,
            wh,
            gross,
            currency,
            is_credit: credit.is_some(),
            credits: credit.flatten(),
        });
    }

    /// Sends a CDR a second time. A CDR with changed content is refused, because CDRs do not change.
    async fn bill_again(&self, stage: &Stage, place: usize, act: Act) {
        let cdrs: Vec<&Cdr> = self.charges[place].cdrs.iter().collect();
        let Some(cdr) = stage.one_of(&cdrs) else {
            return;
        };
        let (body, code) = match act {
            Act::Forge => {
                let cost = json!({"excl_vat": 77, "incl_vat": 88});
                (with(cdr.body.clone(), json!({"total_cost": cost})), 2001)
            }
            _ => (cdr.body.clone(), 1000),
        };
        self.send(stage, "POST", "/ocpi/2.2.1/cdrs", &body, code)
            .await;
    }

    /// Checks that every session at the network's station costs the amount that the network may bill, in its price and its adjustments
    /// together. Counts the cases.
    pub fn check(
        &self,
        stage: &Stage,
        sessions: &[&Value],
        adjustments: &[Stored<Adjustment>],
        happened: &mut BTreeMap<&'static str, usize>,
    ) {
        let seed = stage.seed;
        for session in sessions {
            let id = session["id"].as_str().expect("an id");
            let of_session = adjustments.iter().map(|adjustment| &adjustment.object);
            let of_session: Vec<&Adjustment> = of_session
                .filter(|adjustment| {
                    adjustment
                        .line
                        .charging_session
                        .as_ref()
                        .is_some_and(|own| own.as_str() == id)
                })
                .collect();
            let adjusted: i64 = of_session
                .iter()
                .map(|adjustment| adjustment.line.amount)
                .sum();
            let own = super::amount(session, "amount_due") + super::amount(session, "amount_paid");
            let charge = self.charges.iter().find(|charge| charge.session == id);
            let report = || {
                let report = charge.map(Charge::report).unwrap_or_default();
                format!("seed {seed}: {session:#}\nadjusted by {adjusted}\n{report}")
            };
            let currency = Currency::from_code(session["currency"].as_str().expect("a currency"));
            let currency = currency.expect("a currency");
            assert!(
                of_session
                    .iter()
                    .all(|adjustment| adjustment.currency == currency)
            );
            let status = session["status"].as_str().expect("a status");
            let billed = charge.and_then(|charge| charge.billed(currency));
            let reported =
                charge.map_or_else(Vec::new, |charge| charge.reported(self.currencies[0]));
            let source = session["cost_source"].as_str().unwrap_or("none");
            let review = &session["review"];
            if let Some(charge) = charge {
                let is_accepted = charge.decisions.iter().any(|decision| !decision.is_ours);
                let most = charge.most(currency, currency == self.currencies[0]);
                // While a session runs, it shows the network's amount, which is compared with our own price before it is billed.
                let is_running = status == "active";
                assert!(
                    is_running || is_accepted || own + adjusted <= most,
                    "{}",
                    report()
                );
                if charge.ended.is_some() {
                    *happened.entry("ended by hand").or_default() += 1;
                }
            }
            // The total amount of the network. None if it has not sent one.
            let totals = match billed {
                Some(total) => vec![total],
                None => reported.iter().map(|(total, _)| *total).collect(),
            };
            let ours = charge.and_then(Charge::overruled);
            let ours = ours.filter(|decision| totals.contains(&decision.network));
            let what = match (billed, reported.as_slice()) {
                _ if !review.is_null() => {
                    let network = super::amount(review, "network");
                    assert!(totals.contains(&network), "{}", report());
                    assert!(own + adjusted <= network, "{}", report());
                    assert_eq!(status, "completed", "{}", report());
                    "under review"
                }
                _ if ours.is_some_and(|decision| own + adjusted == decision.ours) => "overruled",
                // Nothing was billed before it began.
                (Some(0), _) if status == "active" => "without end",
                (Some(total), _) => {
                    assert!(ours.is_none(), "{}", report());
                    assert_eq!(own + adjusted, total, "by CDR: {}", report());
                    assert!(total == 0 || status == "completed", "{}", report());
                    if of_session.is_empty() {
                        "billed by CDR"
                    } else {
                        "adjusted"
                    }
                }
                (None, [_, ..]) => {
                    let total = own + adjusted;
                    let mut all = reported.iter();
                    let is_it =
                        all.any(|cost| cost.0 == total && (total == 0 || cost.1 == currency));
                    assert!(is_it, "by report: {}", report());
                    assert!(total == 0 || status == "completed", "{}", report());
                    assert_ne!(source, "cdr", "{}", report());
                    "billed by report"
                }
                (None, []) if status == "active" => {
                    let begun = charge.is_some_and(|charge| !charge.reports.is_empty());
                    assert!(begun && adjusted == 0, "{}", report());
                    "without end"
                }
                (None, []) => {
                    assert_eq!((own, adjusted), (0, 0), "{}", report());
                    assert!(["failed", "cancelled"].contains(&status), "{}", report());
                    "without price"
                }
            };
            *happened.entry(what).or_default() += 1;
            let Some(charge) = charge else {
                continue;
            };
            if !charge.decisions.is_empty() {
                *happened.entry("decided").or_default() += 1;
            }
            if !review.is_null() || !charge.decisions.is_empty() {
                continue;
            }
            // A CDR in another currency is ignored if it arrives after the session was billed, and only then.
            let ended = session["session_ended"].as_str().map(Timestamp::parse);
            if let (Some(Ok(ended)), true) = (ended, source != "cdr" && status == "completed") {
                let ignored = charge.cdrs.iter().filter(|cdr| {
                    let counts = cdr.is_usable && !cdr.is_credit && cdr.currency != currency;
                    counts && charge.billed(cdr.currency) > Some(0)
                });
                for cdr in ignored {
                    *happened.entry("in another currency").or_default() += 1;
                    assert!(cdr.sent >= ended.plus(PATIENCE), "{}", report());
                }
            }
        }
    }
}

/// The time for which a CDR is awaited.
const PATIENCE: SignedDuration = days(3);

impl Charge {
    /// The total of the CDRs in a currency. None if there are only credits. Of the CDRs that are not credited in full the newest applies.
    /// A credit of another one counts only as far as it is more than that one; each credit beyond that reduces the total, which is never
    /// below zero.
    fn billed(&self, currency: Currency) -> Option<i64> {
        let usable = |cdr: &&Cdr| cdr.is_usable && cdr.currency == currency;
        let (credits, bills): (Vec<&Cdr>, Vec<&Cdr>) = self
            .cdrs
            .iter()
            .filter(usable)
            .partition(|cdr| cdr.is_credit);
        if bills.is_empty() {
            return None;
        }
        let back_of = |bill: &Cdr| -> Option<i64> {
            let own = credits.iter();
            let own = own.filter(|credit| credit.credits.as_ref() == Some(&bill.id));
            own.map(|credit| credit.gross.abs()).reduce(|a, b| a + b)
        };
        let is_open = |bill: &&&Cdr| back_of(bill).is_none_or(|back| back < bill.gross);
        let order = |cdr: &&&Cdr| (cdr.body["last_updated"].to_string(), cdr.id.clone());
        let newest = bills.iter().filter(is_open).max_by_key(order);
        let mut back: i64 = credits.iter().map(|credit| credit.gross.abs()).sum();
        for bill in &bills {
            if newest.is_none_or(|newest| newest.id != bill.id) {
                back -= back_of(bill).unwrap_or(0).min(bill.gross.max(0));
            }
        }
        Some((newest.map_or(0, |newest| newest.gross) - back).max(0))
    }

    /// The cost of a completed session by the last report; if it has no price, by the tariff. If the tenant has ended the session, the
    /// last report that came in time applies.
    fn reported(&self, of_tariff: Currency) -> Vec<(i64, Currency)> {
        let counting = self.reports.iter().enumerate().filter(|(place, report)| {
            let is_last = place + 1 == self.reports.len();
            let is_last_before = |ended| {
                let next = self.reports.get(place + 1);
                report.sent >= ended || next.is_none_or(|next| next.sent >= ended)
            };
            self.ended
                .map_or(is_last && report.is_completed, is_last_before)
        });
        let price = |report: &Report| match report.gross {
            Some(gross) => (gross.max(0), report.currency),
            None => (by_tariff(report.wh), of_tariff),
        };
        counting.map(|(_, report)| price(report)).collect()
    }

    /// The last decision that our own price is billed.
    fn overruled(&self) -> Option<&Decision> {
        self.decisions.iter().rfind(|decision| decision.is_ours)
    }

    /// The maximum amount in a currency that may be billed without consent.
    fn most(&self, currency: Currency, is_of_tariff: bool) -> i64 {
        let unit = 10i64.pow(currency.exponent().max(2).into());
        let bills = self.cdrs.iter().map(|cdr| cdr.wh);
        let energies = bills.chain(self.reports.iter().map(|report| report.wh));
        let most = energies.map(|wh| {
            let ours = if is_of_tariff {
                by_tariff(wh)
            } else {
                (wh * unit + 500) / 1000
            };
            (ours + 10 * unit).max(ours * 3 / 2)
        });
        most.max().unwrap_or(0)
    }

    /// The reports and bills, for a message.
    fn report(&self) -> String {
        let reports = self.reports.iter().map(|report| {
            let Report {
                sent,
                is_completed,
                wh,
                gross,
                currency,
            } = report;
            format!("report at {sent}: completed {is_completed}, {wh} Wh, {gross:?} {currency:?}\n")
        });
        let cdrs = self.cdrs.iter().map(|cdr| {
            let Cdr {
                id,
                sent,
                is_usable,
                wh,
                gross,
                currency,
                credits,
                is_credit,
                ..
            } = cdr;
            format!(
                "CDR {id} at {sent}: {gross} {currency:?}, {wh} Wh, usable {is_usable}, credit {is_credit} of {credits:?}, {}\n",
                cdr.body["last_updated"]
            )
        });
        let decisions = self.decisions.iter().map(|decision| {
            let Decision {
                is_ours,
                network,
                ours,
            } = decision;
            format!("decision: {network} or {ours}, ours {is_ours}\n")
        });
        let ended = self.ended.map(|ended| format!("ended at {ended}\n"));
        reports.chain(cdrs).chain(decisions).chain(ended).collect()
    }
}
