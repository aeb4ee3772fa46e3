//! Tests of the payment of a session, and of live mode.

use functions::charging_sessions::settle::SettleSession;
use functions::job::Job as _;
use functions::jobs;
use functions::stream::sweep;
use kernel::time::{hours, seconds};
use kernel::{Id, Mode};
use models::charging_session::SessionInternal;
use models::{ChargingSession, Stored};
use serde_json::{Value, json};
use tests::{Receiver, TestApp, assert_contains, assert_has, id_of, path_of, with};

use super::{CONFLICT, PATH, path, reservation_here, start_with, stop};

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
    let body = reservation_here(&app, &crew, 20);
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
