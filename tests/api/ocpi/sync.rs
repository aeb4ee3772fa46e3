//! Tests of the pulls from a network: what each loads and removes.

use std::time::Duration;

use functions::networks::sync::{Limits, pull_within};
use kernel::time::MINUTE;
use kernel::{Id, Mode};
use models::ChargingStation;
use serde_json::{Value, json};
use table::networks::{ReceivedObject, shared_origin};
use tests::platform::{Connected, Links, fixture, manage_ok};
use tests::{TestApp, assert_contains, assert_has, id_of, path_of, with};

use super::station;

/// The time of the last update of the locations that a platform lists at first.
const OLD: &str = "2026-01-05T08:00:00Z";

fn location(id: &str, updated: &str) -> Value {
    let change = json!({"id": id, "last_updated": updated});
    with(fixture("location"), change)
}

pub(super) fn locations(ids: &[&str]) -> Vec<Value> {
    ids.iter().map(|id| location(id, OLD)).collect()
}

/// A platform that lists these locations.
pub(super) async fn listing(app: &TestApp, ids: &[&str]) -> Connected {
    let locations = locations(ids);
    Connected::with(app, |script| {
        script.lists.insert("locations", locations);
    })
    .await
}

pub(super) fn assert_finished(pull: &Value) {
    assert!(pull["finished"].is_string(), "{pull}");
    assert_has!(pull, {"error": null});
}

pub(super) async fn pulled(app: &TestApp) -> Value {
    let listed = manage_ok(app, json!({"action": "list"})).await;
    listed["data"][0]["pull"].clone()
}

pub(super) async fn ids(app: &TestApp) -> Vec<(String, String)> {
    let path = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500&limit=100";
    let page = app.alice.get_ok(path).await;
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let stations = page["data"].as_array().expect("stations").iter();
    let mut ids: Vec<_> = stations
        .map(|station| (text(&station["location_id"]), text(&station["status"])))
        .collect();
    ids.sort();
    ids
}

pub(super) fn active(ids: &[&str]) -> Vec<(String, String)> {
    ids.iter()
        .map(|id| ((*id).to_owned(), "active".to_owned()))
        .collect()
}

#[tokio::test]
async fn a_location_keeps_the_station_that_it_has() {
    let app = TestApp::start().await;
    let cpo = listing(&app, &["L1"]).await;
    app.drain().await;
    let (store, tenant) = (&app.app().store, app.alice.tenant());
    let id = id_of(&station(&app).await).into();
    let stored = store.load::<ChargingStation>(&tenant, &id).await;
    let place = stored.expect("a station").internal.location;
    let place = place.expect("a location");
    let received = store.received(Mode::Test, &place).await;
    let received = received.expect("a location").expect("a location");
    let other = app.station(json!({})).await;
    let origin = shared_origin(Mode::Test, app.now());
    let mut tx = store.begin(&origin);
    tx.put_received(&ReceivedObject {
        station: Some(other.as_str().into()),
        ..received
    })
    .expect("a write");
    tx.commit_without_response().await.expect("it is stored");
    let renamed = json!({"name": "Renamed"});
    let renamed = with(location("L1", "2026-01-06T08:00:00Z"), renamed);
    cpo.list("locations", vec![renamed]);
    manage_ok(
        &app,
        json!({"action": "pull", "network": cpo.network, "full": true}),
    )
    .await;
    app.drain().await;
    let kept = app.alice.get_ok(&path_of(&other)).await;
    assert_eq!(kept["name"], "Renamed");
}

#[tokio::test]
async fn a_network_that_connects_is_pulled_from_completely() {
    let app = TestApp::start().await;
    let cpo = Connected::with(&app, |script| {
        let bad = with(location("BAD", OLD), json!({"country": "XXX"}));
        let foreign = with(location("FOREIGN", OLD), json!({"party_id": "OTH"}));
        let list = [locations(&["L1", "L2", "L3", "L4"]), vec![bad, foreign]];
        script.lists.insert("locations", list.concat());
        script.lists.insert("tariffs", vec![fixture("tariff")]);
        script.lists.insert("sessions", vec![fixture("session")]);
        script.lists.insert("cdrs", vec![fixture("cdr")]);
    })
    .await;
    app.drain().await;
    assert_eq!(ids(&app).await, active(&["L1", "L2", "L3", "L4"]));
    assert_eq!(station_price(&app).await, 40);
    for path in [
        "/sessions/NL/EXA/S-1001",
        "/cdrs/NL/EXA/C-1001",
        "/tariffs/NL/EXA/DAY",
    ] {
        cpo.expect("GET", path, None, (200, 1000)).await;
    }
    let pull = pulled(&app).await;
    let counts = json!({"received": 9, "changed": 8, "skipped": 2, "removed": 0});
    assert_eq!(pull["counts"], counts);
    assert_finished(&pull);
    assert_contains(&pull["problems"], "BAD");
    assert_contains(&pull["problems"], "NL*OTH");
    // Sessions cannot be listed without a time.
    let first = cpo.received("GET", "/2.2.1/sessions").remove(0);
    assert_contains(&json!(first.path), "date_from=1970-01-01T00:00:00");
}

