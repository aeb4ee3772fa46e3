//! `POST /mcp`, the tools for assistants.

use kernel::{Mode, Resource, version};
use serde_json::{Value, json};
use tests::{Client, TestApp, TestResponse, assert_has, driver, id_of, vehicle, with};
use web::Method;

const HEADERS: [(&str, &str); 2] = [
    ("accept", "application/json, text/event-stream"),
    ("content-type", "application/json"),
];

/// Sends a message of the protocol.
async fn send(client: &Client, method: &str, params: Value) -> TestResponse {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let body = Some(message.to_string());
    client.send("POST", "/mcp", body, &HEADERS).await
}

/// Calls a tool. Returns its result, and whether that is an error.
async fn call(client: &Client, tool: &str, arguments: Value) -> (Value, bool) {
    let params = json!({"name": tool, "arguments": arguments});
    let mut result = send(client, "tools/call", params).await.expect(200).body["result"].take();
    let is_error = result["isError"] == true;
    (result["structuredContent"].take(), is_error)
}

/// The ids of the vehicles or drivers that a tool finds.
async fn found(client: &Client, tool: &str, text: &str) -> Vec<String> {
    let (result, is_error) = call(client, tool, json!({"query": text})).await;
    assert!(!is_error, "{result}");
    let objects = result["found"].as_array().expect("objects").iter();
    objects.map(|object| id_of(object).to_owned()).collect()
}

#[tokio::test]
async fn the_tools_are_listed_with_what_they_may_change() {
    let app = TestApp::start().await;
    let started = send(
        &app.alice,
        "initialize",
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
    )
    .await
    .expect(200);
    assert_eq!(started.body["result"]["serverInfo"]["name"], "fleet");
    assert!(started.header("service-request-id").starts_with("req_"));
    let listed = send(&app.alice, "tools/list", json!({})).await.expect(200);
    let tools = listed.body["result"]["tools"].as_array().expect("tools");
    let destructive = tools
        .iter()
        .filter(|tool| tool["annotations"]["destructiveHint"] == true);
    let mut destructive: Vec<_> = destructive.map(|tool| &tool["name"]).collect();
    destructive.sort_by_key(|name| name.to_string());
    assert_eq!(
        destructive,
        ["cancel_reservation", "pay_invoice", "stop_charging"]
    );
    assert!(tools.len() > 20);
}

#[tokio::test]
async fn a_reservation_is_cancelled_only_once_it_is_confirmed() {
    let (app, crew) = TestApp::with_crew().await;
    let reservation = app.reservation(&crew, 600);
    let (reserved, is_error) = call(&app.alice, "reserve", reservation).await;
    assert!(!is_error, "{reserved}");
    let id = &reserved["id"];
    let (shown, _) = call(&app.alice, "cancel_reservation", json!({"id": id})).await;
    assert_has!(shown, {"done": false, "/result/status": "cancelled"});
    let (shown, _) = call(&app.alice, "show", json!({"id": id})).await;
    assert_eq!(shown["status"], "pending");
    let confirmed = json!({"id": id, "confirm": true});
    let (shown, _) = call(&app.alice, "cancel_reservation", confirmed.clone()).await;
    assert_eq!(shown["status"], "cancelled");
    let (refused, is_error) = call(&app.alice, "cancel_reservation", confirmed).await;
    assert!(is_error);
    assert_eq!(refused["code"], "reservation_cancel_invalid_state");
}

/// A server of the version 2025-03-26 would have to accept batches of messages.
#[tokio::test]
async fn no_version_with_batches_is_agreed_upon() {
    let app = TestApp::start().await;
    for (requested, version) in [
        ("2025-03-26", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
    ] {
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": requested, "capabilities": {}, "clientInfo": client});
        let started = send(&app.alice, "initialize", params).await.expect(200);
        assert_eq!(started.body["result"]["protocolVersion"], version);
    }
}

/// The service refuses the id of an object that does not exist; the tool itself would refuse an unknown prefix.
#[tokio::test]
async fn every_object_that_has_a_path_is_shown_by_its_id() {
    let app = TestApp::start().await;
    let routes: Vec<_> = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route)
        .filter(|route| route.method == Method::Get)
        .map(|route| route.path)
        .collect();
    let has_path = |resource: &&Resource| {
        let path = format!("/v1/{}/{{id}}", resource.as_str());
        routes.contains(&path.as_str())
    };
    for resource in Resource::ALL.iter().filter(has_path) {
        let id = format!("{}{:032x}", resource.kind().prefix(), 1);
        let (refused, is_error) = call(&app.alice, "show", json!({"id": id})).await;
        assert!(is_error && refused["status"] == 404, "{id}: {refused}");
    }
}

