//! Tests of `POST /v1/invoices`: which sessions and fees a draft bills, and of drafts that are requested at the same time.

use std::collections::HashSet;

use kernel::time::{days, hours, millis, minutes};
use serde_json::{Value, json};
use tests::{Crew, TestApp, assert_has, cases, fleet, id_of, path_of, with};

use super::{act, done, draft, no_show, sessions, window};

#[tokio::test]
async fn a_draft_has_a_line_per_session_and_every_specified_field() {
    let (app, crew) = TestApp::with_crew().await;
    let session = app.completed_session(&crew, json!({})).await;
    let body = with(
        window(&app),
        json!({"fleet": crew.fleet, "description": "Memo", "metadata": {"k": "v"}}),
    );
    let invoice = app.alice.post_ok("/v1/invoices", body.clone()).await;
    let shown = app.alice.get_ok(&path_of(&session)).await;
    assert_eq!(shown["invoice"], id_of(&invoice));
    assert_has!(invoice["line_items"][0], {"charging_session": session, "charging_station": shown["charging_station"],
        "driver": crew.driver, "ended": shown["session_ended"], "id": session.replace("cs_", "li_"),
        "started": shown["session_started"], "vehicle": crew.vehicle});
    let created = kernel::Timestamp::parse(invoice["created"].as_str().expect("a time"));
    let due = created.expect("a time").plus(days(30));
    assert_has!(invoice, {"due_date": due, "fleet": crew.fleet, "period_end": body["period_end"], "period_start": body["period_start"]});
    app.snapshot("invoice_draft", &invoice);
    let path = path_of(id_of(&invoice));
    assert_eq!(app.alice.get_ok(&path).await, invoice);
    let lines = app.alice.get_ok(&format!("{path}/line_items")).await;
    assert_eq!(lines["data"], invoice["line_items"]);
    app.drain().await;
}

