//! Tests of the runner as a process, and of a function beside it: its output, the state that it keeps when it is killed, and how it
//! ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use clap::Parser as _;
use kernel::Timestamp;
use kernel::time::{MINUTE, hours};
use local::{Options, Running};
use serde_json::{Value, json};
use tests::tls::TlsPort;
use tests::{Client, Crew, Receiver, fleet, verify};

const RUNNER: &str = env!("CARGO_BIN_EXE_local");

/// The time limit for things that certainly happen. The machine may have eight times as much work as it can do.
const PATIENCE: Duration = Duration::from_secs(120);

/// The executable of the functions, built from the current sources, which is beside the runner's. Cargo builds only the executables of
/// this package for its tests.
fn functions() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let executable = Path::new(RUNNER).with_file_name("functions");
        let folder = executable.parent().expect("a target folder");
        let profile = if folder.ends_with("release") {
            "release"
        } else {
            "dev"
        };
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let build = ["build", "--workspace", "--quiet", "--profile", profile];
        // The variables that cargo sets for this package's tests would change the environment of packages that read them. Cargo would
        // rebuild them and half of the workspace, now and in the next command.
        let about_us =
            |name: &String| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        let mut command = Command::new(cargo);
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        for name in names.filter(about_us) {
            command.env_remove(name);
        }
        let built = command.args(build).status().expect("cargo runs");
        assert!(built.success());
        executable
    })
}

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
        self.operator.post(&path, body).await.expect(200).body
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

#[tokio::test]
async fn a_killed_service_goes_on_where_it_was() {
    let folder = Folder::new("killed");
    let receiver = Receiver::start().await;
    let first = Process::start(&folder);
    let hook = json!({"url": receiver.url, "enabled_events": ["reservation.confirmed"]});
    let endpoint = first
        .client
        .post("/v1/webhook_endpoints", hook)
        .await
        .expect(200);
    let id = reserve(&first.client).await;
    let before = first.introduction.clone();
    first.kill();

    let second = Process::start(&folder);
    for name in ["api_key", "account"] {
        assert_eq!(second.introduction[name], before[name]);
    }
    let path = format!("/v1/reservations/{id}");
    assert_eq!(second.client.get(&path).await.body["status"], "pending");
    second.advance(5700).await;
    assert_eq!(second.client.get(&path).await.body["status"], "confirmed");
    assert_eq!(receiver.types(), ["reservation.confirmed"]);
    let received = receiver.received().remove(0);
    assert_eq!(received.event["data"]["object"]["id"], id);
    verify(
        &received,
        endpoint.body["secret"].as_str().expect("a secret"),
    );
    second.kill();

    // The time stays moved, and nothing is reported twice.
    let third = Process::start(&folder);
    third.advance(1).await;
    assert_eq!(third.client.get(&path).await.body["status"], "confirmed");
    assert_eq!(receiver.types().len(), 1);
    third.kill();
}

