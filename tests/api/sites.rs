//! Sites: their limits, prices and departures, and the plan that makes every vehicle ready.

use std::collections::BTreeSet;

use functions::job::Job as _;
use functions::sites::execute::PlanSite;
use futures::future::join_all;
use kernel::Timestamp;
use kernel::time::{DAY, hours, minutes, whole_millis};
use models::{Site, VehicleDepartures};
use serde_json::{Value, json};
use table::sites::PlanRequest;
use tests::{TestApp, assert_has, fleet, id_of, path_of, vehicle, with};

/// A depot with a limit in W, and vans at 20 % that need a level at a moment. Returns the paths of the site and of the vehicles.
async fn depot(app: &TestApp, power: u32, vans: usize, departure: &Value) -> (String, Vec<String>) {
    let limits = json!([{"type": "capacity", "power_w": power}]);
    let body = json!({"name": "Depot", "time_zone": "UTC", "limits": limits});
    let site = app.alice.create("/v1/sites", body).await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let mut paths = Vec::new();
    for _ in 0..vans {
        paths.push(van(app, &site, &fleet, departure).await);
    }
    app.drain().await;
    (format!("/v1/sites/{site}"), paths)
}

/// A van at a site, at 20 %, that needs a level at a moment. Returns its path.
async fn van(app: &TestApp, site: &str, fleet: &str, departure: &Value) -> String {
    let body = with(
        vehicle(fleet),
        json!({"site": site, "max_ac_power": 11_000}),
    );
    let id = app.alice.create("/v1/vehicles", body).await;
    let path = format!("/v1/vehicles/{id}");
    let level = json!({"battery": {"level": 20}});
    app.alice.post_ok(&format!("{path}/telemetry"), level).await;
    let departures = json!({"departures": [departure]});
    let path_of_departures = format!("{path}/departures");
    app.alice.post_ok(&path_of_departures, departures).await;
    path
}

#[tokio::test]
async fn the_night_of_the_guide_costs_what_it_says() {
    let app = TestApp::with_clock().await;
    let until_ten = whole_millis(hours(22)) - app.now().unix_millis();
    let until_ten = until_ten.rem_euclid(whole_millis(DAY)) / 1000 + 1;
    app.advance(u32::try_from(until_ten).expect("less than a day"))
        .await;
    let ten = Timestamp::from_unix_millis(app.now().unix_millis() / 60_000 * 60_000);
    let hour = |hours_from_ten: i64| ten.plus(hours(hours_from_ten));
    let (site, _) = depot(&app, 60_000, 0, &json!(null)).await;
    let prices = json!({"prices": [{"from": hour(-4), "price_per_kwh": 32}, {"from": hour(2), "price_per_kwh": 9, "until": hour(8)}]});
    app.alice.post_ok(&format!("{site}/prices"), prices).await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    for level in (12..=34).step_by(2) {
        let van = json!({"site": site.replace("/v1/sites/", ""), "battery_capacity": 60_000, "max_ac_power": 11_000});
        let van = app.alice.create("/v1/vehicles", with(vehicle(&fleet), van));
        let path = format!("/v1/vehicles/{}", van.await);
        let battery = json!({"battery": {"level": level}});
        app.alice
            .post_ok(&format!("{path}/telemetry"), battery)
            .await;
        let departure = json!({"at": hour(8), "target_level": 80, "min_level": 40});
        let departures = json!({"departures": [departure]});
        app.alice
            .post_ok(&format!("{path}/departures"), departures)
            .await;
    }
    app.drain().await;
    let plan = app.alice.get_ok(&format!("{site}/plan")).await;
    let vans = plan["vehicles"].as_array().expect("vehicles");
    let costs = [&vans[0], &vans[11]].map(|van| (&van["cost"], &van["cost_if_immediate"]));
    let want = [(775, 914), (368, 782)].map(|(cost, at_once)| (json!(cost), json!(at_once)));
    assert_eq!(
        costs,
        want.each_ref().map(|(cost, at_once)| (cost, at_once))
    );
    let guide = include_str!("../../docs/sites.md").replace('\n', " ");
    for figure in ["pays 7.75 instead of 9.14", "pays 3.68 instead of 7.82"] {
        assert!(guide.contains(figure), "{figure}");
    }
}