#[tokio::test]
async fn a_due_reservation_fee_is_a_line_of_exactly_one_invoice() {
    let app = TestApp::start_with(|options| options.reservation_fee = 300).await;
    let crew = app.crew(&app.alice).await;
    let other = app.crew(&app.alice).await;
    let good = app.payment_method("tok_success", json!({})).await;
    let poor = app.payment_method("tok_declined", json!({})).await;
    let before = app.now();
    let unpaid = no_show(&app, &crew, None).await;
    let declined = no_show(&app, &crew, Some(&poor)).await;
    let charged = no_show(&app, &crew, Some(&good)).await;
    let elsewhere = no_show(&app, &other, None).await;
    let session = app.completed_session(&crew, json!({})).await;
    let fee_due = async |id: &str| {
        let path = format!("/v1/reservations/{id}");
        app.alice.get_ok(&path).await["fee_due"].clone()
    };
    let body =
        json!({"period_start": before, "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let make = async || app.alice.post("/v1/invoices", body.clone()).await;
    let invoice = make().await;
    let id = invoice.id();
    let shown = async |id: &str| {
        let path = format!("/v1/reservations/{id}");
        app.alice.get_ok(&path).await
    };
    let fee = async |id: &str| {
        let reservation = shown(id).await;
        let station = reservation["charging_station"].as_str().expect("a station");
        let station = app.alice.get_ok(&path_of(station)).await["name"].clone();
        let moment = |name: &str| reservation[name].as_str().expect("a time").to_owned();
        let (from, until) = (moment("reserved_start"), moment("reserved_end"));
        let description = format!(
            "AB12 CDE, Ada Byron: Reservation, not used at {}, connector {}, {} {} to {} (Europe/London)",
            station.as_str().expect("a name"),
            reservation["connector"].as_str().expect("a connector"),
            &from[..10],
            &from[11..16],
            &until[11..16]
        );
        let tax =
            json!({"category": "Z", "country": null, "net": 300, "tax": 0, "tax_percent": "0"});
        json!({"id": id.replace("res_", "li_"), "amount": 300, "charging_session": null,
            "charging_station": reservation["charging_station"], "connector": reservation["connector"],
            "description": description, "driver": reservation["driver"], "driver_name": "Ada Byron",
            "duration_seconds": 3600, "ended": reservation["reserved_end"], "energy_wh": 0, "free": false, "net": 300,
            "price_check": null, "price_per_kwh": null, "quantity": 1, "registration_plate": "AB12 CDE", "reservation": id,
            "started": reservation["reserved_start"], "station_name": station, "tax": 0, "taxes": [tax], "type": "reservation_fee",
            "unit_amount": 300, "vehicle": reservation["vehicle"]})
    };
    let lines = invoice.body["line_items"]
        .as_array()
        .expect("lines")
        .clone();
    // The session began two hours ago, between the reservations.
    let fees = lines.iter().filter(|line| line["type"] != "energy_session");
    let fees: Vec<_> = fees.cloned().collect();
    // Fees that were charged before are on the invoice as paid, like sessions.
    for (found, reservation) in fees.iter().zip([&charged, &declined, &unpaid]) {
        assert_eq!(*found, fee(reservation).await);
    }
    assert_eq!((fees.len(), lines.len()), (3, 4));
    assert_has!(invoice.body, {"amount_due": 1190 + 600, "amount_paid": 300});
    let listed = format!("{}/line_items", path_of(&id));
    assert_eq!(app.alice.get_ok(&listed).await["data"], json!(lines));
    // They are on no other invoice until this one is void.
    assert_eq!(make().await.body["line_items"], json!([]));
    done(&app.alice, &id, "finalize", json!({})).await;
    done(&app.alice, &id, "void", json!({})).await;
    assert_eq!(fee_due(&unpaid).await, 300);
    let id = make().await.id();
    done(&app.alice, &id, "finalize", json!({})).await;
    let paid = act(&app.alice, &id, "pay", json!({"payment_method": good})).await;
    assert_eq!(paid.expect(200).body["amount_paid"], 1190 + 900);
    app.drain().await;
    assert_eq!(fee_due(&unpaid).await, 0);
    assert_eq!(fee_due(&declined).await, 0);
    let session = app.alice.get(&path_of(&session)).await;
    assert_eq!(session.expect(200).body["amount_due"], 0);
    assert_eq!(make().await.body["line_items"], json!([]));
    // The account's own invoice includes the other fleet's fee.
    assert_eq!(fee_due(&elsewhere).await, 300);
    let whole = with(body.clone(), json!({"fleet": null}));
    let whole = app.alice.post_ok("/v1/invoices", whole).await;
    assert_eq!(whole["line_items"], json!([fee(&elsewhere).await]));
    // A fee that was due before the window is not on an invoice of the window.
    let late = json!({"period_start": app.now(), "period_end": app.in_minutes(1)});
    let late = app.alice.post_ok("/v1/invoices", late).await;
    assert_eq!(late["line_items"], json!([]));
}

#[tokio::test]
async fn what_a_body_gets_wrong_is_an_invoice_validation_error() {
    let app = TestApp::start().await;
    let day = |day: &str| format!("2026-{day}T00:00:00Z");
    for (change, param) in cases! {
        {"period_end": day("01-01")} => "period_end",
        {"period_end": day("01-01"), "period_start": day("01-02")} => "period_end",
        {"period_end": "2027-01-02T00:00:00.001Z"} => "period_end",
        {"period_start": "yesterday"} => "period_start",
        {"currency": "EUR"} => "currency",
        {"description": "d".repeat(1001)} => "description",
        {"metadata": []} => "metadata",
    } {
        let body = json!({"period_start": day("01-01"), "period_end": day("02-01")});
        let answer = app.alice.post("/v1/invoices", with(body, change)).await;
        answer.expect_error(400, "invoice_validation_error", param);
    }
    let missing = json!({"period_start": day("01-01")});
    let missing = app.alice.post("/v1/invoices", missing).await;
    assert_eq!(missing.error().3, Some("period_end"));
    let unknown = with(window(&app), json!({"amount_due": 1}));
    let unknown = app.alice.post("/v1/invoices", unknown).await;
    unknown.expect_error(400, None, "amount_due");
    let stranger = app.other_account(kernel::Mode::Test).await;
    let theirs = stranger.create("/v1/fleets", fleet()).await;
    for id in ["flt_1", &theirs] {
        let body = with(window(&app), json!({"fleet": id}));
        let answer = app.alice.post("/v1/invoices", body).await;
        answer.expect_error(404, "fleet_not_found", "fleet");
    }
    app.drain().await;
}

#[tokio::test]
async fn an_invoice_bills_sessions_of_its_period_currency_and_fleet() {
    let app = TestApp::start().await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    let now = app.now();
    let (start, end) = (now.plus(hours(-1)), now.plus(minutes(-1)));
    let session = async |crew: &Crew, change: Value| app.completed_session(crew, change).await;
    let first = session(&crew, json!({"session_ended": start})).await;
    let last = session(&crew, json!({"session_ended": end.plus(millis(-1))})).await;
    session(&crew, json!({"session_ended": start.plus(millis(-1))})).await;
    session(&crew, json!({"session_ended": end})).await;
    let euros = session(&crew, json!({"session_ended": start, "currency": "eur"})).await;
    session(&crew, json!({"session_ended": start, "status": "failed"})).await;
    session(&crew, json!({"session_ended": null, "status": "active"})).await;
    let elsewhere = session(&other, json!({"session_ended": start})).await;
    let body = json!({"period_start": start, "period_end": end});
    let draft = async |change: Value| {
        let body = with(body.clone(), change);
        app.alice.post_ok("/v1/invoices", body).await
    };
    let of_fleet = draft(json!({"fleet": crew.fleet})).await;
    let billed: HashSet<&str> = sessions(&of_fleet).into_iter().collect();
    assert_eq!(billed, HashSet::from([first.as_str(), last.as_str()]));
    assert_has!(of_fleet, {"amount_due": 2380, "currency": "usd"});
    let in_euros = draft(json!({"currency": "eur"})).await;
    assert_eq!(in_euros["fleet"], Value::Null);
    assert_eq!(sessions(&in_euros), [euros]);
    let of_account = draft(json!({})).await;
    assert_eq!(sessions(&of_account), [elsewhere]);
    assert_eq!(draft(json!({})).await["line_items"], json!([]));
    let path = format!("/v1/fleets/{}", crew.fleet);
    let pounds = json!({"preferences": {"default_currency": "gbp"}});
    app.alice.post_ok(&path, pounds).await;
    assert_eq!(draft(json!({"fleet": crew.fleet})).await["currency"], "gbp");
    app.drain().await;
}

#[tokio::test]
async fn what_was_paid_before_has_its_line_and_is_not_due_again() {
    let (app, crew) = TestApp::with_crew().await;
    let paid = json!({"amount_due": 0, "amount_paid": 1190});
    app.completed_session(&crew, paid).await;
    app.completed_session(&crew, json!({})).await;
    let id = draft(&app, &crew).await;
    let path = format!("/v1/invoices/{id}");
    let shown = app.alice.get_ok(&path).await;
    assert_has!(shown, {"amount_due": 1190, "amount_paid": 1190});
    assert_eq!(sessions(&shown).len(), 2);
    app.drain().await;
}

#[tokio::test]
async fn a_session_is_on_one_invoice_until_that_is_voided_or_deleted() {
    let (app, crew) = TestApp::with_crew().await;
    let session = app.completed_session(&crew, json!({})).await;
    let shown = async |id: String| app.alice.get_ok(&path_of(&id)).await;
    let first = draft(&app, &crew).await;
    assert_eq!(sessions(&shown(first.clone()).await), [session.as_str()]);
    let empty = draft(&app, &crew).await;
    assert!(sessions(&shown(empty).await).is_empty());

    let deleted = app.alice.delete_ok(&path_of(&first)).await;
    let want = json!({"id": first, "object": "invoice", "deleted": true});
    assert_eq!(deleted, want);
    let second = draft(&app, &crew).await;
    assert_eq!(sessions(&shown(second.clone()).await), [session.as_str()]);

    done(&app.alice, &second, "finalize", json!({})).await;
    let refused = app.alice.delete(&path_of(&second)).await;
    refused.expect_error(409, None, "invoice");
    let voided = done(&app.alice, &second, "void", json!({})).await;
    assert_eq!(voided["status"], "void");
    assert_eq!(sessions(&voided), [session.as_str()]);
    let third = draft(&app, &crew).await;
    assert_eq!(sessions(&shown(third).await), [session.as_str()]);
    app.drain().await;
}

#[tokio::test]
async fn of_many_invoices_at_once_one_gets_the_session() {
    let (app, crew) = TestApp::with_crew().await;
    for _ in 0..5 {
        app.completed_session(&crew, json!({})).await;
    }
    let body = with(window(&app), json!({"fleet": crew.fleet}));
    let requests = (0..8).map(|_| {
        let (client, body) = (app.alice.clone(), body.clone());
        tokio::spawn(async move { client.post("/v1/invoices", body).await })
    });
    let mut lines = 0;
    for request in requests.collect::<Vec<_>>() {
        let answer = request.await.expect("an answer");
        assert!(matches!(answer.status, 200 | 503), "{}", answer.text);
        if answer.status == 200 {
            lines += sessions(&answer.body).len();
        }
    }
    assert_eq!(lines, 5);
    app.drain().await;
}

#[tokio::test]
async fn a_repeated_request_makes_no_second_invoice() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let body = window(&app).to_string();
    let key = [("idempotency-key", "one")];
    let mut answers = Vec::new();
    for _ in 0..2 {
        let response = app
            .alice
            .send("POST", "/v1/invoices", Some(body.clone()), &key)
            .await;
        answers.push(response.expect(200));
    }
    assert_eq!(answers[0].body, answers[1].body);
    assert_eq!(app.alice.get("/v1/invoices").await.ids().len(), 1);
    app.drain().await;
}

#[tokio::test]
async fn a_session_of_unknown_price_is_not_called_free() {
    let (app, crew) = TestApp::with_crew().await;
    let reservations_only = json!([{"currency": "usd", "price": 90, "step_size": 1, "tax": "vat", "tax_included": true,
        "tax_percent": "20", "type": "ENERGY", "restrictions": {"reservation": "RESERVATION"}}]);
    let ended = json!([{"currency": "usd", "price": 90, "step_size": 1, "tax": "vat", "tax_included": true,
        "tax_percent": "20", "type": "ENERGY", "restrictions": {"end_date_time": app.in_minutes(-1)}}]);
    for pricing in [json!([]), reservations_only, ended] {
        let station = app.station(json!({"pricing": pricing})).await;
        let session = app.session(&crew, &station);
        let started = app.alice.post("/v1/charging_sessions", session).await;
        let started = started.expect(200);
        assert_eq!(started.body["cost_source"], "unknown");
        app.advance(600).await;
        let path = format!("/v1/charging_sessions/{}/stop", started.id());
        let stopped = app.alice.post_ok(&path, json!({})).await;
        assert_has!(stopped, {"cost_source": "unknown", "amount_due": 0});
    }
    let id = draft(&app, &crew).await;
    let lines = app.alice.get_ok(&path_of(&id)).await["line_items"].clone();
    let lines = lines.as_array().expect("lines");
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert_eq!([&line["amount"], &line["free"]], [&json!(0), &json!(false)]);
        let description = line["description"].as_str().expect("a text");
        assert!(description.ends_with(", price unknown"), "{description}");
    }
}
