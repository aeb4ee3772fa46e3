//! The life of money, step by step, by a seed: sessions begin and end, invoices are drafted, finalized, paid, voided and
//! deleted, reservations paid for and not used, charges refunded and wallets topped up, by hand and by schedule, over a switch of the clocks and in currencies
//! of two, no and three decimals. Meanwhile the table fails, the payment provider answers late or not at all, and messages
//! come twice or never. In the end every cent at the provider and in the wallet has exactly one reason.
//!
//! `MONEY_SEEDS=100 MONEY_STEPS=200 cargo test --workspace --test money` makes the long run; `MONEY_SEED` is the
//! first seed.

mod reports;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use shared::error::{Error, Result};
use shared::models::payment_method::Card;
use shared::ports::payments::{Charge, Outcome, Payments, Providers, Refund, Simulated};
use shared::{Mode, Timestamp};
use tests::faulty::Dice;
use tests::records::Records;
use tests::stage::{Outside, Stage, setting};
use tests::{TestApp, with};

/// What a reservation costs, in minor units.
const FEE: i64 = 250;

/// A payment provider that keeps books, and does not always say what it did.
struct Till {
    dice: Dice,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    charges: BTreeMap<String, (Charge, Outcome)>,
    refunds: BTreeMap<String, Refund>,
    silences: u64,
}

impl Till {
    fn books(&self) -> std::sync::MutexGuard<'_, Books> {
        self.books.lock().expect("the books")
    }

    /// Whether nobody learns of what is done, or nothing is done.
    fn fails(&self) -> Option<Error> {
        self.dice.percent(15).then(|| {
            self.books().silences += 1;
            Error::unavailable("the provider does not answer")
        })
    }
}

impl Payments for Till {
    fn charge<'a>(&'a self, charge: &'a Charge) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            if let Some(error) = self.fails() {
                return Err(error);
            }
            let known = self.books().charges.get(&charge.key).cloned();
            let outcome = match known {
                Some((first, outcome)) => {
                    assert_eq!(&first, charge, "another charge under the same key");
                    outcome
                }
                None => {
                    let outcome = Simulated.charge(charge).await?;
                    let entry = (charge.clone(), outcome.clone());
                    self.books().charges.insert(charge.key.clone(), entry);
                    outcome
                }
            };
            self.fails().map_or(Ok(outcome), Err)
        })
    }

    fn refund<'a>(&'a self, refund: &'a Refund) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            if let Some(error) = self.fails() {
                return Err(error);
            }
            self.books()
                .refunds
                .insert(refund.key.clone(), refund.clone());
            self.fails().map_or(Ok(Outcome::Succeeded), Err)
        })
    }

    fn card<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<Card>>> {
        Simulated.card(token)
    }
}

/// A fleet that pays by card, by a card that is declined, by its wallet, or by a card that is always short.
struct World {
    stage: Stage,
    till: Arc<Till>,
    fleet: String,
    driver: String,
    vehicles: Vec<String>,
    station: String,
    methods: Vec<String>,
    began: Timestamp,
}

#[tokio::test]
async fn money_is_neither_made_nor_lost_whatever_happens() {
    let (seeds, steps) = (setting("MONEY_SEEDS", 3), setting("MONEY_STEPS", 60));
    let first = setting("MONEY_SEED", 1);
    let test = TestApp::start_with(|options| options.reservation_fee = FEE).await;
    let mut records = Records::of(&test).await;
    let (mut paid, mut silences) = (0, 0);
    for seed in first..first + seeds {
        let mut world = World::prepare(&test, &mut records, seed).await;
        for step in 0..steps {
            world.step().await;
            world.stage.settle(&mut records).await;
            if step % 10 == 9 {
                world.stage.sweep().await;
            }
        }
        world.close(&mut records).await;
        world.check_report(&mut records).await;
        paid += world.check().await;
        silences += world.till.books().silences;
    }
    assert!(
        paid > 0 && silences > 0,
        "{paid} paid and {silences} silences prove nothing"
    );
}

