//! Tests of the review of an implausible price or energy, of its decisions, and of reports after a late decision.

use kernel::Timestamp;
use kernel::time::days;
use serde_json::{Value, json};
use tests::platform::{fixture, manage};
use tests::{TestResponse, assert_contains, assert_has, each, id_of, path_of, with};

use super::{PATH, Scene, adjustment, cards, energy};

/// A CDR with this energy in kWh and this amount with tax.
fn costing(scene: &Scene, theirs: &Value, kwh: f64, gross: f64) -> Value {
    let cost = json!({"total_energy": kwh, "total_cost": {"excl_vat": gross, "incl_vat": gross}});
    scene.cdr(theirs, cost)
}

/// Bills the last session, which has lasted an hour, at 9,999,999 EUR for 10 kWh.
async fn bill_millions(scene: &Scene, theirs: &Value) {
    let cdr = costing(scene, theirs, 10.0, 9_999_999.0);
    scene.bill(&cdr).await;
}

/// A session whose price is under review.
async fn opened(scene: &Scene) -> (Value, Value) {
    let (session, theirs) = scene.active().await;
    scene.app.advance(3600).await;
    bill_millions(scene, &theirs).await;
    let review = scene.shown(&session).await["review"].clone();
    assert_eq!(review["network"], 999_999_900, "{review}");
    (session, theirs)
}

async fn decide(scene: &Scene, session: &Value, body: Value) -> TestResponse {
    let id = id_of(session);
    let path = format!("{PATH}/{id}/review");
    let answer = scene.app.alice.post(&path, body).await;
    scene.app.drain().await;
    answer
}

/// Makes a decision as an operator.
async fn operate(scene: &Scene, session: &Value, decision: &str) -> Result<Value, String> {
    let account = scene.app.alice.tenant().account;
    let action = json!({"action": "decide_review", "account": account, "session": session["id"],
        "decision": decision});
    let decided = manage(&scene.app, action).await;
    scene.app.drain().await;
    decided
}

fn accept() -> Value {
    json!({"decision": "accept"})
}

#[tokio::test]
async fn a_session_that_is_over_after_two_weeks_is_in_reports() {
    // The session ends late, or its price becomes final late.
    for ends_late in [true, false] {
        let scene = Scene::new().await;
        let (session, theirs) = if ends_late {
            scene.active().await
        } else {
            opened(&scene).await
        };
        scene.pass(17 * 86_400).await;
        if ends_late {
            scene.complete(&theirs).await;
            scene.bill(&scene.cdr(&theirs, json!({}))).await;
        } else {
            decide(&scene, &session, accept()).await.expect(200);
        }
        scene.app.advance(60).await;
        let now = scene.app.now();
        let alice = &scene.app.alice;
        for (kind, is_covered) in [("charging_summary", ends_late), ("cost_analysis", true)] {
            for fleet in [json!(scene.crew.fleet), Value::Null] {
                let parameters =
                    json!({"type": kind, "period_start": now.plus(days(-1)), "period_end": now});
                let body = json!({"fleet": fleet, "parameters": parameters});
                let report = alice.create("/v1/reports", body).await;
                scene.app.drain().await;
                let totals = &alice.get_ok(&path_of(&report)).await["totals"];
                let sessions = if is_covered { json!([1]) } else { json!([]) };
                assert_eq!(each(totals, "sessions"), sessions, "{kind} {ends_late}");
                if ends_late {
                    assert_eq!(totals[0]["energy_wh"], 20_000);
                }
            }
        }
    }
}

async fn events_of(scene: &Scene, kind: &str) -> usize {
    let events = scene.events().await;
    events.iter().filter(|event| *event == kind).count()
}

