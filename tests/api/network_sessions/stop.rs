//! Tests of STOP_SESSION, and of reports whose times or energy cannot be right.

use kernel::Timestamp;
use kernel::time::{days, minutes, seconds};
use serde_json::{Value, json};
use tests::{assert_has, with};

use super::{Scene, cards, is};

#[tokio::test]
async fn an_unconfirmed_stop_session_is_sent_five_times() {
    let scene = Scene::new().await;
    let (session, theirs) = scene.active().await;
    scene.stop(&session).await.expect(200);
    scene.stop(&session).await.expect(200);
    assert_eq!(scene.commands("STOP_SESSION").len(), 1);
    // A refused one is repeated too.
    scene.cpo.script().commands = Some(json!({"result": "REJECTED", "timeout": 0}));
    scene.app.advance(300).await;
    assert_eq!(scene.commands("STOP_SESSION").len(), 2);
    scene.cpo.script().commands = None;
    scene.app.advance(3600).await;
    assert_eq!(scene.commands("STOP_SESSION").len(), 5);
    // The tenant may ask again.
    scene.stop(&session).await.expect(200);
    assert_eq!(scene.commands("STOP_SESSION").len(), 6);
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"status": "active", "session_ended": null, "energy_consumed": 0});
    scene.bill(&scene.cdr(&theirs, json!({}))).await;
    assert_eq!(scene.status(&session).await, is("completed"));
}

#[tokio::test]
async fn a_session_at_its_limit_or_after_a_day_is_stopped() {
    let scene = Scene::new().await;
    let session = scene.start_with(json!({"session_limit": 5_000})).await;
    let theirs = scene.session(json!({"kwh": 4.9}));
    scene.report(&theirs).await;
    assert!(scene.commands("STOP_SESSION").is_empty());
    scene.app.advance(60).await;
    let more = json!({"kwh": 5.1, "last_updated": scene.app.now()});
    scene.report(&with(theirs, more)).await;
    assert_eq!(scene.commands("STOP_SESSION").len(), 1);
    assert_eq!(scene.status(&session).await, is("active"));
    let scene = Scene::new().await;
    let (session, _) = scene.active().await;
    scene.pass(86_400 - 900).await;
    assert!(scene.commands("STOP_SESSION").is_empty());
    scene.app.advance(960).await;
    assert_eq!(scene.commands("STOP_SESSION").len(), 1);
    assert_eq!(scene.status(&session).await, is("active"));
}

/// A report of a session that began long before it was requested, and in which the vehicle only parks.
fn began_long_ago(theirs: Value) -> Value {
    let start = "1970-01-01T00:00:00Z";
    let parked =
        json!({"start_date_time": start, "dimensions": [{"type": "PARKING_TIME", "volume": 1}]});
    with(
        theirs,
        json!({"start_date_time": start, "kwh": 1, "charging_periods": [parked]}),
    )
}

#[tokio::test]
async fn a_requested_session_did_not_begin_long_ago() {
    let scene = Scene::new().await;
    let session = scene.start().await;
    scene.result("ACCEPTED").await;
    let theirs = began_long_ago(scene.session(json!({})));
    scene.report(&theirs).await;
    assert!(scene.commands("STOP_SESSION").is_empty());
    let shown = scene.shown(&session).await;
    let created = shown["created"].as_str().expect("a time");
    let created = Timestamp::parse(created).expect("a time");
    assert_has!(shown, {"status": "active", "session_started": created.plus(minutes(-15))});
    // 1 kWh at 0.40 and a quarter of an hour at 3.00 an hour, with 21 % tax, and the minutes that the test takes.
    let due = shown["amount_due"].as_i64().expect("an amount");
    assert!((139..=300).contains(&due), "{due}");
    scene.bill(&scene.cdr(&theirs, json!({}))).await;
    let shown = scene.shown(&session).await;
    assert_eq!(shown["session_started"], json!(created.plus(minutes(-15))));
}

