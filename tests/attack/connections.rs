//! Connections to the local runner: clients that send slowly or not at all, and the state of a connection after a refusal.

use std::time::{Duration, Instant};

use local::ClientLimits;
use serde_json::json;
use tests::TestApp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A connection with manually written requests.
struct Connection(TcpStream);

/// A response: its status, and whether the server announces that it closes the connection.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    status: u16,
    closes: bool,
    body: String,
}

impl Connection {
    async fn open(app: &TestApp) -> Self {
        let address = app.running().base_url.replace("http://", "");
        Self(TcpStream::connect(address).await.expect("a connection"))
    }

    async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes).await
    }

    /// The next response; None if the connection ends instead.
    async fn read(&mut self) -> Option<Reply> {
        let mut received = Vec::new();
        loop {
            if let Some(reply) = parsed(&received) {
                return Some(reply);
            }
            let mut part = [0; 4096];
            match self.0.read(&mut part).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => received.extend_from_slice(&part[..count]),
            }
        }
    }
}

/// A response, if it has arrived completely.
fn parsed(received: &[u8]) -> Option<Reply> {
    let text = String::from_utf8_lossy(received);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let head = head.to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))?;
    let length: usize = length.trim().parse().ok()?;
    (body.len() >= length).then(|| Reply {
        status,
        closes: head.lines().any(|line| line == "connection: close"),
        body: body.to_owned(),
    })
}

/// A request with a body of that length.
fn request(app: &TestApp, line: &str, headers: &str, length: usize) -> Vec<u8> {
    let host = app.running().base_url.replace("http://", "");
    let head = format!(
        "{line} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    let mut request = head.into_bytes();
    request.resize(request.len() + length, b' ');
    request
}

#[tokio::test]
async fn the_request_after_a_refusal_is_answered() {
    let app = TestApp::start().await;
    let key = app.alice.key.clone().expect("a key");
    let reader = app.restricted(&app.alice, &["drivers:read"]).await;
    let reader = reader.key.expect("a key");
    let bearer = |key: &str| format!("authorization: Bearer {key}\r\n");
    let refusals = [
        (401, "POST /v1/fleets", bearer("sk_test_nonsense")),
        (404, "POST /v1/nothing", bearer(&key)),
        (405, "DELETE /v1/fleets", bearer(&key)),
        (403, "POST /v1/fleets", bearer(&reader)),
        (400, "POST /v1/fleets", bearer(&key)),
        (
            403,
            "POST /v1/fleets",
            "origin: https://elsewhere.example\r\n".to_owned(),
        ),
    ];
    let (mut died, mut tried) = (Vec::new(), 0);
    for (status, line, headers) in &refusals {
        for length in [20_000, 100_000, 300_000, 1_000_000, 2_000_000] {
            let mut connection = Connection::open(&app).await;
            let body = request(&app, line, headers, length);
            let next = request(&app, "GET /v1/fleets", &bearer(&key), 0);
            tried += 1;
            let written = connection.write(&body).await;
            let reply = connection.read().await;
            let what = format!("{status} to {line} with {length} bytes");
            match reply {
                Some(reply) if reply.closes => assert_eq!(reply.status, *status, "{what}"),
                Some(reply) => {
                    assert_eq!(reply.status, *status, "{what}: {}", reply.body);
                    drop(connection.write(&next).await);
                    match connection.read().await {
                        Some(reply) => assert_eq!(reply.status, 200, "{what}: {}", reply.body),
                        None => died.push(what),
                    }
                }
                None => died.push(format!("{what}, without a response: {written:?}")),
            }
        }
    }
    assert!(died.is_empty(), "{} of {tried} died: {died:#?}", died.len());
}

#[tokio::test]
async fn the_request_after_429_is_answered() {
    let app = TestApp::start_with(|options| options.rate = 1).await;
    let key = app.alice.key.clone().expect("a key");
    let headers = format!("authorization: Bearer {key}\r\n");
    let mut connection = Connection::open(&app).await;
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let body = request(&app, "POST /v1/fleets", &headers, 200_000);
        connection.write(&body).await.expect("an open connection");
        let reply = connection.read().await.expect("a response");
        statuses.push(reply.status);
    }
    assert!(statuses.contains(&429), "{statuses:?}");
}

/// A service with short time limits for clients.
async fn start_hastily() -> TestApp {
    TestApp::start_with(|options| {
        options.client_limits = ClientLimits {
            headers: Duration::from_secs(3),
            body: Duration::from_secs(3),
        };
    })
    .await
}

#[tokio::test]
async fn a_body_that_does_not_arrive_in_time_is_408() {
    let app = start_hastily().await;
    let key = app.alice.key.clone().expect("a key");
    let headers = format!("authorization: Bearer {key}\r\n");
    let whole = request(&app, "POST /v1/fleets", &headers, 1_000);
    let before = app.alice.walk("/v1/fleets").await;
    // One client stops in the middle, another sends a byte at a time.
    for is_slow in [false, true] {
        let mut connection = Connection::open(&app).await;
        connection
            .write(&whole[..whole.len() - 900])
            .await
            .expect("an open connection");
        let began = Instant::now();
        let reply = loop {
            if is_slow && connection.write(b" ").await.is_err() {
                break connection.read().await;
            }
            match timeout(Duration::from_millis(50), connection.read()).await {
                Ok(reply) => break reply,
                Err(_) => assert!(began.elapsed() < Duration::from_secs(60), "no response"),
            }
        };
        let reply = reply.expect("a response");
        assert_eq!(reply.status, 408, "{}", reply.body);
        assert!(reply.closes && reply.body.contains(r#""object":"error""#));
        assert_eq!(connection.read().await, None, "the connection stays open");
    }
    assert_eq!(app.alice.walk("/v1/fleets").await, before);
}

#[tokio::test]
async fn a_connection_whose_headers_do_not_arrive_is_closed() {
    let app = start_hastily().await;
    let mut slow = Connection::open(&app).await;
    let mut silent = Connection::open(&app).await;
    slow.write(b"GET /v1/fleets HTTP/1.1\r\nhost: ")
        .await
        .expect("an open connection");
    let began = Instant::now();
    loop {
        if slow.write(b"x").await.is_err() {
            break;
        }
        match timeout(Duration::from_millis(50), slow.read()).await {
            Ok(reply) => {
                assert!(reply.is_none_or(|reply| reply.status == 408));
                break;
            }
            Err(_) => assert!(began.elapsed() < Duration::from_secs(60), "still open"),
        }
    }
    let silent = timeout(Duration::from_secs(60), silent.read()).await;
    assert!(silent.is_ok_and(|reply| reply.is_none_or(|reply| reply.status == 408)));
    let fleets = app.alice.post("/v1/fleets", json!({})).await;
    assert_eq!(fleets.status, 400);
}
