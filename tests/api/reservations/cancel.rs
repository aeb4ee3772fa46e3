//! Tests of `POST /v1/reservations/{id}/cancel`, and of the fee of a late cancellation.

use kernel::time::minutes;
use serde_json::json;
use tests::{TestApp, assert_has, path_of, with};

use super::{lonely, of_two_plugs};

#[tokio::test]
async fn cancelling_gives_the_time_back() {
    let (app, crew) = TestApp::with_crew().await;
    let body = app.reservation(&crew, 40);
    let first = app.alice.create("/v1/reservations", body.clone()).await;
    app.advance(15 * 60).await;
    let first = format!("/v1/reservations/{first}");
    let station = app.alice.get_ok(&first).await["charging_station"].clone();
    let cancel = format!("{first}/cancel");
    let cancelled = app.alice.post_ok(&cancel, json!({})).await;
    assert_eq!(cancelled["status"], "cancelled");
    let again = app.alice.post(&cancel, json!({})).await;
    assert_eq!(again.error().2, Some("reservation_cancel_invalid_state"));
    // The same vehicle at the same time, which is only possible if nothing of the first reservation remains.
    let second = app.alice.create("/v1/reservations", body).await;
    app.advance(60).await;
    let second = app.alice.get_ok(&path_of(&second)).await;
    assert_has!(second, {"status": "confirmed", "charging_station": station});
}

#[tokio::test]
async fn another_plug_does_not_avoid_the_fee_of_a_late_cancellation() {
    for is_cancelled in [true, false] {
        let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
        let (path, vehicle) = of_two_plugs(&app).await;
        app.advance(102 * 60).await;
        let change = json!({"charging_standard": "CHAdeMO"});
        app.alice.post_ok(&vehicle, change).await;
        app.drain().await;
        let kept = json!({"status": "confirmed", "connector": "1", "fee_due": 300});
        for _ in 0..2 {
            let shown = app.alice.get_ok(&path).await;
            assert_eq!(with(shown.clone(), kept.clone()), shown);
            app.advance(5 * 60).await;
        }
        let status = if is_cancelled {
            let cancel = format!("{path}/cancel");
            app.alice.post_ok(&cancel, json!({})).await;
            "cancelled"
        } else {
            app.advance(30 * 60).await;
            "expired"
        };
        assert_has!(app.alice.get_ok(&path).await, {"status": status, "fee_due": 300});
    }
}

#[tokio::test]
async fn cancelling_is_free_ten_minutes_after_a_late_confirmation() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let crew = app.crew(&app.alice).await;
    app.station(json!({})).await;
    let body = with(app.reservation(&crew, 20), json!({"location": lonely()}));
    let confirm = async || {
        let reservation = app.alice.post("/v1/reservations", body.clone()).await;
        let path = format!("/v1/reservations/{}", reservation.expect(200).id());
        app.drain().await;
        let confirmed = app.alice.get_ok(&path).await;
        assert_eq!(confirmed["status"], "confirmed");
        let time = |name: &str| {
            let text = confirmed[name].as_str().expect("a time");
            kernel::Timestamp::parse(text).expect("a time")
        };
        let free = time("free_cancellation_until").since(time("confirmed_at"));
        (path, free)
    };
    let cancel = async |path: &str| {
        let cancel = format!("{path}/cancel");
        let cancelled = app.alice.post_ok(&cancel, json!({})).await;
        app.drain().await;
        cancelled["fee_due"].clone()
    };
    for _ in 0..3 {
        let (path, free) = confirm().await;
        assert_eq!(free, minutes(10));
        assert_eq!(cancel(&path).await, 0);
    }
    // The vehicle has used up its late cancellations: cancelling is free until half an hour before the start, which has passed.
    let (path, free) = confirm().await;
    assert!(free < minutes(0), "{free}");
    assert_eq!(cancel(&path).await, 300);
    let vehicle = format!("/v1/vehicles/{}", crew.vehicle);
    let shown = app.alice.get_ok(&vehicle).await;
    assert_eq!(shown["updated"], shown["created"]);
}
