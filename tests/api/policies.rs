//! `/v1/policies`.

use serde_json::{Value, json};
use tests::{Receiver, TestApp, assert_has, driver, fleet, id_of, path_of, vehicle, with};

fn policy(rules: Value) -> Value {
    json!({"name": "Depot hours", "rules": rules})
}

#[tokio::test]
async fn policies_of_drivers_fleets_and_vehicles_must_exist() {
    let (app, crew) = TestApp::with_crew().await;
    for (path, id, new) in [
        ("/v1/drivers", &crew.driver, driver()),
        ("/v1/fleets", &crew.fleet, fleet()),
        ("/v1/vehicles", &crew.vehicle, vehicle(&crew.fleet)),
    ] {
        let unknown = format!("pol_{:032x}", 1);
        for policy in ["pol_1", &unknown, &crew.driver] {
            let change = json!({"policy_ids": [policy]});
            let body = with(new.clone(), change.clone());
            let created = app.alice.post(path, body).await;
            let changed = app.alice.post(&path_of(id), change).await;
            for refused in [created, changed] {
                refused.expect_error(404, "policy_not_found", "policy_ids");
            }
        }
    }
}

#[tokio::test]
async fn a_new_policy_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let rules = json!({"allowed_operators": ["Voltway"], "denied_operators": ["Other"],
        "geofences": [{"center": {"latitude": 51.5, "longitude": -0.12}, "name": "London", "radius_meters": 2500.5}],
        "max_price_per_kwh": 42.5,
        "time_windows": [{"days_of_week": ["monday", "sunday"], "end_time": "06:00", "start_time": "22:30"}]});
    let created = app
        .alice
        .post_ok("/v1/policies", policy(rules.clone()))
        .await;
    let now = &created["created"];
    let want = json!({"id": id_of(&created), "object": "policy", "created": now, "description": null, "metadata": {},
        "mode": "enforcement", "name": "Depot hours", "rules": rules, "status": "active", "updated": now});
    assert_eq!(created, want);
    let path = format!("/v1/policies/{}", id_of(&created));
    assert_eq!(app.alice.get_ok(&path).await, want);
    assert!(id_of(&created).starts_with("pol_"));
    let none = json!({"allowed_operators": [], "denied_operators": [], "geofences": [], "max_price_per_kwh": null,
        "time_windows": []});
    let created = app.alice.post("/v1/policies", policy(json!({}))).await;
    assert_eq!(created.expect(200).body["rules"], none);
    app.drain().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_rule_is_named_by_its_path() {
    let app = TestApp::start().await;
    let fence = |latitude: f64, longitude: f64, radius: f64| json!({"geofences": [{"center": {"latitude": latitude, "longitude": longitude}, "name": "F", "radius_meters": radius}]});
    let window = |days: Value, start: &str, end: &str| json!({"time_windows": [{"days_of_week": days, "start_time": start, "end_time": end}]});
    let many: Vec<String> = (0..101).map(|n| format!("operator {n}")).collect();
    let days = json!(["monday"]);
    for (rules, param) in [
        (fence(90.5, 0.0, 1.0), "rules.geofences[0].center.latitude"),
        (
            fence(0.0, -181.0, 1.0),
            "rules.geofences[0].center.longitude",
        ),
        (fence(0.0, 0.0, 0.0), "rules.geofences[0].radius_meters"),
        (
            json!({"geofences": [{"name": "F", "radius_meters": 1}]}),
            "rules.geofences[0].center",
        ),
        (json!({"max_price_per_kwh": -1}), "rules.max_price_per_kwh"),
        (json!({"max_price_per_kwh": "1"}), "rules.max_price_per_kwh"),
        (
            window(days.clone(), "8:00", "09:00"),
            "rules.time_windows[0].start_time",
        ),
        (
            window(days.clone(), "08:00", "24:00"),
            "rules.time_windows[0].end_time",
        ),
        (
            window(json!(["mon"]), "08:00", "09:00"),
            "rules.time_windows[0].days_of_week[0]",
        ),
        (
            window(json!(["monday", "monday"]), "08:00", "09:00"),
            "rules.time_windows[0].days_of_week",
        ),
        (
            json!({"allowed_operators": [""]}),
            "rules.allowed_operators[0]",
        ),
        (json!({"denied_operators": many}), "rules.denied_operators"),
        (
            json!({"allowed_operators": ["A", "A"]}),
            "rules.allowed_operators",
        ),
        (json!({"curfew": true}), "rules.curfew"),
    ] {
        let answer = app.alice.post("/v1/policies", policy(rules)).await;
        answer.expect_error(400, None, param);
    }
    for (change, param) in [
        (json!({"name": ""}), "name"),
        (json!({"rules": null}), "rules"),
        (json!({"mode": "advice"}), "mode"),
        (json!({"status": "active"}), "status"),
    ] {
        let answer = app
            .alice
            .post("/v1/policies", with(policy(json!({})), change))
            .await;
        assert_eq!(answer.error().3, Some(param));
    }
    assert!(app.alice.get("/v1/policies").await.ids().is_empty());
    app.drain().await;
}

