//! Tests of RESERVE_NOW and CANCEL_RESERVATION: when each is sent, and what its result leads to.

use kernel::time::minutes;
use serde_json::{Value, json};
use tests::assert_has;

use super::{CANCEL, LOCATION, RESERVE, evses, is_at, location, reserved};

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
