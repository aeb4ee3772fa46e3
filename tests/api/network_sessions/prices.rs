//! Tests of the price of a session at a network: the tariff, a price that it does not explain, taxes, and a move to another EVSE.

use jiff::tz::TimeZone;
use kernel::Timestamp;
use kernel::time::{days, minutes, seconds};
use serde_json::{Value, json};
use tests::platform::fixture;
use tests::{assert_has, id_of, path_of, with};

use super::{Scene, adjustment, energy, is};
use crate::books::{buyer, finalized, own, seller};
use crate::invoice_documents::document;

#[tokio::test]
async fn a_price_that_the_tariff_does_not_explain_is_billed_and_shown() {
    let (scene, session, theirs) = Scene::charging().await;
    let dear = json!({"total_cost": {"excl_vat": 10.0, "incl_vat": 12.1}});
    scene.bill(&scene.cdr(&theirs, dear)).await;
    let check = json!({"network": 1210, "ours": 968, "difference": 242});
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"status": "completed", "amount_due": 1210, "price_check": check});
    let line = json!({"type": "FLAT", "description": "Price of the charging network", "quantity": "1",
        "unit": "session", "unit_price": "1210", "tax_included": true, "tax_percent": "21", "net": 1000, "tax": 210,
        "gross": 1210});
    assert_eq!(shown["cost_breakdown"], json!([line]));
    let (invoice, lines) = scene.invoice().await;
    assert_eq!(lines, [energy(1210)]);
    assert_eq!(invoice["line_items"][0]["price_check"], check);
}

#[tokio::test]
async fn an_amount_that_was_rounded_otherwise_keeps_its_lines() {
    for (net, gross, expected) in [
        (9.01, 10.79, [("10", 100, 10), ("21", 801, 168)].as_slice()),
        (8.99, 10.76, &[("10", 100, 10), ("21", 799, 167)]),
        (9.03, 10.81, &[("19.71", 903, 178)]),
    ] {
        let scene = Scene::new().await;
        let fee = json!({"type": "FLAT", "price": 1.0, "vat": 10.0, "step_size": 1});
        add_price(&scene, fee).await;
        let (session, theirs) = scene.active().await;
        scene.app.advance(3600).await;
        scene.complete(&theirs).await;
        let cost = json!({"total_cost": {"excl_vat": net, "incl_vat": gross}});
        scene.bill(&scene.cdr(&theirs, cost)).await;
        let shown = scene.shown(&session).await;
        let lines = shown["cost_breakdown"].as_array().expect("lines").iter();
        let part = |line: &Value| json!([line["tax_percent"], line["net"], line["tax"]]);
        let lines: Vec<Value> = lines.map(part).collect();
        assert_eq!(json!(lines), json!(expected));
        assert_eq!(shown["amount_due"], (gross * 100.0_f64).round());
    }
}

/// Adds a price to the tariff of the station.
pub(super) async fn add_price(scene: &Scene, price: Value) {
    let mut tariff = fixture("tariff");
    let components = &mut tariff["elements"][0]["price_components"];
    components.as_array_mut().expect("components").push(price);
    set_tariff(scene, tariff).await;
}

/// Sends the tariff of the station.
async fn set_tariff(scene: &Scene, tariff: Value) {
    let tariff = with(tariff, json!({"last_updated": scene.app.now()}));
    scene.cpo.put("/tariffs/NL/EXA/DAY", &tariff).await;
    scene.app.drain().await;
}

