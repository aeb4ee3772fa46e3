//! Tests of confirmed reservations at networks that lose their connector, the plug of their vehicle or their session.

use serde_json::{Value, json};
use tests::platform::{cdr_of, session_of};
use tests::{assert_has, path_of, with};

use super::sessions::start;
use super::{CANCEL, RESERVE, Stage, kept, reserved_for};

const START: &str = "/2.2.1/commands/START_SESSION";

impl Stage {
    /// Starts a session at the reserved connector, and returns it with the session of the network.
    async fn requested(&self, name: &str) -> (Value, Value) {
        let session = start(self).await;
        let command = self.sent(START).pop().expect("a command").body;
        let theirs = session_of(&command, self.app.now());
        (session, with(theirs, json!({"id": name})))
    }

    /// The network reports a change of a session.
    async fn report(&self, theirs: &Value, change: Value) {
        self.app.advance(1).await;
        let now = json!({"last_updated": self.app.now()});
        let id = theirs["id"].as_str().expect("an id");
        let reported = with(with(theirs.clone(), now), change);
        let path = format!("/sessions/NL/EXA/{id}");
        self.cpo.put(&path, &reported).await;
        self.app.drain().await;
    }

    async fn report_end(&self, theirs: &Value) {
        let now = self.app.now();
        let end = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": now});
        self.report(theirs, end).await;
    }

    async fn bill(&self, theirs: &Value) {
        let cdr = cdr_of(theirs, self.app.now());
        let answer = self.cpo.send("POST", "/cdrs", Some(&cdr)).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        self.app.advance(200).await;
    }

    /// Makes an EVSE unusable.
    async fn break_evse(&self, evse: &str) {
        let broken = json!({"status": "OUTOFORDER", "last_updated": "2030-01-01T00:00:00Z"});
        let path = format!("/locations/NL/EXA/AMS-1/{evse}");
        self.cpo.patch(&path, &broken).await;
        self.app.drain().await;
    }
}

#[tokio::test]
async fn a_reservation_kept_for_its_fee_is_sent_once() {
    for is_back in [true, false] {
        let stage = reserved_for(300).await;
        stage.until(17).await;
        let plug = async |plug: &str| {
            let vehicle = format!("/v1/vehicles/{}", stage.crew.vehicle);
            let change = json!({"charging_standard": plug});
            stage.app.alice.post_ok(&vehicle, change).await;
            stage.app.drain().await;
        };
        // Half a minute, so that nothing below is checked when the result of RESERVE_NOW counts as lost.
        stage.app.advance(30).await;
        plug("CHAdeMO").await;
        let kept = stage.reservation().await;
        assert_has!(kept, {"status": "confirmed", "fee_due": 300});
        stage.until(14).await;
        assert!(stage.sent(RESERVE).is_empty());
        if is_back {
            plug("Type2").await;
        }
        stage.until(if is_back { 11 } else { 1 }).await;
        let sent = stage.sent(RESERVE);
        assert_eq!(sent.len(), 1);
        stage.result(&sent[0], "ACCEPTED").await;
        if is_back {
            plug("CHAdeMO").await;
            stage.until(1).await;
        }
        assert_has!(stage.reservation().await, {"status": "confirmed", "connector": kept["connector"]});
        assert_eq!(stage.sent(RESERVE).len(), 1);
        stage.app.advance(20 * 60).await;
        assert_has!(stage.reservation().await, {"status": "expired", "fee_due": 300});
        assert!(stage.sent(CANCEL).is_empty());
    }
}

#[tokio::test]
async fn a_kept_reservation_that_its_network_cancels_is_free() {
    let stage = reserved_for(300).await;
    stage.until(15).await;
    let command = stage.sent(RESERVE).remove(0);
    stage.result(&command, "ACCEPTED").await;
    let vehicle = format!("/v1/vehicles/{}", stage.crew.vehicle);
    let change = json!({"charging_standard": "CHAdeMO"});
    stage.app.alice.post_ok(&vehicle, change).await;
    stage.app.drain().await;
    assert_has!(stage.reservation().await, {"status": "confirmed", "fee_due": 300});
    // Another connector is being searched.
    stage.result(&command, "CANCELED_RESERVATION").await;
    assert_has!(stage.reservation().await, {"status": "pending", "charging_station": null, "fee_due": 0});
    stage.app.advance(3600).await;
    assert_has!(stage.reservation().await, {"status": "failed", "fee_due": 0});
}

#[tokio::test]
async fn a_cancellation_during_an_invalid_session_counts_after_it() {
    let (stage, command) = kept(300).await;
    let before = stage.reservation().await;
    let (_, theirs) = stage.requested("S1").await;
    stage.report(&theirs, json!({})).await;
    stage.result(&command, "CANCELED_RESERVATION").await;
    assert_eq!(stage.reservation().await["connector"], before["connector"]);
    stage.report(&theirs, json!({"status": "INVALID"})).await;
    stage.app.advance(1).await;
    assert_ne!(stage.reservation().await["connector"], before["connector"]);
}

#[tokio::test]
async fn a_reservation_can_be_used_after_an_invalid_session() {
    let (stage, _) = kept(300).await;
    let (first, theirs) = stage.requested("S1").await;
    stage.report(&theirs, json!({})).await;
    let charging = json!({"status": "confirmed", "charging_session": first["id"]});
    assert_has!(stage.reservation().await, charging);
    stage.report(&theirs, json!({"status": "INVALID"})).await;
    assert_has!(stage.reservation().await, {"status": "confirmed", "charging_session": null});
    assert!(stage.sent(CANCEL).is_empty());
    let (second, theirs) = stage.requested("S2").await;
    assert_eq!(second["reservation"], first["reservation"]);
    stage.report(&theirs, json!({})).await;
    stage.app.advance(30 * 60).await;
    let charging = json!({"status": "confirmed", "charging_session": second["id"]});
    assert_has!(stage.reservation().await, charging);
    stage.report_end(&theirs).await;
    let ended = json!({"status": "completed", "charging_session": second["id"], "fee_due": 300});
    assert_has!(stage.reservation().await, ended);
}

