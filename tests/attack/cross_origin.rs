//! Web pages of other origins cannot use the ports of a local run.
//!
//! A page can send requests to a port of this machine in two ways: across origins, where the browser adds `Origin`, and from a host
//! name that is changed to the address 127.0.0.1 (DNS rebinding), where the browser sends that name as `Host`.

use kernel::time::minutes;
use serde_json::{Value, json};
use tests::{TestApp, TestResponse, fleet};

/// A service on an embedded table, regardless of the table of the other tests.
async fn start() -> TestApp {
    TestApp::start_with(|options| options.store = None).await
}

fn port(url: &str) -> &str {
    url.rsplit(':').next().expect("a port")
}

/// Requests that a page might send to the API's port: method, path, body.
fn attempts(account: &str) -> Vec<(&'static str, &'static str, Option<Value>)> {
    vec![
        ("OPTIONS", "/_local/clock", None),
        (
            "POST",
            "/_local/clock",
            Some(json!({"advance_seconds": 86_400})),
        ),
        (
            "POST",
            "/_local/account_status",
            Some(json!({"account": account, "status": "closed"})),
        ),
        ("OPTIONS", "/_local/inbox", None),
        ("POST", "/_local/inbox", Some(json!({"type": "ping"}))),
        ("GET", "/_local/inbox", None),
        ("GET", "/_local/clock", None),
        ("GET", "/_local/requests", None),
        ("GET", "/_local/session", None),
        ("GET", "/_local/due", None),
        ("GET", "/_local/events", None),
        ("GET", "/", None),
        ("POST", "/_local/stations", Some(json!({"stations": []}))),
        (
            "GET",
            "/_local/files/reports/1.csv?expires=1&signature=00",
            None,
        ),
        ("OPTIONS", "/v1/fleets", None),
        ("POST", "/v1/fleets", Some(fleet())),
        ("GET", "/v1/fleets", None),
        ("GET", "/docs", None),
        ("GET", "/no/such/path", None),
    ]
}

/// Sends each attempt with these headers. All are refused, no page may read the response, and nothing has changed.
async fn refuses(app: &TestApp, headers: &[(&str, &str)]) {
    let before = app.now();
    let account = app.running().account.to_string();
    for content_type in ["application/json", "text/plain"] {
        for (method, path, body) in attempts(&account) {
            let mut headers = headers.to_vec();
            headers.push(("content-type", content_type));
            if method == "OPTIONS" {
                headers.push(("access-control-request-method", "POST"));
                headers.push((
                    "access-control-request-headers",
                    "authorization,content-type",
                ));
            }
            let body = body.map(|body| body.to_string());
            // They are refused even with the token of the runner or an API key.
            let client = if path.starts_with("/_local") {
                app.local()
            } else {
                app.alice.clone()
            };
            let answer = client.send(method, path, body, &headers).await;
            let attempt = format!("{method} {path} with {headers:?}");
            let want = (403, "invalid_request_error", None, None);
            assert_eq!(answer.error(), want, "{attempt}");
            assert_unreadable(&answer, &attempt);
        }
    }
    assert!(app.now().since(before) < minutes(10), "{headers:?}");
    let account = app.alice.get(&format!("/v1/accounts/{account}")).await;
    assert_eq!(account.expect(200).body["status"], "active", "{headers:?}");
    let inbox = app.local().get("/_local/inbox").await.expect(200);
    assert_eq!(inbox.body["data"], json!([]), "{headers:?}");
    assert_eq!(app.alice.get("/v1/fleets").await.ids(), [""; 0]);
}

#[track_caller]
fn assert_unreadable(answer: &TestResponse, attempt: &str) {
    let mut names = answer.headers.keys().map(|name| name.as_str());
    let granted = names.find(|name| name.starts_with("access-control-"));
    assert_eq!(granted, None, "{attempt}");
}

#[tokio::test]
async fn requests_from_other_origins_are_refused() {
    let app = start().await;
    let port = port(&app.running().base_url);
    let origins = [
        "http://evil.example".to_owned(),
        "http://127.0.0.1:1".to_owned(),
        "http://localhost".to_owned(),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1.evil.example:{port}"),
        "null".to_owned(),
    ];
    for origin in &origins {
        refuses(&app, &[("origin", origin)]).await;
    }
}

#[tokio::test]
async fn requests_with_a_foreign_host_header_are_refused() {
    let app = start().await;
    let port = port(&app.running().base_url);
    let host = format!("rebound.example:{port}");
    let origin = format!("http://{host}");
    refuses(&app, &[("host", &host)]).await;
    refuses(&app, &[("host", &host), ("origin", &origin)]).await;
    // The same rule applies to the document that every origin may read.
    let headers = [("host", host.as_str())];
    let document = app.anon.send("GET", "/v1/openapi.json", None, &headers);
    assert_eq!(document.await.status, 403);
    refuses(&app, &[("host", "127.0.0.1:1")]).await;
    refuses(&app, &[("host", "127.0.0.1")]).await;
}

#[tokio::test]
async fn a_page_of_the_services_own_origin_can_use_it() {
    let app = start().await;
    let port = port(&app.running().base_url);
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let host = format!("{host}:{port}");
        let origin = format!("http://{host}");
        let headers = [("host", host.as_str()), ("origin", origin.as_str())];
        for path in [
            "/docs",
            "/docs/reference",
            "/docs/errors",
            "/docs/redoc.js",
            "/v1/openapi.json",
        ] {
            let answer = app.anon.send("GET", path, None, &headers).await;
            assert_eq!(answer.status, 200, "{path} on {host}");
        }
        let listed = app.alice.send("GET", "/v1/fleets", None, &headers).await;
        listed.expect(200);
        let before = app.now();
        let body = Some(json!({"advance_seconds": 3600}).to_string());
        let moved = app
            .local()
            .send("POST", "/_local/clock", body, &headers)
            .await;
        moved.expect(200);
        assert!(app.now().since(before) >= minutes(60));
    }
}

