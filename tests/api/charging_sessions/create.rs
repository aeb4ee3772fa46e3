//! Tests of `POST /v1/charging_sessions`: what a start needs, and what it is refused for.

use kernel::Mode;
use kernel::time::{HOUR, hours};
use serde_json::json;
use tests::{TestApp, assert_has, path_of, with};

use super::{CONFLICT, PATH, app_card, connector, path, start, stop};

#[tokio::test]
async fn a_session_ends_when_the_station_closes_and_its_start_says_so() {
    let (app, crew) = TestApp::with_crew().await;
    let closing = app.now().plus(HOUR);
    let closed = json!([{"from": closing, "until": closing.plus(hours(2))}]);
    let hours = json!({"connectors_available": 2, "connectors_total": 2, "opening_hours": [], "range": [],
        "exceptional_closings": closed});
    let station = app.station(json!({"availability": hours})).await;
    let session = start(&app, &crew, &station).await;
    assert_has!(session, {"ends_by": closing, "ends_by_reason": "station_closing"});
    app.advance(90 * 60).await;
    let ended = app.alice.get_ok(&path(&session)).await;
    assert_has!(ended, {"status": "completed", "session_ended": closing});
    let energy = ended["energy_consumed"].as_i64().expect("Wh");
    assert!((21_900..=22_000).contains(&energy), "{ended}");
    assert_eq!(connector(&app, &station).await, json!(["available", 2]));
    // A session cannot be started while the station is closed.
    let refused = app.alice.post(PATH, app.session(&crew, &station)).await;
    refused.expect_error(409, CONFLICT, "charging_station");
    assert_eq!(refused.body["message"], "The station is closed now.");
    assert_eq!(app.alice.get(PATH).await.expect(200).ids().len(), 1);
}

#[tokio::test]
async fn a_driver_whose_app_card_is_withheld_starts_nothing() {
    let (app, crew, station) = TestApp::with_station().await;
    let card = app_card(&app, &crew).await;
    for status in ["blocked", "lost"] {
        app.alice.post_ok(&card, json!({"status": status})).await;
        let refused = app.alice.post(PATH, app.session(&crew, &station)).await;
        refused.expect_error(409, "charging_session_conflict", "driver");
    }
    let station_path = path_of(&station);
    assert_has!(app.alice.get_ok(&station_path).await, {"/connectors/0/status": "available"});
    app.alice.post_ok(&card, json!({"status": "active"})).await;
    start(&app, &crew, &station).await;
    app.drain().await;
}

#[tokio::test]
async fn what_a_start_names_must_be_there() {
    let (app, crew, station) = TestApp::with_station().await;
    let good = app.session(&crew, &station);
    let foreign = app.other_account(Mode::Test).await;
    let foreign = app.crew(&foreign).await;
    for (change, param) in [
        (json!({"charging_station": "chst_1"}), "charging_station"),
        (json!({"charging_station": crew.driver}), "charging_station"),
        (json!({"connector": "3"}), "connector"),
        (json!({"driver": "drv_1"}), "driver"),
        (json!({"driver": foreign.driver}), "driver"),
        (json!({"vehicle": foreign.vehicle}), "vehicle"),
        (json!({"payment_method": "pm_1"}), "payment_method"),
    ] {
        let answer = app.alice.post(PATH, with(good.clone(), change)).await;
        answer.expect_error(404, "charging_session_dependency_not_found", param);
    }
    let nothing = with(good, json!({"session_limit": 0}));
    let nothing = app.alice.post(PATH, nothing).await;
    nothing.expect_error(400, None, "session_limit");
    app.drain().await;
}

#[tokio::test]
async fn driver_vehicle_and_connector_must_be_active_and_fit_together() {
    let (app, crew, station) = TestApp::with_station().await;
    let good = app.session(&crew, &station);
    let stranger = app.alice.create("/v1/drivers", tests::driver()).await;
    let stranger = with(good.clone(), json!({"driver": stranger}));
    let answer = app.alice.post(PATH, stranger).await;
    answer.expect_error(400, "owner_scope_invalid", "driver");
    let mut ccs = tests::vehicle(&crew.fleet);
    ccs["charging_standard"] = json!("CCS");
    let ccs = app.alice.create("/v1/vehicles", ccs).await;
    let answer = app
        .alice
        .post(PATH, with(good.clone(), json!({"vehicle": ccs})));
    let answer = answer.await;
    answer.expect_error(400, None, "connector");
    for (id, status, param) in [
        (&crew.driver, "suspended", "driver"),
        (&crew.vehicle, "inactive", "vehicle"),
        (&crew.fleet, "archived", "vehicle"),
    ] {
        let path = path_of(id);
        let set = async |status| app.alice.post_ok(&path, json!({"status": status})).await;
        set(status).await;
        let answer = app.alice.post(PATH, good.clone()).await;
        answer.expect_error(400, None, param);
        set("active").await;
    }
    app.alice.post_ok(PATH, good).await;
    app.drain().await;
}

