//! `import-stations`, and the files of `cargo run -- --stations FILE --tariffs FILE`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use functions::networks::import_stations::{self, Imported, Summary};
use kernel::{Mode, Timestamp};
use serde_json::{Value, json};
use tests::{Client, Crew, TestApp, assert_has, id_of, path_of};

async fn load(app: &TestApp, locations: &Value, tariffs: Option<&Value>) -> Imported {
    let text = |value: &Value| value.to_string().into_bytes();
    let (locations, tariffs) = (text(locations), tariffs.map(text));
    let service = app.app();
    let (stations, mut imported) =
        import_stations::read(&locations, tariffs.as_deref(), service.now())
            .expect("files of objects");
    import_stations::add(service, Mode::Test, stations, &mut imported)
        .await
        .expect("the stations are stored");
    imported
}

/// A location on its own island with one EVSE, whose connectors have these tariffs.
fn location(id: &str, tariffs: &[&str]) -> Value {
    let connector = |(n, tariff): (usize, &&str)| {
        json!({"id": (n + 1).to_string(), "standard": "IEC_62196_T2", "format": "CABLE",
            "power_type": "AC_3_PHASE", "max_voltage": 230, "max_amperage": 32, "tariff_ids": [tariff],
            "last_updated": "2026-01-01T00:00:00Z"})
    };
    let evse = |(n, tariff)| {
        json!({"uid": n, "status": "AVAILABLE", "capabilities": ["RESERVABLE"],
            "connectors": [connector((0, tariff))], "last_updated": "2026-01-01T00:00:00Z"})
    };
    let evses: Vec<Value> = tariffs.iter().enumerate().map(evse).collect();
    json!({"country_code": "PT", "party_id": "ISL", "id": id, "publish": true, "name": id, "address": "1 Quay",
        "city": "Horta", "country": "PRT", "coordinates": {"latitude": "38.5000", "longitude": "-28.6000"},
        "evses": evses, "operator": {"name": "Isle"}, "time_zone": "Atlantic/Azores",
        "opening_times": {"twentyfourseven": true}, "last_updated": "2026-01-01T00:00:00Z"})
}

/// A tariff with a price per kWh, in euros without tax.
fn tariff(id: &str, price: f64) -> Value {
    json!({"country_code": "PT", "party_id": "ISL", "id": id, "currency": "EUR", "elements": [
        {"price_components": [{"type": "ENERGY", "price": price, "step_size": 1}]}],
        "last_updated": "2026-01-01T00:00:00Z"})
}

#[tokio::test]
async fn a_location_in_another_spelling_is_the_same_station() {
    let app = TestApp::start().await;
    let names = |ids: &[&str]| Value::from_iter(ids.iter().map(|id| location(id, &["T1"])));
    let imported = load(&app, &names(&["Isl-1", "iSL-1"]), None).await;
    assert_eq!((imported.imported, imported.created), (1, 1));
    let imported = load(&app, &names(&["ISL-1"]), None).await;
    assert_eq!((imported.imported, imported.created), (1, 0));
    assert_eq!(on_the_island(&app.alice).await.len(), 1);
}

const ISLAND: &str = "/v1/charging_stations?latitude=38.5&longitude=-28.6&radius=1000&limit=100";

/// The stations on the island, by their location ids.
async fn on_the_island(client: &Client) -> Vec<Value> {
    let page = client.get_ok(ISLAND).await;
    let mut stations = page["data"].as_array().expect("stations").clone();
    stations.sort_by_key(|station| station["location_id"].to_string());
    stations
}

async fn start(
    app: &TestApp,
    crew: &Crew,
    station: &Value,
    connector: &str,
) -> tests::TestResponse {
    let body = json!({"charging_station": station["id"], "connector": connector, "driver": crew.driver,
        "vehicle": crew.vehicle});
    app.alice.post("/v1/charging_sessions", body).await
}

