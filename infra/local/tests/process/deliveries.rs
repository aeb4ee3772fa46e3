//! Deliveries of webhooks: certificates, and receivers that never respond.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kernel::Timestamp;
use kernel::time::MINUTE;
use serde_json::{Value, json};
use tests::tls::TlsPort;
use tests::{Receiver, fleet, verify};

use crate::{Folder, Process, until};

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
        process.client.post_ok(&ping, json!({})).await;
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