#[tokio::test]
async fn a_plan_that_changes_nothing_keeps_the_version_of_its_site() {
    let app = TestApp::with_clock().await;
    let departure = json!({"at": app.in_minutes(8 * 60), "target_level": 80});
    let quarter = Timestamp::from_unix_millis(app.now().unix_millis() / 900_000 * 900_000);
    let (site, _) = priced_depot(&app, &[(0, 20)], &departure).await;
    let priced = json!({"from": quarter, "price_per_kwh": 20, "until": quarter.plus(hours(9))});
    let prices = json!({"prices": [priced]});
    let read = async || {
        let shown = app.alice.get(&site).await;
        (shown.header("etag").to_owned(), shown.body["plan"].clone())
    };
    let planned = read().await;
    // The charge is accounted for every 15 minutes, and the same prices come once more; another vehicle joins and waits.
    app.advance(30 * 60 + 1).await;
    app.alice.post_ok(&format!("{site}/prices"), prices).await;
    let fleet = app.alice.get("/v1/fleets").await.ids().remove(0);
    let joining = json!({"site": site.replace("/v1/sites/", "")});
    app.alice
        .create("/v1/vehicles", with(vehicle(&fleet), joining))
        .await;
    app.drain().await;
    assert_eq!(read().await, planned);
    let change = app
        .alice
        .post(&site, json!({"name": "Yard"}))
        .await
        .expect(200);
    assert_ne!(change.header("etag"), planned.0);
    assert_eq!(change.header("etag"), read().await.0);
}

#[tokio::test]
async fn twelve_vans_behind_60_kw_are_ready_in_the_morning() {
    let app = TestApp::with_clock().await;
    let departure = json!({"at": app.in_minutes(10 * 60), "target_level": 80});
    let (site, vans) = depot(&app, 60_000, 12, &departure).await;
    let plan = app.alice.get_ok(&format!("{site}/plan")).await;
    for slot in plan["slots"].as_array().expect("slots") {
        assert!(slot["load_w"].as_u64() <= Some(60_000), "{slot}");
    }
    for van in plan["vehicles"].as_array().expect("vehicles") {
        assert_has!(van, {"status": "feasible", "short_by_wh": 0});
    }
    app.advance(10 * 60 * 60 + 60).await;
    for van in &vans {
        let over = app.alice.get_ok(&format!("{van}/departures")).await;
        let over = &over["departures"][0];
        assert_eq!(over["status"], "completed", "{over}");
        let level = app.alice.get_ok(&format!("{van}/telemetry")).await;
        let level = level["battery"]["level"].as_f64().expect("a level");
        assert!((79.9..80.1).contains(&level), "{level}");
    }
}

