//! Tests of the operator, in which the test acts as the eMSP.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cpo::{Cpo, Options};
use jiff::Timestamp;
use serde_json::{Value, json};

/// A request that the operator has sent.
#[derive(Debug, Clone)]
struct Sent {
    method: String,
    path: String,
    token: String,
    body: Value,
}

/// An eMSP that accepts everything and records it.
#[derive(Clone)]
struct Emsp {
    url: String,
    sent: Arc<Mutex<Vec<Sent>>>,
    /// The HTTP statuses of the next responses, where they are not 200.
    failures: Arc<Mutex<VecDeque<u16>>>,
    /// The `allowed` of the next real-time authorization.
    allowed: Arc<Mutex<String>>,
}

impl Emsp {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let emsp = Self {
            url,
            sent: Arc::default(),
            failures: Arc::default(),
            allowed: Arc::new(Mutex::new("ALLOWED".into())),
        };
        let router = Router::new().fallback(answer).with_state(emsp.clone());
        tokio::spawn(axum::serve(listener, router).into_future());
        emsp
    }

    fn versions_url(&self) -> String {
        format!("{}/versions", self.url)
    }

    fn credentials(&self, token: &str) -> Value {
        json!({"token": token, "url": self.versions_url(), "roles": [{"role": "EMSP", "country_code": "NL", "party_id": "ABC",
            "business_details": {"name": "An eMSP"}}]})
    }

    /// Removes and returns the requests since the last call, except discovery.
    fn take(&self) -> Vec<Sent> {
        let mut sent = std::mem::take(&mut *self.sent.lock().expect("a lock"));
        sent.retain(|request| !["/versions", "/2.2.1"].contains(&request.path.as_str()));
        sent
    }
}

async fn answer(State(emsp): State<Emsp>, request: Request) -> Response {
    let (method, path) = (
        request.method().to_string(),
        request.uri().path().to_owned(),
    );
    let token = request.headers()["authorization"]
        .to_str()
        .expect("text")
        .trim_start_matches("Token ");
    let token = String::from_utf8(STANDARD.decode(token).expect("Base64")).expect("text");
    let bytes: Bytes = axum::body::to_bytes(request.into_body(), 1 << 20)
        .await
        .expect("a body");
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    let sent = Sent {
        method: method.clone(),
        path: path.clone(),
        token,
        body,
    };
    emsp.sent.lock().expect("a lock").push(sent);
    let url = &emsp.url;
    let endpoint = |module: &str, role: &str| json!({"identifier": module, "role": role, "url": format!("{url}/{module}")});
    let data = match path.as_str() {
        "/versions" => json!([{"version": "2.2.1", "url": format!("{url}/2.2.1")}]),
        "/2.2.1" => {
            json!({"version": "2.2.1", "endpoints": [endpoint("credentials", "RECEIVER"), endpoint("locations", "RECEIVER"),
            endpoint("sessions", "RECEIVER"), endpoint("cdrs", "RECEIVER"), endpoint("tokens", "SENDER")]})
        }
        "/credentials" => emsp.credentials("second"),
        "/tokens" => json!([
            card("11AA", true, "ALLOWED"),
            card("22BB", false, "ALLOWED"),
            card("33CC", true, "NEVER")
        ]),
        path if path.ends_with("/authorize") => {
            let allowed = emsp.allowed.lock().expect("a lock").clone();
            json!({"allowed": allowed, "token": card("33CC", true, "NEVER"), "authorization_reference": "REF-1"})
        }
        _ => Value::Null,
    };
    let failure = match method.as_str() {
        "GET" => None,
        _ => emsp.failures.lock().expect("a lock").pop_front(),
    };
    let status = axum::http::StatusCode::from_u16(failure.unwrap_or(200)).expect("a status");
    let body = json!({"status_code": 1000, "timestamp": "2026-03-01T10:00:00Z", "data": data});
    (status, Json(body)).into_response()
}

fn card(uid: &str, valid: bool, whitelist: &str) -> Value {
    json!({"country_code": "NL", "party_id": "ABC", "uid": uid, "type": "RFID", "contract_id": format!("NL-ABC-{uid}"),
        "issuer": "An eMSP", "valid": valid, "whitelist": whitelist, "last_updated": "2026-03-01T09:00:00Z"})
}

