//! Charging sessions at the station of a network: commands, their results, the network's reports and bills, and most contradictions
//! between them that `infra/networks.md` lists. It names the files with the tests of the others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use functions::job::Job as _;
use functions::networks::received::ApplyReceived;
use functions::stream::sweep;
use jiff::tz::TimeZone;
use kernel::Timestamp;
use kernel::time::{days, minutes, seconds};
use models::network::{Module, ObjectId, Owner, PartyId};
use serde_json::{Value, json};
use table::networks::{ReceivedObject, shared_origin};
use tests::platform::{Connected, Received, cdr_of, fixture, manage, manage_ok, send, session_of};
use tests::{
    Crew, TestApp, TestResponse, assert_contains, assert_has, cases, each, id_of, path_of, with,
};
use web::metrics::Metrics;

use crate::charging_sessions::app_card;

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

mod start {
    use super::*;

    #[tokio::test]
    async fn a_private_station_starts_with_a_token_that_it_names() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        let token = scene.start_command()["token"].clone();
        scene.complete(&theirs).await;
        assert_eq!(scene.status(&session).await, is("completed"));
        for (minute, (named, status)) in (1..).zip([
            (json!([]), 404),
            (json!([{"group_id": "another"}]), 404),
            (json!([{"uid": token["uid"], "type": "RFID"}]), 404),
            (json!(["x", {"group_id": token["group_id"]}]), 200),
        ]) {
            let private = json!({"publish": false, "publish_allowed_to": named,
                "last_updated": scene.app.now().plus(minutes(minute))});
            scene
                .cpo
                .put(
                    "/locations/NL/EXA/AMS-1",
                    &with(fixture("location"), private),
                )
                .await;
            scene.app.drain().await;
            let path = format!("/v1/charging_stations/{}", scene.station);
            scene.app.alice.get(&path).await.expect(404);
            scene
                .app
                .alice
                .post(PATH, scene.body(json!({})))
                .await
                .expect(status);
        }
        scene.app.drain().await;
        assert_eq!(scene.start_command()["location_id"], "AMS-1");
    }

    #[tokio::test]
    async fn a_driver_whose_app_card_is_blocked_starts_nothing() {
        let scene = Scene::new().await;
        let card = app_card(&scene.app, &scene.crew).await;
        scene.post(&card, json!({"status": "blocked"})).await;
        let refused = scene.app.alice.post(PATH, scene.body(json!({}))).await;
        refused.expect_error(409, "charging_session_conflict", "driver");
        scene.app.drain().await;
        assert!(scene.commands("START_SESSION").is_empty());
        scene.post(&card, json!({"status": "active"})).await;
        scene.active().await;
    }

    #[tokio::test]
    async fn a_session_becomes_active_when_reported_and_is_billed_by_cdr() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        assert_eq!(session["status"], "pending");
        assert_has!(session, {"started_by": "api", "cost_source": null, "ends_by": null});
        let command = scene.start_command();
        assert_has!(command, {"location_id": "AMS-1", "evse_uid": "E1", "connector_id": "1"});
        assert_has!(command["token"], {"type": "APP_USER", "valid": true});
        scene.result("ACCEPTED").await;
        assert_eq!(scene.status(&session).await, is("pending"));
        let theirs = scene.begin().await;
        let active = scene.shown(&session).await;
        assert_has!(active, {"status": "active", "session_started": theirs["start_date_time"]});
        scene.app.advance(1800).await;
        let now = scene.app.now();
        let period = json!({"start_date_time": theirs["start_date_time"], "dimensions": [{"type": "ENERGY", "volume": 10}]});
        let parked = json!({"start_date_time": now.plus(minutes(-10)), "dimensions": [{"type": "PARKING_TIME", "volume": 0.1667}]});
        let patch = json!({"kwh": 10, "charging_periods": [period, parked], "last_updated": now});
        for _ in 0..2 {
            let path = "/sessions/NL/EXA/S1";
            let answer = scene.cpo.send("PATCH", path, Some(&patch)).await;
            assert_eq!(answer.body["status_code"], 1000);
            scene.app.drain().await;
        }
        let grown = scene.shown(&session).await;
        // 10 kWh at 0.40 and ten minutes at 3.00 an hour, with 21 % tax.
        assert_has!(grown, {"energy_consumed": 10_000, "amount_due": 484 + 61, "cost_source": "tariff"});
        assert_eq!(grown["charging_ended"], json!(now.plus(minutes(-10))));
        scene.app.advance(1800).await;
        let stopped = scene.stop(&session).await.expect(200).body;
        assert_eq!(stopped["status"], "active");
        let stop = scene.commands("STOP_SESSION").pop().expect("a command");
        assert_eq!(stop.body["session_id"], "S1");
        scene.complete(&theirs).await;
        let ended = scene.shown(&session).await;
        assert_has!(ended, {"status": "completed", "amount_due": 968, "cost_source": "network_session"});
        // It is not billed before the CDR.
        assert_eq!(scene.invoice().await.1, []);
        let cdr = scene.cdr(&theirs, json!({}));
        scene.bill(&cdr).await;
        let billed = scene.shown(&session).await;
        assert_has!(billed, {"amount_due": 968, "cost_source": "cdr", "energy_consumed": 20_000});
        let check = json!({"network": 968, "ours": 968, "difference": 0});
        assert_has!(billed, {"price_check": check, "/cost_breakdown/0/type": "ENERGY"});
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(968)]);
        assert_has!(invoice, {"/line_items/0/price_check": check, "amount_due": 968});
        assert_eq!(
            scene.events().await,
            ["completed", "started", "updated", "updated"]
        );
        assert_eq!(scene.unmatched().await, 0);
        let fleet = format!("/v1/fleets/{}", scene.crew.fleet);
        let fleet = scene.get(&fleet).await;
        assert_has!(fleet, {"total_sessions": 1, "total_energy_consumed_kwh": 20.0});
        // The same CDR again changes nothing, and a corrected one adjusts the invoiced amount once.
        scene.bill(&cdr).await;
        assert_eq!(scene.invoice().await.1, []);
        let cost = json!({"id": "C2", "total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
        let corrected = scene.cdr(&theirs, cost);
        scene.bill(&corrected).await;
        scene.bill(&corrected).await;
        assert_eq!(scene.invoice().await.1, [adjustment(121)]);
        assert_eq!(scene.invoice().await.1, []);
        assert_eq!(scene.shown(&session).await["amount_due"], 968);
        assert_eq!(scene.unmatched().await, 0);
    }

    #[tokio::test]
    async fn a_network_that_refuses_or_fails_ends_the_session_at_once() {
        for (answer, reason) in cases! {
            {"result": "REJECTED", "timeout": 0} => "network_rejected",
            {"result": "NOT_SUPPORTED", "timeout": 0} => "network_rejected",
            {"result": "UNKNOWN_SESSION", "timeout": 0} => "network_rejected",
        } {
            let scene = Scene::new().await;
            scene.cpo.script().commands = Some(answer);
            let session = scene.start().await;
            assert_eq!(scene.status(&session).await, failed(reason));
            assert_eq!(scene.events().await, ["failed"]);
        }
        let scene = Scene::new().await;
        scene.cpo.script().fail = vec![500];
        let session = scene.start().await;
        assert_eq!(scene.status(&session).await, failed("other"));
        // The command was not repeated, nothing is billed, and the connector is free again.
        scene.app.advance(600).await;
        assert_eq!(scene.commands("START_SESSION").len(), 1);
        assert_eq!(scene.invoice().await.1, []);
        assert_eq!(scene.start().await["status"], "pending");
    }

    #[tokio::test]
    async fn a_request_during_a_renewal_of_credentials_is_repeated() {
        let mut scene = Scene::new().await;
        let renewal = scene
            .cpo
            .renew_after("POST", "/2.2.1/commands/START_SESSION");
        let (session, token) = tokio::join!(scene.start(), renewal);
        scene.cpo.token = token;
        let sent = scene.commands("START_SESSION");
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[0].body, sent[1].body);
        scene.result("ACCEPTED").await;
        scene.begin().await;
        assert_eq!(scene.status(&session).await, is("active"));
        let account = scene.app.alice.tenant().account;
        let preferences = json!({"action": "set_charging_preferences", "account": account, "session": session["id"],
            "preferences": {"profile_type": "GREEN"}});
        let renewal = scene.cpo.renew_after("PUT", "/2.2.1/sessions");
        let (sent, _) = tokio::join!(manage_ok(&scene.app, preferences), renewal);
        assert_eq!(sent, json!({"answer": "ACCEPTED"}));
    }

    #[tokio::test]
    async fn a_start_whose_token_stays_refused_is_not_repeated() {
        let scene = Scene::new().await;
        scene.cpo.forget();
        scene.cpo.credentials();
        let session = scene.start().await;
        assert_eq!(scene.status(&session).await, failed("network_rejected"));
        assert_eq!(scene.commands("START_SESSION").len(), 1);
    }

    #[tokio::test]
    async fn a_failed_start_result_ends_the_session_with_a_reason() {
        for (result, reason) in [
            ("REJECTED", "network_rejected"),
            ("EVSE_OCCUPIED", "network_rejected"),
            ("EVSE_INOPERATIVE", "out_of_order"),
            ("FAILED", "other"),
            ("SOMETHING_NEW", "network_rejected"),
        ] {
            let scene = Scene::new().await;
            let session = scene.start().await;
            scene.result(result).await;
            assert_eq!(scene.status(&session).await, failed(reason), "{result}");
            // A second result has no effect.
            scene.result("ACCEPTED").await;
            assert_eq!(scene.status(&session).await, failed(reason), "{result}");
            assert_eq!(scene.shown(&session).await["amount_due"], 0);
            assert_eq!(scene.invoice().await.1, []);
        }
    }

    #[tokio::test]
    async fn without_a_report_the_session_fails_after_five_minutes() {
        let scene = Scene::new().await;
        for (result, reason) in [
            (None, "network_timeout"),
            (Some("TIMEOUT"), "network_timeout"),
            (Some("ACCEPTED"), "not_plugged_in"),
        ] {
            let session = scene.start().await;
            if let Some(result) = result {
                scene.result(result).await;
            }
            // The clock also advances by itself.
            scene.app.advance(240).await;
            assert_eq!(scene.status(&session).await, is("pending"), "{result:?}");
            scene.app.advance(60).await;
            assert_eq!(scene.status(&session).await, failed(reason), "{result:?}");
        }
        assert_eq!(scene.invoice().await.1, []);
        assert_eq!(scene.commands("START_SESSION").len(), 3);
        assert!(scene.commands("STOP_SESSION").is_empty());
    }

    #[tokio::test]
    async fn a_deadline_whose_message_was_lost_is_found_by_the_sweeper() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        scene.app.running().lose_triggers().await.expect("lost");
        scene.app.advance(300).await;
        assert_eq!(scene.status(&session).await, is("pending"));
        scene.app.advance(150).await;
        sweep::handle(scene.app.app()).await.expect("swept");
        scene.app.drain().await;
        assert_eq!(scene.status(&session).await, failed("network_timeout"));
    }

    #[tokio::test]
    async fn a_timeout_or_repeated_results_do_not_end_a_reported_session() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        scene.result("TIMEOUT").await;
        let theirs = scene.begin().await;
        for result in ["TIMEOUT", "ACCEPTED", "ACCEPTED", "FAILED", "FAILED"] {
            scene.result(result).await;
            assert_eq!(scene.status(&session).await, is("active"));
        }
        assert_eq!(scene.events().await, ["started"]);
        scene.app.advance(3600).await;
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
    }

    #[tokio::test]
    async fn a_session_that_begins_after_it_was_given_up_is_reopened() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        scene.app.advance(300).await;
        assert_eq!(scene.status(&session).await, failed("network_timeout"));
        let theirs = scene.begin().await;
        assert_eq!(scene.status(&session).await, is("active"));
        assert_eq!(scene.shown(&session).await["session_ended"], Value::Null);
        assert!(scene.commands("STOP_SESSION").is_empty());
        scene.app.advance(3600).await;
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        assert_eq!(scene.events().await, ["completed", "failed", "started"]);
    }

    #[tokio::test]
    async fn a_late_session_of_a_busy_driver_is_stopped_and_billed() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        let theirs = scene.session(json!({}));
        scene.app.advance(300).await;
        let depot = scene.app.station(json!({})).await;
        let elsewhere = scene.app.session(&scene.crew, &depot);
        scene.post(PATH, elsewhere).await;
        let late = with(theirs, json!({"last_updated": scene.app.now()}));
        scene.report(&late).await;
        assert_eq!(scene.status(&session).await, failed("network_timeout"));
        assert_eq!(scene.commands("STOP_SESSION").len(), 1);
        // The energy until then is billed.
        let cost = json!({"total_energy": 1, "total_cost": {"excl_vat": 0.4, "incl_vat": 0.484}});
        scene.bill(&scene.cdr(&late, cost)).await;
        assert_eq!(scene.status(&session).await.0, "completed");
        assert_eq!(scene.invoice().await.1, [energy(48)]);
    }

    #[tokio::test]
    async fn a_pending_session_is_cancelled_and_stopped_if_it_begins() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        let cancelled = scene.stop(&session).await.expect(200).body;
        assert_eq!(cancelled["status"], "cancelled");
        assert!(scene.commands("STOP_SESSION").is_empty());
        assert_eq!(scene.stop(&session).await.status, 409);
        let theirs = scene.begin().await;
        assert_eq!(scene.status(&session).await, is("cancelled"));
        let stops = scene.commands("STOP_SESSION");
        assert_eq!(
            (stops.len(), &stops[0].body["session_id"]),
            (1, &json!("S1"))
        );
        // The network ends it without energy.
        let nothing =
            json!({"status": "COMPLETED", "last_updated": scene.app.now().plus(seconds(1))});
        scene.report(&with(theirs.clone(), nothing)).await;
        let free = json!({"total_energy": 0, "total_cost": {"excl_vat": 0, "incl_vat": 0}});
        scene.bill(&scene.cdr(&theirs, free)).await;
        assert_eq!(scene.status(&session).await, is("cancelled"));
        assert_eq!(scene.events().await, ["cancelled"]);
        assert_eq!(scene.invoice().await.1, []);
    }

    #[tokio::test]
    async fn a_station_whose_network_is_suspended_is_not_started() {
        let scene = Scene::new().await;
        let suspend = json!({"action": "suspend", "network": scene.cpo.network});
        manage_ok(&scene.app, suspend).await;
        let refused = scene.app.alice.post(PATH, scene.body(json!({}))).await;
        refused.expect_error(409, "charging_session_conflict", "charging_station");
        assert!(scene.commands("START_SESSION").is_empty());
    }

    #[tokio::test]
    async fn an_evse_in_another_spelling_is_the_same() {
        let (scene, ..) = Scene::charging().await;
        let mut location = fixture("location");
        location["last_updated"] = json!(Scene::text(scene.app.now()));
        for evse in location["evses"].as_array_mut().expect("EVSEs") {
            let uid = evse["uid"].as_str().expect("a uid").to_lowercase();
            (evse["uid"], evse["status"]) = (json!(uid), json!("AVAILABLE"));
        }
        scene.cpo.put("/locations/NL/EXA/AMS-1", &location).await;
        scene.app.drain().await;
        let station = format!("/v1/charging_stations/{}", scene.station);
        let station = scene.get(&station).await;
        assert_eq!(station["connectors"][0]["id"], "E1-1");
        let other = scene.app.crew(&scene.app.alice).await;
        let body = json!({"connector": "E1-1", "driver": other.driver, "vehicle": other.vehicle});
        let refused = scene.app.alice.post(PATH, scene.body(body)).await;
        refused.expect_error(409, "charging_session_conflict", "connector");
    }

    #[tokio::test]
    async fn a_vehicle_starts_one_session_at_a_time() {
        let mut location = fixture("location");
        let second = with(
            location["evses"][0].clone(),
            json!({"uid": "E2", "evse_id": "NL*EXA*E2"}),
        );
        location["evses"][1] = second;
        let scene = Scene::at(location).await;
        scene.start().await;
        let other = scene.body(json!({"connector": "E2-1"}));
        let again = scene.app.alice.post(PATH, other).await;
        again.expect_error(409, "charging_session_conflict", "vehicle");
    }

    #[tokio::test]
    async fn a_driver_with_a_pending_session_is_not_detached() {
        let scene = Scene::new().await;
        scene.start().await;
        let detach = format!("/v1/drivers/{}/detach", scene.crew.driver);
        let fleet = json!({"fleet": scene.crew.fleet});
        assert_eq!(scene.app.alice.post(&detach, fleet).await.status, 409);
    }
}