#[tokio::test]
async fn a_limit_that_is_cut_at_night_holds_and_says_who_is_short() {
    let app = TestApp::with_clock().await;
    let departure = json!({"at": app.in_minutes(8 * 60), "target_level": 80});
    let (site, _) = depot(&app, 60_000, 12, &departure).await;
    app.advance(4 * 60 * 60).await;
    let limits = json!({"limits": [{"type": "capacity", "power_w": 30_000}]});
    app.alice.post_ok(&site, limits).await;
    app.drain().await;
    let plan = app.alice.get_ok(&format!("{site}/plan")).await;
    for slot in plan["slots"].as_array().expect("slots") {
        assert!(slot["load_w"].as_u64() <= Some(30_000), "{slot}");
    }
    let shown = app.alice.get_ok(&site).await;
    let short = shown["plan"]["short"].as_array().expect("a list");
    assert!(!short.is_empty());
    for departure in short {
        assert_eq!(departure["limited_by"], "limit", "{departure}");
    }
    let planned = plan["vehicles"].as_array().expect("vehicles").iter();
    let missing = planned.filter(|van| van["status"] == "short");
    let vehicle = |entry: &Value| entry["vehicle"].to_string();
    let named: BTreeSet<String> = short.iter().map(vehicle).collect();
    assert_eq!(named, missing.map(vehicle).collect());
    let events = app.alice.get("/v1/events?type=site.plan_changed").await;
    assert!(!events.expect(200).ids().is_empty());
    let revision = shown["plan"]["revision"].clone();
    app.advance(30 * 60).await;
    assert_eq!(app.alice.get_ok(&site).await["plan"]["revision"], revision);
}

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
async fn vans_at_connectors_out_of_order_are_short_by_power() {
    let app = TestApp::with_clock().await;
    let connectors =
        |status: &str| json!([{"id": "1", "power": 11.0, "status": status, "type": "Type2"}]);
    let station = app
        .station(json!({"connectors": connectors("available")}))
        .await;
    let departure = json!({"at": app.in_minutes(10 * 60), "target_level": 80});
    let (site, _) = depot(&app, 22_000, 2, &departure).await;
    let stations = json!({"stations": [station]});
    app.alice.post_ok(&site, stations).await;
    app.drain().await;
    let short = async || {
        let shown = app.alice.get_ok(&site).await;
        shown["plan"]["short"].as_array().expect("a list").clone()
    };
    assert!(short().await.is_empty());
    let faulted = json!({"connectors": connectors("faulted")});
    app.change_station(&station, faulted).await;
    app.advance(16 * 60).await;
    let two = short().await;
    assert_eq!(two.len(), 2);
    assert_eq!(two[0]["limited_by"], "power");
}

#[tokio::test]
async fn an_outage_has_the_site_planned_again_at_once() {
    let app = TestApp::start().await;
    let station = app.station(json!({})).await;
    let departure = json!({"at": app.in_minutes(8 * 60), "target_level": 80});
    let (site, _) = depot(&app, 60_000, 1, &departure).await;
    let stations = json!({"stations": [station]});
    app.alice.post_ok(&site, stations).await;
    app.drain().await;
    let plan = |shown: &Value| shown["plan"].clone();
    let before = plan(&app.alice.get_ok(&site).await);
    assert_eq!(before["short"], json!([]));
    let connector = |id: &str, status: &str| json!({"id": id, "power": 22.0, "status": status, "type": "Type2"});
    let connectors = |status| json!([connector("1", status), connector("2", status)]);
    // One of two that is out of order changes nothing.
    let partial_outage = json!([connector("1", "faulted"), connector("2", "available")]);
    app.change_station(&station, json!({"connectors": partial_outage}))
        .await;
    app.drain().await;
    assert_eq!(plan(&app.alice.get_ok(&site).await), before);
    // A removed station has no connectors.
    for (connectors, short) in [
        (connectors("faulted"), 1),
        (connectors("available"), 0),
        (json!([]), 1),
    ] {
        let change = json!({"connectors": connectors});
        app.change_station(&station, change).await;
        app.drain().await;
        let shown = plan(&app.alice.get_ok(&site).await);
        let named = shown["short"].as_array().map(Vec::len);
        assert_eq!(
            (&shown["changed_because"], named),
            (&json!(["stations", "shortage"]), Some(short)),
            "{connectors}"
        );
    }
}

