//! Reservations at a station of the operator: RESERVE_NOW and CANCEL_RESERVATION.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use network::{CommandReply, Cpo, Fault};
use ocpi_kit::VersionNumber;
use ocpi_kit::transport::Patch;
use ocpi_kit::v2_3_0::commands::{Command, CommandResultType};
use serde_json::{Value, json};

use crate::VERSIONS;
use crate::scene::{Asked, SESSIONS, Scene, energy, text, with};
use crate::tokens::card;

const RESERVE: &str = "RESERVE_NOW";
const CANCEL: &str = "CANCEL_RESERVATION";

/// Creates a reservation in two hours, for one hour, in the area of the operator's station. Returns its path.
async fn reserve(scene: &Scene) -> String {
    let start = scene.now().await + SignedDuration::from_hours(2);
    let end = start + SignedDuration::from_hours(1);
    let place = json!({"latitude": 51.0476, "longitude": 3.7299, "radius": 500});
    let body = json!({"driver": scene.driver, "vehicle": scene.vehicle, "connector_type": ["Type2"], "location": place,
        "ideal_start": start.to_string(), "ideal_end": end.to_string()});
    let reservation = scene.runner.post("/v1/reservations", body).await.ok();
    format!("/v1/reservations/{}", text(&reservation["id"]))
}

/// Moves the clock to this number of minutes before the start of a reservation.
async fn until(scene: &Scene, reservation: &str, minutes: i64) -> Value {
    let shown = scene.runner.get(reservation).await.ok();
    let start: Timestamp = text(&shown["ideal_start"]).parse().expect("a time");
    let left = start.duration_since(scene.now().await) - SignedDuration::from_mins(minutes);
    let left = u32::try_from(left.as_secs()).expect("a time to come");
    scene.runner.advance(left).await;
    scene.runner.get(reservation).await.ok()
}

/// A confirmed reservation that was not sent yet: it starts in 16 minutes.
async fn confirmed(scene: &Scene) -> String {
    let reservation = reserve(scene).await;
    let shown = until(scene, &reservation, 16).await;
    assert_eq!(shown["status"], "confirmed", "{shown:#}");
    assert_eq!(scene.received(RESERVE), []);
    reservation
}

/// The next RESERVE_NOW, which is the `count`th.
async fn sent(scene: &Scene, count: usize) -> Asked {
    // The first one is sent 15 minutes before the start.
    if count == 1 {
        scene.runner.advance(60).await;
    }
    scene.command(RESERVE, count).await
}

#[tokio::test]
async fn reserve_now_is_sent_15_minutes_before_the_start() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let reservation = confirmed(&scene).await;
        let command = sent(&scene, 1).await;
        let shown = scene.runner.get(&reservation).await.ok();
        let start: Timestamp = text(&shown["reserved_start"]).parse().expect("a time");
        let left = start.duration_since(scene.now().await);
        assert!(left <= SignedDuration::from_mins(15), "{left}");
        let expires: Timestamp = text(&command.body["expiry_date"]).parse().expect("a time");
        assert_eq!(expires, start + SignedDuration::from_mins(15));
        assert_eq!(command.body["location_id"], "LOC1");
        assert_eq!(
            (
                &command.body["token"]["type"],
                &command.body["token"]["valid"]
            ),
            (&json!("APP_USER"), &json!(true))
        );
        let connector = text(&shown["connector"]);
        assert_eq!(connector, format!("{}-1", text(&command.body["evse_uid"])));
        // The same result twice.
        for _ in 0..2 {
            scene.result(&command, CommandResultType::Accepted).await;
        }
        // Longer than the time-out of a result.
        scene.runner.advance(120).await;
        scene
            .shows(&reservation, json!({"status": "confirmed"}))
            .await;
        assert_eq!(scene.received(CANCEL), []);
        let cancel = format!("{reservation}/cancel");
        scene.runner.post(&cancel, json!({})).await.ok();
        let cancelled = scene.command(CANCEL, 1).await;
        assert_eq!(
            cancelled.body["reservation_id"],
            command.body["reservation_id"]
        );
        scene.result(&cancelled, CommandResultType::Accepted).await;
        scene.runner.advance(3600).await;
        scene
            .shows(&reservation, json!({"status": "cancelled"}))
            .await;
        assert_eq!(
            (scene.received(RESERVE).len(), scene.received(CANCEL).len()),
            (1, 1)
        );
    }
}

#[tokio::test]
async fn a_rejected_reserve_now_leads_to_the_other_evse() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let reservation = confirmed(&scene).await;
        scene.cpo.answer(CommandReply::Rejected);
        let first = sent(&scene, 1).await;
        let second = sent(&scene, 2).await;
        scene.result(&second, CommandResultType::Accepted).await;
        assert_ne!(first.body["evse_uid"], second.body["evse_uid"]);
        assert_ne!(first.body["reservation_id"], second.body["reservation_id"]);
        let connector = format!("{}-1", text(&second.body["evse_uid"]));
        let confirmed = json!({"status": "confirmed", "connector": connector});
        scene.shows(&reservation, confirmed.clone()).await;
        // A late result of the first one changes nothing.
        scene.result(&first, CommandResultType::Accepted).await;
        scene.runner.advance(120).await;
        scene.shows(&reservation, confirmed).await;
        assert_eq!(
            scene.events("reservation").await,
            ["created", "confirmed", "reassigned"]
        );
        assert_eq!(
            (scene.received(RESERVE).len(), scene.received(CANCEL).len()),
            (2, 1)
        );
    }
}

