//! Confirmed reservations at the stations of charging networks: RESERVE_NOW, its results, and CANCEL_RESERVATION.

use kernel::Window;
use kernel::time::minutes;
use serde_json::{Value, json};
use tests::platform::{Connected, Received, fixture, manage_ok, send, session_of};
use tests::{Crew, TestApp, TestResponse, assert_has, with};

pub const RESERVE: &str = "/2.2.1/commands/RESERVE_NOW";
pub const CANCEL: &str = "/2.2.1/commands/CANCEL_RESERVATION";
const LOCATION: &str = "/locations/NL/EXA/AMS-1";

/// The number of minutes until the reservation of [`reserved`] begins.
const AHEAD: i64 = 120;

/// A service, a network with a location of two EVSEs that fit the vehicle, and a pending reservation there.
pub struct Stage {
    pub app: TestApp,
    pub cpo: Connected,
    pub crew: Crew,
    path: String,
}

/// The location of the fixture with two identical EVSEs, `E1` and `E2`.
fn location() -> Value {
    let mut location = fixture("location");
    let mut second = location["evses"][0].clone();
    second["uid"] = json!("E2");
    second["evse_id"] = json!("NL*EXA*E2");
    location["evses"][1] = second;
    location
}

pub async fn reserved() -> Stage {
    reserved_for(0).await
}

/// The same with a fee, in minor units.
pub async fn reserved_for(fee: i64) -> Stage {
    let app = TestApp::start_with(|options| options.reservation_fee = fee).await;
    let cpo = Connected::to(&app).await;
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    // The pull after a day would remove the station of a location that is not listed.
    let listed = vec![location()];
    cpo.list("locations", listed);
    cpo.put(LOCATION, &location()).await;
    let mut stage = Stage {
        app,
        cpo,
        crew,
        path: String::new(),
    };
    stage.reserve().await;
    stage
}

impl Stage {
    /// Creates a reservation, which replaces the current one of the stage.
    pub async fn reserve(&mut self) {
        self.reserve_with(json!({})).await;
    }

    async fn reserve_with(&mut self, change: Value) {
        let place = json!({"latitude": 52.394, "longitude": 4.852, "radius": 500});
        let body = self.app.reservation(&self.crew, AHEAD);
        let body = with(with(body, json!({"location": place})), change);
        let reservation = self.app.alice.post("/v1/reservations", body).await;
        self.path = format!("/v1/reservations/{}", reservation.expect(200).id());
    }

    /// Cancels the reservation.
    pub async fn cancel(&self) {
        let cancel = format!("{}/cancel", self.path);
        self.app.alice.post_ok(&cancel, json!({})).await;
        self.app.drain().await;
    }

    /// Moves the time to this number of minutes before the start of the reservation, and a few seconds more, because queues wait for
    /// whole seconds.
    pub async fn until(&self, minutes_before: i64) {
        let reservation = self.reservation().await;
        let start = reservation["ideal_start"].as_str().expect("a time");
        let start = kernel::Timestamp::parse(start).expect("a time");
        let left = start.since(self.app.now()).as_secs() - minutes_before * 60;
        self.app
            .advance(u32::try_from(left + 5).expect("a time to come"))
            .await;
    }

    pub async fn reservation(&self) -> Value {
        self.app.alice.get_ok(&self.path).await
    }

    pub fn sent(&self, command: &str) -> Vec<Received> {
        self.cpo.received("POST", command)
    }

    fn respond(&self, result: &str) {
        self.cpo.script().commands = Some(json!({"result": result, "timeout": 30}));
    }

    /// The network sends the result of a command.
    pub async fn result(&self, command: &Received, result: &str) -> TestResponse {
        let url = command.body["response_url"].as_str().expect("an address");
        let body = json!({"result": result});
        let answer = send(&self.app, &self.cpo.token, "POST", url, Some(&body), &[]).await;
        self.app.advance(1).await;
        answer
    }

    /// The types of the events about the reservation, oldest first.
    async fn events(&self) -> Vec<String> {
        self.app.drain().await;
        let page = self.app.alice.get_ok("/v1/events?limit=100").await;
        let events = page["data"].as_array().expect("events").iter().rev();
        let types = events.map(|event| event["type"].as_str().expect("a type").to_owned());
        types
            .filter(|name| name.starts_with("reservation."))
            .collect()
    }
}

/// Returns whether a reservation is at the EVSE of a command.
pub fn is_at(reservation: &Value, command: &Received) -> bool {
    let evse = command.body["evse_uid"].as_str().expect("an EVSE");
    let connector = reservation["connector"].as_str();
    connector.is_some_and(|connector| connector.starts_with(evse))
}

fn evses(commands: &[Received]) -> Vec<&str> {
    let evses = commands.iter();
    evses
        .map(|command| command.body["evse_uid"].as_str().expect("an EVSE"))
        .collect()
}

