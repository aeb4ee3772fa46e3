//! `/v1/charging_sessions`, from plug-in to the end of the charge.

use functions::charging_sessions::settle::SettleSession;
use functions::charging_sessions::stop_at_limit::StopSession;
use functions::job::Job as _;
use functions::jobs;
use functions::stream::sweep;
use kernel::time::{DAY, HOUR, hours, millis, minutes, seconds};
use kernel::{Id, Mode};
use models::charging_session::SessionInternal;
use models::{ChargingSession, Stored};
use serde_json::{Value, json};
use tests::{
    Crew, Receiver, TestApp, TestResponse, assert_contains, assert_has, each, id_of, path_of, with,
};

const PATH: &str = "/v1/charging_sessions";

async fn start(app: &TestApp, crew: &Crew, station: &str) -> Value {
    start_with(app, crew, station, json!({})).await
}

async fn start_with(app: &TestApp, crew: &Crew, station: &str, change: Value) -> Value {
    let body = with(app.session(crew, station), change);
    app.alice.post_ok(PATH, body).await
}

async fn stop(app: &TestApp, session: &Value) -> Value {
    let path = format!("{}/stop", path(session));
    app.alice.post_ok(&path, json!({})).await
}

fn path(session: &Value) -> String {
    path_of(id_of(session))
}

/// The status of a station's first connector, and how many are available.
async fn connector(app: &TestApp, station: &str) -> Value {
    let station = app.alice.get_ok(&path_of(station)).await;
    let status = &station["connectors"][0]["status"];
    json!([status, station["availability"]["connectors_available"]])
}

async fn read_battery(app: &TestApp, vehicle: &str, level: f64) {
    let path = format!("/v1/vehicles/{vehicle}/telemetry");
    let reading = json!({"battery": {"level": level}});
    app.alice.post_ok(&path, reading).await;
}

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

const CONFLICT: Option<&str> = Some("charging_session_conflict");

#[tokio::test]
async fn a_new_session_has_every_field_of_the_specification() {
    let (app, crew, station) = TestApp::with_station().await;
    let session = start(&app, &crew, &station).await;
    let created = kernel::Timestamp::parse(session["created"].as_str().expect("a time"));
    let created = created.expect("a time");
    assert_has!(session, {"charging_station": station, "driver": crew.driver, "ends_by": created.plus(DAY),
        "fleet": crew.fleet, "session_started": created, "updated": created, "vehicle": crew.vehicle});
    app.snapshot("charging_session_new", &session);
    app.drain().await;
}

#[tokio::test]
async fn a_session_shows_its_energy_while_active_and_when_stopped() {
    let (app, crew, station) = TestApp::with_station().await;
    let session = start(&app, &crew, &station).await;
    assert_eq!(connector(&app, &station).await, json!(["occupied", 1]));
    app.advance(30 * 60).await;
    let live = app.alice.get_ok(&path(&session)).await;
    let energy = live["energy_consumed"].as_i64().expect("Wh");
    assert!((11_000..11_100).contains(&energy), "{live}");
    assert_has!(live, {"status": "active", "session_ended": null});
    let listed = app.alice.get_ok(&format!("{PATH}?status=active")).await;
    assert!(listed["data"][0]["energy_consumed"].as_i64() >= Some(energy));
    let stopped = stop(&app, &session).await;
    let energy = stopped["energy_consumed"].as_i64().expect("Wh");
    // 11 kWh at 45 pence, half away from zero.
    assert_has!(stopped, {"amount_due": (energy * 45 + 500) / 1000, "status": "completed",
        "session_ended": stopped["updated"], "charging_ended": stopped["session_ended"]});
    let (net, tax) = (&stopped["net"], &stopped["tax"]);
    let line = json!({"type": "ENERGY", "description": "Energy", "quantity": kwh(energy), "unit": "kWh",
        "unit_price": "45", "tax_included": true, "tax_percent": "20", "net": net, "tax": tax,
        "gross": stopped["amount_due"]});
    assert_eq!(stopped["cost_breakdown"], json!([line]));
    assert_eq!(
        net.as_i64().expect("net") + tax.as_i64().expect("tax"),
        stopped["amount_due"]
    );
    assert_eq!(connector(&app, &station).await, json!(["available", 2]));
    app.advance(4 * 3600).await;
    assert_eq!(app.alice.get_ok(&path(&session)).await, stopped);
    let again = format!("{}/stop", path(&session));
    let again = app.alice.post(&again, json!({})).await;
    again.expect_error(409, "charging_session_state_conflict", None);
}

#[tokio::test]
async fn a_session_stops_exactly_at_its_energy_limit() {
    let (app, crew, station) = TestApp::with_station().await;
    let change = json!({"session_limit": 11_000});
    let session = start_with(&app, &crew, &station, change).await;
    app.drain().await;
    // The trigger is lost, so that the work is done late.
    app.running().lose_triggers().await.expect("lost");
    app.advance(40 * 60).await;
    assert_has!(app.alice.get_ok(&path(&session)).await, {"energy_consumed": 11_000, "amount_due": 495});
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    let ended = app.alice.get_ok(&path(&session)).await;
    let moment = |name: &str| kernel::Timestamp::parse(ended[name].as_str().expect("a time"));
    let lasted =
        moment("session_ended").map(|at| at.since(moment("session_started").expect("a time")));
    assert_eq!(lasted, Ok(minutes(30)));
    assert_has!(ended, {"status": "completed", "energy_consumed": 11_000, "amount_due": 495});
    assert_eq!(connector(&app, &station).await, json!(["available", 2]));
}

