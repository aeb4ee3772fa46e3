//! `/v1/vehicles`.

use kernel::{Mode, Origin};
use models::{Driver, Vehicle, VehicleTelemetry};
use serde_json::json;
use tests::{TestApp, assert_has, cases, id_of, path_of, vehicle, with};

#[tokio::test]
async fn a_new_vehicle_has_every_field_of_the_specification() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(
        vehicle(&crew.fleet),
        json!({"drivers": [crew.driver], "information": {"make": "Example"}}),
    );
    let vehicle = app.alice.post_ok("/v1/vehicles", body).await;
    let now = &vehicle["created"];
    let want = json!({"id": id_of(&vehicle), "object": "vehicle", "battery_capacity": 60000, "charging_curve": null, "charging_loss": null,
        "charging_standard": "Type2", "created": now, "drivers": [crew.driver], "fleet": crew.fleet,
        "information": {"make": "Example", "model": "", "year": ""}, "max_ac_power": 22080, "max_dc_power": null,
        "metadata": {}, "policy_ids": [],
        "registration_plate": "AB12 CDE", "site": null, "status": "active", "telemetry": vehicle["telemetry"], "updated": now,
        "vin": "WVWZZZ1KZAW000001"});
    assert_eq!(vehicle, want);
    assert!(
        id_of(&vehicle).starts_with("veh_")
            && vehicle["telemetry"]
                .as_str()
                .is_some_and(|id| id.starts_with("vtel_"))
    );
    assert_eq!(app.alice.get_ok(&path_of(id_of(&vehicle))).await, want);
    let driver = app.alice.get_ok(&path_of(&crew.driver)).await;
    assert_eq!(driver["vehicles"], json!([id_of(&vehicle)]));
}