mod stop {
    use super::*;

    #[tokio::test]
    async fn an_unconfirmed_stop_session_is_sent_five_times() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        scene.stop(&session).await.expect(200);
        scene.stop(&session).await.expect(200);
        assert_eq!(scene.commands("STOP_SESSION").len(), 1);
        // A refused one is repeated too.
        scene.cpo.script().commands = Some(json!({"result": "REJECTED", "timeout": 0}));
        scene.app.advance(300).await;
        assert_eq!(scene.commands("STOP_SESSION").len(), 2);
        scene.cpo.script().commands = None;
        scene.app.advance(3600).await;
        assert_eq!(scene.commands("STOP_SESSION").len(), 5);
        // The tenant may ask again.
        scene.stop(&session).await.expect(200);
        assert_eq!(scene.commands("STOP_SESSION").len(), 6);
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"status": "active", "session_ended": null, "energy_consumed": 0});
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        assert_eq!(scene.status(&session).await, is("completed"));
    }

    #[tokio::test]
    async fn a_session_at_its_limit_or_after_a_day_is_stopped() {
        let scene = Scene::new().await;
        let session = scene.start_with(json!({"session_limit": 5_000})).await;
        let theirs = scene.session(json!({"kwh": 4.9}));
        scene.report(&theirs).await;
        assert!(scene.commands("STOP_SESSION").is_empty());
        scene.app.advance(60).await;
        let more = json!({"kwh": 5.1, "last_updated": scene.app.now()});
        scene.report(&with(theirs, more)).await;
        assert_eq!(scene.commands("STOP_SESSION").len(), 1);
        assert_eq!(scene.status(&session).await, is("active"));
        let scene = Scene::new().await;
        let (session, _) = scene.active().await;
        scene.pass(86_400 - 900).await;
        assert!(scene.commands("STOP_SESSION").is_empty());
        scene.app.advance(960).await;
        assert_eq!(scene.commands("STOP_SESSION").len(), 1);
        assert_eq!(scene.status(&session).await, is("active"));
    }

    /// A report of a session that began long before it was requested, and in which the vehicle only parks.
    fn began_long_ago(theirs: Value) -> Value {
        let start = "1970-01-01T00:00:00Z";
        let parked = json!({"start_date_time": start, "dimensions": [{"type": "PARKING_TIME", "volume": 1}]});
        with(
            theirs,
            json!({"start_date_time": start, "kwh": 1, "charging_periods": [parked]}),
        )
    }

    #[tokio::test]
    async fn a_requested_session_did_not_begin_long_ago() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        scene.result("ACCEPTED").await;
        let theirs = began_long_ago(scene.session(json!({})));
        scene.report(&theirs).await;
        assert!(scene.commands("STOP_SESSION").is_empty());
        let shown = scene.shown(&session).await;
        let created = shown["created"].as_str().expect("a time");
        let created = Timestamp::parse(created).expect("a time");
        assert_has!(shown, {"status": "active", "session_started": created.plus(minutes(-15))});
        // 1 kWh at 0.40 and a quarter of an hour at 3.00 an hour, with 21 % tax, and the minutes that the test takes.
        let due = shown["amount_due"].as_i64().expect("an amount");
        assert!((139..=300).contains(&due), "{due}");
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        let shown = scene.shown(&session).await;
        assert_eq!(shown["session_started"], json!(created.plus(minutes(-15))));
    }

    #[tokio::test]
    async fn a_card_session_that_began_long_ago_has_another_day() {
        let scene = Scene::new().await;
        cards::card(&scene, json!({})).await;
        scene.report(&began_long_ago(cards::tapped(&scene))).await;
        let shown = cards::sessions(&scene).await.remove(0);
        let created = shown["created"].as_str().expect("a time");
        let created = Timestamp::parse(created).expect("a time");
        assert_has!(shown, {"status": "active", "session_started": created.plus(days(-1))});
        scene.pass(86_400 - 60).await;
        assert!(scene.commands("STOP_SESSION").is_empty());
        scene.app.advance(120).await;
        assert_eq!(scene.commands("STOP_SESSION").len(), 1);
    }

    #[tokio::test]
    async fn a_report_that_is_late_or_invalid_does_not_create_energy() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        scene.app.advance(600).await;
        let now = scene.app.now();
        let grown = json!({"kwh": 3, "last_updated": now});
        scene.report(&with(theirs.clone(), grown)).await;
        let older = json!({"kwh": 9, "last_updated": now.plus(minutes(-1))});
        scene.report(&with(theirs.clone(), older)).await;
        assert_eq!(scene.shown(&session).await["energy_consumed"], 3_000);
        let absurd = json!({"kwh": 1e9, "last_updated": now.plus(seconds(1))});
        scene.report(&with(theirs.clone(), absurd)).await;
        assert_eq!(scene.shown(&session).await["energy_consumed"], 3_000);
        let invalid = json!({"status": "INVALID", "kwh": 3, "last_updated": now.plus(seconds(2))});
        scene.report(&with(theirs, invalid)).await;
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"status": "failed", "failed_reason": "other", "amount_due": 0});
        assert_eq!(scene.invoice().await.1, []);
    }
}

mod billing {
    use super::*;
    use crate::books::{buyer, finalized, own, seller};
    use crate::invoice_documents::document;

