//! Tests of the OCPI module Tariffs: the prices of connectors follow their tariffs.

use serde_json::{Value, json};
use tests::platform::{Connected, fixture};
use tests::{assert_contains, with};

use super::station;

const PATH: &str = "/tariffs/NL/EXA/DAY";

#[tokio::test]
async fn a_changed_tariff_updates_the_prices_of_its_connectors() {
    let (app, cpo) = Connected::start().await;
    // The full pull that follows the handshake would remove a location that the platform does not list.
    app.drain().await;
    // The location comes first: its prices are unknown until the tariff arrives.
    cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
        .await;
    assert_eq!(station(&app).await["connectors"][0]["pricing"], json!([]));
    assert_eq!(cpo.put(PATH, &fixture("tariff")).await.status, 201);
    app.drain().await;
    let price = async || station(&app).await["connectors"][1]["pricing"][0]["price"].clone();
    assert_eq!(price().await, 40);
    let mut dearer = fixture("tariff");
    dearer["elements"][0]["price_components"][0]["price"] = json!(0.55);
    dearer["last_updated"] = json!("2026-01-06T08:00:00Z");
    assert_eq!(cpo.put(PATH, &dearer).await.status, 200);
    app.drain().await;
    assert_eq!(price().await, 55);
    // An older tariff arrives late.
    cpo.put(PATH, &fixture("tariff")).await;
    app.drain().await;
    assert_eq!(price().await, 55);
    assert_eq!(cpo.data(PATH).await, dearer);
}

#[tokio::test]
async fn a_price_without_a_known_tariff_is_unknown() {
    let (app, cpo) = Connected::start().await;
    app.drain().await;
    cpo.put(PATH, &fixture("tariff")).await;
    cpo.put("/locations/NL/EXA/AMS-1", &fixture("location"))
        .await;
    app.drain().await;
    let price = async || {
        let station = station(&app).await;
        station["connectors"][0]["pricing"][0]["price"].clone()
    };
    let name = async |tariff: &str| {
        let ids = json!({"tariff_ids": [tariff], "last_updated": app.now()});
        cpo.patch("/locations/NL/EXA/AMS-1/E1/1", &ids).await;
        app.advance(1).await;
    };
    assert_eq!(price().await, 40);
    name("NOPE").await;
    assert_eq!(price().await, Value::Null);
    name("DAY").await;
    assert_eq!(price().await, 40);
    cpo.expect("DELETE", PATH, None, (200, 1000)).await;
    app.drain().await;
    assert_eq!(price().await, Value::Null);
    cpo.put(PATH, &fixture("tariff")).await;
    app.drain().await;
    assert_eq!(price().await, 40);
    let mut unreadable = fixture("tariff");
    unreadable["elements"][0]["restrictions"] = json!({"day_of_week": ["FUNDAY"]});
    unreadable["last_updated"] = json!("2026-01-06T08:00:00Z");
    cpo.put(PATH, &unreadable).await;
    app.drain().await;
    assert_eq!(price().await, Value::Null);
}

#[tokio::test]
async fn a_tariff_is_removed_once() {
    let (app, cpo) = Connected::start().await;
    cpo.put(PATH, &fixture("tariff")).await;
    cpo.expect("DELETE", PATH, None, (200, 1000)).await;
    cpo.expect("DELETE", PATH, None, (404, 2000)).await;
    cpo.expect("GET", PATH, None, (404, 2000)).await;
    app.drain().await;
}

#[tokio::test]
async fn a_tariff_that_cannot_be_read_is_refused() {
    let (app, cpo) = Connected::start().await;
    for change in [
        json!({"id": "NIGHT"}),
        json!({"elements": 1}),
        json!({"last_updated": "soon"}),
        json!({"currency": null}),
    ] {
        let body = with(fixture("tariff"), change);
        cpo.expect("PUT", PATH, Some(&body), (200, 2001)).await;
    }
    cpo.expect("GET", PATH, None, (404, 2000)).await;
    let body = with(fixture("tariff"), json!({"currency": "XXX"}));
    let answer = cpo.put(PATH, &body).await;
    assert_contains(&answer.body["status_message"], "gives no prices");
    app.drain().await;
}
