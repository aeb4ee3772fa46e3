//! The executable against a server with scripted responses: retries, exit codes, pages, and the hosts that receive keys.

mod scripted;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::time::Duration;

use scripted::{Act, Seen, Server, Tool, code, error, ok, stderr, stdout};
use serde_json::{Value, json};

const CREATE: [&str; 6] = [
    "drivers",
    "create",
    "--name",
    "Ada",
    "--email",
    "ada@fleet.example",
];

/// Waits until a process has sent this number of requests.
fn await_requests(server: &Server, count: usize, child: &mut std::process::Child) {
    while server.seen().len() < count {
        let state = child.try_wait().expect("a state");
        assert_eq!(state, None, "it has ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

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
    let mut command = tool.command(&words);
    command
        .env("FLEET_API_URL", &server.url)
        .env("FLEET_API_KEY", "sk_test_0123456789abcdef")
        .env("FLEET_LOCAL_TOKEN", "0123456789");
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
fn moving_the_clock_may_take_longer_than_the_time_out() {
    let moved = json!({"now": "2030-01-01T10:00:00.000Z"});
    let server = Server::start(vec![Act::Late(Duration::from_secs(2), moved)]);
    let words = ["clock", "advance", "7d", "--timeout", "1"];
    let output = Tool::new().run(&server, &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "2030-01-01T10:00:00.000Z");
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
fn a_reader_that_goes_away_ends_the_tool_quietly() {
    let data: Vec<Value> = (0..5_000)
        .map(|n| json!({"id": format!("flt_{n}")}))
        .collect();
    let server = Server::start(vec![ok(json!({"data": data, "next_page_url": null}))]);
    let mut command = Tool::new().command(&["fleets", "list", "--all", "--json-lines"]);
    command
        .env("FLEET_API_URL", &server.url)
        .env("FLEET_API_KEY", "sk_test_0123456789abcdef");
    let mut child = command
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

/// A CSV file of vehicles with this number of lines.
fn csv(folder: &Path, lines: usize) -> std::path::PathBuf {
    let mut text = "registration_plate,vin,battery_capacity,charging_standard\n".to_owned();
    for n in 0..lines {
        text += &format!("AB {n},VIN{n},60000,CCS\n");
    }
    let file = folder.join("vehicles.csv");
    std::fs::write(&file, text).expect("a file");
    file
}

fn fleet() -> Act {
    ok(json!({"id": "flt_1"}))
}

/// The response to the creation of a batch.
fn running(id: &str) -> Act {
    ok(json!({"id": id, "status": "running", "succeeded": 0, "failed": 0}))
}

fn completed() -> Act {
    ok(json!({"id": "bat_1", "status": "completed", "succeeded": 1, "failed": 0}))
}

fn succeeded(vehicle: usize) -> Value {
    json!({"status": "succeeded", "result": format!("veh_{vehicle}"), "error": null})
}

/// A page of results.
fn results(data: &[Value], next: Option<&str>) -> Act {
    ok(json!({"data": data, "next_page_url": next, "previous_page_url": null}))
}

/// The arguments that import a file, one batch at a time.
fn import(file: &str) -> Vec<&str> {
    let fleet = ["--set", "fleet=flt_1", "--concurrency", "1"];
    [&["vehicles", "import", file][..], &fleet].concat()
}

fn lines(server: &Server) -> Vec<String> {
    server.seen().into_iter().map(|seen| seen.line).collect()
}

/// The bodies of a batch that was sent.
fn bodies(seen: &Seen) -> Vec<Value> {
    assert_eq!(seen.line, "POST /v1/batches");
    let mut body: Value = serde_json::from_str(&seen.body).expect("JSON");
    assert_eq!(body["operation"], "create_vehicle");
    serde_json::from_value(body["bodies"].take()).expect("bodies")
}

#[test]
fn an_import_sends_batches_of_at_most_1000_lines() {
    let all: Vec<Value> = (0..1001).map(succeeded).collect();
    let server = Server::without_clock(vec![
        fleet(),
        running("bat_1"),
        completed(),
        results(&all[..1000], None),
        running("bat_2"),
        completed(),
        results(&all[1000..], None),
        // The second run.
        fleet(),
        ok(json!({"id": "veh_1"})),
    ]);
    let tool = Tool::new();
    let file = csv(tool.folder.path(), 1001);
    let words = import(file.to_str().expect("a path"));
    let output = tool.run(&server, &words);
    let summary = "1001 created, 0 done before, 0 refused";
    assert_eq!((code(&output), stdout(&output).as_str()), (0, summary));
    let seen = server.seen();
    let sent = [bodies(&seen[1]), bodies(&seen[4])];
    assert_eq!(sent.each_ref().map(Vec::len), [1000, 1]);
    assert_eq!(sent[1][0]["vin"], "VIN1000");
    let key = |place: usize| seen[place].header("idempotency-key").expect("a key");
    assert_ne!(key(1), key(4));

    let again = tool.run(&server, &words);
    let summary = "0 created, 1001 done before, 0 refused";
    assert_eq!((code(&again), stdout(&again).as_str()), (0, summary));
}

#[test]
fn a_refused_line_is_reported_and_sent_again_with_another_key() {
    let error = json!({"type": "invalid_request_error", "param": "vin", "message": "is in use"});
    let failed = json!({"status": "failed", "result": null, "error": error});
    let server = Server::without_clock(vec![
        fleet(),
        running("bat_1"),
        completed(),
        results(&[succeeded(0), failed.clone(), succeeded(2)], None),
        // The second run.
        fleet(),
        ok(json!({"id": "veh_2"})),
        running("bat_2"),
        completed(),
        results(&[failed], None),
        // The third run.
        fleet(),
        ok(json!({"id": "veh_2"})),
        running("bat_3"),
        completed(),
        results(&[succeeded(1)], None),
    ]);
    let tool = Tool::new();
    let file = csv(tool.folder.path(), 3);
    let rejected = tool.folder.path().join("rejected.csv");
    let rejected = rejected.to_str().expect("a path");
    let words = import(file.to_str().expect("a path"));
    let words = [&words[..], &["--rejected", rejected]].concat();
    for summary in [
        "2 created, 0 done before, 1 refused",
        "0 created, 2 done before, 1 refused",
    ] {
        let output = tool.run(&server, &words);
        assert_eq!((code(&output), stdout(&output).as_str()), (7, summary));
        let reason = stderr(&output);
        assert!(reason.contains("line 3: vin: is in use"), "{reason}");
        let written = std::fs::read_to_string(rejected).expect("a file");
        assert!(
            written.ends_with("\nAB 1,VIN1,60000,CCS,vin: is in use\n"),
            "{written}"
        );
    }
    let output = tool.run(&server, &words);
    let summary = "1 created, 2 done before, 0 refused";
    assert_eq!((code(&output), stdout(&output).as_str()), (0, summary));
    let written = std::fs::read_to_string(rejected).expect("a file");
    assert_eq!(written.lines().count(), 1, "{written}");
    let seen = server.seen();
    let vins = |place: usize| -> Vec<Value> {
        let bodies = bodies(&seen[place]);
        bodies.iter().map(|body| body["vin"].clone()).collect()
    };
    assert_eq!([vins(6), vins(11)], [["VIN1"], ["VIN1"]]);
    let key = |place: usize| seen[place].header("idempotency-key");
    assert_ne!(key(6), key(11));
}

#[test]
fn an_import_continues_after_every_entry_of_its_journal() {
    let ended = |place| results(&[succeeded(place), succeeded(1)], None);
    let known = || ok(json!({"id": "veh_0"}));
    let server = Server::without_clock(vec![
        fleet(),
        running("bat_1"),
        completed(),
        ended(0),
        // Without the chunk.
        fleet(),
        running("bat_1"),
        completed(),
        ended(0),
        // With the chunk, which may or may not have been sent.
        fleet(),
        running("bat_1"),
        completed(),
        ended(0),
        // With the id of the batch.
        fleet(),
        completed(),
        ended(0),
        // With the outcome of the first line.
        fleet(),
        known(),
        completed(),
        ended(0),
        // With both outcomes.
        fleet(),
        known(),
    ]);
    let tool = Tool::new();
    let file = csv(tool.folder.path(), 2);
    let file = file.to_str().expect("a path");
    let journal = format!("{file}.journal");
    assert_eq!(code(&tool.run(&server, &import(file))), 0);
    let whole = std::fs::read_to_string(&journal).expect("a journal");
    let entries: Vec<&str> = whole.split_inclusive('\n').collect();
    assert_eq!(entries.len(), 5);
    for count in 1..=5 {
        std::fs::write(&journal, entries[..count].concat()).expect("a journal");
        let output = tool.run(&server, &import(file));
        let before = count.saturating_sub(3);
        let summary = format!("{} created, {before} done before, 0 refused", 2 - before);
        assert_eq!(stdout(&output), summary, "{count}: {}", stderr(&output));
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 21);
    let sent: Vec<&Seen> = seen
        .iter()
        .filter(|seen| seen.line == "POST /v1/batches")
        .collect();
    assert_eq!(sent.len(), 3);
    for repeated in &sent[1..] {
        assert_eq!(repeated.body, sent[0].body);
        let key = "idempotency-key";
        assert_eq!(repeated.header(key), sent[0].header(key));
    }
}

#[test]
fn a_killed_import_resends_its_batch_even_if_the_file_changed() {
    let hang_ups = (0..20).map(|_| Act::HangUp);
    let server = Server::without_clock([fleet()].into_iter().chain(hang_ups).collect());
    let tool = Tool::new();
    let file = csv(tool.folder.path(), 3);
    let file = file.to_str().expect("a path").to_owned();
    let mut child = tool
        .command(&import(&file))
        .env("FLEET_API_URL", &server.url)
        .env("FLEET_API_KEY", "sk_test_0123456789abcdef")
        .spawn()
        .expect("a process");
    await_requests(&server, 2, &mut child);
    child.kill().expect("a kill");
    child.wait().expect("its end");
    let first = server.seen().remove(1);

    let server = Server::without_clock(vec![
        fleet(),
        running("bat_1"),
        completed(),
        results(&[succeeded(0), succeeded(1), succeeded(2)], None),
    ]);
    let journal = format!("{file}.journal");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let target: Value = text
        .lines()
        .next()
        .and_then(|line| serde_json::from_str(line).ok())
        .expect("its first line");
    let url = target["target"]["base_url"].as_str().expect("a URL");
    std::fs::write(&journal, text.replace(url, &format!("{}/", server.url))).expect("a journal");
    let changed = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, changed.replace("AB 1,VIN1,60000,CCS\n", "")).expect("a file");
    let output = tool.run(&server, &import(&file));
    let summary = "2 created, 0 done before, 0 refused";
    assert_eq!(stdout(&output), summary, "{}", stderr(&output));
    let second = server.seen().remove(1);
    assert_eq!(first.body, second.body);
    let key = "idempotency-key";
    assert_eq!(first.header(key), second.header(key));
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn batch_results_are_read_from_all_pages_until_none_is_pending() {
    let next = "/v1/batches/bat_1/results?limit=100&page=page_a";
    let pending = json!({"status": "pending", "result": null, "error": null});
    let server = Server::without_clock(vec![
        fleet(),
        running("bat_1"),
        running("bat_1"),
        completed(),
        results(&[succeeded(0)], Some(next)),
        results(&[pending], None),
        completed(),
        results(&[succeeded(0)], Some(next)),
        results(&[succeeded(1)], None),
    ]);
    let tool = Tool::new();
    let file = csv(tool.folder.path(), 2);
    let output = tool.run(&server, &import(file.to_str().expect("a path")));
    let summary = "2 created, 0 done before, 0 refused";
    assert_eq!(stdout(&output), summary, "{}", stderr(&output));
    let first = "GET /v1/batches/bat_1/results?limit=100";
    let next = format!("GET {next}");
    assert_eq!(
        lines(&server)[2..],
        [
            "GET /v1/batches/bat_1",
            "GET /v1/batches/bat_1",
            first,
            &next,
            "GET /v1/batches/bat_1",
            first,
            &next,
        ]
    );
}

#[test]
fn drivers_are_attached_after_their_batch_and_not_created_again() {
    let conflict = json!({"type": "invalid_request_error", "code": "driver_fleet_conflict"});
    let driver = |fleets: &[&str]| ok(json!({"id": "drv_1", "fleets": fleets}));
    let server = Server::without_clock(vec![
        fleet(),
        running("bat_1"),
        completed(),
        results(&[json!({"status": "succeeded", "result": "drv_1"})], None),
        error(404, "invalid_request_error"),
        driver(&["flt_2"]),
        // The second run.
        fleet(),
        driver(&["flt_1"]),
        Act::Respond(409, "", conflict),
        driver(&["flt_1"]),
    ]);
    let tool = Tool::new();
    let file = tool.folder.path().join("drivers.csv");
    std::fs::write(&file, "name,email\nAda,ada@fleet.example\n").expect("a file");
    let rejected = tool.folder.path().join("rejected.csv");
    let paths = [&file, &rejected].map(|path| path.to_str().expect("a path"));
    let words = ["drivers", "import", paths[0], "--attach", "flt_1"];
    let words = [&words[..], &["--rejected", paths[1]]].concat();
    let output = tool.run(&server, &words);
    let summary = "0 created, 0 done before, 0 refused, 1 not attached";
    assert_eq!((code(&output), stdout(&output).as_str()), (7, summary));
    let why = "line 2: drv_1 exists and is not attached";
    assert!(stderr(&output).contains(why), "{}", stderr(&output));
    // Importing the line again from that file would create a second driver.
    assert!(!rejected.exists());
    let output = tool.run(&server, &words);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(
        stdout(&output),
        "0 created, 0 done before, 0 refused, 1 updated, 0 unchanged"
    );
    let attach = "POST /v1/drivers/drv_1/attach";
    let lines = lines(&server);
    assert_eq!([&lines[4], &lines[8]], [attach, attach]);
    assert_eq!(lines.len(), 10);
}

#[test]
fn a_deleted_driver_is_listed_and_the_others_are_imported() {
    let tool = Tool::new();
    let file = tool.folder.path().join("drivers.csv");
    let text = "name,email\nAda,ada@fleet.example\nBob,bob@fleet.example\n";
    std::fs::write(&file, text).expect("a file");
    let path = file.to_str().expect("a path");
    let gone = || error(404, "invalid_request_error");
    let created = |id: &str| json!({"status": "succeeded", "result": id});
    let server = Server::without_clock(vec![
        ok(json!({"data": []})),
        running("bat_1"),
        completed(),
        results(&[created("drv_1"), created("drv_2")], None),
    ]);
    let words = ["drivers", "import", path, "--concurrency", "1"];
    assert_eq!(code(&tool.run(&server, &words)), 0);
    let journal = format!("{path}.journal");
    let entries = std::fs::read_to_string(&journal).expect("a journal");
    std::fs::write(&file, format!("{text}Cid,cid@fleet.example\n")).expect("a file");
    let (base, driver) = (format!("{}/", server.url), || ok(json!({"id": "drv_2"})));
    // The objects of the journal are read in the order of the keys of their lines.
    let is_first = entries
        .lines()
        .filter(|entry| entry.contains("\"created\""))
        .map(|entry| {
            let entry: Value = serde_json::from_str(entry).expect("JSON");
            (entry["key"].to_string(), entry["id"] == "drv_1")
        });
    let (_, is_first) = is_first.min().expect("an entry");
    let mut acts = vec![fleet()];
    acts.extend(is_first.then(gone));
    acts.extend([
        driver(),
        running("bat_2"),
        completed(),
        results(&[created("drv_3")], None),
    ]);
    acts.extend([gone(), gone(), ok(json!({})), ok(json!({}))]);
    let server = Server::without_clock(acts);
    std::fs::write(
        &journal,
        entries.replace(&base, &format!("{}/", server.url)),
    )
    .expect("a journal");
    let output = tool.run(&server, &[&words[..], &["--attach", "flt_1"]].concat());
    let summary = "1 created, 0 done before, 0 refused, 1 updated, 0 unchanged, 1 not attached";
    assert_eq!(stdout(&output), summary, "{}", stderr(&output));
    let why = "line 2: drv_1 was deleted after its import";
    assert!(stderr(&output).contains(why), "{}", stderr(&output));
}

#[test]
fn a_batch_of_unknown_outcome_is_not_repeated_after_23_hours() {
    let tool = Tool::new();
    let file = csv(tool.folder.path(), 1);
    let file = file.to_str().expect("a path");
    let words = import(file);
    let gone = || error(404, "invalid_request_error");
    let server = Server::without_clock(vec![
        fleet(),
        error(403, "authentication_error"),
        fleet(),
        fleet(),
        running("bat_1"),
        gone(),
        fleet(),
        gone(),
    ]);
    let refused = tool.run(&server, &words);
    assert_eq!(code(&refused), 4, "{}", stderr(&refused));
    let journal = format!("{file}.journal");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    let at = text.find("\"at\":\"").expect("a time") + 6;
    std::fs::write(&journal, format!("{}2020{}", &text[..at], &text[at + 4..])).expect("a journal");
    let rejected = tool.folder.path().join("rejected.csv");
    let path = rejected.to_str().expect("a path");
    let listed = tool.run(&server, &[&words[..], &["--rejected", path]].concat());
    assert_eq!(code(&listed), 7);
    // The vehicle may exist.
    assert!(!rejected.exists());
    let uncertain = "line 2: was sent at 2020";
    assert!(stderr(&listed).contains(uncertain), "{}", stderr(&listed));
    assert_eq!(server.seen().len(), 3);
    // The batch is created, and is not stored any more later.
    tool.run(&server, &[&words[..], &["--retry-uncertain"]].concat());
    let listed = tool.run(&server, &words);
    assert!(stderr(&listed).contains(uncertain), "{}", stderr(&listed));
    assert_eq!(server.seen().len(), 8);
}

#[test]
fn the_age_of_a_batch_is_that_by_the_clock_of_the_service() {
    let at = |headers| Act::Respond(200, headers, json!({"id": "flt_1"}));
    let (monday, wednesday) = (
        "Date: Mon, 01 Jan 2001 00:00:00 GMT\r\n",
        "Date: Wed, 03 Jan 2001 00:00:00 GMT\r\n",
    );
    for (first, second, is_sent_again) in [
        (monday, monday, true),
        (monday, wednesday, false),
        (wednesday, monday, false),
        (monday, "", false),
    ] {
        let tool = Tool::new();
        let file = csv(tool.folder.path(), 1);
        let words = import(file.to_str().expect("a path"));
        let lost = Act::Respond(403, first, json!({"type": "authentication_error"}));
        let no_clock = |headers| Act::Respond(404, headers, json!({}));
        let server = Server::with_clock(
            vec![
                at(first),
                lost,
                at(second),
                running("bat_1"),
                completed(),
                results(&[succeeded(0)], None),
            ],
            vec![no_clock(first), no_clock(second)],
        );
        assert_eq!(code(&tool.run(&server, &words)), 4);
        let output = tool.run(&server, &words);
        let (expected, requests) = if is_sent_again { (0, 6) } else { (7, 3) };
        assert_eq!(
            code(&output),
            expected,
            "{first}{second}{}",
            stderr(&output)
        );
        assert_eq!(server.seen().len(), requests);
    }
}

#[test]
fn the_age_of_a_batch_is_that_by_the_clock_of_the_local_runner() {
    let (monday, wednesday) = ("2027-02-01T00:00:00Z", "2027-02-03T00:00:00Z");
    for (first, second, exit) in [
        (Some(monday), Some(monday), 0),
        (Some(monday), Some(wednesday), 7),
        (Some(wednesday), Some(monday), 7),
        // The token of the runner is missing.
        (Some(monday), None, 4),
        (None, None, 4),
        (None, Some("2100-01-01T00:00:00Z"), 7),
    ] {
        let clock = |now: Option<&str>| match now {
            Some(now) => ok(json!({"now": now})),
            None => error(401, "authentication_error"),
        };
        let server = Server::with_clock(
            vec![
                fleet(),
                error(403, "authentication_error"),
                fleet(),
                running("bat_1"),
                completed(),
                results(&[succeeded(0)], None),
            ],
            vec![clock(first), clock(second)],
        );
        let tool = Tool::new();
        let file = csv(tool.folder.path(), 1);
        let words = import(file.to_str().expect("a path"));
        assert_eq!(code(&tool.run(&server, &words)), 4);
        let output = tool.run(&server, &words);
        assert_eq!(code(&output), exit, "{first:?} {second:?} {output:?}");
        assert_eq!(server.seen().len(), if exit == 0 { 6 } else { 3 });
        let names_token = stderr(&output).contains("FLEET_LOCAL_TOKEN");
        assert_eq!(names_token, exit == 4, "{output:?}");
    }
}

#[test]
fn an_import_reads_standard_input() {
    let tool = Tool::new();
    let server = Server::start(Vec::new());
    let run = |words: &[&str]| {
        let mut child = tool.command(words);
        child
            .env("FLEET_API_URL", &server.url)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = child.spawn().expect("a process");
        let mut input = child.stdin.take().expect("input");
        let text = b"name,email\nAda,ada@fleet.example\n,nonsense\n";
        input.write_all(text).expect("a pipe");
        drop(input);
        child.wait_with_output().expect("its end")
    };
    let output = run(&["drivers", "import", "-", "--dry-run"]);
    let shown = stdout(&output);
    assert!(shown.contains("2 lines: 1 can be imported"), "{shown}");
}

/// A process whose input stays open, once it handles an interruption.
#[cfg(unix)]
fn waiting(command: &mut std::process::Command) -> std::process::Child {
    let piped = std::process::Stdio::piped;
    let command = command.stdin(piped()).stdout(piped()).stderr(piped());
    let child = command.spawn().expect("a process");
    let status = format!("/proc/{}/status", child.id());
    for _ in 0..600 {
        let Ok(status) = std::fs::read_to_string(&status) else {
            // Other systems than Linux do not say which signals a process handles.
            std::thread::sleep(std::time::Duration::from_secs(1));
            break;
        };
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if caught.is_some_and(|mask| mask & 0b10 != 0) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    child
}

/// Presses Ctrl-C, and returns the output of the process if it ends within 30 seconds. Ends it otherwise.
#[cfg(unix)]
fn interrupted(mut child: std::process::Child) -> Option<std::process::Output> {
    let process = child.id().to_string();
    let mut kill = std::process::Command::new("kill");
    assert!(kill.args(["-INT", &process]).status().is_ok());
    // `wait` would close the input.
    let input = child.stdin.take();
    for _ in 0..600 {
        if child.try_wait().expect("its state").is_some() {
            return child.wait_with_output().ok();
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop((child.kill(), child.wait(), input));
    None
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_command_that_waits_for_input() {
    let tool = Tool::new();
    let server = Server::start(Vec::new());
    for words in [
        &["drivers", "create", "--body", "-"][..],
        &["drivers", "import", "-", "--upsert"],
        &["vehicles", "import-departures", "-"],
        &["api", "POST", "/v1/drivers", "--body", "-"],
        &["profiles", "add", "local"],
        &["mcp"],
    ] {
        let mut command = tool.command(words);
        command
            .env("FLEET_API_URL", &server.url)
            .env("FLEET_API_KEY", "sk_test_0123456789abcdef");
        if words[0] == "profiles" {
            command.env_remove("FLEET_API_KEY");
        }
        let output = interrupted(waiting(&mut command));
        let output = output.unwrap_or_else(|| panic!("{words:?} has not ended"));
        assert_eq!(output.status.code(), Some(130), "{words:?} {output:?}");
    }
    assert!(server.seen().is_empty());
}

#[cfg(unix)]
#[test]
fn an_interrupted_import_continues_with_its_batch() {
    let server = Server::without_clock(vec![
        fleet(),
        running("bat_1"),
        Act::Respond(503, "Retry-After: 60\r\n", json!({})),
        // The second run.
        fleet(),
        completed(),
        results(&[succeeded(0)], None),
    ]);
    let tool = Tool::new();
    let file = csv(tool.folder.path(), 1);
    let file = file.to_str().expect("a path");
    let mut command = tool.command(&import(file));
    command
        .env("FLEET_API_URL", &server.url)
        .env("FLEET_API_KEY", "sk_test_0123456789abcdef");
    let child = waiting(&mut command);
    for _ in 0..600 {
        if server.seen().len() == 3 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let output = interrupted(child).expect("its end");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let output = tool.run(&server, &import(file));
    let summary = "1 created, 0 done before, 0 refused";
    assert_eq!(stdout(&output), summary, "{}", stderr(&output));
    let sent = lines(&server);
    let created = sent.iter().filter(|line| *line == "POST /v1/batches");
    assert_eq!((sent.len(), created.count()), (6, 1));
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

#[test]
fn skip_invalid_lists_the_lines_that_are_left_out() {
    let tool = Tool::new();
    let file = tool.folder.path().join("drivers.csv");
    std::fs::write(&file, "name,email\nAda,ada@fleet.example\n,nonsense\nBob\n").expect("a file");
    let file = file.to_str().expect("a path");
    let words = ["drivers", "import", file, "--skip-invalid"];
    let upsert =
        || Server::without_clock(vec![ok(json!({"data": []})), ok(json!({"id": "drv_1"}))]);
    let created = json!({"status": "succeeded", "result": "drv_1"});
    let batch = Server::without_clock(vec![
        ok(json!({"data": []})),
        running("bat_1"),
        completed(),
        results(&[created], None),
    ]);
    let upsert_words = [&words[..], &["--upsert"]].concat();
    for (server, words) in [(batch, &words[..]), (upsert(), &upsert_words)] {
        let output = tool.run(&server, words);
        let summary = "1 created, 0 done before, 0 refused, 2 invalid";
        assert_eq!((code(&output), stdout(&output)), (7, summary.to_owned()));
        let listed = stderr(&output);
        for problem in [
            "line 3, email: ",
            "line 3, name: is required",
            "line 4: has 1",
        ] {
            assert!(listed.contains(problem), "{problem} {listed}");
        }
    }
    let output = tool.run(&upsert(), &[&upsert_words[..], &["--json"]].concat());
    let shown: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(shown["invalid"], 2);
    let listed: Vec<&Value> = shown["problems"].as_array().into_iter().flatten().collect();
    let at: Vec<&Value> = listed.iter().map(|problem| &problem["line"]).collect();
    assert_eq!(at, [3, 3, 4], "{shown}");
}

#[test]
fn the_file_that_is_imported_cannot_get_the_rejected_lines() {
    let tool = Tool::new();
    let server = Server::start(Vec::new());
    let file = csv(tool.folder.path(), 1);
    let file = file.to_str().expect("a path");
    let words = [&import(file)[..], &["--rejected", file]].concat();
    let output = tool.run(&server, &words);
    assert_eq!(code(&output), 1);
    assert!(server.seen().is_empty());
}

#[test]
fn the_rejected_lines_are_all_lines_if_none_is_imported() {
    let tool = Tool::new();
    let [file, rejected] =
        ["drivers.csv", "rejected.csv"].map(|name| tool.folder.path().join(name));
    std::fs::write(
        &file,
        "name,email\nAda,ada@fleet.example\n,b@fleet.example\n",
    )
    .expect("a file");
    let [file, rejected] = [&file, &rejected].map(|path| path.to_str().expect("a path"));
    let words = [
        "drivers",
        "import",
        file,
        "--upsert",
        "--rejected",
        rejected,
    ];
    let server = Server::start(vec![ok(json!({"data": []})), ok(json!({"id": "drv_1"}))]);
    let bad = ",b@fleet.example,name: is required\n";
    for (code_wanted, words, good) in [
        (1, &words[..], "Ada,ada@fleet.example,\n"),
        (7, &[&words[..], &["--skip-invalid"]].concat(), ""),
    ] {
        assert_eq!(code(&tool.run(&server, words)), code_wanted);
        let text = std::fs::read_to_string(rejected).expect("a file");
        assert_eq!(text, format!("name,email,import_error\n{good}{bad}"));
    }
}

#[test]
fn a_file_with_an_open_quotation_mark_is_refused() {
    let tool = Tool::new();
    let server = Server::start(Vec::new());
    let file = tool.folder.path().join("open.csv");
    let file = file.to_str().expect("a path");
    for (words, content) in [
        (
            &["drivers", "import", file, "--skip-invalid"][..],
            "name,email\nAda,ada@fleet.example\n\"Bob,bob@fleet.example\nEve,eve@fleet.example\n",
        ),
        (
            &["vehicles", "import-departures", file],
            "vehicle,at,energy_wh\nveh_1,2027-01-15T06:00:00Z,1\nveh_2,2027-01-15T06:00:00Z,\"1\n",
        ),
    ] {
        std::fs::write(file, content).expect("a file");
        let output = tool.run(&server, words);
        let message = format!("error: {file}, line 3: a quotation mark is not closed\n");
        assert_eq!((code(&output), stderr(&output)), (1, message));
    }
    assert!(server.seen().is_empty());
}

#[test]
fn a_dry_run_lists_every_bad_line_and_sends_nothing() {
    let tool = Tool::new();
    let file = tool.folder.path().join("drivers.csv");
    std::fs::write(&file, "name,email\nAda,ada@fleet.example\n,nonsense\nBob\n").expect("a file");
    let file = file.to_str().expect("a path");
    let server = Server::start(Vec::new());
    let output = tool.run(&server, &["drivers", "import", file, "--dry-run", "--json"]);
    assert_eq!(code(&output), 7);
    let shown: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(
        (&shown["lines"], &shown["valid"], &shown["invalid"]),
        (&json!(3), &json!(1), &json!(2))
    );
    assert_eq!(
        shown["problems"].as_array().map(Vec::len),
        Some(3),
        "{shown}"
    );
    let text = shown["problems"].to_string();
    assert!(text.contains("must be an email address"), "{text}");
    let refused = tool.run(&server, &["drivers", "import", file]);
    assert_eq!(code(&refused), 1);
    assert!(server.seen().is_empty());
    assert!(!Path::new(&format!("{file}.journal")).exists());
}

#[test]
fn the_readme_lists_the_exit_codes_as_the_tool_does() {
    let readme = include_str!("../README.md");
    for (code, meaning) in fleet::failure::EXIT_CODES {
        let row = format!("| {code} | {meaning} |");
        assert!(readme.contains(&row), "{row}");
    }
}

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
    let mut first = tool.command(&words);
    first
        .env("FLEET_API_URL", &service.url)
        .env("FLEET_API_KEY", "sk_test_0123456789abcdef")
        .stderr(std::process::Stdio::null());
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
