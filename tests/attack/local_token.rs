//! A client that can reach the port of a local run but has no token, such as another user of the machine or a page on another port,
//! gets no key and changes nothing.

use kernel::time::minutes;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tests::{Client, TestApp, TestResponse, fleet};

const OWN_PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");

/// A service on an embedded table, with a charging network.
async fn start() -> TestApp {
    TestApp::start_with(|options| {
        options.store = None;
        options.network = true;
    })
    .await
}

/// The routes that require the token: method, path, body.
fn routes(account: &str) -> Vec<(&'static str, &'static str, Option<Value>)> {
    let closed = json!({"account": account, "status": "closed"});
    vec![
        ("GET", "/_local/session", None),
        ("GET", "/_local/clock", None),
        (
            "POST",
            "/_local/clock",
            Some(json!({"advance_seconds": 86_400})),
        ),
        ("GET", "/_local/inbox", None),
        ("GET", "/_local/requests", None),
        ("GET", "/_local/due", None),
        ("GET", "/_local/events", None),
        ("GET", "/_local/networks", None),
        (
            "POST",
            "/_local/networks",
            Some(json!({"action": "issue_token", "mode": "test", "name": "Mallory"})),
        ),
        ("GET", "/_local/network", None),
        (
            "POST",
            "/_local/network/break",
            Some(json!({"evse": "1001-1"})),
        ),
        ("POST", "/_local/stations", Some(json!({"stations": []}))),
        ("POST", "/_local/account_status", Some(closed)),
        (
            "POST",
            "/_local/account_export",
            Some(json!({"account": account, "mode": "test"})),
        ),
        (
            "POST",
            "/_local/account_erasure",
            Some(json!({"account": account})),
        ),
        ("POST", "/_local/reencryption", Some(json!({}))),
        ("GET", "/_local/files/reports/1.csv", None),
    ]
}

/// Checks that a response is 401 in the format of the API, and contains no secret of the run.
#[track_caller]
fn assert_unauthorized(app: &TestApp, response: &TestResponse, attempt: &str) {
    let want = (401, "authentication_error", None, None);
    assert_eq!(response.error(), want, "{attempt}");
    assert_eq!(response.header("www-authenticate"), "Bearer", "{attempt}");
    for secret in [&app.running().api_key, &app.running().token] {
        assert!(!response.text.contains(secret), "{attempt}");
    }
}

/// The cookie that the page of a run has.
fn cookie(app: &TestApp, token: &str) -> String {
    let (_, port) = app.running().base_url.rsplit_once(':').expect("a port");
    format!("fleet-local-{port}={token}")
}

#[tokio::test]
async fn every_local_route_is_401_without_the_token() {
    let app = start().await;
    let (account, before) = (app.running().account.to_string(), app.now());
    let wrong = "0".repeat(32);
    let (bearer, wrong_cookie) = (format!("Bearer {wrong}"), cookie(&app, &wrong));
    let other_port = format!("fleet-local-1={}", app.running().token);
    let guesses: [&[(&str, &str)]; 5] = [
        &[],
        &[OWN_PAGE],
        &[("authorization", &bearer)],
        &[("cookie", &wrong_cookie), OWN_PAGE],
        &[("cookie", &other_port), OWN_PAGE],
    ];
    for (method, path, body) in routes(&account) {
        let body = body.map(|body| body.to_string());
        for headers in guesses {
            let response = app.anon.send(method, path, body.clone(), headers).await;
            assert_unauthorized(&app, &response, &format!("{method} {path} {headers:?}"));
        }
        // An API key is not a token, because tenants have API keys.
        let response = app.alice.send(method, path, body.clone(), &[]).await;
        assert_unauthorized(&app, &response, &format!("{method} {path} with an API key"));
        if !path.contains("files") {
            for method in ["OPTIONS", "PUT", "DELETE"] {
                let response = app.anon.send(method, path, body.clone(), &[]).await;
                assert_unauthorized(&app, &response, &format!("{method} {path}"));
            }
        }
    }
    for path in ["/_local/nothing", "/_local/network/nothing", "/_local/x/y"] {
        let response = app.anon.get(path).await;
        assert_unauthorized(&app, &response, path);
        let response = app.local().get(path).await;
        response.expect_error(404, None, None);
    }

    assert!(app.now().since(before) < minutes(10));
    let stored = app.alice.get(&format!("/v1/accounts/{account}")).await;
    assert_eq!(stored.expect(200).body["status"], "active");
    let networks = app.local().get_ok("/_local/networks").await;
    assert_eq!(networks["data"].as_array().map(Vec::len), Some(1));
    let network = app.local().get("/_local/network").await.expect(200);
    assert!(!network.text.contains("OUTOFORDER"));
    let files = app.app().files.list("").await.expect("the files");
    assert_eq!(files, [""; 0]);
}

#[tokio::test]
async fn the_operator_of_a_local_run_needs_the_token_alone() {
    let app = start().await;
    let account = app.running().account.to_string();
    for (method, path, body) in routes(&account) {
        // The notices of changes do not end: tests/api/runner.rs reads them.
        let elsewhere = [
            "/_local/account_status",
            "/_local/events",
            "/_local/files/reports/1.csv",
        ];
        if elsewhere.contains(&path) {
            continue;
        }
        let body = body.map(|body| body.to_string());
        let response = app.local().send(method, path, body, &[]).await;
        // An account that is not closed is not erased.
        let expected = if path.ends_with("erasure") { 409 } else { 200 };
        assert_eq!(
            response.status, expected,
            "{method} {path}: {}",
            response.text
        );
    }
    let session = app.local().get("/_local/session").await.expect(200);
    assert_eq!(session.body["api_key"], app.running().api_key.as_str());
    assert_eq!(session.header("cache-control"), "no-store");
    // The token is not an API key.
    app.local().get("/v1/fleets").await.expect(401);
}

