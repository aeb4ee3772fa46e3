//! Tests of the runner as a process, and of a function beside it: its output, the state that it keeps when it is killed, and how it
//! ends.

mod deliveries;
mod disk;
mod erasure;
mod function;
mod kills;
mod start;
mod walks;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kernel::Timestamp;
use kernel::time::hours;
use serde_json::{Value, json};
use tests::{Client, Crew};

const RUNNER: &str = env!("CARGO_BIN_EXE_local");

/// The time limit for things that certainly happen. The machine may have eight times as much work as it can do.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("fleet-charging-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The service as a process.
struct Process {
    child: Child,
    base_url: String,
    client: Client,
    /// A client with the token that the routes below `/_local` require.
    operator: Client,
    introduction: Value,
}

impl Process {
    fn start(folder: &Folder) -> Self {
        Self::start_with(folder, |command| command)
    }

    fn start_with(folder: &Folder, change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let mut command = Command::new(RUNNER);
        command
            .args(["--json", "--port", "0", "--data"])
            .arg(&folder.0);
        let mut child = change(&mut command)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the runner starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output"))
            .read_line(&mut line)
            .expect("a line");
        let introduction: Value = serde_json::from_str(&line).expect("one JSON object");
        let base_url = introduction["base_url"]
            .as_str()
            .expect("an address")
            .to_owned();
        let client = Client::new(&base_url, introduction["api_key"].as_str());
        let operator = Client::new(&base_url, introduction["token"].as_str());
        Self {
            child,
            base_url,
            client,
            operator,
            introduction,
        }
    }

    /// Moves the clock, and returns the response.
    async fn advance(&self, seconds: u32) -> Value {
        self.local("clock", json!({"advance_seconds": seconds}))
            .await
    }

    /// The response of one of the runner's own routes.
    async fn local(&self, route: &str, body: Value) -> Value {
        let path = format!("{}/_local/{route}", self.base_url);
        self.operator.post_ok(&path, body).await
    }

    /// `kill -9`
    fn kill(mut self) {
        self.child.kill().expect("a living process");
        self.child.wait().expect("a dead process");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process has ended already, unless the test failed before.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Creates a fleet, a driver, a vehicle, and a reservation that begins two hours after the start of this minute. Returns the
/// reservation's id.
async fn reserve(client: &Client) -> String {
    let Crew {
        driver, vehicle, ..
    } = client.crew().await;
    let created = client.get(&format!("/v1/vehicles/{vehicle}")).await.body["created"].clone();
    let now: Timestamp = serde_json::from_value(created).expect("a time");
    let now = Timestamp::from_unix_millis(now.unix_millis() / 60_000 * 60_000);
    let body = json!({"driver": driver, "vehicle": vehicle, "connector_type": ["Type2"],
        "ideal_start": now.plus(hours(2)), "ideal_end": now.plus(hours(3)),
        "location": {"latitude": 51.507, "longitude": -0.128, "radius": 8000}});
    client.post("/v1/reservations", body).await.id()
}

/// Waits until a condition holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files
}

/// The number of files below a folder, without the journals of SQLite and the half-written file that a killed process leaves.
fn kept_files(folder: &Path) -> usize {
    let is_left = |path: &PathBuf| {
        let name = path.display().to_string();
        ["-journal", "-shm", "-wal", ".new"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let files = files_below(folder).into_iter();
    files.filter(|path| !is_left(path)).count()
}

/// Runs the service until it ends by itself, as it should when the start is refused. Returns its exit code and its messages.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let mut child = Command::new(RUNNER)
        .args(args)
        .env_remove("RUST_BACKTRACE")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if child.try_wait().expect("a child").is_some() {
            let ended = child.wait_with_output().expect("its messages");
            let message = String::from_utf8_lossy(&ended.stderr).into_owned();
            return (ended.status.code(), message);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(child.kill());
    drop(child.wait());
    panic!("it started with {args:?}");
}

#[track_caller]
fn assert_refused(args: &[&str], code: i32, named: &[&str]) {
    let (ended, message) = refused(args);
    assert_eq!(ended, Some(code), "{args:?}: {message}");
    assert!(message.starts_with("error: "), "{args:?}: {message}");
    for name in named {
        assert!(
            message.contains(name),
            "{args:?} does not name {name}: {message}"
        );
    }
    let lines = message.lines().count();
    assert!(lines <= 6 && message.len() < 600, "{args:?}: {message}");
}
