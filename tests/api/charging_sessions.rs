//! `/v1/charging_sessions`, from plug-in to the end of the charge.

use functions::stream::sweep;
use serde_json::{Value, json};
use shared::origin::Mode;
use tests::{Answer, Crew, Receiver, TestApp, with};

const PATH: &str = "/v1/charging_sessions";

async fn start(app: &TestApp, crew: &Crew, station: &str) -> Value {
    let body = app.session(crew, station);
    app.alice.post(PATH, body).await.expect(200).body
}

fn path(session: &Value) -> String {
    format!("{PATH}/{}", session["id"].as_str().expect("an id"))
}

async fn connector(app: &TestApp, station: &str) -> (Value, Value) {
    let path = format!("/v1/charging_stations/{station}");
    let station = app.alice.get(&path).await.expect(200).body;
    (
        station["connectors"][0]["status"].clone(),
        station["availability"]["connectors_available"].clone(),
    )
}

async fn read_battery(app: &TestApp, vehicle: &str, level: f64) {
    let path = format!("/v1/vehicles/{vehicle}/telemetry");
    let reading = json!({"battery": {"level": level}});
    app.alice.post(&path, reading).await.expect(200);
}

/// Sends requests at the same moment.
async fn at_once(app: &TestApp, requests: Vec<(String, Value)>) -> Vec<Answer> {
    let sent: Vec<_> = requests
        .into_iter()
        .map(|(path, body)| {
            let client = app.alice.clone();
            tokio::spawn(async move { client.post(&path, body).await })
        })
        .collect();
    let mut answers = Vec::new();
    for one in sent {
        answers.push(one.await.expect("an answer"));
    }
    answers
}

const CONFLICT: Option<&str> = Some("charging_session_conflict");

#[tokio::test]
async fn a_new_session_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let session = start(&app, &crew, &station).await;
    let now = session["created"].clone();
    let want = json!({
        "id": session["id"], "object": "charging_session", "amount_due": 0, "amount_paid": 0,
        "charging_station": station, "connector": "1", "country": "GB", "created": now, "currency": "gbp",
        "driver": crew.driver, "energy_consumed": 0, "fleet": crew.fleet, "payment_method": null, "policy_warnings": [],
        "session_ended": null, "session_limit": null, "session_started": now, "status": "active", "updated": now,
        "vehicle": crew.vehicle,
    });
    assert_eq!(session, want);
    assert!(
        session["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("cs_"))
    );
    app.drain().await;
}

#[tokio::test]
async fn an_active_session_shows_what_it_has_charged_so_far_and_a_stopped_one_what_it_charged() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let session = start(&app, &crew, &station).await;
    assert_eq!(
        connector(&app, &station).await,
        (json!("occupied"), json!(1))
    );
    app.advance(30 * 60).await;
    let live = app.alice.get(&path(&session)).await.expect(200).body;
    let energy = live["energy_consumed"].as_i64().expect("Wh");
    assert!((11_000..11_100).contains(&energy), "{live}");
    assert_eq!(
        (&live["status"], &live["session_ended"]),
        (&json!("active"), &Value::Null)
    );
    let listed = app
        .alice
        .get(&format!("{PATH}?status=active"))
        .await
        .expect(200);
    assert!(listed.body["data"][0]["energy_consumed"].as_i64() >= Some(energy));
    let stop = format!("{}/stop", path(&session));
    let stopped = app.alice.post(&stop, json!({})).await.expect(200).body;
    let energy = stopped["energy_consumed"].as_i64().expect("Wh");
    // 11 kWh at 45 pence, half away from zero.
    assert_eq!(stopped["amount_due"], (energy * 45 + 500) / 1000);
    assert_eq!(stopped["status"], "completed");
    assert_eq!(stopped["session_ended"], stopped["updated"]);
    assert_eq!(
        connector(&app, &station).await,
        (json!("available"), json!(2))
    );
    app.advance(4 * 3600).await;
    assert_eq!(
        app.alice.get(&path(&session)).await.expect(200).body,
        stopped
    );
    let again = app.alice.post(&stop, json!({})).await;
    assert_eq!(
        again.error(),
        (
            409,
            "invalid_request_error",
            Some("charging_session_state_conflict"),
            None
        )
    );
}