#[tokio::test]
async fn ten_million_for_ten_kwh_are_not_billed() {
    let scene = Scene::new().await;
    let method = scene.app.payment_method("tok_success", json!({})).await;
    let session = scene.start_with(json!({"payment_method": method})).await;
    let theirs = scene.begin().await;
    scene.app.advance(3600).await;
    bill_millions(&scene, &theirs).await;
    let shown = scene.shown(&session).await;
    let review = json!({"disputed": null, "network": 999_999_900, "note": null, "opened": shown["updated"],
        "ours": 484, "reason": "price"});
    assert_eq!(shown["review"], review);
    // Until then, the tariff determines its cost.
    assert_has!(shown, {"status": "completed", "amount_due": 484, "cost_source": "tariff"});
    assert_eq!(scene.invoice().await.1, []);
    assert!(scene.app.transactions(&scene.app.alice).await.is_empty());
    // A report has no effect any more.
    scene.complete(&theirs).await;
    let later = scene.shown(&session).await;
    assert_eq!(later, with(shown, json!({"updated": later["updated"]})));
    // The event is sent again after 14 days, once.
    assert_eq!(events_of(&scene, "review_opened").await, 1);
    for (days, sent) in [(13, 1), (1, 2), (14, 2)] {
        scene.pass(days * 86_400).await;
        assert_eq!(events_of(&scene, "review_opened").await, sent);
    }
    assert_eq!(scene.shown(&session).await["review"], review);
    assert_eq!(scene.invoice().await.1, []);
}

#[tokio::test]
async fn ten_thousand_for_one_wh_with_an_unseen_card_are_not_billed() {
    let scene = Scene::new().await;
    cards::card(&scene, json!({})).await;
    let theirs = cards::tapped(&scene);
    scene.app.advance(3600).await;
    scene.bill(&costing(&scene, &theirs, 0.001, 10_000.0)).await;
    scene.app.advance(60).await;
    assert_eq!(scene.invoice().await.1, []);
    let session = cards::sessions(&scene).await.remove(0);
    let review = &session["review"];
    assert_has!(review, {"network": 1_000_000, "ours": 0, "reason": "price"});
    decide(&scene, &session, accept()).await.expect(200);
    assert_eq!(scene.invoice().await.1, [energy(1_000_000)]);
}

#[tokio::test]
async fn more_energy_than_the_charging_point_delivers_is_not_billed() {
    let (scene, session, theirs) = Scene::charging().await;
    // 22 kWh and a tenth are possible. A start in the distant past does not increase that.
    let long_ago = json!({"start_date_time": scene.app.now().plus(days(-9))});
    let cdr = costing(&scene, &with(theirs, long_ago), 40.0, 19.36);
    scene.bill(&cdr).await;
    let shown = scene.shown(&session).await;
    let review = &shown["review"];
    assert_has!(review, {"network": 1936, "reason": "energy"});
    let ours = review["ours"].as_i64().expect("an amount");
    assert_eq!(shown["energy_consumed"], 40_000);
    operate(&scene, &session, "use_ours")
        .await
        .expect("decided");
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"amount_due": ours, "review": null});
    let wh = shown["energy_consumed"].as_i64().expect("energy");
    // 22 kW for an hour and a quarter, because the network's clock may be off, and for as long as the test takes.
    assert!((27_500..=29_000).contains(&wh), "{wh}");
    assert_eq!(ours, (wh * 484 + 5_000) / 10_000);
    assert_eq!(scene.invoice().await.1, [energy(ours)]);
}

#[tokio::test]
async fn an_accepted_price_is_charged_or_invoiced_once() {
    for is_paid in [true, false] {
        let scene = Scene::new().await;
        let method = scene.app.payment_method("tok_success", json!({})).await;
        let change = if is_paid {
            json!({"payment_method": method})
        } else {
            json!({})
        };
        let session = scene.start_with(change).await;
        let theirs = scene.begin().await;
        scene.app.advance(3600).await;
        scene.bill(&costing(&scene, &theirs, 10.0, 25.0)).await;
        let decided = decide(&scene, &session, accept()).await.expect(200).body;
        assert_has!(decided, {"review": null, "cost_source": "cdr"});
        let again = decide(&scene, &session, accept()).await;
        again.expect_error(409, "charging_session_state_conflict", None);
        let (invoice, lines) = scene.invoice().await;
        assert_eq!(lines, [energy(2500)]);
        let due = if is_paid { 0 } else { 2500 };
        assert_eq!(invoice["amount_due"], due);
        let transactions = scene.app.transactions(&scene.app.alice).await;
        assert_eq!(transactions.len(), usize::from(is_paid));
        assert_eq!(scene.invoice().await.1, []);
    }
}