/// Requests an address without following its redirect: status, `Location` and `Set-Cookie`.
async fn open(app: &TestApp, path: &str) -> (u16, String, Option<String>) {
    let browser = reqwest::Client::builder().no_proxy();
    let browser = browser.redirect(Policy::none()).build();
    let url = format!("{}{path}", app.running().base_url);
    let request = browser.expect("a client").get(url);
    let response = request.send().await.expect("a response");
    let header = |name: &str| {
        let value = response.headers().get(name);
        value
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let location = header("location").unwrap_or_default();
    assert!(!location.contains("token"), "{location}");
    (response.status().as_u16(), location, header("set-cookie"))
}

#[tokio::test]
async fn the_printed_address_gives_a_browser_the_cookie() {
    let app = start().await;
    let token = app.running().token.clone();
    let own_cookie = cookie(&app, &token);
    let (status, location, set) = open(&app, &format!("/?token={token}")).await;
    assert_eq!((status, location.as_str()), (303, "/"));
    let expected = format!("{own_cookie}; Path=/_local; HttpOnly; SameSite=Strict");
    assert_eq!(set, Some(expected));

    let session = async |headers: &[(&str, &str)]| {
        app.anon.send("GET", "/_local/session", None, headers).await
    };
    let own = ("cookie", own_cookie.as_str());
    let signed_in = session(&[own, OWN_PAGE]).await.expect(200);
    assert_eq!(signed_in.body["api_key"], app.running().api_key.as_str());

    // The browser sends the cookie with requests that pages of other ports and sites make.
    let refused: [&[(&str, &str)]; 8] = [
        &[own],
        &[own, ("sec-fetch-site", "cross-site")],
        &[own, ("sec-fetch-site", "same-site")],
        &[own, ("sec-fetch-site", "none")],
        &[own, ("sec-fetch-site", "cross-site"), OWN_PAGE],
        &[own, OWN_PAGE, ("origin", "http://evil.example")],
        &[own, OWN_PAGE, ("origin", "null")],
        &[own, OWN_PAGE, ("host", "rebound.example")],
    ];
    for headers in refused {
        let response = session(headers).await;
        let want = (403, "invalid_request_error", None, None);
        assert_eq!(response.error(), want, "{headers:?}");
        assert!(
            !response.text.contains(&app.running().api_key),
            "{headers:?}"
        );
    }
}

#[tokio::test]
async fn another_token_in_the_address_signs_nobody_in() {
    let app = start().await;
    let token = app.running().token.clone();
    for path in [
        format!("/?token={}", "0".repeat(32)),
        "/?token=".to_owned(),
        format!("/?token={}", &token[..31]),
    ] {
        let opened = open(&app, &path).await;
        assert_eq!(opened, (303, "/".to_owned(), None), "{path}");
    }
    // The page is public and contains no secret; other paths do not accept a token in their query.
    let page = app.anon.get("/").await.expect(200);
    assert!(!page.text.contains(&token) && !page.text.contains(&app.running().api_key));
    let response = app
        .anon
        .get(&format!("/_local/session?token={token}"))
        .await;
    assert_unauthorized(&app, &response, "a token in the query");
}

#[tokio::test]
async fn the_inbox_takes_deliveries_of_all_and_shows_them_to_none() {
    let app = start().await;
    let delivery = json!({"type": "ping", "id": "evt_1"});
    app.anon.post("/_local/inbox", delivery).await.expect(204);
    let response = app.anon.get("/_local/inbox").await;
    assert_unauthorized(&app, &response, "the inbox");
    let inbox = app.local().get("/_local/inbox").await.expect(200);
    assert_eq!(inbox.body["data"].as_array().map(Vec::len), Some(1));
}

/// Creates a report of the last month. Returns its signed link.
async fn report(app: &TestApp, client: &Client) -> String {
    client.post_ok("/v1/fleets", fleet()).await;
    let report = client.post("/v1/reports", json!({})).await.id();
    app.drain().await;
    let report = client.get(&format!("/v1/reports/{report}")).await;
    let url = &report.expect(200).body["url"];
    url.as_str().expect("a link").to_owned()
}

#[tokio::test]
async fn files_are_read_with_their_signed_links_alone() {
    let app = start().await;
    let url = report(&app, &app.alice).await;
    app.anon.get_ok(&url).await;
    let (path, query) = url.split_once('?').expect("a query");
    let (_, signature) = query.rsplit_once('=').expect("a signature");
    assert_eq!(signature.len(), 64);
    let response = app.anon.get(path).await;
    assert_unauthorized(&app, &response, "no signature");
    let forged = url.replace(signature, &"0".repeat(64));
    let response = app.anon.get(&forged).await;
    response.expect_error(403, None, None);
}

#[tokio::test]
async fn the_port_of_the_network_takes_no_operations_of_strangers() {
    let app = start().await;
    let versions = app.running().network().expect("a network");
    let control = versions.replace("/ocpi/versions", "/control");
    // All paths of the operator's port require an OCPI token.
    assert_eq!(app.anon.get(&control).await.status, 401);
    let body = json!({"evse": "1001-1"});
    let broken = app.anon.post(&format!("{control}/break"), body).await;
    assert_eq!(broken.status, 401);
    let network = app.local().get("/_local/network").await.expect(200);
    assert!(!network.text.contains("OUTOFORDER"));
}