#[tokio::test]
async fn a_new_tariff_has_a_site_without_prices_planned_again() {
    let app = TestApp::start().await;
    let pricing = |price: u32| {
        json!({"pricing": [{"currency": "usd", "price": price, "step_size": 1, "tax": "vat", "tax_included": true, "tax_percent": "20",
            "type": "ENERGY"}]})
    };
    let station = app.station(pricing(45)).await;
    let departure = json!({"at": app.in_minutes(8 * 60), "energy_wh": 10_000});
    let (site, _) = depot(&app, 60_000, 1, &departure).await;
    let stations = json!({"stations": [station]});
    app.alice.post_ok(&site, stations).await;
    app.drain().await;
    let cost = async || {
        let plan = app.alice.get_ok(&format!("{site}/plan")).await;
        plan["vehicles"][0]["cost"].as_i64().expect("a cost")
    };
    let before = cost().await;
    app.change_station(&station, pricing(30)).await;
    app.drain().await;
    let (dear, cheap) = (before * 30, cost().await * 45);
    assert!(before > 0 && dear.abs_diff(cheap) <= 45, "{dear} {cheap}");
    let shown = app.alice.get_ok(&site).await;
    assert_eq!(shown["plan"]["changed_because"], json!(["prices"]));
}

#[tokio::test]
async fn a_site_counts_a_reservation_and_its_session_once() {
    let (app, crew) = TestApp::with_crew().await;
    let connector = json!({"id": "1", "power": 11.0, "status": "available", "type": "Type2"});
    let station = app.station(json!({"connectors": [connector]})).await;
    let departure = json!({"at": app.in_minutes(120), "energy_wh": 10_000});
    let (site, _) = depot(&app, 22_000, 1, &departure).await;
    let change = json!({"stations": [station]});
    app.alice.post_ok(&site, change).await;
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(&crew, 20), area);
    let id = app.alice.create("/v1/reservations", body).await;
    app.drain().await;
    app.advance(20 * 60).await;
    let session = app.session(&crew, &station);
    let session = app.alice.post_ok("/v1/charging_sessions", session).await;
    assert_eq!(session["reservation"], id);
    app.advance(60).await;
    let plan = app.alice.get_ok(&format!("{site}/plan")).await;
    let first = &plan["slots"][0];
    assert_has!(first, {"reserved_w": 11_000, "limit_w": 11_000});
    assert_eq!(plan["vehicles"][0]["status"], "feasible");
}

#[tokio::test]
async fn a_vehicle_that_charges_elsewhere_takes_nothing_here() {
    let (app, crew) = TestApp::with_crew().await;
    app.needs("a clock that can be moved");
    let departure = json!({"at": app.in_minutes(180), "energy_wh": 10_000});
    let (site, _) = depot(&app, 22_000, 0, &departure).await;
    let van = format!("/v1/vehicles/{}", crew.vehicle);
    let own = json!({"site": site.trim_start_matches("/v1/sites/")});
    app.alice.post_ok(&van, own).await;
    let departures = format!("{van}/departures");
    let body = json!({"departures": [departure]});
    app.alice.post_ok(&departures, body).await;
    app.drain().await;
    let station = app.station(json!({})).await;
    let session = app.session(&crew, &station);
    let session = app.alice.create("/v1/charging_sessions", session).await;
    let session = format!("/v1/charging_sessions/{session}");
    app.advance(16 * 60).await;
    let plan = app.alice.get_ok(&format!("{site}/plan")).await;
    let charged = app.alice.get_ok(&session).await["energy_consumed"].clone();
    let (planned, charged) = (&plan["vehicles"][0], charged.as_u64().expect("Wh"));
    assert_has!(planned, {"delivered_wh": 0, "status": "feasible"});
    assert_eq!(planned["loads_w"][0], 0, "{planned}");
    let left = planned["energy_wh"].as_u64().expect("Wh");
    assert!(charged > 1_000, "{charged}");
    assert!((left + charged).abs_diff(10_000) < 50, "{left} {charged}");
    app.alice
        .post_ok(&format!("{session}/stop"), json!({}))
        .await;
    app.advance(3 * 60 * 60).await;
    let over = app.alice.get_ok(&departures).await["departures"][0].clone();
    assert_has!(over, {"status": "completed", "short_by_wh": 0});
    let delivered = over["energy_delivered_wh"].as_u64().expect("Wh");
    assert!(left.abs_diff(delivered) < 50, "{left} {delivered}");
}

