//! Tests of `import`: batches, their results, and drivers that are attached to a fleet.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::scripted::{Act, Seen, Server, Tool, code, error, ok, stderr, stdout};

/// A CSV file of vehicles with this number of lines.
pub(super) fn csv(folder: &Path, lines: usize) -> std::path::PathBuf {
    let mut text = "registration_plate,vin,battery_capacity,charging_standard\n".to_owned();
    for n in 0..lines {
        text += &format!("AB {n},VIN{n},60000,CCS\n");
    }
    let file = folder.join("vehicles.csv");
    std::fs::write(&file, text).expect("a file");
    file
}

pub(super) fn fleet() -> Act {
    ok(json!({"id": "flt_1"}))
}

/// The response to the creation of a batch.
pub(super) fn running(id: &str) -> Act {
    ok(json!({"id": id, "status": "running", "succeeded": 0, "failed": 0}))
}

pub(super) fn completed() -> Act {
    ok(json!({"id": "bat_1", "status": "completed", "succeeded": 1, "failed": 0}))
}

pub(super) fn succeeded(vehicle: usize) -> Value {
    json!({"status": "succeeded", "result": format!("veh_{vehicle}"), "error": null})
}

/// A page of results.
pub(super) fn results(data: &[Value], next: Option<&str>) -> Act {
    ok(json!({"data": data, "next_page_url": next, "previous_page_url": null}))
}

/// The arguments that import a file, one batch at a time.
pub(super) fn import(file: &str) -> Vec<&str> {
    let fleet = ["--set", "fleet=flt_1", "--concurrency", "1"];
    [&["vehicles", "import", file][..], &fleet].concat()
}

pub(super) fn lines(server: &Server) -> Vec<String> {
    server.seen().into_iter().map(|seen| seen.line).collect()
}

/// The bodies of a batch that was sent.
pub(super) fn bodies(seen: &Seen) -> Vec<Value> {
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