#[tokio::test]
async fn work_due_while_the_service_was_down_is_done_at_restart() {
    let folder = Folder::new("down");
    let first = Process::start(&folder);
    let id = reserve(&first.client).await;
    first.kill();
    // Ninety-five minutes pass.
    std::fs::write(folder.0.join("clock.json"), (95 * 60 * 1000).to_string()).expect("a clock");
    let second = Process::start(&folder);
    let path = format!("/v1/reservations/{id}");
    let began = Instant::now();
    while second.client.get(&path).await.body["status"] != "confirmed" {
        assert!(began.elapsed() < PATIENCE, "it is not confirmed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    second.kill();
}

#[tokio::test]
async fn work_due_while_the_clock_is_advanced_runs_at_its_due_time() {
    let folder = Folder::new("moved");
    let process = Process::start(&folder);
    let client = &process.client;
    let inbox = format!("{}/_local/inbox", process.base_url);
    let hook = json!({"url": inbox, "enabled_events": ["reservation.confirmed"]});
    client.post("/v1/webhook_endpoints", hook).await.expect(200);
    let mut expected = 0;
    for _ in 0..8 {
        for _ in 0..4 {
            reserve(client).await;
            expected += 1;
        }
        process.advance(9000).await;
        let received = process.operator.get(&inbox).await.expect(200).body;
        let received = received["data"].as_array().expect("deliveries");
        assert_eq!(received.len(), expected);
        for delivery in received {
            let moment = |time: &Value| time.as_str().and_then(|time| Timestamp::parse(time).ok());
            let received = moment(&delivery["received"]).expect("a time");
            let event: Value =
                serde_json::from_str(delivery["body"].as_str().expect("a body")).expect("JSON");
            let confirmed = moment(&event["created"]).expect("a time");
            assert!(received.since(confirmed) < MINUTE, "{delivery:#}");
        }
    }
    process.kill();
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_kill_at_any_moment() {
    let folder = Folder::new("moment");
    let mut answered: Vec<String> = Vec::new();
    for round in 1..=3 {
        let process = Process::start(&folder);
        let ends = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        let clients = (0..4).map(|_| {
            let (client, ends, count) = (process.client.clone(), ends.clone(), count.clone());
            tokio::spawn(async move {
                let mut ids = Vec::new();
                while !ends.load(Ordering::SeqCst) {
                    match client.try_post("/v1/fleets", fleet(), &[]).await {
                        Some(answer) => ids.push(answer.id()),
                        None => break,
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
                ids
            })
        });
        let clients: Vec<_> = clients.collect();
        while count.load(Ordering::Relaxed) < 11 * round {
            tokio::time::sleep(Duration::from_millis(7)).await;
        }
        process.kill();
        ends.store(true, Ordering::SeqCst);
        for client in clients {
            answered.extend(client.await.expect("a client"));
        }
    }
    let process = Process::start(&folder);
    for id in &answered {
        process
            .client
            .get(&format!("/v1/fleets/{id}"))
            .await
            .expect(200);
    }
    process.kill();
}

/// Each client records the keys that it has used and the responses that it has received.
#[tokio::test]
async fn a_request_interrupted_by_a_kill_has_one_effect_when_repeated() {
    let folder = Folder::new("repeated");
    let process = Process::start(&folder);
    let answered = Arc::new(AtomicUsize::new(0));
    let clients = (0..4).map(|number| {
        let (client, answered) = (process.client.clone(), answered.clone());
        tokio::spawn(async move {
            let mut sent: Vec<(String, Option<String>)> = Vec::new();
            for n in 0.. {
                let key = format!("{number}-{n}");
                let answer = client
                    .try_post("/v1/fleets", fleet(), &[("idempotency-key", &key)])
                    .await;
                sent.push((key, answer.as_ref().map(tests::TestResponse::id)));
                if answer.is_none() {
                    break;
                }
                answered.fetch_add(1, Ordering::Relaxed);
            }
            sent
        })
    });
    let clients: Vec<_> = clients.collect();
    while answered.load(Ordering::Relaxed) < 24 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    process.kill();

    let process = Process::start(&folder);
    let mut ids = Vec::new();
    for client in clients {
        for (key, answered) in client.await.expect("a client") {
            let headers = [("idempotency-key", key.as_str())];
            let again = process
                .client
                .try_post("/v1/fleets", fleet(), &headers)
                .await
                .expect("an answer");
            if let Some(answered) = answered {
                assert_eq!(again.header("idempotent-replayed"), "true");
                assert_eq!(again.id(), answered);
            }
            ids.push(again.id());
        }
    }
    let mut found = process.client.walk("/v1/fleets?limit=100").await;
    ids.sort();
    found.sort();
    assert_eq!(found, ids);
    process.kill();
}

#[tokio::test]
async fn webhooks_are_sent_only_to_trusted_tls_certificates() {
    let folder = Folder::new("tls");
    let (known, stranger) = (TlsPort::open().await, TlsPort::open().await);
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let trusted = folder.0.join("trusted.pem");
    std::fs::write(&trusted, &known.certificate).expect("a file");
    let (known, stranger) = (Receiver::behind(known), Receiver::behind(stranger));
    let process = Process::start_with(&folder, |command| command.env("SSL_CERT_FILE", &trusted));
    let mut pings = Vec::new();
    for receiver in [&known, &stranger] {
        let hook = json!({"url": receiver.url, "enabled_events": ["fleet.created"]});
        let endpoint = process.client.post("/v1/webhook_endpoints", hook).await;
        let endpoint = endpoint.expect(200).body;
        let path = format!(
            "/v1/webhook_endpoints/{}",
            endpoint["id"].as_str().expect("an id")
        );
        let ping = format!("{path}/test");
        process.client.post(&ping, json!({})).await.expect(200);
        process.advance(1).await;
        let tried = process.client.get(&format!("{path}/deliveries")).await;
        let tried = tried.expect(200).body["data"][0].clone();
        pings.push((endpoint, tried));
    }
    let (endpoint, tried) = &pings[0];
    assert_eq!(tried["response_status"], 200, "{tried:#}");
    assert_eq!(known.types(), ["ping"]);
    let secret = endpoint["secret"].as_str().expect("a secret");
    verify(&known.received()[0], secret);
    let (_, tried) = &pings[1];
    assert_eq!(tried["response_status"], Value::Null, "{tried:#}");
    let why = tried["response"].as_str().expect("a reason");
    assert!(why.contains("certificate"), "{why}");
    assert!(stranger.received().is_empty());
    process.kill();
}

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_ends_it_cleanly() {
    let folder = Folder::new("ctrl-c");
    let mut process = Process::start(&folder);
    process.client.get("/v1/fleets").await.expect(200);
    // The notices of changes, whose response continues until the end.
    let token = process.introduction["token"].as_str().expect("a token");
    let http = reqwest::Client::builder().no_proxy().build();
    let notices = http.expect("a client");
    let notices = notices.get(format!("{}/_local/events", process.base_url));
    let notices = notices.bearer_auth(token).send().await.expect("a response");
    assert_eq!(notices.status(), 200);
    let sent = Command::new("kill")
        .args(["-INT", &process.child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(sent.success());
    let began = Instant::now();
    let notices = notices.text().await.expect("a response with an end");
    assert!(notices.starts_with("event: ready\n"), "{notices}");
    while began.elapsed() < PATIENCE {
        if let Some(status) = process.child.try_wait().expect("a child") {
            assert_eq!(status.code(), Some(0));
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    process.kill();
    panic!("it did not end");
}

/// A receiver that accepts every connection and never responds. Returns its URL and the number of its connections.
async fn hanging() -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = connections.clone();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            held.push(socket);
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    (url, connections)
}

/// Waits until a condition holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn hanging_endpoints_do_not_delay_other_deliveries_or_the_clock() {
    let folder = Folder::new("hanging");
    let process = Process::start(&folder);
    let client = &process.client;
    let mut accounts = Vec::new();
    for _ in 0..3 {
        let body = json!({"name": "Test", "email": "ops@fleet.example", "type": "business"});
        accounts.push(client.post("/v1/accounts", body).await.id());
    }
    let send = async |account: &str, path: &str, body: Value| {
        let acting = [("service-account", account)];
        let sent = client.send("POST", path, Some(body.to_string()), &acting);
        sent.await.expect(200).body
    };
    let (url, connections) = hanging().await;
    for account in &accounts[..2] {
        for n in 0..10 {
            let hook = json!({"url": format!("{url}/{n}"), "enabled_events": ["fleet.created"]});
            send(account, "/v1/webhook_endpoints", hook).await;
        }
    }
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url, "enabled_events": ["fleet.created"]});
    send(&accounts[2], "/v1/webhook_endpoints", hook).await;

    for account in &accounts[..2] {
        send(account, "/v1/fleets", fleet()).await;
    }
    let all = || connections.load(Ordering::SeqCst) == 20;
    until("every hanging endpoint has its delivery", all).await;
    let began = Instant::now();
    send(&accounts[2], "/v1/fleets", fleet()).await;
    until("the healthy endpoint has its delivery", || {
        receiver.types().len() == 1
    })
    .await;
    let waited = began.elapsed();
    // The first attempts time out only after 15 seconds.
    assert!(waited < Duration::from_secs(12), "{waited:?}");

    let began = Instant::now();
    let moved = process.advance(60).await;
    let waited = began.elapsed();
    // Waiting for the attempts, and for the repetitions five seconds later, would take twice 15 seconds.
    assert!(waited < Duration::from_secs(25), "{waited:?}");
    // On a busy machine some attempts may have timed out by now.
    let count = moved["deliveries_in_flight"].as_u64().expect("a number");
    assert!((1..=20).contains(&count), "{moved}");
    let message = moved["message"].as_str().expect("an explanation");
    let counts = format!("{count} webhook deliveries to {count} endpoints");
    assert!(message.contains(&counts), "{message}");
    // The clock has the right time, and a delivery that receives a response is waited for.
    send(&accounts[2], "/v1/fleets", fleet()).await;
    let moved = process.advance(60).await;
    assert_eq!(receiver.types().len(), 2);
    let moment = |time: &Value| time.as_str().and_then(|time| Timestamp::parse(time).ok());
    let now = moment(&moved["now"]).expect("a time");
    let received = receiver.received().remove(1).event;
    let created = moment(&received["created"]).expect("a time");
    assert!(now.since(created) >= MINUTE);
    process.kill();
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
    first.client.get(&path).await.expect(200);
    first.kill();
    let next = Process::start(&folder);
    next.client.get(&path).await.expect(200);
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
        process.client.get("/v1/fleets").await.expect(200);
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

/// Texts that identify a person or a vehicle in the test of erasures. No other data contains these texts.
const PERSONAL: [&str; 7] = [
    "Grace Zyxwhopper",
    "grace@zyxwhopper.example",
    "+491701239876",
    "ZYXW-LIC-4711",
    "ZYXW 4711",
    "ZYXWVUT3CZE987654",
    "04DECAFC0FFEE7",
];

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

/// The number of files below a folder, without the journals that SQLite leaves when its process is killed.
fn kept_files(folder: &Path) -> usize {
    let is_journal = |path: &PathBuf| {
        let name = path.display().to_string();
        ["-journal", "-shm", "-wal"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let files = files_below(folder).into_iter();
    files.filter(|path| !is_journal(path)).count()
}

/// The number of occurrences of these texts in each file below a folder.
fn places_with(folder: &Path, texts: &[&str]) -> Vec<(PathBuf, usize)> {
    let found = files_below(folder).into_iter().map(|file| {
        let bytes = std::fs::read(&file).expect("a file");
        let content = String::from_utf8_lossy(&bytes);
        let count = texts.iter().map(|text| content.matches(text).count()).sum();
        (file, count)
    });
    found.filter(|(_, count)| *count > 0).collect()
}

/// Creates a driver with a licence, a vehicle and cards, who has reserved, charged, and been billed. Reports and an export name the
/// driver. None of this work is in progress at the end.
async fn life_of_a_driver(process: &Process, client: &Client) {
    let [name, email, phone, licence, plate, vin, uid] = PERSONAL;
    let inbox = format!("{}/_local/inbox", process.base_url);
    let hook = json!({"url": inbox, "enabled_events": ["*"]});
    client.post("/v1/webhook_endpoints", hook).await.expect(200);
    let crew = client.crew().await;
    let body = json!({"name": name, "email": email, "phone": phone, "license_number": licence,
        "preferences": {"currency": "gbp"}});
    let once = [("idempotency-key", "driver")];
    let body = Some(body.to_string());
    let driver = client.send("POST", "/v1/drivers", body, &once).await.id();
    let fleet = json!({"fleet": crew.fleet});
    let attach = format!("/v1/drivers/{driver}/attach");
    client.post(&attach, fleet.clone()).await.expect(200);
    let body = json!({"fleet": crew.fleet, "registration_plate": plate, "vin": vin, "battery_capacity": 60_000,
        "charging_standard": "Type2", "drivers": [driver]});
    let vehicle = client.post("/v1/vehicles", body).await.id();
    let card = json!({"uid": uid, "vehicle": vehicle});
    client.post("/v1/charge_cards", card).await.expect(200);
    let change = json!({"metadata": {"shift": "night"}});
    let path = format!("/v1/drivers/{driver}");
    client.post(&path, change).await.expect(200);

    let clock = format!("{}/_local/clock", process.base_url);
    let now = process.operator.get(&clock).await.body["now"].clone();
    let now: Timestamp = serde_json::from_value(now).expect("a time");
    let reservation = |driver: &str, vehicle: &str| {
        json!({"driver": driver, "vehicle": vehicle, "connector_type": ["Type2"],
            "ideal_start": now.plus(hours(1)), "ideal_end": now.plus(hours(2)),
            "location": {"latitude": 51.507, "longitude": -0.128, "radius": 8000}})
    };
    let kept = client
        .post("/v1/reservations", reservation(&driver, &vehicle))
        .await
        .id();
    let cancelled = reservation(&crew.driver, &crew.vehicle);
    let cancelled = client.post("/v1/reservations", cancelled).await.id();
    process.advance(3300).await;
    let cancel = format!("/v1/reservations/{cancelled}/cancel");
    client.post(&cancel, json!({})).await.expect(200);
    let confirmed = client.get(&format!("/v1/reservations/{kept}")).await.body;
    assert_eq!(confirmed["status"], "confirmed", "{confirmed:#}");
    let start = json!({"charging_station": confirmed["charging_station"], "connector": confirmed["connector"],
        "driver": driver, "vehicle": vehicle});
    // The station may open at the beginning of the window.
    process.advance(300).await;
    let session = client.post("/v1/charging_sessions", start).await.id();
    process.advance(1200).await;
    let stop = format!("/v1/charging_sessions/{session}/stop");
    client.post(&stop, json!({})).await.expect(200);
    process.advance(60).await;
    let window = |member: Value| {
        let mut window =
            json!({"period_start": now.plus(hours(-24)), "period_end": now.plus(hours(24))});
        window
            .as_object_mut()
            .expect("an object")
            .extend(member.as_object().expect("an object").clone());
        window
    };
    let invoice = window(json!({"fleet": crew.fleet, "currency": "gbp"}));
    client.post("/v1/invoices", invoice).await.expect(200);
    for group in ["driver", "vehicle"] {
        let parameters = window(json!({"type": "cost_analysis", "group_by": group}));
        let report = json!({"fleet": crew.fleet, "parameters": parameters});
        client.post("/v1/reports", report).await.expect(200);
    }
    process.advance(60).await;
    let account = client.account.clone().expect("an account");
    let export = json!({"account": account, "mode": "test"});
    let exported = process.local("account_export", export).await;
    assert_eq!(exported["status"], "succeeded", "{exported}");
}

/// Closes an account and erases it.
async fn erase(process: &Process, client: &Client) {
    let account = client.account.clone().expect("an account");
    let closed = json!({"account": account, "status": "closed"});
    process.local("account_status", closed).await;
    process.advance(300).await;
    let mut cursor = Value::Null;
    loop {
        let erasure = json!({"account": account, "cursor": cursor, "max_pages": 2});
        let erased = process.local("account_erasure", erasure).await;
        cursor = erased["cursor"].clone();
        match erased["status"].as_str() {
            Some("running") => {}
            status => return assert_eq!(status, Some("erased"), "{erased}"),
        }
    }
}

#[tokio::test]
async fn an_erasure_leaves_no_byte_of_a_person_in_the_data_folder() {
    let folder = Folder::new("erased");
    let process = Process::start(&folder);
    let kept = process.client.post("/v1/fleets", fleet()).await.id();
    let child = process.client.child().await;
    life_of_a_driver(&process, &child).await;
    for text in PERSONAL {
        assert!(
            !places_with(&folder.0, &[text]).is_empty(),
            "{text} is nowhere"
        );
    }
    let inbox = format!("{}/_local/inbox", process.base_url);
    let account = child.account.clone().expect("an account").to_string();
    let received = process.operator.get(&inbox).await.text;
    assert!(received.contains(PERSONAL[0]) && received.contains(&account));
    println!("before: {:?}", places_with(&folder.0, &PERSONAL));

    erase(&process, &child).await;
    let left = places_with(&folder.0, &PERSONAL);
    println!("after: {left:?}");
    assert_eq!(left, []);
    for path in ["inbox", "due", "requests"] {
        let path = format!("{}/_local/{path}", process.base_url);
        let shown = process.operator.get(&path).await.expect(200).text;
        assert!(!shown.contains(&account), "{path}: {shown}");
        let named = PERSONAL.iter().find(|text| shown.contains(**text));
        assert_eq!(named, None, "{path}");
    }
    process.kill();
    assert_eq!(places_with(&folder.0, &PERSONAL), []);
    let process = Process::start(&folder);
    let path = format!("/v1/fleets/{kept}");
    process.client.get(&path).await.expect(200);
    assert_eq!(places_with(&folder.0, &PERSONAL), []);
    process.kill();
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
        process.client.get(&path).await.expect(200);
        process.kill();

        // Without the file, `--new` begins with another account, and keeps the existing files.
        std::fs::remove_file(folder.0.join(lost)).expect("a file");
        let files = kept_files(&folder.0);
        let process = Process::start_with(&folder, |command| command.arg("--new"));
        assert_ne!(process.introduction["api_key"], before["api_key"]);
        process.client.get("/v1/fleets").await.expect(200);
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
async fn an_interrupted_erasure_is_completed_at_the_next_start() {
    let folder = Folder::new("erasing");
    let process = Process::start(&folder);
    let child = process.client.child().await;
    life_of_a_driver(&process, &child).await;
    process.kill();
    // The runner does this until only free pages and the stream contain data of the account.
    let data = folder.0.to_str().expect("a path");
    let options = Options::parse_from(["local", "--json", "--port", "0", "--data", data]);
    let running = Running::start(options).await.expect("the service starts");
    let account = child.account.clone().expect("an account");
    let closed = json!({"account": account, "status": "closed"});
    let closed = serde_json::from_value(closed).expect("an invocation");
    let closed = functions::accounts::set_status::handle(&running.app, closed).await;
    closed.expect("the account is closed");
    running.advance(300).await.expect("the clock is moved");
    std::fs::write(folder.0.join("erasing"), "true").expect("a file");
    let erasure = serde_json::from_value(json!({"account": account})).expect("an invocation");
    let erased = functions::accounts::erase::handle(&running.app, erasure).await;
    assert!(erased.expect("the account is erased").cursor.is_none());
    running.stop().await;
    // Work in the background may still hold the folder.
    let lock = std::fs::File::open(folder.0.join("lock")).expect("a file");
    until("the folder is free", || lock.try_lock().is_ok()).await;
    lock.unlock().expect("no lock");
    assert_ne!(places_with(&folder.0, &PERSONAL), []);

    Process::start(&folder).kill();
    assert_eq!(places_with(&folder.0, &PERSONAL), []);
    assert!(!folder.0.join("erasing").exists());
}

#[tokio::test]
async fn stream_records_are_removed_when_they_were_relayed() {
    let folder = Folder::new("trimmed");
    let process = Process::start(&folder);
    for _ in 0..20 {
        process.client.post("/v1/fleets", fleet()).await.expect(200);
    }
    process.advance(1).await;
    let table = rusqlite::Connection::open(folder.0.join("table.sqlite")).expect("a database");
    let records = || -> (u32, u32) {
        let counts = "SELECT COUNT(*), COUNT(COALESCE(new_image, old_image)) FROM _stream_records";
        let count = table.query_row(counts, (), |row| Ok((row.get(0)?, row.get(1)?)));
        count.expect("a count")
    };
    assert_eq!(records(), (1, 0));
    // The number of the next record is still greater.
    let fleet = process.client.post("/v1/fleets", fleet()).await.id();
    process.advance(1).await;
    assert_eq!(records(), (1, 0));
    let events = process.client.get("/v1/events?type=fleet.created&limit=1");
    let event = events.await.body["data"][0].clone();
    assert_eq!(event["data"]["object"]["id"], fleet);
    process.kill();
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

/// A folder on a file system of its own with a size in megabytes. None if file systems cannot be mounted.
struct SmallDisk(Folder);

impl SmallDisk {
    fn mount(name: &str, megabytes: u32) -> Option<Self> {
        let folder = Folder::new(name);
        std::fs::create_dir_all(&folder.0).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"])
            .arg(&folder.0)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(folder));
        }
        // Not captured, unlike what a test prints.
        let skipped = b"skipped: a full disk needs a file system that only root can mount\n";
        std::io::stderr()
            .write_all(skipped)
            .expect("standard error");
        None
    }

    /// The data folder on it.
    fn data(&self) -> Folder {
        Folder(self.0.0.join("data"))
    }

    fn filler(&self) -> PathBuf {
        self.0.0.join("filler")
    }

    /// Fills the disk until only `room` bytes are free.
    fn fill(&self, room: usize) {
        let mut filler = std::fs::File::create(self.filler()).expect("a file");
        let block = vec![1; 4096];
        while filler.write_all(&block).is_ok() {}
        let length = filler.metadata().expect("a length").len();
        filler
            .set_len(length.saturating_sub(room as u64))
            .expect("room");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(&self.0.0).status());
    }
}

#[test]
fn a_start_on_a_full_disk_says_so() {
    let Some(disk) = SmallDisk::mount("full-at-start", 8) else {
        return;
    };
    let data = disk.data();
    let shown = data.0.display().to_string();
    let args = ["--port", "0", "--data", &shown];
    disk.fill(0);
    assert_refused(&args, 1, &[&shown, "No space left on device"]);
    // There is room for the first files, but not for the table.
    disk.fill(200 * 1024);
    let (code, message) = refused(&args);
    assert_eq!(code, Some(1), "{message}");
    assert!(
        message.ends_with(&format!("error: the disk of {shown} is full\n")),
        "{message}"
    );
    assert!(message.len() < 600, "{message}");
    std::fs::remove_file(disk.filler()).expect("the filler");
    Process::start(&data).kill();
}

#[tokio::test]
async fn a_disk_that_fills_up_loses_nothing_that_was_acknowledged() {
    let Some(disk) = SmallDisk::mount("full", 48) else {
        return;
    };
    let data = disk.data();
    let log = Folder::new("full-log");
    std::fs::create_dir_all(&log.0).expect("a folder");
    let log = log.0.join("log");
    let file = std::fs::File::create(&log).expect("a file");
    let process = Process::start_with(&data, |command| command.stderr(file));
    let mut kept = vec![process.client.post("/v1/fleets", fleet()).await.id()];
    disk.fill(256 * 1024);
    let mut refusals = 0;
    for _ in 0..200 {
        let answer = process.client.post("/v1/fleets", fleet()).await;
        match answer.status {
            200 => kept.push(answer.id()),
            _ => {
                assert_eq!(answer.error(), (503, "api_error", None, None));
                assert_eq!(answer.header("retry-after"), "1");
                refusals += 1;
            }
        }
        if refusals == 20 {
            break;
        }
    }
    assert_eq!(refusals, 20);
    // Existing objects can still be read.
    let path = format!("/v1/fleets/{}", kept[0]);
    process.client.get(&path).await.expect(200);
    // The engine retries the relay for longer than it retries work that fails for another reason.
    tokio::time::sleep(Duration::from_secs(3)).await;
    std::fs::remove_file(disk.filler()).expect("the filler");
    let headers = [("idempotency-key", "after")];
    let after = process
        .client
        .try_post("/v1/fleets", fleet(), &headers)
        .await;
    kept.push(after.expect("an answer").id());
    process.advance(1).await;
    let messages = std::fs::read_to_string(&log).expect("the messages");
    assert_eq!(
        messages
            .matches("the disk of the data folder is full")
            .count(),
        1,
        "{messages}"
    );
    process.kill();

    let process = Process::start(&data);
    let mut found = process.client.walk("/v1/fleets?limit=100").await;
    found.sort();
    kept.sort();
    assert_eq!(found, kept);
    // Each fleet has its event.
    let mut created = Vec::new();
    for event in process
        .client
        .walk("/v1/events?type=fleet.created&limit=100")
        .await
    {
        let event = process
            .client
            .get(&format!("/v1/events/{event}"))
            .await
            .body;
        created.extend(event["data"]["object"]["id"].as_str().map(str::to_owned));
    }
    created.sort();
    assert_eq!(created, kept);
    process.kill();
}

/// The requests of a function to the runtime API.
type Reports = Arc<Mutex<Vec<(String, Value)>>>;

/// A runtime API like that of cargo-lambda and Lambda, with one event. Returns its address, and the requests of the function.
async fn runtime_api(event: &'static str) -> (String, Reports) {
    let (reports, requested) = (Reports::default(), Arc::new(AtomicBool::new(false)));
    let next = move || {
        let again = requested.swap(true, Ordering::SeqCst);
        async move {
            if again {
                std::future::pending::<()>().await;
            }
            let mut headers = HeaderMap::new();
            for (name, value) in [
                ("lambda-runtime-aws-request-id", "1"),
                ("lambda-runtime-deadline-ms", "4102444800000"),
                (
                    "lambda-runtime-trace-id",
                    "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=1;Sampled=1",
                ),
                (
                    "lambda-runtime-invoked-function-arn",
                    "arn:aws:lambda:us-east-1:1:function:all",
                ),
            ] {
                headers.insert(name, value.parse().expect("a header"));
            }
            (headers, event)
        }
    };
    let note = |kind: &'static str| {
        post(async move |State(reports): State<Reports>, body: Bytes| {
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let mut reports = reports.lock().expect("the reports");
            reports.push((kind.to_owned(), body));
            StatusCode::ACCEPTED
        })
    };
    let router = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route(
            "/2018-06-01/runtime/invocation/1/response",
            note("response"),
        )
        .route("/2018-06-01/runtime/invocation/1/error", note("error"))
        .with_state(reports.clone());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, reports)
}

/// The environment that `cargo run` prints for other clients of the table, which the README exports.
fn printed_environment(folder: &Folder) -> (Child, Vec<(String, String)>) {
    let mut child = Command::new(RUNNER)
        .args(["--port", "0", "--data"])
        .arg(&folder.0)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut lines = lines.map(|line| line.expect("a line"));
    let export = lines.find(|line| line.starts_with("export AWS_"));
    let export = export.expect("a line with the environment");
    let export = export.trim_start_matches("export ").to_owned();
    let pairs = export.split(' ').map(|pair| {
        let (name, value) = pair.split_once('=').expect("an assignment");
        (name.to_owned(), value.to_owned())
    });
    (child, pairs.collect())
}

#[tokio::test]
async fn a_function_reaches_the_table_only_with_the_printed_key() {
    let folder = Folder::new("function");
    let (mut runner, environment) = printed_environment(&folder);
    let names: Vec<_> = environment.iter().map(|(name, _)| name.as_str()).collect();
    let readme = include_str!("../../../README.md");
    let export = readme.lines().find(|line| line.starts_with("export "));
    let export = export.expect("the README's line");
    for name in [
        "AWS_ENDPOINT_URL_DYNAMODB",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    ] {
        assert!(names.contains(&name) && export.contains(&format!("{name}=")));
    }
    let key = environment
        .iter()
        .find(|(name, _)| name == "AWS_ACCESS_KEY_ID");
    let profile = folder.0.join("aws-config");
    let process = format!(
        r#"printf '{{"Version":1,"AccessKeyId":"{}","SecretAccessKey":"local"}}'"#,
        key.expect("a key").1
    );
    let text = format!("[profile fleet]\nregion = eu-west-1\ncredential_process = {process}\n");
    std::fs::write(&profile, text).expect("a file");
    let profile = profile.to_str().expect("a path");
    let of_profile = [("AWS_PROFILE", "fleet"), ("AWS_CONFIG_FILE", profile)];
    for (what, change, succeeds) in [
        ("the environment", &[][..], true),
        ("another key", &[("AWS_ACCESS_KEY_ID", "local")], false),
        ("a profile", &of_profile, true),
    ] {
        let event = include_str!("../../../events/list-fleets.json");
        let (address, reports) = runtime_api(event).await;
        let mut command = function(&address);
        command.envs(environment.iter().cloned());
        if what == "a profile" {
            command
                .env_remove("AWS_ACCESS_KEY_ID")
                .env_remove("AWS_SECRET_ACCESS_KEY");
        }
        command.envs(change.iter().copied()).stdout(Stdio::piped());
        let mut function = command.spawn().expect("the functions start");
        until("the function reports", || {
            !reports.lock().expect("the reports").is_empty()
        })
        .await;
        drop(function.kill());
        let log = function.wait_with_output().expect("the log").stdout;
        assert_every_line_is_correlated(&String::from_utf8_lossy(&log));
        let (kind, answer) = reports.lock().expect("the reports")[0].clone();
        assert_eq!(kind, "response", "{what}: {answer}");
        if succeeds {
            assert_eq!(answer["statusCode"], 200, "{what}: {answer}");
            assert!(answer.to_string().contains("Sample fleet"), "{answer}");
        } else {
            assert!(answer["statusCode"].as_u64() >= Some(500), "{answer}");
        }
    }
    drop(runner.kill());
    drop(runner.wait());
}

/// The command that starts the executable of the functions for the runtime API at this address.
fn function(address: &str) -> Command {
    let mut command = Command::new(functions());
    command
        .env("AWS_LAMBDA_RUNTIME_API", address)
        .env("AWS_LAMBDA_FUNCTION_NAME", "all")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128");
    command
}

#[test]
fn a_function_without_credentials_says_so() {
    let mut command = function("127.0.0.1:1");
    for name in [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_DYNAMODB",
        "AWS_PROFILE",
    ] {
        command.env_remove(name);
    }
    let ended = command
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_CONFIG_FILE", "/nonexistent")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
        .output()
        .expect("the functions run");
    assert!(!ended.status.success());
    let message = String::from_utf8_lossy(&ended.stderr);
    assert!(
        message.contains("no AWS credentials were found"),
        "{message}"
    );
    assert!(message.contains("AWS_PROFILE"), "{message}");
}

/// Checks that each line that a function logged has the ids of the request in the service, in API Gateway and in X-Ray.
fn assert_every_line_is_correlated(log: &str) {
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert!(!lines.is_empty());
    for line in lines {
        let span = &line["span"];
        let request = span["request.id"].as_str().unwrap_or_default();
        assert!(request.starts_with("req_"), "{line}");
        assert_eq!(span["gateway.request_id"], "sample", "{line}");
        let trace = "1-5bef4de7-ad49b0e87f6ef6c87fc2e700";
        assert_eq!(span["trace.id"], trace, "{line}");
    }
}

/// The commands below a heading of a page, from a reservation to its bill.
fn commands(page: &str, heading: &str) -> String {
    let (_, walk) = page.split_once(heading).expect("a heading");
    let (walk, _) = walk.split_once("\n## ").expect("another heading");
    let blocks = walk.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    blocks.collect()
}

/// Runs the commands below a heading of a page against a process. Returns their output.
async fn walk(process: &Process, page: &str, heading: &str) -> String {
    let text = |name: &str| process.introduction[name].as_str().expect("a text");
    let mut bash = Command::new("bash");
    bash.args(["-eu", "-c", &commands(page, heading)])
        .env("FLEET_API_URL", &process.base_url)
        .env("FLEET_API_KEY", text("api_key"))
        .env("FLEET_LOCAL_TOKEN", text("token"));
    let ran = tokio::task::spawn_blocking(move || bash.output());
    let ran = ran.await.expect("a thread").expect("bash runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    assert!(
        !out.contains(r#""object":"error""#) && !err.contains(r#""object":"error""#),
        "{out}\n{err}"
    );
    out
}

#[cfg(unix)]
#[tokio::test]
async fn the_walks_of_the_readme_and_the_quickstart_can_be_repeated() {
    let there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !there("bash") || !there("curl") {
        // Not captured, unlike what a test prints.
        let skipped = b"skipped: the commands of the README need bash and curl\n";
        std::io::stderr()
            .write_all(skipped)
            .expect("standard error");
        return;
    }
    let folder = Folder::new("readme");
    let mut process = Process::start(&folder);
    let readme = include_str!("../../../README.md");
    for run in 1..=3 {
        let out = walk(&process, readme, "## A reservation, with curl").await;
        for part in [
            r#""status":"confirmed""#,
            "service-signature",
            r#""status":"paid""#,
            "amount",
        ] {
            assert!(out.contains(part), "{part} in run {run}: {out}");
        }
        if run == 2 {
            // The clock stays moved after a restart.
            process.kill();
            process = Process::start(&folder);
        }
    }
    let quickstart = include_str!("../../../docs/quickstart.md");
    let out = walk(&process, quickstart, "## With curl").await;
    for part in [r#""status":"confirmed""#, r#""status":"paid""#] {
        assert!(out.contains(part), "{part}: {out}");
    }
    process.kill();
}
