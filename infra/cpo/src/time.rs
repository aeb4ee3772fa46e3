//! The source of the program's time: its host, or the clock of a service at another address.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Unit};
use serde_json::Value;

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The interval at which a clock at another address is read.
const READ_EVERY: Duration = Duration::from_millis(200);

/// The system's clock.
pub fn system() -> Clock {
    Arc::new(system_now)
}

fn system_now() -> Timestamp {
    #[expect(
        clippy::disallowed_methods,
        reason = "the clock that can be moved belongs to the service; this is the program's own"
    )]
    Timestamp::now()
}

/// A clock that follows the one at a URL. The URL responds to `GET` with this bearer token with `{"now": <RFC 3339>}`.
///
/// It is read again every 200 milliseconds for as long as the program runs. While the URL does not respond, the clock continues from
/// its last response.
pub fn follow(http: reqwest::Client, url: String, token: String) -> Clock {
    let ahead = Arc::new(AtomicI64::new(0));
    let shared = ahead.clone();
    tokio::spawn(async move {
        loop {
            if let Some(there) = read(&http, &url, &token).await {
                let difference = there.as_millisecond() - system_now().as_millisecond();
                shared.store(difference, Ordering::Relaxed);
            }
            tokio::time::sleep(READ_EVERY).await;
        }
    });
    Arc::new(move || plus_millis(system_now(), ahead.load(Ordering::Relaxed)))
}

async fn read(http: &reqwest::Client, url: &str, token: &str) -> Option<Timestamp> {
    let response = http.get(url).bearer_auth(token).send().await.ok()?;
    let body: Value = response.json().await.ok()?;
    body["now"].as_str()?.parse().ok()
}

/// The moment that is this number of milliseconds later.
pub fn plus_millis(moment: Timestamp, millis: i64) -> Timestamp {
    moment
        .checked_add(SignedDuration::from_millis(millis))
        .unwrap_or(moment)
}

/// A moment in OCPI's format: RFC 3339 in UTC, at most to the millisecond, which is at most 25 characters.
pub fn text(moment: Timestamp) -> String {
    let rounded = moment.round(Unit::Millisecond).unwrap_or(moment);
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_at_most_milliseconds() {
        let moment: Timestamp = "2026-03-01T10:00:00.123456789+02:00".parse().unwrap();
        assert_eq!(text(moment), "2026-03-01T08:00:00.123Z");
        let whole: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        assert_eq!(text(whole), "2026-03-01T10:00:00Z");
    }
}