impl World {
    async fn prepare(test: &TestApp, records: &mut Records, seed: u64) -> Self {
        let client = test.other_account(Mode::Test).await;
        let till = Arc::new(Till {
            dice: Dice::new(!seed),
            books: Mutex::default(),
        });
        let began = before_a_switch(seed);
        let currency = ["gbp", "jpy", "kwd"][seed as usize % 3];
        let price = |kind: &str, price: u32, exact: &str| {
            json!({"currency": currency, "price": price, "price_decimal": exact, "step_size": 1, "tax": "vat",
                "tax_included": false, "tax_percent": "19.6", "type": kind})
        };
        let pricing = json!([
            price("ENERGY", 45, "44.95"),
            price("TIME", 31, "31"),
            price("FLAT", 33, "33.3"),
            price("PARKING_TIME", 70, "69.5"),
        ]);
        let station = test
            .station(json!({"pricing": pricing, "timezone": "Europe/Amsterdam"}))
            .await;
        let outside = Outside {
            payments: Providers::new(till.clone(), None),
            ..Outside::of(test)
        };
        let mut stage = Stage::new(test, &client, outside, seed, began);
        let preferences = json!({"default_currency": currency, "report_frequency": "never", "billing_cycle": "weekly"});
        let fleet = with(
            tests::fleet(),
            json!({"timezone": "Europe/Amsterdam", "preferences": preferences}),
        );
        let fleet = stage.make("/v1/fleets", fleet).await;
        let driver = stage.make("/v1/drivers", tests::driver()).await;
        let attach = format!("/v1/drivers/{driver}/attach");
        stage.make(&attach, json!({"fleet": fleet})).await;
        let mut vehicles = Vec::new();
        for _ in 0..2 {
            vehicles.push(stage.make("/v1/vehicles", tests::vehicle(&fleet)).await);
        }
        let mut methods = Vec::new();
        for method in [
            json!({"type": "card", "token": "tok_success"}),
            json!({"type": "card", "token": "tok_declined"}),
            json!({"type": "wallet"}),
            json!({"type": "card", "token": "tok_insufficient_funds"}),
        ] {
            let body = with(method, json!({"fleet": fleet}));
            methods.push(stage.make("/v1/payment_methods", body).await);
        }
        stage.settle(records).await;
        Self {
            stage,
            till,
            fleet,
            driver,
            vehicles,
            station,
            methods,
            began,
        }
    }

    async fn step(&mut self) {
        match self.stage.dice.below(100) {
            0..=17 => self.start().await,
            18..=31 => self.stop().await,
            32..=45 => self.stage.pass(1 + self.stage.dice.below(90) as i64),
            46..=50 => self
                .stage
                .pass(60 * (12 + self.stage.dice.below(40)) as i64),
            51..=58 => drop(self.invoice().await),
            59..=66 => self.act("invoices", "finalize", json!({})).await,
            67..=78 => self.pay().await,
            79..=83 => self.act("invoices", "void", json!({})).await,
            84..=86 => self.delete().await,
            87..=92 => self.act("transactions", "refund", json!({})).await,
            93..=95 => self.reserve().await,
            _ => self.top_up().await,
        }
    }

    async fn start(&mut self) {
        let place = self.stage.dice.below(2) as usize;
        // One in three has nothing to pay with and waits for an invoice.
        let method = self.methods.get(self.stage.dice.below(6) as usize).cloned();
        let body = json!({"charging_station": self.station, "connector": (["1", "2"][place]), "driver": self.driver,
            "vehicle": self.vehicles[place], "payment_method": method});
        self.stage.post("/v1/charging_sessions", body).await;
    }

    /// Mostly nobody comes, and the fee is owed.
    async fn reserve(&mut self) {
        let method = self.methods.get(self.stage.dice.below(6) as usize).cloned();
        let soon = |minutes: i64| self.stage.app.now().plus_seconds(minutes * 60);
        let body = json!({"driver": self.driver, "vehicle": self.stage.one_of(&self.vehicles), "connector_type": ["Type2"],
            "ideal_start": soon(40), "ideal_end": soon(70), "payment_method": method,
            "location": {"latitude": 10.0, "longitude": 10.0, "radius": 500}});
        let (status, made) = self.stage.post("/v1/reservations", body).await;
        assert_eq!(status, 200, "seed {}: {made}", self.stage.seed);
    }

    async fn stop(&mut self) {
        if let Some(id) = self.any("charging_sessions").await {
            let path = format!("/v1/charging_sessions/{id}/stop");
            self.stage.post(&path, json!({})).await;
        }
    }

