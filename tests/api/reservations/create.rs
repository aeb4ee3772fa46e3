//! Tests of `POST /v1/reservations`: the body, the driver and the fields of a new reservation.

use serde_json::{Value, json};
use tests::player::Player;
use tests::{TestApp, assert_has, cases, path_of, with};

use super::{reserve, reserve_here};

#[tokio::test]
async fn a_new_reservation_has_every_field_of_the_specification() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(
        app.reservation(&crew, 120),
        json!({"metadata": {"shift": "night"}}),
    );
    let reservation = app.alice.post_ok("/v1/reservations", body.clone()).await;
    assert_has!(reservation, {"driver": crew.driver, "ideal_end": body["ideal_end"], "ideal_start": body["ideal_start"],
        "updated": reservation["created"], "vehicle": crew.vehicle});
    app.snapshot("reservation_new", &reservation);
    app.drain().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_named() {
    let (app, crew) = TestApp::with_crew().await;
    let good = app.reservation(&crew, 120);

    for (change, param) in cases! {
        {"ideal_start": "soon"} => "ideal_start",
        {"ideal_start": app.in_minutes(-1)} => "ideal_start",
        {"ideal_end": app.in_minutes(121)} => "ideal_end",
        {"earliest_start": app.in_minutes(125)} => "earliest_start",
        {"latest_end": app.in_minutes(170)} => "latest_end",
        {"latest_end": app.in_minutes(180 + 7 * 24 * 60 + 1)} => "latest_end",
        {"latest_end": "2999-01-01T00:00:00Z"} => "latest_end",
        {"location": {"latitude": 1, "longitude": 1, "radius": 0}} => "location.radius",
        {"location": {"latitude": 1, "longitude": 1}} => "location.radius",
        {"location": [1, 1, 1]} => "location",
        {"connector_type": ["CCS"]} => "connector_type",
        {"connector_type": ["Type2", "Tesla"]} => "connector_type[1]",
        {"metadata": {"k": 1}} => "metadata.k",
    } {
        let body = with(good.clone(), change);
        let answer = app.alice.post("/v1/reservations", body).await;
        answer.expect_error(400, "reservation_invalid_input", param);
    }
    for (change, (status, code, param)) in cases! {
        {"x": 1} => (400, None, "x"),
        {"driver": "drv_1"} => (404, Some("driver_not_found"), "driver"),
        {"vehicle": crew.driver} => (404, Some("vehicle_not_found"), "vehicle"),
    } {
        let body = with(good.clone(), change);
        let answer = app.alice.post("/v1/reservations", body).await;
        answer.expect_error(status, code, param);
    }
    app.drain().await;
}

#[tokio::test]
async fn a_driver_of_another_fleet_cannot_reserve() {
    let (app, crew) = TestApp::with_crew().await;
    let stranger = app.alice.create("/v1/drivers", tests::driver()).await;
    let body = with(app.reservation(&crew, 120), json!({"driver": stranger}));
    let answer = app.alice.post("/v1/reservations", body).await;
    assert_eq!(answer.error().2, Some("reservation_invalid_input"));
    app.drain().await;
}

#[tokio::test]
async fn a_fleet_that_is_not_active_reserves_nothing() {
    let (app, crew) = TestApp::with_crew().await;
    app.station(json!({})).await;
    let id = reserve(&app, &crew, 60).await;
    for status in ["suspended", "archived"] {
        let fleet = format!("/v1/fleets/{}", crew.fleet);
        app.alice.post_ok(&fleet, json!({"status": status})).await;
        let body = app.reservation(&crew, 60);
        for path in ["/v1/reservations", "/v1/reservations/candidates"] {
            let refused = app.alice.post(path, body.clone()).await;
            refused.expect_error(400, Some("reservation_invalid_input"), "vehicle");
        }
    }
    app.advance(31 * 60).await;
    let failed = app.alice.get_ok(&path_of(&id)).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "vehicle_unavailable"});
}

#[tokio::test]
async fn a_price_cap_is_in_the_currency_of_the_reservation() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let price = json!({"currency": "gbp", "price": 30, "step_size": 1, "tax": "vat", "tax_included": true,
        "tax_percent": "20", "type": "ENERGY"});
    app.station(json!({"pricing": [price]})).await;
    let change = json!({"preferences": {"default_currency": "gbp"}});
    app.alice.post_ok(&path_of(&crew.fleet), change).await;
    let confirmed = async |preferences: Value| {
        let change = json!({"preferences": preferences});
        app.alice.post_ok(&path_of(&crew.driver), change).await;
        let id = reserve_here(&app, &crew, 20).await;
        app.advance(21 * 60).await;
        let shown = app.alice.get_ok(&path_of(&id)).await;
        app.alice
            .post(&format!("{}/cancel", path_of(&id)), json!({}))
            .await;
        (shown["currency"] == "gbp", shown["status"] == "confirmed")
    };
    assert_eq!(
        confirmed(json!({"max_price_per_kwh": 31})).await,
        (true, true)
    );
    assert_eq!(
        confirmed(json!({"max_price_per_kwh": 29})).await,
        (true, false)
    );
}

#[tokio::test]
async fn the_fleet_of_the_last_reservation_is_read_with_the_driver() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let card = json!({"type": "card", "token": "tok_success"});
    let method = app.alice.create("/v1/payment_methods", card).await;
    app.drain().await;
    for (second, expected) in [(&crew, [3, 2]), (&other, [3, 3])] {
        let mut player = Player::on(&app).await;
        player.stay_busy(&app);
        for (crew, calls) in [&crew, second].into_iter().zip(expected) {
            let body = with(app.reservation(crew, 60), json!({"payment_method": method}));
            let path = "/v1/reservations";
            player
                .send("create-reservation", path, &app.alice, body)
                .await;
            assert_eq!(player.take()[0].1.calls, calls);
        }
    }
}
