//! `/v1/drivers`, with attach and detach.

use kernel::{Error, Id, Origin};
use models::Driver;
use serde_json::json;
use table::fleets::Counter;
use tests::{TestApp, assert_has, cases, driver, fleet, id_of, path_of, vehicle, with};

#[tokio::test]
async fn a_new_driver_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let driver = app.alice.post_ok("/v1/drivers", driver()).await;
    let now = &driver["created"];
    let want = json!({"id": id_of(&driver), "object": "driver", "created": now, "email": "ada@fleet.example", "fleets": [],
        "license_number": null, "metadata": {}, "name": "Ada Byron", "phone": null, "policy_ids": [],
        "preferences": {"charging_speed": "any", "currency": "usd", "default_payment_method": null, "max_price_per_kwh": null,
            "notifications": true, "preferred_charging_stations": [], "preferred_cpos": []},
        "status": "active", "updated": now, "vehicles": [], "wallet_balance": 0});
    assert_eq!(driver, want);
    assert_eq!(app.alice.get_ok(&path_of(id_of(&driver))).await, want);
    assert!(id_of(&driver).starts_with("drv_"));
}

#[tokio::test]
async fn an_update_changes_what_it_names_and_null_clears() {
    let app = TestApp::start().await;
    let station = app
        .alice
        .get("/v1/charging_stations?limit=1")
        .await
        .ids()
        .remove(0);
    let full = json!({"phone": "1", "license_number": "L1", "preferences": {"charging_speed": "fast", "currency": "gbp",
        "max_price_per_kwh": 55, "preferred_charging_stations": [station], "preferred_cpos": ["Voltway"]}});
    let driver = app.alice.post_ok("/v1/drivers", with(driver(), full)).await;
    let path = format!("/v1/drivers/{}", id_of(&driver));
    let change =
        json!({"phone": null, "preferences": {"max_price_per_kwh": null, "preferred_cpos": []}});
    let changed = app.alice.post_ok(&path, change).await;
    let preferences = json!({"charging_speed": "fast", "currency": "gbp", "default_payment_method": null,
        "max_price_per_kwh": null, "notifications": true, "preferred_charging_stations": [station], "preferred_cpos": []});
    assert_has!(changed, {"phone": null, "license_number": "L1"});
    assert_eq!(changed["preferences"], preferences);
    for (wrong, param) in cases! {
        {"preferences": {"charging_speed": "warp"}} => "preferences.charging_speed",
        {"preferences": {"max_price_per_kwh": -1}} => "preferences.max_price_per_kwh",
        {"status": "gone"} => "status",
        {"email": null} => "email",
        {"fleets": []} => "fleets",
    } {
        assert_eq!(
            app.alice.post(&path, wrong.clone()).await.error().3,
            Some(param),
            "{wrong}"
        );
    }
    let unknown = json!({"preferences": {"preferred_charging_stations": ["chst_1"]}});
    assert_eq!(
        app.alice.post(&path, unknown).await.error().2,
        Some("charging_station_not_found")
    );
}

#[tokio::test]
async fn attaching_and_detaching_conflict_when_there_is_nothing_to_do() {
    let app = TestApp::start().await;
    let (first_fleet, second_fleet) = (
        app.alice.create("/v1/fleets", fleet()).await,
        app.alice.create("/v1/fleets", fleet()).await,
    );
    let id = app.alice.create("/v1/drivers", driver()).await;
    let act = async |verb: &str, fleet: &str| {
        app.alice
            .post(&format!("/v1/drivers/{id}/{verb}"), json!({"fleet": fleet}))
            .await
    };
    let refused = act("detach", &first_fleet).await;
    refused.expect_error(409, "driver_fleet_conflict", "fleet");
    assert_eq!(
        act("attach", &first_fleet).await.expect(200).body["fleets"],
        json!([first_fleet])
    );
    let refused = act("attach", &first_fleet).await;
    refused.expect_error(409, "driver_fleet_conflict", "fleet");
    assert_eq!(
        act("attach", &second_fleet).await.expect(200).body["fleets"],
        json!([first_fleet, second_fleet])
    );
    assert_eq!(
        act("detach", &first_fleet).await.expect(200).body["fleets"],
        json!([second_fleet])
    );
    assert_eq!(
        act("attach", "flt_1").await.error().2,
        Some("fleet_not_found")
    );
    app.alice
        .post_ok(&path_of(&first_fleet), json!({"status": "suspended"}))
        .await;
    let refused = act("attach", &first_fleet).await;
    refused.expect_error(409, "driver_fleet_conflict", "fleet");
    let body = app
        .alice
        .post(&format!("/v1/drivers/{id}/attach"), json!({}))
        .await;
    body.expect_error(400, None, "fleet");
}

