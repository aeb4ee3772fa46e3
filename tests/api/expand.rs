//! `expand[]`: whole objects in place of ids.

use serde_json::json;
use tests::{TestApp, assert_has, id_of, with};

#[tokio::test]
async fn a_retrieved_a_made_and_a_listed_object_show_what_they_name() {
    let (app, crew) = TestApp::with_crew().await;
    let body = app.reservation(&crew, 120);
    let path = "/v1/reservations?expand[]=vehicle.fleet&expand[]=driver&expand[]=driver.fleets";
    let reservation = app.alice.post_ok(path, body).await;
    assert_has!(reservation, {"/vehicle/id": crew.vehicle, "/vehicle/fleet/id": crew.fleet,
        "/vehicle/fleet/object": "fleet", "/driver/fleets/0/id": crew.fleet});
    // Values that do not exist yet stay null.
    let reservation_path = format!("/v1/reservations/{}", id_of(&reservation));
    assert_eq!(
        app.alice.get_ok(&reservation_path).await["vehicle"],
        json!(crew.vehicle)
    );
    let shown = app
        .alice
        .get_ok(&format!(
            "{reservation_path}?expand%5B%5D=charging_station&expand[]=vehicle.drivers"
        ))
        .await;
    assert_has!(shown, {"charging_station": null, "/vehicle/drivers": []});
    let updated = app
        .alice
        .post_ok(
            &format!("{reservation_path}?expand[]=vehicle"),
            json!({"metadata": {"a": "b"}}),
        )
        .await;
    assert_eq!(updated["vehicle"]["object"], "vehicle");
    let listed = app
        .alice
        .get_ok("/v1/reservations?expand[]=data.vehicle&limit=1")
        .await;
    assert_eq!(listed["data"][0]["vehicle"]["id"], json!(crew.vehicle));
    app.drain().await;
}

#[tokio::test]
async fn the_next_page_shows_the_same() {
    let (app, crew) = TestApp::with_crew().await;
    for plate in ["A", "B"] {
        let vehicle = with(
            tests::vehicle(&crew.fleet),
            json!({"registration_plate": plate}),
        );
        app.alice.post_ok("/v1/vehicles", vehicle).await;
    }
    let first = app
        .alice
        .get_ok("/v1/vehicles?limit=1&expand[]=data.fleet")
        .await;
    let next = first["next_page_url"].as_str().expect("a page").to_owned();
    let second = app.alice.get_ok(&next).await;
    assert_eq!(second["data"][0]["fleet"]["id"], json!(crew.fleet));
    app.drain().await;
}

#[tokio::test]
async fn a_repeated_request_may_ask_to_see_more() {
    let (app, crew) = TestApp::with_crew().await;
    let body = tests::vehicle(&crew.fleet).to_string();
    let key = [("idempotency-key", "k")];
    let first = app
        .alice
        .send("POST", "/v1/vehicles", Some(body.clone()), &key)
        .await;
    let again = app
        .alice
        .send("POST", "/v1/vehicles?expand[]=fleet", Some(body), &key)
        .await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(first.id(), again.id());
    assert_eq!(again.body["fleet"]["object"], "fleet");
    app.drain().await;
}

#[tokio::test]
async fn what_cannot_be_expanded_is_refused_before_anything_happens() {
    let (app, crew) = TestApp::with_crew().await;
    let body = app.reservation(&crew, 120);
    for path in [
        "status",
        "vehicle.fleet.x",
        "data.vehicle",
        "vehicle.drivers.vehicles.drivers.fleets",
    ] {
        let answer = app
            .alice
            .post(&format!("/v1/reservations?expand[]={path}"), body.clone())
            .await;
        answer.expect_error(400, "unsupported_expand_value", "expand");
    }
    let many = "expand[]=driver&".repeat(11);
    let answer = app.alice.get(&format!("/v1/reservations?{many}")).await;
    answer.expect_error(400, "unsupported_expand_value", "expand");
    assert!(app.alice.walk("/v1/reservations").await.is_empty());
    // A route whose objects contain no ids does not have this parameter.
    let answer = app.alice.get("/v1/api_keys?expand[]=data.account").await;
    assert_eq!(answer.error().3, Some("expand[]"));
    app.drain().await;
}

#[tokio::test]
async fn a_key_expands_only_what_it_may_read() {
    let (app, crew) = TestApp::with_crew().await;
    let reader = app.restricted(&app.alice, &["vehicles:read"]).await;
    let path = format!("/v1/vehicles/{}", crew.vehicle);
    reader.get_ok(&path).await;
    let answer = reader.get(&format!("{path}?expand[]=fleet")).await;
    assert_eq!(answer.error(), (403, "authentication_error", None, None));
    app.drain().await;
}