    #[tokio::test]
    async fn a_price_that_the_tariff_does_not_explain_is_billed_and_shown() {
        let (scene, session, theirs) = Scene::charging().await;
        let dear = json!({"total_cost": {"excl_vat": 10.0, "incl_vat": 12.1}});
        scene.bill(&scene.cdr(&theirs, dear)).await;
        let check = json!({"network": 1210, "ours": 968, "difference": 242});
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"status": "completed", "amount_due": 1210, "price_check": check});
        let line = json!({"type": "FLAT", "description": "Price of the charging network", "quantity": "1",
            "unit": "session", "unit_price": "1210", "tax_included": true, "tax_percent": "21", "net": 1000, "tax": 210,
            "gross": 1210});
        assert_eq!(shown["cost_breakdown"], json!([line]));
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(1210)]);
        assert_eq!(invoice["line_items"][0]["price_check"], check);
    }

    #[tokio::test]
    async fn an_amount_that_was_rounded_otherwise_keeps_its_lines() {
        for (net, gross, expected) in [
            (9.01, 10.79, [("10", 100, 10), ("21", 801, 168)].as_slice()),
            (8.99, 10.76, &[("10", 100, 10), ("21", 799, 167)]),
            (9.03, 10.81, &[("19.71", 903, 178)]),
        ] {
            let scene = Scene::new().await;
            let fee = json!({"type": "FLAT", "price": 1.0, "vat": 10.0, "step_size": 1});
            add_price(&scene, fee).await;
            let (session, theirs) = scene.active().await;
            scene.app.advance(3600).await;
            scene.complete(&theirs).await;
            let cost = json!({"total_cost": {"excl_vat": net, "incl_vat": gross}});
            scene.bill(&scene.cdr(&theirs, cost)).await;
            let shown = scene.shown(&session).await;
            let lines = shown["cost_breakdown"].as_array().expect("lines").iter();
            let part = |line: &Value| json!([line["tax_percent"], line["net"], line["tax"]]);
            let lines: Vec<Value> = lines.map(part).collect();
            assert_eq!(json!(lines), json!(expected));
            assert_eq!(shown["amount_due"], (gross * 100.0_f64).round());
        }
    }

    /// Adds a price to the tariff of the station.
    async fn add_price(scene: &Scene, price: Value) {
        let mut tariff = with(fixture("tariff"), json!({"last_updated": scene.app.now()}));
        let components = &mut tariff["elements"][0]["price_components"];
        components.as_array_mut().expect("components").push(price);
        scene.cpo.put("/tariffs/NL/EXA/DAY", &tariff).await;
        scene.app.drain().await;
    }

    #[tokio::test]
    async fn without_a_cdr_the_last_report_is_billed_after_three_days() {
        let (scene, session, theirs) = Scene::charging().await;
        scene.complete(&theirs).await;
        scene.pass(3 * 86_400 - 60).await;
        assert_eq!(scene.invoice().await.1, []);
        scene.app.advance(60).await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        assert_has!(scene.shown(&session).await, {"cost_source": "network_session"});
        let cost = json!({"total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
        let cdr = scene.cdr(&theirs, cost);
        scene.bill(&cdr).await;
        scene.bill(&cdr).await;
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [adjustment(121)]);
        let check = json!({"network": 1089, "ours": 968, "difference": 121});
        assert_has!(invoice["line_items"][0], {"charging_session": session["id"], "price_check": check});
        assert_eq!(scene.shown(&session).await["amount_due"], 968);
        assert_eq!(scene.invoice().await.1, []);
        // The amounts of a cost analysis equal those of both invoices.
        let now = scene.app.now();
        let parameters = json!({"type": "cost_analysis", "period_start": now.plus(days(-30)), "period_end": now,
            "group_by": "vehicle"});
        let alice = &scene.app.alice;
        let body = json!({"fleet": scene.crew.fleet, "parameters": parameters});
        let report = alice.create("/v1/reports", body).await;
        scene.app.drain().await;
        let report = alice.get_ok(&path_of(&report)).await;
        let totals = &report["totals"][0];
        assert_has!(totals, {"sessions": 1, "adjustments": 1});
        assert_has!(totals, {"gross": 968 + 121, "due": 968 + 121});
    }

    #[tokio::test]
    async fn a_time_far_ahead_freezes_neither_a_session_nor_its_price() {
        let (scene, session, theirs) = Scene::charging().await;
        let far = json!("2099-01-01T00:00:00Z");
        let ahead = json!({"kwh": 5, "last_updated": far});
        scene.report(&with(theirs.clone(), ahead)).await;
        assert_eq!(scene.shown(&session).await["energy_consumed"], 5_000);
        scene.app.advance(60).await;
        let grown = json!({"kwh": 10, "last_updated": scene.app.now()});
        scene.report(&with(theirs.clone(), grown)).await;
        assert_eq!(scene.shown(&session).await["energy_consumed"], 10_000);
        scene.app.advance(60).await;
        scene.complete(&theirs).await;
        assert_eq!(scene.status(&session).await, is("completed"));
        // The newest CDR applies, and this one is only the newest until then.
        let wrong =
            json!({"last_updated": far, "total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
        scene.bill(&scene.cdr(&theirs, wrong)).await;
        assert_eq!(scene.shown(&session).await["amount_due"], 1089);
        scene.app.advance(60).await;
        scene.bill(&scene.cdr(&theirs, json!({"id": "C2"}))).await;
        assert_eq!(scene.invoice().await.1, [energy(1089), adjustment(-121)]);
    }

    #[tokio::test]
    async fn a_credit_with_the_longest_id_arrives() {
        let (scene, _, theirs) = Scene::charging().await;
        let id = "8f14e45f-ceea-467f-a0ca-5d4a1c2b3d4e";
        scene.bill(&scene.cdr(&theirs, json!({"id": id}))).await;
        let credit = json!({"id": format!("{id}-CC"), "credit": true, "credit_reference_id": id,
            "total_cost": {"excl_vat": -2.0, "incl_vat": -2.42}});
        scene.bill(&scene.cdr(&theirs, credit)).await;
        assert_eq!(scene.invoice().await.1, [energy(968), adjustment(-242)]);
    }

    #[tokio::test]
    async fn without_a_cdr_and_a_reported_price_the_tariff_counts() {
        let (scene, session, theirs) = Scene::charging().await;
        let now = scene.app.now();
        let end =
            json!({"status": "COMPLETED", "kwh": 5, "end_date_time": now, "last_updated": now});
        scene.report(&with(theirs, end)).await;
        scene.pass(3 * 86_400).await;
        assert_eq!(scene.shown(&session).await["cost_source"], "tariff");
        assert_eq!(scene.invoice().await.1, [energy(242)]);
    }

    #[tokio::test]
    async fn a_session_at_another_evse_has_the_prices_there() {
        let scene = Scene::new().await;
        let mut fast = fixture("tariff");
        fast["id"] = json!("FAST");
        fast["elements"][0]["price_components"][0]["price"] = json!(0.8);
        scene.cpo.put("/tariffs/NL/EXA/FAST", &fast).await;
        let mut location = fixture("location");
        location["last_updated"] = json!(Scene::text(scene.app.now()));
        location["evses"][1]["connectors"][0]["tariff_ids"] = json!(["FAST"]);
        scene.cpo.put("/locations/NL/EXA/AMS-1", &location).await;
        scene.app.drain().await;
        let (session, theirs) = scene.active().await;
        scene.app.advance(1800).await;
        let now = scene.app.now();
        let report = |evse: &str, connector: &str, change: Value| {
            let place = json!({"evse_uid": evse, "connector_id": connector, "kwh": 45});
            with(with(theirs.clone(), place), change)
        };
        let moved = report("E2", "1", json!({"last_updated": now}));
        scene.report(&moved).await;
        // 45 kWh at 0.80, with 21 % tax.
        assert_has!(scene.shown(&session).await, {"connector": "E2-1", "amount_due": 4356});
        // An older report and a connector that the EVSE does not have move nothing.
        let older = report("E1", "1", json!({"last_updated": now.plus(minutes(-1))}));
        scene.report(&older).await;
        let unknown = report("E2", "9", json!({"last_updated": now.plus(seconds(1))}));
        scene.report(&unknown).await;
        assert_eq!(scene.shown(&session).await["connector"], "E2-1");
        let mut bill = scene.cdr(
            &moved,
            json!({"total_energy": 45.0, "total_cost": {"excl_vat": 36.0, "incl_vat": 43.56}}),
        );
        bill["cdr_location"]["evse_uid"] = json!("E2");
        scene.bill(&bill).await;
        // The EVSE where it was requested delivers 11 kWh in this time.
        let check = json!({"network": 4356, "ours": 4356, "difference": 0});
        assert_has!(scene.shown(&session).await, {"connector": "E2-1", "review": null, "price_check": check});
        // A CDR at the first EVSE changes nothing that is billed.
        let mut late = scene.cdr(&moved, json!({"id": "C2", "total_energy": 45.0, "total_cost": {"excl_vat": 36.0, "incl_vat": 43.56}}));
        late["cdr_location"]["evse_uid"] = json!("E1");
        scene.bill(&late).await;
        assert_has!(scene.shown(&session).await, {"connector": "E2-1", "amount_due": 4356});
    }

    #[tokio::test]
    async fn a_network_cannot_raise_the_price_by_a_move() {
        for is_billed in [true, false] {
            let (scene, session, theirs) = Scene::charging().await;
            let mut dear = fixture("tariff");
            dear["elements"][0]["price_components"][0]["price"] = json!(40);
            dear["last_updated"] = json!(Scene::text(scene.app.now()));
            scene
                .cpo
                .put(&format!("/tariffs/NL/EXA/{}", id_of(&dear)), &dear)
                .await;
            scene.app.drain().await;
            let elsewhere = json!({"evse_uid": "E2", "connector_id": "1"});
            let moved = with(theirs, elsewhere);
            if is_billed {
                let total = json!({"excl_vat": 800, "incl_vat": 968});
                let mut bill = scene.cdr(&moved, json!({"total_cost": total}));
                bill["cdr_location"]["evse_uid"] = json!("E2");
                scene.bill(&bill).await;
            } else {
                let now = Scene::text(scene.app.now());
                let end = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": now, "last_updated": now});
                scene.report(&with(moved, end)).await;
                scene.pass(3 * 86_400).await;
            }
            let review = &scene.shown(&session).await["review"];
            assert_has!(review, {"network": 96_800, "ours": 968});
            assert_eq!(scene.invoice().await.1, []);
        }
    }

    /// The station's tariff: 80 cents for a kWh until this number of hours from now by the station's clock, and then 20.
    async fn dear_for(scene: &Scene, hours: i64) {
        let zone = TimeZone::get("Europe/Amsterdam").expect("a zone");
        let clock = |hours: i64| {
            let at = scene.app.now().plus(minutes(60 * hours));
            at.civil_in(&zone).strftime("%H:%M").to_string()
        };
        let element = |price: f64, restrictions: Value| {
            json!({"price_components": [{"type": "ENERGY", "price": price, "vat": 0, "step_size": 1}],
            "restrictions": restrictions})
        };
        let window = json!({"start_time": clock(-1), "end_time": clock(hours)});
        let elements = json!([element(0.8, window), element(0.2, json!({}))]);
        let change = json!({"elements": elements, "last_updated": scene.app.now()});
        let tariff = with(fixture("tariff"), change);
        scene.cpo.put("/tariffs/NL/EXA/DAY", &tariff).await;
        scene.app.drain().await;
    }

    /// An OCPI charging period.
    fn period(starts: Timestamp, kind: &str, volume: f64) -> Value {
        json!({"start_date_time": starts, "dimensions": [{"type": kind, "volume": volume}]})
    }

    #[tokio::test]
    async fn delayed_charging_costs_what_holds_when_it_flows() {
        let scene = Scene::new().await;
        dear_for(&scene, 2).await;
        let (session, theirs) = scene.active().await;
        let parked = period(scene.app.now(), "PARKING_TIME", 2.0);
        scene.app.advance(2 * 3600 + 120).await;
        let charging = period(scene.app.now(), "ENERGY", 22.0);
        scene.app.advance(3 * 3600).await;
        let now = scene.app.now();
        let grown = json!({"kwh": 22, "charging_periods": [parked, charging], "last_updated": now});
        let theirs = with(theirs, grown);
        scene.report(&theirs).await;
        // 22 kWh at 0.20.
        assert_has!(scene.shown(&session).await, {"status": "active", "amount_due": 440, "cost_source": "tariff"});
        let end = json!({"status": "COMPLETED", "end_date_time": now, "last_updated": now.plus(seconds(1))});
        scene.report(&with(theirs, end)).await;
        scene.pass(3 * 86_400 + 60).await;
        assert_eq!(scene.shown(&session).await["amount_due"], 440);
        assert_eq!(scene.invoice().await.1, [energy(440)]);
    }

    #[tokio::test]
    async fn a_cdr_of_uneven_charging_is_plausible() {
        let scene = Scene::new().await;
        dear_for(&scene, 1).await;
        let (session, theirs) = scene.active().await;
        let fast = period(scene.app.now(), "ENERGY", 20.0);
        scene.app.advance(3300).await;
        let slow = period(scene.app.now(), "ENERGY", 2.0);
        scene.app.advance(8 * 3600).await;
        // 20 kWh at 0.80, and 2 kWh at 0.20 but for the rest of the hour.
        let bill = json!({"charging_periods": [fast, slow], "total_energy": 22.0,
            "total_cost": {"excl_vat": 16.4, "incl_vat": 16.4}});
        scene.bill(&scene.cdr(&theirs, bill)).await;
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"status": "completed", "amount_due": 1640, "review": null});
        let ours = shown["price_check"]["ours"].as_i64().expect("an amount");
        assert!((1640..=1642).contains(&ours), "{shown}");
    }

    #[tokio::test]
    async fn an_amount_without_tax_gets_that_of_the_tariff() {
        let (scene, session, theirs) = Scene::charging().await;
        let now = scene.app.now();
        let net = json!({"total_cost": {"excl_vat": 4.004}, "kwh": 10, "last_updated": now});
        scene.report(&with(theirs.clone(), net)).await;
        // 4.004 × 1.21 = 4.84484.
        assert_has!(scene.shown(&session).await, {"net": 400, "tax": 84, "amount_due": 484});
        let net = json!({"total_cost": {"excl_vat": 8.0}});
        scene.bill(&scene.cdr(&theirs, net)).await;
        let check = json!({"network": 968, "ours": 968, "difference": 0});
        assert_has!(scene.shown(&session).await, {"net": 800, "tax": 168, "amount_due": 968, "price_check": check});
        let credit = json!({"id": "C2", "credit": true, "credit_reference_id": "C1", "total_cost": {"excl_vat": -2.0}});
        scene.bill(&scene.cdr(&theirs, credit)).await;
        assert_eq!(scene.invoice().await.1, [energy(968), adjustment(-242)]);
    }

    #[tokio::test]
    async fn the_tax_of_a_minimum_price_is_shown_and_documented() {
        let scene = Scene::new().await;
        let client = &scene.app.alice;
        let seller = json!({"billing_details": seller(), "registration_number": "HRB 1"});
        client.post_ok(&own(client), seller).await;
        let buyer = json!({"billing_details": buyer()});
        client.post_ok(&path_of(&scene.crew.fleet), buyer).await;
        // A rate of 7.6923…, and one above 100.
        for (name, gross, percent) in [("T1", 9.8, "7.6923"), ("T2", 20.0, "100")] {
            let minimum = json!({"min_price": {"excl_vat": 9.1, "incl_vat": gross}, "last_updated": scene.app.now()});
            let tariff = with(fixture("tariff"), minimum);
            scene.cpo.put("/tariffs/NL/EXA/DAY", &tariff).await;
            scene.app.drain().await;
            scene.start().await;
            scene.result("ACCEPTED").await;
            let theirs = scene.session(json!({"id": name}));
            scene.report(&theirs).await;
            scene.app.advance(3600).await;
            let now = scene.app.now();
            let end =
                json!({"status": "COMPLETED", "kwh": 5, "end_date_time": now, "last_updated": now});
            scene.report(&with(theirs, end)).await;
            scene.pass(3 * 86_400).await;
            let window = json!({"period_start": now.plus(days(-30)), "period_end": scene.app.now().plus(minutes(1)),
                "fleet": scene.crew.fleet, "currency": "eur"});
            let invoice = finalized(client, window).await;
            let taxes = invoice["line_items"][0]["taxes"]
                .as_array()
                .expect("taxes")
                .clone();
            assert!(
                taxes.iter().any(|tax| tax["tax_percent"] == percent),
                "{taxes:?}"
            );
            let path = path_of(id_of(&invoice));
            assert_eq!(scene.get(&path).await["totals"], invoice["totals"]);
            assert_eq!(
                scene.get("/v1/invoices").await["data"][0]["id"],
                invoice["id"]
            );
            let lines = scene.get(&format!("{path}/line_items")).await;
            assert_eq!(lines["data"][0]["taxes"], json!(taxes));
            for format in ["pdf", "ubl", "cii"] {
                document(&scene.app, &invoice, format).await;
            }
        }
    }

    #[tokio::test]
    async fn a_credit_and_a_corrected_cdr_become_adjustments_in_any_order() {
        let credit = |scene: &Scene, theirs: &Value| {
            scene.cdr(
                theirs,
                json!({"id": "C1-X", "credit": true, "credit_reference_id": "C1",
                "total_cost": {"excl_vat": -8.0, "incl_vat": -9.68}}),
            )
        };
        let corrected = |scene: &Scene, theirs: &Value| {
            let cost = json!({"id": "C2", "total_cost": {"excl_vat": 7.0, "incl_vat": 8.47}});
            scene.cdr(theirs, cost)
        };
        for credit_first in [true, false] {
            let scene = Scene::new().await;
            let (session, theirs) = scene.billed().await;
            assert_eq!(scene.invoice().await.1, [energy(968)]);
            scene.app.advance(60).await;
            let mut sent = [credit(&scene, &theirs), corrected(&scene, &theirs)];
            if !credit_first {
                sent.reverse();
            }
            for cdr in &sent {
                scene.bill(cdr).await;
            }
            // Credits are lines of the draft, and additional amounts are on the next invoice.
            let (_, more) = scene.invoice().await;
            assert_eq!(more.is_empty(), !credit_first, "{more:?}");
            let drafts = scene.get("/v1/invoices").await;
            let drafts = drafts["data"].as_array().expect("a list").iter();
            let due: i64 = drafts
                .map(|draft| draft["amount_due"].as_i64().expect("an amount"))
                .sum();
            assert_eq!(due, 847);
            assert_eq!(scene.invoice().await.1, []);
            assert_eq!(scene.shown(&session).await["amount_due"], 968);
        }
    }

    #[tokio::test]
    async fn an_adjustment_is_shown_with_its_session_and_an_event() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.billed().await;
        assert_has!(scene.shown(&session).await, {"amount_due": 968, "amount_adjusted": 0});
        let before = scene.events().await;
        scene.app.advance(60).await;
        for (id, gross, adjusted) in [("C2", 10.89, 121), ("C3", 8.47, -121)] {
            let cost = json!({"id": id, "total_cost": {"excl_vat": 7.0, "incl_vat": gross}, "last_updated": scene.app.now()});
            let cdr = scene.cdr(&theirs, cost);
            scene.bill(&cdr).await;
            scene.bill(&cdr).await;
            let shown = scene.shown(&session).await;
            assert_has!(shown, {"amount_due": 968, "amount_adjusted": adjusted});
            let events = scene.get("/v1/events?type=charging_session.updated").await;
            let event = &events["data"][0]["data"]["object"];
            assert_has!(event, {"id": session["id"], "amount_adjusted": adjusted});
            scene.app.advance(60).await;
        }
        assert_eq!(scene.events().await.len(), before.len() + 2);
    }

    #[tokio::test]
    async fn the_price_of_a_second_cdr_is_compared_and_counted_once() {
        let written: Arc<Mutex<Vec<String>>> = Arc::default();
        let metrics = written.clone();
        let app = TestApp::start_with(|options| {
            options.metrics = Metrics::to("FleetCharging/test", move |line| {
                metrics.lock().expect("the lines").push(line.to_owned());
            });
        });
        let scene = Scene::of(app.await, fixture("location")).await;
        let mismatches = || {
            let lines = written.lock().expect("the lines");
            lines
                .iter()
                .filter(|line| line.contains("PriceMismatches"))
                .count()
        };
        let (session, theirs) = scene.billed().await;
        assert_eq!(mismatches(), 0);
        let events = scene.events().await.len();
        // The second bill has another amount, and the third the same for more energy.
        for (count, (id, kwh, ours)) in (1..).zip([("C2", 20.0, 968), ("C3", 21.0, 1016)]) {
            scene.app.advance(60).await;
            let bill = json!({"id": id, "total_cost": {"excl_vat": 9.0, "incl_vat": 10.89},
                "total_energy": kwh, "last_updated": scene.app.now()});
            let cdr = scene.cdr(&theirs, bill);
            scene.bill(&cdr).await;
            scene.bill(&cdr).await;
            let check = json!({"network": 1089, "ours": ours, "difference": 1089 - ours});
            assert_has!(scene.shown(&session).await, {"amount_adjusted": 121, "price_check": check});
            assert_eq!(mismatches(), count);
            assert_eq!(scene.events().await.len(), events + count);
        }
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(968), adjustment(121)]);
        let networks = invoice["line_items"].as_array().expect("lines").iter();
        let networks = networks.map(|line| &line["price_check"]["network"]);
        // The adjustment was created with the second CDR, and the other line with the invoice.
        assert_eq!(networks.collect::<Vec<_>>(), [1089, 1089]);
    }

    #[tokio::test]
    async fn a_cdr_that_comes_before_its_session_and_twice_is_billed_once() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        let theirs = scene.session(json!({}));
        scene.app.advance(120).await;
        let cost = json!({"total_energy": 0.5, "total_cost": {"excl_vat": 0.2, "incl_vat": 0.24}});
        let cdr = scene.cdr(&theirs, cost);
        scene.bill(&cdr).await;
        scene.bill(&cdr).await;
        assert_eq!(scene.status(&session).await, is("completed"));
        scene.report(&theirs).await;
        scene.complete(&theirs).await;
        assert_eq!(scene.events().await, ["completed", "started"]);
        assert_eq!(scene.unmatched().await, 0);
        assert_eq!(scene.invoice().await.1, [energy(24)]);
    }

    #[tokio::test]
    async fn sessions_without_reference_match_by_token_location_and_time() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        let theirs = scene.session(json!({"authorization_reference": null}));
        scene.report(&theirs).await;
        assert_eq!(scene.status(&session).await, is("active"));
        scene.app.advance(3600).await;
        let cdr = scene.cdr(&theirs, json!({"session_id": null}));
        scene.bill(&cdr).await;
        assert_has!(scene.shown(&session).await, {"status": "completed", "cost_source": "cdr"});
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        assert_eq!(scene.unmatched().await, 0);
    }

    #[tokio::test]
    async fn two_charges_of_one_reference_are_two_sessions() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        let mut bills = Vec::new();
        for id in ["C1", "C2"] {
            let began = Scene::text(scene.app.now());
            scene.app.advance(3600).await;
            let change = json!({"id": id, "session_id": null, "start_date_time": began});
            let mut cdr = scene.cdr(&theirs, change);
            cdr["charging_periods"][0]["start_date_time"] = began;
            scene.bill(&cdr).await;
            bills.push(cdr);
            scene.app.advance(3600).await;
        }
        assert_eq!(scene.invoice().await.1, [energy(968), energy(968)]);
        assert_has!(scene.shown(&session).await, {"amount_due": 968, "amount_adjusted": 0});
        // Corrections and credits are of the session at their time.
        for (place, id, gross) in [(0, "C3", 8.47), (1, "C4", 10.89)] {
            let change = json!({"id": id, "total_cost": {"excl_vat": 7.0, "incl_vat": gross}, "last_updated": scene.app.now()});
            scene.bill(&with(bills[place].clone(), change)).await;
        }
        let sessions = cards::sessions(&scene).await;
        assert_eq!(
            each(&json!(sessions), "amount_adjusted"),
            json!([121, -121])
        );
        let credit = json!({"id": "C5", "credit": true, "credit_reference_id": "C4", "last_updated": scene.app.now(),
            "total_cost": {"excl_vat": -9.0, "incl_vat": -10.89}});
        scene.bill(&with(bills[1].clone(), credit)).await;
        let sessions = cards::sessions(&scene).await;
        assert_eq!(each(&json!(sessions), "amount_adjusted"), json!([0, -121]));
        assert_eq!(scene.unmatched().await, 0);
    }

    #[tokio::test]
    async fn what_belongs_to_nothing_is_listed_and_not_billed() {
        let scene = Scene::new().await;
        scene.start().await;
        let token = json!({"uid": "04FFFFFF", "type": "RFID", "contract_id": "NL-XXX-1"});
        let strange = scene
            .session(json!({"id": "S9", "cdr_token": token, "authorization_reference": "cmd_1"}));
        scene.report(&strange).await;
        scene.bill(&scene.cdr(&strange, json!({"id": "C9"}))).await;
        assert_eq!(scene.unmatched().await, 2);
        let other = json!({"id": "C8", "currency": "XXXX"});
        scene.bill(&scene.cdr(&strange, other)).await;
        assert_eq!(scene.unmatched().await, 3);
        assert_eq!(scene.invoice().await.1, []);
        assert!(scene.events().await.is_empty());
    }

    #[tokio::test]
    async fn a_payment_method_is_charged_when_the_session_price_is_final() {
        let scene = Scene::new().await;
        let (session, ..) = scene.charged().await;
        assert_has!(scene.shown(&session).await, {"amount_paid": 968, "amount_due": 0});
        assert_eq!(scene.app.transactions(&scene.app.alice).await.len(), 1);
    }

    /// A credit of the first CDR, with an amount in cents.
    async fn credited(scene: &Scene, theirs: &Value, cents: i64) {
        let gross = cents as f64 / 100.0;
        let credit = json!({"id": "C1-X", "credit": true, "credit_reference_id": "C1",
            "total_cost": {"excl_vat": -gross / 1.21, "incl_vat": -gross}});
        scene.bill(&scene.cdr(theirs, credit)).await;
        scene.app.drain().await;
    }

    /// Bills a session again, by a CDR with this id and these amounts without and with tax.
    async fn correct(scene: &Scene, theirs: &Value, id: &str, (net, gross): (f64, f64)) {
        scene.app.advance(60).await;
        let cost = json!({"id": id, "total_cost": {"excl_vat": net, "incl_vat": gross}, "last_updated": scene.app.now()});
        scene.bill(&scene.cdr(theirs, cost)).await;
        scene.app.drain().await;
    }

    #[tokio::test]
    async fn a_credit_is_a_line_of_the_draft_that_bills_its_session() {
        let scene = Scene::new().await;
        let session = scene.active().await;
        let (session, theirs) = session;
        scene.app.advance(3600).await;
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        let (draft, _) = scene.invoice().await;
        credited(&scene, &theirs, 968).await;
        let path = path_of(id_of(&draft));
        let shown = scene.get(&path).await;
        assert_eq!(shown["amount_due"], 0);
        assert_eq!(each(&shown["line_items"], "amount"), json!([-968, 968]));
        assert_eq!(scene.get("/v1/credit_notes").await["data"], json!([]));
        // It is on the next invoice together with its session. If it covers the whole amount, the session is paid.
        scene.app.alice.delete_ok(&path).await;
        let (both, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(968), adjustment(-968)]);
        let finalize = format!("{}/finalize", path_of(id_of(&both)));
        let paid = scene.app.alice.post(&finalize, json!({})).await.expect(200);
        assert_eq!(paid.body["status"], "paid");
        scene.app.drain().await;
        assert_has!(scene.shown(&session).await, {"amount_due": 0, "amount_paid": 968});
    }

    #[tokio::test]
    async fn a_credit_of_a_final_invoice_is_a_credit_note() {
        let scene = Scene::new().await;
        let (_, theirs) = scene.billed().await;
        let (draft, _) = scene.invoice().await;
        let path = path_of(id_of(&draft));
        let finalize = format!("{path}/finalize");
        scene.post(&finalize, json!({})).await;
        credited(&scene, &theirs, 242).await;
        let shown = scene.get(&path).await;
        assert_has!(shown, {"amount_due": 726, "/totals/credited": 242});
        let notes = scene.get("/v1/credit_notes").await;
        let note = &notes["data"][0];
        assert_has!(note, {"type": "network", "amount": 242, "/totals/net": 200});
        assert_eq!(note["lines"][0]["line_item"], shown["line_items"][0]["id"]);
        assert_eq!(scene.invoice().await.1, []);
        // A second invoice of the session has the credit as well.
        scene.post(&format!("{path}/void"), json!({})).await;
        assert_eq!(scene.invoice().await.1, [energy(968), adjustment(-242)]);
        assert_eq!(scene.app.alice.get("/v1/credit_notes").await.ids().len(), 2);
    }

    /// A final invoice of everything until now.
    async fn finalize(scene: &Scene) -> Value {
        let (draft, _) = scene.invoice().await;
        scene
            .post(&format!("{}/finalize", path_of(id_of(&draft))), json!({}))
            .await
    }

    /// The net amount and the tax at each rate, of all invoices less all credit notes.
    async fn taxes_of_documents(scene: &Scene) -> BTreeMap<String, (i64, i64)> {
        let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for (path, sign) in [("/v1/invoices", 1), ("/v1/credit_notes", -1)] {
            let documents = scene.get(path).await;
            for document in documents["data"].as_array().expect("a list") {
                let rates = document["totals"]["by_rate"].as_array();
                for rate in rates.expect("rates") {
                    let amount = |name: &str| sign * rate[name].as_i64().expect("an amount");
                    let percent = rate["tax_percent"].as_str().expect("a rate");
                    let sum = sums.entry(percent.to_owned()).or_default();
                    *sum = (sum.0 + amount("net"), sum.1 + amount("tax"));
                }
            }
        }
        sums.retain(|_, sum| *sum != (0, 0));
        sums
    }

    #[tokio::test]
    async fn a_correction_of_the_tax_is_billed_at_both_rates() {
        // The invoice is final before the first correction, after it, or never.
        let finalized = [0, 1, 9].into_iter();
        for (final_after, is_charged) in finalized.flat_map(|after| [(after, false), (after, true)])
        {
            let scene = Scene::new().await;
            let theirs = if is_charged {
                scene.charged().await.1
            } else {
                scene.billed().await.1
            };
            let (draft, _) = scene.invoice().await;
            let finalize = format!("{}/finalize", path_of(id_of(&draft)));
            let taxed = ("21".to_owned(), (800, 168));
            let untaxed = ("0".to_owned(), (800, 0));
            for (done, (id, gross, expected)) in [
                ("C2", 8.0, &untaxed),
                ("C3", 9.68, &taxed),
                ("C4", 8.0, &untaxed),
                ("C5", 9.68, &taxed),
            ]
            .into_iter()
            .enumerate()
            {
                if done == final_after {
                    scene.post(&finalize, json!({})).await;
                }
                correct(&scene, &theirs, id, (8.0, gross)).await;
                scene.invoice().await;
                let expected = BTreeMap::from([expected.clone()]);
                let sums = taxes_of_documents(&scene).await;
                assert_eq!(sums, expected, "{id} {final_after} {is_charged}");
            }
        }
    }

    #[tokio::test]
    async fn a_credit_is_applied_where_its_rate_was_billed() {
        // The second invoice is final before the credit, or a draft.
        for is_final in [true, false] {
            let scene = Scene::new().await;
            let parking =
                json!({"type": "PARKING_TIME", "price": 2.0, "vat": 10.0, "step_size": 1});
            add_price(&scene, parking).await;
            let (_, theirs) = scene.billed().await;
            let first = finalize(&scene).await;
            // An hour of parking is billed in addition, and then credited: half of it, and the rest.
            correct(&scene, &theirs, "C2", (10.0, 9.68 + 2.2)).await;
            let second = if is_final {
                finalize(&scene).await
            } else {
                scene.invoice().await.0
            };
            let billed =
                BTreeMap::from([("10".to_owned(), (200, 20)), ("21".to_owned(), (800, 168))]);
            assert_eq!(taxes_of_documents(&scene).await, billed);
            correct(&scene, &theirs, "C3", (9.0, 9.68 + 1.1)).await;
            correct(&scene, &theirs, "C4", (8.0, 9.68)).await;
            let left = BTreeMap::from([("21".to_owned(), (800, 168))]);
            assert_eq!(taxes_of_documents(&scene).await, left);
            let shown = async |invoice: &Value| scene.get(&path_of(id_of(invoice))).await;
            assert_has!(shown(&first).await, {"amount_due": 968, "/totals/credited": 0});
            let credited = if is_final { 220 } else { 0 };
            assert_has!(shown(&second).await, {"amount_due": 0, "/totals/credited": credited});
        }
    }

    #[tokio::test]
    async fn a_credit_on_a_draft_counts_against_its_line() {
        let scene = Scene::new().await;
        let (_, theirs) = scene.billed().await;
        correct(&scene, &theirs, "C2", (9.0, 10.89)).await;
        let (draft, _) = scene.invoice().await;
        correct(&scene, &theirs, "C3", (7.0, 8.47)).await;
        let draft = scene.get(&path_of(id_of(&draft))).await;
        assert_eq!(
            each(&draft["line_items"], "amount"),
            json!([-242, 121, 968])
        );
        let path = path_of(id_of(&draft));
        let invoice = scene.post(&format!("{path}/finalize"), json!({})).await;
        let credit = |amount: i64| {
            let line = json!({"line_item": invoice["line_items"][2]["id"], "amount": amount});
            json!({"invoice": id_of(&invoice), "lines": [line]})
        };
        let refused = scene.app.alice.post("/v1/credit_notes", credit(727)).await;
        refused.expect_error(400, None, "lines[0].amount");
        scene.post("/v1/credit_notes", credit(726)).await;
    }

    #[tokio::test]
    async fn a_credit_after_500_lines_is_of_the_whole_invoice() {
        let scene = Scene::new().await;
        let (_, theirs) = scene.billed().await;
        let (draft, _) = scene.invoice().await;
        let path = path_of(id_of(&draft));
        let finalize = format!("{path}/finalize");
        scene.post(&finalize, json!({})).await;
        // As if 500 other lines had been credited.
        let (store, tenant) = (&scene.app.app().store, scene.app.alice.tenant());
        let id = kernel::Id::from(id_of(&draft));
        let invoice = store.load::<models::invoice::Invoice>(&tenant, &id).await;
        let mut invoice = invoice.expect("the invoice");
        for number in 0..500 {
            let line = kernel::Id::from_number(kernel::Kind::LineItem, number);
            invoice.internal.credits.lines.insert(line, Vec::new());
        }
        let origin = kernel::Origin::background(tenant, scene.app.now());
        store.save(&origin, &mut invoice).await.expect("a change");
        credited(&scene, &theirs, 242).await;
        let notes = scene.app.alice.get("/v1/credit_notes").await;
        let note = &notes.expect(200).body["data"][0];
        assert_has!(note, {"type": "network", "amount": 242, "/lines/0/line_item": null});
        let line = json!([{"line_item": draft["line_items"][0]["id"]}]);
        let body = json!({"invoice": id, "lines": line});
        let refused = scene.app.alice.post("/v1/credit_notes", body).await;
        refused.expect_error(409, None, "invoice");
    }

    #[tokio::test]
    async fn a_credit_of_a_paid_invoice_is_refunded() {
        let scene = Scene::new().await;
        let (_, theirs) = scene.billed().await;
        let (draft, _) = scene.invoice().await;
        let path = path_of(id_of(&draft));
        scene.post(&format!("{path}/finalize"), json!({})).await;
        let method = scene.app.payment_method("tok_success", json!({})).await;
        let body = json!({"payment_method": method});
        scene.post(&format!("{path}/pay"), body).await;
        credited(&scene, &theirs, 242).await;
        let shown = scene.get(&path).await;
        let totals = &shown["totals"];
        let found = ["paid", "credited", "refunded", "due"].map(|name| totals[name].as_i64());
        assert_eq!(found, [968, 0, 242, 0].map(Some));
        // No other invoice will bill the adjustment.
        let (store, tenant) = (&scene.app.app().store, scene.app.alice.tenant());
        let open = store.open_adjustments(&tenant).await.expect("the table");
        assert_eq!(open, []);
    }

    #[tokio::test]
    async fn a_credit_of_a_session_that_was_charged_is_returned() {
        let scene = Scene::new().await;
        let (session, theirs, method) = scene.charged().await;
        credited(&scene, &theirs, 242).await;
        let id = id_of(&session);
        let list = format!("/v1/transactions?charging_session={id}&type=adjustment");
        let returned = scene.get(&list).await["data"][0].clone();
        assert_has!(returned, {"amount": 242, "status": "succeeded", "payment_method": method});
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(968), adjustment(-242)]);
        let totals = &invoice["totals"];
        let found = ["gross", "paid", "refunded", "due"].map(|name| totals[name].as_i64());
        assert_eq!(found, [726, 726, 0, 0].map(Some));
        // A second credit, after the invoice was finalized.
        let finalize = format!("{}/finalize", path_of(id_of(&invoice)));
        scene.post(&finalize, json!({})).await;
        let more = json!({"id": "C1-Y", "credit": true, "credit_reference_id": "C1",
            "total_cost": {"excl_vat": -1.0, "incl_vat": -1.21}});
        scene.bill(&scene.cdr(&theirs, more)).await;
        scene.app.drain().await;
        let shown = scene.get(&path_of(id_of(&invoice))).await;
        assert_eq!(shown["totals"]["refunded"], 121);
    }

    #[tokio::test]
    async fn a_credit_after_the_period_is_billed_with_its_session() {
        let scene = Scene::new().await;
        let (_, theirs, _) = scene.charged().await;
        scene.app.advance(1).await;
        let end = scene.app.now();
        scene.app.advance(3600).await;
        credited(&scene, &theirs, 968).await;
        let body =
            json!({"period_start": end.plus(days(-30)), "period_end": end, "currency": "eur"});
        let invoice = scene.post("/v1/invoices", body.clone()).await;
        let totals = ["gross", "paid", "refunded", "due"].map(|name| &invoice["totals"][name]);
        assert_eq!(totals, [0, 0, 0, 0]);
        assert_eq!(each(&invoice["line_items"], "amount"), json!([-968, 968]));
        assert_eq!(scene.invoice().await.1, []);
    }

    #[tokio::test]
    async fn credits_return_no_more_than_was_charged() {
        let scene = Scene::new().await;
        let (session, theirs, _) = scene.charged().await;
        let (draft, _) = scene.invoice().await;
        credited(&scene, &theirs, 968).await;
        // A corrected price is due; its credit has nothing to return, and leaves the draft as it is.
        for cdr in [
            json!({"id": "C2", "total_cost": {"excl_vat": 7.0, "incl_vat": 8.47}}),
            json!({"id": "C2-X", "credit": true, "credit_reference_id": "C2",
                "total_cost": {"excl_vat": -7.0, "incl_vat": -8.47}}),
        ] {
            scene.bill(&scene.cdr(&theirs, cdr)).await;
            scene.app.drain().await;
        }
        let list = format!(
            "/v1/transactions?charging_session={}&type=adjustment",
            id_of(&session)
        );
        assert_eq!(
            each(&scene.get(&list).await["data"], "amount"),
            json!([968])
        );
        let totals = scene.get(&path_of(id_of(&draft))).await["totals"].clone();
        assert_has!(totals, {"gross": 0, "paid": 0, "due": 0});
        let (next, lines) = scene.invoice().await;
        assert_eq!(lines, [adjustment(847), adjustment(-847)]);
        assert_has!(next, {"/totals/gross": 0, "/totals/paid": 0, "amount_due": 0});
    }

    /// An invoice of everything until now that was finalized and paid.
    async fn paid(scene: &Scene) -> Value {
        let (draft, _) = scene.invoice().await;
        let path = path_of(id_of(&draft));
        scene.post(&format!("{path}/finalize"), json!({})).await;
        let method = scene.app.payment_method("tok_success", json!({})).await;
        let body = json!({"payment_method": method});
        let paid = scene.post(&format!("{path}/pay"), body).await;
        scene.app.drain().await;
        paid
    }

    #[tokio::test]
    async fn a_credit_also_returns_what_an_adjustment_billed() {
        let (scene, _, theirs) = Scene::charging().await;
        scene.complete(&theirs).await;
        scene.pass(3 * 86_400).await;
        let first = paid(&scene).await;
        assert_eq!(first["amount_paid"], 968);
        let cost = json!({"total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
        scene.bill(&scene.cdr(&theirs, cost)).await;
        let second = paid(&scene).await;
        assert_eq!(second["amount_paid"], 121);
        credited(&scene, &theirs, 1089).await;
        for (invoice, amount) in [(&first, 968), (&second, 121)] {
            let shown = scene.get(&path_of(id_of(invoice))).await;
            assert_eq!(shown["totals"]["refunded"], amount);
            let notes = format!("/v1/credit_notes?invoice={}", id_of(invoice));
            let note = scene.get(&notes).await["data"][0].clone();
            let line = &invoice["line_items"][0]["id"];
            assert_has!(note, {"type": "network", "amount": amount, "/lines/0/line_item": line});
        }
        assert_eq!(scene.invoice().await.1, []);
    }

    #[tokio::test]
    async fn a_credit_of_an_adjustment_on_a_draft_is_a_line_of_it() {
        let (scene, _, theirs) = Scene::charging().await;
        scene.complete(&theirs).await;
        scene.pass(3 * 86_400).await;
        let first = paid(&scene).await;
        let cost = json!({"total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
        scene.bill(&scene.cdr(&theirs, cost)).await;
        let (draft, lines) = scene.invoice().await;
        assert_eq!(lines, [adjustment(121)]);
        credited(&scene, &theirs, 1089).await;
        let shown = scene.get(&path_of(id_of(&first))).await;
        assert_eq!(shown["totals"]["refunded"], 968);
        let shown = scene.get(&path_of(id_of(&draft))).await;
        assert_eq!(each(&shown["line_items"], "amount"), json!([-121, 121]));
        assert_has!(shown, {"amount_due": 0, "/totals/gross": 0});
        assert_eq!(scene.invoice().await.1, []);
    }

    #[tokio::test]
    async fn a_credit_returns_nothing_that_was_refunded() {
        let scene = Scene::new().await;
        let (session, theirs, _) = scene.charged().await;
        let list = format!("/v1/transactions?charging_session={}", id_of(&session));
        let charge = scene.get(&list).await["data"][0].clone();
        let refund = format!("{}/refund", path_of(id_of(&charge)));
        scene.post(&refund, json!({"amount": 700})).await;
        scene.app.drain().await;
        credited(&scene, &theirs, 968).await;
        // The refund settles its part of the credit; only the rest is returned.
        let charge = scene.get(&path_of(id_of(&charge))).await;
        assert_eq!(charge["amount_refunded"], 968);
        let adjusted = format!("{list}&type=adjustment");
        let adjusted = scene.get(&adjusted).await["data"].clone();
        assert_eq!(each(&adjusted, "amount"), json!([268]));
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(968), adjustment(-968)]);
        assert_has!(invoice, {"/totals/paid": 0, "/totals/refunded": 0, "amount_due": 0});
    }

    /// Refunds a part of the only charge.
    async fn refund(scene: &Scene, amount: i64) -> Value {
        let charges = scene.get("/v1/transactions?type=charge").await;
        let charge = charges["data"].as_array().and_then(|list| {
            let mut charges = list.iter();
            charges.find(|charge| !charge["charging_session"].is_null())
        });
        let refund = format!("{}/refund", path_of(id_of(charge.expect("a charge"))));
        let refund = scene.post(&refund, json!({"amount": amount})).await;
        scene.app.drain().await;
        scene.get(&path_of(id_of(&refund))).await
    }

    #[tokio::test]
    async fn a_credit_of_a_refunded_amount_counts_once() {
        let scene = Scene::new().await;
        let (_, theirs, _) = scene.charged().await;
        let (draft, _) = scene.invoice().await;
        let path = path_of(id_of(&draft));
        refund(&scene, 300).await;
        credited(&scene, &theirs, 242).await;
        let adjusted = scene.get("/v1/transactions?type=adjustment").await;
        assert_eq!(adjusted["data"], json!([]));
        let shown = scene.get(&path).await;
        assert_has!(shown["totals"], {"gross": 726, "paid": 726, "refunded": 58, "due": 0});
        assert_has!(scene.cost_analysis().await, {"gross": 726, "paid": 726, "refunded": 58});
        // The next draft has the same amounts.
        scene.app.alice.delete_ok(&path).await;
        let (draft, _) = scene.invoice().await;
        assert_eq!(draft["totals"], shown["totals"]);
        refund(&scene, 668).await;
        let shown = scene.get(&path_of(id_of(&draft))).await;
        assert_has!(shown["totals"], {"paid": 726, "refunded": 726});
        assert_has!(scene.cost_analysis().await, {"paid": 726, "refunded": 726});
    }

    #[tokio::test]
    async fn a_refund_returns_a_credit_that_could_not_be_returned() {
        let scene = Scene::new().await;
        let driver = path_of(&scene.crew.driver);
        let currency = async |code: &str| {
            let preferences = json!({"preferences": {"currency": code}});
            scene.post(&driver, preferences).await
        };
        currency("eur").await;
        let card = scene.app.payment_method("tok_success", json!({})).await;
        let top_up = json!({"amount": 968, "payment_method": card});
        scene.post(&format!("{driver}/top_up"), top_up).await;
        let wallet = json!({"type": "wallet", "driver": scene.crew.driver});
        let wallet = scene.app.alice.create("/v1/payment_methods", wallet).await;
        let (_, theirs) = scene.charged_to(&wallet).await;
        currency("usd").await;
        credited(&scene, &theirs, 242).await;
        let adjusted = scene.get("/v1/transactions?type=adjustment").await;
        assert_has!(adjusted["data"][0], {"amount": 242, "status": "failed"});
        let (invoice, _) = scene.invoice().await;
        let path = path_of(id_of(&invoice));
        scene.post(&format!("{path}/finalize"), json!({})).await;
        let totals = async || scene.get(&path).await["totals"].clone();
        assert_has!(totals().await, {"gross": 726, "paid": 726, "refunded": 0});
        currency("eur").await;
        // The first refunds return the credit, and no credit note is needed for that.
        for (amount, refunded) in [(200, 0), (100, 58), (668, 726)] {
            let refund = refund(&scene, amount).await;
            assert_has!(refund, {"status": "succeeded"});
            assert_eq!(refund["credit_note"].is_null(), refunded == 0);
            assert_has!(totals().await, {"paid": 726, "refunded": refunded, "due": 0});
            assert_has!(scene.cost_analysis().await, {"paid": 726, "refunded": refunded, "due": 0});
        }
        let notes = scene.get("/v1/credit_notes").await;
        assert_eq!(each(&notes["data"], "amount"), json!([668, 58]));
        assert_eq!(scene.get(&driver).await["wallet_balance"], 968);
    }

    #[tokio::test]
    async fn signed_meter_values_are_downloaded_as_they_were_received() {
        let (scene, session, theirs) = Scene::charging().await;
        let id = id_of(&session);
        let path = format!("{PATH}/{id}/signed_meter_values");
        let none = scene.app.alice.get(&path).await;
        none.expect_error(409, None, "charging_session");
        let data = fixture("signed_data");
        scene
            .bill(&scene.cdr(&theirs, json!({"signed_data": data})))
            .await;
        let redirect = scene.app.alice.get(&path).await.expect(302);
        let location = redirect.headers["location"].to_str().expect("an address");
        let file = scene.app.anon.get(location).await.expect(200).text;
        let entities = [
            ("&quot;", "\""),
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&amp;", "&"),
        ];
        for (place, encoding) in ["plain", "base64"].into_iter().enumerate() {
            let begin = format!("encoding=\"{encoding}\">");
            let (_, rest) = file.split_once(&begin).expect("a value");
            let (text, _) = rest.split_once("</signedData>").expect("a value");
            let read = entities
                .iter()
                .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
            assert_eq!(read, data["signed_values"][place]["signed_data"]);
        }
        // `.ci/documents` verifies it with pyocmf.
        if let Ok(path) = std::env::var("SIGNED_METER_VALUES") {
            std::fs::write(path, file).expect("a file");
        }
    }

    #[tokio::test]
    async fn a_session_billed_without_a_cdr_is_on_the_current_invoice() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        scene.pass(5 * 86_400).await;
        scene.complete(&theirs).await;
        scene.pass(3 * 86_400).await;
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"status": "completed", "amount_due": 0, "cost_source": "network_session"});
        assert_eq!(shown["amount_adjusted"], 968);
        scene.app.advance(1).await;
        let invoice = scene.invoice_of_last_hour().await;
        assert_has!(invoice, {"amount_due": 968, "/line_items/0/type": "adjustment"});
        // A CDR that arrives even later adjusts that.
        let cost = json!({"total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
        scene.bill(&scene.cdr(&theirs, cost)).await;
        assert_eq!(scene.shown(&session).await["amount_adjusted"], 1089);
        let lines = scene.invoice().await.1;
        assert_eq!(lines.iter().map(|line| line.1).sum::<i64>(), 121);
    }

    #[tokio::test]
    async fn a_zero_cdr_received_before_the_session_is_its_final_price() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        let theirs = scene.session(json!({}));
        let free = json!({"total_energy": 0, "total_cost": {"excl_vat": 0, "incl_vat": 0}});
        scene.bill(&scene.cdr(&theirs, free)).await;
        assert_eq!(scene.status(&session).await, is("pending"));
        scene.app.advance(60).await;
        let begun = json!({"last_updated": scene.app.now()});
        scene.report(&with(theirs.clone(), begun)).await;
        scene.complete(&theirs).await;
        assert_eq!(scene.shown(&session).await["amount_due"], 968);
        scene.pass(3 * 86_400).await;
        assert_has!(scene.shown(&session).await, {"amount_due": 0, "cost_source": "cdr"});
        assert_eq!(scene.invoice().await.1, [energy(0)]);
    }

    #[tokio::test]
    async fn amounts_in_another_currency_do_not_change_the_price() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        let theirs = scene.begin().await;
        let credit = json!({"id": "C1-X", "credit": true, "credit_reference_id": "C1", "currency": "USD",
            "total_cost": {"excl_vat": -8.0, "incl_vat": -9.68}});
        scene.app.advance(3600).await;
        scene.bill(&scene.cdr(&theirs, credit)).await;
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        assert_eq!(scene.shown(&session).await["amount_due"], 968);
        // A report in another currency that names no cost.
        let session = scene.start().await;
        let theirs = scene.session(json!({"id": "S2", "currency": "USD"}));
        scene.report(&theirs).await;
        scene.app.advance(3600).await;
        let now = scene.app.now();
        let end =
            json!({"status": "COMPLETED", "kwh": 5, "end_date_time": now, "last_updated": now});
        scene.report(&with(theirs, end)).await;
        scene.pass(3 * 86_400).await;
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"currency": "eur", "amount_due": 242, "cost_source": "tariff"});
    }

    #[tokio::test]
    async fn an_invalidated_session_is_removed_from_the_fleet_totals() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        let path = format!("/v1/fleets/{}", scene.crew.fleet);
        let totals = async || {
            let fleet = scene.get(&path).await;
            let energy = fleet["total_energy_consumed_kwh"].as_f64();
            (fleet["total_sessions"].as_i64(), energy)
        };
        scene.app.advance(3600).await;
        scene.complete(&theirs).await;
        assert_eq!(totals().await, (Some(1), Some(20.0)));
        let invalid =
            json!({"status": "INVALID", "last_updated": scene.app.now().plus(seconds(1))});
        scene.report(&with(theirs.clone(), invalid)).await;
        assert_eq!(scene.status(&session).await, failed("other"));
        assert_eq!(totals().await, (Some(0), Some(0.0)));
        // It is billed nevertheless, and counts once.
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        assert_eq!(scene.status(&session).await, is("completed"));
        assert_eq!(totals().await, (Some(1), Some(20.0)));
        assert_eq!(scene.invoice().await.1, [energy(968)]);
    }
}

