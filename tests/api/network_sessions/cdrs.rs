//! Tests of how a CDR finds its session, and of which CDR or report is billed.

use std::sync::{Arc, Mutex};

use kernel::time::{days, seconds};
use serde_json::{Value, json};
use tests::platform::fixture;
use tests::{TestApp, assert_has, each, id_of, path_of, with};
use web::metrics::Metrics;

use super::{PATH, Scene, adjustment, cards, energy, failed, is};

#[tokio::test]
async fn without_a_cdr_the_last_report_is_billed_after_three_days() {
    let (scene, session, theirs) = Scene::charging().await;
    scene.complete(&theirs).await;
    scene.pass(3 * 86_400 - 60).await;
    assert_eq!(scene.invoice().await.1, []);
    scene.app.advance(60).await;
    assert_eq!(scene.invoice().await.1, [energy(968)]);
    assert_has!(scene.shown(&session).await, {"cost_source": "network_session"});
    let cost = json!({"total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
    let cdr = scene.cdr(&theirs, cost);
    scene.bill(&cdr).await;
    scene.bill(&cdr).await;
    let (invoice, lines) = scene.invoice().await;
    assert_eq!(lines, [adjustment(121)]);
    let check = json!({"network": 1089, "ours": 968, "difference": 121});
    assert_has!(invoice["line_items"][0], {"charging_session": session["id"], "price_check": check});
    assert_eq!(scene.shown(&session).await["amount_due"], 968);
    assert_eq!(scene.invoice().await.1, []);
    // The amounts of a cost analysis equal those of both invoices.
    let now = scene.app.now();
    let parameters = json!({"type": "cost_analysis", "period_start": now.plus(days(-30)), "period_end": now,
        "group_by": "vehicle"});
    let alice = &scene.app.alice;
    let body = json!({"fleet": scene.crew.fleet, "parameters": parameters});
    let report = alice.create("/v1/reports", body).await;
    scene.app.drain().await;
    let report = alice.get_ok(&path_of(&report)).await;
    let totals = &report["totals"][0];
    assert_has!(totals, {"sessions": 1, "adjustments": 1});
    assert_has!(totals, {"gross": 968 + 121, "due": 968 + 121});
}

#[tokio::test]
async fn a_credit_with_the_longest_id_arrives() {
    let (scene, _, theirs) = Scene::charging().await;
    let id = "8f14e45f-ceea-467f-a0ca-5d4a1c2b3d4e";
    scene.bill(&scene.cdr(&theirs, json!({"id": id}))).await;
    let credit = json!({"id": format!("{id}-CC"), "credit": true, "credit_reference_id": id,
        "total_cost": {"excl_vat": -2.0, "incl_vat": -2.42}});
    scene.bill(&scene.cdr(&theirs, credit)).await;
    assert_eq!(scene.invoice().await.1, [energy(968), adjustment(-242)]);
}

#[tokio::test]
async fn a_credit_and_a_corrected_cdr_become_adjustments_in_any_order() {
    let credit = |scene: &Scene, theirs: &Value| {
        scene.cdr(
            theirs,
            json!({"id": "C1-X", "credit": true, "credit_reference_id": "C1",
            "total_cost": {"excl_vat": -8.0, "incl_vat": -9.68}}),
        )
    };
    let corrected = |scene: &Scene, theirs: &Value| {
        let cost = json!({"id": "C2", "total_cost": {"excl_vat": 7.0, "incl_vat": 8.47}});
        scene.cdr(theirs, cost)
    };
    for credit_first in [true, false] {
        let scene = Scene::new().await;
        let (session, theirs) = scene.billed().await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        scene.app.advance(60).await;
        let mut sent = [credit(&scene, &theirs), corrected(&scene, &theirs)];
        if !credit_first {
            sent.reverse();
        }
        for cdr in &sent {
            scene.bill(cdr).await;
        }
        // Credits are lines of the draft, and additional amounts are on the next invoice.
        let (_, more) = scene.invoice().await;
        assert_eq!(more.is_empty(), !credit_first, "{more:?}");
        let drafts = scene.get("/v1/invoices").await;
        let drafts = drafts["data"].as_array().expect("a list").iter();
        let due: i64 = drafts
            .map(|draft| draft["amount_due"].as_i64().expect("an amount"))
            .sum();
        assert_eq!(due, 847);
        assert_eq!(scene.invoice().await.1, []);
        assert_eq!(scene.shown(&session).await["amount_due"], 968);
    }
}

#[tokio::test]
async fn an_adjustment_is_shown_with_its_session_and_an_event() {
    let scene = Scene::new().await;
    let (session, theirs) = scene.billed().await;
    assert_has!(scene.shown(&session).await, {"amount_due": 968, "amount_adjusted": 0});
    let before = scene.events().await;
    scene.app.advance(60).await;
    for (id, gross, adjusted) in [("C2", 10.89, 121), ("C3", 8.47, -121)] {
        let cost = json!({"id": id, "total_cost": {"excl_vat": 7.0, "incl_vat": gross}, "last_updated": scene.app.now()});
        let cdr = scene.cdr(&theirs, cost);
        scene.bill(&cdr).await;
        scene.bill(&cdr).await;
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"amount_due": 968, "amount_adjusted": adjusted});
        let events = scene.get("/v1/events?type=charging_session.updated").await;
        let event = &events["data"][0]["data"]["object"];
        assert_has!(event, {"id": session["id"], "amount_adjusted": adjusted});
        scene.app.advance(60).await;
    }
    assert_eq!(scene.events().await.len(), before.len() + 2);
}