#[tokio::test]
async fn an_update_keeps_omitted_fields_and_lists_filter_by_status() {
    let app = TestApp::start().await;
    let rules = json!({"denied_operators": ["Other"], "max_price_per_kwh": 40});
    let id = app.alice.create("/v1/policies", policy(rules)).await;
    let other = app.alice.create("/v1/policies", policy(json!({}))).await;
    let path = format!("/v1/policies/{id}");
    let change = json!({"description": "D", "mode": "suggestion", "status": "inactive",
        "rules": {"max_price_per_kwh": null, "allowed_operators": ["Voltway"]}});
    let changed = app.alice.post_ok(&path, change).await;
    let rules = json!({"allowed_operators": ["Voltway"], "denied_operators": ["Other"], "geofences": [],
        "max_price_per_kwh": null, "time_windows": []});
    assert_eq!(changed["rules"], rules);
    assert_has!(changed, {"mode": "suggestion", "status": "inactive", "description": "D"});
    let list = async |query: &str| app.alice.get(&format!("/v1/policies{query}")).await;
    assert_eq!(list("").await.ids(), [other.clone(), id.clone()]);
    assert_eq!(list("?status=active").await.ids(), [other]);
    assert_eq!(list("?status=inactive").await.ids(), [id]);
    assert_eq!(list("?status=archived").await.ids().len(), 0);
    list("?status=gone").await.expect_error(400, None, "status");
    let unknown = app.alice.get("/v1/policies/pol_1").await;
    unknown.expect_error(404, "policy_not_found", "policy");
    app.drain().await;
}

#[tokio::test]
async fn a_policy_stays_while_a_fleet_driver_or_vehicle_names_it() {
    let app = TestApp::start().await;
    let id = app.alice.create("/v1/policies", policy(json!({}))).await;
    let path = format!("/v1/policies/{id}");
    let named = |body: Value| with(body, json!({"policy_ids": [id]}));
    let post = async |path: &str, body: Value| app.alice.create(path, body).await;
    let plain = post("/v1/fleets", fleet()).await;
    for (list, body) in [
        ("/v1/fleets", fleet()),
        ("/v1/drivers", driver()),
        ("/v1/vehicles", vehicle(&plain)),
    ] {
        let owner = post(list, named(body)).await;
        let refused = app.alice.delete(&path).await;
        refused.expect_error(409, None, "policy");
        app.alice
            .post_ok(&format!("{list}/{owner}"), json!({"policy_ids": []}))
            .await;
    }
    let gone = app.alice.delete_ok(&path).await;
    assert_eq!(gone, json!({"id": id, "object": "policy", "deleted": true}));
    let again = app.alice.delete(&path).await;
    assert_eq!(again.error().2, Some("policy_not_found"));
    app.drain().await;
}

#[tokio::test]
async fn every_change_of_a_policy_is_an_event() {
    let app = TestApp::start().await;
    let receiver = Receiver::subscribed(&app.alice, &["*"]).await;
    let id = app.alice.create("/v1/policies", policy(json!({}))).await;
    app.drain().await;
    let path = format!("/v1/policies/{id}");
    app.alice.post_ok(&path, json!({"name": "Other"})).await;
    app.drain().await;
    app.alice.delete_ok(&path).await;
    app.drain().await;
    assert_eq!(
        receiver.types(),
        ["policy.created", "policy.updated", "policy.deleted"]
    );
    let updated = &receiver.received()[1].event["data"];
    assert_has!(updated, {"/object/name": "Other", "/previous_attributes/name": "Depot hours"});
}

