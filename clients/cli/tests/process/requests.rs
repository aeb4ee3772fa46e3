//! Tests of requests: retries, exit codes, errors, pages and bodies.

use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use serde_json::{Value, json};

use crate::scripted::{Act, Server, Tool, code, error, ok, stderr, stdout};

pub(super) const CREATE: [&str; 6] = [
    "drivers",
    "create",
    "--name",
    "Ada",
    "--email",
    "ada@fleet.example",
];

#[test]
fn a_post_is_retried_with_the_same_idempotency_key() {
    let server = Server::start(vec![
        Act::HangUp,
        error(409, "idempotency_error"),
        Act::Respond(
            429,
            "Retry-After: 0\r\n",
            json!({"type": "rate_limit_error"}),
        ),
        error(500, "api_error"),
        Act::Respond(503, "Retry-After: 0\r\n", json!({"type": "api_error"})),
        ok(json!({"id": "drv_1"})),
    ]);
    let output = Tool::new().run(&server, &[&CREATE[..], &["--get", "id"]].concat());
    assert_eq!(
        (code(&output), stdout(&output)),
        (0, "drv_1".into()),
        "{}",
        stderr(&output)
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 6);
    let key = seen[0].header("idempotency-key").expect("a key").to_owned();
    assert_eq!(key.len(), 36);
    for request in &seen {
        assert_eq!(request.line, "POST /v1/drivers");
        assert_eq!(request.header("idempotency-key"), Some(key.as_str()));
        assert_eq!(
            request.body,
            r#"{"email":"ada@fleet.example","name":"Ada"}"#
        );
        assert_eq!(
            request.header("authorization"),
            Some("Bearer sk_test_0123456789abcdef")
        );
        assert_eq!(
            request.header("service-version"),
            Some(fleet::commands::CATALOG.version.as_str())
        );
    }
}