/// Wh as a decimal number of kWh without trailing zeros.
fn kwh(wh: i64) -> String {
    let digits = format!("{}.{:03}", wh / 1000, wh % 1000);
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

#[tokio::test]
async fn a_full_battery_starts_parking_time_until_the_session_stops() {
    let (app, crew, station) = TestApp::with_station().await;
    let price = |kind: &str, price: i64| {
        json!({"currency": "gbp", "price": price, "step_size": 1, "tax": "vat", "tax_included": true, "tax_percent": "20",
            "type": kind})
    };
    let pricing = json!([price("ENERGY", 45), price("PARKING_TIME", 360)]);
    app.change_station(&station, json!({"pricing": pricing}))
        .await;
    read_battery(&app, &crew.vehicle, 81.65).await;
    let types = ["charging_session.completed", "charging_session.updated"];
    let receiver = Receiver::subscribed(&app.alice, &types).await;
    let session = start(&app, &crew, &station).await;
    // Half an hour for the rest of 60 kWh at 22 kW, and four and a half hours after that: 11.01 kWh, of which 90 % arrive in the battery.
    app.advance(5 * 3600).await;
    let parked = app.alice.get_ok(&path(&session)).await;
    assert_has!(parked, {"status": "active", "energy_consumed": 12_234});
    let moment = |object: &Value, name: &str| {
        kernel::Timestamp::parse(object[name].as_str().expect("a time")).expect("a time")
    };
    let charged = moment(&parked, "charging_ended").since(moment(&session, "session_started"));
    assert_eq!(charged, millis(12_234 * 3600 / 22 + 1));
    assert_eq!(connector(&app, &station).await, json!(["occupied", 1]));
    let stopped = stop(&app, &session).await;
    assert_eq!(stopped["charging_ended"], parked["charging_ended"]);
    let parking = moment(&stopped, "session_ended").since(moment(&stopped, "charging_ended"));
    assert!(parking > hours(4), "{stopped}");
    // 12.234 kWh at 45 pence, and a tenth of a penny for each second that has begun.
    let seconds = (parking + millis(999)).as_secs();
    let gross = [12_234 * 45, seconds * 100].map(|thousandths| (thousandths + 500) / 1000);
    let lines = &stopped["cost_breakdown"];
    assert_eq!(each(lines, "type"), json!(["ENERGY", "PARKING_TIME"]));
    assert_eq!(each(lines, "gross"), json!(gross));
    assert_eq!(stopped["amount_due"], gross[0] + gross[1]);
    assert_eq!(connector(&app, &station).await, json!(["available", 2]));
    app.drain().await;
    // The end of charging is one event, however long the vehicle is parked there.
    let mut received = receiver.types();
    received.sort();
    assert_eq!(received, types);
}

#[tokio::test]
async fn the_session_of_a_parked_vehicle_ends_after_a_day() {
    let (app, crew, station) = TestApp::with_station().await;
    read_battery(&app, &crew.vehicle, 100.0).await;
    let session = start(&app, &crew, &station).await;
    app.advance(23 * 3600).await;
    assert_eq!(app.alice.get_ok(&path(&session)).await["status"], "active");
    app.advance(2 * 3600).await;
    let ended = app.alice.get_ok(&path(&session)).await;
    assert_has!(ended, {"status": "completed", "session_ended": session["ends_by"], "energy_consumed": 0});
    assert_eq!(connector(&app, &station).await, json!(["available", 2]));
}

#[tokio::test]
async fn a_parked_vehicle_stays_and_the_reservation_is_matched_again() {
    for has_other in [false, true] {
        let app = TestApp::start().await;
        let bob = app.other_account(Mode::Test).await;
        let (crew, rival) = (app.crew(&app.alice).await, app.crew(&bob).await);
        let change = json!({"connectors": [{"id": "1", "power": 22.0, "status": "available", "type": "Type2"}]});
        let station = app.station(change.clone()).await;
        read_battery(&app, &crew.vehicle, 100.0).await;
        let session = start(&app, &crew, &station).await;
        app.advance(600).await;
        // The vehicle is full, and the reservation is matched half an hour before its window.
        let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
        let body = with(app.reservation(&rival, 40), area);
        let created = bob.post_ok("/v1/reservations", body).await;
        let reservation = format!("/v1/reservations/{}", id_of(&created));
        app.advance(11 * 60).await;
        assert_has!(bob.get_ok(&reservation).await, {"status": "confirmed", "charging_station": station});
        let place = json!({"location": {"latitude": 10.001, "longitude": 10.0}});
        let other = if has_other {
            Some(app.station(with(change, place)).await)
        } else {
            None
        };
        app.advance(31 * 60).await;
        let parked = app.alice.get_ok(&path(&session)).await;
        assert_has!(parked, {"status": "active", "ends_by_reason": "maximum_duration"});
        let after = bob.get_ok(&reservation).await;
        let events = bob.get_ok("/v1/events?limit=100").await;
        let events = events["data"].as_array().expect("events").iter();
        let events = events.filter(|event| event["data"]["object"]["id"] == after["id"]);
        let events: Vec<_> = events.map(|event| &event["type"]).collect();
        if has_other {
            assert_has!(after, {"status": "confirmed", "charging_station": other});
            assert_eq!(events[0], "reservation.reassigned");
        } else {
            assert_has!(after, {"status": "failed", "failed_reason": "station_unavailable"});
            assert_eq!(events[0], "reservation.failed");
            assert_eq!(events[1], "reservation.unassigned");
        }
        app.advance(24 * 3600).await;
        let ended = app.alice.get_ok(&path(&session)).await;
        assert_eq!(ended["status"], "completed");
    }
}

#[tokio::test]
async fn a_session_ends_when_the_station_closes_and_its_start_says_so() {
    let (app, crew) = TestApp::with_crew().await;
    let closing = app.now().plus(HOUR);
    let closed = json!([{"from": closing, "until": closing.plus(hours(2))}]);
    let hours = json!({"connectors_available": 2, "connectors_total": 2, "opening_hours": [], "range": [],
        "exceptional_closings": closed});
    let station = app.station(json!({"availability": hours})).await;
    let session = start(&app, &crew, &station).await;
    assert_has!(session, {"ends_by": closing, "ends_by_reason": "station_closing"});
    app.advance(90 * 60).await;
    let ended = app.alice.get_ok(&path(&session)).await;
    assert_has!(ended, {"status": "completed", "session_ended": closing});
    let energy = ended["energy_consumed"].as_i64().expect("Wh");
    assert!((21_900..=22_000).contains(&energy), "{ended}");
    assert_eq!(connector(&app, &station).await, json!(["available", 2]));
    // A session cannot be started while the station is closed.
    let refused = app.alice.post(PATH, app.session(&crew, &station)).await;
    refused.expect_error(409, CONFLICT, "charging_station");
    assert_eq!(refused.body["message"], "The station is closed now.");
    assert_eq!(app.alice.get(PATH).await.expect(200).ids().len(), 1);
}

#[tokio::test]
async fn the_fleets_totals_grow_once_per_session_and_exactly() {
    let (app, crew, station) = TestApp::with_station().await;
    for limit in [100, 200] {
        let change = json!({"session_limit": limit});
        let session = start_with(&app, &crew, &station, change).await;
        app.advance(120).await;
        let (tenant, session) = (app.alice.tenant(), Id::from(id_of(&session)));
        let message = StopSession { tenant, session }.message();
        let done = jobs::work(app.app(), &message.expect("a message")).await;
        done.expect("nothing is left to do");
    }
    app.drain().await;
    let path = format!("/v1/fleets/{}", crew.fleet);
    assert_has!(app.alice.get_ok(&path).await, {"total_sessions": 2, "total_energy_consumed_kwh": 0.3});
}

#[tokio::test]
async fn a_driver_whose_app_card_is_withheld_starts_nothing() {
    let (app, crew, station) = TestApp::with_station().await;
    let card = app_card(&app, &crew).await;
    for status in ["blocked", "lost"] {
        app.alice.post_ok(&card, json!({"status": status})).await;
        let refused = app.alice.post(PATH, app.session(&crew, &station)).await;
        refused.expect_error(409, "charging_session_conflict", "driver");
    }
    let station_path = path_of(&station);
    assert_has!(app.alice.get_ok(&station_path).await, {"/connectors/0/status": "available"});
    app.alice.post_ok(&card, json!({"status": "active"})).await;
    start(&app, &crew, &station).await;
    app.drain().await;
}

/// The path of the app card of a driver.
pub async fn app_card(app: &TestApp, crew: &Crew) -> String {
    app.drain().await;
    let list = format!("/v1/charge_cards?driver={}", crew.driver);
    path_of(&app.alice.get(&list).await.ids()[0])
}

#[tokio::test]
async fn what_a_start_names_must_be_there() {
    let (app, crew, station) = TestApp::with_station().await;
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
        let answer = app.alice.post(PATH, with(good.clone(), change)).await;
        answer.expect_error(404, "charging_session_dependency_not_found", param);
    }
    let nothing = with(good, json!({"session_limit": 0}));
    let nothing = app.alice.post(PATH, nothing).await;
    nothing.expect_error(400, None, "session_limit");
    app.drain().await;
}