/// A crew whose fleet has a policy with these rules.
async fn ruled(app: &TestApp, mode: &str, rules: Value) -> (tests::Crew, String) {
    let crew = app.crew(&app.alice).await;
    let body = with(policy(rules), json!({"mode": mode}));
    let id = app.alice.create("/v1/policies", body).await;
    app.alice
        .post_ok(&path_of(&crew.fleet), json!({"policy_ids": [id]}))
        .await;
    (crew, id)
}

/// Times of day around a moment that is this number of minutes from now.
fn hour(app: &TestApp, minutes: i64) -> String {
    app.in_minutes(minutes)[11..16].to_owned()
}

#[tokio::test]
async fn a_reservation_at_a_forbidden_time_is_blocked() {
    let app = TestApp::start().await;
    let times =
        json!({"time_windows": [{"start_time": hour(&app, 600), "end_time": hour(&app, 720)}]});
    let (crew, id) = ruled(&app, "enforcement", times).await;
    let reserve = async |change: Value| {
        let body = with(app.reservation(&crew, 300), change);
        app.alice.post("/v1/reservations", body).await
    };
    let blocked = reserve(json!({})).await;
    blocked.expect_error(403, "policy_blocked", None);
    assert_has!(blocked.body, {"policy": id, "rule": "time_windows"});
    let batch = json!({"operation": "create_reservation", "bodies": [app.reservation(&crew, 300)]});
    let batch = app.alice.post_ok("/v1/batches", batch).await;
    app.drain().await;
    let results = format!("{}/results", path_of(id_of(&batch)));
    let results = app.alice.get_ok(&results).await;
    assert_has!(results["data"][0]["error"], {"policy": id, "rule": "time_windows"});
    assert!(app.alice.get("/v1/reservations").await.ids().is_empty());
    // A window that can be moved into the allowed time is accepted.
    let reservation = reserve(json!({"latest_end": app.in_minutes(700)})).await;
    assert_eq!(reservation.expect(200).body["policy_warnings"], json!([]));
    let path = format!("/v1/policies/{id}");
    app.alice
        .post_ok(&path, json!({"status": "inactive"}))
        .await;
    reserve(json!({})).await.expect(200);
    app.drain().await;
}

#[tokio::test]
async fn a_reservation_far_from_every_geofence_is_blocked() {
    let app = TestApp::start().await;
    let fence = |latitude: f64| json!({"center": {"latitude": latitude, "longitude": -0.128}, "name": "F", "radius_meters": 1000});
    let rules = json!({"geofences": [fence(48.85), fence(51.6)]});
    let (crew, id) = ruled(&app, "enforcement", rules.clone()).await;
    // Ten kilometres lie between this place and the nearer fence; the search radius is eight, that of the fence one.
    let refused = app
        .alice
        .post("/v1/reservations", app.reservation(&crew, 60))
        .await;
    refused.expect_error(403, "policy_blocked", None);
    assert_has!(refused.body, {"policy": id, "rule": "geofences"});
    let nearby = with(
        app.reservation(&crew, 60),
        json!({"location": {"latitude": 51.52, "longitude": -0.128, "radius": 8000}}),
    );
    let in_fence = json!({"location": {"latitude": 51.5915, "longitude": -0.128}});
    app.station(in_fence).await;
    app.alice.post_ok("/v1/reservations", nearby).await;
    let (crew, id) = ruled(&app, "suggestion", rules).await;
    let warned = app
        .alice
        .post_ok("/v1/reservations", app.reservation(&crew, 60))
        .await;
    let warning = &warned["policy_warnings"][0];
    assert_has!(warning, {"policy": id, "rule": "geofences"});
    app.drain().await;
}

