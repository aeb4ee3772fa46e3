//! `/v1/charging_sessions`, from plug-in to the end of the charge.

use functions::charging_sessions::settle::SettleSession;
use functions::charging_sessions::stop_at_limit::StopSession;
use functions::job::Job as _;
use functions::jobs;
use functions::stream::sweep;
use kernel::origin::Mode;
use kernel::time::{DAY, HOUR, hours, millis, minutes, seconds};
use models::charging_session::{ChargingSession, SessionInternal};
use models::stored::Stored;
use serde_json::{Value, json};
use tests::{Crew, Receiver, TestApp, TestResponse, with};

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
async fn at_once(app: &TestApp, requests: Vec<(String, Value)>) -> Vec<TestResponse> {
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
    let started = kernel::Timestamp::parse(now.as_str().expect("a time")).expect("a time");
    let day = started.plus(DAY);
    let want = json!({
        "id": session["id"], "object": "charging_session", "amount_due": 0, "amount_paid": 0, "amount_refunded": 0,
        "charging_ended": null, "charging_station": station, "connector": "1", "cost_breakdown": [], "country": "GB",
        "created": now, "currency": "gbp", "driver": crew.driver, "ends_by": day, "ends_by_reason": "maximum_duration",
        "cost_source": "tariff", "energy_consumed": 0, "failed_reason": null, "fleet": crew.fleet, "invoice": null, "net": 0, "payment_method": null, "policy_warnings": [],
        "power": 22.0, "price_check": null, "reservation": null, "review": null, "session_ended": null, "session_limit": null, "session_started": now,
        "stalled_at": null, "started_by": "api", "status": "active", "tax": 0, "updated": now, "vehicle": crew.vehicle,
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
    assert_eq!(stopped["charging_ended"], stopped["session_ended"]);
    let (net, tax) = (&stopped["net"], &stopped["tax"]);
    let line = json!({"type": "ENERGY", "description": "Energy", "quantity": kwh(energy), "unit": "kWh",
        "unit_price": "45", "tax_included": true, "tax_percent": "20", "net": net, "tax": tax,
        "gross": stopped["amount_due"]});
    assert_eq!(stopped["cost_breakdown"], json!([line]));
    assert_eq!(
        net.as_i64().expect("net") + tax.as_i64().expect("tax"),
        stopped["amount_due"]
    );
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
    again.expect_error(409, Some("charging_session_state_conflict"), None);
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
    let moment = |name: &str| kernel::Timestamp::parse(ended[name].as_str().expect("a time"));
    let lasted =
        moment("session_ended").map(|at| at.since(moment("session_started").expect("a time")));
    assert_eq!(lasted, Ok(minutes(30)));
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

/// Wh as a decimal number of kWh without trailing zeros.
fn kwh(wh: i64) -> String {
    let digits = format!("{}.{:03}", wh / 1000, wh % 1000);
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

#[tokio::test]
async fn a_session_without_a_limit_parks_when_the_battery_is_full_until_it_is_stopped() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    let price = |kind: &str, price: i64| {
        json!({"currency": "gbp", "price": price, "step_size": 1, "tax": "vat", "tax_included": true, "tax_percent": "20",
            "type": kind})
    };
    let pricing = json!([price("ENERGY", 45), price("PARKING_TIME", 360)]);
    app.change_station(&station, json!({"pricing": pricing}))
        .await;
    read_battery(&app, &crew.vehicle, 81.65).await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": ["charging_session.updated", "charging_session.completed"]});
    let hooked = app.alice.post("/v1/webhook_endpoints", hook).await;
    hooked.expect(200);
    let session = start(&app, &crew, &station).await;
    // Half an hour for the rest of 60 kWh at 22 kW, and four and a half hours after that: 11.01 kWh, of which 90 % arrive in the battery.
    app.advance(5 * 3600).await;
    let parked = app.alice.get(&path(&session)).await.expect(200).body;
    assert_eq!(
        (&parked["status"], &parked["energy_consumed"]),
        (&json!("active"), &json!(12_234))
    );
    let moment = |object: &Value, name: &str| {
        kernel::Timestamp::parse(object[name].as_str().expect("a time")).expect("a time")
    };
    let charged = moment(&parked, "charging_ended").since(moment(&session, "session_started"));
    assert_eq!(charged, millis(12_234 * 3600 / 22 + 1));
    let (occupied, free) = connector(&app, &station).await;
    assert_eq!((occupied, free), (json!("occupied"), json!(1)));
    let stop = format!("{}/stop", path(&session));
    let stopped = app.alice.post(&stop, json!({})).await.expect(200).body;
    assert_eq!(stopped["charging_ended"], parked["charging_ended"]);
    let parking = moment(&stopped, "session_ended").since(moment(&stopped, "charging_ended"));
    assert!(parking > hours(4), "{stopped}");
    // 12.234 kWh at 45 pence, and a tenth of a penny for each second that has begun.
    let seconds = (parking + millis(999)).as_secs();
    let gross = [12_234 * 45, seconds * 100].map(|thousandths| (thousandths + 500) / 1000);
    let lines = stopped["cost_breakdown"].as_array().expect("lines");
    let shown: Vec<_> = lines
        .iter()
        .map(|line| (&line["type"], &line["gross"]))
        .collect();
    let want = [("ENERGY", gross[0]), ("PARKING_TIME", gross[1])]
        .map(|(kind, gross)| (json!(kind), json!(gross)));
    assert_eq!(shown, [(&want[0].0, &want[0].1), (&want[1].0, &want[1].1)]);
    assert_eq!(stopped["amount_due"], gross[0] + gross[1]);
    assert_eq!(
        connector(&app, &station).await,
        (json!("available"), json!(2))
    );
    app.drain().await;
    // The end of charging is one event, however long the vehicle is parked there.
    let mut types = receiver.types();
    types.sort();
    assert_eq!(
        types,
        ["charging_session.completed", "charging_session.updated"]
    );
}

#[tokio::test]
async fn the_session_of_a_parked_vehicle_ends_after_a_day() {
    let app = TestApp::start().await;
    let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
    read_battery(&app, &crew.vehicle, 100.0).await;
    let session = start(&app, &crew, &station).await;
    app.advance(23 * 3600).await;
    let parked = app.alice.get(&path(&session)).await.expect(200).body;
    assert_eq!(parked["status"], "active");
    app.advance(2 * 3600).await;
    let ended = app.alice.get(&path(&session)).await.expect(200).body;
    assert_eq!(ended["status"], "completed");
    assert_eq!(ended["session_ended"], session["ends_by"]);
    assert_eq!(ended["energy_consumed"], 0);
    assert_eq!(
        connector(&app, &station).await,
        (json!("available"), json!(2))
    );
}

#[tokio::test]
async fn a_parked_vehicle_stays_and_the_reservation_is_matched_again() {
    for has_other in [false, true] {
        let app = TestApp::start().await;
        let bob = app.other_account(Mode::Test).await;
        let (crew, rival) = (app.crew(&app.alice).await, app.crew(&bob).await);
        let one = json!({"connectors": [{"id": "1", "power": 22.0, "status": "available", "type": "Type2"}]});
        let station = app.station(one.clone()).await;
        read_battery(&app, &crew.vehicle, 100.0).await;
        let session = start(&app, &crew, &station).await;
        app.advance(600).await;
        // The vehicle is full, and the reservation is matched half an hour before its window.
        let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
        let body = with(app.reservation(&rival, 40), area);
        let made = bob.post("/v1/reservations", body).await.expect(200);
        let reservation = format!("/v1/reservations/{}", made.id());
        app.advance(11 * 60).await;
        let before = bob.get(&reservation).await.expect(200).body;
        assert_eq!(
            (&before["status"], &before["charging_station"]),
            (&json!("confirmed"), &json!(station))
        );
        let place = json!({"location": {"latitude": 10.001, "longitude": 10.0}});
        let other = match has_other {
            true => Some(app.station(with(one, place)).await),
            false => None,
        };
        app.advance(31 * 60).await;
        let parked = app.alice.get(&path(&session)).await.expect(200).body;
        assert_eq!(
            (&parked["status"], &parked["ends_by_reason"]),
            (&json!("active"), &json!("maximum_duration"))
        );
        let after = bob.get(&reservation).await.expect(200).body;
        let events = bob.get("/v1/events?limit=100").await.expect(200).body;
        let events = events["data"].as_array().expect("events").iter();
        let events: Vec<_> = events
            .filter(|event| event["data"]["object"]["id"] == after["id"])
            .map(|event| event["type"].as_str().expect("a type"))
            .collect();
        if has_other {
            assert_eq!(
                (&after["status"], &after["charging_station"]),
                (&json!("confirmed"), &json!(other))
            );
            assert_eq!(events[0], "reservation.reassigned");
        } else {
            assert_eq!(
                (&after["status"], &after["failed_reason"]),
                (&json!("failed"), &json!("station_unavailable"))
            );
            assert_eq!(
                events[..2],
                ["reservation.failed", "reservation.unassigned"]
            );
        }
        app.advance(24 * 3600).await;
        let ended = app.alice.get(&path(&session)).await.expect(200).body;
        assert_eq!(ended["status"], "completed");
    }
}

#[tokio::test]
async fn a_session_ends_when_the_station_closes_and_its_start_says_so() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let closing = app.now().plus(HOUR);
    let closed = json!([{"from": closing, "until": closing.plus(hours(2))}]);
    let hours = json!({"connectors_available": 2, "connectors_total": 2, "opening_hours": [], "range": [],
        "exceptional_closings": closed});
    let station = app.station(json!({"availability": hours})).await;
    let session = start(&app, &crew, &station).await;
    assert_eq!(
        (&session["ends_by"], &session["ends_by_reason"]),
        (&json!(closing), &json!("station_closing"))
    );
    app.advance(90 * 60).await;
    let ended = app.alice.get(&path(&session)).await.expect(200).body;
    assert_eq!(
        (&ended["status"], &ended["session_ended"]),
        (&json!("completed"), &json!(closing))
    );
    let energy = ended["energy_consumed"].as_i64().expect("Wh");
    assert!((21_900..=22_000).contains(&energy), "{ended}");
    assert_eq!(
        connector(&app, &station).await,
        (json!("available"), json!(2))
    );
    // Nobody can start while it is closed.
    let refused = app.alice.post(PATH, app.session(&crew, &station)).await;
    refused.expect_error(409, CONFLICT, Some("charging_station"));
    assert_eq!(refused.body["message"], "The station is closed now.");
    assert_eq!(app.alice.get(PATH).await.expect(200).ids().len(), 1);
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
        let id = kernel::Id::from(session["id"].as_str().expect("an id"));
        let tenant = app.alice.tenant();
        let message = StopSession {
            tenant,
            session: id,
        }
        .message()
        .expect("a message");
        jobs::work(app.app(), &message)
            .await
            .expect("nothing is left to do");
    }
    app.drain().await;
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
    nothing.expect_error(400, None, Some("session_limit"));
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
    answer.expect_error(400, code, Some("driver"));
    let ccs = with(
        tests::vehicle(&crew.fleet),
        json!({"charging_standard": "CCS"}),
    );
    let ccs = app.alice.post("/v1/vehicles", ccs).await.id();
    let answer = app
        .alice
        .post(PATH, with(good.clone(), json!({"vehicle": ccs})))
        .await;
    answer.expect_error(400, None, Some("connector"));
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
        answer.expect_error(400, None, Some(param));
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

/// The statuses of a station's connectors, and how many of its EVSEs are free and how many there are.
async fn statuses(app: &TestApp, station: &str) -> (Vec<Value>, [Value; 2]) {
    let path = format!("/v1/charging_stations/{station}");
    let station = app.alice.get(&path).await.expect(200).body;
    let connectors = station["connectors"].as_array().expect("connectors").iter();
    let counts = ["connectors_available", "connectors_total"];
    (
        connectors.map(|one| one["status"].clone()).collect(),
        counts.map(|count| station["availability"][count].clone()),
    )
}

#[tokio::test]
async fn a_session_on_one_connector_occupies_the_other_connectors_of_its_evse() {
    let app = TestApp::start().await;
    let (one, two) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let station = app.station_with_cables(json!({})).await;
    let session = start(&app, &one, &station).await;
    let occupied = (
        vec![json!("occupied"), json!("occupied"), json!("available")],
        [json!(1), json!(2)],
    );
    assert_eq!(statuses(&app, &station).await, occupied);
    let sibling = with(app.session(&two, &station), json!({"connector": "2"}));
    let refused = app.alice.post(PATH, sibling.clone()).await;
    refused.expect_error(409, CONFLICT, Some("connector"));
    let active = format!("{PATH}?status=active");
    let sessions = app.alice.get(&active).await.expect(200).ids();
    assert_eq!(sessions, [session["id"].as_str().expect("an id")]);
    assert_eq!(statuses(&app, &station).await, occupied);
    let stop = format!("{}/stop", path(&session));
    app.alice.post(&stop, json!({})).await.expect(200);
    let free = (vec![json!("available"); 3], [json!(2), json!(2)]);
    assert_eq!(statuses(&app, &station).await, free);
    app.alice.post(PATH, sibling).await.expect(200);
    assert_eq!(statuses(&app, &station).await, occupied);
    app.drain().await;
}

#[tokio::test]
async fn of_sessions_that_start_at_once_on_the_connectors_of_one_evse_one_succeeds() {
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
    let (one, two) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let only_a = Value::from(tests::cables().as_array().expect("cables")[..2].to_vec());
    let station = app.station(json!({"connectors": only_a})).await;
    let place = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(&one, 60), place);
    let reservation = app.alice.post("/v1/reservations", body).await.id();
    app.advance(62 * 60).await;
    let reservation = format!("/v1/reservations/{reservation}");
    let confirmed = app.alice.get(&reservation).await.body;
    assert_eq!(
        (&confirmed["status"], &confirmed["connector"]),
        (&json!("confirmed"), &json!("1"))
    );
    for connector in ["1", "2"] {
        let body = with(app.session(&two, &station), json!({"connector": connector}));
        let refused = app.alice.post(PATH, body).await;
        let conflict = (409, "invalid_request_error", CONFLICT, Some("connector"));
        assert_eq!(refused.error(), conflict, "{connector}");
    }
    assert!(app.alice.get(PATH).await.ids().is_empty());
    // The vehicle that is expected may use either cable.
    let body = with(app.session(&one, &station), json!({"connector": "2"}));
    let session = app.alice.post(PATH, body).await.expect(200).body;
    app.alice
        .post(&format!("{}/stop", path(&session)), json!({}))
        .await
        .expect(200);
    assert_eq!(
        app.alice.get(&reservation).await.body["status"],
        "completed"
    );
    // And nothing is left in the calendar.
    app.alice
        .post(PATH, app.session(&two, &station))
        .await
        .expect(200);
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
    app.drain().await;
    let fleet = app
        .alice
        .get(&format!("/v1/fleets/{}", one.fleet))
        .await
        .expect(200)
        .body;
    assert_eq!(fleet["total_sessions"], 8);
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
    refused.expect_error(409, CONFLICT, Some("connector"));
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
async fn a_connector_is_not_reserved_while_it_charges() {
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
    wrong.expect_error(400, None, Some("status"));
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
        answer.expect_error(404, code, Some("charging_session"));
    }
}

/// A card of the client's account, by a token of test mode.
async fn card(app: &TestApp, token: &str) -> String {
    use models::payment_method::{PaymentMethod, PaymentMethodInternal};
    let id = kernel::Id::new(kernel::Kind::PaymentMethod, app.now());
    let card = json!({"brand": "visa", "exp_month": 12, "exp_year": 2040, "fingerprint": "f", "last4": "4242"});
    let method = json!({"id": id, "object": "payment_method", "card": card, "created": app.now(), "driver": null,
        "fleet": null, "metadata": {}, "type": "card", "updated": app.now()});
    let method: PaymentMethod = serde_json::from_value(method).expect("a payment method");
    let internal = PaymentMethodInternal {
        token: Some(token.into()),
        customer: None,
    };
    let tenant = app.alice.tenant();
    let origin = kernel::Origin::background(tenant, app.now());
    let mut tx = app.app().store.begin(&origin);
    let mut row = models::stored::Stored::with_internal(method, internal);
    tx.create(&mut row).expect("a row of the card");
    tx.commit_without_response()
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
    for (token, paid, due, event_type, status) in [
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
        let id = kernel::Id::from(session["id"].as_str().expect("an id"));
        let tenant = app.alice.tenant();
        let message = SettleSession {
            tenant,
            session: id,
        }
        .message()
        .expect("a message");
        jobs::work(app.app(), &message)
            .await
            .expect("nothing is left to do");
        app.drain().await;
        let events = receiver.received();
        let event = &events.last().expect("an event").event;
        let object = &event["data"]["object"];
        assert_eq!(event["type"], event_type);
        let want = json!({"id": object["id"], "object": "transaction", "amount": 495, "amount_refunded": 0, "charge": null, "destination": null,
            "failed_reason": null, "invoice": null, "reason": null, "reservation": null, "charging_session": session["id"], "credit_note": null,
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

/// The charge is recorded before the session. Whoever is killed in between leaves a session that is still to be charged.
#[tokio::test]
async fn a_charge_that_is_recorded_is_not_made_again() {
    for (token, outcome) in [("tok_success", "succeeded"), ("tok_declined", "failed")] {
        for days in [0, 2] {
            let app = TestApp::start().await;
            let (crew, station) = (app.crew(&app.alice).await, app.station(json!({})).await);
            let change = json!({"payment_method": card(&app, token).await});
            let body = with(app.session(&crew, &station), change);
            let session = app.alice.post(PATH, body).await.expect(200).body;
            app.advance(600).await;
            let stop = format!("{}/stop", path(&session));
            app.alice.post(&stop, json!({})).await.expect(200);
            let (store, tenant) = (&app.app().store, app.alice.tenant());
            let id = kernel::Id::from(session["id"].as_str().expect("an id"));
            let ended = store.load::<ChargingSession>(&tenant, &id).await;
            let ended = ended.expect("the session");
            assert!(ended.object.is_charging_payment());
            app.drain().await;
            let settled = app.alice.get(&path(&session)).await.expect(200).body;

            app.advance(days * 86_400).await;
            let now = store.load::<ChargingSession>(&tenant, &id).await;
            let version = now.expect("the session").version;
            let mut again = Stored::read(ended.object, ended.internal, version);
            let origin = kernel::Origin::background(tenant, app.now());
            let mut tx = store.begin(&origin);
            tx.save(&mut again).expect("the session");
            tx.commit_without_response().await.expect("it is stored");
            app.drain().await;
            let after = app.alice.get(&path(&session)).await.expect(200).body;
            let figures = |of: &Value| (of["amount_paid"].clone(), of["amount_due"].clone());
            assert_eq!(figures(&after), figures(&settled), "{token}, {days} days");
            let list = format!("/v1/transactions?charging_session={id}");
            let charges = app.alice.get(&list).await.expect(200).body;
            let charges = charges["data"].as_array().expect("a list");
            assert_eq!(charges.len(), 1, "{token}, {days} days");
            assert_eq!(charges[0]["status"], outcome);
        }
    }
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
    detach().await.expect_error(409, code, Some("fleet"));
    for (path, param) in [(&driver, "driver"), (&vehicle, "vehicle")] {
        let refused = app.alice.delete(path).await;
        refused.expect_error(409, None, Some(param));
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

/// A row of live mode as only an earlier release could have written it.
async fn write_live(app: &TestApp, live: &tests::Client, session: Value) {
    let session: ChargingSession = serde_json::from_value(session).expect("a session");
    let origin = kernel::Origin::background(live.tenant(), app.now());
    let mut tx = app.app().store.begin(&origin);
    let internal = SessionInternal {
        evse: "1".to_owned(),
        ..SessionInternal::default()
    };
    let mut row = models::stored::Stored::with_internal(session, internal);
    tx.create(&mut row).expect("a row");
    let written = tx.commit_without_response().await;
    written.expect("the row is stored");
}

#[tokio::test]
async fn live_mode_starts_no_session_and_matches_no_station_without_a_network() {
    let app = TestApp::start().await;
    let live = app.other_account(Mode::Live).await;
    let crew = app.crew(&live).await;
    let station = app.station_in(&live, json!({})).await;
    let before = live.get(&format!("/v1/charging_stations/{station}")).await;
    let refused = live.post(PATH, app.session(&crew, &station)).await;
    refused.expect_error(409, CONFLICT, Some("charging_station"));
    let message = refused.body["message"].as_str().expect("a message");
    assert!(
        message.contains("not connected to a charging network"),
        "{message}"
    );
    app.drain().await;
    assert_eq!(live.get(PATH).await.expect(200).body["data"], json!([]));
    let after = live.get(&format!("/v1/charging_stations/{station}")).await;
    assert_eq!(after.body["connectors"], before.body["connectors"]);
    assert_eq!(after.body["updated"], before.body["updated"]);
    // A reservation finds the station and is not matched to it.
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(&crew, 20), area);
    let id = live.post("/v1/reservations", body).await.id();
    app.drain().await;
    app.advance(30 * 60).await;
    let failed = live
        .get(&format!("/v1/reservations/{id}"))
        .await
        .expect(200)
        .body;
    assert_eq!(
        (
            &failed["status"],
            &failed["failed_reason"],
            &failed["charging_station"]
        ),
        (
            &json!("failed"),
            &json!("no_available_connectors"),
            &Value::Null
        )
    );
    let summary = &failed["match_summary"];
    assert_eq!(summary["stations_in_radius"], 1);
    assert_eq!(summary["refused"]["not_connected"], 1);
}

#[tokio::test]
async fn what_was_simulated_in_live_mode_before_is_neither_continued_nor_charged_nor_invoiced() {
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
    let shown = async |ago: i64| {
        live.get(&format!("{PATH}/{}", id(ago)))
            .await
            .expect(200)
            .body
    };
    let figures = |one: &Value| {
        ["energy_consumed", "amount_due", "amount_paid"]
            .map(|name| one[name].as_i64().expect("a number"))
    };
    assert_eq!(figures(&shown(3600).await), [0, 0, 0]);
    for listed in live
        .get(&format!("{PATH}?status=active"))
        .await
        .expect(200)
        .body["data"]
        .as_array()
        .expect("a list")
    {
        assert_eq!(figures(listed), [0, 0, 0]);
    }
    let stop = format!("{PATH}/{}/stop", id(3600));
    let stopped = live.post(&stop, json!({})).await.expect(200).body;
    assert_eq!(
        (&stopped["status"], figures(&stopped)),
        (&json!("failed"), [0, 0, 0])
    );
    sweep::before(app.app(), now.plus(seconds(1)))
        .await
        .expect("a sweep");
    app.drain().await;
    let over = shown(3601).await;
    assert_eq!(
        (&over["status"], figures(&over)),
        (&json!("failed"), [0, 0, 0])
    );
    // No provider is set up in live mode, so a charge would be tried for ever.
    let settled = shown(3602).await;
    assert_eq!(
        (&settled["status"], figures(&settled)),
        (&json!("completed"), [30_000, 0, 0])
    );
    assert_eq!(
        live.get("/v1/transactions").await.expect(200).body["data"],
        json!([])
    );
    let window = json!({"period_start": now.plus(hours(-2)), "period_end": app.in_minutes(5), "currency": "gbp"});
    let invoice = live.post("/v1/invoices", window).await.expect(200).body;
    assert_eq!(
        (&invoice["line_items"], &invoice["amount_due"]),
        (&json!([]), &json!(0))
    );
    let fleet = live
        .get(&format!("/v1/fleets/{}", crew.fleet))
        .await
        .expect(200)
        .body;
    // Those that were written as completed; the ones that were active have failed.
    assert_eq!(fleet["total_sessions"], 2);
    app.drain().await;
}