#[tokio::test]
async fn driver_vehicle_and_connector_must_be_active_and_fit_together() {
    let (app, crew, station) = TestApp::with_station().await;
    let good = app.session(&crew, &station);
    let stranger = app.alice.create("/v1/drivers", tests::driver()).await;
    let stranger = with(good.clone(), json!({"driver": stranger}));
    let answer = app.alice.post(PATH, stranger).await;
    answer.expect_error(400, "owner_scope_invalid", "driver");
    let mut ccs = tests::vehicle(&crew.fleet);
    ccs["charging_standard"] = json!("CCS");
    let ccs = app.alice.create("/v1/vehicles", ccs).await;
    let answer = app
        .alice
        .post(PATH, with(good.clone(), json!({"vehicle": ccs})));
    let answer = answer.await;
    answer.expect_error(400, None, "connector");
    for (id, status, param) in [
        (&crew.driver, "suspended", "driver"),
        (&crew.vehicle, "inactive", "vehicle"),
        (&crew.fleet, "archived", "vehicle"),
    ] {
        let path = path_of(id);
        let set = async |status| app.alice.post_ok(&path, json!({"status": status})).await;
        set(status).await;
        let answer = app.alice.post(PATH, good.clone()).await;
        answer.expect_error(400, None, param);
        set("active").await;
    }
    app.alice.post_ok(PATH, good).await;
    app.drain().await;
}

