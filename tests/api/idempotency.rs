//! `Idempotency-Key`: a request has one effect and one response, regardless of how often it is sent.

use kernel::Mode;
use serde_json::json;
use tests::{Client, TestApp, TestResponse, fleet, path_of, with};

async fn post(client: &Client, path: &str, body: serde_json::Value, key: &str) -> TestResponse {
    client
        .send(
            "POST",
            path,
            Some(body.to_string()),
            &[("idempotency-key", key)],
        )
        .await
}

#[tokio::test]
async fn a_repetition_gets_the_first_answer_and_makes_nothing() {
    let app = TestApp::start().await;
    let first = post(&app.alice, "/v1/fleets", fleet(), "k")
        .await
        .expect(200);
    assert_eq!(first.header("idempotent-replayed"), "");
    let again = post(&app.alice, "/v1/fleets", fleet(), "k")
        .await
        .expect(200);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.text, first.text);
    assert_eq!(app.alice.get("/v1/fleets").await.ids(), [first.id()]);
}

#[tokio::test]
async fn a_key_belongs_to_one_request() {
    let app = TestApp::start().await;
    let created = post(&app.alice, "/v1/fleets", fleet(), "k").await;
    let mismatch = (400, "idempotency_error", None, Some("Idempotency-Key"));
    for answer in [
        post(
            &app.alice,
            "/v1/fleets",
            with(fleet(), json!({"name": "Other"})),
            "k",
        )
        .await,
        post(&app.alice, "/v1/drivers", fleet(), "k").await,
        post(&app.alice, "/v1/fleets", json!({"name": 1}), "k").await,
        post(
            &app.alice,
            &format!("/v1/fleets/{}", created.id()),
            json!({}),
            "k",
        )
        .await,
    ] {
        assert_eq!(answer.error(), mismatch);
    }
    let bob = app.other_account(Mode::Test).await;
    let theirs = post(&bob, "/v1/fleets", fleet(), "k").await.expect(200);
    assert_ne!(theirs.id(), created.id());
}

#[tokio::test]
async fn a_repeated_change_of_state_is_answered_as_the_first() {
    let (app, crew) = TestApp::with_crew().await;
    let id = app
        .alice
        .create("/v1/reservations", app.reservation(&crew, 120))
        .await;
    let cancel = format!("/v1/reservations/{id}/cancel");
    let first = post(&app.alice, &cancel, json!({}), "c").await.expect(200);
    let again = post(&app.alice, &cancel, json!({}), "c").await.expect(200);
    assert_eq!(again.text, first.text);
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(post(&app.alice, &cancel, json!({}), "d").await.status, 409);
    let detach = format!("/v1/drivers/{}/detach", crew.driver);
    let body = json!({"fleet": crew.fleet});
    post(&app.alice, &detach, body.clone(), "e")
        .await
        .expect(200);
    assert_eq!(
        post(&app.alice, &detach, body, "e")
            .await
            .expect(200)
            .header("idempotent-replayed"),
        "true"
    );
    let fleet = app.alice.get(&path_of(&crew.fleet)).await;
    assert_eq!(fleet.body["total_drivers"], 0);
    app.drain().await;
}

#[tokio::test]
async fn not_found_responses_are_stored_and_400_is_not() {
    let app = TestApp::start().await;
    let absent = post(&app.alice, "/v1/fleets/flt_1", json!({}), "b")
        .await
        .expect(404);
    assert_eq!(
        post(&app.alice, "/v1/fleets/flt_1", json!({}), "b")
            .await
            .text,
        absent.text
    );
    post(&app.alice, "/v1/fleets", json!({}), "d")
        .await
        .expect(400);
    post(&app.alice, "/v1/fleets", fleet(), "d")
        .await
        .expect(200);
}

#[tokio::test]
async fn a_key_is_forgotten_after_a_day() {
    let app = TestApp::start().await;
    let first = post(&app.alice, "/v1/fleets", fleet(), "k").await.id();
    app.advance(23 * 3600).await;
    assert_eq!(
        post(&app.alice, "/v1/fleets", fleet(), "k").await.id(),
        first
    );
    app.advance(3601).await;
    assert_ne!(
        post(&app.alice, "/v1/fleets", fleet(), "k").await.id(),
        first
    );
}

#[tokio::test]
async fn a_key_has_1_to_255_printable_characters() {
    let app = TestApp::start().await;
    for key in ["", &"k".repeat(256), "k\tk"] {
        let answer = post(&app.alice, "/v1/fleets", fleet(), key).await;
        assert_eq!(answer.error().3, Some("Idempotency-Key"), "{key:?}");
    }
    post(&app.alice, "/v1/fleets", fleet(), &"k".repeat(255))
        .await
        .expect(200);
}