#[tokio::test]
async fn sessions_and_searches_use_the_price_of_the_connector() {
    let (app, crew) = TestApp::with_crew().await;
    let tariffs = json!([tariff("cheap", 0.2), tariff("dear", 0.6)]);
    let imported = load(&app, &location("1", &["dear", "cheap"]), Some(&tariffs)).await;
    assert_eq!((imported.imported, imported.tariffs), (1, 2));
    let station = on_the_island(&app.alice).await.remove(0);
    let price = |pricing: &Value| pricing[0]["price"].as_i64();
    assert_eq!(price(&station["connectors"][0]["pricing"]), Some(60));
    assert_eq!(price(&station["connectors"][1]["pricing"]), Some(20));
    assert_eq!(price(&station["pricing"]), Some(20));
    for (cap, found) in [(19, 0), (20, 1), (60, 1)] {
        let page = app
            .alice
            .get(&format!("{ISLAND}&max_price_per_kwh={cap}"))
            .await;
        assert_eq!(page.ids().len(), found, "{cap}");
    }
    let cap = json!({"name": "Cap", "rules": {"max_price_per_kwh": 30}});
    let policy = app.alice.create("/v1/policies", cap).await;
    let capped = async |ids: &[&str]| {
        let fleet = format!("/v1/fleets/{}", crew.fleet);
        let currency = json!({"policy_ids": ids, "preferences": {"default_currency": "eur"}});
        app.alice.post_ok(&fleet, currency).await;
    };
    let driver = format!("/v1/drivers/{}", crew.driver);
    let euros = json!({"preferences": {"currency": "eur"}});
    app.alice.post_ok(&driver, euros).await;
    capped(&[policy.as_str()]).await;
    let blocked = start(&app, &crew, &station, "0-1").await.expect(403);
    assert_eq!(blocked.body["rule"], "max_price_per_kwh");
    capped(&[]).await;
    let session = start(&app, &crew, &station, "0-1").await.expect(200);
    app.advance(1800).await;
    let stopped = format!("/v1/charging_sessions/{}/stop", session.id());
    let session = app.alice.post_ok(&stopped, json!({})).await;
    let energy = session["energy_consumed"].as_i64().expect("Wh");
    assert!(energy > 5_000, "{energy}");
    assert_eq!(
        session["amount_due"].as_i64(),
        Some((energy * 60 + 500) / 1000)
    );
}

#[tokio::test]
async fn a_tariff_of_another_party_is_not_used() {
    let app = TestApp::start().await;
    let mut foreign = tariff("ONLY", 0.01);
    foreign["party_id"] = json!("RIV");
    let imported = load(
        &app,
        &json!([location("L1", &["ONLY"])]),
        Some(&json!([foreign])),
    )
    .await;
    let unknown = std::collections::BTreeSet::from(["ONLY".to_owned()]);
    assert_eq!((imported.tariffs, imported.unknown_tariffs), (1, unknown));
    assert_has!(on_the_island(&app.alice).await.remove(0), {"pricing": [], "/connectors/0/pricing": []});
    // If two tariffs have the same id, the party's own applies, however it is written.
    let both = json!([foreign, tariff("only", 0.5)]);
    load(&app, &json!([location("L1", &["ONLY"])]), Some(&both)).await;
    let station = on_the_island(&app.alice).await.remove(0);
    assert_eq!(station["pricing"][0]["price"], 50);
}

#[tokio::test]
async fn loading_a_file_again_changes_what_it_says_and_nothing_else() {
    let (app, crew) = TestApp::with_crew().await;
    let tariffs = json!([tariff("t", 0.2)]);
    let file = json!([location("1", &["t", "t"]), location("2", &["t"])]);
    let first = load(&app, &file, Some(&tariffs)).await;
    assert_eq!((first.created, first.updated), (2, 0));
    let station = on_the_island(&app.alice).await.remove(0);
    start(&app, &crew, &station, "0-1").await.expect(200);
    let charging = on_the_island(&app.alice).await;
    assert_eq!(charging[0]["connectors"][0]["status"], "occupied");

    app.advance(60).await;
    let again = load(&app, &file, None).await;
    assert_eq!((again.imported, again.created, again.updated), (2, 0, 0));
    assert_eq!(on_the_island(&app.alice).await, charging);

    let mut changed = file.clone();
    changed[0]["evses"][1]["status"] = "OUTOFORDER".into();
    changed[0]["name"] = "New name".into();
    let third = load(&app, &changed, None).await;
    assert_eq!((third.created, third.updated), (0, 1));
    let stations = on_the_island(&app.alice).await;
    assert_has!(json!(stations), {"/0/name": "New name", "/0/connectors/0/status": "occupied",
        "/0/connectors/1/status": "faulted", "/0/pricing": charging[0]["pricing"],
        "/0/created": charging[0]["created"], "/1": charging[1]});
}

