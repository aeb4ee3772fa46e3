//! Tests of the largest site, of sites that are in use, and of those of another account.

use models::Site;
use serde_json::{Value, json};
use tests::{TestApp, fleet, path_of, vehicle, with};

use super::depot;

#[tokio::test]
async fn a_site_of_another_account_is_not_there() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(6 * 60), "target_level": 60});
    let (site, vans) = depot(&app, 22_000, 1, &departure).await;
    let bob = app.other_account(kernel::Mode::Test).await;
    for path in [
        site.clone(),
        format!("{site}/plan"),
        format!("{}/departures", vans[0]),
    ] {
        bob.get(&path).await.expect(404);
    }
    let prices = json!({"prices": [{"from": "2027-01-15T18:00:00Z", "price_per_kwh": 32}]});
    bob.post(&format!("{site}/prices"), prices)
        .await
        .expect(404);
    let fleet = bob.create("/v1/fleets", fleet()).await;
    let id = site.trim_start_matches("/v1/sites/");
    let body = with(vehicle(&fleet), json!({"site": id}));
    bob.post("/v1/vehicles", body).await.expect(404);
}

#[tokio::test]
async fn a_site_has_at_most_500_vehicles() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(6 * 60), "target_level": 60});
    let (site, vans) = depot(&app, 22_000, 1, &departure).await;
    let id = site.trim_start_matches("/v1/sites/");
    fill(&app, id, 498).await;
    let van = app.alice.get_ok(&vans[0]).await;
    let fleet = van["fleet"].as_str().expect("a fleet");
    let elsewhere = app.alice.create("/v1/vehicles", vehicle(fleet)).await;
    let moved = format!("/v1/vehicles/{elsewhere}");
    // Four at the same moment, and room for one.
    let new = || with(vehicle(fleet), json!({"site": id}));
    let (first, second, third, fourth) = tokio::join!(
        app.alice.post("/v1/vehicles", new()),
        app.alice.post("/v1/vehicles", new()),
        app.alice.post("/v1/vehicles", new()),
        app.alice.post(&moved, json!({"site": id})),
    );
    let all = [first, second, third, fourth];
    let statuses: Vec<u16> = all.iter().map(|response| response.status).collect();
    let count = |status| statuses.iter().filter(|known| **known == status).count();
    assert_eq!((count(200), count(409)), (1, 3), "{statuses:?}");
    // A change that keeps the site is no other vehicle.
    let same = json!({"site": id, "metadata": {"bay": "4"}});
    app.alice.post_ok(&vans[0], same).await;
    app.alice.delete_ok(&vans[0]).await;
    app.alice.create("/v1/vehicles", new()).await;
    app.alice.post("/v1/vehicles", new()).await.expect(409);
}

/// Counts more vehicles at a site than there are.
async fn fill(app: &TestApp, site: &str, vehicles: usize) {
    let tenant = app.alice.tenant();
    let store = &app.app().store;
    let origin = kernel::Origin::background(tenant.clone(), app.now());
    let id = kernel::Id::from(site);
    let site = store.load::<Site>(&tenant, &id).await;
    let mut site = site.expect("the site");
    site.internal.vehicles += vehicles;
    store.save(&origin, &mut site).await.expect("a write");
}

#[tokio::test]
async fn a_site_that_a_vehicle_refers_to_stays() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(6 * 60), "target_level": 60});
    let (site, vans) = depot(&app, 22_000, 1, &departure).await;
    let refused = app.alice.delete(&site).await;
    refused.expect_error(409, None, "site");
    app.alice.post_ok(&vans[0], json!({"site": null})).await;
    let id = site.trim_start_matches("/v1/sites/");
    // Either the site is deleted, or the vehicle refers to it.
    let moved = json!({"site": id});
    let (deleted, moved) = tokio::join!(app.alice.delete(&site), app.alice.post(&vans[0], moved));
    let van = app.alice.get_ok(&vans[0]).await;
    match app.alice.get(&site).await.status {
        200 => {
            assert_eq!((deleted.status, moved.status), (409, 200));
            assert_eq!(van["site"], id);
            app.alice.delete_ok(&vans[0]).await;
            app.alice.delete_ok(&site).await;
        }
        gone => {
            assert_eq!((gone, deleted.status, moved.status), (404, 200, 404));
            assert_eq!(van["site"], Value::Null);
        }
    }
}

#[tokio::test]
async fn a_limit_has_at_most_a_hundred_windows() {
    let app = TestApp::start().await;
    let window = json!({"days_of_week": ["monday"], "start_time": "06:00", "end_time": "07:00"});
    let site = |count: usize| {
        let limit = json!({"type": "capacity", "power_w": 1000, "time_windows": vec![window.clone(); count]});
        json!({"name": "Depot", "time_zone": "UTC", "limits": [limit]})
    };
    app.alice.post_ok("/v1/sites", site(100)).await;
    let refused = app.alice.post("/v1/sites", site(101)).await;
    refused.expect_error(400, None, "limits[0].time_windows");
}

#[tokio::test]
async fn stations_of_a_deleted_site_may_belong_to_another() {
    let app = TestApp::start().await;
    let stations = [app.station(json!({})).await, app.station(json!({})).await];
    let body = json!({"name": "Depot", "time_zone": "UTC", "stations": stations});
    let site = app.alice.create("/v1/sites", body.clone()).await;
    app.alice
        .post("/v1/sites", body.clone())
        .await
        .expect_error(409, None, "stations");
    app.alice.delete_ok(&path_of(&site)).await;
    app.alice.create("/v1/sites", body).await;
    app.drain().await;
}