mod review {
    use super::*;

    /// A CDR with this energy in kWh and this amount with tax.
    fn costing(scene: &Scene, theirs: &Value, kwh: f64, gross: f64) -> Value {
        let cost =
            json!({"total_energy": kwh, "total_cost": {"excl_vat": gross, "incl_vat": gross}});
        scene.cdr(theirs, cost)
    }

    /// Bills the last session, which has lasted an hour, at 9,999,999 EUR for 10 kWh.
    async fn bill_millions(scene: &Scene, theirs: &Value) {
        let cdr = costing(scene, theirs, 10.0, 9_999_999.0);
        scene.bill(&cdr).await;
    }

    /// A session whose price is under review.
    async fn opened(scene: &Scene) -> (Value, Value) {
        let (session, theirs) = scene.active().await;
        scene.app.advance(3600).await;
        bill_millions(scene, &theirs).await;
        let review = scene.shown(&session).await["review"].clone();
        assert_eq!(review["network"], 999_999_900, "{review}");
        (session, theirs)
    }

    async fn decide(scene: &Scene, session: &Value, body: Value) -> TestResponse {
        let id = id_of(session);
        let path = format!("{PATH}/{id}/review");
        let answer = scene.app.alice.post(&path, body).await;
        scene.app.drain().await;
        answer
    }