#[tokio::test]
async fn reserve_now_is_sent_15_minutes_before_the_reserved_start() {
    let stage = reserved().await;
    stage.until(20).await;
    let reservation = stage.reservation().await;
    assert_eq!(reservation["status"], "confirmed");
    assert!(stage.sent(RESERVE).is_empty());
    stage.until(15).await;
    let sent = stage.sent(RESERVE);
    let [command] = &sent[..] else {
        panic!("one command: {sent:?}");
    };
    let start = reservation["reserved_start"].as_str().expect("a time");
    let start = kernel::Timestamp::parse(start).expect("a time");
    assert_has!(command.body, {"location_id": "AMS-1", "expiry_date": start.plus(minutes(15)),
        "/token/type": "APP_USER", "/token/valid": true});
    let id = command.body["reservation_id"].as_str().expect("an id");
    assert!((1..=36).contains(&id.len()));
    stage.result(command, "ACCEPTED").await;
    stage.app.advance(5 * 60).await;
    assert_eq!(stage.sent(RESERVE).len(), 1);
    assert_eq!(stage.reservation().await["status"], "confirmed");
    assert!(stage.sent(CANCEL).is_empty());
    let cancel = format!("{}/cancel", stage.path);
    stage.app.alice.post_ok(&cancel, json!({})).await;
    stage.app.drain().await;
    let cancelled = stage.sent(CANCEL);
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0].body["reservation_id"], id);
    stage.app.advance(60 * 60).await;
    assert_eq!(
        (stage.sent(RESERVE).len(), stage.sent(CANCEL).len()),
        (1, 1)
    );
}

#[tokio::test]
async fn a_reservation_cancelled_before_reserve_now_is_not_sent() {
    let stage = reserved().await;
    stage.until(20).await;
    let cancel = format!("{}/cancel", stage.path);
    stage.app.alice.post_ok(&cancel, json!({})).await;
    stage.app.advance(60 * 60).await;
    assert!(stage.sent(RESERVE).is_empty() && stage.sent(CANCEL).is_empty());
}

#[tokio::test]
async fn a_reservation_expires_at_its_network_by_itself() {
    let stage = reserved().await;
    stage.until(15).await;
    stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
    stage.app.advance(31 * 60).await;
    assert_eq!(stage.reservation().await["status"], "expired");
    assert!(stage.sent(CANCEL).is_empty());
}

#[tokio::test]
async fn a_reservation_refused_by_its_network_moves_to_another_evse() {
    for refusal in [
        "REJECTED",
        "NOT_SUPPORTED",
        "result FAILED",
        "result EVSE_OCCUPIED",
        "silence",
        "result TIMEOUT",
    ] {
        let stage = reserved().await;
        stage.until(16).await;
        if !refusal.starts_with("result") && refusal != "silence" {
            stage.respond(refusal);
        }
        stage.until(15).await;
        if let Some(result) = refusal.strip_prefix("result ") {
            stage.result(&stage.sent(RESERVE)[0], result).await;
        }
        let is_lost = matches!(refusal, "silence" | "result TIMEOUT");
        if is_lost {
            assert_eq!(stage.sent(RESERVE).len(), 1, "{refusal}");
            stage.app.advance(65).await;
        }
        stage.respond("ACCEPTED");
        let sent = stage.sent(RESERVE);
        let mut seen = evses(&sent);
        seen.sort_unstable();
        assert_eq!(seen, ["E1", "E2"], "{refusal}");
        assert_ne!(
            sent[0].body["reservation_id"],
            sent[1].body["reservation_id"]
        );
        // Reservations that the network may have kept are cancelled.
        let cancelled: Vec<Value> = stage
            .sent(CANCEL)
            .into_iter()
            .map(|command| command.body["reservation_id"].clone())
            .collect();
        assert!(
            cancelled.contains(&sent[0].body["reservation_id"]),
            "{refusal}"
        );
        let reassigned = [
            "reservation.created",
            "reservation.confirmed",
            "reservation.reassigned",
        ];
        if matches!(refusal, "REJECTED" | "NOT_SUPPORTED") {
            // Both EVSEs were refused by the response, before the network accepted anything.
            stage.app.advance(20 * 60).await;
            let reservation = stage.reservation().await;
            assert_eq!(
                (&reservation["status"], &reservation["failed_reason"]),
                (&json!("failed"), &json!("station_unavailable")),
                "{refusal}"
            );
            let mut want = reassigned.to_vec();
            want.extend(["reservation.unassigned", "reservation.failed"]);
            assert_eq!(stage.events().await, want, "{refusal}");
            assert_eq!(stage.sent(RESERVE).len(), 2, "{refusal}");
            continue;
        }
        stage.result(&sent[1], "ACCEPTED").await;
        assert_eq!(cancelled.len(), 1, "{refusal}");
        // A late result of the first one changes nothing.
        stage.result(&sent[0], "ACCEPTED").await;
        let reservation = stage.reservation().await;
        assert_eq!(reservation["status"], "confirmed", "{refusal}");
        assert!(is_at(&reservation, &sent[1]), "{refusal}");
        assert_eq!(stage.events().await, reassigned, "{refusal}");
        assert_eq!(stage.sent(RESERVE).len(), 2, "{refusal}");
    }
}

