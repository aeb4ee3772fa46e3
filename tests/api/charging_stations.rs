//! `/v1/charging_stations`.

use serde_json::{Value, json};
use shared::origin::Mode;
use tests::TestApp;

fn names(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .map(|members| members.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

#[tokio::test]
async fn a_station_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let id = app
        .alice
        .get("/v1/charging_stations?limit=1")
        .await
        .ids()
        .remove(0);
    let station = app
        .alice
        .get(&format!("/v1/charging_stations/{id}"))
        .await
        .expect(200)
        .body;
    assert_eq!(
        names(&station),
        [
            "address",
            "availability",
            "capabilities",
            "connectors",
            "created",
            "id",
            "location",
            "name",
            "object",
            "operator",
            "operator_contact",
            "pricing",
            "status",
            "timezone",
            "updated"
        ]
    );
    assert_eq!(
        (&station["object"], &station["status"]),
        (&json!("charging_station"), &json!("active"))
    );
    assert_eq!(
        names(&station["availability"]),
        [
            "connectors_available",
            "connectors_total",
            "opening_hours",
            "range"
        ]
    );
    assert_eq!(
        names(&station["capabilities"]),
        [
            "24_7_access",
            "amenities",
            "payment_methods",
            "requires_membership",
            "reservable"
        ]
    );
    assert_eq!(
        names(&station["connectors"][0]),
        ["id", "power", "status", "type"]
    );
    assert_eq!(
        names(&station["pricing"][0]),
        [
            "currency",
            "price",
            "step_size",
            "tax",
            "tax_included",
            "tax_percent",
            "type"
        ]
    );
    assert_eq!(names(&station["location"]), ["latitude", "longitude"]);
    let total = station["connectors"].as_array().map(Vec::len);
    assert_eq!(
        station["availability"]["connectors_total"]
            .as_u64()
            .map(|total| total as usize),
        total
    );
}

#[tokio::test]
async fn every_tenant_of_the_mode_sees_the_same_stations() {
    let app = TestApp::start().await;
    let all = app.alice.walk("/v1/charging_stations?limit=100").await;
    assert_eq!(all.len(), 300);
    assert_eq!(
        app.other_account(Mode::Test)
            .await
            .walk("/v1/charging_stations?limit=70")
            .await,
        all
    );
    assert!(
        app.other_account(Mode::Live)
            .await
            .get("/v1/charging_stations")
            .await
            .ids()
            .is_empty()
    );
    let unknown = app.alice.get("/v1/charging_stations/chst_1").await;
    assert_eq!(
        unknown.error(),
        (
            404,
            "invalid_request_error",
            Some("charging_station_not_found"),
            Some("charging_station")
        )
    );
}

/// OCPI locations of real stations, where a folder beside the project has them.
fn real_stations() -> Option<std::path::PathBuf> {
    let beside = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .read_dir()
        .ok()?;
    let files =
        beside.filter_map(|entry| Some(entry.ok()?.path().join("data/london_locations.json")));
    files.into_iter().find(|file| file.exists())
}

#[tokio::test]
async fn real_stations_are_read_and_matched() {
    let Some(file) = real_stations() else {
        eprintln!("SKIPPED: no folder beside the project has data/london_locations.json");
        return;
    };
    let app = TestApp::start_with(|options| options.stations = Some(file)).await;
    assert_eq!(
        app.alice
            .walk("/v1/charging_stations?limit=100")
            .await
            .len(),
        100
    );
    let crew = app.crew(&app.alice).await;
    let mut body = app.reservation(&crew, 120);
    body["location"] = json!({"latitude": 51.5205, "longitude": -0.03, "radius": 1000});
    let id = app.alice.post("/v1/reservations", body).await.id();
    app.advance(95 * 60).await;
    let confirmed = app.alice.get(&format!("/v1/reservations/{id}")).await.body;
    assert_eq!(confirmed["status"], "confirmed");
    app.advance(60 * 60).await;
}

#[tokio::test]
async fn the_list_shows_what_retrieving_shows_newest_first() {
    let app = TestApp::start().await;
    let page = app
        .alice
        .get("/v1/charging_stations?limit=5")
        .await
        .expect(200);
    for station in page.body["data"].as_array().expect("rows") {
        let id = station["id"].as_str().expect("an id");
        assert!(id.starts_with("chst_"));
        let shown = app.alice.get(&format!("/v1/charging_stations/{id}")).await;
        assert_eq!(shown.expect(200).body, *station);
    }
    let all = app.alice.walk("/v1/charging_stations?limit=100").await;
    assert!(all.is_sorted_by(|newer, older| newer > older));
}

#[tokio::test]
async fn as_many_connectors_are_available_as_say_so() {
    let app = TestApp::start().await;
    let page = app
        .alice
        .get("/v1/charging_stations?limit=100")
        .await
        .expect(200);
    let stations = page.body["data"].as_array().expect("rows");
    assert_eq!(stations.len(), 100);
    for station in stations {
        let connectors = station["connectors"].as_array().expect("connectors");
        let available = connectors
            .iter()
            .filter(|connector| connector["status"] == "available")
            .count();
        assert_eq!(
            station["availability"]["connectors_available"], available,
            "{station}"
        );
    }
}

#[tokio::test]
async fn a_client_cannot_change_a_station() {
    let app = TestApp::start().await;
    let id = app
        .alice
        .get("/v1/charging_stations?limit=1")
        .await
        .ids()
        .remove(0);
    let path = format!("/v1/charging_stations/{id}");
    for (method, path) in [
        ("POST", "/v1/charging_stations"),
        ("POST", path.as_str()),
        ("DELETE", path.as_str()),
    ] {
        let body = (method == "POST").then(|| "{}".to_owned());
        let answer = app.alice.send(method, path, body, &[]).await;
        assert_eq!(answer.error(), (405, "invalid_request_error", None, None));
        assert!(answer.header("allow").contains("GET"), "{method} {path}");
        assert!(!answer.header("allow").contains(method), "{method} {path}");
    }
    let unknown = app.alice.get("/v1/charging_stations?colour=red").await;
    assert_eq!(
        unknown.error(),
        (400, "invalid_request_error", None, Some("colour"))
    );
}