#[test]
fn retries_stop_at_max_retries_and_print_the_idempotency_key() {
    let server = Server::start(vec![Act::HangUp, Act::HangUp, Act::HangUp]);
    let words = [
        &CREATE[..],
        &["--max-retries", "1", "--idempotency-key", "mine"],
    ]
    .concat();
    let output = Tool::new().run(&server, &words);
    assert_eq!(code(&output), 6);
    assert!(
        stderr(&output).contains("--idempotency-key mine"),
        "{}",
        stderr(&output)
    );
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn each_error_has_its_exit_code_and_refusals_are_not_retried() {
    for (status, kind, want, requests) in [
        (400, "invalid_request_error", 3, 1),
        (401, "authentication_error", 4, 1),
        (402, "invalid_request_error", 3, 1),
        (403, "authentication_error", 4, 1),
        (404, "invalid_request_error", 3, 1),
        (409, "invalid_request_error", 3, 1),
        (429, "rate_limit_error", 5, 2),
        (500, "api_error", 6, 2),
        (503, "api_error", 6, 2),
    ] {
        let server = Server::start(vec![error(status, kind), error(status, kind)]);
        let words = [&CREATE[..], &["--max-retries", "1"]].concat();
        let output = Tool::new().run(&server, &words);
        assert_eq!(
            (code(&output), server.seen().len()),
            (want, requests),
            "{status}"
        );
        assert!(stderr(&output).contains("No."), "{}", stderr(&output));
        assert!(stdout(&output).is_empty());
    }
    let server = Server::start(Vec::new());
    for words in [
        &["drivers", "create"][..],
        &["drivers", "creat"],
        &["drivers", "create", "--nam", "x"],
        &["fleets", "retrieve", ".."],
    ] {
        assert_eq!(code(&Tool::new().run(&server, words)), 2, "{words:?}");
    }
    assert!(server.seen().is_empty());
}

#[test]
fn a_success_without_a_body_is_repeated_except_of_the_runner() {
    let server = Server::start(vec![Act::Empty, Act::Empty]);
    let words = [&CREATE[..], &["--max-retries", "1"]].concat();
    let output = Tool::new().run(&server, &words);
    assert_eq!((code(&output), server.seen().len()), (6, 2));
    let local = Server::start(vec![Act::Empty]);
    let words = ["api", "POST", "/_local/network", "--body", "{}"];
    assert_eq!(code(&Tool::new().run(&local, &words)), 0);
}

#[test]
fn a_429_says_how_long_to_wait() {
    let server = Server::start(vec![
        Act::Respond(429, "Retry-After: 1\r\n", json!({})),
        ok(json!({"id": "drv_1"})),
    ]);
    let began = std::time::Instant::now();
    let output = Tool::new().run(&server, &CREATE);
    assert_eq!(code(&output), 0);
    assert!(began.elapsed() >= std::time::Duration::from_secs(1));
}

#[test]
fn an_error_is_json_on_standard_error_when_json_is_asked_for() {
    let server = Server::start(vec![error(404, "invalid_request_error")]);
    let output = Tool::new().run(&server, &["fleets", "retrieve", "flt_1", "--json"]);
    let shown: Value = serde_json::from_str(&stderr(&output)).expect("JSON");
    assert_eq!(shown["status"], 404);
}

#[test]
fn all_pages_are_listed_at_the_urls_that_the_service_gives() {
    let page = |ids: &[&str], next: Option<&str>| {
        let data: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        ok(json!({"data": data, "next_page_url": next, "previous_page_url": null}))
    };
    let pages = || {
        vec![
            page(
                &["flt_5", "flt_4"],
                Some("/v1/fleets?limit=2&page=page_%41"),
            ),
            page(&["flt_3", "flt_2"], Some("/v1/fleets?limit=2&page=page_b")),
            page(&[], Some("/v1/fleets?limit=2&page=page_c")),
            page(&["flt_1"], None),
        ]
    };
    let server = Server::start(pages());
    let output = Tool::new().run(&server, &["fleets", "list", "--all", "--get", "id"]);
    assert_eq!(stdout(&output), "flt_5\nflt_4\nflt_3\nflt_2\nflt_1");
    let lines: Vec<String> = server
        .seen()
        .into_iter()
        .map(|request| request.line)
        .collect();
    assert_eq!(
        lines,
        [
            "GET /v1/fleets?limit=100",
            "GET /v1/fleets?limit=2&page=page_%41",
            "GET /v1/fleets?limit=2&page=page_b",
            "GET /v1/fleets?limit=2&page=page_c"
        ]
    );
    let server = Server::start(pages());
    let output = Tool::new().run(&server, &["fleets", "list", "--limit", "103", "--json"]);
    let shown: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(shown["data"].as_array().map(Vec::len), Some(5));
    assert_eq!(shown["next_page_url"], Value::Null);
    let server = Server::start(pages());
    let output = Tool::new().run(&server, &["fleets", "list", "--all", "--output", "json"]);
    let all: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(all, shown);
    let server = Server::start(pages());
    let output = Tool::new().run(&server, &["fleets", "list", "--limit", "1", "--json-lines"]);
    assert_eq!(stdout(&output), r#"{"id":"flt_5"}"#);
    assert_eq!(server.seen()[0].line, "GET /v1/fleets?limit=1");
}

#[test]
fn moving_the_clock_may_take_longer_than_the_time_out() {
    let moved = json!({"now": "2030-01-01T10:00:00.000Z"});
    let server = Server::start(vec![Act::Late(Duration::from_secs(2), moved)]);
    let words = ["clock", "advance", "7d", "--timeout", "1"];
    let output = Tool::new().run(&server, &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "2030-01-01T10:00:00.000Z");
}

#[test]
fn flags_change_the_members_of_a_body_that_is_given_whole() {
    let server = Server::start(vec![ok(json!({"id": "res_1"}))]);
    let body = r#"{"metadata":{"a":"1","b":"2"},"location":{"latitude":1,"radius":5}}"#;
    let words = [
        "reservations",
        "update",
        "res_1",
        "--body",
        body,
        "--metadata",
        "b=3",
        "--location.longitude",
        "-0.5",
        "--location.latitude",
        "51",
        "--unset",
        "latest-end",
        "--connector-type",
        "CCS,Type2",
    ];
    let output = Tool::new().run(&server, &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let sent: Value = serde_json::from_str(&server.seen()[0].body).expect("JSON");
    assert_eq!(
        sent,
        json!({"metadata": {"a": "1", "b": "3"}, "location": {"latitude": 51, "radius": 5, "longitude": -0.5},
            "connector_type": ["CCS", "Type2"], "latest_end": null})
    );
}

#[test]
fn ids_are_percent_encoded_and_list_expansions_start_with_data() {
    let server = Server::start(vec![
        error(404, "invalid_request_error"),
        ok(json!({"data": [], "next_page_url": null})),
    ]);
    let tool = Tool::new();
    tool.run(&server, &["fleets", "retrieve", "a/b?c d"]);
    tool.run(
        &server,
        &["reservations", "list", "--expand", "driver,data.vehicle"],
    );
    let seen = server.seen();
    assert_eq!(seen[0].line, "GET /v1/fleets/a%2Fb%3Fc%20d");
    assert_eq!(
        seen[1].line,
        "GET /v1/reservations?expand%5B%5D=data.driver&expand%5B%5D=data.vehicle&limit=10"
    );
}

#[test]
fn a_reader_that_goes_away_ends_the_tool_quietly() {
    let data: Vec<Value> = (0..5_000)
        .map(|n| json!({"id": format!("flt_{n}")}))
        .collect();
    let server = Server::start(vec![ok(json!({"data": data, "next_page_url": null}))]);
    let words = ["fleets", "list", "--all", "--json-lines"];
    let mut child = Tool::new()
        .command_at(&server, &words)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("a process");
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("output"))
        .read_line(&mut first)
        .expect("a line");
    let output = child.wait_with_output().expect("its end");
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}

#[test]
fn the_readme_lists_the_exit_codes_as_the_tool_does() {
    let readme = include_str!("../../README.md");
    for (code, meaning) in fleet::failure::EXIT_CODES {
        let row = format!("| {code} | {meaning} |");
        assert!(readme.contains(&row), "{row}");
    }
}
