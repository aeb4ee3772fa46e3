//! Receivers of webhooks that hang, send slowly, flood, redirect, reset or send malformed responses: they do not affect other
//! endpoints.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kernel::Timestamp;
use kernel::time::{DAY, MINUTE};
use serde_json::{Value, json};
use tests::{Client, Receiver, TestApp, fleet};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

/// The behaviour of a hostile receiver.
#[derive(Debug, Clone, PartialEq)]
enum Habit {
    /// It reads the request and never responds.
    Hangs,
    /// It sends the head of its response one byte at a time.
    DripsHead,
    /// It acknowledges, and then sends a body one byte at a time.
    DripsBody,
    FloodsHeaders,
    FloodsBody,
    /// It closes the connection without reading the request, which resets it.
    Resets,
    /// It responds with exactly this.
    Answers(String),
}

/// A hostile receiver, and the number of bytes of a response that it could send.
struct Hostile {
    url: String,
    sent: Arc<AtomicUsize>,
}

impl Hostile {
    async fn start(habit: Habit) -> Self {
        let port = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = port.local_addr().expect("an address");
        let sent = Arc::new(AtomicUsize::new(0));
        let counter = sent.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = port.accept().await {
                tokio::spawn(behave(habit.clone(), connection, counter.clone()));
            }
        });
        let url = format!("http://{address}/hook");
        Self { url, sent }
    }
}

async fn behave(habit: Habit, mut connection: TcpStream, sent: Arc<AtomicUsize>) {
    let mut request = [0; 4096];
    if habit == Habit::Resets {
        return connection.readable().await.expect("a request");
    }
    if connection.read(&mut request).await.is_err() {
        return;
    }
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let (begin, again, pause) = match habit {
        Habit::Hangs | Habit::Resets => return sleep(Duration::from_secs(120)).await,
        Habit::DripsHead => ("HTTP/1.1 200 OK\r\nx: ".to_owned(), "x".to_owned(), 50),
        Habit::DripsBody => (head.to_owned(), "1\r\nx\r\n".to_owned(), 50),
        Habit::FloodsHeaders => {
            let header = format!("x-flood: {}\r\n", "x".repeat(8_000));
            ("HTTP/1.1 200 OK\r\n".to_owned(), header, 0)
        }
        Habit::FloodsBody => {
            let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
            (head.to_owned(), chunk, 0)
        }
        Habit::Answers(answer) => (answer, String::new(), 0),
    };
    let mut next = begin;
    while connection.write_all(next.as_bytes()).await.is_ok() {
        sent.fetch_add(next.len(), Ordering::Relaxed);
        next = again.clone();
        match (next.is_empty(), pause) {
            (true, _) => return sleep(Duration::from_secs(120)).await,
            (false, 0) => tokio::task::yield_now().await,
            (false, pause) => sleep(Duration::from_millis(pause)).await,
        }
    }
}

fn answer(status: &str, header: &str) -> Habit {
    Habit::Answers(format!(
        "HTTP/1.1 {status}\r\n{header}\r\ncontent-length: 0\r\n\r\n"
    ))
}

async fn hook(client: &Client, url: &str) -> String {
    let body = json!({"url": url, "enabled_events": ["fleet.created"]});
    client.post("/v1/webhook_endpoints", body).await.id()
}

