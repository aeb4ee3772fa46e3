//! Starts that are refused, and the messages of a start.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tests::fleet;

use crate::{Folder, Process, RUNNER, assert_refused, files_below, kept_files, refused};

#[cfg(unix)]
#[tokio::test]
async fn a_data_folder_belongs_to_one_process_and_to_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("locked");
    // The state in which an earlier version may have left it.
    std::fs::create_dir_all(&folder.0).expect("a folder");
    std::fs::set_permissions(&folder.0, PermissionsExt::from_mode(0o755)).expect("a mode");
    let first = Process::start(&folder);
    let kept = first.client.post("/v1/fleets", fleet()).await.id();
    let report = json!({"parameters": {"type": "charging_summary",
        "period_start": "2026-01-01T00:00:00Z", "period_end": "2026-02-01T00:00:00Z"}});
    let report = first.client.post("/v1/reports", report).await.id();
    first.advance(1).await;
    let path = format!("/v1/reports/{report}");
    assert_eq!(first.client.get(&path).await.body["status"], "succeeded");

    let shown = folder.0.to_str().expect("a path");
    let (code, message) = refused(&["--json", "--port", "0", "--data", shown]);
    assert_eq!(code, Some(1), "{message}");
    let holder = format!("in use by the process {};", first.child.id());
    assert!(
        message.contains(shown) && message.contains(&holder),
        "{message}"
    );

    let mut folders = vec![folder.0.clone()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let mode = |path: &Path| {
            std::fs::metadata(path)
                .expect("a mode")
                .permissions()
                .mode()
        };
        assert_eq!(mode(&folder) & 0o777, 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path) & 0o777, 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 6, "{files}");

    // The first process is not disturbed, and a killed process leaves no lock.
    let path = format!("/v1/fleets/{kept}");
    first.client.get_ok(&path).await;
    first.kill();
    let next = Process::start(&folder);
    next.client.get_ok(&path).await;
    next.kill();
}

/// Runs a command as a user who has no rights on this machine, where the tests run as root; otherwise as the user of the tests.
#[cfg(unix)]
fn as_nobody(program: &str, args: &[&str]) -> std::process::Output {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;
    let mut command = Command::new(program);
    command.args(args).current_dir("/");
    if std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().expect("the command runs")
}