#[tokio::test]
async fn a_time_far_ahead_freezes_neither_a_session_nor_its_price() {
    let (scene, session, theirs) = Scene::charging().await;
    let far = json!("2099-01-01T00:00:00Z");
    let ahead = json!({"kwh": 5, "last_updated": far});
    scene.report(&with(theirs.clone(), ahead)).await;
    assert_eq!(scene.shown(&session).await["energy_consumed"], 5_000);
    scene.app.advance(60).await;
    let grown = json!({"kwh": 10, "last_updated": scene.app.now()});
    scene.report(&with(theirs.clone(), grown)).await;
    assert_eq!(scene.shown(&session).await["energy_consumed"], 10_000);
    scene.app.advance(60).await;
    scene.complete(&theirs).await;
    assert_eq!(scene.status(&session).await, is("completed"));
    // The newest CDR applies, and this one is only the newest until then.
    let wrong = json!({"last_updated": far, "total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
    scene.bill(&scene.cdr(&theirs, wrong)).await;
    assert_eq!(scene.shown(&session).await["amount_due"], 1089);
    scene.app.advance(60).await;
    scene.bill(&scene.cdr(&theirs, json!({"id": "C2"}))).await;
    assert_eq!(scene.invoice().await.1, [energy(1089), adjustment(-121)]);
}

#[tokio::test]
async fn without_a_cdr_and_a_reported_price_the_tariff_counts() {
    let (scene, session, theirs) = Scene::charging().await;
    let now = scene.app.now();
    let end = json!({"status": "COMPLETED", "kwh": 5, "end_date_time": now, "last_updated": now});
    scene.report(&with(theirs, end)).await;
    scene.pass(3 * 86_400).await;
    assert_eq!(scene.shown(&session).await["cost_source"], "tariff");
    assert_eq!(scene.invoice().await.1, [energy(242)]);
}

#[tokio::test]
async fn a_session_at_another_evse_has_the_prices_there() {
    let scene = Scene::new().await;
    let mut fast = fixture("tariff");
    fast["id"] = json!("FAST");
    fast["elements"][0]["price_components"][0]["price"] = json!(0.8);
    scene.cpo.put("/tariffs/NL/EXA/FAST", &fast).await;
    let mut location = fixture("location");
    location["last_updated"] = json!(Scene::text(scene.app.now()));
    location["evses"][1]["connectors"][0]["tariff_ids"] = json!(["FAST"]);
    scene.cpo.put("/locations/NL/EXA/AMS-1", &location).await;
    scene.app.drain().await;
    let (session, theirs) = scene.active().await;
    scene.app.advance(1800).await;
    let now = scene.app.now();
    let report = |evse: &str, connector: &str, change: Value| {
        let place = json!({"evse_uid": evse, "connector_id": connector, "kwh": 45});
        with(with(theirs.clone(), place), change)
    };
    let moved = report("E2", "1", json!({"last_updated": now}));
    scene.report(&moved).await;
    // 45 kWh at 0.80, with 21 % tax.
    assert_has!(scene.shown(&session).await, {"connector": "E2-1", "amount_due": 4356});
    // An older report and a connector that the EVSE does not have move nothing.
    let older = report("E1", "1", json!({"last_updated": now.plus(minutes(-1))}));
    scene.report(&older).await;
    let unknown = report("E2", "9", json!({"last_updated": now.plus(seconds(1))}));
    scene.report(&unknown).await;
    assert_eq!(scene.shown(&session).await["connector"], "E2-1");
    let mut bill = scene.cdr(
        &moved,
        json!({"total_energy": 45.0, "total_cost": {"excl_vat": 36.0, "incl_vat": 43.56}}),
    );
    bill["cdr_location"]["evse_uid"] = json!("E2");
    scene.bill(&bill).await;
    // The EVSE where it was requested delivers 11 kWh in this time.
    let check = json!({"network": 4356, "ours": 4356, "difference": 0});
    assert_has!(scene.shown(&session).await, {"connector": "E2-1", "review": null, "price_check": check});
    // A CDR at the first EVSE changes nothing that is billed.
    let mut late = scene.cdr(&moved, json!({"id": "C2", "total_energy": 45.0, "total_cost": {"excl_vat": 36.0, "incl_vat": 43.56}}));
    late["cdr_location"]["evse_uid"] = json!("E1");
    scene.bill(&late).await;
    assert_has!(scene.shown(&session).await, {"connector": "E2-1", "amount_due": 4356});
}

#[tokio::test]
async fn a_network_cannot_raise_the_price_by_a_move() {
    for is_billed in [true, false] {
        let (scene, session, theirs) = Scene::charging().await;
        let mut dear = fixture("tariff");
        dear["elements"][0]["price_components"][0]["price"] = json!(40);
        set_tariff(&scene, dear).await;
        let elsewhere = json!({"evse_uid": "E2", "connector_id": "1"});
        let moved = with(theirs, elsewhere);
        if is_billed {
            let total = json!({"excl_vat": 800, "incl_vat": 968});
            let mut bill = scene.cdr(&moved, json!({"total_cost": total}));
            bill["cdr_location"]["evse_uid"] = json!("E2");
            scene.bill(&bill).await;
        } else {
            let now = Scene::text(scene.app.now());
            let end = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": now, "last_updated": now});
            scene.report(&with(moved, end)).await;
            scene.pass(3 * 86_400).await;
        }
        let review = &scene.shown(&session).await["review"];
        assert_has!(review, {"network": 96_800, "ours": 968});
        assert_eq!(scene.invoice().await.1, []);
    }
}

/// The station's tariff: 80 cents for a kWh until this number of hours from now by the station's clock, and then 20.
async fn dear_for(scene: &Scene, hours: i64) {
    let zone = TimeZone::get("Europe/Amsterdam").expect("a zone");
    let clock = |hours: i64| {
        let at = scene.app.now().plus(minutes(60 * hours));
        at.civil_in(&zone).strftime("%H:%M").to_string()
    };
    let element = |price: f64, restrictions: Value| {
        json!({"price_components": [{"type": "ENERGY", "price": price, "vat": 0, "step_size": 1}],
        "restrictions": restrictions})
    };
    let window = json!({"start_time": clock(-1), "end_time": clock(hours)});
    let elements = json!([element(0.8, window), element(0.2, json!({}))]);
    set_tariff(
        scene,
        with(fixture("tariff"), json!({"elements": elements})),
    )
    .await;
}

/// An OCPI charging period.
fn period(starts: Timestamp, kind: &str, volume: f64) -> Value {
    json!({"start_date_time": starts, "dimensions": [{"type": kind, "volume": volume}]})
}

#[tokio::test]
async fn delayed_charging_costs_what_holds_when_it_flows() {
    let scene = Scene::new().await;
    dear_for(&scene, 2).await;
    let (session, theirs) = scene.active().await;
    let parked = period(scene.app.now(), "PARKING_TIME", 2.0);
    scene.app.advance(2 * 3600 + 120).await;
    let charging = period(scene.app.now(), "ENERGY", 22.0);
    scene.app.advance(3 * 3600).await;
    let now = scene.app.now();
    let grown = json!({"kwh": 22, "charging_periods": [parked, charging], "last_updated": now});
    let theirs = with(theirs, grown);
    scene.report(&theirs).await;
    // 22 kWh at 0.20.
    assert_has!(scene.shown(&session).await, {"status": "active", "amount_due": 440, "cost_source": "tariff"});
    let end =
        json!({"status": "COMPLETED", "end_date_time": now, "last_updated": now.plus(seconds(1))});
    scene.report(&with(theirs, end)).await;
    scene.pass(3 * 86_400 + 60).await;
    assert_eq!(scene.shown(&session).await["amount_due"], 440);
    assert_eq!(scene.invoice().await.1, [energy(440)]);
}

#[tokio::test]
async fn a_cdr_of_uneven_charging_is_plausible() {
    let scene = Scene::new().await;
    dear_for(&scene, 1).await;
    let (session, theirs) = scene.active().await;
    let fast = period(scene.app.now(), "ENERGY", 20.0);
    scene.app.advance(3300).await;
    let slow = period(scene.app.now(), "ENERGY", 2.0);
    scene.app.advance(8 * 3600).await;
    // 20 kWh at 0.80, and 2 kWh at 0.20 but for the rest of the hour.
    let bill = json!({"charging_periods": [fast, slow], "total_energy": 22.0,
        "total_cost": {"excl_vat": 16.4, "incl_vat": 16.4}});
    scene.bill(&scene.cdr(&theirs, bill)).await;
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"status": "completed", "amount_due": 1640, "review": null});
    let ours = shown["price_check"]["ours"].as_i64().expect("an amount");
    assert!((1640..=1642).contains(&ours), "{shown}");
}

