//! Tests of the OCPI module Locations: stations, their statuses, and what happens to reservations there.

use futures::future::join_all;
use serde_json::{Value, json};
use tests::platform::{Connected, fixture};
use tests::{TestApp, assert_has, each, with};

use super::{recorded, station};

pub(super) const PATH: &str = "/locations/NL/EXA/AMS-1";

pub(super) async fn connected() -> (TestApp, Connected) {
    let app = TestApp::start().await;
    let cpo = connected_to(&app).await;
    (app, cpo)
}

/// The location of the fixture with other members.
pub(super) fn location(change: Value) -> Value {
    with(fixture("location"), change)
}

pub(super) async fn connected_to(app: &TestApp) -> Connected {
    let cpo = Connected::to(app).await;
    cpo.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
    let answer = cpo.put(PATH, &fixture("location")).await;
    assert_eq!(
        (answer.status, &answer.body["status_message"]),
        (201, &Value::Null)
    );
    cpo
}

#[tokio::test]
async fn a_station_shows_the_energy_mix_of_its_location() {
    let (app, cpo) = connected().await;
    let mix = |percent: Value| {
        json!({"is_green_energy": false, "energy_sources": [{"source": "WIND", "percentage": percent}],
            "environ_impact": [{"category": "CARBON_DIOXIDE", "amount": 41.5}], "supplier_name": "North Sea Energy"})
    };
    let patch = |mix: Value, second: u8| json!({"energy_mix": mix, "last_updated": format!("2027-01-01T00:00:{second:02}Z")});
    let answer = cpo
        .send("PATCH", PATH, Some(&patch(mix(json!(62.5)), 1)))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let shown = json!({"carbon_g_per_kwh": 41.5, "is_green_energy": false, "nuclear_waste_g_per_kwh": null,
        "product_name": null, "sources": [{"percent": 62.5, "source": "wind"}], "supplier_name": "North Sea Energy"});
    assert_eq!(station(&app).await["energy_mix"], shown);
    // A location with an invalid mix can still be used.
    for (second, wrong) in [(2, mix(json!("much"))), (3, json!(7))] {
        let answer = cpo.send("PATCH", PATH, Some(&patch(wrong, second))).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_has!(station(&app).await, {"energy_mix": null, "status": "active"});
    }
}

#[tokio::test]
async fn a_location_becomes_a_station_with_the_prices_of_its_tariffs() {
    let (app, cpo) = connected().await;
    let station = station(&app).await;
    let network = json!({"country_code": "NL", "party_id": "EXA", "name": "Example Operator"});
    assert_eq!(station["network"], network);
    assert_has!(station, {"status": "active", "location_id": "AMS-1"});
    let statuses = each(&station["connectors"], "status");
    assert_eq!(statuses, json!(["available", "occupied"]));
    let price = &station["connectors"][0]["pricing"][0];
    assert_has!(price, {"price": 40, "currency": "eur", "tax_percent": "21"});
    // It is shown as it was received, including unknown members.
    assert_eq!(cpo.data(PATH).await, fixture("location"));
    let again = cpo.put(PATH, &fixture("location")).await;
    assert_eq!(again.status, 200);
    // A station that was loaded from a file has no network.
    let path = "/v1/charging_stations?limit=1&latitude=51.5&longitude=-0.1&radius=50000";
    assert_has!(app.alice.get_ok(path).await["data"][0], {"network": null});
}

#[tokio::test]
async fn an_older_update_changes_nothing_and_succeeds() {
    let (app, cpo) = connected().await;
    let before = station(&app).await;
    let older = location(json!({"name": "Old", "last_updated": "2026-01-05T07:59:59Z"}));
    cpo.expect("PUT", PATH, Some(&older), (200, 1000)).await;
    let late = json!({"status": "CHARGING", "last_updated": "2026-01-05T07:00:00Z"});
    cpo.patch(&format!("{PATH}/E1"), &late).await;
    assert_eq!(station(&app).await, before);
    assert_eq!(cpo.data(PATH).await, fixture("location"));
}