#[tokio::test]
async fn a_session_stops_by_itself_at_its_limit_and_not_a_moment_later() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let body = with(
        app.session(&crew, &station),
        json!({"session_limit": 11_000}),
    );
    let session = app.alice.post(PATH, body).await.expect(200).body;
    app.drain().await;
    // The trigger is lost, so that somebody comes late.
    app.running().lose_triggers().await.expect("lost");
    app.advance(40 * 60).await;
    let live = app.alice.get(&path(&session)).await.expect(200).body;
    assert_eq!(
        (&live["energy_consumed"], &live["amount_due"]),
        (&json!(11_000), &json!(495))
    );
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    let ended = app.alice.get(&path(&session)).await.expect(200).body;
    let moment = |name: &str| shared::Timestamp::parse(ended[name].as_str().expect("a time"));
    let lasted = moment("session_ended")
        .map(|at| at.millis_since(moment("session_started").expect("a time")));
    assert_eq!(lasted, Ok(30 * 60 * 1000));
    assert_eq!(
        (
            &ended["status"],
            &ended["energy_consumed"],
            &ended["amount_due"]
        ),
        (&json!("completed"), &json!(11_000), &json!(495))
    );
    assert_eq!(
        connector(&app, &station).await,
        (json!("available"), json!(2))
    );
}

#[tokio::test]
async fn a_session_without_a_limit_stops_when_the_battery_is_full() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    read_battery(&app, &crew.vehicle, 81.65).await;
    let session = start(&app, &crew, &station).await;
    app.advance(3600).await;
    let ended = app.alice.get(&path(&session)).await.expect(200).body;
    // The rest of 60 kWh, at 22 kW half an hour's worth.
    assert_eq!(
        (&ended["status"], &ended["energy_consumed"]),
        (&json!("completed"), &json!(11_010))
    );
}

#[tokio::test]
async fn the_fleets_totals_grow_once_per_session_and_exactly() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    for limit in [100, 200] {
        let body = with(
            app.session(&crew, &station),
            json!({"session_limit": limit}),
        );
        let session = app.alice.post(PATH, body).await.expect(200).body;
        app.advance(120).await;
        let id = shared::Id::from(session["id"].as_str().expect("an id"));
        let tenant = app.alice.tenant();
        let message = shared::ports::Message::StopSession {
            tenant,
            session: id,
        };
        functions::work(app.app(), &message)
            .await
            .expect("nothing is left to do");
    }
    let path = format!("/v1/fleets/{}", crew.fleet);
    let fleet = app.alice.get(&path).await.expect(200).body;
    assert_eq!(
        (
            &fleet["total_sessions"],
            &fleet["total_energy_consumed_kwh"]
        ),
        (&json!(2), &json!(0.3))
    );
}

#[tokio::test]
async fn what_a_start_names_must_be_there() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let good = app.session(&crew, &station);
    let foreign = app.other_account(Mode::Test).await;
    let foreign = app.crew(&foreign).await;
    for (change, param) in [
        (json!({"charging_station": "chst_1"}), "charging_station"),
        (json!({"charging_station": crew.driver}), "charging_station"),
        (json!({"connector": "3"}), "connector"),
        (json!({"driver": "drv_1"}), "driver"),
        (json!({"driver": foreign.driver}), "driver"),
        (json!({"vehicle": foreign.vehicle}), "vehicle"),
        (json!({"payment_method": "pm_1"}), "payment_method"),
    ] {
        let answer = app
            .alice
            .post(PATH, with(good.clone(), change.clone()))
            .await;
        let code = Some("charging_session_dependency_not_found");
        let want = (404, "invalid_request_error", code, Some(param));
        assert_eq!(answer.error(), want, "{change}");
    }
    let nothing = app
        .alice
        .post(PATH, with(good, json!({"session_limit": 0})))
        .await;
    assert_eq!(
        nothing.error(),
        (400, "invalid_request_error", None, Some("session_limit"))
    );
    app.drain().await;
}

