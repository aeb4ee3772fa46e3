//! An inbox for webhooks, which shows the first deliveries to developers who have no receiver yet.
//!
//! A delivery has no token of the runner, so everyone who can reach the port can send one. Reading the inbox requires the token.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use kernel::{Id, Timestamp};
use models::ports::Clock;
use serde::Serialize;
use table::erasure::Accounts;
use web::body::is_json;

pub const ROUTE: &str = "/_local/inbox";

/// The number of deliveries that are kept.
const KEPT: usize = 100;

pub struct Inbox {
    clock: Arc<dyn Clock>,
    /// Whether each delivery is reported on standard output.
    prints: bool,
    kept: Mutex<VecDeque<Delivery>>,
}

#[derive(Debug, Clone, Serialize)]
struct Delivery {
    received: Timestamp,
    headers: BTreeMap<String, String>,
    /// The signed text.
    body: String,
}

/// The contents of the inbox, newest first.
#[derive(Debug, Serialize)]
pub struct Deliveries {
    data: VecDeque<Delivery>,
}

impl Inbox {
    pub fn new(clock: Arc<dyn Clock>, prints: bool) -> Self {
        Self {
            clock,
            prints,
            kept: Mutex::default(),
        }
    }

    /// Removes the events of accounts that were erased.
    pub fn forget_accounts(&self, accounts: &Accounts) {
        let is_of = |body: &str| {
            let event: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
            let account = event["account"].as_str();
            account.is_some_and(|account| accounts.contains(&Id::from(account)))
        };
        self.kept().retain(|delivery| !is_of(&delivery.body));
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Delivery>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `POST /_local/inbox`: receives a delivery, like the endpoint of a customer.
///
/// # Errors
/// 415 if the content type of the body is not JSON. 500 if standard output cannot be written; the delivery is then retried.
pub async fn receive(
    State(inbox): State<Arc<Inbox>>,
    headers: HeaderMap,
    body: String,
) -> Result<StatusCode, StatusCode> {
    if !is_json(&headers) {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
    let headers = headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str().to_owned(), text(value)));
    let delivery = Delivery {
        received: inbox.clock.now(),
        headers: headers.collect(),
        body,
    };
    if inbox.prints {
        delivery
            .print()
            .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    }
    let mut kept = inbox.kept();
    kept.push_front(delivery);
    kept.truncate(KEPT);
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /_local/inbox`: returns the deliveries that have arrived.
pub async fn list(State(inbox): State<Arc<Inbox>>) -> Json<Deliveries> {
    let data = inbox.kept().clone();
    Json(Deliveries { data })
}

impl Delivery {
    /// Prints one line about the delivery. Every user of the machine can send one, so characters that control the terminal are
    /// omitted.
    fn print(&self) -> std::io::Result<()> {
        let event: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        let member = |name: &str| printable(event[name].as_str().unwrap_or("?"));
        let signature = self.headers.get("service-signature");
        let signature = printable(signature.map_or("none", String::as_str));
        let (kind, id) = (member("type"), member("id"));
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{} received {kind} {id}\n  Service-Signature: {signature}",
            self.received
        )?;
        out.flush()
    }
}

/// The number of characters of a member that are printed.
const PRINTED: usize = 200;

/// The beginning of a text without control characters.
fn printable(text: &str) -> String {
    let letters = text.chars().filter(|letter| !letter.is_control());
    letters.take(PRINTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_a_terminal_is_not_printed() {
        assert_eq!(printable("a\u{1b}]0;b\u{7}\r\n\u{9b}2Jc"), "a]0;b2Jc");
        assert_eq!(printable(&"x".repeat(1_000)).len(), PRINTED);
    }
}