#[tokio::test]
async fn owners_must_exist_and_be_the_callers() {
    let (app, crew) = TestApp::with_crew().await;
    let bob = app.other_account(Mode::Test).await;
    let theirs = app.crew(&bob).await;
    let unknown = |param| {
        (
            404,
            "invalid_request_error",
            Some("vehicle_owner_not_found"),
            Some(param),
        )
    };
    for fleet in ["flt_1", theirs.fleet.as_str(), crew.driver.as_str()] {
        assert_eq!(
            app.alice.post("/v1/vehicles", vehicle(fleet)).await.error(),
            unknown("fleet"),
            "{fleet}"
        );
    }
    for driver in ["drv_1", theirs.driver.as_str()] {
        let body = with(vehicle(&crew.fleet), json!({"drivers": [driver]}));
        assert_eq!(
            app.alice.post("/v1/vehicles", body).await.error(),
            unknown("drivers"),
            "{driver}"
        );
    }
    let fleet = app.alice.get_ok(&path_of(&crew.fleet)).await;
    assert_eq!(
        fleet["total_vehicles"], 1,
        "what was refused is not counted"
    );
    app.alice
        .post_ok(&path_of(&crew.fleet), json!({"status": "suspended"}))
        .await;
    let refused = app.alice.post("/v1/vehicles", vehicle(&crew.fleet)).await;
    refused.expect_error(409, None, "fleet");
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_named() {
    let (app, crew) = TestApp::with_crew().await;
    for (change, param) in cases! {
        {"battery_capacity": 0} => "battery_capacity",
        {"battery_capacity": 1.5} => "battery_capacity",
        {"battery_capacity": 100_000_001} => "battery_capacity",
        {"registration_plate": "\u{200b}\u{2060}"} => "registration_plate",
        {"charging_standard": "Tesla"} => "charging_standard",
        {"max_ac_power": 0} => "max_ac_power",
        {"max_dc_power": 0} => "max_dc_power",
        {"charging_curve": []} => "charging_curve",
        {"charging_curve": [{"level": 5, "power_w": 1}, {"level": 5, "power_w": 2}]} => "charging_curve",
        {"vin": ""} => "vin",
        {"drivers": [crew.driver, crew.driver]} => "drivers",
        {"information": {"colour": "red"}} => "information.colour",
    } {
        let answer = app
            .alice
            .post("/v1/vehicles", with(vehicle(&crew.fleet), change))
            .await;
        answer.expect_error(400, None, param);
    }
    for name in [
        "fleet",
        "registration_plate",
        "vin",
        "battery_capacity",
        "charging_standard",
    ] {
        let mut body = vehicle(&crew.fleet);
        body.as_object_mut().expect("an object").remove(name);
        assert_eq!(
            app.alice.post("/v1/vehicles", body).await.error().3,
            Some(name)
        );
    }
}

#[tokio::test]
async fn information_is_merged_key_by_key() {
    let (app, crew) = TestApp::with_crew().await;
    let path = format!("/v1/vehicles/{}", crew.vehicle);
    app.alice
        .post_ok(&path, json!({"information": {"make": "A", "year": "2026"}}))
        .await;
    let changed = app
        .alice
        .post(
            &path,
            json!({"information": {"model": "B", "year": ""}, "status": "inactive"}),
        )
        .await;
    assert_has!(changed.body, {"information": {"make": "A", "model": "B", "year": ""}, "status": "inactive"});
}

#[tokio::test]
async fn the_list_is_filtered_by_fleet_driver_and_status() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let body = with(vehicle(&other.fleet), json!({"drivers": [crew.driver]}));
    let shared = app.alice.create("/v1/vehicles", body).await;
    let list = async |query: String| {
        app.alice
            .get(&format!("/v1/vehicles{query}"))
            .await
            .expect(200)
            .ids()
    };
    assert_eq!(
        list(String::new()).await,
        [shared.clone(), other.vehicle.clone(), crew.vehicle.clone()]
    );
    assert_eq!(
        list(format!("?fleet={}", other.fleet)).await,
        [shared.clone(), other.vehicle.clone()]
    );
    assert_eq!(
        list(format!("?driver={}", crew.driver)).await,
        std::slice::from_ref(&shared)
    );
    assert!(
        list(format!("?driver={}&fleet={}", crew.driver, crew.fleet))
            .await
            .is_empty()
    );
    app.alice
        .post_ok(&path_of(&other.vehicle), json!({"status": "retired"}))
        .await;
    assert_eq!(
        list(format!("?fleet={}&status=active", other.fleet)).await,
        [shared]
    );
    assert_eq!(
        app.alice.get("/v1/vehicles?driver=drv_1").await.error().2,
        Some("driver_not_found")
    );
    assert_eq!(
        app.alice.get("/v1/vehicles?fleet=flt_1").await.error().2,
        Some("fleet_not_found")
    );
}

#[tokio::test]
async fn the_list_is_filtered_by_site() {
    let (app, crew) = TestApp::with_crew().await;
    let site = json!({"name": "Depot", "time_zone": "UTC"});
    let site = app.alice.create("/v1/sites", site).await;
    let there = with(vehicle(&crew.fleet), json!({"site": site}));
    let there = app.alice.create("/v1/vehicles", there).await;
    let list = format!("/v1/vehicles?site={site}");
    assert_eq!(app.alice.get(&list).await.expect(200).ids(), [there]);
    let unknown = app.alice.get("/v1/vehicles?site=site_1").await;
    assert_eq!(unknown.error().2, Some("site_not_found"));
}