#[tokio::test]
async fn a_site_can_aim_at_carbon_and_series_are_csv() {
    let app = TestApp::with_clock().await;
    // The test begins at the full hour, so that slots are aligned with hours.
    let hour = 60 * 60 * 1_000;
    app.advance(
        u32::try_from((hour - app.now().unix_millis().rem_euclid(hour)) / 1_000 + 1)
            .expect("seconds"),
    )
    .await;
    let now = app.now();
    let begin =
        kernel::Timestamp::from_unix_millis(now.unix_millis() - now.unix_millis().rem_euclid(hour));
    let at = |hours| begin.plus(kernel::time::hours(hours));
    let departure = json!({"at": at(4), "energy_wh": 11_000});
    let (site, _) = depot(&app, 60_000, 1, &departure).await;
    let csv = async |series: &str, text: String| {
        let path = format!("{site}/{series}");
        let headers = [("content-type", "text/csv")];
        app.alice.send("POST", &path, Some(text), &headers).await
    };
    // The second hour is the cheapest, the third one the cleanest.
    let prices = format!(
        "from,price_per_kwh\n{},30\n{},10\n{},20\n{},40\n",
        at(0),
        at(1),
        at(2),
        at(3)
    );
    csv("prices", prices).await.expect(200);
    let carbon = format!(
        "g_per_kwh,from\n300,{}\n200,{}\n100,{}\n400,{}\n",
        at(0),
        at(1),
        at(2),
        at(3)
    );
    csv("carbon", carbon).await.expect(200);
    app.drain().await;
    let first = async || {
        let plan = app.alice.get_ok(&format!("{site}/plan")).await;
        let loads = plan["vehicles"][0]["loads_w"]
            .as_array()
            .expect("loads")
            .clone();
        let place = loads.iter().position(|load| *load != 0).expect("a load");
        (
            plan["slots"][place]["from"].clone(),
            plan["vehicles"][0]["cost"].clone(),
        )
    };
    assert_eq!(first().await, (json!(at(1)), json!(110)));
    let aim = json!({"optimize": "carbon"});
    assert_eq!(app.alice.post_ok(&site, aim).await["optimize"], "carbon");
    app.drain().await;
    assert_eq!(first().await, (json!(at(2)), json!(220)));
    let fault = format!("from,price_per_kwh\n{},thirty\n", at(0));
    let refused = csv("prices", fault).await.expect(400).body;
    assert_eq!(refused["param"], "prices[0].price_per_kwh", "{refused}");
}

/// A depot with a price per kWh from each of these hours on, for nine hours from the present quarter-hour, and a van with this departure.
/// Returns their paths.
async fn priced_depot(app: &TestApp, prices: &[(i64, u32)], departure: &Value) -> (String, String) {
    app.needs("a clock that can be moved");
    // Before its prices are known, a site charges at once.
    let (site, _) = depot(app, 60_000, 0, &Value::Null).await;
    let quarter = app.now().unix_millis() / 900_000 * 900_000;
    let after =
        |hours| kernel::Timestamp::from_unix_millis(quarter).plus(kernel::time::hours(hours));
    let prices = prices
        .iter()
        .map(|(hour, price)| json!({"from": after(*hour), "price_per_kwh": price}));
    let mut prices: Vec<Value> = prices.collect();
    prices.last_mut().expect("a price")["until"] = json!(after(9));
    let path = format!("{site}/prices");
    app.alice.post_ok(&path, json!({"prices": prices})).await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let id = site.trim_start_matches("/v1/sites/");
    let van = van(app, id, &fleet, departure).await;
    app.drain().await;
    (site, van)
}