/// An operator whose clock the test moves, and an eMSP that has registered with it.
struct Stage {
    cpo: Cpo,
    emsp: Emsp,
    http: reqwest::Client,
    /// Milliseconds since 1970.
    now: Arc<AtomicI64>,
    token: String,
}

impl Stage {
    /// Starts both without a registration.
    async fn unregistered() -> Self {
        let start: Timestamp = "2026-03-01T10:00:00Z".parse().expect("a time");
        let now = Arc::new(AtomicI64::new(start.as_millisecond()));
        let cpo = Cpo::start(options(&now, None)).await.expect("an operator");
        let token = cpo.token_a();
        Self {
            cpo,
            emsp: Emsp::start().await,
            http: cpo::http().expect("a client"),
            now,
            token,
        }
    }

    async fn start() -> Self {
        let mut stage = Self::unregistered().await;
        let own = stage.emsp.credentials("first");
        let credentials = stage.call("POST", "2.2.1/credentials", Some(own)).await;
        stage.token = credentials["data"]["token"]
            .as_str()
            .expect("a token")
            .to_owned();
        stage.pass(1).await;
        stage.emsp.take();
        stage
    }

    /// Sends a request, and returns the body of the response, with its HTTP status as `http`.
    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let base = self.cpo.versions_url();
        let url = if path.starts_with("http") {
            path.to_owned()
        } else {
            base.replace("versions", path)
        };
        let method = method.parse().expect("a method");
        let mut request = self.http.request(method, url);
        request = request.header(
            "Authorization",
            format!("Token {}", STANDARD.encode(&self.token)),
        );
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("a response");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body: Value = response.json().await.expect("JSON");
        body["http"] = json!(status);
        for name in ["link", "x-total-count", "x-limit"] {
            if let Some(value) = headers.get(name) {
                body[name] = json!(value.to_str().expect("text"));
            }
        }
        body
    }

    async fn command(&self, name: &str, mut body: Value) -> Value {
        body["response_url"] = json!(format!("{}/result", self.emsp.url));
        self.call("POST", &format!("2.2.1/commands/{name}"), Some(body))
            .await
    }

    async fn control(&self, name: &str, body: Value) -> Value {
        let url = self
            .cpo
            .versions_url()
            .replace("/ocpi/versions", &format!("/control/{name}"));
        self.call("POST", &url, Some(body)).await
    }

    async fn begin_session(&self) {
        let command = json!({"token": card("11AA", true, "ALLOWED"), "location_id": "1001", "evse_uid": "1001-1",
            "authorization_reference": "REF-9"});
        self.command("START_SESSION", command).await;
        self.pass(2).await;
    }

    /// Moves the clock.
    async fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds * 1000, Ordering::SeqCst);
        self.cpo.settle().await;
    }

    fn lines(&self) -> Vec<String> {
        let sent = self.emsp.take();
        sent.iter()
            .map(|request| format!("{} {}", request.method, request.path))
            .collect()
    }
}

fn options(now: &Arc<AtomicI64>, file: Option<std::path::PathBuf>) -> Options {
    let now = now.clone();
    Options {
        port: None,
        file,
        clock: Arc::new(move || {
            Timestamp::from_millisecond(now.load(Ordering::SeqCst)).expect("a time")
        }),
        report: Arc::new(|_| ()),
        by_itself: false,
        controlled_at_port: true,
        scripted: false,
    }
}