#[tokio::test]
async fn an_unpublished_station_is_not_listed_matched_or_started() {
    let (app, crew) = TestApp::with_crew().await;
    load(&app, &location("1", &["t"]), None).await;
    let station = on_the_island(&app.alice).await.remove(0);
    let id = id_of(&station).to_owned();
    let favourite = json!({"preferences": {"preferred_charging_stations": [id]}});
    let driver = format!("/v1/drivers/{}", crew.driver);
    app.alice.post_ok(&driver, favourite).await;
    let favourites = format!("/v1/charging_stations?driver={}", crew.driver);
    assert_eq!(app.alice.get(&favourites).await.ids(), [id.as_str()]);
    let reserve = async |minutes: i64| {
        let mut body = app.reservation(&crew, minutes);
        body["location"] = json!({"latitude": 38.5, "longitude": -28.6, "radius": 1000});
        let reservation = app.alice.create("/v1/reservations", body).await;
        app.drain().await;
        format!("/v1/reservations/{reservation}")
    };
    let confirmed = reserve(10).await;
    assert_eq!(app.alice.get_ok(&confirmed).await["status"], "confirmed");

    let mut unpublished = location("1", &["t"]);
    unpublished["publish"] = false.into();
    load(&app, &unpublished, None).await;
    app.drain().await;
    assert_eq!(on_the_island(&app.alice).await, [] as [Value; 0]);
    assert!(
        !app.alice
            .walk("/v1/charging_stations?limit=100")
            .await
            .contains(&id)
    );
    assert_eq!(app.alice.get(&favourites).await.ids(), [""; 0]);
    app.alice.get(&path_of(&id)).await.expect(404);
    let member = "preferences.preferred_charging_stations";
    let expanded = app
        .alice
        .get_ok(&format!("{driver}?expand[]={member}"))
        .await;
    assert_eq!(
        expanded["preferences"]["preferred_charging_stations"],
        json!([id])
    );
    let refused = start(&app, &crew, &station, "0-1").await.expect(404);
    assert_has!(refused.body, {"code": "charging_session_dependency_not_found", "param": "charging_station"});
    let estimate = json!({"charging_station": id, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 80});
    app.alice
        .post("/v1/estimations", estimate)
        .await
        .expect(404);
    // The existing reservation is matched again, and no other station is near.
    app.advance(31 * 60).await;
    let failed = app.alice.get_ok(&confirmed).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "station_unavailable"});
    assert_eq!(app.alice.get("/v1/charging_sessions").await.ids(), [""; 0]);

    load(&app, &location("1", &["t"]), None).await;
    assert_eq!(on_the_island(&app.alice).await.len(), 1);
}

#[tokio::test]
async fn a_station_that_is_only_planned_is_shown_and_not_matched() {
    let (app, crew) = TestApp::with_crew().await;
    let mut planned = location("1", &["t"]);
    planned["evses"][0]["status"] = "PLANNED".into();
    load(&app, &planned, None).await;
    let station = on_the_island(&app.alice).await.remove(0);
    assert_eq!(station["status"], "planned");
    let refused = start(&app, &crew, &station, "0-1").await.expect(409);
    assert_eq!(refused.body["code"], "charging_session_conflict");
}

#[tokio::test]
async fn stations_are_listed_newest_first_without_a_place() {
    let app = TestApp::start().await;
    let names = ["c", "a", "d", "b", "e"];
    for name in names {
        app.advance(1).await;
        load(&app, &location(name, &["t"]), None).await;
    }
    // Loading one of them again does not make it new.
    let mut changed = location("a", &["t"]);
    changed["name"] = "changed".into();
    load(&app, &changed, None).await;
    let newest = app.alice.get_ok("/v1/charging_stations?limit=5").await;
    let listed: Vec<_> = newest["data"]
        .as_array()
        .expect("stations")
        .iter()
        .collect();
    let ids: Vec<_> = listed
        .iter()
        .map(|station| station["location_id"].as_str())
        .collect();
    assert_eq!(ids, [Some("e"), Some("b"), Some("d"), Some("a"), Some("c")]);
    let all = app.alice.walk("/v1/charging_stations?limit=2").await;
    let whole = app.alice.walk("/v1/charging_stations?limit=100").await;
    assert_eq!(all, whole);
    let mut distinct = all.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), all.len());
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