#[tokio::test]
async fn a_time_far_ahead_does_not_freeze_an_evse() {
    let (app, cpo) = connected().await;
    // The pull would remove the station of a location that is not listed.
    let listed = vec![fixture("location")];
    cpo.list("locations", listed);
    app.drain().await;
    let path = format!("{PATH}/E1");
    let far = "2099-01-01T00:00:00Z";
    let status = async |status: &str, updated: Value| {
        let body = json!({"status": status, "last_updated": updated});
        cpo.patch(&path, &body).await;
        station(&app).await["connectors"][0]["status"].clone()
    };
    assert_eq!(status("CHARGING", json!(far)).await, "occupied");
    // It is shown as it was received.
    let shown = cpo.data(&path).await;
    let want = with(
        fixture("location")["evses"][0].clone(),
        json!({"status": "CHARGING", "last_updated": far}),
    );
    assert_eq!(shown, want);
    app.advance(60).await;
    assert_eq!(status("AVAILABLE", json!(app.now())).await, "available");
    // Objects that were sent before are late.
    let before = json!(app.now().plus(kernel::time::minutes(-5)));
    assert_eq!(status("CHARGING", before).await, "available");
    // A whole location with a time far in the future does not block later changes of the location.
    let ahead = location(json!({"name": "Then", "last_updated": far}));
    cpo.put(PATH, &ahead).await;
    assert_eq!(cpo.data(PATH).await, ahead);
    app.advance(60).await;
    let now = location(json!({"name": "Now", "last_updated": app.now()}));
    cpo.put(PATH, &now).await;
    assert_eq!(station(&app).await["name"], "Now");
}

#[tokio::test]
async fn a_status_takes_two_calls_of_the_table() {
    let (_table, app, recorder) = recorded().await;
    let cpo = connected_to(&app).await;
    recorder.take();
    let path = format!("{PATH}/E1");
    for (minute, status, shown) in [
        (0, "CHARGING", "occupied"),
        (1, "AVAILABLE", "available"),
        (2, "RESERVED", "reserved"),
    ] {
        let updated = format!("2026-01-05T09:0{minute}:00Z");
        let sent = json!({"status": status, "last_updated": updated});
        cpo.patch(&path, &sent).await;
        assert_eq!(recorder.take().len(), 2, "{status}");
        assert_has!(station(&app).await, {"/connectors/0/status": shown,
            "/availability/connectors_available": u8::from(status == "AVAILABLE")});
        recorder.take();
    }
    let shown = cpo.data(&path).await;
    assert_has!(shown, {"status": "RESERVED", "last_updated": "2026-01-05T09:02:00Z"});
    let location = cpo.data(PATH).await;
    assert_eq!(location["last_updated"], "2026-01-05T09:02:00Z");
}

#[tokio::test]
async fn every_status_counts_when_a_site_restarts() {
    const EVSES: usize = 24;
    let (app, cpo) = connected().await;
    let mut whole = fixture("location");
    whole["last_updated"] = json!("2026-01-05T08:00:00Z");
    let evse = |n| with(whole["evses"][0].clone(), json!({"uid": format!("E{n}")}));
    whole["evses"] = (1..=EVSES).map(evse).collect();
    cpo.put(PATH, &whole).await;
    let charging = json!({"status": "CHARGING", "last_updated": "2026-01-05T09:00:00Z"});
    let reports = (1..=EVSES).map(async |n| {
        let path = format!("{PATH}/E{n}");
        cpo.expect("PATCH", &path, Some(&charging), (200, 1000))
            .await
    });
    join_all(reports).await;
    let shown = station(&app).await;
    assert_has!(shown, {"/availability/connectors_available": 0, "/availability/connectors_total": EVSES});
}

#[tokio::test]
async fn a_report_counts_also_when_it_is_what_the_network_said_before() {
    let (app, cpo) = connected().await;
    let at = |status: &str, minute: u8| json!({"status": status, "last_updated": format!("2026-01-05T09:{minute:02}:00Z")});
    let path = format!("{PATH}/E1");
    cpo.send("PATCH", &path, Some(&at("CHARGING", 1))).await;
    let mut whole = fixture("location");
    whole["last_updated"] = json!("2026-01-05T10:00:00Z");
    cpo.put(PATH, &whole).await;
    assert_eq!(station(&app).await["connectors"][0]["status"], "available");
}

