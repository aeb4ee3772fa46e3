//! `/v1/reports`, and the files they stand for.

use functions::stream::sweep;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::{Answer, Crew, Receiver, TestApp, driver, fleet, with};

/// The body of a report on the last hour.
fn body(app: &TestApp, kind: &str, change: Value) -> Value {
    let parameters =
        json!({"type": kind, "period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    json!({"parameters": with(parameters, change)})
}

/// A report that has been made, as it is shown.
async fn made(app: &TestApp, body: Value) -> Answer {
    let id = app.alice.post("/v1/reports", body).await.id();
    app.drain().await;
    let shown = app.alice.get(&format!("/v1/reports/{id}")).await;
    assert_eq!(shown.body["status"], "succeeded", "{}", shown.text);
    shown
}

/// The file of a report, fetched without a key.
async fn file(app: &TestApp, report: &Answer) -> Answer {
    let url = report.body["url"].as_str().expect("a link");
    app.anon.get(url).await.expect(200)
}

/// The rows of a report in JSON.
async fn rows(app: &TestApp, kind: &str, change: Value) -> Vec<Value> {
    let json = with(json!({"format": "json"}), change);
    let report = made(app, body(app, kind, json)).await;
    let file = file(app, &report).await.body;
    file.as_array().expect("an array").clone()
}

#[tokio::test]
async fn a_report_is_pending_and_then_has_a_file_and_an_event() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": ["report.succeeded"]});
    app.alice
        .post("/v1/webhook_endpoints", hook)
        .await
        .expect(200);
    let crew = app.crew(&app.alice).await;
    app.completed_session(&crew, json!({})).await;
    let asked = body(&app, "charging_summary", json!({"group_by": "fleet"}));
    let asked = with(asked, json!({"fleet": crew.fleet}));
    let report = app
        .alice
        .post("/v1/reports", asked.clone())
        .await
        .expect(200);
    let parameters = with(
        asked["parameters"].clone(),
        json!({"filters": {}, "format": "csv"}),
    );
    let pending = json!({"id": report.id(), "object": "report", "account": app.alice.account, "failed_reason": null,
        "created": report.body["created"], "fleet": crew.fleet, "parameters": parameters, "sha256": null, "size": 0,
        "status": "pending", "succeeded_at": null, "type": "csv", "url": null});
    assert_eq!(report.body, pending);
    app.drain().await;
    let shown = app
        .alice
        .get(&format!("/v1/reports/{}", report.id()))
        .await
        .expect(200);
    let file = file(&app, &shown).await;
    let want = format!(
        "fleet,fleet_name,currency,sessions,energy_wh,duration_seconds,gross_minor_units\r\n\
        {},Night shift,usd,1,30000,7140,1190\r\n",
        crew.fleet
    );
    assert_eq!(file.text, want);
    assert!(file.header("content-type").starts_with("text/csv"));
    let done = json!({"sha256": hex::encode(Sha256::digest(&file.text)), "size": file.text.len(), "status": "succeeded",
        "succeeded_at": shown.body["succeeded_at"], "url": shown.body["url"]});
    assert_eq!(shown.body, with(pending, done));
    let told = &receiver.received()[0].event["data"]["object"];
    assert_eq!(*told, with(shown.body.clone(), json!({"url": null})));
}

#[tokio::test]
async fn a_link_holds_for_fifteen_minutes_and_is_signed_anew() {
    let app = TestApp::start().await;
    let report = made(&app, json!({})).await;
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
    app.anon.get(&url).await.expect(200);
    app.advance(60).await;
    assert_eq!(app.anon.get(&url).await.status, 403);
    let again = app.alice.get(&format!("/v1/reports/{}", report.id())).await;
    file(&app, &again).await;
    let listed = app.alice.get("/v1/reports?status=succeeded").await.body;
    app.anon
        .get(listed["data"][0]["url"].as_str().expect("a link"))
        .await
        .expect(200);
}

#[tokio::test]
async fn a_report_of_nothing_has_a_header_line_and_covers_last_month_by_itself() {
    let app = TestApp::start().await;
    let report = made(&app, json!({})).await;
    assert_eq!(report.body["parameters"]["type"], "charging_summary");
    let start = report.body["parameters"]["period_start"]
        .as_str()
        .expect("a time");
    assert!(start.ends_with("-01T00:00:00.000Z"), "{start}");
    assert_eq!(
        file(&app, &report).await.text,
        "currency,sessions,energy_wh,duration_seconds,gross_minor_units\r\n"
    );
}

#[tokio::test]
async fn what_a_body_gets_wrong_is_a_report_validation_error() {
    let app = TestApp::start().await;
    let invalid = Some("report_validation_error");
    for (change, param) in [
        (json!({"type": "guess"}), "parameters.type"),
        (
            json!({"period_end": app.in_minutes(-60)}),
            "parameters.period_end",
        ),
        (json!({"period_end": "soon"}), "parameters.period_end"),
        (json!({"group_by": "day"}), "parameters.group_by"),
        (json!({"format": "xlsx"}), "parameters.format"),
        (
            json!({"filters": {"colour": ["red"]}}),
            "parameters.filters.colour",
        ),
        (
            json!({"filters": {"vehicle": []}}),
            "parameters.filters.vehicle",
        ),
        (
            json!({"filters": {"vehicle": ["veh_1"]}}),
            "parameters.filters.vehicle[0]",
        ),
    ] {
        let answer = app
            .alice
            .post("/v1/reports", body(&app, "cost_analysis", change.clone()))
            .await;
        assert_eq!(
            answer.error(),
            (400, "invalid_request_error", invalid, Some(param)),
            "{change}"
        );
    }
    let missing = app
        .alice
        .post("/v1/reports", json!({"parameters": {}}))
        .await;
    assert_eq!(
        missing.error(),
        (
            400,
            "invalid_request_error",
            invalid,
            Some("parameters.type")
        )
    );
    let unknown = app
        .alice
        .post("/v1/reports", json!({"fleet": "flt_1"}))
        .await;
    let want = (
        404,
        "invalid_request_error",
        Some("fleet_not_found"),
        Some("fleet"),
    );
    assert_eq!(unknown.error(), want);
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
    let sum = |rows: &[Value], name: &str| {
        rows.iter()
            .filter_map(|row| row[name].as_i64())
            .sum::<i64>()
    };
    for kind in [
        "charging_summary",
        "cost_analysis",
        "usage_breakdown",
        "fleet_efficiency",
    ] {
        for (group_by, groups) in [("vehicle", 3), ("driver", 3), ("fleet", 3), ("station", 3)] {
            let rows = rows(&app, kind, json!({"group_by": group_by})).await;
            assert_eq!(rows.len(), groups, "{kind} {group_by}");
            assert_eq!(sum(&rows, "sessions"), 4, "{kind} {group_by}");
            assert_eq!(sum(&rows, "energy_wh"), 90_005, "{kind} {group_by}");
            assert_eq!(
                sum(&rows, "gross_minor_units"),
                1 + 1190 + 7,
                "{kind} {group_by}"
            );
        }
        assert_eq!(rows(&app, kind, json!({})).await.len(), 2, "{kind}");
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
        let rows = rows(&app, "usage_breakdown", json!({"filters": filters})).await;
        assert_eq!(sum(&rows, "sessions"), sessions, "{filters}");
    }
    let one = with(
        body(&app, "charging_summary", json!({"format": "json"})),
        json!({"fleet": crews[0].fleet}),
    );
    let report = made(&app, one).await;
    assert_eq!(
        sum(
            file(&app, &report).await.body.as_array().expect("rows"),
            "sessions"
        ),
        2
    );
}

#[tokio::test]
async fn a_name_that_looks_like_a_formula_is_a_text() {
    let app = TestApp::start().await;
    let fleet = app
        .alice
        .post(
            "/v1/fleets",
            with(fleet(), json!({"name": "=cmd|' /C calc'!A0"})),
        )
        .await
        .id();
    let driver = app.alice.post("/v1/drivers", driver()).await.id();
    let crew = Crew {
        vehicle: format!("veh_{:032x}", 1),
        fleet,
        driver,
    };
    app.completed_session(&crew, json!({})).await;
    let report = made(
        &app,
        body(&app, "charging_summary", json!({"group_by": "fleet"})),
    )
    .await;
    let file = file(&app, &report).await.text;
    assert!(
        file.contains(&format!("{},'=cmd|' /C calc'!A0,usd,", crew.fleet)),
        "{file}"
    );
}

#[tokio::test]
async fn a_report_that_cannot_be_written_is_tried_three_times_and_then_fails() {
    let data = std::env::temp_dir().join(format!("reports-{}", std::process::id()));
    std::fs::create_dir_all(&data).expect("a folder");
    // Where the folder of the files would be, there is a file.
    std::fs::write(data.join("files"), "").expect("a file");
    let app = TestApp::start_with(|options| {
        options.memory = false;
        options.data = data.clone();
    })
    .await;
    let id = app.alice.post("/v1/reports", json!({})).await.id();
    let path = format!("/v1/reports/{id}");
    for _ in 0..2 {
        app.drain().await;
        assert_eq!(app.alice.get(&path).await.body["status"], "pending");
        app.advance(31).await;
    }
    let failed = app.alice.get(&path).await.body;
    assert_eq!(
        (&failed["status"], &failed["url"]),
        (&json!("failed"), &Value::Null)
    );
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
    let id = app.alice.post("/v1/reports", json!({})).await.id();
    app.running().lose_triggers().await.expect("lost");
    app.advance(3 * 60).await;
    let path = format!("/v1/reports/{id}");
    assert_eq!(app.alice.get(&path).await.body["status"], "pending");
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    assert_eq!(app.alice.get(&path).await.body["status"], "succeeded");
}

#[tokio::test]
async fn a_filter_names_only_what_is_there_for_this_account() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let bob = app.other_account(shared::Mode::Test).await;
    let foreign = app.crew(&bob).await;
    let station = app.station(json!({})).await;
    let report = |filters: Value| {
        json!({"parameters": {"type": "charging_summary", "period_start": "2026-01-01T00:00:00Z",
            "period_end": "2026-02-01T00:00:00Z", "filters": filters}})
    };
    let unknown = |kind| shared::Id::from_number(kind, 7).to_string();
    for (filters, code, param) in [
        (
            json!({"vehicle": [crew.vehicle, foreign.vehicle]}),
            "vehicle_not_found",
            "vehicle[1]",
        ),
        (
            json!({"vehicle": [unknown(shared::Kind::Vehicle)]}),
            "vehicle_not_found",
            "vehicle[0]",
        ),
        (
            json!({"driver": [foreign.driver]}),
            "driver_not_found",
            "driver[0]",
        ),
        (
            json!({"driver": [crew.driver, crew.driver, unknown(shared::Kind::Driver)]}),
            "driver_not_found",
            "driver[2]",
        ),
        (
            json!({"station": [station, unknown(shared::Kind::ChargingStation)]}),
            "charging_station_not_found",
            "station[1]",
        ),
    ] {
        let refused = app.alice.post("/v1/reports", report(filters.clone())).await;
        let param = format!("parameters.filters.{param}");
        let want = (
            404,
            "invalid_request_error",
            Some(code),
            Some(param.as_str()),
        );
        assert_eq!(refused.error(), want, "{filters}");
    }
    assert!(app.alice.walk("/v1/reports").await.is_empty());
    let filters = json!({"vehicle": [crew.vehicle], "driver": [crew.driver], "station": [station]});
    app.alice
        .post("/v1/reports", report(filters))
        .await
        .expect(200);
    app.drain().await;
}
