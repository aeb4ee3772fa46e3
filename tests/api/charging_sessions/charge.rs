//! Tests of the charge itself: its energy, limits, battery level and parking, and the end of the session.

use functions::charging_sessions::stop_at_limit::StopSession;
use functions::job::Job as _;
use functions::jobs;
use functions::stream::sweep;
use kernel::Id;
use kernel::time::{DAY, hours, millis, minutes};
use serde_json::{Value, json};
use tests::{Receiver, TestApp, assert_has, each, id_of, with};

use super::{PATH, connector, path, read_battery, start, start_with, stop};

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