    async fn invoice(&mut self) -> (u16, Value) {
        let until = self.stage.app.now().plus_seconds(60);
        let body = json!({"period_start": self.began, "period_end": until, "fleet": self.fleet});
        self.stage.post("/v1/invoices", body).await
    }

    async fn pay(&mut self) {
        let method = self.stage.one_of(&self.methods);
        self.act("invoices", "pay", json!({"payment_method": method}))
            .await;
    }

    async fn delete(&mut self) {
        if let Some(id) = self.any("invoices").await {
            self.stage.delete(&format!("/v1/invoices/{id}")).await;
        }
    }

    async fn top_up(&mut self) {
        let body =
            json!({"amount": 1 + self.stage.dice.below(3000), "payment_method": self.methods[0]});
        let path = format!("/v1/fleets/{}/top_up", self.fleet);
        if self.stage.dice.percent(50) {
            self.stage.post_once(&path, body).await;
        } else {
            self.stage.post(&path, body).await;
        }
    }

    /// One of the newest objects of a kind.
    async fn any(&self, kind: &str) -> Option<String> {
        let page = self.stage.get(&format!("/v1/{kind}?limit=6")).await;
        let ids: Vec<_> = page["data"].as_array().expect("a list").iter().collect();
        let one = self.stage.one_of(&ids)?;
        one["id"].as_str().map(str::to_owned)
    }

    /// Whatever is refused is refused; what counts is the money in the end.
    async fn act(&mut self, kind: &str, verb: &str, body: Value) {
        if let Some(id) = self.any(kind).await {
            let path = format!("/v1/{kind}/{id}/{verb}");
            self.stage.post(&path, body).await;
        }
    }

    /// Ends every session and reservation, lets everything come to rest, and has the rest billed and paid.
    async fn close(&mut self, records: &mut Records) {
        for session in self.all("charging_sessions").await {
            if session["status"] == "active" {
                let id = session["id"].as_str().expect("an id");
                let path = format!("/v1/charging_sessions/{id}/stop");
                self.stage.post(&path, json!({})).await;
            }
        }
        // The last reservation begins in 40 minutes, and waits for 15.
        self.rest(records).await;
        let (status, invoice) = self.invoice().await;
        assert_eq!(status, 200, "{invoice}");
        let path = format!("/v1/invoices/{}", invoice["id"].as_str().expect("an id"));
        let finalize = format!("{path}/finalize");
        let (_, open) = self.stage.post(&finalize, json!({})).await;
        if open["status"] == "open" {
            let body = json!({"payment_method": self.methods[0]});
            let (status, paid) = self.stage.post(&format!("{path}/pay"), body).await;
            assert_eq!((status, &paid["status"]), (200, &json!("paid")), "{paid}");
        }
        self.rest(records).await;
    }

    async fn rest(&self, records: &mut Records) {
        for _ in 0..6 {
            self.stage.settle(records).await;
            self.stage.pass(10);
            self.stage.sweep().await;
        }
        self.stage.settle(records).await;
    }

    async fn all(&self, kind: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        let mut next = Some(format!("/v1/{kind}?limit=100"));
        while let Some(url) = next {
            let page = self.stage.client.get(&url).await.expect(200).body;
            rows.extend(page["data"].as_array().expect("a list").clone());
            next = page["next_page_url"].as_str().map(str::to_owned);
        }
        rows
    }

    /// The cost analysis of the fleet adds up to the same amounts as all invoices that are not void, whatever it is grouped by.
    async fn check_report(&mut self, records: &mut Records) {
        let seed = self.stage.seed;
        let invoices = self.all("invoices").await;
        let counts = invoices.iter().filter(|one| one["status"] != "void");
        let counts: Vec<_> = counts.collect();
        let total = |name: &str| counts.iter().map(|one| amount(one, name)).sum::<i64>();
        let lines = || {
            counts
                .iter()
                .filter_map(|one| one["line_items"].as_array())
                .flatten()
        };
        let sum = |name: &str| lines().map(|line| amount(line, name)).sum::<i64>();
        let fees = lines()
            .filter(|line| line["type"] == "reservation_fee")
            .count();
        let want = [
            ("net", sum("net")),
            ("tax", sum("tax")),
            ("gross", sum("amount")),
            ("paid", total("amount_paid")),
            ("due", total("amount_due")),
            ("reservation_fees", i64::try_from(fees).expect("a number")),
        ];
        let until = self.stage.app.now().plus_seconds(60);
        for group_by in [None, Some("vehicle"), Some("session")] {
            let parameters = json!({"type": "cost_analysis", "period_start": self.began, "period_end": until,
                "group_by": group_by});
            let body = json!({"fleet": self.fleet, "parameters": parameters});
            let id = self.stage.make("/v1/reports", body).await;
            self.rest(records).await;
            let report = self.stage.get(&format!("/v1/reports/{id}")).await;
            assert_eq!(report["status"], "succeeded", "seed {seed}: {report}");
            let totals = report["totals"].as_array().expect("totals");
            assert!(totals.len() <= 1, "seed {seed}: {report}");
            let none = json!({});
            let totals = totals.first().unwrap_or(&none);
            let found = want.map(|(name, _)| (name, amount(totals, name)));
            assert_eq!(found, want, "seed {seed}: {group_by:?}");
        }
    }