#[tokio::test]
async fn what_is_not_free_now_is_a_conflict() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station(json!({})).await;
    start(&app, &crew, &station).await;
    let busy = app.alice.post(PATH, app.session(&rival, &station)).await;
    busy.expect_error(409, CONFLICT, "connector");
    let twice = with(app.session(&crew, &station), json!({"connector": "2"}));
    let twice = app.alice.post(PATH, twice).await;
    twice.expect_error(409, CONFLICT, "vehicle");
    let closed = json!({"capabilities": {"24_7_access": false, "amenities": [], "payment_methods": [],
        "requires_membership": false, "reservable": true}});
    let faulted =
        json!({"connectors": [{"id": "1", "power": 22.0, "status": "faulted", "type": "Type2"}]});
    for (change, param) in [
        (json!({"status": "maintenance"}), "charging_station"),
        (closed, "charging_station"),
        (faulted, "connector"),
    ] {
        let station = app.station(change).await;
        let answer = app.alice.post(PATH, app.session(&rival, &station)).await;
        answer.expect_error(409, CONFLICT, param);
    }
    app.drain().await;
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

#[tokio::test]
async fn a_reservation_keeps_others_off_every_connector_of_its_evse() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let only_a = Value::from(tests::cables().as_array().expect("cables")[..2].to_vec());
    let station = app.station(json!({"connectors": only_a})).await;
    let place = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(&crew, 60), place);
    let reservation = app.alice.create("/v1/reservations", body).await;
    app.advance(62 * 60).await;
    let reservation = format!("/v1/reservations/{reservation}");
    assert_has!(app.alice.get_ok(&reservation).await, {"status": "confirmed", "connector": "1"});
    for connector in ["1", "2"] {
        let body = with(
            app.session(&rival, &station),
            json!({"connector": connector}),
        );
        let refused = app.alice.post(PATH, body).await;
        refused.expect_error(409, CONFLICT, "connector");
    }
    assert!(app.alice.get(PATH).await.ids().is_empty());
    // The vehicle with the reservation may use either cable.
    let body = with(app.session(&crew, &station), json!({"connector": "2"}));
    let session = app.alice.post_ok(PATH, body).await;
    stop(&app, &session).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "completed");
    // The calendar is empty again.
    app.alice.post_ok(PATH, app.session(&rival, &station)).await;
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

#[tokio::test]
async fn a_repeated_start_answers_as_the_first() {
    let (app, crew, station) = TestApp::with_station().await;
    let body = app.session(&crew, &station).to_string();
    let send = async |path: &str, body: &str, key: &str| {
        let key = [("idempotency-key", key)];
        let sent = app.alice.send("POST", path, Some(body.to_owned()), &key);
        sent.await.expect(200)
    };
    let first = send(PATH, &body, "plug-in").await;
    let again = send(PATH, &body, "plug-in").await;
    assert_eq!(first.body, again.body);
    assert_eq!(again.header("idempotent-replayed"), "true");
    let stop = format!("{}/stop", path(&first.body));
    let stopped = send(&stop, "{}", "plug-out").await;
    let again = send(&stop, "{}", "plug-out").await;
    assert_eq!(stopped.body, again.body);
    app.drain().await;
}

/// A reservation at the depot, confirmed.
async fn confirmed(app: &TestApp, crew: &Crew, minutes: i64) -> (String, Value) {
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(crew, minutes), area);
    let id = app.alice.create("/v1/reservations", body).await;
    let path = format!("/v1/reservations/{id}");
    app.drain().await;
    if minutes > 30 {
        app.advance(u32::try_from((minutes - 30) * 60).expect("a time") + 1)
            .await;
    }
    let reservation = app.alice.get_ok(&path).await;
    assert_eq!(reservation["status"], "confirmed", "{reservation}");
    (path, reservation)
}

#[tokio::test]
async fn a_session_of_the_reserved_vehicle_completes_the_reservation() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let types = [
        "charging_session.started",
        "charging_session.completed",
        "reservation.completed",
        "reservation.expired",
    ];
    receiver.subscribe(&app.alice, &types).await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let change =
        json!({"connectors": [{"id": "1", "power": 22.0, "status": "available", "type": "Type2"}]});
    let station = app.station(change).await;
    let (reservation, _) = confirmed(&app, &crew, 20).await;
    // Another vehicle may use the connector until then, and has to leave it.
    let interim = start(&app, &rival, &station).await;
    app.advance(20 * 60).await;
    let left = app.alice.get_ok(&path(&interim)).await;
    assert_eq!(left["status"], "completed");
    let refused = app.alice.post(PATH, app.session(&rival, &station)).await;
    refused.expect_error(409, CONFLICT, "connector");
    let session = start(&app, &crew, &station).await;
    // Neither the end of the grace period nor that of the window ends it.
    app.advance(70 * 60).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "confirmed");
    assert_eq!(app.alice.get_ok(&path(&session)).await["status"], "active");
    stop(&app, &session).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "completed");
    app.drain().await;
    let mut types = receiver.types();
    types.sort();
    let want = [
        "charging_session.completed",
        "charging_session.completed",
        "charging_session.started",
        "charging_session.started",
        "reservation.completed",
    ];
    assert_eq!(types, want);
    // The time is free again.
    start(&app, &rival, &station).await;
    app.drain().await;
}

