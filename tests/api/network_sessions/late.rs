//! Tests of sessions and CDRs of a card that arrive late, at the same time or before their location.

use functions::job::Job as _;
use functions::networks::received::ApplyReceived;
use kernel::time::minutes;
use models::network::{Module, ObjectId, Owner, PartyId};
use serde_json::{Value, json};
use table::networks::{ReceivedObject, shared_origin};
use tests::platform::{fixture, manage_ok};
use tests::{assert_has, path_of, with};

use super::cards::{card, is_billed, sessions, tapped};
use super::{Scene, energy};

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
    let parameters = json!({"type": "charging_summary", "period_start": start, "period_end": end});
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
        let change =
            json!({"status": "COMPLETED", "kwh": 10, "end_date_time": end, "last_updated": end});
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
    let parameters = json!({"type": "charging_summary", "period_start": start, "period_end": end});
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