#[tokio::test]
async fn what_is_not_free_now_is_a_conflict() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station(json!({})).await;
    start(&app, &crew, &station).await;
    let busy = app.alice.post(PATH, app.session(&rival, &station)).await;
    busy.expect_error(409, CONFLICT, "connector");
    let twice = with(app.session(&crew, &station), json!({"connector": "2"}));
    let twice = app.alice.post(PATH, twice).await;
    twice.expect_error(409, CONFLICT, "vehicle");
    let closed = json!({"capabilities": {"24_7_access": false, "amenities": [], "payment_methods": [],
        "requires_membership": false, "reservable": true}});
    let faulted =
        json!({"connectors": [{"id": "1", "power": 22.0, "status": "faulted", "type": "Type2"}]});
    for (change, param) in [
        (json!({"status": "maintenance"}), "charging_station"),
        (closed, "charging_station"),
        (faulted, "connector"),
    ] {
        let station = app.station(change).await;
        let answer = app.alice.post(PATH, app.session(&rival, &station)).await;
        answer.expect_error(409, CONFLICT, param);
    }
    app.drain().await;
}

#[tokio::test]
async fn a_repeated_start_answers_as_the_first() {
    let (app, crew, station) = TestApp::with_station().await;
    let body = app.session(&crew, &station).to_string();
    let send = async |path: &str, body: &str, key: &str| {
        let key = [("idempotency-key", key)];
        let sent = app.alice.send("POST", path, Some(body.to_owned()), &key);
        sent.await.expect(200)
    };
    let first = send(PATH, &body, "plug-in").await;
    let again = send(PATH, &body, "plug-in").await;
    assert_eq!(first.body, again.body);
    assert_eq!(again.header("idempotent-replayed"), "true");
    let stop = format!("{}/stop", path(&first.body));
    let stopped = send(&stop, "{}", "plug-out").await;
    let again = send(&stop, "{}", "plug-out").await;
    assert_eq!(stopped.body, again.body);
    app.drain().await;
}

#[tokio::test]
async fn whoever_is_charging_can_be_neither_detached_nor_deleted() {
    let (app, crew, station) = TestApp::with_station().await;
    let session = start(&app, &crew, &station).await;
    let (driver, vehicle) = (path_of(&crew.driver), path_of(&crew.vehicle));
    let detach = async || {
        app.alice
            .post(&format!("{driver}/detach"), json!({"fleet": crew.fleet}))
            .await
    };
    detach()
        .await
        .expect_error(409, "driver_fleet_conflict", "fleet");
    for (path, param) in [(&driver, "driver"), (&vehicle, "vehicle")] {
        app.alice.delete(path).await.expect_error(409, None, param);
    }
    stop(&app, &session).await;
    detach().await.expect(200);
    app.alice.delete_ok(&driver).await;
    app.alice.delete_ok(&vehicle).await;
    app.drain().await;
}

#[tokio::test]
async fn enforced_policies_block_a_session_start_and_suggestions_warn() {
    let (app, crew, station) = TestApp::with_station().await;
    let rules = json!({"name": "Others only", "rules": {"denied_operators": ["Voltway"]}});
    let policy = app.alice.create("/v1/policies", rules).await;
    let driver = format!("/v1/drivers/{}", crew.driver);
    let held = json!({"policy_ids": [policy]});
    app.alice.post_ok(&driver, held).await;
    let refused = app.alice.post(PATH, app.session(&crew, &station)).await;
    assert_eq!(refused.error().0, 403);
    assert_has!(refused.body, {"code": "policy_blocked", "policy": policy, "rule": "denied_operators"});
    let lifted = json!({"mode": "suggestion"});
    app.alice.post_ok(&path_of(&policy), lifted).await;
    let body = app.session(&crew, &station);
    let started = app.alice.post_ok(PATH, body).await;
    let warnings = json!([{"policy": policy, "rule": "denied_operators",
        "message": "The policy \"Others only\" denies the station's operator."}]);
    assert_eq!(started["policy_warnings"], warnings);
    app.drain().await;
}
