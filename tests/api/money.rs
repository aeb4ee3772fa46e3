//! Money over the whole service: what recurs, what sessions show of their invoices, refunds, and that no cent is made or
//! lost whatever happens in whatever order.

use std::collections::{BTreeMap, BTreeSet};

use functions::stream::sweep;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use shared::Timestamp;
use shared::models::fleet::Fleet;
use shared::models::invoice::Invoice;
use shared::models::payment_method::PaymentMethod;
use shared::origin::Origin;
use shared::store::Changes;
use shared::{Id, Mode, Tenant};
use tests::{Answer, Crew, Receiver, TestApp, with};

fn tenant(app: &TestApp) -> Tenant {
    Tenant {
        account: app.alice.account.clone().expect("an account"),
        mode: Mode::Test,
    }
}

async fn act(app: &TestApp, id: &str, verb: &str, body: Value) -> Answer {
    app.alice
        .post(&format!("/v1/invoices/{id}/{verb}"), body)
        .await
}

async fn list(app: &TestApp, path: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut next = Some(format!("{path}?limit=100"));
    while let Some(url) = next {
        let page = app.alice.get(&url).await.expect(200).body;
        rows.extend(page["data"].as_array().expect("a list").clone());
        next = page["next_page_url"].as_str().map(str::to_owned);
    }
    rows
}

/// An open invoice of everything that ended within the last hour.
async fn open(app: &TestApp) -> String {
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let id = app.alice.post("/v1/invoices", window).await.id();
    act(app, &id, "finalize", json!({})).await.expect(200);
    id
}

async fn money_of(app: &TestApp, session: &str) -> (i64, i64) {
    let shown = app
        .alice
        .get(&format!("/v1/charging_sessions/{session}"))
        .await
        .expect(200)
        .body;
    let part = |name: &str| shown[name].as_i64().expect("an amount");
    (part("amount_due"), part("amount_paid"))
}

#[tokio::test]
async fn nothing_is_due_on_the_sessions_of_a_paid_invoice() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let hook =
        json!({"url": receiver.url, "enabled_events": ["service.succeeded", "service.failed"]});
    app.alice
        .post("/v1/webhook_endpoints", hook)
        .await
        .expect(200);
    let crew = app.crew(&app.alice).await;
    let unpaid = app.completed_session(&crew, json!({})).await;
    let in_part = app
        .completed_session(&crew, json!({"amount_due": 190, "amount_paid": 1000}))
        .await;
    let id = open(&app).await;
    assert_eq!(money_of(&app, &unpaid).await, (1190, 0));
    let poor = app.payment_method("tok_declined", json!({})).await;
    act(&app, &id, "pay", json!({"payment_method": poor}))
        .await
        .expect(402);
    app.drain().await;
    assert_eq!(money_of(&app, &unpaid).await, (1190, 0));
    let card = app.payment_method("tok_success", json!({})).await;
    act(&app, &id, "pay", json!({"payment_method": card}))
        .await
        .expect(200);
    app.drain().await;
    for session in [&unpaid, &in_part] {
        assert_eq!(money_of(&app, session).await, (0, 1190));
    }
    assert_eq!(receiver.types(), ["service.failed", "service.succeeded"]);
    let told = receiver.received()[1].event["data"]["object"].clone();
    assert_eq!(
        (&told["amount"], &told["type"]),
        (&json!(1380), &json!("charge"))
    );
}

#[tokio::test]
async fn the_sessions_of_a_voided_invoice_are_due_as_before_and_lost_triggers_are_found() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let mut sessions = Vec::new();
    for _ in 0..120 {
        sessions.push(app.completed_session(&crew, json!({})).await);
    }
    let voided = open(&app).await;
    act(&app, &voided, "void", json!({})).await.expect(200);
    app.drain().await;
    assert_eq!(money_of(&app, &sessions[0]).await, (1190, 0));
    let id = open(&app).await;
    let card = app.payment_method("tok_success", json!({})).await;
    act(&app, &id, "pay", json!({"payment_method": card}))
        .await
        .expect(200);
    app.running().lose_triggers().await.expect("lost");
    assert_eq!(money_of(&app, &sessions[119]).await, (1190, 0));
    app.advance(3 * 60).await;
    sweep::handle(app.app()).await.expect("a sweep");
    app.drain().await;
    for session in [&sessions[0], &sessions[60], &sessions[119]] {
        assert_eq!(money_of(&app, session).await, (0, 1190));
    }
}

