//! Tests of keys and tokens: where they are stored and which host receives them, and of times by the clock of the service.

use std::path::Path;

use serde_json::{Value, json};

use crate::imports::{csv, import};
use crate::requests::CREATE;
use crate::scripted::{Server, Tool, code, error, ok, stderr, stdout};

#[test]
fn a_next_page_on_another_host_is_not_requested() {
    let thief = Server::start(Vec::new());
    let next = format!("{}/v1/fleets?page=page_a", thief.url);
    let server = Server::start(vec![ok(
        json!({"data": [], "next_page_url": next, "previous_page_url": null}),
    )]);
    let output = Tool::new().run(&server, &["fleets", "list", "--all"]);
    assert_eq!(code(&output), 1);
    assert!(thief.seen().is_empty());
}

#[test]
fn relative_times_are_those_of_the_services_clock() {
    let server = Server::start(vec![
        ok(json!({"now": "2030-01-01T10:00:00.000Z"})),
        ok(json!({"id": "inv_1"})),
    ]);
    let words = [
        "invoices",
        "create",
        "--period-start",
        "-24h",
        "--period-end",
        "+1h30m",
    ];
    let output = Tool::new().run(&server, &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let seen = server.seen();
    assert_eq!(seen[0].line, "GET /_local/clock");
    let body: Value = serde_json::from_str(&seen[1].body).expect("JSON");
    assert_eq!(
        body,
        json!({"period_start": "2029-12-31T10:00:00.000Z", "period_end": "2030-01-01T11:30:00.000Z"})
    );
}

#[test]
fn the_token_goes_to_the_local_runner_and_the_key_to_the_api() {
    let server = Server::start(vec![
        ok(json!({"now": "2030-01-01T10:00:00.000Z"})),
        ok(json!({"id": "inv_1"})),
    ]);
    let tool = Tool::new();
    let words = [
        "invoices",
        "create",
        "--period-start",
        "-24h",
        "--period-end",
        "2030-01-02T00:00:00Z",
    ];
    let mut command = tool.command_at(&server, &words);
    command.env("FLEET_LOCAL_TOKEN", "0123456789");
    let output = command.output().expect("the tool runs");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let seen = server.seen();
    let sent = |n: usize| seen[n].header("authorization").expect("a credential");
    assert_eq!(sent(0), "Bearer 0123456789");
    assert_eq!(sent(1), "Bearer sk_test_0123456789abcdef");
}

#[test]
fn clock_commands_and_relative_times_require_the_runner_token() {
    let period = ["--period-start", "-24h", "--period-end", "now"];
    let words: [&[&str]; 3] = [
        &[&["invoices", "create"], &period[..]].concat(),
        &["clock", "show"],
        &["clock", "advance", "30m"],
    ];
    for words in words {
        let server = Server::start(vec![error(401, "authentication_error")]);
        let output = Tool::new().run(&server, words);
        assert_eq!(code(&output), 4, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("FLEET_LOCAL_TOKEN"), "{words:?}");
        assert_eq!(server.seen().len(), 1, "{words:?}");
    }
}

#[test]
fn a_profile_has_the_token_of_its_runner() {
    let server = Server::start(vec![ok(json!({"now": "2030-01-01T10:00:00.000Z"}))]);
    let tool = Tool::new();
    let words = ["profiles", "add", "local", "--base-url", &server.url];
    let mut command = tool.command(&words);
    command
        .env("FLEET_API_KEY", "sk_test_0123456789abcdef")
        .env("FLEET_LOCAL_TOKEN", "0123456789");
    assert_eq!(code(&command.output().expect("the tool runs")), 0);
    let shown = tool.command(&["clock", "show"]).output();
    assert_eq!(code(&shown.expect("the tool runs")), 0);
    let sent = server.seen().remove(0);
    assert_eq!(sent.header("authorization"), Some("Bearer 0123456789"));
}

#[cfg(unix)]
fn mode(file: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file)
        .expect("a file")
        .permissions()
        .mode()
        & 0o777
}

#[cfg(unix)]
#[test]
fn the_key_file_has_mode_600_and_is_refused_otherwise() {
    use std::os::unix::fs::PermissionsExt as _;
    let (tool, server) = (Tool::new(), Server::start(Vec::new()));
    let added = tool.run(&server, &["profiles", "add", "test"]);
    assert_eq!(code(&added), 0, "{}", stderr(&added));
    assert_eq!(mode(&tool.config()), 0o600);
    assert_eq!(mode(tool.config().parent().expect("a folder")), 0o700);
    let listed = tool
        .command(&["profiles", "list", "--json"])
        .output()
        .expect("output");
    assert!(
        !stdout(&listed).contains("0123456789ab"),
        "{}",
        stdout(&listed)
    );

    std::fs::set_permissions(tool.config(), std::fs::Permissions::from_mode(0o644))
        .expect("permissions");
    let refused = tool.command(&["fleets", "list"]).output().expect("output");
    assert_eq!(code(&refused), 1);
    assert!(
        stderr(&refused).contains("chmod 600"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn a_profiles_key_is_sent_only_to_its_base_url() {
    let tool = Tool::new();
    let page = || ok(json!({"data": [], "next_page_url": null}));
    let (own, other) = (Server::start(vec![page()]), Server::start(vec![page()]));
    tool.run(&own, &["profiles", "add", "test"]);
    let listed = tool.command(&["fleets", "list"]).output().expect("output");
    assert_eq!(code(&listed), 0, "{}", stderr(&listed));
    assert_eq!(
        own.seen()[0].header("authorization"),
        Some("Bearer sk_test_0123456789abcdef")
    );
    let refused = tool
        .command(&["fleets", "list", "--base-url", &other.url])
        .output()
        .expect("output");
    assert_eq!(code(&refused), 4);
    assert!(other.seen().is_empty());
}

#[test]
fn a_missing_key_exits_with_4_before_any_request() {
    let tool = Tool::new();
    let server = Server::start(Vec::new());
    let file = csv(tool.folder.path(), 1);
    let file = file.to_str().expect("a path");
    for words in [&["fleets", "list"][..], &CREATE, &import(file), &["mcp"]] {
        let mut command = tool.command(words);
        command.env("FLEET_API_URL", &server.url);
        let output = command.output().expect("the tool runs");
        assert_eq!(code(&output), 4, "{words:?} {}", stderr(&output));
        assert!(stderr(&output).contains("no API key"), "{words:?}");
    }
    assert!(server.seen().is_empty());
}