#[tokio::test]
async fn driver_vehicle_and_connector_must_be_active_and_fit_together() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let good = app.session(&crew, &station);
    let stranger = app.alice.post("/v1/drivers", tests::driver()).await.id();
    let answer = app
        .alice
        .post(PATH, with(good.clone(), json!({"driver": stranger})))
        .await;
    let code = Some("owner_scope_invalid");
    assert_eq!(
        answer.error(),
        (400, "invalid_request_error", code, Some("driver"))
    );
    let ccs = with(
        tests::vehicle(&crew.fleet),
        json!({"charging_standard": "CCS"}),
    );
    let ccs = app.alice.post("/v1/vehicles", ccs).await.id();
    let answer = app
        .alice
        .post(PATH, with(good.clone(), json!({"vehicle": ccs})))
        .await;
    assert_eq!(
        answer.error(),
        (400, "invalid_request_error", None, Some("connector"))
    );
    for (path, status, param) in [
        (
            format!("/v1/drivers/{}", crew.driver),
            "suspended",
            "driver",
        ),
        (
            format!("/v1/vehicles/{}", crew.vehicle),
            "inactive",
            "vehicle",
        ),
        (format!("/v1/fleets/{}", crew.fleet), "archived", "vehicle"),
    ] {
        let set = async |status| {
            app.alice
                .post(&path, json!({"status": status}))
                .await
                .expect(200)
        };
        set(status).await;
        let answer = app.alice.post(PATH, good.clone()).await;
        assert_eq!(
            answer.error(),
            (400, "invalid_request_error", None, Some(param))
        );
        set("active").await;
    }
    app.alice.post(PATH, good).await.expect(200);
    app.drain().await;
}

#[tokio::test]
async fn what_is_not_free_now_is_a_conflict() {
    let app = TestApp::start().await;
    let (one, two) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station(json!({})).await;
    start(&app, &one, &station).await;
    let conflict = |param| (409, "invalid_request_error", CONFLICT, Some(param));
    let busy = app.alice.post(PATH, app.session(&two, &station)).await;
    assert_eq!(busy.error(), conflict("connector"));
    let twice = with(app.session(&one, &station), json!({"connector": "2"}));
    assert_eq!(
        app.alice.post(PATH, twice).await.error(),
        conflict("vehicle")
    );
    let closed = json!({"capabilities": {"24_7_access": false, "amenities": [], "payment_methods": [],
        "requires_membership": false, "reservable": true}});
    let faulted =
        json!({"connectors": [{"id": "1", "power": 22.0, "status": "faulted", "type": "Type2"}]});
    for (change, param) in [
        (json!({"status": "maintenance"}), "charging_station"),
        (closed, "charging_station"),
        (faulted, "connector"),
    ] {
        let station = app.station(change.clone()).await;
        let answer = app.alice.post(PATH, app.session(&two, &station)).await;
        assert_eq!(answer.error(), conflict(param), "{change}");
    }
    app.drain().await;
}