#[tokio::test]
async fn a_reservation_that_its_network_cancels_is_matched_again() {
    let stage = reserved().await;
    stage.until(15).await;
    let first = stage.sent(RESERVE).remove(0);
    stage.result(&first, "ACCEPTED").await;
    stage.result(&first, "CANCELED_RESERVATION").await;
    let sent = stage.sent(RESERVE);
    assert_eq!(sent.len(), 2);
    assert_ne!(evses(&sent)[0], evses(&sent)[1]);
    let events = stage.events().await;
    assert_eq!(
        events.last().map(String::as_str),
        Some("reservation.reassigned")
    );
    stage.app.drain().await;
}

#[tokio::test]
async fn cancel_reservation_is_sent_when_an_evse_breaks_or_is_removed() {
    for status in ["OUTOFORDER", "REMOVED"] {
        let stage = reserved().await;
        stage.until(15).await;
        let first = stage.sent(RESERVE).remove(0);
        stage.result(&first, "ACCEPTED").await;
        let evse = first.body["evse_uid"].as_str().expect("an EVSE");
        let path = format!("{LOCATION}/{evse}");
        let change = json!({"status": status, "last_updated": "2030-01-01T00:00:00Z"});
        let answer = stage.cpo.send("PATCH", &path, Some(&change)).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        stage.app.drain().await;
        let sent = stage.sent(RESERVE);
        assert_eq!(sent.len(), 2, "{status}");
        assert_ne!(evses(&sent)[0], evses(&sent)[1]);
        let cancelled = stage.sent(CANCEL);
        assert_has!(cancelled[0].body, {"reservation_id": first.body["reservation_id"]});
        stage.app.drain().await;
    }
}

#[tokio::test]
async fn a_removed_station_is_readable_and_its_reservations_fail() {
    let stage = reserved().await;
    stage.until(20).await;
    let station = stage.reservation().await["charging_station"].clone();
    let mut removed = location();
    for evse in removed["evses"].as_array_mut().expect("EVSEs") {
        evse["status"] = json!("REMOVED");
    }
    removed["last_updated"] = json!("2030-01-01T00:00:00Z");
    stage.cpo.put(LOCATION, &removed).await;
    stage.app.drain().await;
    assert_has!(stage.reservation().await, {"status": "pending", "charging_station": null});
    stage.app.advance(60 * 60).await;
    let unassigned = [
        "reservation.created",
        "reservation.confirmed",
        "reservation.unassigned",
        "reservation.failed",
    ];
    assert_eq!(stage.events().await, unassigned);
    let path = format!("/v1/charging_stations/{}", station.as_str().expect("an id"));
    assert_eq!(stage.app.alice.get_ok(&path).await["status"], "removed");
    assert_has!(stage.reservation().await, {"status": "failed", "failed_reason": "station_unavailable"});
    assert!(stage.sent(RESERVE).is_empty());
}

#[tokio::test]
async fn a_network_is_asked_to_cancel_what_has_no_other_evse() {
    let stage = reserved().await;
    stage.until(15).await;
    let first = stage.sent(RESERVE).remove(0);
    stage.result(&first, "ACCEPTED").await;
    let mut removed = location();
    removed["publish"] = json!(false);
    removed["last_updated"] = json!("2030-01-01T00:00:00Z");
    stage.cpo.put(LOCATION, &removed).await;
    stage.app.drain().await;
    assert_eq!(stage.reservation().await["status"], "pending");
    let cancelled = stage.sent(CANCEL);
    assert_eq!(cancelled.len(), 1);
    assert_has!(cancelled[0].body, {"reservation_id": first.body["reservation_id"]});
}

#[tokio::test]
async fn a_location_missing_from_a_full_pull_unassigns_reservations() {
    let stage = reserved().await;
    stage.until(20).await;
    assert_eq!(stage.reservation().await["status"], "confirmed");
    let other = with(
        location(),
        json!({"id": "AMS-9", "coordinates": {"latitude": "52.1", "longitude": "4.1"}}),
    );
    stage.cpo.list("locations", vec![other]);
    let pull = json!({"action": "pull", "network": stage.cpo.network, "full": true});
    manage_ok(&stage.app, pull).await;
    stage.app.drain().await;
    let shown = stage.reservation().await;
    assert_eq!(shown["status"], "pending");
    assert_has!(shown, {"charging_station": null, "confirmed_at": null});
    let events = stage.events().await;
    assert_eq!(
        events.last().map(String::as_str),
        Some("reservation.unassigned")
    );
}

