//! Tests of the departures of vehicles, and of vehicles that leave their site.

use models::VehicleDepartures;
use serde_json::{Value, json};
use tests::{TestApp, assert_has, vehicle, with};

use super::depot;

#[tokio::test]
async fn departures_of_a_vehicle_without_a_site_are_refused() {
    let (app, crew) = TestApp::with_crew().await;
    let path = format!("/v1/vehicles/{}/departures", crew.vehicle);
    let body = json!({"departures": [{"at": app.in_minutes(60), "target_level": 80}]});
    let refused = app.alice.post(&path, body).await;
    refused.expect_error(409, None, "site");
    assert_eq!(app.alice.get_ok(&path).await["departures"], json!([]));
}

#[tokio::test]
async fn a_vehicle_that_leaves_its_site_has_no_departures_there() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(6 * 60), "target_level": 60});
    let (_, vans) = depot(&app, 22_000, 1, &departure).await;
    let departures = format!("{}/departures", vans[0]);
    let scheduled = async || app.alice.get_ok(&departures).await["departures"].clone();
    let name = json!({"metadata": {"bay": "4"}});
    app.alice.post_ok(&vans[0], name).await;
    assert_has!(scheduled().await[0], {"status": "scheduled"});
    app.alice.post_ok(&vans[0], json!({"site": null})).await;
    assert_eq!(scheduled().await, json!([]));
    // Without a site there is nothing to remove.
    let none = json!({"departures": []});
    assert_has!(app.alice.post_ok(&departures, none).await, {"departures": []});
}

#[tokio::test]
async fn vehicles_without_departures_leave_their_site_too() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(6 * 60), "target_level": 60});
    let (site, vans) = depot(&app, 22_000, 1, &departure).await;
    let fleet = app.alice.get_ok(&vans[0]).await["fleet"].clone();
    let fleet = fleet.as_str().expect("a fleet");
    let own = json!({"site": site.trim_start_matches("/v1/sites/")});
    let van = app
        .alice
        .create("/v1/vehicles", with(vehicle(fleet), own.clone()))
        .await;
    let van = format!("/v1/vehicles/{van}");
    app.alice.post_ok(&van, json!({"site": null})).await;
    app.alice.post_ok(&van, own).await;
    app.alice.delete_ok(&van).await;
    app.alice.delete_ok(&vans[0]).await;
    app.alice.delete_ok(&site).await;
}

#[tokio::test]
async fn a_clock_that_moves_by_days_ends_every_departure() {
    let app = TestApp::with_clock().await;
    let departure = json!({"at": app.in_minutes(6 * 60), "target_level": 60});
    let (site, vans) = depot(&app, 22_000, 3, &departure).await;
    let departures = format!("{}/departures", vans[0]);
    let later = json!({"at": app.in_minutes(80 * 60), "energy_wh": 5_000});
    let both = json!({"departures": [departure, later]});
    app.alice.post_ok(&departures, both).await;
    app.drain().await;
    app.advance(4 * 24 * 60 * 60).await;
    for (place, van) in vans.iter().enumerate() {
        let path = format!("{van}/departures");
        let over = app.alice.get_ok(&path).await;
        let over = over["departures"].as_array().expect("a list").clone();
        assert_eq!(over.len(), if place == 0 { 2 } else { 1 });
        for departure in &over {
            assert_eq!(departure["status"], "completed", "{departure}");
        }
    }
    let plan = app.alice.get(&format!("{site}/plan")).await;
    assert_eq!(plan.expect(200).body["vehicles"], json!([]));
}

#[tokio::test]
async fn a_departure_in_three_days_is_planned_two_days_before() {
    let app = TestApp::with_clock().await;
    let departure = json!({"at": app.in_minutes(72 * 60), "target_level": 60});
    let (site, _) = depot(&app, 22_000, 1, &departure).await;
    assert_eq!(app.alice.get_ok(&site).await["plan"], Value::Null);
    app.advance(23 * 60 * 60).await;
    assert_eq!(app.alice.get_ok(&site).await["plan"], Value::Null);
    app.advance(60 * 60 + 60).await;
    assert_eq!(app.alice.get_ok(&site).await["plan"]["revision"], 1);
}