#[tokio::test]
async fn reserve_now_with_errors_is_sent_once_per_evse_and_cancelled() {
    let scene = Scene::new(VersionNumber::V2_3_0).await;
    let reservation = confirmed(&scene).await;
    let fault = Fault::StatusAfterEffect(500);
    scene.cpo.fail(RESERVE, fault);
    let (first, second) = (sent(&scene, 1).await, sent(&scene, 2).await);
    assert_ne!(first.body["evse_uid"], second.body["evse_uid"]);
    scene.command(CANCEL, 2).await;
    let ids = |commands: &[Command]| {
        let commands = commands.iter().map(|command| Asked::of(command.clone()));
        let ids = commands.map(|command| text(&command.body["reservation_id"]).to_owned());
        ids.collect::<BTreeSet<String>>()
    };
    let (reserved, cancelled) = (scene.received(RESERVE), scene.received(CANCEL));
    assert_eq!(ids(&reserved), ids(&cancelled));
    scene.runner.advance(30 * 60).await;
    let failed = json!({"status": "failed", "failed_reason": "station_unavailable"});
    scene.shows(&reservation, failed).await;
    assert_eq!(scene.cpo.failed(), 2);
}

#[tokio::test]
async fn an_evse_without_the_capability_reservable_is_not_reserved() {
    let scene = Scene::new(VersionNumber::V2_3_0).await;
    let updated = scene.now().await.to_string();
    let change = json!({"capabilities": ["RFID_READER"], "last_updated": updated});
    let (emsp, patch) = (scene.cpo.emsp(), Patch::<Value>::from_value(change));
    let client = scene.cpo.session(&emsp).locations_receiver();
    let party = Cpo::party();
    let patched = client.patch(&party, "LOC1", Some("3257"), None, &patch);
    patched.await.expect("an answer");
    scene.settle().await;
    let reservation = confirmed(&scene).await;
    scene.cpo.answer(CommandReply::Rejected);
    let command = sent(&scene, 1).await;
    assert_eq!(command.body["evse_uid"], "3256");
    scene.runner.advance(30 * 60).await;
    let failed = json!({"status": "failed", "failed_reason": "station_unavailable"});
    scene.shows(&reservation, failed).await;
    assert_eq!(scene.received(RESERVE).len(), 1);
}

#[tokio::test]
async fn a_driver_who_comes_for_a_reservation_fulfils_it() {
    let scene = Scene::new(VersionNumber::V2_2_1).await;
    let reservation = confirmed(&scene).await;
    let command = sent(&scene, 1).await;
    scene.result(&command, CommandResultType::Accepted).await;
    let shown = until(&scene, &reservation, 0).await;
    let session = scene.start_at(&shown["connector"]).await;
    let start = scene.command("START_SESSION", 1).await;
    assert_eq!(start.body["evse_uid"], command.body["evse_uid"]);
    let theirs = scene.theirs("101", &start).await;
    scene.report(&theirs, json!({})).await;
    let shown = scene.shows(&session, json!({"status": "active"})).await;
    let fulfilled = json!({"charging_session": shown["id"]});
    scene.shows(&reservation, fulfilled).await;
    // The operator ends its reservation by itself when the session begins.
    assert_eq!(scene.received(CANCEL), []);
    scene.ended(&session, &theirs, "CDR1").await;
    assert_eq!(scene.received(CANCEL), []);
}

#[tokio::test]
async fn a_card_used_at_the_reserved_evse_fulfils_the_reservation() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let (_, token) = card(&scene).await;
        let reservation = confirmed(&scene).await;
        let command = sent(&scene, 1).await;
        scene.result(&command, CommandResultType::Accepted).await;
        // The operator decides by the group of the reservation's token.
        assert_eq!(token["group_id"], command.body["token"]["group_id"]);
        assert!(token["group_id"].is_string());
        until(&scene, &reservation, 0).await;
        let theirs = scene.theirs_of("201", &token).await;
        let theirs = with(&theirs, json!({"evse_uid": command.body["evse_uid"]}));
        scene.report(&theirs, json!({})).await;
        let fulfilled = async || {
            let shown = scene.runner.get(&reservation).await.ok();
            let session = shown["charging_session"].as_str()?.to_owned();
            Some(format!("{SESSIONS}/{session}"))
        };
        let session = scene.until("a charging session", fulfilled).await;
        let started = json!({"status": "active", "started_by": "card"});
        scene.shows(&session, started).await;
        scene.ended(&session, &theirs, "CDR1").await;
        assert_eq!(scene.invoice().await.1, [energy(330)]);
        assert_eq!(scene.received("START_SESSION"), []);
    }
}