    /// Makes a decision as an operator.
    async fn operate(scene: &Scene, session: &Value, decision: &str) -> Result<Value, String> {
        let account = scene.app.alice.tenant().account;
        let action = json!({"action": "decide_review", "account": account, "session": session["id"],
            "decision": decision});
        let decided = manage(&scene.app, action).await;
        scene.app.drain().await;
        decided
    }

    fn accept() -> Value {
        json!({"decision": "accept"})
    }

    #[tokio::test]
    async fn a_session_that_is_over_after_two_weeks_is_in_reports() {
        // The session ends late, or its price becomes final late.
        for ends_late in [true, false] {
            let scene = Scene::new().await;
            let (session, theirs) = if ends_late {
                scene.active().await
            } else {
                opened(&scene).await
            };
            scene.pass(17 * 86_400).await;
            if ends_late {
                scene.complete(&theirs).await;
                scene.bill(&scene.cdr(&theirs, json!({}))).await;
            } else {
                decide(&scene, &session, accept()).await.expect(200);
            }
            scene.app.advance(60).await;
            let now = scene.app.now();
            let alice = &scene.app.alice;
            for (kind, is_covered) in [("charging_summary", ends_late), ("cost_analysis", true)] {
                for fleet in [json!(scene.crew.fleet), Value::Null] {
                    let parameters = json!({"type": kind, "period_start": now.plus(days(-1)), "period_end": now});
                    let body = json!({"fleet": fleet, "parameters": parameters});
                    let report = alice.create("/v1/reports", body).await;
                    scene.app.drain().await;
                    let totals = &alice.get_ok(&path_of(&report)).await["totals"];
                    let sessions = if is_covered { json!([1]) } else { json!([]) };
                    assert_eq!(each(totals, "sessions"), sessions, "{kind} {ends_late}");
                    if ends_late {
                        assert_eq!(totals[0]["energy_wh"], 20_000);
                    }
                }
            }
        }
    }

