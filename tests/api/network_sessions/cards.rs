//! Tests of sessions that began with an RFID card: whose they are, and which reservation they use.

use serde_json::{Value, json};
use tests::platform::fixture;
use tests::{Crew, assert_has, id_of, path_of, with};

use super::{PATH, Scene, energy};

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

pub(super) async fn is_billed(scene: &Scene, theirs: &Value) {
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
async fn the_token_of_a_requested_start_is_allowed_there() {
    for is_listed in [true, false] {
        let scene = Scene::new().await;
        let crew = if is_listed {
            scene.crew.clone()
        } else {
            scene.app.crew(&scene.app.alice).await
        };
        let rules = json!({"name": "P", "rules": {"denied_operators": ["Nobody"]}});
        let policy = scene.app.alice.create("/v1/policies", rules).await;
        let change = json!({"policy_ids": [policy]});
        scene.post(&path_of(&crew.driver), change).await;
        let parties = json!({"driver": crew.driver, "vehicle": crew.vehicle});
        scene.start_with(parties).await;
        let token = scene.start_command()["token"].clone();
        assert_eq!(token["whitelist"], "NEVER");
        let uid = token["uid"].as_str().expect("a uid");
        let path = format!("/tokens/{uid}/authorize?type=APP_USER");
        for (evse, allowed) in [("E1", "ALLOWED"), ("E2", "NOT_ALLOWED")] {
            let place = json!({"location_id": "AMS-1", "evse_uids": [evse]});
            let answer = scene.cpo.expect("POST", &path, Some(&place), (200, 1000));
            assert_eq!(answer.await.body["data"]["allowed"], allowed);
        }
        scene.cpo.expect("POST", &path, None, (200, 2002)).await;
    }
}

#[tokio::test]
async fn a_card_charges_the_first_vehicle_that_policies_allow() {
    let scene = Scene::new().await;
    let own = json!({"drivers": [scene.crew.driver]});
    let own = with(tests::vehicle(&scene.crew.fleet), own);
    let second = scene.app.alice.create("/v1/vehicles", own).await;
    let rules = json!({"name": "P", "rules": {"denied_operators": ["Example Operator"]}});
    let policy = scene.app.alice.create("/v1/policies", rules).await;
    let change = json!({"policy_ids": [policy]});
    scene.post(&path_of(&scene.crew.vehicle), change).await;
    card(&scene, json!({})).await;
    assert_eq!(authorized(&scene).await, "ALLOWED");
    scene.tap().await;
    let session = sessions(&scene).await.remove(0);
    assert_eq!(session["vehicle"], second);
}

#[tokio::test]
async fn a_charge_for_a_need_ends_with_its_energy() {
    let scene = Scene::new().await;
    card(&scene, json!({})).await;
    let place = json!({"latitude": 52.394, "longitude": 4.852, "radius": 500});
    let need = json!({"energy_wh": 5_000, "ready_by": scene.app.in_minutes(60)});
    let (driver, vehicle) = (&scene.crew.driver, &scene.crew.vehicle);
    let reservation = json!({"driver": driver, "vehicle": vehicle, "connector_type": ["Type2"], "location": place, "need": need});
    let reservation = scene.post("/v1/reservations", reservation).await;
    scene.app.advance(5).await;
    scene.tap().await;
    let session = sessions(&scene).await.remove(0);
    assert_has!(session, {"reservation": reservation["id"], "session_limit": 5_000});
}

#[tokio::test]
async fn an_early_charge_is_of_the_vehicle_that_policies_allow() {
    let scene = Scene::new().await;
    card(&scene, json!({})).await;
    let time = |minutes: i64| scene.app.in_minutes(minutes)[11..16].to_owned();
    let times = json!({"time_windows": [{"start_time": time(20), "end_time": time(100)}]});
    let policy = json!({"name": "P", "rules": times});
    let policy = scene.app.alice.create("/v1/policies", policy).await;
    let vehicle = json!({"policy_ids": [policy]});
    let vehicle = with(tests::vehicle(&scene.crew.fleet), vehicle);
    let vehicle = scene.app.alice.create("/v1/vehicles", vehicle).await;
    let place = json!({"latitude": 52.394, "longitude": 4.852, "radius": 500});
    let change = json!({"location": place, "vehicle": vehicle});
    let reservation = with(scene.app.reservation(&scene.crew, 22), change);
    let reservation = scene.post("/v1/reservations", reservation).await;
    scene.app.advance(5).await;
    let reserved = scene.get(&path_of(id_of(&reservation))).await;
    assert_eq!(reserved["status"], "confirmed", "{reserved}");
    assert_eq!(authorized(&scene).await, "NOT_ALLOWED");
    scene.tap().await;
    let session = sessions(&scene).await.remove(0);
    assert_has!(session, {"vehicle": scene.crew.vehicle, "reservation": null});
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