#[tokio::test]
async fn an_emsp_registers_with_token_a_and_its_tokens_are_pulled() {
    let mut stage = Stage::unregistered().await;
    assert_eq!(
        stage.call("GET", "2.2.1/locations", None).await["http"],
        401
    );
    let details = stage.call("GET", "2.2.1", None).await;
    assert_eq!(
        details["data"]["endpoints"]
            .as_array()
            .expect("endpoints")
            .len(),
        8
    );
    let own = stage.emsp.credentials("first");
    let credentials = stage
        .call("POST", "2.2.1/credentials", Some(own.clone()))
        .await;
    assert_eq!(credentials["data"]["roles"][0]["role"], "CPO");
    // Token A is not valid any more.
    assert_eq!(stage.call("GET", "versions", None).await["http"], 401);
    stage.token = credentials["data"]["token"]
        .as_str()
        .expect("a token")
        .to_owned();
    assert_eq!(
        stage.call("POST", "2.2.1/credentials", Some(own)).await["http"],
        405
    );
    stage.cpo.settle().await;
    assert_eq!(stage.emsp.take().len(), 0);
    stage.pass(1).await;
    let sent = stage.emsp.take();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(
        (sent[0].path.as_str(), sent[0].token.as_str()),
        ("/tokens", "first")
    );
    let stored = stage
        .call("GET", "2.2.1/tokens/NL/ABC/11aa?type=RFID", None)
        .await;
    assert_eq!(stored["data"]["uid"], "11AA");
}

#[tokio::test]
async fn the_operator_registers_at_an_emsp_and_renews_its_credentials() {
    let stage = Stage::unregistered().await;
    stage
        .cpo
        .register(&stage.emsp.versions_url(), "their token A")
        .await
        .expect("a registration");
    let sent = stage.emsp.take();
    assert_eq!(
        (sent[0].method.as_str(), sent[0].token.as_str()),
        ("POST", "their token A")
    );
    assert_eq!(sent[0].body["url"], stage.cpo.versions_url());
    assert!(stage.cpo.is_connected());
    stage
        .cpo
        .renew(&stage.emsp.versions_url())
        .await
        .expect("new credentials");
    let renewed = stage.emsp.take();
    assert_eq!(
        (renewed[0].method.as_str(), renewed[0].token.as_str()),
        ("PUT", "second")
    );
    assert_ne!(renewed[0].body["token"], sent[0].body["token"]);
}

#[tokio::test]
async fn lists_have_pages_and_filters() {
    let stage = Stage::start().await;
    let first = stage.call("GET", "2.2.1/locations", None).await;
    assert_eq!(
        (&first["x-total-count"], &first["x-limit"]),
        (&json!("4"), &json!("3"))
    );
    assert_eq!(first["data"].as_array().expect("locations").len(), 3);
    let link = first["link"].as_str().expect("a link");
    let next = link
        .trim_start_matches('<')
        .split('>')
        .next()
        .expect("a URL");
    let rest = stage.call("GET", next, None).await;
    assert_eq!(rest["data"][0]["id"], "1004");
    assert_eq!(rest["link"], Value::Null);
    stage.pass(60).await;
    stage.control("break", json!({"evse": "1002-1"})).await;
    let changed = stage
        .call(
            "GET",
            "2.2.1/locations?date_from=2026-03-01T10:00:30Z",
            None,
        )
        .await;
    assert_eq!(changed["data"].as_array().expect("locations").len(), 1);
    assert_eq!(changed["data"][0]["evses"][0]["status"], "OUTOFORDER");
    let wrong = stage
        .call("GET", "2.2.1/locations?date_from=yesterday", None)
        .await;
    assert_eq!(wrong["status_code"], 2001);
}