#[cfg(unix)]
#[tokio::test]
async fn another_user_gets_neither_the_key_nor_the_data() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = Folder::new("nobody");
    let process = Process::start(&folder);
    let key = process.introduction["api_key"].as_str().expect("a key");
    for path in ["/_local/session", "/_local/clock", "/_local/inbox"] {
        let url = format!("{}{path}", process.base_url);
        let forged = ["-H", "Sec-Fetch-Site: same-origin"];
        let sent = as_nobody("curl", &["-si", forged[0], forged[1], &url]);
        let response = String::from_utf8_lossy(&sent.stdout).into_owned();
        assert!(response.starts_with("HTTP/1.1 401"), "{path}: {response}");
        assert!(response.contains(r#""type":"authentication_error""#));
        assert!(!response.contains(key));
    }
    let credentials = folder.0.join("credentials.json");
    let credentials = credentials.to_str().expect("a path");
    if std::fs::metadata(credentials).is_ok_and(|file| file.uid() == 0) {
        let read = as_nobody("cat", &[credentials]);
        assert!(!read.status.success() && read.stdout.is_empty());
    }
    process.kill();
}

#[tokio::test]
async fn the_token_stays_that_of_the_data_folder() {
    let folder = Folder::new("token");
    let first = Process::start(&folder);
    let token = first.introduction["token"].clone();
    assert_eq!(token.as_str().map(str::len), Some(32));
    first.kill();
    let second = Process::start(&folder);
    assert_eq!(second.introduction["token"], token);
    second.kill();
    let memory = Process::start_with(&folder, |command| command.arg("--memory"));
    assert_ne!(memory.introduction["token"], token);
    memory.kill();
}

#[tokio::test]
async fn a_start_that_is_refused_names_the_option_or_file_at_fault() {
    let folder = Folder::new("refused");
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let file = |name: &str, content: &str| {
        let path = folder.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let taken = listener
        .local_addr()
        .expect("an address")
        .port()
        .to_string();
    let empty = file("empty.json", "");
    let none = file("none.json", "[]");
    let prose = file("prose.json", "stations");
    let object = file("object.json", "{}");
    let wrong = file("wrong.json", r#"[{"id": "1"}]"#);
    let no_folder = file("no-folder", "");
    let missing = folder.0.join("missing.json").display().to_string();
    let unwritable = folder.0.join("unwritable").display().to_string();
    std::fs::create_dir_all(Path::new(&unwritable).join("lock")).expect("a folder");
    let nothing = "http://127.0.0.1:1";
    let cases: [(&[&str], i32, &[&str]); 15] = [
        (&["--rate", "0"], 2, &["--rate", "'0'"]),
        (&["--rate", "-1"], 2, &["-1"]),
        (
            &["--reservation-fee", "-1"],
            2,
            &["--reservation-fee", "'-1'"],
        ),
        (&["--port", "65536"], 2, &["--port", "65536"]),
        (&["--store", "nonsense"], 2, &["--store", "nonsense", "URL"]),
        (&["--speed", "1"], 2, &["--speed"]),
        (&["--store", nothing], 1, &["--store", nothing, "refused"]),
        (&["--port", &taken], 1, &["--port", &taken, "in use"]),
        (
            &["--stations", &empty],
            1,
            &["--stations", &empty, "is empty"],
        ),
        (
            &["--stations", &none],
            1,
            &["--stations", &none, "is empty"],
        ),
        (
            &["--stations", &prose],
            1,
            &["--stations", &prose, "not JSON"],
        ),
        (
            &["--stations", &object],
            1,
            &["--stations", &object, "no location", "#1"],
        ),
        (
            &["--stations", &wrong],
            1,
            &["--stations", &wrong, "no location", "country_code"],
        ),
        (&["--stations", &missing], 1, &["--stations", &missing]),
        (&["--data", &no_folder], 1, &["data folder", &no_folder]),
    ];
    for (args, code, named) in cases {
        let data = ["--data", &folder.0.join("data").display().to_string()].map(str::to_owned);
        let mut all = vec!["--json"];
        if !args.contains(&"--port") {
            all.extend(["--port", "0"]);
        }
        if !args.contains(&"--data") {
            all.extend(data.iter().map(String::as_str));
        }
        all.extend(args);
        assert_refused(&all, code, named);
    }
    let args = ["--port", "0", "--data", &unwritable];
    assert_refused(&args, 1, &["data folder", &unwritable, "cannot be written"]);
}

#[test]
fn a_data_folder_of_another_layout_is_refused_and_left_as_it_is() {
    let folder = Folder::new("layout");
    let data = folder.0.join("data");
    std::fs::create_dir_all(&data).expect("a folder");
    let files = || {
        let entries = std::fs::read_dir(&data).expect("a folder");
        let names = entries.map(|entry| entry.expect("a file").file_name());
        let mut files: Vec<_> = names
            .map(|name| {
                (
                    name.clone(),
                    std::fs::read(data.join(name)).expect("a file"),
                )
            })
            .collect();
        files.sort();
        files
    };
    std::fs::write(data.join("table.sqlite"), "a table of an earlier build").expect("a file");
    let shown = data.display().to_string();
    let args = ["--port", "0", "--data", &shown];
    let mut before = files();
    assert_refused(
        &args,
        1,
        &["data folder", &shown, "before the first release", "--data"],
    );
    assert_eq!(files(), before);
    std::fs::write(data.join("layout.json"), "99").expect("a file");
    before = files();
    assert_refused(&args, 1, &["data folder", &shown, "layout 99", "--data"]);
    assert_eq!(files(), before);
}

#[tokio::test]
async fn a_first_start_killed_during_table_creation_can_be_repeated() {
    let mut interrupted = 0;
    for millis in [0, 1, 2, 4, 8, 16, 32, 64] {
        let folder = Folder::new("first-start");
        let marker = folder.0.join("creating");
        let mut command = Command::new(RUNNER);
        command.args(["--json", "--port", "0", "--data"]);
        let mut child = command
            .arg(&folder.0)
            .stdout(Stdio::null())
            .spawn()
            .expect("the runner starts");
        while !marker.exists() {
            let ended = child.try_wait().expect("a state");
            assert!(ended.is_none(), "it ended by itself: {ended:?}");
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(millis));
        child.kill().expect("a living process");
        child.wait().expect("a dead process");
        interrupted += u32::from(marker.exists());
        let process = Process::start(&folder);
        process.client.get_ok("/v1/fleets").await;
        assert!(!marker.exists());
    }
    assert!(interrupted > 0, "no start was interrupted");
}

#[tokio::test]
async fn a_damaged_file_in_the_data_folder_is_named() {
    let folder = Folder::new("damaged");
    let process = Process::start(&folder);
    process.advance(1).await;
    process.kill();
    // When the last connection is closed, everything is moved from the log to the table's file.
    let table = rusqlite::Connection::open(folder.0.join("table.sqlite")).expect("a database");
    table
        .execute_batch("SELECT COUNT(*) FROM _tables")
        .and_then(|()| table.close().map_err(|(_, error)| error))
        .expect("the database is closed");
    let shown = folder.0.to_str().expect("a path");
    let intact = std::fs::read_to_string(folder.0.join("credentials.json")).expect("a file");
    let with = |name: &str, value: &str| {
        let mut changed: Value = serde_json::from_str(&intact).expect("JSON");
        changed[name] = value.into();
        changed.to_string().into_bytes()
    };
    let table = std::fs::read(folder.0.join("table.sqlite")).expect("the table");
    let mut scribbled = table.clone();
    for page in scribbled.chunks_mut(4096).skip(2).step_by(3) {
        page[..64].fill(0xff);
    }
    for (name, content, why) in [
        ("credentials.json", b"nonsense".to_vec(), "content"),
        ("credentials.json", b"".to_vec(), "content"),
        ("credentials.json", b"{}".to_vec(), "content"),
        (
            "credentials.json",
            with("page_secret", "xyz"),
            "page_secret",
        ),
        (
            "credentials.json",
            with("page_secret", "00ff"),
            "page_secret",
        ),
        (
            "credentials.json",
            with("encryption_keys", "short"),
            "encryption_keys",
        ),
        ("credentials.json", with("api_key", "sk_test_1"), "api_key"),
        (
            "credentials.json",
            with("account", "acct_1"),
            "not in the table",
        ),
        ("clock.json", b"soon".to_vec(), "content"),
        ("stream.json", b"[]".to_vec(), "content"),
        ("stations.json", b"[".to_vec(), "content"),
        ("layout.json", b"".to_vec(), "content"),
        ("table.sqlite", b"".to_vec(), "empty"),
        ("table.sqlite", table[..table.len() / 2].to_vec(), "damaged"),
        ("table.sqlite", scribbled, "damaged"),
        (
            "table.sqlite",
            b"a table of another kind".repeat(400),
            "not a database",
        ),
    ] {
        let path = folder.0.join(name);
        let before = std::fs::read(&path).expect("a file");
        std::fs::write(&path, &content).expect("a file");
        let path = path.display().to_string();
        let args = ["--port", "0", "--data", shown];
        assert_refused(&args, 1, &[&path, why]);
        std::fs::write(&path, before).expect("a file");
    }
    Process::start(&folder).kill();
}

#[tokio::test]
async fn a_lost_table_or_account_is_named_and_only_replaced_with_new() {
    for (lost, others) in [
        (
            "table.sqlite",
            &["table.sqlite-wal", "table.sqlite-shm"][..],
        ),
        ("credentials.json", &[]),
    ] {
        let folder = Folder::new("lost");
        let process = Process::start(&folder);
        let kept = process.client.post("/v1/fleets", fleet()).await.id();
        let before = process.introduction.clone();
        process.kill();
        let aside = Folder::new("aside");
        std::fs::create_dir_all(&aside.0).expect("a folder");
        let names: Vec<&str> = std::iter::once(lost)
            .chain(others.iter().copied())
            .collect();
        for name in &names {
            let file = folder.0.join(name);
            if file.exists() {
                std::fs::rename(file, aside.0.join(name)).expect("a file");
            }
        }
        let content = || {
            let mut files = files_below(&folder.0);
            files.retain(|file| !file.ends_with("lock"));
            files.sort();
            let read = |file: PathBuf| (std::fs::read(&file).expect("a file"), file);
            files.into_iter().map(read).collect::<Vec<_>>()
        };
        let left = content();
        let path = folder.0.join(lost).display().to_string();
        let shown = folder.0.display().to_string();
        let args = ["--port", "0", "--data", &shown];
        assert_refused(&args, 1, &[&path, "--new"]);
        assert_eq!(content(), left, "a refused start changes nothing");

        // With the file restored, everything is as it was.
        for name in &names {
            let file = aside.0.join(name);
            if file.exists() {
                std::fs::copy(file, folder.0.join(name)).expect("a file");
            }
        }
        let process = Process::start(&folder);
        assert_eq!(process.introduction["api_key"], before["api_key"]);
        let path = format!("/v1/fleets/{kept}");
        process.client.get_ok(&path).await;
        process.kill();

        // Without the file, `--new` begins with another account, and keeps the existing files.
        std::fs::remove_file(folder.0.join(lost)).expect("a file");
        let files = kept_files(&folder.0);
        let process = Process::start_with(&folder, |command| command.arg("--new"));
        assert_ne!(process.introduction["api_key"], before["api_key"]);
        process.client.get_ok("/v1/fleets").await;
        assert_eq!(process.client.walk("/v1/fleets").await, [""; 0]);
        let replaced = std::fs::read_dir(&folder.0).expect("a folder");
        let replaced = replaced.map(|entry| entry.expect("an entry").path());
        let replaced: Vec<_> = replaced
            .filter(|path| path.display().to_string().contains("/replaced-"))
            .collect();
        assert_eq!(replaced.len(), 1, "{replaced:?}");
        // All files except the lock.
        assert_eq!(kept_files(&replaced[0]), files - 1);
        process.kill();
        Process::start(&folder).kill();
    }
}

#[tokio::test]
async fn a_start_that_takes_long_says_what_it_waits_for() {
    let folder = Folder::new("slow");
    Process::start(&folder).kill();
    let table = rusqlite::Connection::open(folder.0.join("table.sqlite")).expect("a database");
    table.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let mut child = Command::new(RUNNER)
        .args(["--json", "--port", "0", "--data"])
        .arg(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let lines = BufReader::new(child.stderr.take().expect("its messages")).lines();
    let mut lines = lines.map(|line| line.expect("a line"));
    let message = lines.find(|line| line.contains("the start goes on"));
    let message = message.expect("a message");
    assert!(message.contains("the table is opened"), "{message}");
    table.execute_batch("ROLLBACK").expect("no lock");
    let mut line = String::new();
    let mut introduction = BufReader::new(child.stdout.take().expect("its output"));
    introduction.read_line(&mut line).expect("a line");
    assert!(line.contains("base_url"), "{line}");
    child.kill().expect("a living process");
    child.wait().expect("a dead process");
}