#[tokio::test]
async fn deletes_are_repeatable() {
    let app = TestApp::start().await;
    let hook = json!({"url": "https://fleet.example/hook", "enabled_events": ["*"]});
    let id = app.alice.create("/v1/webhook_endpoints", hook).await;
    let path = format!("/v1/webhook_endpoints/{id}");
    for replayed in ["", "true"] {
        let answer = app
            .alice
            .send("DELETE", &path, None, &[("idempotency-key", "x")])
            .await
            .expect(200);
        assert_eq!(
            answer.body,
            json!({"id": id, "object": "webhook_endpoint", "deleted": true})
        );
        assert_eq!(answer.header("idempotent-replayed"), replayed);
    }
    app.alice.get(&path).await.expect(404);
}

#[tokio::test]
async fn a_repeated_update_replays_the_response_without_effect() {
    let app = TestApp::start().await;
    let path = path_of(&app.alice.create("/v1/fleets", fleet()).await);
    let first = post(&app.alice, &path, json!({"name": "One"}), "u")
        .await
        .expect(200);
    post(&app.alice, &path, json!({"name": "Two"}), "v")
        .await
        .expect(200);
    let again = post(&app.alice, &path, json!({"name": "One"}), "u")
        .await
        .expect(200);
    assert_eq!(
        (again.text.as_str(), again.header("idempotent-replayed")),
        (first.text.as_str(), "true")
    );
    assert_eq!(app.alice.get_ok(&path).await["name"], "Two");
}

#[tokio::test]
async fn a_conflict_stays_the_answer_when_its_cause_is_gone() {
    let (app, crew) = TestApp::with_crew().await;
    let (attach, detach) = (
        format!("/v1/drivers/{}/attach", crew.driver),
        format!("/v1/drivers/{}/detach", crew.driver),
    );
    let body = json!({"fleet": crew.fleet});
    let conflict = post(&app.alice, &attach, body.clone(), "a")
        .await
        .expect(409);
    app.alice.post_ok(&detach, body.clone()).await;
    let again = post(&app.alice, &attach, body.clone(), "a")
        .await
        .expect(409);
    assert_eq!(
        (again.text.as_str(), again.header("idempotent-replayed")),
        (conflict.text.as_str(), "true")
    );
    post(&app.alice, &attach, body, "b").await.expect(200);
}

#[tokio::test]
async fn ten_changes_of_state_at_once_happen_once_and_answer_alike() {
    let app = TestApp::start().await;
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let driver = app.alice.create("/v1/drivers", tests::driver()).await;
    let path = format!("/v1/drivers/{driver}/attach");
    let requests = (0..10).map(|_| {
        let (client, path, body) = (app.alice.clone(), path.clone(), json!({"fleet": fleet}));
        tokio::spawn(async move { post(&client, &path, body, "same").await })
    });
    let mut answers = Vec::new();
    for request in requests.collect::<Vec<_>>() {
        answers.push(request.await.expect("an answer").expect(200));
    }
    assert!(answers.iter().all(|answer| answer.text == answers[0].text));
    let first_hand = answers
        .iter()
        .filter(|answer| answer.header("idempotent-replayed") != "true");
    assert_eq!(first_hand.count(), 1);
    let counted = app.alice.get_ok(&path_of(&fleet)).await;
    assert_eq!(counted["total_drivers"], 1);
    app.drain().await;
    let events = app.alice.get("/v1/events?type=driver.attached").await;
    assert_eq!(events.ids().len(), 1);
}

#[tokio::test]
async fn of_rivals_with_one_key_and_other_bodies_one_is_served() {
    let app = TestApp::start().await;
    let requests = (0..8).map(|n| {
        let client = app.alice.clone();
        let body = with(fleet(), json!({"name": format!("Fleet {n}")}));
        tokio::spawn(async move { post(&client, "/v1/fleets", body, "same").await })
    });
    let mut served = Vec::new();
    for request in requests.collect::<Vec<_>>() {
        let answer = request.await.expect("an answer");
        if answer.status == 200 {
            served.push(answer.id());
        } else {
            assert_eq!(answer.error().1, "idempotency_error");
        }
    }
    assert_eq!(served.len(), 1);
    assert_eq!(app.alice.get("/v1/fleets").await.ids(), served);
}
