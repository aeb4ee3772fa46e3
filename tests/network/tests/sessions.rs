//! Charging sessions at a station of the operator, from START_SESSION to the invoice.

use jiff::{SignedDuration, Timestamp};
use network::{CommandReply, Fault};
use ocpi_kit::VersionNumber;
use ocpi_kit::v2_3_0::commands::CommandResultType;
use serde_json::{Value, json};

use crate::VERSIONS;
use crate::scene::{Scene, energy, text};

const START: &str = "START_SESSION";
const STOP: &str = "STOP_SESSION";

fn failed(reason: &str) -> Value {
    json!({"status": "failed", "failed_reason": reason, "amount_due": 0})
}

#[tokio::test]
async fn a_session_is_started_reported_stopped_and_billed() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let session = scene.start().await;
        let command = scene.command(START, 1).await;
        assert_eq!(
            (&command.body["location_id"], &command.body["evse_uid"]),
            (&json!("LOC1"), &json!("3256"))
        );
        assert_eq!(command.body["token"]["valid"], true);
        // The same result twice.
        for _ in 0..2 {
            scene.result(&command, CommandResultType::Accepted).await;
        }
        scene.settle().await;
        scene.shows(&session, json!({"status": "pending"})).await;
        let theirs = scene.theirs("101", &command).await;
        scene.report(&theirs, json!({})).await;
        scene.shows(&session, json!({"status": "active"})).await;
        scene.runner.advance(1800).await;
        scene.report(&theirs, json!({"kwh": 5})).await;
        let grown = json!({"status": "active", "energy_consumed": 5_000});
        scene.shows(&session, grown).await;
        scene.patch("101", json!({"kwh": 6.25})).await;
        let grown = json!({"status": "active", "energy_consumed": 6_250});
        scene.shows(&session, grown).await;
        scene.stop(&session).await;
        let stop = scene.command(STOP, 1).await;
        assert_eq!(stop.body["session_id"], "101");
        scene.result(&stop, CommandResultType::Accepted).await;
        scene.settle().await;
        scene.shows(&session, json!({"status": "active"})).await;
        scene.complete(&theirs, 12, 300).await;
        let completed = json!({"status": "completed", "cost_source": "network_session"});
        scene.shows(&session, completed).await;
        // It is not billed before the CDR.
        assert_eq!(scene.invoice().await.1, []);
        scene.bill(&scene.cdr("CDR1", &theirs).await).await;
        let check = json!({"network": 330, "ours": 330, "difference": 0});
        let billed = json!({"status": "completed", "cost_source": "cdr", "energy_consumed": 12_000, "amount_due": 330,
            "currency": "eur", "price_check": check});
        scene.shows(&session, billed).await;
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(330)]);
        assert_eq!(invoice["line_items"][0]["price_check"], check);
        assert_eq!(scene.unmatched().await, []);
        assert_eq!(
            (scene.received(START).len(), scene.received(STOP).len()),
            (1, 1)
        );
    }
}

#[tokio::test]
async fn a_response_that_refuses_a_command_fails_the_session_at_once() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let answers = [
            CommandReply::Rejected,
            CommandReply::NotSupported,
            CommandReply::UnknownSession,
        ];
        for (count, answer) in (1..).zip(answers) {
            scene.cpo.answer(answer);
            let session = scene.start().await;
            scene.command(START, count).await;
            scene.shows(&session, failed("network_rejected")).await;
        }
        assert_eq!(scene.received(START).len(), 3);
        assert_eq!(scene.events("charging_session").await, ["failed"; 3]);
        assert_eq!(scene.invoice().await.1, []);
    }
}

#[tokio::test]
async fn an_http_error_fails_the_session_at_once_without_a_retry() {
    let scene = Scene::new(VersionNumber::V2_3_0).await;
    for (count, (status, reason)) in
        (1..).zip([(500, "other"), (503, "other"), (404, "network_rejected")])
    {
        scene.cpo.fail("commands", Fault::Status(status));
        let session = scene.start().await;
        scene.shows(&session, failed(reason)).await;
        scene.cpo.heal();
        scene.runner.advance(600).await;
        assert_eq!(scene.cpo.failed(), count, "{status}");
    }
    assert_eq!(scene.received(START), []);
    // The connector is free again.
    scene.active("101").await;
}

#[tokio::test]
async fn a_result_that_arrives_before_the_response_counts() {
    let scene = Scene::new(VersionNumber::V2_2_1).await;
    let refused = CommandReply::AcceptedAfter(CommandResultType::Rejected);
    scene.cpo.answer(refused);
    let session = scene.start().await;
    scene.shows(&session, failed("network_rejected")).await;
    let accepted = CommandReply::AcceptedAfter(CommandResultType::Accepted);
    scene.cpo.answer(accepted);
    let session = scene.start().await;
    scene.command(START, 2).await;
    scene.runner.advance(300).await;
    scene.shows(&session, failed("not_plugged_in")).await;
}

#[tokio::test]
async fn an_older_report_and_the_same_report_again_change_nothing() {
    let scene = Scene::new(VersionNumber::V2_3_0).await;
    let (session, theirs) = scene.active("101").await;
    scene.runner.advance(600).await;
    let newest = scene.report(&theirs, json!({"kwh": 3})).await;
    let grown = json!({"status": "active", "energy_consumed": 3_000});
    scene.shows(&session, grown.clone()).await;
    let updated = serde_json::to_value(&newest).expect("JSON")["last_updated"].clone();
    let updated: Timestamp = text(&updated).parse().expect("a time");
    let older = (updated - SignedDuration::from_mins(1)).to_string();
    for change in [
        json!({"kwh": 9, "last_updated": older}),
        json!({"kwh": 3, "last_updated": updated.to_string()}),
        json!({"status": "COMPLETED", "end_date_time": older, "last_updated": older}),
    ] {
        scene.report(&newest, change).await;
        scene.settle().await;
        scene.shows(&session, grown.clone()).await;
    }
    let events = scene.events("charging_session").await;
    assert_eq!(events, ["started", "updated"]);
}

#[tokio::test]
async fn a_session_and_cdr_that_are_pulled_and_sent_are_billed_once() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let session = scene.start().await;
        let command = scene.command(START, 1).await;
        let theirs = scene.theirs("101", &command).await;
        scene.cpo.objects().sessions.put(theirs.clone());
        scene.runner.pull().await;
        scene.shows(&session, json!({"status": "active"})).await;
        scene.runner.advance(1800).await;
        let cdr = scene.cdr("CDR1", &theirs).await;
        scene.cpo.objects().cdrs.put(cdr.clone());
        scene.runner.pull().await;
        let billed = json!({"status": "completed", "cost_source": "cdr", "amount_due": 330});
        scene.shows(&session, billed.clone()).await;
        scene.bill(&cdr).await;
        scene.runner.pull().await;
        assert_eq!(scene.invoice().await.1, [energy(330)]);
        scene.shows(&session, billed).await;
        assert_eq!(scene.invoice().await.1, []);
        assert_eq!(scene.unmatched().await, []);
    }
}
