//! The executable itself: what it prints, what it keeps when it is killed, and how it ends.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use shared::Timestamp;
use tests::tls::TlsPort;
use tests::{Client, Receiver, driver, fleet, vehicle, verify};

/// The runner's executable as the sources stand now, which lies beside the tests'.
fn executable() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let tests = std::env::current_exe().expect("this executable");
        let folder = tests
            .parent()
            .and_then(Path::parent)
            .expect("a target folder");
        let profile = if folder.ends_with("release") {
            "release"
        } else {
            "dev"
        };
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let build = ["build", "--workspace", "--quiet", "--profile", profile];
        // What cargo says of this package to its tests would be another environment for the packages that look at it, and
        // have them and half of the workspace built anew, now and by the next command.
        let about_us =
            |name: &String| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        let mut command = Command::new(cargo);
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        for name in names.filter(about_us) {
            command.env_remove(name);
        }
        let built = command.args(build).status().expect("cargo runs");
        assert!(built.success());
        folder.join("local")
    })
}

/// A folder of this test's own.
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
    introduction: Value,
}

impl Process {
    fn start(folder: &Folder) -> Self {
        Self::start_with(folder, |command| command)
    }

    fn start_with(folder: &Folder, change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let mut command = Command::new(executable());
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
        Self {
            child,
            base_url,
            client,
            introduction,
        }
    }

    async fn advance(&self, seconds: u32) {
        let body = json!({"advance_seconds": seconds});
        self.client
            .post(&format!("{}/_local/clock", self.base_url), body)
            .await
            .expect(200);
    }