/// Rivals at the same moment: for one connector with as many vehicles, for one vehicle with two connectors, and for the
/// row of one station with all its connectors.
#[tokio::test]
async fn no_connector_and_no_vehicle_ever_has_two_sessions() {
    let app = TestApp::start().await;
    let one = app.crew(&app.alice).await;
    let connector = |n: usize| json!({"id": n.to_string(), "power": 22.0, "status": "available", "type": "Type2"});
    let many: Vec<Value> = (1..=8).map(connector).collect();
    let counts =
        json!({"connectors_available": 8, "connectors_total": 8, "opening_hours": [], "range": []});
    let station = app
        .station(json!({"connectors": many, "availability": counts}))
        .await;
    let mut bodies = Vec::new();
    for n in 1..=4 {
        let vehicle = app
            .alice
            .post("/v1/vehicles", tests::vehicle(&one.fleet))
            .await
            .id();
        let body = with(app.session(&one, &station), json!({"vehicle": vehicle}));
        // Each vehicle is plugged in twice at once, and each odd connector is wanted by two vehicles.
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
    assert_eq!(
        (connectors.len(), vehicles.len()),
        (held.len(), held.len()),
        "{held:?}"
    );
    let path = format!("/v1/charging_stations/{station}");
    let shown = app.alice.get(&path).await.expect(200).body;
    assert_eq!(
        shown["availability"]["connectors_available"],
        8 - held.len()
    );
    app.drain().await;
}

#[tokio::test]
async fn sessions_on_all_connectors_of_a_station_start_and_stop_at_once() {
    let app = TestApp::start().await;
    let one = app.crew(&app.alice).await;
    let connector = |n: usize| json!({"id": n.to_string(), "power": 22.0, "status": "available", "type": "Type2"});
    let many: Vec<Value> = (1..=8).map(connector).collect();
    let counts =
        json!({"connectors_available": 8, "connectors_total": 8, "opening_hours": [], "range": []});
    let station = app
        .station(json!({"connectors": many, "availability": counts}))
        .await;
    let mut bodies = Vec::new();
    for n in 1..=8 {
        let vehicle = app
            .alice
            .post("/v1/vehicles", tests::vehicle(&one.fleet))
            .await
            .id();
        let change = json!({"vehicle": vehicle, "connector": n.to_string()});
        bodies.push(with(app.session(&one, &station), change));
    }
    let starts = bodies.into_iter().map(|body| (PATH.to_owned(), body));
    let started = at_once(&app, starts.collect()).await;
    let available = async || {
        let path = format!("/v1/charging_stations/{station}");
        app.alice.get(&path).await.expect(200).body["availability"]["connectors_available"].clone()
    };
    let sessions: Vec<Value> = started
        .into_iter()
        .map(|one| one.expect(200).body)
        .collect();
    assert_eq!(available().await, 0);
    let stops = sessions
        .iter()
        .map(|session| (format!("{}/stop", path(session)), json!({})));
    for answer in at_once(&app, stops.collect()).await {
        answer.expect(200);
    }
    assert_eq!(available().await, 8);
    let fleet = app
        .alice
        .get(&format!("/v1/fleets/{}", one.fleet))
        .await
        .expect(200)
        .body;
    assert_eq!(fleet["total_sessions"], 8);
    app.drain().await;
}

#[tokio::test]
async fn a_repeated_start_answers_as_the_first() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let body = app.session(&crew, &station).to_string();
    let send = async || {
        let key = [("idempotency-key", "plug-in")];
        app.alice
            .send("POST", PATH, Some(body.clone()), &key)
            .await
            .expect(200)
    };
    let (first, again) = (send().await, send().await);
    assert_eq!(first.body, again.body);
    assert_eq!(again.header("idempotent-replayed"), "true");
    let stop = format!("{}/stop", path(&first.body));
    let key = [("idempotency-key", "plug-out")];
    let stopped = app
        .alice
        .send("POST", &stop, Some("{}".into()), &key)
        .await
        .expect(200);
    let again = app
        .alice
        .send("POST", &stop, Some("{}".into()), &key)
        .await
        .expect(200);
    assert_eq!(stopped.body, again.body);
    app.drain().await;
}