/// Loads the valid locations of the file, and checks that all are stored.
async fn all_load(app: &TestApp, file: &Value, count: usize) {
    let imported = load(app, file, None).await;
    assert_eq!(imported.skipped, []);
    assert_eq!((imported.imported, imported.created), (count, count));
}

#[tokio::test]
async fn twenty_odd_but_valid_locations_load() {
    let app = TestApp::start().await;
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/odd_locations.json");
    all_load(&app, &read(&fixture), 20).await;
    let path = "/v1/charging_stations?latitude=52.09&longitude=5.12&radius=100000&operator[]=Odd Power&limit=100";
    let page = app.alice.get_ok(&path.replace(' ', "%20")).await;
    let status = |id: &str| {
        let mut stations = page["data"].as_array().expect("stations").iter();
        let found = stations.find(|station| station["location_id"] == id);
        found.map(|station| station["status"].as_str().expect("a status").to_owned())
    };
    assert_eq!(status("ODD11").as_deref(), Some("planned"));
    assert_eq!(status("ODD12").as_deref(), Some("removed"));
    assert_eq!(status("ODD13").as_deref(), Some("inactive"));
    assert_eq!(status("ODD14").as_deref(), Some("active"));
    assert_eq!(status("ODD18"), None);
}

#[test]
fn a_summary_lists_the_first_thousand_skipped_objects() {
    // The ids are as long as the file has them.
    for (digits, shown) in [(4, 1_000..=1_000), (10_000, 1..=150)] {
        let objects = (0..1_200).map(|n| json!({"id": format!("{n:0digits$}")}));
        let file = Value::from_iter(objects).to_string();
        let read = import_stations::read(file.as_bytes(), Some(file.as_bytes()), Timestamp::EPOCH);
        let (stations, imported) = read.expect("files of objects");
        assert_eq!((stations.len(), imported.skipped.len()), (0, 1_200));
        let summary = serde_json::to_value(Summary::of(imported).expect("a summary"));
        let summary = summary.expect("JSON");
        assert_has!(summary, {"skipped_count": 1_200, "skipped_tariffs_count": 1_200, "imported": 0});
        for list in ["skipped", "skipped_tariffs"] {
            let listed = summary[list].as_array().expect("a list");
            assert!(shown.contains(&listed.len()), "{}", listed.len());
            assert_eq!(listed[0]["id"], format!("{:0digits$}", 0));
        }
        // The limit of Lambda.
        assert!(summary.to_string().len() < 6 * 1024 * 1024);
    }
}

/// A folder beside the project with real data. The test is skipped if it does not exist.
fn data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data")
        .join(name);
    if !path.exists() {
        let message = format!("skipped: {} is missing\n", path.display());
        drop(std::io::stderr().write_all(message.as_bytes()));
        return None;
    }
    Some(path)
}

#[tokio::test]
async fn the_stations_of_london_load() {
    let Some(path) = data("london_locations.json") else {
        return;
    };
    let app = TestApp::start().await;
    let file = read(&path);
    all_load(&app, &file, file.as_array().expect("locations").len()).await;
}

#[tokio::test]
async fn the_examples_of_the_standard_load() {
    let Some(folder) = data("ocpi-2.2.1-examples") else {
        return;
    };
    let app = TestApp::start().await;
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|file| file.expect("a file").path())
        .collect();
    files.sort();
    let (mut locations, mut tariffs, mut hours) = (0, 0, 0);
    for path in files {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        if name.starts_with("location_example") {
            let imported = load(&app, &read(&path), None).await;
            assert_eq!(
                (imported.imported, imported.skipped),
                (1, Vec::new()),
                "{name}"
            );
            locations += 1;
        } else if name.starts_with("tariff_") || name.starts_with("tariffrestriction_") {
            let imported = load(&app, &json!([]), Some(&read(&path))).await;
            assert_eq!(
                (imported.tariffs, imported.skipped_tariffs),
                (1, Vec::new()),
                "{name}"
            );
            tariffs += 1;
        } else if name.starts_with("location_hours_") || name.starts_with("location_regularhours_")
        {
            let example = read(&path);
            let times = example.get("opening_times").unwrap_or(&example);
            let mut location = location(name, &["t"]);
            location["opening_times"] = times.clone();
            let imported = load(&app, &location, None).await;
            assert_eq!(
                (imported.imported, imported.skipped),
                (1, Vec::new()),
                "{name}"
            );
            hours += 1;
        }
    }
    assert_eq!((locations, tariffs, hours), (6, 20, 4));
}