#[tokio::test]
async fn a_session_is_started_grows_is_stopped_and_billed() {
    let stage = Stage::start().await;
    let command = json!({"token": card("11AA", true, "ALLOWED"), "location_id": "1001", "evse_uid": "1001-1",
        "authorization_reference": "REF-9"});
    let answer = stage.command("START_SESSION", command).await;
    assert_eq!(answer["data"], json!({"result": "ACCEPTED", "timeout": 30}));
    stage.cpo.settle().await;
    assert_eq!(stage.lines(), [] as [String; 0]);
    stage.pass(1).await;
    let sent = stage.emsp.take();
    assert_eq!(
        (sent[0].path.as_str(), &sent[0].body),
        ("/result", &json!({"result": "ACCEPTED"}))
    );
    stage.pass(1).await;
    let sent = stage.emsp.take();
    assert_eq!(sent[0].path, "/locations/GB/NET/1001/1001-1");
    assert_eq!(sent[0].body["status"], "CHARGING");
    assert_eq!(
        (sent[1].method.as_str(), sent[1].path.as_str()),
        ("PUT", "/sessions/GB/NET/S1")
    );
    assert_eq!(sent[1].body["authorization_reference"], "REF-9");
    assert_eq!(sent[1].body["status"], "ACTIVE");

    // 22 kW for ten minutes, reported every five.
    stage.pass(600).await;
    let sent = stage.emsp.take();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(
        (sent[1].method.as_str(), &sent[1].body["kwh"]),
        ("PATCH", &json!(3.666))
    );
    assert_eq!(
        sent[1].body["charging_periods"]
            .as_array()
            .expect("periods")
            .len(),
        1
    );

    assert_eq!(
        stage
            .command("STOP_SESSION", json!({"session_id": "S2"}))
            .await["data"]["result"],
        "UNKNOWN_SESSION"
    );
    assert_eq!(
        stage
            .command("STOP_SESSION", json!({"session_id": "S1"}))
            .await["data"]["result"],
        "ACCEPTED"
    );
    stage.pass(2).await;
    let sent = stage.emsp.take();
    let paths: Vec<&str> = sent.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/result",
            "/sessions/GB/NET/S1",
            "/locations/GB/NET/1001/1001-1",
            "/cdrs"
        ]
    );
    assert_eq!(sent[1].body["status"], "COMPLETED");
    let (session, cdr) = (&sent[1].body, &sent[3].body);
    assert_eq!(
        (&session["kwh"], &session["total_cost"]),
        (&cdr["total_energy"], &cdr["total_cost"])
    );
    // 3.678 kWh at 0.45 and 20 % tax.
    assert_eq!(
        cdr["total_cost"],
        json!({"excl_vat": 1.66, "incl_vat": 1.99})
    );
    assert_eq!(
        (&cdr["session_id"], &cdr["authorization_reference"]),
        (&json!("S1"), &json!("REF-9"))
    );
    let listed = stage.call("GET", "2.2.1/cdrs", None).await;
    assert_eq!(listed["data"][0], *cdr);
}

#[tokio::test]
async fn an_unacknowledged_session_update_is_resent_as_a_full_put() {
    let stage = Stage::start().await;
    stage.begin_session().await;
    stage.emsp.take();
    stage.emsp.failures.lock().expect("a lock").push_back(500);
    stage.pass(300).await;
    stage.pass(300).await;
    assert_eq!(
        stage.lines(),
        ["PATCH /sessions/GB/NET/S1", "PUT /sessions/GB/NET/S1"]
    );
}

#[tokio::test]
async fn a_reservation_keeps_other_cards_out_until_it_expires() {
    let stage = Stage::start().await;
    let reserve = json!({"token": card("11AA", true, "ALLOWED"), "reservation_id": "R1", "location_id": "1001",
        "evse_uid": "1001-1", "expiry_date": "2026-03-01T10:30:00Z"});
    assert_eq!(
        stage.command("RESERVE_NOW", reserve).await["data"]["result"],
        "ACCEPTED"
    );
    stage.pass(1).await;
    let sent = stage.emsp.take();
    assert_eq!(
        (&sent[0].body["status"], &sent[1].body["result"]),
        (&json!("RESERVED"), &json!("ACCEPTED"))
    );
    let other =
        json!({"token": card("33CC", true, "NEVER"), "location_id": "1001", "evse_uid": "1001-1"});
    assert_eq!(
        stage.command("START_SESSION", other).await["data"]["result"],
        "ACCEPTED"
    );
    stage.pass(2).await;
    assert_eq!(stage.emsp.take()[0].body["result"], "EVSE_OCCUPIED");
    stage.pass(1800).await;
    assert_eq!(stage.emsp.take()[0].body["status"], "AVAILABLE");
    assert_eq!(
        stage
            .command("CANCEL_RESERVATION", json!({"reservation_id": "R1"}))
            .await["data"]["result"],
        "ACCEPTED"
    );
    stage.pass(1).await;
    assert_eq!(stage.emsp.take()[0].body["result"], "UNKNOWN_RESERVATION");
}