#[tokio::test]
async fn a_vehicle_that_comes_half_an_hour_early_has_come() {
    let (app, crew, station) = TestApp::with_station().await;
    let (reservation, _) = confirmed(&app, &crew, 29).await;
    // The other connector of the station can be used.
    let body = with(
        app.session(&crew, &station),
        json!({"connector": "2", "session_limit": 11_000}),
    );
    let session = app.alice.post_ok(PATH, body).await;
    assert_has!(session, {"reservation": tests::id_of(&app.alice.get_ok(&reservation).await), "ends_by_reason": "session_limit"});
    app.advance(59 * 60).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "completed");
}

#[tokio::test]
async fn a_vehicle_at_another_evse_frees_the_reserved_one() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station(json!({})).await;
    let (path, reserved) = confirmed(&app, &crew, 20).await;
    app.advance(21 * 60).await;
    let at = |crew: &Crew, connector: &Value| {
        with(app.session(crew, &station), json!({"connector": connector}))
    };
    let other = json!(if reserved["connector"] == "1" {
        "2"
    } else {
        "1"
    });
    let session = app.alice.post_ok(PATH, at(&crew, &other)).await;
    assert_eq!(session["reservation"], reserved["id"]);
    // The reserved EVSE is free for others, and the other one is not.
    let taken = app.alice.post(PATH, at(&rival, &other)).await;
    taken.expect_error(409, CONFLICT, "connector");
    let theirs = app
        .alice
        .post_ok(PATH, at(&rival, &reserved["connector"]))
        .await;
    stop(&app, &session).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "completed");
    // The end of the session has released nothing of the others.
    let third = app.crew(&app.alice).await;
    let taken = app
        .alice
        .post(PATH, at(&third, &reserved["connector"]))
        .await;
    taken.expect_error(409, CONFLICT, "connector");
    app.alice.post_ok(PATH, at(&third, &other)).await;
    stop(&app, &theirs).await;
    app.drain().await;
}

#[tokio::test]
async fn an_early_vehicle_that_must_leave_keeps_its_reservation() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station(json!({})).await;
    let (own, reserved) = confirmed(&app, &crew, 28).await;
    let (_, other) = confirmed(&app, &rival, 20).await;
    let connector = json!({"connector": other["connector"]});
    let early = with(app.session(&crew, &station), connector);
    let early = app.alice.post_ok(PATH, early).await;
    assert_has!(early, {"reservation": null, "ends_by_reason": "reservation"});
    app.advance(28 * 60).await;
    // The rival's EVSE was left in time, and its own is still reserved.
    let ended = app.alice.get_ok(&path(&early)).await;
    assert_eq!(ended["status"], "completed");
    let connector = json!({"connector": reserved["connector"]});
    let session = with(app.session(&crew, &station), connector);
    let session = app.alice.post_ok(PATH, session).await;
    assert_eq!(session["reservation"], reserved["id"]);
    stop(&app, &session).await;
    assert_eq!(app.alice.get_ok(&own).await["status"], "completed");
}

#[tokio::test]
async fn a_session_elsewhere_leaves_the_reservation_to_expire() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({})).await;
    let (reservation, _) = confirmed(&app, &crew, 10).await;
    let elsewhere = app
        .station(json!({"location": {"latitude": 20.0, "longitude": 20.0}}))
        .await;
    app.advance(11 * 60).await;
    start(&app, &crew, &elsewhere).await;
    app.advance(15 * 60).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "expired");
}

#[tokio::test]
async fn a_simulated_session_raises_the_level_of_its_vehicle() {
    let app = TestApp::with_clock().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let read = json!({"battery": {"level": 90}});
    app.alice.post_ok(&telemetry, read).await;
    // The level is too old by now, and counts as 20 %.
    app.advance(25 * 3600).await;
    let limit = json!({"session_limit": 20_000});
    let session = with(app.session(&crew, &station), limit);
    let session = app.alice.post_ok(PATH, session).await;
    app.advance(4 * 3600).await;
    let ended = app.alice.get_ok(&path(&session)).await;
    assert_has!(ended, {"status": "completed", "energy_consumed": 20_000});
    let battery = app.alice.get_ok(&telemetry).await["battery"].clone();
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    let capacity = app.alice.get_ok(&vehicle).await["battery_capacity"].clone();
    let kept = 20_000.0 * 0.9 / capacity.as_f64().expect("Wh");
    let level = battery["level"].as_f64().expect("a level");
    assert!((level - 20.0 - kept * 100.0).abs() < 0.01, "{battery}");
    assert_eq!(battery["status"], "idle");
    // A level that the vehicle reports meanwhile stays.
    let session = start(&app, &crew, &station).await;
    app.advance(60).await;
    let read = json!({"battery": {"level": 33}});
    app.alice.post_ok(&telemetry, read).await;
    app.advance(3600).await;
    stop(&app, &session).await;
    let battery = app.alice.get_ok(&telemetry).await["battery"].clone();
    assert_eq!(battery["level"], 33.0);
}