#[tokio::test]
async fn the_price_of_a_second_cdr_is_compared_and_counted_once() {
    let written: Arc<Mutex<Vec<String>>> = Arc::default();
    let metrics = written.clone();
    let app = TestApp::start_with(|options| {
        options.metrics = Metrics::to("FleetCharging/test", move |line| {
            metrics.lock().expect("the lines").push(line.to_owned());
        });
    });
    let scene = Scene::of(app.await, fixture("location")).await;
    let mismatches = || {
        let lines = written.lock().expect("the lines");
        lines
            .iter()
            .filter(|line| line.contains("PriceMismatches"))
            .count()
    };
    let (session, theirs) = scene.billed().await;
    assert_eq!(mismatches(), 0);
    let events = scene.events().await.len();
    // The second bill has another amount, and the third the same for more energy.
    for (count, (id, kwh, ours)) in (1..).zip([("C2", 20.0, 968), ("C3", 21.0, 1016)]) {
        scene.app.advance(60).await;
        let bill = json!({"id": id, "total_cost": {"excl_vat": 9.0, "incl_vat": 10.89},
            "total_energy": kwh, "last_updated": scene.app.now()});
        let cdr = scene.cdr(&theirs, bill);
        scene.bill(&cdr).await;
        scene.bill(&cdr).await;
        let check = json!({"network": 1089, "ours": ours, "difference": 1089 - ours});
        assert_has!(scene.shown(&session).await, {"amount_adjusted": 121, "price_check": check});
        assert_eq!(mismatches(), count);
        assert_eq!(scene.events().await.len(), events + count);
    }
    let (invoice, lines) = scene.invoice().await;
    assert_eq!(lines, [energy(968), adjustment(121)]);
    let networks = invoice["line_items"].as_array().expect("lines").iter();
    let networks = networks.map(|line| &line["price_check"]["network"]);
    // The adjustment was created with the second CDR, and the other line with the invoice.
    assert_eq!(networks.collect::<Vec<_>>(), [1089, 1089]);
}

#[tokio::test]
async fn a_cdr_that_comes_before_its_session_and_twice_is_billed_once() {
    let scene = Scene::new().await;
    let session = scene.start().await;
    let theirs = scene.session(json!({}));
    scene.app.advance(120).await;
    let cost = json!({"total_energy": 0.5, "total_cost": {"excl_vat": 0.2, "incl_vat": 0.24}});
    let cdr = scene.cdr(&theirs, cost);
    scene.bill(&cdr).await;
    scene.bill(&cdr).await;
    assert_eq!(scene.status(&session).await, is("completed"));
    scene.report(&theirs).await;
    scene.complete(&theirs).await;
    assert_eq!(scene.events().await, ["completed", "started"]);
    assert_eq!(scene.unmatched().await, 0);
    assert_eq!(scene.invoice().await.1, [energy(24)]);
}

#[tokio::test]
async fn sessions_without_reference_match_by_token_location_and_time() {
    let scene = Scene::new().await;
    let session = scene.start().await;
    let theirs = scene.session(json!({"authorization_reference": null}));
    scene.report(&theirs).await;
    assert_eq!(scene.status(&session).await, is("active"));
    scene.app.advance(3600).await;
    let cdr = scene.cdr(&theirs, json!({"session_id": null}));
    scene.bill(&cdr).await;
    assert_has!(scene.shown(&session).await, {"status": "completed", "cost_source": "cdr"});
    assert_eq!(scene.invoice().await.1, [energy(968)]);
    assert_eq!(scene.unmatched().await, 0);
}