#[tokio::test]
async fn telemetry_is_what_was_last_read() {
    let (app, crew) = TestApp::with_crew().await;
    let path = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let none = app.alice.get(&path).await;
    none.expect_error(404, "vehicle_telemetry_not_found", "vehicle_telemetry");
    let reading = json!({"battery": {"level": 64.5, "range": 210_000, "status": "idle"},
        "location": {"latitude": 51.5, "longitude": -0.1}});
    let first = app.alice.post_ok(&path, reading).await;
    let at = &first["updated"];
    let vehicle = app.alice.get_ok(&path_of(&crew.vehicle)).await;
    let want = json!({"id": vehicle["telemetry"], "object": "vehicle_telemetry", "created": at, "updated": at,
        "battery": {"capacity": 60_000, "level": 64.5, "range": 210_000, "status": "idle", "temperature": null, "updated": at},
        "firmware_version": null, "location": {"latitude": 51.5, "longitude": -0.1, "updated": at}, "odometer": null,
        "vehicle": crew.vehicle});
    assert_eq!(first, want);
    app.advance(5).await;
    let next = json!({"odometer": {"unit": "MILES", "value": 12.5}, "firmware_version": "1.2"});
    let second = app.alice.post_ok(&path, next).await;
    assert_has!(second, {"battery": first["battery"], "location": first["location"]});
    assert_has!(second, {"/odometer/unit": "MILES", "firmware_version": "1.2"});
    assert_ne!(second["updated"], *at);
    assert_eq!(app.alice.get_ok(&path).await, second);
    for (wrong, param) in cases! {
        {"battery": {"level": 101}} => "battery.level",
        {"battery": {}} => "battery.level",
        {"battery": {"level": 1, "status": "hot"}} => "battery.status",
        {"location": {"latitude": 91, "longitude": 0}} => "location.latitude",
        {"odometer": {"unit": "M", "value": 1}} => "odometer.unit",
        {"odometer": {"unit": "KMS", "value": -1}} => "odometer.value",
    } {
        assert_eq!(
            app.alice.post(&path, wrong.clone()).await.error().3,
            Some(param),
            "{wrong}"
        );
    }
    app.alice
        .get("/v1/vehicles/veh_1/telemetry")
        .await
        .expect(404);
    app.drain().await;
}

#[tokio::test]
async fn an_update_keeps_what_it_leaves_out() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(
        vehicle(&crew.fleet),
        json!({"metadata": {"a": "1", "b": "2"}, "drivers": [crew.driver]}),
    );
    let vehicle = app.alice.post_ok("/v1/vehicles", body).await;
    let path = format!("/v1/vehicles/{}", id_of(&vehicle));
    let curve = json!([{"level": 20, "power_w": 90_000}, {"level": 90, "power_w": 30_000}]);
    let change = json!({"registration_plate": "XY34 ZZZ", "battery_capacity": 75000, "charging_standard": "CCS",
        "charging_curve": curve, "max_ac_power": null, "max_dc_power": 80_000, "metadata": {"a": "", "c": "3"}});
    let changed = app.alice.post_ok(&path, change).await;
    let want = with(
        vehicle,
        json!({"registration_plate": "XY34 ZZZ", "battery_capacity": 75000, "charging_standard": "CCS",
            "charging_curve": curve, "max_ac_power": null, "max_dc_power": 80_000, "metadata": {"b": "2", "c": "3"}, "updated": changed["updated"]}),
    );
    assert_eq!(changed, want);
    assert_eq!(app.alice.get_ok(&path).await, want);
    for (wrong, param) in [
        (json!({"fleet": crew.fleet}), "fleet"),
        (json!({"vin": "V2"}), "vin"),
        (json!({"drivers": []}), "drivers"),
        (json!({"telemetry": null}), "telemetry"),
        (json!({"registration_plate": null}), "registration_plate"),
        (json!({"battery_capacity": 0}), "battery_capacity"),
        (json!({"status": "suspended"}), "status"),
    ] {
        app.alice
            .post(&path, wrong)
            .await
            .expect_error(400, None, param);
    }
    assert_eq!(app.alice.get_ok(&path).await, want);
}

#[tokio::test]
async fn a_refused_vehicle_leaves_no_trace_at_its_drivers() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(
        vehicle(&crew.fleet),
        json!({"drivers": [crew.driver, format!("drv_{:032x}", 1)]}),
    );
    let refused = app.alice.post("/v1/vehicles", body).await;
    refused.expect_error(404, "vehicle_owner_not_found", "drivers");
    let driver = app.alice.get(&path_of(&crew.driver)).await;
    assert_eq!(driver.body["vehicles"], json!([]));
    let fleet = app.alice.get(&path_of(&crew.fleet)).await;
    assert_eq!(fleet.body["total_vehicles"], 1);
    assert_eq!(
        app.alice.get("/v1/vehicles").await.ids(),
        std::slice::from_ref(&crew.vehicle)
    );
}

