//! Tests of the prices of a site, and of what its vehicles would cost if they charged immediately.

use serde_json::{Value, json};
use tests::{TestApp, fleet};

use super::{depot, van};

#[tokio::test]
async fn a_new_tariff_has_a_site_without_prices_planned_again() {
    let app = TestApp::start().await;
    let pricing = |price: u32| {
        json!({"pricing": [{"currency": "usd", "price": price, "step_size": 1, "tax": "vat", "tax_included": true, "tax_percent": "20",
            "type": "ENERGY"}]})
    };
    let station = app.station(pricing(45)).await;
    let departure = json!({"at": app.in_minutes(8 * 60), "energy_wh": 10_000});
    let (site, _) = depot(&app, 60_000, 1, &departure).await;
    let stations = json!({"stations": [station]});
    app.alice.post_ok(&site, stations).await;
    app.drain().await;
    let cost = async || {
        let plan = app.alice.get_ok(&format!("{site}/plan")).await;
        plan["vehicles"][0]["cost"].as_i64().expect("a cost")
    };
    let before = cost().await;
    app.change_station(&station, pricing(30)).await;
    app.drain().await;
    let (dear, cheap) = (before * 30, cost().await * 45);
    assert!(before > 0 && dear.abs_diff(cheap) <= 45, "{dear} {cheap}");
    let shown = app.alice.get_ok(&site).await;
    assert_eq!(shown["plan"]["changed_because"], json!(["prices"]));
}

#[tokio::test]
async fn a_site_can_aim_at_carbon_and_series_are_csv() {
    let app = TestApp::with_clock().await;
    // The test begins at the full hour, so that slots are aligned with hours.
    let hour = 60 * 60 * 1_000;
    app.advance(
        u32::try_from((hour - app.now().unix_millis().rem_euclid(hour)) / 1_000 + 1)
            .expect("seconds"),
    )
    .await;
    let now = app.now();
    let begin =
        kernel::Timestamp::from_unix_millis(now.unix_millis() - now.unix_millis().rem_euclid(hour));
    let at = |hours| begin.plus(kernel::time::hours(hours));
    let departure = json!({"at": at(4), "energy_wh": 11_000});
    let (site, _) = depot(&app, 60_000, 1, &departure).await;
    let csv = async |series: &str, text: String| {
        let path = format!("{site}/{series}");
        let headers = [("content-type", "text/csv")];
        app.alice.send("POST", &path, Some(text), &headers).await
    };
    // The second hour is the cheapest, the third one the cleanest.
    let prices = format!(
        "from,price_per_kwh\n{},30\n{},10\n{},20\n{},40\n",
        at(0),
        at(1),
        at(2),
        at(3)
    );
    csv("prices", prices).await.expect(200);
    let carbon = format!(
        "g_per_kwh,from\n300,{}\n200,{}\n100,{}\n400,{}\n",
        at(0),
        at(1),
        at(2),
        at(3)
    );
    csv("carbon", carbon).await.expect(200);
    app.drain().await;
    let first = async || {
        let plan = app.alice.get_ok(&format!("{site}/plan")).await;
        let loads = plan["vehicles"][0]["loads_w"]
            .as_array()
            .expect("loads")
            .clone();
        let place = loads.iter().position(|load| *load != 0).expect("a load");
        (
            plan["slots"][place]["from"].clone(),
            plan["vehicles"][0]["cost"].clone(),
        )
    };
    assert_eq!(first().await, (json!(at(1)), json!(110)));
    let aim = json!({"optimize": "carbon"});
    assert_eq!(app.alice.post_ok(&site, aim).await["optimize"], "carbon");
    app.drain().await;
    assert_eq!(first().await, (json!(at(2)), json!(220)));
    let fault = format!("from,price_per_kwh\n{},thirty\n", at(0));
    let refused = csv("prices", fault).await.expect(400).body;
    assert_eq!(refused["param"], "prices[0].price_per_kwh", "{refused}");
}

/// A depot with a price per kWh from each of these hours on, for nine hours from the present quarter-hour, and a van with this departure.
/// Returns their paths.
pub(super) async fn priced_depot(
    app: &TestApp,
    prices: &[(i64, u32)],
    departure: &Value,
) -> (String, String) {
    app.needs("a clock that can be moved");
    // Before its prices are known, a site charges at once.
    let (site, _) = depot(app, 60_000, 0, &Value::Null).await;
    let quarter = app.now().unix_millis() / 900_000 * 900_000;
    let after =
        |hours| kernel::Timestamp::from_unix_millis(quarter).plus(kernel::time::hours(hours));
    let prices = prices
        .iter()
        .map(|(hour, price)| json!({"from": after(*hour), "price_per_kwh": price}));
    let mut prices: Vec<Value> = prices.collect();
    prices.last_mut().expect("a price")["until"] = json!(after(9));
    let path = format!("{site}/prices");
    app.alice.post_ok(&path, json!({"prices": prices})).await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let id = site.trim_start_matches("/v1/sites/");
    let van = van(app, id, &fleet, departure).await;
    app.drain().await;
    (site, van)
}

#[tokio::test]
async fn cost_if_immediate_does_not_change_while_a_vehicle_waits() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(8 * 60), "energy_wh": 22_000});
    let (site, van) = priced_depot(&app, &[(0, 30), (4, 10)], &departure).await;
    let vehicle = async || {
        let plan = app.alice.get_ok(&format!("{site}/plan")).await;
        plan["vehicles"][0].clone()
    };
    let before = vehicle().await;
    app.advance(2 * 60 * 60).await;
    let waiting = vehicle().await;
    assert_eq!(waiting["delivered_wh"], 0, "{waiting}");
    assert_eq!(waiting["cost_if_immediate"], before["cost_if_immediate"]);
    app.advance(6 * 60 * 60 + 60).await;
    let path = format!("{van}/departures");
    let over = app.alice.get_ok(&path).await["departures"][0].clone();
    let cost = |member: &str| over[member].as_i64().expect("a cost");
    assert_eq!(over["cost_if_immediate"], before["cost_if_immediate"]);
    assert!((215..=225).contains(&cost("cost")), "{over}");
    assert!((650..=660).contains(&cost("cost_if_immediate")), "{over}");
}

#[tokio::test]
async fn cost_if_immediate_follows_a_level_that_is_reported_later() {
    let app = TestApp::start().await;
    let departure = json!({"at": app.in_minutes(8 * 60), "target_level": 80});
    let (site, van) = priced_depot(&app, &[(0, 10)], &departure).await;
    let planned = async || {
        let plan = app.alice.get_ok(&format!("{site}/plan")).await;
        let planned = plan["vehicles"][0].clone();
        let number = |member: &str| planned[member].as_i64().expect("a number");
        let (delivered, rest) = (number("delivered_wh"), number("energy_wh"));
        (delivered, rest, number("cost_if_immediate"))
    };
    let (_, need, before) = planned().await;
    assert!((need / 100 - before).abs() <= 1, "{need} {before}");
    app.advance(60 * 60).await;
    let (delivered, _, waiting) = planned().await;
    assert_eq!((delivered > 10_000, waiting), (true, before));
    // The vehicle has lost in the meantime what it was charged.
    let level = json!({"battery": {"level": 20}});
    app.alice.post_ok(&format!("{van}/telemetry"), level).await;
    app.drain().await;
    let (delivered, rest, after) = planned().await;
    assert!((rest - need).abs() <= 100, "{rest} {need}");
    assert!(
        ((delivered + rest) / 100 - after).abs() <= 1,
        "{delivered} {rest} {after}"
    );
}