#[tokio::test]
async fn two_charges_of_one_reference_are_two_sessions() {
    let scene = Scene::new().await;
    let (session, theirs) = scene.active().await;
    let mut bills = Vec::new();
    for id in ["C1", "C2"] {
        let began = Scene::text(scene.app.now());
        scene.app.advance(3600).await;
        let change = json!({"id": id, "session_id": null, "start_date_time": began});
        let mut cdr = scene.cdr(&theirs, change);
        cdr["charging_periods"][0]["start_date_time"] = began;
        scene.bill(&cdr).await;
        bills.push(cdr);
        scene.app.advance(3600).await;
    }
    assert_eq!(scene.invoice().await.1, [energy(968), energy(968)]);
    assert_has!(scene.shown(&session).await, {"amount_due": 968, "amount_adjusted": 0});
    // Corrections and credits are of the session at their time.
    for (place, id, gross) in [(0, "C3", 8.47), (1, "C4", 10.89)] {
        let change = json!({"id": id, "total_cost": {"excl_vat": 7.0, "incl_vat": gross}, "last_updated": scene.app.now()});
        scene.bill(&with(bills[place].clone(), change)).await;
    }
    let sessions = cards::sessions(&scene).await;
    assert_eq!(
        each(&json!(sessions), "amount_adjusted"),
        json!([121, -121])
    );
    let credit = json!({"id": "C5", "credit": true, "credit_reference_id": "C4", "last_updated": scene.app.now(),
        "total_cost": {"excl_vat": -9.0, "incl_vat": -10.89}});
    scene.bill(&with(bills[1].clone(), credit)).await;
    let sessions = cards::sessions(&scene).await;
    assert_eq!(each(&json!(sessions), "amount_adjusted"), json!([0, -121]));
    assert_eq!(scene.unmatched().await, 0);
}

#[tokio::test]
async fn what_belongs_to_nothing_is_listed_and_not_billed() {
    let scene = Scene::new().await;
    scene.start().await;
    let token = json!({"uid": "04FFFFFF", "type": "RFID", "contract_id": "NL-XXX-1"});
    let strange =
        scene.session(json!({"id": "S9", "cdr_token": token, "authorization_reference": "cmd_1"}));
    scene.report(&strange).await;
    scene.bill(&scene.cdr(&strange, json!({"id": "C9"}))).await;
    assert_eq!(scene.unmatched().await, 2);
    let other = json!({"id": "C8", "currency": "XXXX"});
    scene.bill(&scene.cdr(&strange, other)).await;
    assert_eq!(scene.unmatched().await, 3);
    assert_eq!(scene.invoice().await.1, []);
    assert!(scene.events().await.is_empty());
}

#[tokio::test]
async fn a_payment_method_is_charged_when_the_session_price_is_final() {
    let scene = Scene::new().await;
    let (session, ..) = scene.charged().await;
    assert_has!(scene.shown(&session).await, {"amount_paid": 968, "amount_due": 0});
    assert_eq!(scene.app.transactions(&scene.app.alice).await.len(), 1);
}