#[tokio::test]
async fn parts_are_added_changed_and_removed() {
    let (app, cpo) = connected().await;
    let mut evse = fixture("location")["evses"][0].clone();
    evse["uid"] = json!("E3");
    evse["last_updated"] = json!("2026-01-06T08:00:00Z");
    let path = format!("{PATH}/E3");
    assert_eq!(cpo.put(&path, &evse).await.status, 201);
    assert_eq!(cpo.data(&path).await, evse);
    let mut connector = evse["connectors"][0].clone();
    connector["id"] = json!("2");
    connector["max_electric_power"] = json!(11000);
    connector["last_updated"] = json!("2026-01-06T09:00:00Z");
    let path = format!("{path}/2");
    assert_eq!(cpo.put(&path, &connector).await.status, 201);
    let ids = async || each(&station(&app).await["connectors"], "id");
    assert_eq!(ids().await, json!(["E1-1", "E2-1", "E3-1", "E3-2"]));
    let sent = json!({"max_electric_power": 7400, "last_updated": "2026-01-06T10:00:00Z"});
    cpo.patch(&path, &sent).await;
    assert_eq!(station(&app).await["connectors"][3]["power"], 7.4);
    let removed = json!({"status": "REMOVED", "last_updated": "2026-01-06T11:00:00Z"});
    for evse in ["E1", "E2"] {
        let path = format!("{PATH}/{evse}");
        cpo.patch(&path, &removed).await;
    }
    assert_eq!(ids().await, json!(["E3-1", "E3-2"]));
    cpo.send("PATCH", &format!("{PATH}/E3"), Some(&removed))
        .await;
    assert_has!(station(&app).await, {"status": "removed", "connectors": []});
}

/// A confirmed reservation at the only connector that fits: its path, and the reservation.
async fn confirmed(app: &TestApp, cpo: &Connected) -> (String, Value) {
    // The full pull that follows the handshake would remove a location that the platform does not list.
    let listed = vec![fixture("location")];
    cpo.list("locations", listed);
    let crew = app.crew(&app.alice).await;
    let body = with(
        app.reservation(&crew, 20),
        json!({"location": {"latitude": 52.394, "longitude": 4.852, "radius": 500}}),
    );
    let id = app.alice.create("/v1/reservations", body).await;
    app.drain().await;
    let path = format!("/v1/reservations/{id}");
    let confirmed = app.alice.get_ok(&path).await;
    assert_eq!(confirmed["status"], "confirmed", "{confirmed}");
    (path, confirmed)
}

#[tokio::test]
async fn a_reservation_at_a_connector_that_breaks_is_matched_again() {
    let (app, cpo) = connected().await;
    let (path, _) = confirmed(&app, &cpo).await;
    let sent = json!({"status": "OUTOFORDER", "last_updated": "2026-01-05T09:00:00Z"});
    cpo.send("PATCH", &format!("{PATH}/E1"), Some(&sent)).await;
    app.advance(1800).await;
    let after = app.alice.get_ok(&path).await;
    // There is no other connector.
    assert_ne!(after["status"], "confirmed", "{after}");
    app.advance(7200).await;
}

#[tokio::test]
async fn a_reservation_at_a_location_that_closes_is_matched_again() {
    let (app, cpo) = connected().await;
    let (path, reservation) = confirmed(&app, &cpo).await;
    let closed = json!({"period_begin": reservation["reserved_start"], "period_end": reservation["reserved_end"]});
    let hours = json!({"twentyfourseven": true, "exceptional_closings": [closed]});
    let sent = json!({"opening_times": hours, "last_updated": "2026-01-05T09:00:00Z"});
    cpo.send("PATCH", PATH, Some(&sent)).await;
    app.drain().await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "pending", "charging_station": null});
}