#[tokio::test]
async fn only_the_openapi_document_allows_every_origin() {
    let app = start().await;
    let headers = [("origin", "http://editor.example")];
    let document = app.anon.send("GET", "/v1/openapi.json", None, &headers);
    let document = document.await.expect(200);
    assert_eq!(document.header("access-control-allow-origin"), "*");
    let sent = app
        .anon
        .send("POST", "/v1/openapi.json", Some("{}".into()), &headers);
    assert_eq!(sent.await.status, 403);
}

/// Requests that a form or `fetch` can send without a preflight.
#[tokio::test]
async fn the_posts_of_the_runner_take_json_only() {
    let app = start().await;
    let before = app.now();
    let body = json!({"advance_seconds": 86_400}).to_string();
    for content_type in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let headers = [("content-type", content_type)];
        let moved = app
            .local()
            .send("POST", "/_local/clock", Some(body.clone()), &headers)
            .await;
        moved.expect_error(400, None, None);
        let put = app
            .anon
            .send("POST", "/_local/inbox", Some(body.clone()), &headers);
        assert_eq!(put.await.status, 415);
    }
    let account = app.running().account.to_string();
    let body = json!({"account": account, "status": "closed"}).to_string();
    let headers = [("content-type", "text/plain")];
    let closed = app
        .local()
        .send("POST", "/_local/account_status", Some(body), &headers)
        .await;
    closed.expect_error(400, None, None);
    let account = app.alice.get(&format!("/v1/accounts/{account}")).await;
    assert_eq!(account.expect(200).body["status"], "active");
    assert!(app.now().since(before) < minutes(10));
    let inbox = app.local().get("/_local/inbox").await.expect(200);
    assert_eq!(inbox.body["data"], json!([]));
}

#[tokio::test]
async fn the_embedded_table_answers_only_clients_with_its_access_key() {
    let app = start().await;
    let kept = app.alice.post("/v1/fleets", fleet()).await.id();
    let (url, table) = (&app.running().store_url, &app.running().table);
    let key = app.running().access_key.clone().expect("an embedded table");
    let authorization = |key: &str| {
        format!(
            "AWS4-HMAC-SHA256 Credential={key}/20260301/us-east-1/dynamodb/aws4_request, \
            SignedHeaders=host, Signature=00"
        )
    };
    let (good, wrong) = (authorization(&key), authorization("guessed"));
    let port = port(url);
    let (own, rebound) = (
        format!("127.0.0.1:{port}"),
        format!("rebound.example:{port}"),
    );
    let (same, foreign) = (format!("http://{rebound}"), "http://evil.example");
    let send = async |operation: &str, headers: &[(&str, &str)]| {
        let target = format!("DynamoDB_20120810.{operation}");
        let mut headers = headers.to_vec();
        headers.extend([
            ("x-amz-target", target.as_str()),
            ("content-type", "application/x-amz-json-1.0"),
        ]);
        let body = json!({"TableName": table}).to_string();
        app.anon.send("POST", url, Some(body), &headers).await
    };
    let signed = ("authorization", good.as_str());
    let refused: [(u16, &[(&str, &str)]); 7] = [
        (400, &[]),
        (400, &[("authorization", "Bearer x")]),
        (400, &[("authorization", &wrong)]),
        (403, &[signed, ("origin", foreign)]),
        (403, &[signed, ("origin", "null")]),
        (403, &[signed, ("host", &rebound)]),
        (403, &[signed, ("host", &rebound), ("origin", &same)]),
    ];
    for (status, headers) in refused {
        for operation in ["Scan", "DeleteTable"] {
            let answer = send(operation, headers).await;
            assert_eq!(answer.status, status, "{operation} with {headers:?}");
            assert!(!answer.text.contains(&kept), "{}", answer.text);
            assert_unreadable(&answer, operation);
        }
    }
    // A preflight request is not granted anything.
    let asks = [
        ("origin", foreign),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization,x-amz-target",
        ),
    ];
    let preflight = app.anon.send("OPTIONS", url, None, &asks).await;
    assert_eq!(preflight.status, 403);
    assert_unreadable(&preflight, "a preflight");
    // The table still exists for clients with the key.
    app.alice
        .get(&format!("/v1/fleets/{kept}"))
        .await
        .expect(200);
    let scanned = send("Scan", &[signed, ("host", &own)]).await.expect(200);
    assert!(scanned.text.contains(&kept));
}

#[tokio::test]
async fn the_access_key_of_the_table_is_another_at_every_start() {
    let own_key = |options: &mut local::Options| {
        options.store = None;
        options.access_key = None;
    };
    let (first, other) = (
        TestApp::start_with(own_key).await,
        TestApp::start_with(own_key).await,
    );
    let keys = [&first, &other].map(|app| app.running().access_key.clone().expect("a key"));
    assert_ne!(keys[0], keys[1]);
    assert!(keys.iter().all(|key| key.len() == 32), "{keys:?}");
    first.alice.post_ok("/v1/fleets", fleet()).await;
    first.drain().await;
}
