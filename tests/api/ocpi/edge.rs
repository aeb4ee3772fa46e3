//! Tests of every request of a platform: message ids, tokens, errors, logs and rate limits.

use std::io::{Result as Written, Write};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::Request;
use functions::log::lines;
use serde_json::{Value, json};
use tests::TestApp;
use tests::platform::{Connected, codes, fixture, send};
use tower::ServiceExt as _;
use tracing::instrument::WithSubscriber as _;
use tracing::level_filters::LevelFilter;

use super::get_expecting;

#[tokio::test]
async fn every_answer_repeats_the_message_ids_and_names_the_parties() {
    let (app, cpo) = Connected::start().await;
    let headers = [
        ("x-request-id", "request-1"),
        ("x-correlation-id", "correlation-1"),
        ("ocpi-from-country-code", "nl"),
        ("ocpi-from-party-id", "exa"),
        ("ocpi-to-country-code", "GB"),
        ("ocpi-to-party-id", "FCS"),
    ];
    let path = "/ocpi/2.2.1/tokens";
    let answer = send(&app, &cpo.token, "GET", path, None, &headers).await;
    assert_eq!(codes(&answer), (200, 1000));
    assert_eq!(answer.header("x-request-id"), "request-1");
    assert_eq!(answer.header("x-correlation-id"), "correlation-1");
    assert_eq!(answer.header("ocpi-from-party-id"), "FCS");
    assert_eq!(answer.header("ocpi-to-party-id"), "EXA");
    // Messages about the connection itself are not routed.
    let answer = send(&app, &cpo.token, "GET", "/ocpi/versions", None, &headers).await;
    assert_eq!(answer.header("ocpi-from-party-id"), "");
    let path = "/ocpi/2.2.1/tokens";
    for (name, value, code) in [
        ("ocpi-to-party-id", "XXX", (200, 2001)),
        ("ocpi-from-party-id", "XXX", (404, 2000)),
        ("ocpi-from-party-id", "?", (200, 2001)),
    ] {
        let mut headers = headers.to_vec();
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value));
        let answer = send(&app, &cpo.token, "GET", path, None, &headers).await;
        assert_eq!(codes(&answer), code, "{name}: {value}");
    }
}

#[tokio::test]
async fn without_a_valid_token_nothing_is_answered_but_401() {
    let (app, cpo) = Connected::start().await;
    let mistyped = cpo.token.replace("test", "live");
    for token in ["", "x", "ocpi_test_0", mistyped.as_str()] {
        for path in ["/ocpi/versions", "/ocpi/2.2.1/tokens", "/ocpi/nothing/here"] {
            let answer = get_expecting(&app, token, path, (401, 2000)).await;
            assert_eq!(answer.header("www-authenticate"), "Token");
        }
    }
    let answer = app.anon.send("GET", "/ocpi/versions", None, &[]).await;
    assert_eq!(codes(&answer), (401, 2000));
    // A key of the API is not a token of OCPI, and a token of OCPI is not a key of the API.
    assert_eq!(codes(&app.alice.get("/ocpi/versions").await), (401, 2000));
    let mut client = app.anon.clone();
    client.key = Some(cpo.token.clone());
    client.get("/v1/fleets").await.expect(401);
}

#[tokio::test]
async fn unknown_paths_methods_and_versions_return_ocpi_errors() {
    let (app, cpo) = Connected::start().await;
    cpo.expect("GET", "/nothing", None, (404, 2000)).await;
    let answer = cpo
        .expect("POST", "/tariffs/NL/EXA/DAY", Some(&json!({})), (405, 2000))
        .await;
    assert!(answer.header("allow").contains("PUT"));
    get_expecting(&app, &cpo.token, "/ocpi/2.1.1/tokens", (404, 3002)).await;
}