#[tokio::test]
async fn vehicles_and_drivers_are_found_by_any_part() {
    let (app, crew) = TestApp::with_crew().await;
    let body = with(
        vehicle(&crew.fleet),
        json!({"registration_plate": "KX-17 ZED", "vin": "WVWZZZ1KZAW777001"}),
    );
    let car = app.alice.create("/v1/vehicles", body).await;
    let names = json!({"name": "Grace Hopper", "email": "grace@navy.example"});
    let person = with(driver(), names);
    let person = app.alice.create("/v1/drivers", person).await;
    app.drain().await;
    for text in ["kx17", "17-ZED", "777001", &car] {
        assert_eq!(
            found(&app.alice, "find_vehicle", text).await,
            std::slice::from_ref(&car),
            "{text}"
        );
    }
    for text in ["hopper", "navy", &person] {
        assert_eq!(
            found(&app.alice, "find_driver", text).await,
            std::slice::from_ref(&person),
            "{text}"
        );
    }
    let nothing: [String; 0] = [];
    let mut absent = car.clone();
    absent.replace_range(
        absent.len() - 1..,
        if car.ends_with('0') { "1" } else { "0" },
    );
    for text in ["zzzz", &absent] {
        assert_eq!(
            found(&app.alice, "find_vehicle", text).await,
            nothing,
            "{text}"
        );
    }
    // A key without the scope for searches reads the list.
    let reader = app.restricted(&app.alice, &["vehicles:read"]).await;
    assert_eq!(found(&reader, "find_vehicle", "kx17").await, [car]);
    let stranger = app.other_account(Mode::Test).await;
    assert_eq!(found(&stranger, "find_vehicle", "kx17").await, nothing);
}

#[tokio::test]
async fn a_tool_does_what_the_key_may_do_and_nothing_else() {
    let (app, crew) = TestApp::with_crew().await;
    let reader = app.restricted(&app.alice, &["reservations:read"]).await;
    let (refused, is_error) = call(&reader, "reserve", app.reservation(&crew, 600)).await;
    assert!(is_error);
    assert_has!(refused, {"message": "This key lacks the scope reservations:write."});
    let (listed, is_error) = call(&reader, "list_reservations", json!({})).await;
    assert_eq!(
        (listed["data"].as_array().map(Vec::len), is_error),
        (Some(0), false)
    );
    let reservation = app.reservation(&crew, 600);
    let (reserved, _) = call(&app.alice, "reserve", reservation).await;
    let stranger = app.other_account(Mode::Test).await;
    let (refused, is_error) = call(&stranger, "show", json!({"id": reserved["id"]})).await;
    assert!(is_error);
    assert_eq!(refused["code"], "reservation_not_found");
    // The links lead to the service at the address that the client uses.
    let path = format!("/v1/reservations/{}", id_of(&reserved));
    let shown = stranger.get(&path).await.expect(404);
    assert_eq!(refused["doc_url"], shown.body["doc_url"]);
    let (listed, _) = call(&stranger, "list_reservations", json!({})).await;
    assert_eq!(listed["data"], json!([]));
}

#[tokio::test]
async fn requests_without_an_accepted_key_are_refused_with_401() {
    let app = TestApp::start().await;
    let refused = send(&app.anon, "tools/list", json!({})).await.expect(401);
    assert_eq!(refused.header("www-authenticate"), "Bearer");
    assert_eq!(refused.body["type"], "authentication_error");
    let mut mistyped = app.alice.clone();
    mistyped.key = mistyped.key.map(|key| format!("{key}0"));
    send(&mistyped, "tools/list", json!({})).await.expect(401);
    // The API detects that a key was revoked.
    let key = app.alice.post_ok("/v1/api_keys", json!({})).await;
    let secret = key["secret"].as_str().expect("a secret").to_owned();
    let path = format!("/v1/api_keys/{}", id_of(&key));
    app.alice.delete_ok(&path).await;
    let mut revoked = app.alice.clone();
    revoked.key = Some(secret);
    for tool in ["list_invoices", "now"] {
        let params = json!({"name": tool, "arguments": {}});
        let refused = send(&revoked, "tools/call", params).await.expect(401);
        assert_eq!(refused.header("www-authenticate"), "Bearer");
    }
    // The time needs no scope.
    let reader = app.restricted(&app.alice, &["vehicles:read"]).await;
    let (shown, is_error) = call(&reader, "now", json!({})).await;
    assert!(!is_error && shown["now"].is_string(), "{shown}");
}

#[tokio::test]
async fn a_malformed_message_is_a_json_rpc_error() {
    let app = TestApp::start().await;
    for (body, code) in [
        ("{\"jsonrpc\": \"2.0\", \"id\": 1", -32700),
        ("", -32700),
        ("\u{0}", -32700),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1}", -32600),
        ("[]", -32600),
        ("5", -32600),
    ] {
        let sent = app
            .alice
            .send("POST", "/mcp", Some(body.to_owned()), &HEADERS);
        let refused = sent.await.expect(400);
        assert_eq!(refused.header("content-type"), "application/json", "{body}");
        let error = &refused.body["error"];
        assert_eq!(
            (&error["code"], &refused.body["id"]),
            (&json!(code), &Value::Null),
            "{body}"
        );
        assert!(
            error["message"].is_string() && refused.body["jsonrpc"] == "2.0",
            "{body}"
        );
    }
}