#[tokio::test]
async fn a_driver_names_every_vehicle_made_at_the_same_time() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(vehicle(&crew.fleet), json!({"drivers": [crew.driver]}));
    let requests = (0..10).map(|_| {
        let (client, body) = (app.alice.clone(), body.clone());
        tokio::spawn(async move { client.create("/v1/vehicles", body).await })
    });
    let mut vehicles = Vec::new();
    for request in requests.collect::<Vec<_>>() {
        vehicles.push(request.await.expect("a vehicle"));
    }
    vehicles.sort_unstable();
    let driver = app.alice.get_ok(&path_of(&crew.driver)).await;
    let mut named: Vec<String> =
        serde_json::from_value(driver["vehicles"].clone()).expect("a list of ids");
    named.sort_unstable();
    assert_eq!(named, vehicles);
    vehicles.reverse();
    assert_eq!(
        app.alice
            .walk(&format!("/v1/vehicles?driver={}&limit=3", crew.driver))
            .await,
        vehicles
    );
}

#[tokio::test]
async fn a_number_too_small_for_the_table_is_zero() {
    let (app, crew) = TestApp::with_crew().await;
    let path = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let speck = json!({"battery": {"level": 2.6e-145}});
    app.alice.post_ok(&path, speck).await;
    assert_eq!(app.alice.get_ok(&path).await["battery"]["level"], 0.0);
    let mut body = app.reservation(&crew, 60);
    body["location"] = json!({"latitude": 51.5, "longitude": -1e-200, "radius": 5000});
    app.alice.post_ok("/v1/reservations", body).await;
    app.drain().await;
}

#[tokio::test]
async fn a_deleted_vehicle_takes_its_telemetry_with_it() {
    let (app, crew) = TestApp::with_crew().await;
    let path = format!("/v1/vehicles/{}", crew.vehicle);
    let reading = json!({"battery": {"level": 40}});
    let telemetry = format!("{path}/telemetry");
    let created = app.alice.post_ok(&telemetry, reading).await;
    let id = kernel::Id::from(id_of(&created));
    app.alice.delete_ok(&path).await;
    assert_eq!(app.alice.get(&telemetry).await.status, 404);
    let left = app
        .app()
        .store
        .find::<VehicleTelemetry>(&app.alice.tenant(), &id)
        .await;
    assert!(left.expect("an answer").is_none());
}

#[tokio::test]
async fn vehicles_are_found_by_plate_and_by_vin() {
    let (app, crew) = TestApp::with_crew().await;
    let make = async |plate: &str, vin: &str| {
        let change = json!({"registration_plate": plate, "vin": vin});
        let body = with(vehicle(&crew.fleet), change);
        app.alice.create("/v1/vehicles", body).await
    };
    let first = make("LK19 XYZ", "WVWZZZ1KZAW000042").await;
    let second = make("lk19-xyz", "WVWZZZ1KZAW000043").await;
    let list = async |query: &str| {
        let path = format!("/v1/vehicles?{query}");
        app.alice.get(&path).await.expect(200).ids()
    };
    let both = [second.clone(), first.clone()];
    assert_eq!(list("registration_plate=LK19XYZ").await, both);
    assert_eq!(list("registration_plate=LK19%20XY").await, [""; 0]);
    assert_eq!(list("vin=wvwzzz1kzaw000042").await, [first.as_str()]);
    let in_fleet = format!("registration_plate=LK19XYZ&fleet={}", crew.fleet);
    assert_eq!(list(&in_fleet).await, both);
    assert_eq!(list("vin=WVWZZZ1KZAW000042&status=inactive").await, [""; 0]);
    let path = format!("/v1/vehicles/{first}");
    let change = json!({"registration_plate": "NEW 1"});
    app.alice.post_ok(&path, change).await;
    assert_eq!(list("registration_plate=LK19XYZ").await, [second.as_str()]);
    assert_eq!(list("registration_plate=new1").await, [first.as_str()]);
    let decomposed = json!({"registration_plate": "MU\u{308} 1"});
    app.alice.post_ok(&path, decomposed).await;
    for written in ["m%C3%BC1", "MU%CC%88-1"] {
        let query = format!("registration_plate={written}");
        assert_eq!(list(&query).await, [first.as_str()]);
    }
    let refused = app
        .alice
        .get("/v1/vehicles?vin=A&registration_plate=B")
        .await;
    refused.expect_error(400, None, "vin");
    let other = app.other_account(kernel::Mode::Test).await;
    let found = other.get("/v1/vehicles?registration_plate=LK19XYZ").await;
    assert_eq!(found.expect(200).ids(), [""; 0]);
    app.drain().await;
}