#[tokio::test]
async fn policies_of_driver_and_vehicle_count_as_well() {
    let (app, crew) = TestApp::with_crew().await;
    let times =
        json!({"time_windows": [{"start_time": hour(&app, 600), "end_time": hour(&app, 720)}]});
    let id = app.alice.create("/v1/policies", policy(times)).await;
    for owner in [
        format!("/v1/drivers/{}", crew.driver),
        format!("/v1/vehicles/{}", crew.vehicle),
    ] {
        let set = async |ids: Value| {
            let change = json!({"policy_ids": ids});
            app.alice.post_ok(&owner, change).await;
        };
        set(json!([id])).await;
        let body = app.reservation(&crew, 300);
        let blocked = app.alice.post("/v1/reservations", body.clone()).await;
        assert_eq!(blocked.error().2, Some("policy_blocked"), "{owner}");
        set(json!([])).await;
        app.alice.post_ok("/v1/reservations", body).await;
    }
    app.drain().await;
}

#[tokio::test]
async fn a_suggestion_warns_and_blocks_nothing() {
    let app = TestApp::start().await;
    let rules = json!({"denied_operators": ["Nobody"],
        "time_windows": [{"start_time": hour(&app, 600), "end_time": hour(&app, 720)}]});
    let (crew, id) = ruled(&app, "suggestion", rules).await;
    let reservation = app
        .alice
        .post_ok("/v1/reservations", app.reservation(&crew, 120))
        .await;
    let warnings = json!([{"policy": id, "rule": "time_windows",
        "message": "The policy \"Depot hours\" does not allow this time."}]);
    assert_eq!(reservation["policy_warnings"], warnings);
    app.advance(125 * 60).await;
    let path = format!("/v1/reservations/{}", id_of(&reservation));
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "policy_warnings": null});
}

#[tokio::test]
async fn a_suggestion_warns_of_the_station_that_is_chosen() {
    let app = TestApp::start().await;
    app.station(json!({})).await;
    let rules = json!({"denied_operators": ["Voltway"], "max_price_per_kwh": 1});
    let (crew, id) = ruled(&app, "suggestion", rules).await;
    let place = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 500}});
    let by_window = with(app.reservation(&crew, 300), place.clone());
    let need = json!({"energy_wh": 9_000, "ready_by": app.in_minutes(200)});
    let by_need = json!({"driver": crew.driver, "vehicle": crew.vehicle, "connector_type": ["Type2"], "need": need});
    for body in [by_window, with(by_need, place)] {
        let reserved = app.alice.post_ok("/v1/reservations", body.clone()).await;
        let warnings = &reserved["policy_warnings"];
        assert_has!(warnings[0], {"policy": id, "rule": "denied_operators"});
        assert_has!(warnings[1], {"policy": id, "rule": "max_price_per_kwh"});
    }
    app.drain().await;
}

#[tokio::test]
async fn a_reservation_is_refused_where_no_station_is_allowed() {
    let app = TestApp::start().await;
    // It has a part of the area, and not the station.
    let beside = json!({"center": {"latitude": 10.01, "longitude": 10.0}, "name": "F", "radius_meters": 700});
    for (rules, rule) in [
        (
            json!({"allowed_operators": ["Nobody"]}),
            "allowed_operators",
        ),
        (json!({"denied_operators": ["Voltway"]}), "denied_operators"),
        (json!({"max_price_per_kwh": 1}), "max_price_per_kwh"),
        (json!({"geofences": [beside]}), "geofences"),
    ] {
        let (crew, id) = ruled(&app, "enforcement", rules).await;
        let reserve = async || {
            let body = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 500}});
            let body = with(app.reservation(&crew, 60), body);
            app.alice.post("/v1/reservations", body).await
        };
        // Nothing is refused yet: there is no station.
        reserve().await.expect(200);
        let station = app.station(json!({})).await;
        let blocked = reserve().await;
        blocked.expect_error(403, "policy_blocked", None);
        assert_has!(blocked.body, {"policy": id, "rule": rule});
        // It is refused whatever the state of the station is.
        let broken = json!([{"id": "1", "power": 22.0, "status": "faulted", "type": "Type2"}]);
        app.change_station(&station, json!({"connectors": broken}))
            .await;
        reserve().await.expect_error(403, "policy_blocked", None);
        app.change_station(&station, json!({"status": "removed"}))
            .await;
    }
}

