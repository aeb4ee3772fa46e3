//! Acknowledged writes are kept and due work is done, whenever the process is killed.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kernel::Timestamp;
use kernel::time::{MINUTE, minutes};
use serde_json::{Value, json};
use tests::{Crew, Receiver, driver, fleet, verify};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Folder, PATIENCE, Process, reserve};

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
async fn messages_that_no_object_waits_for_survive_a_kill() {
    let folder = Folder::new("messages");
    let due = async |process: &Process| {
        let path = format!("{}/_local/due", process.base_url);
        process.operator.get_ok(&path).await
    };
    let kept = || {
        let files = std::fs::read_dir(folder.0.join("messages"));
        files.expect("a folder").count()
    };
    let names = |due: &Value, id: &str| {
        let mut all = due["data"].as_array().expect("work").iter();
        all.any(|work| work["object"] == id)
    };
    let first = Process::start(&folder);
    let driver = first.client.post("/v1/drivers", driver()).await.id();
    first.advance(1).await;
    first
        .client
        .delete_ok(&format!("/v1/drivers/{driver}"))
        .await;
    first.advance(1).await;
    // What was begun with the driver meanwhile is ended a minute later.
    let before = due(&first).await;
    assert!(names(&before, &driver), "{before}");
    assert_eq!(before["total"], kept());
    first.kill();

    let second = Process::start(&folder);
    let after = due(&second).await;
    assert_eq!(after["data"], before["data"]);
    second.advance(60).await;
    let done = due(&second).await;
    assert!(!names(&done, &driver), "{done}");
    assert_eq!(done["total"], kept());
    second.kill();
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

/// The invoice of a period waits until its sessions are settled. When a laptop wakes up, both are due at the same time.
#[tokio::test]
async fn an_invoice_that_waits_is_made_after_a_long_sleep() {
    let folder = Folder::new("asleep");
    let first = Process::start(&folder);
    let client = &first.client;
    let Crew {
        fleet,
        driver,
        vehicle,
    } = client.crew().await;
    let weekly = json!({"preferences": {"billing_cycle": "weekly", "default_currency": "gbp"}});
    client.post_ok(&format!("/v1/fleets/{fleet}"), weekly).await;
    let found = client
        .get_ok("/v1/charging_stations?latitude=51.507&longitude=-0.128&radius=8000&limit=100")
        .await;
    let stations = found["data"].as_array().expect("stations").iter();
    let connectors = stations.flat_map(|station| {
        let connectors = station["connectors"].as_array().expect("connectors").iter();
        connectors.map(move |connector| (&station["id"], &connector["id"]))
    });
    let mut status = 0;
    for (station, connector) in connectors {
        let session = json!({"charging_station": station, "connector": connector, "driver": driver, "vehicle": vehicle});
        status = client.post("/v1/charging_sessions", session).await.status;
        if status == 200 {
            break;
        }
    }
    assert_eq!(status, 200, "no station is open and fits");
    first.kill();
    let days = 9 * 86_400_000u64;
    std::fs::write(folder.0.join("clock.json"), days.to_string()).expect("a clock");
    let second = Process::start(&folder);
    let invoices = format!("/v1/invoices?fleet={fleet}");
    let began = Instant::now();
    while second.client.get_ok(&invoices).await["data"] == json!([]) {
        // The sweep comes after a minute anyway.
        assert!(began.elapsed().as_secs() < 55, "no invoice");
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
    client.post_ok("/v1/webhook_endpoints", hook).await;
    let mut expected = 0;
    for _ in 0..8 {
        for _ in 0..4 {
            reserve(client).await;
            expected += 1;
        }
        process.advance(9000).await;
        let received = process.operator.get_ok(&inbox).await;
        let received = received["data"].as_array().expect("deliveries");
        assert_eq!(received.len(), expected);
        for delivery in received {
            let moment = |time: &Value| time.as_str().and_then(|time| Timestamp::parse(time).ok());
            let received = moment(&delivery["received"]).expect("a time");
            let event: Value =
                serde_json::from_str(delivery["body"].as_str().expect("a body")).expect("JSON");
            let confirmed = moment(&event["created"]).expect("a time");
            let start = moment(&event["data"]["object"]["ideal_start"]).expect("a time");
            let due = start.plus(-minutes(30));
            assert!(confirmed.since(due) < MINUTE, "{event:#}");
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
        process.client.get_ok(&format!("/v1/fleets/{id}")).await;
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

/// A process ends cleanly when it receives a signal.
#[cfg(unix)]
async fn ends_cleanly(signal: &str) {
    let folder = Folder::new(&format!("signal{signal}"));
    let mut process = Process::start(&folder);
    process.client.get_ok("/v1/fleets").await;
    // The notices of changes, whose response continues until the end.
    let token = process.introduction["token"].as_str().expect("a token");
    let http = reqwest::Client::builder().no_proxy().build();
    let notices = http.expect("a client");
    let notices = notices.get(format!("{}/_local/events", process.base_url));
    let notices = notices.bearer_auth(token).send().await.expect("a response");
    assert_eq!(notices.status(), 200);
    let sent = Command::new("kill")
        .args([signal, &process.child.id().to_string()])
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

#[cfg(unix)]
#[tokio::test]
async fn ctrl_c_and_a_service_manager_end_it_cleanly() {
    for signal in ["-INT", "-TERM"] {
        ends_cleanly(signal).await;
    }
}

#[tokio::test]
async fn a_move_of_the_clock_goes_on_when_its_client_hangs_up() {
    let folder = Folder::new("hang-up");
    let process = Process::start(&folder);
    let clock = format!("{}/_local/clock", process.base_url);
    let now = async || process.operator.get_ok(&clock).await["now"].clone();
    let moment = |time: &Value| time.as_str().and_then(|time| Timestamp::parse(time).ok());
    let before = moment(&now().await).expect("a time");
    let token = process.introduction["token"].as_str().expect("a token");
    let host = process.base_url.trim_start_matches("http://");
    let body = json!({"advance_seconds": 60}).to_string();
    let request = format!(
        "POST /_local/clock HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len(),
    );
    let mut hung_up = 0;
    for round in 0..8 {
        let bodies: Vec<Value> = (0..12).map(|number| named(round * 12 + number)).collect();
        let batch = json!({"operation": "create_fleet", "bodies": bodies});
        process.client.post_ok("/v1/batches", batch).await;
        for patience in [4, 20, 60] {
            // The whole request is with the service before its client hangs up.
            let mut connection = TcpStream::connect(host).await.expect("a connection");
            let sent = connection.write_all(request.as_bytes()).await;
            sent.expect("a request that was sent");
            let response = connection.read_u8();
            let response = tokio::time::timeout(Duration::from_millis(patience), response);
            hung_up += i32::from(response.await.is_err());
        }
    }
    assert!(hung_up > 0, "every move was too fast");
    let after = moment(&process.advance(60).await["now"]).expect("a time");
    assert!(after.since(before) >= minutes(24), "{before} {after}");
    let created = "/v1/events?type=fleet.created&limit=100";
    let created = process.client.get_ok(created).await;
    assert_eq!(created["data"].as_array().map(Vec::len), Some(96));
    process.kill();
}

/// The body of a fleet.
fn named(number: i32) -> Value {
    json!({"name": format!("Fleet {number}"), "email": "ops@fleet.example",
        "address": {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}})
}

#[tokio::test]
async fn stream_records_are_removed_when_they_were_relayed() {
    let folder = Folder::new("trimmed");
    let process = Process::start(&folder);
    for _ in 0..20 {
        process.client.post_ok("/v1/fleets", fleet()).await;
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