/// A stage at the start of a reservation with this fee, whose network keeps the EVSE free, and the command by which it does.
pub async fn kept(fee: i64) -> (Stage, Received) {
    let stage = reserved_for(fee).await;
    stage.until(15).await;
    let command = stage.sent(RESERVE).remove(0);
    stage.result(&command, "ACCEPTED").await;
    stage.until(0).await;
    (stage, command)
}

#[tokio::test]
async fn a_session_at_another_evse_cancels_the_reserved_one() {
    let (stage, command) = kept(0).await;
    let reservation = stage.reservation().await;
    let reserved = &reservation["connector"];
    let start = async |crew: &Crew, connector: &Value| {
        let session = json!({"charging_station": reservation["charging_station"], "connector": connector,
            "driver": crew.driver, "vehicle": crew.vehicle});
        let session = stage.app.alice.post("/v1/charging_sessions", session).await;
        stage.app.drain().await;
        session
    };
    let other = json!(if reserved == "E1-1" { "E2-1" } else { "E1-1" });
    let rival = stage.app.crew(&stage.app.alice).await;
    let session = start(&stage.crew, &other).await.expect(200);
    // The session may never begin.
    let taken = start(&rival, reserved).await;
    taken.expect_error(409, Some("charging_session_conflict"), "connector");
    assert!(stage.sent(CANCEL).is_empty());
    let started = &stage.sent("/2.2.1/commands/START_SESSION")[0];
    let theirs = session_of(&started.body, stage.app.now());
    stage.cpo.put("/sessions/NL/EXA/S1", &theirs).await;
    stage.app.drain().await;
    assert_has!(stage.reservation().await, {"status": "confirmed", "charging_session": session.id()});
    let cancelled = stage.sent(CANCEL);
    assert_eq!(cancelled.len(), 1);
    assert_has!(cancelled[0].body, {"reservation_id": command.body["reservation_id"]});
    start(&rival, reserved).await.expect(200);
    let now = stage.app.now();
    let end = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": now, "last_updated": now});
    let ended = with(theirs, end);
    stage.cpo.put("/sessions/NL/EXA/S1", &ended).await;
    stage.app.drain().await;
    assert_eq!(stage.reservation().await["status"], "completed");
    let third = stage.app.crew(&stage.app.alice).await;
    let taken = start(&third, reserved).await;
    taken.expect_error(409, Some("charging_session_conflict"), "connector");
    assert_eq!(stage.sent(CANCEL).len(), 1);
}

/// Starts a session at the reserved connector, and processes the command to the network.
pub async fn start(stage: &Stage) -> Value {
    let reservation = stage.reservation().await;
    let session = json!({"charging_station": reservation["charging_station"], "connector": reservation["connector"],
        "driver": stage.crew.driver, "vehicle": stage.crew.vehicle});
    let session = stage.app.alice.post_ok("/v1/charging_sessions", session);
    let session = session.await;
    stage.app.drain().await;
    session
}

#[tokio::test]
async fn a_reservation_is_kept_while_its_session_is_pending() {
    for begins in [true, false] {
        let (stage, _) = kept(300).await;
        stage.app.advance(13 * 60).await;
        let session = start(&stage).await;
        assert_eq!(session["status"], "pending");
        stage.app.advance(3 * 60).await;
        assert_eq!(stage.reservation().await["status"], "confirmed");
        if begins {
            let started = &stage.sent("/2.2.1/commands/START_SESSION")[0];
            let theirs = session_of(&started.body, stage.app.now());
            stage.cpo.put("/sessions/NL/EXA/S1", &theirs).await;
            stage.app.advance(10 * 60).await;
            assert_has!(stage.reservation().await, {"status": "confirmed", "charging_session": session["id"]});
        } else {
            stage.app.advance(4 * 60).await;
            assert_has!(stage.reservation().await, {"status": "expired", "charging_session": null, "fee_due": 0});
        }
    }
}

#[tokio::test]
async fn nothing_is_due_for_a_reservation_whose_session_was_refused() {
    for (result, due) in [
        ("REJECTED", 0),
        ("EVSE_INOPERATIVE", 0),
        ("EVSE_OCCUPIED", 0),
        ("TIMEOUT", 0),
        ("ACCEPTED", 300),
    ] {
        let (stage, _) = kept(300).await;
        stage.app.advance(5 * 60).await;
        let session = start(&stage).await;
        let started = &stage.sent("/2.2.1/commands/START_SESSION")[0];
        stage.result(started, result).await;
        stage.app.advance(16 * 60).await;
        let path = format!(
            "/v1/charging_sessions/{}",
            session["id"].as_str().expect("an id")
        );
        let session = stage.app.alice.get_ok(&path).await;
        assert_eq!(session["status"], "failed", "{result}");
        assert_has!(stage.reservation().await, {"status": "expired", "fee_due": due});
    }
}