    async fn events_of(scene: &Scene, kind: &str) -> usize {
        let events = scene.events().await;
        events.iter().filter(|event| *event == kind).count()
    }

    #[tokio::test]
    async fn ten_million_for_ten_kwh_are_not_billed() {
        let scene = Scene::new().await;
        let method = scene.app.payment_method("tok_success", json!({})).await;
        let session = scene.start_with(json!({"payment_method": method})).await;
        let theirs = scene.begin().await;
        scene.app.advance(3600).await;
        bill_millions(&scene, &theirs).await;
        let shown = scene.shown(&session).await;
        let review = json!({"disputed": null, "network": 999_999_900, "note": null, "opened": shown["updated"],
            "ours": 484, "reason": "price"});
        assert_eq!(shown["review"], review);
        // Until then, the tariff determines its cost.
        assert_has!(shown, {"status": "completed", "amount_due": 484, "cost_source": "tariff"});
        assert_eq!(scene.invoice().await.1, []);
        assert!(scene.app.transactions(&scene.app.alice).await.is_empty());
        // A report has no effect any more.
        scene.complete(&theirs).await;
        let later = scene.shown(&session).await;
        assert_eq!(later, with(shown, json!({"updated": later["updated"]})));
        // The event is sent again after 14 days, once.
        assert_eq!(events_of(&scene, "review_opened").await, 1);
        for (days, sent) in [(13, 1), (1, 2), (14, 2)] {
            scene.pass(days * 86_400).await;
            assert_eq!(events_of(&scene, "review_opened").await, sent);
        }
        assert_eq!(scene.shown(&session).await["review"], review);
        assert_eq!(scene.invoice().await.1, []);
    }

    #[tokio::test]
    async fn ten_thousand_for_one_wh_with_an_unseen_card_are_not_billed() {
        let scene = Scene::new().await;
        cards::card(&scene, json!({})).await;
        let theirs = cards::tapped(&scene);
        scene.app.advance(3600).await;
        scene.bill(&costing(&scene, &theirs, 0.001, 10_000.0)).await;
        scene.app.advance(60).await;
        assert_eq!(scene.invoice().await.1, []);
        let session = cards::sessions(&scene).await.remove(0);
        let review = &session["review"];
        assert_has!(review, {"network": 1_000_000, "ours": 0, "reason": "price"});
        decide(&scene, &session, accept()).await.expect(200);
        assert_eq!(scene.invoice().await.1, [energy(1_000_000)]);
    }

    #[tokio::test]
    async fn more_energy_than_the_charging_point_delivers_is_not_billed() {
        let (scene, session, theirs) = Scene::charging().await;
        // 22 kWh and a tenth are possible. A start in the distant past does not increase that.
        let long_ago = json!({"start_date_time": scene.app.now().plus(days(-9))});
        let cdr = costing(&scene, &with(theirs, long_ago), 40.0, 19.36);
        scene.bill(&cdr).await;
        let shown = scene.shown(&session).await;
        let review = &shown["review"];
        assert_has!(review, {"network": 1936, "reason": "energy"});
        let ours = review["ours"].as_i64().expect("an amount");
        assert_eq!(shown["energy_consumed"], 40_000);
        operate(&scene, &session, "use_ours")
            .await
            .expect("decided");
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"amount_due": ours, "review": null});
        let wh = shown["energy_consumed"].as_i64().expect("energy");
        // 22 kW for an hour and a quarter, because the network's clock may be off, and for as long as the test takes.
        assert!((27_500..=29_000).contains(&wh), "{wh}");
        assert_eq!(ours, (wh * 484 + 5_000) / 10_000);
        assert_eq!(scene.invoice().await.1, [energy(ours)]);
    }

    #[tokio::test]
    async fn an_accepted_price_is_charged_or_invoiced_once() {
        for is_paid in [true, false] {
            let scene = Scene::new().await;
            let method = scene.app.payment_method("tok_success", json!({})).await;
            let change = if is_paid {
                json!({"payment_method": method})
            } else {
                json!({})
            };
            let session = scene.start_with(change).await;
            let theirs = scene.begin().await;
            scene.app.advance(3600).await;
            scene.bill(&costing(&scene, &theirs, 10.0, 25.0)).await;
            let decided = decide(&scene, &session, accept()).await.expect(200).body;
            assert_has!(decided, {"review": null, "cost_source": "cdr"});
            let again = decide(&scene, &session, accept()).await;
            again.expect_error(409, "charging_session_state_conflict", None);
            let (invoice, lines) = scene.invoice().await;
            assert_eq!(lines, [energy(2500)]);
            let due = if is_paid { 0 } else { 2500 };
            assert_eq!(invoice["amount_due"], due);
            let transactions = scene.app.transactions(&scene.app.alice).await;
            assert_eq!(transactions.len(), usize::from(is_paid));
            assert_eq!(scene.invoice().await.1, []);
        }
    }

    #[tokio::test]
    async fn a_price_decided_after_any_time_is_on_one_invoice() {
        let decisions = [("accept", 2500), ("use_ours", 484)];
        for (after, (decision, gross)) in [0, 5, 6, 7, 40]
            .into_iter()
            .zip(decisions.into_iter().cycle())
        {
            let (scene, session, theirs) = Scene::charging().await;
            scene.bill(&costing(&scene, &theirs, 10.0, 25.0)).await;
            scene.pass(after * 86_400).await;
            assert_eq!(scene.invoice().await.1, []);
            operate(&scene, &session, decision).await.expect("decided");
            scene.app.advance(1).await;

            let invoice = scene.invoice_of_last_hour().await;
            assert_eq!(invoice["amount_due"], gross, "after {after} days");
            // The part that an adjustment bills has no cost of its own.
            let mut others = scene.invoice().await.1.into_iter();
            assert!(others.all(|line| line == energy(0)));
        }
    }

    #[tokio::test]
    async fn a_disputed_price_waits_for_an_operator() {
        let scene = Scene::new().await;
        let (session, theirs) = opened(&scene).await;
        let dispute = json!({"decision": "dispute", "note": "The display said 4.84."});
        let disputed = decide(&scene, &session, dispute).await.expect(200).body;
        assert_has!(disputed["review"], {"note": "The display said 4.84.", "disputed": disputed["updated"]});
        assert_eq!(scene.invoice().await.1, []);
        // The statement stays when another part is disputed.
        let again = decide(&scene, &session, json!({"decision": "dispute"})).await;
        assert_eq!(again.body["review"], disputed["review"]);
        let decided = operate(&scene, &session, "use_ours")
            .await
            .expect("decided");
        assert_has!(decided, {"amount_due": 484, "review": null, "cost_source": "tariff"});
        let refused = operate(&scene, &session, "accept").await;
        assert!(refused.is_err_and(|why| why.contains("under review")));
        assert_eq!(scene.invoice().await.1, [energy(484)]);
        // The same total is not reviewed again, but a different one is.
        let older = json!({"id": "C0", "last_updated": scene.app.now().plus(days(-1))});
        let older = with(costing(&scene, &theirs, 10.0, 4.84), older);
        scene.bill(&older).await;
        assert_eq!(scene.shown(&session).await["review"], Value::Null);
        let newer = with(costing(&scene, &theirs, 10.0, 9_999.0), json!({"id": "C2"}));
        scene.bill(&newer).await;
        assert_has!(scene.shown(&session).await["review"], {"network": 999_900, "note": null});
        assert_eq!(scene.invoice().await.1, []);
    }

    #[tokio::test]
    async fn a_corrected_cdr_or_a_credit_closes_the_review() {
        for is_credit in [true, false] {
            let scene = Scene::new().await;
            let (session, theirs) = opened(&scene).await;
            scene.app.advance(60).await;
            let change = if is_credit {
                json!({"id": "C1-X", "credit": true, "credit_reference_id": "C1", "total_energy": 0,
                    "total_cost": {"excl_vat": -9_999_994.16, "incl_vat": -9_999_994.16}})
            } else {
                json!({"id": "C2", "total_energy": 10, "total_cost": {"excl_vat": 4.0, "incl_vat": 4.84}})
            };
            scene.bill(&scene.cdr(&theirs, change)).await;
            let shown = scene.shown(&session).await;
            assert_has!(shown, {"review": null, "amount_due": 484, "energy_consumed": 10_000});
            assert_eq!(scene.invoice().await.1, [energy(484)]);
            assert_eq!(decide(&scene, &session, accept()).await.status, 409);
        }
    }

    #[tokio::test]
    async fn an_adjustment_beyond_reason_waits_for_a_decision() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.billed().await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        scene.app.advance(60).await;
        let dear = json!({"id": "C2", "total_cost": {"excl_vat": 80.0, "incl_vat": 96.8}});
        scene.bill(&scene.cdr(&theirs, dear)).await;
        let shown = scene.shown(&session).await;
        assert_has!(shown["review"], {"network": 9680, "ours": 968});
        // The previously billed amount is unchanged.
        assert_has!(shown, {"amount_due": 968, "cost_source": "cdr"});
        assert_eq!(scene.invoice().await.1, []);
        scene.pass(14 * 86_400).await;
        assert_eq!(events_of(&scene, "review_opened").await, 2);
        decide(&scene, &session, accept()).await.expect(200);
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [adjustment(9680 - 968)]);
        assert_contains(&invoice["line_items"][0]["description"], "CDR C2");
        // An amount below the billed one needs no review, however expensive it is.
        scene.app.advance(60).await;
        let less = json!({"id": "C3", "total_cost": {"excl_vat": 79.0, "incl_vat": 95.8}});
        scene.bill(&scene.cdr(&theirs, less)).await;
        assert_eq!(scene.shown(&session).await["review"], Value::Null);
    }

    /// A network may complete a session too early, and correct that.
    #[tokio::test]
    async fn a_corrected_report_is_billed_with_its_own_end() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        scene.app.advance(600).await;
        let early = json!({"status": "COMPLETED", "kwh": 2, "end_date_time": scene.app.now(), "last_updated": scene.app.now()});
        scene.report(&with(theirs.clone(), early)).await;
        scene.app.advance(3600).await;
        let end = scene.app.now();
        scene.complete(&theirs).await;
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"status": "completed", "energy_consumed": 20_000, "amount_due": 968});
        let ended = shown["session_ended"].as_str().expect("a time");
        assert!(
            Timestamp::parse(ended).is_ok_and(|ended| ended >= end),
            "{ended}"
        );
        scene.pass(3 * 86_400).await;
        assert_has!(scene.shown(&session).await, {"amount_due": 968, "review": null});
    }

    #[tokio::test]
    async fn a_last_report_beyond_reason_is_not_billed_without_a_cdr() {
        let (scene, session, theirs) = Scene::charging().await;
        let now = scene.app.now();
        let end = json!({"status": "COMPLETED", "kwh": 10, "end_date_time": now, "last_updated": now,
            "total_cost": {"excl_vat": 5_000, "incl_vat": 6_050}});
        scene.report(&with(theirs, end)).await;
        assert_eq!(scene.shown(&session).await["review"], Value::Null);
        scene.pass(3 * 86_400).await;
        assert_has!(scene.shown(&session).await["review"], {"network": 605_000, "ours": 484});
        assert_eq!(scene.invoice().await.1, []);
        decide(&scene, &session, accept()).await.expect(200);
        assert_has!(scene.shown(&session).await, {"cost_source": "network_session"});
        assert_eq!(scene.invoice().await.1, [energy(605_000)]);
    }
}

mod end_stalled {
    use super::*;

    async fn end(scene: &Scene, session: &Value) -> TestResponse {
        let path = format!("{PATH}/{}/end", id_of(session));
        let answer = scene.app.alice.post(&path, json!({})).await;
        scene.app.drain().await;
        answer
    }

    fn refusal() -> (
        u16,
        &'static str,
        Option<&'static str>,
        Option<&'static str>,
    ) {
        let code = Some("charging_session_state_conflict");
        (409, "invalid_request_error", code, None)
    }