#[tokio::test]
async fn a_reservation_expires_free_after_an_invalid_session() {
    for minutes in [5, 40] {
        let (stage, _) = kept(300).await;
        let (session, theirs) = stage.requested("S1").await;
        stage.report(&theirs, json!({})).await;
        stage.app.advance(minutes * 60).await;
        stage.report(&theirs, json!({"status": "INVALID"})).await;
        stage.app.advance(20 * 60).await;
        assert_has!(stage.reservation().await, {"status": "expired", "charging_session": null, "fee_due": 0});
        assert_eq!(stage.sent(RESERVE).len(), 1);
        assert!(stage.sent(CANCEL).is_empty());
        // A late CDR bills the session, and leaves the reservation.
        stage.bill(&theirs).await;
        let session = path_of(session["id"].as_str().expect("an id"));
        let session = stage.app.alice.get_ok(&session).await;
        assert_eq!(session["status"], "completed");
        assert_eq!(stage.reservation().await["status"], "expired");
        let vehicle = format!("/v1/vehicles/{}", stage.crew.vehicle);
        stage.app.alice.delete_ok(&vehicle).await;
    }
}

#[tokio::test]
async fn a_cdr_of_an_invalid_session_completes_its_reservation() {
    let (stage, _) = kept(300).await;
    let (session, theirs) = stage.requested("S1").await;
    stage.report(&theirs, json!({})).await;
    stage.report(&theirs, json!({"status": "INVALID"})).await;
    stage.bill(&theirs).await;
    assert_has!(stage.reservation().await, {"status": "completed", "charging_session": session["id"]});
}

/// A stage whose vehicle charges at another EVSE than the reserved one, that one's connector, and the session of the network.
async fn elsewhere() -> (Stage, &'static str, Value) {
    let stage = reserved_for(300).await;
    stage.until(15).await;
    stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
    stage.until(10).await;
    let before = stage.reservation().await;
    let other = if before["connector"] == "E1-1" {
        "E2-1"
    } else {
        "E1-1"
    };
    let session = json!({"charging_station": before["charging_station"], "connector": other,
        "driver": stage.crew.driver, "vehicle": stage.crew.vehicle});
    let session = stage
        .app
        .alice
        .post_ok("/v1/charging_sessions", session)
        .await;
    assert_eq!(session["reservation"], before["id"]);
    stage.app.drain().await;
    let command = stage.sent(START).pop().expect("a command").body;
    let theirs = session_of(&command, stage.app.now());
    stage.report(&theirs, json!({})).await;
    assert_eq!(stage.sent(CANCEL).len(), 1);
    (stage, other, theirs)
}

#[tokio::test]
async fn an_invalid_session_at_another_evse_leads_to_a_rematch() {
    let (stage, other, theirs) = elsewhere().await;
    stage.report(&theirs, json!({"status": "INVALID"})).await;
    assert_has!(stage.reservation().await, {"status": "confirmed", "connector": other, "charging_session": null});
    assert_eq!(stage.sent(RESERVE).len(), 2);
}

#[tokio::test]
async fn an_invalid_session_elsewhere_ends_a_reservation_that_began() {
    let (stage, _, theirs) = elsewhere().await;
    stage.app.advance(12 * 60).await;
    stage.report(&theirs, json!({"status": "INVALID"})).await;
    assert_has!(stage.reservation().await, {"status": "expired", "fee_due": 0});
    assert_eq!(stage.sent(RESERVE).len(), 1);
}

#[tokio::test]
async fn a_late_cdr_leaves_a_reservation_to_its_session() {
    let (stage, _) = kept(300).await;
    let (_, refused) = stage.requested("S1").await;
    stage.result(&stage.sent(START)[0], "FAILED").await;
    stage.app.advance(60).await;
    let (second, theirs) = stage.requested("S2").await;
    stage.report(&theirs, json!({})).await;
    stage.bill(&refused).await;
    let charging = json!({"status": "confirmed", "charging_session": second["id"], "fee_due": 300});
    assert_has!(stage.reservation().await, charging);
    stage.report_end(&theirs).await;
    let ended = json!({"status": "completed", "charging_session": second["id"]});
    assert_has!(stage.reservation().await, ended);
}

#[tokio::test]
async fn a_reservation_is_not_moved_while_its_session_starts() {
    for begins in [true, false] {
        let stage = reserved_for(300).await;
        stage.until(15).await;
        stage.result(&stage.sent(RESERVE)[0], "ACCEPTED").await;
        stage.until(10).await;
        let before = stage.reservation().await;
        let (session, theirs) = stage.requested("S1").await;
        assert_eq!(session["reservation"], before["id"]);
        for evse in ["E1", "E2"] {
            stage.break_evse(evse).await;
        }
        stage.app.advance(2 * 60).await;
        assert_has!(stage.reservation().await, {"status": "confirmed", "connector": before["connector"]});
        if begins {
            stage.report(&theirs, json!({})).await;
            stage.app.advance(30 * 60).await;
            assert_has!(stage.reservation().await, {"status": "confirmed", "charging_session": session["id"]});
            stage.report_end(&theirs).await;
            assert_has!(stage.reservation().await, {"status": "completed", "charging_session": session["id"]});
        } else {
            stage.result(&stage.sent(START)[0], "FAILED").await;
            stage.app.advance(60).await;
            assert_has!(stage.reservation().await, {"status": "pending", "charging_station": null});
        }
    }
}