#[tokio::test]
async fn the_list_is_filtered_by_fleet_and_status() {
    let (app, crew) = TestApp::with_crew().await;
    let alone = app.alice.create("/v1/drivers", driver()).await;
    assert_eq!(
        app.alice.get("/v1/drivers").await.ids(),
        [alone.clone(), crew.driver.clone()]
    );
    assert_eq!(
        app.alice
            .get(&format!("/v1/drivers?fleet={}", crew.fleet))
            .await
            .ids(),
        std::slice::from_ref(&crew.driver)
    );
    app.alice
        .post_ok(&path_of(&crew.driver), json!({"status": "suspended"}))
        .await;
    assert_eq!(
        app.alice.get("/v1/drivers?status=active").await.ids(),
        [alone]
    );
    assert!(
        app.alice
            .get(&format!("/v1/drivers?fleet={}&status=active", crew.fleet))
            .await
            .ids()
            .is_empty()
    );
    assert_eq!(
        app.alice.get("/v1/drivers?fleet=flt_1").await.error().2,
        Some("fleet_not_found")
    );
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_named() {
    let app = TestApp::start().await;
    for name in ["name", "email"] {
        let mut body = driver();
        body.as_object_mut().expect("an object").remove(name);
        app.alice
            .post("/v1/drivers", body)
            .await
            .expect_error(400, None, name);
    }
    let many: Vec<String> = (0..101).map(|n| format!("network {n}")).collect();
    for (change, param) in cases! {
        {"name": "n".repeat(257)} => "name",
        {"email": "a@"} => "email",
        {"phone": 1} => "phone",
        {"vehicles": []} => "vehicles",
        {"wallet_balance": 5} => "wallet_balance",
        {"preferences": {"preferred_cpos": many}} => "preferences.preferred_cpos",
        {"preferences": {"max_price_per_kwh": 0.5}} => "preferences.max_price_per_kwh",
    } {
        let answer = app.alice.post("/v1/drivers", with(driver(), change)).await;
        answer.expect_error(400, None, param);
    }
    assert!(app.alice.get("/v1/drivers").await.ids().is_empty());
}

#[tokio::test]
async fn only_active_drivers_attach_and_only_to_their_accounts_fleets() {
    let (app, crew) = TestApp::with_crew().await;
    let other = app.alice.create("/v1/fleets", fleet()).await;
    let bob = app.other_account(kernel::origin::Mode::Test).await;
    let theirs = bob.create("/v1/fleets", fleet()).await;
    let path = format!("/v1/drivers/{}", crew.driver);
    let act = async |verb: &str, fleet: &str| {
        app.alice
            .post(&format!("{path}/{verb}"), json!({"fleet": fleet}))
            .await
    };
    for verb in ["attach", "detach"] {
        act(verb, &theirs)
            .await
            .expect_error(404, "fleet_not_found", "fleet");
    }
    app.alice
        .post_ok(&path, json!({"status": "suspended"}))
        .await;
    act("attach", &other)
        .await
        .expect_error(409, "driver_fleet_conflict", "fleet");
    // Leaving is always possible, also for a suspended driver from an archived fleet.
    app.alice
        .post_ok(&path_of(&crew.fleet), json!({"status": "archived"}))
        .await;
    assert_has!(act("detach", &crew.fleet).await.expect(200).body, {"fleets": [], "status": "suspended"});
    for (client, fleet) in [
        (&app.alice, &crew.fleet),
        (&app.alice, &other),
        (&bob, &theirs),
    ] {
        let shown = client.get_ok(&path_of(&fleet)).await;
        assert_eq!(shown["total_drivers"], 0);
    }
}

#[tokio::test]
async fn a_detached_driver_may_no_longer_use_vehicles_of_the_fleet() {
    let (app, crew, station) = TestApp::with_station().await;
    let other = app.alice.create("/v1/fleets", fleet()).await;
    let drivers = json!({"drivers": [crew.driver]});
    let name = async |fleet: &str| {
        let body = with(vehicle(fleet), drivers.clone());
        app.alice.create("/v1/vehicles", body).await
    };
    let (left, kept) = (name(&crew.fleet).await, name(&other).await);
    app.drain().await;
    let detach = format!("{}/detach", path_of(&crew.driver));
    let body = json!({"fleet": crew.fleet});
    let shown = app.alice.post_ok(&detach, body).await;
    assert_has!(shown, {"fleets": [], "vehicles": [kept]});
    assert_eq!(app.alice.get_ok(&path_of(&crew.driver)).await, shown);
    assert_has!(app.alice.get_ok(&path_of(&left)).await, {"drivers": []});
    assert_has!(app.alice.get_ok(&path_of(&kept)).await, {"drivers": [crew.driver]});
    let start = with(app.session(&crew, &station), json!({"vehicle": left}));
    let refused = app.alice.post("/v1/charging_sessions", start).await;
    refused.expect_error(400, "owner_scope_invalid", "driver");
    app.drain().await;
    let events = app.alice.get_ok("/v1/events?type=vehicle.updated").await;
    let events = events["data"].as_array().expect("events").clone();
    let [event] = &events[..] else {
        panic!("one event: {events:?}")
    };
    let data = json!([
        event["data"]["object"]["id"],
        event["data"]["previous_attributes"]["drivers"]
    ]);
    assert_eq!(data, json!([left, [crew.driver]]));
    assert!(event["request"]["id"].is_string(), "{event}");
}

#[tokio::test]
async fn a_driver_of_a_hundred_vehicles_can_be_detached() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(vehicle(&crew.fleet), json!({"drivers": [crew.driver]}));
    for _ in 0..100 {
        app.alice.post_ok("/v1/vehicles", body.clone()).await;
    }
    let path = path_of(&crew.driver);
    let body = json!({"fleet": crew.fleet});
    let shown = app.alice.post_ok(&format!("{path}/detach"), body).await;
    assert_has!(shown, {"fleets": [], "vehicles": []});
    let vehicles = app.alice.get_ok("/v1/vehicles?limit=100").await;
    let vehicles = vehicles["data"].as_array().expect("vehicles");
    assert!(
        vehicles
            .iter()
            .all(|vehicle| vehicle["drivers"] == json!([]))
    );
    app.drain().await;
}

