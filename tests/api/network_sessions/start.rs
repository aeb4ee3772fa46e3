//! Tests of `POST /v1/charging_sessions` at the station of a network: START_SESSION, its result and the deadline of the first report.

use functions::stream::sweep;
use kernel::time::{minutes, seconds};
use serde_json::{Value, json};
use tests::platform::{fixture, manage_ok};
use tests::{assert_has, cases, with};

use super::{PATH, Scene, adjustment, energy, failed, is};
use crate::charging_sessions::app_card;

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
    let nothing = json!({"status": "COMPLETED", "last_updated": scene.app.now().plus(seconds(1))});
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
