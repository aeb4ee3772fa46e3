//! Tests of locations that are invalid, or too large for the table with their prices.

use kernel::{Id, Mode};
use models::ChargingStation;
use serde_json::{Value, json};
use table::networks::operators;
use tests::platform::{Connected, codes, fixture};
use tests::{assert_contains, assert_has, id_of, with};

use super::locations::{PATH, connected, connected_to, location};
use super::{recorded, station};

#[tokio::test]
async fn what_is_wrong_is_refused_and_changes_nothing() {
    let (app, cpo) = connected().await;
    let before = station(&app).await;
    let newer = "2026-02-01T00:00:00Z";
    for change in [
        json!({"id": "AMS-2", "last_updated": newer}),
        json!({"party_id": "OTH", "last_updated": newer}),
        json!({"last_updated": "soon"}),
        json!({"coordinates": 1, "last_updated": newer}),
    ] {
        let body = location(change);
        cpo.expect("PUT", PATH, Some(&body), (200, 2001)).await;
    }
    cpo.expect("PUT", PATH, Some(&json!([])), (200, 2001)).await;
    for change in [
        json!({"name": "x"}),
        json!({"id": "AMS-2", "last_updated": newer}),
    ] {
        cpo.expect("PATCH", PATH, Some(&change), (200, 2001)).await;
    }
    let renamed = json!({"name": "x", "last_updated": newer});
    let blocked = json!({"status": "BLOCKED", "last_updated": newer});
    let connector = json!({"id": "1", "last_updated": newer});
    for (method, path, body, code) in [
        ("PATCH", "/locations/NL/EXA/AMS-9", renamed, (404, 2003)),
        ("PATCH", "/locations/NL/EXA/AMS-1/E9", blocked, (404, 2003)),
        (
            "PUT",
            "/locations/NL/EXA/AMS-1/E9/1",
            connector,
            (404, 2003),
        ),
        (
            "PUT",
            "/locations/NL/OTH/AMS-1",
            fixture("location"),
            (404, 2000),
        ),
    ] {
        cpo.expect(method, path, Some(&body), code).await;
    }
    cpo.expect("GET", "/locations/NL/EXA/AMS-9", None, (404, 2003))
        .await;
    assert_eq!(station(&app).await, before);
}

#[tokio::test]
async fn an_unusable_location_is_stored_without_changing_its_station() {
    let (app, cpo) = connected().await;
    let before = station(&app).await;
    let change = json!({"country": "XXX", "last_updated": "2026-02-01T00:00:00Z"});
    let location = location(change);
    let answer = cpo.put(PATH, &location).await;
    assert_contains(&answer.body["status_message"], "country");
    assert_eq!(cpo.data(PATH).await, location);
    assert_eq!(station(&app).await, before);
}

#[tokio::test]
async fn tariffs_beyond_100_are_ignored_and_reported() {
    let (_table, app, recorder) = recorded().await;
    let cpo = connected_to(&app).await;
    let ids: Vec<String> = (0..1_000).map(|number| format!("T{number}")).collect();
    let change = json!({"tariff_ids": ids, "last_updated": app.now()});
    recorder.take();
    let path = format!("{PATH}/E1/1");
    let answer = cpo.send("PATCH", &path, Some(&change)).await;
    assert_eq!(codes(&answer), (200, 1000));
    let message = "901 tariffs are ignored: a location has at most 100";
    assert_contains(&answer.body["status_message"], message);
    let calls = recorder.take().len();
    assert!(calls < 110, "{calls}");
    assert_eq!(cpo.data(&path).await["tariff_ids"], json!(ids));
}

#[tokio::test]
async fn a_tariff_of_a_repaired_location_has_its_prices() {
    let (app, cpo) = Connected::start().await;
    app.drain().await;
    cpo.put(PATH, &fixture("location")).await;
    let path = format!("{PATH}/E1/1");
    let broken = json!({"tariff_ids": ["LATE"], "max_electric_power": null, "max_voltage": null,
        "last_updated": "2026-01-06T08:00:00Z"});
    cpo.patch(&path, &broken).await;
    let repaired = json!({"max_electric_power": 22_000, "last_updated": "2026-01-06T09:00:00Z"});
    cpo.patch(&path, &repaired).await;
    let late = with(fixture("tariff"), json!({"id": "LATE"}));
    cpo.put("/tariffs/NL/EXA/LATE", &late).await;
    app.drain().await;
    assert_has!(station(&app).await, {"/connectors/0/pricing/0/price": 40});
}