/// A request that has read a driver may start a session in a fleet after the driver has left it.
#[tokio::test]
async fn a_session_that_begins_beside_a_detachment_ends_a_minute_later() {
    let (app, crew, station) = TestApp::with_station().await;
    app.needs("a clock that can be moved");
    let origin = Origin::background(app.alice.tenant(), app.now());
    let (store, tenant) = (&app.app().store, &origin.tenant);
    let (id, fleet) = (
        Id::from(crew.driver.as_str()),
        Id::from(crew.fleet.as_str()),
    );
    let drivers = json!({"drivers": [crew.driver]});
    let own = with(vehicle(&crew.fleet), drivers);
    let own = app.alice.create("/v1/vehicles", own).await;
    for (vehicle, status) in [(&own, "active"), (&crew.vehicle, "completed")] {
        let session = with(app.session(&crew, &station), json!({"vehicle": vehicle}));
        let session = app.alice.create("/v1/charging_sessions", session).await;
        let mut driver = store.load::<Driver>(tenant, &id).await.expect("a driver");
        let left = driver.detach_from(&fleet, &[], origin.now);
        left.expect("the driver leaves the fleet");
        let mut tx = store.begin(&origin);
        tx.save(&mut driver).expect("a change");
        tx.leave(&fleet, &id);
        tx.count(&fleet, Counter::Drivers, -1, Error::Contended);
        tx.commit_without_response().await.expect("it is saved");
        app.drain().await;
        app.advance(60).await;
        let path = path_of(&session);
        assert_eq!(app.alice.get_ok(&path).await["status"], status);
        let attach = format!("{}/attach", path_of(&crew.driver));
        let body = json!({"fleet": crew.fleet});
        app.alice.post_ok(&attach, body).await;
        if status == "active" {
            app.alice.post_ok(&format!("{path}/stop"), json!({})).await;
        }
    }
}