/// A reservation at the depot, confirmed.
async fn confirmed(app: &TestApp, crew: &Crew, minutes: i64) -> (String, Value) {
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(crew, minutes), area);
    let id = app.alice.post("/v1/reservations", body).await.id();
    let path = format!("/v1/reservations/{id}");
    app.drain().await;
    if minutes > 30 {
        app.advance(u32::try_from((minutes - 30) * 60).expect("a time") + 1)
            .await;
    }
    let reservation = app.alice.get(&path).await.expect(200).body;
    assert_eq!(reservation["status"], "confirmed", "{reservation}");
    (path, reservation)
}

#[tokio::test]
async fn a_session_of_the_expected_vehicle_keeps_the_reservation_and_completes_it() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let types = [
        "charging_session.started",
        "charging_session.completed",
        "reservation.completed",
        "reservation.expired",
    ];
    let hook = json!({"url": receiver.url, "enabled_events": types});
    app.alice
        .post("/v1/webhook_endpoints", hook)
        .await
        .expect(200);
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let one =
        json!({"connectors": [{"id": "1", "power": 22.0, "status": "available", "type": "Type2"}]});
    let station = app.station(one).await;
    let (reservation, _) = confirmed(&app, &crew, 20).await;
    // Another vehicle may have the connector until then, and has to leave it.
    let interim = start(&app, &rival, &station).await;
    app.advance(20 * 60).await;
    let left = app.alice.get(&path(&interim)).await.expect(200).body;
    assert_eq!(left["status"], "completed");
    let refused = app.alice.post(PATH, app.session(&rival, &station)).await;
    assert_eq!(
        refused.error(),
        (409, "invalid_request_error", CONFLICT, Some("connector"))
    );
    let session = start(&app, &crew, &station).await;
    // Neither the end of the grace nor that of the window ends it.
    app.advance(70 * 60).await;
    assert_eq!(
        app.alice.get(&reservation).await.body["status"],
        "confirmed"
    );
    assert_eq!(
        app.alice.get(&path(&session)).await.body["status"],
        "active"
    );
    let stop = format!("{}/stop", path(&session));
    app.alice.post(&stop, json!({})).await.expect(200);
    assert_eq!(
        app.alice.get(&reservation).await.body["status"],
        "completed"
    );
    app.drain().await;
    let mut told = receiver.types();
    told.sort();
    let want = [
        "charging_session.completed",
        "charging_session.completed",
        "charging_session.started",
        "charging_session.started",
        "reservation.completed",
    ];
    assert_eq!(told, want);
    // The time is free again.
    start(&app, &rival, &station).await;
    app.drain().await;
}

#[tokio::test]
async fn a_vehicle_that_comes_a_quarter_of_an_hour_early_has_come() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let station = app.station(json!({})).await;
    let (reservation, _) = confirmed(&app, &crew, 29).await;
    app.advance(14 * 60).await;
    // On the other connector of the station, for that matter.
    let body = with(
        app.session(&crew, &station),
        json!({"connector": "2", "session_limit": 11_000}),
    );
    app.alice.post(PATH, body).await.expect(200);
    app.advance(45 * 60).await;
    assert_eq!(
        app.alice.get(&reservation).await.body["status"],
        "completed"
    );
}

#[tokio::test]
async fn a_session_elsewhere_leaves_the_reservation_to_expire() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    app.station(json!({})).await;
    let (reservation, _) = confirmed(&app, &crew, 10).await;
    let elsewhere = app
        .station(json!({"location": {"latitude": 20.0, "longitude": 20.0}}))
        .await;
    app.advance(11 * 60).await;
    start(&app, &crew, &elsewhere).await;
    app.advance(15 * 60).await;
    assert_eq!(app.alice.get(&reservation).await.body["status"], "expired");
}