#[tokio::test]
async fn signed_meter_values_are_downloaded_as_they_were_received() {
    let (scene, session, theirs) = Scene::charging().await;
    let id = id_of(&session);
    let path = format!("{PATH}/{id}/signed_meter_values");
    let none = scene.app.alice.get(&path).await;
    none.expect_error(409, None, "charging_session");
    let data = fixture("signed_data");
    scene
        .bill(&scene.cdr(&theirs, json!({"signed_data": data})))
        .await;
    let redirect = scene.app.alice.get(&path).await.expect(302);
    let location = redirect.headers["location"].to_str().expect("an address");
    let file = scene.app.anon.get(location).await.expect(200).text;
    let entities = [
        ("&quot;", "\""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    for (place, encoding) in ["plain", "base64"].into_iter().enumerate() {
        let begin = format!("encoding=\"{encoding}\">");
        let (_, rest) = file.split_once(&begin).expect("a value");
        let (text, _) = rest.split_once("</signedData>").expect("a value");
        let read = entities
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        assert_eq!(read, data["signed_values"][place]["signed_data"]);
    }
    // `.ci/documents` verifies it with pyocmf.
    if let Ok(path) = std::env::var("SIGNED_METER_VALUES") {
        std::fs::write(path, file).expect("a file");
    }
}

#[tokio::test]
async fn a_session_billed_without_a_cdr_is_on_the_current_invoice() {
    let scene = Scene::new().await;
    let (session, theirs) = scene.active().await;
    scene.pass(5 * 86_400).await;
    scene.complete(&theirs).await;
    scene.pass(3 * 86_400).await;
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"status": "completed", "amount_due": 0, "cost_source": "network_session"});
    assert_eq!(shown["amount_adjusted"], 968);
    scene.app.advance(1).await;
    let invoice = scene.invoice_of_last_hour().await;
    assert_has!(invoice, {"amount_due": 968, "/line_items/0/type": "adjustment"});
    // A CDR that arrives even later adjusts that.
    let cost = json!({"total_cost": {"excl_vat": 9.0, "incl_vat": 10.89}});
    scene.bill(&scene.cdr(&theirs, cost)).await;
    assert_eq!(scene.shown(&session).await["amount_adjusted"], 1089);
    let lines = scene.invoice().await.1;
    assert_eq!(lines.iter().map(|line| line.1).sum::<i64>(), 121);
}

#[tokio::test]
async fn a_zero_cdr_received_before_the_session_is_its_final_price() {
    let scene = Scene::new().await;
    let session = scene.start().await;
    let theirs = scene.session(json!({}));
    let free = json!({"total_energy": 0, "total_cost": {"excl_vat": 0, "incl_vat": 0}});
    scene.bill(&scene.cdr(&theirs, free)).await;
    assert_eq!(scene.status(&session).await, is("pending"));
    scene.app.advance(60).await;
    let begun = json!({"last_updated": scene.app.now()});
    scene.report(&with(theirs.clone(), begun)).await;
    scene.complete(&theirs).await;
    assert_eq!(scene.shown(&session).await["amount_due"], 968);
    scene.pass(3 * 86_400).await;
    assert_has!(scene.shown(&session).await, {"amount_due": 0, "cost_source": "cdr"});
    assert_eq!(scene.invoice().await.1, [energy(0)]);
}

#[tokio::test]
async fn a_session_that_was_invalid_for_a_while_starts_once() {
    for is_active in [true, false] {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        let at = |seconds_later: i64| scene.app.now().plus(seconds(seconds_later));
        let invalid = json!({"status": "INVALID", "last_updated": at(1)});
        scene.report(&with(theirs.clone(), invalid)).await;
        assert_eq!(scene.status(&session).await, failed("other"));
        let status = if is_active { "ACTIVE" } else { "COMPLETED" };
        let valid = json!({"status": status, "kwh": 3, "last_updated": at(2)});
        scene.report(&with(theirs, valid)).await;
        let shown = if is_active { "active" } else { "completed" };
        assert_eq!(scene.status(&session).await, is(shown));
        let mut events = scene.events().await;
        events.retain(|event| event != "completed");
        assert_eq!(events, ["failed", "started", "updated"]);
    }
}

#[tokio::test]
async fn an_invalidated_session_is_removed_from_the_fleet_totals() {
    let scene = Scene::new().await;
    let (session, theirs) = scene.active().await;
    let path = format!("/v1/fleets/{}", scene.crew.fleet);
    let totals = async || {
        let fleet = scene.get(&path).await;
        let energy = fleet["total_energy_consumed_kwh"].as_f64();
        (fleet["total_sessions"].as_i64(), energy)
    };
    scene.app.advance(3600).await;
    scene.complete(&theirs).await;
    assert_eq!(totals().await, (Some(1), Some(20.0)));
    let invalid = json!({"status": "INVALID", "last_updated": scene.app.now().plus(seconds(1))});
    scene.report(&with(theirs.clone(), invalid)).await;
    assert_eq!(scene.status(&session).await, failed("other"));
    assert_eq!(totals().await, (Some(0), Some(0.0)));
    // It is billed nevertheless, and counts once.
    scene.bill(&scene.cdr(&theirs, json!({}))).await;
    assert_eq!(scene.status(&session).await, is("completed"));
    assert_eq!(totals().await, (Some(1), Some(20.0)));
    assert_eq!(scene.invoice().await.1, [energy(968)]);
}