#[tokio::test]
async fn a_charge_is_given_back_once_to_where_it_came_from() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": ["service.refunded"]});
    app.alice
        .post("/v1/webhook_endpoints", hook)
        .await
        .expect(200);
    let crew = app.crew(&app.alice).await;
    let card = app
        .alice
        .post(
            "/v1/payment_methods",
            json!({"type": "card", "token": "tok_success"}),
        )
        .await
        .id();
    let wallet = app
        .alice
        .post(
            "/v1/payment_methods",
            json!({"type": "wallet", "fleet": crew.fleet}),
        )
        .await
        .id();
    let top_up = format!("/v1/fleets/{}/top_up", crew.fleet);
    app.alice
        .post(&top_up, json!({"amount": 1500, "payment_method": card}))
        .await
        .expect(200);
    let balance = async || {
        let fleet = app.alice.get(&format!("/v1/fleets/{}", crew.fleet)).await;
        fleet.body["wallet_balance"].as_i64().expect("a balance")
    };
    let topped = app.alice.get("/v1/transactions").await.ids().remove(0);
    let refund = async |id: &str| {
        app.alice
            .post(&format!("/v1/transactions/{id}/refund"), json!({}))
            .await
    };
    let conflict = (409, "invalid_request_error", None, Some("transaction"));
    assert_eq!(refund(&topped).await.error(), conflict);
    let session = app.completed_session(&crew, json!({})).await;
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let id = app.alice.post("/v1/invoices", window).await.id();
    act(&app, &id, "finalize", json!({})).await.expect(200);
    act(&app, &id, "pay", json!({"payment_method": wallet}))
        .await
        .expect(200);
    assert_eq!(balance().await, 310);
    let charge = app.alice.get("/v1/transactions").await.ids().remove(0);
    let given = refund(&charge).await.expect(200).body;
    assert_eq!(
        (&given["type"], &given["status"], &given["amount"]),
        (&json!("refund"), &json!("pending"), &json!(1190))
    );
    assert_eq!(refund(&charge).await.error(), conflict);
    app.drain().await;
    assert_eq!(balance().await, 1500);
    let given = given["id"].as_str().expect("an id");
    let shown = app
        .alice
        .get(&format!("/v1/transactions/{given}"))
        .await
        .body;
    assert_eq!(shown["status"], "succeeded");
    assert_eq!(refund(given).await.error(), conflict);
    assert_eq!(receiver.types(), ["service.refunded"]);
    // What was paid stays paid: nothing is billed again.
    assert_eq!(money_of(&app, &session).await, (0, 1190));
    assert_eq!(
        app.alice.get(&format!("/v1/invoices/{id}")).await.body["status"],
        "paid"
    );
}

/// The end of a fleet's billing period, and moves the time to a quarter of an hour later.
async fn turn_over(app: &TestApp, crew: &Crew) -> Timestamp {
    let tenant = tenant(app);
    let fleet = app
        .app()
        .store
        .load::<Fleet>(&tenant, &Id::from(crew.fleet.as_str()))
        .await
        .expect("a fleet");
    let due = fleet.private.due.expect("a period");
    let seconds = due.millis_since(app.now()) / 1000 + 1;
    app.advance(u32::try_from(seconds).expect("some time"))
        .await;
    due.plus_seconds(-15 * 60)
}

#[tokio::test]
async fn at_the_end_of_a_cycle_there_is_one_draft_for_each_currency_and_it_is_finalized_a_day_later()
 {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let path = format!("/v1/fleets/{}", crew.fleet);
    let change =
        json!({"timezone": "Europe/Amsterdam", "preferences": {"report_frequency": "never"}});
    app.alice.post(&path, change).await.expect(200);
    let end = {
        let row = app.alice.get(&path).await.expect(200).body;
        assert_eq!(row["preferences"]["billing_cycle"], "monthly");
        app.completed_session(&crew, json!({})).await;
        app.completed_session(&crew, json!({"currency": "gbp", "amount_due": 500}))
            .await;
        turn_over(&app, &crew).await
    };
    app.drain().await;
    let drafts = list(&app, "/v1/invoices").await;
    let amounts: BTreeMap<_, _> = drafts
        .iter()
        .map(|one| {
            (
                one["currency"].as_str().expect("a currency"),
                one["amount_due"].clone(),
            )
        })
        .collect();
    assert_eq!(
        amounts,
        BTreeMap::from([("gbp", json!(500)), ("usd", json!(1190))])
    );
    for draft in &drafts {
        assert_eq!(
            (&draft["status"], &draft["fleet"]),
            (&json!("draft"), &json!(crew.fleet))
        );
        assert_eq!(draft["period_end"], json!(end));
    }
    // The message may come twice, and the next period brings nothing new.
    let tenant = tenant(&app);
    let message = shared::ports::Message::BillFleet {
        tenant,
        fleet: crew.fleet.as_str().into(),
    };
    functions::work(app.app(), &message)
        .await
        .expect("nothing to do");
    app.advance(86_400 + 60).await;
    app.drain().await;
    let opened = list(&app, "/v1/invoices").await;
    assert!(
        opened.iter().all(|one| one["status"] == "open"),
        "{opened:?}"
    );
    turn_over(&app, &crew).await;
    app.drain().await;
    assert_eq!(list(&app, "/v1/invoices").await.len(), 2);
}