#[tokio::test]
async fn a_cap_that_the_present_level_meets_refuses_nothing() {
    let app = TestApp::start().await;
    let (crew, _) = ruled(&app, "enforcement", json!({"max_price_per_kwh": 35})).await;
    let reserve = async || {
        let place = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 500}});
        let body = with(app.reservation(&crew, 20), place);
        app.alice.post("/v1/reservations", body).await
    };
    // Half of the window costs 30 cents per kWh, and the rest twice as much.
    let energy = |price: i64, restrictions: serde_json::Value| {
        json!({"currency": "usd", "price": price, "step_size": 1, "tax": "vat", "tax_included": true,
            "tax_percent": "20", "type": "ENERGY", "restrictions": restrictions})
    };
    let time = |minutes: i64| app.in_minutes(minutes)[11..16].to_owned();
    let cheap = json!({"start_time": time(0), "end_time": time(50)});
    let pricing = json!([energy(30, cheap), energy(60, json!(null))]);
    app.station(json!({"pricing": pricing, "timezone": "UTC"}))
        .await;
    reserve().await.expect_error(403, "policy_blocked", None);
    let level = json!({"battery": {"level": 95}});
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    app.alice.post_ok(&telemetry, level).await;
    reserve().await.expect(200);
}

#[tokio::test]
async fn a_reservation_fails_when_policies_refuse_every_station() {
    let app = TestApp::start().await;
    let (crew, id) = ruled(&app, "enforcement", json!({})).await;
    let allow = async |operators: Value| {
        let change = json!({"rules": {"allowed_operators": operators}});
        app.alice.post_ok(&path_of(&id), change).await;
    };
    let reserve = async || {
        let body = app.reservation(&crew, 60);
        app.alice.create("/v1/reservations", body).await
    };
    let refused = reserve().await;
    allow(json!(["Nobody"])).await;
    app.advance(65 * 60).await;
    let path = format!("/v1/reservations/{refused}");
    let failed = app.alice.get_ok(&path).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "policy_blocked"});
    let summary = &failed["match_summary"]["refused"];
    assert!(summary["policy"].as_u64() > Some(0), "{summary}");
    assert_eq!(summary["booked"], 0);
    // After a change of the policy, the last attempt succeeds.
    allow(Value::Null).await;
    let allowed = reserve().await;
    allow(json!(["Nobody"])).await;
    app.advance(35 * 60).await;
    allow(Value::Null).await;
    app.advance(30 * 60).await;
    let path = format!("/v1/reservations/{allowed}");
    assert_eq!(app.alice.get_ok(&path).await["status"], "confirmed");
}

#[tokio::test]
async fn a_confirmed_station_keeps_every_rule() {
    let (app, crew) = TestApp::with_crew().await;
    let confirm = async || {
        let body = app.reservation(&crew, 60);
        let id = app.alice.create("/v1/reservations", body).await;
        app.advance(31 * 60).await;
        let path = format!("/v1/reservations/{id}");
        let reservation = app.alice.get_ok(&path).await;
        let station = reservation["charging_station"].as_str().expect("a station");
        let shown = format!("/v1/charging_stations/{station}");
        let station = app.alice.get_ok(&shown).await;
        app.alice
            .post_ok(&format!("{path}/cancel"), json!({}))
            .await;
        station
    };
    let first = confirm().await;
    let place = first["location"].clone();
    let rules = json!({"denied_operators": [first["operator"]],
        "geofences": [{"center": place, "name": "Around", "radius_meters": 20_000}]});
    let id = app.alice.create("/v1/policies", policy(rules)).await;
    app.alice
        .post_ok(&path_of(&crew.vehicle), json!({"policy_ids": [id]}))
        .await;
    assert_ne!(confirm().await["operator"], first["operator"]);
    app.drain().await;
}

/// A price in dollars with its tax, for a whole session, an hour or a kWh.
fn dollars(kind: &str, price: i64) -> Value {
    json!({"currency": "usd", "price": price, "step_size": 1, "tax": "vat", "tax_included": true, "tax_percent": "20",
        "type": kind})
}

/// The same between two times of the day.
fn between(start: &str, end: &str, price: Value) -> Value {
    with(
        price,
        json!({"restrictions": {"start_time": start, "end_time": end}}),
    )
}

