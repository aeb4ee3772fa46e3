//! Tests of lines that the service or the tool refuses.

use std::path::Path;

use serde_json::{Value, json};

use crate::imports::{bodies, completed, csv, fleet, import, results, running, succeeded};
use crate::scripted::{Server, Tool, code, ok, stderr, stdout};

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