#[tokio::test]
async fn cost_if_immediate_does_not_change_while_a_vehicle_waits() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(8 * 60), "energy_wh": 22_000});
    let (site, van) = priced_depot(&app, &[(0, 30), (4, 10)], &departure).await;
    let vehicle = async || {
        let plan = app.alice.get_ok(&format!("{site}/plan")).await;
        plan["vehicles"][0].clone()
    };
    let before = vehicle().await;
    app.advance(2 * 60 * 60).await;
    let waiting = vehicle().await;
    assert_eq!(waiting["delivered_wh"], 0, "{waiting}");
    assert_eq!(waiting["cost_if_immediate"], before["cost_if_immediate"]);
    app.advance(6 * 60 * 60 + 60).await;
    let path = format!("{van}/departures");
    let over = app.alice.get_ok(&path).await["departures"][0].clone();
    let cost = |member: &str| over[member].as_i64().expect("a cost");
    assert_eq!(over["cost_if_immediate"], before["cost_if_immediate"]);
    assert!((215..=225).contains(&cost("cost")), "{over}");
    assert!((650..=660).contains(&cost("cost_if_immediate")), "{over}");
}

#[tokio::test]
async fn cost_if_immediate_follows_a_level_that_is_reported_later() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(8 * 60), "target_level": 80});
    let (site, van) = priced_depot(&app, &[(0, 10)], &departure).await;
    let planned = async || {
        let plan = app.alice.get_ok(&format!("{site}/plan")).await;
        let planned = plan["vehicles"][0].clone();
        let number = |member: &str| planned[member].as_i64().expect("a number");
        let (delivered, rest) = (number("delivered_wh"), number("energy_wh"));
        (delivered, rest, number("cost_if_immediate"))
    };
    let (_, need, before) = planned().await;
    assert!((need / 100 - before).abs() <= 1, "{need} {before}");
    app.advance(60 * 60).await;
    let (delivered, _, waiting) = planned().await;
    assert_eq!((delivered > 10_000, waiting), (true, before));
    // The vehicle has lost in the meantime what it was charged.
    let level = json!({"battery": {"level": 20}});
    app.alice.post_ok(&format!("{van}/telemetry"), level).await;
    app.drain().await;
    let (delivered, rest, after) = planned().await;
    assert!((rest - need).abs() <= 100, "{rest} {need}");
    assert!(
        ((delivered + rest) / 100 - after).abs() <= 1,
        "{delivered} {rest} {after}"
    );
}

