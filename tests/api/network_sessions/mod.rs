//! Charging sessions at the station of a network: commands, their results, the network's reports and bills, and most contradictions
//! between them that `infra/networks.md` lists. It names the files with the tests of the others.

pub mod cards;
mod cdrs;
mod credits;
mod end_stalled;
mod late;
mod preferences;
mod prices;
mod review;
mod start;
mod stop;

use kernel::Timestamp;
use kernel::time::{days, minutes};
use serde_json::{Value, json};
use tests::platform::{Connected, Received, cdr_of, fixture, manage, send, session_of};
use tests::{Crew, TestApp, TestResponse, id_of, path_of, with};

const PATH: &str = "/v1/charging_sessions";

/// A connected network with one station, and a crew whose vehicle fits its first connector.
pub struct Scene {
    pub app: TestApp,
    pub cpo: Connected,
    pub crew: Crew,
    pub station: String,
}

impl Scene {
    pub async fn new() -> Self {
        Self::at(fixture("location")).await
    }

    /// The same with another location.
    pub async fn at(location: Value) -> Self {
        Self::of(TestApp::start().await, location).await
    }

    async fn of(app: TestApp, location: Value) -> Self {
        let cpo = Connected::with(&app, |script| {
            script.lists.insert("tariffs", vec![fixture("tariff")]);
            script.lists.insert("locations", vec![location]);
        });
        let cpo = cpo.await;
        // Everything is pulled from it.
        app.drain().await;
        let path = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500";
        let station = app.alice.get(path).await.expect(200).ids().remove(0);
        let crew = app.crew(&app.alice).await;
        // The vehicle is the driver's own, and policies that allow everything are read for all three.
        let own = with(
            tests::vehicle(&crew.fleet),
            json!({"drivers": [crew.driver]}),
        );
        let vehicle = app.alice.create("/v1/vehicles", own).await;
        let crew = Crew { vehicle, ..crew };
        let policy = json!({"name": "Anywhere", "rules": {}});
        let policy = app.alice.post_ok("/v1/policies", policy).await;
        let policy = json!({"policy_ids": [id_of(&policy)]});
        for path in [
            format!("/v1/vehicles/{}", crew.vehicle),
            format!("/v1/drivers/{}", crew.driver),
            format!("/v1/fleets/{}", crew.fleet),
        ] {
            app.alice.post_ok(&path, policy.clone()).await;
        }
        Self {
            app,
            cpo,
            crew,
            station,
        }
    }

    /// A scene in which the driver has an RFID card.
    pub async fn with_card() -> Self {
        let scene = Self::new().await;
        cards::card(&scene, json!({})).await;
        scene
    }

    /// Reports an OCPI session that begins now, because the card was held to the reader.
    pub async fn tap(&self) -> Value {
        let theirs = cards::tapped(self);
        self.report(&theirs).await;
        theirs
    }

    /// A session that has begun, an hour later.
    async fn charging() -> (Self, Value, Value) {
        let scene = Self::new().await;
        let (session, theirs) = scene.active().await;
        scene.app.advance(3600).await;
        (scene, session, theirs)
    }

    /// Moves the clock by days in which the network calls the service and is not called: the pull of every hour takes time.
    async fn pass(&self, seconds: u32) {
        let after = self.app.now().plus_seconds(i64::from(seconds) + 3600);
        self.cpo.put_off_pulls(&self.app, after).await;
        self.app.advance(seconds).await;
    }

    async fn get(&self, path: &str) -> Value {
        self.app.alice.get_ok(path).await
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.app.alice.post_ok(path, body).await
    }

    fn body(&self, change: Value) -> Value {
        let body = json!({"charging_station": self.station, "connector": "E1-1", "driver": self.crew.driver,
            "vehicle": self.crew.vehicle});
        with(body, change)
    }

    /// Starts a session, and processes the command to the network.
    pub async fn start(&self) -> Value {
        self.start_with(json!({})).await
    }

    pub async fn start_with(&self, change: Value) -> Value {
        let answer = self.app.alice.post(PATH, self.body(change)).await;
        let session = answer.expect(200).body;
        self.app.drain().await;
        session
    }

    async fn shown(&self, session: &Value) -> Value {
        self.get(&path_of(id_of(session))).await
    }

    /// The status of a session, and the reason of a failure.
    pub async fn status(&self, session: &Value) -> (String, Option<String>) {
        let shown = self.shown(session).await;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        (
            text(&shown["status"]).expect("a status"),
            text(&shown["failed_reason"]),
        )
    }

    pub async fn stop(&self, session: &Value) -> TestResponse {
        let id = id_of(session);
        let stop = format!("{PATH}/{id}/stop");
        let answer = self.app.alice.post(&stop, json!({})).await;
        self.app.drain().await;
        answer
    }

    pub fn commands(&self, name: &str) -> Vec<Received> {
        let path = format!("/2.2.1/commands/{name}");
        self.cpo.received("POST", &path)
    }

    /// The last START_SESSION.
    fn start_command(&self) -> Value {
        self.commands("START_SESSION")
            .pop()
            .expect("a command")
            .body
    }

    /// Sends the result of the last START_SESSION.
    pub async fn result(&self, result: &str) {
        self.took("START_SESSION", result).await;
    }

    /// Sends the result of the last command with this name.
    async fn took(&self, command: &str, result: &str) {
        let request = self.commands(command).pop().expect("a command").body;
        let url = request["response_url"].as_str().expect("a URL");
        let body = json!({"result": result});
        let answer = send(&self.app, &self.cpo.token, "POST", url, Some(&body), &[]).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        self.app.drain().await;
    }