#[tokio::test]
async fn a_card_session_that_began_long_ago_has_another_day() {
    let scene = Scene::new().await;
    cards::card(&scene, json!({})).await;
    scene.report(&began_long_ago(cards::tapped(&scene))).await;
    let shown = cards::sessions(&scene).await.remove(0);
    let created = shown["created"].as_str().expect("a time");
    let created = Timestamp::parse(created).expect("a time");
    assert_has!(shown, {"status": "active", "session_started": created.plus(days(-1))});
    scene.pass(86_400 - 60).await;
    assert!(scene.commands("STOP_SESSION").is_empty());
    scene.app.advance(120).await;
    assert_eq!(scene.commands("STOP_SESSION").len(), 1);
}

#[tokio::test]
async fn a_start_in_the_future_does_not_move_with_reports() {
    let scene = Scene::new().await;
    let session = scene.start().await;
    scene.result("ACCEPTED").await;
    let theirs = scene.session(json!({"start_date_time": "2099-01-01T00:00:00Z"}));
    scene.report(&theirs).await;
    let started = scene.shown(&session).await["session_started"].clone();
    scene.pass(23 * 3600).await;
    let grown = json!({"kwh": 1, "last_updated": scene.app.now()});
    scene.report(&with(theirs, grown)).await;
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"status": "active", "energy_consumed": 1_000, "session_started": started});
    assert!(scene.commands("STOP_SESSION").is_empty());
    scene.pass(3600 + 120).await;
    assert_eq!(scene.commands("STOP_SESSION").len(), 1);
}

#[tokio::test]
async fn a_session_lasts_as_long_as_a_clock_that_is_wrong_says() {
    for offset in [-120, -30, 30, 120] {
        let scene = Scene::new().await;
        let session = scene.start().await;
        scene.result("ACCEPTED").await;
        let now = || json!(scene.app.now().plus(minutes(offset)));
        let begun = json!({"start_date_time": now(), "last_updated": now()});
        let theirs = scene.session(begun);
        scene.report(&theirs).await;
        scene.app.advance(3600).await;
        let end = json!({"status": "COMPLETED", "kwh": 20, "end_date_time": now(), "last_updated": now()});
        scene.report(&with(theirs.clone(), end)).await;
        let lasted = async || {
            let shown = scene.shown(&session).await;
            assert_has!(shown, {"status": "completed", "review": null});
            let at = |name: &str| Timestamp::parse(shown[name].as_str().expect("a time"));
            let (started, ended) = (at("session_started"), at("session_ended"));
            ended
                .expect("a time")
                .since(started.expect("a time"))
                .as_secs()
        };
        let of_report = lasted().await;
        let cdr = json!({"end_date_time": now(), "last_updated": now()});
        scene.bill(&scene.cdr(&theirs, cdr)).await;
        let of_cdr = lasted().await;
        assert_has!(scene.shown(&session).await, {"cost_source": "cdr", "amount_due": 968});
        for lasted in [of_report, of_cdr] {
            assert!((3600..3720).contains(&lasted), "{offset}: {lasted}");
        }
    }
}

#[tokio::test]
async fn a_report_that_is_late_or_invalid_does_not_create_energy() {
    let scene = Scene::new().await;
    let (session, theirs) = scene.active().await;
    scene.app.advance(600).await;
    let now = scene.app.now();
    let grown = json!({"kwh": 3, "last_updated": now});
    scene.report(&with(theirs.clone(), grown)).await;
    let older = json!({"kwh": 9, "last_updated": now.plus(minutes(-1))});
    scene.report(&with(theirs.clone(), older)).await;
    assert_eq!(scene.shown(&session).await["energy_consumed"], 3_000);
    let absurd = json!({"kwh": 1e9, "last_updated": now.plus(seconds(1))});
    scene.report(&with(theirs.clone(), absurd)).await;
    assert_eq!(scene.shown(&session).await["energy_consumed"], 3_000);
    let invalid = json!({"status": "INVALID", "kwh": 3, "last_updated": now.plus(seconds(2))});
    scene.report(&with(theirs, invalid)).await;
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"status": "failed", "failed_reason": "other", "amount_due": 0});
    assert_eq!(scene.invoice().await.1, []);
}