#[tokio::test]
async fn nobody_is_promised_a_connector_while_it_charges() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let one =
        json!({"connectors": [{"id": "1", "power": 22.0, "status": "available", "type": "Type2"}]});
    let station = app.station(one).await;
    let session = start(&app, &crew, &station).await;
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(&rival, 30), area);
    let id = app.alice.post("/v1/reservations", body).await.id();
    app.drain().await;
    let reservation = format!("/v1/reservations/{id}");
    assert_eq!(app.alice.get(&reservation).await.body["status"], "pending");
    // Free before its time, and the next attempt finds it so.
    app.alice
        .post(&format!("{}/stop", path(&session)), json!({}))
        .await
        .expect(200);
    app.advance(6 * 60).await;
    assert_eq!(
        app.alice.get(&reservation).await.body["status"],
        "confirmed"
    );
}

#[tokio::test]
async fn lists_are_filtered_by_everything_a_session_names() {
    let app = TestApp::start().await;
    let (one, two) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let (here, there) = (app.station(json!({})).await, app.station(json!({})).await);
    let first = start(&app, &one, &here).await;
    app.alice
        .post(&format!("{}/stop", path(&first)), json!({}))
        .await
        .expect(200);
    app.advance(60).await;
    let second = start(&app, &two, &there).await;
    let (first, second) = (
        first["id"].as_str().expect("an id"),
        second["id"].as_str().expect("an id"),
    );
    let list = async |query: String| {
        app.alice
            .get(&format!("{PATH}?{query}"))
            .await
            .expect(200)
            .ids()
    };
    assert_eq!(list(String::new()).await, [second, first]);
    for (query, want) in [
        (format!("driver={}", one.driver), first),
        (format!("fleet={}", two.fleet), second),
        (format!("driver={}&fleet={}", two.driver, two.fleet), second),
        (format!("vehicle={}", one.vehicle), first),
        (format!("charging_station={there}"), second),
        ("status=completed".into(), first),
    ] {
        assert_eq!(list(query.clone()).await, [want], "{query}");
    }
    let both = "created[gte]=2026-03-01T00:00:00Z&created[lt]=2126-03-01T00:00:00Z";
    assert_eq!(list(both.into()).await.len(), 2);
    assert!(
        list("created[lte]=2026-03-01T00:00:00Z".into())
            .await
            .is_empty()
    );
    for (query, code, param) in [
        (
            format!("driver={}&fleet={}", one.driver, two.fleet),
            "driver_or_fleet_not_found",
            "driver",
        ),
        ("driver=drv_1".into(), "driver_not_found", "driver"),
        ("fleet=flt_1".into(), "fleet_not_found", "fleet"),
        ("vehicle=veh_1".into(), "vehicle_not_found", "vehicle"),
        (
            "charging_station=chst_1".into(),
            "charging_station_not_found",
            "charging_station",
        ),
    ] {
        let answer = app.alice.get(&format!("{PATH}?{query}")).await;
        assert_eq!(
            answer.error(),
            (404, "invalid_request_error", Some(code), Some(param)),
            "{query}"
        );
    }
    let wrong = app.alice.get(&format!("{PATH}?status=idle")).await;
    assert_eq!(
        wrong.error(),
        (400, "invalid_request_error", None, Some("status"))
    );
    app.drain().await;
}

#[tokio::test]
async fn an_unknown_session_is_404() {
    let app = TestApp::start().await;
    for answer in [
        app.alice.get(&format!("{PATH}/cs_1")).await,
        app.alice
            .post(&format!("{PATH}/cs_1/stop"), json!({}))
            .await,
    ] {
        let code = Some("charging_session_not_found");
        assert_eq!(
            answer.error(),
            (404, "invalid_request_error", code, Some("charging_session"))
        );
    }
}