    /// A session without a report of the network since its driver stopped it.
    async fn stalled(scene: &Scene) -> (Value, Value) {
        let (session, theirs) = scene.active().await;
        scene.app.advance(3600).await;
        scene.stop(&session).await.expect(200);
        assert_eq!(end(scene, &session).await.error(), refusal());
        scene.pass(86_400 - 60).await;
        assert_eq!(scene.shown(&session).await["stalled_at"], Value::Null);
        // A message may arrive a moment after it is due.
        scene.app.advance(120).await;
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"status": "active", "stalled_at": shown["updated"]});
        (session, theirs)
    }

    #[tokio::test]
    async fn a_session_that_its_network_loses_can_be_ended() {
        let scene = Scene::new().await;
        let (session, theirs) = stalled(&scene).await;
        scene.pass(86_400).await;
        assert_eq!(scene.events().await, ["stalled", "started"]);
        // It is older than what a list of active sessions reads of the history.
        let fleet = &scene.crew.fleet;
        let active = [
            format!("{PATH}?status=active"),
            format!("{PATH}?status=active&fleet={fleet}&limit=1"),
        ];
        for path in &active {
            let found = scene.app.alice.get(path).await.expect(200);
            assert_eq!(found.ids(), [id_of(&session)], "{path}");
        }
        let taken = scene.app.alice.post(PATH, scene.body(json!({}))).await;
        assert_eq!(taken.status, 409);
        assert_has!(end(&scene, &session).await.expect(200).body, {"status": "completed", "stalled_at": null});
        assert_eq!(end(&scene, &session).await.error(), refusal());
        assert_eq!(scene.events().await, ["completed", "stalled", "started"]);
        for path in &active {
            let found = scene.app.alice.get(path).await.expect(200);
            assert_eq!(found.ids().len(), 0, "{path}");
        }
        let next = scene.start().await;
        assert_eq!(next["status"], "pending");
        // It is billed once, by its CDR.
        assert_eq!(scene.invoice().await.1, []);
        let cdr = scene.cdr(&theirs, json!({}));
        scene.bill(&cdr).await;
        scene.bill(&cdr).await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        assert_eq!(scene.status(&next).await, is("pending"));
    }

    #[tokio::test]
    async fn an_ended_session_without_a_cdr_costs_what_was_reported_last() {
        let (scene, session, theirs) = Scene::charging().await;
        let more = json!({"kwh": 5, "last_updated": scene.app.now()});
        scene.report(&with(theirs, more)).await;
        // After a day its end is requested, and after another day it is stalled.
        scene.pass(2 * 86_400 + 60).await;
        end(&scene, &session).await.expect(200);
        assert_eq!(scene.invoice().await.1, []);
        scene.pass(3 * 86_400).await;
        assert_eq!(scene.invoice().await.1, [energy(242)]);
    }

    #[tokio::test]
    async fn a_report_after_the_end_stops_the_session_and_blocks_no_start() {
        let scene = Scene::new().await;
        let (session, theirs) = stalled(&scene).await;
        end(&scene, &session).await.expect(200);
        let stops = scene.commands("STOP_SESSION").len();
        let next = scene.start().await;
        let goes_on = |scene: &Scene, kwh: i64| {
            let change = json!({"kwh": kwh, "last_updated": scene.app.now()});
            with(theirs.clone(), change)
        };
        scene.report(&goes_on(&scene, 7)).await;
        assert_eq!(scene.commands("STOP_SESSION").len(), stops + 1);
        let stop = scene.commands("STOP_SESSION").pop().expect("a command");
        assert_eq!(stop.body["session_id"], "S1");
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"status": "completed", "energy_consumed": 7_000});
        assert_eq!(scene.status(&next).await, is("pending"));
        // The end that the network reports is final: a later report that the session continues is wrong.
        scene.app.advance(60).await;
        scene.complete(&goes_on(&scene, 8)).await;
        let stops = scene.commands("STOP_SESSION").len();
        scene.app.advance(60).await;
        scene.report(&goes_on(&scene, 90)).await;
        assert_eq!(scene.shown(&session).await["energy_consumed"], 20_000);
        assert_eq!(scene.commands("STOP_SESSION").len(), stops);
        scene.pass(3 * 86_400).await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
    }

    #[tokio::test]
    async fn a_stalled_session_that_is_reported_again_is_stopped_again() {
        let scene = Scene::new().await;
        let (session, theirs) = stalled(&scene).await;
        let stops = scene.commands("STOP_SESSION").len();
        // The last report contains nothing new.
        scene.report(&theirs).await;
        assert_ne!(scene.shown(&session).await["stalled_at"], Value::Null);
        assert_eq!(scene.commands("STOP_SESSION").len(), stops);
        let change = json!({"kwh": 9, "last_updated": scene.app.now()});
        scene.report(&with(theirs.clone(), change)).await;
        assert_has!(scene.shown(&session).await, {"status": "active", "stalled_at": null});
        assert_eq!(scene.commands("STOP_SESSION").len(), stops + 1);
        assert_eq!(end(&scene, &session).await.error(), refusal());
        scene.pass(86_400 + 60).await;
        assert_ne!(scene.shown(&session).await["stalled_at"], Value::Null);
        // The network's report of the end applies.
        scene.complete(&theirs).await;
        assert_has!(scene.shown(&session).await, {"status": "completed", "stalled_at": null});
        let expected = ["completed", "stalled", "stalled", "started", "updated"];
        assert_eq!(scene.events().await, expected);
    }

    #[tokio::test]
    async fn a_simulated_session_is_never_stalled() {
        let scene = Scene::new().await;
        let depot = scene.app.station(json!({})).await;
        let body = scene.app.session(&scene.crew, &depot);
        let session = scene.post(PATH, body).await;
        assert_eq!(end(&scene, &session).await.error(), refusal());
        assert_eq!(scene.shown(&session).await["status"], "active");
    }
}

mod stations {
    use super::*;

    /// Every response is validated against the OpenAPI document.
    #[tokio::test]
    async fn prices_with_every_restriction_match_the_openapi_document() {
        let scene = Scene::new().await;
        let path = format!("/v1/charging_stations/{}", scene.station);
        for restrictions in [
            json!({"start_time": "23:00", "end_time": "06:00", "day_of_week": ["MONDAY"]}),
            json!({"start_date": "2026-01-01", "end_date": "2099-01-01", "min_kwh": 1, "max_kwh": 50}),
            json!({"min_current": 6, "max_current": 32, "min_power": 3.7, "max_power": 22}),
            json!({"min_duration": 60, "max_duration": 86400, "reservation": "RESERVATION"}),
        ] {
            let mut tariff = fixture("tariff");
            tariff["elements"][0]["restrictions"] = restrictions;
            tariff["last_updated"] = Scene::text(scene.app.now());
            scene.cpo.put("/tariffs/NL/EXA/DAY", &tariff).await;
            scene.app.advance(60).await;
            let station = scene.get(&path).await;
            let prices = station["connectors"][0]["pricing"].as_array();
            let mut prices = prices.expect("prices").iter();
            let is_restricted = prices.any(|price| price["restrictions"].is_object());
            assert!(is_restricted, "{station}");
        }
    }
}

mod preferences {
    use super::*;

    #[tokio::test]
    async fn the_preferences_of_a_driver_are_sent_for_an_active_session() {
        let scene = Scene::new().await;
        let account = scene.app.alice.tenant().account;
        let preferences = json!({"profile_type": "GREEN", "energy_need": 12.5});
        let send = async |session: &Value, preferences: &Value| {
            let action = json!({"action": "set_charging_preferences", "account": account,
                "session": session["id"], "preferences": preferences});
            manage(&scene.app, action).await
        };
        let session = scene.start().await;
        let refused = send(&session, &preferences).await.expect_err("pending");
        assert!(refused.contains("not active"), "{refused}");
        scene.result("ACCEPTED").await;
        let theirs = scene.begin().await;
        let sent = send(&session, &preferences).await.expect("an answer");
        assert_eq!(sent, json!({"answer": "ACCEPTED"}));
        let path = "/2.2.1/sessions/S1/charging_preferences";
        let received = scene.cpo.received("PUT", path).remove(0);
        assert_eq!(received.body, preferences);
        scene.cpo.script().fail = vec![404];
        let refused = send(&session, &preferences).await.expect_err("refused");
        assert!(refused.contains("HTTP 404"), "{refused}");
        scene.complete(&theirs).await;
        let refused = send(&session, &preferences).await.expect_err("ended");
        assert!(refused.contains("not active"), "{refused}");
    }
}

pub mod cards {
    use super::*;

    const UID: &str = "04A1B2C3D4";

    /// A card of the driver.
    pub async fn card(scene: &Scene, change: Value) {
        let body = with(json!({"uid": UID, "driver": scene.crew.driver}), change);
        let card = scene.app.alice.post("/v1/charge_cards", body).await;
        card.expect(200);
        scene.app.drain().await;
    }

    /// An OCPI session that begins now, because the card was held to the reader of the EVSE.
    pub fn tapped(scene: &Scene) -> Value {
        let now = Scene::text(scene.app.now());
        with(
            fixture("session"),
            json!({"id": "T1", "start_date_time": now, "kwh": 0, "charging_periods": [], "total_cost": null,
                "cdr_token": {"country_code": "GB", "party_id": "FCS", "uid": UID, "type": "RFID", "contract_id": "C"},
                "auth_method": "WHITELIST", "authorization_reference": null, "evse_uid": "E1", "connector_id": "1",
                "last_updated": now}),
        )
    }

    async fn authorized(scene: &Scene) -> Value {
        let place = json!({"location_id": "AMS-1", "evse_uids": ["E1"]});
        let path = format!("/tokens/{UID}/authorize");
        let answer = scene.cpo.send("POST", &path, Some(&place));
        answer.await.body["data"]["allowed"].clone()
    }

    /// The sessions of the driver.
    pub async fn sessions(scene: &Scene) -> Vec<Value> {
        let path = format!("{PATH}?limit=100&driver={}", scene.crew.driver);
        let list = scene.get(&path).await;
        list["data"].as_array().expect("sessions").clone()
    }

    async fn is_billed(scene: &Scene, theirs: &Value) {
        scene.app.advance(3600).await;
        scene.complete(theirs).await;
        scene.bill(&scene.cdr(theirs, json!({}))).await;
        assert_eq!(sessions(scene).await[0]["cost_source"], "cdr");
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        assert_eq!(scene.unmatched().await, 0);
    }

    #[tokio::test]
    async fn a_session_started_by_an_rfid_card_is_billed_by_its_cdr() {
        let scene = Scene::with_card().await;
        assert_eq!(authorized(&scene).await, "ALLOWED");
        let theirs = scene.tap().await;
        let session = sessions(&scene).await.remove(0);
        assert_has!(session, {"started_by": "card", "status": "active"});
        assert_eq!(session["vehicle"], scene.crew.vehicle);
        is_billed(&scene, &theirs).await;
    }