#[tokio::test]
async fn a_connector_is_not_reserved_while_it_charges() {
    let app = TestApp::start().await;
    let (crew, rival) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let change =
        json!({"connectors": [{"id": "1", "power": 22.0, "status": "available", "type": "Type2"}]});
    let station = app.station(change).await;
    let session = start(&app, &crew, &station).await;
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(&rival, 30), area);
    let id = app.alice.create("/v1/reservations", body).await;
    app.drain().await;
    let reservation = format!("/v1/reservations/{id}");
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "pending");
    // The connector is free early, and the next attempt finds it.
    stop(&app, &session).await;
    app.advance(6 * 60).await;
    assert_eq!(app.alice.get_ok(&reservation).await["status"], "confirmed");
}

#[tokio::test]
async fn lists_are_filtered_by_everything_a_session_names() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let (here, there) = (app.station(json!({})).await, app.station(json!({})).await);
    let first = start(&app, &crew, &here).await;
    stop(&app, &first).await;
    app.advance(60).await;
    let second = start(&app, &other, &there).await;
    let (first, second) = (id_of(&first), id_of(&second));
    let list = async |query: String| {
        let page = app.alice.get(&format!("{PATH}?{query}")).await;
        page.expect(200).ids()
    };
    assert_eq!(list(String::new()).await, [second, first]);
    for (query, want) in [
        (format!("driver={}", crew.driver), first),
        (format!("fleet={}", other.fleet), second),
        (
            format!("driver={}&fleet={}", other.driver, other.fleet),
            second,
        ),
        (format!("vehicle={}", crew.vehicle), first),
        (format!("charging_station={there}"), second),
        ("status=completed".into(), first),
    ] {
        assert_eq!(list(query.clone()).await, [want], "{query}");
    }
    let both = "created[gte]=2026-03-01T00:00:00Z&created[lt]=2126-03-01T00:00:00Z";
    assert_eq!(list(both.into()).await.len(), 2);
    let before = "created[lte]=2026-03-01T00:00:00Z";
    assert!(list(before.into()).await.is_empty());
    for (query, code, param) in [
        (
            format!("driver={}&fleet={}", crew.driver, other.fleet),
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
        answer.expect_error(404, code, param);
    }
    let wrong = app.alice.get(&format!("{PATH}?status=idle")).await;
    wrong.expect_error(400, None, "status");
    app.drain().await;
}

#[tokio::test]
async fn a_session_with_a_payment_method_is_charged_once_at_its_end() {
    let app = TestApp::start().await;
    let receiver = Receiver::subscribed(&app.alice, &["service.succeeded", "service.failed"]).await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    for (token, paid, due, event_type, status) in [
        ("tok_success", 495, 0, "service.succeeded", "succeeded"),
        ("tok_declined", 0, 495, "service.failed", "failed"),
    ] {
        let card = app.payment_method(token, json!({})).await;
        let change = json!({"session_limit": 11_000, "payment_method": card});
        let session = start_with(&app, &crew, &station, change).await;
        app.advance(31 * 60).await;
        assert_has!(app.alice.get_ok(&path(&session)).await, {"amount_paid": paid, "amount_due": due});
        let (tenant, session) = (app.alice.tenant(), Id::from(id_of(&session)));
        let message = SettleSession {
            tenant,
            session: session.clone(),
        };
        let message = message.message();
        let done = jobs::work(app.app(), &message.expect("a message")).await;
        done.expect("nothing is left to do");
        app.drain().await;
        let events = receiver.received();
        let event = &events.last().expect("an event").event;
        let object = &event["data"]["object"];
        assert_eq!(event["type"], event_type);
        assert_has!(*object, {"charging_session": session, "driver": crew.driver, "fleet": crew.fleet,
            "payment_method": card, "vehicle": crew.vehicle});
        app.snapshot(&format!("charging_session_charge_{status}"), object);
    }
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn a_charge_whose_trigger_was_lost_is_taken_all_the_same() {
    let (app, crew, station) = TestApp::with_station().await;
    let card = app.payment_method("tok_success", json!({})).await;
    let change = json!({"payment_method": card});
    let session = start_with(&app, &crew, &station, change).await;
    app.advance(600).await;
    let due = stop(&app, &session).await["amount_due"].clone();
    app.running().lose_triggers().await.expect("lost");
    app.advance(180).await;
    assert_eq!(app.alice.get_ok(&path(&session)).await["amount_due"], due);
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    assert_has!(app.alice.get_ok(&path(&session)).await, {"amount_due": 0, "amount_paid": due});
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 0);
}

