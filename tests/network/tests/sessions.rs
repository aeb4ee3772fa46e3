//! Charging sessions at a station of the operator, from START_SESSION to the invoice.

use jiff::{SignedDuration, Timestamp};
use network::{CommandReply, Fault};
use ocpi_kit::VersionNumber;
use ocpi_kit::v2_3_0::commands::CommandResultType;
use serde_json::{Value, json};

use crate::VERSIONS;
use crate::scene::{Scene, adjustment, energy, price, text, with};

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
async fn a_price_that_differs_from_the_tariff_is_billed_and_shown() {
    let scene = Scene::new(VersionNumber::V2_2_1).await;
    let (session, theirs) = scene.active("101").await;
    scene.runner.advance(1800).await;
    let cdr = scene.cdr("CDR1", &theirs).await;
    let dear = with(&cdr, json!({"total_cost": price(400)}));
    scene.bill(&dear).await;
    let check = json!({"network": 440, "ours": 330, "difference": 110});
    let billed = json!({"status": "completed", "amount_due": 440, "price_check": check});
    scene.shows(&session, billed).await;
    let (invoice, lines) = scene.invoice().await;
    assert_eq!(lines, [energy(440)]);
    assert_eq!(invoice["line_items"][0]["price_check"], check);
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

/// A session whose START_SESSION has this fault fails after five minutes without a report.
async fn fails_after_five_minutes_when(fault: Fault) {
    let scene = Scene::new(VersionNumber::V2_2_1).await;
    scene.cpo.fail("commands", fault);
    let session = scene.start().await;
    let sent = async || (scene.cpo.failed() > 0).then_some(());
    scene.until("a START_SESSION", sent).await;
    scene.runner.advance(240).await;
    scene.shows(&session, json!({"status": "pending"})).await;
    scene.runner.advance(60).await;
    scene.shows(&session, failed("network_timeout")).await;
    assert_eq!(scene.cpo.failed(), 1);
    assert_eq!(scene.invoice().await.1, []);
}

#[tokio::test]
async fn a_missing_response_fails_the_session_after_5_minutes() {
    fails_after_five_minutes_when(Fault::Hang).await;
}

#[tokio::test]
async fn an_invalid_json_response_fails_the_session_after_5_minutes() {
    fails_after_five_minutes_when(Fault::Malformed).await;
}

#[tokio::test]
async fn a_response_without_envelope_fails_a_session_after_5_minutes() {
    fails_after_five_minutes_when(Fault::NoEnvelope).await;
}

#[tokio::test]
async fn an_unsuccessful_result_fails_the_session_and_is_final() {
    let scene = Scene::new(VersionNumber::V2_3_0).await;
    let results = [
        (CommandResultType::Rejected, "network_rejected"),
        (CommandResultType::EvseOccupied, "network_rejected"),
        (CommandResultType::EvseInoperative, "out_of_order"),
        (CommandResultType::Failed, "other"),
    ];
    for (count, (result, reason)) in (1..).zip(results) {
        let session = scene.start().await;
        let command = scene.command(START, count).await;
        scene.result(&command, result).await;
        scene.shows(&session, failed(reason)).await;
        scene.result(&command, CommandResultType::Accepted).await;
        scene.settle().await;
        scene.shows(&session, failed(reason)).await;
    }
    assert_eq!(scene.invoice().await.1, []);
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
async fn a_session_that_starts_despite_an_error_response_is_active() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let fault = Fault::StatusAfterEffect(502);
        scene.cpo.fail("commands", fault);
        let session = scene.start().await;
        scene.shows(&session, failed("other")).await;
        scene.cpo.heal();
        let command = scene.command(START, 1).await;
        let theirs = scene.theirs("101", &command).await;
        scene.report(&theirs, json!({})).await;
        let active = json!({"status": "active", "failed_reason": null});
        scene.shows(&session, active).await;
        scene.ended(&session, &theirs, "CDR1").await;
        assert_eq!(scene.invoice().await.1, [energy(330)]);
        assert_eq!(scene.received(START).len(), 1);
    }
}

#[tokio::test]
async fn a_session_without_a_network_report_fails_after_5_minutes() {
    let scene = Scene::new(VersionNumber::V2_2_1).await;
    for (count, (result, reason)) in (1..).zip([
        (None, "network_timeout"),
        (Some(CommandResultType::Timeout), "network_timeout"),
        (Some(CommandResultType::Accepted), "not_plugged_in"),
    ]) {
        let session = scene.start().await;
        let command = scene.command(START, count).await;
        if let Some(result) = result {
            scene.result(&command, result).await;
        }
        scene.runner.advance(240).await;
        scene.shows(&session, json!({"status": "pending"})).await;
        scene.runner.advance(60).await;
        scene.shows(&session, failed(reason)).await;
    }
    assert_eq!(scene.received(START).len(), 3);
    assert_eq!(scene.received(STOP), []);
    assert_eq!(scene.invoice().await.1, []);
}