#[tokio::test]
async fn a_report_is_made_of_each_period_in_which_something_was_charged() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let path = format!("/v1/fleets/{}", crew.fleet);
    let change = json!({"preferences": {"report_frequency": "daily", "billing_cycle": "yearly"}});
    app.alice.post(&path, change).await.expect(200);
    app.completed_session(&crew, json!({})).await;
    // A session of a moment ago may have ended yesterday.
    for _ in 0..2 {
        turn_over(&app, &crew).await;
        app.drain().await;
    }
    let reports = list(&app, "/v1/reports").await;
    assert!(reports.len() <= 1, "{reports:?}");
    for report in &reports {
        assert_eq!(
            (&report["status"], &report["fleet"]),
            (&json!("succeeded"), &json!(crew.fleet))
        );
        assert_eq!(report["parameters"]["group_by"], "vehicle");
    }
    turn_over(&app, &crew).await;
    app.drain().await;
    assert_eq!(list(&app, "/v1/reports").await.len(), reports.len());
}

/// One thing that happens.
#[derive(Debug, Clone)]
enum Step {
    Start {
        method: usize,
    },
    Stop,
    Wait {
        minutes: u32,
    },
    Invoice,
    Finalize {
        which: usize,
    },
    Pay {
        which: usize,
        method: usize,
    },
    Void {
        which: usize,
    },
    Delete {
        which: usize,
    },
    Refund {
        which: usize,
    },
    TopUp {
        amount: u32,
    },
    Sweep,
    /// Every trigger on its way is lost.
    Fault,
    /// A payment begins, and whoever made it dies before the money moves, or before it is written down that it has.
    CutShort {
        which: usize,
        method: usize,
        charged: bool,
    },
}

fn any_step() -> impl Strategy<Value = Step> {
    let number = 0usize..8;
    prop_oneof![
        4 => (0usize..5).prop_map(|method| Step::Start { method }),
        4 => Just(Step::Stop),
        3 => (1u32..90).prop_map(|minutes| Step::Wait { minutes }),
        3 => Just(Step::Invoice),
        3 => number.clone().prop_map(|which| Step::Finalize { which }),
        4 => (number.clone(), 0usize..4).prop_map(|(which, method)| Step::Pay { which, method }),
        2 => number.clone().prop_map(|which| Step::Void { which }),
        1 => number.clone().prop_map(|which| Step::Delete { which }),
        2 => number.prop_map(|which| Step::Refund { which }),
        2 => (1u32..2000).prop_map(|amount| Step::TopUp { amount }),
        1 => Just(Step::Sweep),
        2 => Just(Step::Fault),
        3 => (0usize..8, 0usize..4, any::<bool>())
            .prop_map(|(which, method, charged)| Step::CutShort { which, method, charged }),
    ]
}

/// A service with a fleet that pays by card, by a card that is declined, by its wallet, or by a card that is always short.
struct World {
    app: TestApp,
    crew: Crew,
    station: String,
    methods: Vec<String>,
}

impl World {
    async fn start() -> Self {
        let app = TestApp::start().await;
        let crew = app.crew(&app.alice).await;
        let pounds =
            json!({"preferences": {"default_currency": "gbp", "report_frequency": "never"}});
        app.alice
            .post(&format!("/v1/fleets/{}", crew.fleet), pounds)
            .await
            .expect(200);
        let station = app.station(json!({})).await;
        let mut methods = Vec::new();
        for method in [
            json!({"type": "card", "token": "tok_success"}),
            json!({"type": "card", "token": "tok_declined"}),
            json!({"type": "wallet"}),
            json!({"type": "card", "token": "tok_insufficient_funds"}),
        ] {
            let body = with(method, json!({"fleet": crew.fleet}));
            methods.push(app.alice.post("/v1/payment_methods", body).await.id());
        }
        Self {
            app,
            crew,
            station,
            methods,
        }
    }