    /// `kill -9`
    fn kill(mut self) {
        self.child.kill().expect("a living process");
        self.child.wait().expect("a dead process");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already, but for a test that failed on the way.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A fleet, a driver and a vehicle, and a reservation two hours after this minute began. The reservation's id.
async fn reserve(client: &Client) -> String {
    let fleet = client.post("/v1/fleets", fleet()).await.id();
    let driver = client.post("/v1/drivers", driver()).await.id();
    client
        .post(
            &format!("/v1/drivers/{driver}/attach"),
            json!({"fleet": fleet}),
        )
        .await
        .expect(200);
    let vehicle = client.post("/v1/vehicles", vehicle(&fleet)).await.id();
    let created = client.get(&format!("/v1/vehicles/{vehicle}")).await.body["created"].clone();
    let now: Timestamp = serde_json::from_value(created).expect("a time");
    let now = Timestamp::from_unix_millis(now.unix_millis() / 60_000 * 60_000);
    let body = json!({"driver": driver, "vehicle": vehicle, "connector_type": ["Type2"],
        "ideal_start": now.plus_seconds(7200), "ideal_end": now.plus_seconds(10_800),
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

    // The time stays moved, and nothing is said twice.
    let third = Process::start(&folder);
    third.advance(1).await;
    assert_eq!(third.client.get(&path).await.body["status"], "confirmed");
    assert_eq!(receiver.types().len(), 1);
    third.kill();
}

#[tokio::test]
async fn work_that_fell_due_while_the_service_was_down_is_done_at_the_next_start() {
    let folder = Folder::new("down");
    let first = Process::start(&folder);
    let id = reserve(&first.client).await;
    first.kill();
    // Ninety-five minutes pass.
    std::fs::write(folder.0.join("clock.json"), (95 * 60 * 1000).to_string()).expect("a clock");
    let second = Process::start(&folder);
    let path = format!("/v1/reservations/{id}");
    for _ in 0..100 {
        if second.client.get(&path).await.body["status"] == "confirmed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(second.client.get(&path).await.body["status"], "confirmed");
    second.kill();
}

#[tokio::test]
async fn all_that_falls_due_while_the_time_is_moved_is_done_at_its_moment() {
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
        let received = client.get(&inbox).await.expect(200).body;
        let received = received["data"].as_array().expect("deliveries");
        assert_eq!(received.len(), expected);
        for one in received {
            let moment = |time: &Value| time.as_str().and_then(|time| Timestamp::parse(time).ok());
            let told = moment(&one["received"]).expect("a time");
            let event: Value =
                serde_json::from_str(one["body"].as_str().expect("a body")).expect("JSON");
            let confirmed = moment(&event["created"]).expect("a time");
            assert!(told.millis_since(confirmed) < 60_000, "{one:#}");
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
        let made = Arc::new(AtomicUsize::new(0));
        let clients = (0..4).map(|_| {
            let (client, ends, made) = (process.client.clone(), ends.clone(), made.clone());
            tokio::spawn(async move {
                let mut ids = Vec::new();
                while !ends.load(Ordering::SeqCst) {
                    match client.try_post("/v1/fleets", fleet(), &[]).await {
                        Some(answer) => ids.push(answer.id()),
                        None => break,
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                }
                ids
            })
        });
        let clients: Vec<_> = clients.collect();
        while made.load(Ordering::Relaxed) < 11 * round {
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

/// Each client remembers the keys it has used and what it was answered, where it was answered at all.
#[tokio::test]
async fn a_request_cut_off_by_a_kill_is_repeated_without_being_done_twice() {
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
                sent.push((key, answer.as_ref().map(tests::Answer::id)));
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
async fn webhooks_go_over_tls_to_whom_the_system_trusts_and_to_nobody_else() {
    let folder = Folder::new("tls");
    let (known, stranger) = (TlsPort::open().await, TlsPort::open().await);
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let trusted = folder.0.join("trusted.pem");
    std::fs::write(&trusted, &known.certificate).expect("a file");
    let (known, stranger) = (Receiver::behind(known), Receiver::behind(stranger));
    let process = Process::start_with(&folder, |command| command.env("SSL_CERT_FILE", &trusted));
    let mut told = Vec::new();
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
        told.push((endpoint, tried));
    }
    let (endpoint, tried) = &told[0];
    assert_eq!(tried["response_status"], 200, "{tried:#}");
    assert_eq!(known.types(), ["ping"]);
    let secret = endpoint["secret"].as_str().expect("a secret");
    verify(&known.received()[0], secret);
    let (_, tried) = &told[1];
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
    let sent = Command::new("kill")
        .args(["-INT", &process.child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(sent.success());
    for _ in 0..100 {
        if let Some(status) = process.child.try_wait().expect("a child") {
            assert_eq!(status.code(), Some(0));
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    process.kill();
    panic!("it did not end");
}

/// The commands of the README from a reservation to its bill, with the URL and key of this process.
fn commands(process: &Process) -> String {
    let readme = include_str!("../README.md");
    let (_, walk) = readme
        .split_once("## A reservation, with curl")
        .expect("a heading");
    let (walk, _) = walk.split_once("\n## ").expect("another heading");
    let blocks = walk.split("```sh\n").skip(1);
    let blocks: Vec<_> = blocks
        .filter_map(|block| block.split("```").next())
        .collect();
    let key = process.introduction["api_key"].as_str().expect("a key");
    let blocks = blocks.concat();
    assert!(blocks.contains("sk_test_..."));
    blocks
        .replace("http://127.0.0.1:8787", &process.base_url)
        .replace("sk_test_...", key)
}

#[cfg(unix)]
#[tokio::test]
async fn the_readme_leads_from_a_reservation_to_its_bill() {
    let there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !there("bash") || !there("curl") {
        eprintln!("SKIPPED: the README's commands need bash and curl");
        return;
    }
    let folder = Folder::new("readme");
    let process = Process::start(&folder);
    let commands = commands(&process);
    let ran = tokio::task::spawn_blocking(move || {
        Command::new("bash").args(["-eu", "-c", &commands]).output()
    });
    let ran = ran.await.expect("a thread").expect("bash runs");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&ran.stdout), said(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    assert!(
        !out.contains(r#""object":"error""#) && !err.contains(r#""object":"error""#),
        "{out}\n{err}"
    );
    for told in [
        r#""status":"confirmed""#,
        "service-signature",
        r#""status":"paid""#,
        "amount",
    ] {
        assert!(out.contains(told), "{told}: {out}\n{err}");
    }
    process.kill();
}
