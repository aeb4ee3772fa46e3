//! Payments by Stripe: against a server with scripted responses, and with `--include-ignored` against `localstripe`:
//! `python3 -m venv target/tools/localstripe && target/tools/localstripe/bin/pip install localstripe==1.15.10`.

mod cards;
mod charges;
mod refunds;
mod retries;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use functions::stripe::Stripe;
use kernel::{Currency, Money};
use models::ports::payments::{Charge, Payments, Providers};
use serde_json::{Value, json};
use tests::TestApp;

/// The requests that Stripe has received, and its next responses.
#[derive(Default)]
struct Desk {
    requests: Vec<String>,
    keys: Vec<String>,
    answers: VecDeque<(u16, Value)>,
}

struct Fake {
    stripe: Arc<Stripe>,
    desk: Arc<Mutex<Desk>>,
}

impl Fake {
    async fn start(answers: &[(u16, Value)]) -> Self {
        let desk = Arc::new(Mutex::new(Desk {
            answers: answers.iter().cloned().collect(),
            ..Desk::default()
        }));
        let router = Router::new().fallback(answer).with_state(desk.clone());
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let stripe = Stripe::new(url, "sk_live_1").within(Duration::from_millis(500));
        let stripe = Arc::new(stripe);
        Self { stripe, desk }
    }

    /// The service with this Stripe in live mode, and another provider in test mode.
    async fn service(&self, test: Arc<dyn Payments>) -> TestApp {
        let providers = Providers::new(test, Some(self.stripe.clone()));
        TestApp::start_with(|options| options.payments = providers).await
    }

    /// Sets the next responses, and discards earlier ones.
    fn answer_next(&self, answers: &[(u16, Value)]) {
        let mut desk = self.desk.lock().expect("the desk");
        desk.answers = answers.iter().cloned().collect();
    }

    fn requests(&self) -> Vec<String> {
        self.desk.lock().expect("the desk").requests.clone()
    }

    fn keys(&self) -> Vec<String> {
        self.desk.lock().expect("the desk").keys.clone()
    }
}

async fn answer(State(desk): State<Arc<Mutex<Desk>>>, request: Request) -> (StatusCode, String) {
    assert_eq!(request.headers()["authorization"], "Bearer sk_live_1");
    let line = format!("{} {}", request.method(), request.uri());
    let key = request.headers().get("idempotency-key").cloned();
    let body = axum::body::to_bytes(request.into_body(), 10_000).await;
    let body = String::from_utf8(body.expect("a body").to_vec()).expect("text");
    let next = {
        let mut desk = desk.lock().expect("the desk");
        desk.requests
            .push(format!("{line} {body}").trim_end().to_owned());
        desk.keys
            .extend(key.and_then(|key| key.to_str().ok().map(str::to_owned)));
        desk.answers.pop_front()
    };
    match next {
        // No response at all.
        None => std::future::pending().await,
        Some((status, body)) => (
            StatusCode::from_u16(status).expect("a status"),
            body.to_string(),
        ),
    }
}

fn charge(amount: i64, currency: &str) -> Charge {
    Charge {
        key: "key-1".into(),
        token: "pm_1".into(),
        customer: None,
        amount: Money::new(amount, Currency::from_code(currency).expect("a currency")),
        description: "Invoice 1".into(),
        key_expired: false,
    }
}

fn method() -> (u16, Value) {
    let card = json!({"brand": "visa", "exp_month": 5, "exp_year": 2031, "fingerprint": "f", "last4": "4242"});
    (
        200,
        json!({"id": "pm_1", "card": card, "customer": "cus_1"}),
    )
}

fn intent(status: &str) -> (u16, Value) {
    (200, json!({"id": "pi_1", "status": status}))
}

/// The result of a search or a list.
fn list(data: Value) -> (u16, Value) {
    (200, json!({"data": data}))
}

/// A refund of Stripe, made under this key of ours.
fn given(status: &str, key: &str) -> Value {
    json!({"id": "re_1", "status": status, "failure_reason": "lost", "metadata": {"refund_key": key}})
}

fn fault(status: u16, error: Value) -> (u16, Value) {
    (status, json!({"error": error}))
}