    async fn pick(&self, path: &str, which: usize) -> Option<String> {
        let rows = list(&self.app, path).await;
        let row = rows.get(which % rows.len().max(1))?;
        row["id"].as_str().map(str::to_owned)
    }

    async fn take(&self, step: &Step) {
        let (app, client) = (&self.app, &self.app.alice);
        // What is refused is refused; what counts is the money in the end.
        match step {
            Step::Start { method } => {
                let method = self.methods.get(*method);
                let body = app.session(&self.crew, &self.station);
                let body = with(body, json!({"payment_method": method}));
                drop(client.post("/v1/charging_sessions", body).await);
            }
            Step::Stop => {
                for session in list(app, "/v1/charging_sessions").await {
                    if session["status"] == "active" {
                        let id = session["id"].as_str().expect("an id");
                        drop(
                            client
                                .post(&format!("/v1/charging_sessions/{id}/stop"), json!({}))
                                .await,
                        );
                    }
                }
            }
            Step::Wait { minutes } => app.advance(minutes * 60).await,
            Step::Invoice => {
                let window = json!({"period_start": app.in_minutes(-7 * 24 * 60), "period_end": app.in_minutes(1),
                    "fleet": self.crew.fleet});
                drop(client.post("/v1/invoices", window).await);
            }
            Step::Finalize { which } => self.on_invoice(*which, "finalize", json!({})).await,
            Step::Void { which } => self.on_invoice(*which, "void", json!({})).await,
            Step::Pay { which, method } => {
                let body = json!({"payment_method": self.methods[*method]});
                self.on_invoice(*which, "pay", body).await;
            }
            Step::Delete { which } => {
                if let Some(id) = self.pick("/v1/invoices", *which).await {
                    drop(client.delete(&format!("/v1/invoices/{id}")).await);
                }
            }
            Step::Refund { which } => {
                if let Some(id) = self.pick("/v1/transactions", *which).await {
                    drop(
                        client
                            .post(&format!("/v1/transactions/{id}/refund"), json!({}))
                            .await,
                    );
                }
            }
            Step::TopUp { amount } => {
                let body = json!({"amount": amount, "payment_method": self.methods[0]});
                drop(
                    client
                        .post(&format!("/v1/fleets/{}/top_up", self.crew.fleet), body)
                        .await,
                );
            }
            Step::CutShort {
                which,
                method,
                charged,
            } => self.cut_short(*which, *method, *charged).await,
            Step::Sweep => drop(sweep::handle(app.app()).await.expect("a sweep")),
            Step::Fault => app.running().lose_triggers().await.expect("lost"),
        }
    }

    async fn on_invoice(&self, which: usize, verb: &str, body: Value) {
        if let Some(id) = self.pick("/v1/invoices", which).await {
            drop(act(&self.app, &id, verb, body).await);
        }
    }

    async fn cut_short(&self, which: usize, method: usize, charged: bool) {
        let Some(id) = self.pick("/v1/invoices", which).await else {
            return;
        };
        let (store, tenant) = (&self.app.app().store, tenant(&self.app));
        let row = store.load::<Invoice>(&tenant, &Id::from(id)).await;
        let method = Id::from(self.methods[method].as_str());
        let method = store.load::<PaymentMethod>(&tenant, &method).await;
        let (mut row, method) = (row.expect("a row"), method.expect("a method"));
        if row.object.check_payable().is_err() || row.private.attempt.is_some() {
            return;
        }
        row.object.begin_payment(
            &mut row.private,
            method.object.clone(),
            method.private.clone(),
            self.app.now(),
        );
        let (origin, mut changes) = (Origin::later(tenant, self.app.now()), Changes::new());
        store.replace(&mut changes, &origin, &row).expect("a row");
        store
            .commit_later(&origin, changes)
            .await
            .expect("the attempt");
        if charged && method.private.token.is_some() {
            let attempt = row.private.attempt.as_ref().expect("an attempt");
            let (key, invoice) = (attempt.key(&row.object.id), &row.object);
            let charge = functions::payments::pay(
                self.app.app(),
                &origin,
                &method,
                invoice.amount_due,
                invoice.currency,
                &key,
                "cut short",
            );
            drop(charge.await.expect("an outcome"));
        }
    }

