//! The last requests of a local run, for `fleet logs tail` and the console.
//!
//! The log is in memory and holds only the data that identifies a request: no bodies, headers or query strings, which may contain keys
//! and personal data.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use kernel::{Error, Timestamp};
use models::ports::Clock;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::guard::refused;

pub const ROUTE: &str = "/_local/requests";

/// The number of requests that are kept.
const KEPT: usize = 1_000;

/// The number of characters of a path that are kept.
const PATH: usize = 256;

/// The paths whose requests are logged.
const LOGGED: &str = "/v1/";

/// The log.
pub struct Requests {
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Oldest first.
    entries: VecDeque<Entry>,
    /// The number of the last entry.
    last: u64,
}

/// A request with its response.
#[derive(Debug, Clone, Serialize)]
struct Entry {
    /// Counts the requests of this run from 1, in the order of their responses.
    number: u64,
    /// When the request arrived, by the service's clock.
    time: Timestamp,
    method: String,
    /// The path without the query string.
    path: String,
    status: u16,
    /// The header `Service-Request-Id` of the response.
    request: Option<String>,
    /// The time from the arrival of the request to its response, in milliseconds.
    duration_ms: f64,
}

/// The query of `GET /_local/requests`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// Only requests with a greater number.
    #[serde(default)]
    after: u64,
}

/// The response of `GET /_local/requests`.
#[derive(Debug, Serialize)]
pub struct Page {
    /// Newest first.
    data: Vec<Entry>,
    /// The number of the last request of this run. If a client has seen a greater number, it was from an earlier run.
    last: u64,
}

impl Requests {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            kept: Mutex::default(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request, and removes the oldest one if there are too many.
    fn add(&self, entry: Entry) {
        let mut kept = self.kept();
        kept.last += 1;
        let number = kept.last;
        kept.entries.push_back(Entry { number, ..entry });
        if kept.entries.len() > KEPT {
            kept.entries.pop_front();
        }
    }
}

/// Logs each request of the API with its response.
pub async fn log(State(requests): State<Arc<Requests>>, request: Request, next: Next) -> Response {
    if !request.uri().path().starts_with(LOGGED) {
        return next.run(request).await;
    }
    let (time, began) = (requests.clock.now(), Instant::now());
    let method = request.method().to_string();
    let path = request.uri().path().chars().take(PATH).collect();
    let response = next.run(request).await;
    let id = response.headers().get("service-request-id");
    requests.add(Entry {
        number: 0,
        time,
        method,
        path,
        status: response.status().as_u16(),
        request: id.and_then(|id| id.to_str().ok()).map(str::to_owned),
        duration_ms: began.elapsed().as_micros() as f64 / 1_000.0,
    });
    response
}

/// `GET /_local/requests`: the last requests of this run, at most 1,000.
///
/// # Errors
/// 400 if the query is anything but `after` with a number.
pub async fn list(
    State(requests): State<Arc<Requests>>,
    since: Result<Query<Since>, QueryRejection>,
) -> Result<Json<Page>, Response> {
    let Query(since) = since.map_err(|_| {
        let error = Error::invalid("after", "the query is `after=NUMBER` or empty");
        refused(&*requests.clock, &error)
    })?;
    let kept = requests.kept();
    let newest = kept.entries.iter().rev();
    let data = newest.take_while(|entry| entry.number > since.after);
    Ok(Json(Page {
        data: data.cloned().collect(),
        last: kept.last,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use functions::aws::SystemClock;

    fn entry(path: String) -> Entry {
        Entry {
            number: 0,
            time: SystemClock.now(),
            method: "GET".into(),
            path,
            status: 200,
            request: None,
            duration_ms: 0.0,
        }
    }

    #[tokio::test]
    async fn the_newest_1000_requests_are_kept_with_consecutive_numbers() {
        let requests = Arc::new(Requests::new(Arc::new(SystemClock)));
        for n in 1..=KEPT + 5 {
            requests.add(entry(format!("/v1/fleets/{n}")));
        }
        let list = async |after| {
            let since = Ok(Query(Since { after }));
            let Json(page) = list(State(requests.clone()), since).await.unwrap();
            assert_eq!(page.last, 1_005);
            let numbers = page.data.into_iter().map(|entry| entry.number);
            numbers.collect::<Vec<_>>()
        };
        assert_eq!(list(0).await, (6..=1_005).rev().collect::<Vec<_>>());
        assert_eq!(list(1_003).await, [1_005, 1_004]);
        assert!(list(1_005).await.is_empty());
        assert!(list(2_000).await.is_empty());
    }
}