#[tokio::test]
async fn a_departure_that_moves_keeps_what_was_charged_for_it() {
    let app = TestApp::with_clock().await;
    let departure = json!({"at": app.in_minutes(8 * 60), "energy_wh": 22_000});
    let (site, vans) = depot(&app, 60_000, 1, &departure).await;
    let path = format!("{}/departures", vans[0]);
    let before = app.alice.get_ok(&path).await;
    app.advance(60 * 60).await;
    let moved = json!({"at": app.in_minutes(4 * 60), "energy_wh": 22_000});
    let both = json!({"departures": [{"at": app.in_minutes(30 * 60), "target_level": 90}, moved]});
    let replaced = app.alice.post_ok(&path, both.clone()).await;
    let known = &replaced["departures"];
    let result = |id: &Value, result: &str| json!({"departure": id, "result": result});
    let created = result(&known[1]["id"], "created");
    let results = json!([created, result(&known[0]["id"], "moved")]);
    assert_eq!(replaced["results"], results, "in the order of the body");
    let again = app.alice.post_ok(&path, both).await;
    let kept = [1, 0].map(|place| result(&known[place]["id"], "kept"));
    assert_eq!(again["results"], json!(kept));
    app.drain().await;
    let after = app.alice.get_ok(&path).await;
    assert_has!(after["departures"][0], {"id": before["departures"][0]["id"], "at": moved["at"]});
    let plan = app.alice.get_ok(&format!("{site}/plan")).await;
    let van = &plan["vehicles"][0];
    let wh = |member: &str| van[member].as_i64().expect("Wh");
    // The energy before the first plan depends on how busy the machine is.
    assert!((10_980..=11_000).contains(&wh("delivered_wh")), "{van}");
    assert_eq!(wh("delivered_wh") + wh("energy_wh"), 22_000, "{van}");
    app.advance(4 * 60 * 60 + 60).await;
    let over = app.alice.get_ok(&path).await;
    assert_eq!(
        over["departures"][0]["energy_delivered_wh"], 22_000,
        "{over}"
    );
}

#[tokio::test]
async fn a_departure_that_passes_before_its_first_plan_ends() {
    let app = TestApp::with_clock().await;
    let later = json!({"at": app.in_minutes(5 * 60), "target_level": 80});
    let (site, vans) = depot(&app, 60_000, 1, &later).await;
    let path = format!("{}/departures", vans[0]);
    let at = app.now().plus(kernel::time::millis(100));
    let departures = json!({"departures": [{"at": at, "target_level": 80}, later]});
    app.alice.post_ok(&path, departures).await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    app.advance(60 * 60).await;
    let listed = app.alice.get_ok(&path).await;
    let statuses = listed["departures"].as_array().expect("departures").iter();
    let statuses: Vec<&Value> = statuses.map(|one| &one["status"]).collect();
    assert!(statuses.contains(&&json!("missed")), "{listed}");
    let plan = app.alice.get_ok(&format!("{site}/plan")).await;
    assert_has!(plan["vehicles"][0], {"status": "feasible"});
}

#[tokio::test]
async fn departures_replaced_while_their_vehicle_goes_are_removed() {
    for goes in ["moves", "is deleted"] {
        let app = TestApp::start().await;
        let departure = json!({"at": app.in_minutes(6 * 60), "target_level": 60});
        let (_, vans) = depot(&app, 22_000, 1, &departure).await;
        let van = &vans[0];
        let fleet = app.alice.get_ok(van).await["fleet"].clone();
        let site = app.alice.get_ok(van).await["site"].clone();
        let fleet = fleet.as_str().expect("a fleet");
        let new = with(vehicle(fleet), json!({"site": site}));
        // A vehicle without departures so far, and one with some.
        let other = app.alice.create("/v1/vehicles", new).await;
        for van in [van.clone(), format!("/v1/vehicles/{other}")] {
            let path = format!("{van}/departures");
            let departures = json!({"departures": [{"at": departure["at"], "target_level": 80}]});
            let replaced = app.alice.post(&path, departures);
            let gone = async {
                match goes {
                    "moves" => app.alice.post(&van, json!({"site": null})).await,
                    _ => app.alice.delete(&van).await,
                }
            };
            let (replaced, gone) = tokio::join!(replaced, gone);
            gone.expect(200);
            assert!([200, 404, 409].contains(&replaced.status));
            let id = kernel::Id::from(van.trim_start_matches("/v1/vehicles/"));
            let id = VehicleDepartures::id_of(&id);
            let (store, tenant) = (&app.app().store, app.alice.tenant());
            let found = store.find::<VehicleDepartures>(&tenant, &id);
            let left = found.await.expect("a read");
            let left = left.map_or(0, |left| left.object.scheduled().count());
            assert_eq!(left, 0, "the vehicle {goes}");
        }
    }
}