/// The charge is recorded before the session. A crash in between leaves a session that is still to be charged.
#[tokio::test]
async fn a_charge_that_is_recorded_is_not_made_again() {
    for (token, outcome) in [("tok_success", "succeeded"), ("tok_declined", "failed")] {
        for days in [0, 2] {
            let (app, crew, station) = TestApp::with_station().await;
            let change = json!({"payment_method": app.payment_method(token, json!({})).await});
            let session = start_with(&app, &crew, &station, change).await;
            app.advance(600).await;
            stop(&app, &session).await;
            let (store, tenant) = (&app.app().store, app.alice.tenant());
            let id = kernel::Id::from(id_of(&session));
            let ended = store.load::<ChargingSession>(&tenant, &id).await;
            let ended = ended.expect("the session");
            assert!(ended.object.is_charging_payment());
            app.drain().await;
            let settled = app.alice.get_ok(&path(&session)).await;

            app.advance(days * 86_400).await;
            let now = store.load::<ChargingSession>(&tenant, &id).await;
            let version = now.expect("the session").version;
            let mut again = Stored::read(ended.object, ended.internal, version);
            let origin = kernel::Origin::background(tenant, app.now());
            store.save(&origin, &mut again).await.expect("it is stored");
            app.drain().await;
            let after = app.alice.get_ok(&path(&session)).await;
            let figures = |of: &Value| (of["amount_paid"].clone(), of["amount_due"].clone());
            assert_eq!(figures(&after), figures(&settled), "{token}, {days} days");
            let list = format!("/v1/transactions?charging_session={id}");
            let charges = app.alice.get_ok(&list).await;
            let charges = charges["data"].as_array().expect("a list");
            assert_eq!(charges.len(), 1, "{token}, {days} days");
            assert_eq!(charges[0]["status"], outcome);
        }
    }
}

#[tokio::test]
async fn whoever_is_charging_can_be_neither_detached_nor_deleted() {
    let (app, crew, station) = TestApp::with_station().await;
    let session = start(&app, &crew, &station).await;
    let (driver, vehicle) = (path_of(&crew.driver), path_of(&crew.vehicle));
    let detach = async || {
        app.alice
            .post(&format!("{driver}/detach"), json!({"fleet": crew.fleet}))
            .await
    };
    detach()
        .await
        .expect_error(409, "driver_fleet_conflict", "fleet");
    for (path, param) in [(&driver, "driver"), (&vehicle, "vehicle")] {
        app.alice.delete(path).await.expect_error(409, None, param);
    }
    stop(&app, &session).await;
    detach().await.expect(200);
    app.alice.delete_ok(&driver).await;
    app.alice.delete_ok(&vehicle).await;
    app.drain().await;
}

#[tokio::test]
async fn enforced_policies_block_a_session_start_and_suggestions_warn() {
    let (app, crew, station) = TestApp::with_station().await;
    let rules = json!({"name": "Others only", "rules": {"denied_operators": ["Voltway"]}});
    let policy = app.alice.create("/v1/policies", rules).await;
    let driver = format!("/v1/drivers/{}", crew.driver);
    let held = json!({"policy_ids": [policy]});
    app.alice.post_ok(&driver, held).await;
    let refused = app.alice.post(PATH, app.session(&crew, &station)).await;
    assert_eq!(refused.error().0, 403);
    assert_has!(refused.body, {"code": "policy_blocked", "policy": policy, "rule": "denied_operators"});
    let lifted = json!({"mode": "suggestion"});
    app.alice.post_ok(&path_of(&policy), lifted).await;
    let body = app.session(&crew, &station);
    let started = app.alice.post_ok(PATH, body).await;
    let warnings = json!([{"policy": policy, "rule": "denied_operators",
        "message": "The policy \"Others only\" denies the station's operator."}]);
    assert_eq!(started["policy_warnings"], warnings);
    app.drain().await;
}

#[tokio::test]
async fn a_wallet_pays_for_a_session_as_long_as_it_holds_enough() {
    let (app, crew, station) = TestApp::with_station().await;
    let driver = format!("/v1/drivers/{}", crew.driver);
    let pounds = json!({"preferences": {"currency": "gbp"}});
    app.alice.post_ok(&driver, pounds).await;
    let card = app.payment_method("tok_success", json!({})).await;
    let top_up = json!({"amount": 1000, "payment_method": card});
    app.alice.post_ok(&format!("{driver}/top_up"), top_up).await;
    let wallet = json!({"type": "wallet", "driver": crew.driver});
    let wallet = app.alice.create("/v1/payment_methods", wallet).await;
    for left in [505, 10] {
        let change = json!({"payment_method": wallet});
        let session = start_with(&app, &crew, &station, change).await;
        app.advance(1800).await;
        stop(&app, &session).await;
        app.advance(120).await;
        let settled = app.alice.get_ok(&path(&session)).await;
        assert_eq!(settled["amount_due"], 0, "{settled}");
        assert_eq!(app.alice.get_ok(&driver).await["wallet_balance"], left);
    }
    // The third session finds too little money: it stays due, and the wallet stays unchanged.
    let change = json!({"payment_method": wallet});
    let session = start_with(&app, &crew, &station, change).await;
    app.advance(1800).await;
    stop(&app, &session).await;
    app.advance(120).await;
    assert_has!(app.alice.get_ok(&path(&session)).await, {"amount_due": 495, "amount_paid": 0});
    assert_eq!(app.alice.get_ok(&driver).await["wallet_balance"], 10);
}