/// A card of the client's account, by a token of test mode.
async fn card(app: &TestApp, token: &str) -> String {
    use shared::models::payment_method::{PaymentMethod, PaymentMethodPrivate};
    let id = shared::Id::new(shared::Kind::PaymentMethod, app.now());
    let card = json!({"brand": "visa", "exp_month": 12, "exp_year": 2040, "fingerprint": "f", "last4": "4242"});
    let method = json!({"id": id, "object": "payment_method", "card": card, "created": app.now(), "driver": null,
        "fleet": null, "metadata": {}, "type": "card", "updated": app.now()});
    let method: PaymentMethod = serde_json::from_value(method).expect("a payment method");
    let private = PaymentMethodPrivate {
        token: Some(token.into()),
        customer: None,
    };
    let tenant = app.alice.tenant();
    let origin = shared::Origin::later(tenant, app.now());
    let (store, mut changes) = (&app.app().store, shared::store::Changes::new());
    let row = shared::store::row::Row::with_private(method, private);
    store
        .create(&mut changes, &origin, &row)
        .expect("a row of the card");
    store
        .commit_later(&origin, changes)
        .await
        .expect("the card is stored");
    id.to_string()
}

#[tokio::test]
async fn a_session_with_a_payment_method_is_charged_once_when_it_has_ended() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let hook =
        json!({"url": receiver.url, "enabled_events": ["service.succeeded", "service.failed"]});
    app.alice
        .post("/v1/webhook_endpoints", hook)
        .await
        .expect(200);
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    for (token, paid, due, told, status) in [
        ("tok_success", 495, 0, "service.succeeded", "succeeded"),
        ("tok_declined", 0, 495, "service.failed", "failed"),
    ] {
        let card = card(&app, token).await;
        let change = json!({"session_limit": 11_000, "payment_method": card});
        let body = with(app.session(&crew, &station), change);
        let session = app.alice.post(PATH, body).await.expect(200).body;
        app.advance(31 * 60).await;
        let ended = app.alice.get(&path(&session)).await.expect(200).body;
        assert_eq!(
            (&ended["amount_paid"], &ended["amount_due"]),
            (&json!(paid), &json!(due))
        );
        let id = shared::Id::from(session["id"].as_str().expect("an id"));
        let tenant = app.alice.tenant();
        let message = shared::ports::Message::SettleSession {
            tenant,
            session: id,
        };
        functions::work(app.app(), &message)
            .await
            .expect("nothing is left to do");
        app.drain().await;
        let events = receiver.received();
        let event = &events.last().expect("an event").event;
        let object = &event["data"]["object"];
        assert_eq!(event["type"], told);
        let want = json!({"id": object["id"], "object": "transaction", "amount": 495, "charging_session": session["id"],
            "created": object["created"], "currency": "gbp", "description": object["description"],
            "driver": crew.driver, "fleet": crew.fleet, "payment_method": card, "status": status, "type": "charge",
            "vehicle": crew.vehicle});
        assert_eq!(*object, want);
    }
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn a_charge_whose_trigger_was_lost_is_taken_all_the_same() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let card = card(&app, "tok_success").await;
    let body = with(
        app.session(&crew, &station),
        json!({"payment_method": card}),
    );
    let session = app.alice.post(PATH, body).await.expect(200).body;
    app.advance(600).await;
    let stop = format!("{}/stop", path(&session));
    let due = app.alice.post(&stop, json!({})).await.expect(200).body["amount_due"].clone();
    app.running().lose_triggers().await.expect("lost");
    app.advance(180).await;
    assert_eq!(app.alice.get(&path(&session)).await.body["amount_due"], due);
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    let settled = app.alice.get(&path(&session)).await.expect(200).body;
    assert_eq!(
        (&settled["amount_due"], &settled["amount_paid"]),
        (&json!(0), &due)
    );
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 0);
}

