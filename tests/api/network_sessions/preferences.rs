//! Test of the charging preferences of a driver, which an operator sends for an active session.

use serde_json::{Value, json};
use tests::platform::manage;

use super::Scene;

#[tokio::test]
async fn the_preferences_of_a_driver_are_sent_for_an_active_session() {
    let scene = Scene::new().await;
    let account = scene.app.alice.tenant().account;
    let preferences = json!({"profile_type": "GREEN", "energy_need": 12.5});
    let send = async |session: &Value, preferences: &Value| {
        let action = json!({"action": "set_charging_preferences", "account": account,
            "session": session["id"], "preferences": preferences});
        manage(&scene.app, action).await
    };
    let session = scene.start().await;
    let refused = send(&session, &preferences).await.expect_err("pending");
    assert!(refused.contains("not active"), "{refused}");
    scene.result("ACCEPTED").await;
    let theirs = scene.begin().await;
    let sent = send(&session, &preferences).await.expect("an answer");
    assert_eq!(sent, json!({"answer": "ACCEPTED"}));
    let path = "/2.2.1/sessions/S1/charging_preferences";
    let received = scene.cpo.received("PUT", path).remove(0);
    assert_eq!(received.body, preferences);
    scene.cpo.script().fail = vec![404];
    let refused = send(&session, &preferences).await.expect_err("refused");
    assert!(refused.contains("HTTP 404"), "{refused}");
    scene.complete(&theirs).await;
    let refused = send(&session, &preferences).await.expect_err("ended");
    assert!(refused.contains("not active"), "{refused}");
}
