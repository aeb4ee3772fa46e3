//! The sessions that the network sends.

use kernel::time::{hours, minutes};
use kernel::{Currency, Id};
use models::ChargingSession;
use serde_json::{Value, json};
use tests::faulty::Dice;
use tests::platform::fixture;
use tests::stage::Stage;
use tests::with;

use super::{Network, Report, by_tariff, code, kwh};

impl Network {
    /// Sends a request until there is a response with this status code.
    pub(super) async fn send(
        &self,
        stage: &Stage,
        method: &str,
        path: &str,
        body: &Value,
        code: u64,
    ) {
        let sent = stage.send_ocpi(&self.cpo.token, method, path, body).await;
        assert_eq!(sent, code, "seed {}: {method} {path}: {body}", stage.seed);
    }

    /// Sends a session with more energy, or less.
    pub(super) async fn grow(&mut self, stage: &Stage, place: usize) {
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

    pub(super) async fn end(&mut self, stage: &Stage, place: usize) {
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
    pub(super) async fn report(&mut self, stage: &Stage, place: usize, status: &str) {
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

    pub(super) async fn put(&self, stage: &Stage, place: usize, session: &Value) {
        let path = self.path(place);
        self.send(stage, "PUT", &path, session, 1000).await;
    }

    pub(super) fn currency(&self, dice: &Dice) -> Currency {
        self.currencies[usize::from(dice.percent(12))]
    }

    /// The report of a session at this time.
    pub(super) fn session(&self, stage: &Stage, place: usize, status: &str) -> (Value, Report) {
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

    pub(super) fn token(&self, token: &Value) -> Value {
        let members = ["country_code", "party_id", "uid", "type", "contract_id"];
        let members = members.map(|name| (name.to_owned(), token[name].clone()));
        Value::Object(members.into_iter().collect())
    }
}