#[tokio::test]
async fn a_session_that_begins_after_a_timeout_is_active_and_billed() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let session = scene.start().await;
        let command = scene.command(START, 1).await;
        scene.result(&command, CommandResultType::Timeout).await;
        let theirs = scene.theirs("101", &command).await;
        scene.report(&theirs, json!({})).await;
        scene.shows(&session, json!({"status": "active"})).await;
        // It does not depend on later results.
        for result in [
            CommandResultType::Timeout,
            CommandResultType::Accepted,
            CommandResultType::Failed,
            CommandResultType::Failed,
        ] {
            scene.result(&command, result).await;
            scene.settle().await;
            scene.shows(&session, json!({"status": "active"})).await;
        }
        scene.ended(&session, &theirs, "CDR1").await;
        assert_eq!(scene.invoice().await.1, [energy(330)]);
        let events = scene.events("charging_session").await;
        assert!(!events.contains(&"failed".to_owned()), "{events:?}");
    }
}

#[tokio::test]
async fn a_failed_session_that_is_reported_later_is_active_and_billed() {
    let scene = Scene::new(VersionNumber::V2_2_1).await;
    let session = scene.start().await;
    let command = scene.command(START, 1).await;
    scene.runner.advance(300).await;
    scene.shows(&session, failed("network_timeout")).await;
    let theirs = scene.theirs("101", &command).await;
    scene.report(&theirs, json!({})).await;
    let active = json!({"status": "active", "failed_reason": null, "session_ended": null});
    scene.shows(&session, active).await;
    assert_eq!(scene.received(STOP), []);
    scene.ended(&session, &theirs, "CDR1").await;
    assert_eq!(scene.invoice().await.1, [energy(330)]);
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
async fn without_reference_sessions_match_by_token_location_and_time() {
    let scene = Scene::new(VersionNumber::V2_3_0).await;
    let session = scene.start().await;
    let command = scene.command(START, 1).await;
    let theirs = scene.theirs_of("101", &command.body["token"]).await;
    scene.report(&theirs, json!({})).await;
    scene.shows(&session, json!({"status": "active"})).await;
    scene.runner.advance(1800).await;
    let cdr = scene.cdr("CDR1", &theirs).await;
    scene.bill(&with(&cdr, json!({"session_id": null}))).await;
    let billed = json!({"status": "completed", "cost_source": "cdr", "amount_due": 330});
    scene.shows(&session, billed).await;
    assert_eq!(scene.unmatched().await, []);
}

#[tokio::test]
async fn a_cancelled_session_that_starts_anyway_is_stopped() {
    let scene = Scene::new(VersionNumber::V2_2_1).await;
    let session = scene.start().await;
    let command = scene.command(START, 1).await;
    let stop = format!("{session}/stop");
    let cancelled = scene.runner.post(&stop, json!({})).await.ok();
    assert_eq!(cancelled["status"], "cancelled");
    let theirs = scene.theirs("101", &command).await;
    scene.report(&theirs, json!({})).await;
    assert_eq!(scene.command(STOP, 1).await.body["session_id"], "101");
    scene.shows(&session, json!({"status": "cancelled"})).await;
}

#[tokio::test]
async fn a_refused_or_ignored_stop_is_repeated_and_session_continues() {
    let scene = Scene::new(VersionNumber::V2_3_0).await;
    let (session, theirs) = scene.active("101").await;
    scene.cpo.answer(CommandReply::Rejected);
    scene.stop(&session).await;
    scene.command(STOP, 1).await;
    scene.cpo.fail("commands", Fault::Status(500));
    scene.runner.advance(300).await;
    let refused = async || (scene.cpo.failed() == 1).then_some(());
    scene.until("the second STOP_SESSION", refused).await;
    scene.cpo.heal();
    scene.runner.advance(300).await;
    // This one is accepted, but nothing follows.
    scene.command(STOP, 2).await;
    scene.runner.advance(3600).await;
    assert_eq!(scene.cpo.failed() + scene.received(STOP).len(), 5);
    let active = json!({"status": "active", "session_ended": null});
    scene.shows(&session, active).await;
    scene.ended(&session, &theirs, "CDR1").await;
    assert_eq!(scene.invoice().await.1, [energy(330)]);
}

#[tokio::test]
async fn a_duplicate_cdr_is_billed_once_and_a_correction_adjusts_it() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let (session, theirs) = scene.active("101").await;
        let cdr = scene.ended(&session, &theirs, "CDR1").await;
        scene.bill(&cdr).await;
        assert_eq!(scene.invoice().await.1, [energy(330)]);
        scene.bill(&cdr).await;
        assert_eq!(scene.invoice().await.1, []);
        let corrected = scene.cdr("CDR2", &theirs).await;
        let corrected = with(&corrected, json!({"total_cost": price(350)}));
        for _ in 0..2 {
            scene.bill(&corrected).await;
        }
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [adjustment(55)]);
        let adjusted = text(&invoice["line_items"][0]["charging_session"]);
        assert!(session.ends_with(adjusted), "{invoice:#}");
        assert_eq!(scene.invoice().await.1, []);
        // The invoiced amount is unchanged.
        scene.shows(&session, json!({"amount_due": 330})).await;
        assert_eq!(scene.unmatched().await, []);
    }
}

