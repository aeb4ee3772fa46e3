//! Tests of reservations that their network, EVSE or station no longer keeps.

use serde_json::json;
use tests::platform::{fixture, manage_ok};
use tests::{assert_has, with};

use super::{CANCEL, LOCATION, RESERVE, Stage, evses, kept, location, reserved, reserved_for};

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

impl Stage {
    /// Sends the tariff of the EVSEs with this price per kWh.
    async fn price(&self, price: f64) {
        let mut tariff = with(fixture("tariff"), json!({"last_updated": self.app.now()}));
        tariff["elements"][0]["price_components"][0]["price"] = json!(price);
        self.cpo.put("/tariffs/NL/EXA/DAY", &tariff).await;
        self.app.drain().await;
    }
}

#[tokio::test]
async fn a_tariff_above_the_cap_of_a_policy_releases_the_evse() {
    let mut stage = reserved_for(300).await;
    stage.cancel().await;
    let alice = &stage.app.alice;
    let policy = json!({"name": "Cap", "rules": {"max_price_per_kwh": 60}});
    let policy = alice.create("/v1/policies", policy).await;
    let driver = json!({"policy_ids": [policy], "preferences": {"currency": "eur"}});
    let path = format!("/v1/drivers/{}", stage.crew.driver);
    alice.post_ok(&path, driver).await;
    stage.price(0.4).await;
    stage.reserve().await;
    stage.until(15).await;
    let command = stage.sent(RESERVE).remove(0);
    stage.result(&command, "ACCEPTED").await;
    stage.app.advance(1).await;
    stage.price(0.8).await;
    assert_has!(stage.reservation().await, {"status": "pending", "charging_station": null, "fee_due": 0});
    assert_eq!(stage.sent(CANCEL).len(), 1);
}

#[tokio::test]
async fn an_evse_that_cannot_be_reserved_any_longer_is_lost() {
    let stage = reserved().await;
    stage.until(20).await;
    let before = stage.reservation().await["connector"].clone();
    let mut changed = location();
    let capable = json!(["REMOTE_START_STOP_CAPABLE"]);
    for (later, place) in [before == "E1-1", before != "E1-1"].into_iter().enumerate() {
        let place = usize::from(!place);
        changed["evses"][place]["capabilities"] = capable.clone();
        changed["last_updated"] = json!(format!("2030-01-0{}T00:00:00Z", later + 1));
        stage.cpo.put(LOCATION, &changed).await;
        stage.app.drain().await;
        let shown = stage.reservation().await;
        if later == 0 {
            assert_eq!(shown["status"], "confirmed");
            assert_ne!(shown["connector"], before);
        } else {
            assert_has!(shown, {"status": "pending", "charging_station": null});
        }
    }
    stage.until(14).await;
    assert!(stage.sent(RESERVE).is_empty());
}
