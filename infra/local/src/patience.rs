//! Waiting at the start: a busy machine is slow, not broken, and whoever waits wants to know what for.

use std::time::Duration;

use tokio::time::{Instant, interval_at};

/// After how long the first message is printed, and how often it is repeated.
const QUIET: Duration = Duration::from_secs(3);

/// Does a step of the start, and reports what it is while it goes on.
pub async fn during<T>(what: &str, step: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let mut timer = interval_at(began + QUIET, QUIET);
    let mut step = std::pin::pin!(step);
    loop {
        tokio::select! {
            done = &mut step => return done,
            _ = timer.tick() => {
                let seconds = began.elapsed().as_secs();
                tracing::warn!("the start goes on: {what}, for {seconds} seconds so far");
            }
        }
    }
}
