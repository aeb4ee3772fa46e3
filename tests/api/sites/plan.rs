//! Tests of the plan of a site: its limit, costs, carbon, and the vehicles that are short of energy.

use std::collections::BTreeSet;

use kernel::Timestamp;
use kernel::time::{DAY, hours, whole_millis};
use serde_json::{Value, json};
use tests::{TestApp, assert_has, fleet, path_of, vehicle, with};

use super::depot;
use super::prices::priced_depot;

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
    let guide = include_str!("../../../docs/sites.md").replace('\n', " ");
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