#[tokio::test]
async fn a_price_decided_after_any_time_is_on_one_invoice() {
    let decisions = [("accept", 2500), ("use_ours", 484)];
    for (after, (decision, gross)) in [0, 5, 6, 7, 40]
        .into_iter()
        .zip(decisions.into_iter().cycle())
    {
        let (scene, session, theirs) = Scene::charging().await;
        scene.bill(&costing(&scene, &theirs, 10.0, 25.0)).await;
        scene.pass(after * 86_400).await;
        assert_eq!(scene.invoice().await.1, []);
        operate(&scene, &session, decision).await.expect("decided");
        scene.app.advance(1).await;

        let invoice = scene.invoice_of_last_hour().await;
        assert_eq!(invoice["amount_due"], gross, "after {after} days");
        // The part that an adjustment bills has no cost of its own.
        let mut others = scene.invoice().await.1.into_iter();
        assert!(others.all(|line| line == energy(0)));
    }
}

#[tokio::test]
async fn a_disputed_price_waits_for_an_operator() {
    let scene = Scene::new().await;
    let (session, theirs) = opened(&scene).await;
    let dispute = json!({"decision": "dispute", "note": "The display said 4.84."});
    let disputed = decide(&scene, &session, dispute).await.expect(200).body;
    assert_has!(disputed["review"], {"note": "The display said 4.84.", "disputed": disputed["updated"]});
    assert_eq!(scene.invoice().await.1, []);
    // The statement stays when another part is disputed.
    let again = decide(&scene, &session, json!({"decision": "dispute"})).await;
    assert_eq!(again.body["review"], disputed["review"]);
    let decided = operate(&scene, &session, "use_ours")
        .await
        .expect("decided");
    assert_has!(decided, {"amount_due": 484, "review": null, "cost_source": "tariff"});
    let refused = operate(&scene, &session, "accept").await;
    assert!(refused.is_err_and(|why| why.contains("under review")));
    assert_eq!(scene.invoice().await.1, [energy(484)]);
    // The same total is not reviewed again, but a different one is.
    let older = json!({"id": "C0", "last_updated": scene.app.now().plus(days(-1))});
    let older = with(costing(&scene, &theirs, 10.0, 4.84), older);
    scene.bill(&older).await;
    assert_eq!(scene.shown(&session).await["review"], Value::Null);
    let newer = with(costing(&scene, &theirs, 10.0, 9_999.0), json!({"id": "C2"}));
    scene.bill(&newer).await;
    assert_has!(scene.shown(&session).await["review"], {"network": 999_900, "note": null});
    assert_eq!(scene.invoice().await.1, []);
}

#[tokio::test]
async fn a_corrected_cdr_or_a_credit_closes_the_review() {
    for is_credit in [true, false] {
        let scene = Scene::new().await;
        let (session, theirs) = opened(&scene).await;
        scene.app.advance(60).await;
        let change = if is_credit {
            json!({"id": "C1-X", "credit": true, "credit_reference_id": "C1", "total_energy": 0,
                "total_cost": {"excl_vat": -9_999_994.16, "incl_vat": -9_999_994.16}})
        } else {
            json!({"id": "C2", "total_energy": 10, "total_cost": {"excl_vat": 4.0, "incl_vat": 4.84}})
        };
        scene.bill(&scene.cdr(&theirs, change)).await;
        let shown = scene.shown(&session).await;
        assert_has!(shown, {"review": null, "amount_due": 484, "energy_consumed": 10_000});
        assert_eq!(scene.invoice().await.1, [energy(484)]);
        assert_eq!(decide(&scene, &session, accept()).await.status, 409);
    }
}

