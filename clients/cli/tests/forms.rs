//! The forms of output, `--dry-run`, `fleet api`, `fleet watch`, `fleet login` and `--upsert`, against a server with scripted responses.

mod scripted;

use scripted::{Act, Seen, Server, Tool, code, error, ok, stderr, stdout};
use serde_json::{Value, json};

/// A page of a list.
fn page(objects: Value) -> Act {
    ok(json!({"data": objects, "next_page_url": null, "previous_page_url": null}))
}

fn lines(server: &Server) -> Vec<String> {
    server.seen().into_iter().map(|seen| seen.line).collect()
}

#[test]
fn a_list_is_printed_in_the_form_that_is_asked_for() {
    let objects = json!([{"id": "flt_1", "name": "A, b", "address": {"city": "London"}}, {"id": "flt_2", "name": "no", "tags": ["x", "y"]}]);
    let printed = |form: &[&str]| {
        let server = Server::start(vec![page(objects.clone())]);
        let output = Tool::new().run(&server, &[&["fleets", "list"], form].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(printed(&[]), "flt_1\tA, b\nflt_2\tno");
    assert_eq!(
        printed(&["--output", "csv"]),
        "id,name,address.city,tags\nflt_1,\"A, b\",London,\nflt_2,no,,x;y"
    );
    assert_eq!(
        printed(&["--output", "csv", "--get", "id"]),
        "id\nflt_1\nflt_2"
    );
    assert_eq!(printed(&["-o", "jsonl"]).lines().count(), 2);
    assert!(printed(&["-o", "yaml"]).starts_with("data:\n  - id: flt_1\n    name: \"A, b\"\n"));
    let table = printed(&["-o", "table"]);
    assert!(table.contains("ID") && !table.contains('\u{1b}'), "{table}");
    let refused = Tool::new().run(
        &Server::start(Vec::new()),
        &["fleets", "list", "-o", "json", "--get", "id"],
    );
    assert_eq!(code(&refused), 2);
}

#[test]
fn a_change_is_not_sent_if_get_names_an_unknown_member() {
    let create = ["drivers", "create", "--name", "A", "--email", "a@x.example"];
    let server = Server::start(Vec::new());
    for form in [&["--get", "id,idd"][..], &["-o", "csv", "--get", "idd.x"]] {
        let output = Tool::new().run(&server, &[&create[..], form].concat());
        assert_eq!(code(&output), 1);
        let message = stderr(&output);
        assert!(message.contains("no such member; there are "), "{message}");
        assert!(
            message.contains(", id, ") && !message.contains('['),
            "{message}"
        );
    }
    assert!(server.seen().is_empty());
    // The document does not describe these.
    let metadata = [&create[..], &["--get", "metadata.x"]].concat();
    let api = ["api", "POST", "/v1/drivers", "--body", "{}", "--get", "idd"];
    for words in [&metadata[..], &api] {
        let server = Server::start(vec![ok(json!({"id": "drv_1", "metadata": {}}))]);
        let output = Tool::new().run(&server, words);
        assert_eq!((code(&output), server.seen().len()), (1, 1));
        let message = stderr(&output);
        assert!(
            message.contains("was carried out; its object is drv_1"),
            "{message}"
        );
    }
}

#[test]
fn a_dry_run_prints_the_request_without_key_and_sends_nothing() {
    let server = Server::start(Vec::new());
    let words = [
        "drivers",
        "create",
        "--name",
        "O'Hara",
        "--email",
        "o@fleet.example",
        "--dry-run",
    ];
    let output = Tool::new().run(&server, &words);
    let shown = stdout(&output);
    assert!(
        shown.contains(&format!("curl -X POST {}/v1/drivers", server.url)),
        "{shown}"
    );
    assert!(
        shown.contains(r#"-d '{"email":"o@fleet.example","name":"O'\''Hara"}'"#),
        "{shown}"
    );
    assert!(!shown.contains("sk_test"), "{shown}");
    let words = [
        "api",
        "POST",
        "v1/drivers?a=b",
        "--body",
        "{}",
        "--query",
        "c=d e",
        "-H",
        "X: y",
        "--dry-run",
        "--json",
    ];
    let output = Tool::new().run(&server, &words);
    let shown: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(shown["url"], format!("{}/v1/drivers?a=b&c=d+e", server.url));
    assert_eq!(
        (&shown["body"], &shown["headers"]["X"]),
        (&json!({}), &json!("y"))
    );
    assert!(server.seen().is_empty());
}

#[test]
fn a_dry_run_of_the_api_is_asked_of_the_api() {
    let server = Server::start(vec![ok(json!({"id": "drv_1", "deleted": true}))]);
    let output = Tool::new().run(&server, &["drivers", "delete", "drv_1", "--dry-run"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(lines(&server), ["DELETE /v1/drivers/drv_1?dry_run=true"]);
}

#[test]
fn a_watch_ends_on_a_change_or_when_the_condition_holds() {
    let status = |status: &str| ok(json!({"id": "res_1", "status": status}));
    let watch = |words: &[&str]| {
        let server = Server::start(vec![
            status("pending"),
            status("pending"),
            status("confirmed"),
            status("completed"),
        ]);
        let output = Tool::new().run(&server, &[&["watch", "--interval", "1s"], words].concat());
        (code(&output), stdout(&output), server.seen().len())
    };
    let command = ["reservations", "retrieve", "res_1", "--get", "status"];
    assert_eq!(watch(&command), (0, "pending\nconfirmed".into(), 3));
    let until = [&["--until", "status=failed,completed"], &command[..]].concat();
    assert_eq!(
        watch(&until),
        (0, "pending\nconfirmed\ncompleted".into(), 4)
    );
    let short = [&["--for", "2s", "--until", "status=failed"], &command[..]].concat();
    assert_eq!(watch(&short).0, 1);
    assert_eq!(
        watch(&["reservations", "cancel", "res_1"]),
        (2, String::new(), 0)
    );
}

#[test]
fn a_key_is_kept_once_the_service_has_accepted_it() {
    let server = Server::start(vec![
        error(401, "authentication_error"),
        ok(json!({"id": "acct_1", "name": "Example"})),
    ]);
    let tool = Tool::new();
    let refused = tool.run(&server, &["login", "mine"]);
    assert_eq!((code(&refused), tool.config().exists()), (4, false));
    let accepted = tool.run(&server, &["login", "mine"]);
    assert!(
        stdout(&accepted).starts_with("Example (acct_1)"),
        "{}",
        stdout(&accepted)
    );
    let config: Value =
        serde_json::from_str(&std::fs::read_to_string(tool.config()).expect("a file"))
            .expect("JSON");
    assert_eq!(config["default"], "mine");
    assert_eq!(
        config["profiles"]["mine"]["base_url"].as_str(),
        Some(server.url.as_str())
    );
}

#[test]
fn an_upsert_creates_updates_or_skips_and_lists_refused_lines() {
    let tool = Tool::new();
    let file = tool.folder.path().join("drivers.csv");
    let rejected = tool.folder.path().join("rejected.csv");
    let text = "name,email\nNew,new@fleet.example\nSame,same@fleet.example\nOther,other@fleet.example\nTwice,twice@fleet.example\n";
    std::fs::write(&file, text).expect("a file");
    let found = |names: &[&str]| {
        let objects: Vec<Value> = names.iter().map(|name| json!({"id": format!("drv_{name}"), "name": name, "email": format!("{}@fleet.example", name.to_lowercase())})).collect();
        page(objects.into())
    };
    let server = Server::start(vec![
        found(&[]),
        ok(json!({"id": "drv_new"})),
        found(&["Same"]),
        page(json!([{"id": "drv_other", "name": "Before", "email": "other@fleet.example"}])),
        ok(json!({"id": "drv_other"})),
        found(&["Twice", "Twice"]),
    ]);
    let (file, path) = (file.to_string_lossy(), rejected.to_string_lossy());
    let words = [
        "drivers",
        "import",
        &file,
        "--upsert",
        "--concurrency",
        "1",
        "--rejected",
        &path,
    ];
    let output = tool.run(&server, &words);
    assert_eq!(
        (code(&output), stdout(&output)),
        (
            7,
            "1 created, 0 done before, 1 refused, 1 updated, 1 unchanged".into()
        )
    );
    let sent: Vec<String> = server
        .seen()
        .into_iter()
        .filter(|request| request.line.starts_with("POST"))
        .map(|request| format!("{} {}", request.line, request.body))
        .collect();
    assert_eq!(
        sent,
        [
            r#"POST /v1/drivers {"name":"New","email":"new@fleet.example"}"#,
            r#"POST /v1/drivers/drv_other {"name":"Other"}"#,
        ]
    );
    let left = std::fs::read_to_string(&rejected).expect("a file");
    let want = "name,email,import_error\nTwice,twice@fleet.example,email: several objects have this value\n";
    assert_eq!(left, want);
    // The file of rejected lines can be imported without changes.
    let server = Server::start(vec![found(&[]), ok(json!({"id": "drv_twice"}))]);
    let output = tool.run(&server, &["drivers", "import", &path, "--upsert"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(server.seen()[1].body.contains("twice@fleet.example"));
}

#[test]
fn an_upsert_finds_a_vin_in_either_case() {
    let tool = Tool::new();
    let file = tool.folder.path().join("vehicles.csv");
    let text = "registration_plate,vin,battery_capacity,charging_standard,fleet\nAB 2,wvwzzz1kzaw000001,60000,CCS,flt_1\n";
    std::fs::write(&file, text).expect("a file");
    let vehicle = json!({"id": "veh_1", "registration_plate": "AB 1", "vin": "WVWZZZ1KZAW000001", "battery_capacity": 60_000,
        "charging_standard": "CCS", "fleet": "flt_1"});
    let server = Server::start(vec![
        ok(json!({"id": "flt_1"})),
        page(json!([vehicle])),
        ok(json!({"id": "veh_1"})),
    ]);
    let file = file.to_string_lossy();
    let output = tool.run(&server, &["vehicles", "import", &file, "--upsert"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(server.seen()[2].body, r#"{"registration_plate":"AB 2"}"#);
}

/// Imports a driver that the search does not find, with these responses to the requests after it. Returns the summary and the requests.
fn upserted(acts: Vec<Act>) -> (String, Vec<Seen>) {
    let tool = Tool::new();
    let file = tool.folder.path().join("drivers.csv");
    std::fs::write(&file, "name,email\nAda,ada@fleet.example\n").expect("a file");
    let mut all = vec![ok(json!({"id": "flt_1"})), page(json!([]))];
    all.extend(acts);
    let server = Server::start(all);
    let file = file.to_string_lossy();
    let words = ["drivers", "import", &file, "--upsert", "--attach", "flt_1"];
    let output = tool.run(&server, &words);
    (stdout(&output), server.seen().split_off(2))
}

/// A driver of an earlier import, with this name and address now.
fn driver(name: &str, email: &str) -> Act {
    ok(json!({"id": "drv_1", "name": name, "email": email, "fleets": ["flt_1"]}))
}

/// The repetition of the response that created that driver.
fn replayed() -> Act {
    let body = json!({"id": "drv_1", "fleets": []});
    Act::Respond(200, "Idempotent-Replayed: true\r\n", body)
}

#[test]
fn an_upsert_creates_a_driver_if_the_earlier_one_was_renamed() {
    let (summary, seen) = upserted(vec![
        replayed(),
        driver("Ada", "other@fleet.example"),
        ok(json!({"id": "drv_2", "fleets": []})),
        ok(json!({})),
    ]);
    assert_eq!(summary, "1 created, 0 done before, 0 refused");
    let lines: Vec<&str> = seen.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "POST /v1/drivers",
            "GET /v1/drivers/drv_1",
            "POST /v1/drivers",
            "POST /v1/drivers/drv_2/attach",
        ]
    );
    let key = |n: usize| seen[n].header("idempotency-key").expect("a key");
    assert_eq!(key(2), format!("{}-2", key(0)));
    assert_eq!(seen[2].body, seen[0].body);
}

#[test]
fn an_upsert_counts_only_what_it_has_created_itself() {
    let kept = || driver("Ada", "ada@fleet.example");
    for (acts, summary, last) in [
        // The response to the first attempt is lost.
        (
            vec![Act::HangUp, replayed(), kept()],
            "1 created, 0 done before, 0 refused",
            "GET /v1/drivers/drv_1",
        ),
        (
            vec![replayed(), kept()],
            "0 created, 0 done before, 0 refused, 0 updated, 1 unchanged",
            "GET /v1/drivers/drv_1",
        ),
        (
            vec![
                replayed(),
                driver("Bob", "Ada@fleet.example"),
                ok(json!({})),
            ],
            "0 created, 0 done before, 0 refused, 1 updated, 0 unchanged",
            "POST /v1/drivers/drv_1",
        ),
    ] {
        let requests = acts.len();
        let (shown, seen) = upserted(acts);
        assert_eq!((shown.as_str(), seen.len()), (summary, requests));
        assert_eq!(seen[requests - 1].line, last);
    }
}

#[test]
fn an_upsert_lists_a_driver_that_exists_and_is_not_attached() {
    let tool = Tool::new();
    let file = tool.folder.path().join("drivers.csv");
    let rejected = tool.folder.path().join("rejected.csv");
    std::fs::write(&file, "name,email\nAda,ada@fleet.example\n").expect("a file");
    let server = Server::start(vec![
        ok(json!({"id": "flt_1"})),
        page(json!([])),
        ok(json!({"id": "drv_1", "fleets": []})),
        error(409, "invalid_request_error"),
    ]);
    let (file, path) = (file.to_string_lossy(), rejected.to_string_lossy());
    let words = ["drivers", "import", &file, "--upsert", "--attach", "flt_1"];
    let output = tool.run(&server, &[&words[..], &["--rejected", &path]].concat());
    let summary = "0 created, 0 done before, 0 refused, 1 not attached";
    assert_eq!((code(&output), stdout(&output).as_str()), (7, summary));
    assert!(stderr(&output).contains("line 2: drv_1 exists and is not attached: No."));
    assert!(!rejected.exists());
}

#[test]
fn each_object_of_a_list_is_one_line() {
    let tool = Tool::new();
    let names = json!([{"id": "drv_1", "name": "A\n\tb\u{1b}[2J"}, {"id": "drv_2", "name": "C"}]);
    for get in ["name", "id,name"] {
        let server = Server::start(vec![page(names.clone())]);
        let output = tool.run(&server, &["drivers", "list", "--get", get]);
        let shown = stdout(&output);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines.len() == 2 && lines[0].ends_with(r"A\n\tb\u{1b}[2J"),
            "{shown}"
        );
    }
}

#[test]
fn a_login_keeps_the_account_and_the_token_of_the_profile() {
    let tool = Tool::new();
    let wrong = json!({"type": "invalid_request_error", "param": "Service-Account", "message": "No such account."});
    let server = Server::start(vec![
        ok(json!({"id": "acct_2", "name": "Kid"})),
        Act::Respond(404, "", wrong),
    ]);
    let words = [
        "profiles",
        "add",
        "kid",
        "--account",
        "acct_2",
        "--local-token",
        "t0",
    ];
    assert_eq!(code(&tool.run(&server, &words)), 0);
    let before = std::fs::read_to_string(tool.config()).expect("a file");
    assert_eq!(code(&tool.run(&server, &["login", "kid"])), 0);
    let account = server.seen()[0]
        .header("service-account")
        .map(str::to_owned);
    assert_eq!(account.as_deref(), Some("acct_2"));
    let refused = tool.run(&server, &["login", "kid"]);
    let why = "the profile kid is for the account acct_2";
    assert!(stderr(&refused).contains(why), "{}", stderr(&refused));
    let config = |text: &str| serde_json::from_str::<Value>(text).expect("JSON")["profiles"].take();
    let after = std::fs::read_to_string(tool.config()).expect("a file");
    assert_eq!(config(&before), config(&after));
}