    /// Lets everything come to rest.
    async fn rest(&self) {
        self.take(&Step::Stop).await;
        for _ in 0..3 {
            self.app.advance(5 * 60).await;
            sweep::handle(self.app.app()).await.expect("a sweep");
            self.app.drain().await;
        }
    }

    async fn check(&self) -> Result<(), TestCaseError> {
        let app = &self.app;
        let sessions = list(app, "/v1/charging_sessions").await;
        let invoices = list(app, "/v1/invoices").await;
        let transactions = list(app, "/v1/transactions").await;
        let number = |row: &Value, name: &str| row[name].as_i64().unwrap_or(0);
        let sum = |keep: &dyn Fn(&Value) -> bool| -> i64 {
            let kept = transactions
                .iter()
                .filter(|one| one["status"] == "succeeded" && keep(one));
            kept.map(|one| number(one, "amount")).sum()
        };
        let is = |one: &Value, kind: &str| one["type"] == kind;
        let tops_up = |one: &Value| one["description"] == "Wallet top-up";
        let by_wallet = |one: &Value| one["payment_method"] == json!(self.methods[2]);
        // What sessions show as paid is what was charged for them, alone or by invoice.
        let paid: i64 = sessions.iter().map(|one| number(one, "amount_paid")).sum();
        let charged = sum(&|one| is(one, "charge") && !tops_up(one));
        prop_assert_eq!(paid, charged, "paid and charged");
        // The wallet holds what came in and did not go out.
        let fleet = app
            .alice
            .get(&format!("/v1/fleets/{}", self.crew.fleet))
            .await
            .body;
        let came = sum(&|one| tops_up(one)) + sum(&|one| is(one, "refund") && by_wallet(one));
        let went = sum(&|one| is(one, "charge") && by_wallet(one));
        prop_assert_eq!(number(&fleet, "wallet_balance"), came - went, "the wallet");
        // Nothing is given back twice, or without having been taken.
        let mut refunded = BTreeSet::new();
        for refund in transactions.iter().filter(|one| is(one, "refund")) {
            prop_assert!(
                refunded.insert(refund["description"].to_string()),
                "refunded twice"
            );
            prop_assert_eq!(&refund["status"], "succeeded");
        }
        // A session is on one invoice that counts, its lines add up, and what was paid is due nowhere.
        let mut billed = BTreeSet::new();
        let mut paid_by_invoice = 0;
        for invoice in invoices.iter().filter(|one| one["status"] != "void") {
            let lines = invoice["line_items"].as_array().expect("lines");
            let total: i64 = lines.iter().map(|line| number(line, "amount")).sum();
            prop_assert_eq!(
                total,
                number(invoice, "amount_due") + number(invoice, "amount_paid"),
                "lines"
            );
            for line in lines {
                let session = line["charging_session"].as_str().expect("an id");
                prop_assert!(
                    billed.insert(session.to_owned()),
                    "{} is billed twice",
                    session
                );
                if invoice["status"] == "paid" {
                    let session = sessions.iter().find(|one| one["id"] == session);
                    prop_assert_eq!(number(session.expect("a session"), "amount_due"), 0);
                }
            }
            if invoice["status"] == "paid" {
                paid_by_invoice += total;
            }
        }
        prop_assert!(paid_by_invoice <= paid);
        Ok(())
    }
}

/// Random sequences: `MONEY_CASES` of them, with `MONEY_STEPS` steps each.
#[test]
fn no_money_is_made_or_lost_whatever_happens() {
    let number = |name: &str, standard: u32| {
        std::env::var(name).map_or(standard, |text| text.parse().expect("a number"))
    };
    let (cases, steps) = (number("MONEY_CASES", 4), number("MONEY_STEPS", 40) as usize);
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..Config::default()
    };
    // The same sequences every time, unless many are asked for.
    let mut runner = match cases {
        4 => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
        _ => TestRunner::new(config),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let sequences = proptest::collection::vec(any_step(), steps / 2..=steps);
    let held = runner.run(&sequences, |sequence| {
        runtime.block_on(async {
            let world = World::start().await;
            for step in &sequence {
                world.take(step).await;
            }
            world.rest().await;
            world.check().await
        })
    });
    held.unwrap_or_else(|error| panic!("{error}"));
}
