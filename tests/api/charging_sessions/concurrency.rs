//! Tests of connectors that share an EVSE, and of starts and stops at the same time.

use serde_json::{Value, json};
use tests::{Crew, TestApp, TestResponse, assert_has, each, id_of, path_of, with};

use super::{CONFLICT, PATH, path, start, stop};

/// Sends requests at the same time.
async fn at_once(app: &TestApp, requests: Vec<(String, Value)>) -> Vec<TestResponse> {
    let sent: Vec<_> = requests
        .into_iter()
        .map(|(path, body)| {
            let client = app.alice.clone();
            tokio::spawn(async move { client.post(&path, body).await })
        })
        .collect();
    let mut answers = Vec::new();
    for task in sent {
        answers.push(task.await.expect("an answer"));
    }
    answers
}

/// The statuses of a station's connectors, the number of its free EVSEs, and the number of all its EVSEs.
async fn statuses(app: &TestApp, station: &str) -> (Value, [Value; 2]) {
    let station = app.alice.get_ok(&path_of(station)).await;
    let counts = ["connectors_available", "connectors_total"];
    let counts = counts.map(|count| station["availability"][count].clone());
    (each(&station["connectors"], "status"), counts)
}

#[tokio::test]
async fn a_session_occupies_every_connector_of_its_evse() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station_with_cables(json!({})).await;
    let session = start(&app, &crew, &station).await;
    let connectors = json!(["occupied", "occupied", "available"]);
    let occupied = (connectors, [json!(1), json!(2)]);
    assert_eq!(statuses(&app, &station).await, occupied);
    let sibling = with(app.session(&rival, &station), json!({"connector": "2"}));
    let refused = app.alice.post(PATH, sibling.clone()).await;
    refused.expect_error(409, CONFLICT, "connector");
    let active = format!("{PATH}?status=active");
    let sessions = app.alice.get(&active).await.expect(200).ids();
    assert_eq!(sessions, [id_of(&session)]);
    assert_eq!(statuses(&app, &station).await, occupied);
    stop(&app, &session).await;
    let free = (
        json!(["available", "available", "available"]),
        [json!(2), json!(2)],
    );
    assert_eq!(statuses(&app, &station).await, free);
    app.alice.post_ok(PATH, sibling).await;
    assert_eq!(statuses(&app, &station).await, occupied);
    app.drain().await;
}

#[tokio::test]
async fn concurrent_starts_on_one_evse_create_one_session() {
    let app = TestApp::start().await;
    let station = app.station_with_cables(json!({})).await;
    let mut starts = Vec::new();
    for connector in ["1", "2", "1", "2"] {
        let crew = app.crew(&app.alice).await;
        let body = with(
            app.session(&crew, &station),
            json!({"connector": connector}),
        );
        starts.push((PATH.to_owned(), body));
    }
    let answers = at_once(&app, starts).await;
    let (started, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(started.len(), 1);
    for answer in refused {
        assert_eq!(answer.error().2, CONFLICT, "{}", answer.text);
    }
    let counts = [json!(1), json!(2)];
    assert_eq!(statuses(&app, &station).await.1, counts);
    app.drain().await;
}

/// A crew, and a station with the connectors `1` to `8`.
async fn with_eight_connectors() -> (TestApp, Crew, String) {
    let (app, crew) = TestApp::with_crew().await;
    let connector = |n: usize| json!({"id": n.to_string(), "power": 22.0, "status": "available", "type": "Type2"});
    let many: Vec<Value> = (1..=8).map(connector).collect();
    let counts =
        json!({"connectors_available": 8, "connectors_total": 8, "opening_hours": [], "range": []});
    let station = json!({"connectors": many, "availability": counts});
    let station = app.station(station).await;
    (app, crew, station)
}

/// Rivals at the same moment: as many vehicles for one connector, one vehicle for two connectors, and the item of one station with all
/// its connectors.
#[tokio::test]
async fn no_connector_and_no_vehicle_ever_has_two_sessions() {
    let (app, crew, station) = with_eight_connectors().await;
    let mut bodies = Vec::new();
    for n in 1..=4 {
        let vehicle = tests::vehicle(&crew.fleet);
        let vehicle = app.alice.create("/v1/vehicles", vehicle).await;
        let body = with(app.session(&crew, &station), json!({"vehicle": vehicle}));
        // Each vehicle is plugged in twice at the same time, and each odd connector is requested by two vehicles.
        bodies.push(with(body.clone(), json!({"connector": n.to_string()})));
        bodies.push(with(body, json!({"connector": (n % 4 + 1).to_string()})));
    }
    let starts = bodies.into_iter().map(|body| (PATH.to_owned(), body));
    let answers = at_once(&app, starts.collect()).await;
    let mut held: Vec<(String, String)> = Vec::new();
    for answer in answers {
        match answer.status {
            200 => held.push((
                answer.body["connector"].to_string(),
                answer.body["vehicle"].to_string(),
            )),
            _ => assert_eq!(answer.error().2, CONFLICT, "{}", answer.text),
        }
    }
    let connectors: std::collections::HashSet<_> = held.iter().map(|(c, _)| c).collect();
    let vehicles: std::collections::HashSet<_> = held.iter().map(|(_, v)| v).collect();
    assert!(held.len() >= 2, "{held:?}");
    assert_eq!(connectors.len(), held.len(), "{held:?}");
    assert_eq!(vehicles.len(), held.len(), "{held:?}");
    let shown = app.alice.get_ok(&path_of(&station)).await;
    assert_has!(shown["availability"], {"connectors_available": 8 - held.len()});
    app.drain().await;
}

#[tokio::test]
async fn sessions_on_all_connectors_start_and_stop_concurrently() {
    let (app, crew, station) = with_eight_connectors().await;
    let mut bodies = Vec::new();
    for n in 1..=8 {
        let vehicle = tests::vehicle(&crew.fleet);
        let vehicle = app.alice.create("/v1/vehicles", vehicle).await;
        let change = json!({"vehicle": vehicle, "connector": n.to_string()});
        bodies.push(with(app.session(&crew, &station), change));
    }
    let starts = bodies.into_iter().map(|body| (PATH.to_owned(), body));
    let started = at_once(&app, starts.collect()).await;
    let available = async || {
        let path = format!("/v1/charging_stations/{station}");
        app.alice.get_ok(&path).await["availability"]["connectors_available"].clone()
    };
    let sessions = started
        .into_iter()
        .map(|response| response.expect(200).body);
    let sessions: Vec<Value> = sessions.collect();
    assert_eq!(available().await, 0);
    let stops = sessions
        .iter()
        .map(|session| (format!("{}/stop", path(session)), json!({})));
    for answer in at_once(&app, stops.collect()).await {
        answer.expect(200);
    }
    assert_eq!(available().await, 8);
    app.drain().await;
    let fleet = app.alice.get_ok(&path_of(&crew.fleet)).await;
    assert_eq!(fleet["total_sessions"], 8);
}
