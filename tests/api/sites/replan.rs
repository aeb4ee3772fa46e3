//! Tests of when a site is planned again: after an outage, a reservation, a session, the deletion of a vehicle, and requests at the same
//! time.

use std::collections::BTreeSet;

use functions::job::Job as _;
use functions::sites::execute::PlanSite;
use futures::future::join_all;
use kernel::time::minutes;
use models::Site;
use serde_json::{Value, json};
use table::sites::PlanRequest;
use tests::{TestApp, assert_has, id_of, with};

use super::depot;

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
async fn a_session_that_begins_or_ends_has_its_site_planned_again() {
    let (app, crew) = TestApp::with_crew().await;
    let connector = json!({"id": "1", "power": 11.0, "status": "available", "type": "Type2"});
    let station = app.station(json!({"connectors": [connector]})).await;
    let departure = json!({"at": app.in_minutes(60), "target_level": 100});
    let (site, _) = depot(&app, 11_000, 1, &departure).await;
    let change = json!({"stations": [station]});
    app.alice.post_ok(&site, change).await;
    app.drain().await;
    let reserved = async || {
        let plan = app.alice.get_ok(&format!("{site}/plan")).await;
        let stored = app.alice.get_ok(&site).await["plan"].clone();
        (
            plan["slots"][0]["reserved_w"].clone(),
            stored["revision"].clone(),
        )
    };
    let (none, first) = reserved().await;
    assert_eq!(none, 0);
    let session = app.session(&crew, &station);
    let session = app.alice.create("/v1/charging_sessions", session).await;
    app.drain().await;
    let (some, second) = reserved().await;
    assert_eq!(some, 11_000);
    assert_ne!(first, second);
    let stop = format!("/v1/charging_sessions/{session}/stop");
    app.alice.post_ok(&stop, json!({})).await;
    app.drain().await;
    let (none, third) = reserved().await;
    assert_eq!(none, 0);
    assert_ne!(second, third);
}

#[tokio::test]
async fn the_power_of_a_deleted_vehicle_goes_to_the_others_at_once() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(60), "target_level": 100});
    let (site, vans) = depot(&app, 11_000, 2, &departure).await;
    let revision = async || app.alice.get_ok(&site).await["plan"]["revision"].clone();
    let before = revision().await;
    app.alice.delete_ok(&vans[0]).await;
    app.drain().await;
    assert_ne!(revision().await, before);
}
