//! Tests of `listen`: its endpoint, its position, and redeliveries.

use serde_json::{Value, json};

use crate::await_requests;
use crate::imports::lines;
use crate::scripted::{Act, Server, Tool, code, error, ok, stderr, stdout};

#[test]
fn listen_goes_on_where_it_was_and_shows_redeliveries() {
    let event =
        json!({"id": "evt_1", "type": "fleet.created", "created": "2026-03-02T08:00:00.000Z"});
    let page = |data: Value, cursor: &str, again: Value| {
        ok(json!({"data": data, "cursor": cursor, "has_more": false, "redelivered": again}))
    };
    let service = Server::start(vec![
        ok(json!({"id": "wh_1"})),
        page(json!([]), "c0", json!([])),
        // The network is interrupted for a moment.
        Act::HangUp,
        page(json!([event.clone()]), "c1", json!([])),
        // The second run.
        page(json!([event]), "c2", json!(["evt_1"])),
        // The third one, for other events.
        ok(json!({"id": "wh_2"})),
        error(400, "invalid_request_error"),
    ]);
    let receiver = Server::start(vec![ok(json!({})), ok(json!({}))]);
    let tool = Tool::new();
    let listen = |more: &[&str]| {
        let words = [
            "listen",
            "--forward-to",
            &receiver.url,
            "--count",
            "1",
            "--max-retries",
            "0",
        ];
        tool.run(&service, &[&words[..], more].concat())
    };
    let first = listen(&[]);
    assert!(first.status.success(), "{first:?}");
    let second = listen(&[]);
    assert!(stdout(&second).contains("redeliver"), "{second:?}");
    assert_eq!(code(&second), 0);
    assert!(!listen(&["--events", "fleet.deleted"]).status.success());
    let lines: Vec<String> = service.seen().into_iter().map(|seen| seen.line).collect();
    let events = "GET /v1/webhook_endpoints/wh_1/events?limit=1";
    assert_eq!(
        lines,
        [
            "POST /v1/webhook_endpoints".to_owned(),
            events.to_owned(),
            format!("{events}&cursor=c0&wait=20"),
            format!("{events}&cursor=c0&wait=20"),
            format!("{events}&cursor=c1&wait=20"),
            "POST /v1/webhook_endpoints".to_owned(),
            events.replace("wh_1", "wh_2"),
        ]
    );
    let deliveries = receiver.seen();
    let marks: Vec<_> = deliveries
        .iter()
        .map(|delivery| delivery.header("webhook-redelivery"))
        .collect();
    assert_eq!(marks, [None, Some("true")]);
    assert!(
        deliveries
            .iter()
            .all(|delivery| delivery.header("webhook-id") == Some("evt_1"))
    );
}

#[test]
fn listen_has_an_endpoint_and_a_position_for_each_set_of_types() {
    let page = |cursor: &str, events: Value| ok(json!({"data": events, "cursor": cursor}));
    let event = || json!([{"id": "evt_1", "type": "fleet.created"}]);
    let mut taken = json!({"type": "invalid_request_error", "message": "There are 16 webhook endpoints already.", "status": 409});
    taken["request"] = "req_1".into();
    let service = Server::start(vec![
        ok(json!({"id": "wh_1"})),
        page("a0", json!([])),
        page("a1", event()),
        ok(json!({"id": "wh_2"})),
        page("b0", json!([])),
        page("b1", event()),
        page("a2", event()),
        Act::Respond(409, "", taken),
    ]);
    let receiver = Server::start((0..3).map(|_| ok(json!({}))).collect());
    let tool = Tool::new();
    let listen = |types: &str| {
        let url = receiver.url.as_str();
        let words = ["listen", "--forward-to", url, "--count", "1", "--events"];
        tool.run(&service, &[&words[..], &[types]].concat())
    };
    for types in [
        "fleet.created,fleet.deleted",
        "fleet.created",
        "fleet.deleted,fleet.created",
    ] {
        let output = listen(types);
        assert_eq!(code(&output), 0, "{output:?}");
    }
    let refused = stderr(&listen("fleet.updated"));
    for id in ["wh_1", "wh_2"] {
        let advice = format!("fleet webhook-endpoints delete {id}");
        assert!(refused.contains(&advice), "{refused}");
    }
    let seen = lines(&service);
    let events = |id, from: &str| format!("GET /v1/webhook_endpoints/{id}/events?limit=1{from}");
    let create = "POST /v1/webhook_endpoints".to_owned();
    assert_eq!(
        seen,
        [
            create.clone(),
            events("wh_1", ""),
            events("wh_1", "&cursor=a0&wait=20"),
            create.clone(),
            events("wh_2", ""),
            events("wh_2", "&cursor=b0&wait=20"),
            events("wh_1", "&cursor=a1&wait=20"),
            create,
        ]
    );
}

#[test]
fn listen_is_refused_while_another_run_reads_the_same_events() {
    let busy = Act::Respond(503, "Retry-After: 60\r\n", json!({"type": "api_error"}));
    let service = Server::start(vec![
        ok(json!({"id": "wh_1"})),
        ok(json!({"data": [], "cursor": "c0"})),
        busy,
    ]);
    let tool = Tool::new();
    let url = "http://127.0.0.1:1/";
    let words = ["listen", "--forward-to", url, "--count", "1"];
    let mut first = tool.command_at(&service, &words);
    first.stderr(std::process::Stdio::null());
    let mut first = first.spawn().expect("a process");
    await_requests(&service, 3, &mut first);
    let second = tool.run(&service, &words);
    first.kill().expect("a running process");
    first.wait().expect("its end");
    assert_eq!(code(&second), 1, "{second:?}");
    let why = "another `fleet listen` reads these events";
    assert!(stderr(&second).contains(why), "{second:?}");
    assert_eq!(service.seen().len(), 3);
}

#[test]
fn listen_reports_that_its_endpoint_was_deleted() {
    let page = |data: Value, cursor: &str| ok(json!({"data": data, "cursor": cursor}));
    let event = json!({"id": "evt_1", "type": "fleet.created"});
    let gone = || error(404, "invalid_request_error");
    let service = Server::start(vec![
        ok(json!({"id": "wh_1"})),
        page(json!([]), "c0"),
        gone(),
        ok(json!({"id": "wh_2"})),
        page(json!([event]), "c1"),
    ]);
    let receiver = Server::start(vec![ok(json!({}))]);
    let tool = Tool::new();
    let words = ["listen", "--forward-to", &receiver.url, "--count", "1"];
    let output = tool.run(&service, &words);
    assert_eq!(code(&output), 0, "{output:?}");
    let created = "was deleted; wh_2 was created in its place";
    assert!(stderr(&output).contains(created), "{output:?}");
}