    /// Says how much was paid for charging.
    async fn check(&self) -> i64 {
        let seed = self.stage.seed;
        let sessions = self.all("charging_sessions").await;
        let invoices = self.all("invoices").await;
        let transactions = self.all("transactions").await;
        let fees = self.fees(&self.all("reservations").await);
        let paid = self.check_transactions(&sessions, &fees, &transactions);
        let paid = paid.await;
        self.check_events(&transactions).await;
        self.check_invoices(&sessions, &fees, &invoices);
        for session in &sessions {
            assert_eq!(session["status"], "completed", "seed {seed}: {session}");
        }
        paid
    }

    /// What reservations cost that were over and not free: the fee, what is due of it, and what is paid.
    fn fees(&self, reservations: &[Value]) -> Vec<Value> {
        let fees = reservations
            .iter()
            .filter_map(|one| match one["status"].as_str() {
                Some("completed" | "expired") => {
                    let (fee, due) = (amount(one, "reservation_fee"), amount(one, "fee_due"));
                    assert_eq!(fee, FEE, "seed {}: {one}", self.stage.seed);
                    Some(json!({"id": one["id"], "amount_due": due, "amount_paid": fee - due}))
                }
                // It found no connector: nothing is owed.
                Some("failed") if one["fee_due"] == 0 => None,
                _ => panic!("seed {}: {one}", self.stage.seed),
            });
        fees.collect()
    }

    /// What sessions and reservations show as paid, what transactions tell, what the provider took and what the wallet holds agree.
    async fn check_transactions(
        &self,
        sessions: &[Value],
        fees: &[Value],
        transactions: &[Value],
    ) -> i64 {
        let seed = self.stage.seed;
        let done = transactions.iter().filter(|one| one["status"] != "failed");
        let done: Vec<&Value> = done.collect();
        for one in &done {
            assert_eq!(one["status"], "succeeded", "seed {seed}: {one}");
        }
        let sum = |keep: &dyn Fn(&Value) -> bool| -> i64 {
            let kept = done.iter().filter(|one| keep(one));
            kept.map(|one| amount(one, "amount")).sum()
        };
        let charge = |one: &Value| one["type"] == "charge";
        let tops_up = |one: &Value| one["description"] == "Wallet top-up";
        let by_wallet = |one: &Value| one["payment_method"] == json!(self.methods[2]);
        let bills = sessions.iter().chain(fees);
        let paid: i64 = bills.map(|one| amount(one, "amount_paid")).sum();
        let charged = sum(&|one| charge(one) && !tops_up(one));
        assert_eq!(paid, charged, "seed {seed}: paid and charged");
        let (taken, given) = self.check_till();
        let by_card = sum(&|one| charge(one) && !by_wallet(one));
        assert_eq!(taken, by_card, "seed {seed}: taken and told");
        let back = sum(&|one| !charge(one) && !by_wallet(one));
        assert_eq!(given, back, "seed {seed}: given back and told");
        let fleet = self.stage.get(&format!("/v1/fleets/{}", self.fleet)).await;
        let came = sum(&tops_up) + sum(&|one| !charge(one) && by_wallet(one));
        let went = sum(&|one| charge(one) && by_wallet(one));
        let holds = amount(&fleet, "wallet_balance");
        assert_eq!(holds, came - went, "seed {seed}: the wallet");
        let refunded: BTreeSet<_> = done
            .iter()
            .filter(|one| !charge(one))
            .map(|one| one["description"].to_string())
            .collect();
        let refunds = done.iter().filter(|one| !charge(one)).count();
        assert_eq!(refunded.len(), refunds, "seed {seed}: refunded twice");
        paid
    }