#[tokio::test]
async fn params_that_cannot_be_read_are_invalid() {
    let app = TestApp::start().await;
    for (method, params, code) in [
        ("initialize", json!({}), -32602),
        ("tools/call", Value::Null, -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({"name": 5}), -32602),
        (
            "tools/call",
            json!({"name": "now", "arguments": []}),
            -32602,
        ),
        ("prompts/list", json!({}), -32601),
        ("no/such", Value::Null, -32601),
    ] {
        let refused = send(&app.alice, method, params).await.expect(200);
        assert_eq!(refused.body["error"]["code"], code, "{method}");
    }
    for method in ["ping", "tools/list"] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        let body = Some(message.to_string());
        let response = app.alice.send("POST", "/mcp", body, &HEADERS).await;
        assert!(response.expect(200).body["result"].is_object(), "{method}");
    }
}

#[tokio::test]
async fn a_tool_shows_the_rate_limit_of_the_account() {
    let app = TestApp::start().await;
    let params = json!({"name": "list_reservations", "arguments": {}});
    let response = send(&app.alice, "tools/call", params).await.expect(200);
    let direct = app.alice.get("/v1/reservations").await;
    for name in ["ratelimit-limit", "ratelimit-remaining"] {
        let number = |response: &TestResponse| response.header(name).parse::<i64>().expect(name);
        let (through, direct) = (number(&response), number(&direct));
        assert!((direct..=direct + 5).contains(&through), "{name}");
    }
}

#[tokio::test]
async fn a_session_that_is_started_shows_what_it_violates() {
    let (app, crew, station) = TestApp::with_station().await;
    let policy =
        json!({"name": "P", "mode": "suggestion", "rules": {"denied_operators": ["Voltway"]}});
    let policy = app.alice.create("/v1/policies", policy).await;
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    app.alice
        .post_ok(&fleet, json!({"policy_ids": [policy]}))
        .await;
    let session = app.session(&crew, &station);
    let (started, is_error) = call(&app.alice, "start_charging", session).await;
    assert!(!is_error, "{started}");
    assert_has!(started, {"/policy_warnings/0/rule": "denied_operators"});
    app.drain().await;
}

#[tokio::test]
async fn an_error_of_the_transport_has_the_form_of_the_api() {
    let app = TestApp::start().await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let json = HEADERS[1];
    let refusals = [
        (vec![json], 406, "Accept"),
        (vec![json, ("accept", "*/*")], 406, "Accept"),
        (vec![json, ("accept", "application/json")], 406, "Accept"),
        (
            vec![HEADERS[0], ("content-type", "text/plain")],
            415,
            "Content-Type",
        ),
    ];
    for (headers, status, param) in refusals {
        let body = Some(message.to_string());
        let refused = app.alice.send("POST", "/mcp", body, &headers).await;
        let refused = refused.expect(status);
        assert_eq!(refused.header("content-type"), "application/json");
        assert_has!(refused.body, {"object": "error", "type": "invalid_request_error", "param": param, "status": status,
            "request": refused.header("service-request-id")});
    }
    for (key, body, status) in [
        (&app.alice, message.to_string(), 200),
        (&app.alice, "{".to_owned(), 400),
        (&app.anon, message.to_string(), 401),
    ] {
        let response = key
            .send("POST", "/mcp", Some(body), &HEADERS)
            .await
            .expect(status);
        assert!(response.header("service-request-id").starts_with("req_"));
        assert_eq!(response.header("service-version"), version::CURRENT);
        assert_eq!(response.header("cache-control"), "no-store");
        // It has sent no request to the API, so this is the limit of its address.
        let limit = response.header("ratelimit-limit").parse::<i64>();
        assert!(limit.is_ok_and(|limit| limit >= 50));
        assert_ne!(response.header("ratelimit-reset"), "");
        assert_eq!(response.header("content-type"), "application/json");
    }
}

#[tokio::test]
async fn only_post_with_a_body_of_at_most_256_kib_is_served() {
    let app = TestApp::start().await;
    for method in ["GET", "DELETE"] {
        let refused = app.alice.send(method, "/mcp", None, &HEADERS).await;
        assert_eq!(refused.header("allow"), "POST", "{method}");
        assert_has!(refused.expect(405).body, {"object": "error", "status": 405});
    }
    let large = json!({"name": "show", "arguments": {"id": "x".repeat(256 * 1024)}});
    let refused = send(&app.alice, "tools/call", large).await.expect(400);
    assert_eq!(refused.body["message"], "The body is larger than 256 KiB.");
}