async fn station_price(app: &TestApp) -> Value {
    let path = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500&limit=1";
    let page = app.alice.get_ok(path).await;
    page["data"][0]["connectors"][0]["pricing"][0]["price"].clone()
}

#[tokio::test]
async fn hourly_pulls_load_changes_and_full_pulls_remove_locations() {
    let app = TestApp::start().await;
    let cpo = listing(&app, &["L1", "L2", "L3"]).await;
    app.drain().await;
    let later = app.now().plus(MINUTE).to_string();
    let listed = vec![location("L1", OLD), location("L4", &later)];
    cpo.list("locations", listed);
    app.advance(3_600 + 300).await;
    assert_eq!(ids(&app).await, active(&["L1", "L2", "L3", "L4"]));
    let last = cpo.received("GET", "/2.2.1/locations").pop();
    assert_contains(&json!(last.expect("a request").path), "date_from=");
    assert_eq!(pulled(&app).await["counts"]["received"], 1);
    // Locations are not removed because of pages that lack some, if the platform has counted those.
    let pull = json!({"action": "pull", "network": cpo.network, "full": true});
    cpo.script().unlisted = 2;
    manage_ok(&app, pull.clone()).await;
    app.drain().await;
    assert_eq!(ids(&app).await, active(&["L1", "L2", "L3", "L4"]));
    assert_contains(&pulled(&app).await["problems"][0], "X-Total-Count");
    cpo.script().unlisted = 0;
    manage_ok(&app, pull).await;
    app.drain().await;
    let removed = |id: &str| (id.to_owned(), "removed".to_owned());
    let mut want = active(&["L1", "L4"]);
    want.extend([removed("L2"), removed("L3")]);
    want.sort();
    assert_eq!(ids(&app).await, want);
    assert_eq!(pulled(&app).await["counts"]["removed"], 2);
    cpo.expect("GET", "/locations/NL/EXA/L2", None, (404, 2003))
        .await;
    // A location that is listed again is a station again.
    cpo.put("/locations/NL/EXA/L2", &location("L2", OLD)).await;
    assert!(ids(&app).await.contains(&active(&["L2"])[0]));
}

#[tokio::test]
async fn only_locations_that_the_network_does_not_know_are_removed() {
    let app = TestApp::start().await;
    let cpo = listing(&app, &["L1", "L3", "L4", "L5", "Shifted"]).await;
    app.drain().await;
    let later = app.now().plus(MINUTE).to_string();
    let shifted = with(location("Shifted", &later), json!({"name": "Shifted"}));
    let foreign = location("L1", OLD);
    {
        let mut script = cpo.script();
        let answers = [
            ("Shifted", Ok(shifted)),
            ("L3", Err(500)),
            ("L4", Err(404)),
            ("L5", Ok(foreign)),
        ];
        script.locations = answers.into();
        script.lists.insert("locations", locations(&["L1"]));
    }
    let pull = json!({"action": "pull", "network": cpo.network, "full": true});
    manage_ok(&app, pull.clone()).await;
    app.drain().await;
    let removed = |id: &str| (id.to_owned(), "removed".to_owned());
    let mut want = active(&["L1", "L3", "L5", "Shifted"]);
    want.insert(2, removed("L4"));
    assert_eq!(ids(&app).await, want);
    let shown = pulled(&app).await;
    assert_finished(&shown);
    assert_has!(shown, {"incomplete": false, "/counts/removed": 1});
    assert_contains(&shown["problems"], "L3");
    let path = "/locations/NL/EXA/shifted";
    assert_eq!(cpo.data(path).await["name"], "Shifted");
    // It no longer exists at the next full pull.
    cpo.script().locations.clear();
    manage_ok(&app, pull).await;
    app.drain().await;
    for (id, status) in &mut want {
        *status = if id == "L1" { "active" } else { "removed" }.to_owned();
    }
    assert_eq!(ids(&app).await, want);
}