#[tokio::test]
async fn whoever_is_charging_can_be_neither_detached_nor_deleted() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let session = start(&app, &crew, &station).await;
    let (driver, vehicle) = (
        format!("/v1/drivers/{}", crew.driver),
        format!("/v1/vehicles/{}", crew.vehicle),
    );
    let detach = async || {
        app.alice
            .post(&format!("{driver}/detach"), json!({"fleet": crew.fleet}))
            .await
    };
    let code = Some("driver_fleet_conflict");
    assert_eq!(
        detach().await.error(),
        (409, "invalid_request_error", code, Some("fleet"))
    );
    for (path, param) in [(&driver, "driver"), (&vehicle, "vehicle")] {
        let refused = app.alice.delete(path).await;
        assert_eq!(
            refused.error(),
            (409, "invalid_request_error", None, Some(param))
        );
    }
    app.alice
        .post(&format!("{}/stop", path(&session)), json!({}))
        .await
        .expect(200);
    detach().await.expect(200);
    app.alice.delete(&driver).await.expect(200);
    app.alice.delete(&vehicle).await.expect(200);
    app.drain().await;
}

#[tokio::test]
async fn a_policy_in_enforcement_blocks_a_start_and_a_suggestion_warns() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let rules = json!({"name": "Others only", "rules": {"denied_operators": ["Voltway"]}});
    let policy = app.alice.post("/v1/policies", rules).await.id();
    let driver = format!("/v1/drivers/{}", crew.driver);
    let held = json!({"policy_ids": [policy]});
    app.alice.post(&driver, held).await.expect(200);
    let refused = app.alice.post(PATH, app.session(&crew, &station)).await;
    assert_eq!(refused.error().0, 403);
    assert_eq!(
        (
            &refused.body["code"],
            &refused.body["policy"],
            &refused.body["rule"]
        ),
        (
            &json!("policy_blocked"),
            &json!(policy),
            &json!("denied_operators")
        )
    );
    let lifted = json!({"mode": "suggestion"});
    app.alice
        .post(&format!("/v1/policies/{policy}"), lifted)
        .await
        .expect(200);
    let body = app.session(&crew, &station);
    let started = app.alice.post(PATH, body).await.expect(200).body;
    let warnings = json!([{"policy": policy, "rule": "denied_operators",
        "message": "The policy \"Others only\" denies the station's operator."}]);
    assert_eq!(started["policy_warnings"], warnings);
    app.drain().await;
}

#[tokio::test]
async fn a_wallet_pays_for_a_session_as_long_as_it_holds_enough() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let driver = format!("/v1/drivers/{}", crew.driver);
    let pounds = json!({"preferences": {"currency": "gbp"}});
    app.alice.post(&driver, pounds).await.expect(200);
    let card = card(&app, "tok_success").await;
    let top_up = json!({"amount": 1000, "payment_method": card});
    app.alice
        .post(&format!("{driver}/top_up"), top_up)
        .await
        .expect(200);
    let wallet = json!({"type": "wallet", "driver": crew.driver});
    let wallet = app.alice.post("/v1/payment_methods", wallet).await.id();
    for left in [505, 10] {
        let body = with(
            app.session(&crew, &station),
            json!({"payment_method": wallet}),
        );
        let session = app.alice.post(PATH, body).await.expect(200).body;
        app.advance(1800).await;
        let stop = format!("{}/stop", path(&session));
        app.alice.post(&stop, json!({})).await.expect(200);
        app.advance(120).await;
        let settled = app.alice.get(&path(&session)).await.expect(200).body;
        assert_eq!(settled["amount_due"], 0, "{settled}");
        assert_eq!(app.alice.get(&driver).await.body["wallet_balance"], left);
    }
    // The third finds too little: it stays due, and the wallet as it is.
    let body = with(
        app.session(&crew, &station),
        json!({"payment_method": wallet}),
    );
    let session = app.alice.post(PATH, body).await.expect(200).body;
    app.advance(1800).await;
    let stop = format!("{}/stop", path(&session));
    app.alice.post(&stop, json!({})).await.expect(200);
    app.advance(120).await;
    let unpaid = app.alice.get(&path(&session)).await.expect(200).body;
    assert_eq!(
        (&unpaid["amount_due"], &unpaid["amount_paid"]),
        (&json!(495), &json!(0))
    );
    assert_eq!(app.alice.get(&driver).await.body["wallet_balance"], 10);
}