#[tokio::test]
async fn of_many_attaches_and_of_many_detaches_at_once_one_wins() {
    let app = TestApp::start().await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let driver = app.alice.create("/v1/drivers", driver()).await;
    for (verb, drivers) in [("attach", 1), ("detach", 0)] {
        let path = format!("/v1/drivers/{driver}/{verb}");
        let requests = (0..8).map(|_| {
            let (client, path, body) = (app.alice.clone(), path.clone(), json!({"fleet": fleet}));
            tokio::spawn(async move { client.post(&path, body).await.status })
        });
        let mut statuses = Vec::new();
        for request in requests.collect::<Vec<_>>() {
            statuses.push(request.await.expect("an answer"));
        }
        let won = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!(won, 1, "{verb}: {statuses:?}");
        let expected = |status: &u16| matches!(status, 200 | 409 | 503);
        assert!(statuses.iter().all(expected), "{verb}: {statuses:?}");
        let shown = app.alice.get_ok(&path_of(&fleet)).await;
        assert_eq!(shown["total_drivers"], drivers, "{verb}");
        let listed = app
            .alice
            .get(&format!("/v1/drivers?fleet={fleet}"))
            .await
            .ids();
        assert_eq!(listed.len(), drivers, "{verb}");
    }
}

#[tokio::test]
async fn drivers_and_fleets_are_found_by_email() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(driver(), json!({"email": "Grace@fleet.example"}));
    let grace = app.alice.create("/v1/drivers", body).await;
    let list = async |path: String| app.alice.get(&path).await.expect(200).ids();
    let found = list("/v1/drivers?email=grace@FLEET.example".into()).await;
    assert_eq!(found, [grace.as_str()]);
    let in_fleet = format!("/v1/drivers?email=grace@fleet.example&fleet={}", crew.fleet);
    assert_eq!(list(in_fleet.clone()).await, [""; 0]);
    let attach = format!("/v1/drivers/{grace}/attach");
    let fleet = json!({"fleet": crew.fleet});
    app.alice.post_ok(&attach, fleet).await;
    assert_eq!(list(in_fleet).await, [grace.as_str()]);
    let path = format!("/v1/fleets/{}", crew.fleet);
    let change = json!({"email": "depot@fleet.example"});
    app.alice.post_ok(&path, change).await;
    let found = list("/v1/fleets?email=Depot@fleet.example".into()).await;
    assert_eq!(found, [crew.fleet.as_str()]);
    let refused = app.alice.get("/v1/fleets?email=nobody").await;
    refused.expect_error(400, None, "email");
    app.drain().await;
}

#[tokio::test]
async fn lists_of_a_driver_and_a_fleet_need_both_to_belong_together() {
    let (app, crew) = TestApp::with_crew().await;
    let by_both = format!("driver={}&fleet={}", crew.driver, crew.fleet);
    let list = async |name: &str| app.alice.get(&format!("/v1/{name}?{by_both}")).await;
    let names = [
        "charging_sessions",
        "reservations",
        "transactions",
        "vehicles",
    ];
    for name in names {
        list(name).await.expect(200);
    }
    let detach = format!("{}/detach", path_of(&crew.driver));
    let body = json!({"fleet": crew.fleet});
    app.alice.post_ok(&detach, body).await;
    for name in names {
        let refused = list(name).await;
        refused.expect_error(404, "driver_or_fleet_not_found", "driver");
    }
    app.drain().await;
}

#[tokio::test]
async fn a_driver_of_a_hundred_vehicles_can_be_deleted() {
    let (app, crew) = TestApp::with_crew().await;
    let named = app.alice.create("/v1/drivers", driver()).await;
    let body = with(vehicle(&crew.fleet), json!({"drivers": [named]}));
    for _ in 0..100 {
        app.alice.post_ok("/v1/vehicles", body.clone()).await;
    }
    let one_more = app.alice.post("/v1/vehicles", body.clone()).await;
    one_more.expect_error(409, None, "drivers");
    let path = path_of(&named);
    let last = app.alice.get_ok(&path).await["vehicles"][99].clone();
    app.alice.delete_ok(&path).await;
    app.alice.get(&path).await.expect(404);
    let last = path_of(last.as_str().expect("an id"));
    assert_eq!(app.alice.get_ok(&last).await["drivers"], json!([]));
    let unknown = app.alice.post("/v1/vehicles", body).await;
    unknown.expect_error(404, "vehicle_owner_not_found", "drivers");
    app.drain().await;
}