#[tokio::test]
async fn an_amount_without_tax_gets_that_of_the_tariff() {
    let (scene, session, theirs) = Scene::charging().await;
    let now = scene.app.now();
    let net = json!({"total_cost": {"excl_vat": 4.004}, "kwh": 10, "last_updated": now});
    scene.report(&with(theirs.clone(), net)).await;
    // 4.004 × 1.21 = 4.84484.
    assert_has!(scene.shown(&session).await, {"net": 400, "tax": 84, "amount_due": 484});
    let net = json!({"total_cost": {"excl_vat": 8.0}});
    scene.bill(&scene.cdr(&theirs, net)).await;
    let check = json!({"network": 968, "ours": 968, "difference": 0});
    assert_has!(scene.shown(&session).await, {"net": 800, "tax": 168, "amount_due": 968, "price_check": check});
    let credit = json!({"id": "C2", "credit": true, "credit_reference_id": "C1", "total_cost": {"excl_vat": -2.0}});
    scene.bill(&scene.cdr(&theirs, credit)).await;
    assert_eq!(scene.invoice().await.1, [energy(968), adjustment(-242)]);
}

#[tokio::test]
async fn the_tax_of_a_minimum_price_is_shown_and_documented() {
    let scene = Scene::new().await;
    let client = &scene.app.alice;
    let seller = json!({"billing_details": seller(), "registration_number": "HRB 1"});
    client.post_ok(&own(client), seller).await;
    let buyer = json!({"billing_details": buyer()});
    client.post_ok(&path_of(&scene.crew.fleet), buyer).await;
    // A rate of 7.6923…, and one above 100.
    for (name, gross, percent) in [("T1", 9.8, "7.6923"), ("T2", 20.0, "100")] {
        let minimum = json!({"min_price": {"excl_vat": 9.1, "incl_vat": gross}});
        set_tariff(&scene, with(fixture("tariff"), minimum)).await;
        scene.start().await;
        scene.result("ACCEPTED").await;
        let theirs = scene.session(json!({"id": name}));
        scene.report(&theirs).await;
        scene.app.advance(3600).await;
        let now = scene.app.now();
        let end =
            json!({"status": "COMPLETED", "kwh": 5, "end_date_time": now, "last_updated": now});
        scene.report(&with(theirs, end)).await;
        scene.pass(3 * 86_400).await;
        let window = json!({"period_start": now.plus(days(-30)), "period_end": scene.app.now().plus(minutes(1)),
            "fleet": scene.crew.fleet, "currency": "eur"});
        let invoice = finalized(client, window).await;
        let taxes = invoice["line_items"][0]["taxes"]
            .as_array()
            .expect("taxes")
            .clone();
        assert!(
            taxes.iter().any(|tax| tax["tax_percent"] == percent),
            "{taxes:?}"
        );
        let path = path_of(id_of(&invoice));
        assert_eq!(scene.get(&path).await["totals"], invoice["totals"]);
        assert_eq!(
            scene.get("/v1/invoices").await["data"][0]["id"],
            invoice["id"]
        );
        let lines = scene.get(&format!("{path}/line_items")).await;
        assert_eq!(lines["data"][0]["taxes"], json!(taxes));
        for format in ["pdf", "ubl", "cii"] {
            document(&scene.app, &invoice, format).await;
        }
    }
}