/// The token of a card of another driver, and a session at the reserved EVSE that was started with it.
async fn occupy(stage: &Stage) -> Value {
    let rival = stage.app.crew(&stage.app.alice).await;
    let card = json!({"uid": "04A1B2C3D4", "driver": rival.driver, "vehicle": rival.vehicle});
    stage.app.alice.post_ok("/v1/charge_cards", card).await;
    stage.app.drain().await;
    let reserved = stage.reservation().await["connector"].clone();
    let evse = reserved
        .as_str()
        .and_then(|connector| connector.split('-').next());
    let token = json!({"country_code": "GB", "party_id": "FCS", "uid": "04A1B2C3D4", "type": "RFID", "contract_id": "C"});
    let tap = json!({"token": token, "evse_uid": evse, "connector_id": "1"});
    let theirs = session_of(&tap, stage.app.now());
    let theirs = with(theirs, json!({"auth_method": "WHITELIST"}));
    stage.cpo.put("/sessions/NL/EXA/S1", &theirs).await;
    stage.app.drain().await;
    theirs
}

#[tokio::test]
async fn an_evse_that_a_vehicle_does_not_leave_is_given_up() {
    let stage = reserved_for(300).await;
    stage.until(25).await;
    let before = stage.reservation().await;
    occupy(&stage).await;
    stage.until(15).await;
    let first = stage.sent(RESERVE).remove(0);
    stage.result(&first, "ACCEPTED").await;
    assert_eq!(stage.reservation().await["connector"], before["connector"]);
    stage.until(4).await;
    let sent = stage.sent(RESERVE);
    assert_eq!(sent.len(), 2);
    stage.result(&sent[1], "ACCEPTED").await;
    let after = stage.reservation().await;
    assert_ne!(after["connector"], before["connector"]);
    assert_has!(after, {"status": "confirmed", "reserved_start": before["reserved_start"]});
    let cancelled = stage.sent(CANCEL);
    assert_has!(cancelled[0].body, {"reservation_id": first.body["reservation_id"]});
    // The EVSE is not free for others.
    stage.app.advance(10 * 60).await;
    let third = stage.app.crew(&stage.app.alice).await;
    let session = json!({"charging_station": before["charging_station"], "connector": before["connector"],
        "driver": third.driver, "vehicle": third.vehicle});
    let taken = stage.app.alice.post("/v1/charging_sessions", session).await;
    taken.expect_error(409, Some("charging_session_conflict"), "connector");
}

#[tokio::test]
async fn a_network_that_is_suspended_loses_its_reservations() {
    for (action, resumes) in [("suspend", false), ("suspend", true), ("revoke", false)] {
        let stage = reserved_for(300).await;
        stage.until(15).await;
        stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
        let manage = async |action| {
            let action = json!({"action": action, "network": stage.cpo.network});
            manage_ok(&stage.app, action).await;
        };
        manage(action).await;
        stage.app.advance(30).await;
        let reservation = stage.reservation().await;
        assert_eq!(reservation["status"], "confirmed");
        if resumes {
            manage("resume").await;
        }
        stage.app.advance(60).await;
        if resumes {
            assert_eq!(stage.reservation().await, reservation);
            continue;
        }
        assert_has!(stage.reservation().await, {"status": "pending", "charging_station": null, "fee_due": 0,
            "/match_summary/refused/not_connected": 1});
        stage.app.advance(30 * 60).await;
        assert_has!(stage.reservation().await, {"status": "failed", "failed_reason": "station_unavailable"});
    }
}

#[tokio::test]
async fn nothing_is_due_if_the_reserved_evse_cannot_be_used() {
    for is_suspended in [true, false] {
        let (stage, command) = kept(300).await;
        if is_suspended {
            let suspend = json!({"action": "suspend", "network": stage.cpo.network});
            manage_ok(&stage.app, suspend).await;
        } else {
            let evse = command.body["evse_uid"].as_str().expect("an EVSE");
            let change = json!({"status": "CHARGING", "last_updated": "2030-01-01T00:00:00Z"});
            let path = format!("{LOCATION}/{evse}");
            stage.cpo.patch(&path, &change).await;
        }
        stage.app.advance(16 * 60).await;
        assert_has!(stage.reservation().await, {"status": "expired", "fee_due": 0});
    }
}