#[tokio::test]
async fn a_station_that_is_too_large_with_its_prices_has_none() {
    let (app, cpo) = connected().await;
    cpo.list("locations", vec![fixture("location")]);
    cpo.list("tariffs", vec![fixture("tariff")]);
    let mut tariff = fixture("tariff");
    let hourly = |hour: usize| {
        let restrictions = json!({"start_time": format!("{:02}:00", hour % 24), "end_time": format!("{:02}:30", hour % 24)});
        with(
            tariff["elements"][0].clone(),
            json!({"restrictions": restrictions}),
        )
    };
    let elements: Vec<Value> = (0..168).map(hourly).collect();
    let mut large = fixture("location");
    let evse = |n: usize| with(large["evses"][0].clone(), json!({"uid": format!("E{n}")}));
    large["evses"] = (0..300).map(evse).collect();
    let mut put_tariff = async |elements: &[Value], updated: &str| {
        tariff["elements"] = json!(elements);
        tariff["last_updated"] = json!(updated);
        cpo.put("/tariffs/NL/EXA/DAY", &tariff).await;
        app.drain().await;
        station(&app).await["connectors"][299]["pricing"].clone()
    };
    large["last_updated"] = json!("2026-02-01T00:00:00Z");
    let answer = cpo.put(PATH, &large).await;
    assert!(
        answer.body.get("status_message").is_none(),
        "{}",
        answer.text
    );
    let prices = put_tariff(&elements[..1], "2026-02-01T00:00:01Z").await;
    assert!(prices[0].is_object(), "{prices}");
    assert_eq!(
        put_tariff(&elements, "2026-02-01T00:00:02Z").await,
        json!([])
    );
    large["last_updated"] = json!("2026-02-02T00:00:00Z");
    large["name"] = json!("Renamed");
    let answer = cpo.put(PATH, &large).await;
    assert_contains(&answer.body["status_message"], "prices are unknown");
    assert_has!(station(&app).await, {"name": "Renamed", "/connectors/299/pricing": []});
    assert_eq!(
        put_tariff(&elements[..1], "2026-02-01T00:00:03Z").await,
        prices
    );
}

#[tokio::test]
async fn a_large_location_can_rename_all_its_evses() {
    let (app, cpo) = connected().await;
    let evse = fixture("location")["evses"][0].clone();
    for (name, updated) in [("A", "2026-02-01T00:00:00Z"), ("B", "2026-02-02T00:00:00Z")] {
        let named = |number: u32| {
            let note = "x".repeat(4_000);
            let uid = format!("{name}{number}");
            with(evse.clone(), json!({"uid": uid, "note": note}))
        };
        let evses: Vec<Value> = (0..50).map(named).collect();
        let change = json!({"evses": evses, "last_updated": updated});
        cpo.put(PATH, &location(change)).await;
        assert_has!(station(&app).await, {"/connectors/49/evse": format!("{name}49")});
    }
    let noted = json!({"note": "x".repeat(4_000), "last_updated": "2026-02-03T00:00:00Z"});
    cpo.patch(PATH, &noted).await;
}

#[tokio::test]
async fn a_location_with_1400_evses_can_rename_them_all() {
    let (app, cpo) = connected().await;
    for (month, status) in [(3, "CHARGING"), (4, "AVAILABLE")] {
        let evses = (0..1_400).map(|number| {
            let uid = format!("{month:08}-0000-4000-8000-{number:012}");
            let connector =
                json!({"id": "1", "standard": "IEC_62196_T2", "max_electric_power": 22_000});
            json!({"uid": uid, "status": status, "connectors": [connector]})
        });
        let updated = format!("2026-{month:02}-01T00:00:00Z");
        let change = json!({"evses": evses.collect::<Vec<_>>(), "last_updated": updated});
        cpo.put(PATH, &location(change)).await;
    }
    let tenant = operators(Mode::Test);
    let id = Id::from(id_of(&station(&app).await));
    let station = app.app().store.load::<ChargingStation>(&tenant, &id).await;
    let removed = station.expect("the station").internal.removed;
    let occupied = removed.iter().filter(|removed| removed.was_occupied);
    // One EVSE of the first location was occupied, too.
    assert_eq!(
        occupied.map(|removed| removed.evses.len()).sum::<usize>(),
        1_401
    );
}

#[tokio::test]
async fn an_object_that_grows_by_its_parts_is_refused_in_the_end() {
    let (app, cpo) = connected().await;
    let before = cpo.data(PATH).await;
    let large = |uid: &str, updated: &str| {
        let change = json!({"uid": uid, "note": "x".repeat(200_000), "last_updated": updated});
        with(before["evses"][0].clone(), change)
    };
    let evse = large("E3", "2026-02-01T00:00:00Z");
    cpo.expect("PUT", &format!("{PATH}/E3"), Some(&evse), (201, 1000))
        .await;
    let stored = cpo.data(PATH).await;
    let evse = large("E4", "2026-02-01T00:00:01Z");
    cpo.expect("PUT", &format!("{PATH}/E4"), Some(&evse), (413, 2000))
        .await;
    cpo.expect("PATCH", PATH, Some(&evse), (413, 2000)).await;
    assert_eq!(cpo.data(PATH).await, stored);
    let path = "/sessions/NL/EXA/S-1001";
    cpo.put(path, &fixture("session")).await;
    for (member, second, code) in [("a", 1, (200, 1000)), ("b", 2, (413, 2000))] {
        let updated = app.now().plus_seconds(second);
        let sent = json!({member: "x".repeat(200_000), "last_updated": updated});
        cpo.expect("PATCH", path, Some(&sent), code).await;
    }
}
