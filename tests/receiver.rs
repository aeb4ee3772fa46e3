//! The receiver of webhooks: its endpoints, its scripted responses and the webhooks that it received.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::serve::Listener;
use serde_json::{Value, json};

use crate::tls::TlsPort;
use crate::{Client, Inbox, Received, Receiver, path_of, with};

impl Receiver {
    pub async fn start() -> Self {
        let port = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
        Self::on(port.expect("a port"), "http://127.0.0.1")
    }

    /// A receiver that speaks TLS.
    pub fn behind(port: TlsPort) -> Self {
        Self::on(port, "https://localhost")
    }

    fn on<L: Listener<Addr = SocketAddr>>(port: L, host: &str) -> Self {
        let address = port.local_addr().expect("an address");
        let url = format!("{host}:{}/hook", address.port());
        let inbox = Arc::new(Mutex::new(Inbox::default()));
        let router = Router::new()
            .route("/hook", post(receive))
            .with_state(inbox.clone());
        tokio::spawn(async move { axum::serve(port, router).await });
        Self { url, inbox }
    }

    /// A receiver with an endpoint of the client's account.
    pub async fn subscribed(client: &Client, events: &[&str]) -> Self {
        let receiver = Self::start().await;
        receiver.subscribe(client, events).await;
        receiver
    }

    /// Creates an endpoint of the client's account for these events. Returns its id.
    pub async fn subscribe(&self, client: &Client, events: &[&str]) -> String {
        let endpoint = json!({"url": self.url, "enabled_events": events});
        client.create("/v1/webhook_endpoints", endpoint).await
    }

    /// Creates an endpoint of the client's account for the events of new fleets, with changed members. Returns its path.
    pub async fn hook(&self, client: &Client, change: Value) -> String {
        let body = json!({"url": self.url, "enabled_events": ["fleet.created"]});
        let endpoint = client.create("/v1/webhook_endpoints", with(body, change));
        path_of(&endpoint.await)
    }

    /// Sets the statuses of the next responses.
    pub fn answer(&self, statuses: &[u16]) {
        let answers = statuses.iter().map(|status| (*status, Vec::new()));
        self.inbox.lock().expect("an inbox").answers.extend(answers);
    }

    /// Sets the status and a header of the next response.
    pub fn answer_with(&self, status: u16, name: &'static str, value: &str) {
        self.inbox
            .lock()
            .expect("an inbox")
            .answers
            .push((status, vec![(name, value.to_owned())]));
    }

    /// Responds with 200 from now on.
    pub fn recover(&self) {
        let mut inbox = self.inbox.lock().expect("an inbox");
        inbox.answers.clear();
        inbox.hangs = false;
    }

    /// Sends no responses from now on.
    pub fn hang(&self) {
        self.inbox.lock().expect("an inbox").hangs = true;
    }

    /// Sets the body of the responses from now on.
    pub fn answer_body(&self, body: &str) {
        self.inbox.lock().expect("an inbox").body = body.to_owned();
    }

    pub fn received(&self) -> Vec<Received> {
        self.inbox.lock().expect("an inbox").received.clone()
    }

    /// The types of the events received, in order.
    pub fn types(&self) -> Vec<String> {
        self.received()
            .iter()
            .map(|delivery| {
                delivery.event["type"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    }
}

async fn receive(
    State(inbox): State<Arc<Mutex<Inbox>>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, HeaderMap, String) {
    let event = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let hangs = inbox.lock().expect("an inbox").hangs;
    if hangs {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let mut inbox = inbox.lock().expect("an inbox");
    let (status, extra) = if inbox.answers.is_empty() {
        (200, Vec::new())
    } else {
        inbox.answers.remove(0)
    };
    inbox.received.push(Received {
        headers,
        raw: body.to_vec(),
        event,
        status,
    });
    let mut headers = HeaderMap::new();
    for (name, value) in extra {
        headers.insert(name, value.parse().expect("a header"));
    }
    let status = StatusCode::from_u16(status).expect("a status");
    (status, headers, inbox.body.clone())
}