#[tokio::test]
async fn a_card_at_another_evse_uses_the_reservation() {
    let (stage, _) = kept(0).await;
    let card =
        json!({"uid": "04A1B2C3D4", "driver": stage.crew.driver, "vehicle": stage.crew.vehicle});
    stage.app.alice.post_ok("/v1/charge_cards", card).await;
    stage.app.drain().await;
    let reserved = stage.reservation().await["connector"].clone();
    let other = if reserved == "E1-1" { "E2" } else { "E1" };
    let token = json!({"country_code": "GB", "party_id": "FCS", "uid": "04A1B2C3D4", "type": "RFID", "contract_id": "C"});
    let tap = json!({"token": token, "evse_uid": other, "connector_id": "1"});
    let theirs = with(
        session_of(&tap, stage.app.now()),
        json!({"auth_method": "WHITELIST"}),
    );
    stage.cpo.put("/sessions/NL/EXA/S1", &theirs).await;
    stage.app.drain().await;
    let reservation = stage.reservation().await;
    let session = reservation["charging_session"].as_str().expect("a session");
    let session = stage
        .app
        .alice
        .get_ok(&format!("/v1/charging_sessions/{session}"))
        .await;
    assert_has!(session, {"started_by": "card", "status": "active", "reservation": reservation["id"]});
    assert_eq!(stage.sent(CANCEL).len(), 1);
    let now = stage.app.now();
    let end = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": now, "last_updated": now});
    stage
        .cpo
        .put("/sessions/NL/EXA/S1", &with(theirs, end))
        .await;
    stage.app.drain().await;
    assert_eq!(stage.reservation().await["status"], "completed");
}

/// The CDRs of a network for a reservation that was never used.
mod unused {
    use super::*;
    use crate::books::{own, seller};
    use kernel::time::days;

    /// A reservation that the network keeps, and whose vehicle does not come.
    async fn kept(fee: i64) -> Stage {
        let stage = reserved_for(fee).await;
        stage.until(15).await;
        stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
        stage
    }

    /// The CDR of the reservation, for 5.00 EUR in all.
    async fn cdr(stage: &Stage, change: Value) -> Value {
        let currency = stage.reservation().await["currency"].clone();
        let currency = currency.as_str().expect("a currency").to_uppercase();
        let command = stage.sent(RESERVE).pop().expect("a command").body;
        let mut location = fixture("cdr")["cdr_location"].clone();
        for name in ["evse_uid", "evse_id", "connector_id"] {
            location[name] = json!("#NA");
        }
        let now = stage.app.now();
        let cdr = json!({"id": "R1", "session_id": null, "start_date_time": now, "end_date_time": now,
            "cdr_location": location, "authorization_reference": command["authorization_reference"],
            "auth_method": "COMMAND", "charging_periods": [], "tariffs": [], "currency": currency, "total_energy": 0, "total_time": 0,
            "total_cost": {"excl_vat": 4.13, "incl_vat": 5.0},
            "total_reservation_cost": {"excl_vat": 4.13, "incl_vat": 5.0}, "last_updated": now});
        let token = &command["token"];
        let token = json!({"cdr_token": {"uid": token["uid"], "type": token["type"], "contract_id": token["contract_id"],
            "country_code": token["country_code"], "party_id": token["party_id"]}});
        with(with(with(fixture("cdr"), cdr), token), change)
    }

    async fn bill(stage: &Stage, change: Value) -> Value {
        let cdr = cdr(stage, change).await;
        send_cdr(stage, &cdr).await;
        cdr
    }

    async fn send_cdr(stage: &Stage, cdr: &Value) {
        let answer = stage.cpo.send("POST", "/cdrs", Some(cdr)).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        stage.app.drain().await;
    }

    /// The types and amounts of the lines of an invoice of everything that was not invoiced.
    async fn invoiced(stage: &Stage) -> Vec<(String, i64)> {
        let lines = lines(stage).await;
        let line = |line: &Value| {
            assert_eq!(line["reservation"], stage.path["/v1/reservations/".len()..]);
            let kind = line["type"].as_str().expect("a type").to_owned();
            (kind, line["amount"].as_i64().expect("an amount"))
        };
        lines.iter().map(line).collect()
    }

    /// The lines of an invoice of everything that was not invoiced, the oldest first.
    async fn lines(stage: &Stage) -> Vec<Value> {
        stage.app.advance(1).await;
        let now = stage.app.now();
        let currency = stage.reservation().await["currency"].clone();
        let body =
            json!({"period_start": now.plus(days(-30)), "period_end": now, "currency": currency});
        let invoice = stage.app.alice.post("/v1/invoices", body).await;
        let lines = invoice.expect(200).body["line_items"].clone();
        let lines = lines.as_array().expect("lines").iter().rev();
        lines.cloned().collect()
    }

    async fn set_seller(stage: &Stage) {
        let client = &stage.app.alice;
        let details = json!({"billing_details": seller(), "registration_number": "HRB 1"});
        client.post_ok(&own(client), details).await;
    }

