//! Tests of `POST /v1/charging_sessions/{id}/end`: sessions whose network stopped reporting.

use serde_json::{Value, json};
use tests::{TestResponse, assert_has, id_of, with};

use super::{PATH, Scene, energy, is};

async fn end(scene: &Scene, session: &Value) -> TestResponse {
    let path = format!("{PATH}/{}/end", id_of(session));
    let answer = scene.app.alice.post(&path, json!({})).await;
    scene.app.drain().await;
    answer
}

fn refusal() -> (
    u16,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
) {
    let code = Some("charging_session_state_conflict");
    (409, "invalid_request_error", code, None)
}

/// A session without a report of the network since its driver stopped it.
async fn stalled(scene: &Scene) -> (Value, Value) {
    let (session, theirs) = scene.active().await;
    scene.app.advance(3600).await;
    scene.stop(&session).await.expect(200);
    assert_eq!(end(scene, &session).await.error(), refusal());
    scene.pass(86_400 - 60).await;
    assert_eq!(scene.shown(&session).await["stalled_at"], Value::Null);
    // A message may arrive a moment after it is due.
    scene.app.advance(120).await;
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"status": "active", "stalled_at": shown["updated"]});
    (session, theirs)
}

#[tokio::test]
async fn a_session_that_its_network_loses_can_be_ended() {
    let scene = Scene::new().await;
    let (session, theirs) = stalled(&scene).await;
    scene.pass(86_400).await;
    assert_eq!(scene.events().await, ["stalled", "started"]);
    // It is older than what a list of active sessions reads of the history.
    let fleet = &scene.crew.fleet;
    let active = [
        format!("{PATH}?status=active"),
        format!("{PATH}?status=active&fleet={fleet}&limit=1"),
    ];
    for path in &active {
        let found = scene.app.alice.get(path).await.expect(200);
        assert_eq!(found.ids(), [id_of(&session)], "{path}");
    }
    let taken = scene.app.alice.post(PATH, scene.body(json!({}))).await;
    assert_eq!(taken.status, 409);
    assert_has!(end(&scene, &session).await.expect(200).body, {"status": "completed", "stalled_at": null});
    assert_eq!(end(&scene, &session).await.error(), refusal());
    assert_eq!(scene.events().await, ["completed", "stalled", "started"]);
    for path in &active {
        let found = scene.app.alice.get(path).await.expect(200);
        assert_eq!(found.ids().len(), 0, "{path}");
    }
    let next = scene.start().await;
    assert_eq!(next["status"], "pending");
    // It is billed once, by its CDR.
    assert_eq!(scene.invoice().await.1, []);
    let cdr = scene.cdr(&theirs, json!({}));
    scene.bill(&cdr).await;
    scene.bill(&cdr).await;
    assert_eq!(scene.invoice().await.1, [energy(968)]);
    assert_eq!(scene.status(&next).await, is("pending"));
}

#[tokio::test]
async fn an_ended_session_without_a_cdr_costs_what_was_reported_last() {
    let (scene, session, theirs) = Scene::charging().await;
    let more = json!({"kwh": 5, "last_updated": scene.app.now()});
    scene.report(&with(theirs, more)).await;
    // After a day its end is requested, and after another day it is stalled.
    scene.pass(2 * 86_400 + 60).await;
    end(&scene, &session).await.expect(200);
    assert_eq!(scene.invoice().await.1, []);
    scene.pass(3 * 86_400).await;
    assert_eq!(scene.invoice().await.1, [energy(242)]);
}

#[tokio::test]
async fn a_report_after_the_end_stops_the_session_and_blocks_no_start() {
    let scene = Scene::new().await;
    let (session, theirs) = stalled(&scene).await;
    end(&scene, &session).await.expect(200);
    let stops = scene.commands("STOP_SESSION").len();
    let next = scene.start().await;
    let goes_on = |scene: &Scene, kwh: i64| {
        let change = json!({"kwh": kwh, "last_updated": scene.app.now()});
        with(theirs.clone(), change)
    };
    scene.report(&goes_on(&scene, 7)).await;
    assert_eq!(scene.commands("STOP_SESSION").len(), stops + 1);
    let stop = scene.commands("STOP_SESSION").pop().expect("a command");
    assert_eq!(stop.body["session_id"], "S1");
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"status": "completed", "energy_consumed": 7_000});
    assert_eq!(scene.status(&next).await, is("pending"));
    // The end that the network reports is final: a later report that the session continues is wrong.
    scene.app.advance(60).await;
    scene.complete(&goes_on(&scene, 8)).await;
    let stops = scene.commands("STOP_SESSION").len();
    scene.app.advance(60).await;
    scene.report(&goes_on(&scene, 90)).await;
    assert_eq!(scene.shown(&session).await["energy_consumed"], 20_000);
    assert_eq!(scene.commands("STOP_SESSION").len(), stops);
    scene.pass(3 * 86_400).await;
    assert_eq!(scene.invoice().await.1, [energy(968)]);
}

#[tokio::test]
async fn a_stalled_session_that_is_reported_again_is_stopped_again() {
    let scene = Scene::new().await;
    let (session, theirs) = stalled(&scene).await;
    let stops = scene.commands("STOP_SESSION").len();
    // The last report contains nothing new.
    scene.report(&theirs).await;
    assert_ne!(scene.shown(&session).await["stalled_at"], Value::Null);
    assert_eq!(scene.commands("STOP_SESSION").len(), stops);
    let change = json!({"kwh": 9, "last_updated": scene.app.now()});
    scene.report(&with(theirs.clone(), change)).await;
    assert_has!(scene.shown(&session).await, {"status": "active", "stalled_at": null});
    assert_eq!(scene.commands("STOP_SESSION").len(), stops + 1);
    assert_eq!(end(&scene, &session).await.error(), refusal());
    scene.pass(86_400 + 60).await;
    assert_ne!(scene.shown(&session).await["stalled_at"], Value::Null);
    // The network's report of the end applies.
    scene.complete(&theirs).await;
    assert_has!(scene.shown(&session).await, {"status": "completed", "stalled_at": null});
    let expected = ["completed", "stalled", "stalled", "started", "updated"];
    assert_eq!(scene.events().await, expected);
}

#[tokio::test]
async fn a_simulated_session_is_never_stalled() {
    let scene = Scene::new().await;
    let depot = scene.app.station(json!({})).await;
    let body = scene.app.session(&scene.crew, &depot);
    let session = scene.post(PATH, body).await;
    assert_eq!(end(&scene, &session).await.error(), refusal());
    assert_eq!(scene.shown(&session).await["status"], "active");
}