#[tokio::test]
async fn a_platform_touches_nothing_of_another_party() {
    let (app, cpo) = Connected::start().await;
    let other = Connected::other(&app).await;
    cpo.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
    let path = "/tariffs/NL/EXA/DAY";
    let tariff = fixture("tariff");
    for (method, body) in [("GET", None), ("PUT", Some(&tariff)), ("DELETE", None)] {
        other.expect(method, path, body, (404, 2000)).await;
    }
    other
        .expect("POST", "/cdrs", Some(&fixture("cdr")), (404, 2000))
        .await;
    assert_eq!(cpo.data(path).await, fixture("tariff"));
}

/// Charging periods of about 200 bytes each: `count` that follow the first `skipped` ones, one every ten seconds.
pub fn periods(skipped: i64, count: i64) -> Vec<Value> {
    let start = kernel::Timestamp::parse("2026-02-01T09:00:00Z").expect("a time");
    let period = |number: i64| {
        let at = start.plus(kernel::time::seconds(10 * number));
        json!({"start_date_time": at, "tariff_id": "T".repeat(36),
            "dimensions": [{"type": "ENERGY", "volume": 0.0301}, {"type": "TIME", "volume": 0.0028}]})
    };
    (skipped..skipped + count).map(period).collect()
}

#[tokio::test]
async fn invalid_json_is_400_and_an_oversized_body_is_413() {
    let (app, cpo) = Connected::start().await;
    use base64::Engine as _;
    let path = "/ocpi/2.2.1/tariffs/NL/EXA/DAY";
    let token = base64::engine::general_purpose::STANDARD.encode(&cpo.token);
    let header = [("authorization", &*format!("Token {token}"))];
    let send = async |body: String| app.anon.send("PUT", path, Some(body), &header).await;
    assert_eq!(codes(&send("{".into()).await), (400, 2001));
    let large = format!("\"{}\"", "x".repeat(300_000));
    assert_eq!(codes(&send(large).await), (413, 2000));
}

/// The lines of a log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> Written<usize> {
        let mut lines = self.0.lock().expect("the lines");
        lines.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Written<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_log_has_the_route_of_a_request_and_no_uid() {
    let app = TestApp::start().await;
    let (log, router) = (Lines::default(), functions::router(app.app().clone()));
    let output = log.clone();
    let subscriber = || lines(LevelFilter::INFO, move || output.clone());
    let send = async || {
        for path in ["04A1B2C3D4E5/authorize", "04A1B2C3D4E5/other/path"] {
            let request = Request::post(format!("/ocpi/2.2.1/tokens/{path}"));
            let request = request.body(Body::empty()).expect("a request");
            router.clone().oneshot(request).await.expect("a response");
        }
    };
    // The places that log are known before there is a subscriber, so that another test's thread, which has none, is
    // not the first at one of them and switches it off.
    send().await;
    send().with_subscriber(subscriber()).await;
    let log = log.0.lock().expect("the lines").clone();
    let log = String::from_utf8(log).expect("text");
    assert!(!log.contains("04A1B2C3D4E5"), "{log}");
    let routes: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["http.route"].clone())
        .collect();
    assert_eq!(
        routes,
        [
            json!("/ocpi/{version}/tokens/{token_uid}/authorize"),
            json!("")
        ]
    );
}

#[tokio::test]
async fn the_rate_limit_of_one_platform_does_not_affect_others() {
    let app = TestApp::start().await;
    let (cpo, other) = (Connected::to(&app).await, Connected::other(&app).await);
    let limiter = &app.app().network_rates;
    let tenant = kernel::Tenant::new(kernel::Id::from(cpo.network.as_str()), kernel::Mode::Test);
    // The bucket is refilled by one request each millisecond, so it is emptied until a request finds it empty.
    let mut answer = cpo.send("GET", "/tokens", None).await;
    for _ in 0..100 {
        if answer.status == 429 {
            break;
        }
        while limiter
            .admit(&app.app().store, std::slice::from_ref(&tenant), app.now())
            .await
            .is_ok()
        {}
        answer = cpo.send("GET", "/tokens", None).await;
    }
    assert_eq!((answer.status, answer.header("retry-after")), (429, "1"));
    other.expect("GET", "/tokens", None, (200, 1000)).await;
}