    async fn unmatched(stage: &Stage) -> usize {
        let listed = tests::platform::manage(&stage.app, json!({"action": "list_unmatched"})).await;
        listed.expect("a list")["data"]
            .as_array()
            .map_or(0, Vec::len)
    }

    fn fee(amount: i64) -> (String, i64) {
        ("reservation_fee".into(), amount)
    }

    fn adjustment(amount: i64) -> (String, i64) {
        ("adjustment".into(), amount)
    }

    #[tokio::test]
    async fn the_larger_of_both_fees_is_billed_once() {
        for (own, theirs) in [(0, 500), (300, 500), (800, 800)] {
            let stage = kept(own).await;
            stage.app.advance(31 * 60).await;
            let billed = bill(&stage, json!({})).await;
            send_cdr(&stage, &billed).await;
            let reservation = stage.reservation().await;
            assert_has!(reservation, {"status": "expired", "fee_due": theirs});
            assert_eq!(reservation["reservation_fee"], own);
            assert_eq!(unmatched(&stage).await, 0);
            assert_eq!(invoiced(&stage).await, [fee(theirs)]);
            assert_eq!(invoiced(&stage).await, []);
        }
    }

    #[tokio::test]
    async fn a_cdr_that_comes_before_the_end_counts_at_the_end() {
        let stage = kept(300).await;
        stage.app.advance(28 * 60).await;
        bill(&stage, json!({})).await;
        assert_has!(stage.reservation().await, {"status": "confirmed", "fee_due": 300});
        stage.app.advance(3 * 60).await;
        assert_eq!(invoiced(&stage).await, [fee(500)]);
    }

    #[tokio::test]
    async fn after_an_invoice_the_difference_is_an_adjustment() {
        let stage = kept(300).await;
        stage.app.advance(31 * 60).await;
        assert_eq!(invoiced(&stage).await, [fee(300)]);
        let billed = bill(&stage, json!({})).await;
        assert_eq!(invoiced(&stage).await, [adjustment(200)]);
        send_cdr(&stage, &billed).await;
        assert_eq!(invoiced(&stage).await, []);
        // A credit returns the amount that the network billed beyond our own fee.
        let credit = json!({"id": "R1-C", "credit": true, "credit_reference_id": "R1", "authorization_reference": null,
            "total_cost": {"excl_vat": -4.13, "incl_vat": -5.0},
            "total_reservation_cost": {"excl_vat": -4.13, "incl_vat": -5.0}});
        bill(&stage, credit).await;
        let tenant = stage.app.alice.tenant();
        let (store, now) = (&stage.app.app().store, stage.app.now());
        let today = Window {
            from: now.plus(days(-1)),
            until: now.plus(minutes(1)),
        };
        let adjustments = store.adjustments_within(&tenant, today, now);
        let adjustments = adjustments.await.expect("the table");
        let mut amounts: Vec<i64> = adjustments
            .iter()
            .map(|adjustment| adjustment.object.line.amount)
            .collect();
        amounts.sort_unstable();
        assert_eq!((amounts, unmatched(&stage).await), (vec![-200, 200], 0));
    }

    #[tokio::test]
    async fn a_fee_that_only_the_network_bills_includes_tax() {
        let stage = kept(0).await;
        set_seller(&stage).await;
        stage.app.advance(31 * 60).await;
        bill(&stage, json!({})).await;
        let line = lines(&stage).await.remove(0);
        let tax =
            json!([{"country": "DE", "tax_percent": "19", "category": "S", "net": 420, "tax": 80}]);
        assert_has!(line, {"type": "reservation_fee", "amount": 500, "taxes": tax});
    }

    #[tokio::test]
    async fn the_adjustment_of_a_fee_is_taxed_in_the_country_of_the_fee() {
        let stage = kept(300).await;
        set_seller(&stage).await;
        stage.app.advance(31 * 60).await;
        let fee = lines(&stage).await.remove(0);
        bill(&stage, json!({})).await;
        let adjustment = lines(&stage).await.remove(0);
        for (line, amount) in [(fee, 300), (adjustment, 200)] {
            assert_has!(line, {"amount": amount, "/taxes/0/country": "DE"});
        }
    }

    #[tokio::test]
    async fn a_fee_that_only_the_network_bills_is_in_its_currency() {
        let stage = kept(0).await;
        stage.app.advance(31 * 60).await;
        bill(&stage, json!({"currency": "CHF"})).await;
        assert_has!(stage.reservation().await, {"currency": "chf", "fee_due": 500});
        assert_eq!(unmatched(&stage).await, 0);
        assert_eq!(invoiced(&stage).await, [fee(500)]);
        // Then the amounts of the reservation are in that currency.
        bill(&stage, json!({"id": "R2", "currency": "USD"})).await;
        assert_eq!(unmatched(&stage).await, 1);
    }