#[tokio::test]
async fn credit_and_replacement_cdrs_become_adjustments_in_any_order() {
    for (version, credit_first) in VERSIONS.into_iter().zip([true, false]) {
        let scene = Scene::new(version).await;
        let (session, theirs) = scene.active("101").await;
        let cdr = scene.ended(&session, &theirs, "CDR1").await;
        let (draft, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(330)]);
        let credit = json!({"id": "CDR1-C", "credit": true, "credit_reference_id": "CDR1", "total_cost": price(-300)});
        let replacing = scene.cdr("CDR2", &theirs).await;
        let replacing = with(&replacing, json!({"total_cost": price(250)}));
        let mut sent = [with(&cdr, credit), replacing];
        if !credit_first {
            sent.reverse();
        }
        for cdr in &sent {
            scene.bill(cdr).await;
            scene.settle().await;
        }
        // A credit is a line of the draft that bills the credited amount. Additional amounts are on the next invoice.
        let (due, next) = match credit_first {
            true => (0, vec![adjustment(275)]),
            false => (275, vec![]),
        };
        let path = format!("/v1/invoices/{}", text(&draft["id"]));
        scene.shows(&path, json!({"amount_due": due})).await;
        assert_eq!(scene.invoice().await.1, next);
        assert_eq!(scene.invoice().await.1, []);
        scene.shows(&session, json!({"amount_due": 330})).await;
    }
}

#[tokio::test]
async fn a_cdr_without_a_session_of_ours_is_listed_and_not_billed() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let token = json!({"country_code": "DE", "party_id": "ABC", "uid": "04FFFFFF", "type": "RFID",
            "contract_id": "DE-ABC-C00000001"});
        let strange = scene.theirs_of("901", &token).await;
        scene.runner.advance(60).await;
        scene.bill(&scene.cdr("CDR9", &strange).await).await;
        scene.settle().await;
        assert_eq!(
            scene.unmatched().await,
            [("cdrs".to_owned(), "CDR9".to_owned())]
        );
        assert_eq!(scene.invoice().await.1, []);
        assert!(scene.events("charging_session").await.is_empty());
    }
}

#[tokio::test]
async fn a_cdr_that_comes_before_its_session_is_billed_once() {
    let scene = Scene::new(VersionNumber::V2_2_1).await;
    let session = scene.start().await;
    let command = scene.command(START, 1).await;
    let theirs = scene.theirs("101", &command).await;
    scene.runner.advance(120).await;
    scene.bill(&scene.cdr("CDR1", &theirs).await).await;
    let billed = json!({"status": "completed", "cost_source": "cdr", "amount_due": 330});
    scene.shows(&session, billed.clone()).await;
    scene.report(&theirs, json!({})).await;
    scene.complete(&theirs, 15, 375).await;
    scene.settle().await;
    scene.shows(&session, billed).await;
    assert_eq!(scene.invoice().await.1, [energy(330)]);
    assert_eq!(scene.unmatched().await, []);
}

#[tokio::test]
async fn without_a_cdr_the_last_report_is_billed_after_three_days() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let (session, theirs) = scene.active("101").await;
        scene.runner.advance(1800).await;
        let cdr = scene.cdr("CDR1", &theirs).await;
        scene.complete(&theirs, 12, 300).await;
        scene.shows(&session, json!({"status": "completed"})).await;
        scene.runner.advance(3 * 86_400 - 120).await;
        assert_eq!(scene.invoice().await.1, []);
        scene.runner.advance(120).await;
        let (_, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(330)]);
        let billed = json!({"cost_source": "network_session", "amount_due": 330});
        scene.shows(&session, billed.clone()).await;
        let dear = with(&cdr, json!({"total_cost": price(360)}));
        for _ in 0..2 {
            scene.bill(&dear).await;
        }
        assert_eq!(scene.invoice().await.1, [adjustment(66)]);
        assert_eq!(scene.invoice().await.1, []);
        scene.shows(&session, billed).await;
    }
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