#[tokio::test]
async fn amounts_in_another_currency_do_not_change_the_price() {
    let scene = Scene::new().await;
    let session = scene.start().await;
    let theirs = scene.begin().await;
    let credit = json!({"id": "C1-X", "credit": true, "credit_reference_id": "C1", "currency": "USD",
        "total_cost": {"excl_vat": -8.0, "incl_vat": -9.68}});
    scene.app.advance(3600).await;
    scene.bill(&scene.cdr(&theirs, credit)).await;
    scene.bill(&scene.cdr(&theirs, json!({}))).await;
    assert_eq!(scene.shown(&session).await["amount_due"], 968);
    // A report in another currency that names no cost.
    let session = scene.start().await;
    let theirs = scene.session(json!({"id": "S2", "currency": "USD"}));
    scene.report(&theirs).await;
    scene.app.advance(3600).await;
    let now = scene.app.now();
    let end = json!({"status": "COMPLETED", "kwh": 5, "end_date_time": now, "last_updated": now});
    scene.report(&with(theirs, end)).await;
    scene.pass(3 * 86_400).await;
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"currency": "eur", "amount_due": 242, "cost_source": "tariff"});
}

/// Every response is validated against the OpenAPI document.
#[tokio::test]
async fn prices_with_every_restriction_match_the_openapi_document() {
    let scene = Scene::new().await;
    let path = format!("/v1/charging_stations/{}", scene.station);
    for restrictions in [
        json!({"start_time": "23:00", "end_time": "06:00", "day_of_week": ["MONDAY"]}),
        json!({"start_date": "2026-01-01", "end_date": "2099-01-01", "min_kwh": 1, "max_kwh": 50}),
        json!({"min_current": 6, "max_current": 32, "min_power": 3.7, "max_power": 22}),
        json!({"min_duration": 60, "max_duration": 86400, "reservation": "RESERVATION"}),
    ] {
        let mut tariff = fixture("tariff");
        tariff["elements"][0]["restrictions"] = restrictions;
        set_tariff(&scene, tariff).await;
        scene.app.advance(60).await;
        let station = scene.get(&path).await;
        let prices = station["connectors"][0]["pricing"].as_array();
        let mut prices = prices.expect("prices").iter();
        let is_restricted = prices.any(|price| price["restrictions"].is_object());
        assert!(is_restricted, "{station}");
    }
}