#[tokio::test]
async fn a_price_cap_counts_start_fee_and_charging_time() {
    let app = TestApp::start().await;
    let (crew, id) = ruled(&app, "enforcement", json!({"max_price_per_kwh": 30})).await;
    let by_the_hour = json!([dollars("ENERGY", 20), dollars("TIME", 1200)]);
    let station = app.station(json!({"pricing": by_the_hour})).await;
    let start = async || {
        let session = app.session(&crew, &station);
        app.alice.post("/v1/charging_sessions", session).await
    };
    assert_eq!(start().await.expect(403).body["rule"], "max_price_per_kwh");
    // 48 kWh at 22 kW: 20 cents and an hour's 22nd part of 12 dollars for each.
    let set_cap = async |cap: f64| {
        let change = json!({"rules": {"max_price_per_kwh": cap}});
        let path = format!("/v1/policies/{id}");
        app.alice.post_ok(&path, change).await;
    };
    set_cap(74.5).await;
    start().await.expect(403);
    set_cap(74.6).await;
    // The battery takes 48 kWh, the meter counts 48 / 0.9 = 53.33 with the losses: 10 dollars for the start are 18.75 cents for each.
    let with_start_fee = json!([dollars("ENERGY", 20), dollars("FLAT", 1000)]);
    app.change_station(&station, json!({"pricing": with_start_fee}))
        .await;
    set_cap(38.7).await;
    start().await.expect(403);
    set_cap(38.8).await;
    start().await.expect(200);
    app.drain().await;
}

#[tokio::test]
async fn a_confirmed_price_is_refused_only_after_a_change() {
    let app = TestApp::start().await;
    let (crew, _) = ruled(&app, "enforcement", json!({"max_price_per_kwh": 30})).await;
    // The 22 kWh of an hour cost 24.5 cents each, and few of them more than 30.
    let pricing = json!([dollars("ENERGY", 20), dollars("FLAT", 100)]);
    let station = app.station(json!({"pricing": pricing})).await;
    let place = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 500}});
    let body = with(app.reservation(&crew, 20), place);
    let reservation = app.alice.create("/v1/reservations", body).await;
    app.advance(5).await;
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let level = json!({"battery": {"level": 97}});
    app.alice.post_ok(&telemetry, level).await;
    let euros = json!({"preferences": {"currency": "eur"}});
    app.alice.post_ok(&path_of(&crew.driver), euros).await;
    app.advance(20 * 60).await;
    let reserved = app.alice.get_ok(&path_of(&reservation)).await;
    assert_has!(reserved, {"status": "confirmed", "currency": "usd"});
    let start = async |expected: u16| {
        let connector = json!({"connector": reserved["connector"]});
        let session = with(app.session(&crew, &station), connector);
        let started = app.alice.post("/v1/charging_sessions", session).await;
        started.expect(expected);
    };
    let dear = json!([dollars("ENERGY", 40)]);
    app.change_station(&station, json!({"pricing": dear})).await;
    start(403).await;
    app.change_station(&station, json!({"pricing": pricing}))
        .await;
    start(200).await;
    app.drain().await;
}

#[tokio::test]
async fn a_price_cap_counts_the_hours_that_are_charged() {
    let app = TestApp::start().await;
    // It is ten in the morning.
    let (crew, _) = ruled(&app, "enforcement", json!({"max_price_per_kwh": 30})).await;
    let prices = json!([
        between("08:00", "13:00", dollars("ENERGY", 25)),
        dollars("ENERGY", 60),
    ]);
    let station = app.station(json!({"pricing": prices})).await;
    let session = app.session(&crew, &station);
    let session = app.alice.post("/v1/charging_sessions", session).await;
    let path = format!("/v1/charging_sessions/{}/stop", session.expect(200).id());
    app.alice.post_ok(&path, json!({})).await;
    app.advance(2 * 3600).await;
    // At noon less than half of two hours is cheap.
    let session = app.session(&crew, &station);
    let session = app.alice.post("/v1/charging_sessions", session).await;
    assert_eq!(session.expect(403).body["rule"], "max_price_per_kwh");
}