    /// What the provider took, and what it gave back: nothing twice, and nothing that it had not taken.
    fn check_till(&self) -> (i64, i64) {
        let books = self.till.books();
        let succeeded = |outcome: &Outcome| *outcome == Outcome::Succeeded;
        let taken = books
            .charges
            .values()
            .filter(|(_, outcome)| succeeded(outcome));
        let mut back = BTreeSet::new();
        for refund in books.refunds.values() {
            let (charge, outcome) = &books.charges[&refund.charge];
            assert!(back.insert(refund.charge.clone()) && succeeded(outcome));
            assert_eq!(charge.amount, refund.amount);
        }
        (
            taken.map(|(charge, _)| charge.amount).sum(),
            books.refunds.values().map(|refund| refund.amount).sum(),
        )
    }

    /// Every payment for charging is told of once.
    async fn check_events(&self, transactions: &[Value]) {
        let mut told = BTreeMap::new();
        for event in self.all("events").await {
            let kind = event["type"].as_str().expect("a type");
            if kind.starts_with("service.") {
                let about = event["data"]["object"]["id"].as_str().expect("an id");
                *told.entry(about.to_owned()).or_insert(0) += 1;
            }
        }
        let services = transactions
            .iter()
            .filter(|one| one["description"] != "Wallet top-up");
        for one in services {
            let id = one["id"].as_str().expect("an id");
            assert_eq!(told.remove(id), Some(1), "seed {}: {one}", self.stage.seed);
        }
        assert!(told.is_empty(), "seed {}: {told:?}", self.stage.seed);
    }

    /// A session or a fee is on one invoice that counts, and the lines add up.
    fn check_invoices(&self, sessions: &[Value], fees: &[Value], invoices: &[Value]) {
        let seed = self.stage.seed;
        let by_id: BTreeMap<_, _> = sessions
            .iter()
            .chain(fees)
            .map(|one| (one["id"].to_string(), one))
            .collect();
        let mut billed = BTreeMap::new();
        for invoice in invoices.iter().filter(|one| one["status"] != "void") {
            let lines = invoice["line_items"].as_array().expect("lines");
            assert_eq!(invoice["line_items_has_more"], false);
            let total: i64 = lines.iter().map(|line| amount(line, "amount")).sum();
            let whole = amount(invoice, "amount_due") + amount(invoice, "amount_paid");
            assert_eq!(total, whole, "seed {seed}: {invoice}");
            for line in lines {
                let what = match line["type"].as_str() {
                    Some("reservation_fee") => &line["reservation"],
                    _ => &line["charging_session"],
                };
                let one = by_id[&what.to_string()];
                let before = billed.insert(one["id"].to_string(), &invoice["status"]);
                assert_eq!(before, None, "seed {seed}: {one} is billed twice");
                let gross = amount(one, "amount_due") + amount(one, "amount_paid");
                assert_eq!(amount(line, "amount"), gross, "seed {seed}: {line}");
                assert_eq!(amount(line, "net") + amount(line, "tax"), gross);
            }
        }
        for one in sessions.iter().chain(fees) {
            let open = match billed.get(&one["id"].to_string()) {
                Some(status) => **status != "paid",
                None => false,
            };
            // Everything was billed or paid at the end, and what is on no open invoice is paid.
            let due = amount(one, "amount_due");
            assert!(due == 0 || open, "seed {seed}: {one}");
        }
    }
}

/// Two days before the clocks of the fleet go forward or back, later for each seed: ids never lie before others.
fn before_a_switch(seed: u64) -> Timestamp {
    let zone = jiff::tz::TimeZone::get("Europe/Amsterdam").expect("a zone");
    let first: jiff::Timestamp = "2027-01-01T00:00:00Z".parse().expect("a time");
    let switch = zone.following(first).nth(seed as usize % 100);
    let switch = switch.expect("a switch").timestamp();
    Timestamp::from_unix_millis(switch.as_millisecond()).plus_seconds(-2 * 86_400)
}

fn amount(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or(0)
}