    fn text(moment: Timestamp) -> Value {
        json!(moment.to_string())
    }

    /// The OCPI session of the last START_SESSION in its current state, with changed members.
    pub fn session(&self, change: Value) -> Value {
        let session = session_of(&self.start_command(), self.app.now());
        with(session, change)
    }

    /// Sends the OCPI session of the last START_SESSION.
    async fn begin(&self) -> Value {
        let theirs = self.session(json!({}));
        self.report(&theirs).await;
        theirs
    }

    /// Sends a session.
    pub async fn report(&self, session: &Value) {
        let path = format!("/sessions/NL/EXA/{}", id_of(session));
        self.cpo.put(&path, session).await;
        self.app.drain().await;
    }

    /// A session that has begun.
    pub async fn active(&self) -> (Value, Value) {
        let session = self.start().await;
        self.result("ACCEPTED").await;
        let theirs = self.begin().await;
        assert_eq!(self.status(&session).await.0, "active");
        (session, theirs)
    }

    /// The CDR of an OCPI session that ends now, as [`cdr_of`] makes it.
    pub fn cdr(&self, session: &Value, change: Value) -> Value {
        with(cdr_of(session, self.app.now()), change)
    }

    /// Sends a CDR.
    pub async fn bill(&self, cdr: &Value) {
        let answer = self.cpo.send("POST", "/cdrs", Some(cdr)).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        self.app.drain().await;
    }

    /// Ends an OCPI session now.
    pub async fn complete(&self, session: &Value) {
        let now = Self::text(self.app.now());
        let end = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": now, "last_updated": now,
            "total_cost": {"excl_vat": 8.0, "incl_vat": 9.68}});
        self.report(&with(session.clone(), end)).await;
    }

    /// A session that was billed by its CDR.
    async fn billed(&self) -> (Value, Value) {
        let (session, theirs) = self.active().await;
        self.app.advance(3600).await;
        self.complete(&theirs).await;
        self.bill(&self.cdr(&theirs, json!({}))).await;
        (session, theirs)
    }

    /// A session that was billed by its CDR, and charged to a payment method then. Returns that method too.
    async fn charged(&self) -> (Value, Value, String) {
        let method = self.app.payment_method("tok_success", json!({})).await;
        let (session, theirs) = self.charged_to(&method).await;
        (session, theirs, method)
    }

    /// A session that was billed by its CDR, and charged to this payment method then.
    async fn charged_to(&self, method: &str) -> (Value, Value) {
        let session = self.start_with(json!({"payment_method": method})).await;
        let theirs = self.begin().await;
        self.app.advance(3600).await;
        self.complete(&theirs).await;
        assert_eq!(self.shown(&session).await["amount_paid"], 0);
        self.bill(&self.cdr(&theirs, json!({}))).await;
        self.app.drain().await;
        (session, theirs)
    }

    /// The totals of a cost analysis of the fleet.
    async fn cost_analysis(&self) -> Value {
        self.app.advance(1).await;
        let now = self.app.now();
        let parameters = json!({"type": "cost_analysis", "period_start": now.plus(days(-30)), "period_end": now});
        let body = json!({"fleet": self.crew.fleet, "parameters": parameters});
        let report = self.app.alice.create("/v1/reports", body).await;
        self.app.drain().await;
        self.get(&path_of(&report)).await["totals"][0].clone()
    }

    /// An invoice of everything until now, and the type and amount of its lines, in the order of time.
    pub async fn invoice(&self) -> (Value, Vec<(String, i64)>) {
        self.app.advance(1).await;
        let now = self.app.now();
        let body =
            json!({"period_start": now.plus(days(-30)), "period_end": now, "currency": "eur"});
        let invoice = self.app.alice.post_ok("/v1/invoices", body).await;
        let lines = invoice["line_items"].as_array().expect("lines").iter();
        let lines = lines.rev().map(|line| {
            let kind = line["type"].as_str().expect("a type").to_owned();
            (kind, line["amount"].as_i64().expect("an amount"))
        });
        let lines = lines.collect();
        (invoice, lines)
    }

    /// An invoice of the last hour: the period of each invoice is searched separately.
    async fn invoice_of_last_hour(&self) -> Value {
        let now = self.app.now();
        let window =
            json!({"period_start": now.plus(minutes(-60)), "period_end": now, "currency": "eur"});
        self.post("/v1/invoices", window).await
    }

    /// The types of the events of sessions, sorted, because events of one change have no order.
    async fn events(&self) -> Vec<String> {
        let events = self.app.alice.get("/v1/events?limit=100").await.expect(200);
        let events = events.body["data"].as_array().expect("events").clone();
        let types = events.iter();
        let types = types.map(|event| event["type"].as_str().expect("a type").to_owned());
        let mut types: Vec<String> = types
            .filter(|name| name.starts_with("charging_session."))
            .map(|name| name["charging_session.".len()..].to_owned())
            .collect();
        types.sort();
        types
    }

    pub async fn unmatched(&self) -> usize {
        let listed = manage(&self.app, json!({"action": "list_unmatched"})).await;
        let listed = listed.expect("a list");
        listed["data"].as_array().expect("a list").len()
    }
}

pub fn failed(reason: &str) -> (String, Option<String>) {
    ("failed".into(), Some(reason.into()))
}

pub fn is(status: &str) -> (String, Option<String>) {
    (status.into(), None)
}

pub fn energy(gross: i64) -> (String, i64) {
    ("energy_session".into(), gross)
}

fn adjustment(gross: i64) -> (String, i64) {
    ("adjustment".into(), gross)
}
