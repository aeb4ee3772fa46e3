//! `/v1/reports`, and their files.

use std::sync::Arc;

use functions::job::Job as _;
use functions::jobs;
use functions::reports::generate::GenerateReport;
use functions::stream::sweep;
use kernel::Id;
use kernel::time::{days, minutes};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::clock::Hand;
use tests::contract::DOCUMENT;
use tests::faulty::{Step, scripted};
use tests::{
    Client, Crew, Receiver, TestApp, TestResponse, assert_has, cases, driver, fleet, id_of,
    path_of, serve, with,
};
use web::settings::Settings;

use crate::books::{own, seller};

/// The body of a report on the last hour.
fn body(app: &TestApp, kind: &str, change: Value) -> Value {
    let parameters =
        json!({"type": kind, "period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    json!({"parameters": with(parameters, change)})
}

/// Creates a report, and returns it when it is completed.
async fn succeeded_report(app: &TestApp, body: Value) -> TestResponse {
    let id = app.alice.create("/v1/reports", body).await;
    app.drain().await;
    let shown = app.alice.get(&path_of(&id)).await;
    assert_eq!(shown.body["status"], "succeeded", "{}", shown.text);
    shown
}

/// Downloads the file of a report without a key.
async fn file(app: &TestApp, report: &TestResponse) -> TestResponse {
    let url = report.body["url"].as_str().expect("a link");
    app.anon.get(url).await.expect(200)
}

/// The entries of a report in JSON.
async fn entries(app: &TestApp, kind: &str, change: Value) -> Vec<Value> {
    let json = with(json!({"format": "json"}), change);
    let report = succeeded_report(app, body(app, kind, json)).await;
    let file = file(app, &report).await.body;
    file.as_array().expect("an array").clone()
}

#[tokio::test]
async fn a_report_is_pending_and_then_has_a_file_and_an_event() {
    let app = TestApp::start().await;
    let receiver = Receiver::subscribed(&app.alice, &["report.succeeded"]).await;
    let crew = app.crew(&app.alice).await;
    app.completed_session(&crew, json!({})).await;
    let request = body(&app, "charging_summary", json!({"group_by": "fleet"}));
    let request = with(request, json!({"fleet": crew.fleet}));
    let report = app
        .alice
        .post("/v1/reports", request.clone())
        .await
        .expect(200);
    let parameters = with(
        request["parameters"].clone(),
        json!({"filters": {}, "format": "csv"}),
    );
    let pending = json!({"id": report.id(), "object": "report", "account": app.alice.account, "failed_reason": null,
        "created": report.body["created"], "fleet": crew.fleet, "parameters": parameters, "sha256": null, "size": 0,
        "status": "pending", "succeeded_at": null, "time_zone": "UTC", "totals": null, "type": "csv", "url": null});
    assert_eq!(report.body, pending);
    app.drain().await;
    let shown = app
        .alice
        .get(&format!("/v1/reports/{}", report.id()))
        .await
        .expect(200);
    let file = file(&app, &shown).await;
    let want = format!(
        "fleet,fleet_name,period_start,period_end,time_zone,currency,sessions,energy_wh,duration_seconds,\
        gross_minor_units,gross,charging_seconds,idle_seconds\r\n\
        {},Night shift,{},{},UTC,usd,1,30000,7140,1190,11.90,7140,0\r\n",
        crew.fleet,
        parameters["period_start"].as_str().expect("a time"),
        parameters["period_end"].as_str().expect("a time"),
    );
    assert_eq!(file.text, want);
    assert!(file.header("content-type").starts_with("text/csv"));
    let done = json!({"sha256": hex::encode(Sha256::digest(&file.text)), "size": file.text.len(), "status": "succeeded",
        "succeeded_at": shown.body["succeeded_at"], "url": shown.body["url"], "totals": [{"currency": "usd",
        "sessions": 1, "reservation_fees": 0, "adjustments": 0, "energy_wh": 30_000, "duration_seconds": 7140, "net": 1000,
        "net_decimal": "10.00", "tax": 190, "tax_decimal": "1.90", "gross": 1190, "gross_decimal": "11.90", "paid": 0,
        "paid_decimal": "0.00", "due": 1190, "due_decimal": "11.90", "credited": 0, "credited_decimal": "0.00",
        "refunded": 0, "refunded_decimal": "0.00"}]});
    assert_eq!(shown.body, with(pending, done));
    let in_event = &receiver.received()[0].event["data"]["object"];
    assert_eq!(*in_event, with(shown.body.clone(), json!({"url": null})));
}

#[tokio::test]
async fn there_is_no_link_to_a_file_that_is_no_longer_kept() {
    let app = TestApp::with_clock().await;
    let report = succeeded_report(&app, json!({})).await;
    let settings = |settings: &mut Settings| settings.report_retention = Some(days(2));
    let url = serve(app.app_with_settings(settings)).await;
    let client = Client::new(&url, app.alice.key.as_deref());
    let path = path_of(&report.id());
    app.advance(2 * 24 * 3600 - 60).await;
    let shown = client.get(&path).await;
    let kept = file(&app, &shown).await;
    assert_eq!(report.body["size"], kept.text.len());
    app.advance(61).await;
    let gone = with(report.body.clone(), json!({"url": null}));
    assert_eq!(client.get_ok(&path).await, gone);
    let listed = client.get_ok("/v1/reports?status=succeeded").await;
    assert_eq!(listed["data"], json!([gone]));
    // Without a retention the file is kept for good.
    assert!(app.alice.get_ok(&path).await["url"].is_string());
}

#[tokio::test]
async fn a_link_holds_for_fifteen_minutes_and_is_signed_anew() {
    let app = TestApp::start().await;
    let report = succeeded_report(&app, json!({})).await;
    let url = report.body["url"].as_str().expect("a link").to_owned();
    let (rest, signature) = url.rsplit_once('=').expect("a signature");
    let forged = format!("{rest}={}", "0".repeat(signature.len()));
    for wrong in [
        forged,
        url.replace("expires=", "expires=9"),
        url.replace(".csv", ".json"),
    ] {
        assert_eq!(app.anon.get(&wrong).await.status, 403, "{wrong}");
    }
    app.advance(14 * 60).await;
    app.anon.get_ok(&url).await;
    app.advance(60).await;
    assert_eq!(app.anon.get(&url).await.status, 403);
    let again = app.alice.get(&format!("/v1/reports/{}", report.id())).await;
    file(&app, &again).await;
    let listed = app.alice.get_ok("/v1/reports?status=succeeded").await;
    app.anon
        .get_ok(listed["data"][0]["url"].as_str().expect("a link"))
        .await;
}

#[tokio::test]
async fn an_empty_report_has_a_header_and_defaults_to_last_month() {
    let app = TestApp::start().await;
    let report = succeeded_report(&app, json!({})).await;
    assert_eq!(report.body["parameters"]["type"], "charging_summary");
    let start = report.body["parameters"]["period_start"]
        .as_str()
        .expect("a time");
    assert!(start.ends_with("-01T00:00:00.000Z"), "{start}");
    assert_eq!(
        file(&app, &report).await.text,
        "period_start,period_end,time_zone,currency,sessions,energy_wh,duration_seconds,gross_minor_units,gross,charging_seconds,idle_seconds\r\n"
    );
    assert_eq!(report.body["totals"], json!([]));
}

#[tokio::test]
async fn what_a_body_gets_wrong_is_a_report_validation_error() {
    let app = TestApp::start().await;
    let invalid = Some("report_validation_error");
    for (change, param) in cases! {
        {"type": "guess"} => "parameters.type",
        {"period_end": app.in_minutes(-60)} => "parameters.period_end",
        {"period_end": "soon"} => "parameters.period_end",
        {"group_by": "day"} => "parameters.group_by",
        {"format": "xlsx"} => "parameters.format",
        {"filters": {"colour": ["red"]}} => "parameters.filters.colour",
        {"filters": {"vehicle": []}} => "parameters.filters.vehicle",
        {"filters": {"vehicle": ["veh_1"]}} => "parameters.filters.vehicle[0]",
    } {
        let answer = app
            .alice
            .post("/v1/reports", body(&app, "cost_analysis", change))
            .await;
        answer.expect_error(400, invalid, param);
    }
    let missing = app
        .alice
        .post("/v1/reports", json!({"parameters": {}}))
        .await;
    missing.expect_error(400, invalid, "parameters.type");
    let unknown = app
        .alice
        .post("/v1/reports", json!({"fleet": "flt_1"}))
        .await;
    unknown.expect_error(404, "fleet_not_found", "fleet");
    app.drain().await;
}

#[tokio::test]
async fn every_type_and_grouping_adds_up_to_the_sessions() {
    let app = TestApp::start().await;
    let crews = [app.crew(&app.alice).await, app.crew(&app.alice).await];
    let station = app.station(json!({})).await;
    for (crew, change) in [
        (&crews[0], json!({"amount_due": 1})),
        (
            &crews[0],
            json!({"amount_due": 1189, "amount_paid": 1, "charging_station": station}),
        ),
        (
            &crews[1],
            json!({"status": "failed", "amount_due": 0, "energy_consumed": 5}),
        ),
        (&crews[1], json!({"currency": "jpy", "amount_due": 7})),
    ] {
        app.completed_session(crew, change).await;
    }
    app.completed_session(
        &crews[0],
        json!({"status": "active", "session_ended": null}),
    )
    .await;
    let sum = |entries: &[Value], name: &str| {
        entries
            .iter()
            .filter_map(|entry| entry[name].as_i64())
            .sum::<i64>()
    };
    let types = DOCUMENT["components"]["schemas"]["ReportType"]["enum"].as_array();
    for kind in types.expect("types").iter().filter_map(Value::as_str) {
        // A report of carbon has no amounts, so it adds up the sessions of every currency.
        let (is_carbon, gross) = (kind == "carbon", 1 + 1190 + 7);
        for (group_by, groups) in [
            ("vehicle", 3),
            ("driver", 3),
            ("fleet", 3),
            ("station", 3),
            ("month", 2),
            ("session", 4),
        ] {
            let entries = entries(&app, kind, json!({"group_by": group_by})).await;
            let groups = groups - usize::from(is_carbon && group_by != "session");
            assert_eq!(entries.len(), groups, "{kind} {group_by}");
            assert_eq!(sum(&entries, "sessions"), 4, "{kind} {group_by}");
            assert_eq!(sum(&entries, "energy_wh"), 90_005, "{kind} {group_by}");
            let gross = if is_carbon { 0 } else { gross };
            assert_eq!(
                sum(&entries, "gross_minor_units"),
                gross,
                "{kind} {group_by}"
            );
        }
        let rows = entries(&app, kind, json!({})).await.len();
        assert_eq!(rows, if is_carbon { 1 } else { 2 }, "{kind}");
    }
    let of = |crew: &Crew| json!({"driver": [crew.driver]});
    for (filters, sessions) in [
        (json!({"vehicle": [crews[0].vehicle]}), 2),
        (of(&crews[1]), 2),
        (json!({"station": [station]}), 1),
        (json!({"session_status": ["failed"]}), 1),
        (
            with(of(&crews[1]), json!({"session_status": ["completed"]})),
            1,
        ),
        (with(of(&crews[1]), json!({"station": [station]})), 0),
    ] {
        let entries = entries(&app, "usage_breakdown", json!({"filters": filters})).await;
        assert_eq!(sum(&entries, "sessions"), sessions, "{filters}");
    }
    let request = with(
        body(&app, "charging_summary", json!({"format": "json"})),
        json!({"fleet": crews[0].fleet}),
    );
    let report = succeeded_report(&app, request).await;
    assert_eq!(
        sum(
            file(&app, &report).await.body.as_array().expect("objects"),
            "sessions"
        ),
        2
    );
}

#[tokio::test]
async fn an_active_session_is_reported_as_it_is_now() {
    let (app, crew, station) = TestApp::with_station().await;
    let session = app.session(&crew, &station);
    let session = app.alice.create("/v1/charging_sessions", session).await;
    app.advance(1800).await;
    let change = json!({"filters": {"session_status": ["active"]}});
    let entries = entries(&app, "charging_summary", change).await;
    let shown = app.alice.get_ok(&path_of(&session)).await;
    // The clock goes on between the two: at 22 kW some 6 Wh a second.
    let energy = entries[0]["energy_wh"].as_i64().expect("an integer");
    let later = shown["energy_consumed"].as_i64().expect("an integer") - energy;
    assert!((0..1000).contains(&later), "{energy} Wh, then {shown}");
    assert_has!(entries[0], {"sessions": 1, "charging_seconds": entries[0]["duration_seconds"]});
    let seconds = entries[0]["duration_seconds"].as_i64();
    assert!(
        seconds.is_some_and(|seconds| (1800..1900).contains(&seconds)),
        "{seconds:?}"
    );
    assert!((11_000..12_000).contains(&energy), "{energy}");
    let gross = entries[0]["gross_minor_units"]
        .as_i64()
        .expect("an integer");
    assert!((495..540).contains(&gross), "{gross}");
}

#[tokio::test]
async fn a_name_that_looks_like_a_formula_is_a_text() {
    let app = TestApp::start().await;
    let fleet = app
        .alice
        .create(
            "/v1/fleets",
            with(fleet(), json!({"name": "=cmd|' /C calc'!A0"})),
        )
        .await;
    let driver = app.alice.create("/v1/drivers", driver()).await;
    let crew = Crew {
        vehicle: format!("veh_{:032x}", 1),
        fleet,
        driver,
    };
    app.completed_session(&crew, json!({})).await;
    let report = succeeded_report(
        &app,
        body(&app, "charging_summary", json!({"group_by": "fleet"})),
    )
    .await;
    let file = file(&app, &report).await.text;
    assert!(
        file.contains(&format!("{},'=cmd|' /C calc'!A0,", crew.fleet)),
        "{file}"
    );
}

#[tokio::test]
async fn a_report_fails_after_three_attempts_to_write_its_file() {
    let data = std::env::temp_dir().join(format!("reports-{}", std::process::id()));
    std::fs::create_dir_all(&data).expect("a folder");
    // A file is where the folder of the files would be.
    std::fs::write(data.join("files"), "").expect("a file");
    let app = TestApp::start_with(|options| {
        options.memory = false;
        options.data = data.clone();
    })
    .await;
    let id = app.alice.create("/v1/reports", json!({})).await;
    let path = format!("/v1/reports/{id}");
    for _ in 0..2 {
        app.drain().await;
        assert_eq!(app.alice.get_ok(&path).await["status"], "pending");
        app.advance(31).await;
    }
    let failed = app.alice.get_ok(&path).await;
    assert_has!(failed, {"status": "failed", "url": null});
    assert!(failed["failed_reason"].is_string());
    assert_eq!(app.alice.get("/v1/reports?status=failed").await.ids(), [id]);
    assert_eq!(
        app.alice
            .get("/v1/events?type=report.failed")
            .await
            .ids()
            .len(),
        1
    );
    drop(app);
    std::fs::remove_dir_all(&data).expect("the folder goes");
}

#[tokio::test]
async fn a_report_whose_message_was_lost_is_made_all_the_same() {
    let app = TestApp::start().await;
    let id = app.alice.create("/v1/reports", json!({})).await;
    app.running().lose_triggers().await.expect("lost");
    app.advance(3 * 60).await;
    let path = format!("/v1/reports/{id}");
    assert_eq!(app.alice.get_ok(&path).await["status"], "pending");
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "succeeded");
}

#[tokio::test]
async fn a_filter_names_only_what_is_there_for_this_account() {
    let (app, crew) = TestApp::with_crew().await;
    let bob = app.other_account(kernel::Mode::Test).await;
    let foreign = app.crew(&bob).await;
    let station = app.station(json!({})).await;
    let report = |filters: Value| {
        json!({"parameters": {"type": "charging_summary", "period_start": "2026-01-01T00:00:00Z",
            "period_end": "2026-02-01T00:00:00Z", "filters": filters}})
    };
    let unknown = |kind| kernel::Id::from_number(kind, 7).to_string();
    for (filters, code, param) in [
        (
            json!({"vehicle": [crew.vehicle, foreign.vehicle]}),
            "vehicle_not_found",
            "vehicle[1]",
        ),
        (
            json!({"vehicle": [unknown(kernel::Kind::Vehicle)]}),
            "vehicle_not_found",
            "vehicle[0]",
        ),
        (
            json!({"driver": [foreign.driver]}),
            "driver_not_found",
            "driver[0]",
        ),
        (
            json!({"driver": [crew.driver, crew.driver, unknown(kernel::Kind::Driver)]}),
            "driver_not_found",
            "driver[2]",
        ),
        (
            json!({"station": [station, unknown(kernel::Kind::ChargingStation)]}),
            "charging_station_not_found",
            "station[1]",
        ),
    ] {
        let refused = app.alice.post("/v1/reports", report(filters.clone())).await;
        let param = format!("parameters.filters.{param}");
        refused.expect_error(404, code, param.as_str());
    }
    assert!(app.alice.walk("/v1/reports").await.is_empty());
    let filters = json!({"vehicle": [crew.vehicle], "driver": [crew.driver], "station": [station]});
    app.alice.post_ok("/v1/reports", report(filters)).await;
    app.drain().await;
}

#[tokio::test]
async fn a_sessions_cost_its_invoice_line_and_the_cost_report_agree() {
    let app = TestApp::start_with(|options| options.reservation_fee = 250).await;
    let crew = app.crew(&app.alice).await;
    let zone = json!({"timezone": "Europe/Amsterdam"});
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    app.alice.post_ok(&fleet, zone).await;
    let driver = format!("/v1/drivers/{}", crew.driver);
    let pounds = json!({"preferences": {"currency": "gbp"}});
    app.alice.post_ok(&driver, pounds).await;
    let price = |kind: &str, price: i64| {
        json!({"currency": "gbp", "price": price, "step_size": 1, "tax": "vat", "tax_included": false,
            "tax_percent": "17.5", "type": kind})
    };
    let pricing = [
        price("ENERGY", 41),
        price("PARKING_TIME", 95),
        price("FLAT", 33),
    ];
    let station = app.station(json!({"pricing": pricing})).await;
    let before = app.now();
    // The reservation is fulfilled, its fee is due, and the vehicle is full after a quarter of its time.
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let reservation = with(app.reservation(&crew, 20), area);
    let reservation = app.alice.create("/v1/reservations", reservation).await;
    app.drain().await;
    app.advance(20 * 60).await;
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let read = json!({"battery": {"level": 90}});
    app.alice.post_ok(&telemetry, read).await;
    let reservation = format!("/v1/reservations/{reservation}");
    let reserved = app.alice.get_ok(&reservation).await;
    let start = with(
        app.session(&crew, &station),
        json!({"connector": reserved["connector"]}),
    );
    let session = app.alice.create("/v1/charging_sessions", start).await;
    app.advance(3600).await;
    let path = format!("/v1/charging_sessions/{session}");
    app.alice.post_ok(&format!("{path}/stop"), json!({})).await;
    app.drain().await;
    let period =
        json!({"fleet": crew.fleet, "period_start": before, "period_end": app.in_minutes(1)});
    let draft = with(period.clone(), json!({"currency": "gbp"}));
    let invoice = app.alice.post_ok("/v1/invoices", draft).await;
    let shown = app.alice.get_ok(&path).await;
    let reserved = app.alice.get_ok(&reservation).await;
    assert_eq!(
        (&shown["reservation"], &reserved["charging_session"]),
        (&reserved["id"], &shown["id"])
    );
    assert_eq!(shown["invoice"], invoice["id"], "{shown} {invoice}");
    // The session: its lines add up.
    let number = |object: &Value, name: &str| object[name].as_i64().expect("a number");
    let lines = shown["cost_breakdown"].as_array().expect("lines");
    let kinds: Vec<_> = lines
        .iter()
        .map(|line| line["type"].as_str().expect("a type"))
        .collect();
    assert_eq!(kinds, ["FLAT", "ENERGY", "PARKING_TIME"]);
    for (line, whole) in [("net", "net"), ("tax", "tax"), ("gross", "amount_due")] {
        let sum: i64 = lines.iter().map(|component| number(component, line)).sum();
        assert_eq!(sum, number(&shown, whole), "{line}");
    }
    // The invoice: a line for the session with the same amounts, also in words, and the fee.
    let items = invoice["line_items"].as_array().expect("lines");
    let of = |kind: &str| {
        items
            .iter()
            .find(|line| line["type"] == kind)
            .expect("a line")
    };
    let (billed, fee) = (of("energy_session"), of("reservation_fee"));
    for (line, session) in [
        ("amount", "amount_due"),
        ("net", "net"),
        ("tax", "tax"),
        ("energy_wh", "energy_consumed"),
        ("started", "session_started"),
        ("ended", "session_ended"),
        ("driver", "driver"),
        ("vehicle", "vehicle"),
        ("connector", "connector"),
        ("charging_station", "charging_station"),
    ] {
        assert_eq!(billed[line], shown[session], "{line}");
    }
    assert_has!(billed, {"price_per_kwh": "41", "station_name": "Depot", "free": false});
    let words = billed["description"].as_str().expect("a text");
    for part in ["registration_plate", "driver_name"] {
        let name = billed[part].as_str().expect("a name");
        assert!(words.contains(name), "{words}");
    }
    assert_eq!((items.len(), &fee["amount"]), (2, &json!(250)));
    assert_eq!(
        number(&invoice, "amount_due"),
        number(billed, "amount") + 250
    );
    // The report, as a whole and session by session.
    let parameters = json!({"type": "cost_analysis", "period_start": before, "period_end": app.in_minutes(1),
        "group_by": "session", "format": "json"});
    let report =
        succeeded_report(&app, json!({"fleet": crew.fleet, "parameters": parameters})).await;
    assert_eq!(report.body["time_zone"], "Europe/Amsterdam");
    let totals = &report.body["totals"][0];
    assert_eq!(totals["gross"], invoice["amount_due"]);
    let sum = |name: &str| items.iter().map(|line| number(line, name)).sum::<i64>();
    assert_eq!(
        (number(totals, "net"), number(totals, "tax")),
        (sum("net"), sum("tax"))
    );
    let gross = number(totals, "gross");
    let decimal = format!("{}.{:02}", gross / 100, gross % 100);
    assert_eq!(totals["gross_decimal"], decimal);
    let entries = file(&app, &report).await.body;
    let entries = entries.as_array().expect("objects");
    let entry = entries
        .iter()
        .find(|entry| entry["session"] == shown["id"])
        .expect("an item");
    assert_eq!(entry["gross_minor_units"], shown["amount_due"]);
    assert_has!(entry, {"registration_plate": billed["registration_plate"], "invoice": invoice["id"],
        "time_zone": "Europe/Amsterdam"});
    let fees: Vec<_> = entries
        .iter()
        .filter(|entry| entry["session"].is_null())
        .collect();
    assert_eq!((entries.len(), fees.len()), (2, 1));
    assert_has!(fees[0], {"reservation": reserved["id"], "gross": "2.50"});
}

/// Only lines can be attributed to fleets: a credit of an amount belongs to the account.
#[tokio::test]
async fn credits_of_lines_count_in_the_reports_of_their_fleets() {
    let app = TestApp::start().await;
    let seller = json!({"billing_details": seller(), "registration_number": "HRB 1"});
    app.alice.post_ok(&own(&app.alice), seller).await;
    let (crew, other) = (app.crew(&app.alice).await, app.crew(&app.alice).await);
    for (crew, amount) in [(&crew, 1190), (&crew, 595), (&other, 714)] {
        app.completed_session(crew, json!({"amount_due": amount}))
            .await;
    }
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let draft = app.alice.post_ok("/v1/invoices", window).await;
    let lines = draft["line_items"].as_array().expect("lines");
    let line = |amount: i64| {
        let line = lines.iter().find(|line| line["amount"] == amount);
        line.expect("a line")["id"].clone()
    };
    let credit = async |body: Value| {
        let body = with(json!({"invoice": draft["id"]}), body);
        app.alice.post_ok("/v1/credit_notes", body).await
    };
    credit(json!({"lines": [{"line_item": line(595), "amount": 119}, {"line_item": line(714), "amount": 14}]})).await;
    let finalize = format!("{}/finalize", path_of(id_of(&draft)));
    app.alice.post_ok(&finalize, json!({})).await;
    credit(json!({"lines": [{"line_item": line(1190), "amount": 238}, {"line_item": line(714)}]}))
        .await;
    credit(json!({"amount": 100})).await;
    app.advance(1).await;
    let sums = async |fleet: Option<&str>| {
        let body = with(
            body(&app, "cost_analysis", json!({})),
            json!({"fleet": fleet}),
        );
        let report = succeeded_report(&app, body).await.body;
        ["adjustments", "gross", "credited", "due"].map(|name| report["totals"][0][name].clone())
    };
    assert_eq!(sums(Some(&crew.fleet)).await, [1, 1666, 238, 1428]);
    assert_eq!(sums(Some(&other.fleet)).await, [1, 700, 700, 0]);
    assert_eq!(sums(None).await, [1, 2366, 1038, 1328]);
    let by_fleet = entries(&app, "cost_analysis", json!({"group_by": "fleet"})).await;
    let mut credited: Vec<(Value, Value)> = by_fleet
        .into_iter()
        .map(|row| (row["fleet"].clone(), row["credited"].clone()))
        .collect();
    credited.sort_by_key(|(_, credited)| credited.to_string());
    let expected = [
        (Value::Null, json!("1.00")),
        (json!(crew.fleet), json!("2.38")),
        (json!(other.fleet), json!("7.00")),
    ];
    assert_eq!(credited, expected);
    // Once the invoice is paid, a credit of a line is refunded, and counts in the same fleet.
    let card = app.payment_method("tok_success", json!({})).await;
    let pay = format!("{}/pay", path_of(id_of(&draft)));
    app.alice
        .post_ok(&pay, json!({"payment_method": card}))
        .await;
    credit(json!({"lines": [{"line_item": line(1190), "amount": 119}]})).await;
    app.drain().await;
    app.advance(1).await;
    for (fleet, refunded) in [
        (Some(&crew.fleet), 119),
        (Some(&other.fleet), 0),
        (None, 119),
    ] {
        let body = with(
            body(&app, "cost_analysis", json!({})),
            json!({"fleet": fleet}),
        );
        let report = succeeded_report(&app, body).await.body;
        assert_eq!(report["totals"][0]["refunded"], refunded);
    }
}

#[tokio::test]
async fn a_carbon_report_shows_grams_distance_and_consumption() {
    let (app, crew) = TestApp::with_crew().await;
    let mix = json!({"carbon_g_per_kwh": 41.5, "is_green_energy": false, "nuclear_waste_g_per_kwh": null, "product_name": null,
        "sources": [{"source": "wind", "percent": 80.0}, {"source": "gas", "percent": 20.0}], "supplier_name": null});
    let station = app.station(json!({"energy_mix": mix})).await;
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let mut energies = Vec::new();
    for (unit, value) in [("KMS", 40_000.0), ("MILES", 25_000.0)] {
        let read = json!({"battery": {"level": 50}, "odometer": {"unit": unit, "value": value}});
        app.alice.post_ok(&telemetry, read).await;
        let start = app.session(&crew, &station);
        let session = app.alice.create("/v1/charging_sessions", start).await;
        app.advance(600).await;
        let stop = format!("/v1/charging_sessions/{session}/stop");
        let stopped = app.alice.post_ok(&stop, json!({})).await;
        energies.push(stopped["energy_consumed"].as_i64().expect("Wh"));
        app.advance(600).await;
    }
    let by_vehicle = json!({"group_by": "vehicle"});
    let entries = entries(&app, "carbon", by_vehicle).await;
    let [entry] = &entries[..] else {
        panic!("{entries:?}");
    };
    let energy: i64 = energies.iter().sum();
    assert!(
        energies[0] > 0 && entry["energy_wh"] == json!(energy),
        "{entry}"
    );
    let rounded = |exact: f64| (exact * 100.0).round() / 100.0;
    let number = |name: &str| entry[name].as_f64().expect("a number");
    assert_eq!(number("carbon_g"), (energy as f64 * 0.0415).round());
    assert_eq!(number("green_energy_wh"), (energy as f64 * 0.8).round());
    assert_eq!(entry["factors"], "energy_mix");
    // 25,000 miles are 40,233.6 km; the energy of the way was charged before it.
    assert_eq!(number("distance_km"), 233.6);
    let consumption = energies[0] as f64 / 10.0 / 233.6;
    assert_eq!(number("kwh_per_100_km"), rounded(consumption));
}

#[tokio::test]
async fn all_vehicles_of_the_fleets_are_counted() {
    let app = TestApp::start().await;
    let crews = [app.crew(&app.alice).await, app.crew(&app.alice).await];
    let idle = tests::vehicle(&crews[1].fleet);
    app.alice.post_ok("/v1/vehicles", idle).await;
    app.completed_session(&crews[1], json!({})).await;
    app.drain().await;
    let counted = |entry: &Value| (entry["vehicles"].clone(), entry["vehicles_charged"].clone());
    for (group_by, vehicles) in [
        (Value::Null, json!(3)),
        (json!("month"), json!(3)),
        (json!("fleet"), json!(2)),
        (json!("vehicle"), Value::Null),
    ] {
        let change = json!({"group_by": group_by});
        let entries = entries(&app, "fleet_efficiency", change).await;
        let found: Vec<_> = entries.iter().map(counted).collect();
        assert_eq!(found, [(vehicles, json!(1))], "{group_by}");
    }
    let of_fleet = body(&app, "fleet_efficiency", json!({"format": "json"}));
    let of_fleet = with(of_fleet, json!({"fleet": crews[1].fleet}));
    let report = succeeded_report(&app, of_fleet).await;
    let entries = file(&app, &report).await.body;
    assert_eq!(counted(&entries[0]), (json!(2), json!(1)));
}

#[tokio::test]
async fn reports_on_an_overloaded_table_wait_and_are_tried_again() {
    let app = TestApp::start().await;
    let id = app.alice.create("/v1/reports", json!({})).await;
    let message = GenerateReport {
        tenant: app.alice.tenant(),
        report: Id::from(id.as_str()),
    };
    let message = message.message().expect("a message");
    let path = format!("/v1/reports/{id}");
    let clock = Arc::new(Hand::at(app.now()));
    let (url, table) = (&app.running().store_url, &app.running().table);
    // More failing attempts than are permitted, with each query tried three times.
    for _ in 0..5 {
        let store = scripted(url, table, ".Query", vec![Step::Refuse; 3]);
        let overloaded = app.app_with(store, clock.clone());
        jobs::work(&overloaded, &message).await.expect("put off");
        assert_eq!(app.alice.get_ok(&path).await["status"], "pending");
        clock.move_by(minutes(30));
    }
    let rested = app.app_with(app.app().store.clone(), clock);
    jobs::work(&rested, &message).await.expect("an attempt");
    assert_eq!(app.alice.get_ok(&path).await["status"], "succeeded");
    app.drain().await;
}