    #[tokio::test]
    async fn a_credit_before_the_invoice_leaves_our_own_fee() {
        for own in [0, 300] {
            let stage = kept(own).await;
            stage.app.advance(31 * 60).await;
            bill(&stage, json!({})).await;
            let credit = json!({"id": "R1-C", "credit": true, "credit_reference_id": "r1",
                "total_cost": {"excl_vat": -4.13, "incl_vat": -5.0}, "total_reservation_cost": null});
            bill(&stage, credit).await;
            assert_eq!(stage.reservation().await["fee_due"], own);
            let want = if own == 0 { vec![] } else { vec![fee(own)] };
            assert_eq!(invoiced(&stage).await, want);
        }
    }

    #[tokio::test]
    async fn an_implausible_amount_is_listed_and_not_billed() {
        for own in [0, 300] {
            let stage = kept(own).await;
            stage.app.advance(31 * 60).await;
            let absurd = json!({"excl_vat": 4_000_000, "incl_vat": 4_800_000});
            let costs = json!({"total_cost": absurd, "total_reservation_cost": absurd});
            bill(&stage, costs).await;
            assert_has!(stage.reservation().await, {"status": "expired", "fee_due": own});
            assert_eq!(unmatched(&stage).await, 1);
            bill(&stage, json!({"id": "R2"})).await;
            assert_eq!(invoiced(&stage).await, [fee(500)]);
            assert_eq!(unmatched(&stage).await, 1);
        }
    }

    #[tokio::test]
    async fn a_late_cancellation_costs_what_the_network_bills() {
        let stage = kept(0).await;
        stage.cancel().await;
        bill(&stage, json!({})).await;
        assert_eq!(stage.reservation().await["status"], "cancelled");
        assert_eq!(invoiced(&stage).await, [fee(500)]);
    }

    #[tokio::test]
    async fn what_is_not_due_is_listed_for_operators() {
        // The network has cancelled the reservation, and the other EVSE is refused.
        let stage = kept(300).await;
        let first = cdr(&stage, json!({})).await;
        stage.respond("REJECTED");
        stage
            .result(&stage.sent(RESERVE)[0], "CANCELED_RESERVATION")
            .await;
        stage.app.advance(40 * 60).await;
        assert_eq!(stage.reservation().await["status"], "failed");
        let answer = stage.cpo.send("POST", "/cdrs", Some(&first)).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        stage.app.drain().await;
        assert_eq!(
            (invoiced(&stage).await, unmatched(&stage).await),
            (vec![], 1)
        );

        // Another network names the command, and another currency is billed.
        let stage = kept(300).await;
        let other = Connected::with(&stage.app, |script| {
            script.roles[0]["party_id"] = json!("RIV");
        });
        let other = other.await;
        stage.app.advance(31 * 60).await;
        let foreign = cdr(&stage, json!({"party_id": "RIV"})).await;
        let answer = other.send("POST", "/cdrs", Some(&foreign)).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        bill(&stage, json!({"id": "R2", "currency": "CHF"})).await;
        bill(
            &stage,
            json!({"id": "R3", "authorization_reference": "cmd_1"}),
        )
        .await;
        assert_eq!(unmatched(&stage).await, 3);
        assert_eq!(invoiced(&stage).await, [fee(300)]);
    }

    #[tokio::test]
    async fn a_fee_that_was_charged_is_adjusted() {
        let mut stage = reserved_for(300).await;
        let method = stage.app.payment_method("tok_success", json!({})).await;
        stage.cancel().await;
        stage.reserve_with(json!({"payment_method": method})).await;
        stage.until(15).await;
        stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
        stage.app.advance(31 * 60).await;
        assert_eq!(stage.reservation().await["fee_due"], 0);
        bill(&stage, json!({})).await;
        assert_eq!(stage.reservation().await["fee_due"], 0);
        let lines = invoiced(&stage).await;
        assert_eq!(lines, [fee(300), adjustment(200)]);
    }

    #[tokio::test]
    async fn a_fee_that_only_the_network_asks_for_is_charged() {
        let mut stage = reserved().await;
        let method = stage.app.payment_method("tok_success", json!({})).await;
        stage.cancel().await;
        stage.reserve_with(json!({"payment_method": method})).await;
        stage.until(15).await;
        stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
        stage.app.advance(31 * 60).await;
        bill(&stage, json!({})).await;
        let charges = stage.app.alice.get_ok("/v1/transactions").await;
        let charge = &charges["data"][0];
        assert_eq!(
            (&charge["amount"], &charge["status"], &charges["data"][1]),
            (&json!(500), &json!("succeeded"), &Value::Null)
        );
    }
}
