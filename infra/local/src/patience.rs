//! Progress messages for slow steps of the start: a busy machine is slow, and the user should see which step is running.

use std::time::Duration;

use tokio::time::{Instant, interval_at};

/// The time until the first message, and between two messages.
const QUIET: Duration = Duration::from_secs(3);

/// Runs a step of the start, and reports its name while it takes long.
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
