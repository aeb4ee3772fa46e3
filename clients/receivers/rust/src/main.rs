//! Receives webhooks with axum. `WEBHOOK_SECRET` is the secret of the endpoint, `whsec_…`.

use std::collections::HashSet;
use std::error::Error;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::Value;
use standardwebhooks::Webhook;

struct Receiver {
    webhook: Webhook,
    /// The ids of events that were handled. Keep them with your data: this set is lost when the program ends.
    handled: Mutex<HashSet<String>>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let receiver = Receiver {
        webhook: Webhook::new(&std::env::var("WEBHOOK_SECRET")?)?,
        handled: Mutex::default(),
    };
    let app = Router::new()
        .route("/webhooks", post(receive))
        .with_state(Arc::new(receiver));
    let port = std::env::var("PORT").unwrap_or_else(|_| "8080".to_owned());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    Ok(axum::serve(listener, app).await?)
}

async fn receive(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, (StatusCode, String)> {
    let refuse = |error: &dyn Error| (StatusCode::BAD_REQUEST, error.to_string());
    let verified = receiver.webhook.verify(&body, &headers);
    verified.map_err(|error| refuse(&error))?;
    let event = serde_json::from_slice(&body).map_err(|error| refuse(&error))?;
    // The response is sent first: a delivery that takes longer than 15 seconds is repeated.
    tokio::spawn(async move { receiver.handle(&event) });
    Ok(StatusCode::NO_CONTENT)
}

impl Receiver {
    fn handle(&self, event: &Value) {
        let id = event["id"].as_str().unwrap_or_default().to_owned();
        let mut handled = self.handled.lock().expect("no handler panics");
        if handled.insert(id.clone()) {
            println!("{} {id}", event["type"].as_str().unwrap_or_default());
        }
    }
}