#[tokio::test]
async fn a_vin_that_is_none_is_accepted_with_a_warning() {
    let (app, crew) = TestApp::with_crew().await;
    for (vin, is_unusual) in [
        ("WVWZZZ1KZAW000001", false),
        ("wvwzzz1kzaw000001", false),
        ("WVWZZZ1KZAW00000", true),
        ("WVWZZZ1KZAW00000O", true),
        ("WVWZZZ1KZAW0000-1", true),
    ] {
        let body = with(vehicle(&crew.fleet), json!({"vin": vin}));
        let vehicle = app.alice.post_ok("/v1/vehicles", body).await;
        let warning = json!([{"code": "vin_unusual", "param": "vin",
            "message": "A vehicle identification number has 17 letters and digits, without I, O and Q."}]);
        let warnings = is_unusual.then_some(&warning);
        assert_eq!(vehicle.get("warnings"), warnings, "{vin}");
        let path = format!("/v1/vehicles/{}", id_of(&vehicle));
        let shown = app.alice.get_ok(&path).await;
        assert_eq!(shown.get("warnings"), None, "{vin}");
    }
    app.drain().await;
}

/// A request that has read a vehicle or a driver may use it after its deletion.
#[tokio::test]
async fn what_begins_beside_a_deletion_ends_a_minute_later() {
    let (app, crew, station) = TestApp::with_station().await;
    app.needs("a clock that can be moved");
    let other = app.crew(&app.alice).await;
    let mut begun = Vec::new();
    for (place, crew) in [&crew, &other].into_iter().enumerate() {
        let connector = json!({"connector": (place + 1).to_string()});
        let session = with(app.session(crew, &station), connector);
        let session = app.alice.create("/v1/charging_sessions", session).await;
        let later = app.reservation(crew, 600);
        let reservation = app.alice.create("/v1/reservations", later).await;
        begun.push((session, reservation));
    }
    let origin = Origin::background(app.alice.tenant(), app.now());
    let (store, tenant) = (&app.app().store, &origin.tenant);
    let vehicle = store.load::<Vehicle>(tenant, &crew.vehicle.into()).await;
    let driver = store.load::<Driver>(tenant, &other.driver.into()).await;
    let mut tx = store.begin(&origin);
    tx.delete(&vehicle.expect("a vehicle")).expect("a deletion");
    tx.delete(&driver.expect("a driver")).expect("a deletion");
    tx.commit_without_response()
        .await
        .expect("both are deleted");
    app.drain().await;
    app.advance(60).await;
    let reasons = ["vehicle_unavailable", "driver_unavailable"];
    for ((session, reservation), reason) in begun.iter().zip(reasons) {
        let session = app.alice.get_ok(&path_of(session)).await;
        assert_eq!(session["status"], "completed");
        let reservation = app.alice.get_ok(&path_of(reservation)).await;
        assert_has!(reservation, {"status": "failed", "failed_reason": reason, "fee_due": 0});
    }
}