#[tokio::test]
async fn a_location_without_a_capability_does_not_support_the_command() {
    let stage = Stage::start().await;
    let token = card("11AA", true, "ALLOWED");
    let start = json!({"token": token, "location_id": "1004", "evse_uid": "1004-1"});
    assert_eq!(
        stage.command("START_SESSION", start).await["data"]["result"],
        "NOT_SUPPORTED"
    );
    let reserve = json!({"token": token, "reservation_id": "R1", "location_id": "1003", "evse_uid": "1003-1",
        "expiry_date": "2026-03-01T10:30:00Z"});
    assert_eq!(
        stage.command("RESERVE_NOW", reserve).await["data"]["result"],
        "NOT_SUPPORTED"
    );
    let nowhere = json!({"token": token, "location_id": "9999"});
    assert_eq!(
        stage.command("START_SESSION", nowhere).await["status_code"],
        2003
    );
}

#[tokio::test]
async fn the_next_command_is_received_as_it_was_decided() {
    let stage = Stage::start().await;
    let start = async |behaviour: Value| {
        stage.control("next_command", behaviour).await;
        let command = json!({"token": card("11AA", true, "ALLOWED"), "location_id": "1001", "evse_uid": "1001-1"});
        let answer = stage.command("START_SESSION", command).await;
        stage.pass(2).await;
        let sent = stage.emsp.take();
        let results: Vec<Value> = sent
            .iter()
            .filter(|request| request.path == "/result")
            .map(|request| request.body["result"].clone())
            .collect();
        let begun = sent
            .iter()
            .any(|request| request.path.starts_with("/sessions"));
        (
            answer["data"]["result"].clone(),
            Value::from(results),
            begun,
        )
    };
    let none = json!([]);
    assert_eq!(
        start(json!({"behaviour": "reject"})).await,
        (json!("REJECTED"), none.clone(), false)
    );
    assert_eq!(
        start(json!({"behaviour": "ignore"})).await,
        (json!("ACCEPTED"), none.clone(), false)
    );
    assert_eq!(
        start(json!({"behaviour": "fail"})).await,
        (json!("ACCEPTED"), json!(["FAILED"]), false)
    );
    assert_eq!(
        start(json!({"behaviour": "timeout"})).await,
        (json!("ACCEPTED"), json!(["TIMEOUT"]), false)
    );
    assert_eq!(
        start(json!({"behaviour": "no_vehicle"})).await,
        (json!("ACCEPTED"), json!(["ACCEPTED"]), false)
    );
    assert_eq!(
        start(json!({"behaviour": "error"})).await,
        (Value::Null, none.clone(), false)
    );
    assert_eq!(
        start(json!({"behaviour": "respond", "data": {"result": "NOT_SUPPORTED"}})).await,
        (json!("NOT_SUPPORTED"), none.clone(), false)
    );
    assert_eq!(
        start(json!({"behaviour": "late", "seconds": 90})).await,
        (json!("ACCEPTED"), none, false)
    );
    stage.pass(90).await;
    assert_eq!(stage.emsp.take()[0].body["result"], "ACCEPTED");
    stage.control("unplug", json!({"evse": "1001-1"})).await;
    stage.pass(1).await;
    stage.emsp.take();
    let twice = json!({"behaviour": "twice"});
    assert_eq!(
        start(twice).await,
        (json!("ACCEPTED"), json!(["ACCEPTED", "ACCEPTED"]), true)
    );
    stage.control("unplug", json!({"evse": "1001-1"})).await;
    stage.pass(1).await;
    stage.emsp.take();
    let anyway = json!({"behaviour": "timeout_then_done"});
    assert_eq!(
        start(anyway).await,
        (json!("ACCEPTED"), json!(["TIMEOUT"]), true)
    );
    assert_eq!(
        stage
            .control("next_command", json!({"behaviour": "dance"}))
            .await["http"],
        400
    );
}