/// The first attempt to deliver to an endpoint, once it has ended.
async fn first_attempt(client: &Client, endpoint: &str) -> Value {
    let path = format!("/v1/webhook_endpoints/{endpoint}/deliveries");
    loop {
        let log = client.get(&path).await.expect(200);
        let attempts = log.body["data"].as_array().expect("a log");
        if let Some(first) = attempts.iter().find(|attempt| attempt["attempt"] == 1) {
            return first.clone();
        }
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_receivers_do_not_delay_others_or_exhaust_memory() {
    // The service processes work in the background, as on a developer's machine.
    let app = TestApp::start_with(|options| options.by_hand = false).await;
    let bob = app.other_account(kernel::Mode::Test).await;
    let healthy = Receiver::start().await;
    let forbidden = Receiver::start().await;
    hook(&bob, &healthy.url).await;
    let inside = format!("location: {}", forbidden.url);
    let habits = [
        ("hangs", Habit::Hangs, None),
        ("drips its head", Habit::DripsHead, None),
        ("drips its body", Habit::DripsBody, Some(200)),
        ("floods with headers", Habit::FloodsHeaders, None),
        ("floods with a body", Habit::FloodsBody, Some(200)),
        ("resets", Habit::Resets, None),
        (
            "redirects to an internal address",
            answer("302 Page", "location: http://169.254.169.254/"),
            Some(302),
        ),
        (
            "redirects to another port",
            answer("307 Temporary Redirect", &inside),
            Some(307),
        ),
        ("is gone", answer("410 Gone", "x: y"), Some(410)),
        (
            "asks for ages",
            answer(
                "503 Service Unavailable",
                "retry-after: 99999999999999999999",
            ),
            Some(503),
        ),
        (
            "asks for 2^32 seconds",
            answer("429 Too Many Requests", "retry-after: 4294967296"),
            Some(429),
        ),
    ];
    let mut hostile = Vec::new();
    for (name, habit, status) in habits {
        let receiver = Hostile::start(habit).await;
        let endpoint = hook(&app.alice, &receiver.url).await;
        hostile.push((name, receiver, endpoint, status));
    }
    app.alice.post_ok("/v1/fleets", fleet()).await;
    bob.post_ok("/v1/fleets", fleet()).await;
    let begun = Instant::now();
    let delivered = async {
        while healthy.received().is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
        begun.elapsed()
    };
    // Hostile receivers take 15 seconds, the time limit of an attempt.
    let delivered = timeout(Duration::from_secs(30), delivered).await;
    let delivered = delivered.expect("bob's event is delivered");
    assert!(delivered < Duration::from_secs(10), "after {delivered:?}");
    for (name, receiver, endpoint, status) in &hostile {
        let attempt = timeout(Duration::from_secs(60), first_attempt(&app.alice, endpoint));
        let attempt = attempt.await.expect("the attempt ends");
        assert_eq!(
            attempt["response_status"].as_u64(),
            *status,
            "{name}: {attempt}"
        );
        let response = attempt["response"].as_str().expect("a response");
        assert!(
            response.len() <= 4 * 1024,
            "{name}: {} bytes kept",
            response.len()
        );
        let latency = attempt["latency"].as_u64().expect("milliseconds");
        assert!(latency < 25_000, "{name}: {latency} ms");
        // The system's buffers of a connection are not part of the limit; an endless response is far larger.
        let sent = receiver.sent.load(Ordering::Relaxed);
        assert!(sent < 16 * 1024 * 1024, "{name}: {sent} bytes taken");
        if name.starts_with("asks") {
            let moment = |name: &str| Timestamp::parse(attempt[name].as_str().expect("a time"));
            let (next, created) = (moment("next_attempt"), moment("created"));
            let wait = next.expect("a time").since(created.expect("a time"));
            assert!((DAY..DAY + MINUTE).contains(&wait), "{name}: {wait}");
        }
        let path = format!("/v1/webhook_endpoints/{endpoint}");
        let shown = app.alice.get_ok(&path).await;
        if *status == Some(410) {
            assert_eq!(shown["disabled_reason"], "gone", "{name}");
        } else {
            assert_eq!(shown["status"], "enabled", "{name}");
            let off = json!({"status": "disabled"});
            app.alice.post_ok(&path, off).await;
        }
    }
    assert_eq!(healthy.received().len(), 1);
    assert!(forbidden.received().is_empty(), "a redirect was followed");
    while app.running().has_due_work() {
        sleep(Duration::from_millis(100)).await;
    }
}