#[tokio::test]
async fn an_adjustment_beyond_reason_waits_for_a_decision() {
    let scene = Scene::new().await;
    let (session, theirs) = scene.billed().await;
    assert_eq!(scene.invoice().await.1, [energy(968)]);
    scene.app.advance(60).await;
    let dear = json!({"id": "C2", "total_cost": {"excl_vat": 80.0, "incl_vat": 96.8}});
    scene.bill(&scene.cdr(&theirs, dear)).await;
    let shown = scene.shown(&session).await;
    assert_has!(shown["review"], {"network": 9680, "ours": 968});
    // The previously billed amount is unchanged.
    assert_has!(shown, {"amount_due": 968, "cost_source": "cdr"});
    assert_eq!(scene.invoice().await.1, []);
    scene.pass(14 * 86_400).await;
    assert_eq!(events_of(&scene, "review_opened").await, 2);
    decide(&scene, &session, accept()).await.expect(200);
    let (invoice, lines) = scene.invoice().await;
    assert_eq!(lines, [adjustment(9680 - 968)]);
    assert_contains(&invoice["line_items"][0]["description"], "CDR C2");
    // An amount below the billed one needs no review, however expensive it is.
    scene.app.advance(60).await;
    let less = json!({"id": "C3", "total_cost": {"excl_vat": 79.0, "incl_vat": 95.8}});
    scene.bill(&scene.cdr(&theirs, less)).await;
    assert_eq!(scene.shown(&session).await["review"], Value::Null);
}

/// A network may complete a session too early, and correct that.
#[tokio::test]
async fn a_corrected_report_is_billed_with_its_own_end() {
    let scene = Scene::new().await;
    let (session, theirs) = scene.active().await;
    scene.app.advance(600).await;
    let early = json!({"status": "COMPLETED", "kwh": 2, "end_date_time": scene.app.now(), "last_updated": scene.app.now()});
    scene.report(&with(theirs.clone(), early)).await;
    scene.app.advance(3600).await;
    let end = scene.app.now();
    scene.complete(&theirs).await;
    let shown = scene.shown(&session).await;
    assert_has!(shown, {"status": "completed", "energy_consumed": 20_000, "amount_due": 968});
    let ended = shown["session_ended"].as_str().expect("a time");
    assert!(
        Timestamp::parse(ended).is_ok_and(|ended| ended >= end),
        "{ended}"
    );
    scene.pass(3 * 86_400).await;
    assert_has!(scene.shown(&session).await, {"amount_due": 968, "review": null});
}

#[tokio::test]
async fn a_last_report_beyond_reason_is_not_billed_without_a_cdr() {
    let (scene, session, theirs) = Scene::charging().await;
    let now = scene.app.now();
    let end = json!({"status": "COMPLETED", "kwh": 10, "end_date_time": now, "last_updated": now,
        "total_cost": {"excl_vat": 5_000, "incl_vat": 6_050}});
    scene.report(&with(theirs, end)).await;
    assert_eq!(scene.shown(&session).await["review"], Value::Null);
    scene.pass(3 * 86_400).await;
    assert_has!(scene.shown(&session).await["review"], {"network": 605_000, "ours": 484});
    assert_eq!(scene.invoice().await.1, []);
    decide(&scene, &session, accept()).await.expect(200);
    assert_has!(scene.shown(&session).await, {"cost_source": "network_session"});
    assert_eq!(scene.invoice().await.1, [energy(605_000)]);
}

#[tokio::test]
async fn a_power_that_grows_during_a_session_opens_no_review() {
    for (has_grown, is_billed) in [(true, true), (true, false), (false, true)] {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        scene.app.advance(3600).await;
        if has_grown {
            let mut location = fixture("location");
            location["last_updated"] = Scene::text(scene.app.now());
            location["evses"][0]["connectors"][0]["max_electric_power"] = json!(150_000);
            scene.cpo.put("/locations/NL/EXA/AMS-1", &location).await;
            scene.app.drain().await;
        }
        if is_billed {
            scene.bill(&costing(&scene, &theirs, 60.0, 29.04)).await;
        } else {
            let now = Scene::text(scene.app.now());
            let end = json!({"status": "COMPLETED", "kwh": 60, "end_date_time": now, "last_updated": now,
                "total_cost": {"excl_vat": 24.0, "incl_vat": 29.04}});
            scene.report(&with(theirs, end)).await;
            scene.pass(4 * 86_400).await;
        }
        let shown = scene.shown(&session).await;
        if has_grown {
            assert_has!(shown, {"status": "completed", "amount_due": 2904, "review": null});
        } else {
            assert_eq!(shown["review"]["reason"], "energy");
        }
    }
}
