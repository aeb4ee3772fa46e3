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

mod agenda;
mod cdrs;
mod check;
mod sessions;

use kernel::time::minutes;
use kernel::{Currency, Timestamp};
use serde_json::{Value, json};
use tests::faulty::Dice;
use tests::platform::{Connected, Received, fixture, manage};
use tests::stage::Stage;
use tests::{TestApp, with};

use check::PATIENCE;

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
}
