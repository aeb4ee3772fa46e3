//! Test of `GET /v1/charging_sessions`.

use serde_json::json;
use tests::{TestApp, id_of};

use super::{PATH, start, stop};

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