#[tokio::test]
async fn a_card_on_the_whitelist_charges_and_stops_without_asking() {
    let stage = Stage::start().await;
    let tap = json!({"evse": "1004-1", "uid": "11AA"});
    let begun = stage.control("tap", tap.clone()).await;
    assert_eq!(
        (&begun["result"], &begun["auth_method"]),
        (&json!("started"), &json!("WHITELIST"))
    );
    stage.pass(600).await;
    let other = stage
        .control("tap", json!({"evse": "1004-1", "uid": "22BB"}))
        .await;
    assert_eq!(other["reason"], "another card is charging here");
    assert_eq!(stage.control("tap", tap).await["result"], "stopped");
    stage.cpo.settle().await;
    let lines = stage.lines();
    assert_eq!(lines.last().map(String::as_str), Some("POST /cdrs"));
    assert!(
        !lines.iter().any(|line| line.contains("authorize")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn blocked_cards_are_refused_and_others_authorized_by_the_emsp() {
    let stage = Stage::start().await;
    let tap = async |uid: &str| {
        stage
            .control("tap", json!({"evse": "1004-1", "uid": uid}))
            .await
    };
    assert_eq!(tap("22BB").await["reason"], "the token is not valid");
    assert_eq!(stage.lines(), [] as [String; 0]);
    *stage.emsp.allowed.lock().expect("a lock") = "BLOCKED".into();
    assert_eq!(tap("33CC").await["reason"], "the eMSP answered BLOCKED");
    *stage.emsp.allowed.lock().expect("a lock") = "ALLOWED".into();
    assert_eq!(tap("33CC").await["auth_method"], "AUTH_REQUEST");
    let sent = stage.emsp.take();
    let request = &sent[0];
    assert_eq!(
        (request.path.as_str(), &request.body["evse_uids"]),
        ("/tokens/33CC/authorize", &json!(["1004-1"]))
    );
    stage.cpo.settle().await;
    let sent = stage.emsp.take();
    let session = sent
        .iter()
        .find(|request| request.path == "/sessions/GB/NET/S1")
        .expect("a session");
    assert_eq!(session.body["authorization_reference"], "REF-1");
}

#[tokio::test]
async fn an_evse_that_breaks_ends_its_session() {
    let stage = Stage::start().await;
    stage.begin_session().await;
    stage.pass(300).await;
    stage.emsp.take();
    stage.control("break", json!({"evse": "1001-1"})).await;
    stage.cpo.settle().await;
    let sent = stage.emsp.take();
    assert_eq!(sent[0].body["status"], "OUTOFORDER");
    assert_eq!(sent[1].body["status"], "COMPLETED");
    assert_eq!(sent[2].path, "/cdrs");
    assert_eq!(
        stage.control("break", json!({"evse": "9"})).await["http"],
        404
    );
}

#[tokio::test]
async fn the_registration_and_a_running_session_outlive_the_process() {
    let folder = std::env::temp_dir().join(format!("cpo-state-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("network.json");
    let mut stage = Stage::unregistered().await;
    stage.cpo = Cpo::start(options(&stage.now, Some(file.clone())))
        .await
        .expect("an operator");
    stage
        .cpo
        .register(&stage.emsp.versions_url(), "A")
        .await
        .expect("a registration");
    stage.pass(1).await;
    stage
        .control("tap", json!({"evse": "1001-1", "uid": "11AA"}))
        .await;
    stage.cpo.settle().await;
    let before = stage.cpo.versions_url();
    stage.cpo.stop().await;
    stage.emsp.take();
    stage.cpo = Cpo::start(options(&stage.now, Some(file)))
        .await
        .expect("an operator");
    assert_eq!(stage.cpo.versions_url(), before);
    assert!(stage.cpo.is_connected());
    stage.pass(300).await;
    assert_eq!(stage.lines(), ["PATCH /sessions/GB/NET/S1"]);
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[tokio::test]
async fn web_pages_cannot_use_the_control_operations() {
    let stage = Stage::start().await;
    let url = stage
        .cpo
        .versions_url()
        .replace("/ocpi/versions", "/control/break");
    let body = json!({"evse": "1001-1"});
    let page = stage
        .http
        .post(&url)
        .header("Origin", "http://evil.example")
        .json(&body);
    assert_eq!(page.send().await.expect("a response").status(), 403);
    let name = stage
        .http
        .post(&url)
        .header("Host", "evil.example:80")
        .json(&body);
    assert_eq!(name.send().await.expect("a response").status(), 403);
    let text = stage
        .http
        .post(&url)
        .header("Content-Type", "text/plain")
        .body(body.to_string());
    assert_eq!(text.send().await.expect("a response").status(), 415);
}
