//! Tests of imports that were interrupted or whose outcome is unknown, and continue by their journal; and of Ctrl-C.

use serde_json::{Value, json};

use crate::await_requests;
use crate::imports::{completed, csv, fleet, import, lines, results, running, succeeded};
use crate::scripted::{Act, Seen, Server, Tool, code, error, ok, stderr, stdout};

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
        .command_at(&server, &import(&file))
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
        let mut command = tool.command_at(&server, words);
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
    let mut command = tool.command_at(&server, &import(file));
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
