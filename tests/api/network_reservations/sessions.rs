//! Tests of sessions at the reserved EVSE or at another one.

use serde_json::{Value, json};
use tests::platform::session_of;
use tests::{Crew, assert_has, with};

use super::{CANCEL, RESERVE, Stage, kept, reserved_for};

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
pub(super) async fn start(stage: &Stage) -> Value {
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