/// Writes an item of live mode that only an earlier release could have written.
async fn write_live(app: &TestApp, live: &tests::Client, session: Value) {
    let session: ChargingSession = serde_json::from_value(session).expect("a session");
    let origin = kernel::Origin::background(live.tenant(), app.now());
    let mut tx = app.app().store.begin(&origin);
    let internal = SessionInternal {
        evse: "1".to_owned(),
        ..SessionInternal::default()
    };
    let mut stored = models::stored::Stored::with_internal(session, internal);
    tx.create(&mut stored).expect("an item");
    let written = tx.commit_without_response().await;
    written.expect("the object is stored");
}

#[tokio::test]
async fn live_mode_uses_only_stations_with_a_charging_network() {
    let app = TestApp::start().await;
    let live = app.other_account(Mode::Live).await;
    let crew = app.crew(&live).await;
    let station = app.station_in(&live, json!({})).await;
    let before = live.get(&path_of(&station)).await;
    let refused = live.post(PATH, app.session(&crew, &station)).await;
    refused.expect_error(409, CONFLICT, "charging_station");
    assert_contains(
        &refused.body["message"],
        "not connected to a charging network",
    );
    app.drain().await;
    assert_eq!(live.get_ok(PATH).await["data"], json!([]));
    let after = live.get(&path_of(&station)).await;
    assert_has!(after.body, {"connectors": before.body["connectors"], "updated": before.body["updated"]});
    // A reservation finds the station, but is not matched to it.
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(&crew, 20), area);
    let id = live.create("/v1/reservations", body).await;
    app.drain().await;
    app.advance(30 * 60).await;
    let failed = live.get_ok(&path_of(&id)).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "no_available_connectors",
        "charging_station": null});
    let summary = &failed["match_summary"];
    assert_has!(summary, {"stations_in_radius": 1, "/refused/not_connected": 1});
}

#[tokio::test]
async fn simulated_sessions_in_live_mode_are_not_charged_or_invoiced() {
    let app = TestApp::start().await;
    let live = app.other_account(Mode::Live).await;
    let crew = app.crew(&live).await;
    let station = app.station_in(&live, json!({})).await;
    let now = app.now();
    let id = |ago: i64| {
        let at = now.plus_seconds(-ago);
        kernel::Id::derived(kernel::Kind::ChargingSession, at, &format!("{ago}"))
    };
    let session = |ago: i64, change: Value| {
        let started = now.plus_seconds(-ago);
        let session = json!({"id": id(ago), "charging_station": station, "connector": "1", "country": "GB",
            "created": started, "currency": "gbp", "driver": crew.driver, "fleet": crew.fleet, "power": 22.0,
            "session_started": started, "started_by": "api", "updated": started, "vehicle": crew.vehicle});
        with(session, change)
    };
    let active = |due: i64| {
        let ends = now.plus_seconds(due);
        json!({"state": {"status": "active", "cost": {"source": "tariff"}, "operated_by": {"simulation":
            {"held_until": ends, "most_energy": 44_000, "parks": false, "ends_by": {"at": ends, "reason": "session_limit"}}}}})
    };
    let ended = |is_charging: bool| {
        json!({"payment_method": is_charging.then_some("pm_1"), "state": {"status": "completed", "ended": now,
            "charged": {"energy": 30_000}, "cost": {"total": {"net": 1000, "gross": 1190}, "source": "tariff"},
            "settlement": {"final": {"at": now, "is_charging": is_charging}}}})
    };
    write_live(&app, &live, session(3600, active(3600))).await;
    write_live(&app, &live, session(3601, active(-1))).await;
    write_live(&app, &live, session(3602, ended(true))).await;
    write_live(&app, &live, session(3603, ended(false))).await;
    let shown = async |ago: i64| live.get_ok(&format!("{PATH}/{}", id(ago))).await;
    let figures = |live_session: &Value| {
        ["energy_consumed", "amount_due", "amount_paid"]
            .map(|name| live_session[name].as_i64().expect("a number"))
    };
    assert_eq!(figures(&shown(3600).await), [0, 0, 0]);
    for listed in live.get_ok(&format!("{PATH}?status=active")).await["data"]
        .as_array()
        .expect("a list")
    {
        assert_eq!(figures(listed), [0, 0, 0]);
    }
    let stop = format!("{PATH}/{}/stop", id(3600));
    let stopped = live.post_ok(&stop, json!({})).await;
    assert_eq!(stopped["status"], "failed");
    assert_eq!(figures(&stopped), [0, 0, 0]);
    sweep::before(app.app(), now.plus(seconds(1)))
        .await
        .expect("a sweep");
    app.drain().await;
    let over = shown(3601).await;
    assert_eq!(over["status"], "failed");
    assert_eq!(figures(&over), [0, 0, 0]);
    // No provider is configured in live mode, so a charge would be retried without end.
    let settled = shown(3602).await;
    assert_eq!(settled["status"], "completed");
    assert_eq!(figures(&settled), [30_000, 0, 0]);
    assert_eq!(live.get_ok("/v1/transactions").await["data"], json!([]));
    let window = json!({"period_start": now.plus(hours(-2)), "period_end": app.in_minutes(5), "currency": "gbp"});
    assert_has!(live.post_ok("/v1/invoices", window).await, {"line_items": [], "amount_due": 0});
    let fleet = live.get_ok(&path_of(&crew.fleet)).await;
    // Those that were written as completed are counted; the active ones have failed.
    assert_eq!(fleet["total_sessions"], 2);
    app.drain().await;
}
