//! Tests of `GET /v1/reservations`, its filters, and the list of a fleet.

use serde_json::json;
use tests::TestApp;

use super::reserve;

#[tokio::test]
async fn lists_are_filtered_by_driver_vehicle_and_status() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let first = reserve(&app, &crew, 120).await;
    let second = reserve(&app, &other, 120).await;
    app.alice
        .post_ok(&format!("/v1/reservations/{first}/cancel"), json!({}))
        .await;
    let (driver, vehicle) = (&crew.driver, &other.vehicle);
    for (query, listed) in [
        (String::new(), vec![&second, &first]),
        (format!("?driver={driver}"), vec![&first]),
        (format!("?vehicle={vehicle}"), vec![&second]),
        ("?status=pending".into(), vec![&second]),
        (format!("?driver={driver}&status=cancelled"), vec![&first]),
        (format!("?driver={driver}&vehicle={vehicle}"), vec![]),
    ] {
        let page = app.alice.get(&format!("/v1/reservations{query}")).await;
        assert_eq!(page.ids().iter().collect::<Vec<_>>(), listed, "{query}");
    }
    let wrong = app.alice.get("/v1/reservations?status=lost").await;
    wrong.expect_error(400, None, "status");
    let nobody = app.alice.get("/v1/reservations?driver=drv_1").await;
    assert_eq!(nobody.error().2, Some("driver_not_found"));
    app.drain().await;
}

#[tokio::test]
async fn lists_are_filtered_by_the_time_of_creation() {
    let (app, crew) = TestApp::with_crew().await;
    let mut reservations = Vec::new();
    for _ in 0..3 {
        let body = app.reservation(&crew, 24 * 60);
        let reservation = app.alice.post("/v1/reservations", body).await;
        reservations.push((
            reservation.id(),
            reservation.body["created"]
                .as_str()
                .expect("a time")
                .to_owned(),
        ));
        app.advance(60).await;
    }
    let [(first, _), (second, at), (third, _)] = <[_; 3]>::try_from(reservations).expect("three");
    let vehicle = &crew.vehicle;
    for (query, listed) in [
        (format!("created[gte]={at}"), vec![&third, &second]),
        (format!("created[gt]={at}"), vec![&third]),
        (format!("created[lte]={at}"), vec![&second, &first]),
        (format!("created[lt]={at}&status=pending"), vec![&first]),
        (format!("created[lt]={at}&vehicle={vehicle}"), vec![&first]),
        (format!("created[lte]={at}&limit=1"), vec![&second]),
    ] {
        let page = app.alice.get(&format!("/v1/reservations?{query}")).await;
        assert_eq!(page.ids().iter().collect::<Vec<_>>(), listed, "{query}");
    }
    // The filter is part of the page's URL.
    let pages = format!("/v1/reservations?created[lte]={at}&limit=1");
    assert_eq!(app.alice.walk(&pages).await.len(), 2);
    let wrong = app.alice.get("/v1/reservations?created[gte]=today").await;
    wrong.expect_error(400, None, "created[gte]");
}

#[tokio::test]
async fn the_list_of_a_fleet_is_that_of_its_vehicles() {
    let app = TestApp::start().await;
    let (first_crew, second_crew) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let reserve = async |crew: &tests::Crew| {
        let body = app.reservation(crew, 120);
        app.alice.create("/v1/reservations", body).await
    };
    let (first, second) = (reserve(&first_crew).await, reserve(&second_crew).await);
    let list = async |query: String| {
        let path = format!("/v1/reservations?{query}");
        app.alice.get(&path).await.expect(200).ids()
    };
    let of_fleet = format!("fleet={}", first_crew.fleet);
    assert_eq!(list(of_fleet.clone()).await, [first.as_str()]);
    assert_eq!(list(format!("fleet={}", second_crew.fleet)).await, [second]);
    let by_driver = format!("{of_fleet}&driver={}", first_crew.driver);
    assert_eq!(list(by_driver).await, [first.as_str()]);
    let of_other = format!("{of_fleet}&vehicle={}", second_crew.vehicle);
    assert_eq!(list(of_other).await, [""; 0]);
    let cancel = format!("/v1/reservations/{first}/cancel");
    app.alice.post_ok(&cancel, json!({})).await;
    assert_eq!(list(format!("{of_fleet}&status=cancelled")).await, [first]);
    let unknown = app.alice.get("/v1/reservations?fleet=flt_x").await;
    unknown.expect_error(404, "fleet_not_found", "fleet");
    app.drain().await;
}