    #[tokio::test]
    async fn a_session_and_its_cdr_received_at_once_are_one_session() {
        let scene = Scene::with_card().await;
        for number in 1..=5 {
            let theirs = with(tapped(&scene), json!({"id": format!("T{number}")}));
            scene.app.advance(3600).await;
            let now = Scene::text(scene.app.now());
            let ended = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": now, "last_updated": now,
                "total_cost": {"excl_vat": 8.0, "incl_vat": 9.68}});
            let cdr = scene.cdr(&theirs, json!({"id": format!("C{number}")}));
            let path = format!("/sessions/NL/EXA/T{number}");
            scene.cpo.put(&path, &with(theirs, ended)).await;
            let answer = scene.cpo.send("POST", "/cdrs", Some(&cdr)).await;
            assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
            scene.app.drain().await;
            assert_eq!(sessions(&scene).await.len(), number);
        }
        scene.app.advance(60).await;
        assert_eq!(sessions(&scene).await.len(), 5);
        assert_eq!(scene.unmatched().await, 0);
    }

    #[tokio::test]
    async fn a_session_and_its_cdr_processed_at_once_are_one_session() {
        for is_named in [true, false] {
            for is_reported_late in [true, false] {
                at_once(is_named, is_reported_late).await;
            }
        }
    }

    /// Processes a session and its CDR at the same time. The CDR may name the session, and the session may arrive after the CDR.
    async fn at_once(is_named: bool, is_reported_late: bool) {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        scene.app.advance(3600).await;
        let mut cdr = scene.cdr(&theirs, json!({}));
        if !is_named {
            cdr["session_id"] = Value::Null;
        }
        let report = async || {
            scene.cpo.put("/sessions/NL/EXA/T1", &theirs).await;
        };
        let bill = async || {
            let answer = scene.cpo.send("POST", "/cdrs", Some(&cdr)).await;
            assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        };
        let (app, owner) = (scene.app.app(), owner(&scene));
        let apply = |module, id| {
            let object = ObjectId::new(owner.clone(), module, id).expect("an id");
            let mode = kernel::Mode::Test;
            ApplyReceived { mode, object }.run(app)
        };
        let of_session = || apply(Module::Sessions, "T1");
        let of_cdr = apply(Module::Cdrs, "C1");
        let (first, second) = if is_reported_late {
            bill().await;
            let late = async {
                report().await;
                of_session().await
            };
            tokio::join!(of_cdr, late)
        } else {
            report().await;
            bill().await;
            tokio::join!(of_cdr, of_session())
        };
        first.expect("the CDR is processed");
        second.expect("the session is processed");
        scene.app.advance(60).await;
        assert_eq!(
            sessions(&scene).await.len(),
            1,
            "{is_named} {is_reported_late}"
        );
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        assert_eq!(scene.unmatched().await, 0);
    }

    #[tokio::test]
    async fn two_bills_of_a_charge_processed_at_once_are_one_session() {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        scene.app.advance(3600).await;
        for id in ["C1", "C2"] {
            let cdr = scene.cdr(&theirs, json!({"id": id, "session_id": null}));
            let answer = scene.cpo.send("POST", "/cdrs", Some(&cdr)).await;
            assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        }
        let (app, owner) = (scene.app.app(), owner(&scene));
        // They have waited for the reports of their sessions.
        let mode = kernel::Mode::Test;
        for id in ["C1", "C2"] {
            let id = ObjectId::new(owner.clone(), Module::Cdrs, id).expect("an id");
            let waiting = app.store.received(mode, &id).await.expect("a CDR");
            let waiting = waiting.expect("a CDR");
            let received = waiting.received.plus(-minutes(2));
            let waited = ReceivedObject {
                received,
                ..waiting
            };
            let origin = shared_origin(mode, scene.app.now());
            let mut tx = app.store.begin(&origin);
            tx.put_received(&waited).expect("an item");
            tx.commit_without_response().await.expect("the CDR");
        }
        let apply = |id| {
            let object = ObjectId::new(owner.clone(), Module::Cdrs, id).expect("an id");
            ApplyReceived { mode, object }.run(app)
        };
        let (first, second) = tokio::join!(apply("C1"), apply("C2"));
        first.expect("the first CDR is processed");
        second.expect("the second CDR is processed");
        scene.app.drain().await;
        assert_eq!(sessions(&scene).await.len(), 1);
        assert_eq!(scene.unmatched().await, 0);
    }

    /// The party of the network.
    fn owner(scene: &Scene) -> Owner {
        Owner::new(
            kernel::Id::from(scene.cpo.network.as_str()),
            PartyId::new("NL", "EXA").expect("a party"),
        )
    }

    #[tokio::test]
    async fn energy_at_a_reserved_evse_is_of_a_vehicle_that_was_free() {
        let scene = Scene::new().await;
        let place = json!({"latitude": 52.394, "longitude": 4.852, "radius": 500});
        let other = scene.app.crew(&scene.app.alice).await;
        let reservation = with(
            scene.app.reservation(&other, 10),
            json!({"location": place}),
        );
        scene.post("/v1/reservations", reservation).await;
        scene.app.advance(5).await;
        scene.took("RESERVE_NOW", "ACCEPTED").await;
        // The first vehicle of the driver charges elsewhere when the card is used there.
        let second = with(
            tests::vehicle(&scene.crew.fleet),
            json!({"drivers": [scene.crew.driver]}),
        );
        let second = scene.app.alice.create("/v1/vehicles", second).await;
        card(&scene, json!({})).await;
        let elsewhere = scene.app.station(json!({})).await;
        let body = json!({"charging_station": elsewhere, "connector": "1"});
        scene.start_with(body).await;
        scene.app.advance(11 * 60).await;
        scene.tap().await;
        let tapped = sessions(&scene).await.remove(0);
        assert_has!(tapped, {"started_by": "card", "vehicle": second});
    }

    #[tokio::test]
    async fn energy_of_a_suspended_driver_or_another_plug_is_billed() {
        for (is_driver, change) in [
            (true, json!({"status": "suspended"})),
            (false, json!({"charging_standard": "CHAdeMO"})),
        ] {
            let scene = Scene::with_card().await;
            let Crew {
                driver, vehicle, ..
            } = &scene.crew;
            let holder = if is_driver { driver } else { vehicle };
            scene.app.alice.post_ok(&path_of(holder), change).await;
            let theirs = scene.tap().await;
            is_billed(&scene, &theirs).await;
        }
    }

    #[tokio::test]
    async fn a_credit_received_before_what_it_credits_waits() {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        scene.app.advance(3600).await;
        let credit = json!({"id": "C1-X", "credit": true, "credit_reference_id": "C1",
            "total_cost": {"excl_vat": -2.0, "incl_vat": -2.42}});
        scene.bill(&scene.cdr(&theirs, credit)).await;
        assert_eq!(scene.unmatched().await, 1);
        scene.app.advance(40).await;
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        scene.app.advance(60).await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        scene.app.advance(60).await;
        assert_eq!(scene.unmatched().await, 0);
        assert_eq!(scene.invoice().await.1, []);
    }

    /// The location of the fixture with another id.
    fn other_location(scene: &Scene, id: &str) -> Value {
        with(
            fixture("location"),
            json!({"id": id, "last_updated": scene.app.now()}),
        )
    }

    #[tokio::test]
    async fn a_cdr_of_a_card_waits_for_its_location() {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        scene.app.advance(3600).await;
        let mut cdr = scene.cdr(&theirs, json!({}));
        cdr["cdr_location"]["id"] = json!("K88");
        scene.bill(&cdr).await;
        scene.app.advance(120).await;
        assert_eq!(scene.unmatched().await, 1);
        let location = other_location(&scene, "K88");
        scene.cpo.put("/locations/NL/EXA/K88", &location).await;
        scene.app.advance(600).await;
        assert_eq!(scene.unmatched().await, 0);
        assert_eq!(scene.invoice().await.1, [energy(968)]);
    }

    #[tokio::test]
    async fn a_session_of_a_card_waits_for_its_evse() {
        let scene = Scene::with_card().await;
        let theirs = with(tapped(&scene), json!({"evse_uid": "E9"}));
        scene.report(&theirs).await;
        assert!(sessions(&scene).await.is_empty());
        scene.app.advance(120).await;
        let mut location = other_location(&scene, "AMS-1");
        let evse = with(location["evses"][0].clone(), json!({"uid": "E9"}));
        location["evses"].as_array_mut().expect("EVSEs").push(evse);
        scene.cpo.put("/locations/NL/EXA/AMS-1", &location).await;
        scene.app.advance(600).await;
        assert_eq!(sessions(&scene).await[0]["connector"], "E9-1");
        is_billed(&scene, &theirs).await;
    }

    #[tokio::test]
    async fn an_object_waits_a_week_for_its_location() {
        // The time until it is processed again doubles: that is done after 5.7 days, and for the last time after 11.4.
        for (days, is_found) in [(5, true), (12, false)] {
            let scene = Scene::with_card().await;
            let theirs = with(tapped(&scene), json!({"location_id": "NOWHERE"}));
            scene.report(&theirs).await;
            scene.pass(days * 86_400).await;
            assert!(sessions(&scene).await.is_empty());
            let location = other_location(&scene, "NOWHERE");
            scene.cpo.put("/locations/NL/EXA/NOWHERE", &location).await;
            scene.pass(86_400).await;
            assert_eq!(scene.unmatched().await, usize::from(!is_found));
            assert_eq!(sessions(&scene).await.len(), usize::from(is_found));
        }
    }

    #[tokio::test]
    async fn a_session_of_a_card_at_a_removed_location_is_billed() {
        let scene = Scene::with_card().await;
        scene.cpo.list("locations", Vec::new());
        let pull = json!({"action": "pull", "network": scene.cpo.network, "full": true});
        manage_ok(&scene.app, pull).await;
        scene.app.drain().await;
        let path = format!("/v1/charging_stations/{}", scene.station);
        assert_eq!(scene.get(&path).await["status"], "removed");
        let theirs = scene.tap().await;
        is_billed(&scene, &theirs).await;
    }

    #[tokio::test]
    async fn a_session_of_a_card_at_a_dropped_evse_is_billed() {
        let scene = Scene::new().await;
        card(&scene, json!({})).await;
        let theirs = tapped(&scene);
        let mut location = other_location(&scene, "AMS-1");
        location["evses"].as_array_mut().expect("EVSEs").remove(0);
        scene.cpo.put("/locations/NL/EXA/AMS-1", &location).await;
        scene.app.drain().await;
        let stored = scene.cpo.data("/locations/NL/EXA/AMS-1").await;
        assert_eq!(stored, location);
        scene.report(&theirs).await;
        is_billed(&scene, &theirs).await;
    }

    #[tokio::test]
    async fn a_charge_with_a_token_of_another_party_is_not_billed() {
        let scene = Scene::with_card().await;
        let mut theirs = tapped(&scene);
        theirs["cdr_token"]["party_id"] = json!("XXX");
        scene.report(&theirs).await;
        scene.app.advance(3600).await;
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        scene.app.advance(600).await;
        assert!(sessions(&scene).await.is_empty());
        assert_eq!(scene.unmatched().await, 2);
        // Both parts of a party are compared without regard to case, and a network may leave them out.
        let mut ours = with(tapped(&scene), json!({"id": "T2"}));
        ours["cdr_token"]["party_id"] = json!("fcs");
        ours["cdr_token"]["country_code"] = Value::Null;
        scene.report(&ours).await;
        assert_eq!(sessions(&scene).await.len(), 1);
    }

    #[tokio::test]
    async fn a_charge_is_not_of_the_next_holder_of_a_uid() {
        let path = format!("/2.2.1/tokens/GB/FCS/{UID}");
        // The contract id that the network names is whole or shortened, and the card is created so many seconds later.
        for (is_whole, seconds) in [(true, 300), (false, 1_800)] {
            let scene = Scene::with_card().await;
            let contract = || {
                let sent = scene.cpo.received("PUT", &path).pop().expect("a token");
                json!({"contract_id": if is_whole { sent.body["contract_id"].clone() } else { json!("NA") }})
            };
            let mut old = tapped(&scene);
            old["cdr_token"] = with(old["cdr_token"].clone(), contract());
            scene.app.advance(seconds).await;
            let cards = scene.get("/v1/charge_cards?limit=100").await;
            let cards = cards["data"].as_array().expect("cards").clone();
            let own = cards.iter().find(|card| card["uid"] == UID);
            let deleted = path_of(id_of(own.expect("a card")));
            scene.app.alice.delete_ok(&deleted).await;
            scene.app.drain().await;
            let stranger = scene.app.other_account(kernel::Mode::Test).await;
            let crew = scene.app.crew(&stranger).await;
            let body = json!({"uid": UID, "driver": crew.driver, "vehicle": crew.vehicle});
            let created = stranger.post("/v1/charge_cards", body).await.expect(200);
            assert_eq!(created.body["status"], "active");
            scene.app.drain().await;
            scene.bill(&scene.cdr(&old, json!({}))).await;
            scene.app.advance(600).await;
            assert_eq!(stranger.get_ok(PATH).await["data"], json!([]));
            assert_eq!(scene.unmatched().await, 1);
            let mut new = with(tapped(&scene), json!({"id": "T2"}));
            new["cdr_token"] = with(new["cdr_token"].clone(), contract());
            scene.report(&new).await;
            let own = &stranger.get_ok(PATH).await["data"][0];
            assert_has!(own, {"status": "active", "started_by": "card"});
        }
    }

    #[tokio::test]
    async fn a_session_reported_late_is_in_the_report_of_its_period() {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        let start = scene.app.now();
        scene.app.advance(3600).await;
        let end = scene.app.now();
        scene.pass(2 * 86_400).await;
        let ended = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": end.plus(minutes(-10)),
            "total_cost": {"excl_vat": 8.0, "incl_vat": 9.68}});
        scene.report(&with(theirs, ended)).await;
        assert_eq!(sessions(&scene).await[0]["status"], "completed");
        let parameters =
            json!({"type": "charging_summary", "period_start": start, "period_end": end});
        let body = json!({"fleet": scene.crew.fleet, "parameters": parameters});
        let report = scene.app.alice.create("/v1/reports", body).await;
        scene.app.drain().await;
        let report = scene.get(&path_of(&report)).await;
        assert_has!(report["totals"][0], {"sessions": 1, "energy_wh": 20_000});
    }

    #[tokio::test]
    async fn a_session_reported_late_waits_three_days_for_its_cdr() {
        for is_billed in [true, false] {
            let scene = Scene::with_card().await;
            let theirs = tapped(&scene);
            scene.app.advance(3600).await;
            let end = scene.app.now();
            scene.pass(5 * 86_400).await;
            let change = json!({"status": "COMPLETED", "kwh": 10, "end_date_time": end, "last_updated": end});
            scene.report(&with(theirs.clone(), change)).await;
            scene.pass(3 * 86_400 - 60).await;
            assert_eq!(scene.invoice().await.1, []);
            let shown = sessions(&scene).await.remove(0);
            assert_has!(shown, {"status": "completed", "session_started": theirs["start_date_time"], "session_ended": end});
            if is_billed {
                let change = json!({"end_date_time": end, "total_energy": 10, "total_cost": {"excl_vat": 3.0, "incl_vat": 3.6}});
                scene.bill(&scene.cdr(&theirs, change)).await;
                assert_eq!(scene.invoice().await.1, [energy(360)]);
            } else {
                scene.app.advance(60).await;
                assert_eq!(scene.invoice().await.1, [energy(484)]);
            }
        }
    }

    #[tokio::test]
    async fn a_session_of_a_week_is_in_the_report_of_its_end() {
        let scene = Scene::with_card().await;
        let theirs = scene.tap().await;
        scene.pass(7 * 86_400 + 7200).await;
        let now = scene.app.now();
        let (start, end) = (now.plus(minutes(-60)), now.plus(minutes(60)));
        let ended = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": now,
            "total_cost": {"excl_vat": 8.0, "incl_vat": 9.68}});
        scene.report(&with(theirs, ended)).await;
        assert_eq!(sessions(&scene).await[0]["session_ended"], json!(now));
        let parameters =
            json!({"type": "charging_summary", "period_start": start, "period_end": end});
        let body = json!({"fleet": scene.crew.fleet, "parameters": parameters});
        scene.app.advance(7200).await;
        let report = scene.app.alice.create("/v1/reports", body).await;
        scene.app.drain().await;
        let report = scene.get(&path_of(&report)).await;
        assert_has!(report["totals"][0], {"sessions": 1});
    }

    #[tokio::test]
    async fn a_late_cdr_finds_its_session_behind_newer_ones() {
        let scene = Scene::with_card().await;
        let theirs = scene.tap().await;
        scene.app.advance(3600).await;
        scene.complete(&theirs).await;
        scene.app.advance(4 * 3600).await;
        for _ in 0..60 {
            let other = json!({"currency": "gbp"});
            scene.app.completed_session(&scene.crew, other).await;
        }
        let cdr = json!({"session_id": null});
        scene.bill(&scene.cdr(&theirs, cdr)).await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        assert_eq!(sessions(&scene).await.len(), 61);
    }

    #[tokio::test]
    async fn a_card_uses_the_reservation_of_its_driver() {
        for status in ["active", "suspended"] {
            let scene = Scene::new().await;
            card(&scene, json!({"vehicle": scene.crew.vehicle})).await;
            let place = json!({"latitude": 52.394, "longitude": 4.852, "radius": 500});
            let reservation = scene.app.reservation(&scene.crew, 10);
            let reservation = with(reservation, json!({"location": place}));
            let created = scene.app.alice.post("/v1/reservations", reservation).await;
            let path = format!("/v1/reservations/{}", created.id());
            scene.app.advance(5).await;
            let reserved = scene.get(&path).await;
            assert_eq!(reserved["status"], "confirmed", "{reserved}");
            scene.took("RESERVE_NOW", "ACCEPTED").await;
            scene.app.advance(9 * 60).await;
            assert_eq!(authorized(&scene).await, "ALLOWED");
            // What the driver has begun belongs to the reservation, whatever happens before the report.
            let change = json!({"status": status});
            scene.post(&path_of(&scene.crew.driver), change).await;
            let theirs = scene.tap().await;
            let session = sessions(&scene).await.remove(0);
            assert_eq!(session["reservation"], reserved["id"]);
            let used = scene.get(&path).await;
            assert_eq!(used["charging_session"], session["id"]);
            is_billed(&scene, &theirs).await;
        }
    }

    #[tokio::test]
    async fn a_card_is_not_allowed_while_the_evse_is_reserved() {
        let scene = Scene::new().await;
        card(&scene, json!({"vehicle": scene.crew.vehicle})).await;
        let place = json!({"location": {"latitude": 52.394, "longitude": 4.852, "radius": 500}});
        let other = scene.app.crew(&scene.app.alice).await;
        let mut reservations = Vec::new();
        for (crew, from) in [(&other, 10), (&scene.crew, 25)] {
            let reservation = with(scene.app.reservation(crew, from), place.clone());
            let end = json!({"ideal_end": scene.app.in_minutes(from + 15)});
            let body = with(reservation, end);
            reservations.push(scene.post("/v1/reservations", body).await["id"].clone());
            scene.app.advance(5).await;
        }
        scene.took("RESERVE_NOW", "ACCEPTED").await;
        scene.app.advance(10 * 60).await;
        scene.took("RESERVE_NOW", "ACCEPTED").await;
        scene.app.advance(2 * 60).await;
        assert_eq!(authorized(&scene).await, "NOT_ALLOWED");
        // Energy that flows nevertheless belongs to the later reservation.
        scene.tap().await;
        let session = sessions(&scene).await.remove(0);
        assert_eq!(session["reservation"], reservations[1]);
    }

    #[tokio::test]
    async fn a_vehicle_reserved_elsewhere_charges_in_one_session() {
        let scene = Scene::new().await;
        card(&scene, json!({"vehicle": scene.crew.vehicle})).await;
        let elsewhere = scene.app.station(json!({})).await;
        let place = json!({"location": {"latitude": 10, "longitude": 10, "radius": 500}});
        let reservation = with(scene.app.reservation(&scene.crew, 35), place);
        let reservation = scene.post("/v1/reservations", reservation).await;
        scene.report(&tapped(&scene)).await;
        scene.app.advance(40 * 60).await;
        let reserved = scene.get(&path_of(id_of(&reservation))).await;
        assert_has!(reserved, {"status": "confirmed", "charging_station": elsewhere});
        let there = json!({"charging_station": elsewhere, "connector": reserved["connector"]});
        let other = scene.app.crew(&scene.app.alice).await;
        let other = json!({"driver": other.driver, "vehicle": other.vehicle});
        for (change, param) in [(there, "vehicle"), (other, "connector")] {
            let taken = scene.app.alice.post(PATH, scene.body(change)).await;
            taken.expect_error(409, Some("charging_session_conflict"), param);
        }
        assert_eq!(sessions(&scene).await.len(), 1);
    }

    #[tokio::test]
    async fn a_session_of_a_card_that_was_never_pushed_is_pulled() {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        let reported = vec![theirs.clone()];
        scene.cpo.list("sessions", reported);
        let pull = json!({"action": "pull", "network": scene.cpo.network});
        manage_ok(&scene.app, pull).await;
        scene.app.drain().await;
        assert_eq!(sessions(&scene).await[0]["started_by"], "card");
        is_billed(&scene, &theirs).await;
    }
}