#[tokio::test]
async fn missing_locations_are_checked_in_several_runs() {
    let app = TestApp::start().await;
    let all: Vec<String> = (0..20).map(|n| format!("L{n:02}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let cpo = listing(&app, &all).await;
    app.drain().await;
    {
        let mut script = cpo.script();
        script.locations = [("L00", Ok(location("L00", OLD)))].into();
        script.lists.insert("locations", locations(&["L19"]));
    }
    let pull = json!({"action": "pull", "network": cpo.network, "full": true});
    manage_ok(&app, pull).await;
    let limits = Limits {
        run: Duration::ZERO,
        ..Limits::default()
    };
    let network = Id::from(cpo.network.as_str());
    let removed = async || pulled(&app).await["counts"]["removed"].as_u64();
    let mut counts = Vec::new();
    while pulled(&app).await["finished"].is_string() == counts.is_empty() {
        let run = pull_within(app.app(), Mode::Test, &network, &limits).await;
        run.expect("a run");
        counts.extend(removed().await);
    }
    counts.dedup();
    assert!(counts.len() > 2 && counts.last() == Some(&18), "{counts:?}");
    let kept = ids(&app).await.into_iter();
    let kept: Vec<_> = kept.filter(|(_, status)| status == "active").collect();
    assert_eq!(kept, active(&["L00", "L19"]));
    let requests = cpo.received("GET", "/2.2.1/locations/L").len();
    assert_eq!(requests, 19, "each is requested once");
}

#[tokio::test]
async fn every_page_is_read_however_the_next_one_is_named() {
    for links in [Links::Second, Links::None] {
        let app = TestApp::start().await;
        let cpo = listing(&app, &["L1", "L2", "L3", "L4", "L5"]).await;
        cpo.script().links = links;
        app.drain().await;
        assert_eq!(ids(&app).await, active(&["L1", "L2", "L3", "L4", "L5"]));
        // The same in a delta pull, and objects that are only counted do not make it incomplete.
        let later = app.now().plus(MINUTE).to_string();
        let new = ["N1", "N2", "N3"].map(|id| location(id, &later));
        cpo.list("locations", new.to_vec());
        cpo.script().unlisted = 1;
        app.advance(3_600 + 300).await;
        let pull = pulled(&app).await;
        assert_finished(&pull);
        assert_has!(pull, {"full": false, "incomplete": false, "/counts/received": 3});
        assert_contains(&pull["problems"], "locations: the pages have fewer");
        // No page is sought behind one that is not full.
        cpo.list(
            "locations",
            vec![location("N4", &app.now().plus(MINUTE).to_string())],
        );
        cpo.script().unlisted = 9;
        let before = cpo.received("GET", "/2.2.1/locations").len();
        app.advance(3_600 + 300).await;
        assert_has!(pulled(&app).await, {"incomplete": false, "/counts/received": 1});
        assert_eq!(cpo.received("GET", "/2.2.1/locations").len() - before, 1);
    }
}

#[tokio::test]
async fn a_location_that_is_listed_twice_counts_once() {
    let app = TestApp::start().await;
    let cpo = listing(&app, &["L1", "L2"]).await;
    app.drain().await;
    // L1 has moved to the next page, in the place of L2.
    cpo.list("locations", locations(&["L1", "L1"]));
    let pull = json!({"action": "pull", "network": cpo.network, "full": true});
    manage_ok(&app, pull).await;
    app.drain().await;
    assert_eq!(ids(&app).await, active(&["L1", "L2"]));
    assert_contains(&pulled(&app).await["problems"][0], "X-Total-Count");
}

#[tokio::test]
async fn equal_ids_of_two_networks_are_two_stations() {
    let app = TestApp::start().await;
    let first = listing(&app, &["Isl-1", "iSL-1"]).await;
    let second = Connected::with(&app, |script| {
        script.roles[0]["party_id"] = json!("OTH");
        let theirs = with(location("isl-1", OLD), json!({"party_id": "OTH"}));
        script.lists.insert("locations", vec![theirs]);
    })
    .await;
    app.drain().await;
    let folded = || async {
        let ids = ids(&app).await.into_iter();
        let ids = ids.map(|(id, status)| (id.to_lowercase(), status));
        Vec::from_iter(ids)
    };
    assert_eq!(folded().await, active(&["isl-1", "isl-1"]));
    // Each removes only its own.
    second.list("locations", Vec::new());
    for cpo in [&first, &second] {
        let pull = json!({"action": "pull", "network": cpo.network, "full": true});
        manage_ok(&app, pull).await;
    }
    app.drain().await;
    let removed = ("isl-1".to_owned(), "removed".to_owned());
    assert_eq!(folded().await, [active(&["isl-1"]), vec![removed]].concat());
}

#[tokio::test]
async fn a_pulled_tariff_that_gives_no_prices_is_a_problem() {
    let app = TestApp::start().await;
    let mut unusable = fixture("tariff");
    unusable["elements"][0]["restrictions"] = json!({"day_of_week": ["FUNDAY"]});
    let cpo = Connected::with(&app, |script| {
        script.missing = vec!["sessions", "cdrs"];
        script.lists.insert("tariffs", vec![unusable.clone()]);
        script.lists.insert("locations", locations(&["L1"]));
    });
    let cpo = cpo.await;
    app.drain().await;
    let pull = pulled(&app).await;
    assert_contains(&pull["problems"], "FUNDAY");
    assert_finished(&pull);
    assert_eq!(cpo.data("/tariffs/NL/EXA/DAY").await, unusable);
}

#[tokio::test]
async fn full_pulls_remove_tariffs_that_are_not_listed() {
    let app = TestApp::start().await;
    let cpo = Connected::with(&app, |script| {
        script.lists.insert("tariffs", vec![fixture("tariff")]);
        script.lists.insert("locations", locations(&["L1"]));
    })
    .await;
    app.drain().await;
    assert_eq!(station_price(&app).await, 40);
    cpo.list("tariffs", Vec::new());
    let pull = json!({"action": "pull", "network": cpo.network, "full": true});
    // The platform counts a tariff that is on no page.
    cpo.script().unlisted = 1;
    manage_ok(&app, pull.clone()).await;
    app.drain().await;
    assert_eq!(station_price(&app).await, 40);
    assert_contains(
        &pulled(&app).await["problems"],
        "tariffs: the pages have fewer",
    );
    cpo.script().unlisted = 0;
    manage_ok(&app, pull).await;
    app.drain().await;
    assert_eq!(station_price(&app).await, Value::Null);
    let path = "/tariffs/NL/EXA/DAY";
    cpo.expect("GET", path, None, (404, 2000)).await;
    assert_has!(pulled(&app).await, {"incomplete": false, "/counts/removed": 0});
    assert_eq!(ids(&app).await, active(&["L1"]));
}

#[tokio::test]
async fn stations_of_a_revoked_network_are_inactive() {
    for is_suspended in [false, true] {
        let app = TestApp::start().await;
        let cpo = listing(&app, &["L1", "L2"]).await;
        app.drain().await;
        let action = |action: &str| json!({"action": action, "network": cpo.network});
        if is_suspended {
            manage_ok(&app, action("suspend")).await;
            app.advance(300).await;
            assert_eq!(ids(&app).await, active(&["L1", "L2"]));
        }
        manage_ok(&app, action("revoke")).await;
        app.advance(300).await;
        let statuses = ids(&app).await.into_iter().map(|(_, status)| status);
        assert_eq!(statuses.collect::<Vec<_>>(), ["inactive", "inactive"]);
        // The party comes back over another network.
        let _again = listing(&app, &["L1"]).await;
        app.drain().await;
        let statuses = ids(&app).await.into_iter().map(|(_, status)| status);
        assert_eq!(statuses.collect::<Vec<_>>(), ["active", "inactive"]);
    }
}

#[tokio::test]
async fn a_pull_loads_the_status_of_a_single_evse() {
    let app = TestApp::start().await;
    let cpo = listing(&app, &["L1"]).await;
    app.drain().await;
    let later = app.now().plus(MINUTE).to_string();
    let mut changed = location("L1", &later);
    let status = json!({"status": "CHARGING", "last_updated": later});
    changed["evses"][0] = with(changed["evses"][0].take(), status);
    cpo.list("locations", vec![changed]);
    app.advance(3_600 + 300).await;
    assert_eq!(pulled(&app).await["counts"]["changed"], 1);
    let connectors = station(&app).await["connectors"].clone();
    assert_eq!(connectors[0]["status"], "occupied");
}