#[tokio::test]
async fn a_battery_whose_power_falls_is_full_at_its_departure() {
    let app = TestApp::with_clock().await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let body = json!({"name": "Depot", "time_zone": "UTC"});
    let site = app.alice.create("/v1/sites", body).await;
    let change = json!({"site": site, "charging_standard": "CCS", "battery_capacity": 60_000});
    let body = with(vehicle(&fleet), change);
    let van = path_of(&app.alice.create("/v1/vehicles", body).await);
    let level = json!({"battery": {"level": 20}});
    app.alice.post_ok(&format!("{van}/telemetry"), level).await;
    // The last hour and a half is cheap, and just long enough: nothing of it may be wasted with little power.
    let departs = app.now().unix_millis() / 900_000 * 900_000 + 6 * 3_600_000;
    let at = |minutes: i64| {
        kernel::Timestamp::from_unix_millis(departs).plus(kernel::time::minutes(-minutes))
    };
    let prices = json!({"prices": [{"from": at(6 * 60), "price_per_kwh": 30},
        {"from": at(90), "price_per_kwh": 10, "until": at(-60)}]});
    let path = format!("/v1/sites/{site}/prices");
    app.alice.post_ok(&path, prices).await;
    let departures = json!({"departures": [{"at": at(0), "target_level": 100}]});
    let path = format!("{van}/departures");
    app.alice.post_ok(&path, departures).await;
    app.drain().await;
    let plan = app.alice.get_ok(&format!("/v1/sites/{site}/plan")).await;
    assert_has!(plan["vehicles"][0], {"status": "feasible", "short_by_wh": 0});
    app.advance(6 * 60 * 60 + 60).await;
    let over = app.alice.get_ok(&path).await["departures"][0].clone();
    assert_has!(over, {"status": "completed", "short_by_wh": 0});
    let level = app.alice.get_ok(&format!("{van}/telemetry")).await;
    let level = level["battery"]["level"].as_f64().expect("a level");
    assert!(level > 99.8, "{level}");
    // All but what the first hours have to add is charged at the low price.
    let cost = over["cost"].as_i64().expect("a cost");
    assert!((500..700).contains(&cost), "{over}");
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

#[tokio::test]
async fn a_burst_of_requests_is_planned_by_one_worker() {
    let app = TestApp::start().await;
    let (store, tenant, now) = (&app.app().store, app.alice.tenant(), app.now());
    let until = now.plus(minutes(2));
    let site = &kernel::Id::from("site_1");
    let request = |number| PlanRequest {
        tenant: &tenant,
        site,
        number,
        worker: number,
    };
    let ask = async || store.request_plan(&tenant, site, now).await.expect("one");
    let begin = async |number, now| {
        let begun = store.begin_plan(request(number), until, now).await;
        begun.expect("an answer")
    };
    let end = async |number, covered| {
        let ended = store.end_plan(request(number), covered).await;
        ended.expect("an answer")
    };
    assert_eq!([ask().await, ask().await, ask().await], [1, 2, 3]);
    // The first plan covers all of them. No other worker begins meanwhile, but the same one may: its message comes again after a crash.
    assert_eq!(begin(2, now).await, Some(3));
    assert_eq!(begin(1, now).await, None);
    assert_eq!(begin(2, now).await, Some(3));
    // It learns of a request that it does not cover.
    assert_eq!(ask().await, 4);
    assert_eq!(end(2, Some(3)).await, Some(4));
    assert_eq!([begin(1, now).await, begin(3, now).await], [None, None]);
    // A worker that fails covers nothing.
    assert_eq!(begin(4, now).await, Some(4));
    assert_eq!(end(4, None).await, Some(4));
    assert_eq!(begin(4, now).await, Some(4));
    // One that never ends is replaced.
    assert_eq!(ask().await, 5);
    assert_eq!(begin(5, now).await, None);
    assert_eq!(begin(5, until).await, Some(5));
    assert_eq!(end(4, Some(4)).await, None);
    assert_eq!(end(5, Some(5)).await, Some(5));
}

#[tokio::test]
async fn plans_that_start_together_cover_what_came_meanwhile() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(6 * 60), "target_level": 60});
    let (path, vans) = depot(&app, 22_000, 3, &departure).await;
    let site = kernel::Id::from(path.trim_start_matches("/v1/sites/"));
    let tenant = app.alice.tenant();
    // Ten workers start with ten requests, while the departures change.
    let workers = (0..10).map(async |_| {
        let request = app.app().store.request_plan(&tenant, &site, app.now());
        let job = PlanSite {
            tenant: tenant.clone(),
            site: site.clone(),
            request: request.await.expect("a number"),
        };
        job.run(app.app()).await.expect("a plan");
    });
    let changes = vans.iter().map(async |van| {
        let departures = json!({"departures": [{"at": departure["at"], "target_level": 90}]});
        let path = format!("{van}/departures");
        app.alice.post_ok(&path, departures).await
    });
    let (_, replaced) = tokio::join!(join_all(workers), join_all(changes));
    app.drain().await;
    let stored = app.app().store.load::<Site>(&tenant, &site).await;
    let charges = stored.expect("the site").internal.charges;
    let planned: BTreeSet<String> = charges
        .iter()
        .map(|charge| charge.departure.to_string())
        .collect();
    let replaced = replaced
        .iter()
        .map(|departures| id_of(&departures["departures"][0]).to_owned());
    assert_eq!(planned, replaced.collect());
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
